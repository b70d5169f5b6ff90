"""Duration of an audit: seconds to the first answer and to all answers, and for a large file from disk.

    OMP_NUM_THREADS=2 python -m benchmarks.audit_times --write

Wall seconds and processor seconds on the machine as it was; other programs on it lengthen the wall seconds.
Each case runs in a fresh process. Writes results/audit_times.csv.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results" / "audit_times.csv"
#: Number of table columns besides price, attribute, exposure and outcome.
_FEATURES = 8
CASES = ("in memory", "from a file")


def policies(n: int, seed: int = 0) -> pd.DataFrame:
    """A table of 12 columns: a price of which half depends on age, claims, exposure, and features."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    features = {f"x{k}": (0.3 * z + rng.normal(size=n)).round(3) for k in range(_FEATURES - 2)}
    zone = rng.choice(list("abcdef"), n)
    price = 300 * (1 + 0.1 * z + 0.2 * (zone == "a") + 0.05 * features["x0"]) * rng.gamma(4, 0.25, n)
    return pd.DataFrame(
        {
            "premium": price.round(2),
            "age": (45 + 12 * z).round(1),
            "years": rng.uniform(0.1, 1, n).round(3),
            "claims": (price * (1 - 0.03 * z) * rng.gamma(2, 0.5, n)).round(2),
            "zone": zone,
            "bonus": rng.integers(50, 150, n),
            **features,
        }
    )


class _Clock:
    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def seconds(self) -> tuple[float, float]:
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def measure(case: str, n: int, *, file: Path | None = None) -> list[dict[str, object]]:
    """Seconds until each stage of one case."""
    frame = None if file is not None else policies(n)
    clock, marks = _Clock(), []

    def mark(what: str) -> None:
        wall, cpu = clock.seconds()
        marks.append({"case": case, "rows": n, "until": what, "wall_s": wall, "cpu_s": cpu})

    from fairdash.auditing.audit import execute_audit
    from fairdash.auditing.plan import QUESTIONS, AuditPlan, columns_of

    mark("imports")
    if frame is None:
        from fairdash.tables.readers.reading import read_table

        assert file is not None
        frame, _ = read_table(file)
        mark("table read")
    seen: set[str] = set()

    def progress(doing: str, _: float) -> None:
        for number, title in ((each.number, each.title) for each in QUESTIONS.values()):
            # Progress names the question that begins, so the previous question is answered.
            if doing == title and title not in seen and number > 1:
                mark(f"question {max(k for k in QUESTIONS if k < number)}")
            if doing == title:
                seen.add(title)

    columns = columns_of("premium", "age", exposure="years", outcome="claims", controls=["bonus", "zone"])
    questions = (1, 2, 3) if file is not None else tuple(QUESTIONS)
    execute_audit(
        frame, AuditPlan(columns=columns, questions=questions, reliability=(0.7,)), progress=progress
    )
    mark("all answers")
    return marks


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table of docs/audit.md."""
    lines = ["| table | rows | until | seconds |", "|---|---|---|---|"]
    told = table[table["until"].isin(["question 1", "question 3", "all answers"])]
    for row in told.itertuples():
        until = "questions 1 to 3" if row.case == "from a file" and row.until == "all answers" else row.until
        lines.append(f"| {row.case} | {row.rows:,} | {until} | {row.wall_s:.1f} |")
    return lines


def main() -> None:
    """Run each case in a separate process, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, default=None, help="this one alone, in this process")
    parser.add_argument("--file", type=Path, default=None)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rows-of-file", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.case is not None:
        print(pd.DataFrame(measure(options.case, options.rows, file=options.file)).to_csv(index=False))
        return
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policies.csv"
        policies(options.rows_of_file).to_csv(file, index=False)
        for case, rows, more in (
            ("in memory", options.rows, []),
            ("from a file", options.rows_of_file, ["--file", str(file)]),
        ):
            command = [
                sys.executable,
                "-m",
                "benchmarks.audit_times",
                "--case",
                case,
                "--rows",
                str(rows),
                *more,
            ]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            tables.append(pd.read_csv(StringIO(done.stdout)))
    table = pd.concat(tables, ignore_index=True).round(2)
    print(table.to_string(index=False))
    if options.write:
        table.to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
