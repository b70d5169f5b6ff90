"""The options of :class:`fairdash.training.regressor.FairRegressor`, checked when it is fitted."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from fairdash.errors import Checks, OptionError
from fairdash.training.settings import TrainingSettings


def settings_of(params: dict[str, Any]) -> TrainingSettings:
    """The training settings among an estimator's parameters; OptionError naming all that can't be used.

    A list serves where a tuple is meant.
    """
    values: dict[str, Any] = {}
    checks = Checks(OptionError)
    for field in fields(TrainingSettings):
        value = params[field.name]
        wanted = _wanted(field.default, value)
        checks.require(wanted is None, field.name, "Not a usable training setting", f"Give {wanted}.")
        values[field.name] = tuple(value) if isinstance(field.default, tuple) and wanted is None else value
    checks.finish()
    return TrainingSettings(**values)


def _wanted(default: Any, value: Any) -> str | None:
    """What should stand in place of `value`, in words; None if it is of its default's kind."""
    if isinstance(default, tuple):
        fits = isinstance(value, (Sequence, np.ndarray)) and all(_is_whole(each) for each in value)
        return None if fits else "whole numbers, such as (32, 16, 8)"
    if isinstance(default, bool):
        return None if isinstance(value, (bool, np.bool_)) else "True or False"
    if isinstance(default, str):
        return None if isinstance(value, str) else "a name"
    if default is None:
        return None if value is None or _is_whole(value) else "a whole number, or None"
    if isinstance(default, int):
        return None if _is_whole(value) else "a whole number"
    return None if _is_number(value) else "a number"


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_options(*, lam: Any, validation_fraction: Any) -> None:
    """OptionError if the weight λ or the share of validation rows can't be used."""
    checks = Checks(OptionError)
    checks.require(
        _is_number(lam) and math.isfinite(lam) and lam >= 0,
        "lam",
        "Not a usable weight λ",
        "Give a number of at least 0.",
    )
    checks.require(
        _is_number(validation_fraction) and 0 < validation_fraction < 1,
        "validation_fraction",
        "The share of validation rows is out of its range",
        "Choose a number between 0 and 1, such as 0.1.",
    )
    checks.finish()


def find_columns(wanted: Any, columns: Sequence[Hashable]) -> list[Hashable]:
    """The columns that `wanted` names, or counts from 0; each once, in the order of `wanted`.

    Parameters
    ----------
    wanted
        A name or a position, or several; None for no column.
    columns
        Names of the columns of X, or 0, 1, … where they have no names.

    Raises
    ------
    OptionError
        A column is not there, or all columns are named.
    """
    if wanted is None:
        return []
    several = not isinstance(wanted, (str, Integral))
    found: list[Hashable] = []
    lacking = []
    for each in wanted if several else [wanted]:
        if isinstance(each, str) and each in columns:
            found.append(each)
        elif _is_whole(each) and 0 <= each < len(columns):
            found.append(columns[int(each)])
        else:
            lacking.append(str(each))
    checks = Checks(OptionError)
    checks.require(
        not lacking,
        "sensitive_columns",
        f"X has no column {', '.join(lacking)}",
        "Name columns of the DataFrame, or count them from 0.",
    )
    checks.require(
        lacking or len(set(found)) < len(columns),
        "sensitive_columns",
        f"X has {len(columns)} feature(s), and all are sensitive",
        "The predictor never sees a sensitive column: add others to X.",
    )
    checks.finish()
    return list(dict.fromkeys(found))
