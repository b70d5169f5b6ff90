"""A small comparison to report on, made without training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.evaluation import assess_curve, assess_predictions
from fairdash.evaluation.result import SweepResult
from fairdash.training.methods import ModelKey
from fairdash.training.settings import OBJECTIVES
from fairdash.training.splits import random_splits
from fairdash.training.sweep import Sweep
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import fronts_of

EVIL = '<img src=x onerror="window.hacked=1">'
FORMULA = '=HYPERLINK("x","y")'
CLOSING = "</script><script>window.hacked=1</script>\u2028"
LAMS = (0.5, 1.0, 2.0)
MEASURES = ("hgr_kde", "hgr_spline", "fairquant")


def make_dataset(*, n=500, sensitive="age", target="price", title="Prices", values=None, weight=False):
    rng = np.random.default_rng(0)
    s = rng.uniform(18, 80, n) if values is None else np.resize(values, n).astype(float)
    s = rng.permutation(s)
    x = s + rng.normal(scale=s.std(), size=n)
    y = 100 + 3 * x + rng.normal(scale=x.std(), size=n)
    return Dataset(
        name="prices", title=title, description=f"A row is a policy. {title}",
        features=pd.DataFrame({"x": x, f"{FORMULA} ": rng.normal(size=n), f"{EVIL} ": rng.normal(size=n)}),
        target=pd.Series(y, name=target), sensitive=pd.DataFrame({sensitive: s}),
        weight=pd.Series(rng.uniform(0.2, 1, n), name="exposure") if weight else None,
        units={target: "€", sensitive: "years"}, notes=(f"2 rows of {title} left out.",),
    )  # fmt: skip


PLAN = Sweep(methods=("standard", "hgr_nn"), lams=LAMS, n_splits=2, validation_share=0.2, device="cpu")


def make_result(dataset):
    """Models of one method, whose predictions approach the mean as λ grows."""
    y = dataset.target.to_numpy()
    splits = random_splits(len(y), n_splits=PLAN.n_splits, random_state=0, validation_share=0.2)
    models = pd.DataFrame({"method": ["standard", *["hgr_nn"] * 3], "lam": [0.0, *LAMS]})
    members = models.merge(pd.DataFrame({"split": range(PLAN.n_splits), "diverged": False}), how="cross")
    members = members.sort_values("split", kind="stable", ignore_index=True)
    fit = np.polynomial.Polynomial.fit(dataset.features["x"], y, 1)(dataset.features["x"].to_numpy())
    rng = np.random.default_rng(1)
    noise = y.std() / 20 * rng.normal(size=(len(members), len(y)))
    predictions = fit + members["lam"].to_numpy()[:, None] / 3 * (y.mean() - fit) + noise
    frames, paths = {}, {}
    for each in OBJECTIVES:
        options = {"objective": each, "measures": MEASURES}
        frames[each] = assess_predictions(dataset, predictions, members, splits, n_permutations=20, **options)
        paths[each] = assess_curve(dataset, predictions, frames[each], members, splits, **options)
    place = pd.DataFrame({"feature": list(dataset.features), "k": range(len(dataset.features.columns))})
    features = members.drop(columns="diverged").merge(place, how="cross")
    features["importance"] = 0.1 * features["k"] - 0.05 * features["lam"]
    features["reliance"] = 10.0 * features.pop("k") + features["lam"]
    roles = dataset.roles
    return SweepResult(
        sweep=PLAN, frames=frames, paths=paths, members=members, predictions=predictions, splits=splits,
        target=y, sensitive=dataset.sensitive,
        weight=None if dataset.weight is None else dataset.weight.to_numpy(), target_name=roles.target,
        units=dict(dataset.units), references=None, price=None, importance=features, device="cpu",
        seconds=12.3, notes=(f"A note on {dataset.title}.",), versions={"python": "3.0", "torch": "0.1.2"},
        evaluations={"hgr_spline": "corrected by evidence"},
    )  # fmt: skip


#: Results by data set, stored with the data set so that its id is not reused.
_MADE = {}


def make_comparison(dataset, *, lam=1.0, a=0.0, objective="demographic_parity", importance=False):
    """A comparison of two of the models; `a` is λ of point A."""
    if id(dataset) not in _MADE:
        _MADE[id(dataset)] = dataset, make_result(dataset)
    result = _MADE[id(dataset)][1]
    result = result if importance else replace(result, importance=None)
    (sensitive,) = dataset.sensitive.columns
    return Comparison(
        title=dataset.title, plan=PLAN, result=result, fronts=fronts_of(result, sensitive=sensitive),
        objective=objective, measure="hgr_kde",
        a=ModelKey("standard", 0.0) if a == 0 else ModelKey("hgr_nn", a), b=ModelKey("hgr_nn", lam),
    )  # fmt: skip
