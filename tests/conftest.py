"""Shared fixtures: tests that need real data or a browser are skipped with a reason, or fail where required."""

from __future__ import annotations

import os

# Set before any import of numpy and torch. Several threads that compete are far slower than one, and the
# tests share their cores with servers, browsers and workers. Waiting threads must not spin: they occupied a
# core of the other test process and took four fifths of the total time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("KMP_BLOCKTIME", "0")
# Page tests start no standby process; the one test of standby processes allows it.
os.environ["FAIRDASH_NO_STANDBY"] = "1"

import gc
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.line import stand_in
from tests.serving import end_workers
from tests.shared import home_of
from tests.tiers import mark_variants

#: Everybody gets the same examples; ``make test-all`` draws new ones, and ``make test-long`` many more.
settings.register_profile("same", derandomize=True, deadline=None, database=None, max_examples=50)
settings.register_profile("new", deadline=None, print_blob=True)
settings.register_profile("long", settings.get_profile("new"), max_examples=5000)
settings.load_profile("same")

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from fairdash.runs.store import Run


def missing(what: str, reason: str) -> None:
    """Skip the test, or fail if FAIRDASH_REQUIRE (data, browser, postgres; comma-separated) names `what`."""
    if what in os.environ.get("FAIRDASH_REQUIRE", "").split(","):
        pytest.fail(f"{what} is required here: {reason}")
    pytest.skip(reason)


#: Each test of this file takes minutes and gets a process of its own.
_LONGEST = "test_default_path.py"
#: These tests start and count workers or use much memory, so two of them never run at once.
_ALONE = ("tests/jobs/", "tests/test_limits.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run each test file in one process, all audits in one, and each of the longest tests alone.

    xdist's own groups rely on a name in the test id, which pytest 9 no longer passes.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file.endswith(_LONGEST):
                return nodeid
            if file.startswith(_ALONE):
                return "alone"
            return "tests/auditing" if file.startswith("tests/auditing") else file

    return ByFile(config, log)


# Objects made during collection are kept: repeated garbage collection took a twentieth of the total time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests: the longest first, then browser tests, then all others.

    Tests of whole user paths take minutes, mostly waiting. At the end, one process would wait for the other.
    """
    mark_variants(items)
    for item in items:
        if os.environ.get("FAIRDASH_RERUN") and _has_processes(item):
            item.add_marker(pytest.mark.flaky(reruns=1))

    def turn(item: pytest.Item) -> int:
        if item.path.name == _LONGEST:
            return 0
        return 1 if item.get_closest_marker("browser") else 2

    items.sort(key=turn)


def _has_processes(item: pytest.Item) -> bool:
    """Return True if a test waits for a browser, a server, a worker or pip, which a busy machine can delay."""
    return (
        bool(item.get_closest_marker("browser")) or {"jobs", "runs", "fresh"} & set(item.path.parts) != set()
    )


#: Marks of tests that need the real queue with its database and processes.
_WITH_PROCESSES = ("processes", "browser", "fresh")


@pytest.fixture(autouse=True)
def _own_home(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Give every test its own folder for uploads and runs, and stop all jobs at its end."""
    home = str(tmp_path / "home")
    monkeypatch.setenv("FAIRDASH_HOME", home)
    before = os.nice(0) if hasattr(os, "nice") else 0
    if any(request.node.get_closest_marker(each) for each in _WITH_PROCESSES):
        yield
        end_workers(home)
    else:
        line = stand_in(monkeypatch)
        yield
        line.end()
    # Otherwise all later servers of the tests would have a lower priority than their own workers.
    assert not hasattr(os, "nice") or os.nice(0) == before, (
        "this test has lowered the priority of all after it"
    )


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Homes with finished runs and audits (tests/shared.py), made once for all test processes."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent
    return lambda name: home_of(name, folder / "shared")


@pytest.fixture
def done(shared: Callable[[str], Path]) -> Run:
    """A finished run in this test's own store."""
    from fairdash.runs.store import Run

    (folder,) = (shared("run") / "runs").iterdir()
    shutil.copytree(folder, Run.home() / folder.name)
    return Run(folder.name)


@pytest.fixture(scope="module")
def light_runs() -> Iterator[None]:
    """Make the runs of a file of tests fast: without references, with few trees and permutations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairdash.evaluation.execute_sweep._has_references", lambda _: False)
        patch.setattr("fairdash.evaluation.execute_sweep.N_PERMUTATIONS", 39)
        patch.setattr("fairdash.training.baselines.MAX_TREES", 3)
        yield


@pytest.fixture(scope="session")
def is_long(pytestconfig: pytest.Config) -> bool:
    """Return True for the long tests (``make test-long``), with more samples and more random tables."""
    return bool(pytestconfig.getoption("--hypothesis-profile") == "long")


@pytest.fixture
def real_data() -> Path:
    """The folder of real data sets."""
    folder = os.environ.get("FAIRDASH_DATA")
    if not folder or not Path(folder).is_dir():
        missing("data", "set FAIRDASH_DATA to the folder with the real data sets")
    return Path(str(folder))


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium that Playwright can drive."""
    path = os.environ.get("FAIRDASH_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not path:
        missing("browser", "no Chromium found: install it, or set FAIRDASH_CHROMIUM to its path")
    return str(path)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for all tests: Playwright's synchronous driver can't be started twice."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        args = ["--no-sandbox", "--disable-gpu"]
        found = playwright.chromium.launch(executable_path=chromium, args=args)
        yield found
        found.close()
