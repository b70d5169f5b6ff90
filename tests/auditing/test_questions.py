"""The audit as questions: one registry, a file or two a question, and data that nothing changes."""

from __future__ import annotations

from pathlib import Path

from fairdash.auditing.audit import OF_BOTH_PRICES
from fairdash.auditing.plan import CRITERIA, QUESTIONS
from fairdash.views.figures.audit import FIGURES

ROOT = Path(__file__).parent.parent.parent
AUDIT = ROOT / "fairdash" / "auditing"


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
