"""Wording of texts: no phrase to avoid, docstrings that begin plainly, short sentences."""

import ast
import csv
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parent.parent
CODE = [*ROOT.glob("fairdash/**/*.py"), *ROOT.glob("pages/**/*.py")]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]

#: Phrases to avoid, as patterns, mapped to an alternative or a reason.
AVOID = dict(csv.reader((ROOT / "tests" / "words_to_avoid.csv").read_text("utf-8").splitlines()[1:]))
#: Unclear first words of docstrings: begin with a verb or a noun instead.
OPENINGS = re.compile(r"(What|Whether|Whose|Whom|Who|Of (a|an|the|all)) ")
#: Unclear first words of comments: begin with a noun or a condition, and state the reason.
RIDDLES = re.compile(
    r"(What|Whether|Whose|Whom|Who|Whoever|Whatever|So (many|much|few)|Of|From which|By what|Told|Hears|Not only)\b"
)
#: Vague variable names, which a noun would describe better.
VAGUE = re.compile(r"found|told|those|gone|made")
#: Remaining numbers of unclear comments and names; they may only fall.
LEFT = ROOT / "tests" / "words_left.csv"
#: Upper limit of the median number of words per sentence in the documents.
MEDIAN = 20


@cache
def code_texts(file: Path) -> tuple[tuple[int, str, bool], ...]:
    """Line and text of each string in a module, with a flag for docstrings."""
    tree = ast.parse(file.read_text("utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(each.body[0].value)
        for each in ast.walk(tree)
        if isinstance(each, kinds) and each.body and isinstance(each.body[0], ast.Expr)
    }
    return tuple(
        (each.lineno, each.value, id(each) in docs)
        for each in ast.walk(tree)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )


def prose(file: Path) -> str:
    """A page without code, comments and tables of words to avoid."""
    text = re.sub(r"```.*?```|`[^`\n]*`|<!--.*?-->", "", file.read_text("utf-8"), flags=re.DOTALL)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page's paragraphs and lists, without headings and tables."""
    text = re.sub(r"^(\||#|!\[|>>>|    ).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", text):
        for each in re.split(r"(?<=[.?!:])[*”)]*\s+(?=[A-Z“*(\d])", " ".join(paragraph.split())):
            if len(re.findall(r"\w+", each)) > 2:
                yield each


def test_no_discouraged_phrase_appears_in_code_texts_or_documents() -> None:
    texts = [(f"{file.name}:{line}", text) for file in CODE for line, text, _ in code_texts(file)]
    texts += [(file.name, prose(file)) for file in PAGES]
    texts += [(file.name, file.read_text("utf-8")) for file in ROOT.glob("fairdash/**/*.html")]
    texts += [(file.name, file.read_text("utf-8")) for file in ROOT.glob("fairdash/**/*.toml")]
    texts = [(place, " ".join(text.split())) for place, text in texts]
    suspects = [(place, text) for place, text in texts if re.search("|".join(AVOID), text)]
    found = [
        f"{place}: “{hit[0]}”, {instead}"
        for pattern, instead in AVOID.items()
        for place, text in suspects
        for hit in re.finditer(pattern, text)
    ]
    assert not found, "\n".join(found)


def comments(file: Path) -> Iterator[str]:
    """The comments of a module; comments on neighbouring lines are joined."""
    tokens = tokenize.generate_tokens(io.StringIO(file.read_text("utf-8")).readline)
    found = [each for each in tokens if each.type == tokenize.COMMENT]
    for k, each in enumerate(found):
        goes_on = k and found[k - 1].start == (each.start[0] - 1, each.start[1])
        if not goes_on:
            yield each.string.lstrip("#: ")


def counts_of_riddles() -> dict[tuple[str, str], int]:
    """Number of comments that open unclearly, by folder, and total number of assignments to vague names."""
    counts = Counter[tuple[str, str]]()
    for file in CODE:
        folder = file.relative_to(ROOT).parts[1].removesuffix(".py")
        counts[folder, "comments"] += sum(bool(RIDDLES.match(each)) for each in comments(file))
        counts["all", "names"] += sum(
            isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and bool(VAGUE.fullmatch(each.id))
            for each in ast.walk(ast.parse(file.read_text("utf-8")))
        )
    return {key: count for key, count in counts.items() if count}


def test_the_number_of_unclear_comments_and_variable_names_does_not_grow() -> None:
    rows = csv.DictReader(LEFT.read_text("utf-8").splitlines())
    left = {(row["folder"], row["kind"]): int(row["count"]) for row in rows}
    counts = counts_of_riddles()
    assert {key: count for key, count in counts.items() if count > left.get(key, 0)} == {}


@pytest.mark.parametrize("text", ["What programs call it", "Of many levels none is", "So many rows at least"])
def test_the_comment_check_finds_unclear_openings(text: str) -> None:
    assert RIDDLES.match(text)


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {text[:60]}"
        for file in CODE
        for line, text, is_doc in code_texts(file)
        if is_doc and OPENINGS.match(text)
    ]
    assert not found, "\n".join(found)


def test_sentences_of_the_documents_are_short() -> None:
    lengths = [len(each.split()) for file in PAGES for each in sentences(prose(file))]
    assert len(lengths) > 500
    assert median(lengths) <= MEDIAN


@pytest.mark.parametrize("text", ["an adversary reads .7", "Whoever goes on", "can't be told from none"])
def test_the_list_of_discouraged_phrases_matches_known_examples(text: str) -> None:
    assert any(re.search(pattern, text, flags=re.IGNORECASE) for pattern in AVOID)
