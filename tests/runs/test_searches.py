"""Searches as jobs: carried out by a process of their own, kept apart from the runs."""

from __future__ import annotations

import pandas as pd
import pytest

from fairdash.data.source import CatalogueSource
from fairdash.errors import RunError
from fairdash.runs import worker
from fairdash.runs.launch import start_search
from fairdash.runs.listing import list_runs
from fairdash.runs.searches import SearchJob, create_search
from fairdash.runs.status import DONE
from fairdash.runs.store import Run
from fairdash.training.lam_search import LamSearch, Target, search_lam
from fairdash.training.search import SearchGrid, SettingsSearch, search_settings
from fairdash.training.settings import TrainingSettings
from fairdash.training.splits import random_splits
from tests.runs.test_runs import wait

SOURCE = CatalogueSource(dataset="household", options={"n": 200})
QUICK = TrainingSettings(hidden=(8,), adversary_hidden=(8,), batch_size=64, n_epochs=4, warm_up_epochs=1)
SETTINGS = SettingsSearch(
    method="hgr_spline",
    grid=SearchGrid(hidden=((8,),), dropout=(0.0,), lr=(1e-6, 2e-2), weight_decay=(0.0,)),
    n_folds=2,
    random_state=3,
    settings=QUICK,
    device="cpu",
)
LAM = LamSearch(
    target=Target.parse("mse<=+20%"), lams=(0.5, 2.0), method="hgr_spline", n_folds=2, settings=QUICK
)


def test_a_search_goes_to_done_in_a_process_of_its_own_and_is_no_run():
    search = start_search(SOURCE, SETTINGS)
    assert wait(search).state == DONE
    assert SearchJob(search.id).read_result().best.lr == 2e-2
    assert list_runs().runs == ()
    with pytest.raises(RunError, match="gone"):
        Run(search.id)


@pytest.mark.parametrize("plan", [SETTINGS, LAM], ids=["settings", "lam"])
def test_the_worker_finds_what_the_library_finds_on_the_training_rows_of_the_first_split(plan):
    search = create_search(SOURCE, plan)
    assert search.spec.plan == plan
    assert worker.main(search.id) == 0
    found = search.read_result()
    dataset = SOURCE.load()
    rows = random_splits(200, n_splits=1, random_state=plan.random_state)[0].train
    if plan is SETTINGS:
        here = search_settings(dataset, plan, rows=rows)
        assert (found.best, found.lam) == (here.best, None)
    else:
        here = search_lam(dataset, plan, rows=rows)
        assert (found.best, found.lam, found.reached) == (None, here.lam, here.reached)
    pd.testing.assert_frame_equal(found.frame, here.frame)
    assert found.rule == here.rule
    assert "160 rows" in found.rule
