"""The function ``fairdash.audit``, which answers an audit's questions about a table of prices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from types import MappingProxyType
from typing import Any

import pandas as pd

from fairdash.auditing.data import Answered, Measured, Progress, _answers_for_second_price, data_of
from fairdash.auditing.evidence import AuditResult, environment, hash_of_rows
from fairdash.auditing.gaps import ABOVE, BELOW, NONE, UNDECIDED, holm, verdict_at
from fairdash.auditing.models import ModelFile
from fairdash.auditing.models.model_answers import MODEL_PRICE, ask_model, with_model_price
from fairdash.auditing.plan import CRITERIA, QUESTIONS, AuditPlan, plan_of
from fairdash.auditing.result import ANY_LINK, GAP, SHARE, Answer, figures_of
from fairdash.auditing.table import AuditTable, without_small_groups
from fairdash.data.dataset import draw_of_groups
from fairdash.storage import sha256
from fairdash.tables.columns import as_pandas
from fairdash.tables.frames import plain_frame
from fairdash.tables.model_files.model_file import Link, content_of
from fairdash.utils.records import to_plain
from fairdash.utils.text import percent

#: Maximum number of audited rows. With 2,000,000 rows, the standard error of the mean price is less than a
#: thousandth of the price's standard deviation.
MAX_ROWS = 2_000_000
QUESTIONS_OF_BOTH_PRICES = frozenset(
    number for number, each in QUESTIONS.items() if each.needs == "candidate"
)

#: Tables whose columns ``low`` and ``high`` are the ends of a band of s, not confidence limits.
_TABLES_OF_BANDS = ("money_along_s", "change_along_s", "actual_to_expected", "premium_averages")


def audit(
    frame: pd.DataFrame,
    *,
    price: str | None = None,
    sensitive: str | Sequence[str] = (),
    model: Any = None,
    model_columns: Sequence[str] | None = None,
    model_link: Link = "auto",
    model_output: str | None = None,
    check_column: str | None = None,
    customer: Any = None,
    exposure: str | None = None,
    outcome: str | None = None,
    controls: Sequence[str] = (),
    criterion: str = "independence",
    expected_cost: str | None = None,
    candidate: str | None = None,
    groups: str | None = None,
    reliability: float | Sequence[float] | None = None,
    max_gap: float = 0.05,
    questions: str | Sequence[int] = "all",
    totals: Sequence[str] = (),
    features: Sequence[str] | None = None,
    coverage: str | None = None,
    cap: float | None = None,
    currency: str = "",
    period: str = "",
    probabilities: Sequence[str] = (),
    known_class: str | None = None,
    random_state: int | None = 0,
    against: AuditResult | str | PathLike[str] | None = None,
) -> AuditResult:
    """Audit a price: test its link with a sensitive attribute, and whether cost justifies this link.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names. Rows without a price, an attribute, an exposure or a
        group are left out and counted. Other columns may have missing cells. Each answer leaves out rows with
        a missing cell in a column that it uses, and states their number. If the table has more than 2,000,000
        rows, fairdash audits a random sample of at most 2,000,000 rows. If `groups` is given, the sample
        consists of whole groups.
    price, sensitive
        Columns with the price or prediction π, per unit of exposure, and with the sensitive attribute s. If
        there are several attributes, fairdash audits each attribute, then their combinations, and corrects
        all tests by Holm's method.
    model
        Model of the price: a function from a frame to prices (n,), an object with ``predict``, or a file
        (path or bytes): ONNX, LightGBM, XGBoost, CatBoost, PMML of a GLM, or a table of factors. The model's
        file is opened in a separate process, and pickles are never loaded. The argument `price` is then the
        name for the model's prices, by default “model price”. An additional answer describes the model: how
        each price changes if only s, or only one other column, changes, and the mean price along each column.
    model_columns
        Input columns of the model, in order. By default, these are the columns that the model names or, if it
        names none, all columns.
    model_link
        ``"log"`` if the model returns the logarithm of the price, ``"identity"`` if it returns the price; the
        default is the link stated in the model's file.
    model_output
        Name of the model's output that contains the price, such as ``"probabilities[1]"`` for the second
        number of each row; the default is the only output of the file.
    check_column
        Column with prices computed by the model's owner. A note states in how many rows these prices equal
        the prices that fairdash computes.
    customer
        Label of a row. Its price is explained by a comparison with rows of similar s, and by the effect of
        each column. A `customer` requires a `model`.
    exposure
        Column of row weights, used in all means.
    outcome, expected_cost
        Column with claims or cost Y, and column with your own estimate of the expected cost; both are per
        unit of exposure.
    controls
        Columns of legitimate factors, which may be numeric or categorical.
    criterion
        The primary criterion, which you select before you see any result: ``"independence"``,
        ``"conditional_independence"``, ``"sufficiency"`` or ``"equalized_residuals"``.
    candidate
        Column with a second price. The audit then covers both prices and their difference.
    groups
        Column with each row's group, such as a policy number. All rows of a group are in one fold, and a
        group counts as one independent unit.
    reliability
        Reliabilities, in (0, 1]: shares of the attribute's variance that are not measurement error. fairdash
        corrects the gap from the 10th to the 90th percentile, and the curve, for measurement error at each of
        them, and at 1, 0.9, 0.7 and 0.5.
    max_gap
        Threshold δ for the largest gap, as a share of the mean price, in (0, 1).
    questions
        Numbers of the questions to answer, or ``"all"``; the primary criterion's question is always answered.
    totals
        Columns that contain totals, which fairdash divides by the exposure.
    probabilities, known_class
        Columns with class probabilities, which add up to 1 in each row, and a column with the true class of
        the rows whose class is known. Only means are compared across classes (see
        :mod:`fairdash.evaluation.classes`). If `probabilities` are given, `sensitive` may be omitted.
    against
        Another audit, or the path of a saved audit, for a comparison (see :meth:`AuditResult.compare`).
    features
        Rating factors, numeric or categorical, used by the models of price and outcome. By default, every
        column without another role is a feature.
    coverage
        One of the `features`, such as the type of insurance cover. A table shows actual outcome, expected
        outcome and gap for each level of this feature.
    cap
        Cap on large losses: an outcome above `cap` counts as `cap`.
    currency, period
        Currency of amounts in sentences, such as ``"€"``, and the unit of exposure, such as ``"year"``.

    Returns
    -------
    AuditResult
        ``verdict`` is ``"below"`` or ``"above"`` if the data show that the largest gap is below or above
        `max_gap`, and ``"undecided"`` otherwise. With several attributes, the verdict is ``"below"`` only if
        it is ``"below"`` for every attribute and every combination of attributes.

    Raises
    ------
    OptionError
        A column or an option can't be used, or the primary criterion needs a column that is not given.
    DataError
        A column is unsuitable for its role, or there are fewer than 100 complete rows or groups.

    Examples
    --------
    >>> table = pd.DataFrame({"age": np.arange(18, 90).repeat(10), "premium": 300.0})
    >>> result = fd.audit(table, price="premium", sensitive="age", questions=[1])
    >>> result.verdict
    'below'
    """
    plan = plan_of(
        price or MODEL_PRICE, sensitive, exposure=exposure, outcome=outcome, controls=controls,
        criterion=criterion, expected_cost=expected_cost, candidate=candidate, groups=groups,
        reliability=reliability, max_gap=max_gap, questions=questions, totals=totals, features=features,
        coverage=coverage, cap=cap, currency=currency, period=period, probabilities=probabilities,
        known_class=known_class, random_state=random_state,
    )  # fmt: skip
    if against is not None and not isinstance(against, AuditResult):
        against = AuditResult.load(against)
    result = execute_audit(
        frame, plan, model=model, model_columns=model_columns, model_link=model_link,
        model_output=model_output, check_column=check_column, customer=customer,
    )  # fmt: skip
    return result if against is None else result.compare(against)


def execute_audit(
    frame: pd.DataFrame,
    plan: AuditPlan,
    *,
    origin: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    model: Any = None,
    model_columns: Sequence[str] | None = None,
    model_link: Link = "auto",
    model_output: str | None = None,
    check_column: str | None = None,
    customer: Any = None,
) -> AuditResult:
    """Audit a frame as a plan specifies; the result and the errors are the same as those of :func:`audit`.

    Parameters
    ----------
    origin
        Source of the frame, as the fields of :class:`~fairdash.auditing.schema.Origin`.
    progress
        Function called before each step with the step's name and the share completed, in [0, 1]. The function
        may raise :class:`~fairdash.errors.Cancelled` to stop the audit.
    model, model_columns, model_link, model_output, check_column, customer
        As in :func:`audit`.
    """
    pricing, origin = None, dict(origin or {})
    if isinstance(model, (str, bytes, PathLike)):
        model = content_of(model)
        label = customer if customer is None or type(customer) is int else str(customer)
        model_file = ModelFile(
            sha256=sha256(model), columns=tuple(model_columns or ()), customer=label, link=model_link,
            output=model_output, check_column=check_column,
        )  # fmt: skip
        origin["model"] = to_plain(model_file)
    frame = as_pandas(frame)
    on_model: tuple[str, ...] = ()
    if model is not None:
        frame, pricing, on_model = with_model_price(
            frame, model, columns=model_columns, name=plan.columns.price, link=model_link,
            output=model_output, check_column=check_column,
        )  # fmt: skip
    has_second_price = plan.columns.candidate is not None and 10 in plan.asked
    columns = plan.columns
    parts, n_done = (len(columns.each) + len(columns.crossings)) * (2 if has_second_price else 1), 0

    def report(message: str, share: float) -> None:
        if progress is not None:
            progress(message, (n_done + share) / parts)

    report("Reading the rows", 0.0)
    unfiltered_frame = frame
    frame, frame_notes = plain_frame(frame, keep=columns.named, sensitive=(columns.sensitive, *columns.also))
    frame, sample_note = _sample_rows(frame, plan)
    audited_data = data_of(frame, plan, tell=report, notes=(*on_model, *sample_note, *frame_notes))
    firsts, seconds = [], []
    for data in audited_data:
        pair = data.on("candidate") if has_second_price else data
        if has_second_price and pair.table.n == data.table.n:
            data = pair = replace(pair, roles=frozenset({"candidate"}), _parts={})
        firsts.append(Answered(data=data).answer_further(data.plan.asked - QUESTIONS_OF_BOTH_PRICES))
        n_done += 1
        if has_second_price:
            second = _answers_for_second_price(pair)
            first_price = firsts[-1] if pair is data else Answered(data=pair).answer_further(second.parts)
            seconds.append(replace(second, pair=first_price))
            n_done += 1
    for k, (second, verdicts) in enumerate(zip(seconds, compute_verdicts(seconds), strict=True)):
        second_result = replace(second, result=result_for_attribute(second, verdicts))
        firsts[k] = replace(firsts[k], pair=second_result).answer_further(QUESTIONS_OF_BOTH_PRICES)
    origin["rows_sha256"] = hash_of_rows(frame, plan.columns)
    results = [
        result_for_attribute(result, verdicts, origin)
        for result, verdicts in zip(firsts, compute_verdicts(firsts), strict=True)
    ]
    is_whole = len(audited_data) == len(columns.each) + len(columns.crossings)
    result = replace(combine_attributes(results, plan, is_whole=is_whole), made_with=environment())
    if pricing is not None:
        tell_step = partial(report, "Changing one input of the model at a time", 0.0)
        inputs = getattr(pricing, "columns", model_columns)
        result = ask_model(
            result, unfiltered_frame, pricing, columns=inputs, customer=customer, tell=tell_step
        )
    report("Done", 0.0)
    return result


def _sample_rows(frame: pd.DataFrame, plan: AuditPlan) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows to audit, with a note if they are a random sample."""
    n, groups = len(frame), plan.columns.groups
    if n <= MAX_ROWS:
        return frame, ()
    # A missing column `groups` is reported by a later check, which names the column in its error.
    codes = frame.get(groups) if groups else None
    rows = draw_of_groups(codes, n, MAX_ROWS, random_state=plan.random_state)
    return frame.iloc[rows], (f"{len(rows):,} of {n:,} rows are audited, drawn at random.",)


