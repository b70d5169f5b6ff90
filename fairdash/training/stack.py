"""Training loop that trains K predictors and their adversaries together.

>>> import torch
>>> data = StackData(
...     x=torch.randn(2, 80, 3),
...     y=torch.randn(2, 80, 1),
...     s=torch.randn(2, 80, 1),
...     train=(torch.arange(64), torch.arange(16, 80)),
... )
>>> settings = TrainingSettings(n_epochs=2, warm_up_epochs=1)
>>> models = [
...     StackedModel("hgr_nn", lam, settings, split, seed=1) for split in (0, 1) for lam in (0, 1)
... ]
>>> trained = train_stack(data, models, objective="demographic_parity", batch_seeds=[1, 2])
>>> trained.predict(data.x).shape
(4, 80)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairdash.nets import StackedMLP
from fairdash.training.capture import NOT_RECORDED, Repeated, separate_stream
from fairdash.training.device import ROWS_AT_ONCE
from fairdash.training.losses import Loss
from fairdash.training.methods import METHODS
from fairdash.training.minimax import Batch, Batches, BestEpoch, MinimaxTrainer, Tables
from fairdash.training.settings import OBJECTIVES, StackedModel, TrainingSettings, cosine_decay
from fairdash.utils.registry import get_entry

if TYPE_CHECKING:
    from fairdash.nets import StackedAdam
    from fairdash.training.penalties.base import BasePenalty


#: Function that is called after each epoch, as described in :func:`train_stack`.
OnEpoch: TypeAlias = Callable[[int, NDArray[np.float64], NDArray[np.float64]], None]


@dataclass(frozen=True)
class StackData:
    """Rows of one table, encoded for each of S splits.

    Parameters
    ----------
    x
        Features (S, N, p).
    y
        Target (S, N, 1) in the units of the loss. On the training rows, the target has mean 0 and variance 1
        for squared error, and mean 1 for losses with a log link.
    s
        Sensitive features (S, N, d), in any units.
    train
        Numbers of the training rows of each split.
    validation
        Numbers of the validation rows of each split, which are only needed with ``patience``.
    weight
        Positive row weights (S, N, 1), or None for equal weights.
    """

    x: Tensor
    y: Tensor
    s: Tensor
    train: tuple[Tensor, ...]
    validation: tuple[Tensor, ...] = ()
    weight: Tensor | None = None
    _encoded: dict[type[BasePenalty], Tensor] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def sensitive_for(self, penalty_class: type[BasePenalty]) -> Tensor:
        """Return s, encoded for a penalty; the result is cached, because encoding may take seconds."""
        if penalty_class not in self._encoded:
            self._encoded.clear()
            self._encoded[penalty_class] = penalty_class.encode(self.s, self.train, self.weight).to(
                self.x.dtype
            )
        return self._encoded[penalty_class]

    def to(self, device: str) -> StackData:
        """Return the rows, copied to `device`."""
        return StackData(
            x=self.x.to(device),
            y=self.y.to(device),
            s=self.s.to(device),
            train=tuple(rows.to(device) for rows in self.train),
            validation=tuple(rows.to(device) for rows in self.validation),
            weight=None if self.weight is None else self.weight.to(device),
        )


@dataclass(frozen=True, kw_only=True)
class TrainedStack:
    """Result of :func:`train_stack` for K models.

    Parameters
    ----------
    predictor
        Networks of the predictors.
    which_split
        Index of the split of each predictor.
    loss
        Loss, whose link converts outputs of the networks to predictions.
    diverged
        True for each model whose loss became infinite or NaN, (K,). A model that diverged has its last finite
        weights.
    best_epoch
        Number of the epoch whose weights each model has, (K,), from 1.
    factor, shift
        Factor and shift of each model, (K,). A prediction is ``factor * h(x) + shift``. Without balancing,
        the factor is 1 and the shift is 0.
    state
        State from which an interrupted training can resume, or None after the last epoch.
    note
        Message for the user if a GPU could not record the training steps, otherwise empty.
    """

    predictor: StackedMLP
    which_split: Sequence[int]
    loss: Loss
    diverged: NDArray[np.bool_]
    best_epoch: NDArray[np.int64]
    factor: NDArray[np.float64]
    shift: NDArray[np.float64]
    state: State | None = None
    note: str = ""

    def predict(self, x: Tensor) -> NDArray[np.float64]:
        """Return predictions (K, N), in the units of the loss, for encoded rows x (S, N, p)."""
        predictions = _predictions(self.predictor, x, self.which_split, self.loss)
        # The array is changed in place, because predictions for many rows take gigabytes.
        predictions *= self.factor[:, None]
        predictions += self.shift[:, None]
        return predictions


def train_stack(
    data: StackData,
    models: Sequence[StackedModel],
    *,
    objective: str,
    batch_seeds: Sequence[int],
    device: str = "cpu",
    on_step: Callable[[float], None] | None = None,
    on_epoch: OnEpoch | None = None,
    state: State | None = None,
    until: int | None = None,
) -> TrainedStack:
    """Train all `models` together.

    The models of a split use the same mini-batches in the same order, and models with the same seed start
    from the same weights. The result for a model does not depend on the other models.

    Parameters
    ----------
    data
        Encoded rows of every split.
    models
        Models with the same method and ``stack_key``.
    objective
        Id in :data:`fairdash.training.settings.OBJECTIVES`.
    batch_seeds
        For each split, the seed of the row order.
    on_step
        Function that is called after each step of the predictors with the completed share of all steps.
    on_epoch
        Function that is called after each epoch with three arguments: the number of the epoch, from 1; the
        loss divided by that of the constant model, (K,); and the penalty Ψ, (K,). Loss and penalty are means
        over the mini-batches of the epoch. The penalty is NaN in warm-up epochs and for methods without a
        penalty.
    state
        State of an earlier call with the same arguments, or None to start from the beginning.
    until
        Number of the epoch after which to stop, unless the training ends earlier, or None to train to the
        end. A training in several calls gives exactly the same weights as a training in one call.
    """
    settings, loss = models[0].settings, models[0].settings.loss_function
    trainer, batches, best, data = _prepared(
        data, models, objective=objective, batch_seeds=batch_seeds, device=device
    )
    split_of_model = [model.split for model in models]
    best_tensors = () if best is None else best.best_tensors
    first_epoch = 0 if state is None else restore_state(state, trainer, batches, best_tensors)
    epochs = range(first_epoch + 1, min(until or settings.n_epochs, settings.n_epochs) + 1)
    last_epoch, is_over, note = _train_epochs(
        trainer, batches, settings, best, epochs=epochs, on_step=on_step, on_epoch=on_epoch
    )
    state = None if is_over else state_of(trainer, batches, best_tensors, epoch=last_epoch)
    last = torch.full((len(models),), last_epoch)
    factor, shift = np.ones(len(models)), np.zeros(len(models))
    best_epoch = (last if best is None else best.restore()).cpu().numpy()
    if settings.balance and is_over:
        factor, shift = _balance(trainer.predictor, data, split_of_model, loss)
    return TrainedStack(
        predictor=trainer.predictor,
        which_split=split_of_model,
        loss=loss,
        diverged=~trainer.alive.cpu().numpy(),
        best_epoch=best_epoch,
        factor=factor,
        shift=shift,
        state=state,
        note=note,
    )


def _prepared(
    data: StackData,
    models: Sequence[StackedModel],
    *,
    objective: str,
    batch_seeds: Sequence[int],
    device: str,
) -> tuple[MinimaxTrainer, Batches, BestEpoch | None, StackData]:
    """Return trainer, mini-batches, early stopping (None without patience), and the rows on `device`.

    Afterwards, the host reads no number from `device` within an epoch, because each such reading would wait
    for the device.
    """
    settings = models[0].settings
    tables = Tables([model.split for model in models], len(data.x), device=device)
    train = data.train  # The host draws the rows, so it stores their numbers.
    trainer, data = _minimax_trainer(data, models, tables, objective=objective, device=device)
    rows = Batch(data.x, data.y, data.s, data.weight)
    dropout = torch.tensor([model.settings.dropout for model in models], dtype=data.x.dtype)
    batches = Batches(
        rows,
        train=train,
        batch_size=settings.batch_size,
        seeds=batch_seeds,
        tables=tables,
        dropout=dropout.to(device) if dropout.any() else None,
        hidden=settings.hidden,
        rows_a_step=get_entry(METHODS, models[0].method, option="method").rows_a_step,
    )
    n_steps = settings.n_epochs * batches.per_epoch
    trainer.descent.follow(np.array([cosine_decay(step / n_steps) for step in range(n_steps)]))
    best = None
    if settings.patience is not None:
        validation = tables.distribute(_validation(rows, data.validation))
        best = BestEpoch(trainer, validation, patience=settings.patience)
    return trainer, batches, best, data


def _minimax_trainer(
    data: StackData, models: Sequence[StackedModel], tables: Tables, *, objective: str, device: str
) -> tuple[MinimaxTrainer, StackData]:
    """Return the trainer of predictors and adversaries, and the rows, with encoded s, on `device`."""
    ((method, _),) = {(model.method, model.settings.stack_key) for model in models}
    settings, seeds = models[0].settings, [model.seed for model in models]
    # s is encoded before it is copied to the device, because ranks need double precision. Some devices do not
    # support double precision.
    s, penalty_class = data.s.to(data.x.dtype), get_entry(METHODS, method, option="method").penalty_class()
    if penalty_class is not None:
        s = data.sensitive_for(penalty_class)
    data = replace(data, s=s).to(device)

    def of_each(values: Iterable[float]) -> Tensor:
        return torch.tensor(list(values), dtype=data.x.dtype, device=device)

    penalty = None
    if penalty_class is not None:
        penalty = penalty_class(seeds=seeds, s=data.s, which_split=tables.which_split, settings=settings)
        penalty = penalty.to(device, data.x.dtype)
    predictor = StackedMLP(
        [data.x.shape[2], *settings.hidden, 1], seeds=seeds, activation=settings.network.activation
    ).to(device, data.x.dtype)
    trainer = MinimaxTrainer(
        predictor=predictor,
        penalty=penalty,
        lam=of_each(model.lam for model in models),
        objective=get_entry(OBJECTIVES, objective, option="objective"),
        loss=settings.loss_function,
        scale=tables.each(_loss_of_constant(data, settings.loss_function)),
        lr=of_each(model.settings.lr for model in models),
        weight_decay=torch.tensor([model.settings.weight_decay for model in models], dtype=data.x.dtype),
        adversary_lr=of_each(model.settings.adversary_lr for model in models),
        adversary_steps=settings.adversary_steps,
        rows_to_catch_up=settings.rows_to_catch_up,
    )
    return trainer, data


def _train_epochs(
    trainer: MinimaxTrainer,
    batches: Batches,
    settings: TrainingSettings,
    best: BestEpoch | None,
    *,
    epochs: range,
    on_step: Callable[[float], None] | None,
    on_epoch: OnEpoch | None,
) -> tuple[int, bool, str]:
    """Train the epochs with numbers `epochs`, or fewer if all models have stopped.

    Return the number of the last epoch, whether the training has ended, and a note (or empty text) if steps
    could not be recorded.
    """
    n_steps = settings.n_epochs * batches.per_epoch
    step = (epochs.start - 1) * batches.per_epoch
    totals = torch.zeros(2, len(trainer.lam), device=trainer.lam.device)

    def train_step(fair: bool) -> None:
        totals.add_(trainer.step(batches.take(), fair=fair))

    device = trainer.lam.device.type
    # A GPU records one step for each number of adversary steps; warm-up epochs have none.
    step_of: dict[int, Repeated] = {}
    last, is_over = epochs.stop - 1, epochs.stop > settings.n_epochs
    with separate_stream(device):
        for epoch in epochs:
            fair = epoch > settings.warm_up_epochs
            count = settings.adversary_steps_in(epoch) if fair and trainer.ascent is not None else int(fair)
            if count not in step_of:
                step_of[count] = Repeated(partial(train_step, fair), device=device)
            trainer.adversary_steps = count
            totals.zero_()
            for _ in batches.epoch():
                step_of[count]()
                step += 1
                if on_step is not None:
                    on_step(step / n_steps)
            if on_epoch is not None:
                error, dependence = (totals / batches.per_epoch).double().cpu().numpy()
                on_epoch(epoch, error, dependence)
            if best is not None and fair:
                best.update(epoch)
                if best.all_stopped(epoch):
                    last, is_over = epoch, True
                    break
    recording_failed = any(repeated.recording_failed for repeated in step_of.values())
    return last, is_over, NOT_RECORDED if recording_failed else ""


def _loss_of_constant(data: StackData, loss: Loss) -> Tensor:
    """Return, for each split, the loss (S,) of the constant model, which predicts the training rows' mean."""
    values = []
    for j, rows in enumerate(data.train):
        y = data.y[j, rows]
        weight = torch.ones_like(y) if data.weight is None else data.weight[j, rows]
        mean = (weight * y).sum() / weight.sum()
        eta = mean.log() if loss.has_log_link else mean
        deviance = loss.unit_deviance(eta.expand_as(y), y)
        values.append((weight * deviance).sum() / weight.sum())
    return torch.stack(values)


