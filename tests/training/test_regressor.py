"""FairRegressor: scikit-learn's checks for every method, the sensitive features, files, and refusals."""

import json
import struct
import subprocess
import sys
from dataclasses import fields, replace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import fairdash as fd
from fairdash.errors import DataError, OptionError, StorageError
from fairdash.training.methods import METHODS
from fairdash.training.settings import TrainingSettings
from fairdash.training.single import train_single

TINY = {"device": "cpu", "hidden": (8,), "adversary_hidden": (4,), "n_epochs": 20, "warm_up_epochs": 5}
TINY |= {"adversary_steps": 3, "lr": 0.03}


CHECKED = TINY | {"method": "hgr_spline", "lam": 1.0, "hidden": (4,), "n_epochs": 40, "lr": 0.05}


# Other methods differ only in the penalty, and test_penalties.py tests their weights.
@pytest.mark.every_case
@parametrize_with_checks([fd.FairRegressor(sensitive_columns=[0], **CHECKED)])
def test_fair_regressor_passes_the_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


def _model(**params):
    return fd.FairRegressor(**(TINY | {"random_state": 0} | params))


def _arrays(n=200, seed=0):
    """x (n, 3), y and s (n,): s is visible in the first column of x, and y depends on it."""
    rng = np.random.default_rng(seed)
    s = rng.normal(40, 10, size=n)
    x = np.column_stack([s + rng.normal(0, 4, size=n), rng.normal(size=n), rng.normal(size=n)])
    return x, x[:, 0] + 8 * x[:, 1] + rng.normal(0, 1, size=n), s


def _table(n=200, seed=0):
    """Like :func:`_arrays`, with names, missing cells and categories; s is the column age."""
    x, y, s = _arrays(n, seed)
    rng = np.random.default_rng(seed + 1)
    table = pd.DataFrame({"claims": x[:, 0], "area": np.where(rng.random(n) < 0.1, np.nan, x[:, 1])})
    table = table.assign(roof=rng.choice(["tile", "slate", "straw"], size=n), age=s)
    table["zone"] = pd.Categorical(rng.integers(1, 4, size=n))
    table["garden"] = rng.random(n) < 0.5
    table["rooms"] = pd.array(rng.integers(1, 6, size=n), dtype="Int64")
    table.loc[::17, "rooms"] = pd.NA
    table.loc[::13, "roof"] = None
    return table, pd.Series(y, name="cost")


def test_every_setting_of_the_regressor_is_passed_to_the_training(monkeypatch):
    from fairdash.training import regressor_fit

    seen = []
    monkeypatch.setattr(regressor_fit, "train_single", lambda *rows, **given: seen.append(given) or 1 / 0)
    other = TrainingSettings(
        architecture="scores", hidden=(5, 4), lr=1e-4, weight_decay=0.5, batch_size=16, n_epochs=7,
        warm_up_epochs=3, adversary_hidden=(3,), adversary_lr=0.2, adversary_steps=2, dropout=0.1,
        adversary_schedule="constant", loss="tweedie", tweedie_power=1.2, balance=True, patience=2,
    )  # fmt: skip
    default = TrainingSettings()
    assert all(getattr(other, field.name) != getattr(default, field.name) for field in fields(other))
    x, y, s = _arrays(30)
    lists = {"hidden": [5, 4], "adversary_hidden": np.array([3])}
    model = fd.FairRegressor(**({field.name: getattr(other, field.name) for field in fields(other)} | lists))
    with pytest.raises(ZeroDivisionError):
        model.fit(x, np.abs(y), sensitive_features=s)
    assert seen[0]["settings"] == other


def test_the_predictor_does_not_see_the_sensitive_column(fitted):
    model, table = fitted
    assert "age" not in model.predictor_.encoder.columns
    predictions = model.predict(table)
    assert (model.predict(table.assign(age=100 - table["age"])) == predictions).all()
    assert (model.predict(table.drop(columns="age")) == predictions).all()
    assert list(model.feature_names_in_) == list(table.columns)


