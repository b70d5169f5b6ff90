"""Numbers in the documents equal the measured numbers."""

import doctest
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from html import escape
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.auditing.plan import QUESTIONS
from fairdash.cli import command_line, main
from tests.tiers import few

ROOT = Path(__file__).parent.parent


def read(path: str) -> str:
    """The text of a page."""
    return (ROOT / path).read_text(encoding="utf-8")


def committed(name: str) -> pd.DataFrame:
    """A study's results."""
    return pd.read_csv(ROOT / "benchmarks" / "results" / f"{name}.csv")


def marked(text: str, name: str) -> str:
    """The text between the marks of this name, which occur once."""
    (found,) = re.findall(rf"<!-- {name} -->(.*?)<!-- /{name} -->", text, flags=re.DOTALL)
    return found.strip("\n")


def assert_holds(examples: doctest.TestResults, *, least: int = 1) -> None:
    """Check the number of examples, and that each example gives its printed output."""
    assert examples.attempted >= least
    assert examples.failed == 0


def test_the_guide_states_the_measured_crime_figures():
    table = committed("crime_front_demographic_parity")
    method = table.set_index("method")
    last = table[table["method"] == "hgr_nn"].iloc[-1]
    said = (
        f"the standard network has an error of {method.loc['standard', 'mse']:.3f} and RidgeCV has an error of "
        f"{method.loc['ridge_cv', 'mse']:.3f}. As λ grows, the dependence (HGR_KDE) falls from "
        f"{method.loc['standard', 'hgr_kde']:.3f} to {last['hgr_kde']:.3f} (noise floor "
        f"{last['hgr_kde_floor']:.3f}), and the error rises to {last['mse']:.3f}"
    )
    assert " ".join(marked(read("docs/guide.md"), "crime").split()) == said


@pytest.mark.printed
def test_the_guides_python_block_runs_as_printed_in_a_fresh_folder(tmp_path):
    """The test uses fewer rows than the 2,000 of the guide, and fewer epochs."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", read("docs/guide.md"), flags=re.DOTALL | re.MULTILINE)
    assert block.count("n=2000") == 1
    block = block.replace("n=2000", "n=150")
    short = "from fairdash.training import settings\nsettings._MAX_EPOCHS = 12\n"
    (tmp_path / "block.py").write_text(short + block, encoding="utf-8")
    own = {"PYTHONPATH": str(ROOT), "FAIRDASH_HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    # No server answers at this address, so every download fails.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-W", "error", "block.py"],
        cwd=tmp_path, env=os.environ | own | nowhere, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "tariff.xlsx").stat().st_size > 1000
    assert re.search(r"^(below|above|undecided)$", done.stdout, flags=re.MULTILINE)
    assert "hgr=0.6" in done.stdout


@pytest.mark.variant
@pytest.mark.parametrize("name", ["audit", "front", "tariff"])
def test_a_gallery_notebook_prints_the_output_stored_in_it(name, capsys):
    """All text is equal except the numbers, which depend on the processor's rounding."""
    notebook = json.loads(read(f"docs/gallery/{name}.ipynb"))
    space: dict[str, object] = {}
    for cell in (each for each in notebook["cells"] if each["cell_type"] == "code"):
        exec("".join(cell["source"]), space)
        shown = "".join("".join(each["text"]) for each in cell["outputs"] if each["output_type"] == "stream")
        printed = capsys.readouterr().out
        assert re.sub(r"[\d.,%-]+", "0", printed) == re.sub(r"[\d.,%-]+", "0", shown)


def test_the_commands_in_the_guide_exist(capsys):
    lines = re.findall(r"^\.venv/bin/python -m fairdash (.*)$", read("docs/guide.md"), flags=re.MULTILINE)
    assert len(lines) >= 6
    for words in (shlex.split(line, comments=True) for line in lines):
        if words == ["--version"]:
            assert (main(words), capsys.readouterr().out) == (0, f"fairdash {fd.__version__}\n")
        else:
            verb, *_ = command_line().parse_args(words, exit_on_error=False, print_error=False)
            assert verb.__module__.startswith("fairdash.cli.")


def test_the_readme_is_short_and_its_pictures_and_make_targets_exist():
    readme = read("README.md")
    assert len(readme.splitlines()) <= 90
    pictures = re.findall(r"^!\[[^]]+\]\(([^)]+)\)$", readme, flags=re.MULTILINE)
    assert pictures == ["docs/audit.svg", "docs/tradeoff.png"]
    assert all((ROOT / path).is_file() for path in pictures)
    targets = re.findall(r"^([a-z]+):", read("Makefile"), flags=re.MULTILINE)
    assert set(re.findall(r"\bmake ([a-z]+)", readme)) <= set(targets)


