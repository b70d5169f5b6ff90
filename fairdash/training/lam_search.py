"""Search for the weight λ that meets a target, by cross-validation."""

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
_HOW_TO_WRITE = "Write it like hgr_kde<=0.05, hgr_kde<=floor+0.02 or error<=+10%."


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target of a search: a bound on dependence or on error.

    Parameters
    ----------
    kind
        ``"measure"``: the measure is at most `at_most`. ``"excess"``: the measure exceeds its independence
        floor by at most `at_most`. The floor is the value of the same estimator on the same rows with the
        sensitive column permuted. ``"error"``: the error exceeds the standard model's error by at most the
        share `at_most`.
    at_most
        Bound, which is finite and at least 0.
    measure
        Id in :data:`fairdash.dependence.REGISTRY`, or empty for ``"error"``. The bound applies to the
        absolute value of signed measures.

    Raises
    ------
    OptionError
        Raised if the measure is unknown or accepts only discrete variables, or the bound is invalid.

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
            raise _target_error("This kind of target is not known")
        if not math.isfinite(self.at_most) or self.at_most < 0:
            raise _target_error("The target's bound is not a number of 0 or more")
        if self.kind == ERROR:
            if self.measure:
                raise _target_error("A target for the error has no measure")
            return
        if get_entry(REGISTRY, self.measure, option="measure").discrete:
            raise _target_error(f"“{self.measure}” is for discrete variables, and predictions are not")

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse the text of a target; ``error`` may be written ``mse``, and ``<=`` may be written ``≤``.

        The error is the training loss, which is the mean squared error unless the settings choose another
        loss.
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
                raise _target_error("A target for the error is a share above the standard model's")
            return cls(kind=ERROR, at_most=at_most / 100)
        if kind == "+" or match["percent"]:
            raise _target_error("A target for a measure is a number, without + or %")
        return cls(kind=EXCESS if kind else MEASURE, at_most=at_most, measure=name)

    @property
    def words(self) -> str:
        """Return the target in words, such as "HGR_KDE at most 0.05"."""
        if self.kind == ERROR:
            return f"an error at most {100 * self.at_most:g} % above the standard model's"
        above = " above its noise floor" if self.kind == EXCESS else ""
        return f"{REGISTRY[self.measure].symbol} at most {self.at_most:g}{above}"

    def __str__(self) -> str:
        if self.kind == ERROR:
            return f"error<=+{100 * self.at_most:g}%"
        floor = "floor+" if self.kind == EXCESS else ""
        return f"{self.measure}<={floor}{self.at_most:g}"


def _target_error(what: str) -> OptionError:
    return OptionError.of(what, _HOW_TO_WRITE, column="target")


@dataclass(frozen=True, kw_only=True)
class LamSearch(SearchPlan):
    """Plan of a search for a weight λ: the candidates, and the target.

    Parameters
    ----------
    target
        Target that the model should meet.
    lams
        Distinct weights λ ≥ 0 to try, of which at least one is above 0. The search always includes the
        standard model (λ = 0).
    find_lams
        Whether :func:`fairdash.training.pilot.find_lams` first finds weights along the front within the same
        rows. The found weights replace `lams`; their number is the number of `lams`.
    refine
        Number of weights to try in a second round, between the selected weight and its neighbour on the other
        side of the target; 0 skips the second round.
    method, n_folds, objective, random_state, settings, device
        Same meaning as in :class:`fairdash.training.sweep.SearchPlan`. The method must not be ``"standard"``.
        The default number of folds is 10, as in the paper.

    Raises
    ------
    OptionError
        Raised if options are invalid; the error lists all invalid options.
    """

    target: Target
    lams: tuple[float, ...]
    n_folds: int = option(10, "Folds", "Of the cross-validation.", within="[2, inf)", word="folds")
    find_lams: bool = False
    refine: int = option(0, "", "Number of weights to try in a second, finer round.", within="[0, inf)")

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
            "Give at least one to try.",
        )

    @property
    def measure(self) -> str:
        """Return the id of the measure for comparison: the measure of the target or the selection measure."""
        return self.target.measure or METHODS[self.method].selection_measure


#: Name of the result in notebooks.
LamChoice = SearchResult


