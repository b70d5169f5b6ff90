"""What the neural measures share: inputs, folds, first layers, and stacked ascent with early stopping."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairdash.dependence.classical import standardised
from fairdash.dependence.ranks import mid_ranks
from fairdash.errors import OptionError
from fairdash.nets import StackedAdam, StackedMLP

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Transform = Callable[[Array, Array], Array]

#: Parts into which the rows are dealt for cross-fitting: one is scored, one stops the training, the rest
#: train.
FOLDS = 5
#: Rows of a training step: all, or as many drawn at random when there are more than twice as many.
BATCH = 512
#: Rows times networks trained at once: more would leave the processor's cache.
AT_ONCE = 20_000
#: Steps between two looks at the stopping rows.
_LOOK = 10
#: Share of the steps in which the learning rate rises from 0; then it falls along a cosine.
_WARM_UP = 0.05


@dataclass(frozen=True)
class Rows:
    """A stack of pairs as float32 tensors: u (K, 1, n), v (K, d, n), weight (K, 1, n) with mean 1."""

    u: Tensor
    v: Tensor
    weight: Tensor

    def members(self, index: Tensor) -> Rows:
        """Chosen members, repeated as often as they are named."""
        return Rows(self.u[index], self.v[index], self.weight[index])

    def rows(self, index: Tensor) -> Rows:
        """Chosen rows of each member, by (K, m) indices."""
        chosen = (
            x.gather(2, index[:, None].expand(-1, x.shape[1], -1)) for x in (self.u, self.v, self.weight)
        )
        return Rows(*chosen)

    def each(self, index: Tensor) -> Rows:
        """The same chosen rows of every member."""
        return Rows(*(x.index_select(2, index) for x in (self.u, self.v, self.weight)))

    def weighing(self, factor: Tensor) -> Rows:
        """The same rows with their weights times a (K, n) factor."""
        return Rows(self.u, self.v, self.weight * factor[:, None])


def in_order(u: Array, v: Array, sample_weight: Array | None) -> tuple[Array, Array, Array, Index]:
    """Rows sorted by u, then v, then weight, and that order; so the order of the table can't touch the
    training.

    Returns
    -------
    u : (K, n), v : (K, n, d), weight : (K, n), order : (K, n) arrays
    """
    columns = v[:, :, None] if v.ndim == 2 else v
    weight = np.ones(u.shape) if sample_weight is None else sample_weight
    order = np.lexsort((weight, *np.moveaxis(columns, 2, 0)[::-1], u), axis=-1)
    take = np.take_along_axis
    return take(u, order, -1), take(columns, order[:, :, None], 1), take(weight, order, -1), order


def ranks(x: Array, weight: Array) -> Array:
    """Mid-ranks with mean 0 and variance about 1: evenly spread on ±√3."""
    return (mid_ranks(x, weight) - 0.5) * math.sqrt(12)


def normal_scores(x: Array, weight: Array) -> Array:
    """Normal quantiles of the mid-ranks."""
    from scipy.special import ndtri

    return np.asarray(ndtri(mid_ranks(x, weight)))


def as_rows(u: Array, v: Array, weight: Array, transform: Transform) -> Rows:
    """Tensors of transformed columns; a constant column becomes zeros."""
    columns = [transform(v[:, :, j], weight) for j in range(v.shape[2])]
    share = weight / weight.mean(axis=-1, keepdims=True)
    return Rows(
        *(
            torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
            for x in (transform(u, weight)[:, None], np.stack(columns, axis=1), share[:, None])
        )
    )


def transform_named(inputs: str) -> Transform:
    """The transform of an option's name."""
    transforms: dict[str, Transform] = {"ranks": ranks, "standardised": standardised}
    if inputs not in transforms:
        raise OptionError.of("The inputs are not known", "Choose “ranks” or “standardised”.", column="inputs")
    return transforms[inputs]


def checked(
    evaluation: str, n_steps: int | None, hidden: Sequence[int], *, in_sample: int, cross_fit: int
) -> int:
    """Number of steps, with its default for the evaluation; refuses what is not usable."""
    if not hidden or any(units != int(units) or units < 1 for units in hidden):
        raise OptionError.of(
            "The hidden layers are not usable",
            "Give one whole number of units, at least 1, a layer.",
            column="hidden",
        )
    if evaluation not in ("cross_fit", "in_sample"):
        raise OptionError.of(
            "The evaluation is not known", "Choose “cross_fit” or “in_sample”.", column="evaluation"
        )
    if n_steps is not None and (n_steps != int(n_steps) or n_steps < 1):
        raise OptionError.of(
            "The number of steps is not usable", "Give a whole number of at least 1.", column="n_steps"
        )
    if n_steps is not None:
        return int(n_steps)
    return cross_fit if evaluation == "cross_fit" else in_sample


