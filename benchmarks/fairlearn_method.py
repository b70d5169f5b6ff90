"""Fairlearn's adversarial regressor (Zhang et al. 2018) as a method of benchmarks.methods.

    pip install fairlearn==0.15.0
    python -m benchmarks.methods --only crime --methods benchmarks.fairlearn_method:Fairlearn --out crime.csv

All columns are standardised; λ is fairlearn's alpha. The networks and the schedule have the size of
fairdash's.
"""

from __future__ import annotations

import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


class Fairlearn:
    lams = (0.0, 0.1, 0.3, 1.0, 3.0)

    def __init__(self, lam: float) -> None:
        self.alpha = lam

    def fit(self, X: pd.DataFrame, y: pd.Series, sensitive_features: pd.DataFrame) -> Fairlearn:
        from fairlearn.adversarial import AdversarialFairnessRegressor

        self.prepare = make_pipeline(SimpleImputer(), StandardScaler()).fit(X)
        self.mean, self.sd = y.mean(), y.std()
        self.model = AdversarialFairnessRegressor(
            backend="torch",
            predictor_model=[64, "ReLU"],
            adversary_model=[16, "ReLU"],
            alpha=self.alpha,
            epochs=30,
            batch_size=128,
            random_state=0,
        )
        s = StandardScaler().fit_transform(sensitive_features)
        self.model.fit(self.prepare.transform(X), (y - self.mean) / self.sd, sensitive_features=s)
        return self

    def predict(self, X: pd.DataFrame) -> pd.Series:
        return self.model.predict(self.prepare.transform(X)) * self.sd + self.mean
