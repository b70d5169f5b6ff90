"""False-alarm rate of every p-value of an audit: how often it is at most 5 % if its hypothesis is true.

    OMP_NUM_THREADS=1 python -m benchmarks.p_values [--samples 1000]

In these samples the spread depends on the attribute, tails are heavy, rows belong to policies or their
exposure differs. Writes results/p_values.csv, one row per p-value and kind of sample, which docs/verdict.md
reads.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.class_probabilities import NAMES, law
from fairdash.auditing.curve import basis_of, fit_curve
from fairdash.auditing.gaps import largest_gap, p_value_of_flat_curve
from fairdash.auditing.plan import columns_of
from fairdash.auditing.questions.decomposition import controlled_curve
from fairdash.auditing.questions.sufficiency import autocalibration, bias_surface
from fairdash.auditing.table import AuditTable
from fairdash.data.dataset import Dataset
from fairdash.data.proxies import rank_proxies
from fairdash.evaluation.classes import by_group, by_probability, calibration, pairs_of_groups

RESULTS = Path(__file__).parent / "results" / "p_values.csv"
Array = NDArray[np.float64]
ROWS, DELTA = 2_000, 0.05
#: A p-value, or several p-values by the name of their hypothesis.
Tested = Callable[[np.random.Generator], "float | dict[str, float]"]


def p_of_no_gap(y: Array, table: AuditTable) -> float:
    """p-value for the largest gap of y along s."""
    return p_value_of_flat_curve(fit_curve(y, table, basis_of(table)))


def price(rng: np.random.Generator, *, kind: str) -> float:
    """Hypothesis of no gap: prices with the same mean at every s."""
    s, more = rng.uniform(18, 90, ROWS), {}
    noise = np.exp((s - 54) / 36) * rng.normal(size=ROWS)
    if kind == "heavy tails":
        noise = rng.lognormal(sigma=1, size=ROWS)
    if kind == "five rows a policy":
        more["policy"] = np.arange(ROWS) // 5
        s = s[more["policy"]]
        noise = np.exp((s - 54) / 36) * (rng.normal(size=ROWS)[more["policy"]] + 0.3 * rng.normal(size=ROWS))
    if kind == "exposure follows s":
        more["years"] = np.where(s > 60, 0.2, 1.0)
        noise = rng.normal(size=ROWS) / np.sqrt(more["years"])
    if kind == "20 levels":
        s = np.floor((s - 18) / 3.6)
        noise = np.exp(s / 10 - 1) * rng.normal(size=ROWS)
    roles = {"exposure": "years"} if "years" in more else {}
    roles |= {"groups": "policy"} if "policy" in more else {}
    frame = pd.DataFrame({"price": 100 + 30 * noise, "s": s, **more})
    table = AuditTable.of(frame, columns_of("price", "s", **roles))
    return p_of_no_gap(table.price, table)


def cost(rng: np.random.Generator, *, kind: str) -> dict[str, float]:
    """Equal residuals, sufficiency and autocalibration: the price depends on s and is the expected cost."""
    s, years = rng.uniform(18, 90, ROWS), np.ones(ROWS)
    expected = 100 * np.exp(0.015 * (s - 54) + 0.3 * rng.normal(size=ROWS))
    paid = expected * rng.gamma(1, 1, ROWS)
    if kind == "claims of part of a year":
        years = rng.uniform(0.1, 1, ROWS)
        counts = rng.poisson(years * expected / 200)
        paid = np.where(counts > 0, rng.gamma(np.maximum(counts, 1)), 0.0) * 200 / years
    frame = pd.DataFrame({"price": expected, "s": s, "cost": paid, "years": years})
    table = AuditTable.of(frame, columns_of("price", "s", outcome="cost", exposure="years"))
    delta = DELTA * table.mean_price
    return {
        "equalized residuals": p_of_no_gap(table.outcome_at_price_level - table.price, table),
        "sufficiency": bias_surface(table, delta).p_value,
        "autocalibration": autocalibration(table, delta).p_value,
    }


def among_equals(rng: np.random.Generator, *, factors: int) -> float:
    """No gap given the factors: price and s depend on the factors, and the price's spread on s."""
    c = rng.normal(size=(ROWS, factors))
    s = 0.6 * c[:, 0] + 0.8 * rng.normal(size=ROWS)
    frame = pd.DataFrame(c, columns=[f"c{k}" for k in range(factors)]).assign(s=s)
    frame["price"] = 100 + 10 * c.sum(axis=1) + 10 * np.exp(0.4 * s) * rng.normal(size=ROWS)
    names = tuple(f"c{k}" for k in range(factors))
    table = AuditTable.of(frame, columns_of("price", "s", controls=names))
    return p_value_of_flat_curve(controlled_curve(table, names)[1])


