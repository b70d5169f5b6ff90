"""Tables of a comparison: numbers formatted with units and noise floors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from fairdash.dependence import REGISTRY
from fairdash.dependence.measure import Measure
from fairdash.evaluation import hypervolume, merged_groups, pareto_efficient, trained_points, wide
from fairdash.evaluation.figures import VERDICT, Figure, figures_of, of_measure
from fairdash.evaluation.quantile_profile import MAX_ROWS
from fairdash.storage.log import Log
from fairdash.tariff import FAIR_TARIFF, title_of
from fairdash.training.baselines import BASELINES, PRICE
from fairdash.training.methods import PATHS, STANDARD
from fairdash.training.references import REFERENCES
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.text import number, p_equals, percent, signed, span, with_unit
from fairdash.views.blocks import Table
from fairdash.views.figures.comparison import MAX_FEATURES
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import UNKNOWN, Estimate, mean_over_splits
from fairdash.views.reports.sentences import named

#: Note that is shown below tables with noise floors.
_FLOORS = (
    "Values are means over the test rows of the splits, ± one standard error. The noise floor is the "
    "average value of the estimator after the sensitive attribute is shuffled (in brackets: the 95th "
    "percentile)."
)
_PRICE_LEVEL = (
    "The existing price is scaled to the target's mean on the training rows, so a price level that is too "
    "high or too low does not count as error."
)


def measures(comparison: Comparison) -> Table:
    """Tabulate every measure of A and B with its noise floor, and the result of the omnibus test."""
    front, points = comparison.front, comparison.points
    titles = {front.error: front.error_title} | {id: in_full(REGISTRY[id]) for id in front.measures}
    columns = {"Figure (test rows)": [*titles.values()]}
    for point in points:
        columns |= _beside_floor(named(point), [(front.figure(id, point), id) for id in titles], comparison)
    frame = pd.DataFrame(columns)
    p_values = [comparison.verdict_p(point) for point in points]
    if np.isfinite(p_values).all():
        texts = []
        for point, p in zip(points, p_values, strict=True):
            verdict = "link found" if comparison.has_link(point) else "no link found"
            texts += [f"{verdict}, {p_equals(p)}", "–"]
        frame.loc[len(frame)] = ["Link? (joint test of several measures)", *texts]
    return Table(
        f"Every measure of the {comparison.objective_seen.audited}",
        frame,
        f"{_FLOORS} A blend's noise floor is interpolated between the noise floors of its two trained "
        "models.",
        file="measures.csv",
    )


def in_full(measure: Measure) -> str:
    """Return a measure's title, followed by its symbol in brackets unless the title contains the symbol."""
    return measure.title + ("" if measure.symbol in measure.title else f" ({measure.symbol})")


def trained(comparison: Comparison, method: str) -> Table:
    """Tabulate the trained models of a method; the last column marks models that another model dominates."""
    front = comparison.front
    others = trained_points(front.test, standard_of=method)
    errors, values = (of_measure(others, name) for name in (front.error, comparison.measure))
    best = pareto_efficient(errors["value"], values["value"])
    columns = {
        "λ": [f"{lam:g}" if lam else "0: the standard model" for lam in errors["lam"]],
        "Splits": errors["n_splits"].map("{:.0f}".format).to_list(),
        **_figures(others, _shown(comparison), comparison),
        "Dominated": np.where(best, "", "yes"),
    }
    note = (
        f"{_FLOORS} A model is dominated if another trained model is at least as good in error and in "
        f"{REGISTRY[comparison.measure].symbol}, and better in one of the two."
    )
    return Table(
        f"{PATHS[method].title}: every trained weight",
        pd.DataFrame(columns)[(errors["method"] == method).to_numpy()],
        note if method == front.methods[-1] else "",
    )


def trained_weights(comparison: Comparison) -> pd.DataFrame:
    """Tabulate every trained model with unformatted means over the splits, on test rows."""
    front = comparison.front
    table = trained_points(front.test, standard_of=front.methods[0])
    errors, values = (of_measure(table, name) for name in (front.error, comparison.measure))
    shown_rows = table[table["measure"].isin([front.error, *front.measures, VERDICT])]
    shown_rows = wide(shown_rows.drop(columns=["low", "high", "share", "part", "floor_q95", "by"]))
    shown_rows["method"] = np.where(shown_rows["lam"] == 0, STANDARD, shown_rows["method"])
    shown_rows.insert(3, "not beaten by another", pareto_efficient(errors["value"], values["value"]))
    return shown_rows.sort_values(["method", "lam"], kind="stable").reset_index(drop=True)


