"""Prepare a release without uploading it: check the distributions as PyPI does, and install the wheel.

    make release-dry-run

Besides the wheel and the source distribution, this module writes sbom.cdx.json (all packages that `pip install
fairdash` installs, in CycloneDX format), licences.csv (the licence of every package in this environment, including
extras and tools) and recipe.yaml (a recipe for conda, which is not built).
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
#: Parts of file names that neither the wheel nor the source distribution may contain.
_EXCLUDED = ("tests/", "benchmarks/", ".venv/", "__pycache__")
_CONSTRAINTS = ROOT / "constraints.txt"
#: Tools that only a release needs; uv runs them without installing them into this environment.
_SBOM, _CONDA = "cyclonedx-bom==7.5.0", "py-rattler-build==0.73.0"


def check(folder: Path) -> tuple[Path, Path]:
    """Check and return the wheel and the source distribution of a folder; raise SystemExit on any fault."""
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        raise SystemExit(f"One wheel and one source distribution are expected in {folder}.")
    (wheel,), (source,) = wheels, sources
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (archive.read(name) for name in names if name.endswith(".dist-info/METADATA"))
    with tarfile.open(source) as archive:
        names += archive.getnames()
    metadata = Metadata.from_email(about, validate=True)  # raises an error if PyPI would refuse the metadata
    faults = [name for name in names if any(part in name for part in _EXCLUDED)]
    if str(metadata.version) != __version__:
        faults.append(f"the version is {metadata.version} instead of {__version__}")
    if f"## {__version__}" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        faults.append(f"CHANGELOG.md has no section on {__version__}")
    if "](docs/" in (metadata.description or ""):
        faults.append("the description has relative links, which do not work on PyPI")
    if faults:
        raise SystemExit(f"Not ready for a release: {'; '.join(faults)}")
    return wheel, source


def install_and_audit(wheel: Path) -> tuple[str, pd.DataFrame, str]:
    """Install the wheel into a new environment; return version, installed packages and an audit's output."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder, "fresh")
        python = fresh / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        _run(find_uv_bin(), "venv", "-q", "--python", sys.executable, fresh)
        _run(find_uv_bin(), "pip", "install", "-q", "--python", python, "-c", _CONSTRAINTS, wheel)
        version = _run(python, "-m", "fairdash", "--version", cwd=folder).strip()
        installed = licences(python, wheel.with_name("sbom.cdx.json"))
        _run(python, "-c", _MAKE_TABLE, cwd=folder)
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
        audit_output = _run(find_uv_bin(), *uvx, "fairdash", *_AUDIT, cwd=folder, fails=1)
    return version, installed, audit_output


#: Code and command of README that make a table and audit it, with fewer rows.
_MAKE_TABLE = (
    "import fairdash as fd; fd.load_dataset('portfolio', n=1000).table().to_csv('policies.csv', index=False)"
)
_AUDIT = ("audit", "policies.csv", "--price", "Premium", "--sensitive", "Age", "--question", "1")


def licences(python: Path, place: Path) -> pd.DataFrame:
    """Write an environment's packages as CycloneDX, and return their names, versions and licences ("" if missing)."""
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
    """Return a conda recipe in rattler-build's format for the source distribution; it has never been built."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, python = about["project"], f"python {about['project']['requires-python']}"
    dependencies = [each.replace(">=", " >=") for each in project["dependencies"]]
    build = [each.replace(">=", " >=") for each in about["build-system"]["requires"]]
    content = {
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
        "requirements": {"host": [python, "pip", *build], "run": [python, *dependencies]},
        "tests": [{"python": {"imports": ["fairdash"]}}, {"script": ["fairdash --version"]}],
        "about": {
            "license": project["license"],
            "license_file": "LICENSE",
            "summary": project["description"],
        },
    }
    return "# Not built: checked only against the schema of recipes.\n" + yaml.safe_dump(
        content, sort_keys=False
    )


def check_recipe(place: Path) -> None:
    """Read a recipe with rattler-build, which raises an error if the recipe does not follow the schema."""
    code = "import sys, rattler_build as r; r.Stage0Recipe.from_file(sys.argv[1])"
    _run(find_uv_bin(), "run", "-q", "--no-project", "--with", _CONDA, "python", "-c", code, place)


def _run(*command: str | Path, cwd: str | Path | None = None, fails: int = 0) -> str:
    """Run a command and return its output; raise SystemExit if its exit status is neither 0 nor `fails`."""
    # Without PYTHONPATH, Python imports the installed package and not this checkout.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    finished = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    # Both an audit with the verdict “above” and a failure of uvx exit with 1, but only the audit prints to stdout.
    if finished.returncode not in (0, fails) or (finished.returncode and not finished.stdout):
        raise SystemExit(f"{' '.join(map(str, command))}\n{finished.stdout}{finished.stderr}")
    return finished.stdout


def main(folder: Path) -> None:
    """Run all steps of the dry run, and print the result."""
    wheel, source = check(folder.resolve())
    version, core, audit_output = install_and_audit(wheel)
    if version != f"fairdash {__version__}" or "Does the price follow the attribute?" not in audit_output:
        raise SystemExit(f"The installed command says {version!r} and {audit_output!r}.")
    with tempfile.TemporaryDirectory() as place:
        installed_here = licences(Path(sys.executable), Path(place, "all.json"))
    installed_here["core"] = installed_here["name"].str.lower().isin(core["name"].str.lower())
    installed_here.to_csv(folder / "licences.csv", index=False)
    place = folder / "recipe.yaml"
    place.write_text(recipe(source), encoding="utf-8")
    check_recipe(place)
    without_licence = {
        part: sorted(of["name"][of["licence"] == ""])
        for part, of in (("core", core), ("all", installed_here))
    }
    if without_licence["core"]:
        raise SystemExit(f"No licence is stated by {', '.join(without_licence['core'])}.")
    print(
        f"{version}: ready for a release; nothing was uploaded. The core installs {len(core)} packages, and this "
        f"environment has {len(installed_here)}."
    )
    print(
        f"Packages that state no licence, for you to look up: {', '.join(without_licence['all']) or 'none'}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
