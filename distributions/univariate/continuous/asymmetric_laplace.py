"""Asymmetric Laplace: the difference of two exponential variables of different scales."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import OpenUnit, Positive, Real, real
from probdiff.errors import DataError
from probdiff.tree import Array


class AsymmetricLaplace(Continuous):
    """p(x) = exp(-|x - loc| / side) / (left + right),  side = left below loc and right above.

    loc        real      mode
    scale      positive  left = scale * asymmetry, right = scale / asymmetry; or left_scale and right_scale in place
                         of scale and asymmetry
    asymmetry  positive  or level = P(X <= loc), the level of the quantile regression whose loss is -log p

    Stan's skew_double_exponential(mu, sigma, tau) has left_scale = sigma / (2 - 2 tau), right_scale = sigma / (2 tau).

    Kotz, Kozubowski & Podgórski, The Laplace Distribution and Generalizations (2001), ch. 3.
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    asymmetry: Positive = 1.0

    support = real

    @alternative
    def by_sides(left_scale: Positive, right_scale: Positive) -> dict[str, Any]:
        root = np.sqrt(left_scale)
        return {"scale": root * np.sqrt(right_scale), "asymmetry": root / np.sqrt(right_scale)}

    @alternative
    def by_level(level: OpenUnit) -> dict[str, Any]:
        return {"asymmetry": np.sqrt(level / (1 - level))}

    def logpdf(self, x: Array) -> Array:
        left, right = self.scale * self.asymmetry, self.scale / self.asymmetry
        distance = x - self.loc
        return -abs(distance) / np.where(distance < 0, left, right) - np.log(left + right)

    def logcdf(self, x: Array) -> Array:
        return log_tail(self.loc - x, self.scale * self.asymmetry, self.scale / self.asymmetry)

    def logccdf(self, x: Array) -> Array:
        return log_tail(x - self.loc, self.scale / self.asymmetry, self.scale * self.asymmetry)

    def quantile(self, p: Array) -> Array:
        return self.loc - distance_beyond(p, self.scale * self.asymmetry, self.scale / self.asymmetry)

    def cquantile(self, p: Array) -> Array:
        return self.loc + distance_beyond(p, self.scale / self.asymmetry, self.scale * self.asymmetry)

    def mean(self) -> Array:
        return self.loc + self.scale * (1 / self.asymmetry - self.asymmetry)

    def var(self) -> Array:
        return self.scale**2 * (self.asymmetry**2 + self.asymmetry**-2)

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        k = self.asymmetry
        return 2 * (k**-3 - k**3) / (k**2 + k**-2) ** 1.5

    def kurtosis(self) -> Array:
        k = self.asymmetry
        return 6 * (k**4 + k**-4) / (k**2 + k**-2) ** 2

    def entropy(self) -> Array:
        return 1 + np.log(self.scale * (self.asymmetry + 1 / self.asymmetry))

    def kinks(self) -> tuple[Array, ...]:
        return (self.loc,)

    def mgf(self, t: Array) -> Array:
        left, right = self.scale * self.asymmetry, self.scale / self.asymmetry
        inside = (t * right < 1) & (t * left > -1)
        return np.where(inside, np.exp(t * self.loc) / ((1 - t * right) * (1 + t * left)), np.inf)

    def cf(self, t: Array) -> Array:
        left, right = self.scale * self.asymmetry, self.scale / self.asymmetry
        return np.exp(1j * t * self.loc) / ((1 - 1j * t * right) * (1 + 1j * t * left))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        left, right = self.scale * self.asymmetry, self.scale / self.asymmetry
        return self.loc + right * rng.standard_exponential(shape) - left * rng.standard_exponential(shape)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        # Given loc, with mean distances a above and b below it, the best sides are sqrt(a) t and sqrt(b) t, where
        # t = sqrt(a) + sqrt(b), and the log-likelihood is -2 log t - 1. It is largest at an observation.
        order = np.argsort(x)
        x, w = x[order], w[order]
        distance = x - np.sum(w * x)
        mass, moment = np.cumsum(w), np.cumsum(w * distance)
        below = np.maximum(distance * mass - moment, 0.0)
        above = np.maximum(below - distance, 0.0)
        root_above, root_below = np.sqrt(above), np.sqrt(below)
        k = np.argmin(root_above + root_below)
        t = root_above[k] + root_below[k]
        if min(root_above[k], root_below[k]) == 0:
            raise DataError(f"{cls.__name__}.fit found no maximum: one side of {float(x[k])!r} has no observations.")
        return cls(x[k], left_scale=root_below[k] * t, right_scale=root_above[k] * t)


def log_tail(t: Array, near: Array, far: Array) -> Array:
    """log of the probability beyond distance t on the side with scale `near`; t < 0 is on the other side."""
    total = near + far
    rest = far / total * np.exp(t / far)
    direct = np.log((near - far * np.expm1(t / far)) / total)
    return np.where(t > 0, np.log(near / total) - t / near, np.where(rest < 0.5, np.log1p(-rest), direct))


def distance_beyond(p: Array, near: Array, far: Array) -> Array:
    """The inverse of `log_tail`: the t with probability p beyond it."""
    total = near + far
    outside = -near * np.log(p * (total / near))
    return np.where(p * total < near, outside, far * np.log((1 - p) * (total / far)))


@closed_form(AsymmetricLaplace, AsymmetricLaplace)
def _divergence(p: AsymmetricLaplace, q: AsymmetricLaplace) -> Array:
    left, right = p.scale * p.asymmetry, p.scale / p.asymmetry
    step = q.loc - p.loc
    # The mean distances above and below q.loc; their difference is that of the means.
    beyond = np.where(step > 0, right**2 * np.exp(-abs(step) / right), left**2 * np.exp(-abs(step) / left))
    beyond = beyond / (left + right)
    excess = right - left - step
    above, below = np.where(step > 0, beyond, beyond + excess), np.where(step > 0, beyond - excess, beyond)
    totals = q.scale * (q.asymmetry + 1 / q.asymmetry) / (left + right)
    return np.log(totals) - 1 + above * q.asymmetry / q.scale + below / (q.asymmetry * q.scale)
