"""Sweeps: plans, splits, encoding, and the inputs of a predictor."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.errors import DataError, DeviceError, OptionError
from fairdash.evaluation import assess_predictions, wide
from fairdash.training import stack
from fairdash.training.crossvalidation import cross_validate
from fairdash.training.defaults import default_methods
from fairdash.training.device import resolve_device
from fairdash.training.feature_encoder import FeatureEncoder
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.split_kinds import draw_splits
from fairdash.training.splits import fold_rows, random_splits, with_held_out
from fairdash.training.sweep import Sweep, train_sweep
from tests.data.tables import dataset_of

QUICK = TrainingSettings(hidden=(8,), adversary_hidden=(8,), batch_size=32, n_epochs=4, warm_up_epochs=1)


def small_dataset(n=200, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n)
    power, bonus = rng.normal(size=n), 0.05 * (age - 50) + rng.normal(size=n)
    region = pd.Categorical(rng.choice(["north", "south", "west"], n))
    cost = 100 + 20 * power + 10 * bonus + rng.normal(size=n)
    made = dataset_of({"power": power, "bonus": bonus, "region": region}, {"cost": cost}, {"age": age})
    return replace(made, units={"cost": "€", "age": "years"})


@pytest.mark.parametrize("validation_share", [0.0, 0.25])
def test_random_splits_contain_every_row_once_and_are_unchanged_if_more_splits_are_drawn(validation_share):
    options = {"random_state": 3, "validation_share": validation_share}
    few, more = (random_splits(100, n_splits=k, **options) for k in (2, 5))
    sizes = {"train": 60, "validation": 20, "test": 20} if validation_share else {"train": 80, "test": 20}
    for split in more:
        assert {part: len(rows) for part, rows in split.parts.items()} == sizes
        assert sorted(np.concatenate(list(split.parts.values()))) == list(range(100))
    without = random_splits(100, n_splits=2, random_state=3)
    for a, b, c in zip(few, more, without, strict=False):
        assert np.array_equal(a.test, b.test)
        assert np.array_equal(a.test, c.test)
    assert not np.array_equal(more[0].test, more[1].test)
    assert not np.array_equal(more[0].test, random_splits(100, n_splits=1, random_state=4)[0].test)


def test_default_methods_for_several_attributes_accept_several_attributes():
    one = small_dataset()
    several = replace(one, sensitive=one.sensitive.assign(income=1.0 * np.arange(one.n_rows)))
    assert default_methods(one) == ("standard", "hgr_spline", "chi2_kde", "hgr_nn")
    assert default_methods(several) == ("standard", "hgr_spline", "hgr_nn")


@pytest.mark.parametrize(
    ("options", "column"),
    [
        ({"lams": (-1.0,)}, "lams"), ({"lams": (float("nan"),)}, "lams"), ({"lams": (1.0, 1.0)}, "lams"),
        ({"lams": (1.0,), "n_splits": 0}, "n_splits"),
        ({"lams": (1.0,), "methods": ("hgr_nn", "hgr_nn")}, "methods"),
        ({"lams": (1.0,), "methods": ("magic",)}, "method"),
        ({"lams": (1.0,), "objective": "luck"}, "objective"),
    ],
)  # fmt: skip
def test_invalid_sweep_options_are_refused_by_name(options, column):
    with pytest.raises(OptionError) as caught:
        Sweep(**options)
    assert caught.value.problems[0].column == column


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


def test_a_batch_of_models_that_exceeds_memory_is_halved_once_and_trained(monkeypatch):
    dataset, largest, tried = small_dataset(), 3, []
    plan = Sweep(methods=("hgr_nn",), lams=(0.5, 1.0, 2.0), n_splits=2, settings=QUICK)
    whole = train_sweep(dataset, plan)
    train_stack = stack.train_stack

    def limited(data, members, **options):
        tried.append(len(members))
        if len(members) > largest:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 1 byte")
        return train_stack(data, members, **options)

    monkeypatch.setattr(stack, "train_stack", limited)
    halves = train_sweep(dataset, plan)
    assert np.allclose(whole.predictions, halves.predictions, atol=1e-3)
    assert any("halves" in note for note in halves.notes)
    assert whole.notes == ()
    largest = 1
    with pytest.raises(DeviceError, match="memory"):
        train_sweep(dataset, plan)
    assert tried == [6, 3, 3, 6, 3]


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_a_target_that_is_constant_in_training_rows_is_refused_by_name(loss):
    dataset, settings = small_dataset(), replace(QUICK, loss=loss)
    first, second = random_splits(200, n_splits=2, random_state=0)
    held_out = with_held_out(random_splits(200, n_splits=1, random_state=0)[0], random_state=0).validation
    options = {"methods": ["standard"], "settings": settings, "tune": False, "validation_share": 0.0}
    same = "the same value in all training rows"
    # The claim is a test row of only one split, and then a row used for choices.
    of_two = f"Column “cost”: the target has {same} of 1 of 2 splits"
    alone = np.setdiff1d(first.test, second.test)[0]
    for row, n_splits, words in ((alone, 2, of_two), (held_out[0], 1, same)):
        claim = pd.Series(np.where(np.arange(200) == row, 5.0, 0.0), name="cost")
        with pytest.raises(DataError, match=words):
            fd.sweep(replace(dataset, target=claim), n_splits=n_splits, **options)
    dataset = replace(dataset, target=claim)
    with pytest.raises(DataError, match="the same value in all training rows"):
        fd.search(dataset, method="hgr_spline", grid="small", n_folds=2, settings=settings)


def test_a_sensitive_column_constant_in_test_rows_is_reported():
    dataset = small_dataset()
    seen = random_splits(200, n_splits=3, random_state=0)
    rows = [*np.setdiff1d(seen[0].test, seen[1].test)[:4], *np.setdiff1d(seen[2].test, seen[1].test)[:4]]
    s = pd.DataFrame({"age": np.isin(np.arange(200), rows).astype(float)})
    own = replace(dataset, sensitive=s)
    options = dict.fromkeys(("tune", "tariff", "references", "importance"), False)
    options |= {"methods": ["standard"], "settings": QUICK, "n_splits": 3, "validation_share": 0.0}
    result = fd.sweep(own, measures=["pearson"], **options)
    test = result.frame[result.frame["part"] == "test"]
    assert test["pearson"].isna().tolist() == [False, True, False]
    assert result.notes == (
        "“age” is constant in the test rows of 1 of 3 splits (no. 2). Means of dependence do not include "
        "these splits or folds.",
    )
    never = np.setdiff1d(np.arange(200), np.concatenate([split.test for split in seen]))[:4]
    s = pd.DataFrame({"age": np.isin(np.arange(200), never).astype(float)})
    with pytest.raises(
        DataError, match="Column “age”: the column is constant in the test rows of all splits"
    ):
        fd.sweep(replace(dataset, sensitive=s), **options)


def test_early_stopping_without_validation_rows_is_refused():
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


def test_a_column_that_is_empty_in_training_rows_still_becomes_an_input():
    frame = pd.DataFrame({"a": [1.0, 3.0, np.nan, 100.0], "empty": [np.nan, np.nan, np.nan, 1.0]})
    encoded = FeatureEncoder.fit(frame, rows=np.arange(3)).transform(frame)
    assert encoded.shape == (4, 2)
    assert np.isfinite(encoded).all()
    # The median of 1 and 3 equals their mean.
    assert encoded[:3, 0] == pytest.approx([-(1.5**0.5), 1.5**0.5, 0.0])


def test_devices_are_resolved_by_name_and_unknown_names_are_refused():
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
        assert "not available" in device.note


# Splits by group and by time: nothing leaks, more splits keep the first ones, and the run states the kind of
# split.


def over_years(n_policies=120, seed=0):
    """Policies of one to five years; age is that of the policyholder, who stays the same person."""
    rng = np.random.default_rng(seed)
    policy = np.repeat(np.arange(n_policies), rng.integers(1, 6, n_policies))
    n = len(policy)
    year = 2018.0 + np.arange(n) - np.searchsorted(policy, policy)
    order = rng.permutation(n)
    policy, year = policy[order], year[order]
    age = rng.uniform(20, 70, n_policies)[policy]
    risk = rng.normal(size=n_policies)[policy]
    features, cost = {"power": rng.normal(size=n), "risk": risk}, risk + rng.normal(size=n)
    group = {"policy": [f"P{each:03}" for each in policy]}
    return dataset_of(features, {"cost": cost}, {"age": age}, group=group, time={"year": year})


@pytest.mark.parametrize("validation_share", [0.0, 0.25])
def test_group_splits_keep_groups_together_and_more_splits_leave_the_first_unchanged(validation_share):
    data = over_years()
    options = {"random_state": 3, "validation_share": validation_share}
    few, more = (draw_splits(data, "group", n_splits=k, **options) for k in (2, 5))
    for a, b in zip(few, more, strict=False):
        assert all(np.array_equal(a.parts[part], b.parts[part]) for part in a.parts)
    for split in more:
        inside = [set(data.group.iloc[rows]) for rows in split.parts.values()]
        assert sum(map(len, inside)) == len(set.union(*inside)) == 120
        assert len(set(data.group.iloc[split.test])) == 24
        assert sorted(np.concatenate(list(split.parts.values()))) == list(range(data.n_rows))
    assert not np.array_equal(more[0].test, more[1].test)
    other = draw_splits(data, "group", n_splits=1, random_state=4)[0]
    assert not np.array_equal(more[0].test, other.test)
    without = draw_splits(data, "group", n_splits=2, random_state=3)
    assert all(np.array_equal(a.test, b.test) for a, b in zip(few, without, strict=True))


@pytest.mark.parametrize("validation_share", [0.0, 0.25])
def test_in_splits_by_time_training_precedes_validation_and_validation_precedes_test(validation_share):
    rng = np.random.default_rng(0)
    data = replace(over_years(), time=pd.Series(rng.uniform(0, 10, over_years().n_rows), name="day"))
    options = {"random_state": 3, "validation_share": validation_share}
    few, more = (draw_splits(data, "time", n_splits=k, **options) for k in (2, 6))
    time = data.time.to_numpy()
    for a, b in zip(few, more, strict=False):
        assert np.array_equal(a.test, b.test)
    for j, split in enumerate(more):
        parts = [time[split.parts[part]] for part in ("train", "validation", "test") if part in split.parts]
        assert len(parts) == 2 + bool(validation_share)
        assert all(a.max() < b.min() for a, b in itertools.pairwise(parts))
        assert len(split.test) == pytest.approx(0.2 * data.n_rows, abs=1)
        assert time[split.test].min() == pytest.approx(np.quantile(time, 0.8 - 0.05 * j), abs=0.1)
    assert time[more[0].test].max() == time.max()


def test_splits_by_time_keep_equal_times_together_and_refuse_more_splits_than_windows():
    data = over_years()
    splits = draw_splits(data, "time", n_splits=2, random_state=0)
    for split in splits:
        years = [set(data.time.iloc[rows]) for rows in split.parts.values()]
        assert max(years[0]) < min(years[1])
    assert len({tuple(split.test) for split in splits}) == 2
    with pytest.raises(OptionError, match=r"“year” allows only \d different splits"):
        draw_splits(data, "time", n_splits=9, random_state=0)
    always = replace(data, time=pd.Series(np.ones(data.n_rows), name="year"))
    with pytest.raises(OptionError, match="allows only 0 different splits"):
        draw_splits(always, "time", n_splits=1, random_state=0)


def test_splits_by_group_or_time_are_refused_without_their_column():
    data = replace(over_years(), group=None, time=None)
    for kind in ("group", "time"):
        with pytest.raises(OptionError, match=f"Splits by {kind}|splits by {kind}"):
            fd.sweep(data, split=kind, lams=[1.0], n_splits=1, settings=QUICK)
    with pytest.raises(OptionError, match="split"):
        Sweep(lams=(1.0,), split="policy")
    with pytest.raises(OptionError, match="differ in number"):
        fd.sweep(data, groups=[1, 2], lams=[1.0])


def test_folds_and_held_out_rows_keep_the_rows_of_a_group_together():
    data = over_years()
    dealt = fold_rows(np.arange(data.n_rows), n_folds=4, random_state=0, groups=data.groups)
    assert sorted(np.concatenate([fold.validation for fold in dealt])) == list(range(data.n_rows))
    split = draw_splits(data, "group", n_splits=1, random_state=0)[0]
    inner = with_held_out(split, random_state=0, groups=data.groups)
    for fold in (*dealt, inner):
        assert not set(data.group.iloc[fold.train]) & set(data.group.iloc[fold.validation])
    assert set(inner.train) | set(inner.validation) == set(split.train)
    with pytest.raises(OptionError, match="groups"):
        fold_rows(np.arange(data.n_rows), n_folds=121, random_state=0, groups=data.groups)


def test_out_of_fold_predictions_come_from_models_trained_without_the_group():
    data = over_years(60)
    settings = replace(QUICK, patience=2)
    options = {"objective": "demographic_parity", "n_folds": 3, "random_state": 0, "device": "cpu"}
    found = cross_validate(data, [StackedModel("standard", 0.0, settings)], **options)
    assert np.isfinite(found.predictions).all()
    inside = [set(data.group.iloc[rows]) for rows in found.held_out]
    assert sum(map(len, inside)) == len(set.union(*inside)) == 60


def test_noise_floors_and_tests_of_a_sweep_take_groups_into_account():
    data = replace(over_years(), time=None)
    options = {"lams": [1.0], "methods": ["standard"], "n_splits": 2, "settings": QUICK, "device": "cpu"}
    options |= {"measures": ["hgr_kde"], "references": False, "importance": False, "tariff": False}
    grouped = fd.sweep(data, **options)
    assert grouped.sweep.split == "group"
    by_hand = fd.sweep(replace(data, group=None), groups=data.group, **options)
    pd.testing.assert_frame_equal(grouped.frame, by_hand.frame)
    # If the same splits treat every row as independent, the noise floor is lower.
    of = (grouped.predictions, grouped.members, grouped.splits)
    measured = {"objective": "demographic_parity", "measures": ["hgr_kde"]}
    by_row = wide(assess_predictions(replace(data, group=None), *of, **measured))
    tested = grouped.frame["part"] == "test"
    assert (grouped.frame["hgr_kde"] == by_row["hgr_kde"]).all()
    assert (grouped.frame.loc[tested, "hgr_kde_edge"] > by_row.loc[tested, "hgr_kde_edge"]).all()
