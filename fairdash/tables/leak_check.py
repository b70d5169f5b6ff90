"""Check of a table for columns that certainly or possibly reveal the target.

>>> rng = np.random.default_rng(0)
>>> amount = np.where(rng.random(500) < 0.1, rng.gamma(2, 400, 500), 0.0)
>>> table = pd.DataFrame({"age": rng.integers(18, 80, 500), "power": rng.integers(4, 12, 500)})
>>> found = check_data(table.assign(paid=amount > 0, amount=amount), target="amount", sensitive="age")
>>> [(each.column, each.level) for each in found.findings], found.certain, found.suspect
([('paid', 'certain')], ('paid',), ())
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairdash.errors import Checks, DataError
from fairdash.tables.column_profile import NUMBERS, kind_of
from fairdash.tables.leak_candidates import CERTAIN, SUSPECT, Finding, find_suspects
from fairdash.tables.leaks import certain_leaks
from fairdash.tables.roles import require_columns
from fairdash.tables.sums import by_sentence, parts_of


@dataclass(frozen=True, kw_only=True)
class DataCheck:
    """Result of :func:`fairdash.check_data`.

    Parameters
    ----------
    target
        Column to predict.
    columns
        Names of the columns that were checked.
    n
        Number of rows.
    findings
        Findings, first the certain leaks and then the suspects. Suspects are sorted from strongest to
        weakest.

    Examples
    --------
    >>> table = pd.DataFrame({"claims": [0, 1, 0, 2] * 25, "km": range(100)})
    >>> fd.check_data(table, target="claims").columns
    ('km',)
    """

    target: str
    columns: tuple[str, ...]
    n: int
    findings: tuple[Finding, ...]

    @property
    def certain(self) -> tuple[str, ...]:
        """Columns that certainly reveal the target or the price."""
        return tuple(finding.column for finding in self.findings if finding.level == CERTAIN)

    @property
    def suspect(self) -> tuple[str, ...]:
        """Columns that may reveal the target."""
        return tuple(finding.column for finding in self.findings if finding.level == SUSPECT)

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each finding or sum. If there are none, the only sentence says so."""
        if not self.findings:
            return (
                f"No column of {len(self.columns)} reveals “{self.target}” or looks too good to be true.",
            )
        texts = []
        for role in ("target", "price"):
            leaks = {f.column: f.sentence for f in self.findings if (f.level, f.of) == (CERTAIN, role)}
            texts += [
                (f"“{names[0]}” gives" if len(names) == 1 else f"{len(names)} columns give")
                + f" the {role} away: {reason}."
                for names, reason in by_sentence(leaks)
            ]
        suspect = (finding for finding in self.findings if finding.level == SUSPECT)
        return (*texts, *(f"“{f.column}” looks too good to be true: {f.sentence}." for f in suspect))


def check_data(
    frame: pd.DataFrame,
    *,
    target: str,
    sensitive: str | Sequence[str] = (),
    exposure: str | None = None,
    price: str | None = None,
    group: str | None = None,
    columns: Iterable[str] | None = None,
) -> DataCheck:
    """Check a table for leaks, which are columns that reveal the target.

    Findings have two levels. *Certain* leaks are copies of the target (exact, ranked, rounded, rescaled or
    coded), and columns that are missing, zero or constant exactly where the target is zero. Columns that add
    up to the target or to the price are also certain leaks, and so are dates on which the exposure begins or
    ends. fairdash does not use certain leaks as features unless you restore them. *Suspect* columns are used,
    and you should check them. They are row numbers that predict the target, averages of the target over at
    most 20 rows, and columns that look like consequences of the target. Such a consequence explains alone
    most of the variance that all columns explain. A column that is related to the sensitive attribute is not
    a leak. An existing price is not a leak either.

    Parameters
    ----------
    frame
        The table, shape (n, columns), with unique names.
    target
        Name of the numeric column to predict. Rows with a missing target are ignored.
    sensitive
        Names of the sensitive columns, which are never suspect.
    exposure
        Name of the column with row weights (exposure).
    price
        Name of the column with an existing price. This column is never suspect, and columns that add up to it
        are certain leaks.
    group
        Column with the group of each row, such as a policy number. The rows of a group are held out together.
    columns
        Names of the columns to check; by default all columns without one of the roles above.

    Returns
    -------
    DataCheck

    Raises
    ------
    DataError
        A column does not exist, or the target is not numeric.

    Notes
    -----
    The search for suspects uses at most 8,000 rows, drawn with a fixed seed.

    Examples
    --------
    >>> claims = np.random.default_rng(0).poisson(1.0, 200)
    >>> table = pd.DataFrame({"claims": claims, "paid": 700.0 * claims})
    >>> [finding.column for finding in fd.check_data(table, target="claims").findings]
    ['paid']
    """
    sensitive = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    in_roles = [target, *sensitive, *(name for name in (exposure, price, group) if name is not None)]
    looked_at = (
        tuple(name for name in frame.columns if name not in in_roles) if columns is None else tuple(columns)
    )
    checks = Checks(DataError)
    require_columns(checks, frame.columns, (*in_roles, *looked_at))
    if (frame.columns == target).sum() == 1:
        checks.require(
            kind_of(frame[target]) in NUMBERS,
            target,
            "the target must contain numbers",
            "Choose a column of numbers.",
        )
    checks.finish()
    leaks = certain_leaks(frame, target, looked_at, exposure=exposure)
    n_finite = float(np.isfinite(frame[target].to_numpy(dtype=float, na_value=np.nan)).sum())
    unexplained = [name for name in looked_at if name not in leaks]
    parts = {} if price in (None, target) else parts_of(frame, str(price), unexplained, exposure=exposure)
    unexplained = [name for name in unexplained if name not in parts]
    suspects = find_suspects(frame, target, unexplained, other_columns=sensitive, group=group)
    return DataCheck(
        target=target,
        columns=looked_at,
        n=len(frame),
        findings=(
            *(Finding(column=c, level=CERTAIN, sentence=text, number=n_finite) for c, text in leaks.items()),
            *(
                Finding(column=c, level=CERTAIN, sentence=reason, number=n_finite, of="price")
                for c, reason in parts.items()
            ),
            *suspects,
        ),
    )
