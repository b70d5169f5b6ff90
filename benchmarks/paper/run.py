"""Function that runs any study of the paper and writes its result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.paper.figures import reproduce_fig1, reproduce_fig2, reproduce_fig3
from benchmarks.paper.frame import write_result
from benchmarks.paper.household import Reading, reproduce_household
from benchmarks.paper.table1 import Table1Plan, reproduce_table1
from fairdash.errors import OptionError
from fairdash.lab.paper import COMMITTED, OBJECTIVES, StudyResult
from fairdash.utils.registry import get_entry


def reproduce(
    study: str,
    *,
    out: Path | None = None,
    dataset: str = "crime",
    all_rows: bool = False,
    methods: Sequence[str] | None = None,
    objectives: Sequence[str] | None = None,
    reading: Reading | None = None,
    processes: int = 1,
) -> tuple[StudyResult, Path]:
    """Run a study and write its result; return the files and their place.

    Parameters
    ----------
    study
        ``"table1"``, ``"household"``, ``"fig1"``, ``"fig2"`` or ``"fig3"``.
    out
        Output folder; by default that of fairdash's stored results.
    dataset, all_rows, methods, objectives
        Options of ``"table1"``; see :class:`benchmarks.paper.table1.Table1Plan`.
    reading
        Option of ``"household"``: interpretation of what the paper leaves open.
    processes
        2 to compute two objectives (for ``"fig2"``, patterns) at once, which does not affect the values.

    Raises
    ------
    OptionError
        The study is unknown, or an option is invalid.
    """

    def table1() -> StudyResult:
        if (methods is not None or objectives is not None) and out is None:
            raise OptionError.of(
                "A part of the table would take the place of the whole",
                "Name another folder with --out.",
                column="methods",
            )
        plan = Table1Plan(
            dataset=dataset,
            all_rows=all_rows,
            methods=tuple(methods or ()),
            objectives=tuple(objectives or OBJECTIVES),
        )
        return reproduce_table1(plan, processes=processes)

    studies = {
        "table1": table1,
        "household": lambda: reproduce_household(reading or Reading(), processes=processes),
        "fig1": reproduce_fig1,
        "fig2": lambda: reproduce_fig2(processes=processes),
        "fig3": reproduce_fig3,
    }
    result = get_entry(studies, study, option="study")()
    return result, write_result(result, COMMITTED if out is None else out)
