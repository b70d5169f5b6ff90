"""Which faults do the tests notice? 300 small faults, drawn by a seed over all folders of fairdash.

    python -m benchmarks.mutants draw
    python -m benchmarks.mutants judge old --tests a558a5e --marks "not serial and not fresh"
    python -m benchmarks.mutants judge test --marks "not serial and not fresh and not variant"
    python -m benchmarks.mutants judge test-all --marks "not serial and not fresh"

``draw`` writes results/mutants.csv. ``judge`` copies the last commit (``--tests``: with the tests of another
one), runs the tests once to learn which of them pass and which lines each of them carries out, and then for
each mutant those that carry out its line, the quickest first, until one fails. It writes
results/mutants_NAME.csv. What other processes carry out (workers, servers) is not seen.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
COUNT, SEED, LEAST_A_FOLDER = 300, 0, 3
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
#: Given to pytest: a context for each test, and for what it shares the file or folder of the fixture.
PLUGIN = """
import os, time
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

def pytest_runtest_logreport(report):
    if report.when == "call":
        with open(os.environ["MUTANTS_LOG"], "a", encoding="utf-8") as log:
            print(report.nodeid, report.outcome, round(report.duration, 3), sep="\\t", file=log)
"""


def _changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Kinds of fault that a piece of code can have, with the piece that has it."""
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
    """All that runs: no annotations, and nothing in a formatted text, which has no place of its own."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns") or isinstance(tree, ast.JoinedStr):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield from _nodes(each)


def mutants_of(path: Path) -> Iterator[dict[str, object]]:
    """Every fault that one line of a file can have, as a row: its place, its kind, and the code instead."""
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
    """The list, drawn by the seed: some of each folder, then of all."""
    found = [row for path in sorted((ROOT / "fairdash").rglob("*.py")) for row in mutants_of(path)]
    random.Random(SEED).shuffle(found)
    table = pd.DataFrame(found)
    folder = table["file"].map(lambda name: Path(name).parts[1])
    first = table.groupby(folder).cumcount() < LEAST_A_FOLDER
    return pd.concat([table[first], table[~first]]).head(COUNT).sort_values(["file", "line", "start"])


def mutated(source: bytes, mutant: pd.Series) -> bytes:
    """The file's text with the fault in it."""
    lines = source.splitlines(keepends=True)
    line = lines[mutant["line"] - 1]
    lines[mutant["line"] - 1] = line[: mutant["start"]] + mutant["code"].encode() + line[mutant["end"] :]
    return b"".join(lines)


class Copy:
    """A copy of the last commit, with the tests of this or another one, and what they carry out."""

    def __init__(self, folder: Path, tests: str | None) -> None:
        self.folder, self.log, self.data = folder, folder / ".outcomes", folder / ".coverage"
        if not folder.exists():
            self._git(ROOT, "clone", "-q", "--shared", str(ROOT), str(folder))
            if tests:
                self._git(folder, "rm", "-rq", "tests")
                self._git(folder, "checkout", "-q", tests, "--", "tests")
        (folder / "mutants_plugin.py").write_text(PLUGIN, encoding="utf-8")
        self.environment = os.environ | {"PYTHONPATH": str(folder), "MUTANTS_LOG": str(self.log)}

    @staticmethod
    def _git(folder: Path, *command: str) -> None:
        subprocess.run(["git", *command], cwd=folder, check=True)

    def learn(self, marks: str, paths: list[str]) -> None:
        """Run all tests once, unless that was done before."""
        if self.data.exists():
            return
        command = [
            "coverage",
            "run",
            "--source=fairdash",
            "-m",
            "pytest",
            "-q",
            "-p",
            "mutants_plugin",
            "-m",
            marks,
        ]
        subprocess.run(
            [sys.executable, "-m", *command, *paths], cwd=self.folder, env=self.environment, check=False
        )

    def covering(self, mutant: pd.Series) -> list[str]:
        """Tests that carry out its line and pass without it, the quickest first."""
        from coverage import CoverageData

        data = CoverageData(str(self.data))
        data.read()
        contexts = data.contexts_by_lineno(str(self.folder / mutant["file"])).get(mutant["line"], [])
        rows = (line.rsplit("\t", 2) for line in self.log.read_text("utf-8").splitlines())
        passed = {name: float(seconds) for name, outcome, seconds in rows if outcome == "passed"}
        shared = tuple(each for each in contexts if each and "::" not in each)
        chosen = [each for each in passed if each in contexts or each.startswith(shared)]
        return sorted(chosen, key=lambda name: passed[name])

    def judge(self, mutant: pd.Series) -> dict[str, object]:
        """Whether a test that passed fails with the fault; one that does not end has noticed it, too."""
        tests, path, begun = self.covering(mutant), self.folder / mutant["file"], time.monotonic()
        source, code = path.read_bytes(), 0
        if tests:
            chosen = self.folder / ".chosen"
            chosen.write_text("\n".join(tests), encoding="utf-8")
            path.write_bytes(mutated(source, mutant))
            try:
                command = [sys.executable, "-m", "pytest", "-xq", "-p", "no:cacheprovider", f"@{chosen}"]
                done = subprocess.run(
                    command,
                    cwd=self.folder,
                    env=self.environment,
                    capture_output=True,
                    timeout=600,
                    check=False,
                )
                code = done.returncode
            except subprocess.TimeoutExpired:
                code = 124
            finally:
                path.write_bytes(source)
        return {
            "tests": len(tests),
            "killed": code != 0,
            "exit": code,
            "seconds": round(time.monotonic() - begun, 1),
        }


def main() -> None:
    """The command: see the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["draw", "judge"])
    parser.add_argument("name", nargs="?", default="test")
    parser.add_argument("--tests", help="a commit whose tests are tried")
    parser.add_argument("--marks", default="not serial and not fresh and not variant")
    parser.add_argument("--work", type=Path, default=Path("mutants"), help="where copies are kept")
    parser.add_argument("--only", help="files whose names begin so")
    parser.add_argument("--count", type=int, help="judge so many of the list, drawn by the seed")
    parser.add_argument("--paths", nargs="*", default=["tests"], help="tests to try")
    given = parser.parse_args()
    listed = RESULTS / "mutants.csv"
    if given.what == "draw":
        draw().to_csv(listed, index=False)
        return
    tried = Copy(given.work.absolute() / given.name, given.tests)
    tried.learn(given.marks, given.paths)
    rows = []
    mutants = pd.read_csv(listed)
    mutants = mutants[mutants["file"].str.startswith(given.only or "")]
    if given.count:
        mutants = mutants.sample(given.count, random_state=SEED)
    for _, mutant in mutants.iterrows():
        rows.append({**mutant, **tried.judge(mutant)})
        print(*rows[-1].values(), sep="\t", flush=True)
    pd.DataFrame(rows).to_csv(RESULTS / f"mutants_{given.name}.csv", index=False)


if __name__ == "__main__":
    main()
