"""Tables by the authors of the rules, 15 doubtful and 15 regular; see :mod:`benchmarks.doubtful_tables`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

Rng = np.random.Generator
Make = Callable[[Rng], tuple[str, bytes]]
N = 200


def csv(columns: dict[str, Callable[[Rng], Sequence[object]]], rng: Rng, sep: str = ",") -> tuple[str, bytes]:
    """A table of columns made one by one."""
    cells = {name: list(map(str, make(rng))) for name, make in columns.items()}
    rows = zip(*cells.values(), strict=True)
    return "table.csv", "\n".join([sep.join(cells), *(sep.join(row) for row in rows)]).encode()


def ages(rng: Rng) -> np.ndarray:
    return rng.integers(18, 95, N)


def prices(rng: Rng) -> np.ndarray:
    return np.round(rng.gamma(3, 150, N), 2)


def some(
    values: Callable[[Rng], Sequence[object]], *others: object, share: float = 0.06
) -> Callable[[Rng], list[object]]:
    """Values of which a few are replaced by one of `others`."""

    def made(rng: Rng) -> list[object]:
        cells = list(values(rng))
        for place in rng.choice(N, int(share * N) + 3, replace=False):
            cells[place] = others[place % len(others)]
        return cells

    return made


def levels(*names: str) -> Callable[[Rng], list[str]]:
    return lambda rng: rng.choice(names, N).tolist()


def days(rng: Rng) -> list[int]:
    year, month, day = (rng.integers(*ends, N) for ends in ((1930, 2005), (1, 13), (1, 29)))
    return (10_000 * year + 100 * month + day).tolist()


def licences(rng: Rng) -> np.ndarray:
    return rng.integers(0, 60, N)


def incomes(rng: Rng) -> np.ndarray:
    return rng.integers(20_000, 200_000, N)


def born(rng: Rng) -> list[str]:
    return [f"{year}-05-07" for year in rng.integers(1940, 2005, N)]


def aligned(rng: Rng) -> tuple[str, bytes]:
    rows = [
        f"  {1950 + k // 20}   {5 * (k % 20):>3}   {rng.random():.5f}   {rng.random():.5f}" for k in range(N)
    ]
    return "lt.txt", "\n".join(["France, Life tables, 5x1", "", "  Year   Age   mx   qx", *rows]).encode()


def of_r(rng: Rng) -> tuple[str, bytes]:
    rows = [
        f'"{k}" {rng.integers(18, 90)} {rng.random():.3f} "{rng.choice(["rural", "urban"])}"'
        for k in range(1, N)
    ]
    return "book.txt", "\n".join(['"age" "price" "zone"', *rows]).encode()


def of_eurostat(rng: Rng) -> tuple[str, bytes]:
    rows = [f"A,PC,Y{k},FR\t{rng.random():.1f} \t: \t{rng.random():.1f} e" for k in range(60)]
    return "ilc.tsv", "\n".join(["freq,unit,age,geo\\TIME_PERIOD\t2021 \t2022 \t2023 ", *rows]).encode()


def with_labels(rng: Rng) -> tuple[str, bytes]:
    name, content = csv({"AGE": ages, "SUM": prices, "REG": levels("a", "b")}, rng)
    head, _, rows = content.partition(b"\n")
    return name, b"\n".join([head, b"years,EUR,name", rows])


def with_total(rng: Rng) -> tuple[str, bytes]:
    name, content = csv({"age": ages, "zone": levels("a", "b"), "price": prices}, rng)
    return name, b"Portfolio 2025\n\n" + content + b"\nTotal,,90000\n\nSource: claims department\n"


_PRICED = {"price": prices}
DOUBTFUL: dict[str, Make] = {
    "999 for an age": partial(csv, {"age": some(ages, 999), **_PRICED}),
    "-1 for a count of years": partial(csv, {"licence_years": some(licences, -1), **_PRICED}),
    "-666666666 for an income": partial(csv, {"income": some(incomes, -666666666), **_PRICED}),
    "0 for an age": partial(csv, {"driver_age": some(ages, 0), **_PRICED}),
    "1900 for a date": partial(csv, {"born": some(born, "1900-01-01"), **_PRICED}),
    "amounts in brackets": partial(csv, {"paid": some(prices, "(247.37)", "(12.50)"), **_PRICED}),
    "a minus behind": partial(csv, {"paid": some(prices, "437.67-", "12.50-"), **_PRICED}),
    "dates as numbers": partial(csv, {"birth": days, **_PRICED}),
    "two spellings": partial(csv, {"sex": levels("male", "Male", "female"), **_PRICED}),
    "bands": partial(csv, {"age": levels("18-24", "25-44", "45-64", "65+"), **_PRICED}),
    "aligned by spaces": aligned,
    "write.table": of_r,
    "Eurostat": of_eurostat,
    "labels under the names": with_labels,
    "title and total": with_total,
}  # fmt: skip
EXPECTED = {
    "999 for an age": ["age"],
    "-1 for a count of years": ["licence_years"],
    "-666666666 for an income": ["income"],
    "0 for an age": ["driver_age"],
    "1900 for a date": ["born"],
    "amounts in brackets": ["paid"],
    "a minus behind": ["paid"],
    "dates as numbers": ["birth"],
    "two spellings": ["sex"],
    "bands": ["age"],
    "aligned by spaces": ["file"],
    "write.table": ["file"],
    "Eurostat": ["file"],
    "labels under the names": ["file"],
    "title and total": ["file"],
}
HONEST: dict[str, Make] = {
    "ages and prices": partial(csv, {"age": ages, **_PRICED}),
    "prices that end in 99": partial(csv, {"age": ages, "price": lambda r: 100 * r.integers(1, 9, N) + 99}),
    "ages up to 99": partial(csv, {"age": lambda r: r.integers(18, 100, N), **_PRICED}),
    "counts mostly 0": partial(csv, {"claims": lambda r: r.poisson(0.1, N), **_PRICED}),
    "bonus": partial(csv, {"bonus": lambda r: r.integers(50, 351, N), **_PRICED}),
    "years": partial(csv, {"year": lambda r: r.integers(1990, 2026, N), **_PRICED}),
    "temperatures": partial(csv, {"degrees": lambda r: r.integers(-15, 35, N), **_PRICED}),
    "balances below zero": partial(csv, {"balance": lambda r: np.round(r.normal(0, 300, N), 2), **_PRICED}),
    "levels": partial(csv, {"title": levels("Mr", "Mrs", "Dr"), **_PRICED}),
    "codes of levels": partial(csv, {"code": levels("A1", "A2", "B1"), **_PRICED}),
    "semicolons": partial(csv, {"age": ages, "n": lambda r: r.integers(0, 9, N)}, sep=";"),
    "tabs": partial(csv, {"age": ages, **_PRICED}, sep="\t"),
    "sums insured": partial(csv, {"sum": lambda r: 1000 * r.integers(10, 400, N), **_PRICED}),
    "shares": partial(csv, {"share": lambda r: np.round(r.random(N), 3), **_PRICED}),
    "truth values": partial(csv, {"new": levels("true", "false"), **_PRICED}),
}
