"""Commands ``measure``, for two columns, and ``check``, for columns that give the target away."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from cyclopts import Parameter
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairdash.cli import AsJson, Columns, Seed, print_result
from fairdash.cli.reading import Marks, read_file
from fairdash.dependence import (
    REGISTRY,
    DependenceEstimate,
    IndependenceTest,
    assess_dependence,
    independence_test,
)
from fairdash.dependence.conditional import ConditionalDependence, assess_conditional_dependence
from fairdash.dependence.omnibus import ENOUGH_PERMUTATIONS
from fairdash.dependence.registry import WAYS
from fairdash.errors import Checks, DataError, Problem
from fairdash.evaluation.insurance import MIN_SHOWN
from fairdash.tables.columns import as_classes
from fairdash.tables.exposure import find_policies
from fairdash.tables.frames import in_order
from fairdash.tables.leak_check import check_data
from fairdash.utils.registry import get_entry
from fairdash.utils.text import p_equals, p_value, visible


def measure(
    measure: str,
    file: Path,
    /,
    *,
    u: Annotated[str, Parameter(name="--u")],
    v: Annotated[str, Parameter(name="--v")],
    exposure: str | None = None,
    group: str | None = None,
    given: Columns = (),
    sheet: str | None = None,
    missing: Marks = (),
    one_spelling: Columns = (),
    permutations: int = 199,
    bootstrap: int = 100,
    random_state: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Measure the dependence between two columns of a file.

    Parameters
    ----------
    measure
        Id of the measure: hgr_spline, hgr_kde, pearson, …
    file
        Table with a header, such as a CSV file.
    u
        Column of predictions, residuals or outcomes.
    v
        Column of the sensitive attribute.
    exposure
        Column with row weights (exposure).
    group
        Column with the group of each row, such as a policy number.
    given
        Column to condition on in an additional test; repeatable.
    sheet
        Sheet of a workbook, or table of an R file or a SAS transport file.
    missing
        Text that marks missing cells in addition to the usual marks, such as 999, or age=999 for a single
        column; repeatable.
    one_spelling
        Column in which spellings of a level, such as male and Male, are replaced by the most common spelling;
        repeatable.
    permutations
        Number of permutations for the independence floor and the p-value.
    bootstrap
        Number of half-samples for the interval.
    random_state
        Seed of permutations and half-samples.
    """
    # This call raises an error before the file is read if a package of the measure is missing.
    get_entry(REGISTRY, measure, option="measure").load()
    frame, _ = read_file(file, sheet=sheet, missing=missing, one_spelling=one_spelling)
    columns = {str(name): frame[name] for name in frame.columns}

    def columns_named(*names: str | None) -> list[pd.Series]:
        return [get_entry(columns, name, option="column") for name in names if name is not None]

    numbers, groups, conditions = columns_named(u, exposure), columns_named(group), columns_named(*given)
    (second,) = columns_named(v)
    if (bands := in_order(second)) is not None:
        second, note = bands
        print(visible(note), file=sys.stderr)
    are_classes = as_classes(second) is not None
    complete = _complete_numbers(
        numbers if are_classes else [*numbers, second], also=[second, *groups, *conditions]
    )
    note_policies(frame, group, but=(u, v, exposure))
    n_dropped = int((~complete).sum())
    first, *weight = (values[complete].astype(float) for values in numbers)
    second = second[complete] if are_classes else second[complete].astype(float)
    _refuse_without_evidence(first, second, *weight)
    options: dict[str, Any] = {
        "sample_weight": weight[0] if weight else None,
        "groups": groups[0][complete] if groups else None,
        "random_state": random_state,
    }
    estimate = assess_dependence(
        measure, first, second, **options, n_permutations=permutations, n_bootstrap=bootstrap
    )
    verdict = independence_test(
        first, second, **options, n_permutations=max(permutations, ENOUGH_PERMUTATIONS)
    )
    among_equals = None
    if conditions:
        among_equals = assess_conditional_dependence(
            first, second, given=pd.concat(conditions, axis=1)[complete], **options
        )
    figures = asdict(estimate) | {
        "evaluation": REGISTRY[estimate.id].recorded or None,
        "interval_of": estimate.interval_of,
        "n_left_out": n_dropped,
        "verdict": {"link": verdict.has_link, "p_at_best": verdict.p_at_best, **vars(verdict)},
    }
    if among_equals is not None:
        figures["among_equals"] = asdict(among_equals)
    n_groups = int(groups[0][complete].nunique()) if groups else None
    print_result(figures, _sentences(estimate, verdict, n_dropped, among_equals, n_groups), as_json=as_json)


def check(
    file: Path,
    /,
    *,
    target: str,
    sensitive: Columns = (),
    exposure: str | None = None,
    price: str | None = None,
    group: str | None = None,
    sheet: str | None = None,
    missing: Marks = (),
    one_spelling: Columns = (),
    as_json: AsJson = False,
) -> int:
    """Check a file for columns that give the target away.

    Parameters
    ----------
    file
        Table with a header, such as a CSV file.
    target
        Column to predict.
    sensitive
        Sensitive column; repeatable.
    exposure
        Column with row weights (exposure).
    price
        Column with an existing prediction.
    group
        Column with the group of each row, such as a policy number.
    sheet
        Sheet of a workbook, or table of an R file or a SAS transport file.
    missing
        Text that marks missing cells in addition to the usual marks, such as 999, or age=999 for a single
        column; repeatable.
    one_spelling
        Column in which spellings of a level, such as male and Male, are replaced by the most common spelling;
        repeatable.
    """
    frame, _ = read_file(file, sheet=sheet, missing=missing, one_spelling=one_spelling)
    columns = {str(name): name for name in frame.columns}
    for column in (target, *sensitive, exposure, price, group):
        if column is not None:
            get_entry(columns, column, option="column")
    roles = {"exposure": exposure, "price": price, "group": group}
    report = check_data(frame, target=target, sensitive=sensitive, **roles)
    note_policies(frame, group, but=(target, *sensitive, exposure, price))
    findings = {"certain": report.certain, "suspect": report.suspect}
    print_result(asdict(report) | findings, report.sentences(), as_json=as_json)
    return 1 if report.certain else 0


