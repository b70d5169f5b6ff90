"""Text columns, stored with pyarrow, which is fast for millions of rows, or as Python lists without pyarrow.

Both kinds of storage give the same results (`tests/data/test_packed.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pandas as pd

from fairdash.utils.imports import has

if TYPE_CHECKING:
    import pyarrow as pa

Mask = np.ndarray


class Texts(Protocol):
    """The m distinct cells of a column in the order of their first rows. Masks have the shape (m,)."""

    @classmethod
    def of(cls, texts: list[str]) -> Self:
        """Create the column from a list."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> str: ...

    def to_list(self) -> list[str]:
        """Return all strings as a list."""

    def trimmed(self) -> Self:
        """Return the strings without surrounding blanks."""

    def is_in(self, words: Collection[str]) -> Mask:
        """Return a mask of the strings that are in a list of words."""

    def hold(self, text: str) -> Mask:
        """Return a mask of the strings that contain another string."""

    def match(self, pattern: str, *, whole: bool = True) -> Mask:
        """Return a mask of the strings that match a pattern of :mod:`fairdash.tables.grammar`."""

    def replaced(self, text: str, new: str, where: Mask | None = None) -> Self:
        """Replace `text` by `new` in all strings, or only in the strings that the mask `where` selects."""

    def floats(self, mask: Mask) -> np.ndarray:
        """Return the strings that the mask `mask` selects as numbers, and NaN for all others."""

    def column(self, codes: np.ndarray, mask: Mask) -> pd.Series:
        """Return the cells of all rows. A string that the mask `mask` does not select becomes NaN."""


def texts_of(cells: Sequence[str]) -> Any:
    """Convert some of a column's cells to the type that :func:`distinct` accepts."""
    if not has("pyarrow"):
        return cells
    import pyarrow as pa

    return pa.array(cells, pa.string())


def joined(parts: Sequence[Any]) -> Any:
    """Join the parts of a column, which :func:`texts_of` has converted."""
    if not has("pyarrow"):
        return list(chain.from_iterable(parts))
    import pyarrow as pa

    return pa.chunked_array(parts, pa.string())


def distinct(cells: Any) -> tuple[np.ndarray, Texts]:
    """Return each cell's index among the distinct cells, (n,), and the distinct cells."""
    if has("pyarrow"):
        import pyarrow as pa
        import pyarrow.compute as pc

        arrow = pa.array(cells, pa.string()) if isinstance(cells, Sequence) else cells
        coded = pc.dictionary_encode(arrow.combine_chunks() if isinstance(arrow, pa.ChunkedArray) else arrow)
        return coded.indices.to_numpy(), ArrowTexts(coded.dictionary)
    codes, values = pd.factorize(np.array(cells, dtype=object))
    return codes, PythonTexts(list(values))


def as_text(texts: pd.Series) -> pd.Series:
    """Convert text to the column type of the reader of delimited text, with NaN for missing cells."""
    if not has("pyarrow"):
        return pd.Series(texts.astype(object).where(texts.notna(), np.nan).tolist())
    import pyarrow as pa

    return pa.array(texts, pa.string(), from_pandas=True).to_pandas()


class ArrowTexts:
    """Set of distinct strings, stored and searched with pyarrow."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    @classmethod
    def of(cls, texts: list[str]) -> ArrowTexts:
        import pyarrow as pa

        return cls(pa.array(texts, pa.string()))

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> str:
        return str(self._texts[index].as_py())

    def to_list(self) -> list[str]:
        texts: list[str] = self._texts.to_pylist()
        return texts

    def trimmed(self) -> ArrowTexts:
        import pyarrow.compute as pc

        return ArrowTexts(pc.utf8_trim_whitespace(self._texts))

    def is_in(self, words: Collection[str]) -> Mask:
        import pyarrow as pa
        import pyarrow.compute as pc

        return np.asarray(pc.is_in(self._texts, value_set=pa.array(list(words), pa.string())))

    def hold(self, text: str) -> Mask:
        import pyarrow.compute as pc

        return np.asarray(pc.match_substring(self._texts, text))

    def match(self, pattern: str, *, whole: bool = True) -> Mask:
        import pyarrow.compute as pc

        return np.asarray(pc.match_substring_regex(self._texts, f"^(?:{pattern})$" if whole else pattern))

    def replaced(self, text: str, new: str, where: Mask | None = None) -> ArrowTexts:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.replace_substring(self._texts, text, new)
        return ArrowTexts(texts if where is None else pc.if_else(pa.array(where), texts, self._texts))

    def floats(self, mask: Mask) -> np.ndarray:
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers: np.ndarray = pc.cast(self._known(mask), pa.float64()).to_numpy(zero_copy_only=False)
        return numbers

    def column(self, codes: np.ndarray, mask: Mask) -> pd.Series:
        import pyarrow as pa

        return self._known(mask).take(pa.array(codes)).to_pandas()

    def _known(self, mask: Mask) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        return pc.if_else(pa.array(mask), self._texts, pa.scalar(None, pa.string()))


class PythonTexts:
    """Set of distinct strings, stored as a Python list."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    @classmethod
    def of(cls, texts: list[str]) -> PythonTexts:
        return cls(texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> str:
        return self._texts[index]

    def to_list(self) -> list[str]:
        return list(self._texts)

    def trimmed(self) -> PythonTexts:
        return PythonTexts([text.strip() for text in self._texts])

    def is_in(self, words: Collection[str]) -> Mask:
        word_set = frozenset(words)
        return np.array([text in word_set for text in self._texts], dtype=bool)

    def hold(self, text: str) -> Mask:
        return np.array([text in cell for cell in self._texts], dtype=bool)

    def match(self, pattern: str, *, whole: bool = True) -> Mask:
        matches_pattern = re.compile(pattern).fullmatch if whole else re.compile(pattern).search
        return np.array([matches_pattern(text) is not None for text in self._texts], dtype=bool)

    def replaced(self, old: str, new: str, where: Mask | None = None) -> PythonTexts:
        chosen = np.ones(len(self), dtype=bool) if where is None else where
        return PythonTexts(
            [
                text.replace(old, new) if is_in else text
                for text, is_in in zip(self._texts, chosen, strict=True)
            ]
        )

    def floats(self, mask: Mask) -> np.ndarray:
        return np.array(
            [float(text) if is_in else np.nan for text, is_in in zip(self._texts, mask, strict=True)],
            dtype=float,
        )

    def column(self, codes: np.ndarray, mask: Mask) -> pd.Series:
        texts = np.array([*self._texts], dtype=object)
        texts[~mask] = np.nan
        return pd.Series(texts[codes].tolist())
