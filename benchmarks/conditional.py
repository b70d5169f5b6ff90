"""False alarms and power at 5 % of the conditional independence test, given columns C.

    OMP_NUM_THREADS=1 python -m benchmarks.conditional [--sets 1000] [--seconds 600]
    OMP_NUM_THREADS=1 python -m benchmarks.conditional --pairs

In cases without an effect, u and s depend on C and nothing else; in the others u also depends on s. Seeds are
drawn in pieces of 50, and pieces in results/conditional_pieces.csv are not drawn again, so the study can be
interrupted and continued. results/conditional.csv is the table made from the pieces, with the number of data
sets.

With --pairs, weak links are tested with and without products of two given columns on the same data sets,
which takes a few minutes and writes results/conditional_pairs.csv.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from fairdash import assess_conditional_dependence
from fairdash.dependence import conditional

RESULTS = Path(__file__).parent / "results"
PIECES, TABLE = RESULTS / "conditional_pieces.csv", RESULTS / "conditional.csv"
PAIRS = RESULTS / "conditional_pairs.csv"
#: Number of seeds per piece; a piece starts at a multiple of it.
_PIECE = 50


def _levels(rng: np.random.Generator, c: np.ndarray) -> tuple[np.ndarray, pd.DataFrame]:
    level = rng.integers(0, 4, len(c))
    return level, pd.DataFrame({"c": c, "level": np.array(list("wxyz"))[level]})


def linear(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    return c + a, c + b, {"given": c}


def curved(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    return c**2 + np.sin(2 * c) + 0.5 * a, np.sin(2 * c) + 0.5 * b, {"given": c}


def number_and_category(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    level, table = _levels(rng, c)
    return c**2 / 2 + (level == 2) + 0.5 * level + a, np.sin(c) + 0.8 * level + b, {"given": table}


def slope_by_category(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    level, table = _levels(rng, c)
    return c * (level - 1.5) + a, c * (level - 1.5) + b, {"given": table}


def five_rows_a_policy(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    policy = np.repeat(np.arange(n // 5), 5)
    c, a, b = rng.normal(size=(3, n // 5))[:, policy]
    return c + a + 0.5 * rng.normal(size=n), c + b, {"given": c, "groups": policy}


def heavy_tails(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    return np.exp(c / 3 + a), np.exp(c + b), {"given": c}


def weight_by_s(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b, w = rng.normal(size=(4, n))
    return c + a, c + b, {"given": c, "sample_weight": np.exp(0.7 * b + 0.3 * w)}


def jump(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    return (c > 0) + 0.5 * a, (c > 0) + 0.5 * b, {"given": c}


def product(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    s = c + b
    return c + 0.2 * c * s + a, s, {"given": c}


def product_independent(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, s, a = rng.normal(size=(3, n))
    return c + 0.2 * c * s + a, s, {"given": c}


def opposite_signs(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    level, table = _levels(rng, c)
    return 0.2 * np.where(level % 2, 1, -1) * b + a, np.sin(c) + b, {"given": table}


def two_factors(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    a, b = rng.integers(0, 2, (2, n))
    noise, effect = rng.normal(size=(2, n))
    return a + b + noise, a - b + effect, {"given": pd.DataFrame({"a": a == 1, "b": b == 1})}


def signs_of_two_factors(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    u, s, given = two_factors(rng, n)
    table = given["given"]
    return u + 0.15 * np.where(table["a"] == table["b"], 1, -1) * s, s, given


def top_of_s(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    return c + (b > 1.88) + a, c / 4 + b, {"given": c}


def weak_by_level(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    level, table = _levels(rng, c)
    return 0.1 * np.where(level % 2, 1, -1) * b + a, np.sin(c) + b, {"given": table}


def weak_alike(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    level, table = _levels(rng, c)
    return c + 0.5 * level + 0.06 * b + a, np.sin(c) + 0.8 * level + b, {"given": table}


def weak_alike_in_one(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    c, a, b = rng.normal(size=(3, n))
    return c + 0.06 * b + a, c + b, {"given": c}


def weak_by_two_factors(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    a, b = rng.integers(0, 2, (2, n))
    s, noise = rng.normal(size=(2, n))
    sign = np.where(a == b, 1, -1)
    return a + b + 0.15 * sign * s + noise, s, {"given": pd.DataFrame({"a": a == 1, "b": b == 1})}


#: Weak links, the given columns, a description, and the number of data sets.
WEAK: tuple[tuple[Callable[..., tuple[Any, ...]], str, str, int], ...] = (
    (weak_alike_in_one, "0.06·S everywhere", "a number", 1000),
    (weak_alike, "0.06·S everywhere", "a number and four levels", 1000),
    (weak_by_level, "±0.1·S by level", "a number and four levels", 300),
    (weak_by_two_factors, "±0.15·S, + where a = b", "two factors", 300),
)

#: The case, the effect in words, and the rows of a data set; the cases chosen by the user come first.
CASES: tuple[tuple[Callable[..., tuple[Any, ...]], str, int], ...] = (
    (linear, "none", 2000),
    (curved, "none", 2000),
    (number_and_category, "none", 2000),
    (product, "0.2·C·S, S follows C", 2000),
    (product_independent, "0.2·C·S, S does not", 2000),
    (linear, "none", 500),
    (curved, "none", 500),
    (number_and_category, "none", 500),
    (slope_by_category, "none", 2000),
    (five_rows_a_policy, "none", 2000),
    (heavy_tails, "none", 2000),
    (weight_by_s, "none", 2000),
    (jump, "none", 2000),
    (opposite_signs, "±0.2·S by category", 2000),
    (two_factors, "none", 2000),
    (signs_of_two_factors, "±0.15·S, + where a = b", 2000),
    (top_of_s, "1 in the top 3 % of S", 2000),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--pairs", action="store_true", help="what looking at pairs of columns costs")
    options = parser.parse_args()
    if options.pairs:
        weak_links()
        return
    begun = time.process_time()
    known = pd.read_csv(PIECES).to_dict("records") if PIECES.exists() else []
    done = {(piece["case"], piece["rows"], piece["first_seed"]) for piece in known}
    for case, _, n in CASES:
        for first in range(0, options.sets, _PIECE):
            if (case.__name__, n, first) in done:
                continue
            if time.process_time() - begun > options.seconds:
                break
            known.append(_piece(case, n, first))
            pd.DataFrame(known).to_csv(PIECES, index=False, float_format="%.5g")
        _write_table(pd.DataFrame(known))


def _piece(case: Callable[..., tuple[Any, ...]], n: int, first: int) -> dict[str, Any]:
    """Number of detections in 50 data sets, their mean effect size, and the mean seconds per data set."""
    begun, found = time.process_time(), []
    for seed in range(first, first + _PIECE):
        u, s, given = case(np.random.default_rng(seed), n)
        found.append(assess_conditional_dependence(u, s, random_state=seed, **given))
    return {
        "case": case.__name__,
        "rows": n,
        "first_seed": first,
        "found": sum(each.p_value <= 0.05 for each in found),
        "size": np.mean([each.size for each in found]),
        "seconds": (time.process_time() - begun) / _PIECE,
    }


def weak_links() -> None:
    """Share of data sets with 2,000 rows in which each weak link is found, with and without products."""
    rows = []
    for case, effect, given, sets in WEAK:
        found = dict.fromkeys(("with_pairs", "without"), 0)
        for seed in range(sets):
            u, s, columns = case(np.random.default_rng(seed), 2000)
            for way, most in (("with_pairs", conditional._MAX_OF_PAIRS), ("without", 0)):
                with patch.object(conditional, "_MAX_OF_PAIRS", most):
                    p_value = assess_conditional_dependence(u, s, random_state=seed, **columns).p_value
                found[way] += p_value <= 0.05
        rows.append({"effect": effect, "given": given, "rows": 2000, "sets": sets, **found})
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(PAIRS, index=False)


def pairs_table() -> str:
    """The loss of power due to products of two columns, as a table for docs/conditional.md."""
    head = [
        "| u follows s | given | rows | sets | found | found without pairs |",
        "|---|---|---|---|---|---|",
    ]
    rows = [
        f"| {row.effect} | {row.given} | {row.rows:,} | {row.sets:,} | {row.with_pairs / row.sets:.1%} | "
        f"{row.without / row.sets:.1%} |".replace("%", " %")
        for row in pd.read_csv(PAIRS).itertuples()
    ]
    return "\n".join([*head, *rows])


def _write_table(known: pd.DataFrame) -> None:
    rows = []
    for case, effect, n in CASES:
        own = known[(known["case"] == case.__name__) & (known["rows"] == n)]
        if len(own):
            sets = _PIECE * len(own)
            row = {"case": case.__name__, "effect": effect, "rows": n, "sets": sets}
            row |= {"found": own["found"].sum() / sets, "size": own["size"].mean()}
            rows.append(row | {"seconds": own["seconds"].mean()})
    table = pd.DataFrame(rows)
    table.to_csv(TABLE, index=False, float_format="%.3g")
    print(table.to_string(index=False), flush=True)


def page_table() -> str:
    """The table of docs/conditional.md."""
    head = ["| u and s follow C | u follows s | rows | sets | found |", "|---|---|---|---|---|"]
    rows = [
        f"| {row.case.replace('_', ' ')} | {row.effect} | {row.rows:,} | {row.sets:,} | "
        f"{100 * row.found:.1f} % |"
        for row in pd.read_csv(TABLE).itertuples()
    ]
    return "\n".join([*head, *rows])


if __name__ == "__main__":
    main()
