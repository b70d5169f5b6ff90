"""Rating with the exported table alone: the model's predictions, CSV and XLSX, and invalid changes."""

import csv
import io
import zipfile
from functools import cache

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.errors import DataError, OptionError, StorageError
from fairdash.tariff.files import csv_of, export
from tests.data.tables import memory_below
from tests.data.workbooks import CORNERS, workbook
from tests.tariff.test_model import OPTIONS, _target, policies

WAYS = ("frame", ".csv", ".xlsx")
#: Texts that spreadsheets would execute, drop, convert to numbers or damage.
HOSTILE = [
    "=1+1", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "'quoted", "", " blank ", "a,b;c", 'a"b"', "a\nb",
    "a\r\nb", "\r", "NaN", "None", "NA", "null", "1", "1.0", "007", "1e5", "TRUE", "(missing)", "\\", '\\"x"', "_x0041_",
    "<b>&amp;", "http://x.y", "\x00\x07", "\ufeff", "é😀中", "\u202eabc", "2020-01-01", "base", "missing",
]  # fmt: skip


def through(way, table, folder):
    """The table after writing it to a file and reading it."""
    if way == "frame":
        return table
    export(table, folder / f"tariff{way}")
    return fd.read_tariff(folder / f"tariff{way}")


@cache
def fitted(loss):
    """A tariff with all types of terms, different from the GLM."""
    table, claims, years, age = policies(300)
    model = fd.FairTariff(loss=loss, lam=0.2, tol=1, **OPTIONS)
    return model.fit(table, _target(loss, claims), sensitive_features=age, sample_weight=years)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("base", ["level", "average"])
@pytest.mark.parametrize("loss", ["poisson", "squared_error"])
def test_the_exported_table_alone_gives_the_premiums_of_the_model(loss, base, way, tmp_path):
    table = policies(300)[0]
    # Rows beyond the breakpoints and between them.
    others = table.assign(bonus=np.linspace(-9, 30, len(table)), value=table["value"] * 3)
    model = fitted(loss)
    relativities = through(way, model.relativities(base=base), tmp_path)
    for rows in (table, others):
        for each in (relativities, relativities.sample(frac=1, random_state=0)):
            assert fd.rate(each, rows) == pytest.approx(model.predict(rows), rel=1e-9)
    assert np.ptp(model.predict(others)) > 0.1


