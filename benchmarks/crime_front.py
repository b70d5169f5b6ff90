"""The Crime front at default settings: accuracy against RidgeCV, dependence against its floor.

    python -m benchmarks.crime_front [--splits 20] [--objective demographic_parity] [--out FILE]

Test rows of fixed random 80/20 splits. RidgeCV gets the same encoded features and the standardised target,
and chooses its penalty on the training rows. Settings were chosen on validation rows inside one split's
training rows, not on these test rows.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV

import fairdash as fd
from fairdash.evaluation import summarise_splits, wide
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.splits import Split, random_splits


def ridge_errors(dataset: fd.Dataset, splits: tuple[Split, ...]) -> np.ndarray:
    """Test error of RidgeCV on each split, divided by that of the average of the training rows."""
    y = dataset.target.to_numpy()
    errors = []
    for split in splits:
        encoded = FeatureEncoder.fit(dataset.features, rows=split.train).transform(dataset.features)
        model = RidgeCV(np.logspace(-2, 4, 25)).fit(encoded[split.train], y[split.train])
        squared = (model.predict(encoded[split.test]) - y[split.test]) ** 2
        errors.append(squared.mean() / np.mean((y[split.test] - y[split.train].mean()) ** 2))
    return np.array(errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--objective", default="demographic_parity")
    parser.add_argument("--out", type=Path, default=None, help="CSV to write the table to")
    options = parser.parse_args()
    dataset = fd.load_dataset("crime")
    result = fd.sweep(
        dataset,
        methods=["standard", "hgr_nn"],
        objective=options.objective,
        n_splits=options.splits,
        validation_share=0.0,
        settings=fd.TrainingSettings(),
        tune=False,
        importance=False,
        references=False,
        device="cpu",
    )
    ridge = ridge_errors(dataset, random_splits(dataset.n_rows, n_splits=options.splits, random_state=0))
    summary = wide(summarise_splits(result.frames[result.objective]))
    test = summary[summary["part"] == "test"]
    columns = ["method", "lam", "n_splits", "mse", "mse_se", "hgr_kde", "hgr_kde_se", "hgr_kde_floor"]
    table = test[columns].assign(excess=test["hgr_kde"] - test["hgr_kde_floor"])
    standard = float(table.loc[table["method"] == "standard", "mse"].iloc[0])
    print(table.to_string(index=False, float_format="{:.3f}".format))
    print(f"RidgeCV: {ridge.mean():.3f}; standard network: {standard:.3f} ({standard - ridge.mean():+.3f})")
    print(f"trained in {result.seconds:.0f} s on {result.device} ({platform.machine()})")
    if options.out is not None:
        ridge_row = pd.DataFrame({"method": ["ridge_cv"], "n_splits": [len(ridge)], "mse": [ridge.mean()]})
        pd.concat([ridge_row, table]).to_csv(options.out, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
