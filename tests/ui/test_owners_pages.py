"""Pages of two owners on one server: every address of one owner is reported as gone to the other."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from fairdash.errors import FairdashError
from fairdash.runs.deletion import delete_file_and_derived
from fairdash.storage import log
from fairdash.ui import access, widgets
from fairdash.ui.tradeoff import run as run_page
from tests.test_canary import looks
from tests.test_owners import ANNE, BEN, make_for
from tests.ui.conftest import open_page, words

Become = Callable[[str], None]


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> Become:
    """Identify the browser's user, as the header of a proxy does."""
    monkeypatch.setenv(access.USER_HEADER, "X-Forwarded-User")

    def become(who: str) -> None:
        monkeypatch.setattr(access, "_id_of", lambda *_: who)

    return become


def said(at: AppTest) -> str:
    alerts = [each.value for part in (at.error, at.warning) for each in part]
    return "\n".join([words(at), *alerts, *(str(box.options) for box in at.selectbox)])


@pytest.fixture
def annes(become: Become) -> tuple:
    """Anne's data, which this server has in memory because she opened them."""
    become(ANNE)
    made = make_for(ANNE)
    for look in looks(*made[:2]):
        look()
    return made


def addresses(made: tuple) -> list[tuple[str, dict[str, str]]]:
    source, run, search, _ = made
    return [
        ("tradeoff", {"run": run.id}), ("tradeoff", {"run": run.id, "dataset": source.id}),
        ("tradeoff", {"dataset": source.id}), ("train", {"run": run.id}), ("train", {"search": search.id}),
        ("train", {"dataset": source.id}), ("data", {"dataset": source.id}),
    ]  # fmt: skip


@pytest.mark.slow
def test_every_address_of_another_owner_is_reported_as_gone(annes: tuple, become: Become) -> None:
    for who, is_listed in ((ANNE, True), (BEN, False)):
        become(who)
        data = open_page("data").segmented_control(key="data.choice table").set_value("upload").run()
        assert ["secret" in said(each) for each in (open_page("home"), data)] == [is_listed] * 2, who
    for name, address in addresses(annes):
        become(ANNE)
        assert not re.search("is gone|not stored here", said(open_page(name, **address))), (name, address)
        become(BEN)
        foreign = said(open_page(name, **address))
        assert re.search("is gone|not stored here", foreign), (name, address, foreign)
        assert "secret" not in foreign
        unknown = {key: "0" * len(value) for key, value in address.items()}
        assert said(open_page(name, **unknown)) == foreign, (name, address)


def test_downloads_are_created_for_their_owner_and_logged(annes: tuple, become: Become) -> None:
    source, run, *_ = annes
    at = open_page("tradeoff", run=run.id)
    keys = [run_page.KEY("report")]
    keys += [run_page.KEY("csv", name) for name in ("path", "figures", "predictions")]
    *made, last = (at.session_state[widgets.KEY("making", key)] for key in keys)
    # The download is created in a thread that does not know the user.
    become(BEN)
    for file in made:
        file.content()
    noted = [event.who for event in log.read(run.folder).events if event.what == "exported"]
    assert noted == [ANNE] * len(made)
    delete_file_and_derived(source.sha256, owner=ANNE)
    with pytest.raises(FairdashError):
        last.content()
    assert "is gone" in str(last.failure())


def test_a_visitor_who_is_not_signed_in_sees_only_the_sign_in_page(annes: tuple, monkeypatch) -> None:
    monkeypatch.setattr(access, "get_secrets_auth_section", lambda: {"cookie_secret": "x"})
    for name, address in [("home", {}), *addresses(annes)]:
        at = open_page(name, **address)
        assert [each.value for each in at.title] == ["Sign in to fairdash"]
        assert [button.label for button in at.button] == ["Sign in"]
        assert "secret" not in said(at)


def test_a_request_without_the_user_header_is_refused_with_an_explanation(monkeypatch):
    monkeypatch.setenv(access.USER_HEADER, "X-Forwarded-User")
    at = open_page("home")
    assert "does not identify you" in said(at)
    assert not at.button


def test_owner_ids_are_hashes_that_differ_by_user_name_and_issuer() -> None:
    found = [access._id_of(*who) for who in (("oidc", "i", "s"), ("oidc", "is", "s"), ("header", "s"))]
    assert len(set(found)) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in found)
    assert access._id_of("header", "anne@example.org") == access._id_of("header", "anne@example.org")
    for nobody in (None, "", " ", 3):
        with pytest.raises(access.NotSignedInError):
            access._id_of("header", nobody)
