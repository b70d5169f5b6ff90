"""Comparison of methods' errors at equal dependence; no method minimises the measures of dependence used."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.dependence.api import Estimator, Pairs
from fairdash.errors import OptionError
from fairdash.evaluation.assess import MAX_ROWS
from fairdash.evaluation.crossed_cells import crossings_of
from fairdash.evaluation.execute_sweep import with_lams_found
from fairdash.evaluation.insurance import bands_of
from fairdash.evaluation.rivals import RIVALS
from fairdash.tariff.plan import fit_path
from fairdash.training.crossvalidation import settings_of_splits, tune
from fairdash.training.losses import Loss
from fairdash.training.methods import DEFAULT_METHOD, FAIR_TARIFF, METHODS, PATHS, STANDARD
from fairdash.training.models import train_models
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split, corrected_standard_error, sample_at_most
from fairdash.training.sweep import Sweep, default_plan
from fairdash.utils.registry import get_entry
from fairdash.utils.rounding import SINGLE, restore_ties
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]
#: Function of λ that returns an estimator with ``fit(X, y, sensitive_features=…)`` and ``predict(X)``.
Factory = Callable[[float], Any]

#: Levels of dependence at which the errors of the methods are compared, as shares of the standard network's
#: dependence.
LEVELS = (0.75, 0.5, 0.25)
#: Ids of the measures of dependence by which methods are compared.
MEASURES = ("hgr_rdc", "mi_ksg")
#: Name of the measure “largest minus smallest average prediction in ten bands of s”.
GAP = "gap"
READINGS = (*MEASURES, GAP)
#: Suffix of the name of a measure that uses all sensitive columns jointly.
JOINT = "_joint"
#: Weights λ for a method without an attribute ``lams``.
LAMS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
#: Number of weights λ above 0 that trial trainings find for a registered method.
N_LAMS = 6
_PERMUTATIONS = 20
_PARTS = ("validation", "test")


def compare_methods(
    dataset: Dataset,
    methods: Sequence[str] | None = None,
    *,
    others: Mapping[str, Factory] | None = None,
    n_splits: int = 10,
    random_state: int = 0,
    settings: TrainingSettings | None = None,
    progress: Callable[[str], None] = lambda _: None,
    lams: Mapping[str, Sequence[float]] | None = None,
    truth: Array | None = None,
) -> pd.DataFrame:
    """Train methods at several weights on the same splits, and measure error and dependence of every model.

    Parameters
    ----------
    methods, others, n_splits, random_state, settings
        Same meaning as in :func:`fairdash.bench`.
    progress
        Function that receives the name of each method before its training.
    lams
        Weights λ, in ascending order and without 0, for methods whose weights are not searched for.
    truth
        Expected target of each row, (n,), if it is known from a simulation. The error on test rows then
        refers to this expected target.

    Returns
    -------
    DataFrame, one row per method, weight and split
        Columns ``method``, ``lam``, ``split``, ``error`` (loss on test rows divided by the constant model's
        loss), ``test_to_train``, ``cpu_s`` (CPU seconds of all models of the method per split, without the
        search for weights), ``needs_s``, and for each measure the value minus its noise floor on validation
        and test rows, such as ``gap_validation``. If there are several sensitive columns, further columns
        contain joint measures, such as ``gap_joint_test``.
    """
    plan = default_plan(
        dataset,
        methods=(STANDARD,),
        n_splits=n_splits,
        random_state=random_state,
        confirmation=0.0,
        settings=settings,
        tariff=False,
    )
    names = default_methods(dataset, plan.settings.loss_function) if methods is None else methods
    entrants: dict[str, str | Factory] = {name: _method_named(name) for name in names} | dict(others or {})
    work = _PreparedSplits.of(dataset, plan)
    judge = _Evaluator(dataset, plan, work, truth)
    members = pd.DataFrame({"lam": 0.0, "split": np.arange(n_splits)})
    results = [
        judge.evaluate(members, work.standard).assign(method=STANDARD, cpu_s=work.seconds, needs_s=False)
    ]
    for name, entrant in entrants.items():
        progress(name)
        needs_s, extra = False, 0.0
        if isinstance(entrant, str):
            chosen = work.with_lams(entrant, (lams or {}).get(entrant))
            cpu_start = time.process_time()
            members, predictions = work.train(chosen, entrant)
        else:
            cpu_start = time.process_time()
            needs_s = "sensitive_features" in _parameters(entrant, "predict")
            members, predictions = _fit(dataset, work.splits, entrant, work.standard, needs_s=needs_s)
            extra = work.seconds if getattr(entrant, "repairs", False) else 0.0
        seconds = (time.process_time() - cpu_start) / n_splits + extra
        results.append(
            judge.evaluate(members, predictions).assign(method=name, cpu_s=seconds, needs_s=needs_s)
        )
    return pd.concat(results, ignore_index=True)


def default_methods(dataset: Dataset, loss: Loss) -> tuple[str, ...]:
    """Return the ids of fair methods that accept these sensitive columns; tariffs also need a log link."""
    several = dataset.sensitive.shape[1] > 1
    fair = [name for name, entry in METHODS.items() if entry.penalty and (entry.multivariate or not several)]
    rivals = [name for name, entry in RIVALS.items() if entry.multivariate or not several]
    return (*fair, *([FAIR_TARIFF] if loss.has_log_link else []), *rivals)


def _method_named(name: str) -> str | Factory:
    """Return the id of a registered method, or the class with the name ``module:name``."""
    module, of_a_module, attribute = name.partition(":")
    if not of_a_module:
        return name if name in PATHS else get_entry({**RIVALS, **PATHS}, name, option="method")
    try:
        factory: Factory = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        hint = "Name a class as module:Class, and run the command where Python finds the module."
        raise OptionError.of(f"“{name}” can't be imported: {error}", hint, column="method") from error
    return factory


@dataclass(frozen=True)
class _PreparedSplits:
    """Splits of a plan, with the tuned settings and the standard network's predictions for each split."""

    dataset: Dataset
    plan: Sweep
    splits: tuple[Split, ...]
    settings: tuple[TrainingSettings, ...]
    standard: Array
    seconds: float

    @classmethod
    def of(cls, dataset: Dataset, plan: Sweep) -> _PreparedSplits:
        splits, device = plan.splits(dataset), plan.device_for(dataset.n_rows)
        cpu_start, settings = time.process_time(), (plan.settings,) * plan.n_splits
        if plan.tune:
            options: dict[str, Any] = {"random_state": plan.random_state, "device": device}
            tuning, models = tune(dataset, splits, plan.settings, **options)
            work = cls(dataset, plan, splits, settings_of_splits(tuning, plan.settings), np.empty(0), 0.0)
            standard = models.predictions
        else:
            work = cls(dataset, plan, splits, settings, np.empty(0), 0.0)
            standard = work._networks(plan)[1]
        return replace(work, standard=standard, seconds=(time.process_time() - cpu_start) / plan.n_splits)

    def with_lams(self, method: str, lams: Sequence[float] | None) -> Sweep:
        """Return the plan of a method, with the given weights λ or with weights that trial trainings find."""
        methods = (STANDARD, method) if method == FAIR_TARIFF else (method,)
        plan = replace(self.plan, methods=methods, tune=False, settings=self.settings[0])
        if lams is not None:
            return replace(plan, lams=tuple(lams))
        return with_lams_found(self.dataset, replace(plan, lams=plan.lams[:N_LAMS], find_lams=True))

    def train(self, plan: Sweep, method: str) -> tuple[pd.DataFrame, Array]:
        """Train the models of a registered method; its models at λ = 0 are the standard networks."""
        if method == FAIR_TARIFF:
            models = fit_path(self.dataset, plan, self.splits, confirms=False)
            return models.members, models.predictions
        members, predictions = self._networks(plan)
        standard_members = pd.DataFrame({"lam": 0.0, "split": np.arange(len(self.splits))})
        return pd.concat([standard_members, members], ignore_index=True), np.concatenate(
            [self.standard, predictions]
        )

    def _networks(self, plan: Sweep) -> tuple[pd.DataFrame, Array]:
        models = train_models(
            self.dataset,
            self.splits,
            plan.models(self.settings),
            objective=plan.objective,
            random_state=plan.random_state,
            device=plan.device_for(self.dataset.n_rows),
        )
        is_usable = (~models.members["diverged"] | (plan.methods == (STANDARD,))).to_numpy()
        return models.members[is_usable], models.predictions[is_usable]


