"""Open and run a model's file in a separate process, with limits on memory and time.

``python -m fairdash.auditing.models.foreign`` starts the separate process. The process receives a file and
then rows. The process answers with a description of the file, with prices, or with an error message. Rows are
sent as arrays, and answers as JSON and numbers. Pickles are not used. If the process ends early, the caller
gets an error message.
"""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from threading import Event, Timer
from typing import IO, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from fairdash import errors
from fairdash.jobs.process import environment
from fairdash.tables.model_files.model_file import (
    MAX_MEMORY,
    MAX_SECONDS,
    Array,
    Link,
    NamedModel,
    cause,
    kind_of,
    unusable_file,
)

#: Readers by kind of file. A reader is imported only when needed, because each file is read in a new process.
_READERS = {
    "lightgbm": "fairdash.tables.model_files.boosted:LightGBMModel",
    "xgboost": "fairdash.tables.model_files.boosted:XGBoostModel",
    "catboost": "fairdash.tables.model_files.boosted:CatBoostModel",
    "pmml": "fairdash.tables.model_files.pmml:PmmlModel",
    "factors": "fairdash.auditing.models.factor_tables:read_factors",
    "onnx": "fairdash.tables.model_files.onnx_graph:OnnxModel",
}
#: Maximum number of bytes of an answer other than an array.
_MAX_HEADER_BYTES = 10**8


def read_model(
    content: bytes,
    *,
    columns: Sequence[str] | None = None,
    table: Sequence[str] | None = None,
    output: str | None = None,
    link: Link = "auto",
) -> NamedModel:
    """Open a model's file in this process; the first bytes determine the format.

    Parameters
    ----------
    columns
        Input columns of the model, in order; by default, inputs are matched by name.
    table
        Names of the columns of the user's table; None if the file is only described.
    output
        Name of the output with the price; the default is the model's only output.
    link
        Link of the model, as `model_link` of :func:`fairdash.audit`.

    Raises
    ------
    StorageError
        fairdash can't read the file, the model has no price, or the table lacks an input of the model.
    """
    module, _, name = _READERS[kind_of(content)].partition(":")
    read: Callable[[bytes, Link], NamedModel] = getattr(import_module(module), name)
    # If no table is given, the model computes no price, so its link may be unknown.
    model = read(content, "identity" if table is None else link)
    if table is not None:
        if link == "log" and model.is_price:
            raise unusable_file(f"the model's output is {model.response}", "Leave out the link.")
        model.match(columns, table, output)
    return model


