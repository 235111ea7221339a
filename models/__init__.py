"""Models: joint distributions of parameters, posteriors given data, and a zoo of ready-made ones."""

from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior

__all__ = ["Joint", "Posterior"]
