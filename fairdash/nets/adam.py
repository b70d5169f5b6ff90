"""Adam for stacks: one fused update over all parameters of all K networks.

torch's own Adam sees a stack as one model. Here each network has its own learning rate and weight
decay, and one that diverges is left at its last finite weights while the others go on. All parameters
lie in one (K, P) buffer, so that a step costs a handful of large operations however many layers
there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

#: How long the moments of a gradient remember, and what keeps a step finite (Kingma and Ba's).
_BETAS, _EPSILON = (0.9, 0.999), 1e-8


class StackedAdam:
    """Adam (Kingma and Ba 2015) over a stack.

    Parameters
    ----------
    parameters
        Parameters with the leading dimension K. Their storage moves into this optimiser's buffer:
        build it after the networks are on their device.
    lr
        Learning rate; a number, or a tensor of shape (K,), one a network.
    weight_decay
        Added to each gradient is this times the weight, as in torch.optim.Adam: an L2 penalty, which
        pulls weights with small gradients hardest; a number or (K,), on the CPU.
    maximize
        Go up the gradient instead of down.
    alive
        (K,) bool, changed in place: set to False for a network whose gradient is not finite at some
        step; it keeps the weights that it had before that step. Optimisers that share this tensor
        stop a network together.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: float | Tensor,
        weight_decay: float | Tensor = 0.0,
        maximize: bool = False,
        alive: Tensor | None = None,
    ) -> None:
        self.parameters = params = list(parameters)
        self.sign = 1.0 if maximize else -1.0
        # (K, P): row k holds every parameter of network k.
        self._weights = torch.cat([p.detach().flatten(1) for p in params], dim=1)
        self._mean = torch.zeros_like(self._weights)
        self._square = torch.zeros_like(self._weights)
        self.steps = 0
        if alive is None:
            alive = torch.ones(len(self._weights), dtype=torch.bool, device=self._weights.device)
        self.alive = alive
        self.lr = self._per_member(lr)
        self.weight_decay = self._per_member(weight_decay)
        # Read where the numbers came from: on the networks' device it would wait for that device.
        self._decays = bool(torch.as_tensor(weight_decay).any())
        start = 0
        for p in params:
            stop = start + p[0].numel()
            p.data = self._weights[:, start:stop].view(p.shape)
            start = stop

    @property
    def weights(self) -> Tensor:
        """All parameters, a row a network, (K, P): the buffer itself, not a copy."""
        return self._weights

    @property
    def buffers(self) -> tuple[Tensor, Tensor, Tensor]:
        """Weights and both moments of their gradients, (K, P) each: with `steps` all that changes here."""
        return self._weights, self._mean, self._square

    def _per_member(self, value: float | Tensor) -> Tensor:
        value = torch.as_tensor(value, dtype=self._weights.dtype, device=self._weights.device)
        return value.expand(self.alive.shape).unsqueeze(1)

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], lr_factor: float = 1.0) -> None:
        """Move every network that is alive along `gradients` (one a parameter, in their order).

        `lr_factor` multiplies every learning rate: a schedule's value at this step.
        """
        mean, square = self._mean, self._square
        grads = torch.cat([gradient.flatten(1) for gradient in gradients], dim=1)
        # A sum is finite only if all its terms are: one pass finds the networks that diverged.
        self.alive &= torch.isfinite(grads.sum(dim=1))
        # On the CPU it costs nothing to ask and spares a pass; elsewhere the host would wait for the device.
        dead = None if self.alive.is_cpu and bool(self.alive.all()) else ~self.alive.unsqueeze(1)
        if dead is not None:
            grads.masked_fill_(dead, 0.0)
        if self._decays:
            grads.addcmul_(self.weight_decay, self._weights)
        self.steps += 1
        beta1, beta2 = _BETAS
        mean.lerp_(grads, 1 - beta1)
        square.mul_(beta2).addcmul_(grads, grads, value=1 - beta2)
        step_size = self.lr * (lr_factor / (1 - beta1**self.steps))
        if dead is not None:
            step_size = step_size.masked_fill(dead, 0.0)
        denominator = square.sqrt().div_((1 - beta2**self.steps) ** 0.5).add_(_EPSILON)
        self._weights.add_(mean.div(denominator).mul_(step_size), alpha=self.sign)
