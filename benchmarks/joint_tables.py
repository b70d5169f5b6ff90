"""Write docs/joint.md from the committed results of :mod:`benchmarks.joint`.

python -m benchmarks.joint_tables
"""

from __future__ import annotations

import pandas as pd

from benchmarks.estimator_tables import RESULTS, ROOT, markdown

PAGE = ROOT / "docs" / "joint.md"

TEXT = """\
# Several sensitive attributes together

This page is made by `python -m benchmarks.joint_tables` from `benchmarks/results/joint_*.csv`, which
`python -m benchmarks.joint` reproduces.

A price may follow a combination of attributes that follows from neither: it may rise with age for women and
fall with age for men. fairdash measures that, lowers it and shows it.

## Measures

- `hgr_spline` of several columns correlates u with a sum of a function of each column and of each product
  of two columns' ranks. `hgr_witsenhausen` of several discrete columns is exact: it compares u with the
  cells of their crossing.
- `jdcov` and `ccdcov` are the joint and the concatenated distance covariance that Lee, Antonio, Avanzi,
  Marchi and Zhou (2025, arXiv 2509.08163) penalise. By default u and every attribute have variance 1, and
  dependence among the attributes does not count. With `form="published"` they are the squares of the
  authors' code.
- `joint_distance_correlation` is normalised to [0, 1].

Columns of 0 and 1 of which no row has two are the classes of one attribute. Under independence, samples of
60 rows reach p ≤ 5 % this often:

{size}

In a million rows of three Gaussians, the joint HGR by splines is {value} and the exact value is {exact}:
{off} standard errors apart. Normal scores are among the functions of both sides, because splines of ranks
do not follow a straight line into the tails.

## Penalties

`jdcov` and `ccdcov` are also methods of networks and of `FairTariff`. Up to 32 features replace the n × n
matrix of distances, so that a step is linear in its rows. `jdcov` sees up to three attributes together. The
table shows 4,000 new people whose price rises with age for women and falls for men: the gap between the
averages of ten bands of age by sex, and the mean squared error.

{crossing}

CPU seconds of a fit with one sensitive attribute, with a numeric one and one of two classes, and with two
numeric ones:

{cost}

## On the Trade-off page

A run with two or three attributes shows dependence on each, on every crossing (“age × sex”) and on all
together. The dependence on a crossing is that on the product of the two attributes' ranks, which is what
the combination adds. The chosen one opens the slider. The averages are then those of the cells of the
crossing.

## Beside the table of Lee et al.

Claim counts of pg15training with region and gender. Their figures are means over ten seeds, ours are of
one. RPS is the ranked probability score. CCdCov and JdCov are squares in the units of counts and classes.
UF is the variance of the twenty groups' averages, divided by that of all predictions.

{pg15}

The differences: our networks have other layers, another optimiser and fewer epochs, and predict yearly
rates weighted by exposure. The split follows their code, but the order of strata of equal size depends on
the version of pandas. Our covariances are of 6,000 of the validation policies, and dependence of region and
gender, which JdCov counts, differs among these. Our λ belongs to standardised columns, so compare errors at
equal CCdCov or JdCov. There our error is a little lower, as it is without a penalty.
"""


def page() -> str:
    """The whole page as Markdown."""
    tables = {
        name: pd.read_csv(RESULTS / f"joint_{name}.csv")
        for name in ("size", "crossing", "cost", "gaussian", "pg15", "pg15_published")
    }
    first = tables["gaussian"].iloc[0]
    found = [tables["pg15"].assign(by="fairdash"), tables["pg15_published"].assign(by="Lee et al.")]
    pg15 = pd.concat(found)[["by", "method", "lam", "rps", "ccdcov", "jdcov", "uf"]]
    rounded = {
        "size": tables["size"],
        "crossing": tables["crossing"].round(1).astype(object).fillna("–"),
        "cost": tables["cost"].round(2),
        "pg15": pg15.astype({"lam": int}).map(
            lambda each: f"{each:.3g}" if isinstance(each, float) else each
        ),
    }
    rounded["pg15"]["rps"] = pg15["rps"].map("{:.4f}".format)
    return TEXT.format(
        **{name: markdown(table).strip() for name, table in rounded.items()},
        value=f"{first['value']:.4f}",
        exact=f"{first['exact']:.4f}",
        off=f"{abs(first['exact'] - first['value']) / first['se']:.1f}",
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
