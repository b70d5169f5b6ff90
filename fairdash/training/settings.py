"""Training settings, and fairness objectives: independence of predictions, or of residuals, from s.

Training settings contain neither a penalty, nor a weight λ, nor data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self, TypeVar

from fairdash.errors import Checks, OptionError
from fairdash.training.losses import Loss, find_loss
from fairdash.training.methods import STANDARD as STANDARD
from fairdash.training.methods import ModelKey
from fairdash.training.progress import SweepProgress as SweepProgress
from fairdash.training.splits import initial_seed as initial_seed
from fairdash.utils.options import check_ranges, option
from fairdash.utils.registry import by_id, get_entry

Array = TypeVar("Array")  # NumPy array or torch tensor


@dataclass(frozen=True, kw_only=True)
class Objective:
    """Fairness objective: the variable U that should be independent of the sensitive features V = S.

    Parameters
    ----------
    id
        Id of the objective, such as ``"demographic_parity"``.
    title
        Display name, such as "Demographic parity".
    audited
        Name of U in charts, such as "prediction".
    meaning
        Description in one sentence.
    uses_target
        True if U is the residual ŷ − y instead of the prediction ŷ.
    """

    id: str
    title: str
    audited: str
    meaning: str
    uses_target: bool

    def audit(self, y_pred: Array, y: Array) -> Array:
        """Return U, which is ŷ or ŷ − y (paper, generic optimisation problem), from broadcastable arrays."""
        return y_pred - y if self.uses_target else y_pred  # type: ignore[operator]


OBJECTIVES: Mapping[str, Objective] = by_id(
    Objective(
        id="demographic_parity",
        title="Demographic parity",
        audited="prediction",
        meaning="Predictions do not depend on the sensitive attribute.",
        uses_target=False,
    ),
    Objective(
        id="equalized_residuals",
        title="Equalized residuals",
        audited="residual",
        meaning="Errors (prediction minus truth) do not depend on the sensitive attribute.",
        uses_target=True,
    ),
)


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Architecture of networks, and schedule of their training.

    Parameters
    ----------
    architecture
        Id in :data:`fairdash.training.settings.ARCHITECTURES`, which selects the encoding of numbers and the
        activation between layers.
    hidden
        Numbers of units in the predictor's hidden layers.
    lr
        Initial learning rate of the predictor; a cosine schedule decreases it to zero.
    weight_decay
        L2 penalty on the weights of the predictor, as in torch.optim.Adam.
    batch_size
        Number of rows per mini-batch, or the number of training rows if this is smaller.
    n_epochs
        Number of passes over the training rows.
    warm_up_epochs
        Number of initial epochs in which the penalty is not used.
    adversary_hidden
        Numbers of units in the hidden layers of the adversary networks.
    adversary_lr
        Constant learning rate of the adversary.
    adversary_steps
        Number of steps of the adversary per step of the predictor, on the same mini-batch.
    adversary_schedule
        ``"falling"``: the number of adversary steps falls with the learning rate of the predictor, to 3 or,
        if `adversary_steps` is smaller, to `adversary_steps`; each step except the last one uses 128 rows.
        ``"constant"``: the number never changes, as in the paper, and these steps use 256 rows.
    dropout
        Share of the units of each hidden layer, in [0, 1), that every step of the predictor sets to 0 at
        random.
    loss
        Id in :data:`fairdash.training.losses.LOSSES`.
    tweedie_power
        Power of the variance for ``loss="tweedie"``, between 1 and 2.
    balance
        True if predictions are shifted (multiplied, with a log link) such that their sum over the training
        rows equals that of the target.
    patience
        Number of epochs after which training stops if the score on the validation rows (loss plus λ Ψ) has
        not become better; the model then gets the weights of its best epoch. If None, all epochs are used,
        and the model has the last weights.

    Examples
    --------
    >>> fd.TrainingSettings(hidden=(64, 64), loss="poisson").lr
    0.002
    """

    architecture: str = "tanh"
    hidden: tuple[int, ...] = option(
        (32, 16, 8), "Units of the predictor's hidden layers", "", within="[1, inf)"
    )
    lr: float = option(2e-3, "Learning rate", "", within="[0, inf)")
    weight_decay: float = option(3e-2, "Weight decay (L2)", "", within="[0, inf)")
    batch_size: int = option(256, "Rows per mini-batch", "", within="[8, inf)")
    n_epochs: int = option(60, "Epochs (passes over the rows)", "", within="[1, inf)")
    warm_up_epochs: int = option(10, "", "", within="[0, inf)")
    adversary_hidden: tuple[int, ...] = option(
        (16, 16, 16), "Units of the adversary's hidden layers", "", within="[1, inf)"
    )
    adversary_lr: float = option(1e-2, "", "", within="[0, inf)")
    adversary_steps: int = option(
        *(10, "Adversary steps per predictor step"),
        "More steps make training more stable.",
        within="[1, inf)",
    )
    adversary_schedule: str = "falling"
    dropout: float = option(0.0, "Dropout", "", within="[0, 1)", step=0.05)
    loss: str = "squared_error"
    tweedie_power: float = 1.5
    balance: bool = False
    patience: int | None = option(
        *(None, "Stop early after this many epochs without improvement (optional)"),
        "Improvement is measured on validation rows. If the field is empty, training uses all epochs.",
        within="[1, inf)",
    )

    def __post_init__(self) -> None:
        checks = Checks(OptionError)
        check_ranges(type(self), vars(self), checks)
        for name in ("hidden", "adversary_hidden"):
            checks.require(getattr(self, name), name, "There is no hidden layer", "Give at least one number.")
        checks.require(
            checks.problems or self.warm_up_epochs < self.n_epochs,
            "warm_up_epochs",
            "The warm-up takes all epochs, so that no epoch uses the penalty",
            f"Choose fewer than {self.n_epochs} warm-up epochs.",
        )
        checks.finish()
        # Access to these properties raises an error if the loss, the architecture or the schedule is unknown.
        self.loss_function  # noqa: B018
        self.network  # noqa: B018
        self.rows_to_catch_up  # noqa: B018

    @property
    def network(self) -> Architecture:
        """Return the architecture with the id `architecture`."""
        return get_entry(ARCHITECTURES, self.architecture, option="architecture")

    @property
    def loss_function(self) -> Loss:
        """Return the loss with the id `loss`, from :mod:`fairdash.training.losses`."""
        return find_loss(self.loss, tweedie_power=self.tweedie_power)

    @property
    def rows_to_catch_up(self) -> int:
        """Return the number of rows that each adversary step except the last one uses from a mini-batch."""
        return get_entry(_ROWS_TO_CATCH_UP, self.adversary_schedule, option="adversary_schedule")

    def adversary_steps_in(self, epoch: int) -> int:
        """Return the number of adversary steps per predictor step in the epoch with this number, from 1.

        >>> tuple(TrainingSettings().adversary_steps_in(epoch) for epoch in (1, 30, 60))
        (10, 5, 3)
        """
        if self.adversary_schedule == "constant":
            return self.adversary_steps
        fewest = min(_MIN_ADVERSARY_STEPS, self.adversary_steps)
        return max(round(self.adversary_steps * cosine_decay((epoch - 1) / self.n_epochs)), fewest)

    def steps_an_epoch(self, n_rows: int) -> int:
        """Return the number of mini-batches per epoch for `n_rows` training rows, at least 1."""
        return batches_per_epoch(n_rows, self.batch_size)

    def with_steps_of(self, n_rows: int, *, on: int) -> Self:
        """Return settings that give the same number of steps on `on` rows as these settings on `n_rows` rows.

        The numbers of epochs, of warm-up epochs and of epochs of patience are multiplied by the same factor
        and rounded.
        """
        factor = self.steps_an_epoch(n_rows) / self.steps_an_epoch(on)
        return replace(
            self,
            n_epochs=max(round(self.n_epochs * factor), 1),
            warm_up_epochs=round(self.warm_up_epochs * factor),
            patience=None if self.patience is None else max(round(self.patience * factor), 1),
        )

    @property
    def stack_key(self) -> tuple[object, ...]:
        """Return a key that is equal for settings whose models can be trained together.

        The key does not contain settings that may differ between these models: learning rates, weight decay
        and dropout.
        """
        return tuple(getattr(self, field.name) for field in fields(self) if field.name not in _PER_MODEL)


