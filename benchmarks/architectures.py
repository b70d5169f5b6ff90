"""Error and dependence of each architecture on Crime as λ grows, on rows that no network has seen.

    OMP_NUM_THREADS=1 FAIRDASH_DATA=… python -m benchmarks.architectures

Five splits, the penalty of HGR_spline, demographic parity, no comparison of settings. The error is divided by
that of a constant prediction. Writes results/architectures.csv.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pandas as pd

import fairdash as fd
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep, train_sweep

RESULTS = Path(__file__).parent / "results" / "architectures.csv"
#: Units and weight decay that work best for each architecture, at λ = 0 and at intermediate λ.
SETTINGS: Mapping[str, TrainingSettings] = MappingProxyType(
    {
        "tanh": TrainingSettings(weight_decay=0.03, lr=4e-3),
        "scores": TrainingSettings(architecture="scores", hidden=(64, 32), weight_decay=0.06, lr=4e-3),
        "scores, more decay": TrainingSettings(
            architecture="scores", hidden=(64, 32), weight_decay=0.15, lr=4e-3
        ),
    }
)
LAMS = (1.0, 1.5, 2.0, 4.0)


def front(settings: TrainingSettings) -> pd.DataFrame:
    """Error and dependence at every λ, as means over the splits' test rows."""
    dataset = fd.load_dataset("crime")
    y, s = dataset.target.to_numpy(dtype=float), dataset.sensitive.to_numpy(dtype=float)[:, 0]
    plan = Sweep(methods=("standard", "hgr_spline"), lams=LAMS, n_splits=5, settings=settings, device="cpu")
    trained = train_sweep(dataset, plan)
    rows = []
    for (_, member), y_pred in zip(trained.members.iterrows(), trained.predictions, strict=True):
        split = trained.splits[member["split"]]
        test = split.test
        constant = ((y[test] - y[split.train].mean()) ** 2).mean()
        rows.append(
            {
                "lam": member["lam"],
                "error": ((y[test] - y_pred[test]) ** 2).mean() / constant,
                "hgr_kde": fd.measure("hgr_kde", y_pred[test], s[test]),
                "hgr_rdc": fd.measure("hgr_rdc", y_pred[test], s[test]),
            }
        )
    return pd.DataFrame(rows).groupby("lam", as_index=False).mean()


def main() -> None:
    found = pd.concat({name: front(settings) for name, settings in SETTINGS.items()}, names=["architecture"])
    table = found.reset_index(level=0)
    print(table.round(3).to_string(index=False))
    table.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
