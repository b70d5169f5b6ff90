"""Finished runs, made without a worker, for tests of results."""

import json

from fairdash.data.source import CatalogueSource, DatasetSource
from fairdash.evaluation.execute_sweep import execute_sweep
from fairdash.runs.state import DONE, RunStatus, write_status
from fairdash.runs.store import Run, RunSpec
from fairdash.storage import LOCAL
from fairdash.training.defaults import current_defaults
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep

SOURCE = CatalogueSource(dataset="household", options={"n": 200})
QUICK = TrainingSettings(hidden=(4,), adversary_hidden=(4,), batch_size=64, n_epochs=3, warm_up_epochs=1)
PLAN = Sweep(methods=("standard", "pearson"), lams=(0.5, 1.0), n_splits=2, settings=QUICK, device="cpu")


def finished(
    plan: Sweep = PLAN, *, source: DatasetSource = SOURCE, first: bool = False, owner: str = LOCAL
) -> Run:
    """A finished run of this plan, or a run that ended after its preview."""
    told = {"first": plan if first else None, "defaults": current_defaults(), "owner": owner}
    run = Run.create(RunSpec(source=source, plan=plan, **told))
    run.write_result(execute_sweep(source.load(), plan, is_preview=True), first=first)
    write_status(run.folder, RunStatus(state="cancelled" if first else DONE, fraction=1.0, seconds=2.0))
    return run


def altered(content: str, **values: object) -> str:
    """A JSON file with some values changed."""
    return json.dumps(json.loads(content) | values)
