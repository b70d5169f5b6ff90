"""The scenes of the lesson: a question each, a guess before the answer, and what a lecturer may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class LessonScene:
    """One scene: one screen, one question.

    Parameters
    ----------
    title
        What the control calls it.
    question
        The page's heading.
    guesses
        What a student may answer before anything is said.
    right
        Which of them is right.
    notes
        For the lecturer, a line each.
    """

    title: str
    question: str
    guesses: tuple[str, ...]
    right: str
    notes: tuple[str, ...]


#: Number in the address to scene.
SCENES: Mapping[str, LessonScene] = MappingProxyType(
    {
        "1": LessonScene(
            title="1 Zero correlation",
            question="Can a price ignore age by correlation, and still follow it?",
            guesses=("No: 0 is 0", "Only a little", "Yes, almost wholly"),
            right="Yes, almost wholly",
            notes=(
                "Let everyone guess before the dials show. Most say that no correlation is no link.",
                "Lift the point on the left end: Pearson moves, HGR hardly does. Ask for a curve with a "
                "correlation of 0 that is not symmetric.",
                "Then ask for HGR 0: only a level line gives it. That is what demographic parity asks for.",
                "Both dials are exact values of the law, by quadrature; the dots are some rows of it.",
            ),
        ),
        "2": LessonScene(
            title="2 Straighten the cloud",
            question="Which two functions turn this cloud into a line?",
            guesses=("None: it is a hump", "f alone, of age", "f of age and g of the price"),
            right="f of age and g of the price",
            notes=(
                "Play it once without a word, then again, asking what happens to the left half of the cloud.",
                "f folds the ages: young and old come to lie on one side, the middle on the other. g only "
                "stretches the prices a little.",
                "The slope of standardised values is a correlation; the largest of any f and g is HGR.",
                "With “points” in the address it is the curve of scene 1; without, the hump.",
            ),
        ),
        "3": LessonScene(
            title="3 Learning noise by heart",
            question="An adversary reads .7: is that a lot?",
            guesses=("Yes, a strong link", "It depends on rows and steps", "No, it is always that"),
            right="It depends on rows and steps",
            notes=(
                "There is no link in these rows. Say so only after the guess.",
                "Go from 2,000 rows to 50: on its own rows the adversary reads more and more, on new rows "
                "nothing above 0.",
                "The grey band is what it reads on the same rows shuffled, where there can be no link: a "
                "value says something only above it. Published tables mostly print the blue line.",
                "Every point is a training of its own with that many steps: fd.measure, evaluated in-sample "
                "and cross-fitted.",
            ),
        ),
        "4": LessonScene(
            title="4 The duel",
            question="How does a predictor become fair?",
            guesses=("It forgets age", "An adversary hunts it", "It adds noise"),
            right="An adversary hunts it",
            notes=(
                "Step through it: the error falls, and whenever prices begin to follow age, g is there: "
                "the adversary hunts.",
                "Freeze the adversary: what it reads falls far below 0, and HGR read afresh rises to "
                "nearly 1. A reading is worth as much as the adversary behind it.",
                "The loop of the paper's Fig. 3 on 1,000 household policies, λ = 4, the adversary taking "
                "five steps for one of the predictor. Read afresh: HGR_spline, as everywhere in fairdash.",
            ),
        ),
        "5": LessonScene(
            title="5 Who pays?",
            question="What does fairness cost, and who pays?",
            guesses=("Everyone a little", "The young pay more, the middle less", "The old pay more"),
            right="The young pay more, the middle less",
            notes=(
                "Household prices of the paper's scenario rise to the age of 40 and fall again.",
                "Equal prices move errors between the ages; equal errors let the hump stand. Both are called "
                "fair.",
                "On the front, left of the grey edge no link can be detected: more λ costs error and buys "
                "nothing that could be shown.",
                "The run of the trade-off page: 5,000 policies, means over the test rows of five splits. "
                "Bars on the front: a standard error to each side.",
            ),
        ),
    }
)
