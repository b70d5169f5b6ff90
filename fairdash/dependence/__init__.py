"""Measures of dependence between two variables; a measure takes two arrays and returns one number.

Importing this package loads numpy only; torch, scipy and scikit-learn are loaded when a measure first needs
them.
"""

from fairdash.dependence import exact
from fairdash.dependence.api import LearnedFunctions, learned_functions, measure, measure_many
from fairdash.dependence.fairquant import FairQuant, fairquant, quantile_groups
from fairdash.dependence.inference import (
    DependenceEstimate,
    IndependenceFloor,
    assess_dependence,
    independence_floor,
)
from fairdash.dependence.measure import Measure
from fairdash.dependence.omnibus import IndependenceTest, independence_test
from fairdash.dependence.registry import REGISTRY

__all__ = [
    "REGISTRY",
    "DependenceEstimate",
    "FairQuant",
    "IndependenceFloor",
    "IndependenceTest",
    "LearnedFunctions",
    "Measure",
    "assess_dependence",
    "exact",
    "fairquant",
    "independence_floor",
    "independence_test",
    "learned_functions",
    "measure",
    "measure_many",
    "quantile_groups",
]
