"""Maximal correlation and χ² divergence of a kernel-smoothed distribution (Mary et al., 2019), in numpy and
torch, for raw values or normal scores.

The Gaussian kernel is separable, so the density on a G × G grid is a product of two G × n matrices. Computing
the density takes O(Gn) exponentials instead of O(G²n). The same code serves numpy arrays (without importing
torch) and torch tensors. For tensors, the result is differentiable in u and v and can serve as a training
penalty.

>>> u = np.random.default_rng(0).normal(size=(3, 200))
>>> hgr_kde(u, u**2).shape
(3,)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from fairdash.dependence.classical import normal_scores
from fairdash.dependence.inference import weighted_orders
from fairdash.dependence.remembered import cached_result
from fairdash.errors import OptionError

Array = NDArray[np.float64]
Value = Callable[[Any, Any], Any]

Grid = Literal["cover", "published"]

#: Number of bandwidths by which the covering grid extends beyond the outermost points. The extended grid
#: includes 99.7 % of the mass of a kernel at the outermost point.
_REACH = 3.0
#: Maximum number of lines of a covering grid. A grid with 1,000 lines extends to 50 standard deviations for a
#: million rows with equal weights, and further for fewer rows. At most a share of 1/k² of the weight is more
#: than k standard deviations from the mean.
_MAX_LINES = 1_000
#: Marginal mass below which a grid line contains only rounding errors.
_NO_MASS = 1e-12
#: Constant added to the published density before normalisation for HGR, as in the published code.
_DAMPING = 1e-10
#: Distance in bandwidths beyond which a kernel value, about 1e-40, is replaced by 0. Products of smaller
#: values underflow and take a hundred times as long.
_MAX_DISTANCE = 13.6
#: Number of lines, on either side of a grid line, whose kernels are computed from the kernel of that line.
_SIDE_LINES = 6
_EXP_HALF, _EXP_ONE = np.exp(-0.5), np.exp(-1.0)
#: Maximum number of values of a product of permuted kernels that are in memory at once.
_MAX_NUMBERS = 4_000_000
#: Number of permuted rows whose kernels are in memory at a time; the system would allocate new memory for
#: larger arrays each time.
_MAX_PERMUTED = 25_000


def hgr_kde(
    u: Any,
    v: Any,
    *,
    sample_weight: Any = None,
    grid: Grid = "cover",
    permutations: Any = None,
    permute_weight: bool = False,
) -> Any:
    """Return the maximal correlation (Hirschfeld–Gebelein–Rényi) of each pair's kernel-smoothed distribution.

    The maximal correlation is the second singular value of Q = p(i, j) / √(p(i) p(j)) (paper, Witsenhausen's
    theorem; Mary et al., 2019).

    Parameters
    ----------
    u, v : (..., n) arrays of numpy or torch
        Values in any units; the function standardises them.
    sample_weight : (..., n) array, optional
        Non-negative weights of the rows.
    grid
        ``"cover"``: lines one bandwidth apart that extend three bandwidths beyond the data on either side.
        This grid has at most 1,000 lines. Rows beyond the last line are moved to this line. ``"published"``:
        at most 50 points on ±2.5 standard deviations, as in the published code, which ignores values outside
        this range.
    permutations : (B, n) array, optional
        Orders of the rows of v, for numpy arrays (K, n). With weights, a row may occur several times in an
        order.
    permute_weight
        True if the weights of permuted rows move with v, False if they stay with u.

    Returns
    -------
    (...) array, or (K, B) with permutations
        HGR_KDE in [0, 1]: 0 for independence or a constant input, and 1 for a deterministic link that the
        bandwidth resolves.

    Raises
    ------
    OptionError
        Raised if ``grid`` is neither ``"cover"`` nor ``"published"``.
    """
    damping = _DAMPING if grid == "published" else 0.0
    return _one_measure(0, damping, u, v, sample_weight, grid, permutations, permute_weight)


def chi2_kde(
    u: Any,
    v: Any,
    *,
    sample_weight: Any = None,
    grid: Grid = "cover",
    permutations: Any = None,
    permute_weight: bool = False,
) -> Any:
    """Return the χ² divergence ΣQ² − 1 between each pair's kernel-smoothed distribution and independence.

    The parameters and errors are the same as in :func:`hgr_kde`.

    Returns
    -------
    (...) array, or (K, B) with permutations
        χ² divergence, at least the square of :func:`hgr_kde`, with no upper bound.
    """
    return _one_measure(1, 0.0, u, v, sample_weight, grid, permutations, permute_weight)


def hgr_kde_scores(
    u: Array,
    v: Array,
    *,
    sample_weight: Array | None = None,
    permutations: NDArray[np.intp] | None = None,
    permute_weight: bool = False,
) -> Array:
    """Return HGR_KDE of the normal scores Φ⁻¹(rank of u) and Φ⁻¹(rank of v), for each of K pairs.

    An increasing transformation of u or v leaves HGR unchanged, but changes the kernel estimate that is
    computed from raw values. A single bandwidth of n^(−1/6) standard deviations is too wide for the bulk of a
    heavy-tailed variable and too narrow for its tail. Normal scores (van der Waerden) have the same
    distribution for all data.

    Parameters
    ----------
    u, v : (K, n) arrays
        Variables; only their mid-ranks are used, and tied values share one rank.
    sample_weight : (K, n) array, optional
        Non-negative weights of the rows, which also weight the ranks.
    permutations : (B, n) array, optional
        Orders of the rows of v.
    permute_weight
        True if the weights of permuted rows move with v, False if they stay with u.

    Returns
    -------
    (K,) array, or (K, B) with permutations
        HGR_KDE in [0, 1]: 0 for independence, and 1 for a deterministic link that the bandwidth resolves.
    """
    if permutations is not None and sample_weight is not None:
        return _weighted_orders(
            _hgr_of,
            0.0,
            lambda x, weight: _kernels(np, normal_scores(x, weight), weight, "cover"),
            (u, v, sample_weight, permutations),
            permute_weight,
        )
    scores = normal_scores(u, sample_weight), normal_scores(v, sample_weight)
    values: Array = hgr_kde(*scores, sample_weight=sample_weight, permutations=permutations)
    return values


def _one_measure(
    which: int,
    damping: float,
    u: Any,
    v: Any,
    sample_weight: Any,
    grid: Grid,
    permutations: Any = None,
    permute_weight: bool = False,
) -> Any:
    """Return HGR (χ² if `which` is 1) for each pair, (...), or for each permutation, (K, B)."""
    xp = array_namespace(u, v)
    if not isinstance(u, np.ndarray):
        f, g = _kernels(xp, u, sample_weight, grid), _kernels(xp, v, sample_weight, grid)
        return (_hgr_of, _chi2_of)[which](xp, _joint(xp, _weighted(xp, f, sample_weight), g, damping))
    inputs = (u, v, sample_weight, permutations, damping, grid, permute_weight)
    values = cached_result(
        lambda: _hgr_and_chi2(damping, u, v, sample_weight, grid, permutations, permute_weight),
        "kde",
        *inputs,
    )
    return values[..., which]


def _hgr_and_chi2(
    damping: float,
    u: Array,
    v: Array,
    weight: Array | None,
    grid: Grid,
    orders: NDArray[np.intp] | None,
    permute_weight: bool,
) -> Array:
    """Return HGR and χ² of each pair, (..., 2), or of each order of v, (K, B, 2)."""
    if orders is not None and weight is not None:
        kernels = partial(_kernels, np, grid=grid)
        return _weighted_orders(_values_of, damping, kernels, (u, v, weight, orders), permute_weight)
    f, g = _kernels(np, u, weight, grid), _kernels(np, v, weight, grid)
    if orders is not None:
        return _permuted(damping, f, g, orders)
    return _values_of(np, _joint(np, _weighted(np, f, weight), g, damping))


def _weighted_orders(
    value: Value,
    damping: float,
    kernels: Callable[[Array, Array], Array],
    marginals: tuple[Array, Array, Array, NDArray[np.intp]],
    permute_weight: bool,
) -> Array:
    """Return the value for each order, (K, B, ...), given u, v, the weights and the orders."""

    def at_orders(f: Array, g: Array, weight: Array) -> Array:
        result: Array = value(np, _joint(np, _weighted(np, f, weight[: len(f)]), g, damping))
        return result

    return weighted_orders(kernels, at_orders, *marginals, permute_weight=permute_weight, piece=_MAX_PERMUTED)


def _permuted(damping: float, f: Array, g: Array, permutations: Any) -> Array:
    """Return the values for permuted rows by reordering the kernels (K or 1, G, n) of the original rows."""
    members, lines, n = f.shape
    at_once = max(1, _MAX_NUMBERS // (n * g.shape[1] + members * lines * g.shape[1]))
    columns = []
    for start in range(0, len(permutations), at_once):
        orders = permutations[start : start + at_once]
        # One product of large matrices is much faster than many products of small matrices.
        permuted = [np.take(kernel, orders.ravel(), axis=-1).reshape(-1, n) for kernel in g]
        if len(permuted) == 1:
            products = f.reshape(-1, n) @ permuted[0].T
        else:
            products = np.concatenate([a @ b.T for a, b in zip(f, permuted, strict=True)])
        joint = products.reshape(members, lines, g.shape[1], len(orders)).transpose(0, 3, 1, 2)
        columns.append(_values_of(np, _probabilities(np, joint / n + damping)))
    return np.concatenate(columns, axis=1)


def _kernels(xp: Any, x: Any, sample_weight: Any, grid: Grid) -> Any:
    """Return the kernel of every row at every grid point, (..., G, n); equal variables share one array."""
    if isinstance(x, np.ndarray) and x.ndim == 2 and _are_equal(x) and _are_equal(sample_weight):
        # All models share one s, so its kernels, which take most of the time, are computed only once.
        x, sample_weight = x[:1], None if sample_weight is None else sample_weight[:1]
    return _kernels_at(xp, x, sample_weight, _effective_n(xp, sample_weight, x.shape[-1]), grid)


def _are_equal(x: Any) -> bool:
    """Return whether all K variables (K, n) are equal; ``None`` counts as equal."""
    return x is None or bool((x[1:] == x[:1]).all())


def _kernels_at(xp: Any, x: Any, sample_weight: Any, n_effective: Any, grid: Grid) -> Any:
    """Return the kernels at every grid point, (..., G, n), with the bandwidth for `n_effective` rows."""
    steps = index = None
    if grid == "cover":
        z = _standardised(xp, x, sample_weight)
        # Silverman's rule in d = 2 dimensions gives the bandwidth (n (d + 2) / 4)^(−1 / (d + 4)) standard
        # deviations.
        bandwidth = n_effective ** (-1 / 6)
        farthest = (_MAX_LINES / 2 - _REACH) * bandwidth
        if bool(xp.any(xp.abs(z) > farthest)):
            z = xp.where(xp.abs(z) > farthest, xp.sign(z) * farthest, z)
        low = xp.min(z, axis=-1, keepdims=True) - _REACH * bandwidth
        high = xp.max(z, axis=-1, keepdims=True) + _REACH * bandwidth
        # With lines one bandwidth apart, the sum over the lines equals the integral of a Gaussian up to 1e-8.
        steps = xp.ceil((high - low) / bandwidth)
        index = xp.arange(int(xp.max(steps).item()) + 1, dtype=x.dtype, device=device(x))
        points = low + bandwidth * index
    elif grid == "published":
        z = _standardised(xp, x, sample_weight, correction=1)
        bandwidth = n_effective ** (-1 / 6)
        widest = bandwidth if isinstance(bandwidth, float) else float(xp.min(bandwidth))
        count = max(2, int(min(50, 5 / widest)))
        points = xp.linspace(-2.5, 2.5, count, dtype=x.dtype, device=device(x))
    else:
        raise OptionError.of("The grid is not known", "Choose “cover” or “published”.", column="grid")
    if isinstance(z, np.ndarray) and index is not None:
        kernels = _gaussians((z - low) / bandwidth, len(index))
    else:
        # Scaling both factors before the product saves one pass over the G × n matrix.
        scale = 2**0.5 * bandwidth
        distance = (points / scale)[..., None] - (z / scale)[..., None, :]
        kernels = xp.exp(-(distance * distance))
    if steps is None:
        return kernels
    # All pairs share the longest grid. Lines beyond a pair's grid are set to 0, so that its value does not
    # depend on the other pairs.
    in_support = (index <= steps)[..., None]
    return kernels if bool(xp.all(in_support)) else xp.where(in_support, kernels, xp.zeros_like(kernels))


def _gaussians(t: Array, count: int) -> Array:
    """Return exp(−(t − j)² / 2) for lines j = 0 … count − 1, (..., count, n), from positions t (..., n).

    To save exponentials, the code uses exp(−(d − i)² / 2) = exp(−d² / 2) · exp(d)^i · exp(−i² / 2) and
    multiplies by one factor at a time. Beyond :data:`_MAX_DISTANCE` lines, the result is inexact but
    negligibly small.
    """
    kernels = np.empty((*t.shape[:-1], count, t.shape[-1]))
    width = 2 * _SIDE_LINES + 1
    for start in range(0, count, width):
        centre_line = min(start + _SIDE_LINES, count - 1)
        d = np.clip(t - centre_line, -_MAX_DISTANCE - _SIDE_LINES, _MAX_DISTANCE + _SIDE_LINES)
        growth = np.exp(d)
        d *= d
        d *= -0.5
        np.exp(d, out=kernels[..., centre_line, :])
        for step, factor, last in (
            (-1, _EXP_HALF / growth, start),
            (1, growth, min(start + width, count) - 1),
        ):
            if step > 0:
                factor *= _EXP_HALF
            for line in range(centre_line, last, step):
                np.multiply(kernels[..., line, :], factor, out=kernels[..., line + step, :])
                factor *= _EXP_ONE
    return kernels


def _standardised(xp: Any, x: Any, sample_weight: Any, correction: int = 0) -> Any:
    if sample_weight is None:
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        variance = xp.sum(centred**2, axis=-1, keepdims=True) / max(x.shape[-1] - correction, 1)
    else:
        share = sample_weight / xp.sum(sample_weight, axis=-1, keepdims=True)
        centred = x - xp.sum(share * x, axis=-1, keepdims=True)
        variance = xp.sum(share * centred**2, axis=-1, keepdims=True)
    # Zeros are replaced before taking the square root, whose gradient at 0 is infinite.
    varies = variance > 0
    return xp.where(varies, centred, xp.zeros_like(centred)) / xp.sqrt(
        xp.where(varies, variance, xp.ones_like(variance))
    )


def _effective_n(xp: Any, sample_weight: Any, n: int) -> Any:
    """Return Kish's effective number of rows, (..., 1), or the number of rows if there are no weights."""
    if sample_weight is None:
        return float(n)
    return xp.sum(sample_weight, axis=-1, keepdims=True) ** 2 / xp.sum(
        sample_weight**2, axis=-1, keepdims=True
    )


