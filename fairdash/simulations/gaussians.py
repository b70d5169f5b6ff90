"""HGR², χ² and mutual information of bivariate normal laws, true and estimated (the paper's Fig. 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence.exact import gaussian
from fairdash.simulations.stack import OURS, Progress, described, over_stack, studied, target_of
from fairdash.simulations.supplement import unit_of

Array = NDArray[np.float64]

RHOS: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def gaussian_pairs(rhos: Sequence[float], n: int, *, repeats: int, seed: int = 0) -> tuple[Array, Array]:
    """Standard normal pairs with correlation ρ; (len(rhos) · repeats, n) both, repeats innermost."""
    rng = np.random.default_rng(seed)
    u, rest = rng.normal(size=(2, repeats, n))
    v = np.concatenate([rho * u + np.sqrt(1 - rho**2) * rest for rho in rhos])
    return np.concatenate([u] * len(rhos)), v


def gaussian_study(
    *,
    rhos: Sequence[float] = RHOS,
    n: int = 2000,
    repeats: int = 5,
    ids: Sequence[str] | None = None,
    seed: int = 0,
) -> Iterator[Progress]:
    """Every estimator of HGR, χ² and mutual information along ρ, as one stack.

    Parameters
    ----------
    rhos
        Correlations in [−1, 1].
    n, repeats
        Rows a data set, data sets a correlation.
    ids
        Measures; by default all that estimate one of the three.
    seed
        Which draw.

    Yields
    ------
    Progress
        ``values``: ``rho``, ``repeat``, ``id``, ``evaluation``, ``value`` (HGR is not squared); ``exact`` as
        :func:`exact_curves`.
    """
    ids = [id for id in studied() if target_of(id)] if ids is None else ids
    u, v = gaussian_pairs(rhos, n, repeats=repeats, seed=seed)
    key = pd.DataFrame({"rho": np.repeat(rhos, repeats), "repeat": np.tile(np.arange(repeats), len(rhos))})
    exact = exact_curves(np.asarray(rhos))
    found: list[pd.DataFrame] = []
    for fraction, id, evaluation, values in over_stack(ids, u, v):
        if values is not None:
            found.append(key.assign(id=id, evaluation=evaluation, value=values))
        if found:
            tables = {"values": pd.concat(found, ignore_index=True), "exact": exact}
            yield Progress(fraction, described(id, evaluation), tables)


def exact_curves(rhos: Array) -> pd.DataFrame:
    """``rho``, ``hgr2`` = ρ², ``chi2``, ``mi`` in nats, and ``mi_bits``."""
    rows = [(rho, one.hgr**2, one.chi2, one.mi) for rho in rhos.tolist() for one in [gaussian(rho)]]
    frame = pd.DataFrame(rows, columns=["rho", "hgr2", "chi2", "mi"])
    return frame.assign(mi_bits=frame["mi"] / np.log(2))


def means_along_rho(values: pd.DataFrame, *, base: str) -> pd.DataFrame:
    """The estimators' means and ranges in the units of the lines: HGR squared, information in `base`.

    Parameters
    ----------
    values
        As :func:`gaussian_study` gives them; those of our own way are taken.

    Returns
    -------
    DataFrame
        ``id``, ``rho``, ``mean``, ``min``, ``max``.
    """
    ours = values[values["evaluation"] == OURS]
    value = ours["value"].where(~ours["id"].str.startswith("hgr_"), ours["value"] * ours["value"].abs())
    value = value.where(~ours["id"].str.startswith("mi_"), value / unit_of(base))
    grouped = ours.assign(value=value).groupby(["id", "rho"])["value"]
    return grouped.agg(["mean", "min", "max"]).reset_index()
