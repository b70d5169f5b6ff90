"""The audit page, from the form to the answers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import fairdash as fd
from fairdash.auditing.filing.document import FIELDS, kept_governance
from fairdash.auditing.models.foreign import read_model
from fairdash.auditing.plan import AuditPlan, Columns
from fairdash.data.source import CatalogueSource, UploadSource, load_source, save_source, sources_folder
from fairdash.data.uploads import keep_upload
from fairdash.errors import RunError, StorageError
from fairdash.evaluation import wide
from fairdash.runs import worker
from fairdash.runs.audits import AuditJob, create_audit
from fairdash.runs.deletion import delete_file_and_derived, derived_from_file
from fairdash.runs.launch import cancel
from fairdash.runs.listing import finished_audits
from fairdash.runs.model_card import HEADINGS
from fairdash.runs.repairs import RepairJob, create_repair, find_repair
from fairdash.storage import LOCAL
from fairdash.tables.readers.report import ReadingOptions
from fairdash.tables.roles import Roles
from fairdash.training.baselines import PRICE
from fairdash.ui.text import safe
from fairdash.utils.options import options_of
from fairdash.utils.text import unbroken
from fairdash.views.reports.fronts import fronts_of
from tests.auditing.test_model import onnx_bytes
from tests.runs.finished import PLAN, finished
from tests.shared import quick_models
from tests.ui.conftest import box, button, calm, charts, click, named, numbers, open_page, words
from tests.ui.test_data_page import csv


def policies(n: int = 450) -> pd.DataFrame:
    """Premiums with a surcharge for young drivers, and claims that don't justify it."""
    rng = np.random.default_rng(0)
    age, power = rng.integers(18, 80, n), rng.normal(6, 1.5, n).round(1)
    claims = (rng.gamma(2, 150, n) * (rng.random(n) < 0.4)).round(2)
    premium = (300 + 20 * power + 90 * (age < 26)).round(2)
    return pd.DataFrame({"age": age, "power": power, "claims": claims, "<b>premium</b>": premium})


