"""The weights that a pilot finds: spread over dependence, on validation rows, kept with the result."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fairdash as fd
from fairdash.errors import OptionError
from fairdash.evaluation.execute_sweep import with_lams_found
from fairdash.runs.result import UnreadableError, read_result, write_result
from fairdash.training.defaults import LAMS
from fairdash.training.pilot import PILOT_LAMS, rows_of_pilot, spread
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import default_plan
from tests.data.tables import dataset_of

TRIED = np.array([0.0, *PILOT_LAMS])
QUICK = TrainingSettings(hidden=(8,), n_epochs=12, warm_up_epochs=2, lr=0.01, weight_decay=0.003)


@pytest.mark.parametrize("middle", [0.01, 0.1, 1.0, 8.0])
def test_a_logistic_fall_is_cut_in_equal_steps(middle):
    """Against the closed form: dependence .8 / (1 + λ / m), floor .1."""
    found = spread(TRIED, 0.8 / (1 + TRIED / middle), 0.1, count=8)
    reached = 0.8 / (1 + found[:-1] / middle)
    inside = (found[:-1] > 0.01) & (found[:-1] < 20)
    wanted = 0.8 - (0.8 - max(0.1, 0.8 / (1 + 30 / middle))) * np.arange(1, 8) / 8
    assert np.abs(reached - wanted)[inside].max() < 0.02


@given(
    st.lists(st.floats(0, 1), min_size=len(TRIED), max_size=len(TRIED)), st.floats(0, 1), st.integers(1, 16)
)
@example([5e-324] + [0.0] * (len(TRIED) - 1), 0.0, 4)
@example([0.5, 1e-310] + [0.0] * (len(TRIED) - 2), 0.0, 4)
def test_whatever_was_measured_there_are_as_many_different_weights(values, floor, count):
    found = spread(TRIED, np.array(values), floor, count=count)
    assert len(found) == count == len(set(found.tolist()))
    assert (found > 0).all()
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0).all()


def linked(n=1_500, *, share=0.8, seed=0):
    """A table whose target follows s by a share, through a feature that is s with noise."""
    rng = np.random.default_rng(seed)
    s, own = rng.normal(size=n), rng.normal(size=n)
    features = {"proxy": s + 0.3 * rng.normal(size=n), "own": own}
    return dataset_of(features, {"y": share * s + own + 0.3 * rng.normal(size=n)}, {"s": s})


def test_weights_are_found_on_rows_that_are_no_test_rows():
    dataset = linked(900)
    plan = replace(default_plan(dataset, device="cpu", settings=QUICK), n_splits=1)
    found = with_lams_found(dataset, plan)
    assert found.lams != LAMS
    assert found.find_lams
    (split,) = plan.splits(dataset)
    changed = dataset.target.copy()
    changed.iloc[split.test] = changed.iloc[split.test].to_numpy()[::-1]
    assert with_lams_found(replace(dataset, target=changed), plan).lams == found.lams


def test_nothing_is_found_where_there_is_no_link():
    noise = pd.DataFrame({"s": np.random.default_rng(9).normal(size=1_500)})
    dataset = replace(linked(share=0.0), sensitive=noise)
    assert with_lams_found(dataset, default_plan(dataset, device="cpu", settings=QUICK)).lams == LAMS


def test_given_weights_and_a_standard_model_alone_need_no_pilot():
    dataset = linked()
    for asked in ({"lams": (0.5,)}, {"methods": ("standard",)}):
        plan = default_plan(dataset, device="cpu", settings=QUICK, **asked)
        assert not plan.find_lams
        assert with_lams_found(dataset, plan) == plan
    with pytest.raises(OptionError, match="not a grid"):
        default_plan(dataset, lams="all")


def test_a_result_keeps_the_weights_that_it_found(tmp_path):
    few = {"methods": ["standard", "hgr_spline"], "n_splits": 1, "measures": ["pearson"]}
    few |= {"references": False, "importance": False, "tariff": False}
    result = fd.sweep(linked(600), settings=QUICK, device="cpu", **few)
    assert result.sweep.find_lams
    assert result.sweep.lams != LAMS
    write_result(result, tmp_path)
    planned = replace(result.sweep, lams=LAMS)
    assert read_result(tmp_path, planned).sweep == result.sweep
    assert sorted(set(result.members["lam"])) == [0.0, *result.sweep.lams]
    with pytest.raises(UnreadableError):
        read_result(tmp_path, replace(planned, lams=(1.0,)))


def test_a_search_for_a_weight_finds_the_ones_to_try():
    options = {"target": "hgr_spline<=1", "method": "hgr_spline", "n_folds": 2, "device": "cpu"}
    settings = TrainingSettings(hidden=(4,), n_epochs=3, batch_size=64, warm_up_epochs=1)
    found = fd.find_lam(linked(400), settings=settings, **options)
    tried = found.frame["lam"].tolist()
    assert len(tried) == 9
    assert tried[1:] != list(LAMS)
    with pytest.raises(OptionError, match="not a grid of weights"):
        fd.find_lam(linked(400), lams="all", **options)


def test_tariffs_have_weights_of_their_own_dependence():
    """On claims the networks' usual weights would all lie at the floor; without a link the plan keeps its own."""
    from fairdash.tariff.fit import FitOptions
    from fairdash.tariff.path import fit_tariffs
    from fairdash.tariff.plan import lams_of_tariffs
    from tests.runs.test_tariffs_first import source

    for link, is_found in ((0.6, True), (0.0, False)):
        dataset = source(1500 if is_found else 600, slope=0.9, link=link).load()
        plan = default_plan(dataset, methods=["standard", "fair_tariff"])
        (split, *_) = plan.splits(dataset)
        lams = lams_of_tariffs(dataset, plan, split)
        assert (tuple(lams) != LAMS) == is_found
        if is_found:
            assert with_lams_found(dataset, plan).lams == tuple(lams)
            options = FitOptions(loss=plan.settings.loss_function)
            fitted = fit_tariffs(dataset, (split,), options=options)
            assert fitted.members["lam"].tolist() == [0.0, *lams]
            age = dataset.sensitive["age"]
            reached = [fd.measure("hgr_spline", each, age, random_state=0) for each in fitted.predictions]
            # It is a third of the way here, with an error of a tenth.
            assert -np.diff(reached).min() < 0.6 * (reached[0] - reached[-1])


