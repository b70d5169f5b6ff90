"""A step recorded for replay gives the numbers of an unrecorded step; a note says if recording is impossible."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import fairdash as fd
from fairdash.nets import StackedAdam
from fairdash.training import capture
from fairdash.training.capture import NOT_RECORDED, Repeated
from fairdash.training.methods import METHODS
from fairdash.training.penalties.closed_forms import leading_pair
from fairdash.training.settings import OBJECTIVES, StackedModel, TrainingSettings
from fairdash.training.stack import train_stack
from fairdash.training.sweep import Sweep, train_sweep
from tests.tiers import few
from tests.training.stacks import stack_data, weights

SETTINGS = TrainingSettings(
    hidden=(8, 4), adversary_hidden=(6, 6), batch_size=32, n_epochs=6, warm_up_epochs=2, adversary_steps=3
)


class Tape(TorchDispatchMode):
    """Imitates a CUDA graph on the CPU: repeats operations on fixed memory without their Python code.

    As in a CUDA graph, no operation may return a number to the host.
    """

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.name() == "aten::_local_scalar_dense":
            raise RuntimeError("operation not permitted when stream is capturing")
        found = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, found))
        return found

    @torch.no_grad()
    def replay(self):
        """Run the operations again; results go to the memory that was used during recording."""
        for func, args, kwargs, found in self.calls:
            for old, new in zip(tree_leaves(found), tree_leaves(func(*args, **kwargs)), strict=True):
                if isinstance(old, torch.Tensor):
                    assert old.shape == new.shape
                    old.copy_(new)


def record(step):
    """Record a step. Here, unlike with a CUDA graph, recording also executes the step."""
    tape = Tape()
    with tape:
        step()
    turns = itertools.count()
    return lambda: tape.replay() if next(turns) else None


@pytest.fixture
def recorded(monkeypatch):
    """Recorded steps, on a CPU that records as a GPU does."""
    made = []
    monkeypatch.setattr(
        capture, "RECORDERS", {"cpu": lambda step: made.append(replay := record(step)) or replay}
    )
    create = StackedAdam.__init__

    def as_on_a_gpu(self, *args, **options):
        create(self, *args, **options)
        self.asks = False

    monkeypatch.setattr(StackedAdam, "__init__", as_on_a_gpu)
    return made


def train(method, settings=SETTINGS, *, weighted=False, **options):
    lams = (0.0,) if METHODS[method].penalty is None else (0.0, 0.5, 3.0)
    models = [StackedModel(method, lam, settings, split, 7) for split in (0, 1) for lam in lams]
    options = {"objective": "demographic_parity", "batch_seeds": [1, 2]} | options
    return train_stack(stack_data(160, held_out=32, weighted=weighted, positive=True), models, **options)


RICH = replace(SETTINGS, dropout=0.2, loss="poisson", patience=1)


@pytest.mark.parametrize("objective", few(OBJECTIVES, "demographic_parity"))
@pytest.mark.parametrize("settings", [SETTINGS, RICH], ids=["plain", "weights, dropout and patience"])
@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.every_case
def test_recording_a_step_for_replay_does_not_change_the_weights(method, settings, objective, request):
    told, told_again = [], []
    options = {"weighted": settings is RICH, "objective": objective}
    launched = train(method, settings, on_epoch=lambda *each: told.append(each), **options)
    made = request.getfixturevalue("recorded")
    replayed = train(method, settings, on_epoch=lambda *each: told_again.append(each), **options)
    # One recording for the warm-up, another for the steps with the penalty.
    assert len(made) == 2
    assert not replayed.note
    assert torch.equal(weights(replayed), weights(launched))
    np.testing.assert_array_equal(replayed.best_epoch, launched.best_epoch)
    for once, again in zip(told, told_again, strict=True):
        np.testing.assert_array_equal(once[1:], again[1:])


def test_recorded_training_with_interruptions_gives_the_same_weights(recorded):
    settings = replace(SETTINGS, adversary_steps=5)
    whole, part = train("hgr_nn", settings), train("hgr_nn", settings, until=3)
    rest = train("hgr_nn", settings, state=part.state)
    assert torch.equal(weights(rest), weights(whole))
    # The number of adversary steps is 4 in the third epoch, 3 later, and each number is recorded.
    assert len(recorded) == 3 + 2 + 1


def refuse(step):
    """Refuse any step, as CUDA does if a step reads a number from the device."""
    raise RuntimeError("operation not permitted when stream is capturing")


def test_a_training_step_that_cannot_be_recorded_is_executed_normally_with_a_note(monkeypatch):
    launched = train("hgr_nn")
    assert launched.note == ""
    monkeypatch.setattr(capture, "RECORDERS", {"cpu": refuse})
    refused = train("hgr_nn")
    assert refused.note == NOT_RECORDED
    assert torch.equal(weights(refused), weights(launched))


def test_a_step_that_cannot_be_recorded_adds_a_note_to_a_sweep_and_a_warning_to_a_fit(monkeypatch):
    monkeypatch.setattr(capture, "RECORDERS", {"cpu": refuse})
    dataset = fd.load_dataset("household", n=300)
    plan = Sweep(lams=(0.5, 1.0), n_splits=2, settings=replace(SETTINGS, n_epochs=3), device="cpu")
    assert train_sweep(dataset, plan).notes == (NOT_RECORDED,)
    x, s = np.random.default_rng(0).normal(size=(2, 80, 1))
    model = fd.FairRegressor(lam=1.0, n_epochs=3, warm_up_epochs=1, device="cpu")
    with pytest.warns(UserWarning, match="could not record"):
        model.fit(x, (x + s).ravel(), sensitive_features=s)


def test_running_out_of_memory_while_recording_a_step_is_raised(monkeypatch):
    def full(step):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(capture, "RECORDERS", {"cpu": full})
    with pytest.raises(torch.OutOfMemoryError):
        train("hgr_spline")


def test_recording_a_step_fails_if_it_reads_a_number_from_a_tensor():
    total = torch.ones(1)
    with pytest.raises(RuntimeError, match="not permitted"):
        record(lambda: total.add_(float(total)))
    steps = Repeated(lambda: total.mul_(2), device="cpu")
    for _ in range(3):
        steps()
    assert total.item() == 8.0


@pytest.mark.parametrize("scale", [1.0, 1e-8])
def test_the_leading_eigenpair_on_a_gpu_equals_that_of_lapack(scale, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(500, 8, 10, generator=generator)
    square = scale * root.transpose(1, 2) @ root
    square[0] = 0.0
    value, vector = leading_pair(square)
    monkeypatch.setattr(torch.Tensor, "is_cpu", False)
    powers_value, powers_vector = leading_pair(square)
    assert torch.allclose(powers_value, value, rtol=1e-5, atol=0)
    along = (vector * powers_vector).sum(dim=(1, 2)).abs()
    assert along[0] == 0.0  # a zero matrix has no leading eigenvector
    assert torch.allclose(along[1:], torch.ones(499), atol=1e-5)
