"""Boosted trees with the options that all parts of fairdash share."""

from __future__ import annotations

from typing import Any


def boosted_trees(**options: Any) -> Any:
    """Return scikit-learn's histogram gradient boosting, not fitted, with 15 leaves and no early stopping.

    `options` are options of the class, and override these two.
    """
    from fairdash.utils.boosting import BoostedTrees

    return BoostedTrees(**{"max_leaf_nodes": 15, "early_stopping": False, **options})
