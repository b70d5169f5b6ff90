"""Which column of a table plays which part."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The parts that a table's columns play.

    Parameters
    ----------
    target
        What is predicted.
    sensitive
        What a prediction must not depend on; one column or several.
    features
        What a predictor may see.
    weight
        How much a row counts: its exposure, such as the years that a policy ran. None if all rows count
        alike. No predictor sees it.
    prediction
        A prediction or a price that is there already, to be audited beside the models. None if there is
        none. No predictor sees it.
    row_id
        What names a row, such as a policy's number, so that exported rows can be found again. None if
        nothing does. No predictor sees it.
    """

    target: str
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    weight: str | None = None
    prediction: str | None = None
    row_id: str | None = None

    def __post_init__(self) -> None:
        for part in ("sensitive", "features"):
            if isinstance(getattr(self, part), str):
                raise TypeError(f"{part} takes a tuple of column names, not one name")
            object.__setattr__(self, part, tuple(getattr(self, part)))
