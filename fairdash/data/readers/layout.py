"""What stands above and below a table in a file: a title over the header, a total or a note under the rows.

>>> header_at([["Portfolio 2024"], ["age", "price", "town"], ["40", "9.5", "Lyon"], ["50", "8", "Brest"]])
1
>>> header_at([["age", "price"], ["40", "9.5"]])
0
>>> rows_below([(4, ["50", "8", "Brest"]), (5, ["Total", "17.5", ""])])
1
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_high

from fairdash.data.grammar import LIKE_NUMBER, folded

#: Filled rows among which the header is looked for, and rows at the end among which totals and notes are.
ROWS_ABOVE, ROWS_BELOW = 30, 10

#: First words of a row of totals and of a note, folded.
_TOTALS = frozenset(
    "total totals sum gesamt gesamtsumme summe insgesamt totaux totale totali totales somme suma somma totaal"
    " som".split()
)
_NOTES = frozenset(
    "source sources quelle quellen fuente fonte bron note notes notiz hinweis nota remarque".split()
)
#: Words that may stand before that of a total.
_GRAND = frozenset({"grand", "general", "sub"})
_FEWEST_FOR_NOTE = 3


def header_at(rows: Sequence[Sequence[str]]) -> int:
    """Which of a table's first rows holds the names, from 0.

    The first, unless at most half as many of its cells are filled as is usual, and a row further down has
    names: more than half of its cells filled, with different texts that are no numbers.

    Parameters
    ----------
    rows
        The first rows that are not empty, some thirty, as they stand in the file.
    """
    filled = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    usual = median_high([len(cells) for cells in filled])
    for place, cells in enumerate(filled):
        if len(cells) <= usual / 2:
            continue
        if place == 0:
            return 0
        names = len(set(cells)) == len(cells) > 1 and not any(LIKE_NUMBER.fullmatch(cell) for cell in cells)
        return place if names and place + 1 < len(filled) else 0
    return 0


def rows_below(rows: Sequence[tuple[int, Sequence[str]]]) -> int:
    """How many of a table's last rows are none of it: totals, and notes such as a source.

    Parameters
    ----------
    rows
        The last rows with the line that each begins on; empty lines have no cells, or empty ones. The first
        is never counted.

    Returns
    -------
    int
        Rows that are not empty; all of them stand at the end.
    """
    found = 0
    width = max((len(cells) for _, cells in rows), default=0)
    kept = [[cell.strip() for cell in cells] for _, cells in rows]
    while kept:
        cells = kept.pop()
        if not any(cells):
            continue
        above = next((other for other in reversed(kept) if any(other)), None)
        if above is None or not (_is_total(cells, above) or _is_note(cells, width, kept)):
            break
        found += 1
    return found


def _is_total(cells: Sequence[str], above: Sequence[str]) -> bool:
    """Whether a row begins with a word for a total, in a place where no other row has words."""
    place = next(place for place, cell in enumerate(cells) if cell)
    words = folded(cells[place]).replace(":", " ").replace("-", " ").split()
    while words and words[0] in _GRAND:
        words = words[1:]
    if not words or words[0] not in _TOTALS or len(words) > _FEWEST_FOR_NOTE:
        return False
    same = above[place] if place < len(above) else ""
    return not all(cells) or len(cells) < len(above) or not same or bool(LIKE_NUMBER.fullmatch(same))


def _is_note(cells: Sequence[str], width: int, above: Sequence[Sequence[str]]) -> bool:
    """Whether a row is one text alone, set off by an empty line or by the word that it begins with."""
    filled = [cell for cell in cells if cell]
    if width < _FEWEST_FOR_NOTE or len(filled) > 1 or LIKE_NUMBER.fullmatch(filled[0]):
        return False
    words = folded(filled[0]).replace(":", " ").split()
    if words and (words[0] in _NOTES or words[0].startswith("*")):
        return True
    if not above or any(above[-1]):
        return False
    # A row that is all empty may also be one of a sparse table's. Then what follows is a value, and stands
    # right of the first column or among its like.
    place = cells.index(filled[0])
    return not any(any(row[:place]) or filled[0] in row[place : place + 1] for row in above)


def said_above(line: int, n_above: int) -> str:
    """A sentence on the header's place where it is not the first row."""
    rows = "row above it is" if n_above == 1 else f"{n_above} rows above it are"
    return f"The names of the columns are read from line {line}; the {rows} not used."


def said_below(lines: Sequence[int]) -> str:
    """A sentence on the rows under the table that are left out."""
    where = ", ".join(str(line) for line in lines)
    one = len(lines) == 1
    return (
        f"{'A row' if one else f'{len(lines)} rows'} below the table {'is' if one else 'are'} left out, as a "
        f"total or a note ({'line' if one else 'lines'} {where})."
    )