def _weighted(xp: Any, kernels: Any, sample_weight: Any) -> Any:
    if sample_weight is None:
        return kernels
    return kernels * (sample_weight / xp.sum(sample_weight, axis=-1, keepdims=True))[..., None, :]


def _joint(xp: Any, f: Any, g: Any, damping: float) -> Any:
    """Return the probabilities on the grid, (..., G, H), from kernels (..., G, n) and (..., H, n)."""
    n = f.shape[-1]
    return _probabilities(xp, xp.matmul(f, xp.matrix_transpose(g)) / n + damping)


def _probabilities(xp: Any, joint: Any) -> Any:
    return joint / xp.sum(joint, axis=(-2, -1), keepdims=True)


def _without_first_triple(xp: Any, joint: Any) -> tuple[Any, Any]:
    """Return Q − √p(i)√p(j), which is Q without its first singular triple, and the sum of its squares."""
    rows, columns = xp.sum(joint, axis=-1, keepdims=True), xp.sum(joint, axis=-2, keepdims=True)
    has_mass = (rows > _NO_MASS) & (columns > _NO_MASS)
    product = xp.where(has_mass, rows * columns, xp.ones_like(joint))
    root = xp.sqrt(product)
    residual = xp.where(has_mass, joint / root - root, xp.zeros_like(joint))
    return residual, xp.sum(residual**2, axis=(-2, -1))


