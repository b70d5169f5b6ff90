"""Weight decay is chosen on validation rows, and networks are compared with baselines."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fairdash as fd
from fairdash.api import sweep
from fairdash.errors import DataError, OptionError
from fairdash.evaluation import gain_over_mean
from fairdash.evaluation.execute_sweep import with_lams_found
from fairdash.runs.result import UnreadableError, read_result, write_result
from fairdash.tariff import path
from fairdash.tariff.fit import FitOptions
from fairdash.tariff.plan import lams_of_tariffs
from fairdash.training.baselines import BASELINES, LINEAR, MEAN, PRICE, TREES, train_baselines
from fairdash.training.crossvalidation import WEIGHT_DECAYS, settings_of_splits, tune, tuned_settings
from fairdash.training.defaults import LAMS, default_settings, training_rows
from fairdash.training.device import resolve_device
from fairdash.training.losses import LOSSES, find_loss
from fairdash.training.pilot import PILOT_LAMS, evenly_spread_lams, rows_of_pilot
from fairdash.training.settings import STEPS, TrainingSettings, budget_of
from fairdash.training.splits import random_splits
from fairdash.training.sweep import Sweep, default_plan
from fairdash.utils.records import from_plain, to_plain
from tests.data.tables import dataset_of
from tests.tiers import few

QUICK = TrainingSettings(hidden=(8,), batch_size=64, n_epochs=8, warm_up_epochs=2)
CPU = resolve_device("cpu")


def claims(n=4000, *, effect=0.4, seed=0):
    """Rates of rare claims by exposure: about 8 % of the rows have one."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    exposure = rng.uniform(0.2, 1.0, n)
    counts = rng.poisson(exposure * 0.12 * np.exp(effect * x[:, 0] - effect**2 / 2))
    age, years = {"age": x[:, 0] + rng.normal(size=n)}, {"exposure": exposure}
    return dataset_of(dict(zip("abc", x.T, strict=True)), {"frequency": counts / exposure}, age, weight=years)


def test_each_split_uses_the_weight_decay_with_the_lowest_validation_error():
    dataset = claims(600)
    splits = random_splits(600, n_splits=2, random_state=0, validation_share=0.2)
    frame, _ = tune(dataset, splits, QUICK, random_state=0, device=CPU)
    assert len(frame) == 2 * len(WEIGHT_DECAYS)
    best = frame.loc[frame.groupby("split")["loss"].idxmin(), "weight_decay"].tolist()
    own = settings_of_splits(frame, QUICK)
    assert [each.weight_decay for each in own] == best
    assert all(replace(each, lr=QUICK.lr, weight_decay=QUICK.weight_decay) == QUICK for each in own)
    members = Sweep(methods=("standard", "hgr_spline"), lams=(1.0,), n_splits=2, settings=QUICK).models(own)
    assert {(member.split, member.settings.weight_decay) for member in members} == set(enumerate(best))
    means = frame.groupby("weight_decay")["loss"].mean()
    assert tuned_settings(frame, QUICK).weight_decay == means.idxmin()


@pytest.mark.parametrize("validation_share", [0.0, 0.2])
def test_test_rows_are_used_neither_for_tuning_nor_for_baseline_models(validation_share, monkeypatch):
    monkeypatch.setattr("fairdash.training.baselines.MAX_TREES", 5)
    dataset = claims(400)
    splits = random_splits(400, n_splits=1, random_state=0, validation_share=validation_share)
    other = dataset.target.copy()
    other.iloc[splits[0].test] = 1000.0
    poisoned = replace(dataset, target=other)
    frames = [tune(each, splits, QUICK, random_state=0, device=CPU)[0] for each in (dataset, poisoned)]
    pd.testing.assert_frame_equal(*frames)
    for loss in (LOSSES["squared_error"], LOSSES["poisson"]):
        fits = [train_baselines(each, splits, loss=loss)[1] for each in (dataset, poisoned)]
        assert np.array_equal(*fits)


def test_a_sweep_is_tuned_unless_its_settings_are_given():
    dataset = claims(300)
    options = {"methods": ["standard"], "lams": [], "n_splits": 1, "device": "cpu", "measures": ()}
    options |= {"references": False, "tariff": False, "importance": False}
    given = sweep(dataset, settings=QUICK, **options)
    assert given.tuning is None
    found = sweep(dataset, settings=QUICK, tune=True, **options)
    assert found.sweep.tune
    assert (found.tuning["chosen"].sum(), from_plain(Sweep, to_plain(found.sweep))) == (1, found.sweep)


