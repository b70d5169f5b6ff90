"""Which of the paper's sentences on Figs. 1 and 2 hold in our data; computed, never written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from fairdash.dependence.patterns import PATTERNS

#: HGR_NN as the authors' code has it.
AUTHORS = "authors"
#: “HGR … succeeds in retrieve a HGR of 1”: as near to 1 as counts here, and what counts as a difficulty.
NEAR_ONE = 0.95
DIFFICULT = 0.8
#: Estimates closer than this are not told apart: the paper's curves can't be read more finely.
TIE = 0.005
#: What a mean of few data sets can say of a bound.
_COVERAGE = 0.95
HOLDS, FAILS, UNRESOLVED = "holds", "fails", "unresolved"


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """One statement of the paper and what our data say.

    Parameters
    ----------
    quote
        The paper's words.
    holds
        Whether it holds in our data in every place where it can be looked at.
    finding
        What our data say, in words.
    """

    quote: str
    holds: bool
    finding: str


def sentences(values: pd.DataFrame, exact: pd.DataFrame, *, networks: str = AUTHORS) -> list[Sentence]:
    """Judge the statements of the paper's section on Fig. 2.

    Parameters
    ----------
    values
        ``pattern``, ``noise``, ``repeat``, ``id``, ``evaluation``, ``value``; KDE and RDC count as published.
    exact
        ``pattern``, ``noise``, ``hgr``.
    networks
        Which HGR_NN: ``"authors"``, ``"published"`` or ``"ours"``, as the study of Fig. 2 has
        them.
    """
    way = values["id"].map({"hgr_nn": networks, "hgr_kde": "published", "hgr_rdc": "published"})
    table = values[values["evaluation"] == way].pivot_table(
        index=["pattern", "noise"], columns="id", values="value"
    )
    truth = exact.assign(noise=exact["noise"].round(6)).set_index(["pattern", "noise"])["hgr"]
    truth = truth[~truth.index.duplicated()]
    table.index = pd.MultiIndex.from_arrays(
        [table.index.get_level_values("pattern"), table.index.get_level_values("noise").to_numpy().round(6)],
        names=["pattern", "noise"],
    )
    patterns = list(dict.fromkeys(exact["pattern"]))
    noises = table.index.get_level_values("noise")
    clean, noisy = table[noises == 0], table[noises > 0]
    return [
        _difficulties(clean, patterns),
        _succeeds(clean, patterns),
        _highest(clean, noisy),
        _widening(table, patterns),
        _below_truth(table, truth),
    ]


def _difficulties(clean: pd.DataFrame, patterns: list[str]) -> Sentence:
    last = clean.droplevel("noise").loc[patterns[-2:], ["hgr_kde", "hgr_rdc"]]
    worst = float(last.to_numpy().max())
    values = "; ".join(
        f"{_title(pattern)}: KDE {row['hgr_kde']:.2f}, RDC {row['hgr_rdc']:.2f}"
        for pattern, row in last.iterrows()
    )
    return Sentence(
        quote="When no noise is added to the data, HGR_KDE and HGR_RDC have difficulties to recover the "
        "optimal transformations on the two last scenarios.",
        holds=worst < DIFFICULT,
        finding=f"Without noise they read {values}; the true value is 1.",
    )


def _succeeds(clean: pd.DataFrame, patterns: list[str]) -> Sentence:
    last = clean.droplevel("noise").loc[patterns[-2:], "hgr_nn"]
    values = "; ".join(f"{_title(pattern)} {value:.2f}" for pattern, value in last.items())
    return Sentence(
        quote="HGR_NN succeeds in retrieve a HGR of 1 for these settings.",
        holds=bool((last >= NEAR_ONE).all()),
        finding=f"Without noise HGR_NN reads {values} ({NEAR_ONE:g} and more counts as 1).",
    )


def _highest(clean: pd.DataFrame, noisy: pd.DataFrame) -> Sentence:
    def share(table: pd.DataFrame) -> tuple[int, list[str]]:
        others = table[["hgr_kde", "hgr_rdc"]].max(axis=1)
        below = table[table["hgr_nn"] < others - TIE]
        return len(below), list(dict.fromkeys(below.index.get_level_values("pattern")))

    at_zero, zero_patterns = share(clean)
    in_noise, noise_patterns = share(noisy)
    parts = []
    for missed, table, where, named in (
        (at_zero, clean, "without noise", zero_patterns),
        (in_noise, noisy, "with noise", noise_patterns),
    ):
        text = f"{where} it is the highest in {len(table) - missed} of {len(table)} places"
        parts.append(text + (f" (not on: {'; '.join(map(_title, named))})" if named else ""))
    return Sentence(
        quote="The curve of HGR_NN is always the highest.",
        holds=at_zero == 0 and in_noise == 0,
        finding=f"{parts[0][0].upper()}{parts[0][1:]}; {parts[1]}. Closer than {TIE:g} counts as a tie.",
    )


def _widening(table: pd.DataFrame, patterns: list[str]) -> Sentence:
    gap = table["hgr_nn"] - table[["hgr_kde", "hgr_rdc"]].max(axis=1)
    rises = {}
    for pattern in patterns:
        line = gap.loc[pattern]
        rises[pattern] = float(line.iloc[-1] - line.iloc[0])
    grown = [pattern for pattern, rise in rises.items() if rise > TIE]
    values = "; ".join(f"{_title(pattern)} {rise:+.2f}" for pattern, rise in rises.items())
    return Sentence(
        quote="The difference between our approach and the others increases with noise.",
        holds=len(grown) == len(patterns),
        finding="Compared at the two ends of the axis alone, no noise and the most, the lead over the "
        f"better of the others changes by {values}.",
    )


def _below_truth(table: pd.DataFrame, truth: pd.Series) -> Sentence:
    joined = table[["hgr_nn"]].join(truth.rename("hgr"), how="inner")
    above = joined[joined["hgr_nn"] > joined["hgr"] + TIE]
    most = float((joined["hgr_nn"] - joined["hgr"]).max())
    return Sentence(
        quote="Our approach cannot exceed [the true] value, due to the use of a restricted set of neural "
        "transformation functions.",
        holds=above.empty,
        finding=f"It lies above the exact value in {len(above)} of {len(joined)} places, by up to {most:.2f}."
        if len(above)
        else f"It lies at or below the exact value in all {len(joined)} places.",
    )


def _title(pattern: object) -> str:
    """The pattern's name for people, within a sentence."""
    return PATTERNS[str(pattern)].title.lower()