def _validation(rows: Batch, validation: Sequence[Tensor]) -> Batch:
    """Return the same number of validation rows for each split, at most :data:`ROWS_AT_ONCE`."""
    min_rows = min(min(len(row) for row in validation), ROWS_AT_ONCE)
    return rows.take(
        lambda part: torch.stack([table[row[:min_rows]] for table, row in zip(part, validation, strict=True)])
    )


def _balance(
    predictor: StackedMLP, data: StackData, which_split: Sequence[int], loss: Loss
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return factor (K,) and shift (K,) with which predictions and target have equal sums in training."""
    factor, shift = np.ones(len(which_split)), np.zeros(len(which_split))
    predictions = _predictions(predictor, data.x, which_split, loss)
    y = data.y.squeeze(-1).double().cpu().numpy()
    weight = np.ones_like(y) if data.weight is None else data.weight.squeeze(-1).double().cpu().numpy()
    for k, split in enumerate(which_split):
        rows = data.train[split].cpu().numpy()
        mass = weight[split, rows]
        target = np.average(y[split, rows], weights=mass)
        mean = np.average(predictions[k, rows], weights=mass)
        if loss.has_log_link:
            factor[k] = target / mean
        else:
            shift[k] = target - mean
    return factor, shift


@torch.no_grad()
def _predictions(
    predictor: StackedMLP, x: Tensor, which_split: Sequence[int], loss: Loss
) -> NDArray[np.float64]:
    """Return the predictions (K, N) of networks without balancing."""
    device = predictor.biases[0].device
    tables = Tables(which_split, len(x), device=device)
    predictions = np.empty((len(which_split), x.shape[1]))
    for start in range(0, x.shape[1], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        predictions[:, rows] = (
            loss.prediction(predictor(tables.inputs(x[:, rows].to(device)))).squeeze(-1).cpu()
        )
    return predictions


#: State of an interrupted training: weights and optimiser moments of predictors and adversaries, flags of
#: models that have not diverged, best epochs so far, and states of random generators.
State: TypeAlias = "Mapping[str, NDArray[np.generic]]"


def state_of(trainer: MinimaxTrainer, batches: Batches, best: Sequence[Tensor], *, epoch: int) -> State:
    """Return the state after an epoch; `best` contains the tensors of early stopping, if there is any."""
    arrays: dict[str, NDArray[np.generic]] = {
        name: tensor.cpu().numpy().copy() for name, tensor in _tensors(trainer, best)
    }
    arrays["random"] = np.stack([generator.get_state().numpy() for generator in batches.all_generators])
    arrays["steps"] = np.array([0 if state is None else state.steps for state in _optimisers(trainer)])
    return arrays | {"epoch": np.array(epoch)}


def restore_state(state: State, trainer: MinimaxTrainer, batches: Batches, best: Sequence[Tensor]) -> int:
    """Restore the state of a training, and return the number of its last epoch."""
    for name, tensor in _tensors(trainer, best):
        tensor.copy_(torch.from_numpy(state[name]))
    for generator, numbers in zip(batches.all_generators, state["random"], strict=True):
        generator.set_state(torch.from_numpy(numbers.copy()))
    for optimiser, steps in zip(_optimisers(trainer), state["steps"].tolist(), strict=True):
        if optimiser is not None:
            optimiser.steps = steps
    return int(state["epoch"])


def _optimisers(trainer: MinimaxTrainer) -> tuple[StackedAdam | None, ...]:
    return trainer.descent, trainer.ascent


def _tensors(trainer: MinimaxTrainer, best: Sequence[Tensor]) -> Iterator[tuple[str, Tensor]]:
    yield "alive", trainer.alive
    for name, optimiser in zip(("descent", "ascent"), _optimisers(trainer), strict=True):
        yield from (
            (f"{name}_{k}", each) for k, each in enumerate(() if optimiser is None else optimiser.buffers)
        )
    yield from ((f"best_{k}", each) for k, each in enumerate(best))
