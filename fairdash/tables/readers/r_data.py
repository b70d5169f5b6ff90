"""Reader of R's files, which reads one data frame of an ``.rda`` file or the data frame of an ``.rds`` file.

If the library rdata does not know the class of an object, it ignores the class. For example, 64-bit integers
become floats with wrong values. Therefore this module has a constructor for every class that it supports.
Columns of other classes are left out, and a note names them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairdash.errors import OptionError, ReadingError
from fairdash.tables.readers import limits
from fairdash.tables.readers.limits import check_shape, too_large
from fairdash.tables.readers.report import R_DATA, ReadingOptions, ReadingReport
from fairdash.tables.readers.table import TableBuilder, no_rows
from fairdash.tables.readers.typed import add_arrow, readable
from fairdash.utils.text import few

#: First bytes of an unpacked .rda file, in binary or text form.
_RDA = (b"RDX2\nX\n", b"RDX3\nX\n", b"RDA2\nA\n", b"RDA3\nA\n")
#: Pattern of the first bytes of R's files. An .rds file in text form begins with the version of R that wrote
#: it, and the oldest version that can read it.
R_FILE = re.compile(rb"RD(?:X[23]\nX|A[23]\nA)\n|X\n\0\0\0[\x02\x03]|A\n[23]\n\d{6}\n(?:131840|197888)\n")
#: Name of the table in an .rds file, because such a file stores no name.
_UNNAMED_TABLE = "table"
#: R's missing value among 64-bit integers.
_MISSING_64 = np.iinfo(np.int64).min


class _Column(NamedTuple):
    """Cells of a column of a supported class, and a note. In the note, `{}` stands for the column's name."""

    values: Any
    note: str = ""


class _Unknown(NamedTuple):
    """Object of a class without a constructor."""

    kind: str


class _Frame(NamedTuple):
    """Data frame as a map from names to converted columns."""

    columns: Mapping[str, Any]


def read_rda(content: bytes, options: ReadingOptions) -> tuple[pd.DataFrame, ReadingReport]:
    """Read the selected or else the first data frame of an unpacked ``.rda`` or ``.rds`` file.

    Raises
    ------
    ReadingError
        The file is damaged or too large, or has no data frame with rows.
    OptionError
        The file has no data frame of the selected name.
    """
    objects, warnings_of_rdata = _objects(content)
    frames = {name: value for name, value in objects.items() if isinstance(value, _Frame)}
    other_objects = [name for name in objects if name not in frames]
    if not frames:
        objects_text = (
            f", but {few(other_objects)}" if other_objects and other_objects != [_UNNAMED_TABLE] else ""
        )
        raise ReadingError.of(
            f"the R file holds no data frame{objects_text}", "Save a data frame in R: save(table, file=…)."
        )
    chosen = next(iter(frames)) if options.sheet is None else options.sheet
    if chosen not in frames:
        raise OptionError.of("the file has no table of this name", f"The file has {few(frames)}.")
    columns = frames[chosen].columns
    n_rows = max((len(column) for column in map(_values, columns.values()) if column is not None), default=0)
    check_shape(n_rows, len(columns))
    if n_rows == 0:
        raise no_rows("the data frame")
    table = TableBuilder(list(columns), np.arange(1, n_rows + 1), options)
    if len(frames) > 1:
        table.notes.append(
            f"fairdash reads the table “{chosen}”, one of {len(frames)} in the file ({few(frames)})."
        )
    if other_objects:
        table.notes.append(
            f"These objects of the file are not read, because they are no data frames: {few(other_objects)}."
        )
    table.notes += warnings_of_rdata
    names_by_reason: dict[str, list[str]] = {}
    for name, column in zip(table.names, columns.values(), strict=True):
        note = column.note.replace("{}", f"“{name}”") if isinstance(column, _Column) else ""
        values = _values(column)
        if values is None or len(values) != n_rows or not _add_series(table, name, values, note):
            names_by_reason.setdefault(_kind_of(column), []).append(name)
    if sum(map(len, names_by_reason.values())) == len(table.names):
        raise ReadingError.of("no column holds numbers, text or dates", "Choose another table.")
    for kind, names in names_by_reason.items():
        table.leave_out(names, kind)
    table.count_missing()
    return table.finish(R_DATA, sheet=chosen, sheets=tuple(frames))


def frame_names(content: bytes) -> tuple[str, ...]:
    """Return the names of the data frames in a file. Raise a ReadingError for a damaged file."""
    return tuple(name for name, value in _objects(content)[0].items() if isinstance(value, _Frame))


