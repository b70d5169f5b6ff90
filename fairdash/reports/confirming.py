"""What the rows set aside have shown, in sentences; plain text, not Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fairdash.dependence import REGISTRY
from fairdash.evaluation.confirmation import Confirmation
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Point
from fairdash.reports.numbers import number
from fairdash.reports.words import named
from fairdash.training.objectives import OBJECTIVES
from fairdash.utils.text import counted

_NONE: Mapping[str, str] = MappingProxyType({})


def sentences(found: Confirmation, *, times: int, names: Mapping[str, str] = _NONE) -> list[str]:
    """What one opening has shown, what that is worth, and its figures.

    Parameters
    ----------
    times
        How often the rows have been opened by now.
    names
        Sensitive column to its name for people, for those that have one.
    """
    what = f"the {OBJECTIVES[found.objective].audited}"
    columns = " or ".join(names.get(link.column, link.column) for link in found.links)
    link = f"{'a' if found.finds_link else 'no'} link is found between {what} and {columns}"
    where = f"On {counted(found.n, 'row')} set aside from the start, {named(Point(found.method, found.lam))}"
    if found.is_first:
        verdict = "not confirmed" if found.finds_link else "confirmed"
        lines = [f"{where}: {verdict}, {link} (one test, p = {found.p_value:.2g})."]
    else:
        lines = [
            f"{where}: {link} (p = {found.p_value:.2g}). This is no confirmation: it was opening number "
            f"{found.number}, after the rows had been seen for another point."
        ]
    figures = [
        f"{REGISTRY[found.measure].symbol} with {names.get(each.column, each.column)} {number(each.value)} "
        f"(noise floor {number(each.floor)}; independence stays below {number(each.floor_q95)} in 95 % of "
        "cases)"
        for each in found.links
    ]
    figures.append(
        f"error {number(100 * found.error)} % of that of these rows' own average (standard model: "
        f"{number(100 * found.error_of_standard)} %)"
    )
    lines.append(f"There, {'; '.join(figures)}.")
    if not found.finds_link:
        lines.append(
            "No link found does not prove that there is none: one too weak for so many rows to tell may be "
            "left."
        )
    if times > 1:
        lines.append(
            f"These rows have been opened {times} times. Only the first opening is a confirmation; what was "
            "opened later, and any choice made since, had seen them."
        )
    return lines


def all_sentences(openings: Sequence[Confirmation], names: Mapping[str, str] = _NONE) -> list[str]:
    """A paragraph an opening, the first one first; how often they were opened is said once, at the end."""
    paragraphs = [sentences(each, times=1, names=names) for each in openings]
    if len(openings) > 1:
        paragraphs.append(sentences(openings[0], times=len(openings), names=names)[-1:])
    return [" ".join(lines) for lines in paragraphs]


def of_report(comparison: Comparison, openings: Sequence[Confirmation]) -> list[str]:
    """What a report says of the rows set aside; nothing where there are none."""
    aside = comparison.result.set_aside
    if aside is None:
        return []
    if not openings:
        return [not_opened(len(aside.rows))]
    paragraphs = all_sentences(openings, comparison.result.names)
    if not any(_is_of(comparison, each) for each in openings):
        paragraphs.append("The point of this report is not among those that they were opened for.")
    return paragraphs


def not_opened(n: int) -> str:
    """That the rows are still to be opened, and what for."""
    return (
        f"{n:,} rows set aside from the start have had no part in training, test figures or choices, and "
        "have not been opened. A point that was chosen by its test figures looks better on them than it is: "
        "open these rows once, for the point that you mean to use."
    )


def refit_includes(n: int) -> str:
    """That the refit has learned from the rows, too."""
    return (
        f"The model refitted on all rows includes the {n:,} set aside: what they have shown is of models of "
        "all the others."
    )


def _is_of(comparison: Comparison, found: Confirmation) -> bool:
    point = comparison.b
    lam = 0.0 if point.is_standard else point.lam
    return found.is_of(method=point.method, lam=lam, objective=comparison.objective)


def opening_of(comparison: Comparison, openings: Sequence[Confirmation]) -> Confirmation | None:
    """The opening for the point in view; None if there was none."""
    return next((each for each in openings if _is_of(comparison, each)), None)
