"""Storage of models for download, which are refitted to all rows at one weight λ.

<home>/models/<id>/spec.json     the model to refit
<home>/models/<id>/result/       the zip file to download

The other files are those of a run; see :mod:`fairdash.runs.store`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import RunError
from fairdash.runs.bundle import (
    BUNDLE,
    GLM,
    TARIFF,
    TESTED,
    card_of,
    card_of_tariff,
    model_bundle,
    tariff_files,
    tested_premiums,
)
from fairdash.runs.listing import newest, stored_answers
from fairdash.runs.result import check_data
from fairdash.runs.store import RESULT, Job, JobSpec
from fairdash.storage import LOCAL
from fairdash.storage.log import read
from fairdash.tariff import FAIR_TARIFF
from fairdash.training.methods import ModelKey
from fairdash.training.sweep import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fairdash.auditing.data import Progress
    from fairdash.tariff.model import FairTariff
    from fairdash.training.regressor import FairRegressor


@dataclass(frozen=True, kw_only=True)
class ModelSpec(JobSpec):
    """Specification of a model to refit.

    Parameters
    ----------
    plan
        The sweep of the model. The refit uses the settings, the objective, the seed and the device of the
        sweep.
    run
        Id of the run that executed the sweep.
    point
        Method and weight λ ≥ 0. The weight λ may be between two weights of the plan.
    figures
        Results of this model that were shown to the user, by name. They are numbers, strings or None. The
        model card states these results as estimates from the splits. Numbers that are not finite become None.
    source, created
        Same meaning as in :class:`fairdash.runs.store.JobSpec`.
    """

    plan: Sweep
    run: str
    point: ModelKey
    figures: Mapping[str, float | str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "figures", {name: _plain(value) for name, value in self.figures.items()})


def _plain(value: float | str | None) -> float | str | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def refit(
    dataset: Dataset, spec: ModelSpec, *, on_step: Callable[[float], None] | None = None
) -> FairRegressor:
    """Fit the model of `spec` to all rows.

    If the plan uses early stopping, some rows are not used for the fit and determine when it stops. Their
    share is the share of validation rows in the plan, or a tenth.

    Parameters
    ----------
    on_step
        Function that is called with the completed share, from 0 to 1. If it raises an exception, the fit
        stops.

    Raises
    ------
    RunError
        The training diverged.
    DataError, OptionError
        Raised in the same cases as by :meth:`fairdash.training.regressor.FairRegressor.fit`.
    """
    from sklearn.exceptions import ConvergenceWarning

    from fairdash.training.regressor import FairRegressor
    from fairdash.training.regressor_fit import fit_regressor

    plan = spec.plan
    model = FairRegressor(
        method=spec.point.method,
        objective=plan.objective,
        lam=spec.point.lam,
        random_state=plan.random_state,
        device=plan.device,
        **asdict(plan.settings),
    )
    if plan.validation_share > 0:
        model.set_params(validation_fraction=plan.validation_share)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            fit_regressor(
                model,
                dataset.features,
                dataset.target,
                sensitive_features=dataset.sensitive,
                sample_weight=dataset.weight,
                groups=dataset.groups,
                on_step=on_step,
            )
        except ConvergenceWarning as error:
            raise RunError.of(
                "Training on all rows diverged",
                "Take a smaller weight λ, or train with a lower learning rate first.",
            ) from error
    return model


def refit_tariff(dataset: Dataset, spec: ModelSpec) -> tuple[FairTariff, list[str]]:
    """Fit the tariff of `spec` to all rows. Return the tariff and notes on the fit.

    Raises
    ------
    DataError, OptionError
        Raised in the same cases as by :meth:`fairdash.tariff.model.FairTariff.fit`.
    """
    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    from fairdash.tables.columns import clean_features
    from fairdash.tariff.choosing import TermOptions
    from fairdash.tariff.fit import FitOptions
    from fairdash.tariff.model import FairTariff
    from fairdash.tariff.path import choose_alpha
    from fairdash.training.splits import fold_rows

    plan, settings = spec.plan, spec.plan.settings
    features = clean_features(dataset.features)
    # Held-out rows select the strength of the penalty. Then the tariff is fitted to all rows.
    alpha = choose_alpha(
        features.set_axis([str(name) for name in features.columns], axis=1),
        dataset.target.to_numpy(dtype=float),
        None if dataset.weight is None else dataset.weight.to_numpy(dtype=float),
        fold_rows(
            np.arange(dataset.n_rows), n_folds=5, random_state=plan.random_state, groups=dataset.groups
        )[0],
        options=FitOptions(loss=settings.loss_function, balance=settings.balance),
        terms=TermOptions(),
        random_state=plan.random_state,
    )
    model = FairTariff(
        loss=settings.loss,
        tweedie_power=settings.tweedie_power,
        lam=spec.point.lam,
        alpha=alpha,
        # The tariffs of the run use the same value. The page shows their results as estimates for this
        # tariff.
        smooth=0.0,
        objective=plan.objective,
        balance=settings.balance,
        random_state=plan.random_state,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(
            dataset.features,
            dataset.target,
            sensitive_features=dataset.sensitive,
            sample_weight=dataset.weight,
        )
    return model, [str(warning.message) for warning in caught]


class ModelJob(Job[ModelSpec]):
    """Stored model."""

    folder_name: ClassVar[str] = "models"
    label: ClassVar[str] = "model"
    spec_kind: ClassVar[type] = ModelSpec

    def files(self, *, progress: Progress) -> Mapping[str, bytes]:
        """Fit the model to all rows. Return the zip file and, for a tariff, its tables, by name.

        The errors are those of :func:`refit`.
        """
        spec = self.spec
        dataset, run = spec.load(), self.folder.parents[1] / "runs" / spec.run
        check_data(run / RESULT, dataset)
        log = [vars(event) for event in read(run).events]
        extra_files = {"log": log, "governance": stored_answers(owner=spec.owner)}
        if spec.point.method == FAIR_TARIFF:
            tariff, notes = refit_tariff(dataset, spec)
            card = card_of_tariff(tariff, dataset, spec.plan, run=spec.run, figures=spec.figures, notes=notes)
            files = tariff_files(tariff, {**card, **extra_files})
            if dataset.prediction is not None:
                files[TESTED] = tested_premiums(dataset, spec.plan, spec.point.lam)
            return files
        model = refit(dataset, spec, on_step=lambda share: progress("training on all rows", share))
        card = card_of(model, dataset, spec.plan, run=spec.run, figures=spec.figures)
        return {BUNDLE: model_bundle(model, {**card, **extra_files})}

    def tariffs(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Read the relativities at λ = 0 and at the selected λ; raise a RunError if they can't be read."""
        from fairdash.tariff.files import read_tariff

        folder = self._checked()
        return read_tariff(folder / GLM), read_tariff(folder / TARIFF)

    def test_premiums(self, *, n_splits: int, n_rows: int) -> NDArray[np.float64] | None:
        """Return the premiums (n_splits, n_rows) of test rows at the selected λ, with NaN for other rows.

        The result is None if the data have no existing price, or if an older version has not stored these
        premiums. A RunError is raised if the file is damaged.
        """
        import pandas as pd

        path = self._checked() / TESTED
        if not path.is_file():
            return None
        table = pd.read_parquet(path)
        premiums = np.full((n_splits, n_rows), np.nan)
        premiums[table["split"], table["row"]] = table["premium"]
        return premiums

    def bundle(self) -> bytes:
        """Return the zip file to download; raise a RunError if it is missing or damaged."""
        return self.read_file(BUNDLE)


def create_model(source: DatasetSource, plan: Sweep, *, method: str, lam: float, **options: Any) -> ModelJob:
    """Create a job that refits a model, with the parameters of :class:`ModelSpec`."""
    return ModelJob.create(ModelSpec(source=source, plan=plan, point=ModelKey(method, lam), **options))


def find_model(*, run: str, method: str, lam: float, owner: str = LOCAL) -> ModelJob | None:
    """Return the owner's newest readable model of a method and a λ of a run, or None."""
    point = run, ModelKey(method, lam)
    return newest(ModelJob, lambda spec: (spec.run, spec.point) == point, owner=owner)
