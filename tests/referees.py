"""Reference results of other packages, which ``python -m tests.referees FOLDER`` writes to a file.

Importing dcor compiles for most of a minute, so the tests compare fairdash with stored values of dcor. FOLDER
is ``python/general`` of github.com/agi-lab/beyond-correlation, whose ``dcovs.py`` has no licence that permits
copying it.
"""

import json
import sys
from pathlib import Path

import numpy as np

VALUES = Path(__file__).with_suffix(".json")


def pairs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name, mapped to u of shape (n,) and v of shape (n,) or (n, 3)."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=257)
    return {
        "one column": (u, np.round(u**2 + rng.normal(size=257), 1)),
        "three": (u, rng.normal(size=(257, 3))),
    }


def samples() -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """Twenty tables: u (n,) and two or three attributes, numbers (n,) or classes (n, k)."""
    rng = np.random.default_rng(1)
    found = []
    for k in range(20):
        n = 12 + 5 * k
        age, sex = 40 + 12 * rng.normal(size=n), (rng.random(n) < 0.4).astype(float)
        region = np.eye(4)[np.append([0, 1, 2, 3], rng.integers(0, 4, n - 4))]
        u = 3 * rng.normal(size=n) + 0.1 * age * (2 * sex - 1)
        found.append((u, ([age, sex], [region, sex], [age, region, sex])[k % 3]))
    return found


def write(theirs: str) -> None:
    """Run the other packages and write their results and versions."""
    import dcor
    import torch

    sys.path.insert(0, theirs)
    import dcovs

    joint = []
    for u, attributes in samples():
        parts, vector = [torch.tensor(x) for x in (u, *attributes)], np.column_stack(attributes)
        of_vector = dcovs.sq_dcov_unbiased(parts[0], torch.tensor(vector))
        dcors = float(dcor.u_distance_covariance_sqr(u, vector))
        joint.append([float(dcovs.JdCov_sq_unbiased(*parts)), float(of_vector), dcors])
    said = {
        name: float(dcor.distance_correlation(*((x - x.mean(axis=0)) / x.std(axis=0) for x in pair)))
        for name, pair in pairs().items()
    }
    names = {"dcor": dcor.__version__, "dcovs.py": "agi-lab/beyond-correlation at fd58a3b"}
    text = json.dumps({**names, "distance_correlation": said, "joint": joint}, indent=1)
    VALUES.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
