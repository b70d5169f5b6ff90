"""Frames written in any dialect are read back exactly, or refused in plain words."""

import csv
import datetime
import io
import math

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairdash.tables.readers.reading import read_table
from fairdash.tables.readers.text_column import MISSING_MARKS

# Every text begins like a word, so that none reads as a number, a date, a truth value or a missing mark.
TRICKY = ["Lyon", "w;x", "w, x", "w\tx", "w|x", 'w"x', "w\nx", "w ", "w\u00a0"]
WORDS = st.sampled_from(TRICKY) | st.text(
    st.characters(codec="cp1252", exclude_categories=["Cc"]), max_size=8
).map("w".__add__)
reals = st.floats(allow_nan=False, allow_infinity=False, width=64)
wholes = st.integers(-(2**53) + 1, 2**53 - 1)
days = st.dates(datetime.date(1000, 1, 1), datetime.date(9999, 12, 31)).map(pd.Timestamp)
# Codes that look like numbers: they come back as they stand.
codes = st.from_regex(r"0[0-9]{1,6}", fullmatch=True)
long_ids = st.integers(2**53, 2**90).map(str)

CELLS = [reals, wholes, WORDS, st.booleans(), days, codes, long_ids]
CELLS += [cells | st.none() for cells in (reals, WORDS, days, codes)]


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(st.integers(3, 12))
    columns: dict[str, list] = {}
    for position in range(draw(st.integers(2, 5))):
        cells = draw(st.sampled_from(CELLS))
        columns[f"column{position}é"] = draw(st.lists(cells, min_size=n, max_size=n))
    return pd.DataFrame(columns)


def write(
    frame: pd.DataFrame, *, decimal: str, mark: str, encoding: str, line_end: str, **how: object
) -> bytes:
    def cell(value: object) -> str:
        if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
            return mark
        if isinstance(value, pd.Timestamp):
            return value.date().isoformat()
        return repr(value).replace(".", decimal) if isinstance(value, float) else str(value)

    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator=line_end, **how)
    writer.writerow(frame.columns)
    for row in frame.astype(object).itertuples(index=False):
        writer.writerow([cell(value) for value in row])
    return buffer.getvalue().encode(encoding)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    frame=tables(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    mark=st.sampled_from(["", *MISSING_MARKS]),
    told=st.booleans(),
)
def test_read_back_exactly(frame: pd.DataFrame, told: bool, **how) -> None:
    content = write(frame, **how)
    # What is found must be what is told, but for the marks by which 1.234 can be read in two ways.
    options = {name: how[name] for name in ("encoding", "delimiter", "decimal")} if told else {}
    got, report = read_table(content, **options)
    assert (report.delimiter, list(got)) == (how["delimiter"], list(frame))
    if ends_like_a_note(frame) and len(got) < len(frame):
        assert any("below the table is left out" in note for note in report.notes)
        frame = frame[: len(got)]
    for name in frame:
        if any(f"“{name}” stays text: its cells may be decimals" in note for note in report.notes):
            assert not told
            continue
        there = frame[name].notna()
        assert got[name].notna().tolist() == there.tolist()
        assert got[name][there].tolist() == frame[name][there].tolist()


def ends_like_a_note(frame: pd.DataFrame) -> bool:
    """Whether the last row is one text alone in the first column, below an empty one."""
    there = frame.notna().to_numpy()
    return bool(there[-1, 0]) and there[-1].sum() == 1 and not there[-2].any()