def test_a_pilot_takes_its_own_rows_alone():
    dataset = linked(600)
    (split,) = replace(default_plan(dataset, device="cpu"), n_splits=1, validation_share=0.2).splits(dataset)
    own, place = rows_of_pilot(dataset, split, 0, most=100)
    assert own.n_rows == 100 + len(split.validation)
    assert [len(part) for part in (place.train, place.test)] == [100, 0]
    target = dataset.target.to_numpy()
    assert set(own.target.iloc[place.train]) < set(target[split.train])
    assert own.target.iloc[place.validation].tolist() == target[split.validation].tolist()


def test_a_tariff_of_a_large_table_sees_some_of_its_rows(monkeypatch):
    from fairdash.tariff import path
    from fairdash.tariff.fit import FitOptions
    from fairdash.training.losses import LOSSES

    dataset = linked(1_500)
    (split,) = replace(default_plan(dataset, device="cpu"), n_splits=1).splits(dataset)
    given = {"lams": [0.0, 0.3], "options": FitOptions(loss=LOSSES["squared_error"])}
    whole = path.fit_tariffs(dataset, (split,), **given).predictions
    monkeypatch.setattr(path, "MAX_FITTED_ROWS", 500)
    some, again = (path.fit_tariffs(dataset, (split,), **given).predictions for _ in range(2))
    assert np.array_equal(some, again)
    assert not np.array_equal(some, whole)
    assert min(np.corrcoef(a, b)[0, 1] for a, b in zip(some, whole, strict=True)) > 0.95


def test_a_leg_goes_on_with_the_rows_that_the_one_before_encoded(monkeypatch):
    from fairdash.training import models
    from fairdash.training.device import resolve_device
    from fairdash.training.penalties.closed_forms import SplineHGRPenalty

    dataset, encode, asked, legs = linked(400), SplineHGRPenalty.encode, [], []
    monkeypatch.setattr(SplineHGRPenalty, "encode", lambda *rows: asked.append(1) or encode(*rows))
    monkeypatch.setattr(models, "SECONDS_A_LEG", 2e-3)
    (split,) = replace(default_plan(dataset, device="cpu"), n_splits=1).splits(dataset)

    def unit(name, compute, /):
        legs.append(name)
        return compute()

    members = [models.StackedModel("hgr_spline", lam, QUICK, 0, 1) for lam in (0.3, 1.0)]
    options = {"objective": "demographic_parity", "random_state": 0, "device": resolve_device("cpu")}
    models.train_models(dataset, (split,), members, unit=unit, **options)
    assert len(legs) > 3
    assert len(asked) == 1