def _objects(content: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the objects of a file by name, and rdata's warnings. Unsupported objects become `_Unknown`."""
    import rdata
    from rdata.parser import DEFAULT_ALTREP_MAP

    def limited(constructor: Any) -> Any:
        # R stores the numbers 1:n in a few bytes. An array of these numbers could exceed the available
        # memory.
        def expand(state: Any) -> Any:
            if not 0 <= float(state.value[0]) <= limits.MAX_CELLS:
                raise too_large(f"a column has more than {limits.MAX_CELLS:,} cells")
            return constructor(state)

        return expand

    constructors = {
        name: limited(maker) if name.startswith(b"compact") else maker
        for name, maker in DEFAULT_ALTREP_MAP.items()
    }
    is_rds = not content.startswith(_RDA)
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        try:
            parsed = rdata.parser.parse_data(
                content, altrep_constructor_dict=constructors, extension=".rds" if is_rds else ".rda"
            )
            objects = [(_UNNAMED_TABLE, parsed.object)] if is_rds else list(_named_objects(parsed.object))
        except ReadingError:
            raise
        # The parser may raise any Python error for a damaged file.
        except Exception as error:
            raise ReadingError.of(
                "this R file is incomplete or damaged, or contains an object that fairdash can't read",
                "Save only the table in R: saveRDS(table, file=…).",
            ) from error
        converted = {name: _converted(each) for name, each in objects}
    messages = dict.fromkeys(str(warning.message).rstrip(".") for warning in caught_warnings)
    return converted, [f"The reader of R's files says: {message}." for message in messages]


def _named_objects(pairs: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and objects of an .rda file, which stores them as a linked list of pairs."""
    from rdata.parser import RObjectType

    while pairs.info.type == RObjectType.LIST:
        yield _converted(pairs.tag), pairs.value[0]
        pairs = pairs.value[1]


def _converted(r_objects: Any) -> Any:
    import rdata

    try:
        return rdata.conversion.convert(r_objects, constructor_dict=_Classes(), default_encoding="cp1252")
    # If rdata can't convert an object, such as a function, the tables in the file can still be read.
    except Exception:
        return _Unknown("an object that can't be converted")


def _frame(columns: Any, attributes: Mapping[str, Any]) -> _Frame | _Unknown:
    names = attributes.get("names")
    if names is not None and len(set(names)) < len(names):
        return _Unknown("a data frame in which several columns have the same name")
    return _Frame(dict(columns))


def _levels(codes: Any, attributes: Mapping[str, Any]) -> pd.Categorical:
    """Return the level of each cell of a factor. The level NA, from `addNA`, means a missing cell."""
    levels = [None, *attributes["levels"]]
    cells = np.array(levels, dtype=object)[np.ma.filled(codes, 0)]
    given_levels = [level for level in levels if level is not None]
    return pd.Categorical(cells, categories=given_levels, ordered="ordered" in attributes["class"])


def _dates(days: Any, _: Mapping[str, Any]) -> _Column:
    return _Column(_instants(days, 86_400))


def _times(seconds: Any, attributes: Mapping[str, Any]) -> _Column:
    zone = attributes.get("tzone")
    is_utc = zone is not None and str(np.ravel(zone)[0]) in ("UTC", "GMT")
    return _Column(
        _instants(seconds, 1), "" if is_utc else "{} is converted to coordinated universal time (UTC)."
    )


def _local_times(parts: Any, _: Mapping[str, Any]) -> _Column:
    part = {name: _floats(parts[name]) for name in ("year", "mon", "mday", "hour", "min", "sec")}
    is_finite = np.isfinite(np.stack(list(part.values()))).all(axis=0)
    year, month = (np.where(is_finite, part[name], 0).astype(np.int64) for name in ("year", "mon"))
    days = (year * 12 + month - 70 * 12).astype("datetime64[M]").astype("datetime64[s]")
    seconds = ((part["mday"] - 1) * 24 + part["hour"]) * 3600 + part["min"] * 60 + part["sec"]
    times = days + np.where(is_finite, seconds, 0).astype("timedelta64[s]")
    return _Column(pd.Series(np.where(is_finite, times, np.datetime64("NaT"))))


def _instants(numbers: Any, seconds: int) -> pd.Series:
    """Convert times since 1970, in units of `seconds` seconds, to datetimes."""
    cells = _floats(numbers)
    # 64-bit microseconds can represent about 9.2e12 seconds before and after 1970.
    is_valid = np.isfinite(cells) & (np.abs(cells) * seconds < 9e12)
    times = np.where(is_valid, cells * seconds, 0.0).round().astype("datetime64[s]").astype("datetime64[us]")
    return pd.Series(np.where(is_valid, times, np.datetime64("NaT")))


def _spans(numbers: Any, attributes: Mapping[str, Any]) -> _Column:
    units = attributes.get("units")
    note = "" if units is None else f"{{}} is a span of time, in {np.ravel(units)[0]}."
    return _Column(_floats(numbers), note)


def _long_integers(numbers: Any, _: Mapping[str, Any]) -> _Column:
    cells = np.ascontiguousarray(_plain(numbers), dtype=np.float64).view(np.int64)
    return _Column(pd.Series(pd.array(cells, dtype="Int64")).mask(cells == _MISSING_64))


def _labelled(codes: Any, attributes: Mapping[str, Any]) -> _Column:
    """Replace codes by haven's labels if every code has one. Codes declared missing become missing."""
    values = pd.Series(_values(codes), copy=True)
    is_declared_missing = np.zeros(len(values), dtype=bool)
    if (missing_codes := attributes.get("na_values")) is not None:
        is_declared_missing |= values.isin(np.ravel(_plain(missing_codes)).tolist()).to_numpy()
    if (missing_range := attributes.get("na_range")) is not None:
        is_declared_missing |= values.between(*np.ravel(_plain(missing_range)).tolist()).to_numpy(
            dtype=bool, na_value=False
        )
    values = values.mask(is_declared_missing)
    note = (
        f"{{}}: codes that the file declares as missing become missing cells ({is_declared_missing.sum():,})."
    )
    labels: Any = attributes.get("labels")
    if hasattr(labels, "coords"):
        (names,) = labels.coords.values()
        texts = values.map(dict(zip(np.ravel(_plain(labels)).tolist(), map(str, names.values), strict=True)))
        if values.notna().any() and texts.notna().eq(values.notna()).all():
            replaced = "{}: codes are replaced by the file's labels."
            return _Column(texts, f"{replaced} {note}" if is_declared_missing.any() else replaced)
    return _Column(values, note if is_declared_missing.any() else "")


def _unchanged(values: Any, _: Mapping[str, Any]) -> Any:
    return values


class _Classes(dict[str | bytes, Callable[[Any, Mapping[str, Any]], Any]]):
    """Map from R's classes to constructors. For an unknown class, the constructor only stores the name."""

    def __init__(self) -> None:
        from rdata.conversion import DEFAULT_CLASS_MAP

        super().__init__({str(name): maker for name, maker in DEFAULT_CLASS_MAP.items()})
        self.update(
            {
                "data.frame": _frame,
                # rdata raises an error for the whole table if a factor has the level NA.
                "factor": _levels,
                "ordered": _levels,
                "Date": _dates,
                "POSIXct": _times,
                "POSIXlt": _local_times,
                "difftime": _spans,
                "integer64": _long_integers,
                "haven_labelled": _labelled,
                "labelled": _labelled,
                # rdata would give a time series an index that differs from the index of the data frame.
                "ts": _unchanged,
                "AsIs": _unchanged,
            }
        )

    def get(self, name: Any, default: Any = None) -> Any:  # noqa: ARG002 - every class has a constructor
        def other(values: Any, attributes: Mapping[str, Any]) -> Any:
            label = next((class_name for class_name in attributes["class"] if class_name in self), None)
            return _Unknown(f"of R's class “{name}”") if label is None else self[label](values, attributes)

        return super().get(name, other)


def _kind_of(column: Any) -> str:
    """Describe the cells of a column that the reader leaves out."""
    if isinstance(column, _Unknown):
        return f"their cells are {column.kind}"
    if getattr(column, "ndim", 1) == 2 or isinstance(column, _Frame):
        return "each of them is a matrix or a data frame"
    return "their cells are neither numbers, text nor dates"


def _plain(values: Any) -> Any:
    """Return an array without R's names of cells. A matrix with one column becomes an array (n,)."""
    # rdata returns an xarray object for named cells.
    values = values.values if hasattr(values, "coords") else values
    # rdata returns an R list as a Python list. A list whose parts differ in length can't become an array.
    return values[:, 0] if getattr(values, "ndim", 1) == 2 and values.shape[1] == 1 else values


def _floats(values: Any) -> np.ndarray:
    values = _plain(values)
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan)
    cells = np.asarray(values, dtype=float)
    # R's NA is a signalling NaN, for which numpy issues warnings in arithmetic.
    return np.where(np.isnan(cells), np.nan, cells)


def _values(column: Any) -> Any:
    """Return the cells of a column, (n,), or None for a column of an unsupported kind."""
    values = _plain(column.values if isinstance(column, _Column) else column)
    if isinstance(values, np.ma.MaskedArray):
        kind: Any = "boolean" if values.dtype.kind == "b" else "Int64"
        return pd.Series(pd.array(values.filled(0), dtype=kind)).mask(np.ma.getmaskarray(values))
    is_row = isinstance(values, (pd.Series, pd.Categorical)) or (
        isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biufOUSM"
    )
    return values if is_row else None


def _add_series(table: TableBuilder, name: str, cells: Any, note: str) -> bool:
    """Add a column to the table if Arrow can convert it to a readable type. Return whether it was added."""
    import pyarrow as pa

    try:
        column = pa.chunked_array([pa.array(pd.Series(cells).array, from_pandas=True)])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    if not readable(column.type):
        return False
    add_arrow(table, name, column)
    table.notes += [note] if note else []
    return True
