"""Properties of every penalty: a method added to the registry is tested without a new test."""

import math

import numpy as np
import pytest
import torch

import fairdash as fd
from benchmarks.joint import fitted, gap, people
from fairdash.dependence.joint import distances, scaled
from fairdash.nets import StackedAdam
from fairdash.training.methods import METHODS
from fairdash.training.penalties import adversarial
from fairdash.training.penalties.base import BasePenalty
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import STANDARD

SETTINGS = TrainingSettings(adversary_hidden=(8, 8))
PENALTIES = [method for method in METHODS if METHODS[method].penalty is not None]
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])
every_penalty = pytest.mark.parametrize("method", PENALTIES)


def _encode(method, s, n_train=None):
    train = [torch.arange(n_train or s.shape[1])] * len(s)
    return METHODS[method].penalty_class().encode(s, train)


def _penalty(method, s, seeds, settings=SETTINGS):
    """A penalty for models of one split each, and the encoded rows."""
    v = _encode(method, s)
    which_split = torch.arange(len(seeds)) % len(s)
    built = METHODS[method].penalty_class()(seeds=seeds, s=v, which_split=which_split, settings=settings)
    return built.to(s.dtype), v


def _gaussian(rho, n, *, members=3, seed=0, dtype=torch.float64):
    """u and s with correlation rho, of shape (members, n, 1) each."""
    generator = torch.Generator().manual_seed(seed)
    s = torch.randn(members, n, 1, generator=generator, dtype=dtype)
    noise = torch.randn(members, n, 1, generator=generator, dtype=dtype)
    return rho * s + math.sqrt(1 - rho**2) * noise, s


def _weights(like, seed=5):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(like.shape, generator=generator, dtype=like.dtype) + 0.1


@every_penalty
def test_the_registry_states_correctly_which_penalties_have_an_adversary(method):
    u, s = _gaussian(0.6, 24)
    penalty, v = _penalty(method, s, [1, 2, 3])
    assert METHODS[method].adversarial == bool(list(penalty.parameters()))
    same = torch.equal(penalty.adversary_objective(u, v), penalty(u, v))
    assert METHODS[method].penalty_class().maximises_psi == same


@WEIGHTED
@every_penalty
def test_penalty_gradients_equal_finite_differences(method, weighted):
    u, s = _gaussian(0.6, 24)
    penalty, v = _penalty(method, s, [1, 2, 3])
    weight = _weights(u) if weighted else None
    assert (penalty(u, v, weight) != 0).all()
    assert torch.autograd.gradcheck(
        lambda u: penalty(u, v, weight), [u.requires_grad_()], rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize("method", [each for each in PENALTIES if METHODS[each].adversarial])
def test_the_adversarys_gradient_equals_finite_differences(method):
    u, s = _gaussian(0.6, 24)
    penalty, v = _penalty(method, s, [1, 2, 3])
    # Along a random direction in the adversary's weights, which torch changes in place.
    assert torch.autograd.gradcheck(
        lambda *_: penalty.adversary_objective(u, v, _weights(u)), list(penalty.parameters()), fast_mode=True
    )


@pytest.mark.parametrize("method", [each for each in PENALTIES if each not in ("chi2_kde", "gdp", "eipm")])
def test_penalties_count_a_row_of_weight_two_twice_and_ignore_a_row_of_weight_zero(method, monkeypatch):
    """Three penalties are excluded, whose bandwidths depend on the number of rows (Kish's formula)."""
    monkeypatch.setattr(adversarial, "_PAIRS", 60)
    u, s = _gaussian(0.6, 30)
    penalty, v = _penalty(method, s, [1, 2, 3])
    times = torch.arange(30) % 3
    weight = times.to(u.dtype)[None, :, None].expand_as(u)
    twice = torch.arange(30).repeat_interleave(times)
    for value in (penalty, penalty.adversary_objective):
        repeated = value(u[:, twice], v[:, twice])
        assert torch.allclose(value(u, v, weight), repeated, rtol=1e-9)
        assert not torch.allclose(value(u, v), repeated, rtol=1e-3)


@WEIGHTED
@every_penalty
def test_penalties_do_not_depend_on_the_units_of_predictions_attributes_and_weights(method, weighted):
    u, s = _gaussian(0.6, 60)
    penalty, v = _penalty(method, s, [1, 2, 3])
    weight = _weights(u) if weighted else None
    other = _encode(method, 0.01 * s - 7)
    assert torch.allclose(v, other, atol=1e-9)
    dearer = None if weight is None else 1000 * weight
    assert torch.allclose(penalty(u, v, weight), penalty(100 * u + 3, other, dearer), atol=1e-5)


@every_penalty
def test_the_encoding_of_attributes_is_fitted_on_training_rows_only(method):
    _, s = _gaussian(0.0, 50, members=2)
    changed = s.clone()
    changed[:, 40:] = 5 * changed[:, 40:] + 2
    one, two = _encode(method, s, 40), _encode(method, changed, 40)
    assert torch.equal(one[:, :40], two[:, :40])
    assert one.shape[:2] == (2, 50)
    assert torch.isfinite(two).all()


@every_penalty
def test_encoding_counts_a_row_of_weight_two_twice(method):
    _, s = _gaussian(0.0, 30, members=1)
    s = s.round(decimals=1)  # with ties
    weight = torch.arange(30.0, dtype=s.dtype).remainder(3)[None, :, None] + 1
    encode = METHODS[method].penalty_class().encode
    rows = torch.arange(30)
    weighted = encode(s, [rows], weight)
    repeated = encode(s, [rows.repeat_interleave(weight.flatten().long())])
    assert torch.allclose(weighted, repeated, atol=1e-9)
    assert torch.allclose(weighted, encode(s, [rows], 7 * weight), atol=1e-9)
    assert not torch.allclose(weighted, encode(s, [rows]), atol=1e-3)


def _degenerate(kind, s):
    """Constant, nearly constant, two-valued or huge predictions; any variation is that of s."""
    one = torch.full_like(s, 0.7)
    return {
        "constant at 1e12": 1.1e12 * one, "rounding": torch.where(s > 0, one.nextafter(2 * one), one),
        "two values": (s > 0).to(s), "1e12": 1e12 * (1 + s),
    }[kind]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["constant at 1e12", "rounding", "two values", "1e12"])
