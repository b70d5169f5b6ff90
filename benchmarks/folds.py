r"""Does a price with few distinct values mislead the models that an audit trains out of fold?

    OMP_NUM_THREADS=1 python -m benchmarks.folds [--samples 200] [--learned 20] [--rows 3000]

A tariff of 10, 25, 100 or 1,000 cells of two factors charges 1.2 times each cell's claim frequency, with and
without exposure, along an age in whole years or not. Claims are Poisson, and age acts only through the first
factor, so that E[Y | age] is known by quadrature. For each setting, the study reports in how many samples the
intervals of question 3 contain the part of the gap explained by cost, both between the chosen points and
between the 10th and the 90th percentile; and by how many standard errors the mean of the best estimate
differs from that of the outcome. Writes results/folds.csv.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from fairdash.auditing.curve import HIGH, LOW, basis_of, fit_curve
from fairdash.auditing.models.premiums import learn_costs
from fairdash.auditing.plan import columns_of
from fairdash.auditing.questions.decomposition import chosen_decomposition, fixed_decomposition
from fairdash.auditing.table import AuditTable
from fairdash.dependence.classical import quantiles

RESULTS = Path(__file__).parent / "results"
Array = np.ndarray
#: Number of distinct prices, mapped to the numbers of levels of both factors.
CELLS = {10: (5, 2), 25: (5, 5), 100: (10, 10), 1_000: (40, 25)}
LOADING = 1.2
_Z = norm.ppf((np.arange(400) + 0.5) / 400)


def frequency(a: Array, b: Array, levels: tuple[int, int]) -> Array:
    """Claims per unit of exposure of tariff cells, given by the numbers of their levels."""
    return 0.1 * np.exp(1.2 * (a / levels[0] - 0.5) + 0.6 * (b / levels[1] - 0.5))


def _level(age: Array, z: Array, count: int) -> Array:
    """Level of the first factor, which rises with age."""
    rank = norm.cdf((0.6 * (age - 50) / 18 + 0.8 * z) / 1.0)
    return np.floor(count * rank).astype(int)


def expected(age: Array, distinct: int) -> Array:
    """E[Y | age], by quadrature over the first factor and the mean over the second."""
    levels = CELLS[distinct]
    a = _level(np.asarray(age, dtype=float)[:, None], _Z, levels[0])
    return np.mean([frequency(a, b, levels).mean(axis=1) for b in range(levels[1])], axis=0)


def draw(rng: np.random.Generator, n: int, distinct: int, *, exposure: bool, ties: bool) -> pd.DataFrame:
    """One portfolio, with the price 1.2 times the claim frequency of its cell."""
    levels = CELLS[distinct]
    age = rng.uniform(20, 80, n)
    age = np.floor(age) if ties else age
    a, b = _level(age, rng.normal(size=n), levels[0]), rng.integers(0, levels[1], n)
    years = rng.uniform(0.2, 1.0, n) if exposure else np.ones(n)
    mu = frequency(a, b, levels)
    claims = rng.poisson(years * mu) / years
    return pd.DataFrame({"price": LOADING * mu, "age": age, "a": a, "b": b, "years": years, "claims": claims})


def _truth(point: float, table: AuditTable, distinct: int) -> float:
    """Cost at a point of the curve; beyond the 5th and 95th percentile it is the mean of the tail."""
    s = table.sensitive
    low, high = quantiles(s, table.weight, np.array([LOW, HIGH]))
    at = np.array([point])
    if not low <= point <= high:
        at = s[s < low] if point < low else s[s > high]
    return LOADING * float(expected(at, distinct).mean())


def _holds(found: tuple, table: AuditTable, distinct: int) -> bool:
    parts, ends = found
    truth = np.mean([_truth(high, table, distinct) - _truth(low, table, distinct) for low, high in ends])
    return bool(parts["earned"].ci_low <= truth <= parts["earned"].ci_high)


def setting(
    distinct: int, *, exposure: bool, ties: bool, samples: int, learned: int, rows: int
) -> dict[str, object]:
    """One row of the results."""
    held, held_fixed, off = [], [], []
    for k in range(samples):
        rng = np.random.default_rng([distinct, exposure, ties, k])
        frame = draw(rng, rows, distinct, exposure=exposure, ties=ties)
        columns = columns_of("price", "age", exposure="years", outcome="claims", features=("a", "b"))
        table = AuditTable.of(frame, columns)
        assert table.outcome is not None
        basis = basis_of(table)
        found = chosen_decomposition(table, table.outcome)
        assert found is not None
        held.append(_holds(found, table, distinct))
        curve = fit_curve(table.price, table, basis)
        held_fixed.append(_holds(fixed_decomposition(table, basis, curve, table.outcome), table, distinct))
        if k < learned:
            costs = learn_costs(table)
            part = costs.table
            off.append(part.mean(costs.premiums["best_estimate"]) / part.mean(costs.cost) - 1)
    error = np.std(off, ddof=1) / np.sqrt(len(off))
    return {
        "distinct_prices": distinct,
        "exposure": exposure,
        "ties_in_s": ties,
        "samples": samples,
        "earned_held": np.mean(held),
        "earned_s10_s90_held": np.mean(held_fixed),
        "best_estimate_off": np.mean(off),
        "standard_errors_off": np.mean(off) / error,
        "learned": learned,
    }


def main() -> None:
    """Judge all settings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in (("samples", 200), ("learned", 20), ("rows", 3_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    made = []
    for distinct, exposure, ties in itertools.product(CELLS, (False, True), (False, True)):
        made.append(setting(distinct, exposure=exposure, ties=ties, **vars(given)))
        print(made[-1], flush=True)
    frame = pd.DataFrame(made)
    frame.round(4).to_csv(RESULTS / "folds.csv", index=False)
    print(frame[["earned_held", "earned_s10_s90_held"]].agg(["mean", "min"]))


if __name__ == "__main__":
    main()
