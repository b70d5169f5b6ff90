"""Page to answer a customer's complaint: the price, the sensitive attribute's effect, open questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from fairdash.auditing.result import Findings
from fairdash.errors import OptionError
from fairdash.utils.text import amount, percent, unbroken, with_unit
from fairdash.views.blocks import Block, Table, Text, document

#: Maximum number of columns in the list of the largest effects. More would not fit on a page.
_MAX_COLUMNS = 8
#: A column is named if it changes prices along the attribute by more than this share of the mean price.
_MIN_CHANGE = 0.01
_BLANK_COMPLAINTS = (
    "Yours to write: whom the customer can ask, by when you answer, and who decides after that."
)


def render_customer(result: Findings, answers: Mapping[str, str], *, row: int | str) -> bytes:
    """Explain the price that a model gives one customer, in plain words, as UTF-8 HTML.

    Parameters
    ----------
    result
        Audit of a model, with a customer (`customer` of :func:`fairdash.audit`).
    answers
        Map of fields to strings written by the user; the page ends with the one for ``complaints``.
    row
        Label of the customer's row.

    Raises
    ------
    OptionError
        The audit was run without a customer.
    """
    if "customer" not in result.tables:
        raise OptionError.of(
            "No customer's price was explained", "Name a model and a row.", column="customer"
        )
    name, price = result.plan.columns.sensitive, result.plan.columns.price
    price_text = _format_amount(result, result.tables["customer"]["price"].iloc[0])
    version = result.made_with.get("fairdash", "of an unknown version")
    complaints_text = answers.get("complaints", "")
    blocks = [
        Text(f"Why is your price {price_text}?", "title"),
        Text(
            f"“{price}” of the customer in row {row}. Computed by fairdash {version} from the model that "
            "sets this price.",
            "small",
        ),
        Text("Your price compared with others", "section"),
        *_comparison_with_others(result),
        Text("What changes your price", "section"),
        *_by_column(result),
        Text(f"What “{name}” does to your price", "section"),
        *_direct_and_indirect_use(result),
        Text("What this page can’t say", "section"),
        _open_questions(name),
        Text("If you disagree", "section"),
        Text(complaints_text or _BLANK_COMPLAINTS, "written" if complaints_text else "blank"),
    ]
    return document(f"Why this price? {price} of the customer in row {row}", blocks, scripts=False)


def _format_amount(result: Findings, value: float) -> str:
    """Format an amount to the cent; an amount below 1, such as a rate, keeps all digits."""
    text = f"{value:,.2f}" if result.mean_price >= 1 else amount(float(value))
    return with_unit(text, result.plan.currency)


def _short(value: str) -> str:
    try:
        return f"{float(value):.6g}"
    except ValueError:
        return value


def _comparison_with_others(result: Findings) -> Iterator[Block]:
    facts, name = result.tables["customer"].iloc[0], result.plan.columns.sensitive
    yield unbroken(
        f"You pay {_format_amount(result, facts['price'])}. The mean price of all customers is "
        f"{_format_amount(result, facts['mean_of_all'])}. The {int(facts['near']):,} customers closest to "
        f"you in “{name}” pay {_format_amount(result, facts['mean_near_in_s'])} on average, and "
        f"{percent(facts['share_near_that_pays_less'], decimals=0)} of them pay less than you."
    )


def _change_text(result: Findings, value: float) -> str:
    return f"{'adds' if value > 0 else 'takes off'} {_format_amount(result, abs(value))}"


def _by_column(result: Findings) -> Iterator[Block]:
    changes = result.tables["customer_columns"].head(_MAX_COLUMNS)
    effects = [_change_text(result, value) for value in changes["change"]]
    frame = pd.DataFrame(
        {"about you": changes["column"], "your value": changes["value"].map(_short), "effect": effects}
    )
    below = (
        "Each line compares your price with its mean over all customers' values in that one column. All "
        "other values stay the same. The lines do not add up to your price."
    )
    yield Table("What the model knows about you", frame, below)


def _direct_and_indirect_use(result: Findings) -> Iterator[Block]:
    name = result.plan.columns.sensitive
    effects = result.tables["customer_columns"].set_index("column")["change"]
    yield (
        f"The price uses “{name}” itself: your value {_change_text(result, effects[name])}, compared "
        "with all customers' values."
        if name in effects
        else f"“{name}” itself does not change your price."
    )
    changes = result.tables["flips"].set_index("column")["mean_change"].drop(name, errors="ignore")
    others = [factor for factor in changes[changes.abs() > _MIN_CHANGE].index if factor in effects][:3]
    names_in_text = ", ".join(f"“{factor}” ({_change_text(result, effects[factor])})" for factor in others)
    yield (
        f"Other values known about you vary with “{name}”. Through these values, the price can follow "
        f"“{name}”: {names_in_text}."
        if others
        else f"No other column that varies with “{name}” changes prices by more than 1 % of the mean price."
    )
    yield unbroken(f"Over all customers: {result.along[0].in_words}")


def _open_questions(name: str) -> list[str]:
    return [
        "Each comparison changes one value and leaves the others unchanged. A customer with such values may "
        "not exist.",
        "This page shows how the model uses your values. This page does not show how much you will cost, nor "
        "whether the values are right. If a value is wrong, tell us, because the right value may give a "
        "different price.",
        f"A column that varies with “{name}” may follow it, or may have a separate justification. This page "
        "can’t distinguish these two cases.",
        "This page does not decide whether a difference is lawful.",
    ]
