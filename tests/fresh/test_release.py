"""The dry run of a release that docs/releasing.md describes."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from docs.making.release import check, main, recipe
from fairdash import __version__
from tests.core import core_requirements
from tests.serving import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.fresh]


def build(place: Path, *, repository: str = "") -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", place]
    own = os.environ | {"FAIRDASH_REPOSITORY": repository}
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=own)


def test_the_release_dry_run_builds_and_installs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    build(tmp_path)
    # The Makefile expects a folder of the current directory.
    monkeypatch.chdir(tmp_path.parent)
    main(Path(tmp_path.name))
    assert f"fairdash {__version__}: ready for a release" in capsys.readouterr().out
    listed = pd.read_csv(tmp_path / "licences.csv").set_index("name")
    assert listed.loc[["numpy", "streamlit"], "core"].tolist() == [True, False]
    assert (tmp_path / "sbom.cdx.json").is_file()
    assert (tmp_path / "recipe.yaml").read_text("utf-8").startswith("# Not built")


def test_the_conda_recipe_requires_the_dependencies_of_the_core(tmp_path: Path) -> None:
    source = tmp_path / "fairdash.tar.gz"
    source.write_bytes(b"")
    run = yaml.safe_load(recipe(source))["requirements"]["run"]
    assert [each.replace(" ", "") for each in run[1:]] == core_requirements()


def test_a_folder_without_a_wheel_and_a_source_distribution_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="One wheel and one source distribution"):
        check(tmp_path)
