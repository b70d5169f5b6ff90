"""Neural measures as in the paper: trained and evaluated on the same rows, for many pairs at once.

The networks have three layers of ten tanh units with Xavier weights (paper, section on HGR). The paper
specifies neither step size nor length of the ascent; the authors' public code uses Adam at 5e-4 on all rows
at once, and 1000 steps are used here. On independent rows these values are not 0, but equal to the stated
floor on average.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.nets import StackedAdam, StackedMLP

Array = NDArray[np.float64]

HIDDEN = (10, 10, 10)
LEARNING_RATE = 5e-4
N_STEPS = 1000
_EPSILON = 1e-8
#: Number of pairings of u with other rows' v over which χ² is averaged; a training step uses one pairing.
_PAIRINGS = 20
#: Rows times networks computed at once; more would exceed the processor's cache.
_AT_ONCE = 40_000


def hgr_nn_published(u: Array, v: Array, *, random_state: int = 0, n_steps: int = N_STEPS) -> Array:
    """HGR_NN by Algorithm 2, in-sample: E[f̂ĝ] on the rows that were used to train f and g.

    Parameters
    ----------
    u, v : (K, n) arrays
        Values, which the function standardises.
    random_state
        Seed of the initial weights, the same for every pair.

    Returns
    -------
    (K,) array
        At most 1; a constant u or v gives 0.
    """
    return _in_pieces(u, v, lambda a, b: _hgr(a, b, random_state, n_steps))


def chi2_nn_published(u: Array, v: Array, *, random_state: int = 0, n_steps: int = N_STEPS) -> Array:
    """χ²_NN by Algorithm 1, in-sample; parameters as :func:`hgr_nn_published`.

    Returns
    -------
    (K,) array
        A lower bound of the sample's χ²; it may fall below 0 by chance.
    """
    return _in_pieces(u, v, lambda a, b: _chi2(a, b, random_state, n_steps))


def _in_pieces(u: Array, v: Array, values: Callable[[Tensor, Tensor], Tensor]) -> Array:
    step = max(1, _AT_ONCE // u.shape[1])
    a, b = _standardised(u), _standardised(v)
    parts = [values(a[k : k + step], b[k : k + step]) for k in range(0, len(a), step)]
    constant = (np.ptp(u, axis=1) == 0) | (np.ptp(v, axis=1) == 0)
    return np.where(constant, 0.0, torch.cat(parts).double().numpy())


def _standardised(x: Array) -> Tensor:
    """(K, n, 1) float32 with mean 0 and variance 1; zeros where x is constant."""
    sd = x.std(axis=1, keepdims=True)
    scaled = (x - x.mean(axis=1, keepdims=True)) / np.where(sd > 0, sd, 1.0)
    return torch.from_numpy(np.ascontiguousarray(scaled[:, :, None], dtype=np.float32))


def _hgr(u: Tensor, v: Tensor, seed: int, n_steps: int) -> Tensor:
    f = StackedMLP([1, *HIDDEN, 1], seeds=[seed] * len(u))
    # Use different initial weights for g, because equal ones would favour links close to the identity.
    g = StackedMLP([1, *HIDDEN, 1], seeds=[seed + 1] * len(u))

    def objective() -> Tensor:
        return (_scaled(f(u)) * _scaled(g(v))).mean(dim=(1, 2))

    _ascend([*f.parameters(), *g.parameters()], objective, n_steps)
    with torch.no_grad():
        return objective()


def _scaled(x: Tensor) -> Tensor:
    """(x − m) / √(σ² + ε) over the rows; the gradient flows through m and σ (Algorithm 2)."""
    centred = x - x.mean(dim=1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(dim=1, keepdim=True) + _EPSILON)


def _chi2(u: Tensor, v: Tensor, seed: int, n_steps: int) -> Tensor:
    f = StackedMLP([2, *HIDDEN, 1], seeds=[seed] * len(u))
    generator = torch.Generator().manual_seed(seed)
    together = torch.cat([u, v], dim=2)

    def objective() -> Tensor:
        other = v[:, torch.randperm(v.shape[1], generator=generator)]
        apart = f(torch.cat([u, other], dim=2))
        return (f(together) - apart - 0.25 * apart.square()).mean(dim=(1, 2))

    _ascend(list(f.parameters()), objective, n_steps)
    with torch.no_grad():
        return torch.stack([objective() for _ in range(_PAIRINGS)]).mean(dim=0)


def _ascend(parameters: Sequence[torch.nn.Parameter], objective: Callable[[], Tensor], n_steps: int) -> None:
    optimiser = StackedAdam(parameters, lr=LEARNING_RATE, maximize=True)
    for _ in range(n_steps):
        optimiser.step(torch.autograd.grad(objective().sum(), list(parameters)))
