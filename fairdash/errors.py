"""Errors that a user of fairdash may see, and a text for the log that locates an error.

Every message states the problem, its place (column, line numbers, number of cells) and how to fix it. No
message quotes a cell, because uploaded tables contain personal data.

The message of an exception often quotes the value that caused the error ("could not convert string to float:
…"), and this value may be personal. The log therefore contains only the positions in the code and the types
of the exceptions.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self


@dataclass(frozen=True)
class Fix:
    """Fix of a problem that a user can apply with one click.

    Parameters
    ----------
    kind
        Kind of the fix. ``"drop_rows"``: leave out the rows in which the column cannot be used.
        ``"convert"``: read the column's text as numbers and treat all other cells as missing.
        ``"dash_zero"``: as for ``"convert"``, but read the column's placeholder, such as a dash, as 0.
        ``"codes"``: treat likely codes, such as 999 for an age, as missing. ``"spelling"``: replace levels
        that differ only in capitals or spaces by the most frequent spelling. ``"order"``: replace bands such
        as 18-25 by their ranks. ``"leave_out"``: do not use the column as a feature. ``"keep"``: use the
        column despite the warning. ``"as_they_are"``, ``"floor"``, ``"drop_negative"``: divide amounts below
        zero, such as recoveries, by the exposure like other amounts; replace these amounts by 0; or leave out
        their rows. ``"year"``, ``"age"``: convert dates to years or ages; the suffix ``"_day_first"`` or
        ``"_month_first"`` gives the order of day and month in ambiguous dates. ``"number_names"``: add
        numbers to a name that several columns of a file have.
    column
        Name of the column to fix.
    """

    kind: str
    column: str


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Description of a problem with a table, an option or a run.

    Parameters
    ----------
    what
        Description of the problem, without the value of any cell.
    hint
        Action that the user can take.
    column
        Name of the column or option with the problem, or empty.
    lines
        Line numbers in the file, where line 1 is the header. A message lists the first five line numbers.
    count
        Number of affected cells or rows, if it is known.
    is_option
        True if `column` names an option. An :class:`OptionError` sets this flag for all its problems.
    fixes
        One-click fixes that the pages offer.
    """

    what: str
    hint: str
    column: str | None = None
    lines: Sequence[int] = ()
    count: int | None = None
    is_option: bool = False
    fixes: tuple[Fix, ...] = ()

    def __str__(self) -> str:
        problem = self.what.rstrip(".")
        if self.column is None:
            first = problem.partition(" ")[0]
            # File names and addresses keep their capitalisation.
            problem = problem[:1].upper() + problem[1:] if first.isalpha() else problem
        else:
            noun = "Option" if self.is_option else "Column"
            problem = f"{noun} “{self.column}”: {problem[:1].lower()}{problem[1:]}"
        return f"{problem}{_lines_in_words(self.lines, self.count)}. {self.hint}"


def _lines_in_words(lines: Sequence[int], count: int | None) -> str:
    parts = []
    if count is not None:
        parts.append(f"{count:,} {'place' if count == 1 else 'places'}")
    if lines:
        numbers = ", ".join(str(line) for line in lines[:5])
        ellipsis = ", …" if (count or len(lines)) > 5 else ""
        parts.append(f"{'line' if len(lines) == 1 else 'lines'} {numbers}{ellipsis}")
    return f" ({'; '.join(parts)})" if parts else ""


class FairdashError(Exception):
    """Base class of every error that fairdash raises deliberately.

    Parameters
    ----------
    problems
        All detected problems; there is at least one.
    """

    def __init__(self, *problems: Problem) -> None:
        if not problems:
            raise TypeError("a FairdashError needs at least one Problem")
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, pickling keeps only the text of an exception. Steps of a run may fail in other
        # processes, which pickle the exception.
        return type(self), self.problems

    @classmethod
    def of(cls, what: str, hint: str, **options: Any) -> Self:
        """Create an error with one problem. See :class:`Problem` for `what`, `hint` and the other fields.

        Examples
        --------
        >>> str(ReadingError.of("the file is empty", "Choose another file."))
        'The file is empty. Choose another file.'
        """
        return cls(Problem(what=what, hint=hint, **options))


class ReadingError(FairdashError, ValueError):
    """Error for a file that cannot be read as a table."""


class DataError(FairdashError, ValueError):
    """Error for a table that cannot be used with the selected roles."""


class DownloadError(FairdashError, OSError):
    """Error for a public data set that could not be downloaded or did not match its checksum."""


class StorageError(FairdashError, OSError):
    """Error for a file in the user's storage that cannot be found, read or written."""


class MissingPackageError(FairdashError, ModuleNotFoundError):
    """Error for a required package that is not installed. The message gives the command that installs it."""


class OptionError(FairdashError, ValueError):
    """Error for an option of a measure, a method or a sweep that cannot be used."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*(replace(problem, is_option=True) for problem in problems))


class DeterminedError(OptionError):
    """Error for given columns that determine the sensitive attribute, so that no rows can be compared."""


def require_count(value: float, *, column: str, called: str = "number", lower_limit: int = 1) -> None:
    """Check that an option is a whole number of at least `lower_limit`.

    Raises
    ------
    OptionError
        Raised if the option is not such a number; the error names the option `column`.
    """
    if value != int(value) or value < lower_limit:
        hint = f"Give a whole number of at least {lower_limit}."
        raise OptionError.of(f"The {called} is not usable", hint, column=column)


class Checks:
    """Collector of problems with options or a table, so that one error reports all of them.

    Parameters
    ----------
    error
        Class of the error to raise.

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
        """Record the problem `what` and its `hint` for a column or option, unless `holds` is true."""
        if not holds:
            self.problems.append(Problem(what=what, hint=hint, column=column))

    def finish(self) -> None:
        """Raise the error with all recorded problems, if there are any."""
        if self.problems:
            raise self.error(*self.problems)


class DeviceError(FairdashError, RuntimeError):
    """Error for a requested device that is not available."""


class RunError(FairdashError, RuntimeError):
    """Error for a stored run that cannot be found, read or executed."""


class Cancelled(Exception):
    """Signal that the caller asked a computation to stop. It is not an error."""


def trace_of(error: BaseException) -> str:
    """Return the types and code locations of `error` and of the exceptions that caused it, without messages.

    >>> try:
    ...     float("Zoe")
    ... except ValueError as error:
    ...     "ValueError" in trace_of(error), "Zoe" in trace_of(error)
    (True, False)
    """
    parts: list[str] = []
    link: BaseException | None = error
    visited: set[int] = set()
    while link is not None and id(link) not in visited:
        visited.add(id(link))
        frames = [
            f"  {frame.filename}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(link.__traceback__)
        ]
        parts.append("\n".join([f"{type(link).__module__}.{type(link).__qualname__}", *frames]))
        link = link.__cause__ or link.__context__
    return "\nafter ".join(parts)
