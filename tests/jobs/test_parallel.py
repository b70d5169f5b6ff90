"""Steps computed by any number of other processes give the same bits, also after a crash."""

import json
import os
import pickle
import signal
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fairdash as fd
from fairdash.errors import Cancelled, OptionError, RunError
from fairdash.evaluation.parallel_sweep import execute_in_parallel
from fairdash.evaluation.result import SweepResult
from fairdash.jobs.parallel import StepPool, compute_steps, set_future
from fairdash.jobs.steps import (
    Branch,
    Checkpoints,
    Found,
    MissingSteps,
    Replay,
    StepDone,
    gather,
    independent,
    save,
    to_files,
    within,
)
from fairdash.runs import worker
from fairdash.runs.launch import cancel, start_run
from fairdash.runs.state import CANCELLED, DONE
from tests.jobs.test_queues import LONGER, source, undisturbed, units
from tests.runs.test_resumed import assert_same
from tests.runs.test_runs import ENDLESS, PLAN, SOURCE, wait
from tests.serving import until
from tests.tiers import few

__all__ = ["undisturbed"]


@pytest.fixture
def in_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use several processes for short runs and on machines with one core too."""
    monkeypatch.setattr(worker, "processes_for", lambda *_: 2)


def children() -> set[int]:
    """The worker processes that compute steps."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if b"multiprocessing.forkserver" in (place / "cmdline").read_bytes():
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                command = Path(f"/proc/{parent}/cmdline").read_bytes()
                if b"multiprocessing.forkserver" in command:
                    found.add(int(place.name))
        except OSError:
            continue  # it has ended since
    return found


@pytest.mark.parametrize("count", few([1, 2, 4], 2))
def test_a_sweep_gives_the_same_result_with_any_number_of_executor_threads(count: int) -> None:
    dataset = source().load()
    with ThreadPoolExecutor(count) as executor:
        options = {"methods": LONGER.methods, "lams": LONGER.lams, "settings": LONGER.settings, "n_splits": 1}
        found = fd.sweep(dataset, executor=executor, **options)
    assert_same(found, fd.sweep(dataset, **options))


def step(folder: str, name: str) -> tuple[str, float]:
    """A step of the small test program."""
    replay = Replay(Path(folder))
    replay.target = name
    with pytest.raises(StepDone) as done:
        program(replay, [])
    return done.value.digest, 0.1


class Noting(ThreadPoolExecutor):
    """An executor with one thread that records the order of the steps."""

    def __init__(self) -> None:
        super().__init__(1)
        self.names = []

    def submit(self, *args, **options):
        self.names.append(args[-1])
        return super().submit(*args, **options)


def test_steps_are_started_in_program_order_as_soon_as_their_inputs_exist(tmp_path: Path) -> None:
    noting = Noting()
    folder = tmp_path / "units"
    compute_steps(lambda job: program(job, []), folder, step=step, executor=lambda: noting, width=lambda: 1)
    # Starting every step at once would give a/0, b/0, beside, a/1, ...: the long chain would wait for other
    # steps.
    assert noting.names == ["a/0", "a/1", "a/2", "b/0", "b/1", "b/2", "beside", "total"]


class Breaking(ThreadPoolExecutor):
    """An executor that runs this number of steps and then breaks."""

    def __init__(self, left: int) -> None:
        super().__init__(2)
        self.left = left

    def submit(self, *args, **options):
        self.left -= 1
        if self.left < 0:
            raise BrokenExecutor
        return super().submit(*args, **options)


@pytest.mark.parametrize("left", [3, 4, 5])
def test_a_broken_executor_is_replaced_as_long_as_steps_make_progress(tmp_path: Path, left: int) -> None:
    expected, made = program(lambda name, compute, /: compute(), []), []

    def make() -> Breaking:
        made.append(Breaking(left))
        return made[-1]

    found = compute_steps(lambda job: program(job, []), tmp_path / "units", step=step, executor=make)
    assert found == expected
    assert 1 < len(made) <= 8


