"""Code shared by the neural measures: inputs, folds, networks, and training of many networks at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairdash.dependence.classical import mid_ranks, standardised
from fairdash.errors import Checks, OptionError
from fairdash.nets import StackedAdam, StackedMLP

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Transform = Callable[[Array, Array], Array]

#: Number of folds for cross-fitting: one fold is scored, one is for early stopping, and the others are for
#: training.
FOLDS = 5
#: Number of rows in a training step. A step uses all rows unless there are more than twice this number.
BATCH = 512
#: Maximum product of rows and networks trained at once, so that the data fit in the processor's cache.
AT_ONCE = 20_000
#: Number of steps between evaluations for early stopping.
_STEPS_PER_CHECK = 10
_LEARNING_RATE = 1e-2
#: Share of the steps in which the learning rate rises from 0, before it follows a cosine decay.
_WARM_UP = 0.05


@dataclass(frozen=True)
class Rows:
    """Stack of pairs as float32 tensors: u (K, 1, n), v (K, d, n), weight (K, 1, n) with mean 1."""

    u: Tensor
    v: Tensor
    weight: Tensor

    @cached_property
    def share(self) -> Tensor:
        """Return the weights scaled to sum to 1, (K, 1, n)."""
        return self.weight / self.weight.sum(dim=2, keepdim=True).clamp_min(1e-12)

    def members(self, index: Tensor) -> Rows:
        """Return the selected pairs (members); an index may occur several times."""
        return Rows(self.u[index], self.v[index], self.weight[index])

    def rows(self, index: Tensor) -> Rows:
        """Return the rows of each pair that the indices (K, m) select."""
        chosen = (
            x.gather(2, index[:, None].expand(-1, x.shape[1], -1)) for x in (self.u, self.v, self.weight)
        )
        return Rows(*chosen)

    def each(self, index: Tensor) -> Rows:
        """Return the same selected rows of every pair."""
        return Rows(*(x.index_select(2, index) for x in (self.u, self.v, self.weight)))

    def reweighted(self, factor: Tensor) -> Rows:
        """Return the rows with weights multiplied by a factor (K, n)."""
        return Rows(self.u, self.v, self.weight * factor[:, None])

    def chosen(self, mask: Tensor) -> Rows:
        """Return the rows that a mask (K, n) selects, padded with rows of weight 0 to equal length."""
        length = int(mask.sum(dim=1).max())
        index = mask.argsort(dim=1, descending=True, stable=True)[:, :length]
        return self.rows(index).reweighted(mask.gather(1, index))


def in_order(u: Array, v: Array, sample_weight: Array | None) -> tuple[Array, Array, Array, Index]:
    """Sort rows by u, v and weight, so that training ignores the table's order; return rows and order.

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
    """Return mid-ranks scaled to mean 0 and variance about 1, evenly spread over ±√3."""
    return (mid_ranks(x, weight) - 0.5) * math.sqrt(12)


def as_rows(u: Array, v: Array, weight: Array, transform: Transform) -> Rows:
    """Return the transformed columns as tensors; a constant column becomes zeros."""
    columns = [transform(v[:, :, j], weight) for j in range(v.shape[2])]
    share = weight / weight.mean(axis=-1, keepdims=True)
    return Rows(
        *(
            torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
            for x in (transform(u, weight)[:, None], np.stack(columns, axis=1), share[:, None])
        )
    )


def transform_named(inputs: str) -> Transform:
    """Return the transform that the option `inputs` names."""
    transforms: dict[str, Transform] = {"ranks": ranks, "standardised": standardised}
    if inputs not in transforms:
        raise OptionError.of("The inputs are not known", "Choose “ranks” or “standardised”.", column="inputs")
    return transforms[inputs]


@dataclass(frozen=True)
class Settings:
    """Training settings of the networks: hidden units, steps, seed for numpy and torch, and cross-fitting."""

    hidden: tuple[int, ...]
    n_steps: int
    seed: int
    cross_fit: bool

    @classmethod
    def of(
        cls,
        evaluation: str,
        hidden: Sequence[int],
        n_steps: int | None,
        random_state: int | None,
        default: Mapping[str, int],
    ) -> Settings:
        """Make settings from a measure's options and default steps; ``None`` is replaced by a random seed."""
        checks = Checks(OptionError)
        checks.require(
            bool(hidden) and all(units == int(units) and units >= 1 for units in hidden),
            "hidden",
            "The hidden layers are not valid",
            "Give one whole number of units, at least 1, per layer.",
        )
        checks.require(
            evaluation in default,
            "evaluation",
            "The evaluation is not known",
            "Choose “cross_fit” or “in_sample”.",
        )
        checks.require(
            n_steps is None or (n_steps == int(n_steps) and n_steps >= 1),
            "n_steps",
            "The number of steps is not valid",
            "Give a whole number of at least 1.",
        )
        checks.finish()
        seed = int(np.random.SeedSequence(random_state).generate_state(1)[0])
        steps = default[evaluation] if n_steps is None else int(n_steps)
        return cls(tuple(hidden), steps, seed, evaluation == "cross_fit")


