"""The methods of distributions as functions, so that they can be broadcast, differentiated and passed on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.tree import Array

__all__ = [
    "ccdf",
    "cdf",
    "cf",
    "cquantile",
    "entropy",
    "expect",
    "invlogccdf",
    "invlogcdf",
    "kl_divergence",
    "kurtosis",
    "log_rand",
    "logccdf",
    "logcdf",
    "logdiffcdf",
    "logpdf",
    "mean",
    "median",
    "mgf",
    "mode",
    "modes",
    "pathwise",
    "pdf",
    "quantile",
    "rand",
    "skewness",
    "std",
    "support",
    "var",
]


def logpdf(d: Distribution, x: Array) -> Array:
    """The log-density or log-mass of `d` at `x`."""
    return d.logpdf(x)


def pdf(d: Distribution, x: Array) -> Array:
    """The density or mass of `d` at `x`."""
    return d.pdf(x)


def cdf(d: Distribution, x: Array) -> Array:
    """P(X <= x) under `d`."""
    return d.cdf(x)


def ccdf(d: Distribution, x: Array) -> Array:
    """P(X > x) under `d`."""
    return d.ccdf(x)


def logcdf(d: Distribution, x: Array) -> Array:
    """log P(X <= x) under `d`."""
    return d.logcdf(x)


def logccdf(d: Distribution, x: Array) -> Array:
    """log P(X > x) under `d`."""
    return d.logccdf(x)


def logdiffcdf(d: Distribution, x: Array, y: Array) -> Array:
    """log P(x < X <= y) under `d`."""
    return d.logdiffcdf(x, y)


def quantile(d: Distribution, p: Array) -> Array:
    """The smallest x with P(X <= x) >= p under `d`."""
    return d.quantile(p)


def cquantile(d: Distribution, p: Array) -> Array:
    """The smallest x with P(X > x) <= p under `d`."""
    return d.cquantile(p)


def invlogcdf(d: Distribution, lp: Array) -> Array:
    """The smallest x with log P(X <= x) >= lp under `d`."""
    return d.invlogcdf(lp)


def invlogccdf(d: Distribution, lp: Array) -> Array:
    """The smallest x with log P(X > x) <= lp under `d`."""
    return d.invlogccdf(lp)


def mean(d: Distribution) -> Array:
    """The expectation of `d`."""
    return d.mean()


def var(d: Distribution) -> Array:
    """The variance of `d`."""
    return d.var()


def std(d: Distribution) -> Array:
    """The standard deviation of `d`."""
    return d.std()


def mode(d: Distribution) -> Array:
    """A point of largest density of `d`."""
    return d.mode()


def modes(d: Distribution) -> Array:
    """All points of largest density of `d`, along one axis."""
    return d.modes()


def median(d: Distribution) -> Array:
    """The quantile of `d` at one half."""
    return d.median()


def skewness(d: Distribution) -> Array:
    """The third standardised moment of `d`."""
    return d.skewness()


def kurtosis(d: Distribution) -> Array:
    """The excess kurtosis of `d`."""
    return d.kurtosis()


def entropy(d: Distribution) -> Array:
    """The entropy of `d`, in nats."""
    return d.entropy()


def expect(d: Distribution, g: Callable[[Array], Array], kinks: Sequence[Array] = ()) -> Array:
    """E[g(X)] under `d`, for g that acts element by element and is smooth but at `kinks`."""
    return d.expect(g, kinks)


def mgf(d: Distribution, t: Array) -> Array:
    """The moment generating function of `d`, E[exp(t X)]."""
    return d.mgf(t)


def cf(d: Distribution, t: Array) -> Array:
    """The characteristic function of `d`, E[exp(i t X)]."""
    return d.cf(t)


def kl_divergence(p: Distribution, q: Distribution) -> Array:
    """KL(p || q), in nats."""
    return p.kl_divergence(q)


def support(d: Distribution) -> Any:
    """The set of values that `d` can take."""
    return d.support


def rand(d: Distribution, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator) -> Any:
    """Random values of `d`, of shape size + batch_shape + event_shape."""
    return d.rand(size, rng=rng)


def log_rand(d: Distribution, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator) -> Any:
    """Logs of random values of a positive `d`, finite also where the values themselves are too small."""
    return d.log_rand(size, rng=rng)


def pathwise(d: Distribution, x: Array) -> Array:
    """The draw `x` of `d` as the function of its parameters that keeps its probability."""
    return d.pathwise(x)
