"""Check of the files of an imported run, both separately and against the plan of the run.

The plan determines the models, their splits and the rows of each table. If a run passes all checks, it
contains everything that pages and reports use.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np
import pandas as pd

from fairdash.dependence import REGISTRY
from fairdash.dependence.omnibus import COMPONENTS
from fairdash.errors import FairdashError
from fairdash.evaluation.confirmation import Confirmation
from fairdash.evaluation.figures import ERRORS, VALUE, VERDICT, Cell, untidy
from fairdash.runs.confirmations import CONFIRMATIONS, OPENED
from fairdash.runs.result import CURVE_COLUMNS, CURVES, NONE, PARTS, PRICE, SET_ASIDE, About, plan_with_lams
from fairdash.runs.state import DONE, RunStatus
from fairdash.runs.store import NAME, RESULT, RunSpec
from fairdash.storage.bundle import SEAL
from fairdash.storage.log import LOG, LOG_FILES, Event
from fairdash.storage.schema import (
    FLAG,
    TEXT,
    WHOLE,
    Array,
    Column,
    SchemaError,
    read_arrays,
    read_json,
    read_table,
    require,
)
from fairdash.tariff import FAIR_TARIFF
from fairdash.training.baselines import BASELINES, MEAN
from fairdash.training.references import REFERENCES
from fairdash.training.settings import OBJECTIVES
from fairdash.training.sweep import STANDARD, Sweep
from fairdash.utils.records import from_plain
from fairdash.utils.text import CROSS

#: Upper limits of the number of λ values, of models and of rows. They are larger than in any real run.
MAX_LAMS, MAX_MODELS, MAX_ROWS = 500, 10_000, 2_000_000
#: Maximum size in bytes of a JSON file, and of a file that grows during training.
MAX_JSON, MAX_LINES = 10**7, 10**8

_SPLITS = Column(kind=WHOLE, low=0)
_POINT = {"method": Column(kind=TEXT), "lam": Column(low=0)}
_MODEL = {**_POINT, "split": _SPLITS}
_JUDGED = {
    **_MODEL,
    "part": Column(kind=TEXT, among=PARTS),
    "diverged": Column(kind=FLAG),
    "n": Column(low=1),
    "measure": Column(kind=TEXT, among={*ERRORS, *REGISTRY, VERDICT}),
    "column": Column(kind=TEXT),
    **dict.fromkeys(("value", "floor", "floor_q95", "edge"), Column(may_lack=True)),
    "p": Column(low=0, high=1, may_lack=True),
    "by": Column(low=0, high=len(COMPONENTS) - 1, may_lack=True),
}
_EPOCH = Column(kind=WHOLE, low=0, is_needed=False)
#: Map from kinds of tables to requirements for their columns.
_TABLES: Mapping[str, Mapping[str, Column]] = {
    "members": {**_MODEL, "diverged": Column(kind=FLAG), "best_epoch": _EPOCH},
    "frame": {**_JUDGED, "best_epoch": _EPOCH},
    "path": {**_JUDGED, "low": Column(low=0), "high": Column(low=0), "share": Column(low=0, high=1)},
    "baselines": {**_JUDGED, "method": Column(kind=TEXT, among={*BASELINES, FAIR_TARIFF})},
    "references": {**_JUDGED, "method": Column(kind=TEXT, among=REFERENCES.keys()), "best_epoch": _EPOCH},
    "importance": {
        **_MODEL,
        "feature": Column(kind=TEXT),
        "importance": Column(may_lack=True),
        "reliance": Column(may_lack=True),
    },
    "tuning": {
        "split": _SPLITS,
        "lr": Column(low=0),
        "weight_decay": Column(low=0),
        # The loss is infinite if the training diverged.
        "loss": Column(high=float("inf"), may_lack=True),
        "chosen": Column(kind=FLAG),
    },
    SET_ASIDE: {**_POINT, "diverged": Column(kind=FLAG)},
}


def check_run(files: Mapping[str, bytes], spec: RunSpec, status: RunStatus, *, look: str) -> None:
    """Raise an error if files of a run can't be results of its plan.

    Parameters
    ----------
    files
        Map from paths in the folder of the run to contents. The hashes of the files have already been
        checked.
    look
        Name of the folder with the results.

    Raises
    ------
    SchemaError
        A file is invalid; the error describes the problem.
    """
    require(status.state != DONE or look == RESULT, "its status is done, but there is no result")
    require(
        0 <= status.fraction <= 1 and status.seconds >= 0, "its seconds or its completed share are not valid"
    )
    require(0 < spec.first_share <= 1, "first_share is not between 0 and 1")
    for plan in (spec.plan, spec.first):
        if plan is not None:
            require(len(plan.lams) <= MAX_LAMS, f"it has more than {MAX_LAMS} weights")
            n_models = len(plan.methods) * max(1, len(plan.lams)) * plan.n_splits
            require(n_models <= MAX_MODELS, f"it has more than {MAX_MODELS:,} models")
    results = {name.removeprefix(f"{look}/"): each for name, each in files.items() if name.startswith(look)}
    plan = spec.first if look != RESULT and spec.first is not None else spec.plan
    result = _Result(results, spec, plan)
    result.check()
    openings = _openings(files[CONFIRMATIONS], result.plan, results) if CONFIRMATIONS in files else 0
    _check_log(files, openings)
    if NAME in files:
        read_json(files[NAME], most_bytes=10_000)


class _Result:
    """Files of a result, which are checked one after the other and compared with earlier files."""

    def __init__(self, files: Mapping[str, bytes], spec: RunSpec, plan: Sweep) -> None:
        self.files, self.spec, self.plan = files, spec, plan
        self.left = {*files} - {SEAL}

    def check(self) -> None:
        self.about = self._about(self._pop_file("about.json"))
        self.parts = self._rows(self._pop_file("rows.safetensors"))
        members = self._table("members")
        try:
            self.plan = plan_with_lams(self.plan, members)
        except ValueError as error:
            raise SchemaError(str(error)) from error
        self.models = _keys(members, [*_MODEL])
        # The models must also be in the order of the predictions.
        expected_models = [(model.method, model.lam, model.split) for model in self.plan.models()]
        require(self.models == expected_models, "its models are not those of the plan")
        for objective in self.about.objectives:
            self._frame(f"frame-{objective}")
            self._path(f"path-{objective}")
        optional: dict[str, Callable[[str], None]] = {
            **{f"baselines-{objective}.parquet": self._points for objective in self.about.objectives},
            "references.parquet": self._points,
            "importance.parquet": self._importance,
            "tuning.parquet": self._tuning,
            CURVES: self._curves,
            f"{SET_ASIDE}.safetensors": self._set_aside,
        }
        for name, check in optional.items():
            if name in self.files:
                check(name.partition(".")[0])
        require(not self.left, f"it has unknown files ({len(self.left)})")

    def _pop_file(self, name: str) -> bytes:
        require(name in self.files, f"{name} is missing")
        self.left.discard(name)
        return self.files[name]

    def _table(self, name: str) -> pd.DataFrame:
        """Read the table with a name such as ``frame-demographic_parity``."""
        columns = _TABLES[name.partition("-")[0]]
        frame = read_table(self._pop_file(f"{name}.parquet"), columns, most_rows=MAX_ROWS)
        if "split" in frame:
            require((frame["split"] < len(self.parts)).all(), "it names a split that does not exist")
        return frame

    def _about(self, content: bytes) -> About:
        facts = _record(About, read_json(content, most_bytes=MAX_JSON, may_lack=True))
        objectives_known, roles = set(facts.objectives), self.spec.source.roles
        require(facts.objective == self.plan.objective, "its objective is not that of the plan")
        require(facts.objective in objectives_known <= OBJECTIVES.keys(), "its objectives are unknown")
        require(len(objectives_known) == len(facts.objectives), "it names an objective twice")
        require(facts.sensitive, "it has no sensitive column")
        require(len({facts.target, *facts.sensitive}) == 1 + len(facts.sensitive), "it names a column twice")
        require(
            roles is None or (roles.target == facts.target and roles.reads(facts.sensitive)),
            "its columns are not those of the data set",
        )
        require(facts.seconds >= 0, "its seconds are not valid")
        require(
            facts.drawn_from is None or facts.drawn_from > 0,
            "the number of rows from which it was drawn is not above 0",
        )
        require(facts.evaluations.keys() <= REGISTRY.keys(), "it names an unknown measure")
        return facts

    def _rows(self, content: bytes) -> list[dict[str, int]]:
        """Return, for each split, the names of its parts and the indices of the rows in each part."""
        description, n_splits, n_models = self.about, self.plan.n_splits, len(self.plan.models())
        arrays = read_arrays(
            content,
            {
                "target": Array(dtype="float64", shape=(None,)),
                "sensitive": Array(dtype="float64", shape=(None, len(description.sensitive))),
                "predictions": Array(dtype="float64", shape=(n_models, None), may_lack=True),
                "part": Array(dtype="uint8", shape=(n_splits, None), high=NONE),
                "weight": Array(dtype="float64", shape=(None,), low=0, is_needed=False),
                "groups": Array(dtype="int64", shape=(None,), low=0, is_needed=False),
                PRICE: Array(dtype="float64", shape=(n_splits,), may_lack=True, is_needed=False),
                "rows": Array(dtype="int64", shape=(None,), low=0, is_needed=False),
            },
        )
        n = len(arrays["target"])
        _are_of_rows(arrays, n)
        require(
            ("rows" in arrays) == (description.drawn_from is not None),
            "row numbers and the number of rows from which they were drawn do not occur together",
        )
        if "rows" in arrays:
            rows, drawn_from = arrays["rows"], description.drawn_from or 0
            require((np.diff(rows) > 0).all() and (rows < drawn_from).all(), "its rows are not valid")
        is_missing = np.isnan(arrays["predictions"])
        require((is_missing == is_missing[0]).all(), "not all models predict the same rows")
        require(
            (arrays["part"][:, is_missing[0]] == NONE).all(),
            "a row belongs to a part of a split, but has no prediction",
        )
        counts = [
            {name: int((part == mark).sum()) for mark, name in enumerate(PARTS) if (part == mark).any()}
            for part in arrays["part"]
        ]
        require(all(count.keys() >= {"train", "test"} for count in counts), "a split lacks rows")
        self.n = n
        return counts

    def _figures(self, name: str) -> tuple[pd.DataFrame, list[Cell]]:
        """Return a table of results with one row per model and part, and the measures in its columns."""
        try:
            frame, cells, values = untidy(self._table(name))
        except ValueError as error:
            raise SchemaError(str(error)) from error
        of_column: dict[str, set[str]] = {}
        for measure, column in cells:
            of_column.setdefault(column, set()).add(measure)
        errors = of_column.pop("", set()) - (REGISTRY.keys() if len(self.about.sensitive) > 1 else set())
        require({"mse", "rmse"} <= errors <= {*ERRORS}, "an error is missing")
        require(len({*cells}) == len(cells), "a measure appears twice")
        first = next(iter(of_column.values()), set())
        crossed = {column for column in of_column.keys() - set(self.about.sensitive) if CROSS in column}
        require(
            all(of_column.pop(column) <= first for column in crossed),
            "a combination of attributes has other measures than the columns",
        )
        require(
            set(of_column) == set(self.about.sensitive) and all(size == first for size in of_column.values()),
            "its measures are missing or differ between columns",
        )
        require(first & REGISTRY.keys() and not first & {*ERRORS}, "its measures are missing")
        error_names, of_errors = (
            ~frame["diverged"].to_numpy(),
            [cells.index((measure, "")) for measure in ("mse", "rmse")],
        )
        require((values[error_names][:, of_errors, VALUE] >= 0).all(), "an error is missing")
        for k, (split, part, n) in enumerate(zip(frame["split"], frame["part"], frame["n"], strict=True)):
            require(
                self.parts[split].get(part) == n, f"in row {k}, the number of rows is not that of its part"
            )
        return frame, cells

    def _frame(self, name: str) -> None:
        frame, self.cells = self._figures(name)
        # A preview with tariffs has no results for the training rows.
        is_preview_of_tariffs = FAIR_TARIFF in self.plan.methods and "train" not in set(frame["part"])
        expected_columns = {
            (*model, part)
            for model in self.models
            for part in self.parts[model[2]]
            if not (is_preview_of_tariffs and part == "train")
        }
        _has_rows(frame, [*_MODEL, "part"], expected_columns, "its rows are not those of the models")

    def _path(self, name: str) -> None:
        frame, cells = self._figures(name)
        require(cells == self.cells, "it has other measures than the frame")
        fair = [method for method in self.plan.methods if method != STANDARD]
        methods = list(frame["method"].unique())
        require(set(methods) == set(fair or [STANDARD]), "its methods are not those of the plan")
        highest = max(self.plan.lams, default=0.0)
        require(
            (frame["lam"] <= highest).all() and (frame["low"] <= frame["high"]).all(),
            "a position on the path is not valid",
        )
        parts = [part for part in ("validation", "test") if part in self.parts[0]]
        for method in methods:
            rows_of_method = frame[frame["method"] == method]
            stops = rows_of_method[["lam", "low", "high", "share"]].drop_duplicates()
            require(
                stops["lam"].is_unique and (stops["lam"] == 0).any(),
                "its positions on the path are not valid",
            )
            expected_rows = set(itertools.product(stops["lam"], range(len(self.parts)), parts))
            _has_rows(
                rows_of_method,
                ["lam", "split", "part"],
                expected_rows,
                "a position on the path has no figures for a split or a part",
            )

    def _points(self, name: str) -> None:
        """Check that baselines or references have one row per split, and tariffs one more for validation."""
        frame, cells = self._figures(name)
        if name == "references":
            require(not frame.empty, "it has no rows")
        else:
            require(cells == self.cells, "it has other measures than the frame")
            require((frame["method"] == MEAN).any(), "the baseline “average” is missing")
            tariffs = frame[(frame["method"] == FAIR_TARIFF) & (frame["part"] == "validation")]
            frame = frame.drop(tariffs.index)
            lams = {(FAIR_TARIFF, lam) for lam in tariffs["lam"].tolist()}
            expected_rows = {(*point, j) for point in lams for j in range(len(self.parts))}
            _has_rows(tariffs, [*_MODEL], expected_rows, "a split of a tariff is missing or occurs twice")
        points = set(_keys(frame, [*_POINT]))
        expected_rows = {(*point, j, "test") for point in points for j in range(len(self.parts))}
        _has_rows(frame, [*_MODEL, "part"], expected_rows, "a split is missing or occurs twice")

    def _importance(self, name: str) -> None:
        frame = self._table(name)
        require(not frame.empty, "it has no feature")
        expected = {(*model, feature) for model in self.models for feature in frame["feature"].unique()}
        _has_rows(frame, [*_MODEL, "feature"], expected, "a feature or a model is missing or occurs twice")

    def _tuning(self, name: str) -> None:
        frame = self._table(name)
        chosen = frame[frame["chosen"]]["split"].tolist()
        require(
            sorted(chosen) == list(range(len(self.parts))),
            "it does not have exactly one selected setting per split",
        )

    def _curves(self, _: str) -> None:
        content = self._pop_file(CURVES)
        require(len(content) <= MAX_LINES, "it is too long")
        for line in content.splitlines():
            record = read_json(line, most_bytes=1_000)
            require(
                isinstance(record, dict) and [*record] == [*CURVE_COLUMNS],
                "a line does not belong to a training curve",
            )
            require(record["method"] in self.plan.methods, "a method is not in the plan")
            require(type(record["epoch"]) is int and record["epoch"] >= 0, "an epoch is not valid")
            require(_is_number(record["lam"]) and record["lam"] >= 0, "a weight is not valid")
            numbers = [record["mse"], record["dependence"]]
            require(all(x is None or _is_number(x) for x in numbers), "a figure is not a number")

    def _set_aside(self, name: str) -> None:
        sensitive = read_json(self._pop_file(f"{name}.json"), most_bytes=MAX_JSON)
        require(sensitive == list(self.about.sensitive), "its columns are not those of the run")
        members = self._table(name)
        points = list(dict.fromkeys(model[:2] for model in self.models))
        require(_keys(members, [*_POINT]) == points, "its models are not those of the plan")
        arrays = read_arrays(
            self._pop_file(f"{name}.safetensors"),
            {
                "rows": Array(dtype="int64", shape=(None,), low=0),
                "predictions": Array(dtype="float64", shape=(len(members), None)),
                "target": Array(dtype="float64", shape=(None,)),
                "sensitive": Array(dtype="float64", shape=(None, len(self.about.sensitive))),
                "weight": Array(dtype="float64", shape=(None,), low=0, is_needed=False),
                "groups": Array(dtype="int64", shape=(None,), low=0, is_needed=False),
            },
        )
        rows = arrays["rows"]
        require(len(rows) > 0 and (np.diff(rows) > 0).all() and (rows < self.n).all(), "its rows are wrong")
        _are_of_rows(arrays, len(rows))


def _openings(content: bytes, plan: Sweep, confirmations: Mapping[str, bytes]) -> int:
    """Check the record of uses ("openings") of the holdout rows, and return their number."""
    values = read_json(content, most_bytes=MAX_JSON, may_lack=True)
    require(
        isinstance(values, dict) and isinstance(values.get("openings"), list), "it has no list of openings"
    )
    require(f"{SET_ASIDE}.safetensors" in confirmations, "no rows were set aside")
    for number, each in enumerate(values["openings"], start=1):
        opening = _record(Confirmation, each)
        require(opening.number == number, "its openings are not numbered 1, 2, …")
        require(
            opening.point.method in plan.methods and opening.point.lam in (0.0, *plan.lams),
            "a point is not in the plan",
        )
        require(
            opening.objective in OBJECTIVES and opening.measure in REGISTRY,
            "an objective or a measure is unknown",
        )
        require(opening.links and opening.n > 0, "an opening has no result")
    return len(values["openings"])


def _check_log(files: Mapping[str, bytes], openings: int) -> None:
    """Check the types of readable lines of the log. The page with the log reports unreadable lines."""
    for name in LOG_FILES:
        require(len(files.get(name, b"")) <= MAX_JSON, f"{name} is too long")
    opened = 0
    for line in files.get(LOG, b"").splitlines():
        values = read_json(line, most_bytes=MAX_JSON)
        require(
            isinstance(values, dict) and isinstance(values.pop("before", None), str),
            "a line of the log is not an event",
        )
        opened += _record(Event, values).what == OPENED
    require(opened <= openings, "it records more openings than the file of openings")


def _record(kind: type[Any], values: Any) -> Any:
    require(isinstance(values, dict), "it is not an object")
    try:
        return from_plain(kind, values)
    except (ValueError, FairdashError) as error:
        raise SchemaError(str(error)) from error


def _keys(frame: pd.DataFrame, columns: list[str]) -> list[tuple[Any, ...]]:
    return list(frame[columns].itertuples(index=False, name=None))


def _has_rows(frame: pd.DataFrame, columns: list[str], expected: Set[tuple[Any, ...]], text: str) -> None:
    """Raise a SchemaError with the text `text` unless the rows are exactly the expected rows, once each."""
    keys = _keys(frame, columns)
    require(set(keys) == expected and len(keys) == len(expected), text)


def _are_of_rows(arrays: Mapping[str, Any], n: int) -> None:
    """Raise a SchemaError unless each array has one entry per row and all weights are above 0."""
    for name, values in arrays.items():
        if name != PRICE:
            of_rows = -1 if name in ("predictions", "part") else 0
            require(values.shape[of_rows] == n, f"{name} has another length")
    require("weight" not in arrays or (arrays["weight"] > 0).all(), "a weight is not above 0")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)
