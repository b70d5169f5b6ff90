"""Tables as they come: a title above the header, totals and notes below, in texts and in workbooks."""

import pytest

from fairdash.errors import OptionError, ReadingError
from fairdash.tables.readers.reading import read_table
from fairdash.tables.readers.report import heard_by
from tests.data.workbooks import workbook

HEADER, ROWS = ["Alter", "Prämie", "Ort"], [[40, 9.5, "Lyon"], [50, 8, "Brest"], [61, 7.25, "Paris"]]
TITLE, EMPTY, TOTAL, SOURCE = ["Bestand Kfz, Stand 2024"], [], ["Summe", 24.75], ["Quelle: eigene Daten"]


def text(rows: list[list[object]]) -> bytes:
    written = [
        [str(cell).replace(".", ",") if isinstance(cell, float) else str(cell) for cell in row]
        for row in rows
    ]
    return "".join(";".join(cells) + "\n" for cells in written).encode()


def rectangular(rows: list[list[object]]) -> bytes:
    return text([[*row, *[""] * (len(HEADER) - len(row))] for row in rows])


def book(rows: list[list[object]]) -> bytes:
    return workbook({"Tab": rows})


@pytest.mark.parametrize("write", [book, text, rectangular])
@pytest.mark.parametrize(
    ("above", "below"),
    [
        ([TITLE], []), ([TITLE, EMPTY], [TOTAL]),
        ([TITLE, ["1. Januar"], EMPTY], [EMPTY, TOTAL, EMPTY, SOURCE]), ([], [SOURCE]),
        ([], [["Total général:", 24.75, ""]]),
    ],
)  # fmt: skip
def test_titles_and_totals_are_found_and_said(write, above: list, below: list) -> None:
    frame, report = read_table(write([*above, HEADER, *ROWS, *below]))
    assert (list(frame), frame["Prämie"].tolist()) == (HEADER, [9.5, 8, 7.25])
    assert frame["Alter"].tolist() == [40, 50, 61]
    start, n_below = len(above) + 1, sum(map(bool, below))
    assert (f"The column names are on line {start}" in " ".join(report.notes)) == bool(above)
    assert ("below the table" in " ".join(report.notes)) == bool(n_below)
    if n_below:
        last = start + len(ROWS) + len(below)
        assert f"{last})" in next(note for note in report.notes if "below the table" in note)
    assert report.lines.tolist() == [start + 1, start + 2, start + 3]


@pytest.mark.parametrize("write", [book, rectangular])
def test_the_header_and_what_is_below_can_be_chosen(write) -> None:
    content = write([TITLE, HEADER, ["Jahre", "Euro", "Name"], *ROWS, TOTAL])
    frame, report = read_table(content, header_row=3)
    assert list(frame) == ["Jahre", "Euro", "Name"]
    assert "on line 3; the 2 rows above it are not used" in " ".join(report.notes)
    frame, report = read_table(content, keep_below=True)
    assert (list(frame), len(frame)) == (HEADER, 5)
    assert "below the table" not in " ".join(report.notes)
    assert next(iter(read_table(content, header_row=1, keep_below=True)[0])) == TITLE[0]
    with pytest.raises(OptionError, match="Line 99, chosen for the column names, is empty"):
        read_table(content, header_row=99)


@pytest.mark.parametrize("write", [book, rectangular])
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
    assert (len(frame), next(iter(frame))) == (len(rows) - 1, "a")
    assert "below the table" not in " ".join(report.notes)


@pytest.mark.bad_input(6, 7)
@pytest.mark.parametrize("below", ["4\n", "4;5\n", "Lyo\n", "4;5;6;7\n"])
def test_a_row_cut_off_is_no_note(below: str) -> None:
    with pytest.raises(ReadingError, match="another width"):
        read_table(text([HEADER, *ROWS]) + below.encode())


def test_what_is_being_read_is_told() -> None:
    heard: list[str] = []
    content = text([HEADER]) + b'40;9,5;"Lyon"\n' * 200_000
    with heard_by(heard.append):
        read_table(content)
    columns = [f"200,000 rows, column {k} of 3" for k in (1, 2, 3)]
    assert heard == ["166,666 rows so far", "200,000 rows so far", *columns]
    read_table(text([HEADER, *ROWS]))
    assert len(heard) == 5, "told to whoever listens, while they do"