def benchmarks(comparison: Comparison) -> Table:
    """Tabulate error and dependence of the baselines, which the Pareto front shows beside the networks."""
    baselines = comparison.front.baselines
    models = of_measure(baselines, comparison.front.error)
    names = [
        title_of(lam) if method == FAIR_TARIFF else BASELINES[method]
        for method, lam in zip(models["method"], models["lam"], strict=True)
    ]
    # It is unknown whether an existing prediction uses the sensitive attribute.
    has_price = (baselines["method"] == PRICE).any()
    price_note = " (the existing prediction may)" if has_price else ""
    level = f" {_PRICE_LEVEL}" if has_price and comparison.front.error == "deviance" else ""
    return Table(
        f"Benchmarks that do not see the sensitive attribute{price_note}",
        pd.DataFrame({"Benchmark": names, **_figures(baselines, _shown(comparison), comparison)}),
        f"{_FLOORS}{level}",
    )


def references(comparison: Comparison) -> Table:
    """Tabulate error and dependence of prices that use the sensitive attribute."""
    front, table = comparison.front, comparison.front.references
    models = of_measure(table, "mse")
    reference_names = {id: REFERENCES[id].title.partition(": ")[2] for id in models["method"].unique()}
    strengths = [
        percent(lam, decimals=0) if REFERENCES[method].is_curve else "–"
        for method, lam in zip(models["method"], models["lam"], strict=True)
    ]
    figures = _figures(table, [comparison.measure], comparison, error="mse", title="MSE ÷ MSE of the average")
    note = ""
    if np.isfinite(front.least_error[0]):
        note = (
            f" Predictions that are independent of {comparison.sensitive} have an estimated error of at "
            f"least {_estimate(front.least_error)}, even if {comparison.sensitive} is used to compute "
            f"them. This error is {_estimate(front.price)} above that of the best predictions that may "
            f"depend on {comparison.sensitive}."
        )
    limits = " ".join(f"{name}: {REFERENCES[id].limits}" for id, name in reference_names.items())
    return Table(
        "References that use the sensitive attribute",
        pd.DataFrame({"Reference": models["method"].map(reference_names), "Strength": strengths, **figures}),
        f"{_FLOORS}{note} {limits}",
    )


def hypervolumes(comparison: Comparison) -> Table:
    """Tabulate hypervolumes: each method's share of the box from (0, 0) to the worst corner.

    In each split, the worst corner is at the standard model's dependence and the error of predicting the
    mean.
    """
    front = comparison.front
    rows = []
    for method in front.methods:
        path = front.single[(front.single["method"] == method) & (front.single["share"] == 0)]
        shares = []
        for _, split in path.groupby("split"):
            errors, values = (of_measure(split, name) for name in (front.error, comparison.measure))
            worst = float(values.loc[values["lam"] == 0, "value"].iloc[0])
            if worst > 0:
                corner = (1.0 + 1e-12, worst * (1 + 1e-12))
                shares.append(hypervolume(errors["value"], values["value"], corner=corner))
        ratio = comparison.result.test_to_train
        mean, error = mean_over_splits(np.array(shares), test_to_train=ratio) if shares else UNKNOWN
        rows.append([PATHS[method].title, number(mean, error=error), number(error), str(len(shares))])
    return Table.of_rows(
        "Hypervolume of each method's front",
        ["Method", "Hypervolume", "± (standard error)", "Splits"],
        rows,
        "A box in the plane of dependence and error extends from 0 to the standard model's dependence, and "
        "from 0 to the error of predicting the mean. Hypervolume is the share of this box that is worse "
        "than some trained model of the method, averaged over the splits. Larger is better.",
    )


