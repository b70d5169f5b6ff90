"""A study made again beside its committed result, cell by cell."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.assessment import corrected_standard_error
from fairdash.reproduction.results import StudyResult

#: On the same machine, with the same versions: differences up to this are rounding.
TOLERANCE = 1e-6
#: Elsewhere: a mean may differ by so many of its standard errors.
STANDARD_ERRORS = 3.0
#: What tells rows apart; ``split`` and ``repeat`` number draws of one cell.
_KEYS = (
    "method", "objective", "id", "evaluation", "pattern", "noise", "rho", "epoch", "group", "split", "repeat",
)  # fmt: skip
_DRAWS = ("split", "repeat")
#: An average and its 95 % interval, which tells its standard error.
_INTERVAL = {"mean", "low", "high"}
#: Standard errors from a committed average to either end of its interval, about.
_Z = 1.96
#: Tables that say how a choice was made; what it led to is compared.
_ASIDE = ("choices", "validation", "floors")


def compare(old: StudyResult, new: StudyResult) -> pd.DataFrame:
    """Every cell of `new` beside the one of `old`; draws of one cell are averaged.

    Returns
    -------
    DataFrame
        ``table``, ``row`` in words, ``column``, ``committed``, ``again``, ``difference``; ``error``, the
        standard error of the committed mean (splits overlap, so that theirs is Nadeau and Bengio's; of an
        average with its interval, the interval's; NaN where there is one draw: a cell without chance);
        ``same``, whether every draw agrees to :data:`TOLERANCE`; ``within`` :data:`STANDARD_ERRORS`, or the
        same.
    """
    parts = [
        _compared(name, old.tables[name], table)
        for name, table in new.tables.items()
        if name in old.tables and name not in _ASIDE
    ]
    return pd.concat(parts, ignore_index=True)


def _compared(name: str, old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    keys = [key for key in _KEYS if key in new.columns and key in old.columns]
    cell = [key for key in keys if key not in _DRAWS]
    columns = [
        column
        for column in new.select_dtypes("number").columns
        if column in old.columns and column not in (*keys, "n_test", "n_train", "n")
    ]
    # Keys that are numbers went through text in one of the two.
    before, after = (_keyed(table, keys)[columns] for table in (old, new))
    both = before.add_suffix(" old").join(after.add_suffix(" new"), how="inner")
    ratio = float((old["n_test"] / old["n_train"]).mean()) if "n_test" in old.columns else 0.0
    parts = []
    for column in columns:
        frame = both[[f"{column} old", f"{column} new"]].set_axis(["before", "after"], axis=1)
        frame["equal"] = np.isclose(
            frame["after"], frame["before"], rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True
        )
        groups = frame.groupby(level=cell, sort=False) if cell else frame.groupby(lambda _: "")
        counts = groups.size()
        variance = groups["before"].var(ddof=1)
        overlap = ratio if "split" in keys else 0.0
        error = corrected_standard_error(variance, n_splits=counts, test_to_train=overlap)
        if column in _INTERVAL and set(before.columns) >= _INTERVAL:
            error = ((before["high"] - before["low"]) / (2 * _Z)).groupby(level=cell, sort=False).mean()
            error = error.loc[counts.index]
        parts.append(
            pd.DataFrame(
                {
                    "table": name,
                    "row": [_words(each) for each in counts.index],
                    "column": column,
                    "committed": groups["before"].mean().to_numpy(),
                    "again": groups["after"].mean().to_numpy(),
                    "error": np.asarray(error, dtype=float),
                    "same": groups["equal"].all().to_numpy(),
                }
            )
        )
    found = pd.concat(parts, ignore_index=True)
    found.insert(5, "difference", found["again"] - found["committed"])
    near = found["difference"].abs() <= STANDARD_ERRORS * found["error"]
    return found.assign(within=near | found["same"])


def _words(key: object) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _keyed(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    rounded = table.assign(
        **{key: table[key].round(6) for key in keys if pd.api.types.is_float_dtype(table[key])}
    )
    return rounded.set_index(keys)


def agreement(compared: pd.DataFrame) -> str:
    """The comparison in one sentence."""
    n, same, within = len(compared), int(compared["same"].sum()), int(compared["within"].sum())
    if same == n:
        return f"All {n:,} values are the same to a millionth."
    return (
        f"{same:,} of {n:,} values are the same to a millionth; {within:,} ({within / n:.1%}) are within "
        f"{STANDARD_ERRORS:g} standard errors."
    )