def compute_verdicts(audits: Sequence[Answered]) -> list[dict[str, str]]:
    """Return the verdicts for each sensitive attribute and each combination of attributes.

    The primary criterion is tested at 5 % in each direction, and Holm's method corrects these tests for the
    number of attributes and combinations. The tests of all other criteria are corrected together, also by
    Holm's method.
    """
    verdicts: list[dict[str, str]] = [{} for _ in audits]
    tested = [(k, name) for k, each in enumerate(audits) for name in CRITERIA if name in each.criteria]
    primary = [(k, name) for k, name in tested if name == audits[k].data.plan.criterion]
    for family in (primary, [result for result in tested if result not in primary]):
        below, above = (
            holm([getattr(audits[k].criteria[name].found, claim) for k, name in family])
            for claim in ("p_below", "p_above")
        )
        for (k, name), p_below, p_above in zip(family, below, above, strict=True):
            verdicts[k][name] = verdict_at(p_below, p_above)
    return verdicts


def result_for_attribute(
    audit: Answered, verdicts: Mapping[str, str], origin: Mapping[str, Any] | None = None
) -> AuditResult:
    """Return the audit's result for one sensitive attribute."""
    table, plan = audit.data.table, audit.data.plan
    tables, parts = with_class_names(audit.tables, table), audit.parts
    rows: list[dict[str, Any]] = []
    sentences = {number: parts[number].sentences for number in sorted(parts)}
    for name in sorted(CRITERIA, key=lambda criterion: criterion != plan.criterion):
        number, measured = CRITERIA[name].question, audit.criteria.get(name)
        is_answered = number in parts and QUESTIONS[number].is_answerable(table.columns)
        key: dict[str, Any] = {"question": number, "measure": name, "quantity": GAP, "unit": SHARE}
        rows.append(key | {"verdict": UNDECIDED if is_answered else NONE})
        if measured is None:
            continue
        estimate, verdict, mean = measured.found, verdicts[name], measured.mean_price
        value, low, high, lower, upper, smallest, floor = (
            getattr(estimate, field, math.nan) / mean
            for field in ("value", "ci_low", "ci_high", "lower", "upper", "smallest", "floor")
        )
        rows[-1] |= {"value": value, "low": low, "high": high, "floor": floor, "p": estimate.p_value}
        rows[-1]["verdict"] = verdict
        shares = {"lower": lower, "upper": upper, "smallest": smallest, "floor": floor}
        rows_needed = {"quantity": "rows_needed", "value": measured.rows_needed(plan), "unit": "rows"}
        p_values = {ANY_LINK: measured.p_any_link, "p_below": estimate.p_below, "p_above": estimate.p_above}
        rows += (key | {"quantity": quantity, "value": share} for quantity, share in shares.items())
        rows += (key | {"quantity": quantity, "p": p, "unit": ""} for quantity, p in p_values.items())
        rows.append(key | rows_needed)
        if number in sentences and (number != 5 or name == "sufficiency"):
            answer, *further_texts = sentences[number]
            sentences[number] = (f"{answer} {_verdict_in_words(measured, verdict, plan)}", *further_texts)
    return AuditResult(
        verdict=verdicts.get(plan.criterion, UNDECIDED),
        figures=figures_of([*rows, *audit.measures], column=table.columns.sensitive),
        curve=tables["curve"],
        tables=MappingProxyType(without_small_groups(tables)),
        answers=tuple(
            Answer(
                question=number,
                title=QUESTIONS[number].title,
                sentence=texts[0],
                more=texts[1:],
                tables=tuple(name for name in QUESTIONS[number].tables if name in tables),
            )
            for number, texts in sentences.items()
        ),
        plan=plan,
        n=table.n,
        n_units=table.n_units,
        mean_price=table.mean_price,
        notes=(*table.notes, *(note for number in sorted(parts) for note in parts[number].notes)),
        origin=origin or {},
    )


