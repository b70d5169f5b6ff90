"""Messages that the page of a running app sends to a browser, read from its websocket."""

from collections.abc import Iterator
from contextlib import contextmanager

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

SECONDS = 60


@contextmanager
def session(address: str) -> Iterator[ClientConnection]:
    """A websocket session at this address of the app."""
    stream = address.replace("http://", "ws://") + "/_stcore/stream"
    with connect(
        stream, origin=address, subprotocols=[Subprotocol("streamlit")], max_size=None
    ) as connection:
        yield connection


def run_page(connection: ClientConnection, name: str) -> list[ForwardMsg]:
    """All messages until the page with this name has run; the name is its address, empty for home."""
    wish = BackMsg()
    wish.rerun_script.page_name = name
    connection.send(wish.SerializeToString())
    return until_run(connection)


def until_run(connection: ClientConnection) -> list[ForwardMsg]:
    """All messages until a run of a page has ended."""
    said: list[ForwardMsg] = []
    while not said or said[-1].WhichOneof("type") != "script_finished":
        said.append(receive(connection))
    return said


def receive(connection: ClientConnection) -> ForwardMsg:
    """The next message of the server; TimeoutError if there is none for a minute."""
    content = connection.recv(timeout=SECONDS)
    message = ForwardMsg()
    message.ParseFromString(content if isinstance(content, bytes) else content.encode())
    return message


def complaints(said: list[ForwardMsg]) -> list[str]:
    """Errors that the page shows: exceptions, and messages marked as errors."""
    found = []
    for message in said:
        element = message.delta.new_element
        if element.HasField("exception"):
            found.append(element.exception.message)
        if element.HasField("alert") and element.alert.format == Alert.ERROR:
            found.append(element.alert.body)
    return found
