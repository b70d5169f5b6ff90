"""The core without extras: the features that work, and the messages for all others."""

import json
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.utils.imports import EXTRA_OF
from tests.core import link_core, run_core
from tests.serving import ROOT

pytestmark = pytest.mark.printed

FILE = ("--file", "nowhere.csv", "--predict", "price", "--sensitive", "age")
AUDITED = ("--price", "price", "--sensitive", "age")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_core(tmp_path_factory.mktemp("core") / "packages")


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of prices in delimited text, with features from which trees can learn price and cost."""
    rng, n = np.random.default_rng(0), 250
    age = rng.integers(18, 90, n)
    frame = pd.DataFrame({"price": (200 + 2 * age + rng.normal(0, 20, n)).round(2), "age": age})
    frame = frame.assign(bonus=(age / 10 + rng.normal(0, 1, n)).round(1), cost=rng.poisson(2 * age))
    path = tmp_path_factory.mktemp("table") / "prices.csv"
    frame.to_csv(path, index=False)
    return path


def test_help_and_measures_work_in_an_installation_without_extras(core, prices, tmp_path) -> None:
    code = f"from fairdash.utils.imports import has; print([each for each in {[*EXTRA_OF]!r} if has(each)])"
    assert run_core(core, "-c", code, folder=tmp_path).stdout == "[]\n"
    assert run_core(core, "--help", folder=tmp_path).stdout.startswith("Usage: ")
    columns = ("--u", "price", "--v", "age", "--permutations", "19", "--bootstrap", "0", "--json")
    measured = run_core(core, "measure", "hgr_spline", str(prices), *columns, folder=tmp_path)
    assert json.loads(measured.stdout)["n"] == 250


def test_every_extra_installs_the_packages_named_for_it() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = {
        extra: {each.replace("-", "_").partition(">")[0].partition("[")[0] for each in needed}
        for extra, needed in about["optional-dependencies"].items()
    }
    # sqlalchemy, in which dbos stores its queue, is installed with dbos; PyYAML is imported as yaml.
    along = {"sqlalchemy": "dbos", "yaml": "pyyaml"}
    for package, extra in EXTRA_OF.items():
        assert {package, along.get(package)} & brought[extra]


def test_without_extras_an_audit_uses_trees_and_writes_a_zip_without_figures(core, prices, tmp_path) -> None:
    columns = (*AUDITED, "--outcome", "cost", "--json")
    questions = ("--question", "1", "--question", "6", "--question", "8", "--out", "evidence.zip")
    done = run_core(core, "audit", str(prices), *columns, *questions, folder=tmp_path)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    said = {each["question"]: " ".join([each["sentence"], *each["more"]]) for each in result["answers"]}
    networks = "The second kind of model, networks, was left out"
    install = 'the package torch. Install it: pip install "fairdash[train]".'
    shap = 'install the package shap: pip install "fairdash[explain]".'
    report = zipfile.ZipFile(tmp_path / "evidence.zip").read("report.html").decode()
    for told, words in (
        (done.stderr, ("no figures", 'pip install "fairdash[plot]"')),
        (said[6], (networks, install, shap, "“bonus” depends most on “age”")),
        (said[8], (networks, install, "unaware minus aware premium")),
        (report, ("This report has no figures.",)),
    ):
        assert [each for each in words if each not in told] == []
    assert result["verdict"] == "above"
    assert {"proxies", "surrogate_fit", "premiums"} <= set(result["tables"])
    assert "not installed" not in said[1]
    assert "<figure>" not in report


#: Commands, and the extra that each of them lacks.
ASKED = (
    (("sweep", *FILE, "--methods", "standard", "--lams", "1"), "train"), (("bench", *FILE), "train"),
    (("search", *FILE), "train"), (("find-lam", *FILE, "--target", "error<=+10%"), "train"),
    (("measure", "hgr_nn", "nowhere.csv", "--u", "price", "--v", "age"), "train"),
    (("audit", "nowhere.csv", *AUDITED, "--template", "general", "--out", "filing.html"), "report"),
    (("report", "0123456789ab"), "plot"), (("runs", "list"), None), (("worker",), "jobs"), (("app",), "app"),
)  # fmt: skip
#: Run all commands in one process, because starting a process takes a second.
RUN_ALL = """
import contextlib, io, json, sys
from fairdash.cli import main
for asked in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        status = main(asked)
    print(json.dumps([status, said.getvalue()]))
"""


def test_a_missing_extra_is_named_before_any_file_is_opened(core: Path, tmp_path: Path) -> None:
    done = run_core(core, "-c", RUN_ALL, json.dumps([asked for asked, _ in ASKED]), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for line, (asked, extra) in zip(done.stdout.splitlines(), ASKED, strict=True):
        status, said = json.loads(line)
        assert "Traceback" not in said, asked
        assert status == (0 if extra is None else 2), (asked, said)
        assert extra is None or f'pip install "fairdash[{extra}]"' in said, asked
