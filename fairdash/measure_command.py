"""The command ``measure``: two columns of a file, and what is said of the dependence between them."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairdash.data.readers.reading import read_table
from fairdash.dependence import REGISTRY, DependenceEstimate, assess_dependence
from fairdash.errors import Checks, DataError, Problem
from fairdash.registry import get_entry


def measure_columns(options: argparse.Namespace) -> str:
    """Measure the columns that the options name; what to print."""
    frame, _ = read_table(options.file)
    columns = {str(name): frame[name] for name in frame.columns}
    u, v = (get_entry(columns, name, option="column") for name in (options.u, options.v))
    u, v, left_out = _complete_numbers(u, v)
    estimate = assess_dependence(
        options.measure,
        u,
        v,
        n_permutations=options.permutations,
        n_bootstrap=options.bootstrap,
        random_state=options.random_state,
    )
    return _as_json(estimate, left_out) if options.json else _as_text(estimate, left_out)


def _complete_numbers(u: pd.Series, v: pd.Series) -> tuple[pd.Series, pd.Series, int]:
    """The rows on which both columns hold a number, and how many others there are."""
    checks = Checks(DataError)
    for column in (u, v):
        checks.require(
            is_numeric_dtype(column) or is_bool_dtype(column),
            str(column.name),
            "This column does not hold numbers only",
            "Choose a column of numbers, or turn it into numbers first.",
        )
    checks.finish()
    complete = u.notna() & v.notna()
    left_out = int((~complete).sum())
    if left_out == len(u):
        raise DataError(
            Problem(what="No row has a number in both columns", hint="Choose other columns.", count=left_out)
        )
    return u[complete].astype(float), v[complete].astype(float), left_out


def _as_json(estimate: DependenceEstimate, left_out: int) -> str:
    # No interval is null: NaN is no JSON.
    content = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in asdict(estimate).items()
    }
    content |= {"interval_of": estimate.interval_of, "n_left_out": left_out}
    return json.dumps(content, indent=2, allow_nan=False)


def _as_text(estimate: DependenceEstimate, left_out: int) -> str:
    lines = [
        f"{REGISTRY[estimate.id].title}, {estimate.n:,} rows",
        f"value        {estimate.value:.4g}",
        f"noise floor  {estimate.floor:.4g} on average, 95 % below {estimate.floor_q95:.4g}",
        f"p-value      {estimate.p_value:.3g} ({estimate.n_permutations:,} permutations)",
    ]
    if math.isfinite(estimate.ci_high) and estimate.bound_only:
        lines.append(f"upper bound  {estimate.ci_high:.4g} (95 %; independence is not rejected at 5 %)")
        lines.append(f"             of {estimate.interval_of}")
    elif math.isfinite(estimate.ci_high):
        lines.append(f"interval     {estimate.ci_low:.4g} to {estimate.ci_high:.4g} (95 %)")
        lines.append(f"             of {estimate.interval_of}")
    if estimate.subsampled:
        lines.append(f"All of this is from {estimate.n_used:,} rows drawn at random.")
    if left_out:
        lines.append(f"Rows left out because a cell is missing: {left_out:,}.")
    return "\n".join(lines)