@every_penalty
def test_penalties_and_gradients_are_finite_for_degenerate_predictions(method, kind, dtype, monkeypatch):
    # With all pairs, the product of the margins has exactly the weighted margins.
    monkeypatch.setattr(adversarial, "_PAIRS", 64)
    _, s = _gaussian(0.0, 64, dtype=dtype)
    penalty, v = _penalty(method, s, [1, 2, 3])
    u = _degenerate(kind, s).requires_grad_()
    weight = _weights(s)
    psi = penalty(u, v, weight)
    (slope,) = torch.autograd.grad(psi.sum(), u)
    assert torch.isfinite(psi).all()
    assert torch.isfinite(slope).all()
    if kind == "1e12":
        assert torch.allclose(psi, penalty(1e3 * (1 + s), v, weight), rtol=1e-3)
    elif kind == "two values":
        assert slope.abs().max() > 0
    else:
        # An untrained adversary may give a value below 0; single precision leaves errors of 1e-5 in weighted
        # means.
        assert (psi < 1e-3).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_hand_written_gradients_of_hgr_nn_equal_those_of_autograd(weighted):
    u, s = _gaussian(0.5, 64)
    u[2] = 3.0  # a constant
    penalty, v = _penalty("hgr_nn", s, [0, 1, 2])
    weight = _weights(u) if weighted else None
    wanted = BasePenalty.adversary_gradients(penalty, u, v, weight)
    # The last bias has no effect, so its gradient consists of rounding errors.
    for _ in range(2):
        for own, other in zip(penalty.adversary_gradients(u, v, weight), wanted, strict=True):
            assert own.shape == other.shape
            torch.testing.assert_close(own, other, rtol=1e-8, atol=1e-10)
    assert max(float(each.abs().max()) for each in wanted) > 0.01


@every_penalty
def test_penalties_are_zero_for_a_batch_with_one_value_of_the_attribute(method):
    """A batch may contain no row of a rare group, although the training rows contain some."""
    u, s = _gaussian(0.0, 64)
    penalty, v = _penalty(method, (s > 1).double(), [1, 2, 3])
    batch = u[:, :16].requires_grad_()
    psi = penalty(batch, v[:, v[0, :, 0] == v[0, :, 0].min()][:, :1].expand(-1, 16, -1))
    assert (psi < 1e-5).all()
    assert torch.isfinite(torch.autograd.grad(psi.sum(), batch)[0]).all()


@every_penalty
def test_penalties_of_models_trained_together_equal_those_of_single_models(method):
    u, s = _gaussian(0.6, 80)
    seeds = [4, 5, 6]
    together, v = _penalty(method, s, seeds)
    weight = _weights(u)
    psi = together(u, v, weight)
    for k, seed in enumerate(seeds):
        alone, own = _penalty(method, s[k : k + 1], [seed])
        value = alone(u[k : k + 1], own, weight[k : k + 1])
        assert value.item() == pytest.approx(psi[k].item(), abs=1e-12)


@pytest.mark.parametrize("bad", [math.nan, 3e38])
@every_penalty
def test_a_diverging_model_does_not_affect_the_others_of_its_batch(method, bad):
    u, s = _gaussian(0.6, 80, dtype=torch.float32)
    penalty, v = _penalty(method, s, [1, 2, 3])
    clean = penalty(u, v)
    u = u.clone()
    u[1, 7] = bad
    u.requires_grad_()
    psi = penalty(u, v)
    (slope,) = torch.autograd.grad(psi[[0, 2]].sum(), u)
    assert torch.isnan(psi[1]) or bad < math.inf
    assert torch.allclose(psi[[0, 2]], clean[[0, 2]], atol=1e-6)
    assert torch.isfinite(slope[[0, 2]]).all()


