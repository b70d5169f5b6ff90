"""Inputs of a model that names them: which column is which, numbers, and levels by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tables.model_files.model_file import Array, Link, as_levels, number_values, refused
from fairdash.utils.text import counted, few

#: Names that libraries give to the columns of an array.
_PLACE = re.compile(r"(?:Column_|f|x|feature_?)?\d+", re.IGNORECASE)
NAME_LINK = (
    "Say what it gives: “identity” for the price, “log” for its logarithm (model_link; on the page, “Output "
    "of the model”)."
)


@dataclass(frozen=True)
class Input:
    """Input of a model.

    Attributes
    ----------
    levels
        Texts of its levels; None for a number.
    codes
        Numbers that the library takes for the levels, in their order.
    is_text
        Levels are taken as texts, and the file doesn't list them.
    form
        Type and shape in the file's own words, if it has any.
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
        """Cells as numbers with NaN where one is missing or unknown, or as texts, (n,)."""
        if self.is_text:
            return as_levels(cells)
        if self.levels is None:
            return number_values(cells)
        codes = dict(zip(self.levels, self.codes, strict=True))
        return pd.Series(as_levels(cells)).map(codes).to_numpy(dtype=float)


def coded(name: str, levels: tuple[str, ...]) -> Input:
    """Return an input of levels that the library numbers from 0."""
    return Input(name, levels, tuple(map(float, range(len(levels)))))


class NamedModel:
    """Base of models whose file lists its inputs; readers fill the attributes before `match` is called.

    Attributes
    ----------
    kind, objective, size
        The file, what it was fitted for, and its trees or terms, in words.
    inputs
        Its inputs, in its order.
    outputs
        Names of the numbers that it gives for each row.
    link
        ``"log"`` where they are logarithms of the price.
    is_price
        Whether the output is certainly no logarithm.
    response
        Scale of the output, in words.
    open
        Sentences on what the file doesn't tell.
    remarks
        Sentences that belong before a verdict.
    names_inputs
        Whether the file names them; otherwise columns are taken in their order.
    says_unknown
        Sentence on levels that it does not know, with places for these, the column and the rows.
    is_listed
        Whether the file lists all levels that it knows, so that a column without any of them is refused.
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
    says_unknown = "The model does not know {} of “{}”, in {}, priced as a missing level."
    _place: int | None = 0

    def priced(self, values: list[NDArray[Any]]) -> Array:
        """Prices of the values of its inputs, (n,) or (n, K)."""
        raise NotImplementedError

    def match(self, columns: Sequence[str] | None, table: Sequence[str], output: str | None) -> None:
        """Find the column of each input among `columns`, in their order, or by name in the `table`."""
        names = [each.name for each in self.inputs]
        if not names:
            raise refused("it has no inputs: its price is the same in every row", "Export another model.")
        written = {re.sub(r"\s", "_", each): each for each in reversed(table)}
        by_name = [each if each in table else written.get(each) for each in names]
        of_array = all(_PLACE.fullmatch(each) for each in names) and not set(names) <= set(table)
        if self.names_inputs and None not in by_name:
            self.columns = [str(each) for each in by_name]
        elif self.names_inputs and columns is None and not of_array:
            lacking = [name for name, each in zip(names, by_name, strict=True) if each is None]
            hint = "Add it, or name the model's columns in its order."
            raise refused(f"it takes the column {few(lacking)}, which the table lacks", hint)
        else:
            self.columns = list(table if columns is None else columns)
            listed = ", ".join(f"“{each}”" for each in self.columns)
            if len(self.columns) != len(names):
                raise refused(
                    f"it takes {counted(len(names), 'column')}, not {len(self.columns)} ({listed})",
                    "Name the model's columns, in its order.",
                )
            named = f"names its inputs {few(names)}" if self.names_inputs else "does not name its inputs"
            self.remarks += (f"The file {named}. They are taken in this order: {listed}.",)
        self.choose(output)

    def choose(self, output: str | None) -> None:
        """Choose the output that holds the price."""
        if output is not None or len(self.outputs) > 1:
            if output not in self.outputs:
                what = f"{len(self.outputs)} outputs" if output is None else f"no output “{output}”"
                raise refused(f"it has {what}", f"Name one as the model's output: {few(self.outputs)}.")
            self._place = self.outputs.index(output)

    def settle(self, rows: pd.DataFrame) -> None:
        """Learn of the table what the file leaves open."""

    def values(self, rows: pd.DataFrame) -> list[NDArray[Any]]:
        """Values of each input, (n,)."""
        self.settle(rows)
        return [each.values(rows[column]) for each, column in zip(self.inputs, self.columns, strict=True)]

    def predict(self, rows: pd.DataFrame) -> Array:
        """Return the model's output for rows, (n,), without its link."""
        made = np.asarray(self.priced(self.values(rows)), dtype=float)
        return made if made.ndim == 1 else made[:, self._place]

    def unknown_levels(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return sentences on cells whose level is missing or not known; refused where none is known."""
        said = []
        self.settle(rows)
        for each, column in zip(self.inputs, self.columns, strict=True):
            cells = rows[column]
            if not each.has_levels:
                continue
            if gone := int(cells.isna().sum()):
                said.append(f"“{column}” is missing in {counted(gone, 'row')}, priced as no level.")
            known = pd.Series(as_levels(cells)[cells.notna().to_numpy()], dtype=object).value_counts()
            unknown = known[[not self.knows(each, level) for level in known.index]]
            if self.is_listed and 0 < len(unknown) == len(known):
                hint = "Write the column's levels as in the model's training."
                raise refused(
                    f"no cell of “{column}” is a level that it knows ({few(each.levels or ())})", hint
                )
            if len(unknown):
                count = counted(int(unknown.sum()), "row")
                said.append(self.says_unknown.format(few(sorted(unknown.index)), column, count))
        return tuple(said)

    def knows(self, which: Input, level: str) -> bool:
        """Return whether an input has a level, as far as the file tells."""
        return which.levels is None or level in which.levels

    @property
    def about(self) -> dict[str, Any]:
        """Description of the file in its own terms, as plain values."""
        listed = [
            {
                "name": each.name, "type": each.form or ("levels" if each.has_levels else "number"),
                "levels": each.levels and list(each.levels),
            }
            for each in self.inputs
        ]  # fmt: skip
        return {
            "kind": self.kind, "objective": self.objective, "output": self.response, "inputs": listed,
            "outputs": list(self.outputs), "size": self.size, "unknown": list(self.open),
        }  # fmt: skip