def uploaded(frame: pd.DataFrame, name: str = "policies.csv") -> UploadSource:
    upload = keep_upload(frame.to_csv(index=False).encode(), name=name, owner=LOCAL)
    roles = Roles(target="claims", sensitive=("age",), features=("power",), prediction="<b>premium</b>")
    made = UploadSource(sha256=upload.sha256, name=name, roles=roles, reading=ReadingOptions())
    save_source(made, owner=LOCAL)
    return made


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    """Use small models, and let jobs read model files without a separate process."""
    with quick_models(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairdash.auditing.models.model_answers.ForeignModel", read_model)
        yield


@pytest.fixture
def source() -> UploadSource:
    return uploaded(policies())


def done(audit: AuditJob) -> AuditJob:
    assert worker.main(audit.id) == 0, audit.status
    return audit


def started(at: AppTest) -> AuditJob:
    """The audit in the page's address."""
    return AuditJob(at.query_params["audit"], owner=LOCAL)


def labels(parts: Iterable[Any]) -> list[str]:
    return [each.label for each in parts]


def asked(source: UploadSource, *questions: int) -> AuditJob:
    """Fill in the form with a few questions only, because questions 6 and 8 train models for seconds."""
    roles = source.roles
    columns = Columns(price=str(roles.prediction), sensitive=roles.sensitive[0], outcome=roles.target)
    plan = AuditPlan(columns=columns, questions=questions or (1, 5))
    return done(create_audit(source, plan, owner=LOCAL))


def test_an_audit_started_from_the_form_shows_all_answers(source: UploadSource) -> None:
    audit = done(started(calm(click(open_page("audit", dataset=source.id), "Audit this price"))))
    columns = audit.spec.plan.columns
    assert (columns.price, columns.sensitive, columns.outcome) == ("<b>premium</b>", "age", "claims")
    result = audit.read_result()
    assert result.verdict == "above"
    at = calm(open_page("audit", audit=audit.id))
    assert "shown above the threshold" in words(at)
    answers = {safe(f"{answer.question}. {answer.title}") for answer in result.answers}
    assert answers <= set(labels(at.expander))
    averages = [each for each in charts(at) if "Average" in each and "premium" in each]
    (title,) = (each for each in averages if "minus" not in each)
    # A name given by the user is never treated as markup.
    assert "<b>premium" not in words(at) + title
    curve = charts(at)[title]["data"][1]
    assert len(numbers(curve["x"])) == (result.curve["kind"] == "curve").sum()


def test_auditing_an_uploaded_table_requires_only_the_price_and_the_sensitive_attribute() -> None:
    """Components of the price are no rating factors, and rows of a policy count once."""
    rng = np.random.default_rng(0)
    policy = np.repeat(rng.permutation(900)[:400], 2)
    age, zone = rng.integers(18, 80, 900)[policy], rng.choice(list("abc"), 900)[policy]
    frame = pd.DataFrame({"no": policy, "tpl": (3.0 * (100 - age)).round(2), "zone": zone, "old": age})
    frame["hull"] = rng.gamma(20, 8, 900)[policy].round(2)
    frame["total"] = (frame["tpl"] + frame["hull"]).round(2)
    at = click(open_page("audit"), "Audit a table of your own")
    at = at.file_uploader[0].set_value(("own.csv", csv(frame), "text/csv")).run()
    assert button(at, "Audit this price").disabled
    at = box(at, "Price, or prediction").set_value("total").run()
    at = calm(box(at, "Sensitive attribute").set_value("old").run())
    said = words(at).replace("\\", "")
    assert "**2 columns** left out of the factors: “total” is the sum of “tpl”, “hull”." in said
    assert "**no** names 400 policies in 800 rows. The audit counts the rows of a policy as one unit." in said
    assert named(at.multiselect, "Rating factors").value == ["zone"]
    at = click(at, "Use 2 columns anyway")
    assert named(at.multiselect, "Rating factors").value == ["tpl", "zone", "hull"]
    at = calm(click(click(at, "Leave out 2 columns"), "Audit this price"))
    columns, roles = started(at).spec.plan.columns, load_source(at.query_params["dataset"]).roles
    chosen = (columns.price, (columns.sensitive,), columns.groups, columns.features)
    assert chosen == ("total", ("old",), "no", ("zone",))
    assert (roles.target, roles.sensitive, roles.group, roles.features) == chosen
    # The table is now in use, and the form is the usual one.
    assert "Another table" in labels(click(at, "Another audit").button)


def test_the_audit_form_offers_every_option_of_the_plan(source: UploadSource) -> None:
    at = calm(open_page("audit", dataset=source.id))
    shown = {label for kind in (at.radio, at.number_input, at.text_input) for label in labels(kind)}
    asked = {each.metadata["label"] for each in options_of(AuditPlan).values()} - {""}
    assert asked <= shown
    at = named(at.number_input, "Largest acceptable gap").set_value(100.0).run()
    at = click(at, "Audit this price")
    assert "below 1, such as 0.05 for 5 %" in at.error[0].value.replace("\\", "")


def of_a_model(source: UploadSource, content: bytes, **options: object) -> AuditJob:
    plan = AuditPlan(columns=Columns(price="model price", sensitive="age"), questions=(1,))
    return create_audit(source, plan, model=content, owner=LOCAL, **options)  # type: ignore[arg-type]


def with_a_model(source: UploadSource, name: str, content: bytes) -> AppTest:
    """The form after the user has given a model instead of a price column."""
    at = calm(calm(open_page("audit", dataset=source.id)).toggle[0].set_value(True).run())
    assert "Price, or prediction" not in labels(at.selectbox)
    assert button(at, "Audit this price").disabled
    return at.file_uploader[0].set_value((name, content, "application/octet-stream")).run()


def test_a_model_with_named_inputs_is_matched_to_columns_by_name(source: UploadSource) -> None:
    table = b"factor,level,relativity\nbase,,100\nage,18-40,1.5\nage,41+,1\n"
    at = calm(with_a_model(source, "tariff.txt", table))
    assert not [label for label in labels(at.multiselect) if label.startswith("Input columns")]
    for said in ("table of factors (text)", "finds these columns by name: age"):
        assert safe(said) in words(at)
    audit = started(calm(click(at, "Audit this price")))
    assert audit.model["model_columns"] is None
    cancel(audit)
    # Names of coefficients begin with the names of columns, also for the sensitive attribute.
    at = calm(with_a_model(source, "coef.csv", b"term,estimate\n(Intercept),4\nage,.01\npower,.02\n"))
    assert safe("finds the columns of these terms by name: age, power") in words(at)
    assert not [label for label in labels(at.multiselect) if label.startswith("Input columns")]
    at = with_a_model(source, "m.txt", table.replace(b"base,,100\n", b""))
    assert safe("it has no base rate") in "".join(each.value for each in at.error)
    assert button(at, "Audit this price").disabled


def test_an_audit_of_a_model_equals_that_of_the_library_and_can_be_repaired(source: UploadSource) -> None:
    options = {"model_columns": ("power", "age"), "customer": 7}
    audit = done(of_a_model(source, onnx_bytes(n=2), **options))
    result = audit.read_result()
    by_hand = fd.audit(policies(), model=onnx_bytes(n=2), sensitive="age", questions=[1], **options)
    for name in ("flips", "partial_dependence", "customer", "customer_columns"):
        pd.testing.assert_frame_equal(result.tables[name], by_hand.tables[name])
    assert result.origin["model"] == by_hand.origin["model"]
    assert safe("11. What does the model do?") in labels(calm(open_page("audit", audit=audit.id)).expander)
    job = create_repair(audit, "age")
    with pytest.raises(RunError, match="incomplete or damaged"):
        job.figures()
    assert worker.main(job.id) == 0, job.status
    known = job.figures().set_index(["s at pricing", "strength"])["dependence"]
    assert known["known", 1.0] < known["known", 0.0]
    # The model file belongs only to the audit and is deleted with it.
    kept = [each for each in audit.home().parent.rglob("*") if each.is_file() and each.suffix == ".onnx"]
    assert (kept, audit.folder.stat().st_mode & 0o077) == ([audit.folder / "model.onnx"], 0)
    delete_file_and_derived(source.sha256, owner=LOCAL)
    assert not kept[0].exists()


def test_an_unusable_model_file_is_refused_with_the_reason(source: UploadSource) -> None:
    altered = of_a_model(source, onnx_bytes(n=2))
    (altered.folder / "model.onnx").write_bytes(b"")
    for audit, why in ((of_a_model(source, b"PK"), "it is not a self-contained"), (altered, "model.onnx")):
        assert worker.main(audit.id) == 1
        (said,) = open_page("audit", audit=audit.id).error
        assert safe(why) in said.value
    with pytest.raises(StorageError, match="larger than 50 MB"):
        of_a_model(source, bytes(50 * 10**6 + 1))


def test_an_audit_of_another_owner_is_reported_as_gone(source: UploadSource) -> None:
    audit = create_audit(source, AuditPlan(columns=Columns(price="claims", sensitive="age")), owner="0" * 32)
    at = open_page("audit", audit=audit.id)
    assert "is gone" in at.error[0].value


def test_the_audit_page_compares_the_price_with_the_nearest_models_of_a_front(source: UploadSource) -> None:
    audit = asked(source, 1, 8)
    at = calm(open_page("audit", audit=audit.id))
    assert "No front has been trained" in words(at)
    calm(click(at, "Train a front on this table"))
    # This run has another target than the audit's outcome.
    other = replace(source, roles=replace(source.roles, target="power", features=("claims",)))
    finished(replace(PLAN, methods=("standard",), n_splits=1), source=other)
    assert "No front has been trained" in words(calm(open_page("audit", audit=audit.id)))
    run = finished(source=source)
    at = calm(open_page("audit", audit=audit.id))
    assert "same rows: " in words(at) or "None of the nearest points" in words(at)
    front = fronts_of(run.read_result(), sensitive="age")[run.spec.plan.objective]
    (table,) = (each.value for each in at.dataframe if "± dependence" in each.value)
    assert table["price"].iloc[0] == "the audited price"
    own = wide(front.baselines).set_index("method").loc[PRICE]
    assert (table[front.error_title].iloc[0], len(table)) == (own[front.error], 4)


def test_a_price_is_repaired_by_one_click(source: UploadSource) -> None:
    audit = asked(source)
    calm(click(open_page("audit", audit=audit.id), "Repair the price at four strengths"))
    job = find_repair(audit, "age")
    assert job is not None
    assert "Cancel" in labels(calm(open_page("audit", audit=audit.id)).button)
    assert worker.main(job.id) == 0, job.status
    at = calm(open_page("audit", audit=audit.id))
    (table,) = (each.value for each in at.dataframe if "s at pricing" in each.value)
    known = table[table["s at pricing"] == "known"].set_index("strength")
    assert known.loc[1.0, "dependence"] < known.loc[0.0, "dependence"]
    with zipfile.ZipFile(io.BytesIO(job.bundle())) as archive:
        card = archive.read("model_card.md").decode()
        prices = pd.read_csv(archive.open("repaired_prices.csv"))
    assert len(prices) == len(policies())
    assert all(f"\n## {heading}\n" in card for heading in HEADINGS)
    assert "It predicts \\<b\\>premium" in card
    assert derived_from_file(source.sha256, owner=LOCAL).jobs[RepairJob] == (job.folder,)


def test_an_audit_of_predictions_of_a_run_compares_them_with_the_trade_off_curve_of_the_run() -> None:
    run = finished(source=CatalogueSource(dataset="household", options={"n": 400}))
    calm(click(open_page("tradeoff", run=run.id), "Audit this price"))
    kept = [load_source(path.stem, owner=LOCAL) for path in sources_folder(LOCAL).glob("*.json")]
    (made,) = (each for each in kept if isinstance(each, UploadSource))
    assert made.made_from == (run.id,)
    values = {each.label: each.value for each in calm(open_page("audit", dataset=made.id)).selectbox}
    labels = ("Price, or prediction", "Sensitive attribute", "Outcome")
    assert [values[label] for label in labels] == ["price", "Age", "Cost"]
    at = calm(open_page("audit", audit=asked(made, 1, 8).id))
    assert "This price is the prediction of the run" in words(at)
    (table,) = (each.value for each in at.dataframe if "± dependence" in each.value)
    assert len(table) == 4


def test_earlier_audits_can_be_reopened_and_compared(source: UploadSource) -> None:
    assert not any("against" in label for label in labels(calm(open_page("audit", dataset=source.id)).button))
    dearer = policies().assign(**{"<b>premium</b>": lambda t: t["<b>premium</b>"] + 3 * (t["age"] - 18)})
    first, second = asked(source), asked(uploaded(dearer, "next.csv"))
    at = calm(open_page("audit", dataset=source.id))
    offered = [each for each in at.button if "against age" in each.label]
    assert [each.label.split(" · ")[1] for each in offered] == [safe("next.csv"), safe("policies.csv")]
    assert calm(offered[1].click().run()).query_params["audit"] == first.id
    at = calm(open_page("audit", audit=second.id))
    assert "What has changed since?" not in words(at)
    at = calm(box(at, "What has changed since").select(first.id).run())
    moved = second.read_result().compare(first.read_result()).since
    assert unbroken(safe(moved.sentence)) in words(at)
    assert finished_audits(owner="0" * 32) == []


def test_filing_texts_are_stored_with_the_audit_and_suggested_for_the_next_audit(source):
    first, second = asked(source, 1), asked(source, 2)
    at = calm(open_page("audit", audit=first.id))
    calm(named(at.text_area, FIELDS["purpose"]).set_value("Motor: “own damage”").run())
    assert kept_governance(first.folder / "governance.yaml") == {"purpose": "Motor: “own damage”"}
    at = calm(open_page("audit", audit=second.id))
    assert named(at.text_area, FIELDS["purpose"]).value == "Motor: “own damage”"
    assert started(open_page("audit", audit=first.id)).read_result().verdict == first.read_result().verdict
