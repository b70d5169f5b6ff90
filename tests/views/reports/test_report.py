"""The report: its numbers are the results, names are plain text, and it contains no external reference."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from fairdash.dependence import REGISTRY
from fairdash.evaluation import Gain
from fairdash.storage.log import Log
from fairdash.tariff import FAIR_TARIFF
from fairdash.training.baselines import LINEAR, PRICE
from fairdash.training.methods import THE_STANDARD, separation_in_words
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.text import number
from fairdash.views.blocks import Picture, Table, as_script_json, plotly_script
from fairdash.views.reports import content, sentences, tables
from fairdash.views.reports.content import has_groups
from fairdash.views.reports.report import details, findings, render_report
from fairdash.views.reports.sentences import answer
from fairdash.views.reports.stage import four_numbers
from tests.views.figures.rows import rows_of
from tests.views.reports.making import CLOSING, EVIL, FORMULA, LAMS, make_comparison, make_dataset

RUN = {"run_id": "0123456789ab", "created": "2026-01-02T03:04:05+00:00"}
MAX_BYTES = 6_000_000


class Reader(HTMLParser):
    """Elements with attributes, texts, styles, and scripts with data or code, of a document."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.styles, self.data, self.code = [], [""], [], [], []
        self._inside = self.texts
        self.feed(page.decode().replace("\N{NO-BREAK SPACE}", " "))
        self.text = " ".join(filter(None, self.texts))

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        scripts = self.data if dict(attrs).get("type") == "application/json" else self.code
        self._inside = {"script": scripts, "style": self.styles}.get(tag, self.texts)
        self._inside.append("")

    def handle_endtag(self, tag):
        self._inside = self.texts
        self._inside.append("")

    def handle_data(self, data):
        self._inside[-1] += data


def blocks_of(comparison):
    """Figures by id, and tables, of a report."""
    blocks = [*findings(comparison), *details(comparison, log=Log())]
    drawn = {block.id: block for block in blocks if isinstance(block, Picture)}
    return drawn, [block for block in blocks if isinstance(block, Table)]


@pytest.fixture(scope="module")
def dataset():
    return make_dataset()


@pytest.fixture(scope="module")
def found(dataset):
    return make_comparison(dataset, importance=True)


@pytest.fixture(scope="module")
def page(found, dataset):
    return render_report(found, dataset=dataset, **RUN)


def test_a_report_is_small_and_reproducible(page):
    assert len(page) <= MAX_BYTES
    again = make_dataset()
    assert render_report(make_comparison(again, importance=True), dataset=again, **RUN) == page
    assert page.count(b"plotly.js v") == 1


def numbers_in(text):
    return [each.replace(",", "") for each in re.findall(r"\d[\d,]*\.?\d*", text)]


@pytest.mark.parametrize(
    ("lam", "a", "objective"), [(2.0, 0.5, "demographic_parity"), (0.758, 0.0, "equalized_residuals")]
)
def test_every_number_in_the_summary_comes_from_the_comparison(dataset, lam, a, objective):
    found = make_comparison(dataset, lam=lam, a=a, objective=objective)
    moved, splits = found.moved, found.result.splits
    before, after = (
        np.mean([found.predictions(point)[j][split.test].sum() for j, split in enumerate(splits)])
        for point in (found.a, found.b)
    )
    values = [found.mean_change, abs(100 * (after / before - 1)), abs(after - before) / len(splits[0].test)]
    known = {f"{lam:g}", f"{a:g}", str(len(splits)), "95"}
    for point in (found.a, found.b):
        known |= {
            f"{found.verdict_p(point):.2g}",
            *(found.shown(id, point) for id in (found.front.error, "hgr_kde")),
        }
        by = found.found_by(point)
        values += [found.mean("rmse", point), found.edge(point), *(by[1:] if by else ())]
        values += [front.figure("hgr_kde", point).value for front in found.fronts.values()]
    values += [front.figure("hgr_kde", THE_STANDARD).value for front in found.fronts.values()]
    known |= {number(each) for each in values}
    known |= {f"{edge:.3g}" for edge in moved[["s_low", "s_high"]].to_numpy().ravel()}
    known |= {f"{change:.{digits}f}" for change in abs(moved["per_head"]) for digits in (0, 1)}
    said = content.summary(found)
    assert len(said) >= 4
    strange = [each for each in numbers_in(" ".join(said)) if each.rstrip(".") not in known]
    assert not strange, (strange, said)


