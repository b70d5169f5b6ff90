r"""FairTariff's default penalty compared with simple ways to a fair tariff, for weak and strong claims.

    FAIRDASH_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.tariff_rivals [--rows 12000] [--splits 10]

Tables: material and bodily claims of pg15training, claims of freMPL1 (in $FAIRDASH_DATA/motor; R package
CASdatasets), and two simulated tables. All methods use the same columns and the same alpha, which the first
split chooses. Methods:

- `averages`: FairTariff as it is, by λ; `hgr_spline` and `cca_spline` are FairTariff with that penalty;
- `covariances`: the GLM plus a multiple of the sum of squared covariances of its linear predictor with
  splines of s;
- `price`: the same with covariances of the premium itself;
- `orthogonal`: the GLM of columns less a share of their projection on splines of s (rating needs s);
- `residual` and `residual_log`: the GLM's premium, or its logarithm, less a share of that projection (rating
  needs s);
- `dropped`: the GLM without the columns that predict s best, so many of them.

Writes results/tariff_rivals.csv, one row per table, method and strength, with means over the splits on test
rows: the deviance divided by that of the flat premium, the largest gap between tenths by s divided by the
mean premium, HGR (spline), and the largest divided by the smallest premium. `flat`, `by_gap` and `by_hgr` are
the row's deviance less that of the flat premium, and less that of the default method at the point where its
path from the GLM along λ to the flat premium first falls to the row's gap, or HGR: above 0 the default is
better. Between two λ of its grid the path is a straight line (by gap, a mixture of the two premiums is at
least as good), so that no choice uses claims of test rows. The intervals are 95 % intervals of Nadeau and
Bengio, and include how the dependence of both methods varies between splits, by the slope of the path.
"""

from __future__ import annotations

import argparse
import io
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

import fairdash as fd
from fairdash.data.catalogue import CATALOGUE
from fairdash.data.fetch import find_folder, read_verified
from fairdash.data.published import CLAIMS, DAYS_IN_A_YEAR, MOTOR_SENSITIVE, SUBREGION
from fairdash.tariff.choosing import TermOptions, choose_terms
from fairdash.tariff.fit import AVERAGES, FitOptions, fit_stack
from fairdash.tariff.glm import fit_glm
from fairdash.tariff.path import choose_alpha
from fairdash.tariff.shape import Shape
from fairdash.tariff.terms import design
from fairdash.training.losses import find_loss
from fairdash.training.penalties.base import of_ranks
from fairdash.training.penalties.rank_functions import smooth_functions
from fairdash.training.splits import Split, corrected_standard_error, random_splits, with_held_out

Array = NDArray[np.float64]

RESULTS = Path(__file__).parent / "results"
FREMPL = {"freMPL1.rda": "0c8e40bcd7e416842953bd72a7f23883ce4794b97a49b3e1d68c472159da7264"}
POISSON = find_loss("poisson")
LAMS = {
    AVERAGES: (0.0003, 0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 1.0, 2.0, 3.0, 10.0, 30.0),
    "hgr_spline": (0.03, 0.1, 0.3, 1.0, 3.0),
    "cca_spline": (0.03, 0.1, 0.3, 1.0, 3.0),
}
COVARIANCES = (0.03, 0.3, 1.0, 3.0, 10.0, 100.0)
#: Methods that need s for rating, which a FairTariff never uses as a factor.
NEED_S = ("orthogonal", "residual", "residual_log")
SHARES = (0.25, 0.5, 0.75, 1.0)
MAX_DROPPED = 5


@dataclass(frozen=True)
class Table:
    """Claims per year y, years w as weight, s, and the features."""

    features: pd.DataFrame
    y: Array
    w: Array
    s: Array

    @classmethod
    def of(cls, features: pd.DataFrame, claims: pd.Series, years: pd.Series, s: pd.Series) -> Table:
        w = years.to_numpy(dtype=float, copy=True)
        return cls(features, claims.to_numpy(dtype=float) / w, w, s.to_numpy(dtype=float, copy=True))


