"""Schemas that validate imported evidence files: the fields of audit.json and plan.json, and every table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import pandas as pd

from fairdash.auditing.gaps import ABOVE, BELOW, NONE, UNDECIDED
from fairdash.auditing.models import ModelFile
from fairdash.auditing.plan import CRITERIA, QUESTIONS, AuditPlan
from fairdash.auditing.result import GAP, MOVED, MOVED_CURVE, TAILS, Answer, Drift
from fairdash.evaluation.crossed_cells import crossing_name
from fairdash.storage.schema import FLAG, SCALAR, TEXT, Column, read_json, read_records, require
from fairdash.tables.readers.report import ReadingOptions
from fairdash.utils.records import from_plain

#: Version of the format of plan.json.
FORMAT = 1
Record = TypeVar("Record")
#: Maximum number of entries in a list, which is enough for all levels of the columns of millions of rows.
_MAX_ENTRIES = 1_000_000
_AMONG: Mapping[str, Any] = {
    "kind": ("curve", "level", *TAILS),
    "criterion": CRITERIA,
    "verdict": (BELOW, ABOVE, UNDECIDED, NONE),
}
#: Kinds of columns, by the suffix of the name: a column without a suffix contains numbers, and “%” marks a
#: share.
_KINDS = {"*": TEXT, "?": FLAG, "+": SCALAR}
_CURVE = "at share% kind* value low high"
_MONEY = "rows exposure price per_head per_head_low per_head_high total total_low total_high"
_RATIOS = "rows exposure price outcome ratio ci_low ci_high"
_QUANTILES = "q05 q25 q50 q75 q95"
_VERDICTS = "question criterion* value% ci_low% ci_high% p_value p_any_link verdict*"
_MEASURES = "measure* value% ci_low% ci_high% money money_low money_high"
_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "figures": "question measure* quantity* column* value floor low high p unit* verdict*",
        # Wide views of the table of all estimates.
        **{f"measures_{number}": _MEASURES for number in QUESTIONS},
        **dict.fromkeys(("curve", "candidate_curve", "controlled_curve", "residual_curve"), _CURVE),
        "dearest_curve": "at share% kind* value% low% high%",
        "classes": "class* rows share% mean low high difference difference_low difference_high p_value ratio "
        "standardized_difference selection_rate% adverse_impact_ratio",
        "class_pairs": "class* other* difference low high ratio p_value",
        "class_probabilities": "class* expected_rows mean difference difference_low difference_high p_value "
        "bound_low bound_high likeliest",
        "calibration_of_classes": "class* known_rows expected observed p_value",
        "crossed": "sensitive* other* group* band* middle rows value low high",
        "bridge_points": "measure* part from+ to+",
        "bias_surface": "price_low price_high s_low s_high rows share% b standard_error",
        "autocalibration": "price_low price_high rows share% b standard_error",
        **dict.fromkeys(("actual_to_expected", "calibration"), f"low high {_RATIOS}"),
        "one_way": f"column* level* loss_ratio {_RATIOS}",
        "by_coverage": f"level* loss_ratio {_RATIOS} gap% gap_low% gap_high%",
        "murphy": "score* value miscalibration discrimination uncertainty",
        "lorenz": "exposure% outcome%",
        "deviances": "deviance* power price* value balanced constant explained",
        "drivers": "feature* share% ci_low% ci_high%",
        "proxies": "feature* hgr floor floor_q95 p_value p_corrected is_copy?",
        "surrogate_fit": "model* rows measure* value ci_low ci_high",
        "money_along_s": f"low high {_MONEY} base*",
        **dict.fromkeys(("segments", "change_segments"), f"s_low s_high column* level* {_MONEY} shown"),
        "change_along_s": f"low high {_MONEY}",
        "premium_curves": f"premium* {_CURVE}",
        "premiums": "premium* mean% gap% gap_low% gap_high% share_of_variance% explained% less% less_low% "
        "less_high%",
        "premium_averages": "premium* low high rows value ci_low ci_high",
        "premium_differences": f"difference* what* mean_absolute ci_low ci_high mean {_QUANTILES}",
        "power": "criterion* rows smallest% smallest_money rows_needed",
        "missing_by_price": "low high rows share%",
        "reliability": "reliability value% ci_low% ci_high% money money_low money_high",
        "reliability_curve": "reliability share% at value low high",
        "two_prices": "question measure* price candidate difference ci_low ci_high",
        "candidate_verdicts": _VERDICTS,
        "candidate_answers": "question title* answer*",
        "double_lift": "ratio_low ratio_high rows exposure price candidate outcome",
        "by_sensitive": f"sensitive* {_VERDICTS}",
        "moved": "what* before% now% difference% ci_low% ci_high% verdict_before* verdict_now*",
        "moved_curve": "at kind* value% low% high%",
        "flips": f"column* mean_change mean_absolute {_QUANTILES} beyond",
        "partial_dependence": "column* at* value",
        "customer": "price mean_near_in_s mean_of_all share_near_that_pays_less near",
        "customer_columns": "column* value* change",
    }
)


def _declared(columns: str) -> dict[str, Column]:
    kinds = {"class": Column(kind=TEXT, is_needed=False)}
    for column in columns.split():
        name = column.rstrip("*?+%")
        kind = _KINDS.get(column.removeprefix(name))
        if kind is None:
            kinds[name] = Column(may_lack=True)
        else:
            kinds[name] = Column(kind=kind, among=_AMONG.get(name))
    return kinds


#: Columns of each table. A table with one row per class usually has an additional column with the names of
#: the classes.
TABLES: Mapping[str, Mapping[str, Column]] = MappingProxyType(
    {name: _declared(columns) for name, columns in _COLUMNS.items()}
)
#: Columns of each table that contain shares. They are shown in per cent.
SHARES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(re.findall(r"(\w+)%", columns)) for name, columns in _COLUMNS.items()}
)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Source of a table (a file with its reading options, or a built-in data set), and the model's file."""

    sha256: str = ""
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    dataset: str = ""
    options: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    model: ModelFile | None = None
    rows_sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class PlanFile:
    """Fields of plan.json, which :func:`fairdash.auditing.evidence.evidence_zip` writes."""

    fairdash_audit: int
    plan: AuditPlan
    thresholds: Mapping[str, str | int | float]
    seeds: Mapping[str, int | None]
    origin: Mapping[str, Any]
    against: str | None
    versions: Mapping[str, str]
    sha256: Mapping[str, str]
    command: str


