"""The house: which room may import which, and what importing fairdash must not load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "fairdash"
#: From the ground up: a room imports only rooms above it in this list.
ROOMS = [
    "_version",
    "errors",
    "lookup",
    "detached",
    "traces",
    "nets",
    "dependence",
    "data",
    "studies",
    "training",
    "assessment",
    "api",
    "runs",
    "figures",
    "reports",
    "reproduction",
    "ui",
    "__main__",
]
MAY_USE_STREAMLIT = {"ui"}
WITHOUT_TORCH = {"errors", "lookup", "data", "studies", "assessment", "figures", "reports", "ui"}


def _imports(path: Path) -> set[str]:
    """Dotted names that a file imports, those under TYPE_CHECKING and inside functions included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _files(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py")) if (PACKAGE / room).is_dir() else [PACKAGE / f"{room}.py"]


def test_every_part_of_the_package_is_a_room():
    parts = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - {"__init__"} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_above_it(room):
    above = {*ROOMS[: ROOMS.index(room) + 1]}
    for path in _files(room):
        for name in _imports(path):
            if name.startswith("fairdash.") and name.split(".")[1] in ROOMS:
                assert name.split(".")[1] in above, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("room", ROOMS)
def test_streamlit_stays_in_the_pages_and_ui(room):
    for path in _files(room):
        uses = any(name.split(".")[0] == "streamlit" for name in _imports(path))
        assert not uses or room in MAY_USE_STREAMLIT, path


@pytest.mark.parametrize("room", sorted(WITHOUT_TORCH))
def test_rooms_that_know_nothing_of_torch(room):
    for path in _files(room):
        assert not any(name.split(".")[0] == "torch" for name in _imports(path)), path


def test_pages_do_not_import_each_other():
    for path in (ROOT / "pages").rglob("*.py"):
        assert not any(name.split(".")[0] == "pages" for name in _imports(path)), path


def _loaded_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return set(done.stdout.split())


def test_importing_fairdash_is_light():
    assert not {"torch", "streamlit", "pandas", "sklearn", "plotly"} & _loaded_after("import fairdash")


def test_what_the_app_imports_is_free_of_torch():
    code = "import fairdash.api, fairdash.runs.launch, fairdash.ui.cached, fairdash.figures.front"
    loaded = _loaded_after(code)
    assert "torch" not in loaded
    assert "sklearn" not in loaded


def test_every_public_name_can_be_had():
    code = "import fairdash\nfor name in fairdash.__all__: getattr(fairdash, name)"
    assert "torch" not in _loaded_after(code)
