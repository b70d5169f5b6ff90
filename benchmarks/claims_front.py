"""Motor claims per year on one front: average, GLM, trees, network, fair networks, fair tariffs.

    FAIRDASH_DATA=… python -m benchmarks.claims_front [--rows 30000] [--splits 3]

All rows of a policy are held out together. Prints one row per model and λ, as means over the splits: test
deviance divided by that of the average, and dependence on age. For each fair network, it then prints the
deviance of tariffs at the same dependence, interpolated between two neighbouring tariffs. Writes
results/claims_front.csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import rdata

from fairdash.data.building import build_dataset
from fairdash.data.catalogue import CATALOGUE
from fairdash.data.dataset import Dataset
from fairdash.data.fetch import find_folder
from fairdash.data.published import CLAIMS
from fairdash.evaluation import summarise_splits, wide
from fairdash.evaluation.execute_sweep import execute_sweep
from fairdash.tables.roles import Roles
from fairdash.tariff import FAIR_TARIFF
from fairdash.training.defaults import LAMS
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep

RESULTS = Path(__file__).parent / "results" / "claims_front.csv"
MEASURES = ("hgr_spline", "hgr_rdc")


def policies(rows: int) -> Dataset:
    """The given number of rows, drawn at random and grouped by policy."""
    (file,) = CATALOGUE["motor"].files
    folder = find_folder("motor", [file])
    assert folder is not None, "set FAIRDASH_DATA"
    (frame,) = rdata.read_rda(folder / file).values()
    frame = frame.reset_index(drop=True).sample(rows, random_state=0).reset_index(drop=True)
    frame["Years"] = frame["Exppdays"] / 365
    features = [
        name for name in frame if name not in ("PolNum", "CalYear", "Exppdays", "Years", "Age", *CLAIMS)
    ]
    roles = Roles(
        target="Numtppd",
        sensitive=("Age",),
        features=tuple(features),
        weight="Years",
        rate=True,
        group="PolNum",
    )
    return build_dataset(frame, roles, name="pg15training")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    plan = Sweep(
        methods=("standard", "hgr_spline"),
        lams=LAMS,
        n_splits=options.splits,
        validation_share=0.2,
        split="group",
        tune=True,
        tariff=True,
        settings=TrainingSettings(loss="poisson", balance=True),
    )
    result = execute_sweep(policies(options.rows), plan)
    figures = pd.concat(
        [result.frames[plan.objective].query("part == 'test'"), result.baselines[plan.objective]]
    )
    table = wide(summarise_splits(figures, test_to_train=result.test_to_train))
    table = table[["method", "lam", "deviance", "deviance_se", *MEASURES]].reset_index(drop=True)
    tariffs = table[table["method"] == FAIR_TARIFF].sort_values("hgr_spline")
    networks = table["method"] == "hgr_spline"
    table.loc[networks, "deviance_of_tariff_there"] = np.interp(
        table.loc[networks, "hgr_spline"],
        tariffs["hgr_spline"],
        tariffs["deviance"],
        left=np.nan,
        right=np.nan,
    )
    print(table.to_string(index=False, float_format="{:.4f}".format))
    table.to_csv(RESULTS, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
