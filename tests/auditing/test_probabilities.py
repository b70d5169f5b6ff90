"""Audits by probabilities of classes: what is said, what is refused, and that intervals and bounds hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import fairdash as fd
from benchmarks.class_probabilities import NAMES, sample
from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.filing.view import tables_of
from fairdash.errors import DataError
from fairdash.evaluation.classes import by_group, by_probability
from fairdash.views.blocks import document

COLUMNS = [f"p_{name}" for name in NAMES]


def table(*, calibrated: bool = True, n: int = 800) -> pd.DataFrame:
    y, p, known = sample(0, calibrated=calibrated, extra=8.0)
    frame = pd.DataFrame(p, columns=COLUMNS).assign(
        price=y, truth=np.array([*NAMES, None], dtype=object)[known]
    )
    return frame.assign(age=np.random.default_rng(1).normal(50, 9, len(y))).head(n)


def audited(frame: pd.DataFrame, **more: object) -> AuditResult:
    return fd.audit(frame, price="price", probabilities=COLUMNS, questions=[1], features=["age"], **more)


def test_certain_probabilities_are_classes() -> None:
    rng = np.random.default_rng(0)
    y, code, weight = rng.gamma(2, 50, 400), rng.integers(0, 3, 400), rng.uniform(0.5, 2, 400)
    found = by_probability(y, np.eye(3)[code], "abc", weight)
    classes = by_group(y, code, "abc", weight)
    columns = ["mean", "difference"]
    np.testing.assert_allclose(found[columns], classes[columns], rtol=1e-12)
    np.testing.assert_allclose(
        found[["bound_low", "bound_high"]], found[["difference_low", "difference_high"]], rtol=1e-6
    )
    np.testing.assert_allclose(found["p_value"], classes["p_value"], atol=0.02)


def test_bounds_are_those_of_a_linear_program() -> None:
    """Who is of the class, in [0, 1] a row, is free but for its mean among rows of equal p."""
    rng = np.random.default_rng(0)
    y, cell = rng.gamma(2, 50, 60), np.repeat([0, 1, 2], 20)
    q = np.array([0.2, 0.5, 0.9])[cell]
    found = by_probability(y, np.column_stack([q, 1 - q]), "ab")
    cells = np.eye(3)[cell].T
    for bound, sign in (("high", -1), ("low", 1)):
        best = linprog(sign * y, A_eq=cells, b_eq=cells @ q, bounds=(0, 1))
        ours = sign * best.fun
        exact = ours / q.sum() - (y.sum() - ours) / (1 - q).sum()
        off = found[f"bound_{bound}"][0] - exact
        assert 0 < -sign * off < 60
        # Many equal tables have the same bounds, and less noise.
        many = by_probability(np.tile(y, 900), np.tile(np.column_stack([q, 1 - q]), (900, 1)), "ab")
        assert many[f"bound_{bound}"][0] - exact == pytest.approx(off / 30, rel=0.05)


def test_an_audit_says_what_holds_and_what_does_not(tmp_path) -> None:
    result = audited(table(), known_class="truth")
    assert result.plan.columns.sensitive == "p_a"
    for part in ("if price and class are unrelated among rows of equal probability",
                 "the frequency of each class agrees with its probabilities"):  # fmt: skip
        assert part in result.answers[0].text
    assert set(result.tables["class_probabilities"]["class"]) == set(NAMES)
    assert document("", list(tables_of(result.tables, result)))
    assert AuditResult.load(result.save(tmp_path / "evidence.zip")).to_dict() == result.to_dict()
    shuffled = audited(table().sample(frac=1, random_state=1), known_class="truth")
    columns = result.tables["class_probabilities"].select_dtypes("number")
    assert np.allclose(shuffled.tables["class_probabilities"][columns.columns], columns)
    both = audited(table(), sensitive=["p_b", "p_a"])
    assert "Testing whether the probabilities are calibrated" in both.answers[0].text
    assert "class_probabilities" not in both.others[0].tables
    wrong = audited(table(calibrated=False), known_class="truth")
    assert "We corrected the probabilities" in wrong.answers[0].text


def test_what_is_no_probability_is_refused_with_its_rows() -> None:
    wrong = table()
    wrong.loc[[3, 7], "p_a"] += 0.2
    with pytest.raises(DataError, match="add up to 1") as caught:
        audited(wrong)
    (problem,) = caught.value.problems
    assert (list(problem.lines), problem.count) == ([5, 9], 2)
    with pytest.raises(DataError, match="no column of probabilities"):
        audited(table().assign(truth="z"), known_class="truth")
    with pytest.raises(DataError, match="a column for each class"):
        fd.audit(table(), price="price", probabilities=["p_a"])