@pytest.mark.parametrize("name", few(sorted(LOSSES), "squared_error", "poisson"))
def test_baseline_models_use_the_chosen_loss_and_trees_fit_a_nonlinear_effect(name):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 3))
    mean = np.exp(0.8 * np.abs(x[:, 0]))
    y = rng.gamma(2.0, mean / 2) if name != "poisson" else rng.poisson(mean).astype(float)
    features, age = dict(zip("abc", x.T, strict=True)), {"age": rng.normal(size=1500)}
    more = {"weight": {"exposure": rng.uniform(0.5, 1, 1500)}, "prediction": {"price": mean}}
    dataset = dataset_of(features, {"cost": y}, age, **more)
    loss, splits = find_loss(name), random_splits(1500, n_splits=1, random_state=0)
    members, predictions = train_baselines(dataset, splits, loss=loss)
    assert list(members["method"]) == list(BASELINES)
    train, test, weight = splits[0].train, splits[0].test, dataset.weight.to_numpy()
    assert np.allclose(predictions[members["method"] == MEAN], np.average(y[train], weights=weight[train]))
    error = {
        method: loss.mean_deviance(y[test], y_pred[test], weight[test])
        for method, y_pred in zip(members["method"], predictions, strict=True)
    }
    assert error[TREES] < 0.97 * min(error[MEAN], error[LINEAR])
    assert error[PRICE] < error[TREES]
    if loss.has_log_link:
        assert (predictions[members["method"] == TREES] > 0).all()
    without, _ = train_baselines(dataset, splits, loss=loss, leave_out=("trees",))
    assert list(without["method"]) == [MEAN, LINEAR, PRICE]
    again = train_baselines(dataset, splits, loss=loss)[1]
    assert np.array_equal(again, predictions)
    # The price is an amount and the target a claim count: the level of a price does not count as an error of
    # a GLM, but does count for squared errors.
    dearer = replace(dataset, prediction=500 * dataset.prediction)
    price = predictions[members["method"] == PRICE][0]
    (in_money,) = train_baselines(dearer, splits, loss=loss)[1][members["method"] == PRICE]
    assert np.allclose(in_money, price if loss.has_log_link else 500 * price)


def test_an_existing_price_without_a_defined_deviance_is_refused_before_training():
    dataset = replace(claims(200), prediction=pd.Series(np.r_[-1.0, 0.0, np.ones(198)], name="old price"))
    options = {"methods": ["standard"], "lams": [], "n_splits": 1, "device": "cpu", "measures": ()}
    with pytest.raises(DataError, match=r"old price.*2 places"):
        sweep(dataset, settings=replace(QUICK, loss="poisson"), **options)


def test_the_gain_over_the_mean_is_significant_for_a_signal_and_rarely_for_noise():
    rng = np.random.default_rng(0)
    n, false_alarms, found = 300, 0, 0
    loss = LOSSES["squared_error"]
    for repeat in range(60):
        splits = random_splits(n, n_splits=1 + 4 * (repeat % 2), random_state=repeat)
        y, x = rng.normal(size=n), rng.normal(size=n)
        guesses = {j: y[split.train].mean() + 0.05 * x for j, split in enumerate(splits)}
        false_alarms += gain_over_mean(y, guesses, splits, loss=loss).is_beyond_noise
        gain = gain_over_mean(y + x, dict.fromkeys(guesses, x), splits, loss=loss)
        found += gain.is_beyond_noise
        assert 0.2 < gain.error < 0.9
    assert false_alarms <= 4
    assert found == 60


@pytest.mark.parametrize("n_rows", [1, 3_200, 4_000, 38_400, 60_000, 434_000, 1_500_000, 12_800_000])
@pytest.mark.every_case
def test_more_rows_lead_to_larger_batches_and_about_the_same_number_of_steps(n_rows):
    own = TrainingSettings(**budget_of(n_rows))
    if n_rows <= 3_200:
        assert (own.batch_size, own.n_epochs, own.warm_up_epochs) == (256, 60, 10)
        return
    steps = own.n_epochs * own.steps_an_epoch(n_rows)
    assert 0.9 * STEPS <= steps <= 2.1 * STEPS
    assert own.batch_size <= max(2048, n_rows / 180)
    assert 1 <= own.warm_up_epochs < own.n_epochs / 3


