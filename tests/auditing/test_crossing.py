"""Combinations of sensitive attributes: gaps that no single attribute shows affect the verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.auditing.data import crossed_cells as cells_of
from fairdash.auditing.plan import Columns
from fairdash.evaluation.crossed_cells import MAX_CELLS

TWO = ["age", "sex"]


@pytest.fixture(autouse=True)
def without_links(monkeypatch):
    """Skip the p-value of the link to save time; no verdict depends on it."""
    monkeypatch.setattr("fairdash.auditing.data.p_of_any_link", lambda *_, **__: 0.5)


def people(n: int = 2_000) -> pd.DataFrame:
    """Rows with age, sex and one of three zones, and prices that depend on none of them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": np.repeat(np.linspace(18, 80, n // 2), 2), "sex": np.tile(["F", "M"], n // 2)}
    )
    frame["zone"], frame["income"] = rng.choice(["a", "b", "c"], n), rng.permutation(n).astype(float)
    return frame.assign(price=100 + rng.normal(0, 1, n))


def sign(values: pd.Series) -> np.ndarray:
    """−1 for the first class or the lower half, and 1 for the others."""
    is_low = values < values.median() if pd.api.types.is_numeric_dtype(values) else values == "F"
    return np.where(is_low, -1, 1)


def dear(table: pd.DataFrame, *names: str, by: float = 15.0) -> pd.DataFrame:
    """Raise or lower prices by `by` depending on the combination of attributes, not along either alone."""
    return table.assign(price=table["price"] + by * np.prod([sign(table[name]) for name in names], axis=0))


def audited(table: pd.DataFrame, sensitive: list[str], **more: object) -> fd.AuditResult:
    options = {"max_gap": 0.1, "questions": [1], **more}
    return fd.audit(table, price="price", sensitive=sensitive, **options)


def verdicts(result: fd.AuditResult) -> dict[str, str]:
    return {each.plan.columns.sensitive: each.verdict for each in result.along}


@pytest.fixture(scope="module")
def planted() -> fd.AuditResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairdash.auditing.data.p_of_any_link", lambda *_, **__: 0.5)
        return audited(dear(people(), *TWO), TWO, questions=[1, 2])


def test_with_three_attributes_independence_is_tested_for_every_pair_and_the_triple():
    three = ["age", "income", "sex"]
    result = audited(dear(people(), *three), three)
    found = verdicts(result)
    assert list(found) == [*three, "age × income", "age × sex", "income × sex", "age × income × sex"]
    assert [name for name in found if found[name] == "above"] == ["age × income × sex"]
    # With more than three attributes, only pairs with the first attribute are formed.
    four = Columns(price="price", sensitive="a", also=("b", "c", "d"))
    assert four.crossings == (("a", "b"), ("a", "c"), ("a", "d"))


def test_gaps_by_insurance_coverage_are_computed_between_combinations_of_attributes():
    table = people()
    table = dear(table, *TWO).where(table["zone"] == "a", table).assign(claims=table["price"])
    table["claims"] *= np.random.default_rng(1).gamma(2, 0.5, len(table))
    result = audited(table, TWO, questions=[1, 2, 5], outcome="claims", coverage="zone")
    gaps = result.others[-1].tables["by_coverage"].set_index("level")["gap"]
    assert gaps["a"] > 0.25
    assert gaps[["b", "c"]].max() < 0.05


def test_a_comparison_with_another_audit_includes_combinations_of_attributes(planted):
    moved = audited(people(), TWO, questions=[1, 2]).compare(planted).tables["moved"].set_index("what")
    row = moved.loc["Independence, “age × sex”"]
    assert (row["verdict_before"], row["verdict_now"]) == ("above", "below")
    assert row["ci_high"] < -0.25
    # The combination also determines the verdict of the whole audit and its exit status.
    assert planted.verdict == "above"
    assert planted.headline == "Independence: shown above the threshold for “age × sex”"
    assert planted.in_words.endswith("Shown below the threshold: “age”, “sex”.")


def test_a_combination_is_judged_by_conditional_independence_if_that_is_the_primary_criterion():
    table = people(600).drop(columns=["age", "income"]).assign(zone=np.tile(["F", "F", "M", "M"], 150))
    table["bonus"] = np.random.default_rng(2).normal(size=len(table))
    options = {"controls": ["bonus"], "criterion": "conditional_independence", "questions": [4]}
    table["price"] += table["bonus"]
    result = audited(dear(table, "sex", "zone"), ["sex", "zone"], **options)
    assert verdicts(result) == {"sex": "below", "zone": "below", "sex × zone": "above"}
    assert "“bonus”" in result.in_words


def test_a_combination_that_cannot_be_judged_is_noted_and_leaves_the_verdict_undecided():
    table = people(220).assign(price=100.0)
    table["age"] = table["age"].where(table.index >= 70)
    table["sex"] = table["sex"].where(table.index < 150, None)
    result = audited(table, TWO)
    assert (verdicts(result), result.verdict) == ({"age": "below", "sex": "below"}, "undecided")
    assert any("can't judge the combination" in note and "“age × sex”" in note for note in result.notes)


def test_the_smallest_groups_of_a_combination_are_merged_and_a_note_states_their_number():
    table = people().assign(sex="F")
    table.loc[[*range(30), *range(500, 512), *range(1000, 1012)], "sex"] = "M"
    result = audited(table, TWO)
    curve = result.others[-1].curve
    assert curve["class"].iloc[-1] == "all others"
    assert any("smallest cells" in note and "merged into “all others”" in note for note in result.every_note)
    # Each policy has five rows, and one age group has only a few policies.
    policies = people().assign(policy=np.arange(2000) // 5)
    policies.loc[policies.index < 200, "policy"] = policies["policy"] % 3
    found = cells_of(policies, Columns(price="price", sensitive="age", groups="policy"), ("age", "sex"))
    assert len(found.names) < 20


def test_the_order_of_attributes_and_the_order_of_rows_do_not_change_combined_groups():
    table, columns = people(), Columns(price="price", sensitive="age")
    one = cells_of(table, columns, ("age", "income", "zone"))
    other = cells_of(table, columns, ("zone", "age", "income"))
    assert len(one.names) == len(other.names) <= 25
    assert len(pd.DataFrame({"one": one.codes, "other": other.codes}).drop_duplicates()) == len(one.names)
    shuffled = table.sample(frac=1, random_state=1)
    again = cells_of(shuffled, columns, ("age", "income", "zone"))
    assert pd.Series(again.codes, shuffled.index).sort_index().tolist() == one.codes.tolist()
    pd.testing.assert_frame_equal(again.places, one.places)


@pytest.mark.parametrize(("first", "second", "count"), [(7, 7, 49), (12, 12, MAX_CELLS), (2, 25, 50)])
def test_combinations_of_attributes_with_classes_have_at_most_fifty_groups(first, second, count):
    rng, n = np.random.default_rng(0), 6_000
    numbers = pd.DataFrame({"a": rng.integers(0, first, n), "b": rng.integers(0, second, n)})
    table = numbers.map("c{:02}".format)
    found = cells_of(table, Columns(price="price", sensitive="a"), ("a", "b"))
    assert abs(len(found.names) - count) <= 3
    assert len(found.names) <= MAX_CELLS
    assert bool(found.note) == (first * second > MAX_CELLS)


def test_groups_of_an_attribute_with_large_values_have_distinct_names():
    table = people().assign(age=lambda table: 1_000_000 + table["age"] / 100)
    assert len(set(cells_of(table, Columns(price="price", sensitive="age"), ("age", "sex")).names)) == 20
