"""Which faults do the tests detect? 300 small faults, drawn by a seed from all folders of fairdash.

    python -m benchmarks.mutants draw
    python -m benchmarks.mutants judge --processes 12 --minutes 25

``draw`` writes results/mutants.csv. ``judge`` copies the working tree into ``--work``, runs every test file
once there to learn which tests pass and which lines each test executes, and then takes the faults in random
order. For each fault it runs the tests of ``make test`` that execute its line, the fastest first, until one
fails; if none fails, it also runs the variants of ``make test-all``. It writes results/mutants_judged.csv.
Tests with browsers, several machines and fresh environments are excluded, and code that other processes
(workers, servers) execute is not traced. Tests that also fail without the fault are excluded.

A row of the list is a place in the code at that time, so faults must be drawn again before later code is
judged. The committed results are for commit 479c2979.
"""

from __future__ import annotations

import argparse
import ast
import copy
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
COUNT, SEED, MIN_A_FOLDER = 300, 0, 3
_PAIRS = (
    (ast.Lt, ast.GtE),
    (ast.Gt, ast.LtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.And, ast.Or),
)
FLIPPED: dict[type, type] = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
#: pytest plugin: one coverage context per test, and one for shared fixtures with their file or folder.
CONTEXTS = """
import os
import coverage
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    coverage.Coverage.current().switch_context(item.nodeid)
    yield

@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef, request):
    if fixturedef.scope != "function":
        coverage.Coverage.current().switch_context(fixturedef.baseid or "tests")
    yield
    coverage.Coverage.current().switch_context(request._pyfuncitem.nodeid)
"""
PLUGIN = f"""{CONTEXTS}
def pytest_runtest_logreport(report):
    if report.when == "call":
        with open(os.environ["MUTANTS_LOG"], "a", encoding="utf-8") as log:
            print(report.nodeid, report.outcome, round(report.duration, 3), sep="\\t", file=log)
"""


def _changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Kinds of fault that are possible in a piece of code, with the changed piece."""
    other = copy.deepcopy(node)
    if isinstance(other, ast.Compare) and len(other.ops) == 1:
        other.ops = [FLIPPED[type(other.ops[0])]()]
        yield "comparison", other
    elif isinstance(other, ast.BinOp | ast.BoolOp) and type(other.op) in FLIPPED:
        other.op = FLIPPED[type(other.op)]()
        yield "arithmetic" if isinstance(other, ast.BinOp) else "boolean", other
    elif isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Not):
        yield "boolean", other.operand
    elif isinstance(other, ast.Constant) and type(other.value) in (int, float):
        other.value += 1 if int(abs(other.value)) % 2 else -1
        yield "constant", other
    elif isinstance(other, ast.Return) and other.value is not None:
        yield "return", ast.Return(ast.Constant(None))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All executed code, without annotations and without parts of f-strings, which have no position."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns") or isinstance(tree, ast.JoinedStr):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield from _nodes(each)


def mutants_of(path: Path) -> Iterator[dict[str, object]]:
    """Every possible fault in one line of a file, as a row: its place, its kind, and the new code."""
    for node in _nodes(ast.parse(path.read_bytes())):
        if getattr(node, "lineno", None) is None or node.lineno != node.end_lineno:
            continue
        for kind, other in _changed(node):
            code = ast.unparse(other)
            yield {
                "file": str(path.relative_to(ROOT)),
                "line": node.lineno,
                "start": node.col_offset,
                "end": node.end_col_offset,
                "kind": kind,
                "code": code if kind == "return" else f"({code})",
            }


def draw() -> pd.DataFrame:
    """The list, drawn by the seed: first some faults per folder, then from all folders."""
    found = [row for path in sorted((ROOT / "fairdash").rglob("*.py")) for row in mutants_of(path)]
    random.Random(SEED).shuffle(found)
    table = pd.DataFrame(found)
    folder = table["file"].map(lambda name: Path(name).parts[1])
    first = table.groupby(folder).cumcount() < MIN_A_FOLDER
    return pd.concat([table[first], table[~first]]).head(COUNT).sort_values(["file", "line", "start"])


def mutated(source: bytes, mutant: pd.Series) -> bytes:
    """Text of the file with the fault."""
    lines = source.splitlines(keepends=True)
    line = lines[mutant["line"] - 1]
    lines[mutant["line"] - 1] = line[: mutant["start"]] + mutant["code"].encode() + line[mutant["end"] :]
    return b"".join(lines)


#: Tests that a machine without browser and PostgreSQL can run.
_MARKS = "not processes and not fresh and not browser"
#: Limits in seconds: for testing one fault, for one run (a longer run counts as detection), and for tracing a
#: test file.
_MAX_TRIED, _MAX_WAITED, _MAX_LEARNED = 100, 200, 600
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?::.*?)(?: - .*)?$", re.MULTILINE)


class Tree:
    """A copy of the project for running tests, one process at a time."""

    def __init__(self, folder: Path, source: Path = ROOT) -> None:
        self.folder = folder
        if not folder.exists():
            left_out = shutil.ignore_patterns(".venv", ".docs", ".git", "site", folder.parent.name)
            shutil.copytree(source, folder, ignore=left_out, symlinks=True)
            (folder / "mutants_plugin.py").write_text(PLUGIN, encoding="utf-8")

    def pytest(
        self, *given: str, before: Sequence[str] = (), seconds: float = _MAX_WAITED, **more: str
    ) -> tuple[int, str]:
        """Exit code and output of pytest; 124 if the time limit is reached."""
        path = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-m", *before, "pytest", "-q", "-p", "no:cacheprovider", *given],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": path, "MUTANTS_LOG": os.devnull, "OMP_NUM_THREADS": "1", **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return 124, ""
        return process.returncode, output

    def log_of(self, file: str) -> Path:
        return self.folder / f".outcomes_{file.replace('/', '_')}"

    def learn(self, file: str) -> str:
        """Run a file of tests, and store the passing tests and the lines that each of them executes."""
        log = self.log_of(file)
        coverage = ("coverage", "run", "--source=fairdash", "-m")
        kept = {"MUTANTS_LOG": str(log), "COVERAGE_FILE": f"{log}.coverage", "COVERAGE_CORE": "ctrace"}
        given = ("-p", "mutants_plugin", "-m", _MARKS, file)
        self.pytest(*given, before=coverage, seconds=_MAX_LEARNED, **kept)
        return file

    def learned(self, file: str, sources: Sequence[str]) -> tuple[dict[str, float], dict[Any, set[str]]]:
        """Seconds of the file's passing tests; and for each (source, line), the tests that execute it."""
        from coverage import CoverageData

        log = self.log_of(file)
        if not (log.exists() and Path(f"{log}.coverage").exists()):
            return {}, {}
        rows = (line.rsplit("\t", 2) for line in log.read_text("utf-8").splitlines())
        passed = {name: float(seconds) for name, outcome, seconds in rows if outcome == "passed"}
        data, covering = CoverageData(f"{log}.coverage"), {}
        data.read()
        for source in sources:
            for line, contexts in data.contexts_by_lineno(str(self.folder / source)).items():
                # Shared fixtures count as executed by every test in their folder or file.
                shared = tuple(each for each in contexts if each and "::" not in each)
                own = {name for name in passed if name in contexts or name.startswith(shared)}
                covering[source, line] = own
        return passed, covering

    def killer(self, mutant: pd.Series, tests: Sequence[str]) -> str:
        """The first test that fails with the fault and passes without it; empty if no test does."""
        path, left, begun = self.folder / mutant["file"], list(tests), 3
        source, chosen = path.read_bytes(), self.folder / ".chosen"
        while left and begun:
            begun -= 1
            chosen.write_text("\n".join(left), encoding="utf-8")
            path.write_bytes(mutated(source, mutant))
            try:
                code, output = self.pytest("-x", "--tb=line", f"@{chosen}")
            finally:
                path.write_bytes(source)
            if code == 0:
                return ""
            failed = _FAILED.search(output)
            if failed is None:
                # The test run does not end, or an import fails.
                return f"exit {code}"
            chosen.write_text(failed[1], encoding="utf-8")
            if self.pytest(f"@{chosen}")[0] == 0:
                return failed[1]
            left.remove(failed[1])
        return ""


