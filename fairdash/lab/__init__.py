"""Simulation studies: estimators on distributions whose exact dependence is known.

A study is a generator that yields its progress and the tables that it has computed so far. Pages run studies
in a separate process (:mod:`fairdash.lab.studies`). The command line and benchmarks may call the generators
directly.
"""

from fairdash.lab.estimates import Progress, scene_estimates, scene_study
from fairdash.lab.scene import SCENES, SHAPES, Example, Scene
from fairdash.lab.studies import FIG2_NOISES, gaussian_study, noise_axis_study, power_study
from fairdash.lab.truth import Truth, truth_of

__all__ = [
    "FIG2_NOISES",
    "SCENES",
    "SHAPES",
    "Example",
    "Progress",
    "Scene",
    "Truth",
    "gaussian_study",
    "noise_axis_study",
    "power_study",
    "scene_estimates",
    "scene_study",
    "truth_of",
]
