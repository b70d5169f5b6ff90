"""The registry of architectures: what stands between a predictor's layers, and what it sees of a number.

It decides nothing else: penalties, λ, schedule and the number of units are settings of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One kind of predictor.

    Parameters
    ----------
    id
        Name in the API.
    title
        Name for people.
    meaning
        One plain sentence.
    activation
        Id in :data:`fairdash.nets.mlp.ACTIVATIONS`.
    embedding
        Id in :data:`fairdash.training.embeddings.EMBEDDINGS` of what is seen of each number beside its
        standardised value; None for nothing.
    source
        Where it comes from.
    """

    id: str
    title: str
    meaning: str
    activation: str
    embedding: str | None
    source: str


ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        architecture.id: architecture
        for architecture in (
            Architecture(
                id="tanh",
                title="tanh on numbers",
                meaning="Sees each number as it is: the networks of the paper.",
                activation="tanh",
                embedding=None,
                source="Grari et al., supplement",
            ),
            Architecture(
                id="scores",
                title="ReLU on numbers and their ranks",
                meaning="Sees each number twice, as it is and as the normal score of its rank, which neither "
                "skew nor outliers touch.",
                activation="relu",
                embedding="scores",
                source="fairdash; after Gorishniy et al. 2022, “On embeddings for numerical features in "
                "tabular deep learning”",
            ),
            Architecture(
                id="bins",
                title="ReLU on a piecewise-linear encoding",
                meaning="Sees each number as it is and through eight functions, each rising in one eighth of "
                "the rows.",
                activation="relu",
                embedding="bins",
                source="Gorishniy et al. 2022",
            ),
        )
    }
)
