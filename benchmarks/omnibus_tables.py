"""Write docs/verdict.md from the committed results of :mod:`benchmarks.omnibus`.

python -m benchmarks.omnibus_tables
"""

from __future__ import annotations

import pandas as pd

from benchmarks.estimator_tables import RESULTS, ROOT, markdown
from fairdash.dependence.omnibus import (
    COMPONENTS,
    MOST_BLOCKS,
    MOST_PERMUTED_ROWS,
    N_MULTIPLIERS,
    N_PERMUTATIONS,
)
from fairdash.evaluation.assess import MOST_JUDGED_ROWS, VERDICT_PERMUTATIONS

PAGE = ROOT / "docs" / "verdict.md"

TEXT = """\
# The verdict: is a link found?

This page is made by `python -m benchmarks.omnibus_tables` from `benchmarks/results/omnibus_*.csv`, which
`python -m benchmarks.omnibus` reproduces.

One test of several measures decides whether predictions still depend on the sensitive attribute, because
every single measure misses some links. Pages, reports and the command line show the p-value of this test
(`verdict_p` in a run's tables). A p-value of at most 5 % means that a link is found. The grey band of the
front shows only the range of the displayed measure under independence. A point may be inside the band while
another measure finds a link, and vice versa. Runs made before this test existed keep their
old verdicts.

## How the test works

{measures}

1. u is the prediction, or the residual, and v is the sensitive attribute. All measures but the first use
   functions of the ranks of u and v.
2. v is permuted B times over all rows. If rows belong together, whole groups exchange their values. Every
   measure is computed for every order of v, including the observed order. With several splits, each measure
   is averaged over the splits, and all splits see the same permuted column.
3. For each measure, every order gets the share of all B + 1 orders whose value is at least as large,
   including ties. The statistic of an order is the smallest of its six shares.
4. The p-value is the share of the B + 1 orders whose statistic is no larger than the statistic of the
   observed order. All orders are treated alike, so the p-value is exact if they are exchangeable.

With weights, the test runs twice: the weights stay with u in one run and with v in the other. The larger
p-value counts. The test is not valid if the weight depends on both. Each sensitive column has its own
verdict. Above {most} rows, the rows are not permuted. Instead, the products of the functions are summed with
random signs, one per row or group. This is an approximation that improves with the number of rows. If there
are more than {blocks} rows or groups, several of them, chosen at random, share a sign. Pages use B = {pages}
and at most {judged} test rows. A blend of two trained models is compared with the shuffles of the
standard model.

```python
>>> import numpy as np
>>> import fairdash as fd
>>> rng = np.random.default_rng(0)
>>> age = rng.uniform(18, 90, 300)
>>> price = 400 + np.where(age > 87, 60.0, 0.0) + 20 * rng.normal(size=300)  # the oldest alone
>>> test = fd.independence_test(price, age, random_state=0)
>>> test.p_value < 0.05
True
>>> test.has_link, test.p_values["ends"] < 0.05
(True, True)

```

In the library, the default B is {library}, or {signs_drawn} with signs. `sample_weight=` and `groups=` have
the same meaning as in `fd.assess_dependence`. For each of the six measures some order has the largest value,
so p-values are rarely below 6 / (1 + B). Several tests corrected by Holm's method therefore need B = 1,999.

## Links found, 300 rows

The table gives the share of data sets in which a link is found at the 5 % level (B = {pages}), by the verdict
and by the test of each measure alone. The last row has no link.

{power}

## False alarms, 300 rows

The table gives the share of independent data sets in which a link is found. The test promises at most 5 %.
With weights the share is smaller, because the larger of two p-values counts. It is smallest if the weights
depend on neither variable.

{size}

## Signs compared with permutations, 2,000 rows

The table compares both versions on the same data sets, which are smaller than those for which signs are used.
“Linked” means that a small multiple of v is added to u. The cells give the share of data sets in which a
link is found.

{signs}

## A run's verdict: five random splits of 1,994 rows

The predictions are simulated from a normal distribution with correlation ρ to the attribute. The verdict uses
the test rows of the five splits.

{splits}

## Time of one test

The table gives the processor time on one core.

{seconds}
"""


def page() -> str:
    """The whole page as Markdown."""
    measures = [
        {"id": f"`{one.id}`", "what it is": one.title, "what it detects": one.sees}
        for one in COMPONENTS.values()
    ]
    names = {
        "power": {"power": "link", "found": "the verdict", "sets": "data sets"},
        "size": {"size": "independent data", "found": "false alarms", "sets": "data sets"},
        "multipliers": {
            "multipliers": "data",
            "by_permutations": "permutations",
            "by_multipliers": "signs",
            "sets": "data sets",
        },
        "splits": {"splits": "ρ", "found": "link found", "sets": "tables"},
        "seconds": {"n_permutations": "B", "processor_seconds": "processor seconds"},
    }
    tables = {
        name: markdown(pd.read_csv(RESULTS / f"omnibus_{name}.csv").rename(columns=columns))
        for name, columns in names.items()
    }
    return TEXT.format(
        measures=markdown(pd.DataFrame(measures)),
        most=f"{MOST_PERMUTED_ROWS:,}",
        blocks=f"{MOST_BLOCKS:,}",
        pages=VERDICT_PERMUTATIONS,
        judged=f"{MOST_JUDGED_ROWS:,}",
        library=N_PERMUTATIONS,
        signs_drawn=N_MULTIPLIERS,
        signs=tables.pop("multipliers"),
        **tables,
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
