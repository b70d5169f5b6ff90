"""Table 1 beside ours: cells compared with the paper's, their count, and whether either can be held to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.evaluation import corrected_standard_error
from fairdash.reports.paper.results import FAIRNESS, OBJECTIVES, StudyResult, row_of
from fairdash.training.sweep import STANDARD

Array = NDArray[np.float64]

#: The ways in which our models are scored.
AS_PAPER, CORRECTED_WAY = "paper", "right"
#: The columns that take milliseconds: λ and settings are chosen by these.
QUICK = ("hgr_kde", "hgr_rdc", "chi2_kde", "fairquant")
#: Splits behind one figure of the paper.
PAPER_SPLITS = 5
#: With fewer splits of ours their spread is too uncertain to draw from.
LEAST_SPLITS = 20
#: Share of the means that count as ordinary, in the middle.
CENTRAL = 0.9
_DRAWS = 20_000
#: The paper prints three digits: its value may be anything that rounds to them.
_HALF_A_DIGIT = 0.0005


def unfairness(frame: pd.DataFrame, paper: pd.Series) -> pd.Series:
    """Mean of the quick fairness columns, each as a multiple of the paper's value."""
    return sum((frame[id] / paper[id] for id in QUICK), start=pd.Series(0.0, frame.index)) / len(QUICK)


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


def why_not_comparable(result: StudyResult, dataset: str) -> str | None:
    """Why a result's values can't be counted against the paper's; None where they can.

    Parameters
    ----------
    dataset
        Id of the data set behind the result.
    """
    if dataset == "census_county":
        return _below_the_floor(result, dataset)
    if dataset == "motor":
        return _other_data(result, dataset)
    return None


def _below_the_floor(result: StudyResult, dataset: str) -> str:
    """The stand-in has so few rows that its estimators can't read as little as the paper prints."""
    values = [cell for each in OBJECTIVES for cell in cells(result, dataset, "hgr_nn", each)[1:]]
    below = sum(cell.paper < cell.floor for cell in values)
    share = f"all {below}" if below == len(values) else f"{below} of {len(values)}"
    n_test = int(result.tables["splits"]["n_test"].iloc[0])
    return (
        f"the paper's table has over 70,000 census tracts, ours {result.about.options['rows']:,} counties; "
        f"{share} values of the paper's Fair HGR NN lie below the noise floor, that is below what "
        f"independent data read on our {n_test} test rows"
    )


def _other_data(result: StudyResult, dataset: str) -> str:
    """The paper's table is another one: already without fairness it depends far less on the attribute."""
    (found,) = [cell for cell in cells(result, dataset, STANDARD, OBJECTIVES[0]) if cell.measure == "hgr_nn"]
    return (
        f"the data differ: the standard network, not made fair, has an HGR_NN of {found.ours:.3f} here and "
        f"of {found.paper:.3f} in the paper"
    )


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """How many of the paper's values are ordinary among means of five of our splits.

    Parameters
    ----------
    n_splits
        How many splits our result has.
    equivalent
        Fairness values that are; None where :attr:`n_splits` is below :data:`LEAST_SPLITS`.
    total
        Of how many.
    """

    n_splits: int
    equivalent: int | None
    total: int

    @property
    def words(self) -> str:
        """The finding, or what it would take, as a sentence."""
        meaning = (
            f"the paper's value lies in the central {CENTRAL:.0%} of the means of five splits drawn from ours"
        )
        if self.equivalent is None:
            return (
                f"How many are equivalent ({meaning}) can't be said from {self.n_splits} splits: that takes "
                f"at least {LEAST_SPLITS}."
            )
        return f"Equivalent ({meaning}; {self.n_splits} splits): {self.equivalent} of {self.total}."


def central_range(values: Array, *, random_state: int = 0) -> tuple[float, float] | None:
    """The central 90 % of means of five, drawn with replacement from the values of our splits.

    Parameters
    ----------
    values : (n_splits,) array
        One figure, a value a split.

    Returns
    -------
    tuple of float or None
        None with fewer than :data:`LEAST_SPLITS` values.
    """
    if len(values) < LEAST_SPLITS:
        return None
    rng = np.random.default_rng(random_state)
    means = rng.choice(values, (_DRAWS, PAPER_SPLITS)).mean(axis=1)
    low, high = np.quantile(means, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2])
    return float(low), float(high)


def equivalence(result: StudyResult, dataset: str, found: Count) -> Equivalence:
    """The fairness values of a count, held to the paper's Fair HGR NN by equivalence instead of by size."""
    splits = result.tables["splits"]
    n_splits = int(splits["split"].nunique())
    equivalent = 0
    for objective, method in found.chosen.items():
        own = splits[(splits["method"] == method) & (splits["objective"] == objective)]
        paper = row_of(dataset, "hgr_nn", objective)
        for id in FAIRNESS:
            reach = central_range(own[f"{id}_{AS_PAPER}"].to_numpy(dtype=float))
            if reach is None:
                return Equivalence(n_splits=n_splits, equivalent=None, total=found.total)
            low, high = reach
            equivalent += low - _HALF_A_DIGIT <= paper[id] <= high + _HALF_A_DIGIT
    return Equivalence(n_splits=n_splits, equivalent=equivalent, total=found.total)
