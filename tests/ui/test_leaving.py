"""A page is left while a part of it, which runs every second, is about to run again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.serving import served
from tests.websocket import receive, run_page, session, until_run


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path / "home") as address:
        yield address


def of_kind(said: list[ForwardMsg], kind: str) -> list[ForwardMsg]:
    return [each for each in said if each.WhichOneof("type") == kind]


def rerun(page: str, part: str = "") -> BackMsg:
    """What a browser on this page sends, for a part of it by itself."""
    message = BackMsg()
    message.rerun_script.page_script_hash = page
    message.rerun_script.fragment_id = part
    message.rerun_script.is_auto_rerun = bool(part)
    return message


def test_a_part_of_the_page_that_was_left_runs_no_more(address: str) -> None:
    """It would take the browser back to the page that was left, empty, and the new page's parts nowhere."""
    with session(address) as connection:
        said = run_page(connection, "data")
        old = of_kind(said, "navigation")[-1].navigation.page_script_hash
        (part,) = of_kind(said, "auto_rerun")
        buttons = [each.delta.new_element.button for each in of_kind(said, "delta")]
        (leave,) = [each.id for each in buttons if each.label == "See what fairness costs"]
        click = rerun(old)
        click.rerun_script.widget_states.widgets.add(id=leave, trigger_value=True)
        connection.send(click.SerializeToString())
        new = old
        while new == old:
            message = receive(connection)
            if message.WhichOneof("type") == "new_session":
                new = message.new_session.page_script_hash
        # Sent by a browser that has not yet heard that it is on another page.
        connection.send(rerun(old, part.auto_rerun.fragment_id).SerializeToString())
        # The answer to the next one comes after that to the late one, if there is any.
        (part,) = of_kind(until_run(connection), "auto_rerun")
        connection.send(rerun(new, part.auto_rerun.fragment_id).SerializeToString())
        begun = of_kind(until_run(connection), "new_session")
        assert [each.new_session.page_script_hash for each in begun] == [new]