def with_class_names(tables: Mapping[str, pd.DataFrame], table: AuditTable) -> dict[str, pd.DataFrame]:
    """Add a column ``class``, which contains class names, to each table that has one row per class code."""
    if not table.classes:
        return dict(tables)
    return {name: _with_class_names(name, frame, table) for name, frame in tables.items()}


def _with_class_names(name: str, frame: pd.DataFrame, table: AuditTable) -> pd.DataFrame:
    class_column = next((column for column in ("at", "s_low") if column in frame), None)
    if name in _TABLES_OF_BANDS:
        class_column = "low"
    if class_column is not None and "class" not in frame:
        frame = frame.copy()
        frame.insert(0, "class", [table.called(value) for value in frame[class_column]])
    end_columns = {end: frame[end].map(table.called) for end in ("from", "to") if end in frame}
    return frame.assign(**end_columns)


_VERDICTS = {
    BELOW: "The data show that this value is below {delta}.",
    ABOVE: "The data show that this value is above {delta}.",
    UNDECIDED: "The data do not show whether this value is below or above {delta}. The smallest gap that "
    "these rows could rule out is {smallest}{rows}.",
}


def _verdict_in_words(measured: Measured, verdict: str, plan: AuditPlan) -> str:
    delta, n_needed = plan.gap_in_words, measured.rows_needed(plan)
    return _VERDICTS[verdict].format(
        delta=delta,
        smallest=percent(measured.found.smallest / measured.mean_price),
        rows=f" (ruling out {delta} takes about {n_needed:,.0f} rows)" if n_needed > measured.table.n else "",
    )


def combine_attributes(results: list[AuditResult], plan: AuditPlan, *, is_whole: bool = True) -> AuditResult:
    """Add the results for further attributes and their combinations to the first attribute's result.

    The overall verdict is "above" if the verdict of any result is "above". It is "below" if the verdicts of
    all results are "below" and no combination of attributes is missing (`is_whole`). Otherwise, the overall
    verdict is "undecided". The table ``by_sensitive`` contains all verdicts.
    """
    first, *others = results
    if not others:
        return first
    primary = {result.verdict for result in results}
    verdicts = [
        result.verdicts.assign(sensitive=result.plan.columns.sensitive).set_index("sensitive").reset_index()
        for result in results
    ]
    return replace(
        first,
        verdict=ABOVE if ABOVE in primary else BELOW if primary == {BELOW} and is_whole else UNDECIDED,
        tables=MappingProxyType({**first.tables, "by_sensitive": pd.concat(verdicts, ignore_index=True)}),
        plan=plan,
        others=tuple(others),
    )
