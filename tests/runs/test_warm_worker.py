"""A process that stands by takes the next job, and nothing is lost where there is none."""

from __future__ import annotations

import os
import signal
import time

import pytest

from fairdash.runs import warm_worker
from fairdash.runs.launch import start_run
from fairdash.runs.store import DONE, create_run
from fairdash.storage import data_folder
from tests.runs.test_runs import PLAN, SOURCE, _command, wait

pytestmark = pytest.mark.serial


@pytest.fixture
def allowed(monkeypatch):
    monkeypatch.delenv("FAIRDASH_NO_STANDBY")


def waiting(seconds=60.0):
    """The folder of the one process that stands by."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = [folder for folder in data_folder("standby").iterdir() if warm_worker._is_waiting(folder)]
        if found:
            (folder,) = found
            return folder
        time.sleep(0.05)
    pytest.fail("no process stands by")


def processes(token):
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and token in _command(entry)]


def test_the_next_job_goes_to_the_process_that_stands_by(allowed):
    warm_worker.prepare()
    warm_worker.prepare()
    folder = waiting()
    warm_worker.prepare()
    assert list(data_folder("standby").iterdir()) == [folder], "one is enough"
    (process,) = processes(folder.name)
    run = start_run(SOURCE, PLAN)
    assert not processes(run.id), "no second worker"
    assert wait(run, lambda status: status.is_over).state == DONE
    assert run.read_result().predictions.shape == (2 + 4, 200)
    until = time.monotonic() + 20
    while process in processes(folder.name) and time.monotonic() < until:
        time.sleep(0.1)
    assert not processes(folder.name)
    assert not folder.exists()


def test_what_a_job_prints_is_in_its_own_log(monkeypatch, capfd):
    run = create_run(SOURCE, PLAN)
    folder = data_folder("standby") / "0123456789ab"
    folder.mkdir(parents=True)
    warm_worker._claim(folder, run.id)
    kept = [os.dup(1), os.dup(2)]
    monkeypatch.setattr(warm_worker, "_import_all", lambda: None)
    monkeypatch.setattr("fairdash.runs.worker.main", lambda job_id: os.write(2, job_id.encode()))
    with capfd.disabled():
        try:
            warm_worker.main(folder.name)
        finally:
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
    assert (run.folder / "worker.log").read_text() == run.id


def test_a_process_that_was_killed_is_given_no_job(allowed):
    warm_worker.prepare()
    folder = waiting()
    (process,) = processes(folder.name)
    os.kill(process, signal.SIGKILL)
    until = time.monotonic() + 20
    while warm_worker._is_alive(folder) and time.monotonic() < until:
        time.sleep(0.05)
    assert not warm_worker.assign("0123456789ab")
    run = start_run(SOURCE, PLAN)
    assert wait(run, lambda status: status.is_over).state == DONE
    warm_worker.prepare()
    assert not folder.exists(), "what a killed process leaves is cleared away"
    for each in data_folder("standby").iterdir():
        warm_worker._claim(each, warm_worker.NO_JOB)


def test_it_goes_when_its_time_is_over(monkeypatch):
    monkeypatch.setattr(warm_worker, "SECONDS_TO_WAIT", 0)
    monkeypatch.setattr(warm_worker, "_import_all", lambda: None)
    folder = data_folder("standby") / "0123456789ab"
    folder.mkdir(parents=True)
    assert warm_worker.main(folder.name) == 0
    assert not folder.exists()


def test_a_claim_is_made_once():
    folder = data_folder("standby") / "0123456789ab"
    folder.mkdir(parents=True)
    assert warm_worker._claim(folder, "aaaaaaaaaaaa")
    assert not warm_worker._claim(folder, "bbbbbbbbbbbb")
    assert (folder / "job").read_text() == "aaaaaaaaaaaa"
    assert not warm_worker._claim(folder / "gone", "cccccccccccc")


def test_nobody_stands_by_where_it_is_not_wanted():
    warm_worker.prepare()
    assert not data_folder("standby").exists()
    assert not warm_worker.assign("0123456789ab")
