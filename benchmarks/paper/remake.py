"""Make a committed study again and compare: ``python -m benchmarks.paper.remake fig1 household``.

On the same machine and versions every value must agree to 1e-6; elsewhere 99 % of the cells must lie within
three standard errors. Exit status 1 if they don't. A study of Table 1 is named as its folder:
``table1_crime``. With ``--against`` the values are compared with those that an earlier ``--out`` kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from fairdash.reproduction import StudyResult, read_result
from fairdash.reproduction.compare import agreement, compare
from fairdash.reproduction.household import Reading
from fairdash.reproduction.results import COMMITTED
from fairdash.reproduction.run import reproduce

SHARE_WITHIN = 0.99


def again(name: str, folder: Path, processes: int) -> StudyResult:
    """The study of that folder, made again."""
    study, _, rest = name.partition("_")
    dataset = rest.removesuffix("_all")
    new, _ = reproduce(
        study,
        out=folder,
        dataset=dataset if study == "table1" else "crime",
        all_rows=rest.endswith("_all"),
        reading=Reading(features_seen=rest if study == "household" and rest else "all"),
        processes=processes,
    )
    # As text and back, as the committed values were.
    return read_result(new.about.study, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a folder to keep the new values in")
    parser.add_argument("--against", type=Path, default=COMMITTED, help="a folder that another --out filled")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name in options.studies:
            old = read_result(name, options.against)
            new = again(name, options.out or Path(folder), options.processes)
            compared = compare(old, new)
            ground = (old.about.versions, old.about.machine) == (new.about.versions, new.about.machine)
            holds = compared["same"].all() if ground else compared["within"].mean() >= SHARE_WITHIN
            good &= bool(holds)
            words = "the same" if ground else "other"
            seconds = f"{new.about.seconds:.0f} s, then {old.about.seconds:.0f} s"
            print(f"{name}: {agreement(compared)} {seconds}; {words} versions and machine.", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
