"""Parts of fitting tariffs together: descent, gradient of the loss, matrix of terms, and many λ and splits."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import rosen, rosen_der

import fairdash as fd
from fairdash.tariff.choosing import TermOptions, choose_terms
from fairdash.tariff.fit import FitOptions, fit_stack
from fairdash.tariff.stack import TariffStack, minimise
from fairdash.tariff.terms import design
from fairdash.training.losses import LOSSES, find_loss
from fairdash.views.figures.comparison import factor_figure
from fairdash.views.figures.theme import LIGHT
from tests.tariff.test_model import OPTIONS, policies

OF_TERMS = TermOptions(**OPTIONS)


def _rosenbrock(x, which):
    return np.array([rosen(row) for row in x]), np.array([rosen_der(row) for row in x])


def test_problems_minimised_together_have_the_same_solutions_as_when_minimised_alone():
    start = np.array([[-1.2, 1.0, 0.5], [3.0, -2.0, 1.0], [1.0, 1.0, 1.0]])
    x, n_iter, converged = minimise(_rosenbrock, start, tol=1e-12)
    assert x == pytest.approx(np.ones((3, 3)), abs=1e-4)
    assert converged.all()
    for k in range(3):
        alone, its_steps, _ = minimise(_rosenbrock, start[k : k + 1], tol=1e-12)
        assert (alone[0] == x[k]).all()
        assert its_steps[0] == n_iter[k]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_derivative_of_a_loss_equals_the_gradient_of_its_deviance(loss):
    rng = np.random.default_rng(0)
    y = torch.tensor(rng.gamma(2, 1, size=20))
    eta = torch.tensor(rng.normal(size=(3, 20)), requires_grad=True)
    found = find_loss(loss)
    (expected,) = torch.autograd.grad(found.unit_deviance(eta, y).sum(), eta)
    assert found.slope(eta.detach(), y).numpy() == pytest.approx(expected.numpy(), rel=1e-10)
    # NumPy for tariffs and torch for networks give the same values.
    for of in (found.unit_deviance, found.slope):
        by_torch, by_numpy = of(eta.detach(), y).numpy(), of(eta.detach().numpy(), y.numpy())
        assert by_numpy == pytest.approx(by_torch, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("penalty", "objective", "balanced", "fixed"),
    [
        *product(["pearson", "averages"], ["equalized_residuals"], [True], [False, True]),
        *product(["pearson", "averages"], ["equalized_residuals"], [False], [False]),
        *product(["averages"], ["demographic_parity"], [False], [False, True]),
    ],
)
def test_the_gradient_of_the_tariff_objective_matches_finite_differences(penalty, objective, balanced, fixed):
    table, claims, years, age = policies(200)
    x = np.column_stack([design(choose_terms(table, years, OF_TERMS), table), np.ones(200)])
    how = {"objective": objective, "penalty": penalty, "balance": balanced, "penalty_rows": 100}
    given = {
        "x": x, "y": claims / claims.mean(), "weight": years, "lams": np.array([0.5, 2.0]), "s": age[:, None],
        "start": np.zeros(x.shape[1]), "options": FitOptions(loss=find_loss("tweedie"), alpha=0.01, **how),
        "offset": np.log(1 + table["garage"].to_numpy(dtype=float)) if fixed else None,
    }  # fmt: skip
    stack = TariffStack(**given, number=np.float64)
    z = 0.1 * np.random.default_rng(0).normal(size=(2, x.shape[1]))
    which = np.array([1, 0])
    value, slope = stack.value_and_slope(z, which)
    # Large tables use float32, with the same values up to its precision.
    short = TariffStack(**given, number=np.float32).value_and_slope(z, which)
    assert ([each.dtype for each in short], short[0]) == ([np.float64] * 2, pytest.approx(value, rel=1e-6))
    # Penalties on averages have large gradients, whose relative precision is the same.
    size = float(np.abs(slope).max()) if penalty == "averages" else 1.0
    assert short[1] == pytest.approx(slope, abs=1e-5 * size)
    for place in (0, 3, x.shape[1] - 1):
        step = np.zeros_like(z)
        step[:, place] = 1e-6
        ahead, behind = (stack.value_and_slope(z + sign * step, which)[0] for sign in (1, -1))
        assert ((ahead - behind) / 2e-6) == pytest.approx(slope[:, place], rel=1e-4, abs=1e-8 * size)


def test_the_penalty_on_mean_premiums_of_tariffs_equals_the_canonical_penalty_of_networks():
    """Value and gradient equal those of CanonicalPenalty, whose gradient torch computes."""
    from fairdash.tariff.averages import AveragesPenalty
    from fairdash.training.penalties.closed_forms import CanonicalPenalty

    rng, n = np.random.default_rng(0), 300
    s, weight = rng.integers(18, 90, (n, 2)).astype(float), rng.uniform(0.2, 1, n)
    u = rng.gamma(2, 1, (2, n)) + 0.02 * s[:, 0]
    rows, mass = np.arange(n), torch.tensor(weight)[None, :, None]
    v = CanonicalPenalty.encode(torch.tensor(s)[None], [torch.arange(n)], mass)
    given = torch.tensor(u)[:, :, None].requires_grad_()
    its = CanonicalPenalty(seeds=[0], s=v, which_split=torch.zeros(1), settings=None)
    psi = its(given, v.expand(2, -1, -1), mass.expand(2, -1, -1))
    (slope,) = torch.autograd.grad(psi.sum(), given)
    own = AveragesPenalty(s, weight, rows, np.float64, premium=u[0], ends_flat=True)
    centred = u - (u @ own._share)[:, None]
    found = own._links(centred, centred**2 @ own._share)
    assert found[0] == pytest.approx(psi.detach().numpy(), rel=1e-9)
    assert found[1] == pytest.approx(slope[:, :, 0].numpy(), rel=1e-7, abs=1e-12)


def test_starting_values_from_a_sample_lead_to_the_same_solution_in_fewer_steps(monkeypatch):
    """Starting from a sample's GLM and a quadratic approximation does not change the solution."""
    table, claims, years, age = policies(3000)
    x = design(choose_terms(table, years, TermOptions(n_breakpoints=5)), table)
    options = FitOptions(loss=find_loss("poisson"), penalty_rows=1000, tol=1e-7, max_iter=1000)
    given = {"s": age[:, None], "sample_weight": years, "lams": [0, 0.1, 0.3], "random_state": 0}
    monkeypatch.setattr("fairdash.tariff.glm.SAMPLE", 500)
    found = fit_stack(x, claims, options=options, **given)
    monkeypatch.setattr("fairdash.tariff.glm.SAMPLE", 5000)
    monkeypatch.setattr(TariffStack, "has_many_rows", False)
    slow = fit_stack(x, claims, options=options, **given)
    eta, its = (x @ each.coefficients.T + each.intercept for each in (found, slow))
    assert (eta[:, 0], eta) == (pytest.approx(its[:, 0], abs=1e-6), pytest.approx(its, abs=0.01))
    assert found.n_iter[1:].sum() < slow.n_iter[1:].sum()


