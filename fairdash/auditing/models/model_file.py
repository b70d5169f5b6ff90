"""Model of a price in a file: what kind it is, and models in ONNX, which holds operators but no program code.

What a file says of itself is used: names, types and shapes of its inputs and outputs, the levels that it
knows, and the link where its maker notes the loss. What it leaves open is said, or refused with the cause.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairdash.errors import StorageError
from fairdash.utils.text import at_lines, counted, few

Array = NDArray[np.float64]
Link = Literal["auto", "identity", "log"]
LINKS: tuple[Link, ...] = ("auto", "identity", "log")

#: Begins a note that is shown before the verdict.
DIFFERS = "The model's price differs"
#: Bytes of a model's file, columns that it takes, and seconds that it may need each time.
MAX_BYTES, MAX_INPUTS, MAX_SECONDS = 50 * 10**6, 1_000, 60
#: Bytes of memory that the process may take in which it is opened.
MAX_MEMORY = 6 * 10**9
#: Endings of files that are read, for the page.
ENDINGS = ("onnx", "txt", "json", "ubj", "cbm", "pmml", "xml", "csv", "xlsx")
#: Types of inputs, and whether missing cells and fractions can be held.
_FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64}
_WHOLE = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
_TEXT = "tensor(string)"
_NO_PICKLE = (
    "Save the model by its library's own save_model, or export it as ONNX, for example with skl2onnx. "
    "fairdash never loads pickles, because they can run any program."
)
_ITS_PRICES = "Compute the prices where the model is at home, and audit their column."
#: How files begin that are not read: what they are, and the next step.
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
    """Return which reader takes a file, by what it holds: its name is of no matter.

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


