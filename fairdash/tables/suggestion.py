"""Suggestions for roles and targets from column names and types, for the user to confirm.

>>> import pandas as pd
>>> table = pd.DataFrame({"policy_id": [1, 2], "Age": [40, 50], "rooms": [2, 3], "cost": [9.5, 8]})
>>> found = suggest_roles(table)
>>> found.target, found.sensitive, found.features, found.weight, found.left_out
('cost', ('Age',), ('rooms',), None, {'policy_id': 'numbers the rows'})
>>> table = pd.DataFrame({"ClaimNb": [0, 2, 1], "ClaimAmount": [0.0, 900.0, 80.0], "Exposure": [1, 0.5, 1]})
>>> [(each.id, each.target) for each in pricing_targets(table)]
[('frequency', 'ClaimNb'), ('severity', 'ClaimAmount'), ('pure_premium', 'ClaimAmount')]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from fairdash.errors import Fix
from fairdash.tables.column_profile import NUMBERS, kind_of
from fairdash.tables.columns import as_classes
from fairdash.tables.exposure import Policies, can_be_rate, find_policies, looks_like_total
from fairdash.tables.features import exclusion_reason
from fairdash.tables.header_words import CLAIMS, WHOLE, meanings_of, other_words
from fairdash.tables.leaks import BOUNDS, certain_leaks
from fairdash.tables.start_and_end import bounds_of_exposure
from fairdash.tables.sums import parts_of
from fairdash.utils.classes import holds_text, why_no_classes

#: Concepts that suit a role, the best first. Concepts in one string are equally suitable.
_TARGETS = ("claim_cost", "premium", "claim_count", "cost", "price", "outcome", "claim_flag")
_SENSITIVE = ("driver_age", "age protected", "income")
#: Concepts that are ignored if the header names a thing, because a car also has an age and a price.
_OF_PEOPLE = ("driver_age", "age", "protected", "income", "price")
NAMES_POLICIES = "names policies or people"
NAMES_PLACES = "its numbers are codes of places, so their size is meaningless"
OTHER_CLAIMS = "known only after claims, like the target"


#: Title, concept of the numerator and concept of the denominator of each pricing target.
_MADE_OF: Mapping[str, tuple[str, str, str]] = {
    "frequency": ("Claim frequency", "claim_count", "exposure"),
    "severity": ("Claim severity", "claim_cost", "claim_count"),
    "pure_premium": ("Pure premium", "claim_cost", "exposure"),
}


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Suggested roles for a table's columns.

    Parameters
    ----------
    target
        Column whose name best suits a target, or None.
    sensitive
        Column whose name best suits a sensitive column. Numeric columns are preferred to columns with
        classes. Empty if no name suits.
    features
        Other columns that may be predictive.
    weight
        Numeric column whose name means exposure, or None.
    prediction
        Numeric column with the existing price. Its name means a prediction or, if the target describes
        claims, a premium. None without such a column.
    row_id
        Column of row identifiers with distinct values, or None.
    rate
        True to divide the target by the exposure. It is true if there is an exposure and the target contains
        counts or totals.
    left_out
        Map from each column that is no suitable feature to the reason.
    known_with_target
        Columns in `left_out` that become known only with the target.
    parts_of_price
        Columns in `left_out` that add up to the prediction.
    policies
        Column that identifies policies or people with several rows, or None.
    """

    target: str | None
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    weight: str | None = None
    prediction: str | None = None
    row_id: str | None = None
    rate: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)
    known_with_target: tuple[str, ...] = ()
    parts_of_price: tuple[str, ...] = ()
    policies: Policies | None = None

    @property
    def group(self) -> str | None:
        """Column that identifies rows that belong together, such as the rows of a policy."""
        return None if self.policies is None else self.policies.column

    @property
    def notes_on_codes(self) -> tuple[str, ...]:
        """Columns in `left_out` that are shown in a message, because a user may want them as features."""
        codes = (name for name, reason in self.left_out.items() if reason == NAMES_PLACES)
        return (*self.known_with_target, *self.parts_of_price, *codes)


