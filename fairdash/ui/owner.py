"""Identify the browser's owner, if any, by Streamlit's login or by a proxy's header.

If Streamlit's secrets have a section ``[auth]``, users sign in with OpenID Connect. If
``FAIRDASH_USER_HEADER`` names a header, a proxy sets it to the user. The proxy must remove this header from
browsers' requests, and nobody else may reach the app (docs/deployment.md). Otherwise the owner is "local".
"""

from __future__ import annotations

import json
import os

import streamlit as st
from streamlit.auth_util import get_secrets_auth_section

from fairdash.errors import FairdashError
from fairdash.storage import LOCAL, sha256
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe

KEY = Keys(__file__)

#: Environment variable with the name of the header.
USER_HEADER = "FAIRDASH_USER_HEADER"


class NotSignedInError(FairdashError):
    """It is not known who asks."""


def current_owner() -> str:
    """Owner of the browser: 32 hex digits, the same at every sign-in, or ``"local"``.

    Raises
    ------
    NotSignedInError
        People sign in here, and this one has not.
    """
    if get_secrets_auth_section():
        if not st.user.get("is_logged_in"):
            raise NotSignedInError.of("you are not signed in", "Sign in, then open this page again.")
        return _id_of("oidc", st.user.get("iss"), st.user.get("sub"))
    if header := os.environ.get(USER_HEADER):
        return _id_of("header", st.context.headers.get(header))
    return LOCAL


def signs_in() -> bool:
    """Return whether users are identified here."""
    return bool(get_secrets_auth_section() or os.environ.get(USER_HEADER))


def let_in() -> None:
    """Stop the page for users who have not signed in, and offer only the sign-in."""
    try:
        current_owner()
    except NotSignedInError as error:
        st.title("Sign in to fairdash")
        if get_secrets_auth_section():
            st.markdown("Data, runs and models belong to the people who made them.")
            st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login, key=KEY("in"))
        else:
            st.error(safe(error))
        st.stop()


def show_who() -> None:
    """Show the signed-in user, and the sign-out."""
    if not signs_in():
        return
    by_login = bool(get_secrets_auth_section())
    header = os.environ.get(USER_HEADER, "")
    told = st.user.get("email") or st.user.get("name") if by_login else st.context.headers.get(header)
    st.caption(f"Signed in as {safe(str(told or 'somebody'))}", help=f"In logs: {current_owner()}")
    if by_login:
        st.button("Sign out", icon=":material/logout:", on_click=st.logout, key=KEY("out"))


def _id_of(how: str, *who: object) -> str:
    """Return a hash: safe as a part of a path, and no name in logs."""
    if not all(isinstance(part, str) and part.strip() for part in who):
        raise NotSignedInError.of(
            "the sign-in in front of this server does not identify you",
            "Open fairdash at its usual address. If you did, tell its administrator.",
        )
    return sha256(json.dumps([how, *who]).encode())[:32]