class OnnxModel:
    """Model in the bytes of an ONNX file.

    Parameters
    ----------
    content
        As :func:`content_of` returns it.
    columns
        Columns of its single input (n, p), in their order. Not looked at where each input has one column, and
        its name. None if the file is only described.
    output
        Output that holds the price, such as ``"probabilities[1]"`` for the second number of each row; by
        default the only one that holds numbers.

    Attributes
    ----------
    link
        ``"log"`` where the file says that it gives the logarithm of the price, and ``"identity"`` otherwise.
    remarks
        Sentences on what was taken for what.

    Raises
    ------
    StorageError
        No ONNX, with data in other files or operators of its own, or of other inputs or outputs.
    """

    def __init__(self, content: bytes, columns: Sequence[str] | None, *, output: str | None = None) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        # Nothing of the file is computed before its time is limited.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # Its errors have no base of their own; the cause is kept.
            raise refused(f"it is not a self-contained ONNX model ({cause(error)})") from error
        self._content, self._columns = content, list(columns or ())
        self._inputs = self._session.get_inputs()
        if not 0 < len(self._inputs) <= MAX_INPUTS:
            raise refused(f"it has {len(self._inputs)} inputs")
        for each in self._inputs:
            if each.type not in (*_FLOATS, *_WHOLE, _TEXT):
                raise refused(f"its input “{each.name}” is {each.type}, which is neither numbers nor text")
            if each.shape and isinstance(each.shape[0], int):
                rows = counted(each.shape[0], "row")
                raise refused(f"it prices {rows} at a time", "Export it with a free first dimension.")
        self._is_single = len(self._inputs) == 1 and self._inputs[0].name not in self._columns
        self.link, self.remarks = self._told()
        if columns is not None:
            self._check_width()
            self._output, self._place = self._chosen(output)

    def _told(self) -> tuple[Link, tuple[str, ...]]:
        """Link, and remarks on it and on the order of the inputs."""
        said: list[str] = []
        link: Link = "identity"
        held = self._session.get_modelmeta()
        loss = _catboost_loss(held.custom_metadata_map.get("params", ""))
        if loss in LOG_LOSSES:
            link = "log"
            said.append(f"The file holds a CatBoost model of the loss {loss}, whose output is a logarithm.")
        elif not loss and self._may_have_a_link(held.producer_name):
            said.append(
                "The file does not say whether it gives the price or, as with a log link, its logarithm. "
                "Name the link, or compare it with the model's own prices (check_column)."
            )
        if self._is_single and self._columns:
            named = ", ".join(f"“{each}”" for each in self._columns)
            said.append(f"The file does not name its inputs. They are taken in this order: {named}.")
        return link, tuple(said)

    def _check_width(self) -> None:
        wanted = self._inputs[0].shape[-1] if len(self._inputs[0].shape) == 2 else None
        if self._is_single and isinstance(wanted, int) and wanted != len(self._columns):
            named = ", ".join(f"“{each}”" for each in self._columns)
            raise refused(
                f"it takes {counted(wanted, 'column')}, not {len(self._columns)} ({named})",
                "Name the model's columns, in its order.",
            )

    @property
    def columns(self) -> list[str]:
        """Columns of a table that it takes."""
        return [name for name, _ in self._taken]

    @property
    def about(self) -> dict[str, Any]:
        """Description of the file in its own terms, as plain values."""
        maker = self._session.get_modelmeta().producer_name
        loss = _catboost_loss(self._session.get_modelmeta().custom_metadata_map.get("params", ""))
        inputs = [
            {"name": each.name, "type": f"{each.type}, {len(each.shape)}-d", "levels": None}
            for each in self._inputs
        ]
        return {
            "kind": f"ONNX ({maker or 'no maker named'})", "objective": loss or "not told",
            "output": "a logarithm of the price" if self.link == "log" else "a number as the file gives it",
            "inputs": inputs, "outputs": [each.name for each in self._session.get_outputs()],
            "size": counted(len(self._content), "byte"), "unknown": [] if loss else list(self.remarks),
        }  # fmt: skip

    def _may_have_a_link(self, producer: str) -> bool:
        """Return whether exporters write such a model without its link: trees, and additive models."""
        held = self._content
        trees = b"TreeEnsembleRegressor" in held and b"AVERAGE" not in held
        return (trees and b"\x22\x03Exp" not in held) or producer == "ebm2onnx"

    def _chosen(self, output: str | None) -> tuple[str, int | None]:
        """Name of the output that holds the price, and the place in each row, None for its only one."""
        outputs = {each.name: each for each in self._session.get_outputs()}
        listed = ", ".join(f"“{name}” ({each.type})" for name, each in outputs.items())
        place = None
        if output is None:
            if len(outputs) > 1:
                raise refused(
                    f"it has {len(outputs)} outputs: {listed}",
                    "Name the one that holds the price; “NAME[1]” is the second number of each row.",
                )
            output = next(iter(outputs))
        elif output not in outputs and (found := re.fullmatch(r"(.+)\[(\d+)\]", output)):
            output, place = found[1], int(found[2])
        if output not in outputs:
            raise refused(f"it has no output “{output}”", f"Its outputs: {listed}.")
        if outputs[output].type not in _FLOATS:
            hint = "Name an output of decimal numbers, or export the model again (in skl2onnx, zipmap=False)."
            raise refused(f"its output “{output}” is {outputs[output].type}, which is no price", hint)
        return output, place

    def unknown_levels(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return sentences on cells of text that are missing, or whose level the model does not know."""
        said = []
        for name, kind in self._taken:
            if kind != _TEXT or name not in rows:
                continue
            if gone := int(rows[name].isna().sum()):
                said.append(f"“{name}” is missing in {counted(gone, 'row')}, priced as no level.")
            cells = as_levels(rows[name])[rows[name].notna().to_numpy()]
            levels, counts = np.unique(cells.astype(str), return_counts=True)
            unknown = [not _holds_text(self._content, each) for each in levels.tolist()]
            if any(unknown):
                said.append(
                    f"The model does not know {few(levels[unknown].tolist())} of “{name}”, in "
                    f"{counted(int(counts[unknown].sum()), 'row')}."
                )
        return tuple(said)

    @property
    def _taken(self) -> list[tuple[str, str]]:
        """Columns with the types in which they are taken."""
        if self._is_single:
            return [(name, self._inputs[0].type) for name in self._columns]
        return [(each.name, each.type) for each in self._inputs]

    def predict(self, rows: pd.DataFrame) -> Array:
        """Return the model's output for rows, (n,), without its link.

        Raises
        ------
        StorageError
            A column is missing or can't be taken, or the output is not a number per row.
        """
        import onnxruntime

        parts = [_values(rows[name], kind) for name, kind in self._taken]
        if self._is_single:
            fed = {self._inputs[0].name: np.column_stack(parts)}
        else:
            shapes = (each.shape for each in self._inputs)
            fed = {
                each.name: part if len(shape) == 1 else part[:, None]
                for each, part, shape in zip(self._inputs, parts, shapes, strict=True)
            }
        run = onnxruntime.RunOptions()
        run.log_severity_level = 4
        try:
            (made,) = self._session.run([self._output], fed, run)
        except Exception as error:
            raise refused(f"it can't price the rows ({cause(error)})") from error
        made = np.asarray(made, dtype=float).reshape(len(rows), -1)
        if self._place is None and made.shape[1] > 1:
            hint = f"Name one, such as “{self._output}[0]”."
            raise refused(f"its output “{self._output}” has {made.shape[1]} numbers a row", hint)
        if (self._place or 0) >= made.shape[1]:
            raise refused(f"its output “{self._output}” has {made.shape[1]} numbers a row")
        return np.asarray(made[:, self._place or 0])


def number_values(cells: pd.Series) -> NDArray[Any]:
    """Cells as numbers of 64 bits, NaN where one is missing, (n,); StorageError where they are text."""
    return _values(cells, "tensor(double)")


def _values(cells: pd.Series, kind: str) -> NDArray[Any]:
    """Cells as an input of a type takes them, (n,); StorageError where that would change their values."""
    name = cells.name
    if kind == _TEXT:
        return as_levels(cells)
    if not (is_numeric_dtype(cells) or is_bool_dtype(cells)):
        hint = "Code the column as for the model's training, or export the model with its encoding."
        raise refused(f"it takes numbers, and “{name}” holds text, such as “{cells.dropna().iloc[0]}”", hint)
    numbers = cells.to_numpy(dtype=float, na_value=np.nan)
    if kind in _FLOATS:
        return numbers.astype(_FLOATS[kind])
    for what, bad in (("is missing", np.isnan(numbers)), ("is a fraction", numbers != np.round(numbers))):
        if bad.any():
            where = at_lines((np.flatnonzero(bad) + 1).tolist(), int(bad.sum()), word="row")
            raise refused(
                f"it takes whole numbers, and “{name}” {what} in {counted(int(bad.sum()), 'row')} ({where})",
                "Leave these rows out, or fill the cells.",
            )
    return numbers.astype(_WHOLE[kind])


def as_levels(cells: pd.Series) -> NDArray[Any]:
    """Levels as they are written, (n,) of text: whole numbers without a fraction, "" where one is missing."""
    if is_numeric_dtype(cells) and not is_bool_dtype(cells):
        known = cells.dropna().astype(float)
        if (known == np.round(known)).all():
            cells = cells.astype("Int64")
    return cells.astype(object).where(cells.notna(), "").astype(str).to_numpy(object)


def _holds_text(content: bytes, text: str) -> bool:
    """Return whether a file lists a text, which ONNX writes after its length and the number of its field
    (AttributeProto.strings, TensorProto.string_data)."""
    held = text.encode()
    length = bytes([len(held)]) if len(held) < 128 else bytes([len(held) % 128 + 128, len(held) // 128])
    return any(field + length + held in content for field in (b"\x4a", b"\x32"))


def _catboost_loss(params: str) -> str:
    """Return the loss that CatBoost notes in a file's metadata; "" for none."""
    try:
        return str(json.loads(params)["loss_function"]["type"])
    except (ValueError, KeyError, TypeError):
        return ""


def cause(error: Exception) -> str:
    """Return the library's own words, without its codes and paths."""
    words = str(error).splitlines()[0] if str(error) else type(error).__name__
    words = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", words)
    kept = [each for each in words.split() if "/" not in each and "::" not in each]
    return " ".join(kept)[:200].rstrip(". ")
