"""Tables of a comparison, ready to read: numbers with their digits and units, floors beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.assessment import hypervolume, pareto_efficient, trained_points
from fairdash.dependence import REGISTRY
from fairdash.reports.comparison import Comparison
from fairdash.reports.numbers import number, signed, with_unit
from fairdash.reports.words import span
from fairdash.training.methods import METHODS


def side_by_side(found: Comparison) -> pd.DataFrame:
    """A and B, each figure beside its noise floor: mean, and in brackets the 95 % quantile."""
    rows = []
    for figure in (found.front.error, *found.front.measures):
        is_error = figure == found.front.error
        unit = found.unit if figure.startswith("fairquant") else ""
        title = found.error_title if is_error else REGISTRY[figure].symbol
        row = {"Figure (test rows)": title}
        for point in dict.fromkeys((found.a, found.b)):
            row[point.title] = with_unit(found.shown(figure, point), unit)
            row[f"{point.title}: noise floor (95 %)"] = (
                "–"
                if is_error
                else f"{number(found.mean(f'{figure}_floor', point))} "
                f"({number(found.mean(f'{figure}_floor_q95', point))})"
            )
        rows.append(row)
    return pd.DataFrame(rows)


def moved(found: Comparison) -> pd.DataFrame:
    """What moves from and to each group of the sensitive column, and in all."""
    table = found.moved
    heads = "Exposure" if found.result.weight is not None else "Test rows"
    rows = [
        {
            found.sensitive: span(row["s_low"], row["s_high"]),
            heads: number(row["heads"]),
            f"Average: {found.a.title}": with_unit(number(row["before"]), found.unit),
            f"Average: {found.b.title}": with_unit(number(row["after"]), found.unit),
            "Change per head": with_unit(signed(row["per_head"]), found.unit),
            "Change in total": with_unit(signed(row["total"]), found.unit),
        }
        for _, row in table.iterrows()
    ]
    count, total = table["heads"].sum(), table["total"].sum()
    before = (table["before"] * table["heads"]).sum() / count
    rows.append(
        {
            found.sensitive: "all",
            heads: number(count),
            f"Average: {found.a.title}": with_unit(number(before), found.unit),
            f"Average: {found.b.title}": with_unit(number(before + total / count), found.unit),
            "Change per head": with_unit(signed(total / count), found.unit),
            "Change in total": with_unit(signed(total), found.unit),
        }
    )
    return pd.DataFrame(rows)


def trained_weights(found: Comparison) -> pd.DataFrame:
    """Every trained model's means over the splits, test rows."""
    front = found.front
    table = trained_points(front.test, standard_of=front.methods[0])
    efficient = pareto_efficient(table[front.error], table[found.measure])
    figures = [front.error, f"{front.error}_se"]
    figures += [f"{id}{end}" for id in front.measures for end in ("", "_se", "_floor", "_floor_q95")]
    shown = table[["method", "lam", "n_splits", *figures]].copy()
    shown["method"] = np.where(table["lam"] == 0, "standard", table["method"])
    shown.insert(3, "not beaten by another", efficient)
    return shown.sort_values(["method", "lam"], kind="stable").reset_index(drop=True)


def hypervolumes(found: Comparison) -> pd.DataFrame:
    """How much of the box between (0, 0) and the worst of both each method's trained points win.

    The box reaches to the standard model's dependence (in each split) and to the constant mean's error.
    """
    front = found.front
    rows = []
    for method in front.methods:
        own = front.single[(front.single["method"] == method) & (front.single["share"] == 0)]
        shares = []
        for _, split in own.groupby("split"):
            worst = float(split.loc[split["lam"] == 0, found.measure].iloc[0])
            if worst > 0:
                corner = (1.0 + 1e-12, worst * (1 + 1e-12))
                shares.append(hypervolume(split[front.error], split[found.measure], corner=corner))
        spread = np.std(shares, ddof=1) if len(shares) > 1 else float("nan")
        error = spread * np.sqrt(1 / len(shares) + found.result.test_to_train) if shares else float("nan")
        rows.append(
            {
                "Method": METHODS[method].title,
                "Hypervolume": number(float(np.mean(shares)) if shares else float("nan"), error=float(error)),
                "± (standard error)": number(float(error)),
                "Splits": len(shares),
            }
        )
    return pd.DataFrame(rows)
