"""Number of source files that a reader must open to follow a file's bytes until they become a data set.

The count includes each file of fairdash in which a function takes or returns the bytes, the parsed table or
the data set, for a CSV file with an exposure. Files whose functions take only single columns, names or
messages are helpers; they are counted in the number of all called files.
"""

from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

import fairdash
from fairdash.data import Dataset, Roles, UploadSource, keep_upload
from fairdash.data.uploads import clear_cached_tables
from tests.ui.test_way_of_front import given, traced

PACKAGE = str(Path(fairdash.__file__).parent)
#: Limit for the library, from the hash of an upload on. Two files look for related columns: amounts that add
#: up to the target, and a start and an end that determine the exposure.
MAX_FILES = 14
#: Limit for all files called; one of them looks for codes such as 999.
MAX_CALLED = 29


def claims() -> bytes:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 200), "power": rng.normal(5, 1, 200).round(3)})
    frame["town"] = rng.choice(["Lyon", "Brest"], 200)
    frame["exposure"] = rng.uniform(0.1, 1, 200).round(2)
    frame["claims"] = rng.poisson(frame["exposure"])
    return frame.to_csv(index=False).encode()


def test_code_that_builds_a_data_set_from_an_upload_is_in_a_limited_number_of_files() -> None:
    content = claims()
    columns = {"target": "claims", "sensitive": ("age",), "features": ("power", "town"), "weight": "exposure"}
    kept = keep_upload(content, name="claims.csv")
    source = UploadSource(sha256=kept.sha256, name=kept.name, roles=Roles(**columns, rate=True))
    # Load once before counting, so that imports don't count.
    source.load()
    clear_cached_tables()
    carrying: set[str] = set()
    called: set[str] = set()
    arrived: list[object] = []

    def carries(value: object) -> bool:
        if isinstance(value, tuple):
            return any(map(carries, value))
        return isinstance(value, pd.DataFrame | Dataset) or (isinstance(value, bytes) and value == content)

    def watch(frame: FrameType, event: str, returned: object) -> None:
        file = frame.f_code.co_filename
        if not arrived and event in ("call", "return") and file.startswith(PACKAGE):
            called.add(file)
            if any(map(carries, given(frame) if event == "call" else [returned])):
                carrying.add(file)
            if event == "return" and frame.f_code.co_name == "build_dataset":
                arrived.append(returned)

    with traced(watch):
        source.load()
    assert arrived
    assert len(carrying) <= MAX_FILES, sorted(carrying)
    assert len(called) <= MAX_CALLED, sorted(called)
