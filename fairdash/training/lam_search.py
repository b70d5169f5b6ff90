"""Find the weight λ that meets a target, by cross-validation."""

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
from fairdash.jobs.steps import Unit, at_once
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
    """Bound on dependence or on error.

    Parameters
    ----------
    kind
        ``"measure"``: the measure is at most `at_most`. ``"excess"``: the measure is at most `at_most`
        above its independence floor (the same estimator on the same rows, with the sensitive column
        permuted). ``"error"``: the error is at most the share `at_most` above the standard model's.
    at_most
        Bound, finite and at least 0.
    measure
        Id in :data:`fairdash.dependence.REGISTRY`; empty for ``"error"``. The bound applies to the absolute
        value of signed measures.

    Raises
    ------
    OptionError
        The measure is not known or takes discrete variables only, or the bound can't be used.

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
            raise _refused("This kind of target is not known")
        if not math.isfinite(self.at_most) or self.at_most < 0:
            raise _refused("The target's bound is not a number of 0 or more")
        if self.kind == ERROR:
            if self.measure:
                raise _refused("A target for the error has no measure")
            return
        if get_entry(REGISTRY, self.measure, option="measure").discrete:
            raise _refused(f"“{self.measure}” is for discrete variables, and predictions are not")

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse a target; ``error`` may be written ``mse``, and ``<=`` may be written ``≤``.

        The error is the training loss: the mean squared error, unless the settings choose another loss.
        """
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise _refused("The target can't be read")
        name, kind = match["name"].lower(), (match["kind"] or "").replace(" ", "").lower()
        try:
            at_most = float(match["number"])
        except ValueError:
            raise _refused("The target's bound is not a number") from None
        if name in ("mse", "error"):
            if kind != "+" or not match["percent"]:
                raise _refused("A target for the error is a share above the standard model's")
            return cls(kind=ERROR, at_most=at_most / 100)
        if kind == "+" or match["percent"]:
            raise _refused("A target for a measure is a number, without + or %")
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


def _refused(what: str) -> OptionError:
    return OptionError.of(what, _HOW_TO_WRITE, column="target")


