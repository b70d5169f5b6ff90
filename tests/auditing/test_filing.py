"""A filing: every heading of its rule has text or a mark, it can be printed, and nothing in it runs."""

from __future__ import annotations

import io
import json
import re
import tomllib
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest

from docs.rules import PAGE, page
from fairdash.__main__ import main
from fairdash.auditing.example import example_audit
from fairdash.auditing.filing import rules
from fairdash.auditing.filing.document import FIELDS, PARTS, parse_governance, render_filing
from fairdash.auditing.filing.rules import ABILITIES, READ, RULES, TEMPLATES, with_abilities
from fairdash.auditing.filing.view import tables_of
from fairdash.auditing.plan import QUESTIONS
from fairdash.cli import auditing as command
from fairdash.errors import StorageError
from fairdash.views.blocks import Table
from fairdash.views.figures.svg import svg_of
from tests.auditing.test_evidence import HOSTILE
from tests.tiers import few

LARGEST = 600_000
FRAME = pd.DataFrame({"value": [0.5, 0.25], "p_value": [0.0004998, 0.0325]})
RULE_FILES = sorted(Path(rules.__file__).parent.glob("*.toml"))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_tables_of_a_filing_have_captions_and_rounded_p_values():
    blocks = [*tables_of({"two_prices": FRAME, "measures_3": FRAME}, example_audit())]
    tables = [each for each in blocks if isinstance(each, Table)]
    assert [t.title for t in tables] == ["Price and second price compared", "Results with their intervals"]
    assert tables[0].rows == (("0.5", "< 0.001"), ("0.25", "0.033"))
    assert tables[0].frame["p_value"].iloc[0] == 0.0004998


def test_labels_that_do_not_fit_along_an_axis_are_rotated():
    names = [f"{age} to {age + 4} · Southern province" for age in range(18, 78, 5)]
    figure = go.Figure(
        go.Scatter(x=[*range(12)], y=[*range(12)], mode="lines", name="", line={"color": "#000", "width": 1})
    )
    figure.update_xaxes(tickvals=[*range(12)], ticktext=names)
    turned = svg_of(figure, height=300).decode()
    assert turned.count("rotate(-90") >= len(names)
    figure.update_xaxes(ticktext=[*"abcdefghijkl"])
    assert "rotate(-90" not in svg_of(figure, height=300).decode()


@pytest.mark.browser
@pytest.mark.parametrize("template", few(TEMPLATES, "nydfs"))
def test_a_filing_prints_every_heading_of_its_rule_and_marks_missing_text(template, browser, tmp_path):
    from pypdf import PdfReader

    rule = TEMPLATES[template]
    first = rule.headings[0].blanks[0]
    content = render_filing(example_audit(), template, {first: "Motor & more: 5 < 6."})
    assert len(content) <= LARGEST
    assert b"<script" not in content
    assert b"http://" not in content.replace(b"http://www.w3.org", b"")
    path = tmp_path / "filing.html"
    path.write_bytes(content)
    shown = browser.new_page()
    asked = []
    shown.on("request", lambda request: asked.append(request.url.partition(":")[0]))
    shown.goto(path.as_uri())
    printed = shown.pdf(format="A4", prefer_css_page_size=True)
    shown.close()
    assert set(asked) <= {"file", "data"}
    reader = PdfReader(io.BytesIO(printed))
    assert reader.pages[0].mediabox.width == pytest.approx(595, abs=1)
    text = squeezed("".join(each.extract_text() for each in reader.pages))
    begins = [text.index(squeezed(f"{k}. {each.title}")) for k, each in enumerate(rule.headings, 1)]
    assert begins == sorted(begins)
    # Texts of the figures are text in the printed document too.
    parts = {"Motor&more:5<6.", "heightofthisstrip:largestacceptablegap"}
    assert all(part in text for part in parts)
    for each, begin, end in zip(rule.headings, begins, [*begins[1:], len(text)], strict=True):
        below = text[begin:end]
        assert each.shows or each.blanks
        for blank in each.blanks:
            assert (squeezed(FIELDS[blank]) in below) == (blank != first)
        # After removing the text that all filings share, the values of the audit remain.
        same = [f"{each.title}{each.asks}", *(f"Yours to write: {FIELDS[blank]}" for blank in each.blanks)]
        for part in map(squeezed, same):
            below = below.replace(part, "")
        assert len(below) > 10 or not each.shows


def test_templates_use_each_section_at_most_once_and_the_rules_page_is_up_to_date():
    assert list(TEMPLATES) == ["general", "colorado", "nydfs", "naic_tool", "eiopa", "quebec"]
    for rule in RULES.values():
        assert set(rule.shows) <= PARTS.keys()
        assert rule.answers
    for rule in TEMPLATES.values():
        assert {"sign_off", "purpose", "monitoring"} <= {b for each in rule.headings for b in each.blanks}
        shown = [part for each in rule.headings for part in each.shows]
        assert len(shown) == len(set(shown))
        assert {"subject", "data", "method", "thresholds", "verdict", "limits"} <= set(shown) <= PARTS.keys()
    assert PAGE.read_text(encoding="utf-8") == page(), "make it anew: python -m docs.rules"


