"""The penalty that tariffs have unless told: how far the premium's averages follow s, in premium.

A correlation does not care how large a premium's differences are. Where claims are weak that pays for
premiums that a few rows hold far apart and the rest nearly alike: they look independent, and foretell worse
than one flat premium does. What is counted here are the differences themselves, so that a flat premium has
none. The averages go first, as λ grows, then other links, and last what is left of the premium's spread:
`python -m benchmarks.tariff_rivals` compares the path with those of simpler ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fairdash.dependence.hgr_network import shares
from fairdash.training.penalties.base import BasePenalty
from fairdash.training.penalties.closed_forms import CanonicalPenalty

#: Times this, a λ of at most 1 goes from the GLM to averages that hardly follow s.
_STRENGTH = 10.0
#: What the links beyond the averages count for: so much, and so much more at λ = 1. That part grows with λ,
#: as other links cost accuracy while averages still follow s; up to a λ where the premium is about flat.
_LINKS, _MORE_LINKS, _UP_TO = 0.1, 2.5, 30.0
#: What a premium's variance counts for at λ = 1, whether or not it follows s. It grows with λ, too, as it
#: must not shrink a premium whose averages still follow s.
_SPREAD = 1 / 60
#: Least variance that is a unit, in the loss's units: a hundredth of the mean premium, squared.
_LEAST_UNIT = 1e-4
#: How much of the functions' covariance is their variance alone, so that columns that follow from one another
#: don't make it singular.
_RIDGE = 1e-4


class AveragesPenalty(BasePenalty):
    """Ψ = (10 Var E[U | s] + (1 + 25 λ) R Var U + λ / 60 Var U) / v, v the variance of the GLM's premium.

    E[U | s] is the projection of U on cubic splines of the ranks of s, and R what
    :class:`fairdash.training.penalties.closed_forms.CanonicalPenalty` finds, which sees links that averages
    don't show; λ counts as 30 there if it is larger. The last part leads to the flat premium; it is left out
    for residuals, as a flat premium's follow s as the target does. Where relativities are fixed, the last
    part counts the premium ÷ them: no other factor should undo them but for their link with s.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._links = CanonicalPenalty(**given)
        self._unit, self._lams, self._spread = 1.0, torch.zeros(1), 0.0
        self._fixed: Tensor | None = None

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """As CanonicalPenalty's: splines of the mid-ranks of each column, from smooth to rough."""
        return CanonicalPenalty.encode(s, train, weight)

    def start_at(
        self, premium: Tensor, sample_weight: Tensor, *, ends_flat: bool, fixed: Tensor | None = None
    ) -> None:
        """Take the variance of this premium (m, 1) as unit, and say whether a large λ leads to a flat one.

        With `fixed`, the product of each row's fixed relativities (m, 1), it leads to them.
        """
        share = sample_weight / sample_weight.sum()
        variance = (share * (premium - (share * premium).sum()) ** 2).sum()
        self._unit = max(float(variance), _LEAST_UNIT)
        self._spread = _SPREAD if ends_flat else 0.0
        # In units of their average: one number for everybody is the base's, and fixes nothing.
        self._fixed = None if fixed is None else fixed / (share * fixed).sum()

    def at(self, lams: Tensor) -> None:
        """Say which λ (K,) the next premiums have."""
        self._lams = lams

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ of shape (K,), at least 0."""
        share = shares(sample_weight)
        part = torch.full_like(u, 1 / u.shape[1]) if share is None else share
        centred = u - (part * u).sum(dim=1, keepdim=True)
        functions = v - (part * v).sum(dim=1, keepdim=True)
        weighed = (part * functions).transpose(1, 2)
        among = torch.bmm(weighed, functions)
        among.diagonal(dim1=1, dim2=2).mul_(1 + _RIDGE).add_(1e-9)
        c = torch.bmm(weighed, centred)
        follows = (c * torch.linalg.solve(among, c)).sum(dim=(1, 2))
        variance = (part * centred**2).sum(dim=(1, 2))
        links: Tensor = self._links(u, v, sample_weight)
        spread = variance
        if self._fixed is not None and self._spread:
            fitted = u / self._fixed
            spread = (part * (fitted - (part * fitted).sum(dim=1, keepdim=True)) ** 2).sum(dim=(1, 2))
        lam = self._lams.to(u)
        links = _STRENGTH * (_LINKS + _MORE_LINKS * lam.clamp_max(_UP_TO)) * links
        return (_STRENGTH * follows + links * variance + self._spread * lam * spread) / self._unit
