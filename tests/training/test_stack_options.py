"""What a stack can mix and what it takes besides: weights, losses, dropout, balance, early stopping."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import d2_tweedie_score

from fairdash.training.losses import LOSSES
from fairdash.training.settings import StackedModel, TrainingSettings
from fairdash.training.stack import StackData, train_stack

SETTINGS = TrainingSettings(
    hidden=(8, 4), adversary_hidden=(6, 6), batch_size=32, n_epochs=5, warm_up_epochs=0, adversary_steps=2
)


def _train(data, settings, *, lams=(0.0, 1.0), method="hgr_nn", **options):
    models = [StackedModel(method, lam, settings, j, 100 + j) for j in range(len(data.x)) for lam in lams]
    return train_stack(
        data, models, objective="demographic_parity", batch_seeds=range(len(data.x)), **options
    )


@pytest.mark.parametrize("power", [0, 1, 1.3, 2])
def test_the_deviance_is_scikit_learns(power):
    from sklearn.metrics import mean_tweedie_deviance

    loss = replace(LOSSES["tweedie"], power=power)
    generator = np.random.default_rng(0)
    y = generator.gamma(2.0, size=200)
    if power < 2:
        y[:50] = 0.0
    eta = generator.normal(size=200)
    mu = np.exp(eta) if power else eta
    mine = loss.unit_deviance(torch.tensor(eta), torch.tensor(y)).mean().item()
    assert mine == pytest.approx(mean_tweedie_deviance(y, mu, power=power), rel=1e-10)
    assert loss.mean_deviance(y, mu) == pytest.approx(mine, rel=1e-10)
    assert loss.deviances(y, mu).mean() == pytest.approx(mine, rel=1e-10)
    assert (loss.deviances(y, mu) >= 0).all()


@pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda loss: loss.id)
def test_a_relative_loss_is_what_the_mean_leaves_unexplained(loss):
    generator = np.random.default_rng(2)
    y, y_pred, weight = generator.gamma(2.0, size=(3, 80))
    every = np.arange(80)
    value = loss.relative(y, y_pred, weight, rows=every, train=every)
    explained = d2_tweedie_score(y, y_pred, sample_weight=weight, power=loss.power)
    assert value == pytest.approx(1 - explained, rel=1e-10)
    train, rows = every[:60], every[60:]
    mean = np.full(80, np.average(y[train], weights=weight[train]))
    options = {"rows": rows, "train": train}
    assert loss.relative(y, mean, weight, **options) == 1, "the average, on the same rows"
    assert loss.relative(np.ones(80), np.ones(80), weight, **options) == 1, "a constant target"


def _with_validation():
    """Many features and few rows: the longer it trains, the worse it does on new rows."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(1, 160, 30, generator=generator)
    y = x[..., :1] + 2 * torch.randn(1, 160, 1, generator=generator)
    return StackData(
        x=x, y=y / y.std(), s=x[..., 1:2], train=(torch.arange(64),), validation=(torch.arange(64, 160),)
    )


OVERFITTING = replace(SETTINGS, hidden=(32,), n_epochs=60, lr=3e-2, weight_decay=0.0, batch_size=64)


def test_early_stopping_keeps_the_weights_of_the_best_epoch():
    data = _with_validation()
    epochs = []
    alone = {"lams": (0.0,), "method": "standard"}
    told = lambda *each: epochs.append(each)  # noqa: E731
    early = _train(data, replace(OVERFITTING, patience=5), on_epoch=told, **alone)
    full = _train(data, OVERFITTING, **alone)

    def error(trained):
        y = data.y[0, 64:, 0].numpy()
        return ((trained.predict(data.x)[0, 64:] - y) ** 2).mean()

    assert error(early) < error(full) - 0.03
    assert early.best_epoch[0] == len(epochs) - 5 < 55
    assert full.best_epoch[0] == 60
    # The weights are those of that epoch: training exactly so long gives them too.
    stopped = error(early)
    longer = _train(data, replace(OVERFITTING, patience=60), **alone)
    assert error(longer) <= stopped + 1e-6
