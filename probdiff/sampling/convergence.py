"""Measures of convergence that are quick enough for the end of every run: split R-hat, E-BFMI, chains that part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def split_r_hat(x: NDArray[Any]) -> Floats:
    """R-hat between the halves of all chains: (chain, draw, *shape) to (*shape).

    R² = (h - 1)/h + B/W,  B the variance of the means of the halves, W the mean of their variances, h their length.
    NaN for what is not finite or never moves, infinite where each half stands still at a place of its own.
    Gelman et al., Bayesian Data Analysis, 3rd ed., section 11.4; without ranks, which take a sort.
    """
    half = x.shape[1] // 2
    halves = np.concatenate([x[:, :half], x[:, -half:]]).astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        between = halves.mean(axis=1).var(axis=0, ddof=1)
        within = halves.var(axis=1, ddof=1).mean(axis=0)
        r_hat = np.sqrt((half - 1) / half + between / within)
    return np.asarray(np.where((within == 0) & (between > 0), np.inf, r_hat))


def e_bfmi(energy: Floats) -> Floats:
    """mean (E_t - E_{t-1})² / var E of each chain: small where momenta renewed at random change the energy slowly.

    NaN for a single draw. Betancourt 2016, arXiv:1604.00695.
    """
    if energy.shape[1] < 2:
        return np.full(len(energy), np.nan)
    with np.errstate(all="ignore"):
        return np.asarray(np.mean(np.diff(energy, axis=1) ** 2, axis=1) / np.var(energy, axis=1))


def unmoved(x: NDArray[Any]) -> Floats:
    """The share of draws of each chain that equal the one before: (chain, draw, …) to (chain,)."""
    same = x[:, 1:] == x[:, :-1]
    return np.asarray(same.reshape(*same.shape[:2], -1).all(axis=2).mean(axis=1))


def apart(x: Floats) -> list[list[int]]:
    """Chains in groups, from low to high, whose central 90 % do not overlap; a single group if they all do."""
    low, high = np.quantile(x, [0.05, 0.95], axis=1)
    groups: list[list[int]] = []
    edge = -np.inf
    for chain in np.argsort(low, kind="stable"):
        if not groups or low[chain] > edge:
            groups.append([])
        groups[-1].append(int(chain))
        edge = max(edge, high[chain])
    return [sorted(group) for group in groups]


def tail_shape(x: Floats) -> float:
    """The larger Pareto k of the two tails of the draws `x`: moments exist up to the order 1/k.

    A tail is the min(S/5, 3 sqrt(S)) farthest of S draws (Vehtari et al. 2024, JMLR 25:72).
    """
    ordered = np.sort(x)
    size = int(min(len(x) / 5, 3 * np.sqrt(len(x))))
    upper = ordered[-size:] - ordered[-size - 1]
    lower = ordered[size] - ordered[:size][::-1]
    return max(pareto_shape(upper), pareto_shape(lower))


def pareto_shape(x: Floats) -> float:
    """The shape k of a generalised Pareto distribution of the ascending, non-negative exceedances `x`; -inf for none.

    k(b) = mean log(1 - b x) at b = sum_j w_j b_j, a mean over a grid weighted by the profile likelihood
    L(b) ∝ exp(n (log(-b/k(b)) - k(b) - 1)); k is then drawn to 1/2 as by 10 further values.
    Zhang & Stephens 2009, Technometrics 51:316; the grid and the prior of k are those of Vehtari et al. 2024.
    """
    x = x[x > 0]
    n = len(x)
    if n < 5:
        return -np.inf
    x = x / x[-1]  # k has no unit
    m = 30 + int(np.sqrt(n))
    quarter = x[int(n / 4 + 0.5) - 1]
    b = 1 + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * quarter)
    with np.errstate(all="ignore"):
        k = np.log1p(-b[:, None] * x).mean(axis=1)
        likelihood = n * (np.log(-b / k) - k - 1)
        weight = np.exp(likelihood - np.nanmax(likelihood))
    weight = np.nan_to_num(weight / np.nansum(weight))
    shape = float(np.log1p(-np.sum(weight * b) * x).mean())
    return (n * shape + 10 * 0.5) / (n + 10)