#: Number of steps of the predictor in a training. It is the same for larger tables, whose mini-batches
#: contain more rows.
STEPS = 720
_MIN_BATCH, _MAX_BATCH = 256, 2048
#: Number of rows of a mini-batch in an adversary step before the last one, for each schedule of the
#: adversary. Successive steps use different rows.
_ROWS_TO_CATCH_UP = {"falling": 128, "constant": 256}
#: Minimum number of adversary steps of a falling schedule. A slowly changing predictor needs fewer steps of
#: its adversary (benchmarks/adversary_schedule.py).
_MIN_ADVERSARY_STEPS = 3
_MIN_EPOCHS, _MAX_EPOCHS = 4, 60
#: Ratio of the number of epochs to the number of warm-up epochs.
_EPOCHS_PER_WARM_UP_EPOCH = 6
#: The default weight decay is `_WEIGHT_DECAY_OF_ALL_ROWS` divided by the number of rows, and at most
#: `_MAX_WEIGHT_DECAY`. It decreases with the number of rows, because its penalty is added to the mean loss
#: per row.
_WEIGHT_DECAY_OF_ALL_ROWS, _MAX_WEIGHT_DECAY = 40.0, 3e-2
#: Settings that :func:`budget_of` returns; an estimator accepts ``"auto"`` for them.
BUDGETED = ("batch_size", "n_epochs", "warm_up_epochs", "weight_decay")


