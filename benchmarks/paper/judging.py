"""Compare our results with the paper: cells of Table 1, counts of cells, and statements on Figs. 1, 2 and 4.

``python -m benchmarks.paper.judging`` computes everything from the committed tables and writes the content of
the page: ``cells.csv``, ``statements.csv`` and ``prices.csv`` next to them, and the sentences in
``judged.json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from benchmarks.paper.frame import write_table
from fairdash.dependence.patterns import PATTERNS
from fairdash.evaluation import corrected_standard_error
from fairdash.lab.paper import (
    COMMITTED,
    FAIRNESS,
    HOUSEHOLD_INCREASES,
    HOUSEHOLD_PRICE,
    HOUSEHOLD_STANDARD_HGR,
    HOUSEHOLD_TARGETS,
    JUDGED,
    METHODS,
    OBJECTIVES,
    STANDS_FOR,
    StudyResult,
    column_title,
    dataset_of,
    method_title,
    read_result,
    row_of,
    study_ids,
    table1_names,
    title_of,
)
from fairdash.storage import write_whole
from fairdash.training.methods import METHODS as ALL_METHODS
from fairdash.training.settings import OBJECTIVES as ALL_OBJECTIVES
from fairdash.training.sweep import STANDARD

Array = NDArray[np.float64]

#: Ways of scoring our models: as in the paper, and corrected.
AS_PAPER, CORRECTED_WAY = "paper", "right"
#: Columns that take milliseconds to compute; λ and settings are chosen by them.
QUICK = ("hgr_kde", "hgr_rdc", "chi2_kde", "fairquant")
#: Number of splits behind each value in the paper.
PAPER_SPLITS = 5
#: With fewer splits, the spread of our results is too uncertain for a comparison.
MIN_SPLITS = 20
#: Central share of the means that counts as ordinary.
CENTRAL = 0.9
_DRAWS = 20_000
#: The paper prints three digits, so its value may be any number that rounds to them.
_HALF_A_DIGIT = 0.0005


#: HGR_NN as the authors' code has it.
AUTHORS = "authors"
#: “HGR … succeeds in retrieve a HGR of 1”: lower limit of values that count as 1, and upper limit of
#: failures.
NEAR_ONE = 0.95
DIFFICULT = 0.8
#: Estimates closer than this count as equal, because the paper's curves can't be read more precisely.
TIE = 0.005
#: Tolerance of a mean over few data sets.
_COVERAGE = 0.95
HOLDS, FAILS, UNRESOLVED = "holds", "fails", "unresolved"


def unfairness(frame: pd.DataFrame, paper: pd.Series) -> pd.Series:
    """Return the mean of the quick fairness columns, each divided by the paper's value."""
    return sum((frame[id] / paper[id] for id in QUICK), start=pd.Series(0.0, frame.index)) / len(QUICK)


def summary(result: StudyResult) -> pd.DataFrame:
    """Return means over the splits with their Nadeau–Bengio standard errors, and floors.

    Returns
    -------
    DataFrame
        One row per method and objective: ``lam``, ``mse``, ``mse_se``, and for each fairness column and way
        of scoring ``<id>_<way>``, ``<id>_<way>_se``, ``<id>_<way>_floor``, ``<id>_<way>_floor_q95``.
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


@dataclass(frozen=True)
class Cell:
    """One of our values under the paper's protocol, and the paper's value.

    Parameters
    ----------
    measure
        A fairness column, or ``"mse"``.
    paper, ours, error
        The paper's value, our mean over the splits and its standard error.
    floor, floor_q95
        Values under independence on the same rows, mean and 95 % quantile; NaN for the error.
    """

    measure: str
    paper: float
    ours: float
    error: float
    floor: float = float("nan")
    floor_q95: float = float("nan")

    @property
    def printed(self) -> float:
        """Our value with as many digits as the paper prints, which limits the comparison."""
        return round(self.ours, 3)

    @property
    def at_or_below(self) -> bool:
        """Return whether our value is at most the paper's, to the three digits that the paper prints."""
        return self.printed <= self.paper

    @property
    def words(self) -> str:
        """``"lower"``, ``"same"`` or ``"higher"`` than the paper."""
        if self.printed == self.paper:
            return "same"
        return "lower" if self.printed < self.paper else "higher"

    @property
    def is_near(self) -> bool:
        """Return whether the difference is below two standard errors of our value; the paper states none."""
        return bool(np.isfinite(self.error) and abs(self.ours - self.paper) <= 2 * self.error)

    @property
    def at_floor(self) -> bool:
        """Return whether our value shows no detectable link on these rows."""
        return bool(self.ours <= self.floor_q95)


