"""Networks trained together and their optimiser: K networks together equal K networks one by one."""

import numpy as np
import pytest
import torch
from torch import nn

from fairdash.nets import ACTIVATIONS, StackedAdam, StackedMLP, side_by_side


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("widths", [[3, 1], [3, 5, 2], [2, 7, 6, 5, 1]])
def test_the_hand_written_gradient_of_networks_trained_together_equals_that_of_autograd(widths, activation):
    net = StackedMLP(widths, seeds=[1, 2], activation=activation).double()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 9, widths[0], generator=generator, dtype=torch.float64, requires_grad=True)
    toward = torch.randn(2, 9, widths[-1], generator=generator, dtype=torch.float64)
    plain = x
    for layer, (weight, bias) in enumerate(zip(net.weights, net.biases, strict=True)):
        plain = plain @ weight.transpose(1, 2) + bias.transpose(1, 2)
        if layer < len(widths) - 2:
            plain = getattr(torch, activation)(plain)
    assert torch.allclose(net(x), plain, atol=1e-12)
    mine, expected = (torch.autograd.grad(out, [x, *net.parameters()], toward) for out in (net(x), plain))
    torch.testing.assert_close(mine, expected, rtol=1e-5, atol=1e-12)


def test_sharing_an_input_table_between_networks_does_not_change_outputs_or_gradients():
    net = StackedMLP([3, 5, 4, 1], seeds=[1, 2, 3, 4, 5, 6]).double()
    tables = torch.randn(2, 9, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    shared, own = (x.clone().requires_grad_() for x in (tables, tables.repeat_interleave(3, dim=0)))
    assert torch.allclose(net(shared), net(own), atol=1e-12)
    of_shared, of_own = (
        torch.autograd.grad(net(table).square().sum(), [table, *net.parameters()]) for table in (shared, own)
    )
    expected = (of_own[0].view(2, 3, 9, 3).sum(dim=1), *of_own[1:])
    torch.testing.assert_close(of_shared, expected, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_dropout_masks_of_ones_change_nothing_and_masks_of_zeros_switch_a_layer_off(activation):
    net = StackedMLP([3, 5, 4, 1], seeds=[1, 2], activation=activation).double()
    x = torch.randn(1, 9, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ones = [torch.ones(2, 9, units, dtype=torch.float64) for units in (5, 4)]
    assert torch.allclose(net(x, ones), net(x), atol=1e-12)
    silenced = net(x, [ones[0], 0 * ones[1]])
    assert torch.equal(silenced, net.biases[-1].transpose(1, 2).expand_as(silenced))


def test_saturated_units_are_accurate_in_single_precision():
    net = StackedMLP([1, 8, 1], seeds=[1], first_layer_gain=50)
    x = torch.linspace(-12, 12, 101).reshape(1, -1, 1)
    exact = StackedMLP([1, 8, 1], seeds=[1], first_layer_gain=50).double()(x.double())
    assert torch.isfinite(net(x)).all()
    assert torch.allclose(net(x).double(), exact, atol=5e-6)


def test_initial_weights_are_within_xavier_bounds_and_follow_the_first_layer_options():
    net = StackedMLP([4, 8, 1], seeds=[1])
    assert net.weights[0].abs().max() <= (6 / 12) ** 0.5
    assert net.biases[0].abs().max() == 0
    wide = StackedMLP([4, 8, 1], seeds=[1], first_layer_gain=4, first_bias_spread=2)
    assert torch.allclose(wide.weights[0], 4 * net.weights[0])
    assert 0 < wide.biases[0].abs().max() <= 2
    assert wide.biases[1].abs().max() == 0


def _quadratic_steps(optimiser, weights, target, n):
    for _ in range(n):
        optimiser.step(torch.autograd.grad(((weights - target) ** 2).sum(), [weights]))


def _start():
    """Equal initial weights for both optimisers, and the target values."""
    start = torch.randn(3, 4, 2, generator=torch.Generator().manual_seed(0))
    return nn.Parameter(start.clone()), nn.Parameter(start.clone()), torch.ones(3, 4, 2)


def _by_torch(weights, target, *, factor=lambda step: 1.0, **options):
    """Thirty steps of torch's Adam with a learning rate of 0.05 times a factor."""
    adam = torch.optim.Adam([weights], lr=0.05, **options)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, factor)
    for _ in range(30):
        adam.zero_grad()
        ((weights - target) ** 2).sum().backward()
        adam.step()
        schedule.step()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adam_for_several_models_at_once_equals_the_adam_of_torch(weight_decay):
    ours, theirs, target = _start()
    _quadratic_steps(StackedAdam([ours], lr=0.05, weight_decay=weight_decay), ours, target, 30)
    _by_torch(theirs, target, weight_decay=weight_decay)
    assert torch.allclose(ours, theirs, atol=1e-6)


def test_adam_for_several_models_follows_a_schedule_like_torch_and_resumes_at_a_given_step():
    factors = 0.5 * (1 + np.cos(np.pi * np.arange(30) / 30))
    ours, theirs, target = _start()
    first = StackedAdam([ours], lr=0.05)
    first.follow(factors)
    _quadratic_steps(first, ours, target, 12)
    second = StackedAdam([ours], lr=0.05)
    second.follow(factors)
    for mine, its in zip(second.buffers, first.buffers, strict=True):
        mine.copy_(its)
    second.steps = first.steps
    assert second.steps == 12
    _quadratic_steps(second, ours, target, 18)
    _by_torch(theirs, target, factor=lambda step: factors[min(step, 29)])
    assert torch.allclose(ours, theirs, atol=1e-6)


def test_running_two_computations_side_by_side_returns_both_results_in_order():
    one, two = side_by_side(lambda: torch.ones(1), lambda: 2 * torch.ones(1), device=torch.device("cpu"))
    assert (one.item(), two.item()) == (1.0, 2.0)


def test_adam_for_several_models_accepts_one_learning_rate_per_model_and_can_maximise():
    weights = nn.Parameter(torch.zeros(2, 3))
    optimiser = StackedAdam([weights], lr=torch.tensor([0.0, 0.1]), maximize=True)
    optimiser.step(torch.autograd.grad(weights.sum(), [weights]))
    assert torch.equal(weights[0], torch.zeros(3))
    assert torch.allclose(weights[1], torch.full((3,), 0.1), atol=1e-6)


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_model_with_a_non_finite_gradient_is_frozen_and_the_others_continue(poison):
    weights = nn.Parameter(torch.ones(2, 3))
    optimiser = StackedAdam([weights], lr=0.1, weight_decay=0.1)
    _quadratic_steps(optimiser, weights, torch.zeros(2, 3), 2)
    before = weights.detach().clone()
    optimiser.step([torch.tensor([[poison], [1.0]]).expand(2, 3)])
    assert optimiser.alive.tolist() == [False, True]
    assert torch.equal(weights[0], before[0])
    assert not torch.equal(weights[1], before[1])
    _quadratic_steps(optimiser, weights, torch.zeros(2, 3), 3)
    assert torch.equal(weights[0], before[0])
    assert torch.isfinite(weights).all()
