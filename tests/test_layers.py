"""Layers: permitted imports between packages, libraries that must not be loaded, and docs/architecture.md."""

import ast
import os
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from fairdash.runs.audits import AuditJob
from fairdash.runs.models import ModelJob
from fairdash.runs.repairs import RepairJob
from fairdash.runs.searches import SearchJob
from fairdash.runs.store import Job, Run

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "fairdash"
#: From the lowest layer up: a package imports only packages that come before it in this list.
LAYERS = (
    "_version errors utils storage tables jobs nets dependence data training tariff losses evaluation api views lab "
    "auditing runs ui cli __main__"
).split()
MAY_USE_STREAMLIT = {"ui"}
WITHOUT_TORCH = {"auditing", "data", "errors", "evaluation", "lab", "tables", "views"}
WITHOUT_TORCH |= {"storage", "ui", "utils"}


def _imports(path: Path) -> set[str]:
    """Dotted names that a file imports, including imports under TYPE_CHECKING and inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _files(layer: str) -> list[Path]:
    return [*(PACKAGE / layer).rglob("*.py")] or [PACKAGE / f"{layer}.py"]


def test_the_layer_list_contains_every_package():
    parts = [path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert {path.stem for path in parts} - {"__init__"} == set(LAYERS)


@pytest.mark.every_case
@pytest.mark.parametrize("layer", LAYERS)
def test_a_package_imports_only_lower_layers_and_permitted_heavy_libraries(layer):
    before = {*LAYERS[: LAYERS.index(layer) + 1]}
    for path in _files(layer):
        names = _imports(path)
        for name in names:
            if name.startswith("fairdash.") and name.split(".")[1] in LAYERS:
                assert name.split(".")[1] in before, f"{path.relative_to(ROOT)} imports {name}"
        packages = {name.split(".")[0] for name in names}
        assert "streamlit" not in packages or layer in MAY_USE_STREAMLIT, path
        assert "torch" not in packages or layer not in WITHOUT_TORCH, path


PAGES = sorted((ROOT / "pages").rglob("*.py"))
#: Syntax that pages don't need: code that computes, loops or defines belongs in ui/.
NOT_IN_A_PAGE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.For, ast.While)
NOT_IN_A_PAGE += (ast.comprehension, ast.Try, ast.BinOp)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_script_is_short_and_imports_only_ui_code(path):
    assert {name.split(".")[0] for name in _imports(path)} <= {"__future__", "streamlit", "fairdash"}
    assert all(name.startswith("fairdash.ui.") for name in _imports(path) if name.startswith("fairdash."))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [type(node).__name__ for node in ast.walk(tree) if isinstance(node, NOT_IN_A_PAGE)]
    code = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(code) <= 40


def test_the_page_layout_check_finds_at_least_seven_pages():
    assert len(PAGES) >= 7


def _loaded_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return set(done.stdout.split())


def test_every_exported_name_of_the_data_package_can_be_imported():
    import fairdash.data

    assert set(fairdash.data.__all__) == set(dir(fairdash.data))
    assert all(getattr(fairdash.data, name) is not None for name in fairdash.data.__all__)
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        _ = fairdash.data.no_such


#: Name, mapped to a program and the libraries that it must not load.
LIGHT = {
    "fairdash": ("import fairdash", "torch streamlit pandas sklearn plotly"),
    "help": ("import fairdash.data\nfrom fairdash.cli import main\nassert main(['--help']) == 0",
             "torch streamlit numpy pandas pyarrow scipy plotly"),
    "closed forms": (
        "from pathlib import Path\nfrom fairdash.cli import main\n"
        "Path('t.csv').write_text('price,age\\n' + ''.join(f'{i % 7},{i * i % 11}\\n' for i in range(60)))\n"
        "for id in ('pearson', 'hgr_spline', 'hgr_kde', 'hgr_rdc'):\n"
        "    told = f'measure {id} t.csv --u price --v age --permutations 19 --bootstrap 0'\n"
        "    assert main(told.split()) == 0", "torch streamlit starlette plotly"),
    "the app's pages and all names": (
        "import fairdash, fairdash.api, fairdash.runs.launch, fairdash.ui.cached, fairdash.views.figures.front\n"
        "assert 'sklearn' not in sys.modules\nfor name in fairdash.__all__: getattr(fairdash, name)", "torch"),
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("name", LIGHT)
def test_a_program_loads_no_heavy_library_that_it_does_not_need(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, heavy = LIGHT[name]
    assert not {*heavy.split()} & _loaded_after(code)


PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_architecture_page_lists_every_package_in_layer_order() -> None:
    section = PAGE.partition("## Packages")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == LAYERS


def test_every_file_named_in_the_architecture_and_contributing_pages_exists() -> None:
    named = set(
        re.findall(r"`([\w/]+\.(?:py|md|txt))`", PAGE + (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    )
    gone = [name for name in named if not any((top / name).is_file() for top in (ROOT, ROOT / "fairdash"))]
    assert gone == []


@pytest.mark.parametrize("kind", [Run, SearchJob, ModelJob, AuditJob, RepairJob])
def test_the_architecture_page_lists_the_folder_of_every_job_type(kind: type[Job]) -> None:
    assert f"| `{kind.folder_name}/<id>/`" in PAGE


REFERENCE = re.compile(r":(?:mod|class|func|data|attr|meth):`~?(fairdash\.[\w.]+)`")


def is_there(name: str) -> bool:
    """Return True if a dotted name is a module, an object of a module, or a field of such an object."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return part in getattr(found, "__dataclass_fields__", {})
            found = getattr(found, part)
        return True
    return False


def test_names_referenced_in_docstrings_exist() -> None:
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "fairdash").rglob("*.py")
        for name in REFERENCE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # old names are not allowed either
        assert sorted(each for each in named if not is_there(each[1])) == []
