"""Error of the displayed dependence, corrected ``hgr_spline``, if columns contain many zeros.

    OMP_NUM_THREADS=1 python -m benchmarks.zero_inflated

200 samples of each distribution at 300, 1,000 and 3,000 rows: half, 80 % or 95 % of the values are 0, in one
column or in both, and the rest are positive. Columns are independent, or have a maximal correlation of 0.5,
either because their zeros are related ("claims") or because two underlying normal variables are, of which all
but the largest values count as 0 ("amounts"). The same samples are measured in two other ways: the value of
commit c630156, and ACE (Breiman and Friedman 1985) by R's acepack 1.4.1, the correlation of its two
transforms in the sample. `--referees` computes both again into results/zero_inflated_referees.csv
(`hgr_spline` as installed; ACE needs Rscript and acepack). Writes results/zero_inflated.csv, which
docs/estimators.md shows.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from benchmarks.audit_cases import RESULTS
from benchmarks.hard_links import second_singular_value
from fairdash.dependence.spline import hgr_spline

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]

PLACE, REFEREES = RESULTS / "zero_inflated.csv", RESULTS / "zero_inflated_referees.csv"
ROWS, ZEROS = (300, 1_000, 3_000), (0.5, 0.8, 0.95)
LINKED = 0.5
#: Factor by which the error may exceed the smaller of the two other errors.
FACTOR = 1.15
_CELL = ["link", "columns", "zeros", "rows"]
_ACE = """
library(acepack)
x <- as.matrix(read.csv("u.csv", header = FALSE)); y <- as.matrix(read.csv("v.csv", header = FALSE))
value <- function(k) { a <- ace(x[k, ], y[k, ]); r <- cor(a$tx[, 1], a$ty); if (is.na(r)) 0 else r }
write(sapply(seq_len(nrow(x)), value), "ace.txt", ncolumns = 1)
"""


def laws() -> Iterator[tuple[str, int, float, float, Draw]]:
    """Link, number of columns with zeros, share of zeros, exact maximal correlation, and drawing function."""
    for columns in (1, 2):
        for zeros in ZEROS:
            yield "none", columns, zeros, 0.0, amounts(0.0, zeros, columns)
            rho = brentq(lambda r, z=zeros, c=columns: exact(r, z, c) - LINKED, 0.3, 0.999, xtol=1e-5)
            yield "amounts", columns, zeros, LINKED, amounts(float(rho), zeros, columns)
    for zeros in ZEROS:
        yield "claims", 2, zeros, LINKED, claims(zeros)


def amounts(rho: float, zeros: float, columns: int) -> Draw:
    """Two normal variables with this correlation; in `columns` columns all but the largest values are 0."""
    least = ndtri(zeros)

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        u, other = rng.normal(size=(2, n))
        v = rho * u + np.sqrt(1 - rho**2) * other
        return np.maximum(u - least, 0), np.maximum(v - least, 0) if columns == 2 else v

    return draw


def claims(zeros: float) -> Draw:
    """Two columns whose zeros have a correlation of :data:`LINKED`, with independent positive amounts."""
    some = 1 - zeros
    both = some**2 + LINKED * zeros * some

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        u = rng.uniform(size=n) < some
        v = rng.uniform(size=n) < np.where(u, both / some, (some - both) / zeros)
        size = rng.exponential(size=(2, n))
        return u * size[0], v * size[1]

    return draw


@cache
def exact(rho: float, zeros: float, columns: int) -> float:
    """Maximal correlation of :func:`amounts`."""
    above = zeros + (1 - zeros) * (np.arange(400) + 0.5) / 400
    in_heap = zeros * (np.arange(800) + 0.5) / 800
    v, share = ndtri(np.append(in_heap, above)), np.repeat([zeros / 800, (1 - zeros) / 400], [800, 400])
    edges = np.append(ndtri(np.append(0, zeros + (1 - zeros) * np.arange(400) / 400)), np.inf)
    law = np.diff(ndtr((edges[:, None] - rho * v) / np.sqrt(1 - rho**2)), axis=0) * share
    if columns == 2:
        law = np.column_stack([law[:, :800].sum(axis=1), law[:, 800:]])
    return second_singular_value(law)


def samples(draw: Draw, n: int, count: int) -> tuple[Array, Array]:
    """The samples of a distribution, twice (count, n), the same in every run."""
    drawn = [draw(np.random.default_rng([22, n, k]), n) for k in range(count)]
    u, v = (np.array(each) for each in zip(*drawn, strict=True))
    return u, v


def ace(u: Array, v: Array) -> Array:
    """Correlation of ACE's transforms in each sample, computed by R."""
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (("u", u), ("v", v)):
            np.savetxt(Path(folder, f"{name}.csv"), values, delimiter=",")
        subprocess.run(["Rscript", "-e", _ACE], cwd=folder, check=True)
        return np.loadtxt(Path(folder, "ace.txt"))


def errors(values: Array, truth: float) -> dict[str, float]:
    """Root mean squared error, bias, and share of values above 0.2 for independent columns."""
    off = values - truth
    above = float((values > 0.2).mean()) if truth == 0 else np.nan
    return {"rmse": float(np.sqrt((off**2).mean())), "bias": float(off.mean()), "above": above}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--referees", action="store_true", help="the referees' values alone")
    options = parser.parse_args()
    found = []
    for link, columns, zeros, truth, draw in laws():
        for n in ROWS:
            u, v = samples(draw, n, options.samples)
            ways = {"": hgr_spline(u, v)}
            if options.referees:
                ways = {"_before": ways[""], "_ace": ace(u, v)}
            row = dict(zip(_CELL, (link, columns, zeros, n), strict=True))
            for way, values in ways.items():
                row |= {f"{name}{way}": value for name, value in errors(values, truth).items()}
            found.append(row)
            print(row, flush=True)
    table = pd.DataFrame(found)
    if options.referees:
        table.to_csv(REFEREES, index=False, float_format="%.4f")
        return
    table = table.merge(pd.read_csv(REFEREES), on=_CELL, validate="one_to_one")
    table["limit"] = FACTOR * table[["rmse_before", "rmse_ace"]].min(axis=1)
    table.to_csv(PLACE, index=False, float_format="%.4f")
    print(table[table["rmse"] > table["limit"]].to_string())


if __name__ == "__main__":
    main()