def test_a_report_first_states_missing_predictive_gain_and_then_makes_no_claims(dataset):
    learned = make_comparison(dataset, lam=1.0)
    blind = Gain(error=1.002, error_se=0.004, is_beyond_noise=False)
    found = replace(learned, result=replace(learned.result, gain=blind))
    (said,) = content.summary(found)
    assert said == answer(found)
    assert said.startswith("Nothing was learned")
    assert "1.002" in said
    assert not re.search(r"no link|depends|grows|rise", said)
    assert said in Reader(render_report(found, dataset=dataset, **RUN)).text
    seen = replace(learned, result=replace(learned.result, gain=replace(blind, is_beyond_noise=True)))
    assert answer(seen) == answer(learned)
    assert not answer(seen).startswith("Nothing")


def test_a_report_states_when_a_model_is_no_better_than_predicting_the_average(dataset):
    found = make_comparison(dataset, lam=1.0)
    assert "everyone the average" not in answer(found)
    alone = Reader(render_report(make_comparison(dataset, lam=0.0), dataset=dataset, **RUN)).text
    assert ("With the standard model" in alone, "Change of predictions by group" in alone) == (True, False)
    worst = found.mean("mse", found.b)
    mean = pd.DataFrame({"method": ["mean"], "lam": [0.0], "mse": [worst - 0.01], "rmse": [9.0]})
    mean = rows_of(mean, "mse", "rmse")
    lost = replace(found, fronts={**found.fronts, found.objective: replace(found.front, baselines=mean)})
    assert "no smaller than the error of predicting the average for everyone" in answer(lost)


def test_each_figure_of_a_report_has_a_description_and_a_table(page, found):
    reader = Reader(page)
    drawn, shown = blocks_of(found)
    profiles = [f"profile-{each}" for each in ("demographic_parity", "equalized_residuals")]
    assert list(drawn) == ["front", *profiles, "spread", "transfers", "objectives", "features"]
    plots = [attributes for tag, attributes in reader.elements if attributes.get("class") == "plot"]
    described = [(each["id"], each["role"], each["aria-label"]) for each in plots]
    assert sorted(described) == sorted((id, "group", picture.alt) for id, picture in drawn.items())
    for picture in drawn.values():
        assert len(picture.alt) > 60
        assert picture.title in reader.text
        assert "100 test rows" in picture.subtitle
        assert json.loads(picture.json)["data"]
    assert [tag for tag, _ in reader.elements].count("table") == len(shown)


def test_every_dependence_value_in_a_report_has_a_floor_and_a_standard_error(found):
    rows = {row[0]: row[1:] for row in tables.measures(found).rows}
    for id in found.front.measures:
        own = rows[tables.in_full(REGISTRY[id])]
        for point, (value, floor) in ((found.a, own[:2]), (found.b, own[2:])):
            figure = found.front.figure(id, point)
            amounts = [float(each.replace("−", "-")) for each in re.findall(r"−?[\d.]+", f"{value} {floor}")]
            given = [figure.value, figure.se, figure.floor, figure.edge]
            np.testing.assert_allclose(amounts, given, atol=0.6 * figure.se)
            assert ("€" in value) == (id == "fairquant")
    assert len(tables.trained(found, "hgr_nn").rows) == 1 + len(LAMS)


def test_a_report_states_data_roles_training_versions_interpretation_and_limits(page, found):
    text = Reader(page).text
    for expected in (
        "Prices", "500; in each split 320 train, 80 validation, 100 test", "price (€)", "age (years)",
        "2 rows of Prices left out.", "A note on Prices.", "Fair HGR network", "0.5, 1, 2",
        "20 % of the rows that are not test rows", "hidden: 32–16–8", "0 (splits, initial weights",
        "the CPU, in 12 s", "python 3.0, torch 0.1.2", "numpy", "pandas", "plotly", "0123456789ab", "2026-01-02 03:04 UTC",
        *(f"{REGISTRY[id].fails_when}" for id in found.front.measures),
        "does not prove independence", "The models never use age, but", "Nadeau and Bengio",
    ):  # fmt: skip
        assert expected in text, expected


def test_a_report_states_which_combinations_of_attributes_a_penalty_does_not_cover(found, monkeypatch):
    alone, pairs = "each sensitive attribute separately", "combinations of two sensitive attributes"
    for method, of_two, of_three in (
        ("hgr_spline", "", pairs), ("pearson", alone, alone), (FAIR_TARIFF, "", pairs), ("hgr_nn", "", ""),
        ("jdcov", "", ""), ("ccdcov", "", ""),
    ):  # fmt: skip
        for count, treated in ((1, ""), (2, of_two), (3, of_three)):
            said = f"“.*” uses {treated}, .*Audit the price along all attributes" if treated else "$"
            assert re.match(said, separation_in_words(method, count)), (method, count)
    assert "uses combinations of 3 sensitive attributes" in separation_in_words("jdcov", 4)
    monkeypatch.setattr(content, "separation_in_words", lambda *given: str(given))
    assert str((found.b.method, 1)) in content.limits_of_comparison(found)
    monkeypatch.undo()
    assert "" not in content.limits_of_comparison(found)


