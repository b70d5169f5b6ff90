"""Searches of settings and of λ find the right value on separate rows, and impossible requests are refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_poisson_deviance

import fairdash as fd
from fairdash.errors import OptionError
from fairdash.training import search
from fairdash.training.crossvalidation import OutOfFold, cross_validate, dependence_of, dependence_out_of_fold
from fairdash.training.lam_search import LamSearch, Target, choose_lam, search_lam
from fairdash.training.pilot import lams_by_dependence
from fairdash.training.search import SearchGrid, SettingsSearch, search_settings
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.splits import random_splits

QUICK = TrainingSettings(hidden=(8,), adversary_hidden=(8,), batch_size=64, n_epochs=20, warm_up_epochs=2)
#: Only one of these candidates has a learning rate that learns.
GRID = SearchGrid(hidden=((8,), (4, 4)), dropout=(0.0,), lr=(1e-6, 2e-2), weight_decay=(0.0,))
SEARCH = SettingsSearch(method="hgr_spline", grid=GRID, n_folds=3, settings=QUICK, device="cpu")
HOW = {"method": "hgr_spline", "n_folds": 3, "device": "cpu"}
TARGET = Target.parse("error<=+50%")
LAMS = LamSearch(target=TARGET, lams=(0.5, 2.0, 8.0), settings=replace(QUICK, lr=2e-2), **HOW)


FOLDS = {"objective": "demographic_parity", "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def household():
    return fd.load_dataset("household", n=300)


@pytest.fixture(scope="module")
def chosen(household):
    return search_lam(household, LAMS)


def poisoned(dataset, rows):
    """The data set with wrong values in `rows`."""
    target, features, age = dataset.target.copy(), dataset.features.copy(), dataset.sensitive.copy()
    target.iloc[rows] = 1e6
    age.iloc[rows] = -1e6
    features[features.columns[0]] = features.iloc[:, 0].astype(float)
    features.iloc[rows, 0] = 1e6
    return replace(dataset, target=target, features=features, sensitive=age)


def test_cross_validation_reports_the_training_loss_weighted_by_exposure(household):
    rng = np.random.default_rng(0)
    exposure = rng.uniform(0.1, 1, 300)
    counts = pd.Series(rng.poisson(2 + (exposure > 0.5)).astype(float), name="claims")
    dataset = replace(household, target=counts, weight=pd.Series(exposure, name="exposure"))
    model = StackedModel("standard", 0.0, replace(QUICK, loss="poisson"))
    out = cross_validate(dataset, [model], n_folds=2, **FOLDS)
    y = counts.to_numpy()
    for f in (0, 1):
        rows, train = out.held_out[f], out.held_out[1 - f]
        mean = np.full(len(rows), np.average(y[train], weights=exposure[train]))
        constant = mean_poisson_deviance(y[rows], mean, sample_weight=exposure[rows])
        deviance = mean_poisson_deviance(y[rows], out.predictions[0, rows], sample_weight=exposure[rows])
        assert out.loss[0, f] == pytest.approx(deviance / constant)


@pytest.mark.parametrize(("lam", "best"), [(0.1, 2e-2), (2.0, 1e-6)])
def test_a_larger_lambda_makes_the_search_choose_the_fairer_candidate(household, monkeypatch, lam, best):
    """One candidate is accurate and reveals age, the other does neither, so λ decides."""
    rng = np.random.default_rng(0)
    telling = household.sensitive["Age"].to_numpy() + rng.normal(size=300)
    grid = replace(GRID, hidden=((8,),))
    predictions, loss = np.stack([rng.normal(size=300), telling]), np.array([[1.0, 1.0], [0.4, 0.5]])
    halves = tuple(np.array_split(np.arange(300), 2))
    planted = OutOfFold(predictions, loss, np.zeros(2, dtype=bool), halves, "cpu", ())
    monkeypatch.setattr(search, "cross_validate", lambda *_, **__: planted)
    result = search_settings(household, replace(SEARCH, grid=grid, n_folds=2, lam=lam))
    assert result.best.lr == best
    assert result.frame.set_index("lr")["excess"][2e-2] > 0.5


def test_searches_use_only_the_given_rows(household):
    split = random_splits(300, n_splits=1, random_state=5)[0]
    there, gone = household, poisoned(household, split.test)
    a, b = (search_settings(each, SEARCH, rows=split.train) for each in (there, gone))
    pd.testing.assert_frame_equal(a.frame, b.frame)
    c, d = (search_lam(each, LAMS, rows=split.train) for each in (there, gone))
    pd.testing.assert_frame_equal(c.frame, d.frame)
    assert c.lam == d.lam
    assert "240 rows" in c.rule


@pytest.mark.parametrize("patience", [None, 3])
def test_the_rows_of_a_fold_are_predicted_by_a_model_trained_without_them(household, patience):
    candidates = [StackedModel("hgr_spline", 1.0, replace(QUICK, patience=patience))]
    clean = cross_validate(household, candidates, n_folds=3, **FOLDS)
    rows = clean.held_out[1]
    # Features stay unchanged, because predictions use them.
    target, age = household.target.copy(), household.sensitive.copy()
    target.iloc[rows], age.iloc[rows] = 1e6, -1e6
    dirty = cross_validate(replace(household, target=target, sensitive=age), candidates, n_folds=3, **FOLDS)
    assert np.array_equal(clean.predictions[:, rows], dirty.predictions[:, rows])
    others = np.setdiff1d(np.arange(300), rows)
    assert not np.allclose(clean.predictions[:, others], dirty.predictions[:, others])


@pytest.mark.parametrize(
    ("n_rows", "on", "epochs"),
    [(560, 504, (120, 20)), (1100, 990, (80, 13)), (2000, 1800, (60, 10)), (200, 180, (60, 10))],
)
def test_training_on_fewer_rows_takes_the_same_number_of_steps(n_rows, on, epochs):
    # With batches of 256, 560 rows give two batches and nine tenths of them one.
    settings = TrainingSettings(patience=6)
    stretched = settings.with_steps_of(n_rows, on=on)
    assert (stretched.n_epochs, stretched.warm_up_epochs) == epochs
    assert stretched.patience == round(epochs[0] / 10)
    steps = stretched.n_epochs * stretched.steps_an_epoch(on)
    assert steps == settings.n_epochs * settings.steps_an_epoch(n_rows)


def test_a_search_never_chooses_diverged_candidates(household):
    grid = SearchGrid(hidden=((8,),), dropout=(0.0,), lr=(1e38, 2e-2), weight_decay=(0.0,))
    result = search_settings(household, replace(SEARCH, grid=grid))
    assert (result.best.lr, result.frame["diverged"].tolist()) == (2e-2, [False, True])
    with pytest.raises(OptionError, match="every candidate diverged"):
        search_settings(household, replace(SEARCH, grid=replace(grid, lr=(1e38,))))


@pytest.mark.parametrize(
    ("text", "kind", "measure", "at_most"),
    [
        ("hgr_kde<=0.05", "measure", "hgr_kde", 0.05), ("HGR_KDE ≤ .3", "measure", "hgr_kde", 0.3),
        (" hgr_rdc <= floor + 0.02 ", "excess", "hgr_rdc", 0.02), ("mse<=+10%", "error", "", 0.1),
        ("error ≤ + 2.5 %", "error", "", 0.025),
    ],
)  # fmt: skip
def test_search_targets_are_parsed_and_printed(text, kind, measure, at_most):
    target = Target.parse(text)
    assert (target.kind, target.measure, target.at_most) == (kind, measure, at_most)
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    "text",
    "|hgr_kde|hgr_kde>=0.1|hgr_kde<=-0.1|hgr_kde<=0,05|hgr_kde<=10%|hgr_kde<=nan|love<=0.1|mse<=+10|mse<=floor+10%".split(
        "|"
    ),
)
def test_an_invalid_search_target_is_refused(text):
    with pytest.raises(OptionError) as caught:
        Target.parse(text)
    assert caught.value.problems[0].column in ("target", "measure")


def front(**columns):
    """A simulated front: the error rises with λ, and dependence falls to a floor of 0.05."""
    frame = pd.DataFrame({"lam": [0.0, 1.0, 2.0, 4.0, 8.0], "loss": [0.40, 0.42, 0.46, 0.60, 0.90]})
    frame = frame.assign(dependence=[0.50, 0.30, 0.15, 0.07, 0.06], loss_se=0.01, floor=0.05, floor_q95=0.08)
    frame = frame.assign(**({"diluted": False, "diverged": False} | columns))
    return frame.assign(excess=frame["dependence"] - frame["floor"])


@pytest.mark.parametrize(
    ("target", "lam", "reached", "words"),
    [
        ("hgr_kde<=0.30", 1.0, True, "smallest error"),
        ("hgr_kde<=0.20", 2.0, True, "smallest error"),
        ("hgr_kde<=0.6", 0.0, True, "λ = 0 is enough"),
        ("hgr_kde<=floor+0.021", 4.0, True, "smallest error"),
        # 8 is closer than 4 by less than a standard error (0.018), so the smaller error decides.
        ("hgr_kde<=floor+0.005", 4.0, False, "Try larger weights"),
        ("hgr_kde<=0.055", 4.0, False, "Try larger weights"),
        ("hgr_kde<=0.04", 4.0, False, "no model can be expected"),
        ("mse<=+16%", 2.0, True, "smallest dependence"),
        # Dependence at 4 and 8 is not significant, so the smaller error decides.
        ("mse<=+200%", 4.0, True, "smallest dependence"),
        ("mse<=+1%", 1.0, False, "Try smaller weights"),
    ],
)
def test_lambda_is_chosen_by_the_rule_of_the_target(target, lam, reached, words):
    chosen = choose_lam(front(), replace(LAMS, target=Target.parse(target)))
    assert chosen[:2] == (lam, reached)
    assert words in chosen[2]
    assert f"{lam:g}" in chosen[2] or lam == 0


def test_lambdas_whose_training_diverged_are_not_chosen():
    plan = replace(LAMS, target=Target.parse("hgr_kde<=0.3"))
    assert choose_lam(front(diverged=[False, True, False, False, False]), plan)[0] == 2.0
    with pytest.raises(OptionError, match="standard model diverged"):
        choose_lam(front(diverged=[True, False, False, False, False]), plan)
    with pytest.raises(OptionError, match="every weight diverged"):
        choose_lam(front(diverged=[False, True, True, True, True]), plan)


def test_refining_a_search_tries_lambdas_between_the_neighbours_of_the_best(household, chosen):
    costs = chosen.frame.set_index("lam")["increase"]
    # A budget that the first weight keeps and the second exceeds.
    target = Target(kind="error", at_most=float((costs[0.5] + costs[2.0]) / 2))
    finer = search_lam(household, replace(LAMS, target=target, refine=3))
    assert finer.frame["lam"].tolist() == pytest.approx([0, 0.5, 0.5**0.5, 1, 2**0.5, 2, 8])
    assert 0.5 <= finer.lam < 2
    assert finer.frame.set_index("lam")["increase"][finer.lam] <= target.at_most


def test_refining_a_search_tries_smaller_lambdas_if_every_lambda_exceeds_the_budget(household, chosen):
    costs = chosen.frame.set_index("lam")["increase"]
    target = Target(kind="error", at_most=float(costs[2.0] / 2))
    plan = replace(LAMS, lams=(2.0, 8.0), target=target)
    coarse = search_lam(household, plan)
    assert (coarse.lam, coarse.reached) == (2.0, False)
    finer = search_lam(household, replace(plan, refine=3))
    assert finer.frame["lam"].tolist() == pytest.approx([0, 0.5, 1, 1.5, 2, 8])


def test_a_search_uses_the_largest_dependence_of_all_sensitive_columns_and_can_measure_residuals(household):
    rng = np.random.default_rng(0)
    age = household.sensitive["Age"].to_numpy()
    two = replace(household, sensitive=pd.DataFrame({"noise": rng.normal(size=300), "Age": age}))
    predictions = np.stack([age + rng.normal(size=300), rng.normal(size=300)])
    rows = np.arange(300)
    figures = dependence_of(two, -predictions, rows, **PEARSON)
    assert figures.value[0] == pytest.approx(abs(fd.measure("pearson", predictions[0], age)))
    each_alone = [replace(two, sensitive=two.sensitive[[name]]) for name in two.sensitive.columns]
    singles = [dependence_of(each, predictions, rows, **PEARSON).excess for each in each_alone]
    assert figures.excess == pytest.approx(np.max(singles, axis=0))
    residuals = dependence_of(household, predictions, rows, **PEARSON | {"objective": "equalized_residuals"})
    of_first = fd.measure("pearson", predictions[0] - household.target.to_numpy(), age)
    assert residuals.value[0] == pytest.approx(abs(of_first))


def test_weights_are_found_for_predictions_that_depend_on_a_combination_of_attributes_alone(household):
    rng = np.random.default_rng(0)
    both, how = rng.choice([-1.0, 1.0], (300, 2)), {"method": "hgr_spline", "count": 3}
    predictions = both.prod(axis=1) * np.array([[1], [1], [0.5], [0.2], [0]]) + rng.normal(size=(5, 300)) / 10
    how |= {"objective": "demographic_parity", "random_state": 0}
    lams, rows = np.array([0, 0.1, 1, 10, 100]), np.arange(300)
    tables = (pd.DataFrame(both[:, :k], columns=["a", "b"][:k]) for k in (2, 1))
    crossed, alone = (replace(household, sensitive=table) for table in tables)
    assert 10 < lams_by_dependence(crossed, predictions, rows, lams, **how)[-1] <= 100
    assert lams_by_dependence(alone, predictions, rows, lams, **how) is None


PEARSON = {"objective": "demographic_parity", "measure": "pearson", "random_state": 0}


def of_folds(household, predictions, n_folds):
    """Dependence of out-of-fold predictions (C, n), where the rows are assigned to folds in turn."""
    held_out = tuple(np.arange(household.n_rows)[fold::n_folds] for fold in range(n_folds))
    fine = np.zeros(len(predictions), dtype=bool)
    found = OutOfFold(predictions, np.ones((len(predictions), n_folds)), fine, held_out, "the CPU", ())
    return dependence_out_of_fold(household, found, **PEARSON)


def test_pooling_folds_does_not_hide_dependence_that_differs_between_them(household):
    age = household.sensitive["Age"].to_numpy()
    age = age - age.mean()
    turned = age * np.where(np.arange(300) % 4 < 2, 1.0, -1.0)
    noise = np.random.default_rng(0).normal(size=300)
    figures, diluted = of_folds(household, np.stack([turned, age, noise, noise + age / age.std()]), 4)
    assert diluted.tolist() == [True, False, False, False]
    pooled = dependence_of(household, turned[None], np.arange(300), **PEARSON)
    assert pooled.value[0] < 0.2
    assert 0.9 < figures.value[0] <= 1
    assert (figures.floor[0], figures.value[1]) == (pooled.floor[0], pytest.approx(1))
    # Folds that are too small have no effect on the result.
    assert not of_folds(household, turned[None], 10)[1].any()


@pytest.mark.parametrize(
    ("look", "options", "column"),
    [
        (fd.search, {"method": "magic"}, "method"), (fd.search, {"lam": -1.0}, "lam"),
        (fd.search, {"n_folds": 200}, "n_folds"), (fd.search, {"grid": "huge"}, "grid"),
        (fd.search, {"rows": [0, 300]}, "rows"), (fd.search, {"rows": [0.5]}, "rows"),
        (fd.search, {"rows": range(10)}, "n_folds"), (fd.find_lam, {"target": "hgr_kde<=lots"}, "target"),
        (fd.find_lam, {"method": "standard"}, "method"), (fd.find_lam, {"lams": []}, "lams"),
        (fd.find_lam, {"lams": [0.0]}, "lams"), (fd.find_lam, {"refine": -1}, "refine"),
    ],
)  # fmt: skip
@pytest.mark.every_case
def test_invalid_search_options_are_refused_by_name(household, look, options, column):
    own = {"grid": GRID} if look is fd.search else {"target": "mse<=+10%"}
    with pytest.raises(OptionError) as caught:
        look(household, **own | options)
    assert caught.value.problems[0].column == column
