"""Every promise of README and docs is tested: promises.md names promises and tests."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.tiers import CARRIED_OUT_BY_OTHERS

TESTS = Path(__file__).parent
ROOT = TESTS.parent
TABLE = TESTS / "promises.md"
#: Pages written by hand, where each section makes a promise. Pages of a study or a run have one or two rows.
BY_SECTION = ("README", *(f"docs/{n}" for n in "audit choosing classes conditional deployment guide".split()))
BY_SECTION += tuple(f"docs/{name}" for name in "groups lesson numbers regressor tariff".split())


def rows() -> list[tuple[str, str, list[str]]]:
    """Page, quoted words and tests of each row."""
    lines = re.findall(r"^\| `(.*?)` \| (.*?) \| (.*?) \|$", TABLE.read_text(encoding="utf-8"), flags=re.M)
    return [(page, words, re.findall(r"`(.*?)`", tests)) for page, words, tests in lines]


@cache
def functions_of(path: Path) -> dict[str, ast.FunctionDef]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {one.name: one for one in body if isinstance(one, ast.FunctionDef)}


def plain(text: str) -> str:
    return " ".join(text.split())


def test_each_documented_promise_is_on_its_page_and_names_existing_tests() -> None:
    found = rows()
    assert len(found) > 100
    for page, words, tests in found:
        assert plain(words) in plain((ROOT / page).read_text(encoding="utf-8")), (page, words)
        assert tests, words
        for each in tests:
            path, _, name = each.partition("::")
            assert name in functions_of(TESTS / path), each


def test_every_documentation_page_and_section_has_a_tested_promise() -> None:
    promised: dict[str, list[str]] = {}
    for page, words, _ in rows():
        promised.setdefault(page, []).append(plain(words))
    assert promised.keys() == {"README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))}
    for page in BY_SECTION:
        text = re.sub(
            r"^```.*?^```", "", (ROOT / f"{page}.md").read_text(encoding="utf-8"), flags=re.M | re.S
        )
        for section in re.split(r"^(?=## )", text, flags=re.M)[1:]:
            title = section.partition("\n")[0]
            assert any(words in plain(section) for words in promised[f"{page}.md"]), (page, title)


#: Code that fails if a promise is broken: assertions, and calls of pytest, scikit-learn, Playwright and our
#: helpers.
ASSERTING = re.compile(r"\bassert|\b(raises|warns|fail|until|check|expect|wait_for_function)\(")


def asserts(one: ast.FunctionDef, beside: dict[str, ast.FunctionDef]) -> bool:
    """Return True if a function asserts, or calls a function of its module that does."""
    text = "\n".join(map(ast.unparse, one.body))
    others = {name: each for name, each in beside.items() if each is not one}
    called = (each for name, each in others.items() if f"{name}(" in text)
    return bool(ASSERTING.search(text)) or any(asserts(each, others) for each in called)


def test_no_test_is_without_an_assertion() -> None:
    n = 0
    for path in TESTS.rglob("test_*.py"):
        functions = functions_of(path)
        for name, one in functions.items():
            if name.startswith("test_"):
                n += 1
                assert asserts(one, functions), f"{path.name}::{name}"
    assert n > 1000


def test_every_test_deferred_to_make_test_all_exists():
    named = [line.partition("::") for line in CARRIED_OUT_BY_OTHERS]
    assert [name for file, _, name in named if f"def {name}(" not in (ROOT / file).read_text("utf-8")] == []