def test_the_training_budget_of_a_plan_depends_on_the_number_of_training_rows():
    dataset = fd.load_dataset("household", n=20_000)
    plan = default_settings(dataset)
    assert plan.batch_size == budget_of(training_rows(20_000))["batch_size"] == 512


def test_a_network_with_default_settings_learns_a_weak_signal_in_claim_counts():
    """The signal explains about 1 % of the deviance; a weight decay of 3 % would suppress it."""
    rng = np.random.default_rng(1)
    x, years = rng.normal(size=(12_000, 3)), rng.uniform(0.1, 1, 12_000)
    rate = 0.07 * np.exp(0.35 * x[:, 0] + 0.15 * x[:, 1])
    y = rng.poisson(years * rate) / years
    model = fd.FairRegressor(method="standard", lam=0, loss="poisson", random_state=0, device="cpu")
    predicted = model.fit(x, y, sample_weight=years).predict(x)
    assert np.corrcoef(np.log(predicted), np.log(rate))[0, 1] > 0.9


# The weights that a pilot training finds: spread by dependence on validation rows, and stored with the
# result.


TRIED = np.array([0.0, *PILOT_LAMS])
PILOT_QUICK = TrainingSettings(hidden=(8,), n_epochs=12, warm_up_epochs=2, lr=0.01, weight_decay=0.003)


@pytest.mark.parametrize("middle", [0.01, 0.1, 1.0, 8.0])
def test_lambdas_are_selected_so_that_dependence_decreases_in_equal_steps(middle):
    """Expected values follow the closed form: dependence 0.8 / (1 + λ / m), floor 0.1."""
    found = evenly_spread_lams(TRIED, 0.8 / (1 + TRIED / middle), 0.1, count=8)
    reached = 0.8 / (1 + found[:-1] / middle)
    inside = (found[:-1] > 0.01) & (found[:-1] < 20)
    wanted = 0.8 - (0.8 - max(0.1, 0.8 / (1 + 30 / middle))) * np.arange(1, 8) / 8
    assert np.abs(reached - wanted)[inside].max() < 0.02


@given(
    st.lists(st.floats(0, 1), min_size=len(TRIED), max_size=len(TRIED)), st.floats(0, 1), st.integers(1, 16)
)
@example([5e-324] + [0.0] * (len(TRIED) - 1), 0.0, 4)
@example([0.5, 1e-310] + [0.0] * (len(TRIED) - 2), 0.0, 4)
def test_selected_lambdas_are_distinct_and_as_many_as_requested_for_any_pilot_results(values, floor, count):
    found = evenly_spread_lams(TRIED, np.array(values), floor, count=count)
    assert len(found) == count == len(set(found.tolist()))
    assert (found > 0).all()
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0).all()


def linked(n=1_500, *, share=0.8, seed=0):
    """A table whose target depends on s, as strongly as `share` says, through a noisy copy of s."""
    rng = np.random.default_rng(seed)
    s, own = rng.normal(size=n), rng.normal(size=n)
    features = {"proxy": s + 0.3 * rng.normal(size=n), "own": own}
    return dataset_of(features, {"y": share * s + own + 0.3 * rng.normal(size=n)}, {"s": s})


def test_lambdas_are_found_without_the_test_rows():
    dataset = linked(900)
    plan = replace(default_plan(dataset, device="cpu", settings=PILOT_QUICK), n_splits=1)
    found = with_lams_found(dataset, plan)
    assert found.lams != LAMS
    assert found.find_lams
    (split,) = plan.splits(dataset)
    changed = dataset.target.copy()
    changed.iloc[split.test] = changed.iloc[split.test].to_numpy()[::-1]
    assert with_lams_found(replace(dataset, target=changed), plan).lams == found.lams


def test_lambdas_stay_at_their_defaults_without_dependence():
    noise = pd.DataFrame({"s": np.random.default_rng(9).normal(size=1_500)})
    dataset = replace(linked(share=0.0), sensitive=noise)
    assert with_lams_found(dataset, default_plan(dataset, device="cpu", settings=PILOT_QUICK)).lams == LAMS


def test_no_pilot_models_are_trained_for_given_lambdas_or_for_a_standard_model_alone():
    dataset = linked()
    for asked in ({"lams": (0.5,)}, {"methods": ("standard",)}):
        plan = default_plan(dataset, device="cpu", settings=PILOT_QUICK, **asked)
        assert not plan.find_lams
        assert with_lams_found(dataset, plan) == plan
    with pytest.raises(OptionError, match="not a list"):
        default_plan(dataset, lams="all")