def test_the_regressor_accepts_the_sensitive_column_in_any_form():
    x, y, s = _arrays()
    forms = [s, s.tolist(), s[:, None], pd.Series(s, index=range(7, 207)), pd.DataFrame({"age": s})]
    first, *others = (_model().fit(x, y, sensitive_features=form).predict(x) for form in forms)
    assert all((other == first).all() for other in others)
    with_s = np.column_stack([x[:, :1], s, x[:, 1:]])
    inside = _model(sensitive_columns=[1]).fit(with_s, y)
    assert (inside.predict(with_s) == first).all()
    assert inside.n_features_in_ == 4


def test_a_method_for_one_sensitive_column_refuses_two_columns(monkeypatch):
    from fairdash.training import regressor_fit

    alone = {"hgr_nn": replace(METHODS["hgr_nn"], multivariate=False)}
    monkeypatch.setattr(regressor_fit, "METHODS", alone)
    x, y, s = _arrays()
    with pytest.raises(OptionError, match="only one sensitive column"):
        _model(method="hgr_nn").fit(x, y, sensitive_features=np.column_stack([s, s]))


def test_the_regressor_counts_row_weights_with_missing_cells_and_categories():
    """A weight of 2 equals two rows and a weight of 0 no row, for every type of column in one batch."""
    table, y = _table(80)
    weight = np.arange(80) % 3
    repeated = table.index.repeat(weight)
    model = _model(method="hgr_spline", sensitive_columns=["age"])
    weighted = model.fit(table, y, sample_weight=weight).predict(table)
    assert model.fit(table.loc[repeated], y[repeated]).predict(table) == pytest.approx(weighted, rel=1e-7)


def test_a_gamma_loss_with_balance_gives_positive_predictions_with_the_total_of_the_target():
    x, y, s = _arrays()
    y = np.exp((y - y.mean()) / y.std())
    weight = np.random.default_rng(2).uniform(0.5, 2, size=len(y))
    model = _model(loss="gamma", balance=True, dropout=0.1)
    predictions = model.fit(x, y, sensitive_features=s, sample_weight=weight).predict(x)
    assert (predictions > 0).all()
    assert (weight * predictions).sum() == pytest.approx((weight * y).sum())


def test_predictions_of_the_regressor_equal_those_of_its_training_batch(monkeypatch):
    from fairdash.training import single

    seen = {}

    def of(trained, **parts):
        seen.update(parts, trained=trained)
        return original(trained, **parts)

    original = single.Predictor.of
    monkeypatch.setattr(single.Predictor, "of", of)
    import torch

    table, y = _table()
    model = _model(sensitive_columns=["age"], loss="poisson", balance=True).fit(table, y.abs())
    scaled = seen["trained"].predict(torch.from_numpy(seen["encoder"].transform(table))[None])[0]
    assert model.predict(table) == pytest.approx(seen["target_scale"].undo(scaled), rel=1e-9)


def test_a_diverged_training_warns():
    x, y, s = _arrays()
    with pytest.warns(ConvergenceWarning, match="Training diverged"):
        model = _model(lr=1e300).fit(x, y, sensitive_features=s)
    assert np.isfinite(model.predictor_.weights[0]).all()


def test_columns_are_matched_by_name_and_unknown_levels_count_as_missing(fitted):
    model, table = fitted
    turned = table[table.columns[::-1]].assign(other=1)
    assert (model.predict(turned) == model.predict(table)).all()
    with pytest.raises(DataError) as caught:
        model.predict(table.drop(columns=["area", "roof"]))
    assert [problem.column for problem in caught.value.problems] == ["area", "roof"]
    other = table.assign(roof=["turf", "turf", *table["roof"][2:]])
    with pytest.warns(UserWarning, match=r"not seen in training.*“roof” \(2\)"):
        predictions = model.predict(other)
    known = table.assign(roof=[None, None, *table["roof"][2:]])
    assert (predictions == model.predict(known)).all()


@pytest.fixture(scope="module")
def fitted():
    table, y = _table()
    return _model(sensitive_columns=["age"], lam=2.0, patience=4).fit(table, y), table


def test_a_saved_model_predicts_the_same_to_the_last_bit(fitted, tmp_path):
    model, table = fitted
    model.save(tmp_path / "model.safetensors")
    loaded = fd.FairRegressor.load(str(tmp_path / "model.safetensors"))
    assert (loaded.predict(table) == model.predict(table)).all()
    assert (loaded.get_params(), loaded.settings_) == (model.get_params(), model.settings_)
    for name in ("n_features_in_", "lam_", "n_iter_", "best_epoch_", "device_", "sensitive_names_"):
        assert getattr(loaded, name) == getattr(model, name)
    assert list(loaded.feature_names_in_) == list(model.feature_names_in_)
    turned = table[table.columns[::-1]].drop(columns="age")
    assert (loaded.predict(turned) == model.predict(table)).all()
    clone(loaded).fit(table, np.arange(len(table)))


