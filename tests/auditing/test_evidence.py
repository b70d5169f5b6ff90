"""The evidence of an audit: reproducible bytes, a report that opens offline, and no markup from the table."""

from __future__ import annotations

import contextlib
import copy
import html
import io
import itertools
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.__main__ import main
from fairdash.auditing.evidence import read_plan
from fairdash.auditing.filing.view import caption_of, tables_of
from fairdash.auditing.plan import QUESTIONS
from fairdash.auditing.schema import TABLES
from fairdash.cli.auditing import compare_repeated
from fairdash.errors import FairdashError, OptionError, StorageError
from fairdash.evaluation.insurance import MIN_SHOWN
from fairdash.storage import sha256
from fairdash.views.blocks import document
from tests.auditing.test_audit import policies

HOSTILE = "<img src=x onerror=alert(1)></script>{{7*7}}"
COLUMNS = {"price": "premium", "sensitive": "age", "exposure": "years", "outcome": "claims"}
#: The same roles as command-line options, with some questions.
NAMED = [part for role, name in COLUMNS.items() for part in (f"--{role}", name)]
NAMED += ["--question", "1", "--question", "5"]


def audited(frame: pd.DataFrame, **more) -> fd.AuditResult:
    return fd.audit(frame, **COLUMNS, **more)


@pytest.fixture(scope="module")
def result() -> fd.AuditResult:
    """An audit with few questions, whose report is drawn quickly."""
    return audited(policies(150), questions=[1, 5])


@pytest.fixture(scope="module")
def files(result) -> dict[str, bytes]:
    """The files of the audit's archive."""
    with zipfile.ZipFile(io.BytesIO(result.to_zip())) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.namelist() == sorted(archive.namelist())
        return {name: archive.read(name) for name in archive.namelist()}


def test_evidence_has_the_same_bytes_for_any_order_of_rows():
    frame = policies(200)
    again = frame.sample(frac=1, random_state=3)
    one, other = (audited(each, controls=["zone"], candidate="new").to_zip() for each in (frame, again))
    assert one == other


def test_the_evidence_records_hashes_thresholds_versions_and_seeds(result, files):
    plan = json.loads(files["plan.json"])
    assert plan["sha256"] == {name: sha256(files[name]) for name in files if name != "plan.json"}
    assert (plan["thresholds"]["max_gap"], plan["versions"]["fairdash"]) == (0.05, fd.__version__)
    assert plan["seeds"] == {"random_state": 0}
    assert {f"{name}.csv" for name in result.tables} <= files.keys()


def test_an_audit_repeated_from_its_own_plan_gives_the_same_evidence_byte_for_byte(frame, tmp_path, capsys):
    table, first, again = tmp_path / "data.csv", tmp_path / "first.zip", tmp_path / "again.zip"
    frame.head(150).to_csv(table, index=False)
    status = main(["audit", str(table), *NAMED, "--out", str(first)])
    with zipfile.ZipFile(first) as archive:
        inside = Path(archive.extract("plan.json", tmp_path))
    for plan, says in ((first, "equal those in the evidence zip byte for byte"), (inside, "")):
        capsys.readouterr()
        assert main(["audit", str(table), "--plan", str(plan), "--out", str(again)]) == status
        assert again.read_bytes() == first.read_bytes()
        assert says in capsys.readouterr().out
    assert read_plan(first).origin["sha256"] == sha256(table.read_bytes())


def test_repeating_an_audit_on_another_machine_compares_its_numbers(alone):
    with_ = dict(alone.made_with)
    elsewhere = replace(alone, made_with=with_ | {"processor": "another", "numpy": "9.9"})
    same = "The answers and tables equal those in the evidence zip byte for byte."
    assert compare_repeated(alone, alone) == same
    assert compare_repeated(elsewhere, alone) == (
        "All numbers equal those in the evidence zip. No verdict changed. The evidence was made with "
        f"numpy {with_['numpy']} (now 9.9), processor {with_['processor']} (now another)."
    )
    curve, verdicts = alone.curve.copy(), alone.figures.replace({"verdict": ["above", "undecided"]}, "below")
    curve.loc[curve["value"].idxmax(), "value"] *= 1.0005
    moved = replace(elsewhere, tables={**alone.tables, "curve": curve})
    most = "by at most 0.0005 of the largest in their column: “tables.curve.value” was"
    turned = "The results differ from the evidence zip in more than numbers, first in “figures.verdict”."
    count = (verdicts["verdict"] != alone.figures["verdict"]).sum()
    for other, says in (
        (moved, [most, "No verdict changed."]),
        (replace(elsewhere, figures=verdicts), [turned, f"{count} verdict"]),
    ):
        found = compare_repeated(other, alone)
        assert [part for part in says if part not in found] == [], found
    others = replace(elsewhere, origin={**alone.origin, "rows_sha256": "0"})
    assert compare_repeated(others, alone).startswith("These rows differ from those of the evidence zip.")


