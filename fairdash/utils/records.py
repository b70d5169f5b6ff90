"""Conversion of frozen dataclasses to plain JSON values and back, the same for every plan and description."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from fairdash.errors import FairdashError

if TYPE_CHECKING:
    from cattrs import Converter

Record = TypeVar("Record")

#: Largest whole number that arrays can store; fairdash never writes larger ones.
MAX_WHOLE = 2**63 - 1


def to_plain(record: object, *, own_way: bool = True) -> dict[str, Any]:
    """Convert a dataclass to numbers, texts, lists and dicts, recursively.

    If a record has a method ``to_json``, this method converts the record, unless `own_way` is False, as in a
    call from ``to_json`` itself.

    Examples
    --------
    >>> from fairdash.errors import Fix
    >>> to_plain(Fix("keep", "region"))
    {'kind': 'keep', 'column': 'region'}
    """
    plain: dict[str, Any] = _converter(own_way).unstructure(record)
    return plain


def from_plain(kind: type[Record], values: Mapping[str, Any], *, own_way: bool = True) -> Record:
    """Restore a dataclass written by :func:`to_plain` with the same `own_way`; missing fields get defaults.

    Raises
    ------
    ValueError
        Raised if the values do not fit `kind`, because one is missing, has another type, or is unknown.
    FairdashError
        Raised if `kind` itself refuses the values.

    Examples
    --------
    >>> from fairdash.errors import Fix
    >>> from_plain(Fix, {"kind": "keep", "column": "region"})
    Fix(kind='keep', column='region')
    """
    from cattrs.errors import ForbiddenExtraKeysError

    try:
        return _converter(own_way).structure(values, kind)
    except FairdashError:
        raise
    except (
        TypeError,
        KeyError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
        ForbiddenExtraKeysError,
    ) as error:
        raise ValueError(f"these are not the values of a {kind.__name__}") from error


@cache
def _converter(own_way: bool) -> Converter:
    from cattrs import Converter

    # The first error is raised unchanged, because FairdashErrors contain sentences for the user.
    converter = Converter(detailed_validation=False, forbid_extra_keys=True)
    for kind in (str, bool, int):
        converter.register_structure_hook(kind, _exactly)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_func(
        _is_row, lambda values, kind: _row(values, kind, converter.structure)
    )
    # A record that can parse itself from one line of text is stored as this line.
    converter.register_unstructure_hook_func(_reads_a_line, str)
    converter.register_structure_hook_func(_reads_a_line, lambda text, kind: kind.parse(text))
    if own_way:
        converter.register_unstructure_hook_func(_writes_itself, lambda record: json.loads(record.to_json()))
        converter.register_structure_hook_func(
            _writes_itself, lambda values, kind: kind.from_json(json.dumps(values))
        )
    converter.register_structure_hook_func(_is_any_of_several, _any_of_several)
    return converter


def _reads_a_line(kind: Any) -> bool:
    return is_dataclass(kind) and hasattr(kind, "parse")


def _writes_itself(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "from_json")


def _is_any_of_several(kind: Any) -> bool:
    """Return whether values of several plain kinds are allowed, so that each value keeps its type in JSON."""
    kinds = set(get_args(kind)) - {type(None)}
    return isinstance(kind, UnionType) and len(kinds) > 1 and kinds <= {str, float, int, bool}


def _any_of_several(value: object, kind: Any) -> object:
    kinds = get_args(kind)
    if type(value) not in kinds and not (type(value) is int and float in kinds):
        raise TypeError("of another type")
    return value


def _exactly(value: object, kind: type) -> object:
    """Refuse values of another type, because cattrs would convert numbers to text and back."""
    if type(value) is not kind or (type(value) is int and abs(value) > MAX_WHOLE):
        raise TypeError(f"not a {kind.__name__}")
    return value


def _number(value: object, _: type) -> float:
    if type(value) not in (int, float):
        raise TypeError("not a number")
    return float(value)  # type: ignore[arg-type]


def _is_row(kind: Any) -> bool:
    return get_origin(kind) in (tuple, list, Sequence)


def _row(values: object, kind: Any, structure: Callable[[Any, Any], Any]) -> Any:
    """Refuse text instead of a list, because cattrs would convert its characters to a tuple."""
    if not isinstance(values, (list, tuple)):
        raise TypeError("not a list")
    kinds = get_args(kind)
    if get_origin(kind) is tuple and kinds[-1] is not ...:
        return tuple(structure(each, own) for each, own in zip(values, kinds, strict=True))
    fields = [structure(each, kinds[0]) for each in values]
    return fields if get_origin(kind) is list else tuple(fields)
