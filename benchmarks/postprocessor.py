"""Repaired trees compared with networks, tariffs and two methods that need s, at three equal dependences.

    FAIRDASH_DATA=… python -m benchmarks.postprocessor [--rows 3000] [--splits 10] [--first 0] [--only crime]

Tables: Crime, household (simulated), material claims of pg15training, and claims of freMPL1 (the latter two
drawn at random). Methods, each with a path by strength:

- `repair`: trees that do not see s, repaired by fd.FairPostprocessor with s at pricing; `repair_projected`:
  its projection on x, without s; `repair_factors`: the same as a table of factors (prices above 0 only);
- `hgr_spline`: networks by λ, with `standard` at λ = 0; `fair_tariff`: tariffs by λ, where a
  run fits some (claims);
- `x_residual`: the same trees on columns less a share of their linear projection on s, as Fairlearn's
  CorrelationRemover takes it off (rating needs s);
- `price_residual`: the trees' price less a share of its projection on splines of s (rating needs s).

Writes results/postprocessor.csv. Rows of kind “equal” have the error on test rows (divided by that of the
average) at the point where a path first falls to 75, 50 and 25 % of the dependence of the trees, by linear
interpolation between two strengths; they are means over the `reached` splits in which the path falls that
far, with 95 % intervals of Nadeau and Bengio. Rows of kind “strength” have error and dependence (HGR,
splines, corrected) of the three repairs at each alpha. It runs in parts: see benchmarks.parts.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import SplineTransformer

import fairdash as fd
from benchmarks import parts
from benchmarks.tariff_rivals import Table, tables
from fairdash.data.dataset import Dataset
from fairdash.evaluation import DEFAULT_MEASURE, wide
from fairdash.evaluation.assess import assess_predictions
from fairdash.evaluation.bench import LEVELS as SHARES
from fairdash.evaluation.bench import fractional_index_below, with_interval
from fairdash.evaluation.execute_sweep import tariffs_of_plan
from fairdash.tariff.plan import repaired_prices
from fairdash.training.baselines import MAX_TREES
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.losses import Loss
from fairdash.training.splits import Split
from fairdash.training.sweep import default_plan, train_sweep
from fairdash.utils.trees import boosted_trees

RESULTS = Path(__file__).parent / "results" / "postprocessor.csv"
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
LAMS = (0.3, 1.0, 3.0, 10.0)
TARIFF_LAMS = (0.0, 0.01, 0.1, 0.4, 1.0, 3.0, 10.0)
FACTORS = "repair_factors"


def data_sets(n: int) -> Iterator[Dataset]:
    yield fd.load_dataset("household", n=2_000)
    for name, table in tables(n):
        if name in ("material", "freMPL1"):
            yield dataset_of({"material": "pg15training"}.get(name, name), table)
    yield fd.load_dataset("crime")


def dataset_of(name: str, table: Table) -> Dataset:
    return Dataset(
        name=name,
        features=table.features,
        target=pd.Series(table.y, name="claims"),
        sensitive=pd.DataFrame({"age": table.s}),
        weight=pd.Series(table.w, name="years"),
    )


def other_ways(dataset: Dataset, split: Split, loss: Loss) -> Iterator[tuple[str, float, np.ndarray]]:
    """Method, strength and prices (n,) of one split."""
    train = split.train
    x = FeatureEncoder.fit(dataset.features, rows=train).transform(dataset.features)
    s = dataset.sensitive.to_numpy(dtype=float)
    y = dataset.target.to_numpy(dtype=float)
    w = np.ones(len(y)) if dataset.weight is None else dataset.weight.to_numpy(dtype=float)

    def trees(table: np.ndarray) -> np.ndarray:
        model = boosted_trees(loss=loss.of_trees, max_iter=MAX_TREES, early_stopping=True, random_state=0)
        return np.asarray(model.fit(table[train], y[train], sample_weight=w[train]).predict(table))

    price = trees(x)
    splines = SplineTransformer(n_knots=6, knots="quantile", include_bias=False).fit(s[train]).transform(s)
    of_x = LinearRegression().fit(s[train], x[train], sample_weight=w[train])
    of_price = LinearRegression().fit(splines[train], price[train], sample_weight=w[train])
    along_x = of_x.predict(s) - np.average(x[train], axis=0, weights=w[train])
    along_price = of_price.predict(splines) - np.average(price[train], weights=w[train])
    least = price[train].min() if loss.has_log_link else -np.inf
    for t in STRENGTHS:
        yield "x_residual", t, trees(x - t * along_x)
        yield "price_residual", t, np.maximum(price - t * along_price, least)
    if loss.has_log_link:
        table = dataset.features.assign(**{"trees' price": price})
        for t in STRENGTHS[1:]:
            repair = fd.FairPostprocessor("trees' price", projection="factors", alpha=t, random_state=0)
            repair.fit(table.iloc[train], sensitive_features=s[train], sample_weight=w[train])
            yield FACTORS, t, repair.predict(table)
        yield FACTORS, 0.0, price


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
    )
    splits, loss = plan.splits(dataset), plan.settings.loss_function
    trained = train_sweep(dataset, plan, confirms=False)
    repaired, prices = repaired_prices(dataset, splits, loss=loss, strengths=STRENGTHS, random_state=first)
    members, predictions = [trained.members, repaired], [trained.predictions, prices]
    if plan.tariff:
        tariffs = tariffs_of_plan(dataset, plan, splits, lams=TARIFF_LAMS)
        members.append(tariffs.members)
        predictions.append(tariffs.predictions)
    for j, split in enumerate(splits):
        for method, t, price in other_ways(dataset, split, loss):
            members.append(pd.DataFrame([{"method": method, "lam": t, "split": j, "diverged": False}]))
            predictions.append(price[None])
    every = pd.concat([each[["method", "lam", "split", "diverged"]] for each in members], ignore_index=True)
    frame = wide(
        assess_predictions(
            dataset,
            np.concatenate(predictions),
            every,
            splits,
            loss=loss,
            measures=(DEFAULT_MEASURE,),
            n_permutations=0,
            parts=("test",),
            objective="demographic_parity",
        )
    )
    error = "deviance" if loss.power else "mse"
    frame = frame.rename(columns={error: "error", DEFAULT_MEASURE: "dependence"})
    frame["method"] = frame["method"].replace("standard", "hgr_spline")
    frame = frame[["method", "lam", "split", "error", "dependence"]]
    return frame.assign(
        table=dataset.name, split=first + frame["split"], ratio=len(splits[0].test) / len(splits[0].train)
    )


def crossing(path: pd.DataFrame, wanted: float) -> float:
    """Error at the point where a path by strength first falls to a dependence; NaN if it never does."""
    place = fractional_index_below(path["dependence"].to_numpy(), wanted)
    return float(np.interp(place, np.arange(len(path)), path["error"]))


def equal_rows(
    rows: pd.DataFrame, at: Callable[[pd.DataFrame, float], float] = crossing
) -> Iterator[dict[str, object]]:
    """One row per method and share of one table; `at` finds the error of a path at a dependence."""
    own = rows[(rows["method"] == "repair") & (rows["lam"] == 0)]["dependence"].mean()
    ratio = float(rows["ratio"].iloc[0])
    for method, of_method in rows.groupby("method", sort=False):
        found = [path.sort_values("lam") for _, path in of_method.groupby("split")]
        least = np.mean([path["dependence"].min() for path in found])
        for share in SHARES:
            errors = np.array([at(path, share * own) for path in found])
            errors = errors[np.isfinite(errors)]
            row: dict[str, object] = {"way": method, "share": share, "dependence": share * own}
            row |= {"reached": len(errors), "splits": len(found), "least": least}
            yield row | with_interval(errors, "error", ratio)


def strength_rows(rows: pd.DataFrame) -> Iterator[dict[str, object]]:
    for (method, t), each in rows.groupby(["method", "lam"], sort=False):
        if method.startswith("repair"):
            row: dict[str, object] = {"way": method, "share": t, "reached": len(each), "splits": len(each)}
            for name in ("dependence", "error"):
                row |= with_interval(each[name].to_numpy(), name, float(each["ratio"].iloc[0]))
            yield row


def results_of(rows: pd.DataFrame) -> pd.DataFrame:
    found = [
        {"table": table, "kind": kind} | row
        for table, own in rows.groupby("table", sort=False)
        for kind, made in (("equal", equal_rows(own)), ("strength", strength_rows(own)))
        for row in made
    ]
    return pd.DataFrame(found).round(5)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first split, and its seed")
    warnings.simplefilter(
        "ignore", UserWarning
    )  # warnings about levels that the training rows of a split lack

    def work(options: argparse.Namespace) -> parts.Work:
        for dataset in data_sets(options.rows):
            yield dataset.name, partial(paths, dataset, options.splits, options.first)

    parts.run(parser, argv, work, results_of, RESULTS, by="table")


if __name__ == "__main__":
    main()
