"""Compare several runs on one front: check that they are comparable, and draw their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from fairdash.dependence import REGISTRY
from fairdash.evaluation import trained_points
from fairdash.evaluation.figures import VERDICT
from fairdash.evaluation.result import SweepResult
from fairdash.training.methods import PATHS, ModelKey
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.sweep import STANDARD
from fairdash.utils.text import few
from fairdash.views.reports.fronts import Front


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedRun:
    """Run in a comparison.

    Parameters
    ----------
    letter
        Name on the chart.
    title
        Name beside the chart.
    data
        What tells its data, with their rows and features, from others.
    result
        Result of the run.
    """

    letter: str
    title: str
    data: str
    result: SweepResult


def differences(runs: Sequence[ComparedRun]) -> str:
    """Explain why these runs can't share a front, in one sentence; empty if they can."""
    kinds = {
        "target": [each.result.target_name for each in runs],
        "sensitive columns": [" and ".join(each.result.sensitive.columns) for each in runs],
        "objective": [OBJECTIVES[each.result.objective].title for each in runs],
        "loss": [each.result.sweep.settings.loss for each in runs],
    }
    found = [f"{kind} ({few(dict.fromkeys(each))})" for kind, each in kinds.items() if len(set(each)) > 1]
    if not found:
        return ""
    return f"These runs can't be shown on one front, because they differ in {' and in '.join(found)}."


def remarks(runs: Sequence[ComparedRun]) -> list[str]:
    """Return notes on comparing runs on one front."""
    said = []
    if len({each.data for each in runs}) > 1:
        said.append("The runs use different data, or different rows or features of the same data.")
    if len({(each.result.sweep.n_splits, each.result.sweep.random_state) for each in runs}) > 1:
        said.append(
            "They are evaluated on different test rows, so differences within the standard errors may be "
            "chance."
        )
    return said


def shared_measures(fronts: Sequence[Front]) -> list[str]:
    """Return the ids of the measures that all fronts have, the first front's default first."""
    shared = [id for id in fronts[0].measures if all(id in each.measures for each in fronts)]
    return sorted(shared, key=lambda id: id != fronts[0].default_measure)


def table_of(runs: Sequence[ComparedRun], fronts: Sequence[Front], *, measure: str) -> pd.DataFrame:
    """Return every trained model of every run: means over the splits, on test rows."""
    parts = []
    symbol = REGISTRY[measure].symbol
    for run, front in zip(runs, fronts, strict=True):
        every = (front.rows(each) for each in (front.error, measure))
        rows, own = (trained_points(each, standard_of=front.methods[0]) for each in every)
        points = [ModelKey(method, lam) for method, lam in zip(rows["method"], rows["lam"], strict=True)]
        parts.append(
            pd.DataFrame(
                {
                    "Run": run.letter,
                    "Name": run.title,
                    "Method": [
                        PATHS[STANDARD if point.is_standard else point.method].title for point in points
                    ],
                    "λ": rows["lam"].to_numpy(),
                    "Splits": rows["n_splits"].to_numpy(),
                    "Test error": rows["value"].to_numpy(),
                    "± of error": rows["se"].to_numpy(),
                    symbol: own["value"].to_numpy(),
                    f"± of {symbol}": own["se"].to_numpy(),
                    "Independence below": own["edge"].to_numpy(),
                    "Link? p of one test": [front.figure(VERDICT, point).p for point in points],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