@dataclass(frozen=True, kw_only=True)
class PricingTarget:
    """Target for pricing, which is a ratio of two columns, with the denominator as row weight.

    Parameters
    ----------
    id
        ``"frequency"``, ``"severity"`` or ``"pure_premium"``.
    title
        Name for readers.
    target, weight
        Names of the columns. `target` is divided by `weight`.
    fixes
        Fixes that the target requires. For a severity, a fix leaves out rows without claims.
    """

    id: str
    title: str
    target: str
    weight: str
    fixes: tuple[Fix, ...] = ()


def suggest_roles(
    frame: pd.DataFrame,
    *,
    target: str | None = None,
    exposure: str | None = None,
    prediction: str | None = None,
) -> Suggestion:
    """Suggest roles for columns whose names contain known words.

    Names may be in any of the six languages of ``header_words.json``. The features exclude uninformative
    columns, identifiers of policies or rows, and columns that become known only with the target. Such columns
    describe claims, reveal the target or its zeros, give the start or end of the exposure, or are parts of
    the target or of the prediction.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names.
    target
        Target column; by default, fairdash suggests it.
    exposure, prediction
        Columns with row weights and with the existing price; by default, fairdash suggests them.
    """
    reasons = {}
    for name in frame.columns:
        reason = exclusion_reason(frame[name]) or _numbers_rows(frame[name]) or _numbers_places(frame[name])
        if reason is not None and name not in (target, exposure, prediction):
            reasons[name] = reason
    policies = find_policies(frame, but=[column for column in (target, exposure, prediction) if column])
    if policies is not None:
        reasons.setdefault(policies.column, NAMES_POLICIES)
    numeric = [name for name in frame.columns if name not in reasons and kind_of(frame[name]) in NUMBERS]
    weight = exposure or _best_match([name for name in numeric if name != target], ("exposure",))
    if prediction is None:
        prediction = _best_match([name for name in numeric if name not in (weight, target)], ("prediction",))
    numeric = [name for name in numeric if name not in (weight, prediction)]
    if target is None:
        target = _best_match(numeric, _TARGETS)
    if prediction is None and target is not None and is_of_claims(target):
        # If the target describes claims, a column of premiums contains the existing prices.
        prediction = most_similar_name([name for name in numeric if name != target], "premium")
        numeric = [name for name in numeric if name != prediction]
    sensitive = _best_match([name for name in numeric if name != target], _SENSITIVE)
    if sensitive is None:
        texts = [name for name in frame.columns if name not in reasons and holds_text(frame[name])]
        attribute = _best_match(texts, _SENSITIVE)
        sensitive = attribute if attribute is not None and _are_classes(frame[attribute]) else None
    unique = [name for name in reasons if frame[name].notna().all() and frame[name].is_unique]
    row_id = next((name for name in unique if _names_rows(name)), None)
    role_columns = {target, sensitive, weight, prediction, *reasons}
    without_role = [name for name in frame.columns if name not in role_columns]
    leaks = {} if target is None else known_with_target(frame, target, without_role, exposure=weight)
    candidates = [name for name in without_role if name not in leaks]
    parts = {} if prediction is None else parts_of(frame, prediction, candidates, exposure=weight)
    if weight is not None:
        # Dates are also checked for leaks, because a user may convert them to numbers as features.
        without_role = [
            name for name in frame.columns if name in reasons or (name in candidates and name not in parts)
        ]
        for name in bounds_of_exposure(frame, weight, without_role):
            (reasons if name in reasons else leaks)[name] = BOUNDS
    return Suggestion(
        target=target,
        sensitive=() if sensitive is None else (sensitive,),
        features=tuple(name for name in frame.columns if name not in {*role_columns, *leaks, *parts}),
        weight=weight,
        prediction=prediction,
        row_id=row_id,
        rate=weight is not None and target is not None and looks_like_total(frame[target]),
        left_out={**reasons, **leaks, **parts},
        known_with_target=tuple(leaks),
        parts_of_price=tuple(parts),
        policies=policies,
    )


