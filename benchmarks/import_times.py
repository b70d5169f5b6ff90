"""Seconds until fairdash is imported: ``python -m benchmarks.import_times [--rounds 7]``.

Each value is the median over fresh processes, measured alternately, less the time that Python takes to start.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
TABLE = "price,age\n" + "".join(f"{i % 7},{i * i % 11}\n" for i in range(200))
MEASURE = """
from fairdash.__main__ import main
main(["measure", {measure!r}, {file!r}, "--u", "price", "--v", "age"])
"""


def seconds(code: str) -> float:
    """Seconds that a fresh process takes to run `code`."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prices.csv"
        file.write_text(TABLE, encoding="utf-8")
        codes = {
            "import fairdash": "import fairdash",
            "its command line": "from fairdash.cli import main; main(['--help'])",
            "fairdash measure pearson": MEASURE.format(measure="pearson", file=str(file)),
            "fairdash measure hgr_spline": MEASURE.format(measure="hgr_spline", file=str(file)),
        }
        taken: dict[str, list[float]] = {name: [] for name in codes}
        for _ in range(rounds):
            nothing = seconds("pass")
            for name, code in codes.items():
                taken[name].append(seconds(code) - nothing)
    for name, values in taken.items():
        print(f"{name:<28} {median(values):6.3f} s")


if __name__ == "__main__":
    main()
