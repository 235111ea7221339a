"""Sampling: the no-U-turn sampler and Hamiltonian Monte Carlo, for models and plain functions."""

from probdiff.sampling.chees import ChEES
from probdiff.sampling.draws import Draws
from probdiff.sampling.handle import Run
from probdiff.sampling.hmc import HMC
from probdiff.sampling.nuts import NUTS
from probdiff.sampling.run import resume, sample
from probdiff.sampling.target import Target

__all__ = ["HMC", "NUTS", "ChEES", "Draws", "Run", "Target", "resume", "sample"]
