"""Generalised inverse Gaussian: positive variables whose logs have exponential powers of both signs for tails."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.gig_integrals import center, draw_log, height, log_bessel, log_mass, log_part
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import Positive, Real, positive
from probdiff.special import log1mexp
from probdiff.tree import Array


class GeneralizedInverseGaussian(Continuous):
    """p(x) = z^(order - 1) exp(-concentration (z + 1 / z) / 2) / (2 scale K_order(concentration)),  z = x / scale > 0.

    order          real      -1/2 is the inverse Gaussian law
    concentration  positive
    scale          positive  or chi and psi in place of both, x^(order - 1) exp(-(chi / x + psi x) / 2)

    Jørgensen, Statistical Properties of the Generalized Inverse Gaussian Distribution (1982). K is an integral over the
    log of the variable, and so are the tails.
    """

    order: Real
    concentration: Positive
    scale: Positive = 1.0

    support = positive

    @alternative
    def by_rates(chi: Positive, psi: Positive) -> dict[str, Any]:
        return {"concentration": np.sqrt(chi) * np.sqrt(psi), "scale": np.sqrt(chi / psi)}

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, 0.5 * self.concentration / self.scale

    def logpdf(self, x: Array) -> Array:
        p, b, m = self._centred()
        return height(self._log(x) - m, p, b, m) - log_mass(p, b, m) - np.log(x)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def _tails(self, x: Array) -> tuple[Array, Array]:
        """Logs of both tails; that on whose side of the maximum (over logs) x lies is integrated."""
        p, b, m = self._centred()
        v = self._log(x) - m
        below = v < 0
        tail = log_part(v, np.where(below, -1.0, 1.0), p, b, m) - log_mass(p, b, m)
        rest = log1mexp(np.minimum(tail, 0.0))
        return np.where(below, tail, rest), np.where(below, rest, tail)

    def mean(self) -> Array:
        p, b = self.order, self.concentration
        return self.scale * np.exp(log_bessel(p + 1, b) - log_bessel(p, b))

    def mode(self) -> Array:
        p, b = self.order - 1, self.concentration
        root = np.sqrt(p * p + b * b)
        return self.scale * np.where(p > 0, (p + root) / b, b / (root - p))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.exp(self.log_draw(shape, rng))

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.log(self.scale) + draw_log(self.order, self.concentration, shape, rng)

    def _log(self, x: Array) -> Array:
        return np.log(x) - np.log(self.scale)

    def _centred(self) -> tuple[Array, Array, Array]:
        return self.order, self.concentration, center(self.order, self.concentration)
