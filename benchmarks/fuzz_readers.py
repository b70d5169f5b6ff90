"""Give damaged files to the readers for some time: no crash, no hang, no memory beyond the limit.

    python -m benchmarks.fuzz_readers --minutes 10
    python -m benchmarks.fuzz_readers --minutes 3 --only parquet rda

Valid files of each format are cut, spliced, flipped and filled with problematic content. Each is read in a
process with limits: within 10 s and 2 GB, a file must be read or refused by an error of fairdash. Failing
files are stored in the folder that --keep names, to become tests.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

SECONDS_A_FILE, MAX_BYTES = 10, 2 * 2**30
FILES_A_PROCESS = 400
FORMATS = ("csv", "xlsx", "parquet", "zip", "gzip", "rda")
#: Problematic content for readers: delimiters, marks, signatures, lengths, XML.
TOKENS = (
    b'"', b'""', b"\n", b"\r", b"\r\n", b",", b";", b"\t", b"|", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf",
    b"1e400", b"inf", b"NaN", b"-", b"1.234,5", b"9" * 40, b"sep=;\n",
    b"=1+1", b"PK\x03\x04", b"PK\x01\x02", b"PAR1",
    b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\x7f\xff\xff\xff", b"<!DOCTYPE x>",
    b"<c r=\"XFD1048576\"><v>1</v></c>",
    b"<row r=\"1048576\">", b'<c t="s"><v>999999999</v></c>', b"<f>A1</f>", b"</c>", b"&lt;", b"&#0;", b"]]>",
)  # fmt: skip


def sound_files(rng: np.random.Generator) -> dict[str, bytes]:
    """One valid file per format."""
    from tests.data.workbooks import formula, workbook

    n = int(rng.integers(1, 60))
    frame = pd.DataFrame(
        {
            "cost": rng.gamma(2, 100, n).round(2),
            "âge": rng.integers(18, 90, n),
            "town": rng.choice(["Lyon", "Par;is", 'Br"est', "NA", "007"], n),
            "day": pd.date_range("2020-01-01", periods=n).astype(str),
        }
    )
    text = frame.to_csv(
        index=False, sep=str(rng.choice([",", ";", "\t"])), decimal=str(rng.choice([".", ","]))
    )
    csv = text.encode(str(rng.choice(["utf-8", "cp1252", "utf-16"])))
    parquet = io.BytesIO()
    frame.to_parquet(parquet, compression=str(rng.choice(["snappy", "gzip", "zstd"])))
    rows = [list(frame), *frame.astype(object).to_numpy().tolist()]
    rows[-1][0] = formula("A1*2", 3)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.csv", csv)
    return {
        "csv": csv,
        "xlsx": workbook({"One": rows, "Two": rows[:3]}),
        "parquet": parquet.getvalue(),
        "zip": zipped.getvalue(),
        "gzip": gzip.compress(csv),
        "rda": _rda(frame, rng),
    }


def _rda(frame: pd.DataFrame, rng: np.random.Generator) -> bytes:
    import rdata

    # The writer does not support the string type of pandas.
    plain = frame.astype(
        {"âge": "int32", "town": "category" if rng.random() < 0.5 else object, "day": object}
    )
    if isinstance(plain["town"].dtype, pd.CategoricalDtype):
        plain["town"] = plain["town"].cat.rename_categories(list(plain["town"].cat.categories.astype(object)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.rda"
        rdata.write_rda(path, {"one": plain, "two": plain[["cost"]]}, file_format="xdr")
        return path.read_bytes()


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A few changes at random places."""
    found = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        if not found:
            break
        place = int(rng.integers(len(found)))
        kind = rng.integers(6)
        if kind == 0:
            found[place] = int(rng.integers(256))
        elif kind == 1:
            found[place] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            del found[place : place + int(rng.integers(1, 40))]
        elif kind == 3:
            token = TOKENS[int(rng.integers(len(TOKENS)))]
            found[place:place] = token * int(rng.choice([1, 1, 1, 50]))
        elif kind == 4:
            token = TOKENS[int(rng.integers(len(TOKENS)))]
            found[place : place + len(token)] = token
        else:
            start = int(rng.integers(len(found)))
            found[place:place] = found[start : start + int(rng.integers(1, 200))]
    return bytes(found[: int(rng.integers(1, len(found) + 1))] if found and rng.random() < 0.15 else found)


