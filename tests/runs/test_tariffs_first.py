"""The first look of a price: tariffs on all rows; what no rows can show is said, and not drawn."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairdash.data.source import UploadSource
from fairdash.data.uploads import keep_upload
from fairdash.evaluation.execute_sweep import execute_sweep
from fairdash.evaluation.result import Gain
from fairdash.runs import worker
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.store import Run, RunSpec
from fairdash.tables.roles import Roles
from fairdash.tariff import FAIR_TARIFF
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import default_plan, preview_of
from fairdash.views.reports.sentences import answer, networks_and_tariffs, shows_nothing
from tests.tiers import few
from tests.ui.conftest import charts, open_page, words

ROLES = Roles(target="claims", sensitive=("age",), features=("bonus", "zone"), weight="years", rate=True)


def source(n: int, *, slope: float, link: float) -> UploadSource:
    """Policies with some 6 % of claims, which follow the bonus a little; so does age if there is a `link`."""
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


def test_all_rows_show_what_a_sample_misses() -> None:
    dataset = source(20_000, slope=0.25, link=0.3).load()
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
    # Beside the tariffs stands the flat rate, and no blend lies between them.
    assert set(whole.baselines[plan.objective]["method"]) == {"mean"}
    assert (whole.paths[plan.objective]["share"] == 0).all()


def test_the_page_opens_on_tariffs() -> None:
    run = preview(source(4000, slope=0.9, link=0.6))
    at = open_page("tradeoff", run=run.id)
    assert "tariffs from a GLM to one flat premium, on all rows" in at.warning[0].value
    comparison = parse_comparison(run)
    assert not shows_nothing(comparison)
    assert comparison.b.method == FAIR_TARIFF
    assert "No curve is drawn" not in words(at)
    assert "<b>What fairness costs</b>" in charts(at)


@pytest.mark.parametrize("what", few(["gain", "link"], "link"))
def test_what_no_rows_show_is_said_with_the_rows_that_would_and_no_curve_is_drawn(what) -> None:
    slope = {"gain": 0.0, "link": 0.9}[what]
    run = preview(source(3000, slope=slope, link=0.0))
    assert shows_nothing(parse_comparison(run))
    at = open_page("tradeoff", run=run.id)
    said = words(at)
    assert re.search(
        rf"(If the {what} is as large as these|no sign of a {what}).* (about|at least) [0-9,]+ rows", said
    )
    assert "No curve is drawn" in said
    assert "<b>What fairness costs</b>" not in charts(at)


@pytest.mark.variant
def test_networks_are_measured_against_a_tariff_as_fair() -> None:
    settings = TrainingSettings(hidden=(8,), batch_size=512, n_epochs=8, warm_up_epochs=1, loss="poisson")
    of = source(3000, slope=0.9, link=0.6)
    plan = default_plan(of.load(), methods=["standard", "hgr_spline"], lams=[1.0, 10.0], settings=settings)
    run = Run.create(RunSpec(source=of, plan=replace(plan, n_splits=3, confirmation_share=0.0)))
    assert worker.main(run.id) == 0
    comparison = parse_comparison(run, method="hgr_spline", lam=1.0)
    # As fair on validation rows as is asked; on test rows with nine tenths, or all, of the tariff's deviance.
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
    assert networks_and_tariffs(unfair).startswith("No network is as fair")
    blind = replace(comparison.result, gain=Gain(error=1.001, error_se=0.01, is_beyond_noise=False))
    assert "No curve is drawn" in answer(replace(comparison, result=blind))
