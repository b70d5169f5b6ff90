"""How often each estimator detects the link at a false-alarm rate of 5 %, against noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY
from fairdash.dependence.classical import Z
from fairdash.simulations.scene import Scene
from fairdash.simulations.stack import Progress, gathered, studied

Array = NDArray[np.float64]

POWER_NOISES: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 12.0, 18.0, 27.0, 40.0)
LEVEL = 0.05


def compared() -> tuple[str, ...]:
    """All quick measures, and of the slow ones those that run from 0 to 1: the others take minutes."""
    return tuple(id for id in studied() if REGISTRY[id].quick or REGISTRY[id].upper == 1)


def power_study(
    scene: Scene,
    *,
    noises: Sequence[float] = POWER_NOISES,
    repeats: int = 100,
    slow_repeats: int = 20,
    ids: Sequence[str] | None = None,
) -> Iterator[Progress]:
    """Detection rate of every estimator at every noise level.

    At each level ``repeats`` data sets are drawn. The U of one with the V of the next and of the one after
    are independent and have the same margins: their values are what the estimator reads under independence.
    A link is detected in a data set if p = (1 + how many of those reach its value) / (1 + their number) is at
    most 5 %.

    Parameters
    ----------
    scene
        Pattern and number of rows; its noise does not matter.
    noises
        Noise levels.
    repeats, slow_repeats
        Data sets a level, for quick and for slow measures (at least 10: fewer independent pairs can't show
        5 %).
    ids
        Measures; by default :func:`compared`.

    Yields
    ------
    Progress
        ``power``: ``noise``, ``id``, ``rate``, ``repeats``, ``low`` and ``high`` (95 % interval, Wilson).
    """
    ids = compared() if ids is None else ids
    quick = [id for id in ids if REGISTRY[id].quick]
    slow = [id for id in ids if not REGISTRY[id].quick]
    # A slow measure takes about as long as this many quick ones.
    work = [(quick, repeats, 1.0 * len(quick)), (slow, slow_repeats, 20.0 * len(slow))]
    total = sum(weight for *_, weight in work)
    known: list[pd.DataFrame] = []
    begin = 0.0
    for chosen, count, weight in work:
        if not chosen:
            continue
        share, shape = weight / total, (len(noises), 3, count)
        u, v = _pairs(scene, noises, count)
        for fraction, doing, values in gathered(
            chosen, u, v, pd.DataFrame(index=range(len(u))), published=False
        ):
            by_id = values.groupby("id", sort=False)["value"]
            rates = [_rates(str(id), own.to_numpy().reshape(shape), noises) for id, own in by_id]
            tables = {"power": pd.concat([*known, *rates], ignore_index=True)}
            yield Progress(begin + share * fraction, doing, tables)
        known += rates
        begin += share


def _pairs(scene: Scene, noises: Sequence[float], repeats: int) -> tuple[Array, Array]:
    """Dependent pairs and two shifts of V for each level, ``(levels · 3 · repeats, n)`` both."""
    first, second = [], []
    for level, noise in enumerate(noises):
        # Levels are drawn apart: the noise of one must not be the noise of all.
        u, v = replace(scene, noise=noise, seed=scene.seed + 1000 * (level + 1)).draw(repeats=repeats)
        first += [u, u, u]
        second += [v, np.roll(v, -1, axis=0), np.roll(v, -2, axis=0)]
    return np.concatenate(first), np.concatenate(second)


def _rates(id: str, values: Array, noises: Sequence[float]) -> pd.DataFrame:
    """Rates from values (levels, 3, repeats): dependent pairs first, then the two independent shifts."""
    sizes = np.abs(values) if REGISTRY[id].signed else values
    null = sizes[:, 1:].reshape(len(sizes), -1)
    reach = (null[:, None, :] >= sizes[:, 0, :, None]).sum(axis=-1)
    p = (1 + reach) / (1 + null.shape[1])
    count = p.shape[1]
    rate = (p <= LEVEL).mean(axis=1)
    low, high = wilson(rate, count)
    return pd.DataFrame(
        {"noise": list(noises), "id": id, "rate": rate, "repeats": count, "low": low, "high": high}
    )


def wilson(rate: Array, count: int) -> tuple[Array, Array]:
    """95 % interval of a share of ``count`` (Wilson 1927)."""
    centre = (rate + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z * np.sqrt(rate * (1 - rate) / count + Z**2 / (4 * count**2)) / (1 + Z**2 / count)
    return centre - half, centre + half
