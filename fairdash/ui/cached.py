"""Cached calls of the library, with content hashes and ids as keys. Most calls return a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource, limit_memory_of_tables
from fairdash.data.uploads import check_stored, clear_cached_tables, read_upload, table_of_upload
from fairdash.dependence import independence_test, measure
from fairdash.dependence.classical import RankLink, rank_link
from fairdash.dependence.grouping import as_groups
from fairdash.dependence.omnibus import ENOUGH_PERMUTATIONS
from fairdash.errors import Problem
from fairdash.evaluation import DEFAULT_MEASURE, cap_cost
from fairdash.evaluation.crossed_cells import TOGETHER
from fairdash.evaluation.result import SweepResult
from fairdash.runs.deletion import last_deletion
from fairdash.runs.models import ModelJob
from fairdash.runs.store import Run
from fairdash.tables.column_profile import ColumnProfile, profile_table, support_sentence, target_remarks
from fairdash.tables.columns import as_classes
from fairdash.tables.features import fixes_of_columns
from fairdash.tables.leak_check import DataCheck, check_data
from fairdash.tables.readers.reading import file_contents
from fairdash.tables.readers.report import ReadingOptions, ReadingReport
from fairdash.tables.roles import Roles
from fairdash.tables.suggestion import (
    PricingTarget,
    Suggestion,
    claims_in_total,
    pricing_targets,
    suggest_roles,
)
from fairdash.ui.access import current_owner
from fairdash.utils.classes import why_no_classes
from fairdash.views.reports import fronts
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import Front

if TYPE_CHECKING:
    from fairdash.views.reports.stage import Stops

Floats = NDArray[np.float64]
Asked = ParamSpec("Asked")
Found = TypeVar("Found")


class _DeletionWatch:
    """Last deletion that this process has noticed."""

    deletion: bytes | None = None


def drop_deleted_entries() -> None:
    """Clear the caches if any process has deleted a file in ``FAIRDASH_HOME`` since the last call.

    A cache that is not cleared would return tables whose sources were deleted.
    """
    last = last_deletion()
    if _DeletionWatch.deletion != last:
        if _DeletionWatch.deletion is not None:
            st.cache_data.clear()
            st.cache_resource.clear()
            clear_cached_tables()
        _DeletionWatch.deletion = last


#: Functions that turn arguments into cache keys, by type. Arguments whose names begin with "_" are not in the
#: key.
_CACHE_KEYS: dict[str | type[Any], Callable[[Any], object]] = {
    CatalogueSource: DatasetSource.to_json,
    UploadSource: DatasetSource.to_json,
    Dataset: lambda dataset: dataset.fingerprint,
    Run: lambda run: (run.id, run.available_result),
}


def _cached_on_server(
    entries: int,
    *,
    spinner: bool | str = False,
    shared: bool = False,
    by_view: Callable[[Comparison], object] | None = None,
) -> Callable[[Callable[Asked, Found]], Callable[Asked, Found]]:
    """Cache a function's values for the whole server, and check access before each use of a cached value.

    Parameters
    ----------
    entries
        Maximum number of cached values.
    spinner
        Text that the page shows during the computation.
    shared
        True if all callers get the same object instead of a copy. They must not change it. A copy of a large
        run's predictions on every rerun would take longer than drawing them.
    by_view
        Function that returns the part of a comparison on which the values depend.
    """

    def make(function: Callable[Asked, Found]) -> Callable[Asked, Found]:
        keep: Any = st.cache_resource if shared else st.cache_data
        cache_keys = _CACHE_KEYS if by_view is None else {**_CACHE_KEYS, Comparison: by_view}
        cached = keep(max_entries=entries, show_spinner=spinner, hash_funcs=cache_keys)(function)

        @wraps(function)
        def found(*args: Asked.args, **kwargs: Asked.kwargs) -> Found:
            drop_deleted_entries()
            for argument in (*args, *kwargs.values()):
                _check_access(argument)
            value: Found = cached(*args, **kwargs)
            return value

        return found

    return make


def _check_access(record: object, owner: str | None = None) -> None:
    """Raise an error if a file or run is deleted or has another owner than `owner` (default: the user)."""
    if isinstance(record, UploadSource):
        check_stored(record.sha256, owner=owner or current_owner())
    elif isinstance(record, Run):
        Run(record.id, owner=owner or current_owner())


@st.cache_data(max_entries=4, show_spinner=False, hash_funcs=_CACHE_KEYS)
def _load(source: DatasetSource) -> Dataset:
    with limit_memory_of_tables():
        return source.load()


def dataset_of(source: DatasetSource, *, owner: str | None = None) -> Dataset:
    """Return a source's data set, read once per server.

    `owner` is by default the current user. A thread has no browser session, so it must pass `owner`.
    """
    drop_deleted_entries()
    _check_access(source, owner)
    return _load(source)


@_cached_on_server(2, shared=True)
def table_of(source: DatasetSource) -> pd.DataFrame:
    """Return all columns of a source's table, regardless of their roles."""
    with limit_memory_of_tables():
        return source.table()


