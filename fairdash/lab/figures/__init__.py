"""Figures of the simulation studies, the paper and the lesson."""
