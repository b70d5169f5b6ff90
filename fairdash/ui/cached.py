"""Cached twins of library calls; keys are content hashes and ids, values are copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from fairdash.data.bounds import bounded
from fairdash.data.column_profile import ColumnProfile, profile_table
from fairdash.data.data_checks import support_sentence, target_remarks
from fairdash.data.dataset import Dataset
from fairdash.data.features import fixes_of_columns
from fairdash.data.leak_check import DataCheck, check_data
from fairdash.data.pricing import PricingTarget, pricing_targets
from fairdash.data.readers.reading import file_contents
from fairdash.data.readers.report import ReadingOptions, ReadingReport
from fairdash.data.roles import Roles
from fairdash.data.source import DatasetSource, UploadSource
from fairdash.data.suggestion import Suggestion, claims_in_total, suggest_roles
from fairdash.data.uploads import check_kept, forget_tables, read_upload, table_of_upload
from fairdash.dependence import independence_test, measure
from fairdash.dependence.omnibus import ENOUGH_PERMUTATIONS
from fairdash.dependence.rank_link import RankLink, rank_link
from fairdash.errors import Problem
from fairdash.evaluation import DEFAULT_MEASURE, cap_cost
from fairdash.evaluation.result import SweepResult
from fairdash.reports import fronts
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Front, Point
from fairdash.runs.deletion import last_deletion
from fairdash.runs.models import ModelJob
from fairdash.runs.store import Run
from fairdash.ui.owner import current_owner

if TYPE_CHECKING:
    from fairdash.reports.stage import Stops


class _Seen:
    """The last deletion that this process knows of."""

    deletion: bytes | None = None


def forget_what_was_deleted() -> None:
    """Take everything out of memory if a file was deleted in this home since, by whatever process.

    Tables are found here by what they are made from, not by whether it is still there.
    """
    last = last_deletion()
    if _Seen.deletion != last:
        if _Seen.deletion is not None:
            st.cache_data.clear()
            st.cache_resource.clear()
            forget_tables()
            # Only where it is needed: charts take long to import.
            from fairdash.reports.comparison_figures import forget_fronts

            forget_fronts()
        _Seen.deletion = last


@st.cache_data(max_entries=4, show_spinner=False)
def _load(source_json: str) -> Dataset:
    with bounded():
        return DatasetSource.from_json(source_json).load()


def dataset_of(source: DatasetSource, *, owner: str | None = None) -> Dataset:
    """The data set that a source describes, read once a server.

    `owner` is whoever looks, unless told: a thread that makes a file does not know its browser. Here as below
    what somebody may see is asked before memory is.
    """
    forget_what_was_deleted()
    if isinstance(source, UploadSource):
        check_kept(source.sha256, owner=owner or current_owner())
    return _load(source.to_json())


@st.cache_resource(max_entries=2, show_spinner=False)
def _table(source_json: str) -> pd.DataFrame:
    with bounded():
        return DatasetSource.from_json(source_json).table()


def table_of(source: DatasetSource) -> pd.DataFrame:
    """All columns of a source's table, whatever their roles; nobody writes into it."""
    forget_what_was_deleted()
    if isinstance(source, UploadSource):
        check_kept(source.sha256, owner=current_owner())
    return _table(source.to_json())


def roles_of(source: DatasetSource) -> Roles:
    """The roles that a source gives its columns; the data set is made only where it brings its own."""
    return dataset_of(source).roles if source.roles is None else source.roles


# A resource: copying a large run's predictions at every look would take longer than drawing them. Nobody
# writes into them.
@st.cache_resource(max_entries=4, show_spinner=False)
def _result(run_id: str, look: str | None) -> SweepResult:  # noqa: ARG001 (the first look gives way to the result)
    return Run(run_id, owner=None).read_result()


def result_of(run: Run) -> SweepResult:
    """What there is of a run's result, read once a server."""
    forget_what_was_deleted()
    Run(run.id, owner=current_owner())
    return _result(run.id, run.look)


@st.cache_resource(max_entries=12, show_spinner=False)
def _fronts(run_id: str, look: str | None, sensitive: str) -> dict[str, Front]:
    return fronts.fronts_of(_result(run_id, look), sensitive=sensitive)


