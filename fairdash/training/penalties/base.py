"""What most penalties share: standardised sensitive features, and no adversary of their own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fairdash.training.settings import TrainingSettings


class BasePenalty(nn.Module):
    """A closed-form penalty: its class has to say only ``forward(u, v, sample_weight)``."""

    climbs_itself = True

    def __init__(
        self,
        *,
        seeds: Sequence[int],  # noqa: ARG002 every penalty is built alike
        s: Tensor,  # noqa: ARG002
        which_split: Tensor,  # noqa: ARG002
        settings: TrainingSettings,  # noqa: ARG002
    ) -> None:
        super().__init__()

    @staticmethod
    def encode(s: Tensor, train: Sequence[Tensor], weight: Tensor | None = None) -> Tensor:
        """Every column with mean 0 and standard deviation 1 on the training rows; a constant one is 0."""
        encoded = []
        for j, (rows, chosen) in enumerate(zip(s, train, strict=True)):
            learned = rows[chosen]
            mass = torch.ones_like(learned[:, :1]) if weight is None else weight[j, chosen].to(s)
            share = mass / mass.sum()
            mean = (share * learned).sum(dim=0)
            spread = (share * (learned - mean) ** 2).sum(dim=0).sqrt()
            # What rounding leaves of a constant column must not be blown up to a spread of 1.
            varies = (learned != learned[:1]).any(dim=0)
            encoded.append(torch.where(varies, (rows - mean) / torch.where(varies, spread, 1.0), 0.0))
        return torch.stack(encoded)

    @staticmethod
    def floats_a_row(settings: TrainingSettings) -> float:  # noqa: ARG004 closed forms have no networks
        """Numbers that live at once for each row of a mini-batch, about."""
        return 16.0

    def adversary_objective(self, u: Tensor, v: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Ψ itself."""
        psi: Tensor = self(u, v, sample_weight)
        return psi
