"""Stable: sums of heavy-tailed variables, the limits there are besides the normal one."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from scipy.special import expit, log_expit

from probdiff.distributions.base import Continuous
from probdiff.distributions.heavy_tails import tabled_guess
from probdiff.distributions.log_sums import log_integral, smaller_first
from probdiff.distributions.stable import log1mexpexp
from probdiff.distributions.support import Interval, Positive, Real, real
from probdiff.tree import Array

__all__ = ["Stable", "stable_s1"]

LOG_PI = math.log(math.pi)
NEAREST = 1e-200  # to the point where the integrals end


class Stable(Continuous):
    """log E[exp(i t Z)] = -|t|^alpha (1 + i beta tan(π alpha / 2) sign(t) (|t|^(1 - alpha) - 1)),
    Z = (X - loc) / scale; for alpha = 1 the limit, -|t| (1 + i beta 2 / π sign(t) log |t|).

    alpha  in (0, 2]   index: the tails fall like |x|^-alpha; 2 is Normal(loc, sqrt(2) scale)
    beta   in [-1, 1]  skewness; 0 is symmetric
    loc    real        Nolan's S0, which is continuous in alpha; see `stable_s1` for the other
    scale  positive

    By Zolotarev's integrals of positive terms. Next to alpha = 1, but not at it, a relative error of eps / |alpha - 1|
    is left; at it, alpha counts as held: the derivative is zero. For alpha < 1 and beta = ±1 all values are on one side
    of loc - beta tan(π alpha / 2) scale. Nolan, Numerical calculation of stable densities and distribution
    functions, Stochastic Models 13 (1997); Chambers, Mallows & Stuck, JASA 71 (1976), for draws.
    """

    alpha: Annotated[Any, Interval("index", "in (0, 2]", 0.0, 2.0, False, True)]
    beta: Annotated[Any, Interval("skewness", "in [-1, 1]", -1.0, 1.0, True, True)] = 0.0
    loc: Real = 0.0
    scale: Positive = 1.0

    support = real
    costly = True

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return (
            np.where((self.alpha == 2) | (self.beta == 1), np.inf, 0.0),
            np.where((self.alpha == 2) | (self.beta == -1), np.inf, 0.0),
        )

    def logpdf(self, x: Array) -> Array:
        z, a, b, _ = self._side(x)
        inside = log_integral(density_height, z, a, b, knees=bend)
        general = np.log(a / abs(a - 1)) - log_distance(z, a, b) - LOG_PI + inside
        at_one = inside - np.log(2 * abs(b))
        cauchy = -LOG_PI - np.log1p(z * z)
        side = np.where(a == 1, np.where(b == 0, cauchy, at_one), general)
        return np.where((a < 1) & (b == -1), -math.inf, side) - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        inner, outer, right = self._tails(x)
        return np.where(right, inner, outer)

    def logccdf(self, x: Array) -> Array:
        inner, outer, right = self._tails(x)
        return np.where(right, outer, inner)

    def guess(self, lower: Array, lp: Array) -> Array | None:
        return tabled_guess(self, lower, lp)

    def mean(self) -> Array:
        finite = self.loc - self.scale * self.beta * np.tan(0.5 * math.pi * self.alpha)
        return np.where(self.alpha > 1, finite, math.nan)

    def var(self) -> Array:
        return np.where(self.alpha == 2, 2 * self.scale**2, math.inf)

    def skewness(self) -> Array:
        return np.where(self.alpha == 2, 0.0, math.nan)

    def kurtosis(self) -> Array:
        return np.where(self.alpha == 2, 0.0, math.nan)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        a, b = np.where(self.alpha == 1, 2.0, self.alpha), self.beta
        theta = math.pi * (np.maximum(rng.random(shape), 2.0**-54) - 0.5)
        w = rng.standard_exponential(shape)
        tangent = b * np.tan(0.5 * math.pi * a)
        turned = a * theta + np.arctan(tangent)
        ratio = np.cos(turned - theta) / w
        power = (
            np.sin(turned) / np.cos(theta) * (ratio / np.cos(theta)) ** (1 / a - 1) * np.hypot(1, tangent) ** (1 / a)
        )
        p = 0.5 * math.pi + b * theta
        at_one = 2 / math.pi * (p * np.tan(theta) - b * np.log(0.5 * math.pi * w * np.cos(theta) / p))
        return self.loc + self.scale * np.where(self.alpha == 1, at_one, power - tangent)

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        return {"alpha": 1.6, "beta": 0.0}

    def _side(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """z, alpha and beta, mirrored to the right of where the integrals end, and whether it was there."""
        a, b, z = self.alpha, self.beta, (x - self.loc) / self.scale
        cosine, sine, *_ = geometry(a, b)
        right = np.where(a == 1, b > 0, z * cosine + sine >= 0)
        return np.where(right, z, -z), a + 0 * z, np.where(right, b, -b), right

    def _tails(self, x: Array) -> tuple[Array, Array, Array]:
        """Logs of the probabilities on this side of x and beyond it, seen from where the integrals end."""
        z, a, b, right = self._side(x)
        opposite = geometry(a, b)[4]
        one, other = (log_integral(h, z, a, b, knees=bend) - LOG_PI for h in (tail_height, rest_height))
        beyond, short = np.where(a > 1, one, other), np.where(a > 1, other, one)
        whole = (a == 1) | ((a < 1) & (b == 1))  # nothing is on the other side
        inner = np.where(whole, short, np.logaddexp(short, np.log(opposite) - LOG_PI))
        cauchy = (a == 1) & (b == 0)
        outside = np.log(np.arctan2(1.0, z)) - LOG_PI
        inside = np.log(np.arctan2(1.0, -z)) - LOG_PI
        empty = (a < 1) & (b == -1)
        inner = np.where(empty, 0.0, np.where(cauchy, inside, inner))
        beyond = np.where(empty, -math.inf, np.where(cauchy, outside, beyond))
        return smaller_first(inner, beyond), smaller_first(beyond, inner), right


def stable_s1(alpha: Any, beta: Any = 0.0, loc: Any = 0.0, scale: Any = 1.0) -> Stable:
    """Stable in the parametrisation S1, SciPy's default: log E[exp(i t X)] = i loc t - |scale t|^alpha
    (1 - i beta tan(π alpha / 2) sign(t)), and i loc t - |scale t| (1 + i beta 2 / π sign(t) log |t|) for alpha = 1.

    Its loc is the mean for alpha > 1; at alpha = 1 the law is not continuous in alpha.
    """
    ordinary = np.tan(0.5 * math.pi * np.where(alpha == 1, 0.5, alpha))
    moved = beta * scale * np.where(alpha == 1, 2 / math.pi * np.log(scale), ordinary)
    return Stable(alpha, beta, loc + moved, scale)


def geometry(a: Array, b: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Cosine and sine of alpha θ0, where tan(alpha θ0) = beta tan(π alpha / 2); the length π / 2 + θ0 of the integral;
    π less alpha times it; and the length on the other side. The angles have their digits where they vanish.
    """
    above, off = a > 1, 0.5 * math.pi * (1 - a)
    c, s = abs(np.sin(off)), np.where(above, np.sin(0.5 * math.pi * (2 - a)), np.sin(0.5 * math.pi * a))
    size = np.hypot(c, b * s)
    same, opposed = (np.arctan2((1 + r) * s * c, c * c - r * s * s) for r in (b, -b))
    length = np.where(above, math.pi - same, same) / a
    opposite = np.where(above, math.pi - opposed, opposed) / a
    return c / size, np.where(above, -b, b) * s / size, length, np.where(above, same, math.pi - same), opposite


