"""Fair regression as a scikit-learn estimator.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> age = rng.normal(45, 10, size=300)
>>> x = np.column_stack([age + rng.normal(0, 5, size=300), rng.normal(size=300)])
>>> y = x[:, 0] + 5 * x[:, 1]
>>> model = FairRegressor(lam=3.0, n_epochs=20, warm_up_epochs=5, random_state=0)
>>> model.fit(x, y, sensitive_features=age).predict(x).shape
(300,)

A model is saved in one file. The metadata of its header has the keys ``format``, ``about`` (versions,
parameters, names and levels of the columns) and ``sha256`` (a checksum of `about` and all arrays, which
detects a changed byte). The file contains nothing executable.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fairdash._version import __version__
from fairdash.errors import StorageError
from fairdash.storage import write_whole
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.methods import DEFAULT_METHOD
from fairdash.training.regressor_fit import fit_regressor, in_columns, rows_to_predict
from fairdash.training.settings import TrainingSettings
from fairdash.training.single import Predictor
from fairdash.utils.records import from_plain, to_plain

_DEFAULT = TrainingSettings()


class FairRegressor(RegressorMixin, BaseEstimator):
    """Neural network whose predictions or residuals do not depend on sensitive features.

    Training minimises L + λ Ψ (paper, generic optimisation problem). The term L is the loss, scaled to 1 for
    the constant model. The term Ψ is the method's measure of dependence between U and the sensitive features
    s. The weight λ = 0 gives the standard network, and a larger λ gives a fairer and less accurate network.

    Training uses s, but predictions do not. Pass s as ``fit(…, sensitive_features=s)``, or name columns of X
    in `sensitive_columns`.

    Parameters
    ----------
    method
        Id in :data:`fairdash.training.methods.METHODS`, which selects Ψ.
    objective
        Variable U: the prediction ŷ for ``"demographic_parity"``, and the residual ŷ − y for
        ``"equalized_residuals"``.
    lam
        Weight λ ≥ 0 of the penalty, which the method ``"standard"`` ignores.
    sensitive_columns
        Sensitive columns of X, by name or by position from 0, or None if X contains none. The predictor uses
        all other columns.
    random_state
        Random seed for the initial weights, the mini-batches and the validation rows.
    device
        Device for training: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
    validation_fraction
        Share of the rows set aside as validation rows for `patience`; if `patience` is None, all rows are
        training rows.
    architecture, hidden, lr, weight_decay, batch_size, n_epochs, warm_up_epochs, adversary_hidden, \
