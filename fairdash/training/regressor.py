"""Fair regression as a scikit-learn estimator.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> age = rng.normal(45, 10, size=300)
>>> x = np.column_stack([age + rng.normal(0, 5, size=300), rng.normal(size=300)])
>>> y = x[:, 0] + 5 * x[:, 1]
>>> model = FairRegressor(lam=3.0, n_epochs=20, warm_up_epochs=5, random_state=0)
>>> model.fit(x, y, sensitive_features=age).predict(x).shape
(300,)

A model is saved in one file, which contains no executable code. The metadata in the header has the keys
``format``, ``about`` (versions, parameters, names of columns and their levels) and ``sha256`` (a checksum of
`about` and all arrays, which detects any change).
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
    """Neural network with a penalty on the dependence of predictions, or residuals, on sensitive features.

    Training minimises L + λ Ψ (paper, generic optimisation problem). L is the loss divided by the loss of the
    constant model. The penalty Ψ of the method measures dependence between U (see `objective`) and the
    sensitive features s. λ = 0 gives the standard network; a larger λ gives a fairer and less accurate
    network.

    Training uses s, but predictions are computed without s. Pass s as ``fit(…, sensitive_features=s)``, or
    name columns of X in `sensitive_columns`.

    Parameters
    ----------
    method
        Id in :data:`fairdash.training.methods.METHODS`, which selects Ψ.
    objective
        ``"demographic_parity"``: U is the prediction ŷ; ``"equalized_residuals"``: U is the residual ŷ − y.
    lam
        Weight λ ≥ 0 of the penalty. The method ``"standard"`` has no penalty and ignores λ.
    sensitive_columns
        Sensitive columns of X, by name or by position from 0, or None if X contains none. The predictor uses
        all other columns.
    random_state
        Random seed for the initial weights, the mini-batches and the validation rows.
    device
        Device for training: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
    validation_fraction
        Share of the rows that are set aside as validation rows if `patience` is not None.
    architecture, hidden, lr, weight_decay, batch_size, n_epochs, warm_up_epochs, adversary_hidden, \