def cells(result: StudyResult, dataset: str, method: str, objective: str) -> list[Cell]:
    """Return the error and all fairness columns of one row, in the paper's order."""
    table = summary(result)
    own = table[(table["method"] == method) & (table["objective"] == objective)].iloc[0]
    paper = row_of(dataset, method, objective)
    fairness = [
        Cell(id, paper[id], *(own[f"{id}_{AS_PAPER}{end}"] for end in ("", "_se", "_floor", "_floor_q95")))
        for id in FAIRNESS
    ]
    return [Cell("mse", paper["mse"], own["mse"], own["mse_se"]), *fairness]


@dataclass(frozen=True)
class Count:
    """Number of fairness cells that are at or below those of the paper's Fair HGR NN.

    Parameters
    ----------
    chosen
        Objective, mapped to the method chosen on validation rows.
    cells
        Objective, mapped to the cells of this method (first the error), compared with the paper's Fair HGR
        NN.
    """

    chosen: dict[str, str]
    cells: dict[str, list[Cell]]

    def counts(self, objective: str) -> list[Cell]:
        """Fairness cells that count: at or below the paper's value, with an error at or below the paper's."""
        error, *fairness = self.cells[objective]
        return [cell for cell in fairness if cell.at_or_below] if error.at_or_below else []

    @property
    def reached(self) -> int:
        return sum(len(self.counts(objective)) for objective in self.cells)

    @property
    def total(self) -> int:
        return sum(len(cells) - 1 for cells in self.cells.values())

    def missed(self, objective: str) -> list[tuple[Cell, str]]:
        """Remaining cells, with the reasons in words."""
        error, *fairness = self.cells[objective]
        counted = self.counts(objective)
        return [(cell, _reason(cell, error)) for cell in fairness if cell not in counted]


def _reason(cell: Cell, error: Cell) -> str:
    if cell.at_or_below:
        return (
            f"the value is at or below the paper's, but our error {error.printed:.3f} is above "
            f"{error.paper:.3f}"
        )
    if cell.paper < cell.floor:
        return "the paper's value is below the noise floor on these rows"
    if cell.at_floor:
        return "ours shows no detectable link: the remainder is noise of the estimator"
    if cell.is_near:
        return "the difference is under two standard errors"
    return "our models retain more of this dependence at that error"


def constant_error(result: StudyResult) -> float:
    """Return the test error of a constant prediction, averaged over the splits; it is 1 on training rows."""
    return float(result.tables["splits"].groupby("split")["constant"].first().mean())