def fronts_of(run: Run, *, sensitive: str) -> dict[str, Front]:
    """The figures of a run's paths by objective, gathered once a server."""
    forget_what_was_deleted()
    Run(run.id, owner=current_owner())
    return _fronts(run.id, run.look, sensitive)


@st.cache_resource(max_entries=12, show_spinner=False)
def _stops(
    run_id: str,  # noqa: ARG001 (the cache's key, as what follows)
    look: str | None,  # noqa: ARG001
    view: tuple[str, ...],  # noqa: ARG001
    a: Point,  # noqa: ARG001
    _comparison: Comparison,
) -> Stops:
    # Charts take long to import.
    from fairdash.reports import stage

    return stage.stops_of(_comparison)


def stops_of(run: Run, comparison: Comparison) -> Stops:
    """The figures of all stops of the path on which a comparison's point B lies, computed once a server."""
    forget_what_was_deleted()
    Run(run.id, owner=current_owner())
    method = comparison.b.method
    view = (comparison.objective, comparison.sensitive, comparison.measure, method)
    return _stops(run.id, run.look, view, comparison.a, comparison)


@st.cache_data(max_entries=12, show_spinner="Measuring what the cap costs…")
def _cap_cost(
    job_id: str,  # noqa: ARG001 (the cache's key, as what follows)
    view: tuple[str, ...],  # noqa: ARG001
    max_change: float,
    _premiums: NDArray[np.float64],
    _dataset: Dataset,
    _comparison: Comparison,
) -> pd.DataFrame:
    return cap_cost(
        _dataset,
        _premiums,
        _comparison.result.splits,
        max_change=max_change,
        objective=_comparison.objective,
        loss=_comparison.plan.settings.loss_function,
        measure=_comparison.measure,
        sensitive=_comparison.sensitive,
        random_state=_comparison.plan.random_state,
    )


def cap_cost_of(run: Run, job: ModelJob, comparison: Comparison, max_change: float) -> pd.DataFrame | None:
    """What a cap costs a fitted tariff, measured once a server; None where its test premiums are not kept."""
    dataset = dataset_of(run.spec.source)
    premiums = job.test_premiums(n_splits=len(comparison.result.splits), n_rows=dataset.n_rows)
    if premiums is None:
        return None
    view = (comparison.objective, comparison.sensitive, comparison.measure)
    return _cap_cost(job.id, view, max_change, premiums, dataset, comparison)


