"""Rating from a table that R wrote: intervals of `cut`, contrasts, levels that match nothing, no column of kinds."""

import pandas as pd
import pytest

import fairdash as fd
from fairdash.errors import DataError


def table(factor: str, levels: list[str], relativities: list[float]) -> pd.DataFrame:
    """A base rate of 100 and the relativities of one factor's levels."""
    rows = [("base", None, None, 100.0)]
    rows += [("level", factor, *each) for each in zip(levels, relativities, strict=True)]
    return pd.DataFrame(rows, columns=["kind", "factor", "level", "relativity"])


def rated(rates: pd.DataFrame, name: str, cells: list[object], **options: str) -> list[float]:
    return fd.rate(rates, pd.DataFrame({name: cells}), **options).round(9).tolist()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("levels", "ages", "premiums"),
    [
        (["[18,25]", "(25,90]"], [18, 25, 25.5, 90], [200, 200, 100, 100]),
        (["[18,25)", "[25,90)"], [18, 24, 25, 89], [200, 200, 100, 100]),
        (["(-Inf,25]", "(25, Inf]"], [1, 25, 26, 200], [200, 200, 100, 100]),
        (["18-24", "25+"], [18, 24, 25, 99], [200, 200, 100, 100]),
    ],
)
def test_intervals_hold_numbers_with_their_ends(levels: list[str], ages: list, premiums: list) -> None:
    rates = table("age", levels, [2.0, 1.0])
    assert (rated(rates, "age", ages), rated(rates, "age", levels)) == (premiums, [200, 100])


def test_bands_that_overlap_are_refused_and_a_band_may_hold_one_number() -> None:
    bands = pd.DataFrame({"factor": ["", "age", "age"], "from": [None, 18, 19], "to": [None, 18, 30]})
    assert rated(bands.assign(relativity=[100.0, 2.0, 1.0]), "age", [18, 19]) == [200, 100]
    with pytest.raises(DataError, match=r"“age”: several bands hold 20"):
        rated(table("age", ["18-24", "20-30"], [2.0, 1.0]), "age", [18, 20])


def test_numbers_outside_all_intervals_are_named_or_at_the_base() -> None:
    rates, frame = table("age", ["[18,25]", "(25,90]"], [2.0, 1.5]), pd.DataFrame({"age": [17, 20, 91]})
    with pytest.raises(DataError, match="rows 1, 3"):
        fd.rate(rates, frame)
    assert fd.rate(rates, frame, unknown="base").round(9).tolist() == [100, 200, 100]


@pytest.mark.parametrize("unknown", ["error", "base"])
def test_levels_that_match_nothing_are_refused(unknown: str) -> None:
    with pytest.raises(DataError, match="o cell matches any"):
        fd.rate(table("zone", ["A", "B"], [1.0, 2.0]), pd.DataFrame({"zone": ["a", "b"]}), unknown=unknown)
    with pytest.raises(DataError, match="contrasts of an ordered factor"):
        fd.rate(table("bonus", [".L", ".Q"], [0.7, 0.9]), pd.DataFrame({"bonus": ["low"]}), unknown=unknown)


def test_a_single_new_value_and_a_few_new_ones_are_at_the_base() -> None:
    rates = table("zone", ["A", "B"], [1.5, 2.0])
    assert rated(rates, "zone", ["new"], unknown="base") == [100]
    assert rated(rates, "zone", ["A", "x", "y"], unknown="base") == [150, 100, 100]
    codes = table("power", ["4", "5"], [1.5, 2.0])
    assert rated(codes, "power", [4, 5]) == [150, 200]


@pytest.mark.parametrize("base", [None, "(Intercept)", "Base rate"])
def test_the_kind_of_a_row_is_told_by_its_cells(base: str | None) -> None:
    rates = pd.DataFrame(
        {"Factor": [base, "zone", "zone"], "Level": [None, "A", "B"], "Relativity": [100.0, 1.0, 1.2]}
    )
    assert rated(rates, "zone", ["B", "A"]) == [120, 100]


def test_the_names_of_coefficients_are_refused_with_the_way() -> None:
    coefficients = pd.DataFrame({"term": ["(Intercept)", "zoneB"], "relativity": [100.0, 1.2]})
    with pytest.raises(DataError, match="split a coefficient's name such as zoneB"):
        fd.rate(coefficients, pd.DataFrame({"zone": ["B"]}))
