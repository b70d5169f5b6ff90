"""Generate the exported models again, in a separate environment:

    python -m venv env
    env/bin/pip install catboost==1.2.10 lightgbm==4.7.0 scikit-learn==1.9.1 skl2onnx==1.20.0 \\
        onnxmltools==1.16.0 "protobuf<7" pandas
    env/bin/python tests/auditing/exported/make.py

Writes NAME.onnx for each model and portfolio.csv, which has one column of the library's predictions per
model.
"""

from __future__ import annotations

from pathlib import Path

import lightgbm
import numpy as np
import onnxmltools
import pandas as pd
from catboost import CatBoostRegressor
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

HERE = Path(__file__).parent
rng = np.random.default_rng(0)
rows = pd.DataFrame(
    {
        "age": rng.integers(18, 90, 300),
        "power": rng.integers(4, 12, 300),
        "region": rng.choice(["north", "south", "west"], 300),
    }
)
y = rng.poisson(
    50 * np.exp(0.01 * (rows["age"] - 50) + 0.05 * rows["power"] + 0.2 * (rows["region"] == "west"))
)
numbers = rows[["age", "power"]].to_numpy(np.float32)
predicted = {}


def keep(name: str, model: object, content: bytes, x: object) -> None:
    (HERE / f"{name}.onnx").write_bytes(content)
    made = np.asarray(model.predict(x))
    predicted[name] = made if made.ndim == 1 else made[:, 0]


for loss in ("RMSE", "Poisson", "Tweedie:variance_power=1.5"):
    model = CatBoostRegressor(
        loss_function=loss, iterations=4, depth=2, verbose=False, allow_writing_files=False
    )
    model.fit(numbers, y.astype(float))
    file = HERE / "catboost.onnx"
    model.save_model(str(file), format="onnx")
    content = file.read_bytes()
    file.unlink()
    keep(f"catboost_{loss[:4].lower()}", model, content, numbers)
for name, model, target in (
    ("trees_poisson", HistGradientBoostingRegressor(loss="poisson", max_iter=4, max_leaf_nodes=4), y),
    ("glm_poisson", PoissonRegressor(), y),
    ("two_targets", RandomForestRegressor(2, max_depth=2, random_state=0), np.column_stack([y, -y])),
    ("classifier", LogisticRegression(), y > 60),
):
    model.fit(numbers, target)
    keep(name, model, to_onnx(model, numbers[:1]).SerializeToString(), numbers)
encoder = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["region"]), remainder="passthrough"
)
pipeline = make_pipeline(encoder, PoissonRegressor()).fit(rows, y)
keep("by_name", pipeline, to_onnx(pipeline, rows[:1]).SerializeToString(), rows)
model = lightgbm.LGBMRegressor(objective="poisson", n_estimators=4, num_leaves=4, verbose=-1).fit(numbers, y)
types = [("x", FloatTensorType([None, 2]))]
keep(
    "lightgbm_poisson", model, onnxmltools.convert_lightgbm(model, initial_types=types).SerializeToString(),
    numbers,
)  # fmt: skip
rows.assign(claims=y, **predicted).to_csv(HERE / "portfolio.csv", index=False)
