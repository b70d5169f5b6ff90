"""An environment with only the core of fairdash, made of links to installed packages in one second."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.serving import ROOT


def core_requirements() -> list[str]:
    """The dependencies of the core in pyproject.toml."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed: list[str] = about["project"]["dependencies"]
    return needed


def link_core(folder: Path) -> Path:
    """Link the core's packages, their dependencies and this checkout into a folder."""
    folder.mkdir(parents=True)
    for each in _with_all_they_need(core_requirements()):
        for file in each.files or ():
            top = file.parts[0]
            source, target = Path(str(each.locate_file(top))), folder / top
            if top != ".." and not top.endswith(".pth") and not target.exists():
                target.symlink_to(source)
    (folder / "fairdash").symlink_to(ROOT / "fairdash")
    return folder


def _with_all_they_need(requirements: list[str]) -> Iterator[Distribution]:
    left, seen = [Requirement(each) for each in requirements], set()
    while left:
        one = left.pop()
        if one.name in seen or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        seen.add(one.name)
        found = distribution(one.name)
        yield found
        left += [Requirement(each) for each in found.requires or ()]


def run_core(core: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with only its standard library and the core on its path; the arguments are those of Python."""
    start = f"import sys; sys.path.append({str(core)!r}); sys.argv[0] = 'fairdash'; "
    code = "from fairdash.cli import main; sys.exit(main())"
    if arguments[0] == "-c":
        code, arguments = arguments[1], arguments[2:]
    command = [sys.executable, "-I", "-S", "-c", start + code, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
