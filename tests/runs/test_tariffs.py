"""Fair tariffs of a run: on its front, on its page, and as files to take away."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.data.source import DatasetSource, UploadSource
from fairdash.data.uploads import keep_upload
from fairdash.evaluation import wide
from fairdash.runs import worker
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.models import create_model, find_model
from fairdash.runs.store import Run, create_run
from fairdash.tables.roles import Roles
from fairdash.tariff import FAIR_TARIFF
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep
from fairdash.views.figures.theme import theme_of
from fairdash.views.reports import pictures, tables
from tests.ui.conftest import box, named, open_page, words

LAMS = (0.3, 3.0)
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
    # Twice what claims cost, and dearer for the old.
    return table.assign(price=2 * np.exp(-2 + bonus / 60 + age / 100).round(4))


def source() -> DatasetSource:
    roles = {"target": "claims", "sensitive": ("age",), "features": ("bonus", "zone"), "weight": "years"}
    kept = keep_upload(policies().to_csv(index=False).encode(), name="policies.csv")
    roles = Roles(**roles, prediction="price", rate=True)
    return UploadSource(sha256=kept.sha256, name=kept.name, roles=roles)


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


def test_they_stand_on_the_front_and_in_the_report(run: Run) -> None:
    comparison = parse_comparison(run)
    own = wide(comparison.front.baselines).query("method == @FAIR_TARIFF").set_index("lam")
    assert list(own.index) == [0.0, *LAMS]
    assert own["hgr_spline"][3.0] < own["hgr_spline"][0.0]
    names = [row[0] for row in tables.benchmarks(comparison).rows]
    assert names[-3:] == ["Tariff, λ = 0 (GLM)", "Fair tariff, λ = 0.3", "Fair tariff, λ = 3"]
    figure = pictures.front(comparison, theme=theme_of(dark=False)).figure
    assert "Fair tariff" in [trace.name for trace in figure.data]
    assert any("fair tariff" in str(note.text) for note in figure.layout.annotations)


def test_the_files_rate_as_the_tariff_that_was_fitted(run: Run, tmp_path: Path) -> None:
    job = find_model(run=run.id, method=FAIR_TARIFF, lam=3.0)
    assert job is not None
    table = policies()
    with zipfile.ZipFile(io.BytesIO(job.bundle())) as bundle:
        files = {"README.txt", "tariff.csv", "tariff.xlsx", "glm.csv", "tariff.json", "model_card.md"}
        assert set(bundle.namelist()) == files
        bundle.extractall(tmp_path)
    card = json.loads((tmp_path / "tariff.json").read_text(encoding="utf-8"))
    settings = card["tariff"]["settings"]
    assert settings["smooth"] == 0  # as the run's own tariffs, whose figures stand beside it
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


def test_the_page_says_what_a_weight_costs_and_shows_the_fitted_tariff(run: Run) -> None:
    at = open_page("tradeoff", run=run.id)
    assert "At λ = 0.3 the tariff's deviance" in words(at)
    assert named(at.button, "Fit this tariff on all rows")
    at = named(at.select_slider, "λ of the tariff").set_value(3.0).run()
    assert "At λ = 3 the tariff's deviance" in words(at)
    factor = box(at, "Factor")
    assert factor.options == ["bonus", "zone"]
    factor.set_value("zone").run()


def test_a_cap_against_todays_price_has_its_cost_beside_it(run: Run) -> None:
    at = open_page("tradeoff", run=run.id)
    at = named(at.select_slider, "λ of the tariff").set_value(3.0).run()
    most = named(at.number_input, "No premium changes by more than … % against today's price")
    assert most.value is None
    assert "are capped at" not in words(at)
    at = most.set_value(10.0).run()
    (table,) = (each.value for each in at.dataframe if "Premiums" in each.value)
    assert table["Premiums"].tolist() == ["Before the cap", "After the cap"]
    # Before it the figures are those that the run has of this weight.
    own = (
        wide(parse_comparison(run).front.baselines).query("method == @FAIR_TARIFF").set_index("lam").loc[3.0]
    )
    assert table["Deviance ÷ flat premium's"].iloc[0] == f"{own['deviance']:.4f}"
    assert table["HGR_spline with age"].iloc[0] == f"{own['hgr_spline']:.3f} ({own['hgr_spline_floor']:.3f})"
    changed = [float(each.removesuffix(" %")) for each in table["Change by more than 10 %"]]
    assert changed[0] > 20
    assert changed[1] == 0
    link = [float(each.split(" ")[0]) for each in table["HGR_spline with age"]]
    assert link[1] > link[0]
    assert "Of the exposure, " in words(at)
    assert "are capped at −10 %" in words(at)
