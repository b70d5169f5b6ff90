"""R's ``.rda`` files: the data frame in it, or the one of several that is named."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pandas as pd

from fairdash.data.readers import limits
from fairdash.data.readers.report import R_DATA, ReadingOptions, ReadingReport
from fairdash.data.readers.table import TableBuilder, no_rows
from fairdash.data.readers.texts import as_text
from fairdash.errors import OptionError, ReadingError
from fairdash.utils.text import few

#: How an unpacked file begins: the format's name and its version, 2 or 3, in binary form.
MARKS = (b"RDX2\nX\n", b"RDX3\nX\n")


def read_rda(content: bytes, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """Read a data frame of an unpacked ``.rda`` file: the one that is named, else the first.

    Raises
    ------
    ReadingError
        The file is damaged, too large, or holds no data frame with rows.
    OptionError
        There is no data frame of that name.
    """
    frames = _frames(content)
    if not frames:
        raise ReadingError.of("the R file holds no data frame", "Save one from R, by save(table, file=…).")
    chosen = next(iter(frames)) if options.sheet is None else options.sheet
    if chosen not in frames:
        raise OptionError.of("the file has no table of this name", f"It has {few(frames)}.")
    frame = frames[chosen]
    limits.check_shape(*frame.shape)
    if frame.size == 0:
        raise no_rows("the data frame")
    table = TableBuilder(list(frame.columns), np.arange(1, len(frame) + 1), options)
    if len(frames) > 1:
        table.notes.append(f"Table “{chosen}” is read, one of {len(frames)} in the file ({few(frames)}).")
    others = [
        name
        for position, name in enumerate(table.names)
        if not _add(table, name, frame.iloc[:, position].reset_index(drop=True))
    ]
    if len(others) == len(table.names):
        raise ReadingError.of("no column holds numbers, text or dates", "Choose another table.")
    table.leave_out(others, "their cells are neither numbers, text nor dates")
    table.count_missing()
    return table.finish(R_DATA, sheet=chosen, sheets=tuple(frames))


def frame_names(content: bytes) -> tuple[str, ...]:
    """Names of the data frames in a file; ReadingError if it is damaged."""
    return tuple(_frames(content))


def _frames(content: bytes) -> dict[str, pd.DataFrame]:
    import rdata
    from rdata.parser import DEFAULT_ALTREP_MAP

    def limited(constructor: Any) -> Any:
        # R keeps 1:n as three numbers, from which a few bytes could fill the memory.
        def expand(state: Any) -> Any:
            if not 0 <= float(state.value[0]) <= limits.MOST_CELLS:
                raise limits.too_large(f"a column has more than {limits.MOST_CELLS:,} cells")
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
        raise ReadingError.of(
            "this R file is incomplete or damaged", "Fetch or save the file again."
        ) from error
    return {name: one for name, one in dict(found).items() if isinstance(one, pd.DataFrame)}


def _add(table: TableBuilder, name: str, values: pd.Series) -> bool:
    """Put a column into the table, if its cells are of a kind that can be used."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if pd.api.types.is_bool_dtype(values) or kind == "boolean":
        table.add_truth_values(name, values)
    elif pd.api.types.is_integer_dtype(values):
        table.add_whole_numbers(name, values)
    elif pd.api.types.is_float_dtype(values):
        table.add(name, values.to_numpy(float, na_value=np.nan))
    elif pd.api.types.is_datetime64_any_dtype(values):
        table.add(name, values)
    elif kind in ("string", "empty"):
        texts = values.astype(object).where(values.notna(), None)
        table.add(name, as_text(texts.where(~texts.isin(table.marks), None)))
    else:
        return False
    return True
