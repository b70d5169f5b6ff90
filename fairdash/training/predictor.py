"""One trained model as plain arrays: it predicts with NumPy alone, in float64, without torch.

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
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.preprocessing import TargetScale

if TYPE_CHECKING:
    from fairdash.training.settings import TrainingSettings
    from fairdash.training.stack import TrainedStack

_ACTIVATIONS: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = MappingProxyType(
    {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0.0)}
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Predictor:
    """From rows of a table to predictions in the target's units: ``factor * h(x) + shift``.

    Parameters
    ----------
    encoder
        How a row becomes the network's inputs x.
    weights, biases
        Of each layer, (out, in) and (out,).
    activation
        What stands between the layers: ``"tanh"`` or ``"relu"``.
    has_log_link
        Whether h(x) is the exponential of the last layer's output rather than that output.
    factor, shift
        The way back to the target's units, and the correction that balances the predictions.
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
        trained: TrainedStack,
        *,
        encoder: FeatureEncoder,
        target_scale: TargetScale,
        settings: TrainingSettings,
    ) -> Predictor:
        """The only model of a stack."""
        weights, biases = (
            tuple(layer.detach()[0].double().cpu().numpy().copy() for layer in layers)
            for layers in (trained.predictor.weights, trained.predictor.biases)
        )
        return cls(
            encoder=encoder,
            weights=weights,
            biases=tuple(bias[:, 0] for bias in biases),
            has_log_link=settings.loss_function.has_log_link,
            activation=settings.network.activation,
            factor=target_scale.unit * float(trained.factor[0]),
            shift=float(target_scale.undo(trained.shift)[0]),
        )

    def predict(self, features: pd.DataFrame) -> NDArray[np.float64]:
        """Predictions (n,) for a table (n, p) that has the encoder's columns, in any order."""
        return self.predict_encoded(self.encoder.transform(features))

    def predict_encoded(self, h: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for rows as the encoder gives them, (n, q)."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = _ACTIVATIONS[self.activation](h @ weight.T + bias)
        eta = (h @ self.weights[-1].T + self.biases[-1])[:, 0]
        return self.factor * (np.exp(eta) if self.has_log_link else eta) + self.shift
