"""How many files stand between a file's bytes and the data set made of it: a person who reads on has to open them.

Counted is each file of the house in which a function is called with the bytes, the parsed table or the data
set, or gives them back, until the data set is there; for a CSV file with an exposure. Files whose functions
see single columns, names or messages alone are helpers, and counted with all others that are called at all.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

from fairdash.data import Dataset, Roles, UploadSource, keep_upload
from fairdash.data.uploads import forget_tables

ROOT = Path(__file__).parents[2]
#: The way of the library, from an upload's hash on. Two files look for parts: amounts that add up to the target,
#: and a start and an end that give the exposure.
MAX_FILES = 14
#: Everything that is called on the library's way; one file looks for codes such as 999.
MAX_CALLED = 29


@dataclass
class Way:
    """The files on the way, by their place in the house."""

    content: bytes
    carrying: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    arrived: bool = False

    def look(self, frame: FrameType, event: str, given: object) -> None:
        path = Path(frame.f_code.co_filename)
        inside = path.is_relative_to(ROOT / "fairdash") or path.is_relative_to(ROOT / "pages")
        if self.arrived or not inside or event not in ("call", "return"):
            return
        name = str(path.relative_to(ROOT))
        self.called.add(name)
        values = frame.f_locals.values() if event == "call" else (given,)
        if any(map(self.carries, values)):
            self.carrying.add(name)
        self.arrived = event == "return" and frame.f_code.co_name == "build_dataset"

    def carries(self, value: object) -> bool:
        if isinstance(value, tuple):
            return any(map(self.carries, value))
        return isinstance(value, (pd.DataFrame, Dataset)) or (
            isinstance(value, bytes) and len(value) == len(self.content) and value == self.content
        )


@contextmanager
def traced(content: bytes) -> Iterator[Way]:
    way = Way(content)
    forget_tables()
    threading.setprofile(way.look)
    sys.setprofile(way.look)
    try:
        yield way
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert way.arrived


def claims() -> bytes:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 200), "power": rng.normal(5, 1, 200).round(3)})
    frame["town"] = rng.choice(["Lyon", "Brest"], 200)
    frame["exposure"] = rng.uniform(0.1, 1, 200).round(2)
    frame["claims"] = rng.poisson(frame["exposure"])
    return frame.to_csv(index=False).encode()


def test_building_a_data_set_from_an_upload_involves_a_limited_number_of_source_files() -> None:
    content = claims()
    columns = {"target": "claims", "sensitive": ("age",), "features": ("power", "town"), "weight": "exposure"}
    kept = keep_upload(content, name="claims.csv")
    source = UploadSource(sha256=kept.sha256, name=kept.name, roles=Roles(**columns, rate=True))
    # What is imported on the way is not on it.
    source.load()
    with traced(content) as way:
        source.load()
    assert len(way.carrying) <= MAX_FILES, sorted(way.carrying)
    assert len(way.called) <= MAX_CALLED, sorted(way.called)
