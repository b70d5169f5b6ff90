"""Studies in the background of the app: started, followed, stopped and found again."""

import os
from collections.abc import Callable, Iterator

import pandas as pd
import pytest

from fairdash.jobs import cancellation, queue
from fairdash.lab.estimates import Progress
from fairdash.lab.scene import Scene
from fairdash.lab.studies import KINDS, Study
from fairdash.runs import studies, worker
from fairdash.runs.launch import cancel, start_study
from fairdash.runs.state import CANCELLED, DONE, FAILED, QUEUED, RUNNING
from fairdash.runs.studies import create_study
from fairdash.storage import cache_folder
from tests.tiers import few

STUDY = Study("noise_axis", Scene(n=50))


def test_a_study_is_identified_by_its_kind_and_parameters() -> None:
    assert Study.from_json(STUDY.to_json()) == STUDY
    assert STUDY.key == Study("noise_axis", Scene(n=50)).key
    assert STUDY.key != Study("power", Scene(n=50)).key
    assert Study("power", Scene(noise=2)).key == Study("power", Scene(noise=2.0)).key
    assert STUDY.key != Study("noise_axis", Scene(n=51)).key
    assert create_study(STUDY).queue_name == queue.STUDIES
    assert create_study(Study("scene", Scene())).queue_name == queue.QUICK, "it does not wait for longer ones"


def test_a_study_reports_progress_and_restarts_after_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    job = create_study(STUDY)

    def slow(_scene: Scene):
        for k in range(4):
            yield Progress(k / 4, f"step {k}", {"table": pd.DataFrame({"x": range(k)})})
            looks.append(job.status)
            if k == 2:
                cancel(job)

    put(monkeypatch, slow)
    monkeypatch.setattr(cancellation, "SECONDS_BETWEEN_CHECKS", 0.0)
    assert worker.main(job.id) == 1
    assert [look.state for look in looks] == [RUNNING, RUNNING, RUNNING]
    assert [look.doing for look in looks] == ["step 0", "step 1", "step 2"]
    assert (len(job.tables()["table"]), job.status.state) == (2, CANCELLED)
    monkeypatch.setattr(queue, "ensure_worker", lambda queue_name: None)
    again = start_study(STUDY)
    assert (again.status.state, again.is_cancelled()) == (QUEUED, False)


def put(monkeypatch: pytest.MonkeyPatch, study: Callable[[Scene], Iterator[Progress]]) -> None:
    """Replace the study of the noise axis by a small one."""
    monkeypatch.setattr("fairdash.lab.studies.KINDS", {**KINDS, "noise_axis": study})


@pytest.mark.parametrize("name", few(["status.json", "spec.json"], "spec.json"))
def test_a_damaged_study_is_computed_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = [Progress(1.0, "done", {"table": pd.DataFrame({"x": [1]})})]
    put(monkeypatch, lambda _: iter(done))
    job = create_study(STUDY)
    (job.folder / name).write_text("{")
    assert worker.main(job.id) == (0 if name == "status.json" else 1)
    assert job.status.state in (CANCELLED, FAILED)
    monkeypatch.setattr(queue, "ensure_worker", lambda queue_name: None)
    assert (start_study(STUDY).status.state, worker.main(job.id)) == (QUEUED, 0)
    assert job.status.state == DONE


def test_the_oldest_studies_are_removed_from_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "MAX_STUDIES", 2)
    for k in range(4):
        folder = cache_folder("studies") / f"{k}"
        folder.mkdir(parents=True)
        os.utime(folder, (k, k))
    studies.delete_oldest_studies()
    assert sorted(folder.name for folder in cache_folder("studies").iterdir()) == ["2", "3"]