adversary_lr, adversary_steps, adversary_schedule, dropout, loss, tweedie_power, balance, patience
        Same meaning as in :class:`fairdash.training.settings.TrainingSettings`. ``"auto"`` means the value
        that :func:`fairdash.training.settings.budget_of` gives for the number of training rows.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X, including sensitive columns.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if X was a DataFrame.
    lam_ : float
        Weight λ that was used; 0 for ``"standard"``.
    settings_ : TrainingSettings
        Settings that were used, with a value instead of every ``"auto"``.
    n_iter_ : int
        Number of epochs of the training.
    n_validation_rows_ : int
        Number of validation rows; 0 if `patience` is None. A loaded model does not have this attribute.
    best_epoch_ : int
        Number of the epoch from which the model has its weights. With `patience`, it is the best epoch on the
        validation rows, otherwise the last epoch.
    device_ : str
        Device used for training.
    sensitive_names_ : tuple
        Sensitive columns of X, by name, or by position if X has no column names.
    predictor_ : Predictor
        Fitted predictor, which consists of NumPy arrays.

    Notes
    -----
    With several sensitive columns, penalties without an adversary may leave predictions that depend on
    combinations of columns. :class:`fairdash.FairPostprocessor` removes joint dependence on one numeric
    column and several columns of classes.

    Training uses float64, which is as fast as float32 for a single model. MPS does not support float64, so
    training on MPS uses float32. NumPy computes predictions in float64, without torch.

    A missing number is replaced by the median of the training rows. For a missing category, or a level that
    does not appear in the training rows, the inputs of all levels are 0. :meth:`predict` warns of levels that
    do not appear in the training rows.

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
        adversary_schedule: str = _DEFAULT.adversary_schedule,
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
        self.adversary_schedule = adversary_schedule
        self.dropout = dropout
        self.loss = loss
        self.tweedie_power = tweedie_power
        self.balance = balance
        self.patience = patience

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Missing features are imputed, but sensitive columns of X must not have missing cells.
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
            Target, which must not be constant, and must be at least 0 (above 0 for gamma) with a log link.
        sensitive_features : array, Series or DataFrame, shape (n,) or (n, d)
            Sensitive features as numbers, or as text for classes. Sensitive features are required if λ is
            above 0 and `sensitive_columns` is None.
        sample_weight : array, shape (n,)
            Row weights, such as exposures; weight 0 leaves a row out, and weight 2 counts as two rows.
        groups : array, shape (n,)
            Group of each row, such as its policy. The rows of a group are either all validation rows or all
            training rows.

        Raises
        ------
        OptionError
            Raised if an option is not valid, or if λ is above 0 and there are no sensitive features.
        DataError
            Raised if X, y, the sensitive features or the groups are not valid.

        Warns
        -----
        ConvergenceWarning
            Raised if values in training became infinite or NaN. The model then has the last finite weights.
        """
        return fit_regressor(
            self, X, y, sensitive_features=sensitive_features, sample_weight=sample_weight, groups=groups
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predictions (n,) for the rows of X, in the target's units.

        Columns of a DataFrame are found by name. Additional columns are ignored; sensitive columns are not
        needed.

        Raises
        ------
        DataError
            Raised if a column is missing or not valid.

        Warns
        -----
        UserWarning
            Raised if cells have levels that do not appear in the training rows; these cells are treated as
            missing. The warning states the number of these cells.
        """
        check_is_fitted(self)
        encoder = self.predictor_.encoder
        features = rows_to_predict(
            self, X, columns=encoder.columns, numbers=encoder.numbers, has_text=bool(encoder.categories)
        )
        unknown = encoder.unknown_levels(features)
        if unknown:
            warnings.warn(
                f"Levels not seen in training are treated as missing, in: {in_columns(unknown)}.",
                UserWarning,
                stacklevel=2,
            )
        return self.predictor_.predict(features)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a safetensors file with a JSON header; pickle is not used.

        Raises
        ------
        StorageError
            Raised if the file cannot be written.
        """
        check_is_fitted(self)
        write_whole(Path(path), regressor_file(self), hint="Free some space, or choose another place.")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Load a model that :meth:`save` has written; it gives exactly the same predictions.

        Raises
        ------
        StorageError
            Raised if the file cannot be read, is damaged, has a different format, or was written by a newer
            version of fairdash.
        """
        arrays, metadata = _read(Path(path))
        kind, _, number = metadata.get("format", "").partition("/")
        if kind != _KIND or not number.isdecimal():
            raise StorageError.of(
                "This file does not contain a model of fairdash", "Choose a file that save() wrote."
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
#: Version of the file format. It increases when earlier versions of fairdash cannot read new files.
_FORMAT = 2
#: Fitted attributes whose values are numbers or text.
_FITTED = ("n_features_in_", "lam_", "n_iter_", "best_epoch_", "device_")
#: Arrays of the encoder; an encoder without an embedding has only the first three arrays.
_OF_ENCODER = ("median", "mean", "scale", "knots", "heights")


def regressor_file(model: FairRegressor) -> bytes:
    """Return the file of a fitted regressor as bytes; a `random_state` that is a generator becomes None."""
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
    """Return the arrays of a file, and the metadata in its header."""
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
    """Return the content of a file with sorted metadata; safetensors writes metadata in random order.

    A file consists of three parts: the length of the header in 8 bytes; the header, padded with spaces to a
    multiple of 8 bytes; and the arrays.
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
    """Convert NumPy numbers, NumPy arrays and a pandas index, which JSON does not support, to plain data."""
    if isinstance(value, (np.generic, np.ndarray, pd.Index)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can't be stored in a model's file")


def _damaged() -> StorageError:
    return StorageError.of("The file is damaged or does not contain a model", "Save the model again.")
