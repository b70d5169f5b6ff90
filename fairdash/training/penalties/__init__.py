"""Penalties Ψ(U, V) on dependence, one per training method."""
