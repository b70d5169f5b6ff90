"""The command ``measure``: two columns of a file, and what is said of the dependence between them."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairdash.data.readers.reading import read_table
from fairdash.dependence import (
    REGISTRY,
    DependenceEstimate,
    IndependenceTest,
    assess_dependence,
    independence_test,
)
from fairdash.dependence.conditional import ConditionalDependence, assess_conditional_dependence
from fairdash.dependence.omnibus import ENOUGH_PERMUTATIONS
from fairdash.dependence.omnibus_values import COMPONENTS
from fairdash.dependence.registry import WAYS
from fairdash.errors import Checks, DataError, Problem
from fairdash.evaluation.insurance import FEWEST_SHOWN
from fairdash.utils.registry import get_entry


def measure_columns(options: argparse.Namespace) -> str:
    """Measure the columns that the options name; what to print."""
    frame, _ = read_table(options.file)
    columns = {str(name): frame[name] for name in frame.columns}
    u, v = (get_entry(columns, name, option="column") for name in (options.u, options.v))
    exposure, groups = (
        None if name is None else get_entry(columns, name, option="column")
        for name in (options.exposure, options.group)
    )
    given = [get_entry(columns, name, option="column") for name in options.given]
    others = [each for each in (exposure,) if each is not None]
    also = [each for each in (groups,) if each is not None]
    complete = _complete_numbers([u, v, *others], also=[*also, *given])
    left_out = int((~complete).sum())
    first, second = (each[complete].astype(float) for each in (u, v))
    _refuse_without_evidence(first, second, None if exposure is None else exposure[complete])
    counted: dict[str, Any] = {
        "sample_weight": None if exposure is None else exposure[complete].astype(float),
        "groups": None if groups is None else groups[complete],
        "random_state": options.random_state,
    }
    estimate = assess_dependence(
        options.measure,
        first,
        second,
        **counted,
        n_permutations=options.permutations,
        n_bootstrap=options.bootstrap,
    )
    verdict = independence_test(
        first, second, **counted, n_permutations=max(options.permutations, ENOUGH_PERMUTATIONS)
    )
    among_equals = None
    if given:
        among_equals = assess_conditional_dependence(
            first, second, given=pd.concat(given, axis=1)[complete], **counted
        )
    as_wanted = _as_json if options.json else _as_text
    return as_wanted(estimate, verdict, left_out, among_equals)


def _complete_numbers(numbers: Sequence[pd.Series], *, also: Sequence[pd.Series]) -> pd.Series:
    """On which rows every column of numbers holds one, and the others, of any kind, are known."""
    checks = Checks(DataError)
    for column in numbers:
        checks.require(
            is_numeric_dtype(column) or is_bool_dtype(column),
            str(column.name),
            "This column does not hold numbers only",
            "Choose a column of numbers, or turn it into numbers first.",
        )
    checks.finish()
    columns = [*numbers, *also]
    complete = pd.concat([each.notna() for each in columns], axis=1).all(axis=1)
    if not complete.any():
        what = "No row has a number in both columns" if len(columns) == 2 else "No row is complete"
        raise DataError(Problem(what=what, hint="Choose other columns.", count=len(complete)))
    return complete


def _refuse_without_evidence(u: pd.Series, v: pd.Series, exposure: pd.Series | None) -> None:
    """Refuse what no number can be said of, as the audit does: a constant column, or hardly any rows.

    The library's own measures are 0 for a constant by law, which a reader would take for "no link".
    """
    counting = pd.Series(True, index=u.index) if exposure is None else exposure > 0
    n = int(counting.sum())
    checks = Checks(DataError)
    # On two rows every measure is 1.
    checks.require(
        n >= FEWEST_SHOWN,
        None,
        f"A measure needs {FEWEST_SHOWN} complete rows that count, and there {'is' if n == 1 else 'are'} {n}",
        "Give more rows, or choose columns with fewer missing cells.",
    )
    for column in (u, v):
        checks.require(
            n == 0 or column[counting].nunique() > 1,
            str(column.name),
            "It holds the same value in every complete row, so dependence on it is undefined",
            "Choose a column that varies.",
        )
    checks.finish()


def _as_json(
    estimate: DependenceEstimate,
    verdict: IndependenceTest,
    left_out: int,
    among_equals: ConditionalDependence | None,
) -> str:
    # No interval is null: NaN is no JSON.
    content = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in asdict(estimate).items()
    }
    content |= {
        "evaluation": REGISTRY[estimate.id].recorded or None,
        "interval_of": estimate.interval_of,
        "n_left_out": left_out,
    }
    content["verdict"] = {
        "link": verdict.has_link,
        "p_value": verdict.p_value,
        "p_values": dict(verdict.p_values),
        "n": verdict.n,
        "n_permutations": verdict.n_permutations,
        "p_at_best": verdict.p_at_best,
        "by_multipliers": verdict.by_multipliers,
    }
    if among_equals is not None:
        content["among_equals"] = asdict(among_equals)
    return json.dumps(content, indent=2, allow_nan=False)


def _as_text(
    estimate: DependenceEstimate,
    verdict: IndependenceTest,
    left_out: int,
    among_equals: ConditionalDependence | None,
) -> str:
    lines = [
        f"{REGISTRY[estimate.id].title}, {estimate.n:,} rows",
        f"value        {estimate.value:.4g}",
        f"noise floor  {estimate.floor:.4g} on average, 95 % below {estimate.floor_q95:.4g}",
        f"p-value      {estimate.p_value:.3g} ({estimate.n_permutations:,} permutations)",
    ]
    if recorded := REGISTRY[estimate.id].recorded:
        lines.insert(2, f"             {WAYS[recorded]}")
    if math.isfinite(estimate.ci_high) and estimate.bound_only:
        lines.append(f"upper bound  {estimate.ci_high:.4g} (95 %; independence is not rejected at 5 %)")
        lines.append(f"             of {estimate.interval_of}")
    elif math.isfinite(estimate.ci_high):
        lines.append(f"interval     {estimate.ci_low:.4g} to {estimate.ci_high:.4g} (95 %)")
        lines.append(f"             of {estimate.interval_of}")
    if estimate.subsampled:
        lines.append(f"All of the above is from {estimate.n_used:,} rows drawn at random.")
    draws = "random signs of scores" if verdict.by_multipliers else "permutations"
    lines.append(
        f"verdict      {'link found' if verdict.has_link else 'no link found'} at 5 %: one test of "
        f"{len(COMPONENTS)} measures, p = {verdict.p_value:.3g} ({verdict.n_permutations:,} {draws})"
    )
    every, one = verdict.p_at_best
    lines.append(
        f"             so many {draws} give p = {every:.2g} at best if every measure sees the link, "
        f"{one:.2g} if one alone does"
    )
    if among_equals is not None:
        lines += _of_equals(among_equals)
    if left_out:
        lines.append(f"Rows left out because a cell is missing: {left_out:,}.")
    return "\n".join(lines)


def _of_equals(found: ConditionalDependence) -> list[str]:
    differs = "" if found.varies_with is None else f", most where it differs along {found.varies_with}"
    return [
        f"Among rows alike in {', '.join(found.given)}:",
        f"size         {found.size:.4g} (partial correlation ratio on rows that did not fit)",
        f"p-value      {found.p_value:.3g} (largest |t| {found.statistic:.3g} of {found.n_products}"
        f"{differs})",
        f"             u explained {found.u_explained:.0%}, v explained {found.s_explained:.0%}, by "
        f"{found.regressions}",
    ]
