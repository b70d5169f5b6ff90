"""What is priced, offered by name: frequency, severity or pure premium, a click each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from fairdash.data.pricing import PricingTarget
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe

KEY = Keys(__file__)


def offer_pricing(
    offered: Sequence[PricingTarget], *, key: str, choose: Callable[[PricingTarget], None]
) -> None:
    """A button for each target of pricing that the table has the columns for.

    `choose` is called with the one that was clicked, before the page is drawn again.
    """
    if not offered:
        return
    st.caption("This table can price, by the names of its columns:")
    with st.container(horizontal=True):
        for each in offered:
            st.button(
                f"{each.title}: {safe(each.target)} ÷ {safe(each.weight)}",
                key=KEY("choose", key, each.id),
                on_click=choose,
                args=(each,),
                help=f"Predicts {safe(each.target)} divided by {safe(each.weight)}; each row counts by "
                f"{safe(each.weight)}."
                + (" Rows without claims have no severity and are left out." if each.fixes else ""),
            )
