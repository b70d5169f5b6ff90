"""Cached twins of library calls; keys are content hashes and ids, values are copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.data.building import offers
from fairdash.data.dataset import Dataset
from fairdash.data.outcomes import SensitiveSupport, outcome_remarks, sensitive_support
from fairdash.data.profile import ColumnProfile, profile_table
from fairdash.data.reading import ReadingOptions, ReadingReport, file_contents, read_table
from fairdash.data.source import DatasetSource, UploadSource
from fairdash.data.uploads import read_upload
from fairdash.dependence import independence_floor, measure
from fairdash.errors import Problem
from fairdash.reports.comparison import Front
from fairdash.runs.result import RunResult
from fairdash.runs.store import Run


@st.cache_data(max_entries=4, show_spinner=False)
def _load(source_json: str) -> Dataset:
    return DatasetSource.from_json(source_json).load()


def dataset_of(source: DatasetSource) -> Dataset:
    """The data set that a source describes, read once a server."""
    return _load(source.to_json())


# A resource: copying a large run's predictions at every look would take longer than drawing them. Nobody
# writes into them.
@st.cache_resource(max_entries=4, show_spinner=False)
def _result(run_id: str, look: str | None) -> RunResult:  # noqa: ARG001 (the first look gives way to the result)
    return Run(run_id).read_result()


def result_of(run: Run) -> RunResult:
    """What there is of a run's result, read once a server."""
    return _result(run.id, run.look)


@st.cache_resource(max_entries=12, show_spinner=False)
def _front(run_id: str, look: str | None, objective: str, sensitive: str) -> Front:
    return Front.of(_result(run_id, look), objective=objective, sensitive=sensitive)


def front_of(run: Run, *, objective: str, sensitive: str) -> Front:
    """The figures of a run's paths, gathered once a server."""
    return _front(run.id, run.look, objective, sensitive)


@st.cache_data(max_entries=4, show_spinner=False)
def upload_of(digest: str, name: str, reading: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """The table in an uploaded file, and how it was read."""
    return read_table(read_upload(digest), name=name, **asdict(reading))


@st.cache_data(max_entries=32, show_spinner=False)
def contents_of(digest: str) -> tuple[str, tuple[str, ...]]:
    """What an uploaded file is, and the sheets or tables in it."""
    return file_contents(read_upload(digest))


@dataclass(frozen=True)
class Facts:
    """What the data page says of a data set besides its pictures.

    Parameters
    ----------
    remarks
        On the target's zeros and tail.
    support
        How finely each sensitive column can be cut, by its name.
    profile
        A line on each column.
    offers
        Columns that are left out and could be used.
    """

    remarks: tuple[str, ...]
    support: Mapping[str, SensitiveSupport]
    profile: tuple[ColumnProfile, ...]
    offers: tuple[Problem, ...]


@st.cache_data(max_entries=8, show_spinner=False)
def _facts(source_json: str) -> Facts:
    source = DatasetSource.from_json(source_json)
    dataset = dataset_of(source)
    found: tuple[Problem, ...] = ()
    if isinstance(source, UploadSource):
        frame, _ = upload_of(source.sha256, source.name, source.reading)
        found = offers(frame, source.roles, source.mends)
    return Facts(
        remarks=outcome_remarks(dataset.target),
        support={name: sensitive_support(dataset.sensitive[name]) for name in dataset.roles.sensitive},
        profile=profile_table(dataset.table()),
        offers=found,
    )


def facts_of(source: DatasetSource) -> Facts:
    """What there is to say of a source's data set, found out once a server."""
    return _facts(source.to_json())


def forget_uploads() -> None:
    """Take everything that was read from uploads out of memory."""
    for cached in (_load, upload_of, contents_of, _link, _facts):
        cached.clear()


@dataclass(frozen=True)
class Link:
    """How strongly the target depends on a sensitive column, before any model.

    Parameters
    ----------
    value, floor, floor_q95
        HGR_KDE, its mean and 95 % quantile with the sensitive column permuted.
    n
        Rows that were used.
    """

    value: float
    floor: float
    floor_q95: float
    n: int


#: Rows that a page measures at most: a random sample beyond.
ROWS_MEASURED = 5000


@st.cache_data(max_entries=8, show_spinner=False)
def _link(fingerprint: str, sensitive: str, _dataset: Dataset) -> Link:  # noqa: ARG001 (the fingerprint is the cache's key)
    y = _dataset.target.to_numpy(dtype=float)
    s = _dataset.sensitive[sensitive].to_numpy(dtype=float)
    if len(y) > ROWS_MEASURED:
        rows = np.random.default_rng(0).choice(len(y), ROWS_MEASURED, replace=False)
        y, s = y[rows], s[rows]
    floor = independence_floor("hgr_kde", y[None], s[None], n_permutations=100, random_state=0)
    return Link(measure("hgr_kde", y, s), float(floor.mean[0]), float(floor.q95[0]), len(y))


def link_of(dataset: Dataset, sensitive: str) -> Link:
    """HGR_KDE between target and a sensitive column, on at most ROWS_MEASURED rows."""
    return _link(dataset.fingerprint, sensitive, dataset)
