"""Additional answer about a model: how a price changes if only one column changes.

Such a change, with all other columns fixed, describes only the model. If columns are related, such customers
may not exist. For each column, two mean prices are compared. The first is the mean price if the column has
its values from the rows with the lowest s, the second if the column has its values from the rows with the
highest s. If the column is s, its lowest and its highest values are compared. If the column is a proxy for s,
the comparison shows the effect of its change from low to high s.

A model is a function, an object with ``predict``, or a file (:mod:`fairdash.auditing.models.foreign`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.models.foreign import ForeignModel
from fairdash.auditing.plan import QUESTIONS
from fairdash.auditing.result import Answer
from fairdash.errors import Checks, DataError, FairdashError, OptionError
from fairdash.tables.model_files.model_file import DIFFERS, LINKS, LOG_LOSSES, Link
from fairdash.utils.seeds import Stream, rng_of
from fairdash.utils.text import amount, percent

Array = NDArray[np.float64]
#: Function that computes prices (n,) from a frame of rows.
Pricing = Callable[[pd.DataFrame], Array]
#: Values of a column, each with its share of the exposure.
Nodes = list[tuple[Any, float]]

#: The answer about a model follows the answers to all questions.
NUMBER = max(QUESTIONS) + 1
TITLE = "What does the model do?"
MODEL_PRICE = "model price"
#: `MAX_ROWS`: maximum number of rows whose price is computed for each value of a column. `END`: share of the
#: rows in each of two groups, the rows with the lowest and with the highest s.
MAX_ROWS, END = 2_000, 0.1
#: Quantile levels; these quantiles represent the values of a numeric column.
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Two prices count as equal up to this relative difference, because files contain 32-bit numbers.
_PRICE_TOLERANCE = 1e-4


def with_model_price(
    frame: pd.DataFrame,
    model: Any,
    *,
    columns: Sequence[str] | None,
    name: str,
    link: Link = "auto",
    output: str | None = None,
    check_column: str | None = None,
) -> tuple[pd.DataFrame, Pricing, tuple[str, ...]]:
    """Return the frame with the model's price as a new column, the model, and notes.

    `columns` are the model's inputs. `link` and `output` are `model_link` and `model_output` of
    :func:`fairdash.audit`. The price is compared with `check_column`, which is then removed from the frame.
    """
    checks = Checks(OptionError)
    feature_names = getattr(model, "feature_names_in_", None) if columns is None else columns
    inputs = [str(column) for column in frame.columns if column != check_column]
    model_columns = inputs if feature_names is None else [str(column) for column in feature_names]
    for column in model_columns:
        text = "The model uses this column, but the table does not contain it"
        checks.require(column in frame.columns, column, text, "Add the column, or name the model's columns.")
    hint = "Give the model's price another name."
    checks.require(name not in frame.columns, name, "The table has a column of that name", hint)
    text = "The table does not have the column of prices to compare"
    checks.require(check_column is None or check_column in frame, "check_column", text, "Name a column.")
    text = f"“{link}” is not a known link"
    checks.require(link in LINKS, "model_link", text, f"Choose one of {', '.join(LINKS)}.")
    predict = getattr(model, "predict", model)
    hint = "Give a function of a frame, an object with predict, or a model's file."
    checks.require(
        isinstance(model, bytes) or callable(predict), "model", "The model can't compute prices", hint
    )
    checks.finish()
    notes: list[str] = []
    default_link: Link = "log" if _predicts_logs(model) else "identity"
    if isinstance(model, bytes):
        stated_columns = None if columns is None else model_columns
        file = ForeignModel(model, columns=stated_columns, table=inputs, output=output, link=link)
        predict, default_link, model_columns = file.predict, file.link, file.columns
        notes += [*file.remarks, *file.unknown_levels(frame)]
    is_log = (default_link if link == "auto" else link) == "log"
    if is_log:
        notes.append("The price is exp of the model's output.")

    def price(rows: pd.DataFrame) -> Array:
        try:
            prices = np.asarray(predict(rows[model_columns]), dtype=float)
        except FairdashError:
            raise
        except Exception as error:  # A user's model may raise any kind of error.
            listed = ", ".join(f"“{column}”" for column in model_columns)
            message = next(iter(str(error).splitlines()), "")
            reason = f"The model can't price the rows ({type(error).__name__}: {message})"
            hint = f"Give a function that takes a DataFrame of the columns {listed} and returns prices."
            raise DataError.of(reason, hint) from error
        prices = prices[:, 0] if prices.ndim == 2 and prices.shape[1] == 1 else prices
        if is_log and prices.shape == (len(rows),):
            with np.errstate(over="ignore"):
                prices = np.exp(prices)
        if prices.shape != (len(rows),) or not np.isfinite(prices).all():
            raise DataError.of("The model does not give one finite price per row", "Return an array (n,).")
        return prices

    # Only these columns are changed in the additional answer about the model.
    price.columns = model_columns  # type: ignore[attr-defined]
    prices = price(frame)
    if check_column is not None:
        notes.insert(0, compare_with_column(prices, frame[check_column], check_column))
        frame = frame.drop(columns=check_column)
    return frame.assign(**{name: prices}), price, tuple(notes)


def _predicts_logs(model: Any) -> bool:
    """Return True if an object is a CatBoost model whose loss makes it predict logarithms."""
    return type(model).__name__ == "CatBoost" and (
        str(model.get_all_params().get("loss_function", "")).partition(":")[0] in LOG_LOSSES
    )


def compare_with_column(prices: Array, column_prices: pd.Series, name: str) -> str:
    """Compare the model's prices (n,) with those in a column; return a sentence on the differences."""
    is_given = column_prices.notna().to_numpy()
    computed, stated_prices = prices[is_given], column_prices[is_given].to_numpy(dtype=float)
    scale = max(float(np.abs(stated_prices).mean()), 1e-300)

    def equals(values: Array) -> NDArray[np.bool_]:
        return np.isclose(values, stated_prices, rtol=_PRICE_TOLERANCE, atol=1e-6 * scale)

    differs = ~equals(computed)
    if not differs.any():
        return f"The model's price is “{name}” in all {len(computed):,} rows in which “{name}” is known."
    row_numbers = np.flatnonzero(is_given)
    worst = int(np.argmax(np.abs(computed - stated_prices)))
    sentence = (
        f"{DIFFERS} from “{name}” in {int(differs.sum()):,} of {len(computed):,} rows, most in row "
        f"{row_numbers[worst] + 1:,}: {amount(computed[worst])} instead of {amount(stated_prices[worst])}."
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratio = float(np.median(computed / stated_prices))
        for is_match, words in (
            (
                equals(np.exp(computed)),
                "The model's price is the logarithm of this column: choose the link “log”.",
            ),
            (
                equals(np.log(computed)),
                "The model's price is the exponential of this column: choose the link “identity”.",
            ),
            (equals(computed / ratio), f"The model's price is {ratio:.4g} times this column in each row."),
        ):
            if is_match.all():
                return f"{sentence} {words}"
    return sentence


def nodes_of(column: pd.Series) -> Nodes:
    """Return values that represent a column (quantiles of numbers, or all levels), with their shares."""
    present = column.dropna()
    if is_numeric_dtype(present) and present.nunique() > len(LEVELS):
        quantiles = np.quantile(present.astype(float), LEVELS, method="inverted_cdf")
        return [(value, 1 / len(LEVELS)) for value in quantiles.tolist()]
    shares = present.value_counts(normalize=True, sort=False)
    return list(zip(shares.index.tolist(), shares.tolist(), strict=True))


def price_at(model: Pricing, rows: pd.DataFrame, column: str, nodes: Nodes) -> Array:
    """Return each row's mean price, (n,), over several values of one column."""
    return np.asarray(sum(share * model(_with_value(rows, column, value)) for value, share in nodes))


def changes_when_replaced(model: Pricing, rows: pd.DataFrame, column: str, low: Nodes, high: Nodes) -> Array:
    """Return each row's price change, (n,), if a column's values at low s are replaced by those at high s."""
    return price_at(model, rows, column, high) - price_at(model, rows, column, low)


def ask_model(
    result: AuditResult,
    frame: pd.DataFrame,
    model: Pricing,
    *,
    columns: Sequence[str] | None = None,
    customer: Any = None,
    tell: Callable[[], None] = lambda: None,
) -> AuditResult:
    """Add an answer: how the model's price changes if only s, or only one other column, changes.

    The answer has the tables ``flips``, with a row for each input of the model: the change as shares of the
    mean price, the share of rows whose change exceeds the threshold, and the mean price at low and at high s;
    ``partial_dependence``, the mean price with a column set to each of several values in turn; and, for a
    `customer` (a label of the frame's index), ``customer`` and ``customer_columns``. `tell` is called before
    each column and stops the computation by raising an error.
    """
    name, delta, mean = result.plan.columns.sensitive, result.plan.max_gap, result.mean_price
    price = result.plan.columns.price
    columns = [str(column) for column in (frame if columns is None else columns) if column != price]
    if name not in frame:
        hint = "Name a column of the table as sensitive."
        raise OptionError.of(
            "fairdash can't audit a model along probabilities of classes", hint, column="model"
        )
    known_rows = frame[frame[name].notna()]
    sample = rng_of(Stream.AUDIT_ROWS, result.plan.random_state).permutation(len(known_rows))[:MAX_ROWS]
    rows = known_rows.iloc[np.sort(sample)]
    extreme_rows = _rows_at_extremes(known_rows, name, price)
    base = model(rows)
    changes, curves = [], []
    for column in columns:
        tell()
        values = nodes_of(known_rows[column])
        if len(values) < 2 or not _uses_column(model, rows, column, values, base):
            continue
        low, high = (nodes_of(end[column]) for end in extreme_rows)
        if not low or not high:
            continue
        change = changes_when_replaced(model, rows, column, low, high)
        row: dict[str, Any] = {"column": column, "mean_change": change.mean() / mean}
        row |= {"mean_absolute": np.abs(change).mean() / mean}
        row |= {f"q{100 * q:02.0f}": np.quantile(change, q) / mean for q in _QUANTILES}
        changes.append(row | {"beyond": float((np.abs(change) > delta * mean).mean())})
        curves += [
            {"column": column, "at": str(v), "value": model(_with_value(rows, column, v)).mean()}
            for v, _ in values
        ]
    tables = {
        "flips": pd.DataFrame(changes).sort_values(
            "mean_change", key=np.abs, ascending=False, ignore_index=True
        )
        if changes
        else pd.DataFrame(columns=["column", "mean_change", "mean_absolute", "beyond"]),
        "partial_dependence": pd.DataFrame(curves, columns=["column", "at", "value"]),
    }
    sentences = _in_words(tables["flips"], name, result.plan.gap_in_words, len(rows))
    if customer is not None:
        changed = tables["flips"]["column"].tolist()
        customer_tables, customer_sentence = _customer(frame, model, customer, columns=changed, name=name)
        tables |= customer_tables
        sentences = (*sentences, customer_sentence)
    answer = Answer(
        question=NUMBER, title=TITLE, sentence=sentences[0], more=sentences[1:], tables=tuple(tables)
    )
    return replace(
        result, answers=(*result.answers, answer), tables=MappingProxyType({**result.tables, **tables})
    )


def _with_value(rows: pd.DataFrame, column: str, value: Any) -> pd.DataFrame:
    return rows.assign(**{column: pd.Series(value, index=rows.index, dtype=rows[column].dtype)})


def _uses_column(model: Pricing, rows: pd.DataFrame, column: str, nodes: Nodes, base: Array) -> bool:
    """Return True if the model uses a column."""
    return any(not np.array_equal(model(_with_value(rows, column, value)), base) for value, _ in nodes)


def _rows_at_extremes(frame: pd.DataFrame, name: str, price: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows with the lowest and the highest tenth of s or, for classes, the classes with the lowest
    and the highest mean price."""
    s = frame[name]
    if is_numeric_dtype(s):
        low, high = np.quantile(s.astype(float), [END, 1 - END])
        if low < high:
            return frame[s <= low], frame[s >= high]
        return frame[s <= s.min()], frame[s >= s.max()]
    means = frame.groupby(s.astype(str))[price].mean()
    return frame[s.astype(str) == means.idxmin()], frame[s.astype(str) == means.idxmax()]


def _in_words(table: pd.DataFrame, name: str, delta: str, n: int) -> tuple[str, ...]:
    row_of_s = table[table["column"] == name]
    direct_effect = f"The model's price does not change with “{name}” alone."
    if len(row_of_s):
        row = row_of_s.iloc[0]
        direct_effect = (
            f"If only “{name}” changes from its lowest to its highest value, the model's price changes by "
            f"{percent(row['mean_change'])} of the mean price on average, and by more than {delta} "
            f"for {percent(row['beyond'])} of the rows."
        )
    others = table[table["column"] != name]
    other_effect = f"Among the columns related to “{name}”, no other column changes the price."
    if len(others) and abs(others["mean_change"].iloc[0]) > 0:
        first = others.iloc[0]
        other_effect = (
            f"Among the columns that vary with “{name}”, “{first['column']}” changes the price most: "
            f"{percent(first['mean_change'])} of the mean price on average, and more than "
            f"{delta} for {percent(first['beyond'])} of the rows."
        )
    return (
        f"{direct_effect} {other_effect}",
        f"One column is changed at a time, in {n:,} rows. Customers with such values may not exist.",
    )


def _customer(
    frame: pd.DataFrame, model: Pricing, label: Any, *, columns: list[str], name: str
) -> tuple[dict[str, pd.DataFrame], str]:
    """Explain the price of one row by the prices of rows with similar s, and by the effect
    of each column.
    """
    if label not in frame.index or not frame.index.is_unique or pd.isna(frame.loc[label, name]):
        hint = "Give the label of one row whose sensitive attribute is known."
        raise OptionError.of("There is no such row", hint, column="customer")
    row, s = frame.loc[[label]], frame[name]
    price = float(model(row)[0])
    if is_numeric_dtype(s):
        count = max(2, round(END * int(s.notna().sum())))
        similar_rows = frame.loc[(s - s[label]).abs().sort_values(kind="stable").index[:count]]
    else:
        similar_rows = frame[s == s[label]]
    prices_nearby, mean_of_all = model(similar_rows), float(model(frame[s.notna()]).mean())
    lower = float((prices_nearby < price).mean())
    effects = pd.DataFrame(
        [
            {
                "column": column,
                "value": str(row[column].iloc[0]),
                "change": price - float(price_at(model, row, column, nodes_of(frame[column]))[0]),
            }
            for column in columns
        ],
        columns=["column", "value", "change"],
    ).sort_values("change", key=np.abs, ascending=False, ignore_index=True)
    facts = {"price": price, "mean_near_in_s": float(prices_nearby.mean()), "mean_of_all": mean_of_all}
    sentence = (
        f"The customer in row {label} pays {amount(price)}. The customers closest in “{name}” pay "
        f"{amount(facts['mean_near_in_s'])} on average, and {percent(lower)} of them pay less."
    )
    if len(effects):
        sentence += (
            f" “{effects['column'][0]}” changes this price most: {amount(float(effects['change'][0]))}."
        )
    summary = pd.DataFrame([{**facts, "share_near_that_pays_less": lower, "near": len(similar_rows)}])
    return {"customer": summary, "customer_columns": effects}, sentence
