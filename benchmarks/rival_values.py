"""Values of two penalties from their authors' public code, on samples that the tests draw again.

    git clone https://github.com/giuluck/maxcorr && git -C maxcorr checkout 611fd82
    git clone https://github.com/zhimengj0326/GDP && git -C GDP checkout c2c04a1
    python -m benchmarks.rival_values maxcorr GDP

The penalties are GeDI with a cubic kernel, and GDP on the grid of fairdash's penalty. (Later versions of
maxcorr use the name GeDI for another quantity: the correlation times the ratio of the standard deviations.)
Writes tests/training/rival_values.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]
VALUES = Path(__file__).parents[1] / "tests" / "training" / "rival_values.json"
SAMPLES = 20


def sample(seed: int) -> tuple[Array, Array]:
    """A standardised u, and an s that equals its normal scores; (n,) each."""
    rng = np.random.default_rng(seed)
    n = 60 + 20 * seed
    s = ndtri((rng.permutation(n) + 0.5) / n)
    u = np.sin(seed * s / 5) + 0.1 * seed * s**2 + rng.normal(size=n)
    return (u - u.mean()) / u.std(), s


def main() -> None:
    maxcorr, gdp = map(Path, sys.argv[1:])
    sys.path[:0] = [str(maxcorr), str(gdp / "tabular")]
    import torch
    from cfair.metrics.kernel.gedi import GeneralizedDisparateImpact
    from kde import kde_fair

    torch.set_default_dtype(torch.float64)  # the default type also of their bandwidth
    found: dict[str, list[float]] = {"gedi": [], "gdp": []}
    grid = kde_fair(torch.linspace(-3, 3, 64, dtype=torch.float64))
    for seed in range(SAMPLES):
        u, s = sample(seed)
        found["gedi"].append(float(GeneralizedDisparateImpact(kernel=3)(s, u).value))
        given = torch.from_numpy(u), torch.from_numpy(s)
        found["gdp"].append(float(grid.forward(*given, "cpu")))
    VALUES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
