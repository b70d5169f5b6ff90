"""Which part of the paper is shown."""

from __future__ import annotations

from fairdash.reports.paper import committed
from fairdash.ui.address import choose
from fairdash.ui.keys import Address, Keys
from fairdash.ui.paper.figures import show_fig1, show_fig2, show_fig3, show_fig4
from fairdash.ui.paper.table1 import show_table1

KEY = Keys(__file__)

#: Name of a result to what shows it and its title; there is a Table 1 for each of several data sets.
_PARTS = {
    "table1": (show_table1, "Table 1: real data"),
    "household": (show_fig4, "Fig. 4: household prices"),
    "fig2": (show_fig2, "Fig. 2: estimating HGR"),
    "fig1": (show_fig1, "Fig. 1: χ² and HGR"),
    "fig3": (show_fig3, "Fig. 3: the networks"),
}


def show_part() -> None:
    """The control, and the part that it names."""
    made = {"table1", *committed()}
    offered = {name: title for name, (_, title) in _PARTS.items() if name in made}
    part = choose("Part", offered, name=Address.PART, key=KEY("part"), hidden_label=True)
    _PARTS[part][0]()