@dataclass(frozen=True, kw_only=True)
class LamSearch(SearchPlan):
    """Plan of a search for a weight λ: the candidates, and the target.

    Parameters
    ----------
    target
        Target for the model.
    lams
        Weights λ ≥ 0 to try, each different, one of them above 0; the standard model (λ = 0) is always
        tried beside them.
    find_lams
        Whether as many weights as `lams` has are first found where the front is, by
        :func:`fairdash.training.pilot.find_lams` within the same rows, instead of those in `lams`.
    refine
        Weights to try in a second round, between the one that was found and its neighbour on the other
        side of the target; 0 for no second round.
    method, n_folds, objective, random_state, settings, device
        As in :class:`fairdash.training.sweep.SearchPlan`; not ``"standard"``, and 10 folds as in the paper.

    Raises
    ------
    OptionError
        With every option that can't be used.
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
        """Id of the measure for comparison: the target's, or the method's own."""
        return self.target.measure or METHODS[self.method].selection_measure


#: Name of the result for notebooks.
LamChoice = SearchResult


def search_lam(
    dataset: Dataset,
    plan: LamSearch,
    *,
    rows: NDArray[np.int64] | None = None,
    progress: Callable[[float], None] | None = None,
    unit: Unit = at_once,
) -> SearchResult:
    """Find the weight that meets the target of `plan`, by cross-validation within `rows`.

    For a bound on dependence this is, of the weights that meet it, the one with the smallest loss; if none
    does, of those whose excess is within one standard error of the least (the standard deviation of the
    measure on independent data), the one with the smallest loss. For a bound on the error it is, of the
    weights within it, the one with the smallest excess dependence; weights indistinguishable from
    independence (at most the floor's 95 % quantile) are alike, and the smaller loss decides.

    Dependence is measured once on the held-out predictions of all folds together, not fold by fold: a
    fold of a tenth of the rows has so high a floor that a target like 0.05 lies far below what independent
    data read there. The price is that the folds' models differ, which can dilute their dependence: near a
    constant each may follow the sensitive column in a way of its own. Where the folds themselves show more,
    that counts (:func:`fairdash.training.crossvalidation.dependence_out_of_fold`). On Crime, whose folds'
    models are alike, HGR_KDE of as many rows drawn across the folds was within 0.016 of the folds' own. The
    values hold for as many rows as are in `rows`: on fewer rows an estimator's floor is higher.

    The frame has one row a weight, in increasing order, the first (λ = 0) the standard model: ``lam``;
    ``loss`` (mean over the folds, whose models are trained for as many steps as one of all rows would be; 0
    is perfect, 1 is what a constant reaches) and ``loss_se``;
    ``increase``, the loss's share above the standard model's; ``dependence`` by `measure`, ``floor`` and
    ``floor_q95`` (mean and 95 % quantile of the same with the sensitive column permuted) and ``excess``
    above the mean, all of the pooled held-out rows; ``diluted``, whether pooling hid dependence that the
    folds have each for themselves, so that `excess` and `dependence` are those of the folds; ``meets`` the
    target; ``diverged``.

    Parameters
    ----------
    dataset
        With several sensitive columns the one with the largest excess counts.
    rows
        Row numbers to search within; nothing is learned from the others. None for all.
    progress
        Called with the share done, 0 to 1; it may raise :class:`fairdash.errors.Cancelled`.
    unit
        Asked for ``"pilot"`` where weights are to be found, for what there is under ``"weights/"`` and, in
        a second round, ``"finer/"``.

    Raises
    ------
    OptionError
        As :func:`fairdash.training.models.train_models`; too few rows for the folds; the standard model
        or every weight diverged.
    """
    started = time.monotonic()
    within = rows_of(dataset, rows)
    if plan.find_lams:
        plan = replace(plan, lams=tuple(unit("pilot", partial(_pilot, within, plan))["lams"].tolist()))
    lams = sorted({float(lam) for lam in plan.lams if lam > 0})
    share = len(lams) / (len(lams) + plan.refine)

    def part(before: float, width: float) -> Callable[[float], None] | None:
        return None if progress is None else lambda done: progress(before + width * done)

    frame, notes, device = _try(
        within, plan, [0.0, *lams], progress=part(0.0, share), unit=units.within(unit, "weights")
    )
    lam, reached, words = choose_lam(frame, plan)
    finer = _between(frame, plan, lam, reached=reached)
    if finer:
        more, more_notes, _ = _try(
            within, plan, finer, progress=part(share, 1 - share), unit=units.within(unit, "finer")
        )
        frame = pd.concat([frame, more], ignore_index=True).sort_values("lam", ignore_index=True)
        notes = tuple(dict.fromkeys([*notes, *more_notes]))
        lam, reached, words = choose_lam(frame, plan)
    if progress is not None:
        progress(1.0)
    return SearchResult(
        lam=lam,
        reached=reached,
        frame=_judged(frame, plan.target),
        rule=f"{words} By {plan.n_folds}-fold cross-validation within {within.n_rows:,} rows, dependence "
        f"measured on the held-out predictions of {_measured_on(frame, lam)}.",
        measure=plan.measure,
        seconds=time.monotonic() - started,
        device=device,
        notes=notes,
    )


def _pilot(dataset: Dataset, plan: LamSearch) -> units.Found:
    """Return the weights that a pilot finds, or the plan's if there is no dependence to remove."""
    every = np.arange(dataset.n_rows)
    found = find_lams(
        dataset,
        Split(every, every[:0]),
        plan.settings,
        method=plan.method,
        count=len(plan.lams),
        objective=plan.objective,
        random_state=plan.random_state,
        device=plan.device,
    )
    return {"lams": np.array(plan.lams if found is None else found)}


def choose_lam(frame: pd.DataFrame, plan: LamSearch) -> tuple[float, bool, str]:
    """Return the weight that :func:`search_lam` selects from `frame`, whether it meets the target, and why.

    Parameters
    ----------
    frame
        Columns of :func:`search_lam` up to ``excess``, and ``diverged``; the first row is the standard
        model, λ = 0.
    """
    target, judged = plan.target, _judged(frame, plan.target)
    symbol = REGISTRY[plan.measure].symbol
    usable = judged[~judged["diverged"]]
    fair = usable[usable["lam"] > 0]
    if judged["diverged"].iloc[0] or fair.empty:
        who = "The standard model" if judged["diverged"].iloc[0] else "Every weight"
        raise OptionError.of(f"{who} diverged in training", "Try a smaller learning rate.", column="lr")
    if target.kind == ERROR:
        met = fair[fair["meets"]]
        if met.empty:
            best = fair.sort_values("increase").iloc[0]
            words = (
                f"No weight meets {target.words}. λ = {best['lam']:g} comes closest, with an error "
                f"{best['increase']:+.1%} relative to the standard model's. Try smaller weights."
            )
            return float(best["lam"]), False, words
        noticed = met["excess"].where(met["dependence"] > met["floor_q95"], 0.0).clip(lower=0)
        best = met.assign(noticed=noticed).sort_values(["noticed", "loss"]).iloc[0]
        words = (
            f"λ = {best['lam']:g}: among the weights that meet {target.words}, it has the least dependence "
            f"by {symbol} ({best['dependence']:.3f}, floor {best['floor']:.3f}). Its error is "
            f"{best['increase']:+.1%} relative to the standard model's."
        )
        return float(best["lam"]), True, words
    met = usable[usable["meets"]]
    if met.empty:
        # One standard error of independent data: weights that are closer by less than this are equally good.
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


def _judged(frame: pd.DataFrame, target: Target) -> pd.DataFrame:
    """Return the frame with ``increase`` and ``meets``."""
    increase = frame["loss"] / frame["loss"].iloc[0] - 1
    judged = frame.assign(increase=increase)
    return judged.assign(meets=(judged[_BOUNDED[target.kind]] <= target.at_most) & ~frame["diverged"])


def _between(frame: pd.DataFrame, plan: LamSearch, lam: float, *, reached: bool) -> list[float]:
    """Weights of the second round; none if there is no neighbour on the other side of the target."""
    judged = _judged(frame, plan.target)
    lams = judged["lam"].to_numpy()
    at = int(np.flatnonzero(lams == lam)[0])
    if plan.target.kind == ERROR:
        # The error rises with λ: the first weight that costs too much, or the way down to none.
        low, high = (at, at + 1) if reached else (at - 1, at)
    elif reached:
        low, high = at - 1, at
    else:
        return []
    if low < 0 or high == len(lams) or (judged["meets"].iloc[low] == judged["meets"].iloc[high]):
        return []
    between = np.geomspace if lams[low] > 0 else np.linspace
    return [float(each) for each in between(lams[low], lams[high], plan.refine + 2)[1:-1]]


def _try(
    dataset: Dataset,
    plan: LamSearch,
    lams: Sequence[float],
    *,
    progress: Callable[[float], None] | None,
    unit: Unit,
) -> tuple[pd.DataFrame, tuple[str, ...], str]:
    """Cross-validate some weights: a row each, and the notes and the device of the training."""
    out_of_fold = cross_validate(
        dataset,
        [StackedModel(STANDARD if lam == 0 else plan.method, lam, plan.settings) for lam in lams],
        objective=plan.objective,
        n_folds=plan.n_folds,
        random_state=plan.random_state,
        device=plan.device,
        for_refit=True,
        progress=None if progress is None else lambda share: progress(TRAINING_SHARE * share),
        unit=unit,
    )
    dependence, diluted = dependence_out_of_fold(
        dataset,
        out_of_fold,
        objective=plan.objective,
        measure=plan.measure,
        random_state=plan.random_state,
        unit=unit,
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
