"""Properties of every registered measure, on data with ties, heavy tails and constants."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fairdash import dependence
from fairdash.dependence import REGISTRY, independence_floor, measure_many
from fairdash.dependence.api import Estimator, Pairs, keywords
from fairdash.dependence.inference import draw_orders
from fairdash.errors import OptionError

LAWS = settings(deadline=None, max_examples=8, derandomize=True, suppress_health_check=list(HealthCheck))
every = pytest.mark.parametrize("id", list(REGISTRY))


def measure(id, *args, **options):
    """Measure as the package does, with a seed, and with few training steps for networks."""
    if id in REGISTRY and not REGISTRY[id].quick:
        options.setdefault("n_steps", 8)
    return dependence.measure(id, *args, **{"random_state": 0} | options)


@st.composite
def pairs(draw):
    """(u, v): smooth, tied, heavy-tailed or zero-inflated, dependent or independent."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    u, noise = rng.normal(size=(2, draw(st.integers(24, 60))))
    v = draw(st.sampled_from([noise, u + noise, u**2 + 0.1 * noise]))
    shapes = [np.asarray, np.round, lambda x: np.exp(2 * x), lambda x: np.maximum(x, 0.0)]
    for_u, for_v = draw(st.sampled_from(shapes)), draw(st.sampled_from(shapes))
    return for_u(u), for_v(v)


def suited(id, pair):
    """Replace values by a few distinct ones if the measure is for discrete variables."""
    return tuple(np.clip(np.round(x), -1, 1) for x in pair) if REGISTRY[id].discrete else pair


def close(a, b, **kw):
    assert_allclose(a, b, rtol=1e-6, atol=1e-8, **kw)


@every
@LAWS
@given(pair=pairs())
def test_measures_are_within_their_range_and_reproducible_by_seed(id, pair):
    pair, one = suited(id, pair), REGISTRY[id]
    value = measure(id, *pair, random_state=3)
    assert np.isfinite(value)
    unbiased = id in ("jdcov", "ccdcov")
    assert (-np.inf if one.fitted or unbiased else one.lower) <= value <= one.upper
    assert value == measure(id, *pair, random_state=3)


@every
@LAWS
@given(pair=pairs(), seed=st.integers(0, 99))
def test_measures_do_not_depend_on_the_order_of_rows(id, pair, seed):
    u, v = suited(id, pair)
    for order in (np.random.default_rng(seed).permutation(len(u)), np.argsort(v)):
        close(measure(id, u[order], v[order]), measure(id, u, v))


@pytest.mark.parametrize("id", [one.id for one in REGISTRY.values() if one.symmetric])
@LAWS
@given(pair=pairs())
def test_symmetric_measures_give_the_same_value_with_the_variables_swapped(id, pair):
    u, v = suited(id, pair)
    close(measure(id, u, v), measure(id, v, u))


@every
@LAWS
@given(pair=pairs(), shift=st.sampled_from([-3.0, 0.0, 100.0]), scale=st.sampled_from([1e-3, 0.5, 2.0, 1e4]))
def test_measures_ignore_shifts_and_change_with_the_scale_as_the_registry_states(id, pair, shift, scale):
    u, v = suited(id, pair)
    factor = 1.0 if REGISTRY[id].scale_free else scale
    moved = measure(id, u * scale + shift, v * 3 - shift)
    assert_allclose(moved, factor * measure(id, u, v), rtol=1e-5, atol=1e-7 * factor)


@pytest.mark.parametrize("id", [one.id for one in REGISTRY.values() if one.rank_based_s])
@LAWS
@given(pair=pairs())
def test_rank_based_measures_are_unchanged_by_increasing_transformations(id, pair):
    u, v = suited(id, pair)
    close(measure(id, u, np.arcsinh(v)), measure(id, u, v))
    if REGISTRY[id].rank_based:
        close(measure(id, np.arcsinh(u), v), measure(id, u, v))


@pytest.mark.parametrize("scale", [1e-12, 0.3, 1e12])
@every
def test_measures_are_zero_for_rounding_errors_and_nonzero_for_small_real_variation(id, scale):
    s = np.random.default_rng(3).integers(0, 5, size=60).astype(float)
    # The neighbouring floats follow s as closely as possible, which rank-based measures would detect.
    rounded = np.where(s > 2, scale * (1 + 4 * np.finfo(float).eps), scale)
    assert (len(np.unique(rounded)), measure(id, rounded, s)) == (2, 0)
    assert 0 < abs(measure(id, scale * (1 + 1e-3 * (s > 2)), s)) < np.inf


