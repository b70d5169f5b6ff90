"""Time the installation of the wheel and README's first audit: ``python -m benchmarks.first_verdict``.

The audit uses one thread. Processor seconds are compared, because other programs hardly affect them.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from uv import find_uv_bin

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "benchmarks" / "results" / "first_verdict.csv"


def commands() -> list[list[str]]:
    """Return README's commands that make a table of policies and audit it, without the program name."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    asked = [line for line in lines if line.startswith(".venv/bin/") and "policies.csv" in line]
    return [shlex.split(line.removeprefix(".venv/bin/")) for line in asked]


def timed(*command: str | Path, cwd: Path) -> tuple[float, float]:
    """Run a command and return its wall seconds and its processor seconds."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "OMP_NUM_THREADS": "1"
    }
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=cwd, env=clean, stdout=subprocess.DEVNULL, check=False)
    # The exit status of an audit encodes its verdict.
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{command} ended with {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default="3.13")
    python = parser.parse_args().python
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        subprocess.run([find_uv_bin(), "build", "-q", "--wheel", "-o", folder, ROOT], check=True)
        (wheel,) = folder.glob("*.whl")
        fresh = folder / "fresh"
        subprocess.run([find_uv_bin(), "venv", "-q", "--python", python, fresh], check=True)
        program = fresh / ("Scripts" if sys.platform == "win32" else "bin")
        install = [find_uv_bin(), "pip", "install", "-q", "--python", program / "python", "--no-cache", wheel]
        row = dict(zip(["install_seconds", "install_cpu"], timed(*install, cwd=folder), strict=True))
        row["megabytes"] = sum(each.stat().st_size for each in fresh.rglob("*") if each.is_file()) / 1e6
        for name, (first, *rest) in zip(["table", "verdict"], commands(), strict=True):
            passed, used = timed(program / first, *rest, cwd=folder)
            row |= {f"{name}_seconds": passed, f"{name}_cpu": used}
        about = subprocess.check_output([program / "python", "--version"], text=True)
        version = ".".join(about.split()[1].split(".")[:2])
    pd.DataFrame([{"python": version, **{name: round(value, 1) for name, value in row.items()}}]).to_csv(
        TABLE, index=False
    )


if __name__ == "__main__":
    main()
