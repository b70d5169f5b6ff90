"""Stacks: K small neural networks that are computed together, and two parallel computations on a GPU.

A stack consists of K networks of the same shape. The tensors of a stack have the leading dimension K, and its
inputs and outputs have the shape ``(K, batch, features)``. This module does not depend on fairness or data.

>>> import torch
>>> net = StackedMLP([5, 8, 1], seeds=[0, 0, 1])
>>> net(torch.zeros(3, 16, 5)).shape
torch.Size([3, 16, 1])
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Activation:
    """Activation function of a unit, tanh or ReLU, in the form that handwritten gradients require.

    A unit stores a value a, and its output is ``factor * a + shift``. The factor and the shift are applied to
    the small matrices of the next layer, which saves a pass over the batch.

    Parameters
    ----------
    function
        Activation function, for computations without handwritten gradients.
    scale
        Factor by which z is multiplied before `keep`.
    keep
        In-place function that returns the stored value a, given ``scale * z``.
    factor, shift
        Factor and shift of the output ``factor * a + shift``.
    gain, slope
        Gain and function of the derivative ``gain * slope(a)`` of the output with respect to z.
    first, inner, last
        Squared bounds of the uniform initial weights, multiplied by the number of inputs, for the first
        layer, the inner layers and the output layer. None means Xavier's bound, which also depends on the
        number of outputs.
    bias
        Bound b of the hidden units' initial biases, which are uniform between −b and b.
    """

    function: Callable[[Tensor], Tensor]
    scale: float
    keep: Callable[[Tensor], Tensor]
    factor: float
    shift: float
    gain: float
    slope: Callable[[Tensor], Tensor]
    first: float | None = None
    inner: float | None = None
    last: float | None = None
    bias: float = 0.0


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        # The formulas tanh(z) = 2σ(2z) − 1 and tanh′(z) = 4(σ − σ²) are used, because torch's sigmoid is
        # faster than its tanh on CPUs.
        "tanh": Activation(
            function=torch.tanh,
            scale=2.0,
            keep=Tensor.sigmoid_,
            factor=2.0,
            shift=-1.0,
            gain=4.0,
            slope=lambda a: torch.addcmul(a, a, a, value=-1),
        ),
        # The weights of inner layers follow He and others (2015). The weights of inputs and output start
        # small, because initial weights are noise in the prediction, and tables have few rows. The biases
        # spread the kinks of the ReLU functions over the range of the data.
        "relu": Activation(
            function=torch.relu,
            scale=1.0,
            keep=Tensor.relu_,
            factor=1.0,
            shift=0.0,
            gain=1.0,
            slope=lambda a: (a > 0).to(a.dtype),
            first=0.75,
            inner=6.0,
            last=0.54,
            bias=0.5,
        ),
    }
)


class StackedMLP(nn.Module):
    """Stack of K multilayer perceptrons with a linear output.

    Parameters
    ----------
    widths
        Number of units of each layer, from the inputs to the outputs, such as ``[p, 32, 16, 1]``.
    seeds
        One seed per network, K in total. Networks with equal seeds start from equal weights in every stack.
    first_layer_gain
        Factor by which the initial weights of the first layer are multiplied. With a factor above 1, the
        network starts with steeper functions of its inputs.
    first_bias_spread
        Bound of the uniform initial biases of the first layer; 0 uses the bound of the activation.
    activation
        Name in :data:`fairdash.nets.ACTIVATIONS` of the activation between layers.

    Notes
    -----
    With tanh, the initial weights are Xavier uniform (Glorot and Bengio 2010), as in the paper, and the
    biases are zero. With ReLU, weights and biases follow :class:`fairdash.nets.Activation`. Layer l maps (K,
    widths[l], batch) to (K, widths[l+1], batch): h ← tanh(W_l h + b_l), with weights (K, widths[l+1],
    widths[l]) and biases (K, widths[l+1], 1).
    """

    def __init__(
        self,
        widths: Sequence[int],
        *,
        seeds: Sequence[int],
        first_layer_gain: float = 1.0,
        first_bias_spread: float = 0.0,
        activation: str = "tanh",
    ) -> None:
        super().__init__()
        self.widths = tuple(widths)
        self.activation = unit = ACTIVATIONS[activation]
        # All models of a split have the same seed, so each seed is drawn only once.
        initial = {
            seed: _initial_layers(self.widths, seed, unit, first_layer_gain, first_bias_spread)
            for seed in set(seeds)
        }
        members = [initial[seed] for seed in seeds]
        self.weights = nn.ParameterList(
            torch.stack([member[layer][0] for member in members]) for layer in range(len(widths) - 1)
        )
        self.biases = nn.ParameterList(
            torch.stack([member[layer][1] for member in members]) for layer in range(len(widths) - 1)
        )

    def forward(self, x: Tensor, masks: Sequence[Tensor] | None = None) -> Tensor:
        """Return outputs of shape (K, batch, widths[-1]).

        Parameters
        ----------
        x : (T, batch, widths[0]) tensor
            Inputs of T tables, where T divides K. The first K / T networks use the first table, the next K /
            T the second, and so on. With T = K, each network has a separate table; a smaller T avoids copies
            of the inputs.
        masks
            Dropout factors (K, batch, units) for the outputs of the units of each hidden layer.
        """
        if masks is None:
            outputs: Tensor = _Perceptrons.apply(self.activation, x, *self.weights, *self.biases)
            return outputs
        h = x.repeat_interleave(len(self.weights[0]) // len(x), dim=0).transpose(1, 2)
        for weight, bias, mask in zip(self.weights, self.biases, masks, strict=False):
            h = self.activation.function(torch.baddbmm(bias, weight, h)) * mask.transpose(1, 2)
        return torch.baddbmm(self.biases[-1], self.weights[-1], h).transpose(1, 2)


class _Perceptrons(torch.autograd.Function):
    """All layers of a stack as one autograd node with a handwritten gradient.

    Internally, the batch is the last dimension, (K, units, batch), and the hidden layers hold the values that
    the activation stores. For tanh(z) = 2σ(2z) − 1, the stored value is σ(2z). The constants 2 and 1 move
    into the small matrices of the next layer, 2(W tanh + b) = 4Wσ + 2(b − W1), which saves passes over the
    batch.
    """

    @staticmethod
    def forward(ctx: Any, activation: Activation, x: Tensor, *parameters: Tensor) -> Tensor:
        last = len(parameters) // 2 - 1
        weights, biases = parameters[: last + 1], parameters[last + 1 :]
        hidden = []
        # The first layers of all networks with the same table are computed as one wide layer.
        tables = len(x)
        h = x.transpose(1, 2)
        for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            scale = 1.0 if layer == last else activation.scale
            if layer:
                offset = torch.add(bias, weight.sum(dim=2, keepdim=True), alpha=activation.shift)
                h = torch.baddbmm(offset, weight, h, beta=scale, alpha=activation.factor * scale)
            else:
                matrix, offset = (part.reshape(tables, -1, part.shape[2]) for part in (weight, bias))
                h = torch.baddbmm(offset, matrix, h, beta=scale, alpha=scale).view(
                    len(weight), -1, x.shape[1]
                )
            if layer < last:
                hidden.append(activation.keep(h))
        # Saved tensors are protected against changes, but the hidden layers need no protection, because only
        # this class uses them.
        ctx.save_for_backward(x, *weights)
        ctx.hidden, ctx.activation = hidden, activation
        return h.transpose(1, 2)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        x, *weights = ctx.saved_tensors
        activation: Activation = ctx.activation
        # The slope is the derivative with respect to the layer's z, (K, units, batch).
        slope = grad_outputs[0].transpose(1, 2)
        of_weights: list[Tensor] = []
        of_biases: list[Tensor] = []
        for weight, h in zip(weights[:0:-1], reversed(ctx.hidden), strict=True):
            total = slope.sum(dim=2, keepdim=True)
            of_biases.append(total)
            gradient_of_weight = torch.bmm(slope, h.transpose(1, 2))
            of_weights.append(activation.factor * gradient_of_weight + activation.shift * total)
            slope = torch.bmm(activation.gain * weight.transpose(1, 2), slope).mul_(activation.slope(h))
        of_biases.append(slope.sum(dim=2, keepdim=True))
        wide_slope = slope.reshape(len(x), -1, x.shape[1])
        of_weights.append(torch.bmm(wide_slope, x).view_as(weights[0]))
        of_x = None
        if ctx.needs_input_grad[1]:
            of_x = torch.bmm(wide_slope.transpose(1, 2), weights[0].reshape(len(x), -1, x.shape[2]))
        return None, of_x, *reversed(of_weights), *reversed(of_biases)


def _initial_layers(
    widths: Sequence[int],
    seed: int,
    activation: Activation,
    first_layer_gain: float,
    first_bias_spread: float,
) -> list[tuple[Tensor, Tensor]]:
    """Return weights (out, in) and biases (out, 1) of one network; the CPU draws them for every device."""
    generator = torch.Generator().manual_seed(seed)
    layers = []
    last = len(widths) - 2
    for layer, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
        square = activation.last if layer == last else activation.inner if layer else activation.first
        bound = (6.0 / (n_in + n_out) if square is None else square / n_in) ** 0.5
        weight = (torch.rand(n_in, n_out, generator=generator) * 2 - 1) * bound
        spread = activation.bias if layer < last else 0.0
        if layer == 0:
            weight = weight * first_layer_gain
            spread = first_bias_spread or spread
        bias = torch.zeros(n_out, 1)
        if spread:
            bias = (torch.rand(n_out, 1, generator=generator) * 2 - 1) * spread
        layers.append((weight.T, bias))
    return layers


#: Decay rates of the gradient's moments, and the constant that avoids division by 0 (Kingma and Ba).
_BETAS, _EPSILON = (0.9, 0.999), 1e-8
#: Number of steps after which the corrections of the moments are 1 in double precision.
_STEPS_CORRECTED = 37_000


@cache
def _corrections() -> NDArray[np.float64]:
    """Return the divisors that correct the bias of Adam's two moments after each step, (T, 2)."""
    first, second = _BETAS
    steps = range(1, _STEPS_CORRECTED + 1)
    return np.array([(1 - first**step, (1 - second**step) ** 0.5) for step in steps])