def upload_of(digest: str, name: str, reading: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """The table in an uploaded file, and how it was read, parsed once a server."""
    forget_what_was_deleted()
    check_kept(digest, owner=current_owner())
    with bounded():
        return table_of_upload(digest, reading, name=name)


@st.cache_data(max_entries=32, show_spinner=False)
def _contents(digest: str) -> tuple[str, tuple[str, ...]]:
    with bounded():
        return file_contents(read_upload(digest))


def contents_of(digest: str) -> tuple[str, tuple[str, ...]]:
    """What an uploaded file is, and the sheets or tables in it."""
    forget_what_was_deleted()
    check_kept(digest, owner=current_owner())
    return _contents(digest)


@st.cache_data(max_entries=32, show_spinner="Looking through the columns…")
def _suggestion(
    table: str,  # noqa: ARG001 (the cache's key)
    target: str | None,
    _frame: pd.DataFrame,
) -> tuple[Suggestion, tuple[PricingTarget, ...]]:
    return suggest_roles(_frame, target=target), pricing_targets(_frame)


def suggestion_of(
    frame: pd.DataFrame, *, table: str, target: str | None = None
) -> tuple[Suggestion, tuple[PricingTarget, ...]]:
    """The roles that a table's columns may have, and what it can price, found out once a server.

    `table` stands for the frame: whoever gives another frame gives another text.
    """
    forget_what_was_deleted()
    return _suggestion(table, target, frame)


@st.cache_data(max_entries=32, show_spinner="Looking for columns that give the target away…")
def _check(
    table: str,  # noqa: ARG001 (the cache's key)
    target: str,
    sensitive: tuple[str, ...],
    exposure: str | None,
    columns: tuple[str, ...],
    _frame: pd.DataFrame,
) -> DataCheck:
    return check_data(_frame, target=target, sensitive=sensitive, exposure=exposure, columns=columns)


def check_of(
    frame: pd.DataFrame,
    *,
    table: str,
    target: str,
    sensitive: tuple[str, ...],
    exposure: str | None,
    columns: tuple[str, ...],
) -> DataCheck:
    """The columns that give the target away or may; `table` as for :func:`suggestion_of`."""
    forget_what_was_deleted()
    return _check(table, target, sensitive, exposure, columns, frame)


#: What the data page says of a data set besides its pictures: remarks on the target's zeros and tail, how
#: finely each sensitive column can be cut, a line on each column, and fixes that would bring further ones in.
Summary = tuple[tuple[str, ...], Mapping[str, str], tuple[ColumnProfile, ...], tuple[Problem, ...]]


@st.cache_data(max_entries=8, show_spinner=False)
def _ways(table: str, _frame: pd.DataFrame) -> tuple[Problem, ...]:  # noqa: ARG001 (the cache's key)
    """Fixes for all columns of a table: roles choose among them, and change far more often."""
    return fixes_of_columns(_frame)


@st.cache_data(max_entries=8, show_spinner=False)
def _summary(source_json: str) -> Summary:
    source = DatasetSource.from_json(source_json)
    dataset = dataset_of(source)
    ways: tuple[Problem, ...] = ()
    if isinstance(source, UploadSource):
        frame, _ = upload_of(source.sha256, source.name, source.reading)
        decided = {fix.column for fix in source.fixes}
        ways = tuple(
            way
            for way in _ways(f"{source.sha256} {source.reading}", frame)
            if way.column in source.roles.features and way.column not in decided
        )
    support = {name: support_sentence(dataset.sensitive[name]) for name in dataset.roles.sensitive}
    totals = claims_in_total(dataset.features)
    profile = profile_table(dataset.table(), weight=dataset.weight, totals=totals)
    return target_remarks(dataset.target), support, profile, ways


def summary_of(source: DatasetSource) -> Summary:
    """What there is to say of a source's data set, found out once a server."""
    forget_what_was_deleted()
    if isinstance(source, UploadSource):
        check_kept(source.sha256, owner=current_owner())
    return _summary(source.to_json())


#: Rows that a page measures at most: a random sample beyond.
ROWS_MEASURED = 5000


@st.cache_data(max_entries=8, show_spinner="Measuring how the target depends on it…")
def _link(fingerprint: str, sensitive: str, _dataset: Dataset) -> tuple[float, float, int]:  # noqa: ARG001 (the fingerprint is the cache's key)
    y = _dataset.target.to_numpy(dtype=float)
    s = _dataset.sensitive[sensitive].to_numpy(dtype=float)
    weight = None if _dataset.weight is None else _dataset.weight.to_numpy(dtype=float)
    groups = _dataset.groups
    if len(y) > ROWS_MEASURED:
        rows = np.random.default_rng(0).choice(len(y), ROWS_MEASURED, replace=False)
        y, s = y[rows], s[rows]
        weight = None if weight is None else weight[rows]
        groups = None if groups is None else groups[rows]
    counted: dict[str, Any] = {"sample_weight": weight, "groups": groups, "random_state": 0}
    test = independence_test(y, s, n_permutations=ENOUGH_PERMUTATIONS, **counted)
    value = measure(DEFAULT_MEASURE, y, s, **counted)
    return value, test.p_value, test.n


def link_of(dataset: Dataset, sensitive: str) -> tuple[float, float, int]:
    """How strongly the target depends on a sensitive column, before any model.

    The default measure by the rows' exposure, the p-value of the one test that verdicts are made by, and
    the rows that were used: at most ROWS_MEASURED.
    """
    return _link(dataset.fingerprint, sensitive, dataset)


@st.cache_data(max_entries=8, show_spinner=False)
def _rank_link(fingerprint: str, sensitive: str, _dataset: Dataset) -> RankLink:  # noqa: ARG001 (as above)
    y, s = (x.to_numpy(dtype=float) for x in (_dataset.target, _dataset.sensitive[sensitive]))
    weight = None if _dataset.weight is None else _dataset.weight.to_numpy(dtype=float)
    return rank_link(y, s, weight)


def rank_link_of(dataset: Dataset, sensitive: str) -> RankLink:
    """The rank correlation of target and sensitive column on all rows, by their exposure."""
    return _rank_link(dataset.fingerprint, sensitive, dataset)
