"""Memory that a file may use: sizes are checked before unpacking, and memory is limited otherwise."""

import gzip
import io
import json
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairdash.data import keep_upload, read_table
from fairdash.errors import ReadingError
from fairdash.jobs.cancellation import PROCESS
from fairdash.runs.launch import start_run
from fairdash.runs.state import FAILED
from fairdash.runs.store import create_run
from fairdash.runs.worker import work_at
from fairdash.tables.readers.reading import unpack
from fairdash.ui import cached
from fairdash.utils.memory import can_limit, limited_memory, most_memory
from tests.runs.test_runs import wait
from tests.test_canary import PLAN, table, upload

limited = pytest.mark.skipif(not can_limit(), reason="memory can't be limited here")
CSV = b"age,cost\n" + b"".join(b"%d,%d\n" % (k % 60, k) for k in range(500))


def refused(content: bytes, within: float = 2.0) -> str:
    """The error message for a file that is refused before it is read."""
    started = time.process_time()
    with pytest.raises(ReadingError) as caught:
        read_table(content)
    assert time.process_time() - started < within
    return str(caught.value)


# Sizes known from the footer.


def parquet(rows: int, columns: int) -> bytes:
    """A Parquet file with millions of zeros, which takes a fraction of a megabyte."""
    buffer = io.BytesIO()
    few = pa.table({f"c{k}": pa.array(np.zeros(10**6, np.int64)) for k in range(columns)})
    with pq.ParquetWriter(buffer, few.schema) as writer:
        for _ in range(rows // 10**6):
            writer.write_table(few)
    return buffer.getvalue()


def test_a_small_parquet_file_that_fills_the_memory_is_refused_unread(monkeypatch) -> None:
    content = parquet(24_000_000, 2)
    assert len(content) < 1e6
    monkeypatch.setenv("FAIRDASH_MEMORY", "6")
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *a, **o: pytest.fail("a column was read"))
    assert "GB of memory, more than 1.5" in refused(content)


# Many parts.


def test_gzip_and_zip_files_of_many_empty_parts_are_refused_early() -> None:
    empty, buffer = gzip.compress(b"", mtime=0), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for k in range(20_001):
            archive.writestr(f"{k}/", b"")
    for content in (empty * (40 * 10**6 // len(empty)), buffer.getvalue()):
        assert "more than 20,000 parts" in refused(content)


def test_a_gzip_file_of_several_parts_is_read_completely() -> None:
    blocks = [gzip.compress(CSV[k : k + 7]) for k in range(0, len(CSV), 7)]
    # Programs that index gzip files end them with an empty part; others append zeros.
    content = b"".join(blocks) + gzip.compress(b"") + bytes(1000)
    assert unpack(content, largest=10**6) == (CSV, "a gzip file")
    for spoiled in (content + b"x", b"".join(blocks)[:-5], content[:-1000] + b"\x1f\x8b"):
        with pytest.raises(ReadingError, match="damaged"):
            unpack(spoiled, largest=10**6)
    for largest in (len(CSV) - 1, 0, 6):
        with pytest.raises(ReadingError, match="when it is unpacked"):
            unpack(content, largest=largest)
    assert unpack(content, largest=len(CSV))[0] == CSV


# Memory is limited nevertheless.


@limited
def test_reading_a_file_beyond_the_memory_limit_is_refused_and_the_process_survives(monkeypatch) -> None:
    # Columns of 40 MB, because smaller ones may fit into memory that the process has allocated and freed
    # before.
    n = 5 * 10**6
    content = pd.DataFrame({"a": np.arange(n), "b": 0.5}).to_parquet()
    kept = keep_upload(content, name="x.parquet")
    asked = (kept.sha256, kept.name, cached.ReadingOptions())
    with monkeypatch.context() as patch:
        patch.setenv("FAIRDASH_MEMORY", "0.005")
        with pytest.raises(ReadingError, match=r"more than 0\.0 GB of memory"):
            cached.upload_of(*asked)
    # The process still works.
    np.zeros(10**7)
    assert len(cached.upload_of(*asked)[0]) == n


@limited
def test_the_memory_limit_is_lifted_when_the_outermost_context_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited_memory():
        with limited_memory():
            inside = resource.getrlimit(resource.RLIMIT_DATA)
        assert resource.getrlimit(resource.RLIMIT_DATA) == inside != before
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_lack_of_memory_in_a_run_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRDASH_MEMORY", "0.6")
    run = create_run(upload(table()), PLAN)

    def greedy(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    assert work_at(run, greedy) == 1
    wanted = "than 0.6 GB of memory" if can_limit() else "memory than there is"
    assert f"This run takes more {wanted}" in run.status.message
    assert "sample of the rows" in run.status.message


@limited
@pytest.mark.processes
def test_a_worker_survives_a_run_that_exceeds_the_memory_limit(monkeypatch) -> None:
    source = upload(table())
    # 81 million weights between two layers; the optimiser stores several times as many numbers.
    wide = replace(PLAN, settings=replace(PLAN.settings, hidden=(9000, 9000)))
    monkeypatch.setenv("FAIRDASH_MEMORY", "0.6")
    status = wait(start_run(source, wide))
    assert status.state == FAILED
    assert "ot enough memory" in status.message
    run = start_run(source, PLAN)
    assert wait(run).state == "done"
    # The process remains available for the next run.
    process = json.loads((run.folder / PROCESS).read_text(encoding="utf-8"))["pid"]
    limits = Path("/proc", str(process), "limits").read_text(encoding="utf-8").splitlines()
    (most,) = (line.split()[3] for line in limits if line.startswith("Max data size"))
    assert most_memory() <= int(most) <= most_memory() + 8e9


def test_memory_is_not_limited_on_machines_with_a_gpu(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("fairdash.utils.memory._GPUS", (tmp_path,))
    assert not can_limit()
    with limited_memory():
        pass


def test_the_memory_limit_follows_the_container_limit(monkeypatch, tmp_path) -> None:
    (tmp_path / "max").write_text("1000000000\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.delenv("FAIRDASH_MEMORY", raising=False)
    files = tuple(tmp_path / name for name in ("none", "max", "x"))
    monkeypatch.setattr("fairdash.utils.memory._CONTAINERS", files)
    assert most_memory() == 5 * 10**8
