"""How long λ's way is: from the plan through the worker and its weights to the stored result and the front.

A record carries λ if it is a dataclass with a field ``lam`` or ``lams``, and it passes λ on if one of its fields
holds such a record, or a table with a column ``lam``. A file is on the way if one of its functions takes or
returns a record that carries λ. What grows here grows for everyone who follows a weight through the house.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import CodeType, FrameType

import pandas as pd
import pytest

import fairdash
from fairdash.data.source import CatalogueSource
from fairdash.reports.comparison import parse_comparison
from fairdash.runs import launch, worker
from fairdash.training import stack
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import default_plan, preview_of

PACKAGE = Path(fairdash.__file__).parent
PREFIX = str(PACKAGE)
SOURCE = CatalogueSource(dataset="household", options={"n": 120})
QUICK = TrainingSettings(hidden=(4,), adversary_hidden=(4,), batch_size=64, n_epochs=2, warm_up_epochs=1)


@dataclass
class Way:
    """Records and files that λ has passed."""

    carry: set[str] = field(default_factory=set)
    pass_on: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    files_passed: set[str] = field(default_factory=set)

    def watch(self, frame: FrameType, event: str, returned: object) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if event == "return" and code.co_name == "__init__" and code.co_filename == "<string>":
            self._note_record(frame.f_locals["self"])
        elif code.co_filename.startswith(PREFIX) and not code.co_name.startswith("<"):
            values = [returned] if event == "return" else _arguments(frame, code) if event == "call" else []
            names = {type(part).__name__ for value in values for part in _parts(value)}
            file = str(Path(code.co_filename).relative_to(PACKAGE))
            if names & self.carry:
                self.files.add(file)
            if names & (self.carry | self.pass_on):
                self.files_passed.add(file)

    def _note_record(self, record: object) -> None:
        kind = type(record)
        if not (is_dataclass(record) and kind.__module__.startswith("fairdash.")):
            return
        if carries(record):
            self.carry.add(kind.__name__)
        elif any(_holds(getattr(record, each.name, None)) for each in fields(record)):
            self.pass_on.add(kind.__name__)


def _arguments(frame: FrameType, code: CodeType) -> list[object]:
    count = code.co_argcount + code.co_kwonlyargcount
    return [frame.f_locals[name] for name in code.co_varnames[:count] if name in frame.f_locals]


def _parts(value: object) -> tuple[object, ...]:
    if isinstance(value, Mapping):
        return tuple(value.values())[:1]
    return (value[0],) if isinstance(value, tuple | list) and value else (value,)


def carries(value: object) -> bool:
    """Whether it is a record with λ, or a list or mapping of them."""
    return any(
        is_dataclass(type(part)) and bool({"lam", "lams"} & type(part).__dataclass_fields__.keys())
        for part in _parts(value)
    )


def _holds(value: object) -> bool:
    return any(
        carries(part)
        or (isinstance(part, pd.DataFrame) and "lam" in part)
        or (is_dataclass(type(part)) and any(_holds(getattr(part, each.name)) for each in fields(type(part))))
        for part in _parts(value)
    )


@contextmanager
def traced(watch: Callable[[FrameType, str, object], None]) -> Iterator[None]:
    before = sys.getprofile()
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def test_the_way_of_lam_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "put_in_line", lambda job: None)
    # Not the length of the way, but how often it is gone.
    monkeypatch.setattr("fairdash.evaluation.execute_sweep.N_PERMUTATIONS", 39)
    monkeypatch.setattr("fairdash.training.baselines.MOST_TREES", 2)
    assert stack.train_stack, "torch is loaded before anything is traced"
    way = Way()
    with traced(way.watch):
        whole = default_plan(SOURCE.load())
        preview, plan = (
            replace(each, settings=QUICK, lams=(1.0,), n_splits=1, tune=True)
            for each in (preview_of(whole), whole)
        )
        run = launch.start_run(SOURCE, plan, first=preview)
        assert worker.main(run.id) == 0, run.status
        found = parse_comparison(run)
        assert found.predictions(found.b)
    print(len(way.carry), "carry:", sorted(way.carry))
    print(len(way.pass_on), "pass on:", sorted(way.pass_on))
    print(len(way.files), "files:", sorted(way.files))
    print(len(way.files_passed), "files with either:", sorted(way.files_passed))
    assert len(way.carry) <= 3
    assert len(way.carry | way.pass_on) <= 10
    # One of them is where the key of a model stands.
    assert len(way.files) <= 11
    # records.py carries every record there is and knows none, as json does.
    assert len(way.files_passed - {"utils/records.py"}) <= 12
