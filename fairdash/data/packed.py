"""Tables in a gzip, bzip2, xz or zip file: unpacked up to a limit, whatever the archive says of itself.

>>> import gzip
>>> unpack(gzip.compress(b"a,b"), largest=100)
(b'a,b', 'a gzip file')
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib

from fairdash.errors import Problem, ReadingError

_GZIP, _ZIP, _BZIP2, _XZ = b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00"
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
            with gzip.open(io.BytesIO(content)) as packed:
                inside = packed.read(largest + 1)
        except _DAMAGED as error:
            raise _damaged(what) from error
    elif content.startswith(_ZIP):
        what = "a zip archive"
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
        raise ReadingError(
            Problem(
                what=f"the file has more than {largest // 10**6:,} MB when it is unpacked",
                mend="Take a sample of the rows, or leave columns out.",
            )
        )
    return inside, what


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
        raise ReadingError(
            Problem(
                what=f"the zip archive holds {len(files) or 'no'} files",
                mend="Pack the table alone, or unpack the archive and open the table in it.",
            )
        )
    (file,) = files
    locked = file.flag_bits & 1
    # The memory that the others need to unpack is set by the archive.
    if locked or file.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ReadingError(
            Problem(
                what="the zip archive is locked with a password"
                if locked
                else "the zip archive is packed in an unusual way",
                mend="Unpack it and open the table in it.",
            )
        )
    return file


def _damaged(what: str) -> ReadingError:
    return ReadingError(
        Problem(what=f"this is {what} that is incomplete or damaged", mend="Fetch or pack the file again.")
    )