def roles_of(source: DatasetSource) -> Roles:
    """Return the roles from a source or, if it has none, the roles from its data set."""
    return dataset_of(source).roles if source.roles is None else source.roles


@_cached_on_server(4, shared=True)
def result_of(run: Run) -> SweepResult:
    """Return a run's result, or its preview until the result exists."""
    return run.read_result()


@_cached_on_server(12, shared=True)
def fronts_of(run: Run, *, sensitive: str) -> dict[str, Front]:
    """Return a run's Pareto fronts for one sensitive attribute, by objective."""
    return fronts.fronts_of(result_of(run), sensitive=sensitive)


@_cached_on_server(12, shared=True, by_view=lambda c: (c.objective, c.sensitive, c.measure, c.b.method, c.a))
def stops_of(run: Run, comparison: Comparison) -> Stops:  # noqa: ARG001 (the run is the cache's key)
    """Return the values that the figure with the slider shows, for every stop of the slider."""
    # The import is local, because importing charts takes long.
    from fairdash.views.reports import stage

    return stage.stops_of(comparison)


@_cached_on_server(
    12, spinner="Measuring what the cap costs…", by_view=lambda c: (c.objective, c.sensitive, c.measure)
)
def _cap_cost(
    job_id: str,  # noqa: ARG001 (the cache's key)
    comparison: Comparison,
    max_change: float,
    _premiums: Floats,
    _dataset: Dataset,
) -> pd.DataFrame:
    return cap_cost(
        _dataset,
        _premiums,
        comparison.result.splits,
        max_change=max_change,
        objective=comparison.objective,
        loss=comparison.plan.settings.loss_function,
        measure=comparison.measure,
        sensitive="" if comparison.sensitive == TOGETHER else comparison.sensitive,
        random_state=comparison.plan.random_state,
    )


def cap_cost_of(run: Run, job: ModelJob, comparison: Comparison, max_change: float) -> pd.DataFrame | None:
    """Return the cost of a cap on a fitted tariff's changes, or None if no test premiums are stored."""
    dataset = dataset_of(run.spec.source)
    premiums = job.test_premiums(n_splits=len(comparison.result.splits), n_rows=dataset.n_rows)
    return None if premiums is None else _cap_cost(job.id, comparison, max_change, premiums, dataset)


