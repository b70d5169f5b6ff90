"""A run or a search that resumes from stored units equals one that was never interrupted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairdash.errors import Cancelled
from fairdash.evaluation.execute_sweep import execute_sweep
from fairdash.jobs.steps import from_files, to_files
from fairdash.training import stack
from fairdash.training.lam_search import search_lam
from fairdash.training.search import search_settings
from tests.runs.test_runs import LAM, PLAN, SETTINGS, SOURCE
from tests.tiers import few

#: An adversary, dropout and early stopping have the most state that one stage of training passes to the next.
ADVERSARY = {"methods": ("standard", "hgr_nn"), "n_splits": 1, "validation_share": 0.2, "tune": True}
RUN = replace(PLAN, **ADVERSARY, settings=replace(PLAN.settings, dropout=0.1, patience=2, n_epochs=8))
JOBS = {
    "run": lambda dataset, run_step: execute_sweep(dataset, RUN, run_step=run_step),
    "settings": lambda dataset, run_step: search_settings(dataset, SETTINGS, run_step=run_step),
    "lam": lambda dataset, run_step: search_lam(dataset, replace(LAM, refine=2), run_step=run_step),
}


class Kept:
    """Units in memory, starting with the `known` ones; the new unit number `ends_at` interrupts the job."""

    def __init__(self, known=None, *, ends_at=None):
        self.files = dict(known or {})
        self.asked, self.computed = [], []
        self.ends_at = ends_at

    def __call__(self, name, compute, /):
        assert name not in self.asked
        self.asked.append(name)
        if name not in self.files:
            if len(self.computed) == self.ends_at:
                raise Cancelled
            self.computed.append(name)
            self.files[name] = to_files(compute())
        return from_files(self.files[name])


@pytest.fixture(autouse=True)
def short_legs(monkeypatch):
    """Stages of one or a few epochs, as for a large table."""
    monkeypatch.setattr("fairdash.training.stack_trainer.SECONDS_PER_LEG", 2e-3)


@pytest.fixture(scope="module")
def dataset():
    return SOURCE.load()


@pytest.fixture(scope="module", params=few(JOBS, "run"))
def job(request, dataset):
    """A job, the values that it reports at once, and the units that it requests."""
    carry_out = JOBS[request.param]
    undisturbed = carry_out(dataset, lambda name, compute, /: compute())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairdash.training.stack_trainer.SECONDS_PER_LEG", 2e-3)
        kept = Kept()
        assert_same(carry_out(dataset, kept), undisturbed)
    assert len(kept.asked) >= 5, "the training is cut finely"
    return carry_out, undisturbed, kept


def assert_same(a, b):
    """Check that two results are equal in every value except the seconds."""
    assert type(a) is type(b)
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    elif isinstance(a, np.ndarray):
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a.keys() - {"seconds", "curves"}:
            assert_same(a[name], b[name])
    elif isinstance(a, tuple):
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif hasattr(a, "__dict__"):
        assert_same(vars(a), vars(b))
    else:
        assert a == b


def test_an_interrupted_job_resumes_without_recomputing_finished_steps(job, dataset):
    carry_out, undisturbed, kept = job
    ended = Kept(ends_at=len(kept.asked) // 2)
    with pytest.raises(Cancelled):
        carry_out(dataset, ended)
    again = Kept(ended.files)
    assert_same(carry_out(dataset, again), undisturbed)
    assert (again.asked, [*ended.computed, *again.computed]) == (kept.asked, kept.asked)


def test_a_resumed_job_reports_curves_and_progress_of_finished_steps_immediately(dataset):
    def carry_out(run_step):
        shares, curves = [], []
        told = {"progress": lambda _, share: shares.append(share), "on_curve": curves.append}
        result = execute_sweep(dataset, RUN, run_step=run_step, references=False, importance=False, **told)
        pd.testing.assert_frame_equal(pd.concat(curves, ignore_index=True), result.curves, check_exact=True)
        return result.curves, shares

    kept = Kept()
    curves, shares = carry_out(kept)
    assert {*curves["method"]} == {*RUN.methods}
    half = {name: kept.files[name] for name in kept.asked[: len(kept.asked) // 2]}
    for known in (half, kept.files):
        again, told = carry_out(Kept(known))
        pd.testing.assert_frame_equal(again, curves, check_exact=True)
        assert (told, max(told)) == (sorted(told), max(shares))
        assert len(told) < len(shares)


def test_a_resumed_run_does_not_retry_a_batch_of_models_that_exceeded_memory(dataset, monkeypatch):
    tried = []
    train_stack = stack.train_stack

    def limited(data, members, **options):
        tried.append(len(members))
        if len(members) > 2:
            raise MemoryError
        return train_stack(data, members, **options)

    monkeypatch.setattr(stack, "train_stack", limited)
    plan = replace(PLAN, methods=("hgr_nn",))
    kept = Kept(ends_at=6)
    with pytest.raises(Cancelled):
        execute_sweep(dataset, plan, is_preview=True, run_step=kept)
    assert tried[0] == 4
    tried.clear()
    result = execute_sweep(dataset, plan, is_preview=True, run_step=Kept(kept.files))
    assert set(tried) == {2}
    assert any("halves" in note for note in result.notes)
