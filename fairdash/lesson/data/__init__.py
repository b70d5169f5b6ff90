"""What is trained for the lesson, as committed; ``python -m benchmarks.lesson`` makes it again."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

DATA = Path(__file__).parent


@cache
def table(name: str) -> pd.DataFrame:
    """A committed table by its name."""
    return pd.read_csv(DATA / f"{name}.csv")
