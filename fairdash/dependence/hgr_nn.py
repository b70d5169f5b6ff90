"""HGR of K pairs, by two networks with maximally correlated outputs (paper, Algorithm 2).

The measure trains thousands of pairs of small networks with handwritten gradients. :class:`HGRNetwork` is the
same pair of networks as a torch module, whose gradients flow back to a predictor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairdash.dependence import neural
from fairdash.dependence.neural import BufferedMLP, Rows, Settings
from fairdash.nets import StackedMLP, side_by_side
from fairdash.utils.rounding import ROUNDINGS

Array = NDArray[np.float64]

#: ε of Algorithm 2, which is added to a variance.
_EPSILON = 1e-8
#: `_SLOWEST` is the smallest and `_STEEPEST` the largest slope of the units in the first layer, in 1 /
#: standard deviation.
_SLOWEST, _STEEPEST = 2.0, 30.0
#: Default numbers of training steps.
_STEPS = {"cross_fit": 200, "in_sample": 500}


def hgr_nn(
    u: Array,
    v: Array,
    *,
    sample_weight: Array | None = None,
    random_state: int | None = None,
    evaluation: Literal["cross_fit", "in_sample"] = "cross_fit",
    inputs: Literal["ranks", "standardised"] = "ranks",
    hidden: Sequence[int] = (24, 12),
    n_steps: int | None = None,
) -> Array:
    """Return the neural HGR of each of K pairs.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
    sample_weight : (K, n) array, optional
    random_state
        Seed of initial weights, folds and batches; all pairs use the same seed.
    evaluation
        ``"cross_fit"``: the correlation on held-out rows of five folds. Each fold is scored by networks that
        were trained on three other folds, with early stopping on the fourth. The correlation is signed,
        because noise gives values on both sides of 0. ``"in_sample"``: networks are trained and scored on all
        rows, as published. Under independence, in-sample values are large and positive, and grow with the
        number of steps.
    inputs
        Inputs of the networks: evenly spread ``"ranks"``, which remove the effects of heavy tails and units,
        or ``"standardised"`` values, as published.
    hidden
        Numbers of units in the hidden layers of f and of g. The paper uses three layers of 10 units, (10, 10,
        10).
    n_steps
        Number of steps of gradient ascent; by default 200 for cross-fitting and 500 in-sample.

    Returns
    -------
    (K,) array
        Neural HGR: 0 for independence, and at most 1, for a deterministic link that the networks can
        represent.

    Raises
    ------
    OptionError
        Raised if an option is invalid.
    """
    settings = Settings.of(evaluation, hidden, n_steps, random_state, _STEPS)
    transform = neural.transform_named(inputs)
    a, b, weight, _ = neural.in_order(u, v, sample_weight)
    folds = min(neural.FOLDS, u.shape[1]) if settings.cross_fit else 1

    def values(rows: Rows) -> list[Tensor]:
        if settings.cross_fit:
            return [_cross_fit(rows, settings)]
        networks = _Pair(rows, settings)
        neural.train(networks, rows, settings)
        with torch.no_grad():
            return [networks.score(rows)]

    return np.clip(neural.in_chunks(neural.as_rows(a, b, weight, transform), folds, values)[0], -1.0, 1.0)


def fitted_functions(
    u: Array,
    v: Array,
    *,
    random_state: int | None = None,
    inputs: Literal["ranks", "standardised"] = "ranks",
    hidden: Sequence[int] = (24, 12),
    n_steps: int | None = None,
) -> tuple[Array, Array]:
    """Return functions f and g of one pair, fitted to all rows; ``(n,), (n,) or (n, d) -> (n,), (n,)``."""
    settings = Settings.of("cross_fit", hidden, n_steps, random_state, _STEPS)
    a, b, weight, order = neural.in_order(u[None], v[None], None)
    rows = neural.as_rows(a, b, weight, neural.transform_named(inputs))
    networks = _Pair(rows, settings)
    # A fifth of the rows is reserved for early stopping, so that the displayed curves do not follow noise.
    stopping = neural.parts(len(u), settings.seed)[1][:1]
    neural.train(networks, rows.reweighted(1 - stopping), settings, stopping_rows=rows.reweighted(stopping))
    result = np.empty((2, len(u)))
    with torch.no_grad():
        for output_rows, net in zip(result, networks(rows), strict=True):
            output_rows[order[0]] = _standardised(net, rows.share)[0][0, 0].double().numpy()
    return result[0], result[1]


class _Pair:
    """M pairs of networks f and g, each of which maximises J = E[f̂ ĝ] (Algorithm 2)."""

    def __init__(self, rows: Rows, settings: Settings) -> None:
        # The networks g and f start with different weights, because equal weights would favour links close to
        # the identity.
        self.f, self.g = (
            self._start(x, settings.hidden, settings.seed + k) for k, x in enumerate((rows.u, rows.v))
        )
        self.parameters = [*self.f.parameters, *self.g.parameters]

    @staticmethod
    def _start(x: Tensor, hidden: Sequence[int], seed: int) -> BufferedMLP:
        members, columns, _ = x.shape
        net = StackedMLP([columns, *hidden, 1], seeds=[seed] * members)
        neural.spread_first_layer(net, seed, slowest=_SLOWEST, steepest=_STEEPEST)
        return BufferedMLP(net)

    def __call__(self, rows: Rows) -> tuple[Tensor, Tensor]:
        return self.f(rows.u), self.g(rows.v)

    def score(self, rows: Rows) -> Tensor:
        """Return the objective J, (M,), where f̂ and ĝ have mean 0 and variance 1 under the weights."""
        f, g = (_standardised(x, rows.share)[0] for x in self(rows))
        return (rows.share * f * g).sum(dim=(1, 2))

    def gradients(self, rows: Rows) -> list[Tensor]:
        """Return the gradients of J, including the gradients through the means and variances of the rows."""
        share = rows.share
        f, scale_f = _standardised(self.f.forward(rows.u), share)
        g, scale_g = _standardised(self.g.forward(rows.v), share)
        j = (share * f * g).sum(dim=2, keepdim=True)
        # The derivative is ∂J/∂f_i = w_i (ĝ_i − J f̂_i) / σ_f, and g has the same form.
        return [
            *self.f.gradients(torch.addcmul(g, j, f, value=-1).mul_(share * scale_f)),
            *self.g.gradients(torch.addcmul(f, j, g, value=-1).mul_(share * scale_g)),
        ]


def _standardised(x: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """Return (x − m) / √(σ² + ε) under weights that sum to 1, (M, 1, n), and 1 / √(σ² + ε), (M, 1, 1)."""
    mean, scale = _moments(x, share)
    return (x - mean).mul_(scale), scale


def _moments(x: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean m and 1 / √(σ² + ε) under weights that sum to 1, (M, 1, 1) each (Algorithm 2)."""
    mean = (share * x).sum(dim=2, keepdim=True)
    centred = x - mean
    return mean, torch.rsqrt((share * centred).mul_(centred).sum(dim=2, keepdim=True) + _EPSILON)