def parts(n: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Assign n rows to folds: to score fold k, use fold k + 1 for early stopping and the rest for training.

    Returns
    -------
    training : (folds, m) rows by index
    stopping, scoring : (folds, n) masks
    """
    folds = min(FOLDS, n)
    fold = np.random.default_rng(seed).permutation(np.arange(n) % folds)
    fold_numbers = np.arange(folds)[:, None]
    scoring, stopping = fold == fold_numbers, fold == (fold_numbers + 1) % folds
    training = [np.flatnonzero(row) for row in ~(scoring | stopping)]
    # If there are too few rows for a separate training set, the early-stopping rows are also used for
    # training.
    training = [row if len(row) else np.flatnonzero(~scoring[k]) for k, row in enumerate(training)]
    min_rows = min(len(row) for row in training)
    index = torch.from_numpy(np.stack([row[:min_rows] for row in training]))
    return index, torch.from_numpy(stopping).float(), torch.from_numpy(scoring).float()


class BufferedMLP:
    """Stack of M perceptrons with tanh layers, one linear output, and handwritten gradients.

    A measure trains thousands of small networks for hundreds of steps. Allocating autograd's tensors would
    take longer than the arithmetic, so this class reuses buffers. The rows are the last dimension of all
    arrays, (M, units, rows), so that elementwise operations run along contiguous memory.

    Parameters
    ----------
    start
        Initial networks. The class copies the weights of these networks, or updates the weights in place if
        `shares` is true.

    Attributes
    ----------
    parameters : list of nn.Parameter
        Weights (M, out, in) and biases (M, out, 1), layer by layer, which an external optimiser updates.
    """

    def __init__(self, start: StackedMLP, *, shares: bool = False) -> None:
        self.parameters: list[nn.Parameter] = []
        for weight, bias in zip(start.weights, start.biases, strict=True):
            for part in (weight, bias):
                parameter = part if shares else nn.Parameter(part.detach().clone(), requires_grad=False)
                self.parameters.append(parameter)
        self._kept: list[Tensor] = []
        self._buffers: dict[tuple[str, int], Tensor] = {}

    @property
    def layers(self) -> Sequence[tuple[Tensor, Tensor]]:
        """Return weights and biases, layer by layer."""
        return list(zip(self.parameters[::2], self.parameters[1::2], strict=True))

    def __call__(self, x: Tensor) -> Tensor:
        """Return outputs (M, 1, n) for inputs (M, d, n), in newly allocated memory."""
        last = len(self.layers) - 1
        for layer, (weight, bias) in enumerate(self.layers):
            x = torch.baddbmm(bias, weight, x)
            if layer < last:
                # As in fairdash.nets, the code uses tanh(z) = 2σ(2z) − 1.
                x = torch.sigmoid(x.mul_(2)).mul_(2).sub_(1)
        return x

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs in the buffers, which :meth:`gradients` then uses.

        Since tanh(z) = 2σ(2z) − 1, the buffers hold σ(2z), and the constants 2 and 1 move into the small
        matrices of the next layer, by 2(W tanh + b) = 4Wσ + 2(b − W1). Moving the constants saves passes over
        the rows.
        """
        self._kept = [x]
        last = len(self.layers) - 1
        for layer, (weight, bias) in enumerate(self.layers):
            scale = 2.0 if layer < last else 1.0
            bias = scale * (bias - weight.sum(dim=2, keepdim=True) if layer else bias)
            z = self._buffer("output", layer, (*weight.shape[:2], x.shape[2]), x)
            torch.baddbmm(bias, weight, x, alpha=2 * scale if layer else scale, out=z)
            if layer < last:
                self._kept.append(torch.sigmoid(z, out=z))
            x = z
        return x

    def gradients(self, slope: Tensor) -> list[Tensor]:
        """Return the gradients of the parameters from the gradients of the last outputs of `forward`."""
        result: list[Tensor] = []
        for layer in range(len(self.layers) - 1, -1, -1):
            h, weight = self._kept[layer], self.layers[layer][0]
            projection, total = torch.bmm(slope, h.transpose(1, 2)), slope.sum(dim=2, keepdim=True)
            result = [2 * projection - total if layer else projection, total, *result]
            if layer:
                # The derivative is tanh′(z) = 1 − tanh²(z) = 4(σ − σ²).
                propagated = self._buffer("slope", layer, h.shape, h)
                # With one output, an elementwise product is faster than a matrix product.
                product = torch.mul if slope.shape[1] == 1 else torch.bmm
                product(4 * weight.transpose(1, 2), slope, out=propagated)
                derivative = torch.addcmul(h, h, h, value=-1, out=self._buffer("bend", layer, h.shape, h))
                slope = propagated.mul_(derivative)
        return result

    def _buffer(self, name: str, layer: int, shape: Sequence[int], like: Tensor) -> Tensor:
        buffer = self._buffers.get((name, layer))
        if buffer is None or buffer.shape != torch.Size(shape):
            buffer = self._buffers[name, layer] = torch.empty(*shape, dtype=like.dtype)
        return buffer


def spread_first_layer(net: StackedMLP, seed: int, *, slowest: float, steepest: float) -> None:
    """Initialise the first layer with units whose centres cover the inputs and whose slopes vary.

    Functions from a default initialisation are almost linear between −2 and 2. A unit tanh(a(x − c)) rises
    around c over a width of 1/a. Here, the centres c are spaced evenly over ±1.8, and the slopes a are drawn
    log-uniformly from ``slowest`` to ``steepest``. The networks can then represent associations with many
    waves from the first step on.
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


class Learner(Protocol):
    """M networks, or pairs of networks, each of which maximises an objective."""

    parameters: list[nn.Parameter]

    def gradients(self, rows: Rows) -> list[Tensor]:
        """Return the gradients of the objective on the rows of one step, one gradient per parameter."""
        ...

    def score(self, rows: Rows) -> Tensor:
        """Return the score of each member for early stopping, (M,)."""
        ...


def train(learner: Learner, learned: Rows, settings: Settings, stopping_rows: Rows | None = None) -> None:
    """Maximise each member's objective by Adam, whose learning rate rises briefly and then decays to 0.

    A step uses all training rows, or ``BATCH`` random rows of a large table. With `stopping_rows`, each
    member ends with the parameters that scored best on these rows (early stopping).
    """
    count, n_steps, parameters = learned.u.shape[2], settings.n_steps, learner.parameters
    optimiser = StackedAdam(parameters, lr=_LEARNING_RATE, maximize=True)
    warm_up = [min(1.0, (step + 1) / (_WARM_UP * n_steps)) for step in range(n_steps)]
    decay = [0.5 * (1 + math.cos(math.pi * step / n_steps)) for step in range(n_steps)]
    optimiser.follow(np.array(warm_up) * decay)
    generator = torch.Generator().manual_seed(settings.seed)
    best: Tensor | None = None
    best_parameters: list[Tensor] = []

    def keep_best(stopping_rows: Rows) -> None:
        nonlocal best, best_parameters
        with torch.no_grad():
            value = learner.score(stopping_rows)
            if best is None:
                best, best_parameters = value, [tensor.detach().clone() for tensor in parameters]
                return
            is_better = value > best
            best = torch.where(is_better, value, best)
            for parameter, new in zip(best_parameters, parameters, strict=True):
                parameter.copy_(torch.where(is_better[:, None, None], new, parameter))

    for step in range(n_steps):
        if stopping_rows is not None and step % _STEPS_PER_CHECK == 0:
            keep_best(stopping_rows)
        rows = learned
        if count > 2 * BATCH:
            rows = learned.each(torch.randperm(count, generator=generator)[:BATCH])
        optimiser.step(learner.gradients(rows))
    if stopping_rows is not None:
        keep_best(stopping_rows)
        with torch.no_grad():
            for new, parameter in zip(parameters, best_parameters, strict=True):
                new.copy_(parameter)


def in_chunks(rows: Rows, members: int, value: Callable[[Rows], list[Tensor]]) -> list[Array]:
    """Compute the values of all pairs, (K,) each, in chunks that fit in the processor's cache.

    Parameters
    ----------
    members
        Number of networks, or of copies of the rows, that a pair needs.
    value
        Function that returns the values of the pairs in one chunk.
    """
    count, _, n = rows.u.shape
    at_once = max(1, AT_ONCE // (members * min(n, 2 * BATCH)))
    all_rows = torch.arange(count)
    chunks = [value(rows.members(all_rows[start : start + at_once])) for start in range(0, count, at_once)]
    return [torch.cat(parts).double().numpy() for parts in zip(*chunks, strict=True)]
