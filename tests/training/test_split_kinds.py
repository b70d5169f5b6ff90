"""Splits by group and by time: nothing leaks, more splits keep the first ones, and the run says which."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.errors import OptionError
from fairdash.evaluation import assess_predictions, wide
from fairdash.evaluation.execute_sweep import execute_sweep
from fairdash.runs.result import read_result, write_result
from fairdash.training.crossvalidation import cross_validate
from fairdash.training.settings import StackedModel
from fairdash.training.split_kinds import draw_splits
from fairdash.training.splits import folds, with_held_out
from fairdash.training.sweep import Sweep
from tests.data.tables import dataset_of
from tests.training.test_sweep import QUICK


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
def test_no_group_is_in_two_parts_and_more_splits_keep_the_first(validation_share):
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
def test_by_time_training_comes_before_validation_before_test(validation_share):
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


def test_years_are_never_parted_and_there_are_only_so_many_windows():
    data = over_years()
    splits = draw_splits(data, "time", n_splits=2, random_state=0)
    for split in splits:
        years = [set(data.time.iloc[rows]) for rows in split.parts.values()]
        assert max(years[0]) < min(years[1])
    assert len({tuple(split.test) for split in splits}) == 2
    with pytest.raises(OptionError, match=r"“year” gives only \d different splits"):
        draw_splits(data, "time", n_splits=9, random_state=0)
    always = replace(data, time=pd.Series(np.ones(data.n_rows), name="year"))
    with pytest.raises(OptionError, match="gives only 0 different splits"):
        draw_splits(always, "time", n_splits=1, random_state=0)


def test_a_kind_needs_its_column():
    data = replace(over_years(), group=None, time=None)
    for kind in ("group", "time"):
        with pytest.raises(OptionError, match=f"Splits by {kind}|splits by {kind}"):
            fd.sweep(data, split=kind, lams=[1.0], n_splits=1, settings=QUICK)
    with pytest.raises(OptionError, match="split"):
        Sweep(lams=(1.0,), split="policy")
    with pytest.raises(OptionError, match="as many groups"):
        fd.sweep(data, groups=[1, 2], lams=[1.0])


def test_folds_and_what_is_held_out_of_training_keep_groups_whole():
    data = over_years()
    dealt = folds(np.arange(data.n_rows), n_folds=4, random_state=0, groups=data.groups)
    assert sorted(np.concatenate([fold.validation for fold in dealt])) == list(range(data.n_rows))
    split = draw_splits(data, "group", n_splits=1, random_state=0)[0]
    inner = with_held_out(split, random_state=0, groups=data.groups)
    for fold in (*dealt, inner):
        assert not set(data.group.iloc[fold.train]) & set(data.group.iloc[fold.validation])
    assert set(inner.train) | set(inner.validation) == set(split.train)
    with pytest.raises(OptionError, match="groups"):
        folds(np.arange(data.n_rows), n_folds=121, random_state=0, groups=data.groups)


def test_out_of_fold_predictions_are_by_models_that_saw_none_of_the_group():
    data = over_years(60)
    settings = replace(QUICK, patience=2)
    options = {"objective": "demographic_parity", "n_folds": 3, "random_state": 0, "device": "cpu"}
    found = cross_validate(data, [StackedModel("standard", 0.0, settings)], **options)
    assert np.isfinite(found.predictions).all()
    inside = [set(data.group.iloc[rows]) for rows in found.held_out]
    assert sum(map(len, inside)) == len(set.union(*inside)) == 60


def test_verdicts_of_a_sweep_follow_the_groups():
    data = replace(over_years(), time=None)
    options = {"lams": [1.0], "methods": ["standard"], "n_splits": 2, "settings": QUICK, "device": "cpu"}
    options |= {"measures": ["hgr_kde"], "references": False, "importance": False}
    grouped = fd.sweep(data, **options)
    assert grouped.sweep.split == "group"
    by_hand = fd.sweep(replace(data, group=None), groups=data.group, **options)
    pd.testing.assert_frame_equal(grouped.frame, by_hand.frame)
    # The same splits, each row a witness of its own: the noise floor comes out lower.
    of = (grouped.predictions, grouped.members, grouped.splits)
    measured = {"objective": "demographic_parity", "measures": ["hgr_kde"]}
    by_row = wide(assess_predictions(replace(data, group=None), *of, **measured))
    tested = grouped.frame["part"] == "test"
    assert (grouped.frame["hgr_kde"] == by_row["hgr_kde"]).all()
    assert (grouped.frame.loc[tested, "hgr_kde_edge"] > by_row.loc[tested, "hgr_kde_edge"]).all()


def test_a_run_by_time_is_written_read_and_worded(tmp_path):
    data = over_years()
    plan = Sweep(methods=("standard",), lams=(), split="time", n_splits=2, settings=QUICK, device="cpu")
    result = execute_sweep(data, plan, is_preview=False)
    write_result(result, tmp_path)
    back = read_result(tmp_path, plan)
    for a, b in zip(result.splits, back.splits, strict=True):
        assert a.parts.keys() == b.parts.keys()
        assert all(np.array_equal(a.parts[part], b.parts[part]) for part in a.parts)
    # Rows after the second window belong to none of its parts.
    assert sum(len(rows) for rows in back.splits[1].parts.values()) < data.n_rows
    assert back.importance is not None
