"""Training several models together: properties of the loss, and equality with training each model alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import d2_tweedie_score

from fairdash.nets import StackedMLP
from fairdash.training.losses import LOSSES
from fairdash.training.methods import METHODS
from fairdash.training.minimax import Batch, Batches, MinimaxTrainer, Tables
from fairdash.training.penalties.adversarial import HGRPenalty
from fairdash.training.settings import OBJECTIVES, StackedModel, TrainingSettings
from fairdash.training.stack import StackData, train_stack
from tests.training.stacks import stack_data, weights

FAIR = [method for method in METHODS if METHODS[method].penalty is not None]
SETTINGS = TrainingSettings(
    hidden=(8, 4), adversary_hidden=(6, 6), batch_size=32, n_epochs=5, warm_up_epochs=0, adversary_steps=2
)


def _models(method="hgr_nn", lams=(0.0, 0.5, 2.0), splits=(0, 1), settings=SETTINGS):
    return [StackedModel(method, lam, settings, split, 100 + split) for split in splits for lam in lams]


def _train(data, members, **options):
    options = {"objective": "demographic_parity", "batch_seeds": [5, 6]} | options
    return train_stack(data, members, **options)


@pytest.mark.parametrize("objective", list(OBJECTIVES))
@pytest.mark.parametrize("method", ["standard", "hgr_nn"])
def test_models_trained_together_equal_models_trained_alone_for_twenty_steps(objective, method):
    data = stack_data()
    lams = (0.0,) if method == "standard" else (0.0, 0.5, 2.0)
    members = _models(method, lams)
    assert SETTINGS.n_epochs * (128 // SETTINGS.batch_size) == 20
    together = weights(_train(data, members, objective=objective))
    for k, member in enumerate(members):
        own = slice(member.split, member.split + 1)
        one = StackData(x=data.x[own], y=data.y[own], s=data.s[own], train=data.train[own])
        seeds = [[5, 6][member.split]]
        alone = train_stack(one, [replace(member, split=0)], objective=objective, batch_seeds=seeds)
        assert torch.allclose(together[k], weights(alone)[0], atol=1e-5)


@pytest.mark.parametrize(
    ("n", "batch_size", "steps", "rows"),
    [(100, 32, 3, 100), (1000, 32, 8, 200), (3000, 32, 15, 200), (1000, 250, 4, 250)],
)
def test_methods_can_require_more_rows_per_mini_batch(n, batch_size, steps, rows):
    """With 200 rows there are at most as many steps as with small batches, and at least 8 if possible."""
    numbers = torch.arange(float(n))[None, :, None]
    batches = Batches(
        Batch(numbers, numbers, numbers), train=(torch.arange(n),), batch_size=batch_size, seeds=[1],
        tables=Tables([0], 1, device="cpu"), dropout=None, hidden=(4,), rows_a_step=200,
    )  # fmt: skip
    drawn = torch.stack([batches.take().y.flatten() for _ in batches.epoch()])
    assert drawn.shape == (steps, rows)
    # Every row is drawn once before any row is drawn again.
    every = drawn.flatten()[: steps * rows // n * n].view(-1, n)
    assert (every.sort(dim=1).values == torch.arange(float(n))).all()


@pytest.mark.parametrize("method", FAIR)
def test_a_model_with_lambda_zero_equals_the_standard_model_to_the_last_bit(method, monkeypatch):
    """Both models use the same mini-batches, because some methods have larger ones."""
    data = stack_data()
    standard = replace(METHODS["standard"], rows_a_step=METHODS[method].rows_a_step)
    monkeypatch.setattr("fairdash.training.stack.METHODS", METHODS | {"standard": standard})
    # A model with a penalty is trained in the same batch and must not affect the standard model.
    fair = _train(data, _models(method, (0.0, 3.0)))
    standard = _train(data, _models("standard", (0.0,)))
    assert torch.equal(weights(fair)[::2], weights(standard))
    assert not torch.allclose(weights(fair)[1::2], weights(standard), atol=1e-3)


def _batch():
    """One split's rows, in float64."""
    data = stack_data()
    return Batch(data.x[:1].double(), data.y[:1].double(), data.s[:1].double())


