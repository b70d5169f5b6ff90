"""Sentences, numbers and tables of an audit and of a front have the same text wherever they are shown."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa
from streamlit.testing.v1 import AppTest

from fairdash.__main__ import main
from fairdash.auditing.filing.document import render_filing
from fairdash.auditing.filing.view import verdicts_of
from fairdash.runs.comparison import parse_comparison
from fairdash.utils.safe_csv import safe_csv
from fairdash.views.blocks import Table
from fairdash.views.reports import content, tables
from tests.ui.conftest import calm, open_page, words
from tests.ui.test_audit_page import asked, policies, uploaded
from tests.ui.test_tradeoff import look
from tests.views.reports.test_report import Reader


def plainly(text: str) -> str:
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


def on_page(at: AppTest, table: Table) -> tuple[tuple[str, ...], ...]:
    """The cells of a table as the page shows them."""
    (element,) = (each for each in at.dataframe if each.proto.alt == table.title.capitalize())
    data = element.proto.arrow_data
    with pa.ipc.open_stream(data.styler.display_values or data.data) as shown:
        return tuple(shown.read_pandas().itertuples(index=False, name=None))


def in_lines(printed: str, table: Table) -> bool:
    """Check that every row of a table is one line of the output."""
    lines = {plainly(line) for line in printed.splitlines()}
    return {plainly(" ".join(row)) for row in (table.columns, *table.rows)} <= lines


def in_document(document: bytes, table: Table) -> bool:
    """Check that the rows of a table follow each other in the document."""
    texts = [plainly(each) for each in Reader(document).texts if each.strip()]
    cells = [plainly(cell) for row in (table.columns, *table.rows) for cell in row]
    return any(texts[k : k + len(cells)] == cells for k in range(len(texts)))


def test_audit_text_is_identical_on_the_page_on_the_command_line_in_the_report_and_in_csv(tmp_path, capsys):
    audit = asked(uploaded(policies()), 1, 5)
    result = audit.read_result()
    sentence, table = result.answers[0].text, verdicts_of(result)
    number = table.rows[0][2]
    assert number.endswith(" %")
    assert number in result.in_words

    at = calm(open_page("audit", audit=audit.id))
    page = plainly(words(at).replace("\\", ""))
    policies().to_csv(tmp_path / "policies.csv", index=False)
    columns = ["--price", "<b>premium</b>", "--sensitive", "age", "--outcome", "claims"]
    command = ["audit", str(tmp_path / "policies.csv"), *columns, "--question", "1", "--question", "5"]
    assert main(command) == 1
    printed = capsys.readouterr().out
    with zipfile.ZipFile(io.BytesIO(result.to_zip())) as archive:
        report = archive.read("report.html")
        csv = {name: pd.read_csv(archive.open(f"{name}.csv")) for name in ("answers", "figures")}
    filing = render_filing(result, "general", {})
    for text in (page, Reader(report).text, Reader(filing).text, printed):
        assert [part for part in (plainly(sentence), number) if part not in plainly(text)] == []
    assert csv["answers"]["answer"][0] == sentence
    assert verdicts_of(replace(result, figures=csv["figures"])).rows == table.rows
    assert on_page(at, table) == table.rows
    assert in_lines(printed, table)
    assert [in_document(each, table) for each in (report, filing)] == [True, True]


def test_trade_off_text_is_identical_on_page_command_line_report_and_csv(finished_run, tmp_path, capsys):
    found = parse_comparison(finished_run)
    sentence, table = content.summary(found)[0], tables.measures(found)
    number = table.rows[0][-2]
    place = tmp_path / "report.html"
    at = calm(look(open_page("tradeoff", run=finished_run.id), "All numbers"))
    assert main(["report", finished_run.id, "--out", str(place)]) == 0
    printed, report = capsys.readouterr().out, place.read_bytes()
    for text in (words(at).replace("\\", ""), printed, Reader(report).text):
        assert plainly(sentence) in plainly(text)
    assert on_page(at, table) == table.rows
    assert in_lines(printed, table)
    assert in_document(report, table)
    assert rows_of(safe_csv(table.frame)) == [list(row) for row in table.rows]
    assert number in printed


def rows_of(csv: bytes) -> Sequence[Any]:
    return pd.read_csv(io.BytesIO(csv), dtype=str, keep_default_na=False).to_numpy().tolist()
