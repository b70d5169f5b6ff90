"""What is trained for the lesson, as committed; ``python -m benchmarks.lesson`` makes it again."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

DATA = Path(__file__).parent


@cache
def table(name: str) -> pd.DataFrame:
    """A committed table by its name."""
    return pd.read_csv(DATA / f"{name}.csv")


def row_of(frame: pd.DataFrame, column: str, value: float) -> dict[str, Any]:
    """The one row whose column has this value, by name."""
    (found,) = frame[frame[column] == value].to_dict("records")
    return {str(name): each for name, each in found.items()}