@pytest.mark.parametrize("kind", ["numbers", "text", "poisson", "NumPy's options"])
def test_models_with_text_poisson_loss_or_numpy_options_are_saved_and_loaded(kind, tmp_path):
    x, y, s = _arrays()
    params = {}
    if kind == "text":
        x = pd.DataFrame({"roof": np.where(x[:, 1] > 0, "tile", "ärmlich"), "floor": pd.Categorical(y > 30)})
    elif kind == "poisson":
        params, y = {"loss": "poisson", "balance": True}, np.abs(y)
    elif kind == "NumPy's options":
        params = {"lam": np.float32(0.5), "hidden": np.array([4, 2]), "n_epochs": np.int64(9)}
        params |= {"random_state": np.random.RandomState(0), "sensitive_columns": pd.Index(["s"])}
        x, s = pd.DataFrame(x, columns=["a", "b", "c"]).assign(s=s), None
    model = _model(**params).fit(x, y, sensitive_features=s)
    model.save(tmp_path / "m")
    loaded = fd.FairRegressor.load(tmp_path / "m")
    assert (loaded.predict(x) == model.predict(x)).all()


def test_a_loaded_model_predicts_without_torch(fitted, tmp_path):
    model, table = fitted
    model.save(tmp_path / "model")
    table.to_pickle(tmp_path / "table")
    program = """if True:
        import sys, pandas, fairdash
        predictions = fairdash.FairRegressor.load("model").predict(pandas.read_pickle("table"))
        assert "torch" not in sys.modules
        print(predictions.sum().hex())
    """
    command, how = [sys.executable, "-c", program], {"capture_output": True, "text": True, "check": True}
    done = subprocess.run(command, cwd=tmp_path, **how)
    assert float.fromhex(done.stdout.strip()) == model.predict(table).sum()