def search_lam(
    dataset: Dataset,
    plan: LamSearch,
    *,
    rows: NDArray[np.int64] | None = None,
    progress: Callable[[float], None] | None = None,
    run_step: StepRunner = run_directly,
) -> SearchResult:
    """Find the weight that meets the target of `plan`, by cross-validation within `rows`.

    For a bound on dependence, the search selects the weight with the smallest loss among those that meet the
    bound. If no weight meets the bound, the search selects the weight with the smallest loss among those
    whose excess is within one standard error of the smallest excess. The standard error is the standard
    deviation of the measure on independent data. For a bound on the error, the search selects the weight with
    the smallest excess dependence among those that meet the bound. Weights without detectable dependence (at
    most the floor's 95 % quantile) count as equal, and the search selects the one with the smallest loss.

    Dependence is measured once on the pooled held-out predictions of all folds. In a single fold with a tenth
    of the rows, the floor is so high that a target such as 0.05 is far below the value for independent data.
    However, the models of different folds differ, which can dilute their dependence: nearly constant models
    may depend on the sensitive column in different ways. If the dependence within the folds is higher, this
    higher value is used (:func:`fairdash.training.crossvalidation.dependence_out_of_fold`). On Crime, where
    the folds' models are similar, the HGR_KDE of rows drawn across folds was within 0.016 of the value for
    the same number of rows within folds. The values are valid for the number of rows in `rows`, because an
    estimator has a higher floor for fewer rows.

    The frame has one row per weight in ascending order, starting with the standard model (λ = 0). The columns
    of the frame are ``lam``; ``loss`` and ``loss_se`` (mean over the folds and its standard error; 0 is
    perfect, 1 is a constant model; each fold's model is trained for as many steps as a model on all rows);
    ``increase`` (relative increase of the loss over the standard model's); ``dependence`` by `measure`,
    ``floor`` and ``floor_q95`` (mean and 95 % quantile with the sensitive column permuted) and ``excess``
    over the floor, all on the pooled held-out rows; ``diluted`` (whether pooling hid dependence within the
    folds, so that ``excess`` and ``dependence`` are those of the folds); ``meets`` (whether the target is
    met); and ``diverged``.

    Parameters
    ----------
    dataset
        Data set. With several sensitive columns, the column with the largest excess is used.
    rows
        Numbers of the rows to use; other rows have no influence on the result. None uses all rows.
    progress
        Function that is called with the completed share, 0 to 1, and may raise
        :class:`fairdash.errors.Cancelled`.
    run_step
        Runner of steps (:class:`fairdash.jobs.steps.StepRunner`). The steps are ``"pilot"`` if weights are
        to be found, the steps under ``"weights/"`` and, in a second round, the steps under ``"finer/"``.

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`fairdash.training.models.train_models`, or if there are too
        few rows for the folds, or if the standard model or every weight diverged.
    """
    started = time.monotonic()
    within = rows_of(dataset, rows)
    if plan.find_lams:
        plan = replace(plan, lams=tuple(run_step("pilot", partial(_pilot, within, plan))["lams"].tolist()))
    lams = sorted({float(lam) for lam in plan.lams if lam > 0})
    share = len(lams) / (len(lams) + plan.refine)

    def part(before: float, width: float) -> Callable[[float], None] | None:
        return None if progress is None else lambda done: progress(before + width * done)

    frame, notes, device = _cross_validated(
        within, plan, [0.0, *lams], progress=part(0.0, share), run_step=units.within(run_step, "weights")
    )
    lam, reached, words = choose_lam(frame, plan)
    finer = _between(frame, plan, lam, reached=reached)
    if finer:
        more, more_notes, _ = _cross_validated(
            within, plan, finer, progress=part(share, 1 - share), run_step=units.within(run_step, "finer")
        )
        frame = pd.concat([frame, more], ignore_index=True).sort_values("lam", ignore_index=True)
        notes = tuple(dict.fromkeys([*notes, *more_notes]))
        lam, reached, words = choose_lam(frame, plan)
    if progress is not None:
        progress(1.0)
    return SearchResult(
        lam=lam,
        reached=reached,
        frame=_with_target_met(frame, plan.target),
        rule=f"{words} By {plan.n_folds}-fold cross-validation within {within.n_rows:,} rows, dependence "
        f"measured on the held-out predictions of {_measured_on(frame, lam)}.",
        measure=plan.measure,
        seconds=time.monotonic() - started,
        device=device,
        notes=notes,
    )


def _pilot(dataset: Dataset, plan: LamSearch) -> units.Found:
    """Return the weights that a pilot finds, or the plan's weights if there is no dependence to remove."""
    every = np.arange(dataset.n_rows)
    lams = find_lams(
        dataset,
        Split(every, every[:0]),
        plan.settings,
        method=plan.method,
        count=len(plan.lams),
        objective=plan.objective,
        random_state=plan.random_state,
        device=plan.device,
    )
    return {"lams": np.array(plan.lams if lams is None else lams)}


