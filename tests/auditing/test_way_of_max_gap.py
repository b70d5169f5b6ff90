"""Number of files and calls that pass max_gap on, from the plan through the audit to the stored evidence.

The threshold is a number that occurs nowhere else here, so that it can be recognised everywhere: as a share
of the mean price, as written in the plan, and as an amount in units of the price.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pandas as pd

import fairdash
from fairdash.auditing.audit import execute_audit
from fairdash.auditing.evidence import AuditResult, read_plan
from fairdash.auditing.filing.view import report_of, summary_of
from fairdash.auditing.plan import plan_of
from fairdash.views.blocks import lines_of
from tests.auditing.test_audit import policies
from tests.ui.test_way_of_front import given, traced

PREFIX = str(Path(fairdash.__file__).parent)
MAX_GAP = 0.04371


def numbers_in(value: object) -> Iterator[tuple[str, float]]:
    """Kind of container and number, for the numbers in a value; the kind is "" for a single number."""
    held: object = ()
    if isinstance(value, float):
        yield "", float(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = [getattr(value, each.name, None) for each in dataclasses.fields(value)]
    elif isinstance(value, dict):
        held = list(value.values())
    elif isinstance(value, list | tuple) and len(value) < 50:
        held = value
    elif isinstance(value, pd.DataFrame):
        held = value.select_dtypes("number").to_numpy().ravel()[:2_000].tolist()
    yield from ((type(value).__name__, float(each)) for each in held if isinstance(each, float))  # type: ignore[attr-defined]


def test_max_gap_is_converted_to_an_amount_in_one_function_only(tmp_path: Path) -> None:
    frame = policies(150)
    returned_by: dict[float, set[str]] = {}
    kinds: dict[float, set[str]] = {}

    def watch(call: FrameType, event: str, returned: object) -> None:
        code = call.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(PREFIX):
            return
        for value in [returned] if event == "return" else given(call):
            for kind, number in numbers_in(value):
                kinds.setdefault(number, set()).add(kind)
                if event == "return" and not kind:
                    returned_by.setdefault(number, set()).add(code.co_name)

    with traced(watch):
        plan = plan_of("premium", "age", max_gap=MAX_GAP, questions=(1, 2))
        result = execute_audit(frame, plan)
        result.save(tmp_path / "a.zip")
        again = AuditResult.load(tmp_path / "a.zip")
        assert read_plan(tmp_path / "a.zip").plan == plan
        blocks = report_of(again, hashes={}, command="")
        lines = list(lines_of(summary_of(again)))
    amount = MAX_GAP * result.mean_price
    assert not math.isclose(amount, MAX_GAP)
    # One function converts the share to an amount; per cent are only written.
    assert returned_by[amount] == {"gap_allowed"}
    changes = [line for path in Path(PREFIX).rglob("*.py") for line in path.read_text("utf-8").splitlines()]
    assert [line.strip() for line in changes if re.search(r"max_gap \*|\* [\w.]*max_gap", line)] == [
        'return f"{100 * self.max_gap:g} %"',
        "return self.max_gap * mean_price",
    ]
    assert 100 * MAX_GAP not in kinds
    assert kinds[MAX_GAP] | kinds[amount] - {""} <= {"", "AuditPlan", "dict", "Chart"}
    written = f"{100 * MAX_GAP:g} %"
    assert any(written in line for line in lines)
    assert written in str(blocks)
