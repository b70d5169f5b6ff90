"""Compare methods by one protocol: their error at equal dependence, read by measures that none minimises."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY, independence_floor
from fairdash.dependence.api import Estimator, Pairs
from fairdash.errors import OptionError
from fairdash.evaluation.assess import MAX_ROWS
from fairdash.evaluation.execute_sweep import with_lams_found
from fairdash.evaluation.insurance import bands_of
from fairdash.evaluation.rivals import RIVALS
from fairdash.tariff.plan import fit_path
from fairdash.training.losses import Loss
from fairdash.training.methods import DEFAULT_METHOD, FAIR_TARIFF, METHODS, PATHS, STANDARD
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split, at_most, corrected_standard_error
from fairdash.training.sweep import Sweep, default_plan, train_sweep
from fairdash.utils.registry import get_entry
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]
#: A function of λ that returns an estimator with ``fit(X, y, sensitive_features=…)`` and ``predict(X)``.
Factory = Callable[[float], Any]

#: Shares of the standard network's dependence at which errors are compared.
LEVELS = (0.75, 0.5, 0.25)
#: Weights that mean no penalty, or nearly none.
MEASURES = ("hgr_rdc", "mi_ksg")
#: Largest minus smallest average prediction over tenths of s.
GAP = "gap"
READINGS = (*MEASURES, GAP)
#: Weights of a method that names none in an attribute ``lams``.
LAMS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
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
) -> pd.DataFrame:
    """Train methods at several weights on the same splits and read every model.

    Parameters
    ----------
    methods, others, n_splits, random_state, settings
        As :func:`fairdash.bench` has them.
    progress
        Hears each method's name before it is trained.

    Returns
    -------
    DataFrame, a row a method, weight and split
        ``method``, ``lam``, ``split``, ``error`` (the loss on test rows divided by the constant's),
        ``test_to_train``, ``cpu_s`` (of all the method's models, by split), ``needs_s``, and for each reading
        its value above the floor on validation and test rows, such as ``gap_validation``.
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
    entrants: dict[str, str | Factory] = {name: _entrant(name) for name in (STANDARD, *names)}
    entrants |= others or {}
    judge = _Judge(dataset, plan)
    found, of_standard = [], 0.0
    for name, entrant in entrants.items():
        progress(name)
        begun, needs_s = time.process_time(), False
        if isinstance(entrant, str):
            members, predictions = _train(dataset, plan, entrant)
        else:
            needs_s = "sensitive_features" in _parameters(entrant, "predict")
            members, predictions = _fit(dataset, judge.splits, entrant, judge.standard, needs_s=needs_s)
        seconds = (time.process_time() - begun) / n_splits
        if name == STANDARD:
            judge.standard, of_standard = predictions, seconds
        elif getattr(entrant, "repairs", False):
            seconds += of_standard
        read = judge.read(members, predictions)
        found.append(read.assign(method=name, cpu_s=seconds, needs_s=needs_s))
    return pd.concat(found, ignore_index=True)


def default_methods(dataset: Dataset, loss: Loss) -> tuple[str, ...]:
    """Return the ids of all fair methods that take these sensitive columns, and of tariffs for prices."""
    several = dataset.sensitive.shape[1] > 1
    fair = [name for name, each in METHODS.items() if each.penalty and (each.multivariate or not several)]
    return (*fair, *([FAIR_TARIFF] if loss.has_log_link else []), *(() if several else RIVALS))


def _entrant(name: str) -> str | Factory:
    """Method of a registry by its id, or a class by ``module:name``."""
    module, of_a_module, attribute = name.partition(":")
    if not of_a_module:
        return name if name in PATHS else get_entry({**RIVALS, **PATHS}, name, option="method")
    try:
        factory: Factory = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        hint = "Name a class as module:Class, and start where Python finds the module."
        raise OptionError.of(f"“{name}” can't be imported: {error}", hint, column="method") from error
    return factory


def _train(dataset: Dataset, plan: Sweep, method: str) -> tuple[pd.DataFrame, Array]:
    """Models of a method in the registry: λ = 0, and weights that a pilot finds for this method."""
    if method != STANDARD:
        plan = with_lams_found(dataset, replace(plan, methods=(STANDARD, method), find_lams=True))
    if method == FAIR_TARIFF:
        trained = fit_path(dataset, plan, plan.splits(dataset), confirms=False)
    else:
        trained = train_sweep(dataset, plan, confirms=False)
    kept = (~trained.members["diverged"] | (method == STANDARD)).to_numpy()
    return trained.members[kept], trained.predictions[kept]


def _parameters(factory: Factory, function: str) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(getattr(factory(0.0), function)).parameters


def _fit(
    dataset: Dataset, splits: Sequence[Split], factory: Factory, prices: Array, *, needs_s: bool
) -> tuple[pd.DataFrame, Array]:
    """Models of somebody's class, on the training rows of each split."""
    s, y, members, predictions = dataset.sensitive, dataset.target.to_numpy(dtype=float), [], []
    weighs = dataset.weight is not None and "sample_weight" in _parameters(factory, "fit")
    for j, split in enumerate(splits):
        x = pd.DataFrame({"price": prices[j]}) if getattr(factory, "repairs", False) else dataset.features
        train = split.train
        for lam in getattr(factory, "lams", LAMS):
            model, options = factory(lam), {}
            if weighs and dataset.weight is not None:
                options["sample_weight"] = dataset.weight.to_numpy(dtype=float)[train]
            model.fit(x.iloc[train], y[train], sensitive_features=s.iloc[train], **options)
            members.append({"lam": float(lam), "split": j})
            predictions.append(np.ravel(model.predict(x, **({"sensitive_features": s} if needs_s else {}))))
    return pd.DataFrame(members), np.array(predictions, dtype=float)


class _Judge:
    """Read the error and the dependence of models on one data set's splits.

    Attributes
    ----------
    splits
        Of the plan.
    standard
        (J, n) predictions of the standard network of each split, whose floors all models have.
    """

    def __init__(self, dataset: Dataset, plan: Sweep) -> None:
        self.splits, self.seed = plan.splits(dataset), plan.random_state
        self.standard: Array = np.empty((0, dataset.n_rows))
        self._loss: Loss = plan.settings.loss_function
        self._y = dataset.target.to_numpy(dtype=float)
        self._s = dataset.sensitive.to_numpy(dtype=float).T
        self._has_weight = dataset.weight is not None
        self._weight = (
            np.ones(len(self._y)) if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
        )
        self._floors: dict[tuple[object, ...], float] = {}

    def read(self, members: pd.DataFrame, predictions: Array) -> pd.DataFrame:
        found = []
        for j, split in enumerate(self.splits):
            own = np.flatnonzero(members["split"] == j)
            rows: dict[str, Any] = {"lam": members["lam"].to_numpy()[own], "split": j}
            relative = {"rows": split.test, "train": split.train}
            u = predictions[own]
            rows["error"] = self._loss.relative_of_many(self._y, u, self._weight, **relative)
            rows["test_to_train"] = len(split.test) / len(split.train)
            for part in _PARTS:
                rng = rng_of(Stream.MEASURED_ROWS, self.seed, j)
                sample = at_most(split.parts[part], MAX_ROWS, rng)
                for reading in READINGS:
                    # Among several columns, the one that a model follows most.
                    by_column = [
                        self._above_floor(u[:, sample], k, sample, reading, (j, part))
                        for k in range(len(self._s))
                    ]
                    rows[f"{reading}_{part}"] = np.max(by_column, axis=0)
            found.append(pd.DataFrame(rows))
        return pd.concat(found, ignore_index=True)

    def _above_floor(
        self, u: Array, column: int, rows: NDArray[np.int64], reading: str, place: tuple[int, str]
    ) -> Array:
        s, weight = self._s[column, rows], self._weight[rows]
        if reading == GAP:
            return _gaps(u, s, weight, self.seed)
        measure, key = REGISTRY[reading], (reading, column, *place)
        used = weight if self._has_weight and measure.accepts_weights else None
        if key not in self._floors:
            # Computed once for the standard network: the law of ranks is the same for all models.
            options: dict[str, Any] = {"n_permutations": _PERMUTATIONS, "random_state": self.seed}
            base = self.standard[place[0], rows][None]
            floor = independence_floor(reading, base, s, sample_weight=used, **options)
            self._floors[key] = float(floor.mean[0])
        pairs = Pairs.of(u, s, used, measure=measure)
        # A constant has neither a dependence nor a floor.
        own = np.where(pairs.varying(), self._floors[key], 0.0)
        return Estimator(measure, random_state=self.seed).values(pairs) - own


def _gaps(u: Array, s: Array, weight: Array, seed: int) -> Array:
    """Gap of averages of each model (K,), minus its mean over permutations of s."""
    bands = bands_of(s, weight)
    rng = rng_of(Stream.PAIR_PERMUTATIONS, seed)

    def gap(order: NDArray[np.intp]) -> Array:
        cells = (bands[order, None] == np.arange(bands.max() + 1)) * weight[:, None]
        return np.ptp((u @ cells) / cells.sum(axis=0), axis=1)

    floor = np.mean([gap(rng.permutation(len(s))) for _ in range(_PERMUTATIONS)], axis=0)
    return np.asarray(gap(np.arange(len(s))) - floor)


def place_below(dependence: Array, wanted: float) -> float:
    """Return where a path first comes down to a dependence, as a place between its models, or else NaN.

    >>> place_below(np.array([0.8, 0.6, 0.2]), 0.4)
    1.5
    """
    below = np.flatnonzero(dependence <= wanted)
    if not len(below):
        return float("nan")
    k = int(below[0])
    if k == 0:
        return 0.0
    return k - float((wanted - dependence[k]) / (dependence[k - 1] - dependence[k]))


def equal_dependence(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the error of each method where its dependence is a share of the standard network's.

    Parameters
    ----------
    rows
        As :func:`compare_methods` gives them.

    Returns
    -------
    DataFrame, a row a method, reading and level
        As :func:`fairdash.bench` has it.
    """
    found = [each for method in rows["method"].unique() for each in _equal(rows, method)]
    ratio = float(rows["test_to_train"].mean())
    default = {key[1:]: errors for key, _, errors in found if key[0] == DEFAULT_METHOD}
    ranked = []
    for key, figures, errors in found:
        more = np.full(len(errors), np.nan)
        if key[0] != DEFAULT_METHOD and key[1:] in default:
            more = errors - default[key[1:]]
        row = dict(zip(("method", "reading", "level"), key, strict=True)) | figures
        ranked.append(row | with_interval(errors, "error", ratio) | with_interval(more, "more", ratio))
    return pd.DataFrame(ranked)


def _equal(rows: pd.DataFrame, method: str) -> Iterator[tuple[tuple[str, str, float], dict[str, Any], Array]]:
    """Method, reading and level; figures; and the error of each split, NaN where the level isn't reached."""
    standard, own = rows[rows["method"] == STANDARD], rows[rows["method"] == method]
    paths = [own[own["split"] == split].sort_values("lam") for split in standard["split"]]
    for reading in READINGS:
        on_validation, on_test = (float(standard[f"{reading}_{part}"].mean()) for part in _PARTS)
        for level in (1.0,) if method == STANDARD else LEVELS:
            at_level = np.full((2, len(paths)), np.nan)
            for j, path in enumerate(paths):
                place = 0.0
                if method != STANDARD:
                    # Without a dependence there is nothing to reduce.
                    wanted = level * on_validation if on_validation > 0 else -np.inf
                    place = place_below(path[f"{reading}_validation"].to_numpy(), wanted)
                if np.isfinite(place):
                    for k, name in enumerate(("error", f"{reading}_test")):
                        at_level[k, j] = np.interp(place, np.arange(len(path)), path[name])
            errors, reached = at_level
            there = np.isfinite(errors)
            figures = {
                "splits": len(paths),
                "reached": int(there.sum()),
                "dependence": float(reached[there].mean()) / on_test if there.any() else np.nan,
                "needs_s": bool(own["needs_s"].iloc[0]),
                "cpu_s": float(own["cpu_s"].iloc[0]),
            }
            yield (method, reading, level), figures, errors


def with_interval(values: Array, name: str, test_to_train: float) -> dict[str, float]:
    """Return the mean of the finite values over splits, and its 95 % interval, by name; NaN without them.

    The interval counts the rows that the splits share (Nadeau and Bengio 2003).
    """
    values = values[np.isfinite(values)]
    fields = dict.fromkeys((name, f"{name}_low", f"{name}_high"), np.nan)
    if len(values):
        fields[name] = mean = float(values.mean())
    if len(values) > 1:
        error = corrected_standard_error(
            values.var(ddof=1), n_splits=len(values), test_to_train=test_to_train
        )
        off = float(stats.t.ppf(0.975, len(values) - 1)) * float(error)
        fields |= {f"{name}_low": mean - off, f"{name}_high": mean + off}
    return fields