@every
def test_measures_treat_float32_values_that_differ_by_one_rounding_step_as_equal(id):
    s = np.random.default_rng(3).integers(0, 5, size=60).astype(np.float32)
    # The rounding errors of a network's constant prediction, which follow s as closely as possible.
    u = np.nextafter(np.float32(0.7), np.float32(s > 2))
    assert (len(np.unique(u)), measure(id, u, s), measure(id, s, u)) == (2, 0, 0)
    # In double precision these are two different values, which may be real measurements.
    assert measure(id, u.astype(float), s) != 0
    # Equal predictions of a network that differ by rounding are ties.
    levels = np.float32(0.1) * (1 + np.arange(60, dtype=np.float32) % 4)
    u = np.nextafter(levels, np.float32(9 * (s > 2)))
    middle = sum(np.nextafter(levels, np.float32(end)).astype(float) / 2 for end in (0, 9))
    assert (len(np.unique(u)), measure(id, u, s)) == (8, measure(id, middle, s))


@every
@pytest.mark.parametrize("side", ["u", "v", "both"])
def test_measures_of_constant_variables_are_zero(id, side):
    varied, constant = np.random.default_rng(0).normal(size=40), np.full(40, 0.1)
    u, v = {"u": (constant, varied), "v": (varied, constant), "both": (constant, constant)}[side]
    assert measure(id, u, v) == measure(id, u, np.sort(v)) == 0.0


@every
def test_measures_of_many_pairs_at_once_equal_those_of_single_pairs(id):
    rng = np.random.default_rng(1)
    u = rng.normal(size=(3, 50))
    v = np.stack([rng.normal(size=50), np.exp(3 * u[1]), np.round(u[2])])
    u, v = suited(id, (u, v))
    u[0] = 2.0
    steps = {} if REGISTRY[id].quick else {"n_steps": 8}
    together = measure_many(id, u, v, random_state=0, **steps)
    assert together[0] == 0
    # Networks compute in single precision, and rounding depends on the number of models trained together.
    apart = [measure(id, a, b) for a, b in zip(u, v, strict=True)]
    assert_allclose(together, apart, rtol=1e-7, atol=1e-9 if REGISTRY[id].quick else 1e-4)


# KDE measures are excluded because their bandwidth depends on the effective number of rows, and splines
# because copies are different rows for their folds.
@pytest.mark.parametrize(
    "id", ["pearson", "spearman", "hgr_witsenhausen", "hgr_rdc", "fairquant", "fairquant_cumulative"]
)
@LAWS
@given(pair=pairs(), seed=st.integers(0, 99))
def test_a_row_of_integer_weight_k_counts_as_k_copies_of_the_row(id, pair, seed):
    pair = suited(id, pair)
    copies = np.random.default_rng(seed).integers(1, 4, len(pair[0]))
    close(measure(id, *pair, sample_weight=copies), measure(id, *(np.repeat(x, copies) for x in pair)))


@pytest.mark.parametrize("id", [one.id for one in REGISTRY.values() if one.accepts_weights])
def test_equal_weights_change_no_measure_and_rows_of_weight_zero_are_ignored(id):
    rng = np.random.default_rng(2)
    u = rng.normal(size=80)
    u, v = suited(id, (u, u**2 + rng.normal(size=80)))
    close(measure(id, u, v, sample_weight=np.full(80, 0.25)), measure(id, u, v))
    padded = [np.append(x, x.mean()) for x in (u, v)]
    close(measure(id, *padded, sample_weight=np.append(np.ones(80), 0.0)), measure(id, u, v))


@pytest.mark.parametrize("id", [id for id, one in REGISTRY.items() if "permutations" in keywords(one.load())])
def test_the_fast_path_for_permutations_equals_measuring_each_permutation(id):
    rng = np.random.default_rng(3)
    u, v = rng.normal(size=(2, 40)), np.round(rng.normal(size=(2, 40)))
    quick = independence_floor(id, u, v, n_permutations=5, random_state=1)
    orders = draw_orders(u, 5, 1, None)
    slow = [[measure(id, a, b[order], random_state=1) for order in orders] for a, b in zip(u, v, strict=True)]
    slow = np.abs(slow) if REGISTRY[id].signed else np.array(slow)
    close(quick.mean, slow.mean(axis=1))
    close(quick.q95, np.quantile(slow, 0.95, axis=1))


#: Number of training steps of the trained measures.
FEW_STEPS = {"hgr_nn": 2, "chi2_nn": 2, "mi_mine": 2}