def _parameters(factory: Factory, function: str) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(getattr(factory(0.0), function)).parameters


def _fit(
    dataset: Dataset, splits: Sequence[Split], factory: Factory, prices: Array, *, needs_s: bool
) -> tuple[pd.DataFrame, Array]:
    """Fit models of a user's class to the training rows of each split."""
    s, y, members, predictions = dataset.sensitive, dataset.target.to_numpy(dtype=float), [], []
    takes_weights = dataset.weight is not None and "sample_weight" in _parameters(factory, "fit")
    for j, split in enumerate(splits):
        x = pd.DataFrame({"price": prices[j]}) if getattr(factory, "repairs", False) else dataset.features
        train = split.train
        for lam in getattr(factory, "lams", LAMS):
            model, options = factory(lam), {}
            if takes_weights and dataset.weight is not None:
                options["sample_weight"] = dataset.weight.to_numpy(dtype=float)[train]
            model.fit(x.iloc[train], y[train], sensitive_features=s.iloc[train], **options)
            members.append({"lam": float(lam), "split": j})
            predictions.append(np.ravel(model.predict(x, **({"sensitive_features": s} if needs_s else {}))))
    return pd.DataFrame(members), np.array(predictions, dtype=float)


class _Evaluator:
    """Measure the error and the dependence of models on the splits of a data set.

    All models share the noise floors of the standard network, because the distribution of ranks is the same.
    """

    def __init__(self, dataset: Dataset, plan: Sweep, work: _PreparedSplits, truth: Array | None) -> None:
        self._work, self._seed = work, plan.random_state
        self._loss: Loss = plan.settings.loss_function
        self._y = dataset.target.to_numpy(dtype=float) if truth is None else truth
        s = dataset.sensitive.to_numpy(dtype=float)
        self._columns = [s[:, [k]] for k in range(s.shape[1])]
        self._weight = dataset.row_weight
        self._used = None if dataset.weight is None else self._weight
        #: Each measure is computed for these sensitive columns; its result is the largest value over the
        #: columns.
        self._columns_of: dict[str, list[Array]] = dict.fromkeys(READINGS, self._columns)
        if len(self._columns) > 1:
            cells = [cell.codes[:, None].astype(float) for cell in crossings_of(dataset.sensitive).values()]
            self._columns_of |= {name + JOINT: [s] for name in MEASURES} | (
                {GAP + JOINT: cells} if cells else {}
            )
        self._floors: dict[tuple[object, ...], float] = {}

    def evaluate(self, members: pd.DataFrame, predictions: Array) -> pd.DataFrame:
        frames = []
        for j, split in enumerate(self._work.splits):
            at_split = np.flatnonzero(members["split"] == j)
            rows: dict[str, Any] = {"lam": members["lam"].to_numpy()[at_split], "split": j}
            relative = {"rows": split.test, "train": split.train}
            u = predictions[at_split]
            rows["error"] = self._loss.relative_of_many(self._y, u, self._weight, **relative)
            rows["test_to_train"] = len(split.test) / len(split.train)
            for part in _PARTS:
                rng = rng_of(Stream.MEASURED_ROWS, self._seed, j)
                sample = sample_at_most(split.parts[part], MAX_ROWS, rng)
                for reading, columns in self._columns_of.items():
                    by_column = [
                        self._excess_over_floor(u[:, sample], s[sample], sample, reading, (k, j, part))
                        for k, s in enumerate(columns)
                    ]
                    rows[f"{reading}_{part}"] = np.max(by_column, axis=0)
            frames.append(pd.DataFrame(rows))
        return pd.concat(frames, ignore_index=True)

    def _excess_over_floor(
        self, u: Array, s: Array, rows: NDArray[np.int64], reading: str, key_of_part: tuple[int, int, str]
    ) -> Array:
        name, key = reading.removesuffix(JOINT), (reading, *key_of_part)
        if name == GAP:
            weight = self._weight[rows]
            groups = bands_of(s[:, 0], weight) if name == reading else s[:, 0].astype(np.intp)
            # Rows of cells that are too small belong to no group, so they are left out.
            grouped = groups >= 0
            return _gaps(u[:, grouped], groups[grouped], weight[grouped], self._seed)
        measure = REGISTRY[name]
        used = self._used[rows] if self._used is not None and measure.accepts_weights else None
        estimator = Estimator(measure, random_state=self._seed)

        def pairs_of(u: Array) -> Pairs:
            stacked = np.broadcast_to(s, (len(u), *s.shape))
            u = restore_ties(u, eps=SINGLE)
            return Pairs.of(u, stacked, None if used is None else np.broadcast_to(used, u.shape))

        if key not in self._floors:
            base = pairs_of(self._work.standard[key_of_part[1], rows][None])
            rng = rng_of(Stream.PAIR_PERMUTATIONS, self._seed)
            orders = np.stack([rng.permutation(len(rows)) for _ in range(_PERMUTATIONS)])
            self._floors[key] = float(estimator.null(base, orders).mean())
        pairs = pairs_of(u)
        # Constant predictions have dependence 0 and noise floor 0.
        return estimator.values(pairs) - np.where(pairs.varying(), self._floors[key], 0.0)


