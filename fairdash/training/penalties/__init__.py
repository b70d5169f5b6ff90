"""Dependence penalties Ψ(U, V): the parts that make one training loop into many methods."""
