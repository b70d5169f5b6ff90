"""Server time of the pages with nothing cached: ``python -m benchmarks.page_times``.

Each page runs in a fresh process under Streamlit's test runner, on the household data. Times are those of the
script run, including imports of fairdash but not of Streamlit, which a server has already loaded. For moves
of a slider, see :mod:`benchmarks.tradeoff_times`.
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
at = AppTest.from_file({main!r}, default_timeout=120)
started = time.perf_counter()
at.run()
home = time.perf_counter() - started
started = time.perf_counter()
if {page!r} != "home":
    at.switch_page({script!r}).run()
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
            script = str(ROOT / "pages" / "work" / f"{page}.py")
            run(FIRST.format(main=main_script, page=page, script=script), environment)


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
