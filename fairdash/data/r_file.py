"""R's ``.rda`` files: the data frame in it, or the one of several that is named."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairdash.data.cells import ColumnFound
from fairdash.data.headers import named
from fairdash.data.typed import TypedTable, as_text, excluded, no_rows, too_large, truth_values, whole_numbers
from fairdash.data.wording import few
from fairdash.errors import OptionError, Problem, ReadingError

#: How an unpacked file begins: the format's name and its version, 2 or 3, in binary form.
MARKS = (b"RDX2\nX\n", b"RDX3\nX\n")


def read_rda(
    content: bytes,
    *,
    most_cells: int,
    most_columns: int,
    sheet: str | None = None,
    missing_values: Sequence[str] | None = None,
    number_names: bool = False,
) -> TypedTable:
    """Read a data frame of an unpacked ``.rda`` file.

    Parameters
    ----------
    content
        The whole file, out of its compression.
    most_cells, most_columns
        Limits.
    sheet
        Name of the data frame; may be left out if there is one alone.
    missing_values
        Texts that count as missing, besides R's own NA.
    number_names
        See :func:`~fairdash.data.headers.named`.

    Raises
    ------
    ReadingError
        The file is damaged, too large, or holds no data frame with rows.
    OptionError
        There is no data frame of that name.
    """
    frames = _frames(content, most_cells)
    if not frames:
        raise ReadingError(
            Problem(what="the R file holds no data frame", mend="Save one from R, by save(table, file=…).")
        )
    if sheet is not None and sheet not in frames:
        raise OptionError(Problem(what="the file has no table of this name", mend=f"It has {few(frames)}."))
    chosen = sheet if sheet is not None else next(iter(frames))
    frame = frames[chosen]
    if frame.shape[1] > most_columns or frame.size > most_cells:
        raise too_large(f"the table has {frame.shape[1]:,} columns and {frame.size:,} cells")
    if len(frame) == 0 or frame.shape[1] == 0:
        raise no_rows("the data frame")
    names, renamed, notes = named(list(frame.columns), number=number_names)
    if len(frames) > 1:
        notes.append(f"Table “{chosen}” is read, one of {len(frames)} in the file ({few(frames)}).")
    lines = np.arange(1, len(frame) + 1)
    marks = set(missing_values or ())
    columns, others = [], []
    for position, name in enumerate(names):
        column = _column(name, frame.iloc[:, position].reset_index(drop=True), marks, lines)
        if column is None:
            others.append(name)
        else:
            columns.append(column)
    if not columns:
        raise ReadingError(
            Problem(what="no column holds numbers, text or dates", mend="Choose another table.")
        )
    n_missing = sum(int(column.values.isna().sum()) for column in columns)
    return TypedTable(
        columns=columns,
        lines=lines,
        renamed=renamed,
        notes=[*notes, *excluded(others, "their cells are neither numbers, text nor dates")],
        missing_found={"": n_missing} if n_missing else {},
        sheet=chosen,
        sheets=tuple(frames),
    )


def frame_names(content: bytes, *, most_cells: int) -> tuple[str, ...]:
    """Names of the data frames in a file; ReadingError if it is damaged."""
    return tuple(_frames(content, most_cells))


def _frames(content: bytes, most_cells: int) -> dict[str, pd.DataFrame]:
    return {name: one for name, one in _objects(content, most_cells).items() if isinstance(one, pd.DataFrame)}


def _objects(content: bytes, most_cells: int) -> dict[str, Any]:
    import rdata
    from rdata.parser import DEFAULT_ALTREP_MAP

    def limited(constructor: Any) -> Any:
        # R keeps 1:n as three numbers, from which a few bytes could fill the memory.
        def expand(state: Any) -> Any:
            if not 0 <= float(state.value[0]) <= most_cells:
                raise too_large(f"a column has more than {most_cells:,} cells")
            return constructor(state)

        return expand

    makers = {
        name: limited(maker) if name.startswith(b"compact") else maker
        for name, maker in DEFAULT_ALTREP_MAP.items()
    }
    try:
        with warnings.catch_warnings():
            # On R classes that it does not know; such a column is named among those not read.
            warnings.simplefilter("ignore")
            found = rdata.read_rda(
                io.BytesIO(content), altrep_constructor_dict=makers, default_encoding="cp1252"
            )
    except ReadingError:
        raise
    # The parser of a file with any fault in it may fail in any of Python's own ways.
    except Exception as error:
        raise ReadingError(
            Problem(what="this R file is incomplete or damaged", mend="Fetch or save the file again.")
        ) from error
    return dict(found)


def _column(name: str, values: pd.Series, marks: set[str], lines: np.ndarray) -> ColumnFound | None:
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    if pd.api.types.is_bool_dtype(values):
        return truth_values(name, values)
    if pd.api.types.is_integer_dtype(values):
        return whole_numbers(name, values, lines)
    if pd.api.types.is_float_dtype(values):
        return ColumnFound(values=pd.Series(values.to_numpy(float, na_value=np.nan), name=name))
    if pd.api.types.is_datetime64_any_dtype(values):
        return ColumnFound(values=values.rename(name))
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind == "boolean":
        return truth_values(name, values)
    if kind in ("string", "empty"):
        texts = values.astype(object).where(values.notna(), None)
        return ColumnFound(values=as_text(name, texts.where(~texts.isin(list(marks)), None)))
    return None