def test_a_report_describes_a_blend_as_a_blend_of_two_models(dataset):
    # The λ of a blended model between 1 and 2 is that of the slider position.
    path = make_comparison(dataset).front.test
    lam = float(path.loc[(path["low"] == 1) & np.isclose(path["share"], 0.4), "lam"].iloc[0])
    found = make_comparison(dataset, lam=lam)
    named = "a blend, 40 % of the model at λ = 2"
    assert any(named in each for each in content.limits_of_comparison(found))
    assert f"{named} and 60 % of the model at λ = 1." in content.of_points(found)[1]


#: Values of a sensitive attribute, which are repeated to the number of rows.
VALUES = {"mostly zero": [0] * 7 + [1, 2, 3], "threes": [*range(40)] * 3}


@pytest.mark.parametrize("name", VALUES)
def test_every_group_in_a_report_has_at_least_20_rows(name):
    values = VALUES[name]
    dataset = make_dataset(n=240, values=values, weight=len(values) % 4 == 0)
    found = make_comparison(dataset, importance=True)
    assert has_groups(found)
    s, splits = found.s, found.result.splits

    def fewest(low, high):
        return min(int(((s[split.test] >= low) & (s[split.test] <= high)).sum()) for split in splits)

    for objective in OBJECTIVES:
        for profile in (found.profile(point, objective=objective) for point in found.points):
            counted = [fewest(row.s_low, row.s_high) for row in profile.itertuples()]
            assert min(counted) >= 20
            assert profile["n"].sum() == len(splits[0].test)
    assert min(fewest(row.s_low, row.s_high) for row in found.moved.itertuples()) >= 20
    for densities in found.spreads().values():
        assert densities["n"].min() >= 20
    for table in (tables.spread(found), *(tables.profile(found, each) for each in OBJECTIVES)):
        assert min(float(row[1]) for row in table.rows) >= 20
    # The hover texts, which contain row counts, name no smaller group.
    drawn, _ = blocks_of(found)
    traces = [trace for picture in drawn.values() for trace in json.loads(picture.json)["data"]]
    hovers = " ".join(trace.get("hovertemplate") or "" for trace in traces)
    assert [said for said in re.findall(r"(\d+) test rows", hovers) if int(said) < 20] == []
    few = make_dataset(n=90)
    assert not has_groups(make_comparison(few))
    assert (
        "too few for results by group" in Reader(render_report(make_comparison(few), dataset=few, **RUN)).text
    )


def test_names_with_markup_stay_plain_text_in_reports(page):
    names = EVIL + CLOSING, FORMULA + "{{ 7 * 7 }} a & b \"c\" 'd'"
    hostile = make_dataset(sensitive=names[0], target=names[1], title="Data " + "".join(names))
    written = render_report(make_comparison(hostile, importance=True), dataset=hostile, **RUN)
    plain, evil = Reader(page), Reader(written)
    # The documents have the same elements, whatever the names are.
    mine, theirs = ([(tag, list(attributes)) for tag, attributes in each.elements] for each in (evil, plain))
    assert mine == theirs
    assert [name for name in names if " ".join(name.split()) not in " ".join(evil.text.split())] == []
    # Seven figures and the data of the interactive component. Everything else is code, which contains no
    # name.
    assert (len(evil.data), evil.code) == (7 + 1, plain.code)
    for script in evil.data:
        assert not re.search("[<>&\u2028\u2029]", script)
        # In a figure, plotly would interpret unescaped tags; the app's component writes plain text.
        shown = json.loads(script)
        assert "layout" not in shown or not re.search("<img|<script", json.dumps(shown))


