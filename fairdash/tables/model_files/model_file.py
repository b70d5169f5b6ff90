"""Files with pricing models: detection of the kind, inputs, and functions that all model readers share.

fairdash reads the metadata of a file: the names, types and shapes of inputs and outputs, and the levels. If
the file states the loss, fairdash infers the link. If a fact is missing in a file, fairdash says so, or
rejects the file with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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

#: First words of a note that is shown before the results of an audit.
DIFFERS = "The model's price differs"
#: A model's file has at most `MAX_BYTES` bytes and `MAX_INPUTS` inputs. A request takes at most
#: `MAX_SECONDS`.
MAX_BYTES, MAX_INPUTS, MAX_SECONDS = 50 * 10**6, 1_000, 60
#: Maximum memory in bytes of the process that opens a model's file.
MAX_MEMORY = 6 * 10**9
#: File name extensions that the page accepts.
ENDINGS = ("onnx", "txt", "json", "ubj", "cbm", "pmml", "xml", "csv", "xlsx")
_NO_PICKLE = (
    "Save the model with save_model of its library, or export it as ONNX, for example with skl2onnx. "
    "fairdash never loads pickles, because a pickle can run any program."
)
_ITS_PRICES = "Compute the prices with the model's own software, and audit a column of these prices."
#: Kinds of files that are not supported, each with its first bytes, a description and advice.
_OTHER_FILES = (
    (b"\x80", "it is a pickle", _NO_PICKLE),
    (
        b"binf",
        "it is in XGBoost's old binary format",
        "Save the model with save_model under a name that ends with .json.",
    ),
    (
        b"\x1f\x8b",
        "it is compressed, like R's .rds and .RData",
        f"Unpack it. If it is an R model: {_ITS_PRICES}",
    ),
    (b"RD", "it is in R's own format", f"fairdash runs no code. {_ITS_PRICES}"),
    (b"\x89HDF", "it is an HDF5 file, as Keras writes it", "Export the model as ONNX."),
)
#: Losses of CatBoost with which a model predicts the logarithm of the mean.
LOG_LOSSES = ("Poisson", "Tweedie")


def content_of(source: bytes | str | PathLike[str]) -> bytes:
    """Return the content of a model's file. Raise a StorageError if the file is larger than 50 MB."""
    try:
        if not isinstance(source, bytes):
            with Path(source).open("rb") as file:
                source = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise unusable_file("it can't be read") from error
    if len(source) > MAX_BYTES:
        raise unusable_file(f"it is larger than {MAX_BYTES / 1e6:.0f} MB")
    return source


def unusable_file(reason: str, hint: str = _NO_PICKLE) -> StorageError:
    """Return the error for a model's file that fairdash can't use."""
    return StorageError.of(f"The model's file is refused: {reason}", hint)


def kind_of(content: bytes) -> str:
    """Return the kind of a file, which is detected from its content, not from its name.

    Raises
    ------
    StorageError
        fairdash has no reader for the file. The error states the kind of the file.
    """
    for start, format_name, hint in _OTHER_FILES:
        if content.startswith(start):
            raise unusable_file(format_name, hint)
    head = content[:100_000].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"tree\n", b"tree\r\n")):
        return "lightgbm"
    if head.startswith(b"CBM1") or (head.startswith(b"{") and b'"oblivious_trees"' in content):
        return "catboost"
    if head.startswith(b"{"):
        if b"learner" in head[:1_000]:
            return "xgboost"
        hint = "Save the model with save_model of its library."
        raise unusable_file("it is JSON that neither XGBoost nor CatBoost wrote", hint)
    if head.startswith(b"<"):
        if b"<PMML" in head[:5_000] and b"<!DOCTYPE" not in head[:5_000]:
            return "pmml"
        raise unusable_file(
            "it is XML, but not a PMML file without a document type", "Export the model as PMML or ONNX."
        )
    if head.startswith(b"PK\x03\x04"):
        if b"xl/workbook" in content:
            return "factors"
        if b"model.ini" in content:
            raise unusable_file("it is a MOJO of H2O, which only H2O's own software can run", _ITS_PRICES)
        raise unusable_file("it is a zip archive, but not a workbook", "Unpack it.")
    is_text = b"\x00" not in head and head.count(b"\n") > 1 and re.search(rb"[,;\t]", head)
    return "factors" if is_text else "onnx"