@pytest.mark.parametrize(
    "method", [m for m in PENALTIES if METHODS[m].together > 1 and not METHODS[m].adversarial]
)
def test_penalties_detect_dependence_on_two_columns_jointly(method):
    """Old women and young men pay more than the average, and neither age nor sex alone has a link."""
    generator = torch.Generator().manual_seed(0)
    age = torch.randn((1, 1000, 1), generator=generator)
    woman = (torch.rand((1, 1000, 1), generator=generator) < 0.5).float()
    u = torch.randn((1, 1000, 1), generator=generator).abs() * age.sign() * (2 * woman - 1)
    penalty, v = _penalty(method, torch.cat([age, woman], dim=2), [0])
    seen = penalty(u, v)
    # Without the products of columns, the link of u with both columns is that of noise.
    alone = penalty(u, torch.cat([_penalty(method, each, [0])[1] for each in (age, woman)], dim=2))
    assert seen > 2 * alone


# test_penalties_values.py tests the formulas of the other two adversaries.
def test_the_adversary_alone_recovers_the_exact_hgr_of_gaussians():
    rhos, repeats = [0.0, 0.3, 0.6, 0.9], 3
    rho = torch.tensor(rhos).repeat_interleave(repeats)[:, None, None]
    generator = torch.Generator().manual_seed(0)

    def draw(n):
        v = torch.randn(len(rho), n, 1, generator=generator)
        return rho * v + torch.sqrt(1 - rho**2) * torch.randn(v.shape, generator=generator), v

    # A standard Gaussian equals its encoding, whether standardised or by normal scores.
    which_split = torch.zeros(len(rho), dtype=torch.long)
    options = {"s": draw(8)[1], "which_split": which_split, "settings": TrainingSettings()}
    penalty = METHODS["hgr_nn"].penalty_class()(seeds=list(range(len(rho))), **options)
    ascent = StackedAdam(list(penalty.parameters()), lr=SETTINGS.adversary_lr, maximize=True)
    # The learning rate falls to zero, so that the last step is not random.
    ascent.follow(0.5 * (1 + np.cos(np.pi * np.arange(500) / 500)))
    for _ in range(500):
        ascent.step(torch.autograd.grad(penalty.adversary_objective(*draw(256)).sum(), ascent.parameters))
    with torch.no_grad():
        values = penalty(*draw(8000)).view(len(rhos), repeats).mean(dim=1)
    assert values.tolist() == pytest.approx(rhos, abs=0.03)


# Joint and concatenated distance covariance as penalties, and dependence that only combinations of columns
# show.


def _written_out(u, s, *, together):
    """Mean of A · (Π(B + 1) − 1) over all pairs of rows, computed from full distance matrices."""

    def centred(x):
        d = distances(x, x)
        return d.mean(axis=0) + d.mean(axis=1, keepdims=True) - d - d.mean()

    tables = [centred(x) for x in scaled(s.T, together=together)]
    (a,) = (centred(x) for x in scaled(u[None]))
    return (a * np.prod([b + 1 for b in tables], axis=0)).mean()


@pytest.mark.parametrize("id", ["jdcov", "ccdcov"])
@pytest.mark.parametrize(("kind", "off"), [("classes", 1e-7), ("mixed", 0.05), ("three", 0.13)])
def test_the_joint_penalties_equal_distance_covariances_computed_from_their_definition(id, kind, off):
    rng = np.random.default_rng(0)
    age, income, sex = *rng.normal(size=(2, 500)), (rng.random(500) < 0.4).astype(float)
    region = np.eye(3)[rng.integers(0, 3, 500)]
    u = 2 * sex * (region[:, 0] - 0.3) + age * (2 * sex - 1) + np.exp(0.3 * income) + rng.normal(size=500)
    s = np.column_stack(
        {"classes": [sex, region], "mixed": [age, sex, region], "three": [age, income, sex]}[kind]
    )
    kind_of = METHODS[id].penalty_class()
    v = kind_of.encode(torch.tensor(s)[None], [torch.arange(500)])
    first = torch.zeros(1, dtype=torch.long)
    penalty = kind_of(seeds=[0], s=v, which_split=first, settings=TrainingSettings())
    whole = _written_out(u, s, together=id == "ccdcov")
    assert penalty(torch.tensor(u)[None, :, None], v).item() == pytest.approx(whole, rel=off)
    assert v.shape[2] <= 32


def test_jdcov_training_removes_joint_dependence_with_about_the_error_of_a_repair_or_less():
    """The test measures gaps between ten age bands by sex, and the mean squared error, on new rows."""
    both = ["age", "sex"]
    (table, y), (new, of_new) = people(0), people(1)
    plain = fitted(STANDARD, 0.0, table, y, table[both])
    repair = fd.FairPostprocessor("price", random_state=0)
    repair.fit(table.assign(price=plain.predict(table)), sensitive_features=table[both])
    repaired = repair.predict(new.assign(price=plain.predict(new)), sensitive_features=new[both])
    assert gap(new, plain.predict(new)) > 20 > 4 > gap(new, repaired)
    fair = fitted("jdcov", 10.0, table, y, table[both]).predict(new)
    assert gap(new, fair) < 4
    assert np.mean((fair - of_new) ** 2) < 1.05 * np.mean((repaired - of_new) ** 2)
