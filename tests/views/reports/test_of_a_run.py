"""From a stored run to its report: points by name, and the command line."""

from __future__ import annotations

import shutil

import pytest

from fairdash.__main__ import main
from fairdash.errors import OptionError
from fairdash.evaluation import DEFAULT_MEASURE, wide
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.store import Run
from fairdash.training.methods import ModelKey
from fairdash.training.references import REFERENCES
from fairdash.views.reports import tables


@pytest.fixture
def run(shared) -> Run:
    (folder,) = (shared("front") / "runs").iterdir()
    shutil.copytree(folder, Run.home() / folder.name)
    return Run(folder.name)


def test_what_is_not_named_is_as_the_page_has_it(run):
    found = parse_comparison(run)
    assert (found.a, found.b) == (ModelKey("standard", 0.0), ModelKey("hgr_nn", 1.0))
    assert (found.objective, found.measure) == (run.spec.plan.objective, DEFAULT_MEASURE)


def test_points_are_found_by_their_names(run):
    found = parse_comparison(run, method="hgr_nn", lam=4, against="hgr_nn:0.5", measure="fairquant")
    assert (found.a, found.b) == (ModelKey("hgr_nn", 0.5), ModelKey("hgr_nn", 4.0))
    between = parse_comparison(run).front.rows("mse")["lam"].iloc[15]
    assert parse_comparison(run, lam=float(f"{between:g}")).b.lam == between


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"lam": 3.99}, "λ = 3.99"), ({"method": "mine"}, "mine"), ({"against": "hgr_nn"}, "not a weight"),
        ({"against": "hgr_nn:7"}, "λ = 7"), ({"measure": "pearson"}, "pearson"), ({"objective": "x"}, "x"),
        ({"sensitive": "x"}, "x"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_with_what_is(run, named, said):
    with pytest.raises(OptionError, match=said):
        parse_comparison(run, **named)


def test_a_shell_writes_the_report(run, tmp_path, capsys):
    place = tmp_path / "report.html"
    assert main(["report", run.id, "--lam", "4", "--out", str(place)]) == 0
    page = place.read_text(encoding="utf-8")
    # The data set was read again for its features.
    features = f"Features ({len(run.spec.source.load().roles.features)})"
    assert [part for part in (f"Run {run.id}", "Fair HGR network, λ = 4", features) if part not in page] == []
    assert f"{place}: " in capsys.readouterr().out


def test_the_table_of_references_says_what_independence_costs_at_least_and_what_a_curve_is_not(run):
    found = parse_comparison(run)
    table = tables.references(found)
    front = found.front
    (whole,) = wide(front.references).query("method == 'barycentre' and lam == 1").itertuples()
    assert front.least_error == (whole.mse, whole.mse_se)
    assert front.price[0] == pytest.approx(found.result.price.mean())
    assert "independent of Age have an error of at least" in table.note
    assert table.note.count("±") >= 2
    # On Crime networks that do not see s undercut the curve on the way, never at its end.
    assert REFERENCES["barycentre"].limits in table.note
