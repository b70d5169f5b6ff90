"""Write docs/verdict.md from the committed results of :mod:`benchmarks.omnibus` and others.

python -m benchmarks.omnibus_tables
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from benchmarks.estimator_tables import RESULTS, ROOT, markdown
from fairdash.dependence.omnibus import (
    COMPONENTS,
    MAX_BLOCKS,
    MAX_PERMUTED_ROWS,
    N_MULTIPLIERS,
    N_PERMUTATIONS,
)
from fairdash.evaluation.assess import MAX_JUDGED_ROWS, VERDICT_PERMUTATIONS

PAGE = ROOT / "docs" / "verdict.md"

TEXT = """\
# The verdict: is a link found?

This page is made by `python -m benchmarks.omnibus_tables` from `benchmarks/results/omnibus_*.csv`, which
`python -m benchmarks.omnibus` reproduces.

One test of several measures decides whether predictions still depend on the sensitive attribute, because
every single measure misses some links. Pages, reports and the command line show the p-value of this test
(`verdict_p` in a run's tables). A p-value of at most 5 % means that a link is found. In the chart of error
against dependence, the grey band shows only the range of the displayed measure under independence. A point
may be inside the band although another measure finds a link, and vice versa. Runs made before this test
existed keep their old verdicts.

## How the test works

{measures}

1. u is the prediction, or the residual, and v is the sensitive attribute. All measures except the first use
   functions of the ranks of u and v.
2. v is permuted B times over all rows. If rows belong together, whole groups exchange their values. Every
   measure is computed for every order of v, including the observed order. With several splits, each measure
   is averaged over the splits, and the same permuted column is used in all splits.
3. For each measure and every order, the test computes a rank share: the share of all B + 1 orders for which
   the measure is at least as large as for this order. The statistic of an order is the smallest of its six
   rank shares.
4. The p-value is the share of the B + 1 orders whose statistic is no larger than the statistic of the
   observed order. All orders are treated alike, so the p-value is exact if the orders are exchangeable.

With weights, the test runs twice: the weights stay with u in one run and with v in the other. The larger of
the two p-values is used. The test is not valid if the weight depends on both u and v. Each sensitive column
gets a separate verdict. Above {most} rows, the rows are not permuted. Instead, the products of the functions
are summed with random signs, one per row or group. This test is an approximation that improves with the
number of rows. If there are more than {blocks} rows or groups, several of them, chosen at random, share a
sign. Pages use B = {pages} and at most {judged} test rows. A blend of two trained models is compared with the
shuffles of the standard model.

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

In the library, the default B is {library}, or {signs_drawn} with random signs. `sample_weight=` and `groups=`
have the same meaning as in `fd.assess_dependence`. Each of the six measures has its largest value at some
order, so p-values are rarely below 6 / (1 + B). Several tests corrected by Holm's method therefore need B =
1,999.

## Links found, 300 rows

The table gives the share of data sets in which a link is found at the 5 % level (B = {pages}), by the verdict
and by the test of each measure alone. In the last row of the table, there is no link.

{power}

## False alarms, 300 rows

The table gives the share of independent data sets in which a link is found. The share should be at most 5 %,
the level of the test. With weights, the share is smaller, because the test uses the larger of two p-values.
The share is smallest if the weights depend on neither variable.

{size}

## Signs compared with permutations, 2,000 rows

The table compares the test with permutations and the test with random signs on the same data sets. Pages use
random signs only for larger data sets. In the rows “linked”, a small multiple of v was added to u. The cells
give the share of data sets in which a link is found.

{signs}

## A run's verdict: five random splits of 1,994 rows

The predictions are simulated from a normal distribution with correlation ρ with the attribute. The verdict is
computed on the test rows of the five splits.

{splits}

## Every p-value, and what it tests

Each p-value tests the hypothesis next to it in the table. π is the price, s the attribute, Y the outcome, L
the portfolio's loss ratio and C the factors. “Size” is the share of samples with p ≤ 5 % when the hypothesis
is true. The sizes come from `python -m benchmarks.p_values` and from the studies on this page and on
[conditional.md](conditional.md), [groups.md](groups.md) and [choosing.md](choosing.md).

{places}

The p-value of “no gap” remains valid if the spread of prices follows s. The test multiplies the price, or
cost minus price, by fixed functions of s. It compares the mean of each product with its standard error, for
which policies are independent, but not rows. The functions are waves along the rank of s and indicators of
the lowest and highest values, or differences between levels. The p-value does not come from the band of the
curve, because the band includes an allowance for bias. For the criteria that are not primary, Holm's method
corrects all `p_below` together, and all `p_above` together, before their verdicts are decided. `p_value` and
`p_any_link` do not affect any verdict.

With few rows and heavy tails, some sizes in the table exceed 5 %, because a few large losses dominate a mean.

## Time of one test

The table gives the processor time on one core.

{seconds}
"""


#: Tests by name.
FLAT = "largest mean product of π − E[π] with functions of s; studentized bootstrap"
JOINT = "the joint test of this page"
SHUFFLED = "permutations of v, of whole policies with groups"


def sizes(file: str, by: str, column: str, *kept: str) -> str:
    """Measured false-alarm rates by kind of sample."""
    found = pd.read_csv(RESULTS / file).set_index(by)[column]
    return "; ".join(f"{name} {100 * found[name]:.1f} %" for name in kept or found.index)


def of_audit(name: str) -> str:
    """Measured false-alarm rates of a p-value in :mod:`benchmarks.p_values`."""
    table = pd.read_csv(RESULTS / "p_values.csv")
    found = table[table["p_value"] == name].set_index("sample")["at_0.05"]
    return "; ".join(f"{sample} {100 * size:.1f} %" for sample, size in found.items())


def places() -> Iterator[tuple[str, str, str, str]]:
    """Places that show a p-value, with its hypothesis, its test, and its measured false-alarm rate."""
    verdicts = "audit, `p_value` and “no gap”, "
    omnibus = sizes("omnibus_size.csv", "size", "found")
    equal = pd.read_csv(RESULTS / "conditional.csv").query(
        "effect == 'none' and case != 'jump' and rows == 2000"
    )
    among = "; ".join(
        f"{case.replace('_', ' ')} {100 * found:.1f} %"
        for case, found in zip(equal["case"], equal["found"], strict=True)
    )
    yield (
        verdicts + "independence; answer 1",
        "E[π at s] is the same at every s",
        FLAT,
        of_audit("independence"),
    )
    yield (
        verdicts + "independence among equals; answer 4",
        "the same among rows equal in C",
        "the same, after regressing π and the functions of s on C",
        of_audit("independence among equals"),
    )
    yield (
        verdicts + "sufficiency; answer 5",
        "E[Y/L − π at π, s] is E[Y/L − π at π] in every cell",
        "sum of squares over cells, without noise; normal draws",
        of_audit("sufficiency"),
    )
    yield (
        verdicts + "equalized residuals; answer 5",
        "E[Y/L − π at s] is the same at every s",
        FLAT.replace("π − E[π]", "Y/L − π"),
        of_audit("equalized residuals"),
    )
    yield "audit, `p_any_link`, independence; answer 1", "π and s are independent", JOINT, omnibus
    yield (
        "audit, `p_any_link`, equalized residuals; answer 5",
        "Y/L − π and s are independent",
        JOINT,
        "the same",
    )
    yield (
        "audit, `p_any_link`, independence among equals; answer 4",
        "E[π at C, s] is E[π at C]",
        "largest product of residuals, alone and times functions of C; multiplier bootstrap",
        among,
    )
    yield (
        "audit, details, `p_below`",
        "the gap is at least the threshold",
        "every pair of points (intersection–union)",
        of_audit("the gap is below the threshold"),
    )
    yield (
        "audit, details, `p_above`",
        "the gap is at most the threshold",
        "the clearest pair of points; normal draws",
        of_audit("the gap is above the threshold"),
    )
    yield "audit, answer 2, combined attributes", "E[π] is the same in every cell", FLAT, "as 20 levels above"
    yield (
        "audit, answer 5, autocalibration",
        "E[Y/L at π] is π in every band",
        "as sufficiency",
        of_audit("autocalibration"),
    )
    yield (
        "audit, `classes`",
        "a class has the mean of the rest",
        "normal, Holm over classes",
        of_audit("a class against the rest"),
    )
    yield (
        "audit, `class_pairs`",
        "two classes have the same mean",
        "normal, Holm over pairs",
        of_audit("a pair of classes"),
    )
    yield (
        "audit, `class_probabilities`",
        "a class has the mean of the rest (class and π unrelated given p)",
        "normal, Holm over classes",
        of_audit("a class by probability"),
    )
    yield (
        "audit, `calibration_of_classes`",
        "p is calibrated",
        "score test, Holm over classes",
        of_audit("calibrated probabilities"),
    )
    splits = pd.read_csv(RESULTS / "omnibus_splits.csv").set_index("splits")["found"][0]
    yield (
        "trade-off page, reports, `verdict_p`",
        "predictions, or errors, and s are independent",
        f"{JOINT}, on all splits",
        f"five splits {100 * splits:.1f} %",
    )
    confirmed = pd.read_csv(RESULTS / "confirmation.csv").set_index("law")["confirmed"]["independent"]
    yield (
        "confirmation",
        "the same on rows set aside, for every attribute",
        f"{JOINT}, smallest p times the attributes",
        f"{100 * (1 - confirmed):.1f} %",
    )
    yield "data page, first sentence", "target and s are independent", JOINT, "as above"
    yield (
        "data page, features that predict s",
        "a feature and s are independent",
        "permutations, Westfall and Young",
        of_audit("five features"),
    )
    grouped = pd.read_csv(RESULTS / "grouped_null.csv").query("exchanged == 'policies'")["false_alarms"]
    yield (
        "`fairdash measure`, p-value; `fd.assess_dependence`",
        "u and v are independent",
        f"{SHUFFLED}",
        f"five measures with groups {100 * grouped.min():.1f} to {100 * grouped.max():.1f} %",
    )
    yield "`fairdash measure`, verdict; `fd.independence_test`", "u and v are independent", JOINT, "as above"
    yield (
        "`fairdash measure --given`; `fd.assess_conditional_dependence`",
        "E[u at C, v] is E[u at C]",
        "as among equals",
        "as above",
    )


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
    columns = ["where", "hypothesis", "test", "size"]
    return TEXT.format(
        places=markdown(pd.DataFrame(places(), columns=columns)),
        measures=markdown(pd.DataFrame(measures)),
        most=f"{MAX_PERMUTED_ROWS:,}",
        blocks=f"{MAX_BLOCKS:,}",
        pages=VERDICT_PERMUTATIONS,
        judged=f"{MAX_JUDGED_ROWS:,}",
        library=N_PERMUTATIONS,
        signs_drawn=N_MULTIPLIERS,
        signs=tables.pop("multipliers"),
        **tables,
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
