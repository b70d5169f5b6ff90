"""Scene 3: an adversary that learns noise by heart."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.simulations import Scene
from fairdash.simulations.lesson.curve import signed
from fairdash.simulations.lesson.data import row_of, table

Array = NDArray[np.float64]

ROWS = (50, 100, 200, 500, 1000, 2000)
STEPS = (5, 10, 20, 50, 100, 200, 500)


def scene_of(n: int) -> Scene:
    """Rows of two variables that have nothing to do with each other."""
    return Scene(pattern="none", n=n, noise=2.0, seed=3)


def independent_rows(n: int) -> tuple[Array, Array]:
    """U and V of :func:`scene_of`, (n,) each."""
    u, v = scene_of(n).draw()
    return u[0], v[0]


def readings(n: int) -> pd.DataFrame:
    """A row a number of steps: ``own`` and ``new``, HGR_NN on the rows that it has learned and on others;
    ``low`` and ``high``, the range of ``own`` on shuffled rows."""
    found = table("noise")
    return found[found["n"] == n].reset_index(drop=True)


def sentence(n: int, steps: int) -> str:
    """What the networks read after so many steps, in Markdown."""
    row = row_of(readings(n), "steps", steps)
    return (
        f"**After {steps} steps on {n:,} rows without any link the adversary reads {row['own']:.2f} on the "
        f"rows it has learned, and {signed(row['new'])} on rows it has not seen.** "
        f"On the same rows shuffled it reads {row['low']:.2f} to {row['high']:.2f}. A number says "
        "nothing until its noise floor stands beside it."
    )