def test_an_executor_that_always_breaks_ends_the_run_with_a_clear_error(tmp_path: Path) -> None:
    always = {"step": step, "executor": lambda: Breaking(0)}
    with pytest.raises(RunError, match="stopped repeatedly"):
        compute_steps(lambda job: program(job, []), tmp_path / "units", **always)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OptionError.of("It can't be", "Take another."), RunError, "It can't be. Take another."),
        (KeyError("x"), RunError, "has failed .KeyError.. The log of the worker"),
        (Cancelled(), Cancelled, None),
    ],
)
def test_the_job_reports_the_message_of_an_error_on_another_machine(
    error: Exception, kind: type[Exception], words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> tuple[str, float]:
        raise error

    monkeypatch.setattr(StepPool, "_pool_for", lambda *_: ThreadPoolExecutor(1))
    future = Future()
    output = json.loads(json.dumps(StepPool(fail, count=1).compute("runs/x", "train/0")))
    set_future(future, SimpleNamespace(output=output))
    with pytest.raises(kind, match=words):
        future.result()


@pytest.mark.usefixtures("in_parallel")
def test_a_run_computed_by_several_processes_equals_a_run_of_one_process(undisturbed: SweepResult) -> None:
    """One of the processes is killed: only the step that it was computing is computed again."""
    run = start_run(source(), LONGER)
    until(lambda: len(units(run)) >= 3 and children())
    kept = units(run)
    os.kill(min(children()), signal.SIGKILL)
    assert wait(run).state == DONE
    assert_same(run.read_result(), undisturbed)
    curves = run.curves()
    assert not curves.empty
    assert not curves.duplicated(["method", "lam", "epoch"]).any()
    assert kept
    until(lambda: not children())


@pytest.mark.usefixtures("in_parallel")
def test_a_stop_request_ends_processes_that_are_in_the_middle_of_a_step() -> None:
    run = start_run(SOURCE, replace(ENDLESS, tune=False))
    until(lambda: children() and run.status.fraction > 0)
    cancel(run)
    until(lambda: run.status.is_over)
    assert run.status.state == CANCELLED
    until(lambda: not children())


def test_an_error_in_a_step_ends_the_run_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OptionError.of("This can't be fitted", "Take another table.")

    monkeypatch.setattr("fairdash.training.baselines._of_split", refuse)
    with ThreadPoolExecutor(1) as executor, pytest.raises(OptionError, match="This can't be fitted"):
        execute_in_parallel(source().load(), PLAN, tmp_path / "units", executor=executor)
    # The error also survives a pipe.
    piped = pickle.loads(pickle.dumps(OptionError.of("This can't be", "Take another.")))
    assert str(piped) == "This can't be. Take another."


# The result of a step is computed once, and again only if the stored file was changed.


FOUND: Found = {"rows": np.arange(3), "rule": "the smallest"}


@pytest.mark.parametrize("altered", ["index.json", "?" * 64])
def test_a_checkpoint_is_computed_once_and_recomputed_after_tampering(tmp_path: Path, altered: str) -> None:
    computed = []

    def compute() -> Found:
        computed.append("")
        return FOUND

    for _ in range(2):
        found = Checkpoints(tmp_path)("train/0", compute)
        assert (found["rows"].tolist(), found["rule"], len(computed)) == ([0, 1, 2], "the smallest", 1)
    (place,) = tmp_path.glob(altered)
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)
    for _ in range(2):
        assert Checkpoints(tmp_path)("train/0", compute)["rows"].tolist() == [0, 1, 2]
    assert len(computed) == 2


def test_no_step_begins_after_a_stop_request(tmp_path: Path) -> None:
    def stopped() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        Checkpoints(tmp_path, check=stopped)("train/0", lambda: pytest.fail("begun"))


def program(run_step, computed):
    """Two chains of three steps and a total: the results of each chain are added up step by step."""

    def step(name, before):
        computed.append(name)
        return {"value": before + 1}

    def chain(name):
        own, value = within(run_step, name), 0
        for k in range(3):
            value = own(str(k), lambda k=k, value=value: step(f"{name}/{k}", value))["value"]
        return value

    def both():
        return sum(independent(run_step, {"a": lambda: chain("a"), "b": lambda: chain("b")}))

    def after():
        value = chains.result()
        return run_step("total", lambda: step("total", value))["value"]

    chains = Branch(run_step, both, "a", "b")
    beside = Branch(run_step, lambda: run_step("beside", lambda: step("beside", 10))["value"], "beside")
    total = Branch(run_step, after, "total")
    return sum(gather(chains, beside, total))


def test_a_replayed_job_lists_all_possible_steps_and_computes_only_the_requested_one(tmp_path: Path) -> None:
    expected = program(lambda name, compute, /: compute(), [])
    job, waves = Replay(tmp_path), []
    while True:
        try:
            assert program(job, []) == expected
            break
        except MissingSteps as missing:
            waves.append(missing.names)
        for name in waves[-1]:
            other, computed = Replay(tmp_path), []
            other.target = name
            with pytest.raises(StepDone) as done:
                program(other, computed)
            assert computed == [name], "nothing else"
            job.record(name, done.value.digest)
    assert waves == [("a/0", "b/0", "beside"), ("a/1", "b/1"), ("a/2", "b/2"), ("total",)]


def test_only_branches_of_a_job_that_waited_for_a_new_result_are_evaluated_again(tmp_path: Path) -> None:
    job, evaluated = Replay(tmp_path), []

    def task(name):
        evaluated.append(name)
        return [job(f"{name}/{k}", lambda: pytest.fail("not computed here")) for k in range(2)]

    def missing():
        evaluated.clear()
        with pytest.raises(MissingSteps) as error:
            gather(*(Branch(job, lambda name=name: task(name), name) for name in "ab"))
        return error.value.names

    assert (missing(), evaluated) == (("a/0", "b/0"), ["a", "b"])
    job.record("b/0", save(tmp_path, to_files(FOUND)))
    assert (missing(), evaluated) == (("a/0", "b/1"), ["b"])