INVISIBLE = "\u202e\u200b\u2066\ufeff\x1b\U000e0041"


def test_evidence_contains_no_web_address_and_no_markup_or_invisible_characters_of_the_table(tmp_path):
    """U+202E reverses the display of the text after it, so a reader would see another name."""
    named = {name: f"{name}{INVISIBLE}x {HOSTILE}" for name in ("premium", "age", "zone")}
    hostile = policies(200).rename(columns=named)
    hostile[named["zone"]] += INVISIBLE + HOSTILE
    roles = dict(zip(("price", "sensitive", "controls"), named.values(), strict=True))
    found = fd.audit(hostile, **roles, outcome="claims", questions=(1, 4, 6))
    place = found.save(tmp_path / "evidence.zip")
    with zipfile.ZipFile(place) as archive:
        files = {name: archive.read(name).decode("utf-8-sig") for name in archive.namelist()}
    report = files["report.html"]
    assert not re.search(r"<img|onerror=alert\(1\)></script>|https?://(?!www\.w3\.org/)", report)
    assert "49" not in re.findall(r"<h1[^>]*>(.*?)</h1>", report)[0]
    for answer in found.answers:
        assert html.escape(answer.title).replace("&#x27;", "&#39;") in report
    assert [name for name, text in files.items() if set(INVISIBLE) & set(text)] == []
    written = "premium\\u202e\\u200b\\u2066\\ufeff\\u001b\\udb40\\udc41x"
    assert [name for name in ("report.html", "audit.json", "plan.json") if written not in files[name]] == []
    assert any("\\u202e" in text for name, text in files.items() if name.endswith(".csv"))
    # Programs read the names without escapes.
    assert fd.AuditResult.load(place).plan == found.plan


def test_every_table_and_picture_is_in_the_report(whole, tmp_path):
    with zipfile.ZipFile(whole.save(tmp_path / "evidence.zip")) as archive:
        report = archive.read("report.html").decode()
    assert [name for name in whole.tables if f"Table: {caption_of(name)}" not in report] == []
    assert report.count('class="plot"') >= 7
    assert "does not certify compliance" in report


def test_no_table_shows_a_group_of_fewer_than_20_rows():
    fewest = {
        name: table["rows"].min() for name, table in audited(policies(130)).tables.items() if "rows" in table
    }
    assert fewest
    assert {name: rows for name, rows in fewest.items() if not rows >= MIN_SHOWN} == {}


def test_altered_evidence_is_refused(files, tmp_path):
    altered = files["audit.json"].replace(b'"below"', b'"above"').replace(b"0.1", b"0.2")
    packed(tmp_path / "evidence.zip", files | {"audit.json": altered})
    with pytest.raises(StorageError, match=r"audit\.json .* does not match its plan\.json"):
        fd.AuditResult.load(tmp_path / "evidence.zip")