def whole_seed(random_state: int | None) -> int:
    """A seed that both numpy and torch take; a fresh one for None."""
    return int(np.random.SeedSequence(random_state).generate_state(1)[0])


@dataclass(frozen=True)
class Parts:
    """Rows of the folds: training (folds, m) by index, stopping and scoring (folds, n) by mask."""

    training: Tensor
    stopping: Tensor
    scoring: Tensor


def parts(n: int, seed: int) -> Parts:
    """Deal n rows to the folds; fold k is scored where k is left out, and k + 1 stops the training."""
    folds = min(FOLDS, n)
    fold = np.random.default_rng(seed).permutation(np.arange(n) % folds)
    own = np.arange(folds)[:, None]
    scoring, stopping = fold == own, fold == (own + 1) % folds
    training = [np.flatnonzero(row) for row in ~(scoring | stopping)]
    # Very few rows leave none for training alone.
    training = [row if len(row) else np.flatnonzero(~scoring[k]) for k, row in enumerate(training)]
    fewest = min(len(row) for row in training)
    index = torch.from_numpy(np.stack([row[:fewest] for row in training]))
    return Parts(index, torch.from_numpy(stopping).float(), torch.from_numpy(scoring).float())


def spread_first_layer(net: StackedMLP, seed: int, *, slowest: float, steepest: float) -> None:
    """Place the first layer's steps evenly over the inputs, from gentle to steep.

    A default start gives functions that hardly bend between −2 and 2. A unit tanh(a(x − c)) bends at c
    over a width 1/a: here the c are spread evenly over ±1.8 and the a are drawn log-uniformly from
    ``slowest`` to ``steepest``, so that fast links are within reach from the first step.
    """
    weight, bias = net.weights[0], net.biases[0]
    _, units, n_in = weight.shape
    rng = np.random.default_rng([seed, units])
    direction = rng.normal(size=(n_in, units))
    direction /= np.linalg.norm(direction, axis=0)
    slope = slowest * (steepest / slowest) ** rng.random(units)
    centre = (rng.permutation(units) + 0.5) / units * 3.6 - 1.8
    with torch.no_grad():
        weight.copy_(torch.from_numpy((slope * direction).T).float().expand_as(weight))
        bias.copy_(torch.from_numpy(-slope * centre)[:, None].float().expand_as(bias))


def batches(count: int, seed: int) -> Callable[[], Tensor | None]:
    """A function that gives the rows of each step: None for all, or a random ``BATCH`` of them."""
    generator = torch.Generator().manual_seed(seed)
    if count <= 2 * BATCH:
        return lambda: None
    return lambda: torch.randperm(count, generator=generator)[:BATCH]


def ascend(
    parameters: Sequence[nn.Parameter],
    gradients: Callable[[], list[Tensor]],
    *,
    n_steps: int,
    learning_rate: float,
    score: Callable[[], Tensor] | None = None,
) -> None:
    """Maximise an objective of each member of a stack by Adam.

    Parameters
    ----------
    parameters
        With the leading dimension M.
    gradients
        Gives the objective's gradients, one a parameter.
    n_steps, learning_rate
        Length and height of the schedule: a short rise, then a cosine to 0.
    score
        Gives (M,) values on stopping rows. Each member is left with the parameters that had the highest:
        early stopping.
    """
    optimiser = StackedAdam(parameters, lr=learning_rate, maximize=True)
    best: Tensor | None = None
    kept: list[Tensor] = []

    def look() -> None:
        nonlocal best, kept
        assert score is not None
        with torch.no_grad():
            value = score()
            if best is None:
                best, kept = value, [one.detach().clone() for one in parameters]
                return
            better = value > best
            best = torch.where(better, value, best)
            for old, new in zip(kept, parameters, strict=True):
                old.copy_(torch.where(better[:, None, None], new, old))

    for step in range(n_steps):
        if score is not None and step % _LOOK == 0:
            look()
        rise = min(1.0, (step + 1) / (_WARM_UP * n_steps))
        optimiser.step(gradients(), rise * 0.5 * (1 + math.cos(math.pi * step / n_steps)))
    if score is not None:
        look()
        with torch.no_grad():
            for new, old in zip(parameters, kept, strict=True):
                new.copy_(old)
