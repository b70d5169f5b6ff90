"""What stands between the layers of a stack: tanh or ReLU, in the form that a hand-written gradient wants.

A unit's output is ``factor * a + shift`` of the a that is kept, so that its affine part goes into the next
layer's small matrices and no pass over the batch is needed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Activation:
    """One way from a unit's z to its output.

    Parameters
    ----------
    function
        The output itself, for what is not written by hand.
    scale
        What z is multiplied by before `keep`.
    keep
        The kept a from ``scale * z``, in place.
    factor, shift
        The output is ``factor * a + shift``.
    gain, slope
        The output's derivative by z is ``gain * slope(a)``.
    first, inner, last
        Squares of the bounds of uniform initial weights, times the number of inputs: of the first layer,
        those between, and the output's; None for Xavier's bound, which knows the outputs too.
    bias
        Initial biases of hidden units are uniform between ± this.
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
        # tanh(z) = 2σ(2z) − 1, and tanh′(z) = 4(σ − σ²): torch's sigmoid is vectorised on CPUs and its tanh
        # much less so.
        "tanh": Activation(
            function=torch.tanh,
            scale=2.0,
            keep=Tensor.sigmoid_,
            factor=2.0,
            shift=-1.0,
            gain=4.0,
            slope=lambda a: torch.addcmul(a, a, a, value=-1),
        ),
        # He et al. (2015) in between. Many inputs begin small, and so does the output: a table's rows are
        # few, and what weights begin with is noise to the prediction. Biases spread the kinks over the rows.
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