def test_a_stored_result_contains_the_lambdas_found_by_its_pilot(tmp_path):
    few = {"methods": ["standard", "hgr_spline"], "n_splits": 1, "measures": ["pearson"]}
    few |= {"references": False, "importance": False, "tariff": False}
    result = fd.sweep(linked(600), settings=PILOT_QUICK, device="cpu", **few)
    assert result.sweep.find_lams
    assert result.sweep.lams != LAMS
    write_result(result, tmp_path)
    planned = replace(result.sweep, lams=LAMS)
    back = read_result(tmp_path, planned)
    assert back.sweep == result.sweep
    for a, b in zip(result.splits, back.splits, strict=True):
        assert a.parts.keys() == b.parts.keys()
        assert all(np.array_equal(a.parts[part], b.parts[part]) for part in a.parts)
    assert sorted(set(result.members["lam"])) == [0.0, *result.sweep.lams]
    with pytest.raises(UnreadableError):
        read_result(tmp_path, replace(planned, lams=(1.0,)))


def test_a_search_for_lambda_selects_candidates_automatically():
    options = {"target": "hgr_spline<=1", "method": "hgr_spline", "n_folds": 2, "device": "cpu"}
    settings = TrainingSettings(hidden=(4,), n_epochs=3, batch_size=64, warm_up_epochs=1)
    found = fd.find_lam(linked(400), settings=settings, **options)
    tried = found.frame["lam"].tolist()
    assert len(tried) == 9
    assert tried[1:] != list(LAMS)
    with pytest.raises(OptionError, match="not a list of weights"):
        fd.find_lam(linked(400), lams="all", **options)


def test_lambdas_for_tariffs_are_spaced_by_the_dependence_of_fitted_tariffs():
    """For claims, the usual weights would all end at the floor; without a link the plan keeps them."""
    from tests.runs.test_tariffs import claims_source

    for link, is_found in ((0.6, True), (0.0, False)):
        dataset = claims_source(1500 if is_found else 600, slope=0.9, link=link).load()
        plan = default_plan(dataset, methods=["standard", "fair_tariff"])
        (split, *_) = plan.splits(dataset)
        lams = lams_of_tariffs(dataset, plan, split)
        assert (tuple(lams) != LAMS) == is_found
        if is_found:
            assert with_lams_found(dataset, plan).lams == tuple(lams)
            options = FitOptions(loss=plan.settings.loss_function)
            fitted = path.fit_tariffs(dataset, (split,), options=options)
            assert fitted.members["lam"].tolist() == [0.0, *lams]
            age = dataset.sensitive["age"]
            reached = [fd.measure("hgr_spline", each, age, random_state=0) for each in fitted.predictions]
            # The largest fall is about a third of the total fall here, with an error of a tenth.
            assert -np.diff(reached).min() < 0.6 * (reached[0] - reached[-1])


def test_a_pilot_uses_a_sample_of_training_rows_and_all_validation_rows():
    dataset = linked(600)
    (split,) = replace(default_plan(dataset, device="cpu"), n_splits=1, validation_share=0.2).splits(dataset)
    own, place = rows_of_pilot(dataset, split, 0, most=100)
    assert own.n_rows == 100 + len(split.validation)
    assert [len(part) for part in (place.train, place.test)] == [100, 0]
    target = dataset.target.to_numpy()
    assert set(own.target.iloc[place.train]) < set(target[split.train])
    assert own.target.iloc[place.validation].tolist() == target[split.validation].tolist()


def test_a_tariff_of_a_large_table_is_fitted_on_a_reproducible_sample_of_its_rows(monkeypatch):
    dataset = linked(1_500)
    (split,) = replace(default_plan(dataset, device="cpu"), n_splits=1).splits(dataset)
    given = {"lams": [0.0, 0.3], "options": FitOptions(loss=LOSSES["squared_error"])}
    whole = path.fit_tariffs(dataset, (split,), **given).predictions
    monkeypatch.setattr(path, "MAX_FITTED_ROWS", 500)
    some, again = (path.fit_tariffs(dataset, (split,), **given).predictions for _ in range(2))
    assert np.array_equal(some, again)
    assert not np.array_equal(some, whole)
    assert min(np.corrcoef(a, b)[0, 1] for a, b in zip(some, whole, strict=True)) > 0.95
