"""Load models from ONNX files, which contain numbers and operators but no foreign program."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.errors import StorageError

#: Bytes of a model's file, and columns that it takes.
LARGEST, MOST_INPUTS = 50 * 10**6, 1_000
_NO_ONNX = (
    "Export the model as ONNX, for example with skl2onnx. Pickles can run any program and are never loaded."
)
_TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}


def onnx_model(
    source: bytes | str | PathLike[str], columns: list[str]
) -> Callable[[pd.DataFrame], NDArray[np.float64]]:
    """Return a function that prices a frame with an ONNX file.

    Parameters
    ----------
    source
        The file, or its bytes; read whole, so that nothing beside it is opened.
    columns
        What the columns of its single input (n, p) are, in their order. Not looked at where each input has
        one column, and its name.

    Raises
    ------
    StorageError
        Larger than 50 MB, no ONNX, with data in other files or operators of its own, or of other inputs.
    """
    import onnxruntime

    try:
        size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
        if not isinstance(source, bytes):
            source = Path(source).read_bytes() if size <= LARGEST else b""
    except OSError as error:
        raise _refused("it can't be read") from error
    if size > LARGEST:
        raise _refused(f"it is larger than {LARGEST / 1e6:.0f} MB")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # Its errors have no base of their own; the cause is kept.
        raise _refused("it is not a self-contained ONNX model") from error
    inputs = session.get_inputs()
    if not 0 < len(inputs) <= MOST_INPUTS or any(
        each.type not in (*_TYPES, "tensor(string)") for each in inputs
    ):
        raise _refused("its inputs are not numbers or text")
    single = len(inputs) == 1 and inputs[0].name not in columns

    def price(rows: pd.DataFrame) -> NDArray[np.float64]:
        wanted = columns if single else [each.name for each in inputs]
        if missing := [name for name in wanted if name not in rows]:
            raise _refused(f"it takes the column “{missing[0]}”, which the table lacks")
        try:
            fed = (
                {inputs[0].name: _values(rows[columns], inputs[0].type)}
                if single
                else {each.name: _values(rows[[each.name]], each.type) for each in inputs}
            )
            (told, *_) = session.run(None, fed)
        except Exception as error:
            raise _refused("it does not take the table's columns") from error
        return np.asarray(told, dtype=float).reshape(len(rows), -1)[:, 0]

    return price


def _values(table: pd.DataFrame, kind: str) -> Any:
    return table.to_numpy().astype(_TYPES[kind]) if kind in _TYPES else table.astype(str).to_numpy(object)


def _refused(why: str) -> StorageError:
    return StorageError.of(f"The model's file is refused: {why}", _NO_ONNX)