@pytest.mark.parametrize("way", WAYS)
def test_levels_and_names_with_special_characters_are_rated_correctly_after_export(way, tmp_path):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"=evil()": HOSTILE * 6, "-b": rng.choice(["x", None], size=6 * len(HOSTILE))})
    y = rng.gamma(2, 1 + np.arange(len(x)) % len(HOSTILE))
    model = fd.FairTariff(lam=0, interactions=[("=evil()", "-b")]).fit(x, y)
    premiums = model.predict(x)
    assert len(np.unique(premiums.round(9))) > len(HOSTILE)
    relativities = model.relativities()
    assert set(HOSTILE) == set(relativities.loc[relativities["factor"] == "=evil()", "level"].dropna())
    assert fd.rate(through(way, relativities, tmp_path), x) == pytest.approx(premiums, rel=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_exported_numbers_are_read_back_exactly(way, tmp_path):
    rng = np.random.default_rng(0)
    numbers = [*np.exp(rng.normal(0, 20, 300)), 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1 / 3, 1e16]
    table = pd.DataFrame({"factor": "km", "kind": "breakpoint", "from": numbers, "relativity": numbers})
    table.loc[0, ["factor", "kind", "from"]] = [None, "base", np.nan]
    table["from"] *= -1
    again = through(way, table, tmp_path)[["relativity", "from"]]
    pd.testing.assert_frame_equal(again, table[["relativity", "from"]], check_exact=True)


def test_an_exported_tariff_contains_no_formula_or_link(tmp_path):
    x = pd.DataFrame({"=evil()": HOSTILE * 3})
    model = fd.FairTariff(lam=0).fit(x, np.arange(len(x)) % 7)
    model.export(tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        sheets = [book.read(name) for name in book.namelist() if name.startswith("xl/worksheets/")]
    assert len([name for name in sheets if b"<sheetData>" in name]) == 2
    assert not any(b"<f>" in sheet or b"hyperlink" in sheet for sheet in sheets)
    text = csv_of(model.relativities()).decode("utf-8-sig")
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in cells)
    assert all(np.isfinite(float(cell)) for cell in cells if cell.startswith("-"))


def test_cells_without_a_relativity_are_refused_with_row_numbers_or_rated_as_the_base_level():
    table, claims, _, _ = policies()
    model = fd.FairTariff(lam=0, **OPTIONS).fit(table, claims)
    relativities = model.relativities()
    other = table.copy()
    other.loc[[2, 5], "zone"] = "Z"
    other.loc[7, "bonus"] = np.nan
    with pytest.raises(DataError) as caught:
        fd.rate(relativities, other)
    assert [(each.column, each.count) for each in caught.value.problems] == [("bonus", 1), ("zone", 2)]
    assert "rows 3, 6 (2 places)" in str(caught.value)
    assert 'unknown="base"' in str(caught.value)
    with pytest.warns(UserWarning, match=r"are treated as the base, in: “bonus” \(1\), “zone” \(2\)"):
        expected = model.predict(other)
    assert fd.rate(relativities, other, unknown="base") == pytest.approx(expected, rel=1e-9)
    with pytest.raises(OptionError, match="unknown"):
        fd.rate(relativities, other, unknown="nan")


def _changed(**cells):
    """A small table with every type of row and one changed cell."""
    rows = [
        (None, "base", None, None, None, None, 100.0), ("zone", "level", "A", None, None, None, 1.0),
        ("zone", "level", "B", None, None, None, 1.5), ("age", "breakpoint", None, 20.0, None, None, 2.0),
        ("age", "breakpoint", None, 60.0, None, None, 1.0), ("value", "band", None, None, None, 10.0, 1.0),
        ("value", "band", None, None, 10.0, None, 3.0),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["factor", "kind", "level", "at", "from", "to", "relativity"])
    for name, (row, cell) in cells.items():
        table.loc[row, name] = cell
    return table


def test_a_handwritten_table_of_relativities_can_be_used_for_rating():
    rows = pd.DataFrame({"zone": ["A", "B", "B"], "age": [40.0, 90.0, 20.0], "value": [9.99, 10.0, 5.0]})
    expected = [100 * 2**0.5, 100 * 1.5 * 1 * 3, 100 * 1.5 * 2]
    assert fd.rate(_changed(), rows) == pytest.approx(expected)
    added = _changed().rename(columns={"relativity": "points"})
    assert fd.rate(added, rows) == pytest.approx([100 + 1 + 1.5 + 1, 100 + 1.5 + 1 + 3, 100 + 1.5 + 2 + 1])


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"kind": (2, "levels")}, "rows 4 .* a kind other"), ({"kind": (0, "level")}, "must have exactly one base"),
        ({"relativity": (2, 0.0)}, "rows 4 .* no number above 0"),
        ({"relativity": (2, np.nan)}, "rows 4 .* no number above 0"),
        ({"factor": (2, None)}, "rows 4 .* have no factor"), ({"level": (2, None)}, "rows 4 .* have no level"),
        ({"level": (2, "A")}, "appears twice"), ({"at": (4, 20.0)}, "appears twice"),
        ({"from": (6, 11.0)}, "leave a gap"), ({"to": (6, 11.0)}, "leave a gap"),
        ({"factor": (4, "zone")}, "several kinds"),
    ],
)  # fmt: skip
def test_an_invalid_table_of_relativities_is_refused_with_the_reason(cells, says):
    with pytest.raises(DataError, match=says):
        fd.rate(_changed(**cells), pd.DataFrame({"zone": ["A"], "age": [30.0], "value": [1.0]}))