def count(result: StudyResult, dataset: str, *, as_share: bool = False) -> Count:
    """Select a method for each objective on held-out rows, and compare it with the paper's Fair HGR NN.

    Parameters
    ----------
    as_share
        Compare our error, divided by that of a constant prediction on the same test rows, with the paper's
        error: with few splits, the variance of test rows may differ by chance from that of training rows.
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
    """Return the fair method whose selected models have the lowest unfairness on held-out rows.

    Methods whose error is at most that of the paper's Fair HGR NN are compared by means over the splits, on
    the held-out rows of the cross-validation.
    """
    paper = row_of(dataset, "hgr_nn", objective)
    choices = result.tables["choices"]
    choices = choices[(choices["objective"] == objective) & (choices["method"] != STANDARD)]
    means = choices.groupby("method", sort=False)[["validation_mse", *QUICK]].mean()
    within = means[means["validation_mse"] <= paper["mse"]]
    return "hgr_nn" if within.empty else str(unfairness(within, paper).idxmin())


def why_not_comparable(result: StudyResult, dataset: str) -> str | None:
    """Explain why a result can't be compared with the paper's; None if it can."""
    if dataset == "census_county":
        # With few rows, independence floors of our estimators exceed the paper's values.
        values = [cell for each in OBJECTIVES for cell in cells(result, dataset, "hgr_nn", each)[1:]]
        below = sum(cell.paper < cell.floor for cell in values)
        share = f"all {below}" if below == len(values) else f"{below} of {len(values)}"
        return (
            f"the paper's table has over 70,000 census tracts, ours {result.options['rows']:,} counties; "
            f"{share} values of the paper's Fair HGR NN are below the noise floor, the mean on independent "
            f"data, for our {result.tables['splits']['n_test'].iloc[0]} test rows"
        )
    if dataset == "motor":
        # Even without fairness, the model depends far less on the attribute.
        found = cells(result, dataset, STANDARD, OBJECTIVES[0])[1 + FAIRNESS.index("hgr_nn")]
        return (
            f"the data differ: the standard network, not made fair, has an HGR_NN of {found.ours:.3f} here "
            f"and of {found.paper:.3f} in the paper"
        )
    return None


def central_range(values: Array, *, random_state: int = 0) -> tuple[float, float] | None:
    """Return the central 90 % of the means of five values, drawn with replacement from our splits.

    Parameters
    ----------
    values : (n_splits,) array
        Values of one quantity, one per split.

    Returns
    -------
    tuple of float or None
        None with fewer than :data:`MIN_SPLITS` values.
    """
    if len(values) < MIN_SPLITS:
        return None
    rng = np.random.default_rng(random_state)
    means = rng.choice(values, (_DRAWS, PAPER_SPLITS)).mean(axis=1)
    low, high = np.quantile(means, [(1 - CENTRAL) / 2, (1 + CENTRAL) / 2])
    return float(low), float(high)


def equivalent(result: StudyResult, dataset: str, found: Count) -> int | None:
    """Count the paper's values that are ordinary among means of five of our splits; None with few splits."""
    splits, reached = result.tables["splits"], 0
    for objective, method in found.chosen.items():
        own = splits[(splits["method"] == method) & (splits["objective"] == objective)]
        paper = row_of(dataset, "hgr_nn", objective)
        for id in FAIRNESS:
            reach = central_range(own[f"{id}_{AS_PAPER}"].to_numpy(dtype=float))
            if reach is None:
                return None
            reached += reach[0] - _HALF_A_DIGIT <= paper[id] <= reach[1] + _HALF_A_DIGIT
    return reached


