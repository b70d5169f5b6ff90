"""The functions f and g that a measure of maximal correlation has found, as curves to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdash.dependence.measuring import as_stack, measure_of, varying
from fairdash.dependence.registry import REGISTRY
from fairdash.errors import OptionError

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LearnedFunctions:
    """f and g at the rows, each with mean 0 and variance 1; g rises with v on the whole, and f goes with g.

    Attributes
    ----------
    u, f : (n,) arrays
        Sorted by u: f as a curve.
    v : (n,) or (n, d) array
        Sorted by v where it is one column.
    g : (n,) array
    """

    u: Array
    f: Array
    v: Array
    g: Array


def learned_functions(
    id: str, u: ArrayLike, v: ArrayLike, *, random_state: int | None = None, **options: Any
) -> LearnedFunctions:
    """Fit f and g to all rows of one pair.

    Parameters
    ----------
    id
        ``"hgr_spline"`` or ``"hgr_nn"``.
    u : (n,) array
    v : (n,) or (n, d) array
    random_state
        Seed, where the measure draws.
    **options
        Of :func:`fairdash.dependence.hgr_nn.hgr_nn`: ``inputs``, ``hidden``, ``n_steps``.

    Returns
    -------
    LearnedFunctions

    Raises
    ------
    OptionError
        If the measure learns no such functions, or an input is constant: there is nothing to learn then.
    """
    one = measure_of(id)
    if one.learned is None:
        able = ", ".join(other.id for other in REGISTRY.values() if other.learned)
        raise OptionError.of(f"{one.title} has no f and g", f"Choose one of {able}.", column="measure")
    a, b = as_stack(u, v, single=True, measure=one)
    if not varying(a, b, None)[0]:
        raise OptionError.of("An input is constant: no function of it varies", "Choose another column.")
    if one.seeded:
        options["random_state"] = random_state
    f, g = one.load("learned")(a[0], b[0], **options)
    f, g = _unit(f), _unit(g)
    columns = b[0][:, None] if b.ndim == 2 else b[0]
    rising = sum(float(np.corrcoef(g, column)[0, 1]) for column in columns.T if np.ptp(column) > 0)
    sign_g = -1.0 if rising < 0 else 1.0
    sign_f = sign_g * (-1.0 if (f * g).mean() < 0 else 1.0)
    by_u = np.argsort(a[0], kind="stable")
    by_v = np.argsort(b[0], kind="stable") if b.ndim == 2 else np.arange(len(g))
    return LearnedFunctions(u=a[0][by_u], f=sign_f * f[by_u], v=b[0][by_v], g=sign_g * g[by_v])


def _unit(x: Array) -> Array:
    centred = x - x.mean()
    size = centred.std()
    return centred / size if size > 0 else centred
