"""Rows of an audit: each question takes its own, and of many a sample of policies is audited and said."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairdash as fd
from fairdash.auditing import audit
from fairdash.errors import DataError
from tests.auditing.test_audit import policies

ROLES = {
    "price": "premium", "sensitive": "age", "exposure": "years", "outcome": "claims",
    "expected_cost": "mu", "controls": ["zone", "bonus"], "candidate": "new", "features": ["zone", "bonus"],
}  # fmt: skip
ASKED = (1, 2, 3, 4, 5, 7, 9)
#: Column to the questions that don't use it; question 1 shows the second price's curve beside the first's.
UNUSED = {"claims": (1, 2, 3, 4, 7), "mu": (1, 2, 4), "new": (2, 3, 4, 5, 7), "zone": (1, 2, 3)}


def tariff(n: int = 700, seed: int = 0) -> pd.DataFrame:
    """Policies of which many have one price, age and exposure."""
    rng = np.random.default_rng(seed)
    frame = policies(n, seed=seed) if seed else policies(n)
    frame["premium"] = frame["premium"].round(-1)
    frame["age"], frame["bonus"] = frame["age"].round(-1), rng.integers(0, 5, n)
    return frame.assign(mu=frame["premium"] / 2, new=frame["premium"].round(-2) + 50)


def with_blanks(frame: pd.DataFrame, column: str, share: float = 0.3) -> pd.DataFrame:
    gone = np.random.default_rng(1).random(len(frame)) < share
    return frame.assign(**{column: frame[column].mask(gone)})


@pytest.fixture(scope="module")
def complete() -> fd.AuditResult:
    return fd.audit(tariff(), **ROLES, questions=ASKED)


@pytest.mark.parametrize("column", UNUSED)
def test_cells_missing_elsewhere_change_no_number(complete, column):
    result = fd.audit(with_blanks(tariff(), column), **ROLES, questions=UNUSED[column])
    both = complete, result
    for number in UNUSED[column]:
        then, now = (each.measures.query(f"question == {number}").reset_index(drop=True) for each in both)
        pd.testing.assert_frame_equal(then, now, check_exact=True)
        answers = [next(a for a in each.answers if a.question == number) for each in both]
        assert answers[0].text == answers[1].text
        for name in set(answers[0].tables) - {"curve"}:
            pd.testing.assert_frame_equal(complete.tables[name], result.tables[name], check_exact=True)
    pd.testing.assert_frame_equal(complete.curve, result.curve, check_exact=True)
    pd.testing.assert_series_equal(complete.verdicts.iloc[0], result.verdicts.iloc[0], check_exact=True)
    assert result.n == complete.n


def test_an_answer_says_what_it_leaves_out_and_that_a_blank_may_mean_none():
    frame = tariff()
    frame["claims"] = frame["claims"].where(frame["claims"] > frame["claims"].quantile(0.2))
    result = fd.audit(frame, price="premium", sensitive="age", outcome="claims", questions=[1, 3, 5])
    said = "Figures that use “claims” leave out 140 rows in which it is missing. A blank may mean no claim: write 0"
    assert [said in each.text for each in result.answers] == [False, True, True]
    assert result.n == len(frame)


def test_a_question_without_enough_rows_is_not_answered_and_the_others_are():
    frame = tariff().assign(claims=lambda each: each["claims"].where(each.index < 60))
    roles = {"price": "premium", "sensitive": "age", "outcome": "claims"}
    result = fd.audit(frame, **roles, questions=[1, 3, 5])
    assert result.verdict != "none"
    for part in ("Not answered: An audit needs 100 rows in which “claims” is known", "leave out 640 rows"):
        assert part in result.answers[2].text
    assert result.verdicts.set_index("criterion").loc["sufficiency", "verdict"] == "undecided"
    with pytest.raises(DataError, match="“claims” is known, and there are 60"):
        fd.audit(frame, **roles, criterion="sufficiency", questions=[1])


def test_classes_keep_their_names_where_cells_of_some_are_missing():
    frame = tariff()
    frame["region"] = np.random.default_rng(2).choice(list("abcd"), len(frame))
    frame["claims"] = frame["claims"].mask(frame["region"] == "b")
    result = fd.audit(frame, price="premium", sensitive="region", outcome="claims", questions=[1, 5])
    assert result.tables["classes"]["class"].tolist() == list("abcd")
    assert result.tables["residual_curve"]["class"].tolist() == list("acd")


def _policies(n: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n).astype(float)
    frame = pd.DataFrame({"premium": np.exp(5 + 0.1 * rng.normal(size=n) + 0.01 * age), "age": age})
    return frame.assign(policy=np.arange(n) // 2, other=rng.normal(size=n))


def test_of_many_rows_a_sample_of_whole_policies_is_audited_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _policies()
    options = {"price": "premium", "sensitive": "age", "questions": [1], "features": []}
    whole = fd.audit(table, **options)
    assert not [note for note in whole.notes if "drawn at random" in note]
    monkeypatch.setattr(audit, "MAX_ROWS", 1_000)
    some = fd.audit(table, **options, groups="policy")
    assert "1,000 of 3,000 rows are audited, drawn at random." in some.notes
    assert some.verdict == whole.verdict == "above"
    assert some.to_dict() == fd.audit(table, **options, groups="policy").to_dict()


def test_named_columns_of_a_parquet_file_whose_names_repeat_are_the_right_ones() -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([k] * 2) for k in range(4)], names=list("xaya")), buffer)
    frame, _ = fd.read_table(buffer.getvalue(), number_names=True, columns=["a", "y"])
    assert frame.iloc[0].to_dict() == {"a": 1, "y": 2, "a (2)": 3}
