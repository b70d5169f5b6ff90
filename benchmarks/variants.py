"""Choose tests that ``make test`` leaves to ``make test-all``, because others execute the same lines.

    python -m benchmarks.variants learn --work variants [tests/auditing …]
    python -m benchmarks.variants choose --work variants

``learn`` runs the given tests of ``make test``, and stores the executed lines of fairdash and the CPU seconds
of each test. Several processes may run at once, for different folders. ``choose`` goes through the tests from
the most expensive on, and drops a test if the remaining tests execute all of its lines. It writes
tests/variants.txt. Tests of a promise (tests/promises.md) are kept unless they take long, and tests below
`MIN_SECONDS` are always kept. Delete the list before using ``learn`` again, because every listed test is a
variant.

``python -m benchmarks.mutants`` shows the loss: faults that the remaining tests no longer detect.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from benchmarks.mutants import CONTEXTS, ROOT

CHOSEN = ROOT / "tests" / "variants.txt"
#: CPU seconds, with coverage: faster tests are kept, and so are tests of a promise up to the second limit.
MIN_SECONDS, MAX_OF_PROMISE = 0.4, 4.0
#: These tests check what no executed line shows: words, imports, documents, frozen numbers, error rates of
#: tests.
STAY = (
    "tests/test_words", "tests/test_layers", "tests/test_promises", "tests/test_hostile", "tests/test_canary",
    "tests/golden", "tests/auditing/test_own_files", "tests/auditing/test_model_file", "keeps_its_level",
    "papers_patterns",
    "exit_status_is_the_verdict",
)  # fmt: skip
_MARKS = "not browser and not fresh and not printed and not variant"
_PLUGIN = f"""{CONTEXTS}
import json

@pytest.hookimpl(hookwrapper=True, specname="pytest_runtest_protocol")
def pytest_timed_protocol(item):
    begun = sum(os.times()[:4])
    yield
    with open(os.environ["SECONDS"], "a", encoding="utf-8") as log:
        print(json.dumps([item.nodeid, sum(os.times()[:4]) - begun]), file=log)
"""


def learn(work: Path, given: list[str]) -> int:
    """Run tests, and store their lines and seconds in a folder."""
    work.mkdir(exist_ok=True)
    (work / "variants_plugin.py").write_text(_PLUGIN, encoding="utf-8")
    name = (given or ["all"])[0].replace("/", "_")
    own = {"SECONDS": str(work / f"{name}.jsonl"), "COVERAGE_FILE": str(work / f"{name}.coverage")}
    own |= {"PYTHONPATH": os.pathsep.join([str(ROOT), str(work)]), "COVERAGE_CORE": "ctrace"}
    run = (sys.executable, "-m", "coverage", "run", "--source=fairdash", "-m", "pytest", "-q")
    options = ("-p", "variants_plugin", "-p", "no:cacheprovider", "-m", _MARKS)
    return subprocess.run([*run, *options, *given], cwd=ROOT, env=os.environ | own, check=False).returncode


def learned(work: Path) -> tuple[Counter[str], dict[str, set[tuple[str, int]]]]:
    """Return the CPU seconds of each test, summed over its cases, and its lines."""
    from coverage.numbits import numbits_to_nums

    seconds: Counter[str] = Counter()
    for log in work.glob("*.jsonl"):
        for line in log.read_text("utf-8").splitlines():
            test, own = json.loads(line)
            seconds[test.split("[")[0]] += own
    lines: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    query = (
        "select path, context, numbits from line_bits "
        "join file on file.id = file_id join context on context.id = context_id"
    )
    for kept in work.glob("*.coverage"):
        with sqlite3.connect(kept) as data:
            for path, context, bits in data.execute(query):
                lines[context.split("[")[0]].update((path, number) for number in numbits_to_nums(bits))
    return seconds, lines


def choose(seconds: Counter[str], lines: dict[str, set[tuple[str, int]]], promises: str) -> list[str]:
    """Return the tests to be dropped, sorted."""
    left: list[str] = []
    carried = Counter(place for test in seconds for place in lines[test])
    for test, own in seconds.most_common():
        of_promise = test.removeprefix("tests/") in promises and own <= MAX_OF_PROMISE
        if own < MIN_SECONDS or of_promise or any(each in test for each in STAY):
            continue
        if all(carried[place] > 1 for place in lines[test]):
            left.append(test)
            carried.subtract(lines[test])
    return sorted(left)


def main() -> int:
    """Run the command described in the module's docstring."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["learn", "choose"])
    parser.add_argument("given", nargs="*", help="files or folders of tests")
    parser.add_argument("--work", type=Path, default=Path("variants"), help="where what was learned is kept")
    given = parser.parse_intermixed_args()
    if given.what == "learn":
        return learn(given.work.absolute(), given.given)
    seconds, lines = learned(given.work)
    left = choose(seconds, lines, (ROOT / "tests" / "promises.md").read_text(encoding="utf-8"))
    CHOSEN.write_text("".join(f"{each}\n" for each in left), encoding="utf-8")
    total, of_left = sum(seconds.values()), sum(seconds[each] for each in left)
    print(f"{len(left)} of {len(seconds)} tests are variants: {of_left:.0f} of {total:.0f} CPU seconds.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
