"""From a run's id to the drawn front: number of files and records involved, and files read per move.

Before this path was shortened: 21 files and 20 records, and spec.json was read five times at every move of
the slider.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import streamlit as st
from streamlit.testing.v1 import AppTest

import fairdash
from fairdash.runs.store import Run
from tests.ui.conftest import move

PACKAGE = str(Path(fairdash.__file__).parent)
#: Fields of the records on this path, and the slider's scale, which is not a record.
PARTS = {"CatalogueSource", "Sweep", "TrainingSettings", "Split", "Gain", "ModelKey", "_TestRows"}
#: Converts all records without knowing their fields, as json does.
CONVERTER = "utils/records.py"
#: Trace of the last script: the records created, and for each file the arguments and results of its
#: functions.
MADE: dict[int, object] = {}
SEEN: dict[str, set[str]] = {}


def front_alone() -> None:
    """Do what the page does, from the id in its address to the drawn front."""
    from fairdash.ui.state import chosen_run
    from fairdash.ui.tradeoff.comparison import choose, show_pictures
    from tests.ui import test_way_of_front as way

    way.MADE.clear()
    way.SEEN.clear()
    with way.traced(way.note):
        run = chosen_run()
        show_pictures(choose(run), run)


def is_record(value: object) -> bool:
    kind = type(value)
    return kind.__module__.startswith("fairdash") and (dataclasses.is_dataclass(kind) or kind is Run)


def among(values: Iterable[object]) -> set[str]:
    """Names of the record types among these values and inside their sequences and mappings."""
    inner = [
        each.values() if isinstance(each, dict) else each if isinstance(each, list | tuple) else (each,)
        for each in values
    ]
    return {type(each).__name__ for part in (values, *inner) for each in part if is_record(each)}


@contextmanager
def traced(hook: Callable[[FrameType, str, object], None]) -> Iterator[None]:
    """Call the hook at every call and return, also in other threads."""
    before = sys.getprofile()
    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def given(frame: FrameType) -> list[object]:
    """The arguments of a call."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [frame.f_locals[name] for name in names if name in frame.f_locals]


def note(frame: FrameType, event: str, value: object) -> None:
    code = frame.f_code
    if event == "call" and code.co_name == "__init__" and is_record(made := frame.f_locals.get("self")):
        MADE[id(made)] = made
    if event in ("call", "return") and code.co_filename.startswith(PACKAGE) and code.co_name[0] != "<":
        values = [value] if event == "return" else given(frame)
        SEEN.setdefault(code.co_filename.removeprefix(f"{PACKAGE}/"), set()).update(among(values))


def way() -> tuple[set[str], set[str]]:
    """Files and records of the last trace."""
    records = {type(each).__name__ for each in MADE.values()} - PARTS
    return {file for file, names in SEEN.items() if names & records} - {CONVERTER}, records - {"Run"}


def test_code_that_draws_a_trade_off_curve_uses_a_limited_number_of_files_and_classes(finished_run):
    st.cache_resource.clear()
    at = AppTest.from_function(front_alone, default_timeout=60)
    at.query_params["run"] = finished_run.id
    at.run()
    files, records = way()
    # About is the content of about.json in a result: it validates files of other programs before they are
    # stored.
    assert records == {"RunSpec", "About", "SweepResult", "Front", "Comparison", "Label", "Picture", "Stops"}
    # A notebook reads the same result, but its class is not involved in reading a run.
    assert len(files) <= 14, ", ".join(sorted(files))
    assert {"runs/store.py", "views/reports/comparison.py", "views/figures/front.py"} <= files, (
        "the tracing sees the way"
    )
    at = move(at, 2.3)
    files, records = way()
    assert records <= {"RunSpec", "Comparison", "Label", "Picture"}, (
        "a move makes neither result nor front anew"
    )
    assert len(files) <= 13, ", ".join(sorted(files))
