"""What a user wants of a model in one line: "hgr_kde<=0.05", "hgr_kde<=floor+0.02" or "error<=+10%"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError, Problem
from fairdash.utils.registry import get_entry

MEASURE, EXCESS, ERROR = "measure", "excess", "error"
_TEXT = re.compile(
    r"(?P<name>[a-z0-9_]+)\s*(?:<=|≤)\s*(?P<kind>floor\s*\+|\+)?\s*(?P<number>[0-9.]+(?:e-?[0-9]+)?)\s*(?P<percent>%?)",
    re.IGNORECASE,
)
_HOW_TO_WRITE = "Write it like hgr_kde<=0.05, hgr_kde<=floor+0.02 or error<=+10%."


@dataclass(frozen=True, kw_only=True)
class Target:
    """A bound on dependence or on error.

    Parameters
    ----------
    kind
        ``"measure"``: the measure is at most `at_most`. ``"excess"``: the measure is at most `at_most`
        above its independence floor (the same estimator on the same rows, the sensitive column permuted).
        ``"error"``: the error is at most the share `at_most` above the standard model's.
    at_most
        0 or more, finite.
    measure
        Id in :data:`fairdash.dependence.REGISTRY`; empty for ``"error"``. Signed measures count by size.

    Raises
    ------
    OptionError
        The measure is not known or takes discrete variables only, or the bound can't be used.

    Examples
    --------
    >>> Target.parse("error <= +10 %")
    Target(kind='error', at_most=0.1, measure='')
    >>> str(Target(kind="excess", at_most=0.02, measure="hgr_kde"))
    'hgr_kde<=floor+0.02'
    """

    kind: str
    at_most: float
    measure: str = ""

    def __post_init__(self) -> None:
        if self.kind not in (MEASURE, EXCESS, ERROR):
            raise _refused("This kind of target is not known")
        if not math.isfinite(self.at_most) or self.at_most < 0:
            raise _refused("The target's bound is not a number of 0 or more")
        if self.kind == ERROR:
            if self.measure:
                raise _refused("A target for the error has no measure")
            return
        if get_entry(REGISTRY, self.measure, option="measure").discrete:
            raise _refused(f"“{self.measure}” is for discrete variables, and predictions are not")

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read a target; ``error`` may be called ``mse``, and ``<=`` may be ``≤``.

        The error is the loss that the models are trained on: the mean squared error unless the settings
        say otherwise.
        """
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise _refused("The target can't be read")
        name, kind = match["name"].lower(), (match["kind"] or "").replace(" ", "").lower()
        try:
            at_most = float(match["number"])
        except ValueError:
            raise _refused("The target's bound is not a number") from None
        if name in ("mse", "error"):
            if kind != "+" or not match["percent"]:
                raise _refused("A target for the error is a share above the standard model's")
            return cls(kind=ERROR, at_most=at_most / 100)
        if kind == "+" or match["percent"]:
            raise _refused("A target for a measure is a number, without + or %")
        return cls(kind=EXCESS if kind else MEASURE, at_most=at_most, measure=name)

    @property
    def words(self) -> str:
        """The target as a person says it: "HGR_KDE at most 0.05"."""
        if self.kind == ERROR:
            return f"an error at most {100 * self.at_most:g} % above the standard model's"
        above = " above its noise floor" if self.kind == EXCESS else ""
        return f"{REGISTRY[self.measure].symbol} at most {self.at_most:g}{above}"

    def __str__(self) -> str:
        if self.kind == ERROR:
            return f"error<=+{100 * self.at_most:g}%"
        floor = "floor+" if self.kind == EXCESS else ""
        return f"{self.measure}<={floor}{self.at_most:g}"


def _refused(what: str) -> OptionError:
    return OptionError(Problem(column="target", what=what, hint=_HOW_TO_WRITE))
