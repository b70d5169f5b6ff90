import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairdash.data import load_dataset, suggest_roles
from fairdash.data.header_words import meanings_of
from fairdash.data.suggestion import OTHER_CLAIMS
from tests.data.tables import policies

with Path(__file__).with_name("headers.csv").open(encoding="utf-8", newline="") as _file:
    #: Headers of tables that were seen, with the roles that their columns have.
    HEADERS = {row["table"]: row for row in csv.DictReader(_file)}
_TEXT = ["Area", "VehBrand", "VehGas", "Region", "Gender", "Type", "Category", "Occupation", "zone", "PLZ"]


def table_of(headers: list[str], n: int = 200) -> pd.DataFrame:
    """Numbers that tell nothing, but for columns of text, of dates and that number the rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(1, 60, n) for name in headers})
    for name in headers:
        if name in _TEXT:
            frame[name] = rng.choice(["a", "b", "c"], n)
        elif name.startswith("Record"):
            frame[name] = pd.date_range("2004-01-01", periods=n)
    return frame


def test_an_age_and_a_cost_are_recognised() -> None:
    frame = policies().assign(bldg_age=range(60), PolicyId=range(1000, 1060), empty=float("nan"))
    found = suggest_roles(frame)
    assert found.target == "cost"
    assert found.sensitive == ("age",)
    assert found.features == ("rooms", "town", "bldg_age")
    assert found.left_out == {"PolicyId": "numbers the rows", "empty": "every cell is missing"}


@pytest.mark.parametrize(
    ("names", "sensitive"),
    [
        (["BldgAge", "DriverAge"], ("DriverAge",)),
        (["pctblack", "income"], ("pctblack",)),
        (["car_age", "rooms"], ()),
        (["average", "storage"], ()),
        (["SEX", "Age"], ("SEX",)),
    ],
)
def test_names_of_sensitive_columns(names: list[str], sensitive: tuple[str, ...]) -> None:
    frame = pd.DataFrame({name: [1.5, 2.5, i] for i, name in enumerate(names)})
    assert suggest_roles(frame).sensitive == sensitive


def test_nothing_is_assumed_where_no_name_speaks_for_it() -> None:
    found = suggest_roles(pd.DataFrame({"x1": [1, 2, 3], "x2": [3, 1, 2]}))
    assert (found.target, found.sensitive, found.features) == (None, (), ("x1", "x2"))


@pytest.mark.parametrize("name", ["Exposure", "policy_exposure", "ExposureYears", "expo", "exposition"])
def test_a_name_that_says_exposure_is_suggested_as_exposure(name: str) -> None:
    found = suggest_roles(pd.DataFrame({name: [0.5, 1.0, 0.2], "cost": [1, 2, 3], "x": [3, 1, 2]}))
    assert (found.target, found.weight, found.features) == ("cost", name, ("x",))


@pytest.mark.parametrize("name", ["weight", "days", "years", "export", "expected"])
def test_exposure_is_never_assumed(name: str) -> None:
    assert suggest_roles(pd.DataFrame({name: [0.5, 1.0, 0.2], "x": [3, 1, 2]})).weight is None


def test_text_is_never_a_target() -> None:
    assert suggest_roles(pd.DataFrame({"price": ["a", "b", "c"], "x": [1, 2, 3]})).target is None


def test_the_household_scenario() -> None:
    dataset = load_dataset("household", n=200)
    found = suggest_roles(dataset.table())
    assert (found.target, found.sensitive) == ("Cost", ("Age",))


@pytest.mark.parametrize("table", HEADERS)
def test_roles_of_tables_that_were_seen(table: str) -> None:
    row = HEADERS[table]
    found = suggest_roles(table_of(row["headers"].split("|")))
    assert (found.target, found.sensitive, found.weight) == (
        row["target"],
        (row["sensitive"],),
        row["exposure"],
    )
    assert set(row["not a feature"].split("|")) <= set(found.left_out)
    assert "VehAge" not in found.left_out


#: The usual names in English, German, French, Spanish, Italian and Dutch, the last three without accents or gaps.
NAMES = {
    "driver_age": [
        "DrivAge", "drivage", "driver_age", "Age of driver", "insured_age", "PolicyholderAge", "Fahreralter",
        "Alter des Fahrers", "Alter Versicherungsnehmer", "Lenkeralter", "âge du conducteur", "AGE_CONDUCTEUR",
        "âge de l'assuré", "edad del conductor", "EdadAsegurado", "età del conducente", "eta_assicurato",
        "leeftijd bestuurder", "leeftijd_verzekerde",
    ],
    "age": ["Age", "Alter", "âge", "AGE", "edad", "età", "eta", "leeftijd"],
    "income": ["income", "household_income", "Einkommen", "revenu", "ingresos", "reddito", "inkomen"],
    "premium": [
        "premium", "AnnualPremium", "Prämie", "Praemie", "Jahresprämie", "Beitrag", "prime pure", "prime",
        "prima neta", "premio", "premie", "jaarpremie",
    ],
    "claim_count": [
        "ClaimNb", "nclaims", "number of claims", "claim_count", "Schadenanzahl", "Anzahl Schäden",
        "nombre de sinistres", "nb_sinistres", "número de siniestros", "numero sinistri", "aantal schades",
    ],
    "claim_cost": [
        "ClaimAmount", "claimamount", "claim_cost", "incurred", "Schadenhöhe", "Schadenhoehe", "Schadenaufwand",
        "montant des sinistres", "coût_sinistres", "importe del siniestro", "costo dei sinistri", "schadebedrag",
    ],
    "exposure": [
        "Exposure", "earned_exposure", "Laufzeit", "Risikojahre", "durée d'exposition", "exposition",
        "exposición", "esposizione", "blootstelling", "looptijd",
    ],
    "policy_number": [
        "IDpol", "PolNum", "policy_no", "PolicyID", "Policy Number", "Vertragsnr", "Vertragsnummer",
        "Policennummer", "numéro de police", "num_police", "número de póliza", "NumPoliza", "numero polizza",
        "polisnummer",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("concept", "name"), [(c, name) for c, names in NAMES.items() for name in names])
def test_the_usual_names_in_six_languages(concept: str, name: str) -> None:
    assert concept in meanings_of(name)
    found = suggest_roles(table_of([name, "rooms", "power"]))
    by_role = {
        "driver_age": found.sensitive,
        "age": found.sensitive,
        "income": found.sensitive,
        "exposure": (found.weight,),
        "policy_number": tuple(found.left_out),
    }
    assert by_role.get(concept, (found.target,)) == (name,)


@pytest.mark.parametrize(
    "name",
    ["VehAge", "vehage", "LicAge", "Fahrzeugalter", "Alter des Fahrzeugs", "âge du véhicule", "Gebäudealter",
     "antigüedad del vehículo", "età del veicolo", "leeftijd voertuig", "âge du permis", "walter", "percentage"],
)  # fmt: skip
def test_the_age_of_a_thing_is_nobodys(name: str) -> None:
    assert suggest_roles(table_of([name, "power"])).sensitive == ()


def test_a_driver_is_preferred_to_whoever_else_has_an_age() -> None:
    assert suggest_roles(table_of(["Age", "income", "DrivAge"])).sensitive == ("DrivAge",)


def claims(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    count = rng.poisson(0.2, n)
    amount = np.where(count > 0, rng.gamma(2, 500, n).round(2), 0)
    return pd.DataFrame(
        {
            "ClaimNb": count,
            "ClaimInd": (count > 0).astype(int),
            "ClaimAmount": amount,
            "cents": (100 * amount).round(),
            "damaged": np.where(count > 0, "yes", "no"),
            "PriorClaims": rng.poisson(0.2, n),
            "DrivAge": rng.integers(18, 80, n),
            "VehPower": rng.integers(4, 12, n),
        }
    )


def test_what_is_known_only_with_the_target_is_no_feature() -> None:
    found = suggest_roles(claims())
    assert found.target == "ClaimAmount"
    assert found.left_out == {
        "ClaimNb": "it is 0 exactly where the target is",
        "ClaimInd": "it is 0 exactly where the target is",
        "cents": "the target can be read off it",
        "damaged": "it tells in every row whether the target is 0",
    }
    assert found.features == ("PriorClaims", "VehPower")
    other = suggest_roles(claims(), target="ClaimInd")
    assert set(other.left_out) == {"ClaimNb", "ClaimAmount", "cents", "damaged"}
    unlike = claims().assign(ClaimAmount=np.random.default_rng(2).gamma(2, 500, 400))
    assert suggest_roles(unlike, target="ClaimNb").left_out["ClaimAmount"] == OTHER_CLAIMS


def test_a_claim_paid_nothing_is_enough_to_tell_columns_apart() -> None:
    """The name alone leaves it out then; a column of another name stays."""
    frame = claims().rename(columns={"ClaimInd": "reported"})
    frame.loc[frame["reported"].idxmax(), "ClaimAmount"] = 0
    assert "reported" in suggest_roles(frame, target="ClaimAmount").features
