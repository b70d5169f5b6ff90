"""A release up to its upload: what was built is checked as PyPI does, and installed where nothing is yet.

make release-dry-run
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

from fairdash import __version__

ROOT = Path(__file__).parents[2]
#: What the wheel must not hold, and the source distribution neither.
_NOT_OURS = ("tests/", "benchmarks/", ".venv/", "__pycache__")


def check(folder: Path) -> Path:
    """Check the wheel and the source distribution in a folder, and return the wheel; SystemExit says what is wrong."""
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
    return wheel


def install_and_ask(wheel: Path) -> str:
    """Install the wheel into a fresh environment; what its command says of its version."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        scripts = Path(folder, "Scripts" if sys.platform == "win32" else "bin")
        pip = [scripts / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel]
        subprocess.run(pip, check=True)
        asked = [scripts / "fairdash", "--version"]
        return subprocess.run(asked, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    found = install_and_ask(check(Path(sys.argv[1])))
    if found != f"fairdash {__version__}":
        raise SystemExit(f"The installed command says {found!r}.")
    print(f"{found}: fit for a release; nothing was uploaded")
