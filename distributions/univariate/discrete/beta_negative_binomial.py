"""Beta negative binomial: failures before the r-th success, when the probability of success is a Beta variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ad.transforms import stop_gradient
from probdiff.distributions.base import Discrete
from probdiff.distributions.log_sums import log_integral
from probdiff.distributions.quantiles import LOG_HALF
from probdiff.distributions.stable import binomial_log_mass, log_beta, log_gamma_defect
from probdiff.distributions.support import Positive, nonnegative_integers
from probdiff.ops.saddle import beta_kernel
from probdiff.special import log1mexp, log_betainc
from probdiff.tree import Array

FAR = 300.0  # beyond, a probability of exp(-u) is so small that its incomplete integral is the leading term


class BetaNegativeBinomial(Discrete):
    """P(k) = Γ(k + r) / (k! Γ(r)) B(alpha + r, beta + k) / B(alpha, beta),  k = 0, 1, ….

    r      positive  successes to wait for; need not be whole
    alpha  positive  of the probability of success, Beta(alpha, beta); P(X > k) falls like k^-alpha
    beta   positive

    The mass does not change when r and beta trade places. Johnson, Kemp & Kotz, Univariate Discrete Distributions,
    ch. 6.2.3. Tails: X > k where a Beta(k + 1, r) variable is less than a Beta(beta, alpha) one, an integral over
    the log-odds of the one or the other.
    """

    r: Positive
    alpha: Positive
    beta: Positive

    support = nonnegative_integers
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        r, a, b = self.r, self.alpha, self.beta
        # Bayes' theorem at the posterior mean of p, where none of the three is large but for a reason.
        total = a + b + (r + x)
        p, q = stop_gradient((a + r) / total), stop_gradient((b + x) / total)
        log_p, log_q = np.log(p), np.log(q)
        waiting = binomial_log_mass(x, r, q, p, log_q, log_p) - np.log1p(x / r)
        prior, posterior = beta_kernel(a, b, p, q, log_p, log_q), beta_kernel(a + r, b + x, p, q, log_p, log_q)
        return np.where(x == 0, log_gamma_defect(a, r, b), waiting + prior - posterior)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def _tails(self, x: Array) -> tuple[Array, Array]:
        """Logs of both tails; the lower one is integrated below r beta / alpha, unless zero has half of the mass."""
        r, a, b, k = self.r, self.alpha, self.beta, x + 1
        below = (x * a < r * b) & (log_gamma_defect(a, r, b) < LOG_HALF)
        first, second = np.where(below, b, k), np.where(below, a, r)
        tail = log_integral(race_height, first, second, np.where(below, r, a), np.where(below, k, b), knees=knees)
        rest = log1mexp(np.minimum(tail, 0.0))
        return np.where(below, tail, rest), np.where(below, rest, tail)

    def mean(self) -> Array:
        return np.where(self.alpha > 1, self.r * self.beta / (self.alpha - 1), np.inf)

    def var(self) -> Array:
        r, a, b = self.r, self.alpha, self.beta
        finite = r * b * (a + r - 1) * (a + b - 1) / ((a - 2) * (a - 1) ** 2)
        return np.where(a > 2, finite, np.inf)

    def mode(self) -> Array:
        return np.floor(np.maximum((self.r - 1) * (self.beta - 1) / (self.alpha + 1), 0.0))

    def skewness(self) -> Array:
        r, a, b = self.r, self.alpha, self.beta
        spread = np.sqrt((a - 2) / (r * b * (a + r - 1) * (a + b - 1)))
        return np.where(a > 3, (a + 2 * r - 1) * (a + 2 * b - 1) / (a - 3) * spread, np.inf)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        rate = rng.standard_gamma(self.r, shape) * rng.standard_gamma(self.beta, shape)
        with np.errstate(all="ignore"):
            rate = rate / rng.standard_gamma(self.alpha, shape)
        # Beyond 1e17 a Poisson variable is its mean to rounding, and NumPy refuses.
        return np.where(rate < 1e17, rng.poisson(np.minimum(rate, 1e17)), np.floor(rate))


def race_height(v: Array, a: Array, b: Array, c: Array, d: Array) -> Array:
    """The log of the density of v times P(Z < 1 - Y | v), Y Beta(a, b) with log-odds stretch v, Z Beta(c, d).

    It falls like exp((a + d) u) to the left, exp(-(b + c) u) to the right, in u = stretch v.
    """
    stretch = stretched(b, c)
    u = stretch * v
    y, z = 1 / (1 + np.exp(-u)), 1 / (1 + np.exp(u))
    far = c * -u - np.log(c) - log_beta(c, d)
    share = np.where(u > FAR, far, log_betainc(c, d, np.where(u > FAR, 0.5, z)))
    return beta_kernel(a, b, y, z, -np.logaddexp(0.0, -u), -np.logaddexp(0.0, u)) + share + np.log(stretch)


def stretched(b: Array, c: Array) -> Array:
    """The unit of v, which keeps slow falls within reach."""
    return stop_gradient(np.maximum(1.0, 1 / (b + c)))


def knees(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """Where Z is as large as 1 - Y, and how slowly that passes."""
    place = np.log(np.maximum(d, 1.0) / np.maximum(c, 1.0))
    return place / stretched(b, c), 1 / np.sqrt(1 + c * (d / (c + d))) / stretched(b, c)