@pytest.mark.parametrize(
    "of", ["estimator", "training", "choosing", "postprocessor", "blend", "omnibus", "joint", "methods"]
)
def test_a_documentation_page_equals_the_page_generated_from_the_committed_results(of):
    tables = import_module(f"benchmarks.{of}_tables")
    assert tables.PAGE.read_text(encoding="utf-8") == tables.page()


def test_committed_results_support_the_claims_on_the_verdict_page():
    names = ("power", "size", "splits")
    power, size, splits = (committed(f"omnibus_{name}").set_index(name)["found"] for name in names)
    assert (power.drop("independent") >= 0.85).all()
    # If weights depend on neither variable, the larger of two p-values rejects even less often.
    assert size.drop("policies with exposure").between(0.03, 0.07).all()
    assert size["policies with exposure"] <= 0.07
    assert splits[0.15] >= 0.8


def examples_of(page: str) -> doctest.TestResults:
    return doctest.testfile(str(ROOT / "docs" / page), module_relative=False, encoding="utf-8")


#: Documentation pages with examples.
EXAMPLES = ("audit", "conditional", "groups", "methods", "numbers", "regressor", "tariff", "verdict")


@pytest.mark.parametrize("page", few(EXAMPLES, "verdict"))
def test_code_examples_on_a_documentation_page_give_the_printed_output(page):
    assert_holds(examples_of(f"{page}.md"), least=6)


