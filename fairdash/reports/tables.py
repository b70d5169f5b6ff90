"""Tables of a comparison, ready to read: numbers with their digits and units, floors beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.dependence import REGISTRY
from fairdash.evaluation import corrected_standard_error, hypervolume, pareto_efficient, trained_points
from fairdash.evaluation.verdict import EDGE, P_VALUE, VERDICT
from fairdash.reports.comparison import Comparison
from fairdash.reports.numbers import number, p_value, signed, with_unit
from fairdash.reports.words import span
from fairdash.runs.log import Log
from fairdash.training.methods import METHODS


def side_by_side(comparison: Comparison) -> pd.DataFrame:
    """A and B, each figure beside its noise floor: mean, and in brackets the edge of the test."""
    rows = []
    for figure in (comparison.front.error, *comparison.front.measures):
        is_error = figure == comparison.front.error
        unit = comparison.unit if figure.startswith("fairquant") else ""
        title = comparison.error_title if is_error else REGISTRY[figure].symbol
        row = {"Figure (test rows)": title}
        for point in dict.fromkeys((comparison.a, comparison.b)):
            row[point.title] = with_unit(comparison.shown(figure, point), unit)
            row[f"{point.title}: noise floor (95 %)"] = (
                "–"
                if is_error
                else f"{number(comparison.mean(f'{figure}_floor', point))} "
                f"({number(comparison.edge(point, figure))})"
            )
        rows.append(row)
    points = dict.fromkeys((comparison.a, comparison.b))
    if all(np.isfinite(comparison.verdict_p(point)) for point in points):
        row = {"Figure (test rows)": "Link? One test of several measures"}
        for point in points:
            found = "link found" if comparison.has_link(point) else "no link found"
            row[point.title] = f"{found}, p = {p_value(comparison.verdict_p(point))}"
            row[f"{point.title}: noise floor (95 %)"] = "–"
        rows.append(row)
    return pd.DataFrame(rows)


def moved(comparison: Comparison) -> pd.DataFrame:
    """What moves from and to each group of the sensitive column, and in all."""
    table = comparison.moved
    count, total = table["heads"].sum(), table["total"].sum()
    before = (table["before"] * table["heads"]).sum() / count
    change = total / count
    whole = pd.Series(
        {"heads": count, "before": before, "after": before + change, "per_head": change, "total": total}
    )
    groups = [(span(row["s_low"], row["s_high"]), row) for _, row in table.iterrows()]
    unit, heads = comparison.unit, "Exposure" if comparison.result.weight is not None else "Test rows"
    return pd.DataFrame(
        [
            {
                comparison.sensitive_called: name,
                heads: number(row["heads"]),
                f"Average: {comparison.a.title}": with_unit(number(row["before"]), unit),
                f"Average: {comparison.b.title}": with_unit(number(row["after"]), unit),
                "Change per head": with_unit(signed(row["per_head"]), unit),
                "Change in total": with_unit(signed(row["total"]), unit),
            }
            for name, row in [*groups, ("all", whole)]
        ]
    )


def trained_weights(comparison: Comparison) -> pd.DataFrame:
    """Every trained model's means over the splits, test rows."""
    front = comparison.front
    table = trained_points(front.test, standard_of=front.methods[0])
    efficient = pareto_efficient(table[front.error], table[comparison.measure])
    figures = [front.error, f"{front.error}_se"]
    figures += [f"{id}{end}" for id in front.measures for end in ("", "_se", "_floor", EDGE, P_VALUE)]
    figures += [name for name in (f"{VERDICT}{P_VALUE}",) if name in table]
    shown = table[["method", "lam", "n_splits", *figures]].copy()
    shown["method"] = np.where(table["lam"] == 0, "standard", table["method"])
    shown.insert(3, "not beaten by another", efficient)
    return shown.sort_values(["method", "lam"], kind="stable").reset_index(drop=True)


def hypervolumes(comparison: Comparison) -> pd.DataFrame:
    """How much of the box between (0, 0) and the worst of both each method's trained points win.

    The box reaches to the standard model's dependence (in each split) and to the constant mean's error.
    """
    front = comparison.front
    rows = []
    for method in front.methods:
        own = front.single[(front.single["method"] == method) & (front.single["share"] == 0)]
        shares = []
        for _, split in own.groupby("split"):
            worst = float(split.loc[split["lam"] == 0, comparison.measure].iloc[0])
            if worst > 0:
                corner = (1.0 + 1e-12, worst * (1 + 1e-12))
                shares.append(hypervolume(split[front.error], split[comparison.measure], corner=corner))
        error = float("nan")
        if len(shares) > 1:
            error = corrected_standard_error(
                float(np.var(shares, ddof=1)),
                n_splits=len(shares),
                test_to_train=comparison.result.test_to_train,
            )
        rows.append(
            {
                "Method": METHODS[method].title,
                "Hypervolume": number(float(np.mean(shares)) if shares else float("nan"), error=float(error)),
                "± (standard error)": number(float(error)),
                "Splits": len(shares),
            }
        )
    return pd.DataFrame(rows)


def history(log: Log) -> pd.DataFrame:
    """Who did what with a run, and when, the oldest first."""
    rows = [(event.when[:19].replace("T", " "), event.who, event.said) for event in log.events]
    return pd.DataFrame(rows, columns=["When (UTC)", "Who", "What"])
