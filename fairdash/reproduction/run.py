"""One verb for all studies of the paper: make one again and write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairdash.errors import OptionError, Problem
from fairdash.lookup import look_up
from fairdash.reproduction.figures12 import reproduce_fig1, reproduce_fig2
from fairdash.reproduction.household import Reading, reproduce_household
from fairdash.reproduction.results import COMMITTED, StudyResult, write_result

Tell = Callable[[str], None]


def reproduce(
    study: str,
    *,
    out: Path | None = None,
    dataset: str = "crime",
    all_rows: bool = False,
    methods: Sequence[str] | None = None,
    reading: Reading | None = None,
    tell: Tell = lambda _: None,
) -> tuple[StudyResult, Path]:
    """Carry out a study and write its result; what was written, and where.

    Parameters
    ----------
    study
        ``"table1"``, ``"household"``, ``"fig1"``, ``"fig2"`` or ``"fig3"``.
    out
        Folder to write into; by default where fairdash keeps its own.
    dataset, all_rows, methods
        Of ``"table1"``, as :class:`fairdash.reproduction.table1.Table1Plan`.
    reading
        Of ``"household"``: how to read what the paper leaves open.
    tell
        Hears what it is at.

    Raises
    ------
    OptionError
        The study is not known, or an option can't be used.
    """
    studies: Mapping[str, Callable[[], StudyResult]] = {
        "table1": lambda: _table1(dataset, all_rows, methods, tell, whole=out is None),
        "household": lambda: reproduce_household(reading or Reading(), tell=tell),
        "fig1": lambda: reproduce_fig1(tell=tell),
        "fig2": lambda: reproduce_fig2(tell=tell),
        "fig3": lambda: _fig3(tell),
    }
    result = look_up(studies, study, option="study")()
    return result, write_result(result, COMMITTED if out is None else out)


def _fig3(tell: Tell) -> StudyResult:
    from fairdash.reproduction.fig3 import reproduce_fig3

    return reproduce_fig3(tell=tell)


def _table1(
    dataset: str, all_rows: bool, methods: Sequence[str] | None, tell: Tell, *, whole: bool
) -> StudyResult:
    from fairdash.reproduction.table1 import COMPARED, Table1Plan, reproduce_table1

    if methods is not None and whole:
        raise OptionError(
            Problem(
                column="methods",
                what="A part of the table would take the place of the whole",
                mend="Name another folder with --out.",
            )
        )
    plan = Table1Plan(
        dataset=dataset, all_rows=all_rows, methods=COMPARED if methods is None else tuple(methods)
    )
    return reproduce_table1(plan, tell=tell)
