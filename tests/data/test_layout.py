"""Tables as they come: a title above the header, totals and notes below, in texts and in workbooks."""

from __future__ import annotations

import pytest

from fairdash.data.readers.reading import read_table
from fairdash.data.readers.report import ReadingReport, heard_by
from fairdash.data.source import DatasetSource, UploadSource
from fairdash.errors import OptionError, ReadingError
from tests.data.tables import ROLES
from tests.data.workbooks import workbook

HEADER, ROWS = ["Alter", "Prämie", "Ort"], [[40, 9.5, "Lyon"], [50, 8, "Brest"], [61, 7.25, "Paris"]]
TITLE, EMPTY, TOTAL, SOURCE = ["Bestand Kfz, Stand 2024"], [], ["Summe", 24.75], ["Quelle: eigene Daten"]


def text(rows: list[list[object]], *, delimiter: str = ";", rectangular: bool = False) -> bytes:
    lines = []
    for row in rows:
        cells = [str(cell).replace(".", ",") if isinstance(cell, float) else str(cell) for cell in row]
        cells += [""] * (len(HEADER) - len(cells)) if rectangular else []
        lines.append(delimiter.join(cells))
    return "\n".join(lines).encode() + b"\n"


def book(rows: list[list[object]]) -> bytes:
    return workbook({"Tab": rows})


def said(report: ReadingReport) -> str:
    return "\n".join(report.sentences())


@pytest.mark.parametrize("write", [book, text, lambda rows: text(rows, rectangular=True)])
@pytest.mark.parametrize(
    ("above", "below"),
    [
        ([TITLE], []),
        ([TITLE, EMPTY], [TOTAL]),
        ([TITLE, ["1. Januar"], EMPTY], [EMPTY, TOTAL, EMPTY, SOURCE]),
        ([], [SOURCE]),
        ([], [["Total général:", 24.75, ""]]),
    ],
)
def test_titles_and_totals_are_found_and_said(write, above: list, below: list) -> None:
    frame, report = read_table(write([*above, HEADER, *ROWS, *below]))
    assert list(frame) == HEADER
    assert frame["Prämie"].tolist() == [9.5, 8, 7.25]
    assert frame["Alter"].tolist() == [40, 50, 61]
    titles = [row for row in above if row]
    n_below = sum(1 for row in below if row)
    start = len(above) + 1
    assert (f"The column names are on line {start}" in said(report)) == bool(titles)
    assert ("below the table" in said(report)) == bool(n_below)
    if n_below:
        last = start + len(ROWS) + len(below)
        assert f"{last})" in next(note for note in report.notes if "below the table" in note)
    assert report.lines.tolist() == [start + 1, start + 2, start + 3]


@pytest.mark.parametrize("last", [["", "", "Metz"], ["Lyon", "", ""]])
def test_a_sparse_table_keeps_its_last_row(last: list[str]) -> None:
    header, rows = ["Wohnort", "Prämie", "Arbeitsort"], [["Lyon", 9.5, "Lyon"], ["", "", ""], last]
    frame, report = read_table(text([header, *rows]))
    assert frame.iloc[-1].fillna("").tolist() == last
    assert "below the table" not in said(report)


@pytest.mark.parametrize("write", [book, lambda rows: text(rows, rectangular=True)])
def test_the_header_and_what_is_below_can_be_chosen(write) -> None:
    content = write([TITLE, HEADER, ["Jahre", "Euro", "Name"], *ROWS, TOTAL])
    frame, report = read_table(content, header_row=3)
    assert list(frame) == ["Jahre", "Euro", "Name"]
    assert "on line 3; the 2 rows above it are not used" in said(report)
    frame, report = read_table(content, keep_below=True)
    assert list(frame) == HEADER
    assert len(frame) == 5
    assert "below the table" not in said(report)
    assert next(iter(read_table(content, header_row=1, keep_below=True)[0])) == TITLE[0]
    with pytest.raises(OptionError, match="Line 99, chosen for the column names, is empty"):
        read_table(content, header_row=99)


@pytest.mark.parametrize("write", [book, lambda rows: text(rows, rectangular=True)])
@pytest.mark.parametrize(
    "rows",
    [
        [["a", "", ""], [1, 2, 3], [4, 5, 6]],  # names that are missing are no title
        [["a", "b", "c"], ["Total", "x", "y"], ["Elf", "x", "z"], ["Total", "x", "y"]],  # a brand of petrol
        [["a", "b", "c"], ["x", "y", "z"], ["x", "", ""]],  # cells that are missing are no note
        [["a", "b", "c"], [1, 2, 3], ["", "", 4]],
        [["a", "b", "c"], ["Total", 1, 2]],  # the only row
    ],
)
def test_a_table_without_either_is_read_whole(write, rows: list) -> None:
    frame, report = read_table(write(rows))
    assert len(frame) == len(rows) - 1
    assert next(iter(frame)) == "a"
    assert "below the table" not in said(report)


@pytest.mark.bad_input(6, 7)
@pytest.mark.parametrize("below", ["4\n", "4;5\n", "Lyo\n", "4;5;6;7\n"])
def test_a_row_cut_off_is_no_note(below: str) -> None:
    with pytest.raises(ReadingError, match="another width"):
        read_table(text([HEADER, *ROWS]) + below.encode())


def test_a_title_that_holds_the_other_delimiter() -> None:
    _, report = read_table(text([TITLE, HEADER, *ROWS]))
    assert report.delimiter == ";"
    assert list(read_table(text([["a;b"], HEADER, *ROWS], delimiter="\t"))[0]) == HEADER


def test_recipes_keep_the_choice_and_older_ones_their_ids() -> None:
    source = UploadSource(sha256="0" * 64, name="x.csv", roles=ROLES)
    assert "header_row" not in source.to_json()
    assert "keep_below" not in source.to_json()
    _, report = read_table(text([HEADER, *ROWS]))
    assert report.notes == ()
    chosen = DatasetSource.from_json(
        source.to_json().replace('"reading":{', '"reading":{"header_row":2,"keep_below":true,')
    )
    assert (chosen.reading.header_row, chosen.reading.keep_below) == (2, True)
    assert DatasetSource.from_json(chosen.to_json()) == chosen


def test_other_files_have_no_such_line() -> None:
    import io

    import pandas as pd

    buffer = io.BytesIO()
    pd.DataFrame({"a": [1]}).to_parquet(buffer)
    with pytest.raises(OptionError, match="no line of names"):
        read_table(buffer.getvalue(), header_row=1)


def test_what_is_being_read_is_told() -> None:
    heard: list[str] = []
    rows = [[40, 9.5, "Lyon"]] * 400_000
    content = text([HEADER]) + "\n".join('40;9,5;"Lyon"' for _ in rows).encode()
    with heard_by(heard.append):
        read_table(content)
    assert heard == [
        "166,666 rows so far",
        "333,332 rows so far",
        "400,000 rows so far",
        *(f"400,000 rows, column {k} of 3" for k in (1, 2, 3)),
    ]
    read_table(text([HEADER, *ROWS]))
    assert len(heard) == 6, "told to whoever listens, while they do"
