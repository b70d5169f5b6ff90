"""Amounts as accounts write them: negative ones in brackets, zeros as a dash, open ends."""

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Roles, build_dataset, read_table
from fairdash.errors import Fix
from fairdash.tables.fixes import apply_fixes, conversions
from fairdash.tables.grammar import to_numbers

RNG = np.random.default_rng(3)
PAID = RNG.gamma(1, 300, 400).round(2) * np.where(RNG.random(400) < 0.1, -1, 1)


def text_of(**columns: object) -> bytes:
    frame = pd.DataFrame(columns)
    return frame.assign(age=RNG.integers(18, 80, len(frame))).to_csv(index=False).encode()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("negative", "positive"),
    [
        ("({:,.2f})", "{:.2f}"), ("({:,.2f})", "{:,.2f}"), ("{:.2f}-", "{:.2f}"), ("{:.2f} -", "{:.2f}"),
        ("−{:.2f}", "{:.2f}"), ("($ {:,.2f})", "$ {:,.2f}"), ("$ ({:,.2f})", "$ {:,.2f}"), ("( {:.2f} )", "{:.2f}"),
    ],
)  # fmt: skip
def test_negative_amounts_keep_their_sign(negative: str, positive: str) -> None:
    cells = [negative.format(-each) if each < 0 else positive.format(each) for each in PAID]
    table, report = read_table(text_of(paid=cells))
    np.testing.assert_array_equal(table["paid"], PAID)
    (said,) = (note for note in report.notes if "negative" in note)
    assert f"{(PAID < 0).sum()} cells" in said
    np.testing.assert_array_equal(to_numbers(pd.Series(cells)), PAID)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "cells",
    [
        ["(1)", "(2)", "(3)"] * 20, ["(a)", "5", "7"] * 20, ["2,500-", "60,313", "71,250", "250,000+"] * 20,
        ["0171-", "0172-", "030-"] * 20, ["5-", "7-", "8"] * 20,
    ],
)  # fmt: skip
def test_brackets_and_dashes_of_other_meaning_stay_text(cells: list[str]) -> None:
    table, _ = read_table(text_of(paid=cells))
    assert table["paid"].astype(str).tolist() == cells


@pytest.mark.parametrize(("mark", "share"), [("-", 0.75), ("–", 0.25), ("*", 0.25), ("..", 0.75)])
def test_one_mark_among_numbers_is_said_however_frequent(mark: str, share: float) -> None:
    cost = np.where(RNG.random(400) < share, mark, (50 + np.arange(400)).astype(str))
    table, report = read_table(text_of(price=RNG.normal(300, 9, 400).round(2), cost=cost))
    n = (cost == mark).sum()
    (said,) = (note for note in report.notes if "cost" in note)
    assert f"holds “{mark}” in {n} cells" in said
    ways = conversions(table["cost"])
    assert [way.kind for way in ways] == ["convert", "dash_zero"]
    roles = Roles(target="price", sensitive=("age",), features=("cost",))
    for kind, missing in (("convert", n), ("dash_zero", 0)):
        found, _ = apply_fixes(table, roles, [Fix(kind, "cost")], [])
        assert (found["cost"].isna().sum(), (found["cost"] == 0).sum()) == (missing, n - missing)
    data = build_dataset(table, roles, name="x", fixes=[Fix("dash_zero", "cost")])
    assert any(f"“{mark}” is 0 ({n} cells)" in note for note in data.notes)
    assert read_table(text_of(cost=cost), also_missing=[mark])[0]["cost"].isna().sum() == n


@pytest.mark.parametrize("words", [["soon", "-"], ["A"], ["-", "*"], ["M", "F"]])
def test_words_and_several_marks_are_no_zeros(words: list[str]) -> None:
    cost = [*words * 100, *map(str, range(100, 300))]
    table, _ = read_table(text_of(cost=cost))
    assert "dash_zero" not in [way.kind for way in conversions(table["cost"])]


def test_an_open_end_counts_as_its_limit_after_the_click() -> None:
    cells = [*map(str, range(20_000, 21_000)), *["250000+"] * 30, *["<2500"] * 5]
    table, _ = read_table(text_of(income=cells))
    notes: list[str] = []
    roles = Roles(target="age", sensitive=("age",), features=("income",))
    found, _ = apply_fixes(table, roles, [Fix("convert", "income")], notes)
    assert found["income"].tolist()[-36:] == [20_999, *[250_000] * 30, *[2500] * 5]
    assert "35 cells with an open end, such as 90+, count as the limit" in notes[0]