def packed(path: Path, parts: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


#: Values that are wrong for nearly every field; the test tries each of them.
OTHERWISE: list[object] = [None, True, -1, 0.5, 7, 1e300, "x", "", [], {}, [None], {"a": 1}, "λ" * 30_000]


def places_of(holder: object) -> list[tuple[object, str | int]]:
    """Every field, as its container and its name; from a list, only the fields of its first entry."""
    names = [*holder] if isinstance(holder, dict) else [0] if isinstance(holder, list) and holder else []
    return [place for name in names for place in ((holder, name), *places_of(holder[name]))]


def changed(content: dict[str, object]) -> Iterator[tuple[str, bytes]]:
    """Copies of a file, in each of which one field is missing or has another value."""
    turn = itertools.cycle([*OTHERWISE, "gone"])
    for k, value in zip(range(len(places_of(content))), turn, strict=False):
        made = copy.deepcopy(content)
        holder, name = places_of(made)[k]
        if value == "gone":
            del holder[name]
        else:
            holder[name] = value
        yield f"{k}, {name}: {str(value)[:20]}", json.dumps(made).encode()


def test_loaded_evidence_contains_every_table_of_a_question():
    assert {name for each in QUESTIONS.values() for name in each.tables} <= TABLES.keys()


def test_evidence_with_changed_values_is_either_read_or_refused_with_a_fairdash_error(tmp_path):
    found = fd.audit(policies(120), price="premium", sensitive="age", questions=[1])
    found = found.compare(found)
    found.save(tmp_path / "last.zip")
    with zipfile.ZipFile(tmp_path / "last.zip") as archive:
        plan, content = (json.loads(archive.read(name)) for name in ("plan.json", "audit.json"))
    refused = []
    for said, made in changed(plan):
        (tmp_path / "plan.json").write_bytes(made)
        try:
            assert read_plan(tmp_path / "plan.json").plan, said
        except FairdashError:
            refused.append(said)
    assert len(refused) > 0.7 * len(list(changed(plan))) > 35
    refused.clear()
    half = list(changed(content))[::2]
    for said, made in half:
        (tmp_path / "audit.json").write_bytes(made)
        try:
            other = fd.AuditResult.load(tmp_path)
        except FairdashError:
            refused.append(said)
            continue
        for one, two in ((found, other), (other, found)):
            with contextlib.suppress(OptionError):
                one.compare(two)
        assert other.files(), said
        for _, tables in other.sections():
            assert document("", list(tables_of(tables, other))), said
    assert len(refused) > 0.7 * len(half) > 30


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nothing", b"{}"])
def test_a_file_that_is_not_evidence_is_refused(content, tmp_path, monkeypatch):
    for name, read in (("last.zip", read_plan), ("plan.json", read_plan), ("last.zip", fd.AuditResult.load)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StorageError, match="can't be read"):
            read(tmp_path / name)
    monkeypatch.setattr("fairdash.auditing.evidence.MAX_BYTES", 1_000)
    packed(tmp_path / "last.zip", {"audit.json": b" " * 100_000})
    with pytest.raises(StorageError, match="can't be read"):
        fd.AuditResult.load(tmp_path / "last.zip")


# ---- Comparison with an earlier audit --------------------------------------------------------------------


def test_a_comparison_with_an_earlier_audit_reports_drift_only_in_data_simulated_with_drift(tmp_path):
    asked = {"questions": [1, 3]}
    asked["against"] = audited(policies(1_200, seed=1), **asked).save(tmp_path / "last.zip")
    drifted, same = policies(1_200, seed=2), policies(1_200, seed=3)
    drifted["premium"] *= 1 + 0.3 * (drifted["age"] > drifted["age"].quantile(0.8))
    found = audited(drifted, **asked)
    assert found.since.has_moved
    assert "The curve has changed" in found.since.sentence
    off = found.tables["moved_curve"]
    high = off[off["at"] > drifted["age"].quantile(0.9)]
    assert (high["low"] > 0).any()
    # Raising all prices by the same factor is no drift.
    for rise in (1, 1.3):
        assert not audited(same.assign(premium=rise * same["premium"]), **asked).since.has_moved


def test_a_comparison_with_an_earlier_audit_gives_differences_with_intervals(result, tmp_path):
    same = result.compare(result)
    moved = same.tables["moved"]
    np.testing.assert_allclose(moved["difference"], 0, atol=1e-12)
    assert ((moved["ci_low"] < 0) & (moved["ci_high"] > 0)).all()
    assert "Both audits use the same rows" in same.since.sentence
    again = fd.AuditResult.load(same.save(tmp_path / "again.zip"))
    in_folder = fd.AuditResult.load(same.save(tmp_path / "folder"))
    assert again.to_dict() == in_folder.to_dict() == same.to_dict()
    other = fd.audit(policies(150), price="premium", sensitive="claims", questions=[1])
    with pytest.raises(OptionError, match="same sensitive attribute"):
        result.compare(other)
