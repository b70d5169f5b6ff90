"""HGR by two networks whose outputs correlate most (paper, Algorithm 2), for a stack of pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.dependence import neural
from fairdash.dependence.buffered_mlp import BufferedMLP
from fairdash.dependence.neural import Rows
from fairdash.nets import StackedMLP

Array = NDArray[np.float64]

#: ε of Algorithm 2.
_EPSILON = 1e-8
#: Steepness of the first layer's units, in 1 / standard deviation.
_SLOWEST, _STEEPEST = 2.0, 30.0
_LEARNING_RATE = 1e-2


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
    """Neural HGR of each pair of a stack.

    Parameters
    ----------
    u : (K, n) array
    v : (K, n) or (K, n, d) array
    sample_weight : (K, n) array, optional
    random_state
        Seed of initial weights, folds and batches; the same for every member.
    evaluation
        ``"cross_fit"``: five folds; each is scored by networks that were trained on three others and
        stopped where the fourth scored best. Signed: noise gives values on either side of 0.
        ``"in_sample"``: trained on all rows and scored on the same, as published; noise gives a large
        positive value that grows with the number of steps.
    inputs
        What the networks see: evenly spread ``"ranks"``, so that heavy tails and units don't matter, or
        ``"standardised"`` values, as published.
    hidden
        Units of the hidden layers of f and of g. The paper has (10, 10, 10).
    n_steps
        Steps of gradient ascent; by default 200 (cross-fitted) or 500 (in-sample).

    Returns
    -------
    (K,) array
        At most 1, which a deterministic link reaches if the networks can follow it; 0 for independence.

    Raises
    ------
    OptionError
        If an option is not usable.
    """
    steps = neural.checked(evaluation, n_steps, 500, 200)
    transform = neural.transform_named(inputs)
    seed = neural.whole_seed(random_state)
    a, b, weight, _ = neural.in_order(u, v, sample_weight)
    rows = neural.as_rows(a, b, weight, transform)
    count, n = u.shape
    folds = min(neural.FOLDS, n) if evaluation == "cross_fit" else 1
    at_once = max(1, neural.AT_ONCE // (folds * min(n, 2 * neural.BATCH)))
    values = []
    for start in range(0, count, at_once):
        chunk = rows.members(torch.arange(start, min(start + at_once, count)))
        if evaluation == "cross_fit":
            values.append(_cross_fit(chunk, hidden, steps, seed))
        else:
            networks = _Pair(len(chunk.u), chunk.v.shape[1], hidden, seed)
            _train(networks, chunk, steps, seed)
            with torch.no_grad():
                values.append(correlation(*networks(chunk.u, chunk.v), chunk.weight))
    return np.clip(torch.cat(values).double().numpy(), -1.0, 1.0)


def fitted_functions(
    u: Array,
    v: Array,
    *,
    random_state: int | None = None,
    inputs: Literal["ranks", "standardised"] = "ranks",
    hidden: Sequence[int] = (24, 12),
    n_steps: int | None = None,
) -> tuple[Array, Array]:
    """f and g of one pair at its rows, fitted on all of them; ``(n,), (n,) or (n, d) -> (n,), (n,)``."""
    a, b, weight, order = neural.in_order(u[None], v[None], None)
    rows = neural.as_rows(a, b, weight, neural.transform_named(inputs))
    seed = neural.whole_seed(random_state)
    networks = _Pair(1, rows.v.shape[1], hidden, seed)
    # Stopped on a fifth of the rows: curves are looked at, and should not show noise.
    held = neural.parts(len(u), seed).stopping[:1]
    steps = neural.checked("cross_fit", n_steps, 500, 200)
    _train(networks, rows.weighing(1 - held), steps, seed, held=rows.weighing(held))
    result = np.empty((2, len(u)))
    with torch.no_grad():
        for out, net in zip(result, networks(rows.u, rows.v), strict=True):
            out[order[0]] = _standardised(net, rows.weight)[0, 0].double().numpy()
    return result[0], result[1]


class _Pair:
    """Networks f and g of M members."""

    def __init__(self, members: int, columns: int, hidden: Sequence[int], seed: int) -> None:
        # g must not start as a copy of f: that would favour links close to the identity.
        self.f, self.g = (
            self._start(1, members, hidden, seed),
            self._start(columns, members, hidden, seed + 1),
        )
        self.parameters = [*self.f.parameters, *self.g.parameters]

    @staticmethod
    def _start(columns: int, members: int, hidden: Sequence[int], seed: int) -> BufferedMLP:
        net = StackedMLP([columns, *hidden, 1], seeds=[seed] * members)
        neural.spread_first_layer(net, seed, slowest=_SLOWEST, steepest=_STEEPEST)
        return BufferedMLP(net)

    def __call__(self, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return self.f(u), self.g(v)

    def gradients(self, rows: Rows) -> list[Tensor]:
        """Gradients of J = E[f̂ ĝ], through the means and variances of the rows (Algorithm 2)."""
        f, g = self.f.forward(rows.u), self.g.forward(rows.v)
        (mean_f, scale_f), (mean_g, scale_g) = _moments(f, rows.weight), _moments(g, rows.weight)
        f, g = (f - mean_f) * scale_f, (g - mean_g) * scale_g
        share = _share(rows.weight)
        j = (share * f * g).sum(dim=2, keepdim=True)
        # ∂J/∂f_i = w_i (ĝ_i − J f̂_i) / σ_f, and the same for g.
        return [
            *self.f.gradients(share * (g - j * f) * scale_f),
            *self.g.gradients(share * (f - j * g) * scale_g),
        ]


def correlation(f: Tensor, g: Tensor, weight: Tensor) -> Tensor:
    """J = E[f̂ ĝ] with f̂ and ĝ standardised under the weights (Algorithm 2); (M, 1, n) each -> (M,)."""
    return (_share(weight) * _standardised(f, weight) * _standardised(g, weight)).sum(dim=(1, 2))


def _standardised(x: Tensor, weight: Tensor) -> Tensor:
    mean, scale = _moments(x, weight)
    return (x - mean) * scale


def _moments(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Mean m and 1 / √(σ² + ε) under the weights, (M, 1, 1) each (Algorithm 2)."""
    share = _share(weight)
    mean = (share * x).sum(dim=2, keepdim=True)
    return mean, torch.rsqrt((share * (x - mean) ** 2).sum(dim=2, keepdim=True) + _EPSILON)