def number_values(cells: pd.Series, kind: type[np.generic] = np.float64) -> NDArray[Any]:
    """Return cells as numbers (n,), NaN if missing. Raise a StorageError if a cell is not suitable."""
    name = cells.name
    if not (is_numeric_dtype(cells) or is_bool_dtype(cells)):
        hint = "Encode the column as in the model's training, or export the model with its encoding."
        raise unusable_file(
            f"it needs numbers, but “{name}” contains text, such as “{cells.dropna().iloc[0]}”", hint
        )
    numbers = cells.to_numpy(dtype=float, na_value=np.nan)
    if issubclass(kind, np.floating):
        return numbers.astype(kind)
    for problem, wrong in (
        ("is missing", np.isnan(numbers)),
        ("is a fraction", numbers != np.round(numbers)),
    ):
        if wrong.any():
            where = at_lines((np.flatnonzero(wrong) + 1).tolist(), int(wrong.sum()), word="row")
            raise unusable_file(
                f"it needs whole numbers, but “{name}” {problem} in "
                f"{counted(int(wrong.sum()), 'row')} ({where})",
                "Leave these rows out, or fill the cells.",
            )
    return numbers.astype(kind)


def as_levels(cells: pd.Series) -> NDArray[Any]:
    """Return levels as text (n,). Whole numbers have no decimal point, and missing cells become ""."""
    if is_numeric_dtype(cells) and not is_bool_dtype(cells):
        numbers = cells.dropna().astype(float)
        if (numbers == np.round(numbers)).all():
            cells = cells.astype("Int64")
    return cells.astype(object).where(cells.notna(), "").astype(str).to_numpy(object)


def cause(error: Exception) -> str:
    """Return the error message of a library without error codes and paths."""
    message = str(error).splitlines()[0] if str(error) else type(error).__name__
    message = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", message)
    words_of_message = [word for word in message.split() if "/" not in word and "::" not in word]
    return " ".join(words_of_message)[:200].rstrip(". ")


#: Pattern of names that libraries give to the columns of an array without names.
_PLACE = re.compile(r"(?:Column_|f|x|feature_?)?\d+", re.IGNORECASE)
NAME_LINK = (
    "State what the model gives: “identity” for the price, “log” for its logarithm (model_link; on the page, "
    "“Output of the model”)."
)


@dataclass(frozen=True)
class Input:
    """Input of a model.

    Attributes
    ----------
    levels
        Levels of the input as strings; None for a numeric input.
    codes
        Numbers by which the library represents the levels, in the same order.
    is_text
        True if the input takes strings whose possible values the file doesn't list.
    form
        Type and shape of the input, if the file states them.
    """

    name: str
    levels: tuple[str, ...] | None = None
    codes: tuple[float, ...] = ()
    is_text: bool = False
    form: str = ""

    @property
    def has_levels(self) -> bool:
        return self.is_text or self.levels is not None

    def values(self, cells: pd.Series) -> NDArray[Any]:
        """Return cells (n,) as strings or as numbers, with NaN for a missing cell or an unknown level."""
        if self.is_text:
            return as_levels(cells)
        if self.levels is None:
            return number_values(cells)
        codes = dict(zip(self.levels, self.codes, strict=True))
        return pd.Series(as_levels(cells)).map(codes).to_numpy(dtype=float)


def coded(name: str, levels: tuple[str, ...]) -> Input:
    """Return an input with levels that the library represents by the numbers 0, 1, 2, …."""
    return Input(name, levels, tuple(map(float, range(len(levels)))))


