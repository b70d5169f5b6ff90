"""What libraries that are slow to import say of a table each: ``python -m tests.referees`` writes it down.

dcor compiles for most of a minute as it is imported, so the tests hold fairdash to the values that it gave.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

VALUES = Path(__file__).with_suffix(".json")


def pairs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name to u (n,) and v, (n,) or (n, 3)."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=257)
    return {
        "one column": (u, np.round(u**2 + rng.normal(size=257), 1)),
        "three": (u, rng.normal(size=(257, 3))),
    }


def write() -> None:
    """Ask the referees, and write down what they say and who they are."""
    import dcor

    said = {
        name: float(dcor.distance_correlation(*((x - x.mean(axis=0)) / x.std(axis=0) for x in pair)))
        for name, pair in pairs().items()
    }
    text = json.dumps({"dcor": dcor.__version__, "distance_correlation": said}, indent=1)
    VALUES.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
