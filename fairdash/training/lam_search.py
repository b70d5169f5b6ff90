"""Search for a weight λ with which a model meets a target, by cross-validation."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.errors import Checks, OptionError
from fairdash.jobs import steps as units
from fairdash.jobs.steps import StepRunner, run_directly
from fairdash.training.crossvalidation import (
    TRAINING_SHARE,
    cross_validate,
    dependence_out_of_fold,
    rows_of,
    standard_error,
)
from fairdash.training.methods import METHODS, STANDARD
from fairdash.training.pilot import find_lams
from fairdash.training.search import SearchResult
from fairdash.training.settings import StackedModel, check_lams
from fairdash.training.splits import Split
from fairdash.training.sweep import SearchPlan
from fairdash.utils.options import option
from fairdash.utils.registry import get_entry

MEASURE, EXCESS, ERROR = "measure", "excess", "error"
_TEXT = re.compile(
    r"(?P<name>[a-z0-9_]+)\s*(?:<=|≤)\s*(?P<kind>floor\s*\+|\+)?\s*(?P<number>[0-9.]+(?:e-?[0-9]+)?)\s*(?P<percent>%?)",
    re.IGNORECASE,
)
_TARGET_HINT = "Write a target such as hgr_kde<=0.05, hgr_kde<=floor+0.02 or error<=+10%."


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target of a search: an upper bound on dependence or on error.

    Parameters
    ----------
    kind
        ``"measure"``: the measure must be at most `at_most`. ``"excess"``: the measure must exceed its
        independence floor, the mean value of the estimator if the sensitive column is permuted, by at most
        `at_most`. ``"error"``: the error of the model must be at most ``1 + at_most`` times the error of the
        standard model.
    at_most
        Upper bound, a finite number of at least 0.
    measure
        Id in :data:`fairdash.dependence.REGISTRY`, or empty for ``"error"``. The bound applies to the
        absolute value of signed measures.

    Raises
    ------
    OptionError
        Raised if the measure is unknown or accepts only discrete variables, or if the bound is not valid.

    Examples
    --------
    >>> Target.parse("error <= +10 %")
    Target(kind='error', at_most=0.1, measure='')
    >>> str(Target(kind="excess", at_most=0.02, measure="hgr_kde"))
    'hgr_kde<=floor+0.02'
    """

    kind: str
    at_most: float
    measure: str = ""

    def __post_init__(self) -> None:
        if self.kind not in (MEASURE, EXCESS, ERROR):
            raise _target_error("This kind of target does not exist")
        if not math.isfinite(self.at_most) or self.at_most < 0:
            raise _target_error("The target's bound is not a number of at least 0")
        if self.kind == ERROR:
            if self.measure:
                raise _target_error("A target for the error has no measure")
            return
        if get_entry(REGISTRY, self.measure, option="measure").discrete:
            raise _target_error(f"“{self.measure}” needs discrete variables, but predictions are continuous")

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse the text of a target; ``mse`` is a synonym of ``error``, and ``≤`` a synonym of ``<=``.

        The error is the training loss: the mean squared error, unless the settings contain another loss.
        """
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise _target_error("The target can't be read")
        name, kind = match["name"].lower(), (match["kind"] or "").replace(" ", "").lower()
        try:
            at_most = float(match["number"])
        except ValueError:
            raise _target_error("The target's bound is not a number") from None
        if name in ("mse", "error"):
            if kind != "+" or not match["percent"]:
                raise _target_error("A target for the error is a percentage above the standard model's error")
            return cls(kind=ERROR, at_most=at_most / 100)
        if kind == "+" or match["percent"]:
            raise _target_error("A target for a measure must be a number without + or %")
        return cls(kind=EXCESS if kind else MEASURE, at_most=at_most, measure=name)

    @property
    def words(self) -> str:
        """Return the target in words, such as "HGR_KDE at most 0.05"."""
        if self.kind == ERROR:
            return f"an error of at most {100 * self.at_most:g} % above that of the standard model"
        above = " above its independence floor" if self.kind == EXCESS else ""
        return f"{REGISTRY[self.measure].symbol} at most {self.at_most:g}{above}"

    def __str__(self) -> str:
        if self.kind == ERROR:
            return f"error<=+{100 * self.at_most:g}%"
        floor = "floor+" if self.kind == EXCESS else ""
        return f"{self.measure}<={floor}{self.at_most:g}"


def _target_error(problem: str) -> OptionError:
    return OptionError.of(problem, _TARGET_HINT, column="target")


@dataclass(frozen=True, kw_only=True)
class LamSearch(SearchPlan):
    """Plan of a search for a weight λ: candidate weights, and a target.

    Parameters
    ----------
    target
        Target that the model with the selected weight should meet.
    lams
        Distinct weights λ ≥ 0 to try, at least one of them above 0. The search always includes the standard
        model (λ = 0).
    find_lams
        True to replace `lams` by the same number of weights found by
        :func:`fairdash.training.pilot.find_lams` on the same rows.
    refine
        Number of weights to try in a second round; 0 skips this round. The weights are between two
        neighbouring weights, of which one meets the target and one does not.
    method, n_folds, objective, random_state, settings, device
        As in :class:`fairdash.training.sweep.SearchPlan`, but the method must not be ``"standard"``, and the
        default number of folds is 10, as in the paper.

    Raises
    ------
    OptionError
        Raised if options are not valid; the error lists all of these options.
    """

    target: Target
    lams: tuple[float, ...]
    n_folds: int = option(
        10, "Folds", "Number of folds of the cross-validation.", within="[2, inf)", word="folds"
    )
    find_lams: bool = False
    refine: int = option(0, "", "Number of weights to try in a second round.", within="[0, inf)")

    def _check(self, checks: Checks) -> None:
        super()._check(checks)
        check_lams(checks, self.lams, needed=True)
        checks.require(
            self.method != STANDARD, "method", "The standard model has no weight λ", "Choose a fair method."
        )
        checks.require(
            checks.problems or any(lam > 0 for lam in self.lams),
            "lams",
            "No weight λ is above 0",
            "Give at least one weight above 0.",
        )

    @property
    def measure(self) -> str:
        """Return the id of the target's measure or, if the target has no measure, of the method's measure."""
        return self.target.measure or METHODS[self.method].selection_measure


#: Second name of SearchResult, which notebooks import.
LamChoice = SearchResult


def search_lam(
    dataset: Dataset,
    plan: LamSearch,
    *,
    rows: NDArray[np.int64] | None = None,
    progress: Callable[[float], None] | None = None,
    run_step: StepRunner = run_directly,
) -> SearchResult:
    """Find the weight λ that meets the target of `plan`, by cross-validation.

    For a bound on dependence, the search selects the weight with the smallest loss among those that meet the
    bound. If no weight meets the bound, the search compares excesses over the independence floor. The
    candidates are the weights whose excess is at most one standard deviation of the measure (on independent
    data) above the smallest excess. The search selects the candidate with the smallest loss. For a bound on
    the error, the search selects the weight with the smallest excess among those that meet the bound. If
    several of these weights give no detectable dependence (at most the 95 % quantile under independence), the
    search selects the one with the smallest loss.

    Dependence is measured on the pooled out-of-fold predictions. On a single fold, with a tenth of the rows,
    even independent data would have values far above a target such as 0.05. However, pooling can hide
    dependence: nearly constant models of different folds may depend on the sensitive column in different
    ways, which cancel. If the mean dependence within folds is clearly higher, the search uses this mean
    (:func:`fairdash.training.crossvalidation.dependence_out_of_fold`). On the Crime data, where the folds'
    models are similar, the HGR_KDE of rows drawn from all folds differed by at most 0.016 from the HGR_KDE of
    as many rows from one fold. The results are valid for the number of rows in `rows`; with fewer rows, an
    estimator has a higher independence floor.

    The frame has one row per weight in ascending order, starting with the standard model (λ = 0). Its columns
    are ``lam``; ``loss`` and ``loss_se`` (mean over the folds and its standard error; a perfect model has 0,
    a constant model 1; each fold's model is trained for the same number of steps as a model on all rows);
    ``increase`` (relative increase of the loss over the loss of the standard model); ``dependence`` by
    `measure`; ``floor`` and ``floor_q95`` (mean and 95 % quantile of the measure if the sensitive column is
    permuted); ``excess`` of the dependence over ``floor``; ``diluted`` (whether pooling hid dependence, so
    that ``dependence`` and ``excess`` are based on values within folds); ``meets`` (whether the model meets
    the target); and ``diverged``.

    Parameters
    ----------
    dataset
        Data set. With several sensitive columns, the column with the largest excess is used.
    rows
        Numbers of the rows to use, or None for all rows; other rows have no influence on the result.
    progress
        Function that is called with the completed share, 0 to 1, and may raise
        :class:`fairdash.errors.Cancelled`.
    run_step
        Function that runs steps, or returns their stored results (:class:`fairdash.jobs.steps.StepRunner`).
        The steps are ``"pilot"`` (if the plan has `find_lams`), ``"weights/…"`` and, in a second round,
        ``"finer/…"``.

    Raises
    ------
    OptionError
        Raised as in :func:`fairdash.training.models.train_models`, or if there are too few rows for the
        folds, or if the standard model or all fair models diverged.
    """
    start_time = time.monotonic()
    subset = rows_of(dataset, rows)
    if plan.find_lams:
        plan = replace(plan, lams=tuple(run_step("pilot", partial(_pilot, subset, plan))["lams"].tolist()))
    lams = sorted({float(lam) for lam in plan.lams if lam > 0})
    share = len(lams) / (len(lams) + plan.refine)

    def part(share_before: float, width: float) -> Callable[[float], None] | None:
        return None if progress is None else lambda share_done: progress(share_before + width * share_done)

    frame, notes, device = _cross_validated(
        subset, plan, [0.0, *lams], progress=part(0.0, share), run_step=units.within(run_step, "weights")
    )
    lam, reached, words = choose_lam(frame, plan)
    finer_lams = _finer_lams(frame, plan, lam, reached=reached)
    if finer_lams:
        refined, more_notes, _ = _cross_validated(
            subset,
            plan,
            finer_lams,
            progress=part(share, 1 - share),
            run_step=units.within(run_step, "finer"),
        )
        frame = pd.concat([frame, refined], ignore_index=True).sort_values("lam", ignore_index=True)
        notes = tuple(dict.fromkeys([*notes, *more_notes]))
        lam, reached, words = choose_lam(frame, plan)
    if progress is not None:
        progress(1.0)
    return SearchResult(
        lam=lam,
        reached=reached,
        frame=_with_target_met(frame, plan.target),
        rule=f"{words} The values come from {plan.n_folds}-fold cross-validation on {subset.n_rows:,} "
        f"rows. Dependence was measured on held-out predictions of {_measured_on(frame, lam)}.",
        measure=plan.measure,
        seconds=time.monotonic() - start_time,
        device=device,
        notes=notes,
    )


def _pilot(dataset: Dataset, plan: LamSearch) -> units.Found:
    """Return weights found by a pilot training, or the plan's weights if there is no dependence to reduce."""
    all_rows = np.arange(dataset.n_rows)
    lams = find_lams(
        dataset,
        Split(all_rows, all_rows[:0]),
        plan.settings,
        method=plan.method,
        count=len(plan.lams),
        objective=plan.objective,
        random_state=plan.random_state,
        device=plan.device,
    )
    return {"lams": np.array(plan.lams if lams is None else lams)}


def choose_lam(frame: pd.DataFrame, plan: LamSearch) -> tuple[float, bool, str]:
    """Return the weight that :func:`search_lam` selects, whether it meets the target, and an explanation.

    Parameters
    ----------
    frame
        Frame with the columns of :func:`search_lam` up to ``excess``, and ``diverged``. The first row is the
        standard model, λ = 0.
    """
    target, checked = plan.target, _with_target_met(frame, plan.target)
    symbol = REGISTRY[plan.measure].symbol
    usable = checked[~checked["diverged"]]
    fair = usable[usable["lam"] > 0]
    if checked["diverged"].iloc[0] or fair.empty:
        failed = "The standard model" if checked["diverged"].iloc[0] else "Every weight"
        raise OptionError.of(f"{failed} diverged in training", "Try a smaller learning rate.", column="lr")
    if target.kind == ERROR:
        met = fair[fair["meets"]]
        if met.empty:
            best = fair.sort_values("increase").iloc[0]
            words = (
                f"No weight meets the target of {target.words}. λ = {best['lam']:g} comes closest: its error "
                f"differs by {best['increase']:+.1%} from that of the standard model. Try smaller weights."
            )
            return float(best["lam"]), False, words
        excess = met["excess"].where(met["dependence"] > met["floor_q95"], 0.0).clip(lower=0)
        best = met.assign(noticed=excess).sort_values(["noticed", "loss"]).iloc[0]
        words = (
            f"λ = {best['lam']:g}: among the weights that meet the target of {target.words}, it has the "
            f"smallest dependence ({symbol} {best['dependence']:.3f}, floor {best['floor']:.3f}). Its error "
            f"differs by {best['increase']:+.1%} from that of the standard model."
        )
        return float(best["lam"]), True, words
    met = usable[usable["meets"]]
    if met.empty:
        # Differences in excess dependence are ignored if they are smaller than the measure's standard
        # deviation on independent data.
        noise = (fair["floor_q95"] - fair["floor"]).clip(lower=0) / NormalDist().inv_cdf(0.95)
        nearest = fair[fair["excess"] <= fair["excess"].min() + noise]
        best = nearest.sort_values("loss").iloc[0]
        words = (
            f"No weight meets the target of {target.words}. Up to noise, λ = {best['lam']:g} comes closest, "
            f"with {symbol} {best['dependence']:.3f} (floor {best['floor']:.3f}). "
        )
        if target.kind == MEASURE and target.at_most < best["floor"]:
            words += (
                "With this number of rows, even independent data have values near the noise floor, so no "
                "model can be expected to meet the target. Set a bound on the excess over this floor instead."
            )
        else:
            words += "Try larger weights."
        return float(best["lam"]), False, words
    best = met.sort_values("loss").iloc[0]
    if best["lam"] == 0:
        words = f"The standard model already meets the target of {target.words}, so λ = 0 is enough."
    else:
        words = (
            f"λ = {best['lam']:g}: among the weights that meet the target of {target.words}, it has the "
            f"smallest error ({best['increase']:+.1%} compared with the standard model). {symbol} is "
            f"{best['dependence']:.3f} (floor {best['floor']:.3f})."
        )
    return float(best["lam"]), True, words


def _measured_on(frame: pd.DataFrame, lam: float) -> str:
    if frame.loc[frame["lam"] == lam, "diluted"].iloc[0]:
        return "each fold, because the folds' models depend on the sensitive column in different ways"
    return "all folds together"


_TARGET_COLUMNS = {MEASURE: "dependence", EXCESS: "excess", ERROR: "increase"}


def _with_target_met(frame: pd.DataFrame, target: Target) -> pd.DataFrame:
    """Return the frame with the additional columns ``increase`` and ``meets``."""
    loss_increase = frame["loss"] / frame["loss"].iloc[0] - 1
    checked = frame.assign(increase=loss_increase)
    return checked.assign(
        meets=(checked[_TARGET_COLUMNS[target.kind]] <= target.at_most) & ~frame["diverged"]
    )


def _finer_lams(frame: pd.DataFrame, plan: LamSearch, lam: float, *, reached: bool) -> list[float]:
    """Return weights between two neighbouring weights, of which only one meets the target; [] if none."""
    checked = _with_target_met(frame, plan.target)
    lams = checked["lam"].to_numpy()
    lam_index = int(np.flatnonzero(lams == lam)[0])
    if plan.target.kind == ERROR:
        # The error rises with λ. The second round therefore tries larger weights if the selected weight meets
        # the target, and smaller weights otherwise.
        low, high = (lam_index, lam_index + 1) if reached else (lam_index - 1, lam_index)
    elif reached:
        low, high = lam_index - 1, lam_index
    else:
        return []
    if low < 0 or high == len(lams) or (checked["meets"].iloc[low] == checked["meets"].iloc[high]):
        return []
    space = np.geomspace if lams[low] > 0 else np.linspace
    return [float(weight) for weight in space(lams[low], lams[high], plan.refine + 2)[1:-1]]


def _cross_validated(
    dataset: Dataset,
    plan: LamSearch,
    lams: Sequence[float],
    *,
    progress: Callable[[float], None] | None,
    run_step: StepRunner,
) -> tuple[pd.DataFrame, tuple[str, ...], str]:
    """Cross-validate weights; return a frame with one row per weight, notes, and the device used."""
    out_of_fold = cross_validate(
        dataset,
        [StackedModel(STANDARD if lam == 0 else plan.method, lam, plan.settings) for lam in lams],
        objective=plan.objective,
        n_folds=plan.n_folds,
        random_state=plan.random_state,
        device=plan.device,
        for_refit=True,
        progress=None if progress is None else lambda share: progress(TRAINING_SHARE * share),
        run_step=run_step,
    )
    dependence, diluted = dependence_out_of_fold(
        dataset,
        out_of_fold,
        objective=plan.objective,
        measure=plan.measure,
        random_state=plan.random_state,
        run_step=run_step,
    )
    frame = pd.DataFrame(
        {
            "lam": lams,
            "loss": out_of_fold.loss.mean(axis=1),
            "loss_se": standard_error(out_of_fold.loss),
            "dependence": dependence.value,
            "floor": dependence.floor,
            "floor_q95": dependence.floor_q95,
            "excess": dependence.excess,
            "diluted": diluted,
            "diverged": out_of_fold.diverged,
        }
    )
    return frame, out_of_fold.notes, out_of_fold.device
