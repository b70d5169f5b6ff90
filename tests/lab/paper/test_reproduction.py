"""The reproduction of the paper: its protocol, the choice of λ and models, cells, sentences, small runs."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.paper.choosing import BLENDS, Trial, choose
from benchmarks.paper.figures import reproduce_fig3
from benchmarks.paper.household import SETTINGS, Reading, reproduce_household
from benchmarks.paper.judging import judge
from benchmarks.paper.published_estimators import chi2_nn_published, hgr_nn_published
from benchmarks.paper.remake import compare
from benchmarks.paper.scoring import corrected_scoring, paper_scoring
from fairdash.__main__ import main
from fairdash.cli import worker
from fairdash.data.catalogue import load_dataset
from fairdash.errors import DataError, RunError
from fairdash.lab.paper import COMMITTED, JUDGED, METHODS, OBJECTIVES, read_result, row_of, study_ids, table1
from fairdash.storage import data_folder
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.splits import random_splits


def test_the_transcribed_table_of_the_paper_is_complete():
    table = table1()
    assert len(table) == 3 * len(METHODS) * len(OBJECTIVES)
    assert table.notna().all(axis=None)
    assert row_of("crime", "hgr_nn", "demographic_parity")["hgr_nn"] == 0.356
    assert row_of("census_county", "mine", "equalized_residuals")["mse"] == 0.406
    assert row_of("crime", "hgr_spline", "demographic_parity")["mse"] == 0.781


def test_both_published_network_estimators_are_zero_for_a_constant_prediction():
    u, v = np.zeros((1, 50)), np.arange(50.0)[None]
    assert (hgr_nn_published(u, v, n_steps=3), chi2_nn_published(u, v, n_steps=3)) == (0, 0)


def test_paper_scoring_uses_cumulative_fairquant_and_corrected_scoring_uses_the_definition_in_the_text():
    from fairdash.dependence import fairquant

    u, v = np.random.default_rng(0).normal(
        size=(2, 1, 399)
    )  # the values are noise, which cumulative groups average out
    paper, right = (way(u, v[0], ["fairquant"])["fairquant"][0] for way in (paper_scoring, corrected_scoring))
    assert paper == pytest.approx(fairquant(u[0], v[0], cumulative=True).value)
    assert right == pytest.approx(fairquant(u[0], v[0]).value)
    assert paper < right / 2


def tried(rows):
    base = {"lam": 1.0, "mse_se": 0.05, "diverged": False}
    base |= dict.fromkeys(("hgr_kde", "hgr_rdc", "chi2_kde", "fairquant"), 0.1)
    return pd.DataFrame([{"candidate": k, **base, **row} for k, row in enumerate(rows)])


FAIR, DIVERGED = {"mse": 0.77, "hgr_kde": 0.05}, {"mse": 0.1, "diverged": True}


@pytest.mark.parametrize(
    ("rows", "method", "margin", "expected"),
    [
        # Of the models within the error of the paper, choose the fairest.
        ([{"mse": 0.5}, FAIR, {"mse": 0.79, "hgr_kde": 0.01}], "hgr_nn", 0.0, (1, True)),
        # If no model is within the error, the result says so.
        ([{"mse": 0.9}, {"mse": 0.8}], "hgr_nn", 0.0, (1, False)),
        # Never choose a diverged model; for the standard model, choose the most accurate.
        ([DIVERGED, {"mse": 0.36}, {"mse": 0.35, "hgr_kde": 9.0}], "standard", 0.0, (2, True)),
        # With a margin, the error must be lower than that of the paper by this many standard errors.
        ([{"mse": 0.7}, FAIR], "hgr_nn", 0.0, (1, True)),
        ([{"mse": 0.7}, FAIR], "hgr_nn", 0.5, (0, True)),
    ],
)
def test_a_model_is_chosen_by_the_protocol_of_the_paper(rows, method, margin, expected):
    paper = row_of("crime", method, "demographic_parity")
    chosen, reached = choose(tried(rows), method, paper, margin=margin)
    assert (chosen["candidate"], reached) == expected


def test_the_household_study_is_reproduced_end_to_end_at_small_size():
    settings = replace(SETTINGS, n_epochs=4, warm_up_epochs=1, hidden=(4,), adversary_steps=1, batch_size=128)
    reading = Reading(features_seen="surface", rooms=5)
    assert reading.study == "household_surface_5"
    assert reading.command == "python -m fairdash reproduce household --features-seen surface --rooms 5"
    result = reproduce_household(reading, n=400, n_folds=2, n_splits=2, settings=settings)
    assert result.options["rooms"] == 5
    splits, choices = result.tables["splits"], result.tables["choices"]
    assert (len(splits), len(choices)) == (2 * 4 * 2, 2 * 3)
    most = choices["objective"].map({"demographic_parity": 0.05, "equalized_residuals": 0.3})
    assert (choices["reached"] == (choices["dependence"] <= most)).all()
    parity = splits[splits["objective"] == "demographic_parity"]
    assert parity["mean_price"].between(200, 300).all()
    assert set(result.tables["profile"]["method"]) == {"standard", "hgr_nn", "chi2_nn", "chi2_kde"}


def test_losses_in_figure_3_add_up_and_gradients_are_positive():
    result = reproduce_fig3(n=300, epochs=(0, 2))
    flow, lam = result.tables["flow"], result.options["lam"]
    assert list(flow["epoch"]) == [0, 2]
    np.testing.assert_allclose(flow["loss"], flow["mse"] + lam * flow["j"], rtol=1e-12)
    assert flow["mse"].iloc[1] < flow["mse"].iloc[0]
    gradients = [name for name in flow if name.startswith("grad")]
    assert len(gradients) == 4
    assert (flow[gradients] > 0).all(axis=None)


def test_the_reproduce_command_writes_to_the_given_folder(tmp_path, capsys):
    assert main(["reproduce", "fig3", "--out", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["tables"], told["folder"].startswith(str(tmp_path))) == (["flow"], True)
    assert study_ids(folder=tmp_path) == ("fig3",)


def test_reproduce_in_an_installed_package_states_where_the_studies_are(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("fairdash.cli.serving._ROOT", tmp_path)
    assert main(["reproduce", "fig3", "--out", str(tmp_path)]) == 2
    assert (
        "in a checkout of fairdash, whose folder benchmarks/paper contains the studies"
        in capsys.readouterr().err
    )


def test_a_paper_study_queued_by_an_earlier_version_is_ended_and_its_folder_kept():
    """An earlier version of the page queued paper studies, which wrote into folders of the user."""
    old = data_folder("paper") / "0123456789ab"
    (old / "result").mkdir(parents=True)
    (old / "spec.json").write_text('{"study": "fig3"}', encoding="utf-8")
    # The job ends like a deleted one: the process logs it and takes the next job.
    with pytest.raises(RunError, match="gone"):
        worker.run_job("paper/0123456789ab", "")
    assert (old / "result").is_dir()
    assert not (data_folder("runs") / "0123456789ab").exists()


def test_unknown_studies_and_options_are_refused_with_the_available_choices(tmp_path, capsys):
    for arguments in (["table7"], ["table1", "--dataset", "household"], ["household", "--rooms", "9"]):
        assert main(["reproduce", *arguments, "--out", str(tmp_path)]) == 2
        assert "Choose" in capsys.readouterr().err


def test_a_missing_result_is_refused_with_the_command_that_creates_it(tmp_path):
    with pytest.raises(DataError, match="reproduce table1 --dataset motor"):
        read_result("table1_motor", tmp_path)


def test_the_committed_judgements_of_the_page_match_the_committed_studies():
    texts = json.loads((COMMITTED / JUDGED).read_text("utf-8"))
    for study in study_ids():
        tables, said = judge(study)
        shown = read_result(study).tables
        assert texts[study] == said
        for name, table in tables.items():
            pd.testing.assert_frame_equal(shown[name], table, rtol=1e-6, check_dtype=False)


SMALL_SETTINGS = TrainingSettings(
    hidden=(6,), adversary_hidden=(4,), batch_size=32, n_epochs=6, warm_up_epochs=2, adversary_steps=1
)
TRIED = tuple(StackedModel("hgr_spline", lam, SMALL_SETTINGS) for lam in (0.1, 1.0, 10.0))
PAPER = row_of("crime", "hgr_nn", "demographic_parity")


@pytest.fixture(scope="module")
def small():
    dataset = load_dataset("household", n=150)
    return dataset, random_splits(dataset.n_rows, n_splits=2, random_state=0)


def trial(dataset, split, candidates=TRIED, **options):
    options = {"n_folds": 3, "objective": "demographic_parity"} | options
    return Trial(dataset=dataset, split=split, candidates=candidates, **options)


def test_test_rows_do_not_affect_the_choice_of_a_model_in_the_reproduction(small):
    """Other targets and ages in a split's test rows don't change the chosen model or its predictions."""
    dataset, splits = small
    rows = splits[0].test
    target, sensitive = dataset.target.copy(), dataset.sensitive.astype(float).copy()
    target.iloc[rows] *= 5
    sensitive.iloc[rows] += 20
    found = []
    for each in (dataset, replace(dataset, target=target, sensitive=sensitive)):
        own = trial(each, splits[0], n_networks=2)
        frame = own.compared()
        chosen, _ = choose(frame, "hgr_spline", PAPER)
        found.append((frame, own.trained(chosen)[rows]))
    (frame, predicted), (other, again) = found
    pd.testing.assert_frame_equal(frame, other)
    np.testing.assert_array_equal(predicted, again)


def test_models_at_every_lambda_and_interpolations_between_adjacent_models_are_compared(small):
    dataset, (split, _) = small
    frame = trial(dataset, split).compared()
    assert len(frame) == 3 + 2 * len(BLENDS)
    assert frame["lam"].is_monotonic_increasing
    assert frame["lam"].iloc[1] == pytest.approx(0.1 + BLENDS[0] * 0.9)
    # The squared error of a blended model is at most the weighted average of both squared errors.
    ends = frame[frame["blend"] == 0].set_index("low")["mse"]
    low, high = (frame[end].map(ends) for end in ("low", "high"))
    assert (frame["mse"] <= (1 - frame["blend"]) * low + frame["blend"] * high + 1e-12).all()


def with_shift(result, table, column, by):
    frame = result.tables[table].copy()
    frame[column] += by
    return replace(result, tables={**result.tables, table: frame})


def test_averages_of_repeated_studies_agree_if_they_differ_by_at_most_three_standard_errors():
    result = read_result("fig1")
    values = result.tables["values"]
    first = values[(values["id"] == "hgr_nn") & (values["evaluation"] == "ours") & (values["rho"] == 0)]
    error = first["value"].std(ddof=1) / np.sqrt(len(first))
    for by, within in ((2.9 * error, True), (3.1 * error, False)):
        compared = compare(result, with_shift(result, "values", "value", by))
        (row,) = compared[compared["row"] == "hgr_nn, ours, 0.0"].to_dict("records")
        assert (row["error"], row["difference"]) == (pytest.approx(error), pytest.approx(by))
        assert (row["same"], row["within"]) == (False, within)
    assert compare(result, with_shift(result, "values", "value", 1e-8))["same"].all()
