"""The built package, installed without a checkout: commands, training and the app work."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fairdash import __version__
from tests.browser.test_networking_cut import cut, noted
from tests.serving import ROOT, served
from tests.test_guard import ask
from tests.websocket import complaints, run_page, session

pytestmark = [pytest.mark.slow, pytest.mark.fresh, pytest.mark.wheel]

#: Folders that the wheel contains, besides the files at the top level.
_FOLDERS = ("fairdash", "pages", ".streamlit")
PAGES = {"": "Home", "patterns": "Association patterns", "paper": "The paper", "data": "Data"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the source, because builds leave folders next to it."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in _FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_REPOSITORY", "https://example.org/fairdash")
        _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a fresh environment with the package; dependencies come from this environment."""
    environment = tmp_path_factory.mktemp("installed") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    paths = sysconfig.get_paths(vars={"base": str(environment), "platbase": str(environment)})
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    # .pth files of the borrowed folders are ignored, so that an editable checkout there is not imported.
    Path(paths["purelib"], "lent.pth").write_text("\n".join(sorted(lent)), encoding="utf-8")
    python = Path(paths["scripts"], "python")
    _pip("--python", python, "install", "--no-deps", "--no-index", "--no-compile", wheel)
    return python.parent


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of another Streamlit app with permissive settings, which are also set in the environment."""
    folder = tmp_path / "elsewhere"
    (folder / ".streamlit").mkdir(parents=True)
    (folder / ".streamlit" / "config.toml").write_text(
        "[server]\naddress = '0.0.0.0'\nallowedHosts = ['*']\nenableCORS = false\nbaseUrlPath = 'other'\n"
        "enableXsrfProtection = false\n[browser]\ngatherUsageStats = true\nserverAddress = 'other.example'\n"
        "[theme]\nheadingFont = 'Inter:https://fonts.example/inter'\n"
    )
    for name in ("app.py", "fairdash.py", "pages.py"):
        (folder / name).write_text("raise SystemExit('imported from the folder it was started in')\n")
    (folder / "prices.csv").write_text(
        "price,age\n" + "".join(f"{i % 7},{i * i % 11}\n" for i in range(60)), encoding="utf-8"
    )
    monkeypatch.setenv("STREAMLIT_BROWSER_GATHER_USAGE_STATS", "true")
    monkeypatch.setenv("STREAMLIT_SERVER_ADDRESS", "0.0.0.0")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return folder


def test_the_wheel_contains_exactly_the_package_and_app_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    app = {ROOT / "app.py", ROOT / ".streamlit" / "config.toml", *(ROOT / "pages").rglob("*.py")}
    expected = {f"fairdash/app/{path.relative_to(ROOT).as_posix()}" for path in app}
    for path in (ROOT / "fairdash").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            expected.add(path.relative_to(ROOT).as_posix())
    assert held == expected
    assert "fairdash/py.typed" in held


def test_the_core_has_no_heavy_dependencies_and_each_feature_is_an_extra(wheel: Path) -> None:
    needed = [Requirement(line) for line in _metadata(wheel).get_all("Requires-Dist") or []]
    of_app = ("readers", "explain", "onnx", "train", "plot", "report", "jobs")
    parts = {
        extra: {one.name for one in needed if one.marker and one.marker.evaluate({"extra": extra})}
        for extra in (*of_app, "app", "all", "dev", "docs")
    }
    core = {one.name for one in needed if not one.marker}
    assert core >= {"numpy", "pandas", "scikit-learn", "cyclopts"}
    brought = set().union(*(parts[extra] for extra in of_app))
    assert brought >= {"pyarrow", "shap", "torch", "plotly", "dbos", "requests"}
    assert parts["app"] == brought | {"streamlit"}
    assert parts["all"] == parts["app"] | {"lightgbm", "xgboost", "catboost"}
    assert not core & (parts["app"] | parts["dev"] | parts["docs"])
    (streamlit,) = {str(one.specifier) for one in needed if one.name == "streamlit"}
    assert streamlit == "<2,>=1.67"
    # `make app` installs all extras and this checkout.
    assert "-e .[app]\n" in (ROOT / "requirements.txt").read_text(encoding="utf-8")


def test_the_pypi_metadata_has_an_author_project_urls_and_absolute_links(wheel: Path) -> None:
    about = _metadata(wheel)
    assert about["Author"] == "The fairdash contributors"
    assert about.get_all("Classifier")
    assert {line.split(",")[0] for line in about.get_all("Project-URL") or []} >= {"Source", "Changelog"}
    readme = str(about.get_payload())
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links)
    assert "blob/main/docs/audit.md" in readme


def test_the_citation_file_states_the_current_version() -> None:
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_installed_commands_print_help_measure_and_train(commands: Path, elsewhere: Path) -> None:
    assert _run(commands, elsewhere, "--help").startswith("Usage: fairdash ")
    measure = ("measure", "hgr_spline", "prices.csv", "--u", "price", "--v", "age", "--json")
    assert json.loads(_run(commands, elsewhere, *measure))["n"] == 60
    few = ("--methods", "standard,hgr_spline", "--lams", "1", "--epochs", "2", "--splits", "1", "--no-tune")
    quick = ("--measures", "pearson", "--device", "cpu", "--json")
    trained = json.loads(_run(commands, elsewhere, "sweep", "--dataset", "household", *few, *quick))
    assert {row["method"] for row in trained["rows"]} >= {"standard", "hgr_spline"}


TRAIN_AS_THE_APP_DOES = """
import time
import fairdash as fd
from fairdash.data.source import CatalogueSource
from fairdash.runs.launch import start_run
from fairdash.training.sweep import Sweep
plan = Sweep(methods=("standard", "hgr_spline"), lams=(1.0,), n_splits=1, device="cpu",
             settings=fd.TrainingSettings(hidden=(8,), n_epochs=2, warm_up_epochs=1))
