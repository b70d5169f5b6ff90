"""Serialised R objects, written byte by byte as `save` and `saveRDS` do, with any class."""

import struct
from collections.abc import Sequence
from typing import Any

_NIL, _GLOBAL = struct.pack(">i", 254), struct.pack(">i", 253)
#: R's codes for a missing integer and a missing text.
NA = -(2**31)


def _char(text: str | None) -> bytes:
    if text is None:
        return struct.pack(">ii", 9, -1)
    return struct.pack(">ii", 9 | 8 << 12, len(text.encode())) + text.encode()


def _symbol(name: str) -> bytes:
    return struct.pack(">i", 1) + _char(name)


def pairs(items: dict[str, bytes]) -> bytes:
    """R's pairlist of named objects."""
    return (
        b"".join(struct.pack(">i", 2 | 1 << 10) + _symbol(name) + each for name, each in items.items()) + _NIL
    )


def vector(values: Sequence[Any], kind: str = "d", **attributes: bytes) -> bytes:
    """An R vector: of floats (d), whole numbers (i), texts (s) or objects (o), with attributes."""
    code = {"d": 14, "i": 13, "l": 10, "s": 16, "o": 19}[kind]
    flags = code | bool(attributes) << 9 | ("class" in attributes) << 8
    if kind in "sob":
        cells = b"".join(_char(each) if kind == "s" else each for each in values)
    else:
        cells = struct.pack(f">{len(values)}{'d' if kind == 'd' else 'i'}", *values)
    return struct.pack(">ii", flags, len(values)) + cells + (pairs(attributes) if attributes else b"")


def texts(*values: str | None) -> bytes:
    return vector(values, "s")


def frame(n: int, /, **columns: bytes) -> bytes:
    more = {"names": texts(*columns), "class": texts("data.frame"), "row.names": vector([NA, -n], "i")}
    return vector(list(columns.values()), "o", **more)


def function() -> bytes:
    return struct.pack(">i", 3 | 1 << 10) + _GLOBAL + _NIL + vector([1.0])


def rda(**objects: bytes) -> bytes:
    return b"RDX2\n" + _head() + pairs(objects)


def rds(each: bytes) -> bytes:
    return _head() + each


def _head() -> bytes:
    return b"X\n" + struct.pack(">iii", 2, 4 << 16 | 2 << 8 | 2, 2 << 16 | 3 << 8)
