"""The trade-off page of a run with two attributes whose crossing alone the price follows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairdash.data.source import UploadSource
from fairdash.data.uploads import keep_upload
from fairdash.evaluation.crossed_cells import TOGETHER, views_of
from fairdash.runs import worker
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.store import Run, RunSpec
from fairdash.storage import LOCAL
from fairdash.tables.roles import Roles
from fairdash.training.defaults import current_defaults
from tests.ui.conftest import PLAN, charts, open_page, stage, words


@pytest.fixture
def run(light_runs):
    rng = np.random.default_rng(0)
    age, sex, km = rng.uniform(20, 70, 900), rng.random(900) < 0.5, rng.normal(size=900)
    price = 100 + (age - 45) * np.where(sex, 1, -1) + 5 * km + rng.normal(size=900)
    table = pd.DataFrame(
        {"age": age, "sex": sex.astype(int), "km": km, "turn": price + 3 * rng.normal(size=900)}
    )
    kept = keep_upload(table.assign(price=price).to_csv(index=False).encode(), name="people.csv")
    roles = Roles(target="price", sensitive=("age", "sex"), features=("km", "turn"))
    source = UploadSource(sha256=kept.sha256, name="people.csv", roles=roles)
    plan = replace(PLAN, methods=("standard", "jdcov"), lams=(1.0, 30.0), n_splits=1)
    made = Run.create(RunSpec(source=source, plan=plan, owner=LOCAL, defaults=current_defaults()))
    assert worker.main(made.id) == 0
    return made


def test_dependence_on_each_on_the_crossing_and_on_all_together_and_the_chosen_one_opens_the_slider(run):
    result = run.read_result()
    views = ["age", "sex", "age × sex", TOGETHER]
    assert list(views_of(result.sensitive, result.frames[result.objective])) == views
    seen = {each: parse_comparison(run, sensitive=each) for each in views}
    of = {each: one.mean("hgr_spline", one.a) for each, one in seen.items()}
    # The spread of the price follows the age, its mean only the crossing.
    assert of["sex"] < 0.2 < of["age"] + 0.1 < of["age × sex"] < of[TOGETHER] + 0.05, of
    assert seen["age × sex"].has_link(seen["age × sex"].a)
    assert seen["age × sex"].b.lam == seen["age × sex"].front.opening != 0
    at = open_page("tradeoff", run=run.id)
    control = at.segmented_control(key="sensitive")
    assert control.options == views
    for each in views[2:]:
        control.set_value(each).run()
        assert seen[each].sensitive_called in words(at)
        assert "Cells of" in words(at)
        assert f"{seen[each].b.lam:g}" in str(stage(at)["slider"])
        assert charts(at)
