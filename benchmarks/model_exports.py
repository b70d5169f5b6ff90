"""Fit small models of many libraries and export each in its library's formats; needs no fairdash.

    python -m venv env
    env/bin/pip install catboost==1.2.10 lightgbm==4.7.0 xgboost==3.2.0 scikit-learn==1.9.0 \\
        skl2onnx==1.20.0 onnxmltools==1.16.0 interpret-core==0.7.8 ebm2onnx==3.3.1 "protobuf<7" pandas \\
        glum==3.4.1 statsmodels==0.15.0 sklearn2pmml==0.133.1 xlsxwriter
    apt-get install -y --no-install-recommends r-base-core r-cran-rpart default-jre-headless
    env/bin/python benchmarks/model_exports.py FOLDER [--few]

Writes FOLDER/exports.csv, one row per pair of model and file (library, version, model, file, name, inputs,
and the reason if there is no file), FOLDER/portfolio.csv with the predictions of each model by its library,
and the files, which `benchmarks.model_files` reads. With ``--few`` it leaves out ONNX and pickles;
tests/auditing/exported/own contains the output of this option.
"""

from __future__ import annotations

import io
import pickle
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

N = 300
FEATURES = ["age", "power", "bonus"]
rng = np.random.default_rng(0)
PORTFOLIO = pd.DataFrame(
    {
        "age": rng.integers(18, 90, N),
        "power": rng.integers(4, 12, N),
        "bonus": rng.uniform(50, 150, N).round(2),
    }
)
PORTFOLIO["region"] = rng.choice(["north", "south", "west"], N)
PORTFOLIO["holes"] = PORTFOLIO["bonus"].where(PORTFOLIO.index % 5 > 0)
PORTFOLIO["zeros"] = PORTFOLIO["holes"].fillna(0)
PORTFOLIO["years"] = rng.uniform(0.2, 1, N).round(2)
RATE = np.exp(0.01 * (PORTFOLIO["age"] - 50) + 0.05 * PORTFOLIO["power"] - 0.5)
COUNTS = rng.poisson(RATE).astype(float)
COSTS = np.where(COUNTS > 0, rng.gamma(np.maximum(COUNTS, 1) * 2) * 100, 0.0)
AMOUNTS = rng.gamma(2, 50 * RATE)
X = PORTFOLIO[FEATURES].to_numpy(np.float32)
#: Export functions by file extension.
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

    def as_pmml(model: Any, path: Path) -> None:
        from sklearn2pmml import make_pmml_pipeline, sklearn2pmml

        sklearn2pmml(make_pmml_pipeline(model, active_fields=FEATURES, target_fields=["y"]), str(path))

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
    of_pmml: Exports = {"pmml": as_pmml}
    for name, y, model in (
        ("PoissonRegressor", COUNTS, linear_model.PoissonRegressor()),
        ("GammaRegressor", AMOUNTS, linear_model.GammaRegressor()),
        ("LinearRegression", AMOUNTS, linear_model.LinearRegression()),
        ("LogisticRegression", COUNTS > 0, linear_model.LogisticRegression()),
        ("DecisionTree", AMOUNTS, tree.DecisionTreeRegressor(max_depth=3)),
    ):
        made.append(("scikit-learn", f"{name} by sklearn2pmml", y, model, of_pmml))
    for objective, y in (("rmse", AMOUNTS), ("poisson_deviance", COUNTS), ("tweedie_deviance", COSTS)):
        ebm = ExplainableBoostingRegressor(
            FEATURES, objective=objective, interactions=0, max_rounds=40, n_jobs=1
        )
        made.append(("interpret-core", objective, y, ebm, {"onnx": as_ebm, "pkl": as_pickle}))
    return made


#: Library and version, name, the fitted model, its library's predictions, its exports, and its inputs.
Made = tuple[str, str, str, Any, np.ndarray, Exports, list[str]]
NAMED = [*FEATURES, "region"]


def fitted_models() -> Iterator[Made]:
    """Yield the models that take an array, fitted."""
    for library, name, y, model, exports in models():
        fitted = model.fit(X, y)
        told = fitted.predict_proba(X)[:, 1] if hasattr(fitted, "predict_proba") else fitted.predict(X)
        yield library, version(library), name, fitted, np.asarray(told, dtype=float), exports, FEATURES


