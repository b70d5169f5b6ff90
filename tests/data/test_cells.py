"""Cells as insurers write them: money, percent, thousands and bands."""

import numpy as np
import pandas as pd
import pytest

from fairdash.data import Roles, build_dataset
from fairdash.errors import DataError, Fix
from fairdash.tables.features import fixes_of_columns
from fairdash.tables.grammar import bands_in_order
from fairdash.tables.readers.reading import read_table
from fairdash.tables.readers.report import ReadingReport
from tests.data.workbooks import workbook


def column(*cells: str, **options):
    text = "a;b\n" + "".join(f"{cell};x\n" for cell in cells)
    frame, report = read_table(text.encode(), **options)
    return frame["a"], report


@pytest.mark.parametrize(
    ("cells", "numbers", "unit"),
    [
        (["€ 1.076,78", "0,00 €", "€ 12"], [1076.78, 0, 12], "€"),
        (["$1,076.78", "-$5.50", "$ 1"], [1076.78, -5.5, 1], "$"),
        (["1 076,78 EUR", "12,5 EUR", "3"], [1076.78, 12.5, 3], "EUR"),
        (["CHF 1'076.78", "CHF 5.25"], [1076.78, 5.25], "CHF"),
        (["13,0 %", "7,5%", "100 %"], [13, 7.5, 100], "%"),
    ],
)
def test_money_and_percent_are_numbers_and_their_unit_is_kept(
    cells: list[str], numbers: list[float], unit: str
) -> None:
    values, report = column(*cells)
    assert (values.tolist(), dict(report.units)) == (numbers, {"a": unit})
    assert f"“a” in {unit}" in "\n".join(report.sentences())
    book = workbook({"Tab": [["a", "b"], *[[cell, 1.5] for cell in cells]]})
    assert read_table(book)[0]["a"].tolist() == numbers


@pytest.mark.parametrize(
    "cells",
    [["€ 5", "$ 5"], ["€ 5", "five"], ["5 m", "7 m"], ["5 €", "€"], ["€ 5 %", "€ 6 %"], ["€ 007", "€ 1"]],
)
def test_other_units_stay_text(cells: list[str]) -> None:
    values, report = column(*cells)
    assert values.tolist() == cells
    assert not report.units


# Thousands: 10.717 kilometres.


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["10.717", "1.250.000"], [10717, 1250000]),
        (["10.717", "850,5"], [10717, 850.5]),
        (["10,717", "850.5"], [10717, 850.5]),
    ],
)
def test_the_columns_other_cells_decide(cells: list[str], numbers: list[float]) -> None:
    values, report = column(*cells)
    assert values.tolist() == numbers
    assert "between thousands, as its cells show" in "\n".join(report.notes)


def test_the_choice_of_the_decimal_mark_decides() -> None:
    cells = ["10.717", "9.250", "640"]
    values, report = column(*cells)
    assert values.tolist() == cells
    assert "Set the decimal mark to decide" in "\n".join(report.notes)
    values, report = column(*cells, decimal=",")
    assert values.tolist() == [10717, 9250, 640]
    assert "with points between thousands, as you chose (2 cells, lines 2, 3)" in "\n".join(report.notes)
    assert column(*cells, decimal=".")[0].tolist() == [10.717, 9.25, 640]


@pytest.mark.parametrize(
    "cells", [["10.717", "10.71"], ["10.717,5", "1,234.5"], ["10.71.7", "3"], ["0.717", "010.717"]]
)
def test_what_is_no_thousand_is_never_read_as_one(cells: list[str]) -> None:
    values, _ = column(*cells)
    assert values.tolist() in (cells, [10.717, 10.71])


# Bands.


@pytest.mark.parametrize(
    "low_to_high",
    [
        ["1", "2-5", "6-7", "10+"], ["<18", "18-24", "25-34", "65+"], ["unter 18", "18 bis 64", "ab 65 Jahre"],
        ["moins de 18 ans", "18 à 64 ans", "65 ans et plus"], ["meno di 18 anni", "18-64 anni", "oltre 64 anni"],
        ["minder dan 18 jaar", "18 tot 64", "65 en meer"], ["[0, 5)", "[5, 10)", "[10, 99]"], ["0-1.5", "1.5–3", "> 3"],
    ],
)  # fmt: skip
def test_bands_are_in_their_order(low_to_high: list[str]) -> None:
    assert bands_in_order(low_to_high[::-1]) == tuple(low_to_high)


@pytest.mark.parametrize(
    "levels",
    [["1", "2"], ["A1", "B2"], ["12-3", "4-7"], ["0171-23", "030-45"], ["1-2-3", "4"], ["10+", "many"]],
)
def test_other_levels_are_no_bands(levels: list[str]) -> None:
    assert bands_in_order(levels) is None


ORDER = ["1", "2", "3", "4-5", "6-7", "10+"]


def banded() -> tuple[pd.DataFrame, ReadingReport]:
    rng = np.random.default_rng(0)
    cost, age = rng.gamma(2, 100, 200).round(2), rng.integers(18, 80, 200)
    frame = pd.DataFrame({"cost": cost, "age": age, "rooms": rng.choice(ORDER, 200)})
    return read_table(frame.to_csv(index=False).encode())


def test_bands_are_ordered_categories_and_no_numbers() -> None:
    frame, report = banded()
    assert "“rooms” holds bands, used as ordered categories." in report.notes
    roles = Roles(target="cost", sensitive=("age",), features=("rooms",))
    dataset = build_dataset(frame, roles, name="x")
    rooms = dataset.features["rooms"]
    assert rooms.cat.ordered
    assert rooms.cat.categories.tolist() == ORDER
    assert rooms.notna().all(), "no band is emptied"
    assert fixes_of_columns(frame[list(roles.features)]) == ()
    assert "1 column of bands, as categories in their order (“rooms”)." in dataset.notes


def test_a_sensitive_attribute_in_bands_is_used_by_its_order() -> None:
    frame, _ = banded()
    roles = Roles(target="cost", sensitive=("rooms",), features=("age",))
    with pytest.raises(DataError, match="holds bands") as refused:
        build_dataset(frame, roles, name="x")
    (problem,) = refused.value.problems
    assert problem.fixes == (Fix("order", "rooms"),)
    dataset = build_dataset(frame, roles, name="x", fixes=problem.fixes)
    assert dataset.sensitive["rooms"].tolist() == [ORDER.index(cell) + 1.0 for cell in frame["rooms"]]
    assert "“rooms” is used as the rank of its bands, from 1 to 6." in dataset.notes
