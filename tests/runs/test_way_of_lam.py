"""Number of records and files that pass λ on, from the plan to the stored result and the front.

A record carries λ if it is a dataclass with a field ``lam`` or ``lams``, and it passes λ on if one of its
fields contains such a record, or a table with a column ``lam``. A file counts if one of its functions takes
or returns a record that carries λ. A larger count means more work for everyone who traces a weight through
the code.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import pandas as pd

from fairdash.data.source import CatalogueSource
from fairdash.runs import launch, worker
from fairdash.runs.comparison import parse_comparison
from fairdash.training import stack
from fairdash.training.sweep import default_plan, preview_of
from tests.runs.finished import QUICK
from tests.ui.test_way_of_front import CONVERTER, MADE, SEEN, note, traced

SOURCE = CatalogueSource(dataset="household", options={"n": 120})


def _parts(value: object) -> tuple[object, ...]:
    if isinstance(value, Mapping):
        return tuple(value.values())[:1]
    return (value[0],) if isinstance(value, tuple | list) and value else (value,)


def carries(value: object) -> bool:
    """Return True for a record with λ, or for a list or mapping of such records."""
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


def test_a_limited_number_of_classes_and_source_files_handle_lambda(monkeypatch) -> None:
    monkeypatch.setattr(launch, "enqueue", lambda job: None)
    # Fewer repetitions shorten the run and leave the path of λ unchanged.
    monkeypatch.setattr("fairdash.evaluation.execute_sweep.N_PERMUTATIONS", 39)
    monkeypatch.setattr("fairdash.training.baselines.MAX_TREES", 2)
    assert stack.train_stack, "torch is loaded before anything is traced"
    quick = {"settings": QUICK, "lams": (1.0,), "n_splits": 1, "tune": True}
    MADE.clear()
    SEEN.clear()
    with traced(note):
        whole = default_plan(SOURCE.load())
        preview, plan = (replace(each, **quick) for each in (preview_of(whole), whole))
        run = launch.start_run(SOURCE, plan, first=preview)
        assert worker.main(run.id) == 0, run.status
        found = parse_comparison(run)
        assert found.predictions(found.b)
    records = [each for each in MADE.values() if is_dataclass(each)]
    carry = {type(each).__name__ for each in records if carries(each)}
    passed = carry | {type(each).__name__ for each in records if any(map(_holds, vars(each).values()))}
    files, files_passed = ({file for file, seen in SEEN.items() if seen & names} for names in (carry, passed))
    assert len(carry) <= 3, carry
    assert len(passed) <= 10, passed
    # One of these files defines the key of a model, and one passes on the results of branches
    # (jobs/steps.py).
    assert len(files) <= 14, files
    # Every place in a list counts. records.py, like json, passes all records without knowing their fields.
    assert len(files_passed - {CONVERTER}) <= 18, files_passed
