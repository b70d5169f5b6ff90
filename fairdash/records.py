"""Frozen dataclasses as plain values for JSON, and back: one way for every plan and every description."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from fairdash.errors import FairdashError

if TYPE_CHECKING:
    from cattrs import Converter

Record = TypeVar("Record")


def to_plain(record: object, *, own_way: bool = True) -> dict[str, Any]:
    """A dataclass as numbers, texts, lists and dicts, field by field, those within it too.

    A record that has a ``to_json`` of its own is written by that, unless `own_way` is False: that is how the
    ``to_json`` itself asks for its fields.

    Examples
    --------
    >>> from fairdash.errors import Fix
    >>> to_plain(Fix("keep", "region"))
    {'kind': 'keep', 'column': 'region'}
    """
    plain: dict[str, Any] = _converter(own_way).unstructure(record)
    return plain


def from_plain(kind: type[Record], values: Mapping[str, Any], *, own_way: bool = True) -> Record:
    """The dataclass that :func:`to_plain` wrote, `own_way` as there; missing fields take their defaults.

    Raises
    ------
    ValueError
        The values are not those of `kind`: one is missing, or there is one that it has not.
    FairdashError
        What `kind` itself refuses.

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
    except (TypeError, KeyError, ValueError, AttributeError, ForbiddenExtraKeysError) as error:
        raise ValueError(f"these are not the values of a {kind.__name__}") from error


@cache
def _converter(own_way: bool) -> Converter:
    from cattrs import Converter

    # The first fault is raised as it is: FairdashErrors are words for the user.
    converter = Converter(detailed_validation=False, forbid_extra_keys=True)
    converter.register_structure_hook(str, _text)
    # A record that reads itself from one line is kept as that line, and one that writes itself as it does.
    converter.register_unstructure_hook_func(_reads_a_line, str)
    converter.register_structure_hook_func(_reads_a_line, lambda text, kind: kind.parse(text))
    if own_way:
        converter.register_unstructure_hook_func(_writes_itself, lambda record: json.loads(record.to_json()))
        converter.register_structure_hook_func(
            _writes_itself, lambda values, kind: kind.from_json(json.dumps(values))
        )
    converter.register_structure_hook_func(_is_any_of_several, lambda value, _: value)
    return converter


def _reads_a_line(kind: Any) -> bool:
    return is_dataclass(kind) and hasattr(kind, "parse")


def _writes_itself(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "from_json")


def _is_any_of_several(kind: Any) -> bool:
    """Whether values of several plain kinds will do, so that each is what JSON says it is."""
    kinds = set(get_args(kind)) - {type(None)}
    return isinstance(kind, UnionType) and len(kinds) > 1 and kinds <= {str, float, int, bool}


def _text(value: object, _: type) -> str:
    """Refuse what is no text: cattrs would write it as one, and a column of that name is not there."""
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