def with_header(change):
    """A file with a changed header; the function changes the header, whose metadata are its second argument."""

    def changed(content):
        (size,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + size])
        change(header, header["__metadata__"])
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + content[8 + size :]

    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            with_header(lambda _, said: said.update(format="fairdash.FairRegressor/3")),
            "newer version of fairdash",
        ),
        (with_header(lambda header, _: header.pop("__metadata__")), "does not contain a model"),
        (with_header(lambda _, said: said.update(about=said["about"].replace("slate", "slade"))), "damaged"),
        (lambda content: content[:-1], "damaged"),
        (lambda content: content[:-5] + bytes([content[-5] ^ 1]) + content[-4:], "damaged"),
    ],
)
def test_a_newer_damaged_or_foreign_file_is_refused(change, message, fitted, tmp_path):
    path = tmp_path / "model"
    fitted[0].save(path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(StorageError, match=message):
        fd.FairRegressor.load(path)


def test_files_that_cannot_be_read_or_written_raise_storage_errors(fitted, tmp_path):
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(StorageError, match="can't be read"):
            fd.FairRegressor.load(path)
    with pytest.raises(StorageError, match="another place"):
        fitted[0].save(tmp_path)
    with pytest.raises(NotFittedError):
        _model().save(tmp_path / "model")


@pytest.mark.parametrize(
    ("params", "option"),
    [
        ({"method": "magic"}, "magic"), ({"objective": "justice"}, "justice"), ({"lam": np.nan}, "lam"),
        ({"validation_fraction": 1.0}, "validation_fraction"), ({"device": "abacus"}, "device"),
        ({"hidden": (3.5,)}, "hidden"), ({"n_epochs": 2.5}, "n_epochs"), ({"n_epochs": 4}, "warm_up_epochs"),
        ({"balance": "yes"}, "balance"), ({"patience": 0.5}, "patience"), ({"lr": None}, "lr"),
        ({"lr": np.nan}, "lr"), ({"hidden": ()}, "hidden"),
        ({"loss": "poison"}, "poison"), ({"sensitive_columns": ["height"]}, "height"),
        ({"sensitive_columns": [-1]}, "-1"), ({"sensitive_columns": [True]}, "True"),
        ({"sensitive_columns": [0, 1, 2]}, "are sensitive"),
    ],
)  # fmt: skip
def test_invalid_options_are_named_by_fit_and_not_by_the_constructor(params, option):
    model = _model(**params)
    x, y, s = _arrays(30)
    with pytest.raises(OptionError, match=option):
        model.fit(x, y, sensitive_features=None if "sensitive_columns" in params else s)


def test_fit_refuses_a_missing_or_duplicate_sensitive_column_and_an_unsuitable_target():
    x, y, s = _arrays(30)
    with pytest.raises(OptionError, match="sensitive_features="):
        _model(lam=0.1).fit(x, y)
    with pytest.raises(OptionError, match="twice"):
        _model(sensitive_columns=[0]).fit(x, y, sensitive_features=s)
    with pytest.raises(DataError, match="at least 0"):
        _model(loss="poisson").fit(x, y - 100, sensitive_features=s)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y, s: (x, y, s, -np.ones(30)), "below zero"),
        (lambda x, y, s: (x, y, s, 0 * s), "fewer than two"),
        (lambda x, y, s: (x, y, s, np.ones(29)), "shape"),
        (lambda x, y, s: (x, y, np.append(s[1:], np.nan)), "missing"),
        (lambda x, y, s: (x, y, pd.Series([*s[1:], "secret"])), "^(?!.*secret).*numbers are needed"),
        (lambda x, y, s: (x, y, 0 * s), "same value"),
        (lambda x, y, s: (x, 0 * y + 3, s), "target has the same value"),
        (lambda x, y, s: (x, 1e200 * y, s), "y.*large"),
        (lambda x, y, s: (x, y, s[:-1]), "inconsistent numbers of samples"),
        (lambda x, y, s: (x, y, s[:, None, None]), "shape"),
        (lambda x, y, s: (pd.DataFrame(x, columns=["a", "a", "b"]), y, s), "several columns"),
        (lambda x, y, s: (pd.DataFrame({"a": x[:, 0], "b": np.inf}), y, s), "“b”.*infinite"),
        (lambda x, y, s: (pd.DataFrame({"a": x[:, 0], "m": ["u", 1] * 15}), y, s), "“m”.*object"),
        (lambda x, y, s: (pd.DataFrame(index=range(30)), y, s), "no feature"),
        (lambda x, y, s: (pd.DataFrame({"a": x[:1, 0]}), y[:1], s[:1]), "1 sample"),
    ],
)
@pytest.mark.every_case
def test_data_that_cannot_be_used_is_refused(change, message):
    x, y, s, *weight = change(*_arrays(30))
    with pytest.raises(ValueError, match=message):
        _model().fit(x, y, sensitive_features=s, sample_weight=weight[0] if weight else None)


# Rows for early stopping: whole groups, none of which is used in training.


GROUPS = np.repeat(np.arange(60), 5)


@pytest.mark.parametrize(("patience", "count"), [(2, 27), (None, 0)])
def test_early_stopping_uses_whole_policies_of_rows_with_weight(patience: int | None, count: int):
    rng = np.random.default_rng(0)
    x, weight = pd.DataFrame({"x": rng.normal(size=300)}), np.where(np.arange(300) % 10 == 0, 0.0, 1.0)
    model = fd.FairRegressor(lam=0, hidden=(4,), n_epochs=2, patience=patience, random_state=0)
    with patch("fairdash.training.regressor_fit.train_single", wraps=train_single) as trained:
        model.fit(x, x["x"] + rng.normal(size=300), sample_weight=weight, groups=GROUPS)
    # Every second group has lost one of its five rows.
    held_out = GROUPS[weight > 0][trained.call_args.kwargs["validation"]]
    assert len(held_out) == model.n_validation_rows_
    assert abs(len(held_out) - count) <= 3
    assert all((held_out == each).sum() == (GROUPS[weight > 0] == each).sum() for each in set(held_out))


def test_groups_whose_length_differs_from_the_number_of_rows_are_refused():
    with pytest.raises(ValueError, match="inconsistent"):
        fd.FairRegressor(lam=0).fit(np.arange(20.0)[:, None], np.arange(20.0), groups=np.arange(19))
