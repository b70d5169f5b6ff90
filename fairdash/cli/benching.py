"""Command ``bench``, which compares methods in the same way on one data set."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pandas as pd

from fairdash import api
from fairdash.cli import AsJson, Seed, Words, print_result, rows
from fairdash.cli.training import DataOptions
from fairdash.utils.imports import need
from fairdash.utils.text import visible

_NO_DATA = DataOptions()
_ERROR = ["error", "error_low", "error_high"]


def bench(
    *,
    data: DataOptions = _NO_DATA,
    method: Words = None,
    splits: int = 10,
    random_state: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare methods by their error at equal dependence.

    Parameters
    ----------
    method
        Methods, comma-separated, or your own classes as module:Class; by default all suitable methods.
    splits
        Number of splits into training and test rows.
    random_state
        Seed of all random draws.
    """
    need("torch")
    dataset = data.load()
    result = api.bench(dataset, methods=method, n_splits=splits, random_state=random_state, progress=_show)
    printed = {"dataset": dataset.name, "splits": splits, "rows": rows(result)}
    print_result(printed, _table(result, splits), as_json=as_json)


def _table(table: pd.DataFrame, splits: int) -> Iterator[str]:
    yield f"Error on test rows at a share of the standard network's dependence, mean of {splits} splits:"
    formatted = table.assign(
        error=[
            f"{row.error:.4g} ({row.error_low:.4g} to {row.error_high:.4g})" for row in table.itertuples()
        ],
        reached=[f"{row.reached} of {row.splits}" for row in table.itertuples()],
    ).drop(columns=["splits", "error_low", "error_high", "more", "more_low", "more_high"])
    yield from str(formatted.to_string(index=False, float_format="{:.4g}".format)).split("\n")
    yield "λ is chosen on validation rows. “dependence” is measured on test rows. Intervals: 95 %."


def _show(method: str) -> None:
    if sys.stderr.isatty():
        print(visible(f"training {method}"), file=sys.stderr, flush=True)
