"""Choose the settings of Table 1's models: ``python -m benchmarks.paper.settings --dataset crime``.

Runs the search of :func:`fairdash.training.search.search_settings` for each method and objective, within the
rows that are never test rows in the five splits. Writes into ``benchmarks/paper/candidates.json``.
"""

from __future__ import annotations

import argparse
import json
from functools import reduce
from typing import Any

import numpy as np

from benchmarks.paper import table1
from fairdash.data.catalogue import load_dataset
from fairdash.data.dataset import Dataset
from fairdash.lab.paper import OBJECTIVES
from fairdash.training.search import GRIDS, SettingsSearch, search_settings
from fairdash.training.splits import random_splits
from fairdash.utils.records import to_plain

N_FOLDS = 3
RANDOM_STATE = 0


def settings_of(dataset: Dataset, tried: dict[str, Any], method: str, objective: str) -> dict[str, Any]:
    """The result of the search for one method and objective."""
    splits = random_splits(dataset.n_rows, n_splits=table1.N_SPLITS, random_state=RANDOM_STATE)
    rows = reduce(np.intersect1d, [split.train for split in splits])
    base = table1.base_settings(tried, method)
    # As many steps as for a model that is trained on all training rows.
    in_a_fold = len(rows) * (N_FOLDS - 1) // N_FOLDS
    plan = SettingsSearch(
        method=method,
        objective=objective,
        lam=tried["searched_at"][objective].get(method, 0.0),
        grid=GRIDS[tried["grid"]],
        n_folds=N_FOLDS,
        random_state=RANDOM_STATE,
        settings=base.with_steps_of(len(splits[0].train), on=in_a_fold),
        device="cpu",
    )
    found = search_settings(dataset, plan, rows=rows)
    best = to_plain(found.best)
    print(f"{objective}, {method}: {found.seconds:.0f} s, {len(rows):,} rows, {found.rule}", flush=True)
    print(found.frame.head(4).to_string(index=False, float_format="{:.4g}".format), flush=True)
    return {name: best[name] for name in to_plain(GRIDS[tried["grid"]])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", required=True)
    name = parser.parse_args().dataset
    dataset = load_dataset(name, **table1.options_of(name))
    tried = table1.candidates()[name]
    found = {
        method: {objective: settings_of(dataset, tried, method, objective) for objective in OBJECTIVES}
        for method in table1.COMPARED
    }
    # Read the file again, because the search for another data set may have ended in the meantime.
    content = json.loads(table1.CANDIDATES.read_text(encoding="utf-8"))
    content[name]["settings"] = found
    table1.CANDIDATES.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
