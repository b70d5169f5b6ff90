"""Commands ``app``, ``worker`` and ``reproduce``, for the app, its jobs and the paper's studies."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fairdash.cli import AsJson, Words, print_result
from fairdash.errors import OptionError
from fairdash.ui.serving import arguments_to_serve, enter_app_folder
from fairdash.utils.imports import need
from fairdash.utils.registry import get_entry

#: Folder with the package, which is the root of a checkout or the folder of installed packages.
_ROOT = Path(__file__).parents[2]


def app(*, port: int = 8501) -> None:
    """Open the app in a browser.

    Parameters
    ----------
    port
        Port on this machine.
    """
    need("streamlit")
    enter_app_folder()
    # Streamlit runs in this process, so that the server ends with the process.
    sys.argv = ["streamlit", *arguments_to_serve(port)]
    runpy.run_module("streamlit", run_name="__main__")


def worker(*, database: str | None = None, queues: Words = None) -> int:
    """Run jobs from the queue that the apps of several machines share.

    Parameters
    ----------
    database
        Address of the database, postgresql://…, as in FAIRDASH_DATABASE of the apps; by default the value of
        FAIRDASH_DATABASE on this machine.
    queues
        Queues (long, quick, studies), comma-separated; by default all.
    """
    need("dbos", "torch", "safetensors", "pyarrow")
    # The import sets the number of threads, which NumPy reads when it is loaded.
    from fairdash.cli.worker import serve
    from fairdash.jobs.queue import QUEUES

    if database is not None:
        os.environ["FAIRDASH_DATABASE"] = database
    queue_names = {queue_name: queue_name for queue_name in QUEUES}
    return serve([get_entry(queue_names, queue_name, option="queue") for queue_name in queues or QUEUES])


def reproduce(
    study: str,
    /,
    *,
    dataset: str = "crime",
    all_rows: Annotated[bool, Parameter(negative=())] = False,
    methods: Words = None,
    objectives: Words = None,
    features_seen: str = "all",
    spread: str = "sd",
    rooms: int = 4,
    processes: int = 2,
    out: Path | None = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a table or figure of the paper.

    Parameters
    ----------
    study
        table1, household, fig1, fig2 or fig3.
    dataset
        For table1: crime, motor, census, …
    all_rows
        For table1 on motor: use all 100,021 policies.
    methods
        For table1: methods whose rows are computed, comma-separated; by default all.
    objectives
        For table1: objectives, comma-separated; by default all.
    features_seen
        For household: features of the predictor, all or surface.
    spread
        For household: meaning of the second number in N(40, 5), sd or variance.
    rooms
        For household: maximum number of rooms, 4 or 5.
    processes
        Number of parallel processes: 1 or 2.
    out
        Folder for the result; by default the folder that fairdash uses.
    """
    if not (_ROOT / "benchmarks" / "paper").is_dir():
        raise OptionError.of(
            "The installed package has the paper's results but not the studies that produce them",
            "Run the same command in a checkout of fairdash, whose folder benchmarks/paper contains the "
            "studies.",
        )
    # Without this path, an installed command would not import the modules of the checkout.
    sys.path.insert(0, str(_ROOT))
    from benchmarks.paper.household import Reading
    from benchmarks.paper.run import reproduce as reproduce_study

    result, out_path = reproduce_study(
        study,
        out=out,
        dataset=dataset,
        all_rows=all_rows,
        methods=methods,
        objectives=objectives,
        processes=processes,
        reading=Reading(features_seen=features_seen, spread=spread, rooms=rooms),
    )
    study_files = {"folder": str(out_path), "tables": list(result.tables), "about": result.about}
    summary = f"{out_path}: {', '.join(result.tables)}, in {result.seconds:.0f} s"
    print_result(study_files, [summary], as_json=as_json)
