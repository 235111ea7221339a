"""Models: joint distributions of parameters, posteriors given data, bare log-densities, and a zoo of models."""

from probdiff.models.joint import Joint
from probdiff.models.log_density import LogDensity
from probdiff.models.posterior import Posterior
from probdiff.models.variables import factor

__all__ = ["Joint", "LogDensity", "Posterior", "factor"]