def boosted_by_name() -> Iterator[Made]:
    """Yield boosted trees of a frame with levels, also trees whose file omits some information."""
    import lightgbm
    import xgboost
    from catboost import CatBoostRegressor

    levels = pd.Categorical(PORTFOLIO["region"], ["west", "north", "south"])
    frame = PORTFOLIO[NAMED].assign(region=levels)
    ordered = frame.assign(power=pd.Categorical(PORTFOLIO["power"], ordered=True))
    holes = PORTFOLIO[["age", "power", "holes"]].assign(region=levels)
    of_lightgbm: Exports = {"txt": lambda model, path: model.booster_.save_model(path) and None}
    small: dict[str, Any] = {"n_estimators": 6, "num_leaves": 6, "verbose": -1, "objective": "poisson"}
    for name, x, more in (
        ("pandas categories", frame, {}),
        ("ordered categories", ordered, {}),
        ("missing cells", holes, {}),
        ("zero_as_missing", PORTFOLIO[["age", "power", "zeros"]], {"zero_as_missing": True}),
        ("linear_tree", frame[FEATURES], {"linear_tree": True, "objective": "regression"}),
        ("reg_sqrt", frame, {"reg_sqrt": True, "objective": "regression"}),
        ("rf", frame, {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}),
        ("dart", frame, {"boosting_type": "dart"}),
        ("custom objective", frame, {"objective": _poisson}),
    ):
        model = lightgbm.LGBMRegressor(**{**small, **more}).fit(x, COUNTS)
        own = np.exp(model.predict(x)) if name == "custom objective" else model.predict(x)
        yield "lightgbm", version("lightgbm"), f"poisson, {name}", model, own, of_lightgbm, list(x)
    of_xgboost: Exports = {
        kind: lambda model, path: model.get_booster().save_model(path) for kind in ("json", "ubj")
    }
    tree: dict[str, Any] = {
        "n_estimators": 6,
        "max_depth": 3,
        "objective": "count:poisson",
        "enable_categorical": True,
    }
    far = {"n_estimators": 30, "max_depth": 6, "learning_rate": 1.0, "early_stopping_rounds": 2}
    half = N // 2
    for name, x, more, fit in (
        ("categories", frame, {}, {}),
        ("missing cells", holes, {}, {}),
        ("early stopping", frame[FEATURES], far, {"eval_set": [(frame[FEATURES][:half], COUNTS[:half])]}),
        ("base_margin", frame[FEATURES], {}, {"base_margin": np.log(PORTFOLIO["years"])}),
        ("dart", frame[FEATURES], {"booster": "dart"}, {}),
        ("gblinear", frame[FEATURES], {"booster": "gblinear"}, {}),
        ("custom objective", frame[FEATURES], {"objective": _poisson}, {}),
        ("two quantiles", frame[FEATURES],
         {"objective": "reg:quantileerror", "quantile_alpha": [0.5, 0.9]}, {}),
    ):  # fmt: skip
        rows = slice(half, None) if fit.get("eval_set") else slice(None)
        model = xgboost.XGBRegressor(**{**tree, **more}).fit(x[rows], COUNTS[rows], verbose=False, **fit)
        own = model.predict(x, base_margin=np.zeros(N)) if name == "base_margin" else model.predict(x)
        own = np.exp(own) if name == "custom objective" else own if own.ndim == 1 else own[:, 0]
        yield "xgboost", version("xgboost"), f"count:poisson, {name}", model, own, of_xgboost, list(x)
    of_catboost: Exports = {
        kind: (lambda model, path, kind=kind: model.save_model(str(path), format=kind))
        for kind in ("cbm", "json")
    }
    few: dict[str, Any] = {"verbose": False, "allow_writing_files": False, "iterations": 6, "depth": 3}
    plain = PORTFOLIO[NAMED]
    for loss, y in (("Poisson", COUNTS), ("Tweedie:variance_power=1.5", COSTS), ("RMSE", AMOUNTS)):
        model = CatBoostRegressor(loss_function=loss, cat_features=["region"], **few).fit(plain, y)
        own = model.predict(plain)
        yield "catboost", version("catboost"), f"{loss}, levels", model, own, of_catboost, NAMED
    model = CatBoostRegressor(loss_function="RMSEWithUncertainty", **few).fit(plain[FEATURES], AMOUNTS)
    own = model.predict(plain[FEATURES])[:, 0]
    yield "catboost", version("catboost"), "RMSEWithUncertainty", model, own, of_catboost, FEATURES


