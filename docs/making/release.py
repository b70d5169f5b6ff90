"""A release up to its upload: what was built is checked as PyPI does, installed where nothing is yet, and listed.

    make release-dry-run

Beside wheel and source distribution it leaves sbom.cdx.json, what `pip install fairdash` brings (CycloneDX);
licences.csv, of all that is installed here, extras and tools included; and recipe.yaml, for conda, not built.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from packaging.metadata import Metadata
from uv import find_uv_bin

from fairdash import __version__
from fairdash.storage import sha256

ROOT = Path(__file__).parents[2]
#: What the wheel must not hold, and the source distribution neither.
_NOT_OURS = ("tests/", "benchmarks/", ".venv/", "__pycache__")
_CONSTRAINTS = ROOT / "constraints.txt"
#: Tools that only a release needs, so that no environment carries them.
_SBOM, _CONDA = "cyclonedx-bom==7.5.0", "py-rattler-build==0.73.0"


def check(folder: Path) -> tuple[Path, Path]:
    """Check the wheel and the source distribution in a folder, and return them; SystemExit says what is "
    "wrong."""
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        raise SystemExit(f"One wheel and one source distribution are expected in {folder}.")
    (wheel,), (source,) = wheels, sources
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (archive.read(name) for name in names if name.endswith(".dist-info/METADATA"))
    with tarfile.open(source) as archive:
        names += archive.getnames()
    told = Metadata.from_email(about, validate=True)  # raises what PyPI would refuse
    faults = [name for name in names if any(part in name for part in _NOT_OURS)]
    if str(told.version) != __version__:
        faults.append(f"version {told.version}, not {__version__}")
    if f"## {__version__}" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        faults.append(f"CHANGELOG.md has no chapter on {__version__}")
    if "](docs/" in (told.description or ""):
        faults.append("the description has links that lead nowhere on PyPI")
    if faults:
        raise SystemExit(f"Not fit for a release: {'; '.join(faults)}")
    return wheel, source


def install_and_ask(wheel: Path) -> tuple[str, pd.DataFrame, str]:
    """Install the wheel where nothing is yet; its version, what came with it, and what `uvx` prints of an "
    "audit."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder, "fresh")
        python = fresh / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        _run(find_uv_bin(), "venv", "-q", "--python", sys.executable, fresh)
        _run(find_uv_bin(), "pip", "install", "-q", "--python", python, "-c", _CONSTRAINTS, wheel)
        version = _run(python, "-m", "fairdash", "--version", cwd=folder).strip()
        installed = licences(python, wheel.with_name("sbom.cdx.json"))
        _run(python, "-c", _BOOK, cwd=folder)
        uvx = (
            "tool",
            "run",
            "-q",
            "--python",
            sys.executable,
            "--constraints",
            _CONSTRAINTS,
            "--from",
            wheel,
        )
        said = _run(find_uv_bin(), *uvx, "fairdash", *_AUDIT, cwd=folder, fails=1)
    return version, installed, said


#: README's table and audit, of fewer rows.
_BOOK = (
    "import fairdash as fd; fd.load_dataset('portfolio', n=1000).table().to_csv('policies.csv', index=False)"
)
_AUDIT = ("audit", "policies.csv", "--price", "Premium", "--sensitive", "Age", "--question", "1")


def licences(python: Path, place: Path) -> pd.DataFrame:
    """Write what an environment has as CycloneDX, and return name, version and licence, "" where none is stated."""
    tool = ("tool", "run", "-q", "--from", _SBOM, "cyclonedx-py", "environment", "--output-reproducible")
    _run(find_uv_bin(), *tool, "--pyproject", ROOT / "pyproject.toml", "-o", place, python)
    found = json.loads(place.read_text(encoding="utf-8"))["components"]
    return pd.DataFrame(
        [
            {"name": each["name"], "version": each["version"], "licence": _licence(each.get("licenses", []))}
            for each in found
        ]
    )


def _licence(stated: list[dict[str, Any]]) -> str:
    each = (entry.get("license", {}) | entry for entry in stated)
    return "; ".join(one.get("expression") or one.get("id") or one.get("name", "") for one in each)


def recipe(source: Path) -> str:
    """A recipe for conda (rattler-build's format) that builds the source distribution; nobody has built it "
    "yet."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, python = about["project"], f"python {about['project']['requires-python']}"
    spaced = [each.replace(">=", " >=") for each in project["dependencies"]]
    build = [each.replace(">=", " >=") for each in about["build-system"]["requires"]]
    made = {
        "schema_version": 1,
        "package": {"name": "fairdash", "version": __version__},
        "source": {
            "url": f"https://pypi.org/packages/source/f/fairdash/{source.name}",
            "sha256": sha256(source.read_bytes()),
        },
        "build": {
            "number": 0,
            "noarch": "python",
            "script": "python -m pip install . --no-deps --no-build-isolation",
            "python": {"entry_points": [f"{name} = {at}" for name, at in project["scripts"].items()]},
        },
        "requirements": {"host": [python, "pip", *build], "run": [python, *spaced]},
        "tests": [{"python": {"imports": ["fairdash"]}}, {"script": ["fairdash --version"]}],
        "about": {
            "license": project["license"],
            "license_file": "LICENSE",
            "summary": project["description"],
        },
    }
    return "# Not built: checked against the recipe's schema alone.\n" + yaml.safe_dump(made, sort_keys=False)


def check_recipe(place: Path) -> None:
    """Read a recipe as rattler-build does, which raises what its schema refuses."""
    code = "import sys, rattler_build as r; r.Stage0Recipe.from_file(sys.argv[1])"
    _run(find_uv_bin(), "run", "-q", "--no-project", "--with", _CONDA, "python", "-c", code, place)


def _run(*command: str | Path, cwd: str | Path | None = None, fails: int = 0) -> str:
    """Return what a command prints; SystemExit with its output if it fails otherwise than expected."""
    # No module of this checkout stands in for what was installed.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True)
    # A verdict above the threshold ends with 1, as uvx does when it fails, but only the verdict is printed.
    if done.returncode not in (0, fails) or (done.returncode and not done.stdout):
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(folder: Path) -> None:
    """Carry all of it out, and say what is fit."""
    wheel, source = check(folder.resolve())
    version, core, said = install_and_ask(wheel)
    if version != f"fairdash {__version__}" or "Does the price follow the attribute?" not in said:
        raise SystemExit(f"The installed command says {version!r} and {said!r}.")
    with tempfile.TemporaryDirectory() as place:
        every = licences(Path(sys.executable), Path(place, "all.json"))
    every["core"] = every["name"].str.lower().isin(core["name"].str.lower())
    every.to_csv(folder / "licences.csv", index=False)
    place = folder / "recipe.yaml"
    place.write_text(recipe(source), encoding="utf-8")
    check_recipe(place)
    unstated = {
        part: sorted(of["name"][of["licence"] == ""]) for part, of in (("core", core), ("all", every))
    }
    if unstated["core"]:
        raise SystemExit(f"No licence is stated by {', '.join(unstated['core'])}.")
    print(
        f"{version}: fit for a release; nothing was uploaded. {len(core)} packages in the core, {len(every)} "
        "here."
    )
    print(f"Read the licence yourself of: {', '.join(unstated['all']) or 'none'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
