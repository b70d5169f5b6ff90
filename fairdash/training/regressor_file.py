"""A fitted regressor in one file: safetensors, with everything that is not an array as JSON in its header.

The header's metadata holds ``format``, ``about`` (versions, parameters, names and levels of the columns) and
``sha256`` over `about` and all arrays, so that a changed byte is noticed. Nothing in it can be executed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash._version import __version__
from fairdash.errors import StorageError
from fairdash.storage import write_whole
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.predictor import Predictor

if TYPE_CHECKING:
    from fairdash.training.regressor import FairRegressor

Regressor = TypeVar("Regressor", bound="FairRegressor")

_KIND = "fairdash.FairRegressor"
#: Counted up when a file can no longer be read by the fairdash before.
_FORMAT = 2
#: What fit has learned beside the predictor, and is plain.
_FITTED = ("n_features_in_", "lam_", "n_iter_", "best_epoch_", "device_")
#: Arrays of the encoder; the last two only where it has functions of numbers.
_OF_ENCODER = ("median", "mean", "scale", "knots", "heights")


def write_regressor(model: FairRegressor, path: str | PathLike[str]) -> None:
    """Write a fitted regressor, whole or not at all; StorageError if that fails."""
    write_whole(Path(path), regressor_file(model), hint="Free some space, or choose another place.")


def regressor_file(model: FairRegressor) -> bytes:
    """The file of a fitted regressor; a `random_state` that is a generator, not a number, is kept as None."""
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


def read_regressor(cls: type[Regressor], path: str | PathLike[str]) -> Regressor:
    """The regressor that :func:`write_regressor` wrote; StorageError if it can't be read."""
    arrays, metadata = _read(Path(path))
    kind, _, number = metadata.get("format", "").partition("/")
    if kind != _KIND or not number.isdecimal():
        raise StorageError.of(
            "This file does not hold a model of fairdash's", "Choose a file that save() wrote."
        )
    if int(number) > _FORMAT:
        raise StorageError.of("A newer fairdash wrote this model", "Update fairdash to read it.")
    text = metadata.get("about", "")
    if metadata.get("sha256") != _digest(text, arrays):
        raise _damaged()
    try:
        return _regressor(cls, json.loads(text), arrays)
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged() from error


def _regressor(
    cls: type[Regressor], about: dict[str, Any], arrays: Mapping[str, NDArray[np.float64]]
) -> Regressor:
    params = about["params"]
    widths = {name: tuple(params[name]) for name in ("hidden", "adversary_hidden")}
    model = cls(**(params | widths))
    for name in _FITTED:
        setattr(model, name, about["fitted"][name])
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
    """All arrays and the header's metadata."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except SafetensorError as error:
        raise _damaged() from error
    except OSError as error:
        raise StorageError.of(
            "The model's file can't be read", "Check its path and your rights to it."
        ) from error


def _in_order(content: bytes) -> bytes:
    """The file with its metadata sorted: safetensors writes them in an order of chance.

    A file is the header's length in 8 bytes, the header, filled up with spaces to a multiple of 8, and the
    arrays.
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
    """What JSON has no words for: NumPy's numbers and arrays, and a table's column names."""
    if isinstance(value, (np.generic, np.ndarray, pd.Index)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can't be kept in a model's file")


def _damaged() -> StorageError:
    return StorageError.of("The model's file is damaged, or not a model's", "Save the model again.")
