"""docs/architecture.md names what is there: the packages in their order, and files that exist."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from fairdash.runs.audits import AuditJob
from fairdash.runs.models import ModelJob
from fairdash.runs.repairs import RepairJob
from fairdash.runs.searches import SearchJob
from fairdash.runs.store import Job, Run
from tests.test_layers import LAYERS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_map_has_every_package_in_its_order() -> None:
    section = PAGE.partition("## Packages")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == LAYERS


def test_every_file_that_is_named_is_there() -> None:
    named = set(
        re.findall(r"`([\w/]+\.(?:py|md|txt))`", PAGE + (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    )
    gone = [name for name in named if not any((top / name).is_file() for top in (ROOT, ROOT / "fairdash"))]
    assert gone == []


@pytest.mark.parametrize("kind", [Run, SearchJob, ModelJob, AuditJob, RepairJob])
def test_every_kind_of_job_has_its_folder_on_the_page(kind: type[Job]) -> None:
    assert f"| `{kind.folder_name}/<id>/`" in PAGE


REFERENCE = re.compile(r":(?:mod|class|func|data|attr|meth):`~?(fairdash\.[\w.]+)`")


def is_there(name: str) -> bool:
    """Whether a dotted name leads to a module, what stands in it, or a field of that."""
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


def test_what_docstrings_refer_to_is_there() -> None:
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "fairdash").rglob("*.py")
        for name in REFERENCE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nor to an old name
        assert sorted(each for each in named if not is_there(each[1])) == []
