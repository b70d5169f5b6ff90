"""Fit small models of many libraries, and export each as its library can; needs no fairdash.

    python -m venv env
    env/bin/pip install catboost==1.2.10 lightgbm==4.7.0 xgboost==3.2.0 scikit-learn==1.9.1 \\
        skl2onnx==1.20.0 onnxmltools==1.16.0 interpret-core==0.7.8 ebm2onnx==3.3.1 "protobuf<7" pandas
    env/bin/python benchmarks/model_exports.py FOLDER

Writes FOLDER/exports.csv, a row a pair of model and file (library, version, model, file, name, and why there
is none), FOLDER/portfolio.csv, with what each model's own ``predict`` gives, and the files, which
`benchmarks.model_files` reads.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

N = 1_000
FEATURES = ["age", "power", "bonus"]
rng = np.random.default_rng(0)
PORTFOLIO = pd.DataFrame(
    {"age": rng.integers(18, 90, N), "power": rng.integers(4, 12, N), "bonus": rng.uniform(50, 150, N)}
)
RATE = np.exp(0.01 * (PORTFOLIO["age"] - 50) + 0.05 * PORTFOLIO["power"] - 0.5)
COUNTS = rng.poisson(RATE).astype(float)
COSTS = np.where(COUNTS > 0, rng.gamma(np.maximum(COUNTS, 1) * 2) * 100, 0.0)
AMOUNTS = rng.gamma(2, 50 * RATE)
X = PORTFOLIO[FEATURES].to_numpy(np.float32)
#: Library, model, target, how it is fitted, and its exports by the file's ending.
Exports = dict[str, Callable[[Any, Path], None]]


def models() -> list[tuple[str, str, np.ndarray, Any, Exports]]:
    """Return the models: library, name, target, an estimator and its exports."""
    import lightgbm
    import xgboost
    from catboost import CatBoostClassifier, CatBoostRegressor
    from interpret.glassbox import ExplainableBoostingRegressor
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType
    from skl2onnx import to_onnx
    from sklearn import ensemble, linear_model, neighbors, neural_network, svm, tree
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, SplineTransformer, StandardScaler

    types = [("x", FloatTensorType([None, len(FEATURES)]))]

    def whole(convert: Callable[[Any], Any]) -> Callable[[Any, Path], None]:
        return lambda model, path: path.write_bytes(convert(model).SerializeToString()) and None

    def as_pickle(model: Any, path: Path) -> None:
        path.write_bytes(pickle.dumps(model))

    def as_ebm(model: Any, path: Path) -> None:
        import ebm2onnx

        names = ebm2onnx.get_dtype_from_pandas(PORTFOLIO[FEATURES].astype(float))
        path.write_bytes(ebm2onnx.to_onnx(model, names).SerializeToString())

    made: list[tuple[str, str, np.ndarray, Any, Exports]] = []
    few: dict[str, Any] = {"verbose": False, "allow_writing_files": False, "iterations": 6, "depth": 3}
    of_catboost: Exports = {
        kind: (lambda model, path, kind=kind: model.save_model(str(path), format=kind))
        for kind in ("onnx", "cbm", "json", "pmml")
    }
    for loss, y in (
        ("RMSE", AMOUNTS), ("MAE", AMOUNTS), ("Quantile:alpha=0.9", AMOUNTS), ("Huber:delta=20", AMOUNTS),
        ("Poisson", COUNTS), ("Tweedie:variance_power=1.5", COSTS), ("LogCosh", AMOUNTS),
    ):  # fmt: skip
        made.append(("catboost", loss, y, CatBoostRegressor(loss_function=loss, **few), of_catboost))
    made.append(("catboost", "Logloss", COUNTS > 0, CatBoostClassifier(**few), of_catboost))
    of_lightgbm: Exports = {
        "onnx": whole(lambda model: convert_lightgbm(model, initial_types=types)),
        "txt": lambda model, path: model.booster_.save_model(path) and None,
        "pkl": as_pickle,
    }
    for loss, y in (
        ("regression", AMOUNTS), ("regression_l1", AMOUNTS), ("quantile", AMOUNTS), ("mape", AMOUNTS),
        ("poisson", COUNTS), ("gamma", AMOUNTS), ("tweedie", COSTS), ("cross_entropy", np.minimum(COUNTS, 1)),
    ):  # fmt: skip
        small = lightgbm.LGBMRegressor(objective=loss, n_estimators=6, num_leaves=6, verbose=-1)
        made.append(("lightgbm", loss, y, small, of_lightgbm))
    of_xgboost: Exports = {
        "onnx": whole(lambda model: convert_xgboost(model, initial_types=types)),
        "json": lambda model, path: model.save_model(path),
        "ubj": lambda model, path: model.save_model(path),
    }
    for loss, y in (
        ("reg:squarederror", AMOUNTS), ("reg:absoluteerror", AMOUNTS), ("reg:pseudohubererror", AMOUNTS),
        ("count:poisson", COUNTS), ("reg:gamma", AMOUNTS), ("reg:tweedie", COSTS),
        ("reg:logistic", np.minimum(COUNTS, 1)), ("reg:squaredlogerror", AMOUNTS),
    ):  # fmt: skip
        made.append(
            (
                "xgboost",
                loss,
                y,
                xgboost.XGBRegressor(objective=loss, n_estimators=6, max_depth=3),
                of_xgboost,
            )
        )
    of_sklearn: Exports = {"onnx": whole(lambda model: to_onnx(model, X[:1])), "pkl": as_pickle}
    trees = ensemble.HistGradientBoostingRegressor
    for name, y, model in (
        *((f"HistGradientBoosting {loss}", y, trees(loss=loss, max_iter=6, max_leaf_nodes=6, **more))
          for loss, y, more in (("squared_error", AMOUNTS, {}), ("absolute_error", AMOUNTS, {}),
                                ("poisson", COUNTS, {}), ("gamma", AMOUNTS, {}),
                                ("quantile", AMOUNTS, {"quantile": 0.9}))),
        ("GradientBoosting", AMOUNTS, ensemble.GradientBoostingRegressor(n_estimators=6)),
        ("RandomForest", AMOUNTS, ensemble.RandomForestRegressor(4, max_depth=4)),
        ("RandomForest poisson", COUNTS, ensemble.RandomForestRegressor(4, max_depth=4, criterion="poisson")),
        ("ExtraTrees", AMOUNTS, ensemble.ExtraTreesRegressor(4, max_depth=4)),
        ("DecisionTree", AMOUNTS, tree.DecisionTreeRegressor(max_depth=4)),
        ("PoissonRegressor", COUNTS, linear_model.PoissonRegressor()),
        ("GammaRegressor", AMOUNTS, linear_model.GammaRegressor()),
        ("TweedieRegressor", COSTS, linear_model.TweedieRegressor(power=1.5, link="log")),
        ("LinearRegression", AMOUNTS, linear_model.LinearRegression()),
        ("LogisticRegression", COUNTS > 0, linear_model.LogisticRegression()),
        ("MLPRegressor", AMOUNTS, neural_network.MLPRegressor(hidden_layer_sizes=(4,), max_iter=50)),
        ("KNeighbors", AMOUNTS, neighbors.KNeighborsRegressor(5)),
        ("SVR", AMOUNTS, svm.SVR(C=10)),
        ("scaled PoissonRegressor", COUNTS, make_pipeline(StandardScaler(), linear_model.PoissonRegressor())),
        ("binned PoissonRegressor", COUNTS,
         make_pipeline(KBinsDiscretizer(4, encode="onehot"), linear_model.PoissonRegressor())),
        ("spline PoissonRegressor", COUNTS,
         make_pipeline(SplineTransformer(), linear_model.PoissonRegressor())),
    ):  # fmt: skip
        made.append(("scikit-learn", name, y, model, of_sklearn))
    for objective, y in (("rmse", AMOUNTS), ("poisson_deviance", COUNTS), ("tweedie_deviance", COSTS)):
        ebm = ExplainableBoostingRegressor(
            FEATURES, objective=objective, interactions=0, max_rounds=40, n_jobs=1
        )
        made.append(("interpret-core", objective, y, ebm, {"onnx": as_ebm, "pkl": as_pickle}))
    return made


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rows, predicted = [], {}
    for library, name, y, model, exports in models():
        fitted = model.fit(X, y)
        column = f"{library} {name}"
        predicted[column] = np.asarray(fitted.predict(X), dtype=float)
        if hasattr(fitted, "predict_proba"):
            predicted[column] = fitted.predict_proba(X)[:, 1]
        for ending, export in exports.items():
            file, why = f"{len(rows):03d}.{ending}", ""
            try:
                export(fitted, folder / file)
            except Exception as error:  # What an exporter refuses is a result.
                file, why = "", f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
            rows.append(
                {"library": library, "version": version(library), "model": name, "file": ending, "name": file}
                | {"why": why}
            )
    pd.DataFrame(rows).to_csv(folder / "exports.csv", index=False)
    PORTFOLIO.assign(claims=COSTS, **predicted).to_csv(folder / "portfolio.csv", index=False)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
