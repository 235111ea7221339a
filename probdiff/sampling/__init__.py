"""Sampling: the no-U-turn sampler and Hamiltonian Monte Carlo, for models and plain functions."""

from probdiff.sampling.draws import Draws
from probdiff.sampling.hmc import HMC
from probdiff.sampling.nuts import NUTS
from probdiff.sampling.run import sample
from probdiff.sampling.target import Target

__all__ = ["HMC", "NUTS", "Draws", "Target", "sample"]
