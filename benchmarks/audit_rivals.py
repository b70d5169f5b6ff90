"""Conclusions of other packages in the simulated cases of :mod:`benchmarks.audit_cases`.

    pip install insurance-fairness==1.2.2 fairlearn==0.15.0
    python -m benchmarks.audit_rivals --rows 2000 --seeds 20

No other package accepts a continuous attribute directly: insurance-fairness and Fairlearn get fifths of it. A
package flags a price in these cases: insurance-fairness's traffic light for demographic parity is amber or
red; Fairlearn's largest difference of mean predictions exceeds δ; or the slope along s, which R's fairml
(Scutari, Panero and Proissl 2022) removes from the price, differs from 0 at 5 %. Writes
results/audit_rivals.csv.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy.stats import linregress

from benchmarks.audit_cases import CASES, DELTA, RESULTS

PLACE = RESULTS / "audit_rivals.csv"
BANDS = 5


def flags(table: pd.DataFrame) -> dict[str, bool]:
    """Packages that flag the price of a table with columns price, s and, possibly, years."""
    import polars
    from fairlearn.metrics import MetricFrame, mean_prediction
    from insurance_fairness import demographic_parity_ratio

    years = table.get("years", pd.Series(1.0, index=table.index))
    bands = np.ceil(table["s"].rank() / len(table) * BANDS).astype(int).astype(str)
    frame = polars.DataFrame(
        {"price": table["price"].to_numpy(), "years": years.to_numpy(), "band": bands.to_numpy().astype(str)}
    )
    light = demographic_parity_ratio(frame, "band", "price", "years").rag
    apart = MetricFrame(
        metrics=mean_prediction,
        y_true=table["price"],
        y_pred=table["price"],
        sensitive_features=bands,
        sample_params={"sample_weight": years},
    ).difference()
    return {
        "insurance_fairness": light != "green",
        "fairlearn": apart > DELTA * np.average(table["price"], weights=years),
        "fairml": linregress(table["s"], table["price"]).pvalue <= 0.05,
    }


def page_lines(table: pd.DataFrame, ours: pd.DataFrame) -> list[str]:
    """The table of docs/audit.md: shares of the seeds, from stored results of this study and of the cases."""
    lines = [
        "| case | rows | true gap | above | below | insurance-fairness | Fairlearn | fairml's slope |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in table.merge(ours, on=["case", "n"], suffixes=("", "_ours"), how="left").itertuples():
        flagged = (getattr(row, name) / row.seeds for name in ("insurance_fairness", "fairlearn", "fairml"))
        shares = (row.gap_above, 1 - row.gap_above - row.gap_undecided, *flagged)
        cells = (row.case, f"{row.n:,}", f"{row.gap:.0%}", *(f"{abs(each):.0%}" for each in shares))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    made = []
    for k, (name, case) in enumerate(CASES.items()):
        found = [
            flags(pd.DataFrame(case.draw(options.rows, np.random.default_rng([seed, options.rows, k]))))
            for seed in range(options.seeds)
        ]
        counts = {rival: int(sum(each[rival] for each in found)) for rival in found[0]}
        made.append({"case": name, "n": options.rows, "seeds": options.seeds, "gap": case.gap, **counts})
        print(made[-1], flush=True)
    table = pd.DataFrame(made)
    if PLACE.exists():
        kept = pd.read_csv(PLACE)
        table = pd.concat([kept[kept["n"] != options.rows], table]).sort_values("n", kind="stable")
    table.to_csv(PLACE, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