def log_distance(z: Array, a: Array, b: Array) -> Array:
    """log of z + tan(alpha θ0), from where the integral ends."""
    cosine, sine, *_ = geometry(a, b)
    return np.log(np.maximum(z * cosine + sine, NEAREST)) - np.log(cosine)


def log_g(u: Array, z: Array, a: Array, b: Array) -> Array:
    """The log of g, monotone in θ: g = (z - ζ)^(alpha / (alpha - 1)) V(θ) in Nolan's notation, by sines of s = θ0 + θ
    and t = π / 2 - θ; of alpha = 1, exp(-π z / (2 beta)) V(θ).
    """
    cosine, sine, length, gap, opposite = geometry(a, b)
    s, t = length * expit(u), length * expit(-u)
    log_sin_t = np.log(sin_of(t, opposite + s))
    log_sin_s = np.log(sin_of(a * s, gap + a * t))
    log_sum = np.log(sin_of(a * s + t, np.where(a > 1, gap + (a - 1) * t, opposite + (1 - a) * s)))
    log_x = np.log(np.maximum(z * cosine + sine, NEAREST))
    general = a / (a - 1) * (log_x + log_sin_t - log_sin_s) - np.log(cosine) + log_sum - log_sin_t
    return np.where(a == 1, log_g_at_one(u, z, b), general)


def log_g_at_one(u: Array, z: Array, b: Array) -> Array:
    s, t = math.pi * expit(u), math.pi * expit(-u)
    small = np.minimum(s, t)
    p = 0.5 * math.pi * (1 - b) + b * s
    tangent = np.where(s < t, -1.0, 1.0) * np.cos(small) / np.sin(small)
    return (p * tangent - 0.5 * math.pi * z) / b + np.log(2 / math.pi * p) - np.log(np.sin(small))


def sin_of(angle: Array, rest: Array) -> Array:
    """The sine, from the angle or from π less it."""
    return np.sin(np.where(angle < 0.5 * math.pi, angle, rest))


def log_step(u: Array, a: Array, b: Array) -> Array:
    """log of dθ / du."""
    length = np.where(a == 1, math.pi, geometry(a, b)[2])
    return np.log(length) + log_expit(u) + log_expit(-u)


def density_height(u: Array, z: Array, a: Array, b: Array) -> Array:
    v = log_g(u, z, a, b)
    return v - np.exp(v) + log_step(u, a, b)


def tail_height(u: Array, z: Array, a: Array, b: Array) -> Array:
    return -np.exp(log_g(u, z, a, b)) + log_step(u, a, b)


def rest_height(u: Array, z: Array, a: Array, b: Array) -> Array:
    return log1mexpexp(log_g(u, z, a, b)) + log_step(u, a, b)


def bend(z: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Where g is e more than at its least, past the fall of exp(-g), and over what width; of plain numbers."""
    rising = np.where(a > 1, -1.0, 1.0)
    level = np.log(math.e + np.exp(log_g(-700 * rising, z, a, b)))
    low, high = np.full(z.shape, -740.0), np.full(z.shape, 740.0)
    for _ in range(32):
        middle = 0.5 * (low + high)
        before = rising * (log_g(middle, z, a, b) - level) < 0
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    change = log_g(middle + 1e-3, z, a, b) - log_g(middle - 1e-3, z, a, b)
    return middle, 1e-3 / abs(change)
