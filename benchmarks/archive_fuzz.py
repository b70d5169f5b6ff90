"""Check that each changed archive is shown, or refused with a message.

    python -m benchmarks.archive_fuzz 2000     # seeds from 0; prints what is neither, and how often each came
    python -m benchmarks.archive_fuzz 200 --pages   # opens the trade-off page of what was taken, too

The changes are those of tests/runs/changed_archives.py; tests/runs/test_changed_archives.py uses 200 of them.
"""

from __future__ import annotations

import argparse
import collections
import os
import shutil
import sys
import tempfile
import time
import traceback

from fairdash.errors import FairdashError
from fairdash.runs.archive import export_run, import_run
from tests.runs.changed_archives import change, look_at, rich


def main() -> int:
    """Try every seed; return 1 if an archive was neither shown nor refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("seeds", type=int)
    parser.add_argument("--pages", action="store_true")
    options = parser.parse_args()
    os.environ["FAIRDASH_HOME"] = tempfile.mkdtemp()
    run = rich()
    content = export_run(run)
    shutil.rmtree(run.folder)
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(options.seeds):
        said, changed = change(content, seed)
        begun = time.monotonic()
        try:
            found = import_run(changed).run
        except FairdashError:
            counts["refused"] += 1
        except Exception as error:
            counts["import failed"] += 1
            print(f"{seed} {said}: {type(error).__name__} on import: {str(error)[:200]}")
        else:
            counts["taken"] += 1
            try:
                look_at(found)
                if options.pages:
                    _open(found.id)
            except Exception as error:
                counts["taken, and not shown"] += 1
                where = traceback.extract_tb(error.__traceback__)[-1]
                print(f"{seed} {said}: taken; {type(error).__name__} {str(error)[:100]} {where}")
            shutil.rmtree(found.folder)
        if (seconds := time.monotonic() - begun) > 10:
            counts["slow"] += 1
            print(f"{seed} {said}: {seconds:.0f} s")
    print(dict(counts))
    return int(counts["refused"] + counts["taken"] < options.seeds or bool(counts["taken, and not shown"]))


def _open(id: str) -> None:
    from tests.ui.conftest import open_page

    for name in ("tradeoff", "train"):
        at = open_page(name, run=id)
        if at.exception:
            raise RuntimeError(f"{name}: {at.exception[0].value}")


if __name__ == "__main__":
    sys.exit(main())
