"""Detection of the encoding of a text, and of files whose first bytes show that they are not text."""

from __future__ import annotations

import codecs
import re

from fairdash.errors import OptionError, ReadingError

#: First bytes of files of other kinds, which users may have renamed to .csv by mistake.
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "an archive within an archive, or an office document other than an .xlsx workbook"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "a gzip archive within an archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"(\xb5/\xfd", "a Zstandard archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file, or a workbook with a password"),
    (b"RDX", "an R data file of a kind that save() does not write"),
    (b"B\n\x02\0\0\0", "an R data file in a machine-dependent byte order"),
    (b"B\n\x03\0\0\0", "an R data file in a machine-dependent byte order"),
    (b"FEA1", "a Feather file"),
    (b"Obj\x01", "an Avro file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x80\x04\x95", "a Python pickle"),
)

#: Start of a JSON file: a list of records or rows, or an object.
_JSON = re.compile(rb'\[\s*[\[{]|\{\s*"')

#: Byte order marks. If a mark begins with another mark, the longer mark comes first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_NAMES = {"utf-8-sig": "UTF-8", "utf-8": "UTF-8", "cp1252": "Windows-1252", "utf-16": "UTF-16"}

#: Encodings of Python that are never used for tables.
_NOT_FOR_FILES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}

_TO_CSV = "Save the table as CSV (or tab-separated text) and open that file."


def encoding_name(encoding: str) -> str:
    """Return the common name of an encoding."""
    return _NAMES.get(encoding, encoding.upper())


def text_encoding(content: bytes, chosen: str | None) -> str:
    """Return Python's name of the encoding that the user has selected or that fairdash detects in a text.

    A byte order mark determines the encoding. Without this mark, the encoding is UTF-8 if all bytes are valid
    in UTF-8, and otherwise Windows-1252.

    Raises
    ------
    ReadingError
        The file is not text, or neither UTF-8 nor Windows-1252 can decode it.
    OptionError
        The encoding that the user selected does not exist.
    """
    if chosen is not None:
        chosen = _check_encoding(content, chosen)
    _check_is_text(content, encoding=chosen)
    return _find_encoding(content) if chosen is None else chosen


def _check_is_text(content: bytes, *, encoding: str | None = None) -> None:
    """Raise an error if a file is not text, or has NUL bytes and is neither in UTF-16 nor in UTF-32."""
    for signature, format_name in _SIGNATURES:
        if content.startswith(signature):
            raise ReadingError.of(f"this file is {format_name}, not a text table", _TO_CSV)
    head = content[:2000].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        raise ReadingError.of(
            "this file is a web page, not a text table",
            "The website may require a login. Log in, and download the file again.",
        )
    if _JSON.match(head):
        raise ReadingError.of("this file is JSON, not a text table", _TO_CSV)
    if (encoding or _unicode_guess(content) or "").startswith(("utf-16", "utf-32")):
        return
    sample = content[: 2**20]
    # Control characters that may occur in text: tabs, line ends, form feeds, the old end-of-file mark and
    # escapes.
    control = sum(sample.count(bytes([code])) for code in range(1, 32) if code not in b"\t\n\r\v\f\x1a\x1b")
    if b"\x00" in content or control > len(sample) / 200:
        # A text may also begin with the letters ORC, but only an ORC file begins and ends with them.
        is_orc = content.startswith(b"ORC") and content[-4:-1] == b"ORC"
        format_name = "is an ORC file" if is_orc else "holds binary data"
        raise ReadingError.of(f"this file {format_name}, not a text table", _TO_CSV)


def _find_encoding(content: bytes) -> str:
    encoding_guess = _unicode_guess(content)
    if encoding_guess is not None:
        return encoding_guess
    for encoding in ("utf-8", "cp1252"):
        if _first_undecodable(content, encoding) is None:
            return encoding
    raise ReadingError.of("the text is neither UTF-8 nor Windows-1252", "Choose the encoding of the file.")


def _check_encoding(content: bytes, encoding: str) -> str:
    """Check an encoding that the user has selected, and return Python's name for it."""
    try:
        name = codecs.lookup(encoding).name
        if name.replace("_", "-") in _NOT_FOR_FILES:
            raise LookupError
        "a".encode(name)
    # Python raises LookupError for an unknown name and for the name of a codec that is not for text. It
    # raises ValueError for a name with a NUL character.
    except (LookupError, ValueError):
        raise OptionError.of(
            "there is no encoding of this name",
            "Choose an encoding such as utf-8, cp1252, utf-16 or iso-8859-2.",
        ) from None
    if name == "utf-8" and content.startswith(codecs.BOM_UTF8):
        name = "utf-8-sig"
    position = _first_undecodable(content, name)
    if position is not None:
        raise ReadingError.of(
            f"the text is not {encoding_name(name)}",
            "Choose another encoding, or let fairdash detect it.",
            lines=[content.count(b"\n", 0, position) + 1],
        )
    return name


def _unicode_guess(content: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding if _first_undecodable(content, encoding) is None else None
    # In Western text in UTF-16 without a byte order mark, every second byte is NUL.
    sample = content[:1000]
    midpoint = len(sample) // 2
    if midpoint >= 2 and len(content) % 2 == 0:
        n_even, n_odd = sample[0::2].count(0), sample[1::2].count(0)
        for encoding, zeros, others in (("utf-16-le", n_odd, n_even), ("utf-16-be", n_even, n_odd)):
            if zeros > 0.7 * midpoint and others == 0 and _first_undecodable(content, encoding) is None:
                return encoding
    return None


def _first_undecodable(content: bytes, encoding: str) -> int | None:
    """Return the position (accurate to 3 bytes) of the first byte that can't be decoded, or None."""
    decoder = codecs.getincrementaldecoder(encoding)()
    size = 2**20
    for start in range(0, len(content), size):
        try:
            decoder.decode(content[start : start + size], final=start + size >= len(content))
        except UnicodeError as error:
            return start + (error.start if isinstance(error, UnicodeDecodeError) else 0)
    return None
