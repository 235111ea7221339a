"""Double crystal ball: a normal peak with a power law on either side."""

from __future__ import annotations

from probdiff.distributions.peak_sides import AboveOne, PeakOfSides, PowerSide
from probdiff.distributions.support import Positive, Real
from probdiff.tree import Array


class DoubleCrystalBall(PeakOfSides):
    """p(x) ∝ exp(-t² / 2) for t < alpha, else exp(-alpha² / 2) (1 + alpha (t - alpha) / n)^-n,  t = |x - loc| / scale.

    loc          real            mode
    scale        positive
    lower_alpha  positive        where the power law below loc begins, in scales
    lower_n      greater than 1  its power
    upper_alpha  positive        where that above begins
    upper_n      greater than 1  its power

    Moments of order min(lower_n, upper_n) - 1 and above are infinite. Das, A simple alternative to the Crystal Ball
    function, arXiv:1603.08591 (2016), compares it.
    """

    loc: Real
    scale: Positive
    lower_alpha: Positive
    lower_n: AboveOne
    upper_alpha: Positive
    upper_n: AboveOne

    tail_rates = (0.0, 0.0)

    def kinks(self) -> tuple[Array, ...]:
        return (self.loc - self.scale * self.lower_alpha, self.loc + self.scale * self.upper_alpha)

    def _sides(self) -> tuple[PowerSide, PowerSide]:
        return PowerSide(self.lower_alpha, self.lower_n), PowerSide(self.upper_alpha, self.upper_n)