def tables(n: int) -> Iterator[tuple[str, Table]]:
    """Every table by its name, with n rows drawn at random, or all rows."""
    motor = CATALOGUE["motor"].files
    folder = find_folder("motor", {**motor, **FREMPL})
    if folder is None:
        raise SystemExit("Put pg15training.rda and freMPL1.rda into $FAIRDASH_DATA/motor.")
    content = read_verified(folder, {**motor, **FREMPL})
    policies = _drawn(_frame(content["pg15training.rda"], "pg15training"), n)
    known = ["PolNum", "CalYear", "Exppdays", *CLAIMS, MOTOR_SENSITIVE, SUBREGION]
    years = policies["Exppdays"] / DAYS_IN_A_YEAR
    for name, column in (("material", "Numtppd"), ("bodily", "Numtpbi")):
        yield name, Table.of(policies.drop(columns=known), policies[column], years, policies["Age"])
    frame = _frame(content["freMPL1.rda"], "freMPL1")
    # Some policies have an exposure of less than a day.
    frame = _drawn(frame[frame["Exposure"] > 0.01], n)
    known = ["ClaimInd", "ClaimAmount", "Exposure", "DrivAge", "RecordBeg", "RecordEnd"]
    yield (
        "freMPL1",
        Table.of(frame.drop(columns=known), frame["ClaimInd"], frame["Exposure"], frame["DrivAge"]),
    )
    yield "simulated, 5 %", simulated(n, frequency=0.05, strength=0.12, seed=1)
    yield "simulated, 10 %", simulated(n, frequency=0.1, strength=0.2, seed=2)


def _frame(content: bytes, name: str) -> pd.DataFrame:
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # warnings about R types that the reader does not know
        frame: pd.DataFrame = rdata.read_rda(io.BytesIO(content))[name]
    return frame


def _drawn(frame: pd.DataFrame, n: int) -> pd.DataFrame:
    return frame.sample(min(n, len(frame)), random_state=0).sort_index().reset_index(drop=True)


def simulated(n: int, *, frequency: float, strength: float, seed: int) -> Table:
    """Rare claims that the columns hardly predict, and age, which is related to most columns."""
    rng = np.random.default_rng(seed)
    age, years = rng.uniform(18, 85, n), rng.uniform(0.2, 1, n)
    away = (age - 50) / 20
    features = pd.DataFrame(
        {
            "bonus": -away + rng.normal(size=n),
            "licence": (age - 18) * rng.uniform(0.5, 1, n),
            "power": rng.integers(4, 13, n).astype(float),
            "value": rng.gamma(2, 8, n) + 4 * np.exp(-(away**2)),
            "density": rng.lognormal(4, 1.3, n),
            "zone": [f"Z{k}" for k in rng.integers(1, 13, n)],
            "use": np.where(rng.random(n) < 1 / (1 + np.exp(away)), "work", "home"),
        }
    )
    risk = features["bonus"] + 0.2 * (features["power"] - 8) + 0.3 * np.log(features["density"] / 50)
    risk = risk + 0.8 * away**2 + 0.5 * (features["use"] == "work")
    claims = rng.poisson(frequency * np.exp(strength * (risk - 0.3)) * years)
    return Table(features, claims / years, years, age)


def gap(premium: Array, s: Array, w: Array) -> float:
    """Largest less smallest mean premium of tenths of the exposure by s, as a share of the mean premium."""
    order = np.argsort(s, kind="stable")
    edges = np.interp(np.arange(1, 10) / 10, np.cumsum(w[order]) / w.sum(), s[order])
    group = np.searchsorted(edges, s)
    mass = np.bincount(group, w)
    means = (np.bincount(group, w * premium) / np.maximum(mass, 1e-12))[mass > 0]
    return float(np.ptp(means) / np.average(premium, weights=w))


