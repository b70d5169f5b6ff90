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

A price may follow a combination of attributes although it follows none of them alone. For example, a price
may rise with age for women and fall with age for men. fairdash can measure, reduce and show the dependence on
such a combination.

## Measures

- For several columns, `hgr_spline` correlates u with a sum of functions. There is one function for each
  column, and one for each product of two columns' ranks. For several discrete columns, `hgr_witsenhausen` is
  exact, because it compares u with every combination of the columns' values.
- `jdcov` and `ccdcov` are the joint and the concatenated distance covariance used as penalties by Lee,
  Antonio, Avanzi, Marchi and Zhou (2025, arXiv 2509.08163). By default, u and every attribute are scaled to
  variance 1, and dependence among the attributes is not included. With `form="published"`, `jdcov` and
  `ccdcov` are the squared values of the authors' code.
- `joint_distance_correlation` is normalised to [0, 1].

Several columns of 0 and 1 count as the classes of one attribute if every row has at most one 1. The next
table gives the share of independent samples of 60 rows with p ≤ 5 %.

{size}

In a million rows of three Gaussians, the joint HGR by splines is {value} and the exact value is {exact}. The
difference between the two values is {off} standard errors. The functions of both sides include normal scores,
because splines of ranks do not follow a straight line into the tails.

## Penalties

`jdcov` and `ccdcov` are also methods of networks and of `FairTariff`. Up to 32 features replace the n × n
matrix of distances, so that the time of a training step is linear in the number of rows. `jdcov` covers
combinations of up to three attributes. In the next table, the price of 4,000 new people rises with age for
women and falls with age for men. The column `gap` is the difference between the largest and the smallest
average price over the combinations of ten bands of age and sex. The column `mse` is the mean squared error.

{crossing}

The next table gives the CPU seconds of a fit with one sensitive attribute, with a numeric attribute and one
with two classes, and with two numeric attributes.

{cost}

## On the Trade-off page

A run with two or three attributes shows the dependence on each attribute, on every combination of two
attributes (“age × sex”) and on all attributes together. The dependence on a combination is measured as the
dependence on the product of the two attributes' ranks. If predictions are independent of each attribute
alone, this dependence is due to the combination. If predictions follow one attribute, they may also depend on
the product without any effect of the combination, because the product shows how far the attribute is from its
middle. The dependence that you choose to show determines the initial position of the slider. If you choose a
combination or all attributes together, the page shows the average prediction for each combination of values.

## Compared with Lee et al.

The models predict claim counts of pg15training, and region and gender are sensitive. The numbers of Lee et
al. are means over ten seeds, and our numbers come from one seed. RPS is the ranked probability score. CCdCov
and JdCov are squared, and computed from unscaled counts and 0/1 columns. UF is the variance of the averages
of twenty groups, divided by the variance of all predictions.

{pg15}

The two studies differ. Our networks have other layers, another optimiser and fewer epochs, and they predict
yearly rates weighted by exposure. The split follows the code of Lee et al., but the order of strata of equal
size depends on the version of pandas. We compute the covariances on 6,000 of the validation policies. JdCov
includes the dependence between region and gender, which is different among these 6,000 policies. Our λ
applies to standardised columns. Compare the errors at equal CCdCov or JdCov, not at equal λ. At equal values
of CCdCov or JdCov, our error is slightly lower. Without a penalty, our error is also slightly lower.
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
