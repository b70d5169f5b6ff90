"""χ² divergence and mutual information by a network that learns the density ratio of (u, v), for a stack of
pairs at once.

The network h(u, v) estimates the logarithm of p(u, v) / (p(u) p(v)) by maximising the bound of Donsker and
Varadhan, E_P[h] − ln E_Q[eʰ] (MINE, Belghazi et al. 2018), with P the joint law and Q the product of the
margins. The same h gives both measures. For χ² it enters the dual form of Algorithm 1, E_P[f] − E_Q[f +
f²/4], through f = 2(c eʰ − 1), where it is 2c E_P[eʰ] − c² E_Q[e²ʰ] − 1. Direct ascent on that form, as
published, is unstable, because the largest ratio in the batch dominates its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.dependence import neural
from fairdash.dependence.classical import normal_scores
from fairdash.dependence.neural import BufferedMLP, Rows, Settings
from fairdash.dependence.remembered import remembered
from fairdash.nets import StackedMLP

Array = NDArray[np.float64]
Evaluation = Literal["cross_fit", "in_sample"]
#: Steps by default.
_STEPS = {"cross_fit": 300, "in_sample": 300}
#: Samples of the product of the margins for each row: in a step, for stopping and for the value.
_SHIFTS_STEP, _SHIFTS_STOP, _SHIFTS_VALUE = 4, 8, 40


def chi2_nn(
    u: Array,
    v: Array,
    *,
    random_state: int | None = None,
    evaluation: Evaluation = "cross_fit",
    hidden: Sequence[int] = (32, 16),
    n_steps: int | None = None,
) -> Array:
    """Return the χ² divergence of the joint law from the product of its margins, for each pair of a stack.

    Parameters
    ----------
    u, v : (K, n) arrays
        Seen by the network as normal quantiles of their mid-ranks: the divergence is the same for any
        increasing map.
    random_state
        Seed of initial weights, folds and batches; the same for every member.
    evaluation
        ``"cross_fit"``: five folds, each scored by a network trained on three others and stopped on the
        fourth; an estimate of a lower bound, below 0 by chance near independence. ``"in_sample"``:
        trained and scored on all rows.
    hidden
        Units of the hidden layers.
    n_steps
        Steps of gradient ascent; by default 300.

    Returns
    -------
    (K,) array
        0 for independence, without an upper end. A lower bound on average: of Gaussians with ρ = 0.6
        about a tenth is missing, with ρ = 0.9 two fifths.

    Raises
    ------
    OptionError
        If an option is not usable.
    """
    return _estimate(u, v, random_state, evaluation, hidden, n_steps)[0]


def mi_mine(
    u: Array,
    v: Array,
    *,
    random_state: int | None = None,
    evaluation: Evaluation = "cross_fit",
    hidden: Sequence[int] = (32, 16),
    n_steps: int | None = None,
) -> Array:
    """Return the mutual information in nats of each pair of a stack, by MINE.

    Parameters and errors as :func:`chi2_nn`.

    Returns
    -------
    (K,) array
        0 for independence, without an upper end. Cross-fitted, a lower bound on average: E_P[h] −
        E_Q[eʰ] + 1 with h normed on the training rows. In-sample, the bound of Donsker and Varadhan as
        published.
    """
    return _estimate(u, v, random_state, evaluation, hidden, n_steps)[1]


def _chi2(joint: Tensor, product: Tensor, joint_learned: Tensor, product_learned: Tensor) -> Tensor:
    """2c E_P[eʰ] − c² E_Q[e²ʰ] − 1 with the scale c that is best on the learned rows, (M,).

    The ratio is capped at the number of learned rows n, the largest that n rows can show: beyond, one
    sample of the product near a deterministic link would outweigh all others.
    """
    cap = (_log_mean_exp(product_learned) + math.log(joint_learned.shape[1])).unsqueeze(1)
    joint, product, joint_learned, product_learned = (
        torch.minimum(h, cap) for h in (joint, product, joint_learned, product_learned)
    )
    log_scale = _log_mean_exp(joint_learned) - _log_mean_exp(2 * product_learned)
    return (
        2 * torch.exp(log_scale + _log_mean_exp(joint))
        - torch.exp(2 * log_scale + _log_mean_exp(2 * product))
        - 1
    )


def _mi(joint: Tensor, product: Tensor, _: Tensor, product_learned: Tensor) -> Tensor:
    """E_P[h] − E_Q[eʰ] + 1 with h normed so that E_Q[eʰ] = 1 on the learned rows, (M,)."""
    norm = _log_mean_exp(product_learned)
    return joint.mean(dim=1) - norm - torch.expm1(_log_mean_exp(product) - norm)


def _log_mean_exp(x: Tensor) -> Tensor:
    return torch.logsumexp(x, dim=1) - math.log(x.shape[1])


class _Ratio:
    """The log ratio h of M members, on samples of the joint law and of the product of the margins."""

    def __init__(self, members: int, settings: Settings) -> None:
        widths, seeds = [2, *settings.hidden, 1], [settings.seed] * members
        self.net = BufferedMLP(StackedMLP(widths, seeds=seeds, first_bias_spread=1.0))
        self.parameters = self.net.parameters
        self._first = torch.Generator().manual_seed(settings.seed + 1)

    @staticmethod
    def samples(rows: Rows, shifts: int, first: int = 1) -> Tensor:
        """Return the rows, then each u with others' v, (M, 2, (1 + shifts) n); rows come in random order."""
        n = rows.u.shape[2]
        steps = [(first + k * max(1, n // shifts)) % n or 1 for k in range(shifts)]
        v = torch.cat([rows.v, *(rows.v.roll(step, dims=2) for step in steps)], dim=2)
        return torch.cat([rows.u.repeat(1, 1, 1 + shifts), v], dim=1)

    def __call__(self, rows: Rows, shifts: int) -> tuple[Tensor, Tensor]:
        """h on the joint law (M, n) and on the product of the margins (M, shifts * n)."""
        h, n = self.net(self.samples(rows, shifts))[:, 0], rows.u.shape[2]
        return h[:, :n], h[:, n:]

    def score(self, rows: Rows) -> Tensor:
        """Return the bound E_P[h] − ln E_Q[eʰ], (M,)."""
        joint, product = self(rows, _SHIFTS_STOP)
        return joint.mean(dim=1) - _log_mean_exp(product)

    def gradients(self, rows: Rows) -> list[Tensor]:
        """Gradients of the bound."""
        n = rows.u.shape[2]
        first = int(torch.randint(1, max(2, n), (1,), generator=self._first))
        h = self.net.forward(self.samples(rows, _SHIFTS_STEP, first))
        slope = torch.empty_like(h)
        slope[:, :, :n] = 1 / n
        slope[:, :, n:] = -torch.softmax(h[:, :, n:], dim=2)
        return self.net.gradients(slope)


def _estimate(
    u: Array,
    v: Array,
    random_state: int | None,
    evaluation: Evaluation,
    hidden: Sequence[int],
    n_steps: int | None,
) -> Array:
    """Return χ² and mutual information of each pair, from one training, (2, K)."""
    settings = Settings.of(evaluation, hidden, n_steps, random_state, _STEPS)
    return remembered(lambda: _trained(u, v, settings), "ratio_nn", u, v, settings)


def _trained(u: Array, v: Array, settings: Settings) -> Array:
    a, b, weight, _ = neural.in_order(u, v, None)
    n = u.shape[1]
    # Sorted rows are shuffled, because neighbours stand in for the margins and must not resemble a row.
    shuffled = np.random.default_rng([settings.seed, n]).permutation(n)
    rows = neural.as_rows(a[:, shuffled], b[:, shuffled], weight, normal_scores)
    folds = min(neural.FOLDS, n) if settings.cross_fit else 1

    def values(rows: Rows) -> list[Tensor]:
        if settings.cross_fit:
            return _cross_fit(rows, settings)
        ratio = _Ratio(len(rows.u), settings)
        neural.train(ratio, rows, settings)
        with torch.no_grad():
            samples = ratio(rows, _SHIFTS_VALUE)
            return [value(*samples, *samples) for value in (_chi2, _mi)]

    return np.stack(neural.in_chunks(rows, folds * (1 + _SHIFTS_STEP), values))


def _cross_fit(rows: Rows, settings: Settings) -> list[Tensor]:
    """Means over the folds of both values on rows left out, (K,) each."""
    count, _, n = rows.u.shape
    training, stopping, scoring = neural.parts(n, settings.seed)
    folds = len(training)
    every = rows.members(torch.arange(count).repeat_interleave(folds))
    learned, held, scored = (
        every.rows(index.repeat(count, 1)) for index in (training, _places(stopping), _places(scoring))
    )
    ratio = _Ratio(count * folds, settings)
    neural.train(ratio, learned, settings, held=held)
    with torch.no_grad():
        samples = *ratio(scored, _SHIFTS_VALUE), *ratio(learned, _SHIFTS_STOP)
        return [value(*samples).view(count, folds).mean(dim=1) for value in (_chi2, _mi)]


def _places(mask: Tensor) -> Tensor:
    """Indices of the rows of each mask; the longer ones lose their last row, so that all have as many."""
    fewest = int(mask.sum(dim=1).min())
    return torch.stack([row.nonzero()[:fewest, 0] for row in mask])
