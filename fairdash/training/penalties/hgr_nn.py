"""Neural HGR as a penalty (supplement, Algorithm “Fair HGR NN”)."""

from __future__ import annotations

from collections.abc import Sequence

from fairdash.dependence.hgr_network import HGRNetwork
from fairdash.training.settings import TrainingSettings


class HGRPenalty(HGRNetwork):
    """Ψ = J(θ_f, θ_g): the batch correlation of the adversary's standardised f(U) and g(S)."""

    def __init__(self, *, seeds: Sequence[int], n_sensitive: int, settings: TrainingSettings) -> None:
        super().__init__(hidden=settings.adversary_hidden, seeds=seeds, n_sensitive=n_sensitive)
