"""Studies that run beside the app: started, followed, stopped, found again."""

from __future__ import annotations

import os
import threading
import time

import pandas as pd
import pytest

from fairdash.simulations import store
from fairdash.simulations.scene import Scene
from fairdash.simulations.stack import Progress
from fairdash.simulations.store import (
    ABSENT,
    DONE,
    FAILED,
    KINDS,
    QUEUED,
    RUNNING,
    Study,
    StudyStatus,
    cancel,
    start,
    status_of,
    tables_of,
    work,
)
from fairdash.storage import cache_folder

STUDY = Study("noise_axis", Scene(n=50))


def asked_for(study: Study) -> None:
    """As `start` leaves it, without the process."""
    store.write_whole(study.folder / "study.json", study.to_json().encode())
    store._write_status(study, StudyStatus(state=QUEUED))


def test_a_study_is_found_again_by_what_it_is() -> None:
    assert Study.from_json(STUDY.to_json()) == STUDY
    assert STUDY.key == Study("noise_axis", Scene(n=50)).key
    assert STUDY.key != Study("power", Scene(n=50)).key
    assert Study("power", Scene(noise=2)).key == Study("power", Scene(noise=2.0)).key
    assert STUDY.key != Study("noise_axis", Scene(n=51)).key


def test_from_absent_to_done() -> None:
    assert status_of(STUDY).state == ABSENT
    assert tables_of(STUDY) == {}
    asked_for(STUDY)
    assert work(STUDY.key)
    assert status_of(STUDY).state == DONE
    assert {"values", "exact", "lines", "errors"} <= tables_of(STUDY).keys()


def test_a_process_of_its_own_carries_it_out() -> None:
    start(STUDY)
    start(STUDY)
    until = time.monotonic() + 120
    while not status_of(STUDY).is_over:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert status_of(STUDY).state == DONE


def test_progress_is_seen_and_a_cancelled_study_can_be_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    def slow(_scene: Scene):
        for k in range(4):
            yield Progress(k / 4, f"step {k}", {"table": pd.DataFrame({"x": range(k)})})
            looks.append(status_of(STUDY))
            if k == 2:
                cancel(STUDY)

    monkeypatch.setattr(store, "KINDS", {**KINDS, "noise_axis": slow})
    asked_for(STUDY)
    assert not work(STUDY.key)
    assert [look.state for look in looks] == [RUNNING, RUNNING, RUNNING]
    assert [look.doing for look in looks] == ["step 0", "step 1", "step 2"]
    assert len(tables_of(STUDY)["table"]) == 2
    assert status_of(STUDY).state == ABSENT


def test_a_process_waits_out_a_look_at_its_study() -> None:
    asked_for(STUDY)
    taken = threading.Event()

    def look() -> None:
        with store._lock(STUDY):
            taken.set()
            time.sleep(0.5)

    threading.Thread(target=look).start()
    assert taken.wait(5)
    assert work(STUDY.key)


def test_a_study_asked_for_again_is_not_stopped() -> None:
    asked_for(STUDY)
    cancel(STUDY)
    start(STUDY)
    assert status_of(STUDY).state == QUEUED
    assert not (STUDY.folder / "cancel").exists()


def test_a_dead_process_is_told() -> None:
    asked_for(STUDY)
    store._write_status(STUDY, StudyStatus(state=RUNNING, fraction=0.5))
    assert status_of(STUDY).state == FAILED


def test_a_damaged_status_counts_as_absent() -> None:
    asked_for(STUDY)
    (STUDY.folder / "status.json").write_text("{")
    assert status_of(STUDY).state == ABSENT


def test_the_worker_says_that_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairdash.simulations import worker

    def broken(_scene: Scene):
        raise ZeroDivisionError
        yield

    monkeypatch.setattr(store, "KINDS", {**KINDS, "noise_axis": broken})
    asked_for(STUDY)
    assert worker.main(STUDY.key) == 1
    assert status_of(STUDY).state == FAILED


def test_the_oldest_studies_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_KEPT", 2)
    for k in range(4):
        folder = cache_folder("studies") / f"{k}"
        folder.mkdir(parents=True)
        os.utime(folder, (k, k))
    store._tidy()
    assert sorted(folder.name for folder in cache_folder("studies").iterdir()) == ["2", "3"]