@every
def test_measures_are_finite_for_few_rows(id):
    one, options = REGISTRY[id], {"n_steps": FEW_STEPS[id]} if id in FEW_STEPS else {}
    rng = np.random.default_rng(0)
    for n in range(2, 41, 3 if options else 1):
        u, v = rng.normal(size=(2, n))
        if one.discrete:
            u, v = (np.arange(n) % 2).astype(float), (np.arange(n) % 3 == 0).astype(float)
        found = [measure(id, u, v, **options)]
        if one.multivariate and not one.discrete:
            found.append(measure(id, u, np.column_stack([v, u**2]), **options))
        if one.accepts_weights:
            # 45 rows have weight in this sample too.
            more = [np.resize(x, 45) if one.discrete else rng.normal(size=45) for x in (u, v)]
            weight = rng.permutation(np.where(np.arange(45) < n, rng.uniform(0.5, 2, 45), 0.0))
            found.append(measure(id, *more, sample_weight=weight, **options))
            assert measure(id, *more, sample_weight=(np.arange(45) == n).astype(float)) == 0
        assert np.isfinite(found).all()


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize(
    "id", [id for id, one in REGISTRY.items() if "permute_weight" in keywords(one.load())]
)
def test_the_fast_path_for_weighted_permutations_equals_measuring_each_permutation(id, moves):
    rng, n = np.random.default_rng(3), 200
    weight = rng.uniform(0.1, 1, size=(1, n))
    # The last order repeats rows, as exchanges of groups with different sizes do.
    orders = np.vstack([draw_orders(weight, 3, 1, None), rng.integers(0, n, n)])
    few, many = np.round(rng.normal(size=n)), rng.normal(size=n)
    for u, v in ((few, few[::-1]), (many, few), (few, many), (many, many[::-1])):
        quick = Estimator(REGISTRY[id], random_state=1).permuted(
            Pairs(u[None], v[None], weight), orders, permute_weight=moves
        )
        weights = [weight[0][order] if moves else weight[0] for order in orders]
        pairs = zip(orders, weights, strict=True)
        close(quick[0], [measure(id, u, v[order], sample_weight=w, random_state=1) for order, w in pairs])


@every
def test_bad_input_of_measures_is_refused_with_its_cause_and_without_its_values(id):
    cases = [
        ("missing or infinite", [123.456, np.nan, 2.0], [1.0, 2.0, np.inf], {}),
        ("numbers of rows", [1.0, 2.0, 3.0], [1.0, 2.0], {}),
        ("Not every value is a number", ["a", "b"], [1.0, 2.0], {}),
        ("no such option", [1.0, 2.0, 2.0], [1.0, 1.0, 2.0], {"colour": "red"}),
    ]
    if not REGISTRY[id].accepts_weights:
        cases.append(("weight", [1.0, 2.0, 2.0], [1.0, 1.0, 2.0], {"sample_weight": [1, 1, 2]}))
    if not REGISTRY[id].multivariate:
        cases.append(("one sensitive column", [1.0, 2.0, 3.0], np.eye(3), {}))
    for words, u, v, options in cases:
        with pytest.raises(OptionError, match=f"(?i){words}") as told:
            measure(id, u, v, **options)
        assert "123" not in str(told.value)


@pytest.mark.parametrize("id", [one.id for one in REGISTRY.values() if one.multivariate and not one.discrete])
def test_measures_of_several_sensitive_columns_detect_dependence_on_one_of_them(id):
    rng = np.random.default_rng(4)
    v = rng.normal(size=(300, 2))
    u = v[:, 1] ** 2 + 0.2 * rng.normal(size=300)
    together, alone = measure(id, u, v), measure(id, u, v[:, 1])
    assert together > measure(id, u, v[:, 0]) + 0.15
    close(measure(id, u, v[:, 1:]), alone)
    beside_a_constant = np.column_stack([v[:, 1], np.full(300, 7.0)])
    assert measure(id, u, beside_a_constant) == pytest.approx(alone, abs=0.05)
    order = rng.permutation(300)
    close(measure(id, u[order], v[order]), together)


def test_the_registry_lists_every_measure_with_its_functions():
    names = (
        "pearson spearman kendall distance_correlation hsic chsic kcca hgr_witsenhausen hgr_kde hgr_kde_scores "
        "hgr_rdc hgr_nn hgr_spline chi2_kde chi2_nn mi_ksg mi_mine fairquant fairquant_cumulative "
        "joint_distance_correlation jdcov ccdcov"
    )
    assert list(REGISTRY) == [one.id for one in REGISTRY.values()]
    assert set(REGISTRY) == set(names.split())
    for one in REGISTRY.values():
        assert all(callable(one.load(part)) for part in ("implementation", "learned") if getattr(one, part))


def test_unknown_measures_and_bad_weights_are_refused():
    with pytest.raises(OptionError, match=r"(?i)hgr_kde"):
        measure("hgr", [1, 2], [1, 2])
    for weight in ([1, -1, 1], [0, 0, 0], [1, 1]):
        with pytest.raises(OptionError):
            measure("pearson", [1, 2, 3], [1, 3, 2], sample_weight=weight)
