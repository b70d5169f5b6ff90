"""How long λ's way is: from the plan through the worker and its weights to the stored result and the front.

A record carries λ if it is a dataclass with a field ``lam`` or ``lams``, and it passes λ on if one of its fields
holds such a record, or a table with a column ``lam``. A file is on the way if one of its functions takes or
returns a record that carries λ. What grows here grows for everyone who follows a weight through the house.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import FrameType

import pandas as pd
import pytest

import fairdash
from fairdash.data.source import CatalogueSource
from fairdash.runs import launch, worker
from fairdash.runs.comparison import parse_comparison
from fairdash.training import stack
from fairdash.training.sweep import default_plan, preview_of
from tests.runs.finished import QUICK
from tests.ui.test_way_of_front import given, traced

PACKAGE = Path(fairdash.__file__).parent
PREFIX = str(PACKAGE)
SOURCE = CatalogueSource(dataset="household", options={"n": 120})


@dataclass
class Way:
    """Records and files that λ has passed."""

    carry: set[str] = field(default_factory=set)
    pass_on: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    files_passed: set[str] = field(default_factory=set)

    def watch(self, frame: FrameType, event: str, returned: object) -> None:
        code = frame.f_code
        if event == "return" and code.co_name == "__init__" and code.co_filename == "<string>":
            self._note_record(frame.f_locals["self"])
        elif event in ("call", "return") and code.co_filename.startswith(PREFIX) and code.co_name[0] != "<":
            values = [returned] if event == "return" else given(frame)
            names = {type(part).__name__ for value in values for part in _parts(value)}
            file = str(Path(code.co_filename).relative_to(PACKAGE))
            self.files |= {file} if names & self.carry else set()
            self.files_passed |= {file} if names & (self.carry | self.pass_on) else set()

    def _note_record(self, record: object) -> None:
        kind = type(record)
        if is_dataclass(record) and kind.__module__.startswith("fairdash."):
            if carries(record):
                self.carry.add(kind.__name__)
            elif any(_holds(getattr(record, each.name, None)) for each in fields(record)):
                self.pass_on.add(kind.__name__)


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


def test_lambda_passes_through_few_records_and_files_from_plan_to_front(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "enqueue", lambda job: None)
    # Not the length of the way, but how often it is gone.
    monkeypatch.setattr("fairdash.evaluation.execute_sweep.N_PERMUTATIONS", 39)
    monkeypatch.setattr("fairdash.training.baselines.MAX_TREES", 2)
    assert stack.train_stack, "torch is loaded before anything is traced"
    way, quick = Way(), {"settings": QUICK, "lams": (1.0,), "n_splits": 1, "tune": True}
    with traced(way.watch):
        whole = default_plan(SOURCE.load())
        preview, plan = (replace(each, **quick) for each in (preview_of(whole), whole))
        run = launch.start_run(SOURCE, plan, first=preview)
        assert worker.main(run.id) == 0, run.status
        found = parse_comparison(run)
        assert found.predictions(found.b)
    assert len(way.carry) <= 3, way.carry
    assert len(way.carry | way.pass_on) <= 10, way.pass_on
    # One of them is where the key of a model stands, and one hands on the results of branches (jobs/steps.py).
    assert len(way.files) <= 14, way.files
    # records.py carries every record there is and knows none, as json does.
    assert len(way.files_passed - {"utils/records.py"}) <= 17, way.files_passed