def of_equivalence(result: StudyResult, dataset: str, found: Count) -> str:
    """State the result of :func:`equivalent`, or what it would require, in a sentence."""
    n_splits, reached = result.tables["splits"]["split"].nunique(), equivalent(result, dataset, found)
    meaning = (
        f"the paper's value lies in the central {CENTRAL:.0%} of the means of five splits drawn from ours"
    )
    if reached is None:
        return (
            f"{n_splits} splits can't decide how many are equivalent ({meaning}). At least {MIN_SPLITS} "
            "are needed."
        )
    return f"Equivalent ({meaning}; {n_splits} splits): {reached} of {found.total}."


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A statement of the paper, and what our data show about it.

    ``quote`` has the paper's words; the statement ``holds`` if it is true in every place that can be
    examined.
    """

    quote: str
    holds: bool
    finding: str


def sentences(values: pd.DataFrame, exact: pd.DataFrame, *, networks: str = AUTHORS) -> list[Sentence]:
    """Judge the statements of the paper's section on Fig. 2.

    Parameters
    ----------
    values
        ``pattern``, ``noise``, ``repeat``, ``id``, ``evaluation``, ``value``; KDE and RDC count as published.
    exact
        ``pattern``, ``noise``, ``hgr``.
    networks
        Version of HGR_NN in the study of Fig. 2: ``"authors"``, ``"published"`` or ``"ours"``.
    """
    way = values["id"].map({"hgr_nn": networks, "hgr_kde": "published", "hgr_rdc": "published"})
    place = ["pattern", "noise"]
    read, truth = (frame.assign(noise=frame["noise"].round(6)) for frame in (values, exact))
    table = read[values["evaluation"] == way].pivot_table(index=place, columns="id", values="value")
    noises = table.index.get_level_values("noise")
    clean, noisy = table[noises == 0], table[noises > 0]
    patterns = list(dict.fromkeys(exact["pattern"]))
    last = clean.droplevel("noise").loc[patterns[-2:]]
    return [
        _difficulties(last),
        _succeeds(last),
        _highest(clean, noisy),
        _widening(table, patterns),
        _below_truth(table, truth.drop_duplicates(place).set_index(place)["hgr"]),
    ]


def _difficulties(last: pd.DataFrame) -> Sentence:
    values = "; ".join(
        f"{_title(pattern)}: KDE {row['hgr_kde']:.2f}, RDC {row['hgr_rdc']:.2f}"
        for pattern, row in last.iterrows()
    )
    return Sentence(
        quote="When no noise is added to the data, HGR_KDE and HGR_RDC have difficulties to recover the "
        "optimal transformations on the two last scenarios.",
        holds=bool((last[["hgr_kde", "hgr_rdc"]] < DIFFICULT).all(axis=None)),
        finding=f"Without noise they report {values}. The true value is 1.",
    )


def _succeeds(last: pd.DataFrame) -> Sentence:
    values = "; ".join(f"{_title(pattern)} {value:.2f}" for pattern, value in last["hgr_nn"].items())
    return Sentence(
        quote="HGR_NN succeeds in retrieve a HGR of 1 for these settings.",
        holds=bool((last["hgr_nn"] >= NEAR_ONE).all()),
        finding=f"Without noise HGR_NN reports {values} ({NEAR_ONE:g} or more counts as 1).",
    )


def _highest(clean: pd.DataFrame, noisy: pd.DataFrame) -> Sentence:
    missed, parts = 0, []
    for where, table in (("Without noise", clean), ("with noise", noisy)):
        below = table[table["hgr_nn"] < table[["hgr_kde", "hgr_rdc"]].max(axis=1) - TIE]
        missed += len(below)
        named = "; ".join(map(_title, dict.fromkeys(below.index.get_level_values("pattern"))))
        parts.append(
            f"{where} it is the highest in {len(table) - len(below)} of {len(table)} places"
            + (f" (not on: {named})" if named else "")
        )
    return Sentence(
        quote="The curve of HGR_NN is always the highest.",
        holds=missed == 0,
        finding=f"{'; '.join(parts)}. Differences below {TIE:g} count as a tie.",
    )


def _widening(table: pd.DataFrame, patterns: list[str]) -> Sentence:
    gap = table["hgr_nn"] - table[["hgr_kde", "hgr_rdc"]].max(axis=1)
    rises = {pattern: gap.loc[pattern].iloc[-1] - gap.loc[pattern].iloc[0] for pattern in patterns}
    values = "; ".join(f"{_title(pattern)} {rise:+.2f}" for pattern, rise in rises.items())
    return Sentence(
        quote="The difference between our approach and the others increases with noise.",
        holds=all(rise > TIE for rise in rises.values()),
        finding="From no noise to the most noise, the lead over the better of the others changes by "
        f"{values}.",
    )


def _below_truth(table: pd.DataFrame, truth: pd.Series) -> Sentence:
    joined = table[["hgr_nn"]].join(truth.rename("hgr"), how="inner")
    above = joined[joined["hgr_nn"] > joined["hgr"] + TIE]
    most = float((joined["hgr_nn"] - joined["hgr"]).max())
    return Sentence(
        quote="Our approach cannot exceed [the true] value, due to the use of a restricted set of neural "
        "transformation functions.",
        holds=above.empty,
        finding=f"It is above the exact value in {len(above)} of {len(joined)} places, by up to {most:.2f}."
        if len(above)
        else f"It is at or below the exact value in all {len(joined)} places.",
    )


def _title(pattern: object) -> str:
    """Return the pattern's display name for use within a sentence."""
    return PATTERNS[str(pattern)].title.lower()


