"""A local server of data sets that can misbehave."""

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from fairdash.data import CATALOGUE, published


class Server(http.server.ThreadingHTTPServer):
    """Sends `body` for every request, and can refuse, state a wrong length or stall."""

    body = b""
    announced: int | None = None
    status = 200
    pause = 0.0
    requests_seen = 0


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests_seen += 1
        self.send_response(self.server.status)
        length = self.server.announced
        self.send_header("Content-Length", str(len(self.server.body) if length is None else length))
        self.end_headers()
        time.sleep(self.server.pause)
        self.wfile.write(self.server.body)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[Server]:
    """A server that runs until the end of the block."""
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def served_at(url: str, dataset_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a data set be downloaded from this address."""
    entry = replace(CATALOGUE[dataset_id], download=url)
    monkeypatch.setattr(published, "CATALOGUE", {**CATALOGUE, dataset_id: entry})


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/archive.zip"
