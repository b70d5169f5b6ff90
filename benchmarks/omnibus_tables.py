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

Made by `python -m benchmarks.omnibus_tables` from `benchmarks/results/omnibus_*.csv`, which
`python -m benchmarks.omnibus` remakes.

One test of several measures decides whether predictions still depend on the sensitive attribute, because
every single measure misses some links. Pages, reports and the command line give its p-value (`verdict_p` in
a run's tables); a link is found where it is at most 5 %. The measure shown has its own test: the grey band
of the front is its range under independence. A point may be inside the band while another measure finds a
link, and vice versa. Runs made before this test existed keep their old verdicts.

## How it is made

{measures}

1. u is the prediction, or the residual; v the sensitive attribute. Functions are of their ranks, except in
   the first measure.
2. v is permuted B times over all rows; whole groups exchange their values where rows belong together. Every
   measure is computed for every order, the one at hand among them. Over several splits each measure is
   averaged over the splits, all of which see the same permuted column.
3. For each measure every order gets the share of all B + 1 orders that reach its value; ties count against
   it. The order's statistic is the least of its six shares.
4. The p-value is the share of the B + 1 orders whose least share is no larger than that of the order at hand.
   All orders are treated equally, so the p-value is exact where they are exchangeable.

With weights all of this is done twice, the weight kept with u and kept with v, and the larger p-value
counts. A weight that depends on both is not covered. Each sensitive column has its own verdict. Above {most}
rows the products of the functions are summed with random signs, one a row or group, instead of permuting
rows: this is approximate, and improves with the number of rows. Of more than {blocks} rows or groups several
share a sign, at random. Pages take B = {pages}, and at most {judged} rows of a part. A blend of two trained
models is compared with the shuffles of the standard model.

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

In the library B is {library} by default, {signs_drawn} with signs. `sample_weight=` and `groups=` are as in
`fd.assess_dependence`. In each of the six measures one order comes first, so that p-values are rarely below
6 / (1 + B): several tests corrected by Holm's rule need B = 1,999.

## Links found, 300 rows

Share of data sets in which a link is found at 5 % (B = {pages}); with the verdict and the test of each
measure alone. The last row has no link.

{power}

## False alarms, 300 rows

Share of independent data sets in which a link is found. The test promises at most 5 %. With weights it is
less, because the larger of two p-values counts. It is least where weights depend on neither variable.

{size}

## Signs beside permutations, 2,000 rows

Fewer rows than signs are used for, on the same data sets. “Linked”: u has a small multiple of v added.

{signs}

## A run's verdict: five random splits of 1,994 rows

Predictions are simulated, normal with correlation ρ to the attribute; the verdict is from the five splits'
test rows.

{splits}

## Time of one test

Processor time on one core.

{seconds}
"""


def page() -> str:
    """The whole page as Markdown."""
    measures = [
        {"id": f"`{one.id}`", "what it is": one.title, "what it sees": one.sees}
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
