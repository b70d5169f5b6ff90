"""Server time of the pages with nothing cached: ``python -m benchmarks.page_times``.

Each page runs in a fresh process under Streamlit's own test runner, on the household data; times are
those of the script run (imports of fairdash included, Streamlit itself being loaded already, as in a
server). Moves of a slider: :mod:`benchmarks.tradeoff_times`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent

FIRST = """
import sys, time
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash
at = AppTest.from_file({main!r}, default_timeout=120)
started = time.perf_counter()
at.run()
home = time.perf_counter() - started
started = time.perf_counter()
if {page!r} != "home":
    at._page_hash = calc_hash({page!r})
    at.run()
assert not at.exception and not at.error, at.error
print(f"{page:>9} | {{1e3 * home:>9.0f}} | {{1e3 * (time.perf_counter() - started):>9.0f}} | "
      f"{{'yes' if 'torch' in sys.modules else 'no'}}")
"""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"FAIRDASH_HOME": home, "PYTHONPATH": str(ROOT)}
        main_script = str(ROOT / "fairdash" / "ui" / "main.py")
        print("     page | first, ms |  page, ms | torch loaded")
        for page in ("home", "data", "train", "tradeoff"):
            run(FIRST.format(main=main_script, page=page), environment)


def run(program: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    print(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