class StackedAdam:
    """Adam (Kingma and Ba 2015) for a stack: a single update of all parameters of all K networks.

    The Adam of torch treats a stack as one model. In this class, each network has a separate learning rate
    and weight decay. A network that diverges keeps its last finite weights, while the other networks
    continue. All parameters are in one (K, P) buffer, so that a step needs only a few large operations for
    any number of layers.

    The device stores the number of steps and all values that depend on it. Between steps, the host therefore
    passes no new number to the device, and a step can be recorded in a CUDA graph.

    Parameters
    ----------
    parameters
        Parameters with the leading dimension K. The storage of the parameters moves into the optimiser's
        buffer, so create the optimiser after the networks are on their device.
    lr
        Learning rate, as a number for all networks or a tensor (K,) with one rate per network.
    weight_decay
        Factor by which a weight is multiplied before it is added to its gradient, as in torch.optim.Adam: a
        number or a tensor (K,) on the CPU. This L2 penalty has the strongest effect on weights with small
        gradients.
    maximize
        Whether to maximise the objective instead of minimising it.
    alive
        Mask (K,) of active networks, which is changed in place. If the gradient of a network is not finite in
        a step, the network's entry becomes False, and the network keeps its weights from before this step. If
        several optimisers share this mask, they stop a network at the same time.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: float | Tensor,
        weight_decay: float | Tensor = 0.0,
        maximize: bool = False,
        alive: Tensor | None = None,
    ) -> None:
        self.parameters = params = list(parameters)
        self.sign = 1.0 if maximize else -1.0
        # Row k of this (K, P) buffer holds every parameter of network k.
        self._weights = torch.cat([p.detach().flatten(1) for p in params], dim=1)
        self._mean = torch.zeros_like(self._weights)
        self._square = torch.zeros_like(self._weights)
        self._taken = torch.zeros(1, dtype=torch.long, device=self._weights.device)
        self.follow(np.ones(_STEPS_CORRECTED))
        if alive is None:
            alive = torch.ones(len(self._weights), dtype=torch.bool, device=self._weights.device)
        self.alive = alive
        #: True if each step checks whether all networks are active. On the CPU, the check takes no time and
        #: saves a pass over the weights. On other devices, the host would have to wait for the check.
        self.asks = alive.is_cpu
        self.lr = self._per_member(lr)
        self.weight_decay = self._per_member(weight_decay)
        # The flag is set before the numbers move to the networks' device, because the host would have to
        # wait when reading them from the device.
        self._decays = bool(torch.as_tensor(weight_decay).any())
        start = 0
        for p in params:
            stop = start + p[0].numel()
            p.data = self._weights[:, start:stop].view(p.shape)
            start = stop

    @property
    def weights(self) -> Tensor:
        """Return the buffer (not a copy) of all parameters, (K, P), with one row per network."""
        return self._weights

    @property
    def buffers(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the weights and both gradient moments, (K, P) each; with `steps`, this is the full state."""
        return self._weights, self._mean, self._square

    @property
    def steps(self) -> int:
        """Return the number of steps, at most the number of corrections; reading it waits for the device."""
        return int(self._taken)

    @steps.setter
    def steps(self, number: int) -> None:
        self._taken.fill_(number)

    def follow(self, factors: NDArray[np.float64]) -> None:
        """Set the factor of all learning rates at each step, (T,); later steps use the last factor."""
        corrections = _corrections()[np.arange(len(factors)).clip(max=_STEPS_CORRECTED - 1)]
        # The table has one row per step, with the factor of the learning rate and the divisor of the second
        # moment's root.
        rates = torch.from_numpy(np.stack([factors / corrections[:, 0], corrections[:, 1]], axis=1))
        self._rates = rates.to(self._weights.dtype).to(self._weights.device)

    def _per_member(self, value: float | Tensor) -> Tensor:
        value = torch.as_tensor(value, dtype=self._weights.dtype, device=self._weights.device)
        return value.expand(self.alive.shape).unsqueeze(1)

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor]) -> None:
        """Update all active networks along `gradients` (one per parameter, in order)."""
        mean, square = self._mean, self._square
        grads = torch.cat([gradient.flatten(1) for gradient in gradients], dim=1)
        # A sum is finite only if all its terms are finite, so one pass finds the diverged networks.
        self.alive &= grads.sum(dim=1).abs() < torch.inf
        stopped = None if self.asks and bool(self.alive.all()) else ~self.alive.unsqueeze(1)
        if stopped is not None:
            grads.masked_fill_(stopped, 0.0)
        if self._decays:
            grads.addcmul_(self.weight_decay, self._weights)
        rate, spread = self._rates.index_select(0, self._taken).unbind(dim=1)
        self._taken.add_(1).clamp_(max=len(self._rates) - 1)
        beta1, beta2 = _BETAS
        mean.lerp_(grads, 1 - beta1)
        square.mul_(beta2).addcmul_(grads, grads, value=1 - beta2)
        step_size = self.lr * rate
        if stopped is not None:
            step_size = step_size.masked_fill(stopped, 0.0)
        denominator = square.sqrt().div_(spread).add_(_EPSILON)
        self._weights.add_(mean.div(denominator).mul_(step_size), alpha=self.sign)


#: Second CUDA stream of each thread, by device.
_SECOND_STREAMS = threading.local()


def side_by_side(
    first: Callable[[], Tensor], second: Callable[[], Tensor], *, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return both results; on a GPU, the second result and its gradient are computed on another stream.

    Neither function may read memory that the other allocates. A stream reuses memory after freeing it, even
    if the other stream still reads this memory.
    """
    if device.type != "cuda":
        return first(), second()
    if not hasattr(_SECOND_STREAMS, str(device)):
        setattr(_SECOND_STREAMS, str(device), torch.cuda.Stream(device))
    main_stream, other_stream = torch.cuda.current_stream(device), getattr(_SECOND_STREAMS, str(device))
    other_stream.wait_stream(main_stream)
    with torch.cuda.stream(other_stream):
        of_second = second()
    of_first = first()
    main_stream.wait_stream(other_stream)
    return of_first, of_second
