"""Results of the benchmark that compares methods of fair training at equal dependence, on several data sets.

The file ``methods.csv`` in this folder contains the results; ``python -m benchmarks.methods`` writes it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from fairdash.evaluation.bench import GAP, JOINT, LEVELS, MEASURES
from fairdash.evaluation.rivals import RIVALS
from fairdash.training.methods import DEFAULT_METHOD, FAIR_TARIFF, PATHS, STANDARD

RESULTS = Path(__file__).parent / "methods.csv"
TITLES = {"hgr_rdc": "HGR_RDC", "mi_ksg": "MI_KSG", GAP: "gap"}
TITLES |= {name + JOINT: f"{title}, jointly" for name, title in TITLES.items()}


@cache
def read_methods() -> pd.DataFrame:
    """Return the results, one row per data set, method, measure of dependence (``reading``) and level.

    The column ``comparable`` has errors that can be compared between methods. An error is NaN if a method
    does not reach the level in every split. If a method has fewer splits than others, this column contains
    the default method's error plus the difference on the shared splits. ``has_all_splits`` is False for such
    a method.
    """
    table = pd.read_csv(RESULTS)
    # Only the name of the class is kept for a method from another package, “module:Class”.
    class_names = table["method"].str.partition(":")[2].str.lower()
    table["method"] = class_names.where(class_names != "", table["method"])
    keys = ["data", "reading", "level"]
    default = table[table["method"] == DEFAULT_METHOD].set_index(keys)["error"]
    errors = table.join(default.rename("default"), on=keys)["default"] + table["more"]
    all_splits = table["splits"] == table.groupby("data")["splits"].transform("max")
    table["comparable"] = table["error"].where(all_splits, errors).where(table["reached"] == table["splits"])
    return table.assign(has_all_splits=all_splits)


def mean_ranks(table: pd.DataFrame, *, several: bool = False) -> pd.DataFrame:
    """Return the mean rank of each method by error, one column per level, sorted by the overall mean.

    Ranks use the data sets with one sensitive attribute. If `several` is true, they use those with more.
    A measure counts if it finds dependence in the standard network's predictions. Methods that don't
    reach a level share the last ranks. Methods that need s to compute a price are left out. Methods with
    fewer splits than others are also left out, because it is easier to reach a level in every split if
    there are fewer splits.
    """
    joint = table["reading"].str.endswith(JOINT)
    is_several = table["data"].isin(table.loc[joint, "data"])
    fair = table[
        (table["method"] != STANDARD) & (is_several == several) & table["linked"] & ~table["needs_s"]
    ]
    fair = fair[fair.groupby("method")["has_all_splits"].transform("all")]
    measured = fair.groupby("method")["data"].nunique()
    fair = fair[fair["method"].isin(measured.index[measured == fair["data"].nunique()])]
    errors = fair["comparable"].fillna(np.inf)
    rank = errors.groupby([fair["data"], fair["reading"], fair["level"]]).rank()
    means = rank.groupby([fair["method"], fair["level"]]).mean().unstack()
    means = means.reindex(columns=list(LEVELS))
    return means.loc[means.mean(axis=1).sort_values(kind="stable").index]


def best_at_half(table: pd.DataFrame) -> pd.DataFrame:
    """Return each data set's best row at half the standard network's gap; omit methods that need s."""
    joint = set(table.loc[table["reading"] == GAP + JOINT, "data"])
    readings = table["data"].map(lambda name: GAP + JOINT if name in joint else GAP)
    rows = table[(table["reading"] == readings) & (table["level"] == 0.5) & ~table["needs_s"]]
    rows = rows[rows["linked"] & rows["comparable"].notna() & rows["has_all_splits"]]
    return rows.loc[rows.groupby("data", sort=False)["comparable"].idxmin()]


def summary(table: pd.DataFrame) -> list[str]:
    """Return sentences that compare the default method with the other methods."""
    sentences = []
    for is_several, words in ((False, "one sensitive attribute"), (True, "several sensitive attributes")):
        ranks = mean_ranks(table, several=is_several)
        if DEFAULT_METHOD not in ranks.index:
            continue
        rank = list(ranks.index).index(DEFAULT_METHOD) + 1
        lowest = ", ".join(f"{ranks[level].idxmin()} at {100 * level:.0f} %" for level in LEVELS)
        sentences.append(
            f"On the data sets with {words}, the default method, {DEFAULT_METHOD}, has place {rank} of "
            f"{len(ranks)} by mean rank among the methods that need no s to compute a price. The methods "
            f"with the lowest mean ranks are {lowest} of the standard network's dependence."
        )
    cases = table[table["more_low"].notna()]
    above, below = cases[cases["more_low"] > 0], cases[cases["more_high"] < 0]
    sets = f"{below['data'].nunique()} of {table['data'].nunique()} sets"
    free = below[~below["needs_s"]]
    best = best_at_half(table)
    worse = int((best["more_high"] < 0).sum())
    sentences.append(
        "At half the standard network's gap, the default method's error exceeds the smallest error by more "
        f"than chance on {worse} of the {len(best)} sets with a link. The table states from how many splits "
        "an interval is computed."
    )
    sentences.append(
        f"In {len(cases)} cases, an interval shows another method's error minus the default method's error "
        f"on the same splits. The interval is above 0 in {len(above)} cases and below 0 in {len(below)} "
        f"cases, on {sets} ({len(free)} of these {len(below)} are of methods that need no s to compute a "
        "price). By chance, about one interval in twenty would exclude 0."
    )
    return sentences


def missing(table: pd.DataFrame) -> dict[str, str]:
    """Return reasons, by method, why some methods have no results on some data sets."""
    joint = set(table.loc[table["reading"].str.endswith(JOINT), "data"])
    reasons = {}
    for name in (*PATHS, *RIVALS):
        left = [data for data, rows in table.groupby("data", sort=False) if name not in set(rows["method"])]
        if name == STANDARD or not left:
            continue
        is_single = name in RIVALS and not RIVALS[name].multivariate
        is_single |= name in PATHS and not PATHS[name].multivariate
        if name == FAIR_TARIFF:
            reasons[name] = "it models only claims and premiums"
        elif is_single and set(left) <= joint:
            reasons[name] = "it accepts only one attribute"
        elif name == "ccdcov" and not set(left) & joint:
            reasons[name] = "with one attribute it equals jdcov"
        else:
            reasons[name] = f"not measured on {', '.join(map(str, left))}, because of the computing time"
    return reasons


def cell(row: pd.Series) -> str:
    """Format an error with the half-width of its interval, or the reason why there is no error."""
    if not row["linked"]:
        return "no link"
    if row["reached"] == 0:
        return "not reached"
    text = f"{row['error']:.3f}"
    if pd.notna(row["error_low"]):
        text += f" ± {row['error_high'] - row['error']:.3f}"
    text += " ↑" if row["more_low"] > 0 else " ↓" if row["more_high"] < 0 else ""
    return text if row["reached"] == row["splits"] else f"{text} [{row['reached']} of {row['splits']}]"


def errors_of(table: pd.DataFrame, data: str) -> pd.DataFrame:
    """Return the errors on one data set as text, with a row per method and a column per measure and level."""
    selected = table[table["data"] == data]
    columns = [
        (reading, level)
        for reading in (*MEASURES, GAP)
        for level in LEVELS
        if reading in set(selected["reading"])
    ]
    columns += [(name + JOINT, level) for name, level in columns if name + JOINT in set(selected["reading"])]
    rows = []
    for method, each in selected.groupby("method", sort=False):
        by_place = {(row["reading"], row["level"]): cell(row) for _, row in each.iterrows()}
        first = each.iloc[0]
        row = {"method": method}
        for reading, level in columns:
            key = (reading, level) if method != STANDARD else (reading, 1.0)
            row[f"{TITLES[reading]} {100 * level:.0f} %"] = by_place.get(key, "")
        facts_of_method = {"needs s": "yes" if first["needs_s"] else "no", "splits": str(first["splits"])}
        rows.append(row | facts_of_method | {"CPU seconds a split": f"{first['cpu_s']:.1f}"})
    return pd.DataFrame(rows)
