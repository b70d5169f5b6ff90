"""Boosted trees with options that are the same in all packages of fairdash."""

from __future__ import annotations

from typing import Any


def boosted_trees(**options: Any) -> Any:
    """Return scikit-learn's unfitted histogram gradient boosting, with 15 leaves and no early stopping.

    The argument `options` contains options of scikit-learn's class, which override these two settings.
    """
    from fairdash.utils.boosting import BoostedTrees

    return BoostedTrees(**{"max_leaf_nodes": 15, "early_stopping": False, **options})