def test_tables_and_files_that_are_not_tariffs_are_refused(tmp_path):
    with pytest.raises(DataError, match="“relativity” or “points”"):
        fd.rate(pd.DataFrame({"factor": ["a"], "kind": ["base"]}), pd.DataFrame({"a": [1]}))
    with pytest.raises(OptionError, match=r"\.csv or an \.xlsx"):
        export(_changed(), tmp_path / "t.pkl")
    for name in ("damaged.csv", "damaged.xlsx"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00garbage")
    for name in ("missing.csv", "missing.xlsx", "damaged.csv", "damaged.xlsx"):
        with pytest.raises(StorageError, match="can't be read as a tariff"):
            fd.read_tariff(tmp_path / name)


def test_an_oversized_tariff_file_is_refused_within_limited_memory(tmp_path):
    far, commas = tmp_path / "far.xlsx", tmp_path / "commas.csv"
    far.write_bytes(workbook({"Relativities": CORNERS}))
    assert far.stat().st_size < 10_000
    commas.write_bytes(b"," * 30_000_000)
    for path, cells in ((far, "17,179,869,184 cells"), (commas, "5,000,000 cells")):
        with memory_below(1e9), pytest.raises(StorageError, match=f"can't be read as a tariff.*{cells}"):
            fd.read_tariff(path)


@pytest.mark.parametrize(
    ("header", "row", "says"),
    [
        (["a", "b"], [1, 2], "needs rows and columns"),
        (["factor", "kind", "relativity", "points"], ["zone", "level", 1, 1], "needs rows and columns"),
        (["factor", "kind", "relativity"], None, "needs rows and columns"),
        (["factor", "kind", "kind", "relativity"], ["", "base", "base", 1], "appears twice in its header"),
        (["factor", "kind", "relativity"], ["", "base", "much"], "column “relativity”"),
        (["factor", "kind", "relativity"], ["\\" + "[" * 30_000, "base", 1], "column “factor”"),
    ],
)
def test_tariff_files_with_wrong_columns_or_cells_are_refused(header, row, says, tmp_path):
    """A file without the columns of a tariff was once read as an empty tariff."""
    rows = [header] if row is None else [header, row]
    (tmp_path / "t.xlsx").write_bytes(workbook({"Relativities": rows}))
    (tmp_path / "t.csv").write_text("\n".join(",".join(map(str, each)) for each in rows), encoding="utf-8")
    for name in ("t.xlsx", "t.csv"):
        with pytest.raises(StorageError, match=says):
            fd.read_tariff(tmp_path / name)


def test_the_formula_of_a_tariff_explains_how_to_compute_a_premium():
    table, claims, years, _ = policies()
    model = fd.FairTariff(lam=0, **OPTIONS).fit(table, claims, sample_weight=years)
    base = model.relativities()["relativity"].iloc[0]
    words = model.formula()
    assert words.startswith(
        f"The premium is the base, {base:.6g}, times one relativity for each of: “bonus”, “value”"
    )
    for part in ("the pair “zone” and “gender”", "straight line", "A band includes", "missing cell"):
        assert part in words
    added = fd.FairTariff(lam=0, loss="squared_error").fit(table[["bonus"]], claims).formula()
    assert [part in added for part in ("plus points", "relativit", "band")] == [True, False, False]


# Rating with a table from R: intervals of `cut`, contrasts, levels that match nothing, no column of kinds.


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
def test_rating_intervals_include_closed_ends_and_exclude_open_ends(levels, ages, premiums):
    rates = table("age", levels, [2.0, 1.0])
    assert (rated(rates, "age", ages), rated(rates, "age", levels)) == (premiums, [200, 100])


def test_overlapping_bands_are_refused_and_a_band_may_consist_of_one_number() -> None:
    bands = pd.DataFrame({"factor": ["", "age", "age"], "from": [None, 18, 19], "to": [None, 18, 30]})
    assert rated(bands.assign(relativity=[100.0, 2.0, 1.0]), "age", [18, 19]) == [200, 100]
    with pytest.raises(DataError, match=r"“age”: several bands contain 20"):
        rated(table("age", ["18-24", "20-30"], [2.0, 1.0]), "age", [18, 20])


def test_numbers_outside_all_intervals_are_refused_with_row_numbers_or_rated_as_the_base_level() -> None:
    rates, frame = table("age", ["[18,25]", "(25,90]"], [2.0, 1.5]), pd.DataFrame({"age": [17, 20, 91]})
    with pytest.raises(DataError, match="rows 1, 3"):
        fd.rate(rates, frame)
    assert fd.rate(rates, frame, unknown="base").round(9).tolist() == [100, 200, 100]


@pytest.mark.parametrize("unknown", ["error", "base"])
def test_a_table_of_relativities_whose_levels_match_no_cell_is_refused(unknown: str) -> None:
    with pytest.raises(DataError, match="o cell of this column matches"):
        fd.rate(table("zone", ["A", "B"], [1.0, 2.0]), pd.DataFrame({"zone": ["a", "b"]}), unknown=unknown)
    with pytest.raises(DataError, match="contrasts of an ordered factor"):
        fd.rate(table("bonus", [".L", ".Q"], [0.7, 0.9]), pd.DataFrame({"bonus": ["low"]}), unknown=unknown)


def test_a_few_unknown_levels_are_rated_as_the_base_level_if_the_user_allows_it() -> None:
    rates = table("zone", ["A", "B"], [1.5, 2.0])
    assert rated(rates, "zone", ["new"], unknown="base") == [100]
    assert rated(rates, "zone", ["A", "x", "y"], unknown="base") == [150, 100, 100]
    codes = table("power", ["4", "5"], [1.5, 2.0])
    assert rated(codes, "power", [4, 5]) == [150, 200]


@pytest.mark.parametrize("base", [None, "(Intercept)", "Base rate"])
def test_the_base_rate_of_a_tariff_table_is_recognised_without_a_column_of_types(base: str | None) -> None:
    rates = pd.DataFrame(
        {"Factor": [base, "zone", "zone"], "Level": [None, "A", "B"], "Relativity": [100.0, 1.0, 1.2]}
    )
    assert rated(rates, "zone", ["B", "A"]) == [120, 100]


def test_a_table_of_coefficient_names_is_refused_with_advice_to_split_them() -> None:
    coefficients = pd.DataFrame({"term": ["(Intercept)", "zoneB"], "relativity": [100.0, 1.2]})
    with pytest.raises(DataError, match="split a coefficient's name, such as zoneB"):
        fd.rate(coefficients, pd.DataFrame({"zone": ["B"]}))
