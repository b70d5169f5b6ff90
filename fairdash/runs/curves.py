"""A run's training curves: a line of JSON a λ and epoch, added while it trains."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pandas as pd

from fairdash.storage import cant_keep

#: What their file is called.
CURVES = "curves.jsonl"
#: What a line says.
COLUMNS = ("method", "lam", "epoch", "mse", "dependence")


def add_curve(path: Path, curve: pd.DataFrame) -> None:
    """Append an epoch's curve (see :class:`fairdash.training.sweep.SweepProgress`).

    Raises
    ------
    StorageError
        The disk won't; what is there stays as it is.
    """
    before = path.stat().st_size if path.exists() else 0
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(curve.to_json(orient="records", lines=True))
    except OSError as error:
        # Half a line would spoil the next; where not even this can be done, nothing has been written.
        with suppress(OSError):
            os.truncate(path, before)
        raise cant_keep(error) from error


def read_curves(path: Path | None) -> pd.DataFrame:
    """All curves in a file so far; no rows without one."""
    if path is None:
        return pd.DataFrame(columns=list(COLUMNS))
    # The worker may be in the middle of writing the last line.
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    lines = [json.loads(line) for line in whole.splitlines() if line]
    return pd.DataFrame(lines, columns=list(COLUMNS))