def premiums(table: Table, split: Split, alpha: float) -> Iterator[tuple[str, float, Array]]:
    """Method, strength and the premiums (n,) of all rows."""
    train, n = split.train, len(table.y)
    y, w = table.y[train], table.w[train]
    terms = choose_terms(table.features.iloc[train], w, TermOptions())
    blocks = [slice(*edge) for edge in pairwise(accumulate((term.width for term in terms), initial=0))]
    x = design(terms, table.features)
    unit, share = np.average(y, weights=w), w / w.sum()

    def glm(columns: Array) -> Array:
        """Linear predictor (n,) of the GLM of these columns."""
        beta, _ = fit_glm(
            columns[train], y / unit, w / w.mean(), loss=POISSON, shape=Shape.ridge(columns.shape[1], alpha)
        )
        return columns @ beta[:-1] + beta[-1]

    eta = glm(x)
    yield "glm", 0.0, np.exp(eta)
    for penalty, lams in LAMS.items():
        fitted = fit_stack(
            x[train],
            y,
            s=table.s[train, None],
            sample_weight=w,
            lams=lams,
            options=FitOptions(loss=POISSON, alpha=alpha, penalty=penalty),
            random_state=0,
        )
        for lam, coefficients, intercept in zip(lams, fitted.coefficients, fitted.intercept, strict=True):
            yield penalty, lam, np.exp(x @ coefficients + intercept)

    functions = of_ranks(
        torch.as_tensor(table.s)[None, :, None],
        [torch.as_tensor(train)],
        smooth_functions,
        torch.as_tensor(table.w)[None, :, None],
    )[0].numpy()
    functions = functions - share @ functions[train]

    def follows(values: Array) -> Array:
        """Projection of values (n, …) on the functions, estimated on training rows."""
        root = np.sqrt(share)[:, None]
        centred = (values - share @ values[train])[train].reshape(len(train), -1)
        found = np.linalg.lstsq(root * functions[train], root * centred)[0]
        return (functions @ found).reshape(values.shape)

    ones = np.column_stack([x, np.ones(n)])
    covariance = (ones[train] * share[:, None]).T @ functions[train]
    for strength in COVARIANCES:
        extra = 2 * strength * covariance @ covariance.T + np.diag([*np.full(x.shape[1], alpha), 0.0])
        beta = newton(ones[train], y / unit, share, extra)
        yield "covariances", strength, np.exp(ones @ beta)
    for strength in COVARIANCES:
        extra = np.diag([*np.full(x.shape[1], alpha), 0.0])
        beta = newton(ones[train], y / unit, share, extra, functions[train] * np.sqrt(strength))
        yield "price", strength, np.exp(ones @ beta)
    projected, of_premium, of_eta = follows(x), follows(np.exp(eta)), follows(eta)
    for part in SHARES:
        yield "orthogonal", part, np.exp(glm(x - part * projected))
        yield "residual", part, np.maximum(np.exp(eta) - part * of_premium, 0.02)
        yield "residual_log", part, np.exp(eta - part * of_eta)

    def tells(block: slice) -> float:
        """The largest share of the variance of a smooth function of s that a factor's columns explain."""
        root = np.sqrt(share)[:, None]
        own = root * (x[train, block] - share @ x[train, block])
        wanted = root * functions[train, :3]
        rest = wanted - own @ np.linalg.lstsq(own, wanted)[0]
        return float((1 - (rest**2).sum(axis=0) / (wanted**2).sum(axis=0)).max())

    worst = sorted(blocks, key=tells, reverse=True)
    for count in range(1, min(MAX_DROPPED, len(blocks) - 1) + 1):
        gone = [column for block in worst[:count] for column in range(block.start, block.stop)]
        yield "dropped", count, np.exp(glm(np.delete(x, gone, axis=1)))


