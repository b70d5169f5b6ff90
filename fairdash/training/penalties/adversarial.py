"""Adversarial penalties: neural HGR, and χ² and mutual information by networks that learn density ratios.

The network h(u, s) estimates ln(p(u, s) / (p(u) p(s))) by maximising the bound of Donsker and Varadhan,
E_P[h] − ln E_Q[eʰ], with P the joint law and Q the product of the margins (MINE, Belghazi et al. 2018). Pairs
from Q combine each row of a batch with the s of another row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from fairdash.dependence.hgr_nn import HGRNetwork, shares, standardise
from fairdash.nets import StackedMLP
from fairdash.training.penalties.base import BasePenalty, normal_scores
from fairdash.training.settings import TrainingSettings


class HGRPenalty(BasePenalty):
    """Penalty Ψ = J(θ_f, θ_g): the batch correlation of the adversary's standardised f(U) and g(S)."""

    def __init__(
        self, *, seeds: Sequence[int], s: Tensor, which_split: Tensor, settings: TrainingSettings
    ) -> None:
        super().__init__(seeds=seeds, s=s, which_split=which_split, settings=settings)
        self.networks = HGRNetwork(hidden=settings.adversary_hidden, seeds=seeds, n_sensitive=s.shape[2])

    @staticmethod
    def floats_a_row(settings: TrainingSettings) -> float:
        """Return the number of values for the units of two networks and their derivatives."""
        return 3.2 * sum(settings.adversary_hidden)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return J of shape (K,), between −1 and 1; negative if the adversary lags behind."""
        j: Tensor = self.networks(u, v, sample_weight)
        return j

    def adversary_gradients(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> list[Tensor]:
        """Return the gradients of J; on a GPU, autograd computes them, with one stream per network."""
        if u.is_cpu:
            return self.networks.gradients(u, v, sample_weight)
        return super().adversary_gradients(u, v, sample_weight)


#: Number of pairs from the product of the margins per row of a batch. The paper draws one pair, which gave a
#: worse front in one of three χ² simulations. Three and six pairs only took longer.
_PAIRS = 2
#: Bound of the first layer's initial biases. Without biases, h would start as an odd function.
_BIAS_SPREAD = 1.0


class RatioPenalty(BasePenalty):
    """Adversary network h with the bound that it maximises; subclasses define Ψ."""

    def __init__(
        self, *, seeds: Sequence[int], s: Tensor, which_split: Tensor, settings: TrainingSettings
    ) -> None:
        super().__init__(seeds=seeds, s=s, which_split=which_split, settings=settings)
        widths = [1 + s.shape[2], *settings.adversary_hidden, 1]
        self.network = StackedMLP(widths, seeds=seeds, first_bias_spread=_BIAS_SPREAD)

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return normal quantiles of the mid-ranks; increasing maps of S change neither divergence."""
        return normal_scores(s, train, weight)

    @staticmethod
    def floats_a_row(settings: TrainingSettings) -> float:
        """Return the number of values for the network's units at pairs from the joint law and the product."""
        return 2.2 * (1 + _PAIRS) * sum(settings.adversary_hidden)

    def adversary_objective(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return the bound of Donsker and Varadhan, E_P[h] − ln E_Q[eʰ], (K,).

        On average, it is at most the mutual information in nats.
        """
        joint, product, joint_share, product_share = self.log_ratios(u, v, sample_weight)
        mean = joint.mean(dim=1) if joint_share is None else (joint_share * joint).sum(dim=1)
        return mean - log_mean_exp(product, product_share)

    def log_ratios(
        self, u: Tensor, v: Tensor, sample_weight: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Return h at pairs from the joint distribution, (K, b), and from the product of the margins, (K, m).

        Pairs from the joint law are the rows of the batch. Pairs from the product combine each row's u with
        the v of a few other rows. The last two results are the weights of both sets of pairs, with sum 1, or
        None for equal weights.
        """
        share = shares(sample_weight)
        b = u.shape[1]
        # Shifts are spread over the batch, so that any row order works. In a tiny batch, all rows are
        # combined.
        steps = [k * b // (_PAIRS + 1) for k in range(1, _PAIRS + 1)] if b > _PAIRS + 1 else range(b)
        z = standardise(u, share)
        others = torch.cat([v, *(v.roll(step, dims=1) for step in steps)], dim=1)
        h = self.network(torch.cat([z.repeat(1, 1 + len(steps), 1), others], dim=2)).squeeze(2)
        if share is None:
            return h[:, :b], h[:, b:], None, None
        pairs = torch.cat([share * share.roll(step, dims=1) for step in steps], dim=1).squeeze(2)
        return h[:, :b], h[:, b:], share.squeeze(2), pairs / pairs.sum(dim=1, keepdim=True)


def log_mean_exp(x: Tensor, share: Tensor | None) -> Tensor:
    """Return ln E[eˣ] over dimension 1, with shares that sum to 1 or equal ones; (K, m) -> (K,)."""
    if share is None:
        return torch.logsumexp(x, dim=1) - math.log(x.shape[1])
    return torch.logsumexp(x + share.log(), dim=1)


class Chi2Penalty(RatioPenalty):
    """Penalty Ψ = E_P[f] − E_Q[f + f²/4] of the batch, with f = 2(c eʰ − 1) and its optimal scale c.

    Then Ψ = E_P[eʰ]² / E_Q[e²ʰ] − 1. The adversary maximises the more stable bound of Donsker and Varadhan,
    which has the same optimal ratio eʰ. Maximising Ψ itself, as published, is dominated by the largest ratio
    of the batch.
    """

    climbs_itself = False

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,), above −1; 0 for independence, negative if the adversary lags behind."""
        h_joint, h_product, joint_share, product_share = self.log_ratios(u, v, sample_weight)
        # A batch of b rows cannot show a ratio above b. Without this cap, one pair would outweigh all others.
        rows = math.log(u.shape[1])
        cap = (log_mean_exp(h_product, product_share) + rows).unsqueeze(1)
        joint = log_mean_exp(torch.minimum(h_joint, cap), joint_share)
        square = log_mean_exp(2 * torch.minimum(h_product, cap), product_share)
        return torch.expm1(2 * joint - square)


class MINEPenalty(RatioPenalty):
    """Penalty Ψ = E_P[h] − ln E_Q[eʰ] of the batch, in nats: the bound that the adversary maximises."""

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ of shape (K,); 0 for independence, negative if the adversary lags behind."""
        return self.adversary_objective(u, v, sample_weight)
