"""All tables of a report, as cells of text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairdash.dependence import REGISTRY
from fairdash.evaluation import merged_groups, pareto_efficient, trained_points
from fairdash.evaluation.distributions import MOST_ROWS
from fairdash.evaluation.verdict import EDGE
from fairdash.figures.features import MOST_FEATURES
from fairdash.figures.offline import Table
from fairdash.reports import tables, words
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Estimate
from fairdash.reports.numbers import number, signed, with_unit
from fairdash.reports.report_figures import profiles
from fairdash.reports.words import named
from fairdash.tariff.naming import FAIR_TARIFF, title_of
from fairdash.training.baselines import BASELINES, PRICE
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.references import REFERENCES

#: Under tables with floors.
_FLOORS = (
    "Means over the splits, test rows, ± standard error. Floor: what the same estimator reads when the "
    "sensitive attribute is shuffled, on average and, in brackets, in 95 % of cases at most."
)


def tables_of(comparison: Comparison, *, with_groups: bool) -> dict[str, Table]:
    """All tables by id: those of the pictures under theirs, "measures", "trained-…" a method, and others."""
    made = {"measures": _measures(comparison), "hypervolumes": _hypervolumes(comparison)}
    made |= {f"trained-{method}": _trained(comparison, method) for method in comparison.front.methods}
    if len(comparison.front.baselines):
        made["benchmarks"] = _benchmarks(comparison)
    if len(comparison.front.references):
        made["references"] = _references(comparison)
    if with_groups:
        made |= {f"profile-{objective}": _profile(comparison, objective) for objective in comparison.fronts}
        made["spread"] = _spread(comparison)
        if not comparison.is_of_one_point:
            made["transfers"] = Table.of(
                tables.moved(comparison),
                title="What moves from and to each group",
                note="Means over the splits, test rows. The groups' totals add up to the change of the sum "
                "of all predictions of a test part.",
            )
    made["objectives"] = _objectives(comparison)
    if comparison.result.importance is not None:
        made["features"] = _features(comparison)
    return made


def _measures(comparison: Comparison) -> Table:
    points = list(dict.fromkeys((comparison.a, comparison.b)))
    error, rows = comparison.front.error, []
    for id in (error, *comparison.front.measures):
        title = comparison.error_title if id == error else REGISTRY[id].title
        rows.append((title, *_cells({named(p): comparison.front.row(p) for p in points}, id, comparison)))
    return Table(
        f"Every measure of the {comparison.objective_seen.audited}",
        ("Figure", *(title for point in points for title in (named(point), "floor"))),
        tuple(rows),
        _FLOORS,
    )


def _trained(comparison: Comparison, method: str) -> Table:
    front = comparison.front
    others = trained_points(front.test, standard_of=method)
    best = pareto_efficient(others[front.error], others[comparison.measure])
    shown = dict.fromkeys((comparison.measure, *(id for id in ("fairquant",) if id in front.measures)))
    rows = [
        (
            f"{row['lam']:g}" if row["lam"] else "0: the standard model",
            str(int(row["n_splits"])),
            _value(row, front.error, comparison),
            *(cell for id in shown for cell in (_value(row, id, comparison), _floor(row, id, comparison))),
            "" if efficient else "yes",
        )
        for (_, row), efficient in zip(others.iterrows(), best, strict=True)
        if row["method"] == method
    ]
    titles = (title for id in shown for title in (REGISTRY[id].symbol, "floor"))
    last = f"{_FLOORS} Beaten: any trained model is at least as good in error and in "
    last += f"{REGISTRY[comparison.measure].symbol}, and better in one of them."
    return Table(
        f"{METHODS[method].title}: every trained weight",
        ("λ", "Splits", "Error", *titles, "Beaten"),
        tuple(rows),
        last if method == front.methods[-1] else "",
    )


def _benchmarks(comparison: Comparison) -> Table:
    """What stands beside the networks on the front, with its error and dependence."""
    front = comparison.front
    measures = dict.fromkeys((comparison.measure, *(id for id in ("fairquant",) if id in front.measures)))
    rows = [
        (
            title_of(row["lam"]) if row["method"] == FAIR_TARIFF else BASELINES[row["method"]],
            _value(row, front.error, comparison),
            *(cell for id in measures for cell in (_value(row, id, comparison), _floor(row, id, comparison))),
        )
        for _, row in front.baselines.iterrows()
    ]
    titles = (title for id in measures for title in (REGISTRY[id].symbol, "floor"))
    # Whoever made the existing prediction may have used it.
    own = " (the existing prediction may)" if (front.baselines["method"] == PRICE).any() else ""
    return Table(
        f"Benchmarks that do not see the sensitive attribute{own}",
        ("Benchmark", "Error", *titles),
        tuple(rows),
        _FLOORS,
    )


def _references(comparison: Comparison) -> Table:
    front = comparison.front
    rows = [
        (
            REFERENCES[row["method"]].title.partition(": ")[2],
            f"{100 * row['lam']:.0f} %" if REFERENCES[row["method"]].is_curve else "–",
            _value(row, "mse", comparison),
            _value(row, comparison.measure, comparison),
            _floor(row, comparison.measure, comparison),
        )
        for _, row in front.references.iterrows()
    ]
    price, least = front.price, front.least_error
    note = ""
    if np.isfinite(least[0]):
        note = (
            f" Predictions that are independent of {comparison.sensitive}, even if they may use it, are "
            f"estimated to have an error of {_estimate(least)} at least: {_estimate(price)} more than those "
            "of a model that uses it freely."
        )
    limits = " ".join(
        f"{REFERENCES[id].title.partition(': ')[2]}: {REFERENCES[id].limits}"
        for id in front.references["method"].unique()
    )
    return Table(
        "References that use the sensitive attribute",
        ("Reference", "Strength", "MSE ÷ the average's", REGISTRY[comparison.measure].symbol, "floor"),
        tuple(rows),
        f"{_FLOORS}{note} {limits}",
    )


def _estimate(estimate: Estimate) -> str:
    """A number ± its standard error, where there is one."""
    value, error = estimate
    text = _rounded(value, error)
    return f"{text} ± {number(error, error=error)}" if np.isfinite(error) else text


def _hypervolumes(comparison: Comparison) -> Table:
    return Table.of(
        tables.hypervolumes(comparison),
        title="How much each method's front wins",
        note="The share of the box between nothing and the standard model's dependence and the constant "
        "mean's error that the trained models of a method win; larger is better.",
    )


def _profile(comparison: Comparison, objective: str) -> Table:
    seen = OBJECTIVES[objective]
    by_point = profiles(comparison, objective)
    points = list(by_point)
    rows = []
    for k in range(len(by_point[points[0]])):
        first = by_point[points[0]].iloc[k]
        cells = []
        for point in points:
            row = by_point[point].iloc[k]
            mean, *ends = (_rounded(row[name], row["error"]) for name in ("mean", "low", "high"))
            cells.append(f"{mean} ({' to '.join(ends)})")
        rows.append((words.span(first["s_low"], first["s_high"]), number(first["n"]), *cells))
    in_unit = f" ({comparison.unit})" if comparison.unit else ""
    return Table(
        f"Average {seen.audited} by group{in_unit}",
        (comparison.sensitive_called, "Test rows", *(named(point) for point in points)),
        tuple(rows),
        "Means over the splits; in brackets 95 % intervals, for new rows and the models as trained."
        + (" Residual: predicted − true." if seen.uses_target else ""),
    )


def _spread(comparison: Comparison) -> Table:
    seen = {
        point: comparison.audited_of_first_split(point)
        for point in dict.fromkeys((comparison.a, comparison.b))
    }
    s = next(iter(seen.values()))[1]
    groups = merged_groups(s, [np.arange(len(s))], n_groups=3)
    rows = []
    for group in range(int(groups.max()) + 1):
        own = groups == group
        spreads = [(float(u[own].mean()), float(u[own].std()), np.sqrt(own.sum())) for u, _ in seen.values()]
        rows.append(
            (
                words.span(s[own].min(), s[own].max()),
                f"{own.sum():,}",
                *(f"{_rounded(mean, sd / root)} ({_rounded(sd, sd / root)})" for mean, sd, root in spreads),
            )
        )
    in_unit = f" ({comparison.unit})" if comparison.unit else ""
    return Table(
        f"{comparison.objective_seen.audited.capitalize()}s by third{in_unit}",
        (comparison.sensitive_called, "Test rows", *(named(point) for point in seen)),
        tuple(rows),
        "Test rows of the first split: average, and in brackets the standard deviation."
        + (f" The picture is of {MOST_ROWS:,} of them, drawn at random." if len(s) > MOST_ROWS else ""),
    )


def _objectives(comparison: Comparison) -> Table:
    points = list(dict.fromkeys((comparison.a, comparison.b)))
    rows = [
        (
            f"{OBJECTIVES[objective].title} ({OBJECTIVES[objective].audited}s)",
            *_cells({named(p): front.row(p) for p in points}, comparison.measure, comparison),
        )
        for objective, front in comparison.fronts.items()
    ]
    return Table(
        f"{REGISTRY[comparison.measure].symbol} under both objectives",
        ("Objective", *(title for point in points for title in (named(point), "floor"))),
        tuple(rows),
        _FLOORS,
    )


def _features(comparison: Comparison) -> Table:
    reliance, importance = comparison.importance("reliance"), comparison.importance("importance")
    assert reliance is not None
    assert importance is not None
    both = reliance.merge(importance, on="feature", suffixes=("_move", "_error"), sort=False)
    most = both[["a_move", "b_move"]].abs().max(axis=1).nlargest(MOST_FEATURES).index
    rows = [
        (
            str(row["feature"]),
            *(with_unit(number(row[f"{point}_move"]), comparison.unit) for point in "ab"),
            *(signed(row[f"{point}_error"]) for point in "ab"),
        )
        for _, row in both.loc[most].iterrows()
    ]
    names = (named(comparison.a), named(comparison.b))
    return Table(
        "Features that count most",
        ("Feature", *(f"Move: {name}" for name in names), *(f"Error: {name}" for name in names)),
        tuple(rows),
        "One feature's cells are shuffled among the test rows; means over the splits. Move: how far a "
        "prediction moves on average. Error: how much the test error (MSE ÷ the average's) grows. Features "
        "that tell the same story share their weight. A blend is shown by its nearest trained model.",
    )


def _cells(rows: Mapping[str, pd.Series], figure: str, comparison: Comparison) -> list[str]:
    """Value and floor of each row; an error has no floor."""
    return [
        cell
        for row in rows.values()
        for cell in (_value(row, figure, comparison), _floor(row, figure, comparison))
    ]


def _value(row: pd.Series, figure: str, comparison: Comparison) -> str:
    """A mean ± its standard error."""
    value, error = float(row[figure]), float(row[f"{figure}_se"])
    text = _rounded(value, error)
    if np.isfinite(error):
        text += f" ± {number(error, error=error)}"
    return with_unit(text, comparison.unit) if figure.startswith("fairquant") else text


def _floor(row: pd.Series, figure: str, comparison: Comparison) -> str:
    """Average and 95 % quantile of the floor, with the value's digits."""
    # Baselines of older runs have no floors.
    if f"{figure}_floor" not in row or not np.isfinite(row[f"{figure}_floor"]):
        return "–"
    mean, edge = (
        _rounded(float(row[f"{figure}{end}"]), float(row[f"{figure}_se"])) for end in ("_floor", EDGE)
    )
    text = f"{mean} ({edge})"
    return with_unit(text, comparison.unit) if figure.startswith("fairquant") else text


def _rounded(value: float, error: float) -> str:
    """A number of any sign with the digits that its error leaves it; a true minus, none before a zero."""
    text = number(value, error=error)
    sign, size = ("−", text[1:]) if text.startswith("-") else ("", text)
    return sign + size if size.strip("0.,") else size
