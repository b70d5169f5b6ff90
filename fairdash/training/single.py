"""Training of a single model on one table.

>>> import pandas as pd
>>> rooms = pd.DataFrame({"rooms": [1.0, 3.0]})
>>> model = Predictor(
...     encoder=FeatureEncoder.fit(rooms),
...     weights=(np.array([[2.0]]),),
...     biases=(np.array([0.5]),),
...     has_log_link=False,
...     factor=10.0,
...     shift=100.0,
... )
>>> model.predict(rooms).tolist()
[85.0, 125.0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.training.feature_encoder import FeatureEncoder, TargetScale
from fairdash.training.methods import STANDARD
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.splits import initial_seed
from fairdash.utils.seeds import Stream, seed_of

if TYPE_CHECKING:
    from fairdash.training.stack import TrainedStack


def train_single(
    features: pd.DataFrame,
    y: NDArray[np.float64],
    s: NDArray[np.float64] | None,
    sample_weight: NDArray[np.float64] | None,
    *,
    method: str,
    lam: float,
    objective: str,
    settings: TrainingSettings,
    seed: int,
    device: str,
    validation: NDArray[np.int64],
    on_step: Callable[[float], None] | None = None,
) -> tuple[Predictor, TrainedStack, int]:
    """Train one model on checked rows; without s, or with λ = 0, the result is the standard network.

    Parameters
    ----------
    features
        Features (n, p) from which the model predicts.
    y
        Target (n,).
    s
        Sensitive features (n, d), or None for a training without a penalty.
    sample_weight
        Positive weights (n,), or None for equal weights.
    method, lam, objective, settings
        As in :class:`fairdash.training.settings.StackedModel` and
        :func:`fairdash.training.stack.train_stack`.
    seed
        Seed of the initial weights and the mini-batches.
    device
        Device for training: ``"cpu"``, ``"cuda"`` or ``"mps"``.
    validation
        Sorted numbers of the rows for early stopping, such as from :func:`validation_rows`.
    on_step
        As in :func:`fairdash.training.stack.train_stack`.

    Returns
    -------
    Predictor, result of :func:`fairdash.training.stack.train_stack`, and number of epochs of the training.
    """
    import torch

    from fairdash.training.stack import StackData, train_stack

    loss = settings.loss_function
    train = np.setdiff1d(np.arange(len(y)), validation)
    weight = None if sample_weight is None else sample_weight / sample_weight.mean()
    encoder = FeatureEncoder.fit(
        features,
        rows=train,
        sample_weight=None if weight is None else weight[train],
        embedding=settings.network.embedding,
    )
    scale = TargetScale.of(y[train], loss, None if weight is None else weight[train])
    if s is None or lam == 0:
        method, lam, s = STANDARD, 0.0, np.zeros((len(y), 1))
    # With one model, launching operations takes longer than computing them, so float64 is as fast as float32.
    # With float64, a row of weight 2 gives the same result as two equal rows. MPS does not support float64.
    number = torch.float32 if device == "mps" else torch.float64

    def table(values: NDArray[np.float64]) -> torch.Tensor:
        return torch.tensor(values, dtype=number)[None]

    epochs = []
    models = train_stack(
        StackData(
            x=table(encoder.transform(features)),
            y=table(scale.apply(y)[:, None]),
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
        on_epoch=lambda number, error, dependence: epochs.append(number),  # noqa: ARG005 (what it is told)
    )
    predictor = Predictor.of(models, encoder=encoder, target_scale=scale, settings=settings)
    return predictor, models, len(epochs)


def validation_rows(
    n_rows: int, share: float, *, seed: int, groups: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Draw the sorted numbers of a share of the rows (whole groups), at least one if the share is above 0."""
    code = np.arange(n_rows) if groups is None else pd.factorize(np.asarray(groups))[0]
    n_groups = int(code.max()) + 1
    order = np.random.default_rng(seed_of(Stream.STOPPING_ROWS, seed, 0)).permutation(n_groups)
    return np.flatnonzero(np.isin(code, order[: int(np.ceil(n_groups * share))]))


_ACTIVATIONS: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = MappingProxyType(
    {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0.0)}
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Predictor:
    """Fitted network h, with predictions ``factor * h(x) + shift`` in the target's units.

    Parameters
    ----------
    encoder
        Encoder that converts rows to the inputs x of the network.
    weights, biases
        Weights (out, in) and biases (out,) of each layer.
    activation
        Activation between the layers: ``"tanh"`` or ``"relu"``.
    has_log_link
        True if h(x) is the exponential of the output of the last layer instead of the output.
    factor, shift
        Factor and shift that convert h(x) to the target's units, including the correction that balances
        predictions.
    """

    encoder: FeatureEncoder
    weights: tuple[NDArray[np.float64], ...]
    biases: tuple[NDArray[np.float64], ...]
    has_log_link: bool
    factor: float
    shift: float
    activation: str = "tanh"

    @classmethod
    def of(
        cls,
        models: TrainedStack,
        *,
        encoder: FeatureEncoder,
        target_scale: TargetScale,
        settings: TrainingSettings,
    ) -> Predictor:
        """Create a predictor from the only model in `models`."""
        weights, biases = (
            tuple(layer.detach()[0].double().cpu().numpy().copy() for layer in layers)
            for layers in (models.predictor.weights, models.predictor.biases)
        )
        return cls(
            encoder=encoder,
            weights=weights,
            biases=tuple(bias[:, 0] for bias in biases),
            has_log_link=settings.loss_function.has_log_link,
            activation=settings.network.activation,
            factor=target_scale.unit * float(models.factor[0]),
            shift=float(target_scale.undo(models.shift)[0]),
        )

    def predict(self, features: pd.DataFrame) -> NDArray[np.float64]:
        """Return predictions (n,) for a table (n, p) that contains the encoder's columns in any order."""
        return self.predict_encoded(self.encoder.transform(features))

    def predict_encoded(self, h: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return predictions (n,) for rows (n, q) that the encoder has encoded."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = _ACTIVATIONS[self.activation](h @ weight.T + bias)
        eta = (h @ self.weights[-1].T + self.biases[-1])[:, 0]
        return self.factor * (np.exp(eta) if self.has_log_link else eta) + self.shift