class ForeignModel:
    """Model in a file, opened in a separate process; parameters and errors are as in :func:`read_model`."""

    def __init__(self, content: bytes, **options: Any) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _end)
        self._process = subprocess.Popen(  # noqa: S603 (our own module, no shell)
            [sys.executable, "-m", __spec__.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment(),
        )
        self._end = weakref.finalize(self, _stop_process, self._process, self._errors)
        reply, _ = self._request({"open": options}, content)
        self.link: Link = reply["link"]
        self.remarks, self.columns, self.about = tuple(reply["remarks"]), reply["columns"], reply["about"]

    def predict(self, rows: pd.DataFrame) -> Array:
        """Return the model's output for rows, (n,), without its link."""
        _, body = self._request(*_encode_rows("predict", rows[self.columns]))
        return np.frombuffer(body, dtype=float)

    def unknown_levels(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return sentences on cells with a missing level, or with a level that the model does not know."""
        return tuple(self._request(*_encode_rows("unknown_levels", rows[self.columns]))[0]["said"])

    def close(self) -> None:
        """End the separate process."""
        self._end()

    def _request(self, header: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the answer of the process, or stop the process if it takes too long."""
        timed_out = Event()

        def end() -> None:
            timed_out.set()
            self._process.kill()

        timer = Timer(MAX_SECONDS, end)
        timer.start()
        pipes = self._process.stdin, self._process.stdout
        assert pipes[0] is not None
        assert pipes[1] is not None
        try:
            _send(pipes[0], header | {"seconds": MAX_SECONDS, "memory": MAX_MEMORY}, body)
            reply, answer = _receive(pipes[1], max_bytes=8 * header.get("rows", 0))
        except (OSError, EOFError, ValueError) as error:
            timer.cancel()
            raise self._refusal(is_late=timed_out.is_set()) from error
        timer.cancel()
        if "error" in reply:
            problems = [errors.Problem(**problem) for problem in reply["problems"]]
            raise getattr(errors, reply["error"])(*problems)
        return reply, answer

    def _refusal(self, *, is_late: bool) -> Exception:
        """Return the error for a process that gave no answer."""
        hint = "Compute the prices with the model's own software, and audit a column of these prices."
        try:
            code = self._process.wait(0 if is_late else 5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._errors.seek(0)
        output = self._errors.read().decode(errors="replace")
        self.close()
        if is_late:
            return unusable_file(f"the model needs more than {MAX_SECONDS} s", hint)
        if "MemoryError" in output or "bad_alloc" in output:
            return unusable_file(f"the model needs more than {MAX_MEMORY / 1e9:g} GB of memory", hint)
        # A Python exception is an error in fairdash. A signal means that a library crashed on an invalid
        # file.
        if code > 0 and "Traceback" in output:
            return RuntimeError(f"the process that reads the model's file failed:\n{output}")
        return unusable_file("the process that reads it stopped: the file is damaged or too large", hint)


def _stop_process(process: subprocess.Popen[bytes], error_file: IO[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, error_file):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:  # The process has ended. It does not need the rest of the message.
                continue


def _send(pipe: IO[bytes], header: dict[str, Any], body: bytes = b"") -> None:
    words = json.dumps(header).encode()
    pipe.write(struct.pack("<QQ", len(words), len(body)) + words)
    pipe.write(body)
    pipe.flush()


def _receive(pipe: IO[bytes], *, max_bytes: int) -> tuple[dict[str, Any], bytes]:
    head = pipe.read(16)
    if len(head) < 16:
        raise EOFError
    length, size = struct.unpack("<QQ", head)
    if length > _MAX_HEADER_BYTES or size > max_bytes:
        raise ValueError("the answer is too long")
    header, body = json.loads(pipe.read(length)), pipe.read(size)
    if len(body) < size:
        raise EOFError
    return header, body


def _encode_rows(name: str, rows: pd.DataFrame) -> tuple[dict[str, Any], bytes]:
    """Return rows as a header with names and levels, and as arrays of numbers and codes."""
    columns, arrays = [], io.BytesIO()
    for k in range(rows.shape[1]):
        cells = rows.iloc[:, k]
        is_number = is_numeric_dtype(cells) or is_bool_dtype(cells)
        values, levels = cells, None
        if is_number and not isinstance(cells.dtype, np.dtype):
            values = cells.astype(float) if cells.isna().any() else cells.astype(cells.to_numpy().dtype)
        elif not is_number:
            codes, uniques = pd.factorize(cells.astype(object))
            values, levels = pd.Series(codes), [str(level) for level in uniques]
        np.save(arrays, values.to_numpy(), allow_pickle=False)
        columns.append([str(cells.name), levels])
    return {name: columns, "rows": len(rows)}, arrays.getvalue()


def _decode_rows(columns: list[list[Any]], body: bytes) -> pd.DataFrame:
    arrays, unpacked = io.BytesIO(body), {}
    for name, levels in columns:
        cells = np.load(arrays, allow_pickle=False)
        unpacked[name] = cells if levels is None else np.array([*levels, None], dtype=object)[cells]
    return pd.DataFrame(unpacked)


def _open_model(content: bytes, options: dict[str, Any]) -> NamedModel:
    """Open a file; if its reader raises an error, report the error with its cause."""
    if kind_of(content) in ("lightgbm", "xgboost"):
        # With this entry, scikit-learn can't be imported. Libraries would otherwise spend seconds on loading
        # it for unused estimators.
        sys.modules["sklearn"] = None  # type: ignore[assignment]
    try:
        return read_model(content, **options)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, errors.FairdashError):
            raise
        text = f"the file is incomplete, or of a form not supported ({type(error).__name__}: {cause(error)})"
        raise unusable_file(text, "Save it again.") from error


def main() -> None:
    """Answer the caller's requests until the caller closes the pipe."""
    # Answers have a separate channel, because libraries print to standard output.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    model: NamedModel | None = None
    while True:
        try:
            header, body = _receive(sys.stdin.buffer, max_bytes=sys.maxsize)
        except EOFError:
            return
        if sys.platform != "win32":
            resource.setrlimit(resource.RLIMIT_AS, (header["memory"], header["memory"]))
            # If the parent process has died, the limit on CPU time ends this process.
            usage = resource.getrusage(resource.RUSAGE_SELF)
            max_seconds = int(usage.ru_utime + usage.ru_stime + header["seconds"]) + 5
            resource.setrlimit(resource.RLIMIT_CPU, (max_seconds, resource.RLIM_INFINITY))
        try:
            if "open" in header:
                model = _open_model(body, header["open"])
                description = {"link": model.link, "remarks": model.remarks, "about": model.about}
                _send(answers, description | {"columns": model.columns})
                continue
            assert model is not None
            if "predict" in header:
                prices = model.predict(_decode_rows(header["predict"], body))
                _send(answers, {}, np.ascontiguousarray(prices, dtype=float).tobytes())
            else:
                _send(answers, {"said": model.unknown_levels(_decode_rows(header["unknown_levels"], body))})
        except errors.FairdashError as error:
            problems = [asdict(problem) | {"fixes": ()} for problem in error.problems]
            _send(answers, {"error": type(error).__name__, "problems": problems})


if __name__ == "__main__":
    main()
