"""The networks' weight decay, found on validation rows before the fair models are trained.

No single weight decay suits every table: one that a few hundred rows with a strong signal need leaves a
constant of rare claims. So every run begins with one more stack of standard networks, and each split keeps
the decay that predicts its own validation rows best. Test rows take no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.jobs.steps import Unit, at_once
from fairdash.training.device import Device
from fairdash.training.methods import STANDARD
from fairdash.training.models import TrainedModels, train_models
from fairdash.training.progress import OnProgress
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import Split, initial_seed, with_held_out
from fairdash.training.stacked_model import StackedModel

#: Weight decays that are compared: from hardly any to what a thousand rows of a hundred columns want.
WEIGHT_DECAYS = (1e-3, 3e-3, 6e-3, 1e-2, 3e-2, 6e-2)
#: Learning rate of all of them: at 2e-3 the epochs of a run don't suffice for the weak signals of claims.
LEARNING_RATE = 4e-3


def candidates(settings: TrainingSettings) -> tuple[TrainingSettings, ...]:
    """The settings that are compared, in all else like `settings`."""
    return tuple(replace(settings, lr=LEARNING_RATE, weight_decay=decay) for decay in WEIGHT_DECAYS)


def tune(
    dataset: Dataset,
    splits: Sequence[Split],
    settings: TrainingSettings,
    *,
    random_state: int,
    device: Device,
    progress: OnProgress | None = None,
    unit: Unit = at_once,
) -> pd.DataFrame:
    """Compare the candidates on each split's validation rows, all of them in one stack.

    Parameters
    ----------
    splits
        The run's own. Where one has no validation rows, a fifth of its training rows is held out for this, in
        whole groups if the data set has them.
    settings
        What the candidates have in common.
    random_state
        Seed of the initial weights and the mini-batches.
    progress
        Called after every step; it may raise :class:`fairdash.errors.Cancelled`.
    unit
        Asked for what :func:`fairdash.training.models.train_models` asks for.

    Returns
    -------
    DataFrame, one row a split and candidate
        ``split``, ``lr``, ``weight_decay``; ``loss`` on the rows held out, 1 is what the training rows' mean
        reaches there and infinite where the training diverged; ``chosen``, True for the smallest of a
        split. A smallest loss flatters: models are judged on test rows, which took no part.
    """
    frame, _ = tuned_models(
        dataset, splits, settings, random_state=random_state, device=device, progress=progress, unit=unit
    )
    return frame


def tuned_models(
    dataset: Dataset,
    splits: Sequence[Split],
    settings: TrainingSettings,
    *,
    random_state: int,
    device: Device,
    progress: OnProgress | None = None,
    unit: Unit = at_once,
) -> tuple[pd.DataFrame, TrainedModels]:
    """What :func:`tune` gives, and the standard models that were chosen, one a split.

    Where the splits have validation rows, these are the very models that the chosen settings give.
    """
    parts = [with_held_out(split, random_state=random_state, groups=dataset.groups) for split in splits]
    tried = candidates(settings)
    models = [
        StackedModel(STANDARD, 0.0, each, j, initial_seed(random_state, j))
        for j in range(len(parts))
        for each in tried
    ]
    trained = train_models(
        dataset,
        parts,
        models,
        objective="demographic_parity",
        random_state=random_state,
        device=device,
        progress=progress,
        unit=unit,
    )
    losses = held_out_losses(dataset, [parts[model.split] for model in models], trained.predictions, settings)
    frame = pd.DataFrame(
        {
            "split": [model.split for model in models],
            "lr": [model.settings.lr for model in models],
            "weight_decay": [model.settings.weight_decay for model in models],
            "loss": np.where(trained.members["diverged"], np.inf, losses),
        }
    )
    frame["chosen"] = frame.index.isin(frame.groupby("split")["loss"].idxmin())
    chosen = frame["chosen"].to_numpy()
    members = trained.members[chosen].reset_index(drop=True)
    return frame, replace(trained, members=members, predictions=trained.predictions[chosen], curves=None)


def settings_of_splits(tuning: pd.DataFrame, settings: TrainingSettings) -> tuple[TrainingSettings, ...]:
    """Each split's settings, as a frame of :func:`tune` has chosen them."""
    chosen = tuning[tuning["chosen"]].sort_values("split")
    return tuple(
        replace(settings, lr=float(lr), weight_decay=float(decay))
        for lr, decay in chosen[["lr", "weight_decay"]].to_numpy()
    )


def tuned_settings(tuning: pd.DataFrame, settings: TrainingSettings) -> TrainingSettings:
    """The settings for a model of all rows: the smallest loss on average over the splits."""
    means = tuning.groupby(["lr", "weight_decay"], as_index=False)["loss"].mean()
    lr, decay, _ = means.loc[means["loss"].idxmin()]
    return replace(settings, lr=float(lr), weight_decay=float(decay))


def held_out_losses(
    dataset: Dataset,
    splits: Sequence[Split],
    predictions: NDArray[np.float64],
    settings: TrainingSettings,
) -> NDArray[np.float64]:
    """Loss of each row of `predictions` (K, n) on its split's validation rows; 1 is the training mean's."""
    loss = settings.loss_function
    y = dataset.target.to_numpy(dtype=float)
    weight = np.ones(len(y)) if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
    losses = []
    for split, y_pred in zip(splits, predictions, strict=True):
        rows = split.validation
        if not np.isfinite(y_pred[rows]).all() or (loss.has_log_link and y_pred[rows].min() <= 0):
            losses.append(np.inf)  # such predictions have no deviance
        else:
            losses.append(loss.relative(y, y_pred, weight, rows=rows, train=split.train))
    return np.array(losses)