def newton(x: Array, y: Array, share: Array, extra: Array, functions: Array | None = None) -> Array:
    """Coefficients that minimise the Poisson deviance plus ½ βᵀ `extra` β, by damped Newton steps.

    With `functions` (n, q), the sum of squared covariances of the premium with them is added.
    """
    f = np.zeros((len(y), 1)) if functions is None else functions

    def value(beta: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.exp(x @ beta)
            covariance = (share * mean) @ f
            found = share @ (mean - y * (x @ beta)) + beta @ extra @ beta / 2 + covariance @ covariance
        return float(found)

    beta = np.zeros(x.shape[1])
    now = value(beta)
    for _ in range(100):
        mean = np.exp(x @ beta)
        covariance = (share * mean) @ f
        moves = x.T @ (f * (share * mean)[:, None])
        slope = x.T @ (share * (mean - y)) + extra @ beta + 2 * moves @ covariance
        # Omit the second derivative of the premium, which can make the curvature negative (Gauss–Newton).
        curvature = (x.T * (share * mean)) @ x + extra + 2 * moves @ moves.T
        step = np.linalg.lstsq(curvature, slope)[0]
        length = 1.0
        while length > 1e-6 and not value(beta - length * step) < now:
            length /= 2
        beta, before, now = beta - length * step, now, value(beta - length * step)
        if before - now < 1e-11:
            break
    return beta


def measured(table: Table, splits: Sequence[Split]) -> pd.DataFrame:
    """One row per split, method and strength."""
    options = FitOptions(loss=POISSON)
    alpha = choose_alpha(
        table.features,
        table.y,
        table.w,
        with_held_out(splits[0], random_state=0, groups=None),
        options=options,
        terms=TermOptions(),
        random_state=0,
    )
    rows = []
    for j, split in enumerate(splits):
        train, test = split.train, split.test
        y, w, s = table.y[test], table.w[test], table.s[test]
        flat = np.average(table.y[train], weights=table.w[train])
        for way, strength, found in premiums(table, split, alpha):
            # All methods are balanced on the training rows.
            premium = (found * flat / np.average(found[train], weights=table.w[train]))[test]
            rows.append(
                {
                    "way": way,
                    "strength": strength,
                    "split": j,
                    "deviance": POISSON.mean_deviance(y, premium, w)
                    / POISSON.mean_deviance(y, np.full(len(y), flat), w),
                    "gap": gap(premium, s, w),
                    "hgr": fd.measure("hgr_spline", premium, s),
                    "fold": premium.max() / premium.min(),
                    "alpha": alpha,
                }
            )
    return pd.DataFrame(rows)


def compared(rows: pd.DataFrame, *, test_to_train: float) -> pd.DataFrame:
    """One row per method and strength, with the default method at the same gap and at the same HGR."""
    keys = ["way", "strength"]
    means = rows.groupby(keys, sort=False).mean(numeric_only=True).drop(columns="split")
    measures = ["deviance", "gap", "hgr"]
    each = {key: own.set_index("split")[measures] for key, own in rows.groupby(keys, sort=False)}
    flat = each["glm", 0.0].assign(deviance=1.0, gap=0.0, hgr=0.0)
    path = [each["glm", 0.0], *(each[AVERAGES, lam] for lam in sorted(LAMS[AVERAGES])), flat]

    def interval(values: pd.Series) -> tuple[float, float, float]:
        n_splits = len(values)
        variance = pd.Series([values.var()])
        error = corrected_standard_error(variance, n_splits=n_splits, test_to_train=test_to_train)[0]
        reach = stats.t.ppf(0.975, n_splits - 1) * error
        return values.mean(), values.mean() - reach, values.mean() + reach

    for key, own in each.items():
        found = {"flat": own["deviance"] - 1.0}
        found |= {f"by_{name}": more_than(path, own, name) for name in ("gap", "hgr")}
        for name, values in found.items():
            means.loc[[key], [name, f"{name}_low", f"{name}_high"]] = interval(values)
    return means.reset_index()


def more_than(path: Sequence[pd.DataFrame], own: pd.DataFrame, name: str) -> pd.Series:
    """Deviance of each split less that of the path at the point where it first has the same mean dependence.

    If the dependence of a split differs from that of the path at this point, the slope of the path converts
    the difference to deviance; this leaves the mean unchanged and includes the noise of the dependence.
    """
    at = max(own[name].mean(), 0.0)
    before = path[0]
    if before[name].mean() <= at:
        return own["deviance"] - before["deviance"]
    for after in path[1:]:
        high, low = before[name].mean(), max(after[name].mean(), 0.0)
        if low <= at:
            break
        before = after
    part = (high - at) / (high - low)
    beside = (1 - part) * before + part * after
    slope = min((after["deviance"].mean() - before["deviance"].mean()) / (low - high), 0.0)
    more = own[name] - beside[name]
    return own["deviance"] - beside["deviance"] - slope * (more - more.mean())


def rivals_of(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rows of the other methods: those that rate without s, and those that need it."""
    rivals = table[~table["way"].isin(["glm", AVERAGES])]
    needs = rivals["way"].isin(NEED_S)
    return {"without": rivals[~needs], "with": rivals[needs]}


def page_table(table: pd.DataFrame) -> str:
    """The table on the page: the default method at some λ, and the number of other methods below its path."""
    lines = [
        "| claims | default, λ = 0.1 | default, λ = 1 | default, λ = 10 | below by gap | below by HGR "
        "| need age: below by gap | below by HGR |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, own in table.groupby("table", sort=False):
        at = own[own["way"] == AVERAGES].set_index("strength")
        cells = [f"{at.loc[lam, 'deviance']:.4f} (gap {at.loc[lam, 'gap']:.1%})" for lam in (0.1, 1.0, 10.0)]
        for rivals in rivals_of(own).values():
            for by in ("by_gap", "by_hgr"):
                below, proved = rivals[by] < 0, rivals[f"{by}_high"] < 0
                cells.append(f"{below.sum()} of {len(rivals)}, beyond noise {proved.sum()}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    parts = []
    for name, table in tables(options.rows):
        splits = random_splits(len(table.y), n_splits=options.splits, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rows = measured(table, splits)
        ratio = len(splits[0].test) / len(splits[0].train)
        parts.append(compared(rows, test_to_train=ratio).assign(table=name, rows=len(table.y)))
        print(name, flush=True)
    found = pd.concat(parts, ignore_index=True)
    found.to_csv(RESULTS / "tariff_rivals.csv", index=False, float_format="%.5g")
    print(page_table(found))


if __name__ == "__main__":
    main()
