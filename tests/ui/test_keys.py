"""Keys of widgets: every page with every part shown, and no key that two parts could both take."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import pytest

from fairdash.ui import keys
from fairdash.ui.keys import Keys, name_in
from fairdash.ui.pages import PAGES
from tests.ui.conftest import ROOT, calm, open_page

FILES = sorted(path for folder in ("fairdash/ui", "pages") for path in (ROOT / folder).rglob("*.py"))
#: A control of this name shows one of several parts of a page.
MORE = ("more", "part")
STATES = ("session_state", "query_params")
#: Functions that take a key of another kind.
NO_WIDGETS = ("sorted", "min", "max", "sort_values")


def switches(at):
    """The controls that show one of several parts, by key."""
    return [each.key for each in at.segmented_control if name_in(each.key) in MORE or each.key in MORE]


@pytest.mark.parametrize("page", PAGES)
def test_every_part_of_every_page_can_be_shown(page, run_of_two_methods):
    at = calm(open_page(page, run=run_of_two_methods.id))
    for key in switches(at):
        first, *others = at.segmented_control(key=key).options
        # The first at the end: what other controls show is a part of it.
        for option in (*others, first):
            value = option if key not in MORE else _part(option)
            at = calm(at.segmented_control(key=key).set_value(value).run())
    keyed = [each.key for each in at if getattr(each, "key", None)]
    assert len(keyed) == len(set(keyed))


def _part(title):
    from fairdash.reports.paper import committed

    parts = {"Table 1": "table1", "Fig. 4": "household", "Fig. 2": "fig2", "Fig. 1": "fig1", "Fig. 3": "fig3"}
    part = parts[title.partition(":")[0]]
    assert part == "table1" or part in committed()
    return part


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_key_of_a_widget_the_session_or_the_address_is_written_by_hand(path: Path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        for given in call.keywords:
            if given.arg == "key" and name not in NO_WIDGETS:
                assert not isinstance(given.value, ast.Constant | ast.JoinedStr | ast.BinOp), (
                    f"line {given.value.lineno}: take it from Keys or Address"
                )
    own = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "KEY"]
    names = [call.args[0].value for call in own if isinstance(call.args[0], ast.Constant)]
    assert len(names) == len(own), "a name is a word, what varies comes after it"
    assert not [name for name in names if " " in name]
    assert len(names) == len(set(names)), "one name, one place"
    assert len([call for call in calls if getattr(call.func, "id", "") == "Keys"]) <= 1
    for node in nodes:
        if isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") in STATES:
            assert not isinstance(node.slice, ast.Constant | ast.JoinedStr), f"line {node.lineno}"


def test_two_files_never_have_the_same_keys(tmp_path):
    Keys(str(tmp_path / "ui" / "here" / "part.py"))("refit")
    Keys(str(tmp_path / "ui" / "here" / "part.py"))  # a page's script runs at every look
    with pytest.raises(ValueError, match="keys of here"):
        Keys(str(tmp_path / "elsewhere" / "ui" / "here" / "part.py"))


def test_the_examples_hold():
    assert doctest.testmod(keys).failed == 0