def test_a_report_has_no_remote_addresses(page):
    reader = Reader(page)
    for tag, attributes in reader.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base", "form", "img", "a"}
        assert not {"src", "href", "srcset", "action", "data", "poster", "background"} & attributes.keys()
        assert not any(re.search(r"(?i)https?:|url\(|//", value or "") for value in attributes.values())
    for style in reader.styles:
        assert not re.search(r"(?i)url\(|@import|//", style)
    # Including plotly.js: the remaining addresses are names of XML vocabularies, which are never fetched.
    assert set(re.findall(r"https?://([^/\"'`\s\\]+)", page.decode())) == {"www.w3.org"}
    (policy,) = [a["content"] for _, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'unsafe-inline';")


def test_a_report_states_that_spline_hgr_is_corrected_for_noise(found):
    corrected = replace(found, measure="hgr_spline")
    (said,) = sentences.of_values(corrected)
    assert "corrected for the contribution of noise" in said
    assert said in content.limits(corrected)
    assert sentences.of_values(replace(found, measure="hgr_kde")) == []


def test_json_embedded_in_a_script_is_escaped_and_parses_to_the_same_value():
    text = json.dumps({"name": CLOSING + EVIL + FORMULA + " & \u2029"}, ensure_ascii=False)
    safe = as_script_json(text)
    assert not re.search("[<>&\u2028\u2029]", safe)
    assert json.loads(safe) == json.loads(text)
    assert not re.search("</script|<!--", plotly_script().lower())


def test_a_report_marks_previews_and_states_when_the_data_set_is_unavailable(page, found):
    hasty = Reader(render_report(found, is_preview=True, **RUN)).text
    assert [p for p in ("This is a preview:", "the data set is not available") if p not in hasty] == []
    assert "This is a preview:" not in Reader(page).text


def test_a_report_states_how_test_rows_were_chosen_and_which_rows_form_a_group(dataset):
    found = make_comparison(dataset)
    by_time = replace(found, plan=replace(found.plan, split="time"))
    for each, kind in ((found, "At random"), (by_time, "By time")):
        said = content.training_facts(each)["Splits"]
        assert said.startswith(f"2; all methods have the same splits. {kind}: ")
    assert "mean of 2 before-and-after splits" in by_time.rows_and_splits
    together = replace(dataset, group=pd.Series(np.arange(500) // 5, name="policy"))
    said = content.data_facts(found, together)["Group"]
    assert said.startswith("policy, with 100 groups: a group's rows stay together in folds")
    assert "Group" not in content.data_facts(found, dataset)


def test_the_benchmark_table_states_that_an_existing_price_may_use_the_sensitive_attribute(found):
    front = found.front

    def title(*methods):
        first = front.test[(front.test["lam"] == 0) & (front.test["method"] == front.methods[0])]
        beside = pd.concat([first.assign(method=each) for each in methods])
        own = replace(found, fronts={**found.fronts, found.objective: replace(front, baselines=beside)})
        return tables.benchmarks(own).title

    assert title(LINEAR) == "Benchmarks that do not see the sensitive attribute"
    assert title(LINEAR, PRICE) == f"{title(LINEAR)} (the existing prediction may)"


def test_a_report_names_the_measure_that_detected_the_dependence(found):
    def said(verdict, own):
        test = found.front.test.copy()
        for measure, figures in (("verdict", verdict), ("hgr_kde", own)):
            here = (test["lam"] == found.b.lam) & (test["measure"] == measure)
            test.loc[here, list(figures)] = list(figures.values())
        fronts = {**found.fronts, found.objective: replace(found.front, test=test)}
        return sentences.dependence(replace(found, fronts=fronts)).partition("(")[2]

    own = {"value": 0.078, "se": np.nan, "edge": 0.128}
    verdict = {"p": 0.025, "by": 5.0, "value": 0.0431, "edge": 0.0312}
    link = said(verdict, own)
    assert "the sum of squared correlations in the tails is 0.0431" in link
    alone = "HGR_KDE 0.0780 alone does not show the link"
    assert f"0.0431 (below 0.0312 in 95 % of cases if the two are independent); {alone}" in link
    # A measure that shows the link is named; a measure above its noise limit without a detected link proves
    # nothing.
    assert "if the two are independent, the value is below 0.128 in" in said(verdict, own | {"value": 0.2})
    assert "HGR_KDE 0.200 alone exceeds 0.128" in said(verdict | {"p": 0.2}, own | {"value": 0.2})


def test_an_error_near_zero_is_reported_without_a_percentage_increase(found):
    test = found.front.test.copy()
    for lam, mse, rmse in ((0, 1e-6, 0.01), (found.b.lam, 0.01, 28.5)):
        for measure, value in (("mse", mse), ("rmse", rmse)):
            test.loc[(test["lam"] == lam) & (test["measure"] == measure), "value"] = value
    average = pd.DataFrame({"method": ["mean"], "lam": [0.0], "mse": [1.0], "rmse": [96.2]})
    front = replace(found.front, test=test, baselines=rows_of(average, "mse", "rmse"))
    near = replace(found, fronts={**found.fronts, found.objective: front})
    assert sentences.cost(near) == (
        "The root mean squared error grows from 0.0100 € to 28.5 € "
        "(from 0.0104 % to 29.6 % of the error of predicting the average for everyone)."
    )
    (_, value, below, meaning), *_ = four_numbers(near)
    assert (value, below) == ("28.5 €", "29.6 % of the average's error; standard model: 0.0100 €")
    assert "Predicting the average for everyone gives 96.2 €" in meaning
