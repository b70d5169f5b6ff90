"""Penalties Ψ(U, V) for dependence between U and V, one per training method."""
