"""Reproduce a committed study and compare: ``python -m benchmarks.paper.remake fig1 household``.

On the same machine and versions, every value must agree to 1e-6; on others, 99 % of the cells must differ by
at most three standard errors. The exit status is 1 otherwise. A study of Table 1 is named like its folder:
``table1_crime``. With ``--against``, values are compared with those stored by an earlier ``--out``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper.household import Reading
from benchmarks.paper.run import reproduce
from fairdash.dependence.classical import Z
from fairdash.evaluation import corrected_standard_error
from fairdash.lab.paper import COMMITTED, StudyResult, read_result

#: On the same machine with the same versions, differences up to this are rounding errors.
TOLERANCE = 1e-6
#: On other machines, a mean may differ by this number of its standard errors.
STANDARD_ERRORS = 3.0
#: Columns that identify rows; ``split`` and ``repeat`` number the draws of one cell.
_KEYS = (
    "method", "objective", "id", "evaluation", "pattern", "noise", "rho", "epoch", "group", "split", "repeat",
)  # fmt: skip
_DRAWS = ("split", "repeat")
#: An average and its 95 % interval, from which its standard error follows.
_INTERVAL = {"mean", "low", "high"}
#: Tables that describe a choice, which are not compared; the results of the choice are.
_ASIDE = ("choices", "validation", "floors", "cells", "prices")
#: On other machines, this share of the values must be within the limit.
SHARE_WITHIN = 0.99


def compare(old: StudyResult, new: StudyResult) -> pd.DataFrame:
    """Compare every cell of `new` with that of `old`; draws of the same cell are averaged.

    Returns
    -------
    DataFrame
        ``table``, ``row`` in words, ``column``, ``committed``, ``again``, ``difference``; ``error``, the
        standard error of the committed mean (for splits, which overlap, that of Nadeau and Bengio; for an
        average with an interval, that of the interval; NaN for a single draw, which has no random error);
        ``same``, whether every draw agrees to :data:`TOLERANCE`; ``within``, whether the difference is within
        :data:`STANDARD_ERRORS`, or the same.
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
    # Numeric keys were converted to text and back in one of the two tables.
    before, after = (_keyed(table, keys)[columns] for table in (old, new))
    both = before.add_suffix(" old").join(after.add_suffix(" new"), how="inner")
    before, after = (both.filter(regex=f" {end}$").set_axis(columns, axis=1) for end in ("old", "new"))
    same = np.isclose(after, before, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)

    def by_cell(frame: Any) -> Any:
        return frame.groupby(level=cell, sort=False) if cell else frame.groupby(lambda _: "")

    counts = by_cell(before).size()
    ratio = float((old["n_test"] / old["n_train"]).mean()) if "n_test" in old.columns else 0.0
    overlap = ratio if "split" in keys else 0.0
    variance = by_cell(before).var(ddof=1)
    error = variance.apply(corrected_standard_error, n_splits=counts, test_to_train=overlap)
    if set(columns) >= _INTERVAL:
        width = by_cell(before["high"] - before["low"]).mean()
        error[[*_INTERVAL]] = np.column_stack([width / (2 * Z)] * len(_INTERVAL))
    columns_of = {
        "committed": by_cell(before).mean(),
        "again": by_cell(after).mean(),
        "error": error,
        "same": by_cell(pd.DataFrame(same, before.index, columns)).all(),
    }
    found = pd.DataFrame({end: each.to_numpy().ravel(order="F") for end, each in columns_of.items()})
    found.insert(0, "table", name)
    found.insert(1, "row", [_words(each) for each in counts.index] * len(columns))
    found.insert(2, "column", np.repeat(columns, len(counts)))
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


def again(name: str, folder: Path, processes: int) -> StudyResult:
    """The study of this folder, computed again."""
    study, _, rest = name.partition("_")
    dataset = rest.removesuffix("_all")
    new, _ = reproduce(
        study,
        out=folder,
        dataset=dataset if study == "table1" else "crime",
        all_rows=rest.endswith("_all"),
        reading=Reading(features_seen=rest if study == "household" and rest else "all"),
        processes=processes,
    )
    # Convert to text and back, like the committed values.
    return read_result(new.study, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a folder to keep the new values in")
    parser.add_argument("--against", type=Path, default=COMMITTED, help="a folder that another --out filled")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name in options.studies:
            old = read_result(name, options.against)
            new = again(name, options.out or Path(folder), options.processes)
            compared = compare(old, new)
            ground = (old.versions, old.machine) == (new.versions, new.machine)
            holds = compared["same"].all() if ground else compared["within"].mean() >= SHARE_WITHIN
            good &= bool(holds)
            words = "the same" if ground else "other"
            seconds = f"{new.seconds:.0f} s, then {old.seconds:.0f} s"
            print(f"{name}: {agreement(compared)} {seconds}; {words} versions and machine.", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