adversary_lr, adversary_steps, dropout, loss, tweedie_power, balance, patience
        Same meaning as in :class:`fairdash.training.settings.TrainingSettings`. The value ``"auto"`` uses
        :func:`fairdash.training.settings.budget_of` for the number of fitted rows.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X, including sensitive columns.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if X was a DataFrame.
    lam_ : float
        Weight λ used, which is 0 for ``"standard"``.
    settings_ : TrainingSettings
        Settings used, with every ``"auto"`` replaced by its value.
    n_iter_ : int
        Number of epochs trained.
    n_validation_rows_ : int
        Number of rows set aside for `patience`, or 0 without `patience`. A saved file does not contain this
        number.
    best_epoch_ : int
        Epoch whose weights are used: the best epoch on the validation rows with `patience`, otherwise the
        last epoch.
    device_ : str
        Device used for training.
    sensitive_names_ : tuple
        Sensitive columns of X, by name, or by position if X has no column names.
    predictor_ : Predictor
        Fitted predictor, as arrays.

    Notes
    -----
    With several sensitive columns, penalties without an adversary may leave a link with combinations of the
    columns. :class:`fairdash.FairPostprocessor` removes the joint link with one number and several classes.

    Training uses float64, which takes no longer than float32 for a single model (MPS has float32 only).
    Predictions are computed by NumPy in float64, without torch.

    A missing number is replaced by the median of the training rows. A missing category, or a level that is
    not in the training rows, is encoded as no level. :meth:`predict` warns of such levels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(18, 80, 300)
    >>> X = np.column_stack([age + rng.normal(size=300), rng.normal(size=300)])
    >>> y = X.sum(axis=1)
    >>> model = fd.FairRegressor(lam=1.0, n_epochs=20, random_state=0).fit(X, y, sensitive_features=age)
    >>> model.predict(X).shape
    (300,)
    """

    def __init__(
        self,
        *,
        method: str = DEFAULT_METHOD,
        objective: str = "demographic_parity",
        lam: float = 1.0,
        sensitive_columns: str | int | Sequence[str] | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        validation_fraction: float = 0.1,
        architecture: str = _DEFAULT.architecture,
        hidden: Sequence[int] = _DEFAULT.hidden,
        lr: float = _DEFAULT.lr,
        weight_decay: float | str = "auto",
        batch_size: int | str = "auto",
        n_epochs: int | str = "auto",
        warm_up_epochs: int | str = "auto",
        adversary_hidden: Sequence[int] = _DEFAULT.adversary_hidden,
        adversary_lr: float = _DEFAULT.adversary_lr,
        adversary_steps: int = _DEFAULT.adversary_steps,
        dropout: float = _DEFAULT.dropout,
        loss: str = _DEFAULT.loss,
        tweedie_power: float = _DEFAULT.tweedie_power,
        balance: bool = _DEFAULT.balance,
        patience: int | None = _DEFAULT.patience,
    ) -> None:
        self.method = method
        self.objective = objective
        self.lam = lam
        self.sensitive_columns = sensitive_columns
        self.random_state = random_state
        self.device = device
        self.validation_fraction = validation_fraction
        self.architecture = architecture
        self.hidden = hidden
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.warm_up_epochs = warm_up_epochs
        self.adversary_hidden = adversary_hidden
        self.adversary_lr = adversary_lr
        self.adversary_steps = adversary_steps
        self.dropout = dropout
        self.loss = loss
        self.tweedie_power = tweedie_power
        self.balance = balance
        self.patience = patience

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Missing features are imputed, but a sensitive column of X must be complete.
        tags.input_tags.allow_nan = self.sensitive_columns is None
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the network on the rows of X.

        Parameters
        ----------
        X : DataFrame or array, shape (n, p)
            Features as numbers. A DataFrame (of pandas, polars or arrow) may also contain booleans,
            categories and text. Missing cells are allowed.
        y : array, shape (n,)
            Target, which must vary, and must be at least 0 for losses with a log link.
        sensitive_features : array, Series or DataFrame, shape (n,) or (n, d)
            Sensitive features as numbers, or as text for classes. Sensitive features are required if λ is
            above 0 and `sensitive_columns` is None.
        sample_weight : array, shape (n,)
            Row weights, such as exposures; a row of weight 0 is left out, and a row of weight 2 counts as two
            rows.
        groups : array, shape (n,)
            Groups of rows, such as policies. The rows of a group are either all validation rows or all
            training rows.

        Raises
        ------
        OptionError
            Raised if an option is invalid, or if λ is above 0 and there are no sensitive features.
        DataError
            Raised if X, y, the sensitive features or the groups are invalid.

        Warns
        -----
        ConvergenceWarning
            Raised if training diverged to non-finite values. The model then has the last finite weights.
        """
        return fit_regressor(
            self, X, y, sensitive_features=sensitive_features, sample_weight=sample_weight, groups=groups
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predictions (n,) for the rows of X, in the target's units.

        Columns of a DataFrame are matched by name. Additional columns are ignored, and the sensitive columns
        may be missing.

        Raises
        ------
        DataError
            Raised if a column is missing or invalid.

        Warns
        -----
        UserWarning
            Raised if cells have levels that are not in the training rows, which count as missing. The warning
            states their number.
        """
        check_is_fitted(self)
        encoder = self.predictor_.encoder
        features = rows_to_predict(
            self, X, columns=encoder.columns, numbers=encoder.numbers, has_text=bool(encoder.categories)
        )
        unknown = encoder.unknown_levels(features)
        if unknown:
            warnings.warn(
                f"Levels not seen in training count as missing, in: {in_columns(unknown)}.",
                UserWarning,
                stacklevel=2,
            )
        return self.predictor_.predict(features)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one safetensors file with a JSON header, without pickle.

        Raises
        ------
        StorageError
            Raised if the file cannot be written.
        """
        check_is_fitted(self)
        write_whole(Path(path), regressor_file(self), hint="Free some space, or choose another place.")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Load a model that :meth:`save` has written; its predictions are exactly the same.

        Raises
        ------
        StorageError
            Raised if the file cannot be read, is damaged, has another format, or was written by a newer
            version.
        """
        arrays, metadata = _read(Path(path))
        kind, _, number = metadata.get("format", "").partition("/")
        if kind != _KIND or not number.isdecimal():
            raise StorageError.of(
                "This file does not hold a model written by fairdash", "Choose a file that save() wrote."
            )
        if int(number) > _FORMAT:
            raise StorageError.of(
                "A newer version of fairdash wrote this model", "Update fairdash to read it."
            )
        text = metadata.get("about", "")
        if metadata.get("sha256") != _digest(text, arrays):
            raise _damaged()
        try:
            return _regressor(cls, json.loads(text), arrays)
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged() from error


Regressor = TypeVar("Regressor", bound="FairRegressor")

_KIND = "fairdash.FairRegressor"
#: Version of the file format, which increases when earlier versions of fairdash can no longer read a file.
_FORMAT = 2
#: Fitted attributes with plain values, without the predictor.
_FITTED = ("n_features_in_", "lam_", "n_iter_", "best_epoch_", "device_")
#: Arrays of the encoder. The last two arrays exist only if the encoder has an embedding.
_OF_ENCODER = ("median", "mean", "scale", "knots", "heights")


def regressor_file(model: FairRegressor) -> bytes:
    """Return the file of a fitted regressor, in which a `random_state` that is a generator becomes None."""
    from safetensors.numpy import save

    predictor, encoder = model.predictor_, model.predictor_.encoder
    arrays = {name: array for name in _OF_ENCODER if (array := getattr(encoder, name)) is not None}
    arrays["output"] = np.array([predictor.factor, predictor.shift])
    for layer, (weight, bias) in enumerate(zip(predictor.weights, predictor.biases, strict=True)):
        arrays |= {f"weight.{layer}": weight, f"bias.{layer}": bias}
    params = model.get_params(deep=False)
    if isinstance(params["random_state"], np.random.RandomState):
        params["random_state"] = None
    names = getattr(model, "feature_names_in_", None)
    about = {
        "fairdash": __version__,
        "made_with": {name: version(name) for name in ("numpy", "scikit-learn", "torch")},
        "params": params,
        "fitted": {name: getattr(model, name) for name in _FITTED},
        "settings": to_plain(model.settings_),
        "feature_names": None if names is None else list(names),
        "sensitive_names": model.sensitive_names_,
        "numbers": encoder.numbers,
        "categories": encoder.categories,
        "levels": encoder.levels,
        "n_layers": len(predictor.weights),
        "has_log_link": predictor.has_log_link,
        "activation": predictor.activation,
    }
    text = json.dumps(about, default=_plain)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    metadata = {"format": f"{_KIND}/{_FORMAT}", "about": text, "sha256": _digest(text, arrays)}
    return _in_order(save(arrays, metadata))


def _regressor(
    cls: type[Regressor], about: dict[str, Any], arrays: Mapping[str, NDArray[np.float64]]
) -> Regressor:
    params = about["params"]
    widths = {name: tuple(params[name]) for name in ("hidden", "adversary_hidden")}
    model = cls(**(params | widths))
    for name in _FITTED:
        setattr(model, name, about["fitted"][name])
    model.settings_ = from_plain(TrainingSettings, about["settings"])
    if about["feature_names"] is not None:
        model.feature_names_in_ = np.array(about["feature_names"], dtype=object)
    model.sensitive_names_ = tuple(about["sensitive_names"])
    factor, shift = arrays["output"]
    layers = range(about["n_layers"])
    model.predictor_ = Predictor(
        encoder=FeatureEncoder(
            numbers=tuple(about["numbers"]),
            categories=tuple(about["categories"]),
            levels=tuple(map(tuple, about["levels"])),
            **{name: arrays[name] for name in _OF_ENCODER if name in arrays},
        ),
        weights=tuple(arrays[f"weight.{layer}"] for layer in layers),
        biases=tuple(arrays[f"bias.{layer}"] for layer in layers),
        has_log_link=about["has_log_link"],
        factor=float(factor),
        shift=float(shift),
        activation=about.get("activation", "tanh"),
    )
    return model


def _read(path: Path) -> tuple[dict[str, NDArray[np.float64]], dict[str, str]]:
    """Return all arrays and the metadata of the header."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except SafetensorError as error:
        raise _damaged() from error
    except OSError as error:
        raise StorageError.of(
            "The model's file can't be read", "Check its path and your access rights."
        ) from error


def _in_order(content: bytes) -> bytes:
    """Return the file with sorted metadata, because safetensors writes metadata in random order.

    A file consists of the length of the header in 8 bytes, the header, which is padded with spaces to a
    multiple of 8 bytes, and the arrays.
    """
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def _digest(text: str, arrays: Mapping[str, NDArray[np.float64]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(f"\n{name} {arrays[name].dtype} {arrays[name].shape}\n".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Encode values that JSON can't represent: NumPy numbers and arrays, and an index of column names."""
    if isinstance(value, (np.generic, np.ndarray, pd.Index)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can't be kept in a model's file")


def _damaged() -> StorageError:
    return StorageError.of("The file is damaged or does not contain a model", "Save the model again.")