def known_with_target(
    frame: pd.DataFrame, target: str, features: Iterable[str], *, exposure: str | None = None
) -> dict[str, str]:
    """Return a map from the columns that become known only with the target to the reasons.

    The reason may be in a column's cells (see :func:`fairdash.tables.leaks.certain_leaks`) or in its name. If
    the target describes claims, the result includes all other columns on claims, except columns on past
    claims.
    """
    features = list(features)
    leaks = certain_leaks(frame, target, features, exposure=exposure)
    of_claims = is_of_claims(target)
    for name in features:
        if name not in leaks and of_claims and is_of_claims(name) and "past" not in meanings_of(name):
            leaks[name] = OTHER_CLAIMS
    return {name: leaks[name] for name in features if name in leaks}


def most_similar_name(names: Iterable[str], concept: str) -> str | None:
    """Return the name that expresses a concept of ``header_words.json`` most clearly, or None."""
    return _best_match([name for name in names if "past" not in meanings_of(name)], (concept,))


def is_of_claims(name: object) -> bool:
    """Return whether a header describes the number or the cost of a row's claims, or their indicator."""
    return not set(CLAIMS).isdisjoint(meanings_of(name))


def claims_in_total(features: pd.DataFrame) -> list[str]:
    """Return the features that are totals of claims over a row's exposure. Their means are not weighted."""
    return [str(name) for name in features if is_of_claims(name) and looks_like_total(features[name])]


def _are_classes(values: pd.Series) -> bool:
    classes = as_classes(values)
    return classes is not None and len(classes.names) > 1 and why_no_classes(classes) is None


def _numbers_rows(values: pd.Series) -> str | None:
    if not _names_rows(values.name):
        return None
    if kind_of(values) == "whole number" and values.is_unique:
        return "numbers the rows"
    return NAMES_POLICIES if "policy_number" in meanings_of(values.name) else None


def _numbers_places(values: pd.Series) -> str | None:
    """Explain why postcodes that are stored as numbers are no feature. Return None for other columns."""
    return NAMES_PLACES if kind_of(values) in NUMBERS and "postal_code" in meanings_of(values.name) else None


def _names_rows(name: object) -> bool:
    return not {"policy_number", "row_number"}.isdisjoint(meanings_of(name))


def _best_match(names: Iterable[str], concepts: Sequence[str]) -> str | None:
    best, best_likeness = None, (0, 0)
    for name in names:
        score = _match_score(name, concepts)
        if score > best_likeness:
            best, best_likeness = name, score
    return best


def _match_score(name: str, concepts: Sequence[str]) -> tuple[int, int]:
    """Return the score and the clarity of the best concept that a name expresses, or (0, 0)."""
    meanings = meanings_of(name)
    return max(
        (
            (len(concepts) - rank, meanings[concept])
            for rank, synonyms in enumerate(concepts)
            for concept in synonyms.split()
            if concept in meanings and not (concept in _OF_PEOPLE and other_words(name, concept, "thing"))
        ),
        default=(0, 0),
    )


def pricing_targets(frame: pd.DataFrame) -> tuple[PricingTarget, ...]:
    """Return the pricing targets that a table supports among frequency, severity and pure premium.

    Each pricing target is a ratio, and its denominator weights the rows. See Ohlsson and Johansson (2010),
    “Non-Life Insurance Pricing with Generalized Linear Models”, section 1.1.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names. Only numerators may contain amounts below zero, such
        as recoveries.
    """
    targets = []
    usable = [name for name in frame.columns if can_be_rate(frame[name])]
    divisors = [name for name in usable if (frame[name].dropna() >= 0).all()]
    for id, (title, part_ids, by) in _MADE_OF.items():
        target = most_similar_name(usable, part_ids) or (
            _claims_total_of_generic_name(frame, usable) if part_ids == "claim_cost" else None
        )
        weight = most_similar_name([name for name in divisors if name != target], by)
        if target is not None and weight is not None:
            has_rows_without_weight = id == "severity" and not (frame[weight] > 0).all()
            fixes = (Fix("drop_rows", weight),) if has_rows_without_weight else ()
            targets.append(PricingTarget(id=id, title=title, target=target, weight=weight, fixes=fixes))
    return tuple(targets)


def _claims_total_of_generic_name(frame: pd.DataFrame, usable: Sequence[str]) -> str | None:
    """Return a column with a generic name, such as "cost", whose cells look like claims totals."""
    generic_totals = [
        name for name in usable if meanings_of(name).get("cost") == WHOLE and looks_like_total(frame[name])
    ]
    return most_similar_name(generic_totals, "cost")
