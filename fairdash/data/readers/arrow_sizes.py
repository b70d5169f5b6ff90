"""What is in a Feather (Arrow) file once it is unpacked, by what it says of itself: nothing is unpacked here.

Arrow's own reader tells the size of a batch when it has unpacked it. The numbers stand in the file's
descriptions (https://arrow.apache.org/docs/format/Columnar.html), tables of FlatBuffers: an offset to a table
of offsets, by which each field is found.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_FOOTER_DICTIONARIES, _FOOTER_BATCHES = 2, 3
_MESSAGE_HEADER = 2
_BATCH_ROWS, _BATCH_BUFFERS, _BATCH_COMPRESSION = 0, 2, 3
_DICTIONARY_BATCH = 1
#: Bytes of a block in the footer and of a buffer in a batch.
_BLOCK, _BUFFER = 24, 16
#: Batches of a file, and buffers of a batch: more is no table, and takes long to look through.
_MOST = 100_000
#: Before the descriptions of a batch since Arrow 0.15.
_CONTINUES = 0xFFFFFFFF


def unpacked_size(content: bytes) -> tuple[int, int]:
    """Rows and bytes of a file's batches, its dictionaries among the bytes.

    Raises
    ------
    ValueError
        The descriptions don't hang together.
    """
    try:
        length = _int32(content, len(content) - 10)
        footer = _table(content, len(content) - 10 - length)
        rows = size = 0
        for field in (_FOOTER_DICTIONARIES, _FOOTER_BATCHES):
            for place in _vector(content, footer, field, _BLOCK):
                start, described = struct.unpack_from("<qi", content, place)
                batch = _batch(content, start, is_dictionary=field == _FOOTER_DICTIONARIES)
                if field == _FOOTER_BATCHES and _has(content, batch, _BATCH_ROWS):
                    rows += _int64(content, _field(content, batch, _BATCH_ROWS))
                size += _bytes_of(content, batch, start + described)
        return rows, size
    except struct.error as error:
        raise ValueError("descriptions outside of the file") from error


def _batch(content: bytes, start: int, *, is_dictionary: bool) -> int:
    """Place of the table of a batch whose message begins at `start`."""
    begin = start + (8 if _uint32(content, start) == _CONTINUES else 4)
    header = _field(content, _table(content, begin), _MESSAGE_HEADER)
    batch = header + _uint32(content, header)
    if is_dictionary:
        inner = _field(content, batch, _DICTIONARY_BATCH)
        batch = inner + _uint32(content, inner)
    return batch


def _bytes_of(content: bytes, batch: int, body: int) -> int:
    """Bytes of all buffers of a batch, unpacked."""
    packed = _has(content, batch, _BATCH_COMPRESSION)
    size = 0
    for place in _vector(content, batch, _BATCH_BUFFERS, _BUFFER):
        offset, length = struct.unpack_from("<qq", content, place)
        if packed and length > 0:
            # A packed buffer begins with its length, or -1 if it is left as it is.
            own = _int64(content, body + offset)
            length = length if own < 0 else own
        size += max(length, 0)
    return size


def _vector(content: bytes, table: int, field: int, width: int) -> Iterator[int]:
    """Places of the structs of a vector; none if the table has no such field."""
    if not _has(content, table, field):
        return
    place = _field(content, table, field)
    start = place + _uint32(content, place)
    count = _uint32(content, start)
    if count > _MOST:
        raise ValueError("too many parts")
    for k in range(count):
        yield start + 4 + k * width


def _table(content: bytes, start: int) -> int:
    return start + _uint32(content, start)


def _slot(content: bytes, table: int, field: int) -> int:
    fields = table - _int32(content, table)
    (width,) = struct.unpack_from("<H", content, _inside(content, fields))
    place = 4 + 2 * field
    if place + 2 > width:
        return 0
    slot: int = struct.unpack_from("<H", content, fields + place)[0]
    return slot


def _has(content: bytes, table: int, field: int) -> bool:
    return _slot(content, table, field) != 0


def _field(content: bytes, table: int, field: int) -> int:
    slot = _slot(content, table, field)
    if not slot:
        raise ValueError("a field is missing")
    return table + slot


def _inside(content: bytes, place: int) -> int:
    # struct counts negative places from the end.
    if not 0 <= place < len(content):
        raise ValueError("a place outside of the file")
    return place


def _int32(content: bytes, place: int) -> int:
    return int(struct.unpack_from("<i", content, _inside(content, place))[0])


def _uint32(content: bytes, place: int) -> int:
    return int(struct.unpack_from("<I", content, _inside(content, place))[0])


def _int64(content: bytes, place: int) -> int:
    return int(struct.unpack_from("<q", content, _inside(content, place))[0])
