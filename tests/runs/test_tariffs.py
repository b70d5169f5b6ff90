"""Fair tariffs of a run: on its front, on its page, and as downloadable files."""

import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.data.source import DatasetSource, UploadSource
from fairdash.data.uploads import keep_upload
from fairdash.evaluation import wide
from fairdash.evaluation.execute_sweep import execute_sweep
from fairdash.evaluation.result import Gain
from fairdash.runs import worker
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.models import create_model, find_model
from fairdash.runs.store import Run, RunSpec, create_run
from fairdash.tables.roles import Roles
from fairdash.tariff import FAIR_TARIFF
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep, default_plan, preview_of
from fairdash.views.figures.theme import theme_of
from fairdash.views.reports import pictures, tables
from fairdash.views.reports.sentences import answer, networks_and_tariffs, shows_nothing
from tests.tiers import few
from tests.ui.conftest import box, charts, named, open_page, words

LAMS = (0.3, 3.0)
ROLES = Roles(target="claims", sensitive=("age",), features=("bonus", "zone"), weight="years", rate=True)
QUICK = {"hidden": (4,), "batch_size": 256, "n_epochs": 3, "warm_up_epochs": 1, "loss": "poisson"}
ASKED = {"methods": ("standard", "pearson"), "lams": LAMS, "n_splits": 2, "tariff": True, "device": "cpu"}
PLAN = Sweep(**ASKED, settings=TrainingSettings(**QUICK, balance=True))


def policies(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, n)
    table = pd.DataFrame({"age": age, "bonus": np.round(50 + (age - 50) ** 2 / 20 + rng.normal(0, 10, n))})
    table["zone"] = rng.choice(["=north", "south", "<b>west</b>"], n)
    table["years"] = rng.uniform(0.2, 1.0, n).round(2)
    bonus, south = table["bonus"], table["zone"] == "south"
    table["claims"] = rng.poisson(table["years"] * np.exp(-2 + bonus / 40 + 0.3 * south))
    # A price of twice the expected claims, and higher for older drivers.
    return table.assign(price=2 * np.exp(-2 + bonus / 60 + age / 100).round(4))


