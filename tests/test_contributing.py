"""The examples of CONTRIBUTING.md, run in a copy of the source as a newcomer would run them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = {
    title: text
    for title, _, text in (
        section.partition("\n")
        for section in (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n## ")[1:]
    )
    if title.startswith("Add ")
}
#: A step of an example: a file to write, lines to change, or commands with their output.
STEP = re.compile(
    r"<!-- new file: (?P<new>\S+) -->\n```python\n(?P<code>.*?)```"
    r"|<!-- in (?P<path>\S+) -->\n```diff\n(?P<diff>.*?)```"
    r"|```console\n(?P<console>.*?)```",
    flags=re.DOTALL,
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files that the examples need; later examples build on earlier ones."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("fairdash", "pages", "tests"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "screenshots")
        )
    for name in ("app.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def change(path: Path, diff: str) -> None:
    lines = diff.splitlines(keepends=True)
    old, new = ("".join(line[1:] for line in lines if line[0] in marks) for marks in (" -", " +"))
    text = path.read_text("utf-8")
    assert text.count(old) == 1, f"{path.name} has {text.count(old)} places like this:\n{old}"
    path.write_text(text.replace(old, new), "utf-8")


def run_console(console: str, folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(folder), "FAIRDASH_HOME": str(folder / "home")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    for command, _, expected in (part.partition("\n") for part in re.split(r"^\$ ", console, flags=re.M)[1:]):
        done = subprocess.run(  # as bash: a failure anywhere in a pipe counts
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if "pytest" in command:
            assert re.search(r"[1-9]\d* passed", done.stdout), f"{command} chose no test\n{done.stdout}"
        assert expected.strip() in done.stdout


def test_contributing_has_an_example_for_every_kind_of_extension() -> None:
    parts = "a measure of dependence, a method of training, a reader of files, a question to the audit, an option, a page"
    assert list(EXAMPLES) == [f"Add {part}" for part in parts.split(", ")]


@pytest.mark.printed
@pytest.mark.every_case
@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_in_contributing_works_as_written(title: str, source: Path) -> None:
    steps = list(STEP.finditer(EXAMPLES[title]))
    assert len(steps) >= 2
    # Every example uses the table that the first example writes.
    (table,) = re.findall(r"^\$ python -c .*to_csv.*\n", EXAMPLES["Add a measure of dependence"], flags=re.M)
    run_console(table, source)
    for step in steps:
        if step["new"]:
            (source / step["new"]).write_text(step["code"], "utf-8")
        elif step["path"]:
            change(source / step["path"], step["diff"])
        else:
            run_console(step["console"], source)
