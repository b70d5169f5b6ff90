"""Conversion of frozen dataclasses, such as plans and data descriptions, to plain JSON values and back."""

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

#: Largest whole number that arrays can store. fairdash never writes larger numbers.
MAX_WHOLE = 2**63 - 1


def to_plain(record: object, *, own_way: bool = True) -> dict[str, Any]:
    """Convert a dataclass to numbers, strings, lists and dicts, recursively.

    If a record has a method ``to_json``, this method converts the record. ``to_json`` itself passes False for
    `own_way`, so that it is not called again.

    Examples
    --------
    >>> from fairdash.errors import Fix
    >>> to_plain(Fix("keep", "region"))
    {'kind': 'keep', 'column': 'region'}
    """
    plain_record: dict[str, Any] = _converter(own_way).unstructure(record)
    return plain_record


def from_plain(kind: type[Record], values: Mapping[str, Any], *, own_way: bool = True) -> Record:
    """Restore a dataclass from :func:`to_plain` with the same `own_way`. Missing fields get defaults.

    Raises
    ------
    ValueError
        Raised if the values do not fit `kind`: a value is missing, has the wrong type, or belongs to no
        field.
    FairdashError
        Raised if the values do not pass the checks of `kind`.

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
        raise ValueError(f"the values do not fit the fields of {kind.__name__}") from error


@cache
def _converter(own_way: bool) -> Converter:
    from cattrs import Converter

    # A FairdashError is raised unchanged, because it contains sentences for the user.
    converter = Converter(detailed_validation=False, forbid_extra_keys=True)
    for kind in (str, bool, int):
        converter.register_structure_hook(kind, _of_exact_type)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_func(
        _is_list_or_tuple, lambda values, kind: _list_or_tuple(values, kind, converter.structure)
    )
    # A record that has a parser for one line of text is stored as this line.
    converter.register_unstructure_hook_func(_has_parse_method, str)
    converter.register_structure_hook_func(_has_parse_method, lambda text, kind: kind.parse(text))
    if own_way:
        converter.register_unstructure_hook_func(
            _has_json_methods, lambda record: json.loads(record.to_json())
        )
        converter.register_structure_hook_func(
            _has_json_methods, lambda values, kind: kind.from_json(json.dumps(values))
        )
    converter.register_structure_hook_func(_is_any_of_several, _any_of_several)
    return converter


def _has_parse_method(kind: Any) -> bool:
    return is_dataclass(kind) and hasattr(kind, "parse")


def _has_json_methods(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "from_json")


def _is_any_of_several(kind: Any) -> bool:
    """Return whether the type is a union of plain types, whose values keep their type in JSON."""
    kinds = set(get_args(kind)) - {type(None)}
    return isinstance(kind, UnionType) and len(kinds) > 1 and kinds <= {str, float, int, bool}


def _any_of_several(value: object, kind: Any) -> object:
    kinds = get_args(kind)
    if type(value) not in kinds and not (type(value) is int and float in kinds):
        raise TypeError("of another type")
    return value


def _of_exact_type(value: object, kind: type) -> object:
    """Raise a TypeError for values of another type, because cattrs would convert numbers to text and back."""
    if type(value) is not kind or (type(value) is int and abs(value) > MAX_WHOLE):
        raise TypeError(f"not a {kind.__name__}")
    return value


def _number(value: object, _: type) -> float:
    if type(value) not in (int, float):
        raise TypeError("not a number")
    return float(value)  # type: ignore[arg-type]


def _is_list_or_tuple(kind: Any) -> bool:
    return get_origin(kind) in (tuple, list, Sequence)


def _list_or_tuple(values: object, kind: Any, structure: Callable[[Any, Any], Any]) -> Any:
    """Raise a TypeError for text instead of a list, because cattrs would convert the text to a tuple."""
    if not isinstance(values, (list, tuple)):
        raise TypeError("not a list")
    kinds = get_args(kind)
    if get_origin(kind) is tuple and kinds[-1] is not ...:
        return tuple(structure(value, kind) for value, kind in zip(values, kinds, strict=True))
    fields = [structure(value, kinds[0]) for value in values]
    return fields if get_origin(kind) is list else tuple(fields)