def source() -> DatasetSource:
    kept = keep_upload(policies().to_csv(index=False).encode(), name="policies.csv")
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=replace(ROLES, prediction="price"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("tariffs")
        patch.setenv("FAIRDASH_HOME", str(home))
        patch.setattr("fairdash.evaluation.execute_sweep._has_references", lambda _: False)
        patch.setattr("fairdash.training.baselines.MAX_TREES", 3)
        run = create_run(source(), PLAN)
        asked = {"run": run.id, "method": FAIR_TARIFF, "lam": 3.0, "figures": {"mse": 1.0}}
        for job in (run, create_model(run.spec.source, PLAN, **asked)):
            assert worker.main(job.id) == 0
    return home


@pytest.fixture
def run(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("FAIRDASH_HOME", str(trained))
    return Run(next((trained / "runs").iterdir()).name)


def tariffs_of(run: Run) -> pd.DataFrame:
    """Results of the run's tariffs, by λ."""
    return wide(parse_comparison(run).front.baselines).query("method == @FAIR_TARIFF").set_index("lam")


def test_fair_tariffs_are_shown_in_the_trade_off_figure_and_in_the_report(run: Run) -> None:
    comparison, own = parse_comparison(run), tariffs_of(run)
    assert list(own.index) == [0.0, *LAMS]
    assert own["hgr_spline"][3.0] < own["hgr_spline"][0.0]
    names = [row[0] for row in tables.benchmarks(comparison).rows]
    assert names[-3:] == ["Tariff, λ = 0 (GLM)", "Fair tariff, λ = 0.3", "Fair tariff, λ = 3"]
    figure = pictures.front(comparison, theme=theme_of(dark=False)).figure
    assert "Fair tariff" in [trace.name for trace in figure.data]
    assert any("fair tariff" in str(note.text) for note in figure.layout.annotations)


def test_downloaded_tariff_files_give_the_premiums_of_the_fitted_tariff(run: Run, tmp_path: Path) -> None:
    job = find_model(run=run.id, method=FAIR_TARIFF, lam=3.0)
    assert job is not None
    table = policies()
    with zipfile.ZipFile(io.BytesIO(job.bundle())) as bundle:
        files = {"README.txt", "tariff.csv", "tariff.xlsx", "glm.csv", "tariff.json", "model_card.md"}
        assert set(bundle.namelist()) == files
        bundle.extractall(tmp_path)
    card = json.loads((tmp_path / "tariff.json").read_text(encoding="utf-8"))
    settings = card["tariff"]["settings"]
    assert settings["smooth"] == 0  # as for the run's tariffs, whose results are shown next to it
    expected = fd.FairTariff(lam=3.0, alpha=settings["alpha"], smooth=0, random_state=0).fit(
        table[["bonus", "zone"]],
        table["claims"] / table["years"],
        sensitive_features=table["age"],
        sample_weight=table["years"],
    )
    for name in ("tariff.csv", "tariff.xlsx"):
        premiums = fd.rate(fd.read_tariff(tmp_path / name), table)
        np.testing.assert_allclose(premiums, expected.predict(table), rtol=1e-9)
    np.testing.assert_allclose((premiums * table["years"]).sum(), table["claims"].sum(), rtol=1e-9)
    said = (card["tariff"]["lam"], card["figures"]["values"], card["data"]["rows"])
    assert said == (3.0, {"mse": 1.0}, len(table))
    assert "times one relativity for each of" in (tmp_path / "README.txt").read_text(encoding="utf-8")
    glm, fair = job.tariffs()
    assert list(glm["factor"]) == list(fair["factor"])
    assert not np.allclose(glm["relativity"], fair["relativity"])


def test_the_page_states_the_cost_of_a_fairness_weight_and_shows_the_fitted_tariff(run: Run) -> None:
    at = open_page("tradeoff", run=run.id)
    assert "At λ = 0.3 the tariff's deviance" in words(at)
    assert named(at.button, "Fit this tariff on all rows")
    at = named(at.select_slider, "λ of the tariff").set_value(3.0).run()
    assert "At λ = 3 the tariff's deviance" in words(at)
    factor = box(at, "Factor")
    assert factor.options == ["bonus", "zone"]
    factor.set_value("zone").run()


def test_the_page_shows_the_cost_of_a_cap_on_premium_changes(run: Run) -> None:
    at = open_page("tradeoff", run=run.id)
    at = named(at.select_slider, "λ of the tariff").set_value(3.0).run()
    most = named(at.number_input, "No premium changes by more than … % against today's price")
    assert (most.value, "are capped at" in words(at)) == (None, False)
    at = most.set_value(10.0).run()
    (table,) = (each.value for each in at.dataframe if "Premiums" in each.value)
    assert table["Premiums"].tolist() == ["Before the cap", "After the cap"]
    # Before the cap, the results equal those of the run at this weight, up to the optimiser's tolerance: the
    # run fits all weights together. Below the floor, small changes of premiums move the value by up to its half.
    own = tariffs_of(run).loc[3.0]
    assert float(table["Deviance ÷ flat premium's"].iloc[0]) == pytest.approx(own["deviance"], abs=2e-4)
    cells = table["HGR_spline with age"].str.rstrip(")").str.split(" (", regex=False)
    (value, floor), (after, _) = (map(float, cell) for cell in cells)
    assert floor == pytest.approx(own["hgr_spline_floor"], abs=0.002)
    assert value == pytest.approx(own["hgr_spline"], abs=floor / 2)
    changed = [float(each.removesuffix(" %")) for each in table["Change by more than 10 %"]]
    assert changed[0] > 20 > changed[1] == 0
    assert after > value
    assert all(each in words(at) for each in ("Of the exposure, ", "are capped at −10 %"))


# The preview for a price uses tariffs on all rows; an effect that the rows can't show is stated and not
# drawn.


def claims_source(n: int, *, slope: float, link: float) -> UploadSource:
    """Policies, about 6 % with claims, which depend weakly on the bonus; with a `link`, age does too."""
    rng = np.random.default_rng(1)
    years, bonus = rng.uniform(0.2, 1.0, n).round(3), rng.normal(0, 1, n)
    age = 45 + 12 * (link * bonus + np.sqrt(1 - link**2) * rng.normal(0, 1, n))
    claims = rng.poisson(years * np.exp(-2.4 + slope * bonus))
    zone = rng.choice(["north", "south"], n)
    table = pd.DataFrame({"age": age, "bonus": bonus, "zone": zone, "years": years, "claims": claims})
    kept = keep_upload(table.to_csv(index=False).encode(), name="policies.csv")
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=ROLES)


def preview(of: UploadSource) -> Run:
    plan = default_plan(of.load())
    run = Run.create(RunSpec(source=of, plan=plan, first=preview_of(plan)))
    assert worker.work_at(run, worker.preview, ends=False) == 0
    return run


def test_a_tariff_preview_on_all_rows_detects_a_gain_over_the_mean_that_a_sample_misses() -> None:
    dataset = claims_source(20_000, slope=0.25, link=0.3).load()
    plan = preview_of(default_plan(dataset))
    assert plan.methods == ("standard", FAIR_TARIFF)
    whole, sample = (execute_sweep(dataset, plan, is_preview=True, share=share) for share in (1.0, 0.05))
    assert sample.gain is not None
    assert whole.gain is not None
    assert (whole.gain.is_beyond_noise, sample.gain.is_beyond_noise) == (True, False)
    assert (whole.rows, len(sample.target)) == (None, 1000)
    test = whole.frame.query("part == 'test'").set_index("lam").sort_index()
    assert test["verdict_p"][0.0] <= 0.05
    assert test["deviance"][:0.1].is_monotonic_increasing
    assert test["hgr_spline"].iloc[0] > test["hgr_spline_floor"].max() + 0.1
    assert test["hgr_spline"].iloc[-1] < test["hgr_spline"].iloc[0] / 2
    # The flat rate is shown next to the tariffs, without blended models between them.
    assert set(whole.baselines[plan.objective]["method"]) == {"mean"}
    assert (whole.paths[plan.objective]["share"] == 0).all()


def test_the_trade_off_page_opens_with_a_preview_of_tariffs() -> None:
    run = preview(claims_source(4000, slope=0.9, link=0.6))
    at = open_page("tradeoff", run=run.id)
    assert "tariffs from a GLM to one flat premium, on all rows" in at.warning[0].value
    comparison = parse_comparison(run)
    assert not shows_nothing(comparison)
    assert comparison.b.method == FAIR_TARIFF
    assert "No curve is drawn" not in words(at)
    assert "<b>What fairness costs</b>" in charts(at)


@pytest.mark.parametrize("what", few(["gain", "link"], "link"))
def test_without_detected_gain_or_dependence_no_curve_is_drawn_and_the_rows_needed_are_stated(what) -> None:
    slope = {"gain": 0.0, "link": 0.9}[what]
    run = preview(claims_source(3000, slope=slope, link=0.0))
    assert shows_nothing(parse_comparison(run))
    at = open_page("tradeoff", run=run.id)
    said = words(at)
    cause = f"(If the {what} is as large as estimated|no sign of a {what})"
    assert re.search(rf"{cause}.* (about|at least) [0-9,]+ rows", said)
    assert "No curve is drawn" in said
    assert "<b>What fairness costs</b>" not in charts(at)


@pytest.mark.variant
def test_networks_are_compared_with_an_equally_fair_tariff() -> None:
    settings = TrainingSettings(hidden=(8,), batch_size=512, n_epochs=8, warm_up_epochs=1, loss="poisson")
    of = claims_source(3000, slope=0.9, link=0.6)
    plan = default_plan(of.load(), methods=["standard", "hgr_spline"], lams=[1.0, 10.0], settings=settings)
    run = Run.create(RunSpec(source=of, plan=replace(plan, n_splits=3, confirmation_share=0.0)))
    assert worker.main(run.id) == 0
    comparison = parse_comparison(run, method="hgr_spline", lam=1.0)
    # Equally fair on validation rows; on test rows with nine tenths, or all, of the tariff's deviance.
    front = comparison.front
    dependence = front.tariffs.query("part == 'validation' and measure == 'hgr_spline'")
    dependence = dependence.groupby("lam")["value"].mean()
    tariffs = front.tariffs.query("part == 'test' and measure == 'deviance'")
    tariffs = tariffs[tariffs["lam"] == dependence.idxmin()]

    def changed(rows: pd.DataFrame, measure: str, value: float | pd.Series) -> pd.DataFrame:
        return rows.assign(value=rows["value"].mask(rows["measure"] == measure, value))

    fair = changed(front.validation, "hgr_spline", 0.0)
    for share, wins in ((0.9, "wins"), (1.1, "loses"), (1.0, "neither wins nor loses")):
        deviances = share * tariffs.set_index("split")["value"] + (share == 1) * np.array([-0.01, 0.0, 0.01])
        single = changed(front.single, "deviance", front.single["split"].map(deviances))
        own = replace(front, validation=fair, single=single)
        said = networks_and_tariffs(replace(comparison, fronts={comparison.objective: own}))
        assert f"the best network {wins} against the tariff" in said
    harsh = replace(front, validation=changed(front.validation, "hgr_spline", 1.0))
    unfair = replace(comparison, fronts={comparison.objective: harsh})
    assert networks_and_tariffs(unfair).startswith("On validation rows, no network has as little dependence")
    blind = replace(comparison.result, gain=Gain(error=1.001, error_se=0.01, is_beyond_noise=False))
    assert "No curve is drawn" in answer(replace(comparison, result=blind))
