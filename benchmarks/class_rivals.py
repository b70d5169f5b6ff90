"""Training on classes and on mixed attributes compared with Fairlearn: error at equal dependence.

    pip install fairlearn
    FAIRDASH_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.class_rivals [--rows 2500] [--splits 5] [--first 0]

Tables: a simulated one shaped like Adult (is income above 50,000 $; sex, four races, age and sex) and
material claims of pg15training (gender, age, both), drawn at random. Sensitive columns are never features.
Methods, each with a path by strength:

- `hgr_spline`: networks by λ; `fair_tariff`: tariffs by λ; neither needs s at prediction;
- `repair`: boosted trees and the exact barycentre of their predictions (classes: of each class's quantiles;
  a number within each class), needs s; `repair_projected`: its projection on x;
- `correlation_remover`: Fairlearn's CorrelationRemover by alpha, then the same trees; needs s;
- `reductions`: Fairlearn's ExponentiatedGradient of boosted trees with DemographicParity by difference bound,
  its mixture of classifiers as a probability (Adult only: a class as target; ages in fifths);
- `reductions_scores`: the classifiers of Fairlearn's GridSearch by their probabilities, made linear in the
  target on training rows, so that reweighting does not count as an error;
- `bounded_loss`: Fairlearn's BoundedGroupLoss, the constraint for regression (pg15training only).

Writes results/class_rivals.csv: the error on test rows (divided by that of the average) at the point where a
path first falls to 75, 50 and 25 % of the dependence of the trees, by linear interpolation between two
strengths; means over the `reached` splits in which the path falls that far, with 95 % intervals of Nadeau and
Bengio. Dependence is HGR (splines) of all columns of an attribute, and the largest value of several
attributes. `least` is the lowest dependence of the path. It runs in parts: see benchmarks.parts.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

import fairdash as fd
from benchmarks import parts
from benchmarks.postprocessor import STRENGTHS, TARIFF_LAMS, crossing, equal_rows
from benchmarks.tariff_rivals import tables
from fairdash.data.dataset import Dataset
from fairdash.tariff.plan import repaired_prices, tariffs_of_plan
from fairdash.training.baselines import MAX_TREES
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.losses import Loss
from fairdash.training.splits import Split
from fairdash.training.sweep import default_plan, train_sweep
from fairdash.utils.classes import classes_of, holds_text, one_column_each
from fairdash.utils.trees import boosted_trees

RESULTS = Path(__file__).parent / "results" / "class_rivals.csv"
LAMS = (0.3, 1.0, 3.0, 10.0)
BOUNDS = (0.2, 0.1, 0.05, 0.02)
GRID = 15
RACES = {"White": 0.7, "Black": 0.15, "Asian": 0.1, "Other": 0.05}


def adult_like(n: int, *sensitive: str) -> Dataset:
    """People whose income above 50,000 $ depends on education, hours, occupation, age, and also on sex."""
    rng = np.random.default_rng(0)
    age = np.round(17 + 60 * rng.beta(1.6, 2.6, n))
    is_man, race = rng.random(n) < 0.67, rng.choice(list(RACES), n, p=list(RACES.values()))
    edge = pd.Series(race).map({"White": 0.0, "Black": -2.0, "Asian": 1.5, "Other": -2.5}).to_numpy()
    education = np.clip(np.round(rng.normal(10 + edge, 2.5)), 1, 16)
    hours = np.clip(np.round(rng.normal(37 + 8 * is_man, 11)), 5, 90)
    office = rng.random(n) < expit(0.35 * (education - 10) - 0.3 * is_man)
    craft = ~office & (rng.random(n) < 0.15 + 0.5 * is_man)
    married = rng.random(n) < expit((age - 30) / 10 + 1.5 * is_man - 1.0)
    risk = 0.33 * (education - 10) + 0.03 * (hours - 40) + 0.9 * office + 1.9 * married
    risk = risk + 0.04 * (age - 38) - 0.0012 * (age - 48) ** 2 + 0.5 * is_man - 3.0
    frame = pd.DataFrame(
        {
            "education": education,
            "hours": hours,
            "occupation": np.select([office, craft], ["office", "craft"], "service"),
            "married": married.astype(float),
            "gain": np.where(rng.random(n) < 0.04 + 0.04 * expit(risk), rng.lognormal(8, 1, n), 0.0),
            "age": age,
            "sex": np.where(is_man, "M", "F"),
            "race": race,
        }
    )
    target = pd.Series((rng.random(n) < expit(risk)).astype(float), name="above 50,000 $")
    return _dataset("Adult-like", frame, target, sensitive, None)


def _dataset(
    name: str, frame: pd.DataFrame, target: pd.Series, sensitive: Sequence[str], weight: pd.Series | None
) -> Dataset:
    columns: dict[str, np.ndarray] = {}
    for each in sensitive:
        values = frame[each]
        columns |= classes_of(values).columns(each) if holds_text(values) else {each: values.to_numpy(float)}
    return Dataset(
        name=f"{name}: {' and '.join(sensitive)}",
        features=frame.drop(columns=list(sensitive)),
        target=target,
        sensitive=pd.DataFrame(columns),
        weight=weight,
    )


def data_sets(n: int) -> Iterator[Dataset]:
    for sensitive in (["sex"], ["race"], ["age", "sex"]):
        yield adult_like(n, *sensitive)
    _, table = next(tables(n))
    frame, weight = table.features.assign(Age=table.s), pd.Series(table.w, name="years")
    for sensitive in (["Gender"], ["Age"], ["Gender", "Age"]):
        yield _dataset("pg15training", frame, pd.Series(table.y, name="claims"), sensitive, weight)


def of_fairlearn(dataset: Dataset, split: Split, loss: Loss) -> Iterator[tuple[str, float, np.ndarray]]:
    """Method, strength, and predictions (n,) of all rows."""
    from fairlearn.preprocessing import CorrelationRemover
    from fairlearn.reductions import (
        BoundedGroupLoss,
        DemographicParity,
        ExponentiatedGradient,
        GridSearch,
        SquareLoss,
    )

    train, s = split.train, dataset.sensitive.to_numpy(dtype=float)
    x = FeatureEncoder.fit(dataset.features, rows=train).transform(dataset.features)
    y, w = dataset.target.to_numpy(dtype=float), np.ones(dataset.n_rows)
    if dataset.weight is not None:
        w = dataset.weight.to_numpy(dtype=float)
    # With k classes, the other columns determine the last one.
    s = s[:, :-1] if holds_text(one_column_each(dataset.sensitive).iloc[:, 0]) else s
    both, places = np.column_stack([x, s]), list(range(x.shape[1], x.shape[1] + s.shape[1]))
    for alpha in STRENGTHS:
        remover = CorrelationRemover(sensitive_feature_ids=places, alpha=alpha).fit(both[train])
        seen = remover.transform(both)
        model = boosted_trees(loss=loss.of_trees, max_iter=MAX_TREES, early_stopping=True, random_state=0)
        yield (
            "correlation_remover",
            alpha,
            model.fit(seen[train], y[train], sample_weight=w[train]).predict(seen),
        )
    attributes = one_column_each(dataset.sensitive)
    groups = attributes.apply(lambda each: pd.qcut(each, 5, labels=False) if each.nunique() > 10 else each)
    groups = groups.astype(str).agg(" · ".join, axis=1).to_numpy()
    trees = {"max_leaf_nodes": 15, "max_iter": 30, "random_state": 0}
    if set(np.unique(y)) == {0.0, 1.0}:
        for bound in BOUNDS:
            parity = DemographicParity(difference_bound=bound)
            model = HistGradientBoostingClassifier(**trees)
            model = ExponentiatedGradient(model, parity, max_iter=8, eps=bound)
            model.fit(x[train], y[train], sensitive_features=groups[train])
            yield "reductions", -bound, model._pmf_predict(x)[:, 1]
        grid = GridSearch(
            HistGradientBoostingClassifier(**trees), DemographicParity(), grid_size=GRID, grid_limit=1.0
        )
        grid.fit(x[train], y[train], sensitive_features=groups[train])
        for k, each in enumerate(grid.predictors_):
            score = each.predict_proba(x)[:, 1:] if hasattr(each, "predict_proba") else x[:, :1] * 0
            if np.ptp(score[train]) > 0:
                yield "reductions_scores", k, LinearRegression().fit(score[train], y[train]).predict(score)
    else:
        unit = np.average(y[train], weights=w[train])
        scaled = np.minimum(y / unit, 50.0)
        for bound in (1.2, 1.0, 0.9):
            top = float(scaled[train].max())
            constraint = BoundedGroupLoss(
                SquareLoss(0, top), upper_bound=bound * float(np.var(scaled[train]))
            )
            model = ExponentiatedGradient(HistGradientBoostingRegressor(**trees), constraint, max_iter=5)
            model.fit(x[train], scaled[train], sensitive_features=groups[train])
            mixed = [w * model.predictors_[k].predict(x) for k, w in model.weights_.items() if w > 0]
            told = np.sum(mixed, axis=0)
            yield "bounded_loss", -bound, np.maximum(told * unit, 1e-3 * unit)


def dependence(u: np.ndarray, attributes: pd.DataFrame) -> float:
    """The largest HGR with any attribute."""
    return max(float(fd.measure("hgr_spline", u, attributes[name])) for name in attributes)


def paths(dataset: Dataset, n_splits: int, first: int) -> pd.DataFrame:
    """Error and dependence on test rows, one row per method, strength and split; seeds begin at `first`."""
    plan = default_plan(
        dataset,
        methods=("standard", "hgr_spline"),
        lams=LAMS,
        n_splits=n_splits,
        random_state=first,
        confirmation=0.0,
        tune=False,
        tariff=True,
    )
    splits, loss = plan.splits(dataset), plan.settings.loss_function
    trained = train_sweep(dataset, plan, confirms=False)
    repaired, prices = repaired_prices(dataset, splits, loss=loss, strengths=STRENGTHS, random_state=first)
    tariffs = tariffs_of_plan(dataset, plan, splits, lams=TARIFF_LAMS)
    found = [
        (each.method, each.lam, each.split, told)
        for members, predictions in (
            (trained.members, trained.predictions),
            (repaired, prices),
            (tariffs.members, tariffs.predictions),
        )
        for each, told in zip(members.itertuples(), predictions, strict=True)
    ]
    for j, split in enumerate(splits):
        found += [(way, t, j, told) for way, t, told in of_fairlearn(dataset, split, loss)]
    y, attributes = dataset.target.to_numpy(dtype=float), one_column_each(dataset.sensitive)
    weight = np.ones(len(y)) if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
    rows = []
    for method, t, j, told in found:
        test = splits[j].test
        row = {"method": "hgr_spline" if method == "standard" else method, "lam": t, "split": first + j}
        row["error"] = loss.relative(y, told, weight, rows=test, train=splits[j].train)
        rows.append(row | {"dependence": dependence(told[test], attributes.iloc[test])})
    return pd.DataFrame(rows).assign(table=dataset.name, ratio=len(splits[0].test) / len(splits[0].train))


def error_at(path: pd.DataFrame, wanted: float) -> float:
    if path["method"].iloc[0] == "reductions_scores":
        # A grid of classifiers is not a path, so the best on test rows is taken, which favours this method.
        return float(path["error"][path["dependence"] <= wanted].min())
    return crossing(path, wanted)


def results_of(rows: pd.DataFrame) -> pd.DataFrame:
    tables = rows.groupby("table", sort=False)
    found = [{"table": table} | row for table, own in tables for row in equal_rows(own, error_at)]
    return pd.DataFrame(found).round(5)


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table of docs/classes.md."""
    lines = ["| table | way | 75 % | 50 % | 25 % | lowest ÷ trees' own |", "|---|---|---|---|---|---|"]
    for (name, way), own in table.groupby(["table", "way"], sort=False):
        cells = []
        for row in own.itertuples():
            few = f" [{row.reached}]" if 0 < row.reached < row.splits else ""
            off = "" if np.isnan(row.error_high) else f" ± {row.error_high - row.error:.3f}"
            cells.append("–" if not row.reached else f"{row.error:.3f}{off}{few}")
        cells.append(f"{100 * own['least'].iloc[0] / (own['dependence'] / own['share']).iloc[0]:.0f} %")
        lines.append("| " + " | ".join((str(name), f"`{way}`", *cells)) + " |")
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_500)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first split, and its seed")
    for category in (UserWarning, FutureWarning, ConvergenceWarning):
        warnings.simplefilter("ignore", category)

    def work(options: argparse.Namespace) -> parts.Work:
        for dataset in data_sets(options.rows):
            yield dataset.name, partial(paths, dataset, options.splits, options.first)

    parts.run(parser, argv, work, results_of, RESULTS, by="table")


if __name__ == "__main__":
    main()
