"""Methods for deciding on the largest gap, compared at 50,000 rows and a coefficient of variation of 0.6.

    OMP_NUM_THREADS=1 python -m benchmarks.audit_ways

Instead of whole tables, the study draws normal vectors for the normal equations of one table, which takes
milliseconds per draw. A method is the weight κ of the curve at a tail compared with the tail's own rows. They
are compared with an upper limit for the range by the numerical delta method (Fang and Santos 2019). Writes
results/audit_ways.csv.
"""

from __future__ import annotations

import argparse
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.audit_cases import CV, DELTA, RESULTS, TAIL
from fairdash.auditing import curve as fitting
from fairdash.auditing import gaps
from fairdash.auditing.curve import Basis, Curve, basis_of
from fairdash.auditing.plan import columns_of
from fairdash.auditing.table import AuditTable

Array = NDArray[np.float64]
PLACE = RESULTS / "audit_ways.csv"
N = 50_000
#: Name of a method, mapped to its grid of κ.
WAYS = {
    "a tail's own rows alone": (1e-9,),
    "curve counts at most 0.2": (0.003, 0.01, 0.03, 0.1, 0.2),
    "curve counts at most ⅓": (0.003, 0.01, 0.03, 0.1, 1 / 3),
    "curve counts as likelihood would": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0, 100.0),
}


def truths(z: Array, ends: Array) -> dict[str, Array]:
    """Means along z, as shares of the mean price."""
    above, below = (z > ends[1]).astype(float), (z < ends[0]).astype(float)
    line = z / (2 * TAIL)
    return {
        "none": 0 * z,
        "straight line, 2δ": 2 * DELTA * line,
        "steps at both ends, δ": DELTA / 2 * (above - below),
        "step at one end, δ": DELTA * above,
        "straight line, δ": DELTA * line,
    }


def fit(moment: Array, square: float, gram: Array, basis: Basis) -> Curve:
    """Like :func:`fairdash.auditing.curve.fit_curve`, computed from the normal equations with known noise."""
    lam, kappa = fitting._penalties(gram, basis, moment, square, N)
    solve = np.linalg.inv(gram + lam * basis.penalty + kappa * basis.steps)
    values = basis.points @ solve @ moment
    return Curve(
        basis=basis, values=values, covariance=CV**2 / N * basis.points @ solve @ basis.points.T,
        coefficients=solve @ moment, solve=solve, scores=None, rank_slope=np.zeros(len(values)),
        lam=lam, edf=float(np.trace(solve @ gram)),
    )  # fmt: skip


def upper_limit(curve: Curve, seed: int) -> float:
    """Upper limit of the range: its derivative in the direction of the draws, by steps of one third."""
    drawn, value = gaps._draw_errors(curve.covariance, seed), np.ptp(curve.values)
    slope = 3 * (np.ptp(curve.values + drawn / 3, axis=1) - value)
    return float(value - np.quantile(slope, 0.05))


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table of docs/audit.md from the stored results, in per cent of the draws."""
    lines = [
        "| truth | way | shown below | by the range's own limit | shown above |",
        "|---|---|---|---|---|",
    ]
    for row in table.itertuples():
        shares = (row.below, row.below_range, row.above)
        lines.append("| " + " | ".join((row.truth, row.way, *(f"{each:.0%}" for each in shares))) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=150)
    count = parser.parse_args().draws
    z = np.random.default_rng(0).normal(size=N)
    table = AuditTable.of(pd.DataFrame({"p": 1 + 0 * z, "s": z}), columns_of("p", "s"))
    basis = basis_of(table)
    rows = basis.rows.tocsr()
    gram = (rows.T @ rows).toarray() / N
    gram += 1e-10 * np.trace(gram) / len(gram) * np.eye(len(gram))
    root = np.linalg.cholesky(gram / N)
    made = []
    for truth, mean in truths(table.sensitive, basis.at[basis.is_curve][[0, -1]]).items():
        told = rows.T @ (mean - mean.mean()) / N
        rng = np.random.default_rng(11)
        found: dict[str, list[tuple[bool, ...]]] = {way: [] for way in WAYS}
        for draw in range(count):
            noise = CV * (root @ rng.normal(size=len(gram)))
            square = np.var(mean) + CV**2 * (1 + np.sqrt(2 / N) * rng.normal())
            for way, kappas in WAYS.items():
                with patch.object(fitting, "_KAPPAS", kappas), patch.object(gaps, "_DRAWS", 400):
                    curve = fit(told + noise, square, gram, basis)
                    gap, _ = gaps.largest_gap(curve, DELTA, random_state=draw)
                    shown = (gap.p_below <= 0.05, upper_limit(curve, draw) < DELTA)
                    found[way].append((*shown, gap.p_above <= 0.05))
        for way, each in found.items():
            shares = dict(zip(("below", "below_range", "above"), np.mean(each, axis=0), strict=True))
            made.append({"truth": truth, "way": way, "draws": count, **shares})
        print(pd.DataFrame(made[-len(WAYS) :]).to_string(index=False), flush=True)
    # Write only at the end: an interrupted study would look like one of fewer cases.
    pd.DataFrame(made).to_csv(PLACE, index=False, float_format="%.3g")


if __name__ == "__main__":
    main()
