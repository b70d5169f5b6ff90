"""A table's header made into names: texts, none blank, none twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairdash.errors import Mend, Problem, ReadingError

Renamed = tuple[tuple[int, str], ...]


def named(header: Sequence[object], *, number: bool = False) -> tuple[list[str], Renamed, list[str]]:
    """Make a header into unique names; give those that were changed, and notes.

    Parameters
    ----------
    header
        The cells of the first row as they stand; those that are no text are written as one.
    number
        Whether a name that stands over several columns is numbered: the second ``age`` becomes ``age (2)``.

    Returns
    -------
    names, renamed, notes
        `renamed` holds ``(position, name)``; the first column has position 1.

    Raises
    ------
    ReadingError
        A name stands over several columns and is not to be numbered; each such name is a problem.
    """
    names = ["" if cell is None else str(cell).strip() for cell in header]
    for position, column in enumerate(names, start=1):
        if not column:
            fresh = f"column {position}"
            while fresh in names:
                fresh += "_"
            names[position - 1] = fresh
    if number:
        names = _numbered(names)
    problems = [
        Problem(
            what="the name stands over several columns: "
            + ", ".join(str(place) for place, other in enumerate(names, start=1) if other == column),
            mend=f"Have them numbered, so that the second is “{column} (2)”, or rename them in the file.",
            column=column,
            mends=(Mend("number_names", column),),
        )
        for column, count in Counter(names).items()
        if count > 1
    ]
    if problems:
        raise ReadingError(*problems)
    renamed = tuple(
        (position, column)
        for position, (column, cell) in enumerate(zip(names, header, strict=True), start=1)
        if column != cell
    )
    notes = []
    if all(cell.lstrip("+-").replace(".", "", 1).replace(",", "", 1).isdigit() for cell in names):
        notes.append("The first line holds only numbers: if it is not a header, add one to the file.")
    return names, renamed, notes


def _numbered(names: Sequence[str]) -> list[str]:
    """Give the second column of a name a 2 behind it, the third a 3, past names that are there already."""
    taken, last, found = set(names), Counter[str](), []
    for name in names:
        last[name] += 1
        fresh = name
        while last[name] > 1 and (fresh := f"{name} ({last[name]})") in taken:
            last[name] += 1
        taken.add(fresh)
        found.append(fresh)
    return found
