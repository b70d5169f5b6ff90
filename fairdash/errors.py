"""Errors that a user of fairdash may see, and the log of an error's location without personal data.

Every message says what is wrong, where (column, line numbers, number of cells) and how to fix it. It never
quotes a cell, because uploaded tables contain personal data.

The message of an exception often quotes the value that caused it ("could not convert string to float: …"),
and values are personal. The log contains only positions in the code and types of exceptions.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self


@dataclass(frozen=True)
class Fix:
    """One-click fix of a problem.

    Parameters
    ----------
    kind
        ``"drop_rows"``: leave out the rows in which the column can't be used. ``"convert"``: read its text as
        numbers, other cells as missing; ``"dash_zero"``: likewise, with its one mark, such as a dash, as 0.
        ``"codes"``: make likely codes, such as 999 for an age, missing. ``"spelling"``: merge levels that
        differ only in capitals or spaces into the most common of them. ``"order"``: use the rank of bands
        such as 18-25. ``"leave_out"``: don't use the column as a feature. ``"keep"``: use it anyway.
        ``"as_they_are"``, ``"floor"``, ``"drop_negative"``: divide amounts below zero, such as recoveries, by
        the exposure unchanged, count them as 0, or leave their rows out. ``"year"``, ``"age"``: turn dates
        into these numbers; with the suffix ``"_day_first"`` or ``"_month_first"`` if the dates are ambiguous.
        ``"number_names"``: number the names shared by several columns of a file.
    column
        Column to fix.
    """

    kind: str
    column: str


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Problem with a table, an option or a run.

    Parameters
    ----------
    what
        Problem in plain words, without quoting a cell's value.
    hint
        Action for the user.
    column
        The column or the option concerned, if there is one.
    lines
        Line numbers in the file (1 is the header); the first five are shown.
    count
        Number of affected cells or rows, if known.
    is_option
        Whether `column` names an option; True in all problems of an :class:`OptionError`.
    fixes
        One-click fixes.
    """

    what: str
    hint: str
    column: str | None = None
    lines: Sequence[int] = ()
    count: int | None = None
    is_option: bool = False
    fixes: tuple[Fix, ...] = ()

    def __str__(self) -> str:
        what = self.what.rstrip(".")
        if self.column is None:
            first = what.partition(" ")[0]
            # File names and addresses keep their capitals.
            what = what[:1].upper() + what[1:] if first.isalpha() else what
        else:
            noun = "Option" if self.is_option else "Column"
            what = f"{noun} “{self.column}”: {what[:1].lower()}{what[1:]}"
        return f"{what}{_extent(self.lines, self.count)}. {self.hint}"


def _extent(lines: Sequence[int], count: int | None) -> str:
    parts = []
    if count is not None:
        parts.append(f"{count:,} {'place' if count == 1 else 'places'}")
    if lines:
        shown = ", ".join(str(line) for line in lines[:5])
        more = ", …" if (count or len(lines)) > 5 else ""
        parts.append(f"{'line' if len(lines) == 1 else 'lines'} {shown}{more}")
    return f" ({'; '.join(parts)})" if parts else ""


class FairdashError(Exception):
    """Base class of every error that fairdash raises deliberately.

    Parameters
    ----------
    problems
        All problems found, one or more :class:`Problem`.
    """

    def __init__(self, *problems: Problem) -> None:
        if not problems:
            raise TypeError("a FairdashError needs at least one Problem")
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling keeps only an exception's text, and steps of a run raise theirs in other processes.
        return type(self), self.problems

    @classmethod
    def of(cls, what: str, hint: str, **more: Any) -> Self:
        """Make an error with one problem; see :class:`Problem` for `what`, `hint` and further fields.

        Examples
        --------
        >>> str(ReadingError.of("the file is empty", "Choose another file."))
        'The file is empty. Choose another file.'
        """
        return cls(Problem(what=what, hint=hint, **more))


class ReadingError(FairdashError, ValueError):
    """A file can't be read as a table."""


class DataError(FairdashError, ValueError):
    """A table can't be used with the selected roles."""


class DownloadError(FairdashError, OSError):
    """A public data set could not be fetched or did not match its checksum."""


class StorageError(FairdashError, OSError):
    """A file in the user's storage can't be found, read or written."""


class MissingPackageError(FairdashError, ModuleNotFoundError):
    """A required package is not installed; the message has the command that installs it."""


class OptionError(FairdashError, ValueError):
    """An option of a measure, a method or a sweep is not usable."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*(replace(problem, is_option=True) for problem in problems))


class DeterminedError(OptionError):
    """The given columns determine the sensitive attribute: rows equal in them do not differ in it."""


def require_count(value: float, *, column: str, called: str = "number", least: int = 1) -> None:
    """Reject an option that is not a whole number of at least this size.

    Raises
    ------
    OptionError
        Its column is the name of the option.
    """
    if value != int(value) or value < least:
        hint = f"Give a whole number of at least {least}."
        raise OptionError.of(f"The {called} is not usable", hint, column=column)


class Checks:
    """Collector of problems with options or a table, so that one error reports all of them.

    Parameters
    ----------
    error
        The error to raise.

    Examples
    --------
    >>> checks = Checks(OptionError)
    >>> checks.require(False, "n_splits", "There is no split to train on", "Ask for 1 or more.")
    >>> checks.finish()
    Traceback (most recent call last):
    fairdash.errors.OptionError: Option “n_splits”: there is no split to train on. Ask for 1 or more.
    """

    def __init__(self, error: type[FairdashError]) -> None:
        self.error = error
        self.problems: list[Problem] = []

    def require(self, holds: object, column: str | None, what: str, hint: str) -> None:
        """Note a problem `what` with a column or an option, and its `hint`, unless the condition `holds`."""
        if not holds:
            self.problems.append(Problem(what=what, hint=hint, column=column))

    def finish(self) -> None:
        """Raise the error with all noted problems, if there are any."""
        if self.problems:
            raise self.error(*self.problems)


class DeviceError(FairdashError, RuntimeError):
    """The requested device is not available."""


class RunError(FairdashError, RuntimeError):
    """A stored run can't be found, read or executed."""


class Cancelled(Exception):
    """Raised inside a computation when its caller asked it to stop; not an error."""


def trace_of(error: BaseException) -> str:
    """Return the exceptions behind `error` and the lines of code they passed, without messages.

    >>> try:
    ...     float("Zoe")
    ... except ValueError as error:
    ...     "ValueError" in trace_of(error), "Zoe" in trace_of(error)
    (True, False)
    """
    parts: list[str] = []
    each: BaseException | None = error
    seen: set[int] = set()
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        places = [
            f"  {place.filename}:{place.lineno} in {place.name}"
            for place in traceback.extract_tb(each.__traceback__)
        ]
        parts.append("\n".join([f"{type(each).__module__}.{type(each).__qualname__}", *places]))
        each = each.__cause__ or each.__context__
    return "\nafter ".join(parts)