def test_every_rule_cites_its_sources_and_the_date_they_were_looked_up():
    assert all(re.match("(primary|secondary)", words) for words in READ.values())
    for rule in RULES.values():
        assert re.match(r"20\d\d-\d\d-\d\d, (primary|secondary)", rule.looked_up), rule.id
        assert all((rule.cannot, rule.version, rule.applies, rule.asks, rule.sources)), rule.id
        for source in rule.sources:
            place = "docs/rules.md, " if rule.id == "general" else r".+: https://\S+$"
            assert re.match(place, source), source
            assert re.search(r"\b20\d\d\b|undated", source.partition(": https")[0]), source
    for name in ("SB 26-189", "B-10.004", "Exhibits C and D", "Québec", "Priorities", "2025/2", "Australia"):
        assert any(name in rule.title for rule in RULES.values()), name


def test_rule_texts_claim_only_what_the_audit_computes(monkeypatch):
    for path in RULE_FILES:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for row in content.get("rule", [content]):
            texts = [row["asks"], *row["cannot"], *(each["asks"] for each in row.get("heading", []))]
            # Only ability placeholders may describe what the audit does: a sentence written by hand would
            # become outdated.
            assert not re.search(r"fairdash|\b[Qq]uestions? \d|\b[Aa]n audit\b", " ".join(texts)), path.name
    for name in ABILITIES:
        assert re.match(r"Question \d+ [a-z].+\.$", with_abilities(f"{{{name}}}"))
        assert any(f"{{{name}}}" in path.read_text(encoding="utf-8") for path in RULE_FILES), name
    with pytest.raises(LookupError, match="odds_ratios"):
        with_abilities("Denials. {odds_ratios}")
    without = {n: replace(each, tables=()) for n, each in QUESTIONS.items()}
    monkeypatch.setattr(rules, "QUESTIONS", without)
    for name in ABILITIES:
        with pytest.raises(LookupError, match=name):
            with_abilities(f"{{{name}}}")


def test_rules_looked_up_over_a_year_ago_are_listed(monkeypatch, capsys):
    rule = RULES["colorado"]
    assert not rule.is_stale(rule.looked + timedelta(days=365))
    assert rule.is_stale(rule.looked + timedelta(days=366))
    old, new = (replace(rule, id=name, looked=day) for name, day in (("old", date.min), ("new", date.max)))
    monkeypatch.setattr(command, "RULES", {"old": old, "new": new})
    assert main(["rules", "--stale", "--json"]) == 1
    assert [each["id"] for each in json.loads(capsys.readouterr().out)] == ["old"]
    assert main(["rules"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    monkeypatch.setattr(command, "RULES", {"new": new})
    assert main(["rules", "--stale"]) == 0
    assert capsys.readouterr().out == "All rules were looked up within the last year.\n"
    assert "fairdash rules --stale" in (PAGE.parent / "releasing.md").read_text(encoding="utf-8")


#: Sentence about an ability, mapped to a table of the question that has the ability.
SAYS = {
    r"impact ratio|selection rate": "classes", r"probabilit": "class_probabilities",
    r"along (a|one) column|single attribute|crossing": "crossed",
    r"legitimate factor|among equals": "controlled_curve",
    r"autocalibration|Lorenz|Murphy|actual ÷ expected": "murphy", r"proxies|proxy": "proxies",
    r"in money|segments": "segments",
    r"alternative (price|premium)|only its error|discrimination-free": "premiums",
    r"measurement error|missing values": "reliability", r"second price|new-business price": "two_prices",
}  # fmt: skip


def denied(text: str) -> list[str]:
    """Sentences that name an ability of an audit without naming the question."""
    asks = {table: number for number, each in QUESTIONS.items() for table in each.tables}
    sentences = re.split(r"(?<=[.;]) ", text)
    return [
        each
        for k, each in enumerate(sentences)
        for words, table in SAYS.items()
        if re.search(words, each, re.IGNORECASE)
        and not re.search(rf"\bQuestions? (\d+ and )?{asks[table]}\b", " ".join(sentences[k : k + 2]))
    ]


@pytest.mark.parametrize("text", [each for rule in RULES.values() for each in rule.cannot])
def test_questions_a_rule_lists_as_unanswerable_are_not_answered_by_an_audit(text):
    assert denied(text) == []


def test_names_and_texts_of_a_user_are_escaped_in_a_filing(alone, tmp_path):
    columns = replace(alone.plan.columns, price=HOSTILE, sensitive="a$b$ {{7*7}} \u202e")
    hostile = replace(alone, plan=replace(alone.plan, columns=columns))
    content = render_filing(hostile, "general", {"purpose": HOSTILE}).decode()
    assert not re.search("<script|<img src=x|\u202e", content)
    assert content.count("&lt;img src=x") > 2
    assert "49" not in re.sub(r"base64,[^\"]*", "", content).partition("Purpose")[0]


def test_yaml_tags_in_governance_answers_are_not_executed_and_non_text_values_are_refused():
    assert parse_governance(b"purpose: !!python/name:os.system x", name="it") == {"purpose": "x"}
    for content in (b"purpose: [1]", b"- a", b"\xff", b"who: me"):
        with pytest.raises(StorageError):
            parse_governance(content, name="it")