def _gaps(u: Array, groups: NDArray[np.intp], weight: Array, seed: int) -> Array:
    """Return each model's gap between group averages, (K,), minus its mean gap for permuted groups (n,)."""
    rng = rng_of(Stream.PAIR_PERMUTATIONS, seed)
    groups = np.unique(groups, return_inverse=True)[1]

    def gap(order: NDArray[np.intp]) -> Array:
        cells = (groups[order, None] == np.arange(groups.max() + 1)) * weight[:, None]
        return np.ptp((u @ cells) / cells.sum(axis=0), axis=1)

    floor = np.mean([gap(rng.permutation(len(groups))) for _ in range(_PERMUTATIONS)], axis=0)
    return np.asarray(gap(np.arange(len(groups))) - floor)


def fractional_index_below(dependence: Array, level: float) -> float:
    """Return the interpolated index at which dependence first falls to a value, or NaN if it never does.

    >>> fractional_index_below(np.array([0.8, 0.6, 0.2]), 0.4)
    1.5
    """
    below = np.flatnonzero(dependence <= level)
    if not len(below):
        return float("nan")
    k = int(below[0])
    if k == 0:
        return 0.0
    return k - float((level - dependence[k]) / (dependence[k - 1] - dependence[k]))


def equal_dependence(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the error of each method at given shares of the standard network's dependence.

    Parameters
    ----------
    rows
        Result of :func:`compare_methods`.

    Returns
    -------
    DataFrame, one row per method, reading and level
        Result of :func:`fairdash.bench`.
    """
    results = [result for method in rows["method"].unique() for result in _errors_at_levels(rows, method)]
    ratio = float(rows["test_to_train"].mean())
    default = {key[1:]: errors for key, _, errors in results if key[0] == DEFAULT_METHOD}
    ranked = []
    for key, figures, errors in results:
        other = None if key[0] == DEFAULT_METHOD else default.get(key[1:])
        difference = np.empty(0) if other is None else (errors - other).to_numpy()
        row = dict(zip(("method", "reading", "level"), key, strict=True)) | figures
        ranked.append(
            row | with_interval(errors.to_numpy(), "error", ratio) | with_interval(difference, "more", ratio)
        )
    return pd.DataFrame(ranked)


def _errors_at_levels(
    rows: pd.DataFrame, method: str
) -> Iterator[tuple[tuple[str, str, float], dict[str, Any], pd.Series]]:
    """Yield a key (method, measure, level), results, and errors by split (NaN for unreached levels)."""
    standard, of_method = rows[rows["method"] == STANDARD], rows[rows["method"] == method]
    paths = {split: path.sort_values("lam") for split, path in of_method.groupby("split")}
    for reading in (*READINGS, *(name + JOINT for name in READINGS)):
        if f"{reading}_test" not in of_method or of_method[f"{reading}_test"].isna().all():
            continue
        on_validation, on_test = (float(standard[f"{reading}_{part}"].mean()) for part in _PARTS)
        # Validation and test rows of all splits are used, because a few splits may have too few test rows.
        values = np.concatenate([standard[f"{reading}_{part}"] for part in _PARTS])
        low = with_interval(values, "seen", 0.0)["seen_low"] if len(standard) > 1 else np.nan
        has_link = bool(on_validation > 0 and not low <= 0)
        for level in (1.0,) if method == STANDARD else LEVELS:
            at_level = np.full((2, len(paths)), np.nan)
            for j, path in enumerate(paths.values()):
                position = 0.0
                if method != STANDARD:
                    # If dependence is not larger than noise, there is nothing to reduce, so no level can be
                    # reached.
                    target = level * on_validation if has_link else -np.inf
                    position = fractional_index_below(path[f"{reading}_validation"].to_numpy(), target)
                if np.isfinite(position):
                    for k, name in enumerate(("error", f"{reading}_test")):
                        at_level[k, j] = np.interp(position, np.arange(len(path)), path[name])
            errors, dependence = at_level
            is_reached = np.isfinite(errors)
            figures = {
                "splits": len(paths),
                "reached": int(is_reached.sum()),
                "linked": has_link,
                "dependence": float(dependence[is_reached].mean()) / on_test if is_reached.any() else np.nan,
                "needs_s": bool(of_method["needs_s"].iloc[0]),
                "cpu_s": float(of_method["cpu_s"].iloc[0]),
            }
            yield (method, reading, level), figures, pd.Series(errors, index=[*paths])


def with_interval(values: Array, name: str, test_to_train: float) -> dict[str, float]:
    """Return the mean of finite values over splits and its 95 % interval, by name, or NaN for no values.

    The interval takes into account that splits share rows (Nadeau and Bengio 2003).
    """
    values = values[np.isfinite(values)]
    fields = dict.fromkeys((name, f"{name}_low", f"{name}_high"), np.nan)
    if len(values):
        fields[name] = mean = float(values.mean())
    if len(values) > 1:
        error = corrected_standard_error(
            values.var(ddof=1), n_splits=len(values), test_to_train=test_to_train
        )
        half_width = float(stats.t.ppf(0.975, len(values) - 1)) * float(error)
        fields |= {f"{name}_low": mean - half_width, f"{name}_high": mean + half_width}
    return fields
