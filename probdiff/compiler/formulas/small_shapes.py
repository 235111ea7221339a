"""Logs of the tails next to a small shape e, P = e^w (1 + T) and 1 - P: w and T are e times series u and τ.

1 - P = -e (u (e^w - 1) / w + e^w τ), and the factor e is left out of the series until its log is taken. Otherwise
derivatives would be differences of numbers that are 1 / e as large.
"""

from __future__ import annotations

import math

import numpy as np

from probdiff.compiler.formulas import series
from probdiff.compiler.formulas.polynomials import polygamma
from probdiff.compiler.formulas.quadrature import integrals
from probdiff.compiler.formulas.series import Series
from probdiff.tree import Array

SMALL = 0.05  # shapes from which the quotient of a series by them has all digits that are asked for


def times_shape(e: Array, f: Series) -> Series:
    """(e + ε) f"""
    return {(i, j): e * c + f[i - 1, j] if i else e * c for (i, j), c in f.items()}


def over_shape(e: Array, f: Series) -> Series:
    """f / (e + ε)"""
    out: Series = {}
    for i, j in f:
        out[i, j] = (f[i, j] - out[i - 1, j]) / e if i else f[i, j] / e
    return out


def log_rise(on: Array, keys: list[series.Power], e: Array, m: Array) -> Series:
    """[log Γ(m + e) - log Γ(m)] / e for e < SMALL, the mean of ψ over [m, m + e]."""
    shift = np.where(m < 4.0 * e, 1.0, 0.0)

    def body(x: Array, e: Array, m: Array) -> tuple[Array, ...]:
        at = m + e * x
        kinds = {n: polygamma(n, at) for n in sorted({i + j for i, j in keys})}
        return tuple(x**i * kinds[i + j] / (math.factorial(i) * math.factorial(j)) for i, j in keys)

    means = dict(zip(keys, integrals(on, body, (e, m + shift), 1), strict=True))
    # What is left is log(1 + e / m), where e is not much less than m.
    logs: Series = {(0, 0): np.log1p(e / m)}
    for i, j in keys[1:]:
        n = i + j
        power = (m + e) ** -n - (0.0 if i else m**-n)
        logs[i, j] = -((-1.0) ** n) / n * math.comb(n, i) * power
    rest = over_shape(e, logs)
    return {k: means[k] - np.where(shift > 0.0, rest[k], 0.0) for k in keys}


def both_logs(on: Array, e: Array, w: Series, u: Series, tau: Series) -> tuple[Series, Series]:
    """The logs of P and of 1 - P."""
    t = times_shape(e, tau)
    exponential = series.exp(w, np.exp(w[0, 0]))
    bend = _exprel(on, w)
    shares = series.product(u, bend), series.product(exponential, tau)
    rest = {k: -(shares[0][k] + shares[1][k]) for k in u}
    one = {**t, (0, 0): 1.0 + t[0, 0]}
    log_near = series.total(w, series.log(one, np.log1p(t[0, 0])))
    log_rest = series.log(rest, np.log(e * rest[0, 0]))
    for i, j in u:
        if i and not j:
            log_rest[i, j] = log_rest[i, j] - (-1.0 / e) ** i / i
    near = e * rest[0, 0] > 0.5
    far = series.log1mexp({**log_near, (0, 0): np.where(near, log_near[0, 0], -1.0)})
    return log_near, {k: np.where(near, far[k], log_rest[k]) for k in u}


def _exprel(on: Array, w: Series) -> Series:
    """(e^w - 1) / w = ∫ e^(w s) ds over [0, 1]; w is no less than -3 where it is needed."""
    order = max(i + j for i, j in w)

    def body(s: Array, height: Array) -> tuple[Array, ...]:
        y = np.exp(height * s)
        return tuple(y * s**n for n in range(order + 1))

    derivatives = integrals(on, body, (np.maximum(w[0, 0], -3.0),), 1)
    step = {**w, (0, 0): 0.0}
    power: Series = {k: 0.0 if any(k) else 1.0 for k in w}
    out = {k: derivatives[0] * power[k] for k in w}
    for n in range(1, order + 1):
        power = series.product(power, step)
        out = {k: out[k] + derivatives[n] / math.factorial(n) * power[k] for k in w}
    return out
