"""Write docs/bad_inputs.md: each kind of bad input, the response of fairdash, and the tests of the response.

    python -m docs.bad_inputs

The mark ``@pytest.mark.bad_input(12, 13)`` says that a test covers rows 12 and 13 of the page. This script
reads the marks from the sources of the tests, so that the page lists only tests that exist.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "bad_inputs.md"

#: Section to number of the row, case of bad input, and response of fairdash.
ROWS: dict[str, dict[int, tuple[str, str]]] = {
    "Reading a file": {
        1: ("UTF-16 file", "detected and read"),
        2: ("Windows-1252 text", "read as UTF-8 or, if this fails, as Windows-1252; the page names the encoding"),
        3: ("byte order mark", "read without a stray character in the first header"),
        4: ("`;`, tab or bar between the cells", "the separator is detected, and the page names it"),
        5: ("decimal comma", "detected and converted; the page reports the number of converted cells"),
        6: ("an extra field in each row", "refused; the message gives the numbers of cells per row"),
        7: ("rows with too few cells", "refused; the message gives the line numbers"),
        8: ("unclosed quote", "refused; the message gives the line of the opening quote"),
        9: ("NUL bytes, or an image named .csv", "refused because of the content; the name is ignored"),
        10: ("a file over the size limit (200 MB, or 50 million cells)", "refused before parsing"),
        11: ("an empty file, or only a header", "refused with the message “no data rows”"),
        12: ("fewer rows than a task needs", "a message that states the number of rows needed, and the task that needs them"),
        13: ("duplicate headers", "listed; one click adds numbers to the headers, and the page reports this"),
        14: ("blank headers, or headers that are not text", "converted to text; the page shows the old and the new headers"),
        15: ("infinite values, such as 1e400 or “inf”", "refused; the message gives the line numbers"),
        16: ("mixed types in a column", "the column stays text; the page lists the lines and offers a conversion"),
        17: ("the code “NA”", "the page shows the codes that mean a missing cell, and the user can change them"),
        18: ("leading zeros, ids above 2⁵³", "kept as text and flagged as an identifier"),
        19: ("thin space or apostrophe between thousands", "the page reports the cells and offers a conversion"),
        20: ("gzip, zip or Parquet bomb", "unpacking stops at the size limit; for Parquet, the rows × columns stated in the footer are checked first"),
        21: ("large xlsx", "the number of cells is checked before a fast engine reads them"),
        22: (
            "xlsx with XML entities; formulas without results; hidden or several sheets",
            "entities are refused; for formulas, the user is asked to save the file again; the user chooses the sheet",
        ),
        23: ("nested Parquet types; truncated Parquet", "columns of nested types are left out and named; a truncated file is refused as incomplete"),
    },
    "Choosing roles": {
        24: ("constant target or sensitive column", "blocked: dependence is undefined"),
        25: ("missing values in target or sensitive column", "rows are dropped only if the user agrees"),
        26: ("all-missing column; constant feature", "left out and reported"),
        27: ("category with about as many levels as rows", "flagged as an identifier and left out by default"),
        28: ("dates, typed or as text; Boolean values", "dates are offered as year and age, and the order of day and month is never guessed; Boolean values become 0 and 1, and the page reports this"),
        29: (
            "the target is the sensitive column; a feature is a copied, permuted or rescaled sensitive column",
            "the first case is blocked; in the second, the user has to choose what to do with the feature",
        ),
        30: ("negative, zero or missing exposure", "blocked; the message gives the line numbers"),
        31: ("fewer rows than quantiles; ties", "rows are grouped by rank into fewer groups; the number of groups is shown"),
        32: ("heavy tails, many zeros in the target", "a warning that gives the share of such rows; values are never clipped"),
        33: ("numbers beyond single precision", "rescaled before training"),
        59: (
            "amounts below zero, such as recoveries, in a target that is divided by the exposure",
            "blocked until the user chooses one of three options: keep the amounts, set them to 0, or drop these rows; the "
            "message gives the line numbers and the effect of each option over all rows",
        ),
    },
    "Hostile input": {
        52: ("cells or headers that begin with = + - @ tab or NUL", "in exports, text is escaped and numbers stay unchanged"),
        53: ("HTML, Markdown or LaTeX in names", "shown as plain text everywhere"),
        54: ("a name such as `../../x`, NUL, 300 characters", "the name is used for display only; paths consist of hashes and ids"),
        55: ("a malicious .pt or pickle", "never loaded"),
        56: ("a page on another origin opening the websocket", "refused"),
        57: (
            "an address other than loopback",
            "by default the app listens on loopback; [deployment.md](deployment.md) explains how to add a login",
        ),
        58: (
            "a run's zip file that was altered or repacked, has paths outside its folder, or is a decompression bomb",
            "refused before anything is stored",
        ),
    },
}  # fmt: skip


def marked_tests() -> Iterator[tuple[int, str, str]]:
    """Row of the page, file and name of each test with a mark for this row."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.bad_input":
                    for row in mark.args:
                        yield ast.literal_eval(row), path.relative_to(ROOT).as_posix(), node.name


def page() -> str:
    """Text of the page."""
    held: dict[int, list[tuple[str, str]]] = {}
    for row, path, name in marked_tests():
        held.setdefault(row, []).append((path, name))
    lines = [
        "# Bad input, and what you get",
        "",
        "`python -m docs.bad_inputs` makes this page from marks on the tests. An error message names the column,",
        "the first five line numbers, the number of affected cells and the remedy, and never quotes a cell.",
        "Tests under `tests/ui` and `tests/browser` check the message that a user sees on the page.",
    ]
    for section, rows in ROWS.items():
        lines += ["", f"## {section}", "", "| # | case | what you get | tested by |", "|---|---|---|---|"]
        for row, (case, behaviour) in rows.items():
            tests = "<br>".join(f"`{path.removeprefix('tests/')}` {name}" for path, name in held.get(row, []))
            lines.append(f"| {row} | {case.replace('|', chr(92) + '|')} | {behaviour} | {tests} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
