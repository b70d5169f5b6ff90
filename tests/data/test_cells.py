"""Notations in insurers' cells: money, percent, thousands separators and bands."""

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Roles, build_dataset, read_table
from fairdash.errors import DataError, Fix
from fairdash.tables.features import fixes_of_columns
from fairdash.tables.fixes import apply_fixes, conversions
from fairdash.tables.grammar import DAY_FIRST, MONTH_FIRST, bands_in_order, date_orders, to_dates, to_numbers
from fairdash.tables.readers.report import ReadingReport
from tests.data.tables import policies
from tests.data.workbooks import workbook


def column(*cells: str, **options):
    text = "a;b\n" + "".join(f"{cell};x\n" for cell in cells)
    frame, report = read_table(text.encode(), **options)
    return frame["a"], report


@pytest.mark.parametrize(("cells", "numbers", "unit"), [
    (["€ 1.076,78", "0,00 €", "€ 12"], [1076.78, 0, 12], "€"),
    (["$1,076.78", "-$5.50", "$ 1"], [1076.78, -5.5, 1], "$"),
    (["1 076,78 EUR", "12,5 EUR", "3"], [1076.78, 12.5, 3], "EUR"),
    (["CHF 1'076.78", "CHF 5.25"], [1076.78, 5.25], "CHF"),
    (["13,0 %", "7,5%", "100 %"], [13, 7.5, 100], "%"),
])  # fmt: skip
def test_cells_with_currency_or_percent_signs_become_numbers_and_the_unit_is_kept(cells, numbers, unit):
    values, report = column(*cells)
    assert (values.tolist(), dict(report.units)) == (numbers, {"a": unit})
    assert f"“a” in {unit}" in "\n".join(report.sentences())
    book = workbook({"Tab": [["a", "b"], *[[cell, 1.5] for cell in cells]]})
    assert read_table(book)[0]["a"].tolist() == numbers


@pytest.mark.parametrize(
    "cells",
    [["€ 5", "$ 5"], ["€ 5", "five"], ["5 m", "7 m"], ["5 €", "€"], ["€ 5 %", "€ 6 %"], ["€ 007", "€ 1"]],
)
def test_columns_with_mixed_or_unknown_units_stay_text(cells: list[str]) -> None:
    values, report = column(*cells)
    assert values.tolist() == cells
    assert not report.units


# Thousands: 10.717 kilometres.


@pytest.mark.parametrize(("cells", "numbers"), [
    (["10.717", "1.250.000"], [10717, 1250000]),
    (["10.717", "850,5"], [10717, 850.5]),
    (["10,717", "850.5"], [10717, 850.5]),
])  # fmt: skip
def test_an_ambiguous_thousands_separator_is_resolved_by_the_other_cells_of_its_column(cells, numbers):
    values, report = column(*cells)
    assert (values.tolist(), "as thousands separators, because its cells show this" in str(report.notes)) == (
        numbers,
        True,
    )


def test_an_ambiguous_thousands_separator_is_resolved_by_the_chosen_decimal_mark() -> None:
    cells = ["10.717", "9.250", "640"]
    values, report = column(*cells)
    assert values.tolist() == cells
    assert "Choose the decimal mark" in "\n".join(report.notes)
    values, report = column(*cells, decimal=",")
    assert values.tolist() == [10717, 9250, 640]
    assert "with points as thousands separators, as you chose (2 cells, lines 2, 3)" in "\n".join(
        report.notes
    )
    assert column(*cells, decimal=".")[0].tolist() == [10.717, 9.25, 640]


@pytest.mark.parametrize(
    "cells", [["10.717", "10.71"], ["10.717,5", "1,234.5"], ["10.71.7", "3"], ["0.717", "010.717"]]
)
def test_points_and_commas_that_do_not_group_thousands_are_never_read_as_separators(cells: list[str]) -> None:
    values, _ = column(*cells)
    assert values.tolist() in (cells, [10.717, 10.71])


# Bands.


@pytest.mark.parametrize("low_to_high", [
    ["1", "2-5", "6-7", "10+"], ["<18", "18-24", "25-34", "65+"], ["unter 18", "18 bis 64", "ab 65 Jahre"],
    ["moins de 18 ans", "18 à 64 ans", "65 ans et plus"], ["meno di 18 anni", "18-64 anni", "oltre 64 anni"],
    ["minder dan 18 jaar", "18 tot 64", "65 en meer"], ["[0, 5)", "[5, 10)", "[10, 99]"], ["0-1.5", "1.5–3", "> 3"],
])  # fmt: skip
def test_bands_are_sorted_from_low_to_high(low_to_high: list[str]) -> None:
    assert bands_in_order(low_to_high[::-1]) == tuple(low_to_high)