def _cross_fit(rows: Rows, settings: Settings) -> Tensor:
    """Return the correlation of the out-of-fold values of f̂ and ĝ, pooled over the folds, (K,)."""
    count, _, n = rows.u.shape
    split = neural.parts(n, settings.seed)
    folds = len(split[0])
    # The networks for all folds of all pairs are trained at the same time.
    by_fold = rows.members(torch.arange(count).repeat_interleave(folds))
    training, stopping, scoring = (x.repeat(count, 1) for x in split)
    networks, learned = _Pair(by_fold, settings), by_fold.rows(training)
    neural.train(networks, learned, settings, stopping_rows=by_fold.chosen(stopping))
    with torch.no_grad():
        parts = []
        for net, x, x_learned in zip(
            (networks.f, networks.g), (by_fold.u, by_fold.v), (learned.u, learned.v), strict=True
        ):
            moments = _moments(net(x_learned), learned.share)
            scores = (net(x) - moments[0]) * moments[1] * scoring[:, None]
            # Each row is scored by the networks that were trained without the row's fold.
            parts.append(scores.view(count, folds, n).sum(dim=1).double())
        weight = rows.weight[:, 0].double()
        products = [
            (weight * x * y).sum(dim=1)
            for x, y in ((parts[0], parts[1]), (parts[0], parts[0]), (parts[1], parts[1]))
        ]
        scale = torch.sqrt(products[1] * products[2])
        return torch.where(scale > 0, products[0] / torch.where(scale > 0, scale, 1.0), 0.0)


