"""What an estimator's predict was given, checked and matched with the columns that were fitted."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from fairdash.training.regressor_tables import (
    as_pandas,
    clean_features,
    require_columns,
    require_unique,
    sensitive_table,
)


def rows_to_predict(
    model: Any,
    X: Any,
    *,
    columns: Sequence[Hashable],
    numbers: Collection[Hashable],
    has_text: bool,
) -> pd.DataFrame:
    """The fitted columns of X, in their order and clean.

    Parameters
    ----------
    model
        A fitted estimator, with ``sensitive_names_``; those of its columns may be missing.
    columns
        Those that are looked at, by name or position.
    numbers
        Which of them must be numbers.
    has_text
        Whether the others may hold text.

    Raises
    ------
    DataError
        A column is missing, or can't be used.
    """
    X = as_pandas(X)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and isinstance(X, pd.DataFrame):
        require_unique(X)
        require_columns(X, columns)
        table = X
    else:
        checked = validate_data(
            model,
            X,
            reset=False,
            dtype=object if has_text else np.float64,
            ensure_all_finite="allow-nan",
        )
        table = pd.DataFrame(checked, columns=names)
    sensitive = [name for name in model.sensitive_names_ if name in table.columns]
    if sensitive:
        sensitive_table(table[sensitive], name="X")
    return clean_features(table[list(columns)], numbers=numbers)


def in_columns(counts: Mapping[Hashable, int]) -> str:
    """Columns with how many of their cells are meant: “zone” (3), “roof” (12)."""
    return ", ".join(f"“{name}” ({count:,})" for name, count in counts.items())