@pytest.mark.parametrize(
    "levels",
    [["1", "2"], ["A1", "B2"], ["12-3", "4-7"], ["0171-23", "030-45"], ["1-2-3", "4"], ["10+", "many"]],
)
def test_levels_without_numeric_ranges_are_not_taken_for_bands(levels: list[str]) -> None:
    assert bands_in_order(levels) is None


ORDER = ["1", "2", "3", "4-5", "6-7", "10+"]


def banded() -> tuple[pd.DataFrame, ReadingReport]:
    rng = np.random.default_rng(0)
    cost, age = rng.gamma(2, 100, 200).round(2), rng.integers(18, 80, 200)
    frame = pd.DataFrame({"cost": cost, "age": age, "rooms": rng.choice(ORDER, 200)})
    return read_table(frame.to_csv(index=False).encode())


def test_bands_become_ordered_categories_instead_of_numbers() -> None:
    frame, report = banded()
    assert "“rooms” contains bands, which are used as ordered categories." in report.notes
    roles = Roles(target="cost", sensitive=("age",), features=("rooms",))
    dataset = build_dataset(frame, roles, name="x")
    rooms = dataset.features["rooms"]
    assert rooms.cat.ordered
    assert rooms.cat.categories.tolist() == ORDER
    assert rooms.notna().all(), "no band is emptied"
    assert fixes_of_columns(frame[list(roles.features)]) == ()
    assert "1 column of bands, used as ordered categories (“rooms”)." in dataset.notes


def test_a_sensitive_attribute_in_bands_is_replaced_by_its_rank_if_the_user_agrees() -> None:
    frame, _ = banded()
    roles = Roles(target="cost", sensitive=("rooms",), features=("age",))
    with pytest.raises(DataError, match="contains bands") as refused:
        build_dataset(frame, roles, name="x")
    (problem,) = refused.value.problems
    assert problem.fixes == (Fix("order", "rooms"),)
    dataset = build_dataset(frame, roles, name="x", fixes=problem.fixes)
    assert dataset.sensitive["rooms"].tolist() == [ORDER.index(cell) + 1.0 for cell in frame["rooms"]]
    assert "“rooms” is used as the rank of its bands, from 1 to 6." in dataset.notes


# Accounting notation: negative amounts in brackets, a dash for zero, open-ended values.


RNG = np.random.default_rng(3)
PAID = RNG.gamma(1, 300, 400).round(2) * np.where(RNG.random(400) < 0.1, -1, 1)


def text_of(**columns: object) -> bytes:
    frame = pd.DataFrame(columns)
    return frame.assign(age=RNG.integers(18, 80, len(frame))).to_csv(index=False).encode()


@pytest.mark.every_case
@pytest.mark.parametrize(("negative", "positive"), [
    ("({:,.2f})", "{:.2f}"), ("({:,.2f})", "{:,.2f}"), ("{:.2f}-", "{:.2f}"), ("{:.2f} -", "{:.2f}"),
    ("−{:.2f}", "{:.2f}"), ("($ {:,.2f})", "$ {:,.2f}"), ("$ ({:,.2f})", "$ {:,.2f}"), ("( {:.2f} )", "{:.2f}"),
])  # fmt: skip
def test_negative_amounts_keep_their_sign(negative: str, positive: str) -> None:
    cells = [negative.format(-each) if each < 0 else positive.format(each) for each in PAID]
    table, report = read_table(text_of(paid=cells))
    np.testing.assert_array_equal(table["paid"], PAID)
    (said,) = (note for note in report.notes if "negative" in note)
    assert f"{(PAID < 0).sum()} cells" in said
    np.testing.assert_array_equal(to_numbers(pd.Series(cells)), PAID)


@pytest.mark.every_case
@pytest.mark.parametrize("cells", [
    ["(1)", "(2)", "(3)"] * 20, ["(a)", "5", "7"] * 20, ["2,500-", "60,313", "71,250", "250,000+"] * 20,
    ["0171-", "0172-", "030-"] * 20, ["5-", "7-", "8"] * 20,
])  # fmt: skip
def test_brackets_and_dashes_that_do_not_mark_negative_amounts_stay_text(cells: list[str]) -> None:
    table, _ = read_table(text_of(paid=cells))
    assert table["paid"].astype(str).tolist() == cells


@pytest.mark.parametrize(("mark", "share"), [("-", 0.75), ("–", 0.25), ("*", 0.25), ("..", 0.75)])
def test_a_placeholder_mark_among_numbers_is_reported_however_frequent_it_is(mark: str, share: float) -> None:
    cost = np.where(RNG.random(400) < share, mark, (50 + np.arange(400)).astype(str))
    table, report = read_table(text_of(price=RNG.normal(300, 9, 400).round(2), cost=cost))
    n = (cost == mark).sum()
    (said,) = (note for note in report.notes if "cost" in note)
    assert f"contains “{mark}” in {n} cells" in said
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
def test_words_and_mixed_marks_are_never_proposed_as_notations_for_zero(words: list[str]) -> None:
    cost = [*words * 100, *map(str, range(100, 300))]
    table, _ = read_table(text_of(cost=cost))
    assert "dash_zero" not in [way.kind for way in conversions(table["cost"])]


