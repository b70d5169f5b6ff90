"""Models in an audit: fitted models of price and cost, the user's model, and the repaired price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairdash.utils.options import option, options_of


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """Hash and options of the audited model's file, for evidence files and for stored audits.

    If the model uses all columns of the table, `columns` is empty.
    """

    sha256: str
    columns: tuple[str, ...] = option(
        *((), "Input columns of the model, in the model's order"),
        "If the model names its inputs, they are matched by name.",
        name="model_columns",
        word="model_column",
    )
    customer: int | str | None = option(
        *(None, "Row to explain (optional)"),
        "Rows are numbered from 0. The audit compares the price of this row with the prices of similar rows.",
        within="[0, inf)",
    )
    link: str = option(
        *("auto", "Output of the model"),
        "“log” if the model gives the logarithm of the price, “identity” if it gives the price. By "
        "default, the file decides.",
        name="model_link",
        choices=("auto", "identity", "log"),
    )
    output: str | None = option(
        *(None, "Output that holds the price"),
        "For example “probabilities[1]”. The default is the only output.",
        name="model_output",
    )
    check_column: str | None = option(
        *(None, "Compare with the prices you were given (optional)"),
        "A column of prices from the model's owner. The audit reports whether these prices agree with the "
        "model's prices.",
    )

    @property
    def options(self) -> dict[str, Any]:
        """Options of :func:`fairdash.audit` for the model, without the file."""
        options = {name: getattr(self, each.name) for name, each in options_of(ModelFile).items()}
        return options | {"model_columns": self.columns or None}