def moved(comparison: Comparison) -> Table:
    """Tabulate how predictions change, by group of the sensitive column and for all rows."""
    table = comparison.moved
    count, total = table["heads"].sum(), table["total"].sum()
    mean = (table["before"] * table["heads"]).sum() / count
    change = total / count
    total_row = pd.Series(
        {"heads": count, "before": mean, "after": mean + change, "per_head": change, "total": total}
    )
    groups = zip(comparison.groups_called(table), (row for _, row in table.iterrows()), strict=True)
    weighted = comparison.result.weight is not None
    formats = {"before": number, "after": number, "per_head": signed, "total": signed}
    rows = [
        [
            name,
            number(row["heads"]),
            *(with_unit(formatter(row[column]), comparison.unit) for column, formatter in formats.items()),
        ]
        for name, row in [*groups, ("all", total_row)]
    ]
    averages = [f"Average: {point.title}" for point in (comparison.a, comparison.b)]
    count_title = "Exposure" if weighted else "Test rows"
    return Table.of_rows(
        "Change of predictions by group",
        [comparison.sensitive_called, count_title, *averages, "Change per head", "Change in total"],
        rows,
        "Values are means over the test rows of the splits. The total is the sum of the changes over a "
        f"split's test rows{', each multiplied by its exposure' if weighted else ''}. The totals of the "
        "groups add up to the overall change. The table does not show how predictions change within a "
        "group.",
    )


def profile(comparison: Comparison, objective: str) -> Table:
    """Tabulate average predictions or residuals in groups of the sensitive column, with 95 % intervals."""
    seen, points = OBJECTIVES[objective], comparison.points
    tables = [comparison.profile(point, objective=objective) for point in points]
    rows, groups = [], comparison.groups_called(tables[0])
    for k, (_, first) in enumerate(tables[0].iterrows()):
        cells = []
        for row in (table.iloc[k] for table in tables):
            mean, *limits = (_rounded(row[name], row["error"]) for name in ("mean", "low", "high"))
            cells.append(f"{mean} ({' to '.join(limits)})")
        rows.append([groups[k], number(first["n"]), *cells])
    return Table.of_rows(
        f"Average {seen.audited} by group{_in_unit(comparison)}",
        [comparison.sensitive_called, "Test rows", *map(named, points)],
        rows,
        "Values are means over the splits. The 95 % intervals in brackets include the uncertainty due to "
        "the test rows, but not that due to training."
        + (" Residual: predicted − true." if seen.uses_target else ""),
    )


def spread(comparison: Comparison) -> Table:
    """Tabulate means and standard deviations by third of the sensitive column, on test rows of one split."""
    audited = {point: comparison.audited_of_first_split(point) for point in comparison.points}
    s = next(iter(audited.values()))[1]
    groups = merged_groups(s, [np.arange(len(s))], n_groups=3)
    rows = []
    for group in range(int(groups.max()) + 1):
        mask = groups == group
        spreads = [
            (float(u[mask].mean()), float(u[mask].std()), np.sqrt(mask.sum())) for u, _ in audited.values()
        ]
        cells = [f"{_rounded(mean, sd / root)} ({_rounded(sd, sd / root)})" for mean, sd, root in spreads]
        rows.append([span(s[mask].min(), s[mask].max()), f"{mask.sum():,}", *cells])
    return Table.of_rows(
        f"{comparison.objective_seen.audited.capitalize()}s by third{_in_unit(comparison)}",
        [comparison.sensitive_called, "Test rows", *map(named, audited)],
        rows,
        "Values are averages over the first split's test rows; the standard deviation is in brackets."
        + (f" The figure uses {MAX_ROWS:,} of these rows, drawn at random." if len(s) > MAX_ROWS else ""),
    )


def objectives(comparison: Comparison) -> Table:
    """Tabulate the dependence of A's and B's predictions and residuals."""
    objectives = [OBJECTIVES[objective] for objective in comparison.fronts]
    columns = {"Objective": [f"{objective.title} ({objective.audited}s)" for objective in objectives]}
    for point in comparison.points:
        figures = (front.figure(comparison.measure, point) for front in comparison.fronts.values())
        rows = [(figure, comparison.measure) for figure in figures]
        columns |= _beside_floor(named(point), rows, comparison)
    symbol = REGISTRY[comparison.measure].symbol
    return Table(f"{symbol} under both objectives", pd.DataFrame(columns), _FLOORS)


