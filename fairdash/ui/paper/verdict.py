"""Do the paper's values hold up? Ours counted beside them, where the data are comparable; and titles."""

from __future__ import annotations

from fairdash.data.catalogue import CATALOGUE
from fairdash.dependence import REGISTRY
from fairdash.reports.paper.results import METHODS, STANDS_FOR, StudyResult, committed, read_result
from fairdash.reports.paper.table1 import (
    Count,
    Equivalence,
    constant_error,
    count,
    equivalence,
    why_not_comparable,
)
from fairdash.training.methods import METHODS as ALL_METHODS
from fairdash.training.objectives import OBJECTIVES as ALL_OBJECTIVES


def _counts(result: StudyResult, name: str) -> tuple[Count, Count, Equivalence]:
    """How a result's fairness values stand beside those of the paper's Fair HGR NN.

    At or below at an error that is so too in units of the standardised target, as the paper has it; the same
    with our error as a share of a constant prediction's on the same test rows; by equivalence.
    """
    dataset = dataset_of(name)
    strict = count(result, dataset)
    return strict, count(result, dataset, as_share=True), equivalence(result, dataset, strict)


def in_short() -> str:
    """The counts of all data sets that are comparable, and which are not."""
    found, left_out = {}, {}
    for name in names():
        result = read_result(f"table1_{name}")
        reason = why_not_comparable(result, dataset_of(name))
        if reason is None:
            found[name] = _counts(result, name)
        else:
            left_out[name] = reason
    both = [each for strict, share, _ in found.values() for each in (strict, share)]
    reached, total = [each.reached for each in both], [each.total for each in both]
    verdict = "Yes" if reached == total else "In part" if any(reached) else "No"
    parts = [
        f"{title_of(name)} {strict.reached} of {strict.total} with the error in standardised units, "
        f"{share.reached} of {share.total} with it as a share of a constant prediction's. {equal.words}"
        for name, (strict, share, equal) in found.items()
    ]
    text = (
        f"**{verdict}.** Fairness values of ours that are at or below those of the paper's Fair HGR NN, at "
        f"its error or lower and scored as the paper did: {' '.join(parts)}"
    )
    if left_out:
        text += f" Not comparable, and not counted: {', '.join(map(title_of, left_out))}."
    return text


def answer(name: str) -> str:
    """The count for one data set as a sentence, or why there is none."""
    result = read_result(f"table1_{name}")
    stand_in = f" (in the place of the paper's {STANDS_FOR[name]} data)" if name in STANDS_FOR else ""
    reason = why_not_comparable(result, dataset_of(name))
    if reason is not None:
        return f"**{title_of(name)}{stand_in}: not comparable, and not counted**, since {reason}."
    strict, share, equal = _counts(result, name)
    chosen = " and ".join(
        f"{method_title(method)} for {ALL_OBJECTIVES[objective].title.lower()}"
        for objective, method in strict.chosen.items()
    )
    constant = constant_error(result)
    harder = "harder" if constant > 1 else "easier"
    return (
        f"**{title_of(name)}{stand_in}: {strict.reached} of {strict.total} fairness values are at or below "
        "those of the paper's Fair HGR NN**, scored as the paper did, at an error that is at or below the "
        f"paper's too. Method and λ were chosen by cross-validation within the training rows: {chosen}. The "
        f"test rows of these {equal.n_splits} splits are {harder} than the training rows: a "
        f"constant prediction, whose error is 1 there, has {constant:.3f} here. **With our errors as shares "
        f"of that, {share.reached} of {share.total} values count**; this second count was added after the "
        f"first had been seen. {equal.words}"
    )


def names() -> list[str]:
    """Data sets whose Table 1 has been made, the paper's order first."""
    made = [study.removeprefix("table1_") for study in committed("table1_")]
    order = ["crime", "motor", "motor_all", "census", "census_county"]
    return sorted(made, key=order.index)


def dataset_of(name: str) -> str:
    """Id of the data set behind a result's name."""
    return name.removesuffix("_all")


def title_of(name: str) -> str:
    title = CATALOGUE[dataset_of(name)].title
    return f"{title}, all policies" if name.endswith("_all") else title


def method_title(method: str) -> str:
    own = "" if method in METHODS else " (ours)"
    return ALL_METHODS[method].title + {"chi2_kde": " (Mary2019)"}.get(method, own)


def column_title(measure: str) -> str:
    return "MSE" if measure == "mse" else REGISTRY[measure].symbol