def judge(work: Path, processes: int, minutes: float) -> pd.DataFrame:
    """Faults with the tests that execute their line and the test that detects them."""
    ends, base = time.monotonic() + 60 * minutes, Tree(work / "base")
    _, listed = base.pytest("--collect-only", "-m", f"{_MARKS} and not variant")
    quick = {line.strip() for line in listed.splitlines() if "::" in line}
    files = sorted(str(path.relative_to(base.folder)) for path in base.folder.glob("tests/**/test_*.py"))
    mutants = pd.read_csv(RESULTS / "mutants.csv").sample(frac=1, random_state=SEED)
    seconds: dict[str, float] = {}
    covering: defaultdict[Any, set[str]] = defaultdict(set)
    with multiprocessing.Pool(processes) as pool:
        for file in pool.imap_unordered(base.learn, files):
            passed, lines = base.learned(file, mutants["file"].unique())
            seconds |= passed
            for place, own in lines.items():
                covering[place] |= own
    print(f"{len(seconds):,} tests pass, {len(quick & seconds.keys()):,} of make test", flush=True)
    todo: Any = multiprocessing.Queue()
    found: Any = multiprocessing.Queue()

    def work_at(tree: Tree) -> None:
        while time.monotonic() < ends and (taken := todo.get()) is not None:
            mutant, tests = taken
            row = {**mutant, **{title: len(own) for title, own in tests.items()}, "noticed_in": "", "by": ""}
            for title, own in tests.items():
                if by := tree.killer(mutant, tried(own)):
                    row |= {"noticed_in": title, "by": by}
                    break
            found.put(row)
        found.put(None)

    def tried(tests: Sequence[str]) -> list[str]:
        total = pd.Series([seconds[each] for each in tests]).cumsum()
        return [each for each, until in zip(tests, total, strict=True) if until <= _MAX_TRIED]

    for _, mutant in mutants.iterrows():
        tests = sorted(covering[mutant["file"], mutant["line"]], key=seconds.__getitem__)
        parts = {"make_test": [each for each in tests if each in quick]}
        todo.put((mutant, parts | {"variants": [each for each in tests if each not in quick]}))
    context = multiprocessing.get_context("fork")
    for k in range(processes):
        todo.put(None)
        context.Process(target=work_at, args=(Tree(work / f"copy{k}", base.folder),), daemon=True).start()
    rows, left = [], processes
    while left:
        row = found.get()
        left -= row is None
        rows += [] if row is None else [row]
    return pd.DataFrame(rows).sort_values(["file", "line", "start"])


def main() -> None:
    """Run the command described in the module's docstring."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["draw", "judge"])
    parser.add_argument("--work", type=Path, default=Path("mutants"), help="where copies are kept")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600, help="until no further fault is taken")
    given = parser.parse_args()
    if given.what == "draw":
        draw().to_csv(RESULTS / "mutants.csv", index=False)
        return
    found = judge(given.work.absolute(), given.processes, given.minutes)
    found.to_csv(RESULTS / "mutants_judged.csv", index=False)
    print(found["noticed_in"].replace("", "nowhere").value_counts())


if __name__ == "__main__":
    main()
