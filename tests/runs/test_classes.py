"""A run whose sensitive column holds classes is trained, kept and opened as any other."""

import pytest

from fairdash.data import Roles, keep_upload
from fairdash.data.source import UploadSource
from fairdash.reports.fronts import fronts_of
from fairdash.training.sweep import Sweep
from tests.data.test_classes import people
from tests.runs.finished import QUICK, finished


@pytest.mark.parametrize("column", ["sex", "region"])
def test_a_run_of_classes_is_kept_and_opened(column: str) -> None:
    kept = keep_upload(people(400).to_csv(index=False).encode(), name="people.csv")
    roles = Roles(target="cost", sensitive=(column,), features=("rooms",))
    source = UploadSource(sha256=kept.sha256, name="people.csv", roles=roles, names={column: "Origin"})
    plan = Sweep(
        methods=("standard", "pearson", "hgr_spline"), lams=(1.0,), n_splits=1, settings=QUICK, device="cpu"
    )
    run = finished(plan, source=source)
    result = run.read_result()
    columns = list(result.sensitive.columns)
    if column == "sex":
        assert columns == ["sex"]
    else:
        assert [name.split(": ")[0] for name in columns] == ["region"] * len(columns)
        assert result.names[columns[0]] == "Origin: A"
    assert "demographic_parity" in fronts_of(result, sensitive=columns[0])
