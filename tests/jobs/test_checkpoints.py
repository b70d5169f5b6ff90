"""What a step has found is computed once, and once more where it is not as it was written."""

from pathlib import Path

import numpy as np
import pytest

from fairdash.errors import Cancelled
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

FOUND: Found = {"rows": np.arange(3), "rule": "the smallest"}


@pytest.mark.parametrize("altered", ["index.json", "?" * 64])
def test_a_find_is_computed_once_and_once_more_where_it_was_altered(tmp_path: Path, altered: str) -> None:
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


def test_no_step_begins_once_the_job_is_to_stop(tmp_path: Path) -> None:
    def stopped() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        Checkpoints(tmp_path, check=stopped)("train/0", lambda: pytest.fail("begun"))


def program(unit, computed):
    """Two chains of three steps, and a sum of both: what a chain has found is added up step by step."""

    def step(name, before):
        computed.append(name)
        return {"value": before + 1}

    def chain(name):
        own, value = within(unit, name), 0
        for k in range(3):
            value = own(str(k), lambda k=k, value=value: step(f"{name}/{k}", value))["value"]
        return value

    def both():
        return sum(independent(unit, {"a": lambda: chain("a"), "b": lambda: chain("b")}))

    def after():
        value = chains.result()
        return unit("total", lambda: step("total", value))["value"]

    chains = Branch(unit, both, "a", "b")
    beside = Branch(unit, lambda: unit("beside", lambda: step("beside", 10))["value"], "beside")
    total = Branch(unit, after, "total")
    return sum(gather(chains, beside, total))


def test_all_steps_that_can_be_computed_are_named_and_each_is_computed_alone(tmp_path: Path) -> None:
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


def test_only_branches_that_a_new_result_unblocks_are_evaluated_again(tmp_path: Path) -> None:
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
