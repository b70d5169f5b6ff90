"""Table 1 beside ours: summaries of a result, cells compared with the paper's, and their count."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from fairdash.assessment import corrected_standard_error
from fairdash.reproduction.paper import FAIRNESS, OBJECTIVES, row_of
from fairdash.reproduction.results import StudyResult
from fairdash.reproduction.scoring import QUICK, unfairness
from fairdash.training.sweep import STANDARD

#: The ways in which our models are scored.
AS_PAPER, CORRECTED_WAY = "paper", "right"


def summary(result: StudyResult) -> pd.DataFrame:
    """Means over the splits with their Nadeau–Bengio standard errors, floors beside them.

    Returns
    -------
    DataFrame
        A row a method and objective; ``lam``, ``mse``, ``mse_se``, and for each fairness column and way
        ``<id>_<way>``, ``<id>_<way>_se``, ``<id>_<way>_floor``, ``<id>_<way>_floor_q95``.
    """
    splits = result.tables["splits"]
    ratio = float((splits["n_test"] / splits["n_train"]).mean())
    keys = ["method", "objective"]
    figures = ["mse", *(f"{id}_{way}" for id in FAIRNESS for way in (AS_PAPER, CORRECTED_WAY))]
    groups = splits.groupby(keys, sort=False)
    means, counts = groups[figures].mean(), groups.size()
    errors = (
        groups[figures]
        .var(ddof=1)
        .apply(lambda variance: corrected_standard_error(variance, n_splits=counts, test_to_train=ratio))
    )
    table = means.join(errors.add_suffix("_se")).join(groups["lam"].mean())
    return table.reset_index().merge(result.tables["floors"], on=keys)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One value of ours under the paper's protocol beside the paper's.

    Parameters
    ----------
    measure
        A fairness column, or ``"mse"``.
    paper, ours, error
        The paper's value, our mean over the splits and its standard error.
    floor, floor_q95
        What independence reads on the same rows, mean and 95 % quantile; NaN for the error.
    """

    measure: str
    paper: float
    ours: float
    error: float
    floor: float = float("nan")
    floor_q95: float = float("nan")

    @property
    def printed(self) -> float:
        """Ours with as many digits as the paper prints: it can't be compared beyond them."""
        return round(self.ours, 3)

    @property
    def at_or_below(self) -> bool:
        """Whether ours is at most the paper's, to the three digits that it prints."""
        return self.printed <= self.paper

    @property
    def words(self) -> str:
        """``"lower"``, ``"same"`` or ``"higher"`` than the paper."""
        if self.printed == self.paper:
            return "same"
        return "lower" if self.printed < self.paper else "higher"

    @property
    def is_near(self) -> bool:
        """Whether the difference is under two standard errors of ours; the paper gives none."""
        return bool(np.isfinite(self.error) and abs(self.ours - self.paper) <= 2 * self.error)

    @property
    def at_floor(self) -> bool:
        """Whether ours can't be told from independence on these rows."""
        return bool(self.ours <= self.floor_q95)


def cells(result: StudyResult, dataset: str, method: str, objective: str) -> list[Cell]:
    """The error and all fairness columns of one row, in the paper's order."""
    table = summary(result)
    own = table[(table["method"] == method) & (table["objective"] == objective)].iloc[0]
    paper = row_of(dataset, method, objective)
    found = [Cell(measure="mse", paper=paper["mse"], ours=own["mse"], error=own["mse_se"])]
    for id in FAIRNESS:
        name = f"{id}_{AS_PAPER}"
        found.append(
            Cell(
                measure=id,
                paper=paper[id],
                ours=own[name],
                error=own[f"{name}_se"],
                floor=own[f"{name}_floor"],
                floor_q95=own[f"{name}_floor_q95"],
            )
        )
    return found


@dataclass(frozen=True)
class Count:
    """How many fairness cells are at or below those of the paper's Fair HGR NN.

    Parameters
    ----------
    chosen
        Objective to the method that the validation rows chose.
    cells
        Objective to that method's cells, the error first; compared with the paper's Fair HGR NN.
    """

    chosen: dict[str, str]
    cells: dict[str, list[Cell]]

    def counts(self, objective: str) -> list[Cell]:
        """Fairness cells that count: at or below, at an error that is at or below as well."""
        error, *fairness = self.cells[objective]
        return [cell for cell in fairness if cell.at_or_below] if error.at_or_below else []

    @property
    def reached(self) -> int:
        return sum(len(self.counts(objective)) for objective in self.cells)

    @property
    def total(self) -> int:
        return sum(len(cells) - 1 for cells in self.cells.values())

    def missed(self, objective: str) -> list[tuple[Cell, str]]:
        """The other cells, each with the reason in words."""
        error, *fairness = self.cells[objective]
        counted = self.counts(objective)
        return [(cell, _reason(cell, error)) for cell in fairness if cell not in counted]


def _reason(cell: Cell, error: Cell) -> str:
    if cell.at_or_below:
        return f"the value is at or below, but our error {error.printed:.3f} is above {error.paper:.3f}"
    if cell.paper < cell.floor:
        return "the paper's value is below what independence reads on these rows"
    if cell.at_floor:
        return "ours can't be told from independence: what is left is noise of the estimator"
    if cell.is_near:
        return "the difference is under two standard errors"
    return "our models keep more of this dependence at that error"


def constant_error(result: StudyResult) -> float:
    """Error of a constant prediction on the test rows, mean over the splits; it is 1 on the training rows."""
    return float(result.tables["splits"].groupby("split")["constant"].first().mean())


def count(result: StudyResult, dataset: str, *, as_share: bool = False) -> Count:
    """Choose a method for each objective by held-out rows, and compare it with the paper's Fair HGR NN.

    Parameters
    ----------
    as_share
        Hold our error as a share of a constant prediction's on the same test rows to the paper's, instead of
        the error itself: by chance a few splits' test rows spread more, or less, than the training rows.
    """
    chosen, found = {}, {}
    for objective in OBJECTIVES:
        chosen[objective] = chosen_method(result, dataset, objective)
        row = cells(result, dataset, chosen[objective], objective)
        paper = row_of(dataset, "hgr_nn", objective)
        if as_share:
            row[0] = replace(row[0], ours=row[0].ours / constant_error(result))
        found[objective] = [replace(cell, paper=float(paper[cell.measure])) for cell in row]
    return Count(chosen, found)


def chosen_method(result: StudyResult, dataset: str, objective: str) -> str:
    """The fair method whose chosen models were fairest on the held-out rows of the cross-validations, means
    over the splits, at an error of at most that of the paper's Fair HGR NN."""
    paper = row_of(dataset, "hgr_nn", objective)
    choices = result.tables["choices"]
    choices = choices[(choices["objective"] == objective) & (choices["method"] != STANDARD)]
    means = choices.groupby("method", sort=False)[["validation_mse", *QUICK]].mean()
    within = means[means["validation_mse"] <= paper["mse"]]
    return "hgr_nn" if within.empty else str(unfairness(within, paper).idxmin())
