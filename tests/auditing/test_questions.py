"""The audit as questions: one registry, a file or two a question, and data that nothing changes."""

from __future__ import annotations

import re
from pathlib import Path

from fairdash.auditing.audit import OF_BOTH_PRICES
from fairdash.auditing.plan import CRITERIA, QUESTIONS
from fairdash.views.figures.audit import FIGURES

ROOT = Path(__file__).parent.parent.parent
AUDIT = ROOT / "fairdash" / "auditing"


def imports(path: Path) -> set[str]:
    """Files of the audit that a file of it names, wherever it imports them."""
    return set(re.findall(r"^ *from (fairdash\.auditing\.\S+) import", path.read_text("utf-8"), re.MULTILINE))


def test_a_question_is_answered_by_a_function_in_a_file_that_holds_two_at_most():
    assert list(QUESTIONS) == list(range(1, len(QUESTIONS) + 1))
    files = [each.implementation.partition(":")[0] for each in QUESTIONS.values()]
    assert max(files.count(name) for name in files) <= 2
    for name, each in zip(files, QUESTIONS.values(), strict=True):
        assert each.answer.__module__ == f"fairdash.auditing.questions.{name}"
        assert each.answer.__doc__
    assert {each.question for each in CRITERIA.values()} <= set(QUESTIONS)
    assert {10} == OF_BOTH_PRICES


def test_every_figure_of_an_audit_is_of_a_table_that_a_question_or_a_comparison_has():
    tables = {name for each in QUESTIONS.values() for name in each.tables}
    measures = {f"measures_{number}" for number in QUESTIONS}
    assert set(FIGURES) <= tables | measures | {"moved_curve"}


def test_no_file_imports_one_that_imports_it():
    paths = [path for path in AUDIT.rglob("*.py") if path.name != "__init__.py"]
    uses = {".".join(path.relative_to(ROOT).with_suffix("").parts): imports(path) for path in paths}
    folders = [path.parent for path in paths]
    assert max(folders.count(folder) for folder in folders) <= 11
    while uses:
        free = [name for name, others in uses.items() if not others & set(uses)]
        assert free, f"a circle among {sorted(uses)}"
        for name in free:
            del uses[name]


def test_the_largest_gap_is_a_share_in_few_files_and_becomes_an_amount_in_one_place():
    files = [*(ROOT / "fairdash").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    named = {path.name for path in files if "max_gap" in path.read_text("utf-8")}
    assert len(named) <= 8, sorted(named)
    times = [path.name for path in files if "max_gap *" in path.read_text("utf-8")]
    assert times == ["plan.py"]
