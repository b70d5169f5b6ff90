"""Classes on the pages: a column of regions from the data page to a trained run and an audit."""

from __future__ import annotations

import pytest

from fairdash.auditing.plan import AuditPlan, Columns
from fairdash.data import Roles, keep_upload
from fairdash.data.source import UploadSource, save_source
from fairdash.runs import worker
from fairdash.runs.audits import create_audit
from fairdash.storage import LOCAL
from fairdash.training.sweep import Sweep
from tests.data.test_classes import people
from tests.runs.finished import QUICK, finished
from tests.ui.conftest import box, calm, open_page, words


@pytest.fixture
def source() -> UploadSource:
    frame = people(500)
    frame["price"] = 300 + 20 * frame["rooms"] + 60 * (frame["region"] == "C")
    kept = keep_upload(frame.to_csv(index=False).encode(), name="people.csv", owner=LOCAL)
    roles = Roles(target="cost", sensitive=("region",), features=("rooms", "sex"), prediction="price")
    made = UploadSource(sha256=kept.sha256, name="people.csv", roles=roles, names={"region": "Origin"})
    save_source(made, owner=LOCAL)
    return made


def test_each_class_is_shown_and_a_run_of_classes_opens(source: UploadSource) -> None:
    at = calm(open_page("data", dataset=source.id))
    assert "Origin: A" in words(at).replace("\\", "")
    calm(open_page("train", dataset=source.id))
    plan = Sweep(methods=("standard", "pearson"), lams=(1.0,), n_splits=1, settings=QUICK, device="cpu")
    run = finished(plan, source=source)
    assert "Origin: A" in run.read_result().names.values()
    calm(open_page("tradeoff", run=run.id))


def test_the_audit_page_takes_classes(source: UploadSource) -> None:
    at = calm(open_page("audit", dataset=source.id))
    chosen = box(at, "Sensitive attribute")
    assert chosen.value == "region"
    assert "sex" in chosen.options
    plan = AuditPlan(
        columns=Columns(price="price", sensitive="region", outcome="cost"), questions=(1, 2, 3, 5, 7, 9)
    )
    audit = create_audit(source, plan, owner=LOCAL)
    assert worker.main(audit.id) == 0, audit.status
    said = words(calm(open_page("audit", audit=audit.id)))
    assert "among the classes of" in said
