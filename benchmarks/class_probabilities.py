"""Class probabilities of a hidden class: how often intervals and bounds contain the true difference.

    OMP_NUM_THREADS=1 python -m benchmarks.class_probabilities

There are four hidden classes, with P(class | z) logistic in two factors; the price depends on z and, in half
of the cases, on the class. Probabilities are calibrated or overconfident; in the overconfident cases the true
class of 400 of 2,000 rows is known, and the probabilities are recalibrated on these rows. 200 samples per
case. Writes results/class_probabilities.csv: the share of samples in which the interval, and the bounds,
contain the true difference of a class from the rest (the lowest share of the four classes), and how often the
calibration test rejects.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import softmax

from fairdash.evaluation.classes import by_probability, calibration

RESULTS = Path(__file__).parent / "results"
NAMES, LEVELS = tuple("abcd"), [1, 0.2, 0, -0.5]
SLOPES = np.array([[0.0, 1.2, -0.8, 0.5], [0.0, 0.3, 1.0, -0.9]])
ROWS, KNOWN, SAMPLES = 2_000, 400, 200
#: Amount added to the price of class b, and the factor of overconfidence.
EXTRA, OVERSURE = 8.0, 1.8
CASES = [(calibrated, by_class) for calibrated in (True, False) for by_class in (False, True)]


def law(z: np.ndarray, extra: float) -> tuple[np.ndarray, np.ndarray]:
    """P(class | z) and E[price | z, class], (n, 4) each."""
    mean = 100 + 10 * z[:, :1] + 5 * z[:, 1:] ** 2 + extra * np.array([0, 1.0, 0, 0])
    return softmax(z @ SLOPES + LEVELS, axis=1), mean


def truth(extra: float) -> np.ndarray:
    """Differences of the classes from the rest, (4,), from a million draws of z."""
    p, mean = law(np.random.default_rng(99).normal(size=(1_000_000, 2)), extra)
    total = (p * mean).sum(axis=0)
    return total / p.sum(axis=0) - (total.sum() - total) / (1 - p).sum(axis=0)


def sample(seed: int, *, calibrated: bool, extra: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Price (n,), stated probabilities (n, 4) and known classes (n,), with −1 for unknown classes."""
    rng = np.random.default_rng(seed)
    p, mean = law(rng.normal(size=(ROWS, 2)), extra)
    code = (p.cumsum(axis=1) < rng.random((ROWS, 1))).sum(axis=1)
    y = mean[np.arange(ROWS), code] + rng.normal(0, 8, ROWS)
    stated = p if calibrated else p**OVERSURE / (p**OVERSURE).sum(axis=1, keepdims=True)
    return y, stated, np.where(np.arange(ROWS) < KNOWN, code, -1)


def case(calibrated: bool, by_class: bool, samples: int = SAMPLES) -> dict[str, object]:
    """The shares of one case."""
    extra = EXTRA if by_class else 0.0
    true, inside, bounded, rejected, width = truth(extra), [], [], [], []
    for seed in range(samples):
        y, p, known = sample(seed, calibrated=calibrated, extra=extra)
        found = by_probability(y, p, NAMES, true_class=None if calibrated else known)
        inside.append((found["difference_low"] <= true) & (true <= found["difference_high"]))
        bounded.append((found["bound_low"] <= true) & (true <= found["bound_high"]))
        rejected.append((calibration(p, known, NAMES)["p_value"] <= 0.05).any())
        width.append(found["bound_high"] - found["bound_low"])
    return {
        "calibrated": calibrated,
        "price follows the class itself": by_class,
        "interval holds": np.mean(inside, axis=0).min(),
        "bounds hold": np.mean(bounded, axis=0).min(),
        "calibration rejected": np.mean(rejected),
        "mean width of the bounds": np.mean(width),
    }


if __name__ == "__main__":
    table = pd.DataFrame([case(*each) for each in CASES])
    table.to_csv(RESULTS / "class_probabilities.csv", index=False, float_format="%.4g")
    print(table.to_string(index=False))
