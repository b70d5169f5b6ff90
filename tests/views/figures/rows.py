"""Tidy rows of simulated fronts, from frames with one column per measure."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairdash.evaluation.figures import ERRORS, FIGURES, tidy


def rows_of(frame: pd.DataFrame | None, *measures: str) -> pd.DataFrame | None:
    """Means over the splits of these measures, with the column suffixes of :func:`fairdash.evaluation.wide`."""
    if frame is None:
        return None
    names = {(m, kind): m if kind == "value" else f"{m}_{kind}" for m in measures for kind in FIGURES}
    columns = [frame.get(name, pd.Series(np.nan, frame.index)) for name in names.values()]
    values = np.stack(columns, axis=-1).astype(float).reshape(len(frame), len(measures), len(FIGURES))
    cells = [(each, "" if each in ERRORS else "s") for each in measures]
    return tidy(frame.drop(columns=[*names.values()], errors="ignore"), cells, values)
