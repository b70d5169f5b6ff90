"""Small neural networks, K of them computed as one.

A stack holds K networks of the same shape; its tensors have the leading dimension K, its inputs and
outputs the shape ``(K, batch, features)``. This room knows nothing of fairness or of data.
"""

from fairdash.nets.mlp import StackedAdam, StackedMLP

__all__ = ["StackedAdam", "StackedMLP"]
