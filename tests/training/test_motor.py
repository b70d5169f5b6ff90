"""Claims counts with exposure, against scikit-learn on the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance

import fairdash as fd
from fairdash.training.feature_encoder import encode_rows
from fairdash.training.losses import LOSSES
from fairdash.training.settings import TrainingSettings


@pytest.mark.data
@pytest.mark.variant
def test_poisson_deviance_of_claims_counts_is_near_or_below_scikit_learns(real_data):
    dataset = fd.load_dataset("motor", target="frequency")
    settings = TrainingSettings(loss="poisson", n_epochs=6, warm_up_epochs=1)
    result = fd.sweep(
        dataset, methods=["standard"], lams=(), n_splits=1, settings=settings, device="cpu", measures=()
    )
    split = result.splits[0]
    y, exposure = dataset.target.to_numpy(), dataset.weight.to_numpy()
    x = encode_rows(dataset, split.train, LOSSES["poisson"]).x
    model = PoissonRegressor(alpha=1e-4, max_iter=1000)
    model.fit(x[split.train], y[split.train], sample_weight=exposure[split.train])

    def deviance(y_pred):
        return mean_poisson_deviance(y[split.test], y_pred, sample_weight=exposure[split.test])

    theirs = deviance(model.predict(x[split.test]))
    assert deviance(result.predictions[0, split.test]) <= 1.02 * theirs
    constant = np.average(y[split.train], weights=exposure[split.train])
    assert theirs < 0.9 * deviance(np.full(len(split.test), constant))
    relative = result.frame.loc[result.frame["part"] == "test", "deviance"].iloc[0]
    assert relative == pytest.approx(
        deviance(result.predictions[0, split.test])
        / mean_poisson_deviance(
            y[split.train], np.full(len(split.train), constant), sample_weight=exposure[split.train]
        ),
        abs=0.02,
    )