#: Public names with a docstring; functions of submodules have separate examples.
PUBLIC = [name for name in fd.__all__ if not name.startswith("_") and not inspect.ismodule(getattr(fd, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_docstring_example_that_passes(name):
    one = getattr(fd, name)
    names = {"fd": fd, "np": np, "pd": pd, name: one}
    (found,) = doctest.DocTestFinder(recurse=False).find(one, name, globs=names)
    assert_holds(doctest.DocTestRunner().run(found))


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/architecture.md"])
def test_documents_state_the_correct_number_of_audit_questions(page):
    words = dict(enumerate("eight nine ten eleven twelve thirteen".split(), start=8))
    assert {*re.findall(r"(\w+) questions", read(page))} & {*words.values()} == {words[len(QUESTIONS)]}


def test_the_guide_states_the_benchmark_results_on_displayed_and_tested_values():
    from benchmarks.estimator_tables import judged, told_apart

    for name, said in (("shown", told_apart()), ("judged", judged())):
        assert " ".join(marked(read("docs/guide.md"), name).split()) == said


def test_the_audit_page_states_the_measured_error_rates_and_durations():
    page, cases = read("docs/audit.md"), committed("audit_cases")
    for name in ("cases", "rivals", "ways", "times", "bands", "sufficiency"):
        given = (committed(f"audit_{name}"), cases)[: 2 if name == "rivals" else 1]
        lines = import_module(f"benchmarks.audit_{name}").page_lines(*given)
        assert marked(page, name).splitlines() == lines
    crossing = import_module("benchmarks.crossing")
    crossings = pd.read_csv(crossing.RESULTS)
    assert marked(page, "crossing").splitlines() == crossing.page_lines(crossings)
    shares = crossings[["any_above", "crossing_below"]].div(crossings["samples"], axis=0)
    assert (shares["any_above"][crossings["gap"] <= 1] <= 0.07).all()
    assert (shares["crossing_below"][crossings["gap"] == 1] <= 0.07).all()
    assert (shares["any_above"][crossings["gap"] == 4] >= 0.9).all()
    said = " ".join(page.split("## The level of prices")[1].split("\n## ")[0].split())
    sufficiency = committed("audit_sufficiency").query("price == 'price = μ'").set_index(["planted", "rows"])
    planted = [("± 20 %", 3_000), ("5 %, the top 3 %", 20_000), ("5 %, a line", 20_000)]
    jump, tail, line = (sufficiency.loc[each] for each in planted)
    for words in (
        f"median of the measured value over 200 samples is {100 * jump.sufficiency_value:.1f} %. **",
        f"median of the measured value over 200 samples is {100 * tail.sufficiency_value:.1f} %. The",
        f"says “below” in {tail.sufficiency_below} of the 200 samples, where a test at the 5 % level",
        f"a straight line in s instead, the audit says “below” in {line.sufficiency_below} of 200 samples",
        f"“above” in {tail.residuals_above} of the 200 samples with the surcharge",
    ):
        assert words in said


def test_the_page_on_classes_equals_the_page_generated_from_the_committed_results():
    from benchmarks import class_rivals, class_verdicts

    for name, module in (("verdicts", class_verdicts), ("rivals", class_rivals)):
        lines = module.page_lines(pd.read_csv(module.RESULTS))
        assert marked(read("docs/classes.md"), name).splitlines() == lines
    verdicts = pd.read_csv(class_verdicts.RESULTS)
    assert (verdicts["samples"] == 200).all()
    assert verdicts[["no gap: above", "at δ: above", "at δ: below", "no gap: found"]].to_numpy().max() <= 16


def test_the_tutorial_examples_give_the_printed_output():
    assert_holds(examples_of("tutorial.md"), least=31)


def test_the_tariff_page_states_the_measured_deviances_and_the_effect_of_smoothing():
    table, page = committed("tariff"), read("docs/tariff.md")
    tariffs = table[table["method"] == "fair_tariff"]
    (glm,) = table.loc[table["method"] == "glm_same_columns", "deviance"]
    rows = [
        ["λ", *(f"{lam:g}" for lam in tariffs["lam"])],
        ["test deviance ÷ constant's", *(f"{each:.4f}" for each in tariffs["deviance"])],
        ["HGR (spline) with age, test", *(f"{each:.3f}" for each in tariffs["hgr_spline"])],
    ]
    for n, own in committed("tariff_smooth").groupby("rows"):
        cells = [cell for each in own.itertuples() for cell in (f"{each.deviance:.4f}", f"{each.turns:.0f}")]
        rows.append([f"{n:,}", *cells])
        assert own["deviance"].iloc[1] < own["deviance"].iloc[0]
    assert [row for row in rows if f"| {' | '.join(row)} |" not in page] == []
    assert f"with its own solver, has a deviance of {glm:.4f}" in page
    assert tariffs["deviance"].iloc[0] == pytest.approx(glm, abs=1e-6)
    took = committed("tariff_seconds").iloc[0]
    assert f"{took['processor_seconds']:.0f} seconds of one processor" in page


def test_the_tariff_page_states_where_other_tariff_models_beat_the_default():
    from benchmarks.tariff_rivals import page_table, rivals_of

    table, page = committed("tariff_rivals"), read("docs/tariff.md")
    assert page_table(table) in page
    named = {"without": "rate without age", "with": "need age"}
    for kind, rivals in rivals_of(table).items():
        for by, same in (("by_gap", "gap"), ("by_hgr", "HGR")):
            proved = rivals.loc[rivals[f"{by}_high"] < 0, by]
            above, much = (rivals[f"{by}_low"] > 0).sum(), (proved < -5e-4).sum()
            counted = f"{len(proved)} of {len(rivals)} | {much} | {-proved.min():.4f} | {above} |"
            assert f"| {named[kind]} | {same} | {counted}" in page
    default = table[table["way"] == "averages"]
    assert (default["deviance"] <= 1).all()
    assert (default["flat_low"] < 0).all()
    for _, path in default.groupby("table"):
        # Two thousand test rows can only distinguish values of λ that differ much.
        apart = path[path["strength"].isin([0.001, 0.01, 0.1, 0.4, 1, 3, 10, 30])]
        assert (len(apart), path["deviance"].iloc[-1]) == (8, pytest.approx(1, abs=0.05))
        assert (apart["gap"].diff().dropna() < 0).all()


def test_the_tariff_page_states_the_cost_of_a_cap():
    from benchmarks.tariff_cap import page_table

    table, page = committed("tariff_cap"), read("docs/tariff.md")
    assert page_table(table) in page
    for _, own in table.dropna(subset="lam").groupby("lam"):
        # The narrower the cap, the closer premiums are to the existing price, in predicted claims and in the
        # link with age.
        path = own.sort_values("cap", ascending=False, na_position="first")
        assert (path["error"].diff().dropna() < 0).all()
        assert (path["dependence"].diff().dropna() > 0).all()
    said = "leaves a gap of {:.0f} %, compared with {:.0f} % for the uncapped tariff at λ = 3"
    gap = table[table["lam"] == 3].set_index("cap")["gap"]
    assert said.format(100 * gap[0.3], 100 * gap[gap.index.isna()].item()) in page


def test_the_readme_states_the_measured_time_and_size_of_a_fresh_install():
    (row,) = committed("first_verdict").itertuples()
    assert row.python == 3.13
    said = f"uv installs the wheel in {row.install_seconds:.0f} seconds ({row.megabytes:.0f} MB)"
    readme = " ".join(read("README.md").split())
    assert f"{said}. The audit above takes {row.verdict_cpu:.0f} seconds" in readme


def test_the_page_on_groups_states_the_measured_false_alarm_rates():
    table = committed("grouped_null")
    for exchanged, own in table[table["sizes"] == "2 to 8"].groupby("exchanged"):
        alarms = 100 * own["false_alarms"]
        assert marked(read("docs/groups.md"), exchanged) == f"{alarms.min():.0f} to {alarms.max():.0f} %"
    of_policies = table[table["exchanged"] == "policies"]
    # Both kinds of exchange, within the sampling error of so few data sets.
    error = np.sqrt(0.05 * 0.95 / of_policies["sets"])
    assert (of_policies["false_alarms"] <= 0.05 + 2.5 * error).all()


def test_the_page_on_conditional_dependence_states_the_measured_detection_rates():
    from benchmarks.conditional import PIECES, TABLE, page_table, pairs_table

    page = read("docs/conditional.md")
    assert (marked(page, "pairs"), marked(page, "table")) == (pairs_table(), page_table())
    table, pieces = pd.read_csv(TABLE), pd.read_csv(PIECES)
    counted = pieces.groupby(["case", "rows"])["found"].agg(["mean", "size"])
    for row in table.itertuples():
        mean, size = counted.loc[(row.case, row.rows)]
        assert (row.sets, row.found) == (50 * size, pytest.approx(mean / 50, abs=6e-4))
    asked = table[table["case"].isin(["linear", "curved", "number_and_category"]) & (table["rows"] == 2000)]
    assert (asked["sets"] >= 1000).all()
    assert asked["found"].between(0.03, 0.07).all()
    assert (table.loc[table["case"].str.startswith("product"), "found"] >= 0.9).all()


#: Modules with examples. Examples of public functions are run by name; these examples take seconds.
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for part in ("fairdash", "docs/making")
    for path in (ROOT / part).rglob("*.py")
    if re.search(r"^ *>>> ", path.read_text("utf-8"), flags=re.M)
} - {"fairdash", "fairdash.api"}
LONG = {"fairdash.auditing.audit", "fairdash.data.proxies"}
LONG |= {"fairdash.evaluation.result", "fairdash.training.search"}


@pytest.mark.parametrize("module", few(sorted(MODULES), *(MODULES - LONG)))
def test_the_docstring_examples_of_a_module_pass(module):
    assert_holds(doctest.testmod(import_module(module), extraglobs={"fd": fd, "np": np, "pd": pd}))


def test_the_page_on_bad_inputs_is_up_to_date_with_the_tests():
    from docs.bad_inputs import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(), "make it anew: python -m docs.bad_inputs"


def test_every_listed_bad_input_has_a_test_and_inputs_that_pages_accept_have_a_page_test():
    from docs.bad_inputs import ROWS, marked_tests

    held = list(marked_tests())
    known = {row for rows in ROWS.values() for row in rows}
    assert {row for row, _, _ in held} == known
    seen = {row for row, path, _ in held if path.startswith(("tests/ui", "tests/browser"))}
    # Bad inputs that a user meets on a page; all others concern only files, servers and exports.
    assert seen >= {*ROWS["Reading a file"], *ROWS["Choosing roles"], 52, 53, 54}


def test_a_notebook_shows_results_as_tables():
    result = fd.AuditResult.load(ROOT / "fairdash" / "auditing" / "example")
    assert all(escape(each.sentence, quote=False) in result._repr_html_() for each in result.answers)
    hostile = replace(result, answers=(replace(result.answers[0], sentence="<script>alert(1)</script>"),))
    assert "<script>" not in hostile._repr_html_()
    bare = {"tariff": False, "tune": False, "references": False, "importance": False, "measures": ["pearson"]}
    bare |= {"methods": ["standard"], "lams": [1.0], "n_splits": 1}
    swept = fd.sweep(fd.load_dataset("household", n=200), **bare)
    (tested,) = swept.frame.loc[swept.frame["part"] == "test", "mse"]
    assert f"<td>{tested:.4g}</td>" in swept._repr_html_()
