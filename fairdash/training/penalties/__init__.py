"""Dependence penalties Ψ(U, V), which distinguish the training methods."""
