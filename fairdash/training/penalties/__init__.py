"""Dependence penalties Ψ(U, V), by which the training methods differ."""
