"""A process that stands by takes the next job, and nothing is lost where there is none."""

from __future__ import annotations

import os
import signal
import time

import pytest

from fairdash.data.folders import data_folder
from fairdash.runs import standby
from fairdash.runs.launch import start_run
from fairdash.runs.store import DONE, create_run
from tests.runs.test_runs import PLAN, SOURCE, _command, wait


@pytest.fixture
def allowed(monkeypatch):
    monkeypatch.delenv("FAIRDASH_NO_STANDBY")


def waiting(seconds=60.0):
    """The folder of the one process that stands by."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = [folder for folder in data_folder("standby").iterdir() if standby._is_waiting(folder)]
        if found:
            (folder,) = found
            return folder
        time.sleep(0.05)
    pytest.fail("no process stands by")


def processes(token):
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and token in _command(entry)]


def test_the_next_job_goes_to_the_process_that_stands_by(allowed):
    standby.prepare()
    standby.prepare()
    folder = waiting()
    standby.prepare()
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
    standby._claim(folder, run.id)
    kept = [os.dup(1), os.dup(2)]
    monkeypatch.setattr(standby, "_import_all", lambda: None)
    monkeypatch.setattr("fairdash.runs.worker.main", lambda job_id: os.write(2, job_id.encode()))
    with capfd.disabled():
        try:
            standby.main(folder.name)
        finally:
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
    assert (run.folder / "worker.log").read_text() == run.id


def test_a_process_that_was_killed_is_given_no_job(allowed):
    standby.prepare()
    folder = waiting()
    (process,) = processes(folder.name)
    os.kill(process, signal.SIGKILL)
    until = time.monotonic() + 20
    while standby._is_alive(folder) and time.monotonic() < until:
        time.sleep(0.05)
    assert not standby.hand_over("0123456789ab")
    run = start_run(SOURCE, PLAN)
    assert wait(run, lambda status: status.is_over).state == DONE
    standby.prepare()
    assert not folder.exists(), "what a killed process leaves is cleared away"
    for each in data_folder("standby").iterdir():
        standby._claim(each, standby.NO_JOB)


def test_it_goes_when_its_time_is_over(monkeypatch):
    monkeypatch.setattr(standby, "SECONDS_TO_WAIT", 0)
    monkeypatch.setattr(standby, "_import_all", lambda: None)
    folder = data_folder("standby") / "0123456789ab"
    folder.mkdir(parents=True)
    assert standby.main(folder.name) == 0
    assert not folder.exists()


def test_a_claim_is_made_once():
    folder = data_folder("standby") / "0123456789ab"
    folder.mkdir(parents=True)
    assert standby._claim(folder, "aaaaaaaaaaaa")
    assert not standby._claim(folder, "bbbbbbbbbbbb")
    assert (folder / "job").read_text() == "aaaaaaaaaaaa"
    assert not standby._claim(folder / "gone", "cccccccccccc")


def test_nobody_stands_by_where_it_is_not_wanted():
    standby.prepare()
    assert not data_folder("standby").exists()
    assert not standby.hand_over("0123456789ab")
