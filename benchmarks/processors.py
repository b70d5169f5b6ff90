"""Changes of the frozen values on other processors: ``python -m benchmarks.processors``.

Computes the values under settings that make numpy, OpenBLAS, MKL and torch use other instructions or numbers
of threads, and prints for each kind of value the largest share of its tolerance that is used, and where.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from tests.golden import frozen
from tests.golden.tolerance import Difference, differences


def settings() -> dict[str, dict[str, str]]:
    """Name of a processor, mapped to the environment that imitates it."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    here = [each for each in __cpu_dispatch__ if __cpu_features__.get(each)]
    beyond = [each for each in here if each.startswith(("X86_V4", "AVX512"))]
    oldest = {"ATEN_CPU_CAPABILITY": "default", "OPENBLAS_CORETYPE": "Nehalem", "MKL_CBWR": "COMPATIBLE"}
    found = {
        "this one": {}, "torch without vectors": {"ATEN_CPU_CAPABILITY": "default"},
        "AVX2 alone": {"ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell"},
        "numpy without what is beyond AVX2": {"NPY_DISABLE_CPU_FEATURES": " ".join(beyond)},
        "the oldest": oldest | {"NPY_DISABLE_CPU_FEATURES": " ".join(here)},
        "one thread": {"OMP_NUM_THREADS": "1"}, "two threads": {"OMP_NUM_THREADS": "2"},
    }  # fmt: skip
    return {name: each for name, each in found.items() if each != {"NPY_DISABLE_CPU_FEATURES": ""}}


def moved(folder: Path) -> Iterator[Difference]:
    """Every frozen value that differs in this folder."""
    for path in sorted(folder.glob("*.csv")):
        yield from differences(frozen.records(frozen.FROZEN / path.name), frozen.records(path), path.stem)
    for path in sorted(folder.glob("*.json")):
        yield from differences(frozen.kept(path.stem), frozen.kept(path.stem, folder), path.stem)


def table(of: dict[str, list[Difference]]) -> pd.DataFrame:
    """One row per processor and kind of value: number of changed values, and the closest to its tolerance."""
    rows = [
        {
            "processor": name, "kind": kind, "moved": len(same),
            "of_tolerance": (worst := max(same, key=lambda each: each.share)).share, "difference": worst.size,
            "tolerance": worst.allowed, "where": worst.where,
        }
        for name, found in of.items()
        for kind in sorted({each.kind for each in found})
        if (same := [each for each in found if each.kind == kind])
    ]  # fmt: skip
    return pd.DataFrame(rows)


def main(*asked: str) -> None:
    """Print the table for the processors named, or for all."""
    found = {}
    for name, environment in settings().items():
        if asked and name not in asked:
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "tests.golden.frozen", folder]
            subprocess.run(command, env=os.environ | environment, check=True, capture_output=True)
            found[name] = list(moved(Path(folder)))
    print(table(found).to_string(index=False, float_format="{:.2g}".format, max_colwidth=80))


if __name__ == "__main__":
    main(*sys.argv[1:])