def _poisson(y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian of the Poisson deviance with a log link, as a custom objective."""
    return np.exp(score) - y, np.exp(score)


def glms() -> Iterator[Made]:
    """Yield GLMs as tables and PMML: of glum, statsmodels and R, and in formats of SAS and R's pmml."""
    import glum
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    frame = PORTFOLIO.assign(
        claims=COUNTS, amount=AMOUNTS, band=pd.cut(PORTFOLIO["age"], [17, 29, 59, 100], labels=BANDS)
    )
    frame["band"] = frame["band"].astype(str)

    def to_csv(table: pd.DataFrame) -> Callable[[Any, Path], None]:
        return lambda _, path: table.to_csv(path, index=False)

    for family, y in (("poisson", COUNTS), ("gamma", AMOUNTS)):
        x = frame[FEATURES].assign(region=frame["region"].astype("category"))
        model = glum.GeneralizedLinearRegressor(family=family, link="log", alpha=0, drop_first=True).fit(x, y)
        table = model.coef_table().reset_index()
        exports: Exports = {"csv": to_csv(table), "pkl": lambda m, p: p.write_bytes(pickle.dumps(m)) and None}
        yield "glum", version("glum"), family, model, model.predict(x), exports, NAMED
        own = sm.families.Poisson() if family == "poisson" else sm.families.Gamma(sm.families.links.Log())
        fit = smf.glm(f"{'claims' if family == 'poisson' else 'amount'} ~ region + band", frame, family=own)
        fitted = fit.fit()
        told = fitted.predict(frame).to_numpy()
        exports = {"csv": lambda m, p: m.params.to_csv(p), "pickle": lambda m, p: m.save(str(p))}
        yield "statsmodels", version("statsmodels"), family, fitted, told, exports, [*ABOUT]
        for library, form, wrote in (
            ("SAS GENMOD", "from its manual", _as_genmod),
            ("R pmml", "from the specification", _as_pmml),
            ("rating engine", "made by hand", _as_factors),
        ):
            kinds = {"xlsx": "long", "csv": ""} if wrote is _as_factors else {"pmml": ""}
            kinds = {"csv": ""} if wrote is _as_genmod else kinds
            exports = {
                kind: lambda m, p, wrote=wrote, family=family: wrote(m.params, frame, family, p)
                for kind in kinds
            }
            yield library, form, family, fitted, told, exports, [*ABOUT]


ABOUT, BANDS = ("region", "band"), ["18-29", "30-59", "60+"]


def _effects(params: pd.Series, frame: pd.DataFrame) -> list[tuple[str, str, float]]:
    """Factor, level and coefficient; 0 at the base levels."""
    return [
        (name, level, float(params.get(f"{name}[T.{level}]", 0.0)))
        for name in ABOUT
        for level in sorted(frame[name].unique())
    ]


def _as_genmod(params: pd.Series, frame: pd.DataFrame, _: str, path: Path) -> None:
    """The table ParameterEstimates of PROC GENMOD, as written by ODS OUTPUT."""
    rows = [("Intercept", "", 1, params["Intercept"])]
    rows += [(name, level, int(beta != 0), beta) for name, level, beta in _effects(params, frame)]
    rows.append(("Scale", "", 0, 1.0))
    pd.DataFrame(rows, columns=["Parameter", "Level1", "DF", "Estimate"]).to_csv(path, index=False)


def _as_factors(params: pd.Series, frame: pd.DataFrame, _: str, path: Path) -> None:
    """Base rate and relativities: one long table as CSV, one sheet per factor as XLSX."""
    base, effects = float(np.exp(params["Intercept"])), _effects(params, frame)
    if path.suffix == ".csv":
        rows = [("Base rate", "", base), *((name, level, float(np.exp(b))) for name, level, b in effects)]
        pd.DataFrame(rows, columns=["Factor", "Level", "Relativity"]).to_csv(path, index=False, sep=";")
        return
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        pd.DataFrame({"Base rate": [base]}).to_excel(book, sheet_name="Base rate", index=False)
        for name in ABOUT:
            own = [(level, float(np.exp(b))) for other, level, b in effects if other == name]
            pd.DataFrame(own, columns=[name, "Relativity"]).to_excel(book, sheet_name=name, index=False)


def _as_pmml(params: pd.Series, frame: pd.DataFrame, family: str, path: Path) -> None:
    """GeneralRegressionModel of PMML 4.4.1."""
    out = io.StringIO()
    out.write(
        '<?xml version="1.0"?>\n<PMML version="4.4.1" xmlns="http://www.dmg.org/PMML-4_4">\n<Header/>\n'
    )
    out.write(f'<DataDictionary numberOfFields="{1 + len(ABOUT)}">\n')
    out.write('<DataField name="y" optype="continuous" dataType="double"/>\n')
    for name in ABOUT:
        values = "".join(f'<Value value="{each}"/>' for each in sorted(frame[name].unique()))
        field = f'<DataField name="{name}" optype="categorical" dataType="string">{values}</DataField>\n'
        out.write(field)
    out.write('</DataDictionary>\n<GeneralRegressionModel modelType="generalizedLinear" ')
    out.write(f'functionName="regression" distribution="{family}" linkFunction="log">\n<MiningSchema>')
    out.write('<MiningField name="y" usageType="predicted"/>')
    out.write("".join(f'<MiningField name="{name}"/>' for name in ABOUT) + "</MiningSchema>\n")
    effects = [each for each in _effects(params, frame) if each[2]]
    names = [f"p{k}" for k in range(len(effects) + 1)]
    out.write(f"<ParameterList>{''.join(f'<Parameter name={n!r}/>' for n in names)}</ParameterList>\n")
    out.write(
        f"<FactorList>{''.join(f'<Predictor name={n!r}/>' for n in ABOUT)}</FactorList>\n<CovariateList/>"
    )
    cells = "".join(
        f'<PPCell value="{level}" predictorName="{name}" parameterName="p{k}"/>'
        for k, (name, level, _) in enumerate(effects, start=1)
    )
    betas = [params["Intercept"], *(beta for _, _, beta in effects)]
    found = "".join(f'<PCell parameterName="p{k}" df="1" beta="{beta!r}"/>' for k, beta in
                    enumerate(map(float, betas)))  # fmt: skip
    out.write(f"\n<PPMatrix>{cells}</PPMatrix>\n<ParamMatrix>{found}</ParamMatrix>\n")
    out.write("</GeneralRegressionModel>\n</PMML>\n")
    path.write_text(out.getvalue(), encoding="utf-8")


#: Models that R users typically fit and save.
_OF_R = """
d <- read.csv("rows.csv", stringsAsFactors = TRUE)
m <- glm(claims ~ region + band, poisson, d)
saveRDS(m, "glm.rds")
write.csv(coef(summary(m)), "glm.csv")
b <- coef(m)
f <- data.frame(factor = "base", level = "", relativity = exp(b[["(Intercept)"]]))
for (v in c("region", "band")) for (l in levels(d[[v]])) {
  e <- paste0(v, l)
  f <- rbind(f, data.frame(factor = v, level = l, relativity = if (e %in% names(b)) exp(b[[e]]) else 1))
}
write.csv(f, "factors.csv", row.names = FALSE)
t <- rpart::rpart(claims ~ age + power + bonus, d, method = "poisson")
saveRDS(t, "rpart.rds")
write.csv(data.frame(glm = predict(m, d, type = "response"), rpart = predict(t, d)), "told.csv",
          row.names = FALSE)
"""


def of_r() -> Iterator[Made]:
    """Yield a GLM and a tree of R."""
    frame = PORTFOLIO.assign(
        claims=COUNTS, band=pd.cut(PORTFOLIO["age"], [17, 29, 59, 100], labels=BANDS).astype(str)
    )
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(Path(folder, "rows.csv"), index=False)
        subprocess.run(["Rscript", "-e", _OF_R], cwd=folder, check=True, capture_output=True)
        told = pd.read_csv(Path(folder, "told.csv"))
        words = subprocess.run(["R", "--version"], check=True, capture_output=True, text=True).stdout
        release = words.split()[2]
        for name, files in (
            ("glm", {"csv": "glm.csv", "factors.csv": "factors.csv", "rds": "glm.rds"}),
            ("rpart", {"rds": "rpart.rds"}),
        ):
            exports: Exports = {
                kind: lambda _, path, file=file: shutil.copy(Path(folder, file), path) and None
                for kind, file in files.items()
            }
            inputs = ["region", "band"] if name == "glm" else FEATURES
            yield f"R {name}", release, "poisson", None, told[name].to_numpy(), exports, inputs


#: Objectives whose files differ only in numbers.
ALIKE = (
    "MAE Quantile:alpha=0.9 Huber:delta=20 LogCosh regression_l1 quantile mape reg:absoluteerror "
    "reg:pseudohubererror reg:squaredlogerror"
).split()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rows, predicted = [], {}
    bands = pd.cut(PORTFOLIO["age"], [17, 29, 59, 100], labels=BANDS).astype(str)
    few = "--few" in sys.argv
    for library, release, name, model, told, exports, inputs in (
        each for make in (fitted_models, boosted_by_name, glms, of_r) for each in make()
    ):
        for ending, export in exports.items():
            if few and (ending in ("onnx", "pkl", "pickle", "rds") or name in ALIKE):
                continue
            predicted[f"{library} {name}"] = told
            file, why = f"{len(rows):03d}.{ending}", ""
            try:
                export(model, folder / file)
            except Exception as error:  # A refusal by an exporter is a result.
                file, why = "", f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
            rows.append(
                {"library": library, "version": release, "model": name, "file": ending, "name": file}
                | {"inputs": " ".join(inputs), "why": why}
            )
    PORTFOLIO["band"] = bands
    pd.DataFrame(rows).to_csv(folder / "exports.csv", index=False)
    PORTFOLIO.assign(claims=COSTS, **predicted).to_csv(
        folder / "portfolio.csv", index=False, float_format="%.9g"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
