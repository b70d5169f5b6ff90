"""What prices that are told s would reach, as a verb: references beside the fronts of models that are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.data.dataset import Dataset
from fairdash.evaluation.assess import DEFAULT_MEASURES, assess_predictions
from fairdash.training.defaults import N_SPLITS, VALIDATION_SHARE, default_plan
from fairdash.training.settings import TrainingSettings
from fairdash.training.split_kinds import check_groups, with_groups
from fairdash.training.splits import Split
from fairdash.training.sweep import STANDARD


@dataclass(frozen=True)
class ReferenceResult:
    """What prices that are told s would reach; never to be mixed with models that do not see it.

    Parameters
    ----------
    frame
        As :func:`fairdash.evaluation.assess_predictions` gives it; ``method`` is an id of
        :data:`fairdash.training.references.REFERENCES` and ``lam`` a strength from 0 to 1.
    predictions, members, splits
        As in :class:`fairdash.SweepResult`; the splits are those of a sweep with the same seed.
    price
        (J,) what exact independence adds to the error at least, in units of ``mse``: estimated on each
        split's test rows against a model that is told s; see
        :func:`fairdash.training.references.trained.train_references`.
    """

    frame: pd.DataFrame
    predictions: NDArray[np.float64]
    members: pd.DataFrame
    splits: tuple[Split, ...]
    price: NDArray[np.float64]


def references(
    dataset: Dataset,
    *,
    n_splits: int = N_SPLITS,
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
    """Demographic parity if the price may use s: the partial barycentre, and the discrimination-free premium.

    Parameters
    ----------
    dataset
        With one sensitive column.
    n_splits, random_state, validation_share, split, confirmation, groups, settings, device, measures
        As in :func:`fairdash.sweep`; the references' base is that sweep's standard model, told s as well, and
        tuned for that.
    strengths
        How far the barycentre goes, each from 0 (the base) to 1 (independence of s).

    Returns
    -------
    ReferenceResult

    Raises
    ------
    OptionError
        Several sensitive columns, a strength out of range, or another option that can't be used.
    """
    # Both load scikit-learn, which whoever only names this verb has no use for.
    from fairdash.training.references import DEFAULT_STRENGTHS
    from fairdash.training.references.trained import train_references

    dataset = with_groups(dataset, groups)
    check_groups(dataset)
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
    )
    splits = plan.splits(dataset)
    members, predictions, price = train_references(
        dataset,
        splits,
        settings=plan.settings,
        strengths=DEFAULT_STRENGTHS if strengths is None else strengths,
        random_state=random_state,
        device=device,
    )
    frame = assess_predictions(
        dataset,
        predictions,
        members,
        splits,
        objective="demographic_parity",
        loss=plan.settings.loss_function,
        measures=measures,
        random_state=random_state,
    )
    # Rows set aside are shown by nothing.
    predictions[:, plan.set_aside(dataset)] = np.nan
    return ReferenceResult(frame, predictions, members, splits, price)