def case(seed: int, formats: Sequence[str]) -> tuple[str, bytes]:
    """The damaged file of a seed; for an archive, often a file inside it is damaged."""
    rng = np.random.default_rng(seed)
    kind = formats[seed % len(formats)]
    content = sound_files(rng)[kind]
    if kind in ("xlsx", "zip") and rng.random() < 0.7:
        return kind, _damaged_inside(content, rng)
    if kind in ("gzip", "rda") and rng.random() < (0.5 if kind == "gzip" else 0.9):
        return kind, gzip.compress(damaged(gzip.decompress(content), rng))
    return kind, damaged(content, rng)


def _damaged_inside(content: bytes, rng: np.random.Generator) -> bytes:
    """The archive with one damaged member, packed again with correct checksums."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = str(rng.choice(list(members)))
    members[chosen] = damaged(members[chosen], rng)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return packed.getvalue()


def read_cases(first: int, last: int, formats: Sequence[str]) -> None:
    """Read the files of these seeds in this process; the exit status is the verdict, the output the count."""
    from fairdash.data import read_table
    from fairdash.errors import FairdashError

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    counts: Counter[str] = Counter()
    slowest = 0.0
    for seed in range(first, last):
        kind, content = case(seed, formats)
        # Print before reading, so that the last line names the file that ended the process.
        print(f"case {seed}", flush=True)
        started = time.monotonic()
        signal.alarm(SECONDS_A_FILE)
        try:
            read_table(content)
            counts[f"{kind} read"] += 1
        except FairdashError:
            counts[f"{kind} refused"] += 1
        signal.alarm(0)
        slowest = max(slowest, time.monotonic() - started)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"counts": counts, "slowest": slowest, "memory": memory}), flush=True)


def main() -> int:
    """Run until the time is over; the exit status is 0 if no file failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--keep", type=Path, help="folder for the files that failed")
    parser.add_argument("--only", nargs="+", choices=FORMATS, default=FORMATS, help="formats")
    parser.add_argument("--cases", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cases:
        read_cases(*options.cases, options.only)
        return 0
    until = time.monotonic() + 60 * options.minutes
    counts: Counter[str] = Counter()
    slowest, memory, seed, failures = 0.0, 0, options.first, 0
    while time.monotonic() < until:
        command = [
            sys.executable,
            "-m",
            "benchmarks.fuzz_readers",
            "--cases",
            str(seed),
            str(seed + FILES_A_PROCESS),
            "--only",
            *options.only,
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
        lines = done.stdout.splitlines()
        if done.returncode == 0:
            told = json.loads(lines[-1])
            counts.update(told["counts"])
            slowest, memory = max(slowest, told["slowest"]), max(memory, told["memory"])
            if told["memory"] > MAX_BYTES:
                failures += 1
                print(f"seeds {seed} to {seed + FILES_A_PROCESS}: {told['memory'] / 2**30:.1f} GB")
            seed += FILES_A_PROCESS
            continue
        failures += 1
        bad = int(lines[-1].split()[1])
        kind, content = case(bad, options.only)
        print(f"seed {bad} ({kind}): exit {done.returncode}\n{done.stderr[-1500:]}", flush=True)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{bad}.{kind}").write_bytes(content)
        seed = bad + 1
    print(json.dumps(dict(sorted(counts.items())), indent=1))
    print(
        f"{sum(counts.values()):,} files; slowest {slowest:.2f} s; most memory {memory / 2**20:.0f} MB; "
        f"{failures} failures"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
