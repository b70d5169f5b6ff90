"""Training on a device beside the host, without one: torch's meta device computes shapes and holds no numbers.

Whatever reads a number there raises: on a GPU it would make the host wait for all that has been asked for.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.stack import StackData, _prepared, _train_epochs
from tests.tiers import few_methods

SETTINGS = TrainingSettings(
    hidden=(8, 4),
    adversary_hidden=(6, 6),
    batch_size=32,
    n_epochs=2,
    warm_up_epochs=1,
    adversary_steps=2,
    patience=1,
)
#: Copies from the host to the device, the only operations that may see both.
COPIES = {"aten::_to_copy", "aten::copy_"}


class OneDevice(TorchDispatchMode):
    """Fails at an operation that mixes the host's arrays with the device's; not all of torch's do so."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        # A single number of the host's is handed over with the call.
        devices = {each.device.type for each in tensors if each.dim() > 0}
        assert len(devices) <= 1 or func.name().split(".")[0] in COPIES, f"{func.name()} on {devices}"
        return func(*args, **kwargs)


def rows(*, columns=1, weighted=False):
    """Two splits of a table, on the host."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 96, 3, generator=generator)
    y = (x.sum(-1, keepdim=True) + torch.randn(2, 96, 1, generator=generator)).exp()
    s = x[..., :columns] + torch.randn(2, 96, columns, generator=generator)
    return StackData(
        x=x,
        y=y,
        s=s,
        train=(torch.arange(64), torch.arange(32, 96)),
        validation=(torch.arange(64, 96), torch.arange(32)),
        weight=torch.rand(2, 96, 1, generator=generator) + 0.5 if weighted else None,
    )


def train_on_meta(data, settings, *, method, objective):
    """Two epochs, the second with the penalty, and a look at the validation rows."""
    lams = (0.0,) if METHODS[method].penalty is None else (0.0, 1.0)
    # Not in the order of the splits: every model gets a copy of its rows.
    models = [StackedModel(method, lam, settings, split, 7) for lam in lams for split in (0, 1)]
    trainer, batches, best, _ = _prepared(
        data, models, objective=objective, batch_seeds=[1, 2], device="meta"
    )
    shares = []
    with OneDevice():
        _train_epochs(
            trainer, batches, settings, None, epochs=range(1, 3), on_step=shares.append, on_epoch=None
        )
        best.look(2)
    assert shares[-1] == 1.0
    assert trainer.descent.weights.is_meta


@pytest.mark.parametrize("objective", list(OBJECTIVES))
@pytest.mark.parametrize("method", few_methods(METHODS))
@pytest.mark.parametrize("architecture", ["tanh", "scores"])
def test_no_step_reads_a_number_from_the_device(method, objective, architecture):
    settings = replace(SETTINGS, architecture=architecture)
    train_on_meta(rows(), settings, method=method, objective=objective)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("method", few_methods(METHODS))
def test_neither_with_weights_dropout_and_a_log_link(method, loss):
    settings = replace(SETTINGS, dropout=0.2, loss=loss)
    train_on_meta(rows(weighted=True), settings, method=method, objective="demographic_parity")


def test_the_watch_sees_what_torch_lets_pass():
    here, there = torch.ones(1, 2, 2), torch.ones(1, 2, 2, device="meta")
    with pytest.raises(AssertionError, match=r"bmm on"), OneDevice():
        torch.bmm(here, there)
    with pytest.raises(RuntimeError, match=r"meta"):
        bool(there.sum() > 0)
