"""Every question of an audit, asked of every world, gives the answer that is known to be right."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

import fairdash as fd
from tests.auditing.worlds.book import WORLDS
from tests.auditing.worlds.truths import NUMBERS, World


@pytest.fixture(scope="module", params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return WORLDS[request.param]


@pytest.fixture(scope="module")
def result(world: World) -> Iterator[fd.AuditResult]:
    # Networks stand beside the trees, and no truth is about them.
    with patch("fairdash.training.settings._MOST_EPOCHS", 4):
        yield world.audit()


@pytest.mark.every_case
def test_every_answer_is_true(world: World, result: fd.AuditResult) -> None:
    judged = world.judge(result)
    assert judged[~judged["ok"]].to_dict("records") == []


@pytest.mark.every_case
def test_every_question_has_its_truths(world: World) -> None:
    assert [number for number in NUMBERS if not world.truths.get(number)] == []


def test_there_are_worlds_enough():
    assert len(WORLDS) >= 24
