"""One model of one table: the engine's stack with a single model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.methods import STANDARD
from fairdash.training.predictor import Predictor
from fairdash.training.preprocessing import TargetScale
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import initial_seed
from fairdash.training.stacked_model import StackedModel
from fairdash.utils.seeds import Stream, seed_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """The rows to learn from, checked.

    Parameters
    ----------
    features
        (n, p) what the predictor sees.
    y
        (n,) target.
    s
        (n, d) sensitive features, or None: no penalty then.
    weight
        (n,) positive weights, or None.
    """

    features: pd.DataFrame
    y: NDArray[np.float64]
    s: NDArray[np.float64] | None
    weight: NDArray[np.float64] | None


@dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """One model and how its training went.

    Parameters
    ----------
    predictor
        The model.
    n_epochs
        Epochs trained.
    best_epoch
        The epoch whose weights the model has.
    diverged
        Whether training stopped being finite; the model has its last finite weights.
    """

    predictor: Predictor
    n_epochs: int
    best_epoch: int
    diverged: bool


def train_single(
    rows: Rows,
    *,
    method: str,
    lam: float,
    objective: str,
    settings: TrainingSettings,
    seed: int,
    device: str,
    validation_share: float,
    on_step: Callable[[float], None] | None = None,
) -> TrainedModel:
    """Train on `rows`; without s, or with λ = 0, the standard network.

    Parameters
    ----------
    method, lam, objective, settings
        As in :class:`fairdash.training.stacked_model.StackedModel` and
        :func:`fairdash.training.stack.train_stack`.
    seed
        Of the initial weights, the mini-batches and the validation rows.
    device
        ``"cpu"``, ``"cuda"`` or ``"mps"``.
    validation_share
        Share of the rows that stopping early looks at; not used unless the settings have `patience`.
    on_step
        As in :func:`fairdash.training.stack.train_stack`.
    """
    import torch

    from fairdash.training.stack import StackData, train_stack

    loss = settings.loss_function
    train, validation = _parts(len(rows.y), seed, 0.0 if settings.patience is None else validation_share)
    weight = None if rows.weight is None else rows.weight / rows.weight.mean()
    encoder = FeatureEncoder.fit(
        rows.features,
        rows=train,
        sample_weight=None if weight is None else weight[train],
        embedding=settings.network.embedding,
    )
    scale = TargetScale.of(rows.y[train], loss, None if weight is None else weight[train])
    s = rows.s if lam > 0 else None
    if s is None:
        method, lam, s = STANDARD, 0.0, np.zeros((len(rows.y), 1))
    # One model's time goes into launching operations, not into arithmetic: float64 costs nothing, and
    # makes row weights and repeated rows agree. MPS does not have it.
    number = torch.float32 if device == "mps" else torch.float64

    def table(values: NDArray[np.float64]) -> torch.Tensor:
        return torch.tensor(values, dtype=number)[None]

    epochs = []
    trained = train_stack(
        StackData(
            x=table(encoder.transform(rows.features)),
            y=table(scale.apply(rows.y)[:, None]),
            s=table(s),
            train=(torch.from_numpy(train),),
            validation=(torch.from_numpy(validation),),
            weight=None if weight is None else table(weight[:, None]),
        ),
        [StackedModel(method, lam, settings, 0, initial_seed(seed, 0))],
        objective=objective,
        batch_seeds=[seed_of(Stream.MINI_BATCHES, seed, 0)],
        device=device,
        on_step=on_step,
        on_epoch=lambda epoch: epochs.append(epoch.number),
    )
    return TrainedModel(
        predictor=Predictor.of(trained, encoder=encoder, target_scale=scale, settings=settings),
        n_epochs=len(epochs),
        best_epoch=int(trained.best_epoch[0]),
        diverged=bool(trained.diverged[0]),
    )


def _parts(n_rows: int, seed: int, validation_share: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sorted numbers of the training rows and of the validation rows; at least one of these if any."""
    n_validation = int(np.ceil(n_rows * validation_share))
    order = np.random.default_rng(seed_of(Stream.STOPPING_ROWS, seed, 0)).permutation(n_rows)
    return np.sort(order[n_validation:]), np.sort(order[:n_validation])