run = start_run(CatalogueSource(dataset="household", options={"n": 200}), plan)
while not run.status.is_over:
    time.sleep(0.1)
print(run.status.state, run.status.message)
"""


@pytest.mark.variant
def test_the_installed_worker_trains(commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    asked = [commands / "python", "-P", "-c", TRAIN_AS_THE_APP_DOES]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("done "), done.stdout + done.stderr


@pytest.fixture
def server(commands: Path, elsewhere: Path, tmp_path: Path) -> Iterator[str]:
    """The installed app, started in the other app's folder; connections to other machines are refused."""
    start = {"program": (str(commands / "fairdash"),), "command": ("app", "--port"), "folder": elsewhere}
    with served(tmp_path / "home", environment=cut(tmp_path / "watched.log"), **start) as address:
        yield address


def test_the_installed_app_opens_from_any_folder_and_contacts_no_other_host(server, tmp_path) -> None:
    port = int(server.rsplit(":", 1)[1])
    for road in ("a page", "health"):
        for name, wanted in (("localhost", 200), ("other.example", 403), ("evil.example", 403)):
            assert ask(server, road, host=f"{name}:{port}")[0] == wanted
    # A server answers at this second loopback address only if it listens on every address of the machine.
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=3):  # noqa: PT011
        pass
    with session(server) as visit:
        for name, title in PAGES.items():
            said = run_page(visit, name)
            (begun,) = [message.new_session for message in said if message.HasField("new_session")]
            assert not begun.config.gather_usage_stats
            assert "fonts.example" not in str(begun.custom_theme)
            listed = {p.page_name for m in said if m.HasField("navigation") for p in m.navigation.app_pages}
            assert title in listed
            assert complaints(said) == []
            assert not any(message.HasField("page_not_found") for message in said)
    assert noted(tmp_path / "watched.log", "watched")
    assert noted(tmp_path / "watched.log", "attempt") == []


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def _pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _run(commands: Path, folder: Path, *arguments: str) -> str:
    own = {"cwd": folder, "env": os.environ | {"FAIRDASH_HOME": str(folder / "home")}}
    done = subprocess.run([commands / "fairdash", *arguments], capture_output=True, text=True, **own)
    assert done.returncode == 0, done.stderr
    return done.stdout