def features(comparison: Comparison) -> Table:
    """Tabulate how much predictions change, and how much the error increases, if a feature is shuffled."""
    reliance, importance = comparison.importance("reliance"), comparison.importance("importance")
    assert reliance is not None
    assert importance is not None
    merged = reliance.merge(importance, on="feature", suffixes=("_move", "_error"), sort=False)
    largest_moves = merged[["a_move", "b_move"]].abs().max(axis=1).nlargest(MAX_FEATURES).index
    rows = [
        [
            str(row["feature"]),
            *(with_unit(number(row[f"{point}_move"]), comparison.unit) for point in "ab"),
            *(signed(row[f"{point}_error"]) for point in "ab"),
        ]
        for _, row in merged.loc[largest_moves].iterrows()
    ]
    names = (named(comparison.a), named(comparison.b))
    return Table.of_rows(
        "Most important features",
        ["Feature", *(f"{kind}: {name}" for kind in ("Move", "Error") for name in names)],
        rows,
        "To measure a feature's importance, we shuffle its values among the test rows. Values are means "
        "over the splits. “Move” is the average change in a prediction. “Error” is the increase of the test "
        "error, which is the MSE divided by the MSE of predicting the average. If two features contain the "
        "same information, each has only part of the importance. For a blend, the table shows the nearest "
        "of its two trained models.",
    )


def history(log: Log) -> Table:
    """Tabulate the log of a run with time, user and action; the oldest entry is first."""
    rows = [(event.when[:19].replace("T", " "), event.who, event.in_words) for event in log.events]
    return Table.of_rows("Log of this run", ["When (UTC)", "Who", "What"], rows)


def _shown(comparison: Comparison) -> list[str]:
    """Return the ids of the table's measures: the measure in view and, if it was computed, FairQuant."""
    extra_measures = [id for id in ("fairquant",) if id in comparison.front.measures]
    return list(dict.fromkeys([comparison.measure, *extra_measures]))


def _figures(
    rows: pd.DataFrame,
    ids: Iterable[str],
    comparison: Comparison,
    *,
    error: str | None = None,
    title: str = "Error",
) -> dict[str, list[str]]:
    """Return columns with one cell per model: the error, then value and noise floor of each measure."""
    error = error or comparison.front.error
    errors = figures_of(of_measure(rows, error))
    columns = {title: [_value(figure, error, comparison) for figure in errors]}
    for id in ids:
        figures_with_id = [(figure, id) for figure in figures_of(of_measure(rows, id))]
        columns |= _beside_floor(REGISTRY[id].symbol, figures_with_id, comparison)
    return columns


def _beside_floor(
    title: str, cells: list[tuple[Figure, str]], comparison: Comparison
) -> dict[str, list[str]]:
    """Return two columns: the values of measures, and their noise floors."""
    return {
        title: [_value(figure, measure, comparison) for figure, measure in cells],
        f"{title}: floor": [_floor(figure, measure, comparison) for figure, measure in cells],
    }


def _value(figure: Figure, measure: str, comparison: Comparison) -> str:
    """Format a mean ± its standard error."""
    return _with_unit(_estimate((figure.value, figure.se)), measure, comparison)


def _floor(figure: Figure, measure: str, comparison: Comparison) -> str:
    """Format a noise floor's average and 95 % quantile with the digits of the value; "–" for an error."""
    if not np.isfinite(figure.floor):
        return "–"
    mean, edge = (_rounded(amount, figure.se) for amount in (figure.floor, figure.edge))
    return _with_unit(f"{mean} ({edge})", measure, comparison)


def _with_unit(text: str, measure: str, comparison: Comparison) -> str:
    has_unit = measure in REGISTRY and not REGISTRY[measure].scale_free
    return with_unit(text, comparison.unit) if has_unit else text


def _in_unit(comparison: Comparison) -> str:
    return f" ({comparison.unit})" if comparison.unit else ""


def _estimate(estimate: Estimate) -> str:
    """Format a number, followed by ± and the number's standard error if this is known."""
    value, error = estimate
    text = _rounded(value, error)
    return f"{text} ± {number(error, error=error)}" if np.isfinite(error) else text


def _rounded(value: float, error: float) -> str:
    """Format a number with the digits that its standard error supports; use “−” as minus, and never “−0”."""
    text = number(value, error=error)
    sign, size = ("−", text[1:]) if text.startswith("-") else ("", text)
    return sign + size if size.strip("0.,") else size