def budget_of(
    n_rows: int, *, batch_size: int | None = None, n_epochs: int | None = None
) -> dict[str, int | float]:
    """Return the training schedule for a number of rows; the number of steps is at most about :data:`STEPS`.

    For up to several thousand rows, the schedule is 60 epochs with mini-batches of 256 rows. For larger
    tables, mini-batches contain up to 2,048 rows or, if this is more, 1/180 of the rows. The number of epochs
    is smaller, so that the number of steps is about :data:`STEPS` (``benchmarks/portfolio.py`` measures the
    effect).

    Parameters
    ----------
    n_rows
        Number of training rows, at least 1.
    batch_size, n_epochs
        Values from the user, or None; the other values are adapted to them.

    Returns
    -------
    dict
        Keys ``batch_size``, ``n_epochs``, ``warm_up_epochs`` and ``weight_decay``, as in
        :class:`TrainingSettings`.

    Examples
    --------
    >>> budget_of(1_276)
    {'batch_size': 256, 'n_epochs': 60, 'warm_up_epochs': 10, 'weight_decay': 0.03}
    >>> budget_of(434_000)
    {'batch_size': 2048, 'n_epochs': 4, 'warm_up_epochs': 1, 'weight_decay': 9.216589861751152e-05}
    """
    if batch_size is None:
        grown = min(max(_power_of_2(n_rows / 16), _MIN_BATCH), _MAX_BATCH)
        batch_size = max(grown, _power_of_2(n_rows / 180))
    if n_epochs is None:
        n = round(STEPS / batches_per_epoch(n_rows, batch_size))
        n_epochs = min(max(n, _MIN_EPOCHS), _MAX_EPOCHS)
    return {
        "batch_size": batch_size,
        "n_epochs": n_epochs,
        "warm_up_epochs": round(n_epochs / _EPOCHS_PER_WARM_UP_EPOCH),
        "weight_decay": weight_decay_of(n_rows),
    }