def note_policies(frame: pd.DataFrame, group: str | None, *, but: Collection[str | None]) -> None:
    """Print a warning on standard error if policies have several rows and no group is named."""
    policies = find_policies(frame, but=[column for column in but if column]) if group is None else None
    if policies is not None:
        print(visible(policies.advice), file=sys.stderr)


def _complete_numbers(numbers: Sequence[pd.Series], *, also: Sequence[pd.Series]) -> pd.Series:
    """Return a mask of the rows without a missing cell in the given columns."""
    checks = Checks(DataError)
    for column in numbers:
        checks.require(
            is_numeric_dtype(column) or is_bool_dtype(column),
            str(column.name),
            "This column must hold numbers only",
            "Choose a column of numbers, or turn it into numbers first.",
        )
    checks.finish()
    columns = {values.name: values for values in (*numbers, *also)}.values()
    complete = pd.concat([values.notna() for values in columns], axis=1).all(axis=1)
    if not complete.any():
        problem = "No row has a number in both columns" if len(columns) == 2 else "No row is complete"
        raise DataError(Problem(what=problem, hint="Choose other columns.", count=len(complete)))
    return complete


def _refuse_without_evidence(u: pd.Series, v: pd.Series, exposure: pd.Series | None = None) -> None:
    """Raise an error for a constant column or too few rows, as the audit does, because no measure is valid.

    The library's measures are 0 for a constant column, which a reader would understand as "no link".
    """
    has_weight = pd.Series(True, index=u.index) if exposure is None else exposure > 0
    n = int(has_weight.sum())
    checks = Checks(DataError)
    # With only two rows, every measure is 1.
    checks.require(
        n >= MIN_SHOWN,
        None,
        f"A measure needs {MIN_SHOWN} complete rows with weight, and there {'is' if n == 1 else 'are'} {n}",
        "Give more rows, or choose columns with fewer missing cells.",
    )
    for column in (u, v):
        checks.require(
            n == 0 or column[has_weight].nunique() > 1,
            str(column.name),
            "The column has the same value in every complete row, so dependence on it is undefined",
            "Choose a column that varies.",
        )
    checks.finish()


def _sentences(
    estimate: DependenceEstimate,
    verdict: IndependenceTest,
    n_dropped: int,
    among_equals: ConditionalDependence | None,
    groups: int | None,
) -> Iterator[str]:
    measure = REGISTRY[estimate.id]
    in_policies = "" if groups is None else f" of {groups:,} policies"
    yield f"{measure.title}, {estimate.n:,} rows{in_policies}"
    yield f"value        {estimate.value:.4g}"
    if measure.recorded:
        yield f"             {WAYS[measure.recorded]}"
    floor_q95 = f"below {estimate.floor_q95:.4g} in 95 % of permutations"
    yield f"noise floor  {estimate.floor:.4g} on average; {floor_q95}"
    permutations = f"{estimate.n_permutations:,} permutations"
    yield f"p-value      {p_value(estimate.p_value)} of independence ({permutations})"
    if math.isfinite(estimate.ci_high):
        if estimate.bound_only:
            yield f"upper bound  {estimate.ci_high:.4g} (95 %; independence is not rejected at 5 %)"
        else:
            yield f"interval     {estimate.ci_low:.4g} to {estimate.ci_high:.4g} (95 %)"
        yield f"             of {estimate.interval_of}"
    if estimate.subsampled:
        yield f"All values above use a random sample of {estimate.n_used:,} rows."
    draws = "random signs of scores" if verdict.by_multipliers else "permutations"
    yield (
        f"verdict      {'link found' if verdict.has_link else 'no link found'} at 5 %: one test of "
        f"{len(verdict.p_values)} measures, {p_equals(verdict.p_value)} ({verdict.n_permutations:,} {draws})"
    )
    p_if_all, p_if_one = verdict.p_at_best
    yield (
        f"             with this number of {draws}, the smallest p is {p_value(p_if_all)} if every measure "
        f"finds the link, {p_value(p_if_one)} if only one does"
    )
    if among_equals is not None:
        yield from _conditional_sentences(among_equals)
    if n_dropped:
        yield f"Rows left out because a cell is missing: {n_dropped:,}."


def _conditional_sentences(test: ConditionalDependence) -> Iterator[str]:
    differs = "" if test.varies_with is None else f", most where it differs along {test.varies_with}"
    yield f"Conditional on {', '.join(test.given)}:"
    yield f"size         {test.size:.4g} (partial correlation ratio on held-out rows)"
    yield (
        f"p-value      {p_value(test.p_value)} of equal means (largest |t| {test.statistic:.3g} of "
        f"{test.n_products}{differs})"
    )
    yield (
        f"             u explained {test.u_explained:.0%}, v explained {test.s_explained:.0%}, by "
        f"{test.regressions}"
    )
