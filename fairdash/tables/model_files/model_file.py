"""Model of a price in a file: what kind it is, how its cells are taken, and what all readers share.

The metadata of a file are used: names, types and shapes of its inputs and outputs, the levels that it
knows, and the link where its maker notes the loss. What it leaves open is said, or refused with the cause.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairdash.errors import StorageError
from fairdash.utils.text import at_lines, counted

Array = NDArray[np.float64]
Link = Literal["auto", "identity", "log"]
LINKS: tuple[Link, ...] = ("auto", "identity", "log")

#: Begins a note that is shown before the verdict.
DIFFERS = "The model's price differs"
#: Bytes of a model's file, columns that it takes, and seconds that it may need each time.
MAX_BYTES, MAX_INPUTS, MAX_SECONDS = 50 * 10**6, 1_000, 60
#: Bytes of memory that the process may take in which it is opened.
MAX_MEMORY = 6 * 10**9
#: File endings that are accepted, for the page.
ENDINGS = ("onnx", "txt", "json", "ubj", "cbm", "pmml", "xml", "csv", "xlsx")
_NO_PICKLE = (
    "Save the model by its library's own save_model, or export it as ONNX, for example with skl2onnx. "
    "fairdash never loads pickles, because they can run any program."
)
_ITS_PRICES = "Compute the prices where the model is at home, and audit their column."
#: First bytes of files that are not supported: their type, and the next step.
_OTHER_FILES = (
    (b"\x80", "it is a pickle", _NO_PICKLE),
    (b"binf", "it is XGBoost's old binary format", "Save the model by save_model with the ending .json."),
    (b"\x1f\x8b", "it is compressed, as R's .rds and .RData are", f"Unpack it. Of an R model: {_ITS_PRICES}"),
    (b"RD", "it is R's own format", f"fairdash runs no code. {_ITS_PRICES}"),
    (b"\x89HDF", "it is HDF5, as Keras writes it", "Export the model as ONNX."),
)
#: Losses of CatBoost whose model predicts the logarithm of the mean.
LOG_LOSSES = ("Poisson", "Tweedie")


def content_of(source: bytes | str | PathLike[str]) -> bytes:
    """Return a model's file, read whole, so that nothing beside it is opened; StorageError if over 50 MB."""
    try:
        if not isinstance(source, bytes):
            with Path(source).open("rb") as file:
                source = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise refused("it can't be read") from error
    if len(source) > MAX_BYTES:
        raise refused(f"it is larger than {MAX_BYTES / 1e6:.0f} MB")
    return source


def refused(why: str, hint: str = _NO_PICKLE) -> StorageError:
    """Return the error of a file that can't be used."""
    return StorageError.of(f"The model's file is refused: {why}", hint)


def kind_of(content: bytes) -> str:
    """Return the reader of a file by its content; its name does not matter.

    Raises
    ------
    StorageError
        None does; it says what the file is.
    """
    for start, what, hint in _OTHER_FILES:
        if content.startswith(start):
            raise refused(what, hint)
    begin = content[:100_000].removeprefix(b"\xef\xbb\xbf").lstrip()
    if begin.startswith((b"tree\n", b"tree\r\n")):
        return "lightgbm"
    if begin.startswith(b"CBM1") or (begin.startswith(b"{") and b'"oblivious_trees"' in content):
        return "catboost"
    if begin.startswith(b"{"):
        if b"learner" in begin[:1_000]:
            return "xgboost"
        hint = "Save the model by its library's own save_model."
        raise refused("it is JSON that neither XGBoost nor CatBoost wrote", hint)
    if begin.startswith(b"<"):
        if b"<PMML" in begin[:5_000] and b"<!DOCTYPE" not in begin[:5_000]:
            return "pmml"
        raise refused("it is XML, but no plain PMML", "Export the model as PMML or ONNX.")
    if begin.startswith(b"PK\x03\x04"):
        if b"xl/workbook" in content:
            return "factors"
        if b"model.ini" in content:
            raise refused("it is a MOJO of H2O, which only H2O's own program prices", _ITS_PRICES)
        raise refused("it is a zip archive that is no workbook", "Unpack it.")
    is_text = b"\x00" not in begin and begin.count(b"\n") > 1 and re.search(rb"[,;\t]", begin)
    return "factors" if is_text else "onnx"


def number_values(cells: pd.Series, kind: type[np.generic] = np.float64) -> NDArray[Any]:
    """Cells as numbers, NaN where one is missing, (n,); StorageError where that would change their values."""
    name = cells.name
    if not (is_numeric_dtype(cells) or is_bool_dtype(cells)):
        hint = "Code the column as for the model's training, or export the model with its encoding."
        raise refused(f"it takes numbers, and “{name}” holds text, such as “{cells.dropna().iloc[0]}”", hint)
    numbers = cells.to_numpy(dtype=float, na_value=np.nan)
    if issubclass(kind, np.floating):
        return numbers.astype(kind)
    for what, bad in (("is missing", np.isnan(numbers)), ("is a fraction", numbers != np.round(numbers))):
        if bad.any():
            where = at_lines((np.flatnonzero(bad) + 1).tolist(), int(bad.sum()), word="row")
            raise refused(
                f"it takes whole numbers, and “{name}” {what} in {counted(int(bad.sum()), 'row')} ({where})",
                "Leave these rows out, or fill the cells.",
            )
    return numbers.astype(kind)


def as_levels(cells: pd.Series) -> NDArray[Any]:
    """Levels as text (n,): whole numbers without a fraction, "" for missing ones."""
    if is_numeric_dtype(cells) and not is_bool_dtype(cells):
        known = cells.dropna().astype(float)
        if (known == np.round(known)).all():
            cells = cells.astype("Int64")
    return cells.astype(object).where(cells.notna(), "").astype(str).to_numpy(object)


def cause(error: Exception) -> str:
    """Return the library's own words, without its codes and paths."""
    words = str(error).splitlines()[0] if str(error) else type(error).__name__
    words = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", words)
    kept = [each for each in words.split() if "/" not in each and "::" not in each]
    return " ".join(kept)[:200].rstrip(". ")
