"""Adversarial penalties: neural HGR, and χ² and mutual information from estimated density ratios.

An adversary network h(u, s) estimates ln(p(u, s) / (p(u) p(s))) by maximising the bound of Donsker and
Varadhan, E_P[h] − ln E_Q[eʰ], where P is the joint distribution and Q the product of the marginal
distributions (MINE, Belghazi et al., 2018). To sample from Q, the u of each row of a batch is combined with
the s of another row.
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
    """Penalty Ψ = J(θ_f, θ_g), the correlation of standardised f(U) and g(S) on a batch."""

    def __init__(
        self, *, seeds: Sequence[int], s: Tensor, which_split: Tensor, settings: TrainingSettings
    ) -> None:
        super().__init__(seeds=seeds, s=s, which_split=which_split, settings=settings)
        self.networks = HGRNetwork(hidden=settings.adversary_hidden, seeds=seeds, n_sensitive=s.shape[2])

    @staticmethod
    def values_per_row(settings: TrainingSettings) -> float:
        """Return the number of values per row for the units of f and g and for their derivatives."""
        return 3.2 * sum(settings.adversary_hidden)

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return J (K,) in [−1, 1]; J can be negative if the adversary is not yet adapted to predictions."""
        j: Tensor = self.networks(u, v, sample_weight)
        return j

    def adversary_gradients(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> list[Tensor]:
        """Return the gradients of J; on a GPU, they are computed by autograd with one stream per network."""
        if u.is_cpu:
            return self.networks.gradients(u, v, sample_weight)
        return super().adversary_gradients(u, v, sample_weight)


#: Number of samples from Q per row of a batch. With one sample per row, as in the paper, the trade-off was
#: worse in one of three simulations with χ². With three or six samples, training took longer without a better
#: trade-off.
_PAIRS = 2
#: Maximum absolute value of the initial biases of the first layer. If the biases were 0, the initial network
#: h would be an odd function.
_BIAS_SPREAD = 1.0


class RatioPenalty(BasePenalty):
    """Adversary network h, and the bound that it maximises; subclasses define Ψ."""

    def __init__(
        self, *, seeds: Sequence[int], s: Tensor, which_split: Tensor, settings: TrainingSettings
    ) -> None:
        super().__init__(seeds=seeds, s=s, which_split=which_split, settings=settings)
        widths = [1 + s.shape[2], *settings.adversary_hidden, 1]
        self.network = StackedMLP(widths, seeds=seeds, first_bias_spread=_BIAS_SPREAD)

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Return normal scores; an increasing transformation of S leaves both divergences unchanged."""
        return normal_scores(s, train, weight)

    @staticmethod
    def values_per_row(settings: TrainingSettings) -> float:
        """Return the number of values per row for the units of the network at samples from P and from Q."""
        return 2.2 * (1 + _PAIRS) * sum(settings.adversary_hidden)

    def adversary_objective(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return the bound of Donsker and Varadhan, E_P[h] − ln E_Q[eʰ], (K,).

        The expectation of the bound is at most the mutual information in nats.
        """
        joint, product, joint_share, product_share = self.log_ratios(u, v, sample_weight)
        mean = joint.mean(dim=1) if joint_share is None else (joint_share * joint).sum(dim=1)
        return mean - log_mean_exp(product, product_share)

    def log_ratios(
        self, u: Tensor, v: Tensor, sample_weight: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Return h at samples from P, (K, b), and from Q, (K, m), and the weights of both samples.

        The samples from P are the rows of the batch. For the samples from Q, the u of each row is combined
        with the s of a few other rows. The weights of each sample have the sum 1, or are None if they are
        equal.
        """
        share = shares(sample_weight)
        b = u.shape[1]
        # The u of a row is combined with the s of rows at evenly spaced distances, so that the row order has
        # little influence. In a tiny batch, every row is combined with all rows.
        steps = [k * b // (_PAIRS + 1) for k in range(1, _PAIRS + 1)] if b > _PAIRS + 1 else range(b)
        z = standardise(u, share)
        others = torch.cat([v, *(v.roll(step, dims=1) for step in steps)], dim=1)
        h = self.network(torch.cat([z.repeat(1, 1 + len(steps), 1), others], dim=2)).squeeze(2)
        if share is None:
            return h[:, :b], h[:, b:], None, None
        pairs = torch.cat([share * share.roll(step, dims=1) for step in steps], dim=1).squeeze(2)
        return h[:, :b], h[:, b:], share.squeeze(2), pairs / pairs.sum(dim=1, keepdim=True)


def log_mean_exp(x: Tensor, share: Tensor | None) -> Tensor:
    """Return ln E[eˣ] (K,) of x (K, m); the weights `share` sum to 1, and None means equal weights."""
    if share is None:
        return torch.logsumexp(x, dim=1) - math.log(x.shape[1])
    return torch.logsumexp(x + share.log(), dim=1)


class Chi2Penalty(RatioPenalty):
    """Penalty Ψ = E_P[f] − E_Q[f + f²/4] on a batch, with f = 2(c eʰ − 1) and the optimal factor c.

    With the optimal factor, Ψ = E_P[eʰ]² / E_Q[e²ʰ] − 1. The adversary maximises the bound of Donsker and
    Varadhan, which has the same optimal ratio eʰ and is more stable. Maximisation of Ψ, as published, is
    unstable, because the largest ratio in a batch dominates Ψ.
    """

    maximises_psi = False

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ (K,), above −1; Ψ can be negative if the adversary is not yet adapted to the predictor."""
        h_joint, h_product, joint_share, product_share = self.log_ratios(u, v, sample_weight)
        # Ratios are capped at b, because a batch of b rows contains no information on a density ratio above
        # b. Without the cap, one sample would outweigh all others.
        rows = math.log(u.shape[1])
        cap = (log_mean_exp(h_product, product_share) + rows).unsqueeze(1)
        joint = log_mean_exp(torch.minimum(h_joint, cap), joint_share)
        square = log_mean_exp(2 * torch.minimum(h_product, cap), product_share)
        return torch.expm1(2 * joint - square)


class MINEPenalty(RatioPenalty):
    """Penalty Ψ = E_P[h] − ln E_Q[eʰ] on a batch, in nats, which the adversary maximises."""

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return Ψ (K,), which can be negative if the adversary is not yet adapted to the predictor."""
        return self.adversary_objective(u, v, sample_weight)