def sides_of_bound(values: pd.DataFrame, exact: pd.DataFrame, *, bound: str, above: bool) -> pd.DataFrame:
    """Return whether the mean χ² by network is above, or below, the true value at each ρ.

    Parameters
    ----------
    values, exact
        Tables of Fig. 1's result.
    bound
        Column of `exact`.
    above
        True if the paper says that the estimate is above this column, and False if below.

    Returns
    -------
    DataFrame
        One row per ``rho``. ``side`` is ``"holds"`` or ``"fails"`` if the 95 % interval of the mean is on one
        side of the true value, and ``"unresolved"`` if it contains the true value. ``repeats``: number of
        data sets.
    """
    own = values[(values["id"] == "chi2_nn") & (values["evaluation"] == "ours")]
    groups = own.groupby("rho")["value"]
    means, errors, counts = groups.mean(), groups.sem(), groups.size()
    gap = means - exact.set_index("rho")[bound].reindex(means.index)
    reach = stats.t.ppf((1 + _COVERAGE) / 2, counts - 1) * errors
    on_side = np.where((gap > 0) == above, HOLDS, FAILS)
    side = np.where(gap.abs() <= reach, UNRESOLVED, on_side)
    return pd.DataFrame({"rho": means.index, "side": side, "repeats": counts.to_numpy()})


def in_words(sides: pd.DataFrame) -> str:
    """State the result of :func:`sides_of_bound` in words."""
    at, named = {}, {}
    for side in (HOLDS, FAILS, UNRESOLVED):
        at[side] = [f"{rho:g}" for rho in sides.loc[sides["side"] == side, "rho"]]
        named[side] = f" (ρ = {', '.join(at[side])})" if at[side] else ""
    parts = [f"holds at {len(at[HOLDS])} of {len(sides)} ρ{named[HOLDS]}"]
    if at[FAILS]:
        parts.append(f"fails{named[FAILS]}")
    if at[UNRESOLVED]:
        repeats = int(sides["repeats"].min())
        sets = {2: "two", 3: "three", 4: "four", 5: "five"}.get(repeats, str(repeats))
        parts.append(
            f"can't be resolved with {sets} data sets{named[UNRESOLVED]}, because the 95 % interval of "
            "their mean contains the true value"
        )
    return "; ".join(parts)


def cells_of_page(result: StudyResult, dataset: str) -> pd.DataFrame:
    """Return every cell of Table 1 as the page shows it.

    Returns
    -------
    DataFrame
        One row per objective, method and measure: the fields of :class:`Cell`, ``words``, ``is_near``;
        ``paper`` is NaN for methods that are not in the paper. ``corrected`` is the cross-fitted value, with
        ``corrected_error``, ``corrected_floor`` and ``corrected_q95``. ``lam`` is the mean weight.
    """
    rows = []
    for _, own in summary(result).iterrows():
        method, objective = str(own["method"]), str(own["objective"])
        for cell in cells(result, dataset, method, objective):
            name = "mse" if cell.measure == "mse" else f"{cell.measure}_{CORRECTED_WAY}"
            row = {"objective": objective, "method": method, **asdict(cell)}
            row |= {"words": cell.words, "is_near": cell.is_near, "corrected": own[name]}
            row |= {"corrected_error": own[f"{name}_se"], "lam": own["lam"]}
            row |= {
                "corrected_floor": own.get(f"{name}_floor"),
                "corrected_q95": own.get(f"{name}_floor_q95"),
            }
            rows.append(row if method in METHODS else row | {"paper": math.nan})
    return pd.DataFrame(rows)


