"""Approximations of posteriors: their modes, Gaussians at modes, and Gaussians along the way to them."""

from probdiff.approximate.gaussian import Laplace, laplace
from probdiff.approximate.optimum import Optimum, optimize
from probdiff.approximate.paths import Pathfinder, pathfinder

__all__ = ["Laplace", "Optimum", "Pathfinder", "laplace", "optimize", "pathfinder"]
