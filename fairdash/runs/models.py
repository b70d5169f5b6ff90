"""Models in the store: refitted on all rows at one weight λ, to take away.

<home>/models/<id>/spec.json     which model to refit
<home>/models/<id>/result/       the bundle and its checksum

The other files are a run's; see :mod:`fairdash.runs.store`.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.data.folders import data_folder, write_whole
from fairdash.data.source import DatasetSource
from fairdash.errors import Problem, RunError
from fairdash.runs.bundle import card_of, zip_bundle
from fairdash.runs.store import Job
from fairdash.training.sweep import Sweep

if TYPE_CHECKING:
    from fairdash.training.regressor import FairRegressor


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """Which model to refit.

    Parameters
    ----------
    source
        How to get its data set.
    plan
        The sweep that it was found in: its settings, objective, seed and device are the refit's.
    run
        Id of the run that carried the sweep out.
    method
        Id in :data:`fairdash.training.methods.METHODS`.
    lam
        Weight λ ≥ 0; it may lie between those of the plan.
    figures
        What the user was shown of this model, by name: numbers, texts, or None. They go into its card as
        estimates from the splits. Numbers that are not finite are kept as None.
    created
        When it was asked for, ISO 8601, UTC.
    """

    source: DatasetSource
    plan: Sweep
    run: str
    method: str
    lam: float
    figures: Mapping[str, float | str | None] = field(default_factory=dict)
    created: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", {name: _plain(value) for name, value in self.figures.items()})

    def to_json(self) -> str:
        return json.dumps(
            {
                "fairdash": __version__,
                "source": json.loads(self.source.to_json()),
                "plan": self.plan.to_json(),
                "run": self.run,
                "method": self.method,
                "lam": self.lam,
                "figures": self.figures,
                "created": self.created,
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> ModelSpec:
        content = json.loads(text)
        return cls(
            source=DatasetSource.from_json(json.dumps(content["source"])),
            plan=Sweep.from_json(content["plan"]),
            run=str(content["run"]),
            method=str(content["method"]),
            lam=float(content["lam"]),
            figures=dict(content["figures"]),
            created=content["created"],
        )


def _plain(value: float | str | None) -> float | str | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def refit(
    dataset: Dataset, spec: ModelSpec, *, on_step: Callable[[float], None] | None = None
) -> FairRegressor:
    """The model of `spec`, fitted on all rows.

    With early stopping in the plan, some rows tell when to stop: the plan's share of validation rows, or a
    tenth.

    Parameters
    ----------
    on_step
        Called with the share done, 0 to 1; what it raises ends the fit.

    Raises
    ------
    RunError
        The training stopped being finite.
    DataError, OptionError
        As :meth:`fairdash.training.regressor.FairRegressor.fit`.
    """
    from sklearn.exceptions import ConvergenceWarning

    from fairdash.training.regressor import FairRegressor

    plan = spec.plan
    model = FairRegressor(
        method=spec.method,
        objective=plan.objective,
        lam=spec.lam,
        random_state=plan.random_state,
        device=plan.device,
        **asdict(plan.settings),
    )
    if plan.validation_share > 0:
        model.set_params(validation_fraction=plan.validation_share)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            model._fit(
                dataset.features,
                dataset.target,
                sensitive_features=dataset.sensitive,
                sample_weight=dataset.weight,
                on_step=on_step,
            )
        except ConvergenceWarning as error:
            raise RunError(
                Problem(
                    what="The training on all rows stopped being finite",
                    mend="Take a smaller weight λ, or train with a lower learning rate first.",
                )
            ) from error
    return model


class ModelJob(Job):
    """One model in the store."""

    room: ClassVar[str] = "models"
    word: ClassVar[str] = "model"

    @property
    def spec(self) -> ModelSpec:
        """Which model it is; RunError if its file can't be read."""
        return self._read_spec(ModelSpec.from_json)

    def write_bundle(self, model: FairRegressor, dataset: Dataset) -> None:
        """Keep the bundle of the model refitted on `dataset`: all of it or nothing."""
        spec = self.spec
        content = zip_bundle(model, card_of(model, dataset, spec.plan, run=spec.run, figures=spec.figures))
        with self._result_folder() as folder:
            write_whole(folder / "bundle.zip", content)
            write_whole(folder / "bundle.sha256", hashlib.sha256(content).hexdigest().encode())

    def bundle(self) -> bytes:
        """The zip to take away; RunError if it is not there or damaged."""
        folder = self.folder / "result"
        try:
            content = (folder / "bundle.zip").read_bytes()
            wanted = (folder / "bundle.sha256").read_bytes()
        except OSError as error:
            raise self._damaged() from error
        if hashlib.sha256(content).hexdigest().encode() != wanted:
            raise self._damaged()
        return content


def create_model(
    source: DatasetSource,
    plan: Sweep,
    *,
    run: str,
    method: str,
    lam: float,
    figures: Mapping[str, float | str | None] | None = None,
) -> ModelJob:
    """A new model to refit, queued; nobody works at it yet. Parameters as in :class:`ModelSpec`."""
    spec = ModelSpec(
        source=source,
        plan=plan,
        run=run,
        method=method,
        lam=lam,
        figures={} if figures is None else figures,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return ModelJob.create(spec.to_json())


def find_model(*, run: str, method: str, lam: float) -> ModelJob | None:
    """The newest model that was asked for at a place of a run; None if there is none that can be read."""
    found = []
    folder = data_folder(ModelJob.room)
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            place, created = _asked_for(path)
        except RunError:
            # Damaged, or being made: not this one.
            continue
        if place == (run, method, lam):
            found.append((created, path.name))
    return ModelJob(max(found)[1]) if found else None


@lru_cache(maxsize=10_000)
def _asked_for(folder: Path) -> tuple[tuple[str, str, float], str]:
    """A model's place and when it was asked for, read once: a job's spec never changes."""
    spec = ModelJob(folder.name).spec
    return (spec.run, spec.method, spec.lam), spec.created