def test_an_open_ended_value_becomes_its_limit_when_the_conversion_is_chosen() -> None:
    cells = [*map(str, range(20_000, 21_000)), *["250000+"] * 30, *["<2500"] * 5]
    table, _ = read_table(text_of(income=cells))
    notes: list[str] = []
    roles = Roles(target="age", sensitive=("age",), features=("income",))
    found, _ = apply_fixes(table, roles, [Fix("convert", "income")], notes)
    assert found["income"].tolist()[-36:] == [20_999, *[250_000] * 30, *[2500] * 5]
    assert "35 cells with an open end, such as 90+, count as the limit (90)" in notes[0]


# Dates written as text: every order is recognised, and the user decides where day and month could be swapped.


ROLES = Roles(target="cost", sensitive=("age",), features=("rooms", "born"))
SURE = "%d.%m.%Y %m/%d/%Y %d-%m-%Y %Y/%m/%d %d-%b-%Y %d._%B_%Y %B_%d,_%Y %d.%m.%Y_%H:%M:%S".split()


def born(n: int = 60) -> pd.Series:
    days = np.random.default_rng(1).integers(0, 51 * 365, n)
    return pd.Series(pd.Timestamp("1950-01-01") + pd.to_timedelta(days, unit="D"), name="born")


@pytest.mark.bad_input(28)
@pytest.mark.parametrize("how", SURE)
def test_unambiguous_text_dates_are_read_as_dates_and_offered_as_year_or_age(how: str) -> None:
    days = born()
    texts = days.dt.strftime(how.replace("_", " "))
    texts[5] = ""
    frame, report = read_table(policies().assign(born=texts).to_csv(index=False, sep=";").encode())
    assert frame["born"].isna().tolist() == [k == 5 for k in range(60)]
    assert (frame["born"] == days)[frame["born"].notna()].all()
    assert any("“born” is read as dates, with" in sentence for sentence in report.sentences())
    (offer,) = fixes_of_columns(frame[list(ROLES.features)])
    assert offer.fixes == (Fix("year", "born"), Fix("age", "born"))


@pytest.mark.bad_input(28)
def test_an_ambiguous_sensitive_date_column_is_refused_with_fixes_for_both_day_month_orders() -> None:
    frame = policies().assign(born=[f"0{1 + k % 9}.{10 + k % 3}.{1950 + k % 40}" for k in range(60)])
    roles = Roles(target="cost", sensitive=("born",), features=("rooms",))
    with pytest.raises(DataError) as caught:
        build_dataset(frame, roles, name="test")
    (problem,) = caught.value.problems
    assert (problem.column, len(problem.fixes)) == ("born", 4)
    assert "day and month are ambiguous" in problem.what
    assert "1950" not in str(problem)
    dataset = build_dataset(frame, roles, name="test", fixes=(Fix("age_day_first", "born"),))
    assert "“born” is read as dates, with the day first, and used as an age in years" in str(dataset.notes)


@pytest.mark.parametrize(("texts", "orders"), [
    (["1.1.2019", "01.01.2020", "7.7.2020"], (DAY_FIRST,)),  # the same date in either order
    (["1.2.2019", "13.2.2019"], (DAY_FIRST,)), (["1.2.2019", "2.13.2019"], (MONTH_FIRST,)),
    (["13.2.2019", "2.13.2019"], ()), (["30.2.2019"], ()), (["29.2.2020"], (DAY_FIRST,)),
    (["31.12.19"], ()),  # the century is unclear
    (["31 Dezember 2019"], ()), (["31.12.2019", "2019-12-31"], ()), ([" 31.12.2019"], (DAY_FIRST,)),
    ([], ()),
])  # fmt: skip
def test_the_possible_day_and_month_orders_of_text_dates_are_found(texts, orders):
    assert date_orders(texts) == orders


def test_converting_text_to_dates_keeps_missing_cells_and_times() -> None:
    values = pd.Series(["2/1/2019 13:45", None, "3/1/2019 00:00:01.5"], index=[4, 5, 9])
    days = [pd.Timestamp("2019-02-01 13:45"), pd.NaT, pd.Timestamp("2019-03-01 00:00:01.5")]
    pd.testing.assert_series_equal(
        to_dates(values, MONTH_FIRST), pd.Series(days, index=values.index), check_dtype=False
    )