def claims(rng: np.random.Generator) -> dict[str, float]:
    """Verdicts that the gap of a straight line is above, or below, a threshold that it equals."""
    s = rng.uniform(size=ROWS)
    # The means of the rows below the 5th and above the 95th percentile differ by 0.95.
    y = 100 * (1 + DELTA / 0.95 * (s - 0.5) + 0.1 * np.exp(s - 0.5) * rng.normal(size=ROWS))
    table = AuditTable.of(pd.DataFrame({"price": y, "s": s}), columns_of("price", "s"))
    gap, _ = largest_gap(fit_curve(table.price, table, basis_of(table)), DELTA * table.mean_price)
    return {"the gap is above the threshold": gap.p_above, "the gap is below the threshold": gap.p_below}


def classes(rng: np.random.Generator, *, kind: str) -> dict[str, float]:
    """Equal means in all classes, the smallest Holm-corrected p-value; small classes vary most."""
    code = rng.choice(7, ROWS, p=[0.3, 0.25, 0.2, 0.1, 0.08, 0.05, 0.02])
    noise = (
        rng.normal(size=ROWS) * (1 + code) if kind == "spread follows the class" else rng.lognormal(size=ROWS)
    )
    names = list("abcdefg")
    return {
        "a class against the rest": min(by_group(100 + 10 * noise, code, names)["p_value"]),
        "a pair of classes": min(pairs_of_groups(100 + 10 * noise, code, names)["p_value"]),
    }


def probabilities(rng: np.random.Generator) -> dict[str, float]:
    """Price independent of class given p, where classes have equal means, and calibrated probabilities."""
    p, _ = law(rng.normal(size=(ROWS, 2)), 0.0)
    code = (p.cumsum(axis=1) < rng.random((ROWS, 1))).sum(axis=1)
    y = 100 + 10 * (1 + code) * rng.normal(size=ROWS)
    known = np.where(np.arange(ROWS) < ROWS // 5, code, -1)
    return {
        "a class by probability": min(by_probability(y, p, NAMES)["p_value"]),
        "calibrated probabilities": min(calibration(p, known, NAMES)["p_value"]),
    }


def proxies(rng: np.random.Generator) -> float:
    """Five features independent of s: the smallest corrected p-value."""
    features = pd.DataFrame({f"x{k}": rng.normal(size=300) for k in range(5)})
    s, y = pd.DataFrame({"s": rng.uniform(size=300)}), pd.Series(rng.normal(size=300), name="y")
    dataset = Dataset(name="independent", features=features, sensitive=s, target=y)
    found = rank_proxies(dataset, n_permutations=199, random_state=int(rng.integers(1_000_000)))
    return float(found.features["p_corrected"].min())


def cases(most: int) -> Iterator[tuple[str, str, Tested, int]]:
    """Hypothesis ("" if the test names it), kind of sample, test, and number of samples."""
    for kind in ("spread follows s", "heavy tails", "five rows a policy", "exposure follows s", "20 levels"):
        yield "independence", kind, partial(price, kind=kind), most
    for kind in ("spread follows s", "claims of part of a year"):
        yield "", kind, partial(cost, kind=kind), most // 2
    yield (
        "independence among equals",
        "spread follows s, one factor",
        partial(among_equals, factors=1),
        most // 2,
    )
    yield (
        "independence among equals",
        "spread follows s, two factors",
        partial(among_equals, factors=2),
        most // 10,
    )
    yield "", "spread follows s", claims, most // 4
    for kind in ("spread follows the class", "heavy tails"):
        yield "", kind, partial(classes, kind=kind), most
    yield "", "spread follows the class", probabilities, most
    yield "five features", "independent", proxies, most // 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000)
    rows = []
    for k, (name, kind, test, samples) in enumerate(cases(parser.parse_args().samples)):
        found = [test(np.random.default_rng([k, seed])) for seed in range(samples)]
        each = pd.DataFrame([one if isinstance(one, dict) else {name: one} for one in found])
        for what in each:
            row = {"p_value": what, "sample": kind, "samples": samples}
            rows.append(row | {f"at_{level}": (each[what] <= level).mean() for level in (0.05, 0.01)})
            print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