def choose_lam(frame: pd.DataFrame, plan: LamSearch) -> tuple[float, bool, str]:
    """Return the weight that :func:`search_lam` selects from `frame`, whether it meets the target, and why.

    Parameters
    ----------
    frame
        Frame with the columns of :func:`search_lam` up to ``excess``, and ``diverged``. The first row is the
        standard model, λ = 0.
    """
    target, judged = plan.target, _with_target_met(frame, plan.target)
    symbol = REGISTRY[plan.measure].symbol
    usable = judged[~judged["diverged"]]
    fair = usable[usable["lam"] > 0]
    if judged["diverged"].iloc[0] or fair.empty:
        failed = "The standard model" if judged["diverged"].iloc[0] else "Every weight"
        raise OptionError.of(f"{failed} diverged in training", "Try a smaller learning rate.", column="lr")
    if target.kind == ERROR:
        met = fair[fair["meets"]]
        if met.empty:
            best = fair.sort_values("increase").iloc[0]
            words = (
                f"No weight meets {target.words}. λ = {best['lam']:g} comes closest, with an error "
                f"{best['increase']:+.1%} relative to the standard model's. Try smaller weights."
            )
            return float(best["lam"]), False, words
        detectable = met["excess"].where(met["dependence"] > met["floor_q95"], 0.0).clip(lower=0)
        best = met.assign(noticed=detectable).sort_values(["noticed", "loss"]).iloc[0]
        words = (
            f"λ = {best['lam']:g}: among the weights that meet {target.words}, it has the least dependence "
            f"by {symbol} ({best['dependence']:.3f}, floor {best['floor']:.3f}). Its error is "
            f"{best['increase']:+.1%} relative to the standard model's."
        )
        return float(best["lam"]), True, words
    met = usable[usable["meets"]]
    if met.empty:
        # Differences between weights below this standard error on independent data do not matter.
        noise = (fair["floor_q95"] - fair["floor"]).clip(lower=0) / NormalDist().inv_cdf(0.95)
        nearest = fair[fair["excess"] <= fair["excess"].min() + noise]
        best = nearest.sort_values("loss").iloc[0]
        words = (
            f"No weight reaches {target.words}. Up to noise, λ = {best['lam']:g} comes closest, with "
            f"{symbol} at {best['dependence']:.3f} (floor {best['floor']:.3f}). "
        )
        if target.kind == MEASURE and target.at_most < best["floor"]:
            words += (
                "With this number of rows, independent data give about the floor, so no model can be "
                "expected to meet the target. Bound the excess over the floor instead."
            )
        else:
            words += "Try larger weights."
        return float(best["lam"]), False, words
    best = met.sort_values("loss").iloc[0]
    if best["lam"] == 0:
        words = f"The standard model already meets {target.words}, so no weight is needed."
    else:
        words = (
            f"λ = {best['lam']:g}: among the weights that reach {target.words}, it has the smallest error "
            f"({best['increase']:+.1%} relative to the standard model's). {symbol} is at "
            f"{best['dependence']:.3f} (floor {best['floor']:.3f})."
        )
    return float(best["lam"]), True, words


def _measured_on(frame: pd.DataFrame, lam: float) -> str:
    if frame.loc[frame["lam"] == lam, "diluted"].iloc[0]:
        return "each fold, since the folds' models depend on the sensitive column in different ways"
    return "all folds together"


_BOUNDED = {MEASURE: "dependence", EXCESS: "excess", ERROR: "increase"}


def _with_target_met(frame: pd.DataFrame, target: Target) -> pd.DataFrame:
    """Return the frame with the additional columns ``increase`` and ``meets``."""
    increase = frame["loss"] / frame["loss"].iloc[0] - 1
    judged = frame.assign(increase=increase)
    return judged.assign(meets=(judged[_BOUNDED[target.kind]] <= target.at_most) & ~frame["diverged"])


def _between(frame: pd.DataFrame, plan: LamSearch, lam: float, *, reached: bool) -> list[float]:
    """Return the weights of a second round, or none if no neighbour is on the other side of the target."""
    judged = _with_target_met(frame, plan.target)
    lams = judged["lam"].to_numpy()
    at = int(np.flatnonzero(lams == lam)[0])
    if plan.target.kind == ERROR:
        # The error rises with λ, so the search continues above a weight that meets the target, or below a
        # weight that does not.
        low, high = (at, at + 1) if reached else (at - 1, at)
    elif reached:
        low, high = at - 1, at
    else:
        return []
    if low < 0 or high == len(lams) or (judged["meets"].iloc[low] == judged["meets"].iloc[high]):
        return []
    between = np.geomspace if lams[low] > 0 else np.linspace
    return [float(weight) for weight in between(lams[low], lams[high], plan.refine + 2)[1:-1]]


def _cross_validated(
    dataset: Dataset,
    plan: LamSearch,
    lams: Sequence[float],
    *,
    progress: Callable[[float], None] | None,
    run_step: StepRunner,
) -> tuple[pd.DataFrame, tuple[str, ...], str]:
    """Cross-validate weights, and return one row per weight, the notes and the device used for training."""
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