def _share(weight: Tensor) -> Tensor:
    return weight / weight.sum(dim=2, keepdim=True).clamp_min(1e-12)


def _train(networks: _Pair, learned: Rows, steps: int, seed: int, held: Rows | None = None) -> None:
    """Ascend J on the learned rows; keep for each member the step that scored best on the held ones."""
    draw = neural.batches(learned.u.shape[2], seed)

    def gradients() -> list[Tensor]:
        batch = draw()
        return networks.gradients(learned if batch is None else learned.each(batch))

    def score() -> Tensor:
        assert held is not None
        return correlation(*networks(held.u, held.v), held.weight)

    neural.ascend(
        networks.parameters,
        gradients,
        n_steps=steps,
        learning_rate=_LEARNING_RATE,
        score=None if held is None else score,
    )


def _cross_fit(rows: Rows, hidden: Sequence[int], steps: int, seed: int) -> Tensor:
    """Correlation of out-of-fold f̂ and ĝ, pooled over the folds, (K,)."""
    count, columns, n = rows.v.shape
    split = neural.parts(n, seed)
    folds = len(split.training)
    # Members of the stack: every fold of every pair.
    every = rows.members(torch.arange(count).repeat_interleave(folds))
    training, stopping, scoring = (
        x.repeat(count, 1) for x in (split.training, split.stopping, split.scoring)
    )
    networks = _Pair(count * folds, columns, hidden, seed)
    learned = every.rows(training)
    _train(networks, learned, steps, seed, held=every.weighing(stopping))
    with torch.no_grad():
        out = []
        for net, x, x_learned in zip(
            (networks.f, networks.g), (every.u, every.v), (learned.u, learned.v), strict=True
        ):
            known = _moments(net(x_learned), learned.weight)
            own = (net(x) - known[0]) * known[1] * scoring[:, None]
            # Each row is scored by the one fold that left it out.
            out.append(own.view(count, folds, n).sum(dim=1).double())
        weight = rows.weight[:, 0].double()
        products = [
            (weight * x * y).sum(dim=1) for x, y in ((out[0], out[1]), (out[0], out[0]), (out[1], out[1]))
        ]
        scale = torch.sqrt(products[1] * products[2])
        return torch.where(scale > 0, products[0] / torch.where(scale > 0, scale, 1.0), 0.0)
