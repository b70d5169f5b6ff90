"""Public functions for pages, the command line and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError
from fairdash.evaluation import DEFAULT_MEASURES, Confirmation, SweepResult, confirm_point
from fairdash.evaluation.result import ReferenceResult as ReferenceResult
from fairdash.training.defaults import LAMS, VALIDATION_SHARE, default_settings
from fairdash.training.lam_search import LamSearch, Target, search_lam
from fairdash.training.methods import DEFAULT_METHOD, STANDARD
from fairdash.training.pilot import is_auto
from fairdash.training.search import SearchResult
from fairdash.training.settings import TrainingSettings
from fairdash.training.split_kinds import with_groups
from fairdash.training.splits import row_numbers
from fairdash.training.sweep import SweepProgress, default_plan
from fairdash.utils.imports import need
from fairdash.utils.registry import get_entry


def sweep(
    dataset: Dataset,
    *,
    methods: Sequence[str] | None = None,
    lams: Sequence[float] | str = "auto",
    objective: str = "demographic_parity",
    n_splits: int | None = None,
    random_state: int = 0,
    validation_share: float = VALIDATION_SHARE,
    split: str | None = None,
    confirmation: float | None = None,
    groups: ArrayLike | None = None,
    settings: TrainingSettings | None = None,
    tune: bool | None = None,
    tariff: bool | None = None,
    device: str = "auto",
    measures: Sequence[str] = DEFAULT_MEASURES,
    importance: bool = True,
    references: bool = True,
    progress: Callable[[SweepProgress], None] | None = None,
    executor: Executor | None = None,
) -> SweepResult:
    """Train methods over a grid of λ and several splits, and evaluate every model.

    Parameters
    ----------
    dataset
        Data set with one sensitive column, or with several columns if all methods accept several columns.
    methods
        Ids in :data:`fairdash.training.methods.METHODS`; by default, the standard model and the fair methods
        of :mod:`fairdash.training.defaults`.
    lams
        Weights λ ≥ 0 of the penalty. ``"auto"`` runs a pilot training, which finds eight weights. The
        dependence of their models falls in even steps from that of the standard model to the independence
        floor (:mod:`fairdash.training.pilot`).
    objective, n_splits, random_state, validation_share, device
        Same meaning as in :class:`fairdash.training.sweep.Sweep`.
    settings
        Training settings. The default loss depends on the target
        (:func:`fairdash.training.defaults.suggested_loss`), and predictions are balanced if this loss has a
        log link. The default schedule depends on the number of training rows
        (:func:`fairdash.training.settings.budget_of`). Settings that you pass are used unchanged.
    split
        A key of :data:`fairdash.training.split_kinds.SPLITS`: ``"random"``, ``"group"`` or ``"time"`` (train
        on earlier rows, test on later rows). The default is ``"group"`` if there are groups, otherwise
        ``"random"``.
    confirmation
        Share of the rows to set aside as a holdout for :func:`confirm`, or 0 for no holdout. The default is a
        fifth of the rows, but at most 10,000 rows, for tables with at least 5,000 rows, and otherwise 0. No
        split contains the holdout rows, and their predictions are NaN.
    groups : (n,) array, optional
        Groups of rows, such as policies, which replace the groups of the data set. Group splits, and all
        folds, keep the rows of a group together. Sensitive values are permuted among whole groups.
    tune
        True to tune learning rate and weight decay on validation rows before the sweep; the default is to
        tune them if `settings` is None.
    tariff
        True to fit tariffs (:class:`fairdash.FairTariff`), too, at λ = 0 and at the weights λ of the other
        methods; the default is to fit tariffs if the loss has a log link.
    measures
        Ids of measures in :data:`fairdash.dependence.REGISTRY`; each measure becomes a column of the frame.
    importance
        True to compute the permutation importance of every feature in every model.
    references
        True to train reference prices, which use s (:func:`references`), too. This training requires a
        single sensitive attribute and at most 30,000 rows.
    progress
        Function that receives a :class:`fairdash.training.sweep.SweepProgress` with the current step in words
        and the completed share. The function may raise :class:`fairdash.errors.Cancelled` to stop the sweep.
    executor
        Executor whose processes compute the steps of the sweep; the results do not depend on the executor.
        Examples are ``concurrent.futures.ProcessPoolExecutor()`` and dask.distributed's
        ``Client(...).get_executor()``. The data and the results of the steps are in a temporary folder, which
        all processes must be able to read and write.

    Returns
    -------
    SweepResult

    Raises
    ------
    OptionError
        Raised if options are invalid; the error lists all invalid options.

    Examples
    --------
    >>> import fairdash as fd
    >>> result = fd.sweep(fd.load_dataset("household", n=400), methods=["hgr_spline"], lams=[1.0], n_splits=1)
    >>> result.frame["method"].unique().tolist()
    ['hgr_spline']
    """
    need("torch")
    # The import loads scikit-learn, so it is deferred until the function is called.
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.evaluation.parallel_sweep import execute_in_parallel

    dataset = with_groups(dataset, groups)
    for name in measures:
        get_entry(REGISTRY, name, option="measure")
    plan = default_plan(
        dataset,
        objective=objective,
        methods=methods,
        lams=lams,
        n_splits=n_splits,
        random_state=random_state,
        validation_share=validation_share,
        split=split,
        confirmation=confirmation,
        settings=settings,
        tune=tune,
        tariff=tariff,
        device=device,
    )

    def notify(message: str, share: float) -> None:
        if progress is not None:
            progress(SweepProgress(message, share))

    options: dict[str, Any] = {"importance": importance, "references": references, "progress": notify}
    options["measures"] = tuple(measures)
    if executor is None:
        return execute_sweep(dataset, plan, **options)
    with TemporaryDirectory(prefix="fairdash-") as folder:
        return execute_in_parallel(dataset, plan, Path(folder) / "units", executor=executor, **options)


def references(
    dataset: Dataset,
    *,
    n_splits: int | None = None,
    random_state: int = 0,
    validation_share: float = VALIDATION_SHARE,
    split: str | None = None,
    confirmation: float | None = None,
    groups: ArrayLike | None = None,
    settings: TrainingSettings | None = None,
    strengths: Sequence[float] | None = None,
    device: str = "auto",
    measures: Sequence[str] = DEFAULT_MEASURES,
) -> ReferenceResult:
    """Compute reference prices that use s: the partial barycentre and the discrimination-free premium.

    Parameters
    ----------
    dataset
        Data set with one sensitive attribute, either numeric or with classes.
    n_splits, random_state, validation_share, split, confirmation, groups, settings, device, measures
        Same meaning as in :func:`fairdash.sweep`. The reference prices are computed from a standard model
        that has s as an additional input and is tuned separately.
    strengths
        Strengths of the barycentre, each from 0 (the base price) to 1 (independence of s).

    Returns
    -------
    ReferenceResult

    Raises
    ------
    OptionError
        Raised if there are several sensitive attributes, a strength is out of range, or another option is
        invalid.

    Examples
    --------
    >>> dataset = fd.load_dataset("household", n=300)
    >>> options = {"settings": fd.TrainingSettings(hidden=(4,)), "strengths": (0.0, 1.0)}
    >>> found = fd.references(dataset, n_splits=1, measures=("hgr_spline",), **options)
    >>> "barycentre" in set(found.frame["method"])
    True
    """
    need("torch")
    # The imports load scikit-learn, so they are deferred until the function is called.
    from fairdash.evaluation.execute_sweep import reference_prices
    from fairdash.training.references import DEFAULT_STRENGTHS

    dataset = with_groups(dataset, groups)
    plan = default_plan(
        dataset,
        methods=(STANDARD,),
        lams=(),
        n_splits=n_splits,
        random_state=random_state,
        validation_share=validation_share,
        split=split,
        confirmation=confirmation,
        settings=settings,
        device=device,
    )
    strengths = DEFAULT_STRENGTHS if strengths is None else strengths
    return reference_prices(dataset, plan, measures=measures, strengths=strengths)


def confirm(result: SweepResult, *, method: str, lam: float, objective: str | None = None) -> Confirmation:
    """Confirm the selected model of a sweep on its holdout rows.

    If a weight is selected by test results, these results are optimistic. The selection did not use the
    holdout rows, so one test on the holdout rows is valid. The test uses models that were trained again on
    all other rows. With 100,000 rows or more, the test uses the models of the first split. Only the first
    tested model can be confirmed. You can test further models, but fairdash counts the tests. A repeated
    request returns the earlier result.

    Parameters
    ----------
    result
        Result of :func:`sweep`.
    method, lam
        Selected model, which was trained at one weight λ or is a blend of two models; λ = 0 is the standard
        model.
    objective
        Objective of the test; by default, the objective of the training.

    Returns
    -------
    Confirmation
        Result with ``finds_link`` and ``p_value`` of the test, dependence, error, and ``is_first``.

    Raises
    ------
    OptionError
        Raised if the sweep has no holdout rows or does not contain this model.

    Examples
    --------
    >>> import fairdash as fd
    >>> data = fd.load_dataset("household", n=400)
    >>> result = fd.sweep(data, methods=["standard"], n_splits=1, confirmation=0.2, device="cpu")
    >>> found = fd.confirm(result, method="standard", lam=0.0)
    >>> found.n, found.is_first, found.finds_link
    (80, True, True)
    """
    if result.set_aside is None:
        raise OptionError.of(
            "This sweep has no holdout rows",
            "Run the sweep with a share, such as confirmation=0.2.",
            column="result",
        )
    outcome = confirm_point(
        result.set_aside,
        method=method,
        lam=float(lam),
        objective=result.sweep.objective if objective is None else objective,
        before=result.opened,
        loss=result.sweep.settings.loss_function,
        random_state=result.sweep.random_state,
    )
    if outcome not in result.opened:
        result.opened.append(outcome)
    return outcome


def find_lam(
    dataset: Dataset,
    *,
    target: str | Target,
    method: str = DEFAULT_METHOD,
    objective: str = "demographic_parity",
    lams: Sequence[float] | str = "auto",
    n_folds: int = 10,
    refine: int = 0,
    rows: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    settings: TrainingSettings | None = None,
    random_state: int = 0,
    device: str = "auto",
    progress: Callable[[float], None] | None = None,
) -> SearchResult:
    """Find the weight λ that meets a target, by cross-validation.

    Parameters
    ----------
    dataset
    target
        Target in one of three forms: ``"hgr_kde<=0.05"`` limits a measure to 0.05, ``"hgr_kde<=floor+0.02"``
        limits a measure to 0.02 above its noise floor, and ``"error<=+10%"`` limits the error to 10 % above
        the standard model's error.
    method, objective, n_folds, refine, settings, random_state, device
        Same meaning as in :class:`fairdash.training.lam_search.LamSearch`.
    lams
        Weights λ ≥ 0 to try. ``"auto"`` uses eight weights from a pilot, as in :func:`sweep`.
    rows
        Numbers of the rows to use, such as the training rows of a split. None uses all rows; then no rows
        remain for an independent test.
    groups
        Groups of rows as in :func:`sweep`; each group stays in one fold.
    progress
        Function that receives the completed share, from 0 to 1. The function may raise
        :class:`fairdash.errors.Cancelled` to stop the search.

    Returns
    -------
    SearchResult
        Result of the search; see :func:`fairdash.training.lam_search.search_lam` for the selection of the
        weight.

    Raises
    ------
    OptionError
        Raised if options are invalid; the error lists all invalid options.

    Examples
    --------
    >>> import fairdash as fd
    >>> data = fd.load_dataset("household", n=300)
    >>> options = {"method": "hgr_spline", "lams": [0.5, 2.0], "n_folds": 2, "device": "cpu"}
    >>> choice = fd.find_lam(data, target="hgr_kde<=1", **options)
    >>> choice.lam, choice.reached
    (0.0, True)
    """
    plan = LamSearch(
        target=target if isinstance(target, Target) else Target.parse(target),
        lams=LAMS if is_auto(lams) else tuple(float(lam) for lam in lams),
        find_lams=is_auto(lams),
        method=method,
        objective=objective,
        n_folds=n_folds,
        refine=refine,
        random_state=random_state,
        settings=default_settings(dataset) if settings is None else settings,
        device=device,
    )
    dataset = with_groups(dataset, groups)
    return search_lam(dataset, plan, rows=row_numbers(rows, dataset.n_rows), progress=progress)


def bench(
    dataset: Dataset,
    *,
    methods: Sequence[str] | None = None,
    others: Mapping[str, Callable[[float], Any]] | None = None,
    n_splits: int = 10,
    random_state: int = 0,
    settings: TrainingSettings | None = None,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Compare methods by their error at equal dependence, on the same splits.

    Each method is trained at several weights λ. The points at which the dependence of a method is 75, 50 and
    25 % of the standard network's are found on validation rows, by linear interpolation between two weights.
    The errors at these points are computed on test rows. Dependence is measured in three ways, none of which
    a method minimises. These measures are HGR_RDC, mutual information by nearest neighbours, and the largest
    difference between the average predictions in ten bands of s. The independence floor of each measure is
    subtracted from its value.

    Parameters
    ----------
    dataset
        Data set. With several sensitive columns, a measure is the largest of its values for the single
        columns. Joint measures such as ``"gap_joint"`` use all columns as one vector, or all combinations of
        their classes or bands.
    methods
        Ids in :data:`fairdash.training.methods.PATHS` or :data:`fairdash.evaluation.rivals.RIVALS`, or your
        classes in the form ``"module:Class"``; by default, all methods that accept the data.
    others
        Methods that you provide, by name. Each method is a class or function that takes λ and returns an
        object with ``fit(X, y, sensitive_features=…)`` and ``predict(X)``. If `predict` has a parameter
        ``sensitive_features``, it receives the sensitive columns. If `fit` has a parameter ``sample_weight``,
        it receives the weights. The attribute ``lams`` of a method lists its weights λ in ascending order
        from 0; the default is 0, 0.1, 0.3, 1, 3 and 10. If the attribute ``repairs`` is True, X is the
        prediction of the standard network.
    n_splits, random_state, settings
        Same meaning as in :func:`sweep`.
    progress
        Function that receives the name of each method before its training.

    Returns
    -------
    DataFrame, one row per method, reading and level
        Columns ``method``; ``reading`` (the measure of dependence); ``level``; ``splits``; ``reached``
        (number of splits in which the method reaches the level on validation rows; results are means over
        these splits); ``dependence`` (on test rows, divided by the standard network's dependence); ``error``,
        ``error_low`` and ``error_high`` (loss on test rows divided by the constant model's loss, with the 95
        % interval of Nadeau and Bengio 2003); ``linked`` (whether the dependence of the standard network
        exceeds 0 by more than noise; otherwise, no method reaches a level); ``more``, ``more_low`` and
        ``more_high`` (difference from the error of fairdash's default method, if both reach the level);
        ``needs_s`` (whether a price requires the sensitive attribute); and ``cpu_s`` (CPU seconds per split).
        The level of the standard network is 1.

    Raises
    ------
    OptionError
        Raised if a method is unknown or does not support these sensitive columns.

    Examples
    --------
    >>> import fairdash as fd
    >>> data = fd.load_dataset("household", n=400)
    >>> found = fd.bench(data, methods=["band_ratio"], n_splits=2)
    >>> found[found["reading"] == "gap"][["method", "level"]].values.tolist()
    [['standard', 1.0], ['band_ratio', 0.75], ['band_ratio', 0.5], ['band_ratio', 0.25]]
    """
    need("torch")
    from fairdash.evaluation.bench import compare_methods, equal_dependence

    options: dict[str, Any] = {"n_splits": n_splits, "random_state": random_state, "settings": settings}
    notify = (lambda _: None) if progress is None else progress
    return equal_dependence(compare_methods(dataset, methods, others=others, progress=notify, **options))