def sides_of_bound(values: pd.DataFrame, exact: pd.DataFrame, *, bound: str, above: bool) -> pd.DataFrame:
    """Whether the mean χ² by network lies above, or below, a true value at each ρ.

    Parameters
    ----------
    values, exact
        Tables of Fig. 1's result.
    bound
        Column of `exact`.
    above
        Whether the paper says that the estimate lies above it; else below.

    Returns
    -------
    DataFrame
        A row a ``rho``. ``side``: ``"holds"`` where the mean's 95 % interval lies on the side that the paper
        names, ``"fails"`` where it lies on the other, ``"unresolved"`` where it holds the true value: with so
        few data sets the side can't be told. ``repeats``: data sets behind the mean.
    """
    own = values[(values["id"] == "chi2_nn") & (values["evaluation"] == "ours")]
    groups = own.groupby("rho")["value"]
    means, errors, counts = groups.mean(), groups.sem(), groups.size()
    gap = means - exact.set_index("rho")[bound].reindex(means.index)
    reach = stats.t.ppf((1 + _COVERAGE) / 2, counts - 1) * errors
    on_side = np.where((gap > 0) == above, HOLDS, FAILS)
    side = np.where(gap.abs() <= reach, UNRESOLVED, on_side)
    return pd.DataFrame({"rho": means.index, "side": side, "repeats": counts.to_numpy()})


def in_words(sides: pd.DataFrame) -> str:
    """What :func:`sides_of_bound` has found."""
    at = {
        side: [f"{rho:g}" for rho in sides.loc[sides["side"] == side, "rho"]]
        for side in (HOLDS, FAILS, UNRESOLVED)
    }
    named = {side: f" (ρ = {', '.join(rhos)})" if rhos else "" for side, rhos in at.items()}
    parts = [f"holds at {len(at[HOLDS])} of {len(sides)} ρ{named[HOLDS]}"]
    if at[FAILS]:
        parts.append(f"fails{named[FAILS]}")
    if at[UNRESOLVED]:
        repeats = int(sides["repeats"].min())
        sets = {2: "two", 3: "three", 4: "four", 5: "five"}.get(repeats, str(repeats))
        parts.append(
            f"can't be resolved with {sets} data sets{named[UNRESOLVED]}, where the 95 % interval of their "
            "mean holds the true value"
        )
    return "; ".join(parts)