class HGRNetwork(nn.Module):
    """K pairs of networks (f, g), whose objective J is a lower bound of HGR(U, V).

    Parameters
    ----------
    hidden
        Numbers of units in the hidden layers of f and of g.
    seeds
        One seed per pair of networks.
    n_sensitive
        Number of columns of V.
    """

    def __init__(self, *, hidden: Sequence[int], seeds: Sequence[int], n_sensitive: int = 1) -> None:
        super().__init__()
        self.f = StackedMLP([1, *hidden, 1], seeds=seeds)
        # The networks g and f start with different weights, because equal weights would favour links close to
        # the identity.
        self.g = StackedMLP([n_sensitive, *hidden, 1], seeds=[seed + 1_000_003 for seed in seeds])

    def forward(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return the objective J(θ_f, θ_g), (K,), in [−1, 1], for u (K, batch, 1) and v (K, batch, d).

        The objective is J = (1/b) Σ f̂(u_i) ĝ(v_i), with f̂ and ĝ standardised over the batch (Algorithm 2).
        With sample_weight (K, batch, 1), this mean is weighted. Gradients flow through the means and
        variances of the batch, and into u.
        """

        def output(network: StackedMLP, x: Tensor) -> Tensor:
            row_share = shares(sample_weight)
            return standardise(network(standardise(x, row_share)), row_share)

        f, g = side_by_side(lambda: output(self.f, u), lambda: output(self.g, v), device=u.device)
        share = shares(sample_weight)
        return (f * g).mean(dim=(1, 2)) if share is None else (share * f * g).sum(dim=(1, 2))

    @cached_property
    def _buffered(self) -> tuple[BufferedMLP, BufferedMLP]:
        return BufferedMLP(self.f, shares=True), BufferedMLP(self.g, shares=True)

    @torch.no_grad()
    def gradients(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> list[Tensor]:
        """Return the gradients of J for each parameter, by handwritten formulas in reused memory.

        The handwritten gradients take half as long as autograd, which builds a graph and allocates new
        memory.
        """
        share = shares(sample_weight)
        part = None if share is None else share.transpose(1, 2)
        (f, scale_f), (g, scale_g) = (
            standardised_and_scale(network.forward(standardise(x, share).transpose(1, 2)), part, dim=2)
            for network, x in zip(self._buffered, (u, v), strict=True)
        )
        mass = 1 / u.shape[1] if part is None else part
        j = (mass * f * g).sum(dim=2, keepdim=True)
        gradients: list[Tensor] = []
        for network, output, other, scale in ((0, f, g, scale_f), (1, g, f, scale_g)):
            # The derivative is ∂J/∂f_i = w_i (ĝ_i − J f̂_i) / σ_f, and g has the same form.
            slopes = self._buffered[network].gradients(
                torch.addcmul(other, j, output, value=-1) * (mass * scale)
            )
            gradients += [*slopes[::2], *slopes[1::2]]
        return gradients


def shares(sample_weight: Tensor | None) -> Tensor | None:
    """Scale weights (K, batch, 1) to sum to 1 over the batch; return ``None`` for equal weights."""
    return None if sample_weight is None else sample_weight / sample_weight.sum(dim=1, keepdim=True)


def standardise(x: Tensor, share: Tensor | None = None) -> Tensor:
    """Return (x − m) / √(σ² + ε) over dimension 1, the batch; σ² has the batch size as divisor (Algorithm 2).

    If weights (K, batch, 1) that sum to 1 are passed, m and σ² are weighted means.
    """
    standardised: Tensor = _Standardise.apply(x, share)
    return standardised


class _Standardise(torch.autograd.Function):
    """Autograd node that standardises values; its gradient takes four operations instead of twenty."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, share: Tensor | None) -> Tensor:
        y, scale = standardised_and_scale(x, share)
        ctx.save_for_backward(y, scale, share)
        return y

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        y, scale, share = ctx.saved_tensors
        (slope,) = grad_outputs
        # ∂/∂x_i = (s_i − w_i Σs − w_i ŷ_i Σ s ŷ) / √(σ² + ε); without shares, w = 1/b.
        if share is None:
            projection = (slope * y).mean(dim=1, keepdim=True)
            return (slope - slope.mean(dim=1, keepdim=True) - y * projection) * scale, None
        projection = (slope * y).sum(dim=1, keepdim=True)
        return (slope - share * (slope.sum(dim=1, keepdim=True) + y * projection)) * scale, None


def standardised_and_scale(x: Tensor, share: Tensor | None, *, dim: int = 1) -> tuple[Tensor, Tensor]:
    """Return the standardised values (:func:`standardise` along `dim`), and the factor 1 / √(σ² + ε)."""
    mean = _mean(x, share, dim)
    centred = x - mean
    variance = _mean(centred * centred, share, dim)
    scale = torch.rsqrt(variance + _EPSILON)
    # After a division by √ε, the rounding errors of a constant could look like a link. The code detects
    # constants by their standard deviation, because computing the range would double the time. For two
    # values, the standard deviation is half the range.
    rounding = mean.mul_(ROUNDINGS / 2 * torch.finfo(x.dtype).eps).square_()
    return centred.mul_(scale * (variance > rounding)), scale


def _mean(x: Tensor, share: Tensor | None, dim: int) -> Tensor:
    return x.mean(dim=dim, keepdim=True) if share is None else (share * x).sum(dim=dim, keepdim=True)
