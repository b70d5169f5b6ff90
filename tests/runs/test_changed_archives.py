"""200 archives with one change and correct hashes: each is shown, or refused with a message."""

import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from fairdash.errors import RunError
from fairdash.runs.archive import export_run, import_run
from fairdash.runs.store import Run
from fairdash.storage.bundle import open_sealed_text, sealed_text
from tests.runs.changed_archives import change, look_at, packed, rich, unpacked
from tests.tiers import few

SEEDS, BATCHES = 200, 20
pytestmark = pytest.mark.usefixtures("light_runs")


@lru_cache
def exported(kind: str, home: Path) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRDASH_HOME", str(home))
        return export_run(rich(kind))


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Home of another machine."""
    return tmp_path_factory.mktemp("away")


@pytest.fixture
def content(away: Path) -> bytes:
    return exported("networks", away)


@pytest.mark.parametrize("kind", few(["networks", "tariffs", "classes"], "networks", "tariffs"))
def test_an_unchanged_run_archive_is_imported_and_shown(kind: str, away: Path) -> None:
    content = exported(kind, away)
    run = import_run(content).run
    look_at(run)
    assert export_run(run) == content


@pytest.mark.bad_input(58)
@pytest.mark.parametrize("batch", few(range(BATCHES), 0))
def test_each_altered_run_archive_is_refused_or_shown_without_an_error(content: bytes, batch: int) -> None:
    are_shown_or_refused(content, range(batch, SEEDS, BATCHES))


@pytest.mark.variant
@pytest.mark.bad_input(58)
@pytest.mark.parametrize("kind", ["tariffs", "classes"])
def test_altered_archives_of_tariffs_or_classes_are_refused_or_shown_correctly(kind: str, away: Path) -> None:
    are_shown_or_refused(exported(kind, away), range(30))


def are_shown_or_refused(content: bytes, seeds: Iterable[int]) -> None:
    for seed in seeds:
        said, changed = change(content, seed)
        try:
            run = import_run(changed).run
        except RunError as error:
            refused = str(error)
        else:
            refused = ""
            # Charts take a second each; benchmarks/archive_fuzz.py draws those of all archives and opens the
            # pages.
            look_at(run, whole=False)
            shutil.rmtree(run.folder)
        assert not refused or "run written by fairdash" in refused or "no finished run" in refused, said
        assert not list(Run.home().glob("*")), said


@pytest.mark.bad_input(58)
def test_an_archive_with_too_many_weights_is_refused(content: bytes) -> None:
    files = unpacked(content)
    for count in (600, 200_000):
        spec = open_sealed_text(files["spec.json"].decode())
        spec["plan"]["lams"] = np.linspace(0.1, 1, count).tolist()
        with pytest.raises(RunError, match="not a run written by fairdash"):
            import_run(packed(files | {"spec.json": sealed_text(spec).encode()}))


@pytest.mark.bad_input(58)
def test_an_objective_name_in_an_archive_is_never_used_as_a_path(content: bytes, tmp_path: Path) -> None:
    files = unpacked(content)
    assert {"result/about.json", "result/frame-demographic_parity.parquet"} <= files.keys()
    for name in (b"../../../evil", b"/etc/evil", b"x/../../../evil", b"evil"):
        about = files["result/about.json"].replace(b"demographic_parity", name)
        with pytest.raises(RunError, match="not a run written by fairdash"):
            import_run(packed(files | {"result/about.json": about}))
    assert not list(tmp_path.rglob("*evil*"))