def _values_of(xp: Any, joint: Any) -> Any:
    """Return HGR and χ², (..., 2), from the probabilities on the grid, (..., G, H)."""
    residual, chi2 = _without_first_triple(xp, joint)
    return xp.stack([_second_singular_value(xp, residual), chi2], axis=-1)


def _hgr_of(xp: Any, joint: Any) -> Any:
    """Return the second singular value of Q, (...), from the probabilities on the grid, (..., G, H)."""
    return _second_singular_value(xp, _without_first_triple(xp, joint)[0])


def _second_singular_value(xp: Any, residual: Any) -> Any:
    if isinstance(residual, np.ndarray):
        # The smaller Gram matrix gives the largest singular value with the same accuracy in a tenth of the
        # time.
        transposed = np.swapaxes(residual, -2, -1)
        gram = residual @ transposed if residual.shape[-2] < residual.shape[-1] else transposed @ residual
        largest = np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[..., -1], 0.0))
    else:
        largest = xp.max(xp.linalg.svdvals(residual), axis=-1)
    # Rounding may make the value exceed 1 by 1e-16.
    return xp.clip(largest, 0.0, 1.0)


def _chi2_of(xp: Any, joint: Any) -> Any:
    # ΣQ² − 1 equals Σ(Q − √p(i)p(j))², because Σ Q √p(i)p(j) = 1.
    return _without_first_triple(xp, joint)[1]
