"""An actuary's export with everything at once: a title, Windows-1252, money, thousands, bands, a total."""

import numpy as np

from fairdash.data import suggest_roles
from fairdash.tables.readers.reading import read_table

HEADER = "Vertragsnr;Alter des Fahrers;Prämie;Schadenaufwand;Schadenanzahl;Laufzeit;km-Klasse"
CLASSES = ("0-9", "10-19", "20+")


def german(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def export(n: int = 300) -> tuple[bytes, dict[str, np.ndarray]]:
    """The file, and the numbers that were written into it."""
    rng = np.random.default_rng(0)
    count = rng.poisson(0.4, n)
    table = {
        "Alter des Fahrers": rng.integers(18, 80, n),
        "Prämie": rng.uniform(200, 2500, n).round(2),
        "Schadenaufwand": (count * rng.gamma(2, 700, n)).round(2),
        "Schadenanzahl": count,
        "Laufzeit": rng.choice([0.25, 0.5, 1.0], n),
        "km-Klasse": rng.choice(CLASSES, n),
    }
    lines = ["Bestand Kfz, Stand 2023;;;;;;", "", HEADER]
    for k in range(n):
        age, premium, cost, claims, years, band = (values[k] for values in table.values())
        lines.append(
            f"0{k:05d};{age};€ {german(premium)};{german(cost)} €;{claims};{str(years).replace('.', ',')};{band}"
        )
    total = f"Summe;;€ {german(table['Prämie'].sum())};{german(table['Schadenaufwand'].sum())} €;;;"
    return "\r\n".join([*lines, ";;;;;;", total, ""]).encode("cp1252"), table


def test_it_is_read_as_it_was_meant() -> None:
    content, table = export()
    frame, report = read_table(content)
    for name, values in table.items():
        assert frame[name].tolist() == values.tolist()
    assert frame["Vertragsnr"].iloc[1] == "000001"
    assert dict(report.units) == {"Prämie": "€", "Schadenaufwand": "€"}
    said = "\n".join(report.sentences())
    assert "The column names are on line 3; the row above it is not used." in said
    assert "A row below the table is left out, as a total or a note (line 305)." in said
    found = suggest_roles(frame)
    assert (found.target, found.sensitive) == ("Schadenaufwand", ("Alter des Fahrers",))
    assert (found.weight, found.prediction, found.features) == ("Laufzeit", "Prämie", ("km-Klasse",))
    assert (found.row_id, found.known_with_target) == ("Vertragsnr", ("Schadenanzahl",))
