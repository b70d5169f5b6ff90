"""Which column of a table is what to an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which column of a table is what to an audit; names as they stand in the table.

    Parameters
    ----------
    price, sensitive
        The price or prediction, per unit of exposure; the attribute that it must not follow.
    exposure
        How much a row counts; every row counts one without it.
    outcome, expected_cost
        Claims or cost, and the user's own expectation of it, per unit of exposure.
    candidate
        A second price.
    groups
        What rows have in common, such as a policy.
    controls
        Factors that are named as legitimate.
    totals
        Those of the columns that are sums over the exposure; they are divided by it.
    features
        What the price may be made of, as far as the table has it; all columns without a role by default.
    also
        Further sensitive attributes; each is audited as the first is.
    """

    price: str
    sensitive: str
    exposure: str | None = None
    outcome: str | None = None
    expected_cost: str | None = None
    candidate: str | None = None
    groups: str | None = None
    controls: tuple[str, ...] = ()
    totals: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    also: tuple[str, ...] = ()

    @property
    def each(self) -> tuple[Columns, ...]:
        """The columns of one audit for each of the sensitive attributes."""
        return tuple(replace(self, sensitive=name, also=()) for name in (self.sensitive, *self.also))

    @property
    def of_candidate(self) -> Columns:
        """The columns of the second price's audit."""
        assert self.candidate is not None
        return replace(self, price=self.candidate, candidate=None)

    def numbers(self) -> dict[str, str]:
        """Role to column, of those that hold numbers."""
        roles = ("price", "sensitive", "exposure", "outcome", "expected_cost", "candidate")
        return {role: getattr(self, role) for role in roles if getattr(self, role) is not None}


def columns_of(
    price: str,
    sensitive: str | Sequence[str],
    *,
    exposure: str | None = None,
    outcome: str | None = None,
    controls: Sequence[str] = (),
    expected_cost: str | None = None,
    candidate: str | None = None,
    groups: str | None = None,
    totals: Sequence[str] = (),
    features: Sequence[str] | None = None,
) -> Columns:
    """The columns as :class:`Columns`; one factor, total or feature may be given by its name alone.

    Of several sensitive attributes the first is `sensitive`, and the others are `also`.
    """
    first, *also = _names(sensitive) or ("",)
    return Columns(
        price=price,
        sensitive=first,
        exposure=exposure,
        outcome=outcome,
        expected_cost=expected_cost,
        candidate=candidate,
        groups=groups,
        controls=_names(controls),
        totals=_names(totals),
        features=None if features is None else _names(features),
        also=tuple(also),
    )


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