def in_short(names: Iterable[str]) -> dict[str, Any]:
    """Return one sentence, and the counts for each comparable data set."""
    found, left_out = {}, []
    for name in names:
        result = read_result(f"table1_{name}")
        if why_not_comparable(result, dataset_of(name)) is None:
            found[name] = _counts(result, name)
        else:
            left_out.append(title_of(name))
    both = [each for strict, share, _ in found.values() for each in (strict, share)]
    reached, total = [each.reached for each in both], [each.total for each in both]
    verdict = "Yes" if reached == total else "In part" if any(reached) else "No"
    said = [
        f"On {title_of(name)} we reach {_in_words(strict)} of the paper's fairness values at the paper's "
        "error. If errors are divided by the error of a constant prediction, a comparison that we added "
        f"afterwards, we reach {_in_words(share)} of these values."
        for name, (strict, share, _) in found.items()
    ]
    if left_out:
        said.append(f"Not comparable, because the data differ: {', '.join(left_out)}.")
    scores = []
    for name, (strict, share, equal) in found.items():
        rows = {
            "in standardised units": strict,
            "as a share of a constant prediction's error (second count, added after the first)": share,
        }
        head = f"| {title_of(name)}: fairness values and error at or below the paper's | |\n|---|---|\n"
        lines = [f"| {way} | **{n.reached} of {n.total}** |" for way, n in rows.items()]
        scores.append([head + "\n".join(lines), equal])
    return {"sentence": " ".join([f"**{verdict}.**", *said]), "scores": scores}


def _in_words(found: Count) -> str:
    if found.reached in (0, found.total):
        return "all" if found.reached else "none"
    return "most" if 2 * found.reached > found.total else "some"


def answer(result: StudyResult, name: str) -> str:
    """State the count for one data set, or the reason for its absence, in a sentence."""
    stand_in = f" (instead of the paper's {STANDS_FOR[name]} data)" if name in STANDS_FOR else ""
    reason = why_not_comparable(result, dataset_of(name))
    if reason is not None:
        return f"**{title_of(name)}{stand_in}: not comparable, and not counted**, because {reason}."
    strict, share, equal = _counts(result, name)
    chosen = " and ".join(
        f"{method_title(method)} for {ALL_OBJECTIVES[objective].title.lower()}"
        for objective, method in strict.chosen.items()
    )
    constant = constant_error(result)
    harder = "harder" if constant > 1 else "easier"
    return (
        f"**{title_of(name)}{stand_in}: we reach {_in_words(strict)} of the fairness values of the paper's "
        f"Fair HGR NN at its error** ({strict.reached} of {strict.total}, scored as in the paper). "
        f"Cross-validation within the training rows chose method and λ: {chosen}. The test rows of these "
        f"{result.options['splits']} splits are {harder} to predict than the training rows. A constant "
        f"prediction has an error of 1 on the training rows and of {constant:.3f} on the test rows. **If we "
        f"divide our errors by the latter, {share.reached} of {share.total} values count.** We added this "
        f"second count after we had seen the first. {equal}"
    )


