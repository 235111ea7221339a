"""Importance ratios: smoothed in their tail (PSIS), judged by the tail's shape, and resampled."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]

GOOD_K = 0.7
"""Shape from which importance sampling is not to be trusted (Vehtari et al. 2024)."""
SAME = 1e-9
"""Log-ratios that differ by less are the same up to rounding: the density is the posterior's, and there is no tail."""
LEAST_TAIL = 5
"""Ratios that a shape can be fitted to."""


def smoothed(log_ratios: Array) -> tuple[Array, float]:
    """The log-ratios with a smooth tail, and the shape k of the tail.

    The largest min(n/5, 3 sqrt(n)) ratios are replaced by the quantiles of a generalised Pareto distribution that is
    fitted to them, and cut at the largest raw ratio. k is infinite where the tail is too short for a fit.

    Vehtari, Simpson, Gelman, Yao & Gabry 2024, Pareto smoothed importance sampling, JMLR 25:72.
    """
    top = np.max(log_ratios)
    x = log_ratios - top
    if np.min(x) > -SAME:
        return log_ratios, -math.inf
    n = len(x)
    order = np.argsort(x, kind="stable")
    length = math.ceil(min(0.2 * n, 3.0 * math.sqrt(n)))
    cutoff = max(x[order[-length - 1]] if length < n else -np.inf, math.log(np.finfo(float).tiny))
    tail = order[x[order] > cutoff]
    k = math.inf
    if len(tail) >= LEAST_TAIL:
        threshold = math.exp(cutoff)
        k, sigma = fitted_pareto(np.exp(x[tail]) - threshold)
        ranks = (np.arange(len(tail)) + 0.5) / len(tail)
        excess = sigma * (np.expm1(-k * np.log1p(-ranks)) / k if k != 0.0 else -np.log1p(-ranks))
        x = x.copy()
        x[tail] = np.minimum(np.log(threshold + excess), 0.0)
    return top + x, k


def fitted_pareto(excess: Array) -> tuple[float, float]:
    """Shape k and scale of a generalised Pareto distribution, from excesses in rising order.

    With b = -k / sigma the likelihood is a function of b alone; b is its mean over a grid weighted by the likelihood
    and a weak prior. k is then drawn towards 0.5 as by ten further excesses.

    Zhang & Stephens 2009, Technometrics 51; the prior of k: Vehtari et al. 2024, appendix C.
    """
    n = len(excess)
    m = 30 + math.isqrt(n)
    quartile = excess[math.floor(n / 4 + 0.5) - 1]
    b = 1.0 / excess[-1] + (1.0 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3.0 * quartile)
    shapes = np.mean(np.log1p(-b[:, None] * excess), axis=1)
    profile = n * (np.log(-b / shapes) - shapes - 1.0)
    weights = np.exp(profile - logsumexp(profile))
    weights = np.where(weights < 10 * np.finfo(float).eps, 0.0, weights)
    mean_b = float(np.sum(b * weights) / np.sum(weights))
    shape = float(np.mean(np.log1p(-mean_b * excess)))
    return (n * shape + 5.0) / (n + 10.0), -shape / mean_b


def resampled(log_weights: Array, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`count` indices in random order, with probabilities in proportion to the weights, by systematic resampling.

    Each index comes as often as its expected number, rounded up or down (Kitagawa 1996).
    """
    total = np.cumsum(np.exp(log_weights - np.max(log_weights)))
    places = (np.arange(count) + rng.random()) / count * total[-1]
    return rng.permutation(np.minimum(np.searchsorted(total, places, side="right"), len(total) - 1))


def distinct(log_weights: Array, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices drawn one after the other, none twice: the largest of log-weights with Gumbel noise."""
    noisy = log_weights + rng.gumbel(size=len(log_weights))
    return np.argsort(-noisy, kind="stable")[:count]


def warning(k: float, name: str, instead: str) -> tuple[str, ...]:
    """What to say of a shape that is too large; nothing otherwise."""
    if k <= GOOD_K:
        return ()
    shown = f"{k:.2f}" if math.isfinite(k) else "not defined: hardly any draw has weight"
    return (f"The {name} is far from the posterior: Pareto k is {shown} (good: below {GOOD_K}). {instead}",)