# Changes in the tariff, with one figure per factor: both tables are drawn unchanged, with the exposure.


EVIL = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module", params=["poisson", "squared_error"])
def tables(request):
    table, claims, years, age = policies(300)
    table["zone"] = table["zone"].replace({"A": EVIL, "C": "(missing)"})
    model = fd.FairTariff(loss=request.param, lam=0.3, tol=1, **OPTIONS | {"bands": {"bonus": 3}})
    model.fit(table, claims, sensitive_features=age, sample_weight=years)
    return model.relativities(unpenalised=True), model.relativities()


def _named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def test_figures_of_rating_factors_plot_the_relativities_and_interpolate_as_premiums_do(tables):
    before, after = tables
    value = "relativity" if "relativity" in after else "points"
    figure, zone, bands = (
        factor_figure(before, after, factor, theme=LIGHT, after_name="chosen")
        for factor in ("value", "zone", "bonus")
    )
    for table, name in ((before, "λ = 0"), (after, "chosen")):
        line, missing = _named(figure, name)
        rows = table[(table["factor"] == "value") & (table["kind"] == "breakpoint")]
        # Premiums follow the drawn line at the breakpoints and between them.
        assert np.interp(rows["at"], line.x, line.y) == pytest.approx(rows[value])
        middle = rows["at"].iloc[:2].mean()
        rated = fd.rate(pd.concat([table.iloc[:1], rows]), pd.DataFrame({"value": [middle]}))
        base = table[value].iloc[0]
        expected = rated[0] / base if value == "relativity" else rated[0] - base
        assert np.interp(middle, line.x, line.y) == pytest.approx(expected, rel=1e-3)
        of_missing = table.loc[(table["factor"] == "value") & (table["kind"] == "missing"), value]
        assert list(missing.y) == of_missing.tolist()
        assert missing.x[0] > rows["at"].max()
    assert EVIL not in zone.to_json()
    (points,) = _named(zone, "chosen")
    rows = after[(after["factor"] == "zone") & (after["kind"] != "interaction")]
    assert list(points.y) == rows[value].tolist()
    assert _named(bands, "chosen")[0].x[0].startswith("below ")