def _counts(result: StudyResult, name: str) -> tuple[Count, Count, str]:
    """Compare a result's fairness values with those of the paper's Fair HGR NN.

    At or below at an error that is so too in units of the standardised target, as the paper has it; the same
    with our error as a share of a constant prediction's on the same test rows; equivalence as a sentence.
    """
    dataset = dataset_of(name)
    strict = count(result, dataset)
    return strict, count(result, dataset, as_share=True), of_equivalence(result, dataset, strict)


def missed_in_words(result: StudyResult, found: Count, objective: str) -> str:
    """Return the error of the selected method, and the cells that don't count with reasons, as Markdown."""
    missed = found.missed(objective)
    method, error = found.chosen[objective], found.cells[objective][0]
    choices = result.tables["choices"]
    own = choices[(choices["method"] == method) & (choices["objective"] == objective)]
    text = (
        f"{method_title(method)}: error {own['validation_mse'].mean():.3f} on the held-out rows of the "
        f"cross-validation that chose λ, and {error.ours:.3f} ± {error.error:.3f} on the test rows. The "
        f"paper's Fair HGR NN has {error.paper:.3f}.\n\n"
    )
    if not missed:
        return f"{text}Every fairness value of this objective is at or below that of the paper's Fair HGR NN."
    lines = [
        f"- {column_title(cell.measure)}: ours {cell.printed:.3f} ± {cell.error:.3f}, the paper "
        f"{cell.paper:.3f}, floor {cell.floor:.3f} (95 % below {cell.floor_q95:.3f}): {reason}."
        for cell, reason in missed
    ]
    return f"{text}**Not at or below the paper's Fair HGR NN** ({method_title(method)}):\n\n" + "\n".join(
        lines
    )


def bounds_in_words(result: StudyResult) -> str:
    """Return results of Fig. 1 on the paper's two statements, as Markdown."""
    values, exact = result.tables["values"], result.tables["exact"]
    below = in_words(sides_of_bound(values, exact, bound="chi2", above=False))
    above = in_words(sides_of_bound(values, exact, bound="hgr2", above=True))
    return (
        f"- *“The estimated χ² divergence is below the real χ²”*: {below}.\n"
        f"- *The estimate “always remains above the HGR²”*: {above}."
    )


def household_table(result: StudyResult, objective: str) -> pd.DataFrame:
    """Return means over the splits' test rows, one row per method.

    ``increase`` and ``paper_increase`` are the increases of the error over the standard model's, ours and the
    paper's. ``validation_hgr``, and whether it ``reached`` the level, refer to the rows used
    to choose λ.
    """
    splits = result.tables["splits"]
    splits = splits[splits["objective"] == objective]
    ratio = float((splits["n_test"] / splits["n_train"]).mean())
    groups = splits.groupby("method", sort=False)
    counts = groups.size()
    columns = ["mse", "mean_price", "lam", "hgr_spline", "hgr_spline_floor", "hgr_kde", "hgr_kde_floor"]
    table = groups[columns].mean()
    for name in ("mse", "hgr_spline"):
        variance = groups[name].var(ddof=1)
        table[f"{name}_se"] = corrected_standard_error(variance, n_splits=counts, test_to_train=ratio)
    table["increase"] = table["mse"] / table["mse"].loc["standard"] - 1
    table["paper_increase"] = pd.Series(HOUSEHOLD_INCREASES[objective]).reindex(table.index)
    choices = result.tables["choices"]
    choices = choices[choices["objective"] == objective].set_index("method")
    table["reached"] = choices["reached"].reindex(table.index)
    table["validation_hgr"] = choices["dependence"].reindex(table.index)
    return table.reset_index()


