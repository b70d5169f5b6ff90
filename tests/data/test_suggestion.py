import csv
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data import suggest_roles
from fairdash.tables.features import fixes_of_columns
from fairdash.tables.header_words import meanings_of
from fairdash.tables.suggestion import NAMES_PLACES, OTHER_CLAIMS, pricing_targets
from tests.data.tables import policies


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()))


#: Headers of published tables, with the roles of their columns.
HEADERS = {row["table"]: row for row in _rows("headers.csv")}
_TEXT = ["Area", "VehBrand", "VehGas", "Region", "Gender", "Type", "Category", "Occupation", "zone", "PLZ"]


def table_of(headers: list[str], n: int = 200) -> pd.DataFrame:
    """Uninformative numbers, with columns of text, dates and row numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(1, 60, n) for name in headers})
    for name in headers:
        if name in _TEXT:
            frame[name] = rng.choice(["a", "b", "c"], n)
        elif name.startswith("Record"):
            frame[name] = pd.date_range("2004-01-01", periods=n)
    return frame


def test_age_and_cost_columns_are_suggested_as_sensitive_and_target() -> None:
    frame = policies().assign(bldg_age=range(60), PolicyId=range(1000, 1060), empty=float("nan"))
    found = suggest_roles(frame)
    assert (found.target, found.sensitive) == ("cost", ("age",))
    assert found.features == ("rooms", "town", "bldg_age")
    assert found.left_out == {"PolicyId": "numbers the rows", "empty": "every cell is missing"}


def test_a_class_column_is_suggested_as_sensitive_if_no_numeric_one_exists() -> None:
    rng = np.random.default_rng(0)
    frame = policies().assign(Geschlecht=rng.choice(["m", "w"], 60), town=rng.choice(["a", "b"], 60))
    assert suggest_roles(frame).sensitive == ("age",)
    found = suggest_roles(frame.drop(columns="age"))
    assert found.sensitive == ("Geschlecht",)
    assert "Geschlecht" not in found.features
    assert suggest_roles(frame.drop(columns="age").assign(Geschlecht="w")).sensitive == ()


def test_no_target_or_sensitive_column_is_suggested_for_uninformative_names() -> None:
    found = suggest_roles(pd.DataFrame({"x1": [1, 2, 3], "x2": [3, 1, 2]}))
    assert (found.target, found.sensitive, found.features) == (None, (), ("x1", "x2"))


@pytest.mark.parametrize("name", ["weight", "days", "years", "export", "expected"])
def test_exposure_is_not_suggested_for_ambiguous_names(name: str) -> None:
    assert suggest_roles(pd.DataFrame({name: [0.5, 1.0, 0.2], "x": [3, 1, 2]})).weight is None


def _cents(rng: np.random.Generator, count: np.ndarray) -> np.ndarray:
    return np.where(count > 0, rng.gamma(1.2, 900, len(count)).round(2) + 1, 0)


#: Column header, as a pattern, mapped to a generator of plausible cells: costs of claims, counts, claim
#: indicators, premiums in cents, exposures, postcodes and ages from 18. The first matching pattern applies.
CELLS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "amount|aufwand|importo|importe|bedrag|montant|indt": _cents,
    "nclaims|claimnb|anz|numero sin|num_sin|aantal|nbsin|schadenanzahl|numtp": lambda rng, count: count,
    "^claim(ind)?$": lambda rng, count: (count > 0).astype(int),
    "^average$": lambda rng, count: np.where(count > 0, _cents(rng, count), np.nan),
    "^fleet$": lambda rng, count: pd.Categorical(rng.choice(["0", "1"], len(count))),
    "prämie|beitrag|prim|premi": lambda rng, count: rng.gamma(9, 60, len(count)).round(2),
    "expo|jahre|looptijd|laufzeit|exppdays": lambda rng, count: rng.uniform(0.05, 1, len(count)).round(3),
    "plz|postal|postcode": lambda rng, count: rng.integers(10_000, 99_999, len(count)),
    "age|alter|âge|età|edad|leeftijd": lambda rng, count: rng.integers(18, 90, len(count)),
}


def plausible_table(headers: list[str], n: int = 400) -> pd.DataFrame:
    """A table of plausible values, with one claim in eight rows."""
    rng = np.random.default_rng(5)
    count = rng.poisson(0.13, n)
    frame = table_of(headers, n)
    for name in headers:
        if "policy_number" in meanings_of(name) or name.lower() == "id":
            frame[name] = rng.permutation(n) + 10_000
        fitting = [cells for words, cells in CELLS.items() if re.search(words, name.lower())]
        if fitting:
            frame[name] = fitting[0](rng, count)
    return frame


@pytest.mark.parametrize("make", [table_of, plausible_table])
@pytest.mark.parametrize("table", HEADERS)
def test_roles_are_suggested_correctly_for_headers_of_known_tables(table, make):
    row = HEADERS[table]
    frame = make(row["headers"].split("|"))
    found = suggest_roles(frame)
    assert found.sensitive == (row["sensitive"],)
    roles = (found.target, found.weight, found.prediction or "")
    assert roles == (row["target"], row["exposure"], row["price"])
    # These columns are recognised by their cells, which are random in this table.
    by_cells = {"amount", "id", "PLZ"} if make is table_of else set()
    no_features = set(row["not a feature"].split("|")) - by_cells
    assert no_features <= set(found.left_out)
    assert "|".join(each.id for each in pricing_targets(frame)) == row["offered"]
    assert not {"VehAge", "agec", "AgeVehicule"} & set(found.left_out)


#: Common column names in English, German, French, Spanish, Italian and Dutch with their meanings, the last
#: three languages without accents or gaps; and names of ages that are not the age of a person.
NAMES = [(row["concept"], row["name"]) for row in _rows("names.csv")]


@pytest.mark.parametrize(("concept", "name"), [each for each in NAMES if each[0] != "nobody"])
def test_common_column_names_in_six_languages_are_recognised(concept: str, name: str) -> None:
    assert concept in meanings_of(name)
    found = suggest_roles(table_of([name, "rooms", "power"]))
    by_role = dict.fromkeys(("driver_age", "age", "income"), found.sensitive)
    by_role |= {"exposure": (found.weight,), "policy_number": tuple(found.left_out)}
    assert by_role.get(concept, (found.target,)) == (name,)


@pytest.mark.parametrize("name", [name for concept, name in NAMES if concept == "nobody"])
def test_the_age_of_an_object_is_not_suggested_as_sensitive(name: str) -> None:
    assert suggest_roles(table_of([name, "power"])).sensitive == ()


def test_the_drivers_age_is_preferred_to_other_ages_as_sensitive() -> None:
    assert suggest_roles(table_of(["Age", "income", "DrivAge"])).sensitive == ("DrivAge",)


def claims(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    count = rng.poisson(0.2, n)
    amount = np.where(count > 0, rng.gamma(2, 500, n).round(2), 0)
    known = {"ClaimNb": count, "ClaimInd": (count > 0).astype(int), "ClaimAmount": amount}
    known |= {"cents": (100 * amount).round(), "damaged": np.where(count > 0, "yes", "no")}
    before = {"PriorClaims": rng.poisson(0.2, n), "DrivAge": rng.integers(18, 80, n)}
    return pd.DataFrame({**known, **before, "VehPower": rng.integers(4, 12, n)})


def test_columns_known_only_after_the_outcome_are_not_suggested_as_features() -> None:
    found = suggest_roles(claims())
    assert found.target == "ClaimAmount"
    assert found.left_out == {
        **dict.fromkeys(("ClaimNb", "ClaimInd"), "it is 0 exactly where the target is 0"),
        "cents": "the target can be recovered from it",
        "damaged": "it shows in every row whether the target is 0",
    }
    assert found.features == ("PriorClaims", "VehPower")
    other = suggest_roles(claims(), target="ClaimInd")
    assert set(other.left_out) == {"ClaimNb", "ClaimAmount", "cents", "damaged"}
    unlike = claims().assign(ClaimAmount=np.random.default_rng(2).gamma(2, 500, 400))
    assert suggest_roles(unlike, target="ClaimNb").left_out["ClaimAmount"] == OTHER_CLAIMS


def test_a_claim_indicator_stays_a_feature_if_a_claim_has_an_amount_of_zero() -> None:
    """In that case only its name would exclude the column, and a column of another name stays."""
    frame = claims().rename(columns={"ClaimInd": "reported"})
    frame.loc[frame["reported"].idxmax(), "ClaimAmount"] = 0
    assert "reported" in suggest_roles(frame, target="ClaimAmount").features


def test_numeric_postcodes_are_left_out_and_text_postcodes_become_a_categorical_feature() -> None:
    frame = plausible_table(["PLZ", "Alter", "Kosten", "rooms"])
    found = suggest_roles(frame)
    assert (found.left_out, found.notes_on_codes) == ({"PLZ": NAMES_PLACES}, ("PLZ",))
    as_text = frame.assign(PLZ=(frame["PLZ"] // 1000).astype(str))
    assert "PLZ" in suggest_roles(as_text).features


def test_a_column_named_amount_is_a_claim_total_only_if_it_is_mostly_zero() -> None:
    """A mostly zero column is a claim total. Sums insured, which are never zero, are not."""
    frame = plausible_table(["amount", "expo", "ageph"])
    assert [(each.id, each.target) for each in pricing_targets(frame)] == [("pure_premium", "amount")]
    insured = frame.assign(amount=np.random.default_rng(0).uniform(1e4, 1e5, 400))
    assert pricing_targets(insured) == ()


def test_categories_of_digits_are_not_reported_as_numbers_with_thousands_separators() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"fleet": rng.choice(["0", "1"], 300), "coverage": rng.choice(["1", "2", "3"], 300)})
    frame = frame.astype("category").assign(sum=rng.choice(["1 200", "12 000", "900"], 300))
    assert [(each.column, each.what) for each in fixes_of_columns(frame)] == [
        ("coverage", "the feature contains numbers that are stored as categories"),
        ("sum", "the feature contains numbers that are stored as text"),
    ]