@dataclass(frozen=True, kw_only=True)
class Content:
    """Fields of audit.json, from :meth:`fairdash.auditing.result.Findings.to_dict`."""

    plan: AuditPlan
    verdict: str
    figures: Any
    answers: tuple[Answer, ...]
    tables: Mapping[str, Any]
    n: int
    n_units: int
    mean_price: float
    notes: tuple[str, ...]
    others: tuple[Content, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    made_with: Mapping[str, str] = field(default_factory=dict)
    since: Drift | None = None


def read_tables(stored: Content) -> dict[str, pd.DataFrame]:
    """Return the tables of an audit's content, including the table of all estimates."""
    rows = {**stored.tables, "figures": stored.figures}
    require(rows.keys() <= TABLES.keys(), "the audit has an unknown table")
    tables = {name: read_records(records, TABLES[name]) for name, records in rows.items()}
    figures = tables["figures"]
    gap_measures = set(figures.loc[figures["quantity"] == GAP, "measure"])
    is_once = not figures.duplicated(["question", "measure", "quantity", "unit"]).any()
    require(is_once and stored.plan.criterion in gap_measures, "the audit lacks a verdict, or has one twice")
    require(gap_measures <= CRITERIA.keys(), "the audit has an unknown criterion")
    require(len(tables["curve"]) > 1, "the audit's curve has no points")
    return tables


def read_plan_file(content: bytes, *, max_bytes: int) -> PlanFile:
    """Read plan.json, or raise ValueError or FairdashError if its content is not a plan of fairdash."""
    plan = _fields(PlanFile, read_json(content, most_bytes=max_bytes))
    require(plan.fairdash_audit == FORMAT, "the plan is from another version")
    from_plain(Origin, plan.origin)
    return plan


def read_content(content: bytes, *, max_bytes: int) -> Content:
    """Read audit.json, or raise ValueError or FairdashError if its content is invalid or inconsistent."""
    content_read = _fields(Content, read_json(content, most_bytes=max_bytes, most_entries=_MAX_ENTRIES))
    columns, names = content_read.plan.columns, [part.plan.columns.sensitive for part in content_read.others]
    audited_names = set(names[len(columns.also) :])
    # A combination of attributes may be missing, because some have too few rows for a verdict.
    crossings = [name for crossing in columns.crossings if (name := crossing_name(crossing)) in audited_names]
    require(names == [*columns.also, *crossings], "the audit's attributes are not the plan's")
    for result in (content_read, *content_read.others):
        _check(result)
    return content_read


def _fields(kind: type[Record], values: Any) -> Record:
    require(isinstance(values, dict), "the audit is not an object")
    return from_plain(kind, values)


def _check(audit: Content) -> None:
    """Raise a SchemaError if a table that an answer names is missing."""
    require(audit.verdict in (BELOW, ABOVE, UNDECIDED), "the audit's verdict is unknown")
    require(
        1 <= audit.n_units <= audit.n and audit.mean_price > 0, "the audit's rows or its mean are not valid"
    )
    require("curve" in audit.tables, "the audit lacks its curve")
    table_names = {name for answer in audit.answers for name in answer.tables}
    table_names |= set() if audit.since is None else {MOVED, MOVED_CURVE}
    require(table_names <= audit.tables.keys(), "the audit lacks a table of an answer")
    from_plain(Origin, audit.origin)
