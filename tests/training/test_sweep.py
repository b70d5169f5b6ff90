"""Sweeps: plans, splits, encoding, and what a predictor can see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.data.dataset import Dataset
from fairdash.errors import Cancelled, DataError, DeviceError, OptionError
from fairdash.training import stack
from fairdash.training.defaults import default_methods
from fairdash.training.device import resolve_device
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import random_splits, with_held_out
from fairdash.training.sweep import Sweep, train_sweep

QUICK = TrainingSettings(hidden=(8,), adversary_hidden=(8,), batch_size=32, n_epochs=4, warm_up_epochs=1)


def small_dataset(n=200, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n)
    frame = pd.DataFrame(
        {
            "power": rng.normal(size=n),
            "bonus": 0.05 * (age - 50) + rng.normal(size=n),
            "region": pd.Categorical(rng.choice(["north", "south", "west"], n)),
        }
    )
    cost = 100 + 20 * frame["power"] + 10 * frame["bonus"] + rng.normal(size=n)
    return Dataset(
        name="small",
        features=frame,
        target=cost.rename("cost"),
        sensitive=pd.DataFrame({"age": age}),
        units={"cost": "€", "age": "years"},
    )


def test_splits_hold_every_row_once_and_keep_the_first_ones():
    few, more = (random_splits(101, n_splits=k, random_state=3) for k in (2, 5))
    for split in more:
        assert sorted([*split.train, *split.test]) == list(range(101))
        assert len(split.test) == 20
    for a, b in zip(few, more, strict=False):
        assert np.array_equal(a.test, b.test)
    assert not np.array_equal(more[0].test, more[1].test)
    assert not np.array_equal(more[0].test, random_splits(101, n_splits=1, random_state=4)[0].test)


def test_several_attributes_are_trained_by_every_default_method_that_takes_them():
    one = small_dataset()
    several = replace(one, sensitive=one.sensitive.assign(income=1.0 * np.arange(one.n_rows)))
    assert default_methods(one) == ("standard", "hgr_spline", "chi2_kde", "hgr_nn")
    assert default_methods(several) == ("standard", "hgr_spline", "hgr_nn")


def test_members_share_seeds_within_a_split_only():
    members = Sweep(lams=(0.5, 1.0), n_splits=3).models()
    assert len(members) == 3 + 3 * 2
    seeds = {split: {m.seed for m in members if m.split == split} for split in range(3)}
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 3


@pytest.mark.parametrize(
    ("options", "column"),
    [
        ({"lams": (-1.0,)}, "lams"),
        ({"lams": (float("nan"),)}, "lams"),
        ({"lams": (1.0, 1.0)}, "lams"),
        ({"lams": (1.0,), "n_splits": 0}, "n_splits"),
        ({"lams": (1.0,), "methods": ("hgr_nn", "hgr_nn")}, "methods"),
        ({"lams": (1.0,), "methods": ("magic",)}, "method"),
        ({"lams": (1.0,), "objective": "luck"}, "objective"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_at_its_option(options, column):
    with pytest.raises(OptionError) as caught:
        Sweep(**options)
    assert caught.value.problems[0].column == column


@pytest.mark.parametrize("options", [{"hidden": ()}, {"lr": float("nan")}, {"warm_up_epochs": 60}])
def test_settings_that_make_no_sense_are_refused(options):
    with pytest.raises(OptionError):
        TrainingSettings(**options)


def test_predictions_are_in_the_targets_units_and_repeatable():
    dataset = small_dataset()
    settings = replace(QUICK, n_epochs=20, lr=2e-2)
    plan = Sweep(methods=("standard", "hgr_nn"), lams=(0.0, 1.0), n_splits=2, settings=settings, device="cpu")
    first, again = train_sweep(dataset, plan), train_sweep(dataset, plan)
    assert np.array_equal(first.predictions, again.predictions)
    assert first.predictions.shape == (2 + 4, 200)
    y = dataset.target.to_numpy()
    for k, member in first.members.iterrows():
        test = first.splits[member["split"]].test
        if member["lam"] == 0:
            assert np.mean((first.predictions[k] - y)[test] ** 2) < 0.5 * y[test].var()
    standard = first.members.index[first.members["method"] == "standard"]
    zero = first.members.index[(first.members["method"] == "hgr_nn") & (first.members["lam"] == 0)]
    assert np.array_equal(first.predictions[standard], first.predictions[zero])


def test_nothing_is_learned_from_test_rows():
    dataset = small_dataset()
    plan = Sweep(lams=(1.0,), n_splits=1, settings=QUICK)
    test = random_splits(200, n_splits=1, random_state=0)[0].test
    target, features, age = dataset.target.copy(), dataset.features.copy(), dataset.sensitive.copy()
    target.iloc[test] = 1e6
    age.iloc[test] = -1e6
    features.loc[test[1:], "power"] = 1e6
    changed = replace(dataset, target=target, features=features, sensitive=age)
    kept = np.append(random_splits(200, n_splits=1, random_state=0)[0].train, test[0])
    a, b = train_sweep(dataset, plan).predictions, train_sweep(changed, plan).predictions
    assert np.array_equal(a[:, kept], b[:, kept])


def test_huge_numbers_are_scaled_before_they_become_float32():
    dataset = small_dataset()
    features = dataset.features.assign(power=dataset.features["power"] * 1e60)
    big = replace(dataset, target=dataset.target * 1e60, features=features)
    plan = Sweep(methods=("standard",), lams=(), n_splits=1, settings=QUICK)
    a, b = train_sweep(dataset, plan).predictions, train_sweep(big, plan).predictions
    assert np.allclose(a, b / 1e60, rtol=1e-4)


def _short_of_memory(monkeypatch, *, largest: int):
    """A device that holds `largest` models at once; the sizes of the stacks that were tried."""
    tried = []
    train_stack = stack.train_stack

    def limited(data, members, **options):
        tried.append(len(members))
        if len(members) > largest:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 1 byte")
        return train_stack(data, members, **options)

    monkeypatch.setattr(stack, "train_stack", limited)
    return tried


def test_a_stack_that_does_not_fit_is_halved_and_trained_all_the_same(monkeypatch):
    dataset = small_dataset()
    plan = Sweep(methods=("hgr_nn",), lams=(0.5, 1.0, 2.0), n_splits=2, settings=QUICK)
    whole = train_sweep(dataset, plan)
    tried = _short_of_memory(monkeypatch, largest=3)
    halves = train_sweep(dataset, plan)
    assert tried == [6, 3, 3]
    assert np.allclose(whole.predictions, halves.predictions, atol=1e-3)
    assert any("halves" in note for note in halves.notes)
    assert whole.notes == ()


def test_a_stack_whose_halves_do_not_fit_either_is_a_plain_error(monkeypatch):
    tried = _short_of_memory(monkeypatch, largest=1)
    with pytest.raises(DeviceError, match="memory"):
        train_sweep(small_dataset(), Sweep(methods=("hgr_nn",), lams=(0.5, 1.0), n_splits=2, settings=QUICK))
    assert tried == [4, 2]


def with_one_large_claim(loss):
    dataset = small_dataset()
    target = pd.Series(np.where(np.arange(dataset.n_rows) == 0, 5.0, 0.0), name="cost")
    return replace(dataset, target=target), replace(QUICK, loss=loss)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_a_target_of_one_value_in_training_rows_is_refused_by_name(loss):
    dataset, settings = with_one_large_claim(loss)
    words = "Column “cost”: the target has the same value in all training rows of 1 of 2 splits"
    options = {"methods": ["standard"], "settings": settings, "tune": False, "validation_share": 0.0}
    # The claim is a test row of one split alone; and then one that a choice looks at.
    seed = next(
        seed
        for seed in range(100)
        if sum(0 in split.train for split in random_splits(200, n_splits=2, random_state=seed)) == 1
    )
    with pytest.raises(DataError, match=words):
        fd.sweep(dataset, n_splits=2, random_state=seed, **options)
    inside = next(
        seed
        for seed in range(100)
        if 0
        in with_held_out(random_splits(200, n_splits=1, random_state=seed)[0], random_state=seed).validation
    )
    with pytest.raises(DataError, match="the same value in all training rows"):
        fd.sweep(dataset, n_splits=1, random_state=inside, **options)
    with pytest.raises(DataError, match="the same value in all training rows"):
        fd.search(dataset, method="hgr_spline", grid="small", n_folds=2, settings=settings)


def test_a_sensitive_column_of_one_value_in_test_rows_is_said():
    dataset = small_dataset()
    seen = random_splits(200, n_splits=3, random_state=0)
    rows = [*np.setdiff1d(seen[0].test, seen[1].test)[:4], *np.setdiff1d(seen[2].test, seen[1].test)[:4]]
    s = pd.DataFrame({"age": np.isin(np.arange(200), rows).astype(float)})
    own = replace(dataset, sensitive=s)
    options = {
        "methods": ["standard"],
        "settings": QUICK,
        "tune": False,
        "tariff": False,
        "references": False,
    }
    result = fd.sweep(
        own, n_splits=3, measures=["pearson"], validation_share=0.0, importance=False, **options
    )
    test = result.frame[result.frame["part"] == "test"]
    assert test["pearson"].isna().tolist() == [False, True, False]
    assert result.notes == (
        "“age” has the same value in the test rows of 1 of 3 splits (2). Dependence on it is undefined there; "
        "means omit it.",
    )
    never = np.setdiff1d(np.arange(200), np.concatenate([split.test for split in seen]))[:4]
    s = pd.DataFrame({"age": np.isin(np.arange(200), never).astype(float)})
    with pytest.raises(DataError, match="Column “age”: it has the same value in the test rows of all splits"):
        fd.sweep(replace(dataset, sensitive=s), n_splits=3, validation_share=0.0, **options)


def test_validation_rows_are_set_aside_and_the_test_rows_stay():
    with_validation, without = (
        random_splits(200, n_splits=2, random_state=0, validation_share=share) for share in (0.25, 0.0)
    )
    for a, b in zip(with_validation, without, strict=True):
        assert np.array_equal(a.test, b.test)
        assert sorted([*a.train, *a.validation]) == list(b.train)
        assert len(a.validation) == 40
        assert list(b.parts) == ["train", "test"]


def test_stopping_early_without_validation_rows_is_refused():
    plan = Sweep(lams=(1.0,), n_splits=1, settings=replace(QUICK, patience=2))
    with pytest.raises(OptionError, match="validation"):
        train_sweep(small_dataset(), plan)
    stopped = train_sweep(small_dataset(), replace(plan, validation_share=0.25))
    assert (stopped.members["best_epoch"] > 1).all()


def test_a_loss_that_does_not_suit_the_target_is_refused_by_name():
    plan = Sweep(lams=(1.0,), n_splits=1, settings=replace(QUICK, loss="gamma"))
    dataset = small_dataset()
    with pytest.raises(DataError, match="cost"):
        train_sweep(replace(dataset, target=dataset.target - 100), plan)
    assert (train_sweep(dataset, plan).predictions > 0).all()


def test_exposure_weighs_the_rows():
    """With all weight on some rows, the model is theirs."""
    dataset = small_dataset()
    heavy = np.where(np.arange(200) < 100, 1.0, 1e-6)
    target, weight = dataset.target.where(heavy == 1, 1000.0), pd.Series(heavy, name="exposure")
    weighted = replace(dataset, target=target, weight=weight)
    plan = Sweep(methods=("standard",), lams=(), n_splits=1, settings=QUICK)
    assert train_sweep(weighted, plan).predictions.max() < 500


def test_progress_grows_to_one_and_may_cancel():
    dataset = small_dataset()
    plan = Sweep(lams=(0.5, 1.0), n_splits=2, settings=QUICK)
    told = []
    train_sweep(dataset, plan, progress=told.append)
    fractions = [each.fraction for each in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    curves = pd.concat([each.curve for each in told if each.curve is not None])
    assert list(curves.columns) == ["method", "lam", "epoch", "mse", "dependence"]
    assert len(curves) == QUICK.n_epochs * (1 + 2)

    def stop(progress):
        raise Cancelled

    with pytest.raises(Cancelled):
        train_sweep(dataset, plan, progress=stop)


def test_the_encoder_keeps_its_width_and_fills_from_training_rows():
    frame = pd.DataFrame({"a": [1.0, 3.0, np.nan, 100.0], "empty in training": [np.nan, np.nan, np.nan, 1.0]})
    frame = frame.assign(c=pd.Categorical(["x", "y", None, "z"]), t=["p", "q", "p", "r"])
    encoded = FeatureEncoder.fit(frame, rows=np.arange(3)).transform(frame)
    assert encoded.shape == (4, 2 + 3 + 3)
    assert encoded[2, 0] == pytest.approx(0.0)  # the median of 1 and 3 is their mean
    assert encoded[0, 0] == -encoded[1, 0]
    assert np.isfinite(encoded).all()
    assert encoded[:, 2:5].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_devices():
    import torch

    assert resolve_device("cpu").name == "cpu"
    mps = torch.backends.mps.is_available()
    best = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
    assert resolve_device("auto").name == best
    with pytest.raises(OptionError, match="not known"):
        resolve_device("abacus")
    if not torch.cuda.is_available():
        device = resolve_device("cuda")
        assert device.name == "cpu"
        assert "not there" in device.note
