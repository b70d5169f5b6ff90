"""Write docs/bad_inputs.md: each kind of bad input, what a user gets, and the tests that hold it.

    python -m docs.bad_inputs

A test says which rows it holds by ``@pytest.mark.bad_input(12, 13)``; this script finds the marks in the
sources of the tests, so that the page can't say more than there is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "bad_inputs.md"

#: Section to row, case and behaviour.
ROWS: dict[str, dict[int, tuple[str, str]]] = {
    "Reading a file": {
        1: ("UTF-16 file", "detected and read"),
        2: ("Windows-1252 text", "UTF-8 is tried, then Windows-1252; the page says which"),
        3: ("byte order mark", "read without a stray character in the first header"),
        4: ("`;`, tab or bar between the cells", "detected; the page says which"),
        5: ("decimal comma", "detected, converted and reported with the number of cells"),
        6: ("an extra field in each row", "refused, with the widths"),
        7: ("short rows", "refused, with the lines"),
        8: ("unclosed quote", "refused, with the line it opens on"),
        9: ("NUL bytes, or an image named .csv", "refused by content, not by name"),
        10: ("over the size limit (200 MB, or 50 million cells)", "refused before parsing"),
        11: ("empty, or a header only", "“no data rows”"),
        12: ("fewer rows than a task needs", "a message with the number needed, and for what"),
        13: ("duplicate headers", "listed; numbered after a click, and reported"),
        14: ("blank headers, or headers that are not text", "converted to text; the mapping is shown"),
        15: ("1e400 or “inf”", "refused, with the lines"),
        16: ("mixed types in a column", "stays text; the lines are listed, conversion is offered"),
        17: ("the code “NA”", "the marks of missing cells are shown, and can be changed"),
        18: ("leading zeros, ids above 2⁵³", "kept as text, flagged as an identifier"),
        19: ("thin space or apostrophe between thousands", "reported; conversion is offered"),
        20: ("gzip, zip or Parquet bomb", "capped while streaming; a footer's rows × width first"),
        21: ("large xlsx", "cells are capped before they are read by a fast engine"),
        22: (
            "xlsx with XML entities; formulas without results; hidden or several sheets",
            "refused; asked to save again; the sheet is chosen",
        ),
        23: ("nested Parquet types; truncated Parquet", "left out by name; “the file is incomplete”"),
    },
    "Choosing roles": {
        24: ("constant target or sensitive column", "blocked: dependence is undefined"),
        25: ("missing values in target or sensitive column", "rows dropped only when the user agrees"),
        26: ("all-missing column; constant feature", "left out and reported"),
        27: ("category with about as many levels as rows", "flagged as an identifier, left out by default"),
        28: ("dates, typed or as text; truth values", "dates are offered as year and age, and day and month are never guessed; truth values become 0 and 1, and the mapping is reported"),
        29: (
            "target = sensitive; the sensitive column copied, permuted or rescaled among the features",
            "the first is blocked; the second is detected, and the user has to choose",
        ),
        30: ("negative, zero or missing exposure", "blocked, with lines"),
        31: ("fewer rows than quantiles; ties", "groups reduced by rank; the number is shown"),
        32: ("heavy tails, many zeros in the target", "a warning with the share; never clipped"),
        33: ("numbers beyond single precision", "rescaled before training"),
        59: (
            "amounts below zero, such as recoveries, in a target that is divided by the exposure",
            "blocked, with lines, until the user chooses one of three options: keep them, set them to 0, or drop these "
            "rows; the effect of each over all rows is shown",
        ),
    },
    "Hostile input": {
        52: ("cells or headers that begin with = + - @ tab or NUL", "text is escaped in exports, numbers are not"),
        53: ("HTML, Markdown or LaTeX in names", "shown as plain text everywhere"),
        54: ("a name such as `../../x`, NUL, 300 characters", "used for display only; paths consist of hashes and ids"),
        55: ("a malicious .pt or pickle", "never loaded"),
        56: ("a page on another origin opening the websocket", "refused"),
        57: (
            "an address other than loopback",
            "the default binds to loopback; [deployment.md](deployment.md) says how to put it behind a login",
        ),
        58: (
            "a run's zip that was altered, repacked, leads out of its folder, or is a bomb",
            "refused before anything is stored",
        ),
    },
}  # fmt: skip


def marked_tests() -> Iterator[tuple[int, str, str]]:
    """Row, file and name of each test that is marked with the row."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.bad_input":
                    for row in mark.args:
                        yield ast.literal_eval(row), path.relative_to(ROOT).as_posix(), node.name


def page() -> str:
    """The page's text."""
    held: dict[int, list[tuple[str, str]]] = {}
    for row, path, name in marked_tests():
        held.setdefault(row, []).append((path, name))
    lines = [
        "# Bad input, and what you get",
        "",
        "`python -m docs.bad_inputs` makes this page from the marks on the tests. An error message names",
        "the column, the first five line numbers, the number of affected cells and the remedy, and never quotes",
        "a cell.",
        "Tests under `tests/ui` and `tests/browser` check the message on the page, as a user sees it.",
    ]
    for section, rows in ROWS.items():
        lines += ["", f"## {section}", "", "| # | case | what you get | held by |", "|---|---|---|---|"]
        for row, (case, behaviour) in rows.items():
            tests = "<br>".join(f"`{path.removeprefix('tests/')}` {name}" for path, name in held.get(row, []))
            lines.append(f"| {row} | {case.replace('|', chr(92) + '|')} | {behaviour} | {tests} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