def _optimisers(lam, objective="demographic_parity"):
    settings = replace(SETTINGS, adversary_steps=1)
    predictor = StackedMLP([3, 8, 1], seeds=[3]).double()
    given = {"s": stack_data().s, "which_split": torch.arange(1), "settings": settings}
    adversary = HGRPenalty(seeds=[4], **given).double()
    one = torch.ones(1, dtype=torch.float64)
    rates = {name: getattr(settings, name) * one for name in ("lr", "weight_decay", "adversary_lr")}
    return MinimaxTrainer(
        predictor=predictor, penalty=adversary, lam=lam * one, objective=OBJECTIVES[objective],
        loss=LOSSES["squared_error"], scale=one, adversary_steps=1, rows_to_catch_up=256, **rates,
    )  # fmt: skip


@pytest.mark.parametrize("objective", list(OBJECTIVES))
def test_the_gradient_of_the_predictor_is_that_of_error_plus_lambda_psi(objective, monkeypatch):
    """The gradient that reaches the optimiser equals finite differences of L + λ Ψ in float64."""
    lam = 3.0
    players = _optimisers(lam, objective)
    batch = _batch()
    x, y, s = batch.x, batch.y, batch.s
    seen = []
    monkeypatch.setattr(players.descent, "step", lambda gradients: seen.append(gradients))
    monkeypatch.setattr(players.ascent, "step", lambda gradients: None)

    def loss():
        y_pred = players.predictor(x)
        psi = players.penalty(OBJECTIVES[objective].audit(y_pred, y), s)
        assert psi.item() > 0
        return (((y_pred - y) ** 2).mean() + lam * psi.sum()).item()

    players.step(batch, fair=True)
    for parameter, gradient in zip(players.descent.parameters, seen[0], strict=True):
        for index in [(0, 0, 0), tuple(size - 1 for size in parameter.shape)]:
            with torch.no_grad():
                at = parameter[index].item()
                parameter[index] = at + 1e-6
                above = loss()
                parameter[index] = at - 1e-6
                below = loss()
                parameter[index] = at
            assert gradient[index].item() == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-8)


def test_the_predictor_gets_no_penalty_gradient_when_the_adversarys_estimate_is_negative():
    players = _optimisers(1.0)
    batch = _batch()
    with torch.no_grad():
        u = players.predictor(batch.x)
    signs = set()
    for _ in range(2):
        psi, push = players._step_adversaries(u.clone(), batch)
        signs.add(psi.item() > 0)
        assert (push.abs().max() > 0) == (psi.item() > 0)
        # Reversing the sign of ĝ reverses the sign of Ψ.
        with torch.no_grad():
            players.penalty.networks.g.weights[-1].neg_()
            players.penalty.networks.g.biases[-1].neg_()
    assert signs == {True, False}


def test_the_warm_up_trains_without_the_adversary():
    epochs = []
    settings = replace(SETTINGS, warm_up_epochs=2)
    _train(stack_data(), _models(settings=settings), on_epoch=lambda *told: epochs.append(told[2]))
    assert np.isnan(epochs[1]).all()
    assert np.isfinite(epochs[2]).all()


# Options of models trained together: weights, losses, dropout, balance and early stopping.


def _train_options(data, settings, *, lams=(0.0, 1.0), method="hgr_nn", **options):
    splits = range(len(data.x))
    return _train(data, _models(method, lams, splits, settings), batch_seeds=splits, **options)


@pytest.mark.parametrize("power", [0, 1, 1.3, 2])
def test_deviances_of_losses_equal_those_of_scikit_learn(power):
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
def test_the_relative_loss_is_one_minus_the_explained_deviance(loss):
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
    """Many features and few rows: with longer training, errors on new rows grow."""
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
    early = _train_options(data, replace(OVERFITTING, patience=5), on_epoch=told, **alone)
    full = _train_options(data, OVERFITTING, **alone)

    def error(trained):
        y = data.y[0, 64:, 0].numpy()
        return ((trained.predict(data.x)[0, 64:] - y) ** 2).mean()

    assert error(early) < error(full) - 0.03
    assert early.best_epoch[0] == len(epochs) - 5 < 55
    assert full.best_epoch[0] == 60
    # The weights are those of the best epoch: training for exactly that long gives the same weights.
    stopped = error(early)
    longer = _train_options(data, replace(OVERFITTING, patience=60), **alone)
    assert error(longer) <= stopped + 1e-6
