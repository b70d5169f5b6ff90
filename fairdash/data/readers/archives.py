"""Tables in a gzip, bzip2, xz or zip file: unpacked up to a limit, whatever the archive says of itself.

>>> import gzip
>>> unpack(gzip.compress(b"a,b"), largest=100)
(b'a,b', 'a gzip file')
"""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
import zlib

from fairdash.errors import ReadingError

_GZIP, _ZIP, _BZIP2, _XZ = b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00"
_ZIP_ENTRY = b"PK\x01\x02"
#: Parts of a gzip file, entries of a zip archive: each takes time or memory, even an empty one.
MOST_PARTS = 20_000
_AT_ONCE = 2**16
#: An xz file says itself how much memory its unpacking takes.
_XZ_MEMORY = 256 * 2**20
#: What an Excel workbook, which is a zip archive as well, always holds.
_OFFICE = "[Content_Types].xml"

# What the two modules raise on damaged and oddly packed archives.
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    MemoryError,
    # A member without a name.
    IndexError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


def unpack(content: bytes, *, largest: int) -> tuple[bytes, str | None]:
    """Give the one file in an archive of these kinds; anything else is given back as it is.

    Parameters
    ----------
    content
        A whole file, of any kind.
    largest
        Most bytes that the file inside may have. Unpacking ends there, so that a few kilobytes can't fill
        the memory.

    Returns
    -------
    bytes
        What is inside, or `content`.
    str or None
        What it was taken out of; None if nothing was unpacked.

    Raises
    ------
    ReadingError
        The archive is damaged, locked or empty, holds several files, or holds more than `largest`.
    """
    if content.startswith(_GZIP):
        what = "a gzip file"
        try:
            inside = _gunzip(content, largest)
        except _DAMAGED as error:
            if isinstance(error, ReadingError):
                raise
            raise _damaged(what) from error
    elif content.startswith(_ZIP):
        what = "a zip archive"
        if content.count(_ZIP_ENTRY) > MOST_PARTS:
            raise _too_many(what)
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = archive.infolist()
                if any(member.filename == _OFFICE for member in members):
                    return content, None
                with archive.open(_only(members)) as packed:
                    inside = packed.read(largest + 1)
        # A ReadingError is a ValueError too.
        except ReadingError:
            raise
        except _DAMAGED as error:
            raise _damaged(what) from error
    elif content.startswith((_BZIP2, _XZ)):
        # R packs its files so.
        what = "a bzip2 file" if content.startswith(_BZIP2) else "an xz file"
        unpacker: bz2.BZ2Decompressor | lzma.LZMADecompressor = (
            bz2.BZ2Decompressor()
            if content.startswith(_BZIP2)
            else lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        )
        try:
            inside = unpacker.decompress(content, largest + 1)
        except _DAMAGED as error:
            raise _damaged(what) from error
        if not unpacker.eof and len(inside) <= largest:
            raise _damaged(what)
    else:
        return content, None
    if len(inside) > largest:
        raise ReadingError.of(
            f"the file has more than {largest // 10**6:,} MB when it is unpacked",
            "Take a sample of the rows, or leave columns out.",
        )
    return inside, what


def _gunzip(content: bytes, largest: int) -> bytes:
    """What is in a gzip file, up to a byte more than `largest`; ValueError if it is cut off.

    Such a file may consist of several, one after the other. Each costs time, even an empty one.
    """
    found, size, parts, begun = [], 0, 0, False
    unpacker = zlib.decompressobj(wbits=31)
    for start in range(0, len(content), _AT_ONCE):
        block = content[start : start + _AT_ONCE]
        while block and size <= largest:
            if not begun:
                # Zeros may fill up the end.
                block = block.lstrip(b"\0") if parts else block
                if not block:
                    break
                parts, begun, unpacker = parts + 1, True, zlib.decompressobj(wbits=31)
                if parts > MOST_PARTS:
                    raise _too_many("a gzip file")
            found.append(unpacker.decompress(block, largest + 1 - size))
            size += len(found[-1])
            block, begun = unpacker.unused_data, not unpacker.eof
    if begun and size <= largest:
        raise ValueError("cut off")
    return b"".join(found)


def _too_many(what: str) -> ReadingError:
    return ReadingError.of(
        f"this is {what} of more than {MOST_PARTS:,} parts",
        "Unpack it and pack the table once more, or open the table itself.",
    )


def _only(members: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """Give the one file of an archive that can be a table."""
    files = [
        member
        for member in members
        if not member.is_dir()
        and not member.filename.startswith("__MACOSX/")
        and not member.filename.endswith(".DS_Store")
    ]
    if len(files) != 1:
        raise ReadingError.of(
            f"the zip archive holds {len(files) or 'no'} files",
            "Pack the table alone, or unpack the archive and open the table in it.",
        )
    (file,) = files
    locked = file.flag_bits & 1
    # The memory that the others need to unpack is set by the archive.
    if locked or file.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ReadingError.of(
            "the zip archive is locked with a password"
            if locked
            else "the zip archive is packed in an unusual way",
            "Unpack it and open the table in it.",
        )
    return file


def _damaged(what: str) -> ReadingError:
    return ReadingError.of(f"this is {what} that is incomplete or damaged", "Fetch or pack the file again.")