def cosine_decay(share: float) -> float:
    """Return the factor of the predictor's learning rate, from 1 to 0, after a share of the training."""
    return 0.5 * (1 + math.cos(math.pi * share))


def weight_decay_of(n_rows: int) -> float:
    """Return the default weight decay for `n_rows` training rows; a run may select another one."""
    return min(_MAX_WEIGHT_DECAY, _WEIGHT_DECAY_OF_ALL_ROWS / n_rows)


def _power_of_2(value: float) -> int:
    """Return the largest power of 2 that does not exceed `value`, or 1 for values below 1."""
    return 1 << max(int(value), 1).bit_length() - 1


def batches_per_epoch(n_rows: int, batch_size: int) -> int:
    """Return the number of full mini-batches in `n_rows` rows, at least 1.

    A smaller last mini-batch would have noisier means and variances. The remaining rows are therefore not
    used in this epoch.
    """
    return max(n_rows // batch_size, 1)


#: Settings that may differ between models that are trained together.
_PER_MODEL = frozenset({"lr", "weight_decay", "adversary_lr", "dropout"})


@dataclass(frozen=True)
class StackedModel(ModelKey):
    """Model to train: its method and weight λ, and the settings, split and seed of its training.

    Parameters
    ----------
    method, lam
        Method and weight as in :class:`ModelKey`. Models that are trained together (a stack) have the same
        method.
    settings
        Training settings. Models that are trained together have the same ``stack_key``.
    split
        Index of the split on whose training rows the model is trained; in cross-validation, index of the
        fold.
    seed
        Seed of the initial weights.
    """

    settings: TrainingSettings
    split: int = 0
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Architecture of a predictor network.

    Parameters
    ----------
    id
        Id of the architecture.
    title
        Display name.
    meaning
        Description in one sentence.
    activation
        Id in :data:`fairdash.nets.ACTIVATIONS`.
    embedding
        Id in :data:`fairdash.training.feature_encoder.EMBEDDINGS` of further inputs besides the standardised
        value of each number, or None if there are no further inputs.
    source
        Publication of the architecture.
    """

    id: str
    title: str
    meaning: str
    activation: str
    embedding: str | None
    source: str


ARCHITECTURES: Mapping[str, Architecture] = by_id(
    Architecture(
        id="tanh",
        title="tanh on numbers",
        meaning="Uses every number unchanged, as in the paper.",
        activation="tanh",
        embedding=None,
        source="Grari et al., supplement",
    ),
    Architecture(
        id="scores",
        title="ReLU on numbers and their ranks",
        meaning="Uses every number twice: unchanged, and as the normal score of its rank, on which skew and "
        "outliers have no influence.",
        activation="relu",
        embedding="scores",
        source="fairdash; after Gorishniy et al. 2022, “On embeddings for numerical features in "
        "tabular deep learning”",
    ),
    Architecture(
        id="bins",
        title="ReLU on a piecewise-linear encoding",
        meaning="Uses every number unchanged and, in addition, eight functions of the number; each function "
        "rises from 0 to 1 in one eighth of the rows.",
        activation="relu",
        embedding="bins",
        source="Gorishniy et al. 2022",
    ),
)


def check_lams(checks: Checks, lams: Sequence[float], *, needed: bool) -> None:
    """Add problems with the weights λ to `checks`; an empty list is valid unless weights are `needed`."""
    usable = all(math.isfinite(lam) and lam >= 0 for lam in lams)
    checks.require(lams or not needed, "lams", "There is no weight λ", "Give at least one weight λ.")
    checks.require(usable, "lams", "A weight λ is negative or not a number", "Give numbers of at least 0.")
    checks.require(
        not usable or len(set(lams)) == len(lams), "lams", "A weight λ is repeated", "Give every weight once."
    )