class NamedModel:
    """Base class of models whose file lists the inputs. A reader sets all attributes and then calls `match`.

    Attributes
    ----------
    kind, objective, size
        Type of the file, objective of the fit, and number of trees or terms, in words.
    inputs
        Inputs of the model, in order.
    outputs
        Names of the model's outputs for each row.
    link
        ``"log"`` if the outputs are logarithms of the price, else ``"identity"``.
    is_price
        True if the output is certainly a price, and not the logarithm of a price.
    response
        Scale of the output, in words.
    open
        Sentences on facts that the file doesn't state.
    remarks
        Sentences that are shown before the results of an audit.
    names_inputs
        True if the file names the inputs. If it doesn't, the columns are used in order.
    unknown_level_message
        Sentence on unknown levels, with placeholders for the levels, the column and the number of rows.
    is_listed
        True if the file lists all levels. A column without any known level then raises an error.
    """

    kind = objective = size = response = ""
    link: Link = "identity"
    is_price = False
    inputs: tuple[Input, ...] = ()
    outputs: tuple[str, ...] = ("price",)
    open: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    columns: list[str] = []  # noqa: RUF012 (set by match)
    names_inputs = is_listed = True
    unknown_level_message = (
        "The model does not know {} of “{}”, in {}. These rows are priced as if the level were missing."
    )
    _place: int | None = 0

    def priced(self, values: list[NDArray[Any]]) -> Array:
        """Return the outputs, (n,) or (n, K), for given values of the inputs."""
        raise NotImplementedError

    def match(self, columns: Sequence[str] | None, table: Sequence[str], output: str | None) -> None:
        """Find the column of each input by its position in `columns` or by its name in `table`."""
        names = [field.name for field in self.inputs]
        if not names:
            raise unusable_file(
                "it has no inputs: its price is the same in every row", "Export another model."
            )
        by_written_name = {re.sub(r"\s", "_", column): column for column in reversed(table)}
        by_name = [name if name in table else by_written_name.get(name) for name in names]
        of_array = all(_PLACE.fullmatch(name) for name in names) and not set(names) <= set(table)
        if self.names_inputs and None not in by_name:
            self.columns = [str(name) for name in by_name]
        elif self.names_inputs and columns is None and not of_array:
            missing = [name for name, each in zip(names, by_name, strict=True) if each is None]
            hint = "Add the column, or list the columns in the order of the model's inputs."
            raise unusable_file(f"it needs the column {few(missing)}, which the table does not have", hint)
        else:
            self.columns = list(table if columns is None else columns)
            order = ", ".join(f"“{column}”" for column in self.columns)
            if len(self.columns) != len(names):
                raise unusable_file(
                    f"it takes {counted(len(names), 'column')}, not {len(self.columns)} ({order})",
                    "List the columns in the order of the model's inputs.",
                )
            text = f"names its inputs {few(names)}" if self.names_inputs else "does not name its inputs"
            self.remarks += (f"The file {text}. These columns are used as inputs, in this order: {order}.",)
        self.choose(output)

    def choose(self, output: str | None) -> None:
        """Choose the output that contains the price."""
        if output is not None or len(self.outputs) > 1:
            if output not in self.outputs:
                problem = f"{len(self.outputs)} outputs" if output is None else f"no output “{output}”"
                raise unusable_file(f"it has {problem}", f"Choose one of these outputs: {few(self.outputs)}.")
            self._place = self.outputs.index(output)

    def settle(self, rows: pd.DataFrame) -> None:
        """Infer from the rows the facts that the file does not state."""

    def values(self, rows: pd.DataFrame) -> list[NDArray[Any]]:
        """Return the values of each input, (n,)."""
        self.settle(rows)
        return [field.values(rows[column]) for field, column in zip(self.inputs, self.columns, strict=True)]

    def predict(self, rows: pd.DataFrame) -> Array:
        """Return the model's output (n,) for rows, before a logarithm is inverted."""
        outputs = np.asarray(self.priced(self.values(rows)), dtype=float)
        return outputs if outputs.ndim == 1 else outputs[:, self._place]

    def unknown_levels(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return sentences on missing and unknown levels. Raise an error if a column has no known level."""
        sentences = []
        self.settle(rows)
        for field, column in zip(self.inputs, self.columns, strict=True):
            cells = rows[column]
            if not field.has_levels:
                continue
            if n_missing := int(cells.isna().sum()):
                sentences.append(
                    f"“{column}” is missing in {counted(n_missing, 'row')}, which are priced without a level."
                )
            level_counts = pd.Series(as_levels(cells)[cells.notna().to_numpy()], dtype=object).value_counts()
            unknown = level_counts[[not self.knows(field, level) for level in level_counts.index]]
            if self.is_listed and 0 < len(unknown) == len(level_counts):
                hint = "Write the levels of the column as in the model's training."
                raise unusable_file(
                    f"no cell of “{column}” contains a level of the model ({few(field.levels or ())})", hint
                )
            if len(unknown):
                count = counted(int(unknown.sum()), "row")
                sentences.append(self.unknown_level_message.format(few(sorted(unknown.index)), column, count))
        return tuple(sentences)

    def knows(self, which: Input, level: str) -> bool:
        """Return whether the file lists this level of an input."""
        return which.levels is None or level in which.levels

    @property
    def about(self) -> dict[str, Any]:
        """Description of the file for the user, as a dict of plain values."""
        descriptions = [
            {
                "name": field.name, "type": field.form or ("levels" if field.has_levels else "number"),
                "levels": field.levels and list(field.levels),
            }
            for field in self.inputs
        ]  # fmt: skip
        return {
            "kind": self.kind, "objective": self.objective, "output": self.response, "inputs": descriptions,
            "outputs": list(self.outputs), "size": self.size, "unknown": list(self.open),
        }  # fmt: skip