def household_answer(result: StudyResult, table: pd.DataFrame, objective: str) -> str:
    """The cost of fairness in this scenario, and the reasons for its difference from the paper's."""
    rows = table.set_index("method")
    standard = rows.loc["standard"]
    fair = rows.drop("standard")
    parts = [
        f"{ALL_METHODS[str(method)].title} {_share(row['increase'])} (the paper: "
        f"{'about ' if objective == 'demographic_parity' else ''}{row['paper_increase']:+.0%})"
        for method, row in fair.iterrows()
    ]
    text = f"**Increase in squared error on the test rows over the standard network:** {'; '.join(parts)}. "
    missed = [
        f"{ALL_METHODS[str(method)].title} ({row['validation_hgr']:.3f} there, {row['hgr_spline']:.3f} on "
        "the test rows)"
        for method, row in fair.iterrows()
        if not row["reached"]
    ]
    if missed:
        text += (
            "We chose λ on held-out rows of the training data. With these methods, no weight reached an "
            f"HGR of {HOUSEHOLD_TARGETS[objective]:g} there: {', '.join(missed)}. "
        )
    if objective == "demographic_parity":
        low, high = fair["mean_price"].min(), fair["mean_price"].max()
        text += (
            f"The fair models' average price is {low:.0f} to {high:.0f} € (the paper: about "
            f"{HOUSEHOLD_PRICE:.0f} €). "
        )
    else:
        text += (
            f"The standard network's residuals have an HGR of {standard['hgr_spline']:.2f} (the paper: "
            f"{HOUSEHOLD_STANDARD_HGR:.2f}). "
        )
    sees_all = result.options["features_seen"] == "all"
    why = (
        "The percentages may differ. With all three features the price is a function of the network's "
        f"inputs. The standard network's error, {standard['mse']:.3f} of the variance here, then depends "
        "only on the length of training, and so does every increase. The paper does not state the length "
        "of training."
        if sees_all
        else "With the surface alone, the standard network can't predict the effects of rooms and "
        f"building age. Its error is {standard['mse']:.3f} of the variance, and the same absolute cost of "
        "fairness is a smaller share of it. "
        + (
            "The surface is nearly a function of age. Every prediction that uses the surface follows age, "
            "so no weight leads to independence. "
            if objective == "demographic_parity"
            else ""
        )
        + "The paper does not state its networks' inputs."
    )
    return text + why


def _share(value: float) -> str:
    """Return a change in per cent; never "-0 %"."""
    return "–" if math.isnan(value) else f"{round(value, 2) + 0.0:+.0%}"


def judge(study: str, folder: Path = COMMITTED) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Return the tables and texts that the page shows for a committed study."""
    result = read_result(study, folder)
    kind, _, name = study.partition("_")
    if kind == "table1":
        dataset = dataset_of(name)
        found, reason = count(result, dataset), why_not_comparable(result, dataset)
        missed = {} if reason else {each: missed_in_words(result, found, each) for each in OBJECTIVES}
        texts = {"answer": answer(result, name), "missed": missed, "constant": constant_error(result)}
        return {"cells": cells_of_page(result, dataset)}, texts
    if kind == "household":
        tables = {each: household_table(result, each) for each in HOUSEHOLD_TARGETS}
        answers = {each: household_answer(result, table, each) for each, table in tables.items()}
        prices = [table.assign(objective=each) for each, table in tables.items()]
        return {"prices": pd.concat(prices, ignore_index=True)}, {"answer": answers}
    if study == "fig2":
        values, exact = result.tables["values"], result.tables["exact"]
        rows = [
            {"networks": networks, **asdict(one)}
            for networks in (AUTHORS, "published", "ours")
            for one in sentences(values, exact, networks=networks)
        ]
        return {"statements": pd.DataFrame(rows)}, {}
    return {}, {"answer": bounds_in_words(result)} if study == "fig1" else {}


def main() -> None:
    """Judge all committed studies."""
    texts: dict[str, Any] = {}
    for study in study_ids():
        tables, texts[study] = judge(study)
        for name, table in tables.items():
            write_table(table, COMMITTED / study / f"{name}.csv")
    texts["table1"] = in_short(table1_names())
    text = json.dumps(texts, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    write_whole(COMMITTED / JUDGED, text.encode())


if __name__ == "__main__":
    main()
