"""Crystal ball: a normal peak whose lower side turns into a power law, a mass with losses of energy."""

from __future__ import annotations

import math

from probdiff.distributions.peak_sides import AboveOne, NormalSide, PeakOfSides, PowerSide
from probdiff.distributions.support import Positive, Real
from probdiff.tree import Array


class CrystalBall(PeakOfSides):
    """p(x) ∝ exp(-z² / 2) for z > -alpha, else exp(-alpha² / 2) (1 - alpha (z + alpha) / n)^-n,  z = (x - loc) / scale.

    loc    real            mode
    scale  positive
    alpha  positive        where the power law begins, in scales below loc
    n      greater than 1  its power; moments of order n - 1 and above are infinite

    A power law on the upper side is `negated` of it. J. E. Gaiser, Charmonium Spectroscopy from Radiative Decays of the
    J/ψ and ψ' (SLAC-R-255, 1982), app. F.
    """

    loc: Real
    scale: Positive
    alpha: Positive
    n: AboveOne

    tail_rates = (0.0, math.inf)

    def kinks(self) -> tuple[Array, ...]:
        return (self.loc - self.scale * self.alpha,)

    def _sides(self) -> tuple[PowerSide, NormalSide]:
        return PowerSide(self.alpha, self.n), NormalSide()