def upload_of(digest: str, name: str, reading: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """Return an uploaded file's table and reading report. Each file is parsed once per server."""
    drop_deleted_entries()
    check_stored(digest, owner=current_owner())
    with limit_memory_of_tables():
        return table_of_upload(digest, reading, name=name)


@st.cache_data(max_entries=32, show_spinner=False)
def _contents(digest: str) -> tuple[str, tuple[str, ...]]:
    with limit_memory_of_tables():
        return file_contents(read_upload(digest))


def contents_of(digest: str) -> tuple[str, tuple[str, ...]]:
    """Return the format of an uploaded file, and its sheets or tables."""
    drop_deleted_entries()
    check_stored(digest, owner=current_owner())
    return _contents(digest)


@_cached_on_server(8, spinner="Checking the columns…")
def columns_of_classes(
    _frame: pd.DataFrame,
    *,
    table: str,  # noqa: ARG001 (the cache's key)
) -> tuple[str, ...]:
    """Return the columns that an audit can use as classes. `table` is a string that identifies the frame."""
    classes = {str(name): as_classes(_frame[name]) for name in _frame}
    return tuple(name for name, each in classes.items() if each is not None and why_no_classes(each) is None)


@_cached_on_server(32, spinner="Checking the columns…")
def suggestion_of(
    _frame: pd.DataFrame,
    *,
    table: str,  # noqa: ARG001 (the cache's key)
    target: str | None = None,
    prediction: str | None = None,
) -> tuple[Suggestion, tuple[PricingTarget, ...]]:
    """Return suggested roles for a table's columns, and its possible pricing targets.

    `table` is a string that identifies the frame in the cache.
    """
    return suggest_roles(_frame, target=target, prediction=prediction), pricing_targets(_frame)


@_cached_on_server(32, spinner="Checking for columns that give the target away…")
def check_of(
    _frame: pd.DataFrame,
    *,
    table: str,  # noqa: ARG001 (the cache's key)
    target: str,
    sensitive: tuple[str, ...],
    exposure: str | None,
    price: str | None,
    group: str | None,
    columns: tuple[str, ...],
) -> DataCheck:
    """Return columns that certainly or possibly reveal the target. `table` identifies the frame."""
    return check_data(
        _frame,
        target=target,
        sensitive=sensitive,
        exposure=exposure,
        price=price,
        group=group,
        columns=columns,
    )


#: Contents of the Data page: remarks on the target's zeros and tail, the number of distinct groups in each
#: sensitive column, a profile of each column, and fixes that would add columns.
Summary = tuple[tuple[str, ...], Mapping[str, str], tuple[ColumnProfile, ...], tuple[Problem, ...]]


#: Kinds of fixes that make a column a feature.
_OF_FEATURES = ("convert", "dash_zero", "keep")


@_cached_on_server(8)
def _fixes_of_table(_frame: pd.DataFrame, *, table: str) -> tuple[Problem, ...]:  # noqa: ARG001 (the cache's key)
    """Return the fixes for all columns of a table. They are cached, because they do not depend on roles."""
    return fixes_of_columns(_frame)


@_cached_on_server(8)
def summary_of(source: DatasetSource) -> Summary:
    """Return the summary of a source's data set."""
    dataset = dataset_of(source)
    open_fixes: tuple[Problem, ...] = ()
    if isinstance(source, UploadSource):
        frame, _ = upload_of(source.sha256, source.name, source.reading)
        fixed_columns = {fix.column for fix in source.fixes}
        role_columns = {column for part in source.roles.parts.values() for column in part}
        open_fixes = tuple(
            fix
            for fix in _fixes_of_table(frame, table=f"{source.sha256} {source.reading}")
            if fix.column not in fixed_columns
            and fix.column in (source.roles.features if fix.fixes[0].kind in _OF_FEATURES else role_columns)
        )
    support = {name: support_sentence(dataset.sensitive[name]) for name in dataset.roles.sensitive}
    totals = claims_in_total(dataset.features)
    profile = profile_table(dataset.table(), weight=dataset.weight, totals=totals)
    return target_remarks(dataset.target), support, profile, open_fixes


#: Maximum number of rows for a measurement on the page. Larger tables are sampled at random.
ROWS_MEASURED = 5000


@_cached_on_server(8, spinner="Measuring how the target depends on the sensitive attribute…")
def link_of(dataset: Dataset, sensitive: str) -> tuple[float, float, int]:
    """Return the dependence of the target on a sensitive column.

    The result contains the value of the default measure (weighted by exposure), the p-value of the test of
    independence, and the number of rows used (at most ROWS_MEASURED).
    """
    y, s, weight = _columns(dataset, sensitive)
    groups = dataset.groups
    if len(y) > ROWS_MEASURED:
        rows = np.random.default_rng(0).choice(len(y), ROWS_MEASURED, replace=False)
        y, s = y[rows], s[rows]
        weight = None if weight is None else weight[rows]
        groups = None if groups is None else groups[rows]
    test_options: dict[str, Any] = {"sample_weight": weight, "groups": groups, "random_state": 0}
    test = independence_test(y, s, n_permutations=ENOUGH_PERMUTATIONS, **test_options)
    value = measure(DEFAULT_MEASURE, y, s, **test_options)
    return value, test.p_value, test.n


@_cached_on_server(8)
def rank_link_of(dataset: Dataset, sensitive: str) -> RankLink:
    """Return the rank correlation of target and sensitive column on all rows, weighted by exposure."""
    return rank_link(*_columns(dataset, sensitive), as_groups(dataset.groups, dataset.n_rows))


def _columns(dataset: Dataset, sensitive: str) -> tuple[Floats, Floats, Floats | None]:
    y, s = (x.to_numpy(dtype=float) for x in (dataset.target, dataset.sensitive[sensitive]))
    return y, s, None if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
