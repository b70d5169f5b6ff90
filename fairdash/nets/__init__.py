"""Small neural networks, K of them computed as one.

A stack holds K networks of the same shape; its tensors have the leading dimension K, its inputs and outputs
have the shape ``(K, batch, features)``. This package does not depend on fairness or data.
"""

from fairdash.nets.mlp import StackedAdam, StackedMLP
from fairdash.nets.streams import side_by_side

__all__ = ["StackedAdam", "StackedMLP", "side_by_side"]
