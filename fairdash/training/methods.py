"""The registry of training methods: each is the one loop with another penalty handed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairdash.training.penalties import Penalty


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to train a regressor.

    Parameters
    ----------
    id
        Name in the API.
    title
        Name for people.
    meaning
        One plain sentence.
    penalty
        ``"module:class"`` of the dependence penalty Ψ, imported when used; None for no penalty.
    source
        Where the method was published.
    """

    id: str
    title: str
    meaning: str
    penalty: str | None
    source: str

    def build_penalty(self, **options: Any) -> Penalty | None:
        """The penalty for one stack (see :mod:`fairdash.training.penalties`); None for no penalty."""
        if self.penalty is None:
            return None
        module, name = self.penalty.split(":")
        penalty: Penalty = getattr(import_module(module), name)(**options)
        return penalty


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.id: method
        for method in (
            Method(
                id="standard",
                title="Standard network",
                meaning="Fits the target as well as it can and takes no account of the sensitive attribute.",
                penalty=None,
                source="Grari et al., baseline “Standard NN”",
            ),
            Method(
                id="hgr_nn",
                title="Fair HGR network",
                meaning="Learns to leave an adversary no link to the sensitive attribute that it could find.",
                penalty="fairdash.training.penalties.hgr_nn:HGRPenalty",
                source="Grari et al., supplement, Algorithm “Fair HGR NN”",
            ),
        )
    }
)
