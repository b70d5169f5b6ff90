"""Filings as PDF: tagged, with hashes on every page, made from the HTML of the filing."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader
from pypdf.generic import ArrayObject, ContentStream, DictionaryObject

import fairdash as fd
from fairdash.__main__ import main
from fairdash.auditing.example import example_audit
from fairdash.auditing.filing.customer import render_customer
from fairdash.auditing.filing.document import governance_yaml, render_filing
from fairdash.errors import MissingPackageError, OptionError
from fairdash.storage import sha256
from fairdash.views.reports.pdf import as_pdf

ROWS, CELLS = "1" * 64, "2" * 64


def elements(node: Any) -> Iterator[DictionaryObject]:
    """Every element below a node of the structure tree, in reading order."""
    for each in node if isinstance(node, ArrayObject) else [node]:
        found = each.get_object()
        if isinstance(found, DictionaryObject) and "/S" in found:
            yield found
        if isinstance(found, DictionaryObject) and "/K" in found:
            yield from elements(found["/K"])


def faults(content: bytes) -> Iterator[str]:
    """Violated requirements of PDF/UA-1 (ISO 14289-1) that a program can check, with their clauses."""
    reader = PdfReader(io.BytesIO(content))
    root = reader.trailer["/Root"]
    about = root["/Metadata"].get_object().get_data().decode()
    for said, clause in (
        (root.get("/MarkInfo", {}).get("/Marked"), "7.1: not marked as tagged"),
        (root.get("/Lang"), "7.2: no language"),
        (root.get("/ViewerPreferences", {}).get("/DisplayDocTitle"), "7.1: the title is not shown"),
        ("pdfuaid:part" in about, "5: not declared as PDF/UA"),
        ("dc:title" in about, "7.1: no title"),
        (not reader.is_encrypted, "7.16: encrypted"),
    ):
        if not said:
            yield clause
    tree = [*elements(root["/StructTreeRoot"]["/K"])]
    levels = [int(each["/S"][2:]) for each in tree if each["/S"] in {f"/H{k}" for k in range(1, 7)}]
    if levels[:1] != [1] or any(after > before + 1 for before, after in pairwise(levels)):
        yield f"7.4.2: heading levels {levels}"
    for each in tree:
        if each["/S"] == "/Figure" and not each.get("/Alt"):
            yield "7.3: a figure has no text"
        if each["/S"] == "/TD" and not each["/A"].get("/Headers"):
            yield "7.5: a cell has no header"
    for page in reader.pages:
        yield from _unmarked(page, reader)


def _unmarked(page: Any, reader: PdfReader) -> Iterator[str]:
    depth = 0
    for _, operator in ContentStream(page.get_contents(), reader).operations:
        depth += (operator in (b"BDC", b"BMC")) - (operator == b"EMC")
        if operator in (b"Tj", b"TJ", b"Do") and not depth:
            yield "7.1: content that is neither tagged nor an artifact"
    for font in page["/Resources"].get("/Font", {}).values():
        under = font.get_object().get("/DescendantFonts", [font])[0].get_object()
        if not {"/FontFile", "/FontFile2", "/FontFile3"} & set(under.get("/FontDescriptor", {})):
            yield "7.21: a font is not embedded"


@pytest.fixture(scope="module")
def book() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, size=600)
    return pd.DataFrame(
        {"age": age, "bonus": 100 - age + rng.normal(0, 5, 600), "km": rng.normal(10, 2, 600)}
    )


def price(rows: pd.DataFrame) -> np.ndarray:
    return (300 + 2 * rows["bonus"] + rows["km"]).to_numpy()


@pytest.fixture(scope="module")
def result(book: pd.DataFrame) -> fd.AuditResult:
    """An audit with one question, whose filing has tables and a figure."""
    return fd.audit(book, model=price, sensitive="age", questions=[1], customer=7, currency="€")


@pytest.fixture(scope="module")
def filed(result: fd.AuditResult) -> tuple[bytes, bytes]:
    html = render_filing(result, "general", {"purpose": "Motor."})
    return html, as_pdf(html, {"sha256": ROWS, "rows_sha256": CELLS})


def test_a_filing_as_pdf_is_tagged_and_has_the_hashes_of_its_sources_on_every_page(filed):
    html, pdf = filed
    assert not list(faults(pdf))
    reader = PdfReader(io.BytesIO(pdf))
    for number, page in enumerate(reader.pages, 1):
        text = page.extract_text()
        assert [each in text for each in (ROWS, CELLS, sha256(html))] == [True] * 3
        assert f"Page {number} of {len(reader.pages)}" in text
    assert "Motor." in "".join(page.extract_text() for page in reader.pages)


def test_the_same_html_gives_the_same_pdf_and_accessibility_faults_are_detected(filed):
    html, _ = filed
    short = html[: html.index(b"<h2")] + b"</main></body></html>"
    first = as_pdf(short, {})
    assert as_pdf(short, {}) == first
    assert not list(faults(first))
    worse = short.replace(b'lang="en"', b"").replace(
        b"</h1>", b"</h1><h4>x</h4><table><tr><td>1</td></tr></table>"
    )
    assert set(faults(as_pdf(worse, {}))) == {
        "7.2: no language", "7.4.2: heading levels [1, 4]", "7.5: a cell has no header",
    }  # fmt: skip


def test_external_resources_are_not_loaded_into_a_pdf(filed, tmp_path, caplog):
    (tmp_path / "own.css").write_text("h1 { display: none }")
    link = f'<link rel="stylesheet" href="{(tmp_path / "own.css").as_uri()}"></head>'.encode()
    short = filed[0][: filed[0].index(b"<h2")] + b"</main></body></html>"
    assert (
        "along" in PdfReader(io.BytesIO(as_pdf(short.replace(b"</head>", link), {}))).pages[0].extract_text()
    )
    assert "own.css" in caplog.text


def test_a_missing_pango_library_is_reported_with_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "weasyprint.py").write_text("raise OSError(\"cannot load library 'libpango-1.0-0'\")")
    for name in [each for each in sys.modules if each.partition(".")[0] == "weasyprint"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingPackageError, match="apt install libpango"):
        as_pdf(b"<p>x</p>", {})


def test_a_customer_letter_explains_the_price_and_the_role_of_the_attribute_on_one_page(book, result):
    html = render_customer(result, {"complaints": "Ask Ms Ohm."}, row=7)
    pdf = as_pdf(html, result.origin)
    assert not list(faults(pdf))
    (page,) = PdfReader(io.BytesIO(pdf)).pages
    said = " ".join(page.extract_text().split())
    moved = result.tables["customer_columns"].set_index("column")["change"]
    effect = f"{'adds' if moved['bonus'] > 0 else 'takes off'} {abs(moved['bonus']):,.2f} €"
    for words in (
        f"Why is your price {price(book.loc[[7]])[0]:,.2f} €?", "“age” itself does not change your price.",
        f"the price can follow “age”: “bonus” ({effect}).",
        "This page does not decide whether a difference is lawful.", "Ask Ms Ohm.",
    ):  # fmt: skip
        assert words in said
    with pytest.raises(OptionError, match="no customer's price was explained"):
        render_customer(example_audit(), {}, row=7)


def test_the_command_writes_a_filing_as_pdf_and_refuses_pdf_of_evidence(book, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book.assign(premium=price(book)).to_csv("book.csv", index=False)
    Path("governance.yaml").write_bytes(
        governance_yaml({"purpose": "Risk: the board's # committee\n2026-11-25"})
    )
    asked = ["audit", "book.csv", "--price", "premium", "--sensitive", "age", "--question", "1"]
    assert main([*asked, "--template", "general", "--out", "filing.pdf"]) == 1
    assert sorted(each.name for each in Path().iterdir()) == [
        "book.csv", "filing.html", "filing.pdf", "governance.yaml",
    ]  # fmt: skip
    text = PdfReader("filing.pdf").pages[0].extract_text()
    assert sha256(Path("filing.html").read_bytes()) in text
    assert sha256(Path("book.csv").read_bytes()) in text
    assert "Risk: the board&#39;s # committee\n2026-11-25" in Path("filing.html").read_text(encoding="utf-8")
    for more, words in (
        (["--pdf", "--out", "evidence.zip"], "a PDF shows a filing"),
        (["--template", "nowhere"], "general, colorado, nydfs, naic_tool, eiopa, quebec"),
        (["--customer", "3"], "only a model's price can be explained"),
    ):
        assert main([*asked, *more]) == 2
        assert words in capsys.readouterr().err
