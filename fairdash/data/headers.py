"""A table's header made into names: texts, none blank, none twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairdash.errors import Problem, ReadingError

Renamed = tuple[tuple[int, str], ...]


def named(header: Sequence[object]) -> tuple[list[str], Renamed, list[str]]:
    """Make a header into unique names; give those that were changed, and notes.

    Parameters
    ----------
    header
        The cells of the first row as they stand; those that are no text are written as one.

    Returns
    -------
    names, renamed, notes
        `renamed` holds ``(position, name)``; the first column has position 1.

    Raises
    ------
    ReadingError
        A name stands over several columns; each such name is a problem.
    """
    names = ["" if cell is None else str(cell).strip() for cell in header]
    for position, column in enumerate(names, start=1):
        if not column:
            fresh = f"column {position}"
            while fresh in names:
                fresh += "_"
            names[position - 1] = fresh
    problems = [
        Problem(
            what="the name stands over several columns: "
            + ", ".join(str(place) for place, other in enumerate(names, start=1) if other == column),
            mend="Give each its own name in the file.",
            column=column,
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
