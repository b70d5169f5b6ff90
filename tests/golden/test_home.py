"""A home of commit 9ba3690 opens whole: its run, models, tariff, audit and evidence say what they said then."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.auditing.evidence import AuditResult, read_plan
from fairdash.runs.archive import export_run, import_run
from fairdash.runs.audits import AuditJob
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob
from fairdash.runs.store import Run
from fairdash.tariff import FAIR_TARIFF
from tests.golden.home import VALUES, policies
from tests.golden.texts import HERE


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with zipfile.ZipFile(HERE / "home-9ba3690.zip") as archive:
        archive.extractall(tmp_path)
    monkeypatch.setenv("FAIRDASH_HOME", str(tmp_path))
    return tmp_path


def the_run() -> Run:
    (run,) = list_runs().runs
    return run


def models(home: Path) -> dict[str, ModelJob]:
    jobs = [ModelJob(path.name) for path in (home / "models").iterdir()]
    return {job.spec.method: job for job in jobs}


def test_the_run_says_what_it_said(home: Path) -> None:
    result = the_run().read_result()
    then = pd.read_csv(home / VALUES / "frame.csv")
    pd.testing.assert_frame_equal(result.frame, then, check_dtype=False, rtol=1e-12)
    assert result.references is not None


def test_the_run_leaves_and_comes_in_as_it_was_with_its_tariff(home: Path) -> None:
    run = the_run()
    assert FAIR_TARIFF in set(run.read_result().baselines["demographic_parity"]["method"])
    content = export_run(run)
    shutil.rmtree(run.folder)
    assert export_run(import_run(content).run) == content


def test_the_tariff_rates_alike_from_its_table_and_its_bundle(home: Path) -> None:
    job = models(home)[FAIR_TARIFF]
    with zipfile.ZipFile(io.BytesIO(job.bundle())) as bundle:
        bundle.extractall(home / "bundle")
    table = fd.read_tariff(home / "models" / job.id / "result" / "tariff.csv")
    again = fd.read_tariff(next((home / "bundle").rglob("tariff.csv")))
    features = policies()[["bonus", "zone"]]
    premiums = fd.rate(table, features)
    np.testing.assert_array_equal(premiums, fd.rate(again, features))
    # Balanced: premiums add up to the claims.
    years, claims = policies()["years"], policies()["claims"]
    assert (years * premiums).sum() == pytest.approx(claims.sum(), rel=1e-3)


def test_the_audit_and_its_evidence_open(home: Path, tmp_path: Path) -> None:
    (folder,) = (home / "audits").iterdir()
    result = AuditJob(folder.name).read_result()
    evidence = home / VALUES / "evidence.zip"
    kept = AuditResult.load(evidence)
    assert kept.verdict == result.verdict
    assert set(kept.tables) == set(result.tables)
    columns = read_plan(evidence).plan.columns
    assert (columns.price, columns.sensitive, columns.outcome) == ("premium", "age", "claims")
