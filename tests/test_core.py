"""The core alone, without any extra: what works there, and what is said of the rest."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.utils.extras import EXTRA_OF
from tests.core import link_core, run_core
from tests.serving import ROOT


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_core(tmp_path_factory.mktemp("core") / "packages")


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 400 prices in delimited text, with numbers, a code and a place."""
    rng, n = np.random.default_rng(0), 400
    age = rng.integers(18, 90, n)
    frame = pd.DataFrame(
        {
            "price": (200 + 2 * age + rng.normal(0, 20, n)).round(2),
            "age": age,
            "place": rng.choice(list("abc"), n),
        }
    )
    path = tmp_path_factory.mktemp("table") / "prices.csv"
    frame.to_csv(path, index=False)
    return path


def test_nothing_but_the_core_is_there(core: Path, tmp_path: Path) -> None:
    code = f"from fairdash.utils.extras import has; print([each for each in {[*EXTRA_OF]!r} if has(each)])"
    assert run_core(core, "-c", code, folder=tmp_path).stdout == "[]\n"


def test_every_extra_brings_what_is_said_of_it() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = {
        extra: {each.replace("-", "_").partition(">")[0].partition("[")[0] for each in needed}
        for extra, needed in about["optional-dependencies"].items()
    }
    # What dbos keeps its queue with comes with it; PyYAML is imported as yaml.
    along = {"sqlalchemy": "dbos", "yaml": "pyyaml"}
    for package, extra in EXTRA_OF.items():
        assert {package, along.get(package)} & brought[extra]


def test_it_has_its_help_and_measures(core: Path, prices: Path, tmp_path: Path) -> None:
    assert run_core(core, "--help", folder=tmp_path).stdout.startswith("Usage: ")
    measured = run_core(
        core, "measure", "hgr_spline", str(prices), "--u", "price", "--v", "age", "--json", folder=tmp_path
    )
    assert json.loads(measured.stdout)["n"] == 400


def test_it_audits_and_says_which_question_it_left(core: Path, prices: Path, tmp_path: Path) -> None:
    asked = ("audit", str(prices), "--price", "price", "--sensitive", "age", "--json")
    questions = ("--question", "1", "--question", "2", "--question", "3", "--question", "6")
    done = run_core(core, *asked, *questions, folder=tmp_path)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert result["verdict"] == "above"
    said = {answer["question"]: answer["sentence"] for answer in result["answers"]}
    # Networks beside the trees come first, and then shap.
    assert said[6].endswith('torch, which is not installed. Install it: pip install "fairdash[train]".')
    assert not any("not installed" in said[number] for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("asked", "extra"),
    [
        (("sweep", "--dataset", "household", "--methods", "standard", "--lams", "1"), "train"),
        (("measure", "hgr_nn", "{prices}", "--u", "price", "--v", "age"), "train"),
        (("runs", "list"), None),
        (("app",), "app"),
    ],
)
def test_what_is_missing_is_named_with_the_command_that_brings_it(
    core: Path, prices: Path, tmp_path: Path, asked: tuple[str, ...], extra: str | None
) -> None:
    done = run_core(core, *(each.replace("{prices}", str(prices)) for each in asked), folder=tmp_path)
    assert "Traceback" not in done.stderr
    if extra is None:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 2
        assert f'pip install "fairdash[{extra}]"' in done.stderr
