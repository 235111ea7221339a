"""Two functions by which log-densities of large counts and shapes are written without cancellation, as rows.

After C. Loader, Fast and Accurate Computation of Binomial Probabilities (2000). As rows they have short derivatives,
which a series does not, and machine code of their own.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special as sp

from probdiff.ops import special  # noqa: F401  (the derivatives need psi to be a row)
from probdiff.ops.dispatch import apply, is_float
from probdiff.ops.either import either
from probdiff.ops.elementwise import row, rows
from probdiff.tree import Array

__all__ = ["deviance", "deviance_formula", "stirling_error", "stirling_error_formula"]

FAR = 10.0  # from here on the asymptotic series of the derivative of Stirling's error is exact to rounding
# a times Stirling's error is P(w) / Q(w), w = 1 / a², for a >= 1 with an error of 7e-17: least squares in mpmath at
# Chebyshev's points, weighted by the denominator.
P = (
    *(0.083333333333333270468, 1.2518958925204363082, 6.2078181512190717124, 12.75803286777856215),
    *(11.195148548868689173, 3.8783913759609343521, 0.41979968909013444989, 0.0067538003454658777249),
)
Q = (
    *(1.0, 15.056084043577645958, 74.986163473407931508, 155.45968476177214115),
    *(138.90706121946506931, 50.09688961613646323, 6.0074616401777638866, 0.14130417392714617094),
)
QUOTIENT = tuple(zip(reversed(P), reversed(Q), strict=True))
NEAR = 0.1


def deviance(x: Array, m: Array) -> Array:
    """x log(x / m) + m - x >= 0, without cancellation where x is near m; x > 0, m >= 0."""
    if type(x) is type(m) is float and x > 0.0 and m > 0.0:
        return _deviance_of_numbers(x, m)
    if type(x) is type(m) is np.float64 and x > 0.0 and m > 0.0:
        return np.float64(_deviance_of_numbers(float(x), float(m)))
    return apply(rows["deviance"], x, m)


def stirling_error(a: Array) -> Array:
    """log Γ(a) - [(a - 1/2) log a - a + log(2π)/2], a > 0; log(a!) is that of a + 1, or a and log(a) more."""
    if (type(a) is float or type(a) is np.float64) and a >= 1.0:
        count = int(a) if a < len(ERRORS) else 0
        error = ERRORS[count] if count == a else _far_from_zero(float(a))
        return error if type(a) is float else np.float64(error)
    return apply(rows["stirling_error"], a)


def deviance_formula(x: Array, m: Array) -> Array:
    """The row in elementary operations."""
    difference = x - m
    v = difference / (x + m)

    def far() -> Array:
        return either(m == math.inf, lambda: math.inf, lambda: x * (np.log(x) - np.log(m)) - difference)

    return either(abs(v) < NEAR, lambda: _near(x, difference, v), far)


def _near(x: Array, difference: Array, v: Array) -> Array:
    """Twice the inverse hyperbolic tangent of v is log(x / m): its series less the first term, v² < 0.01."""
    s = v * v
    series = 1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s * (1 / 11 + s * (1 / 13 + s * (1 / 15))))))
    return difference * v + 2.0 * x * v * (s * series)


def stirling_error_formula(a: Array) -> Array:
    """The row in elementary operations: below one by the error of a + 1."""
    small = a < 1.0
    z = either(small, lambda: a + 1.0, lambda: a)
    error = _far_from_zero(z)
    return either(small, lambda: error + (a + 0.5) * np.log1p(1.0 / a) - 1.0, lambda: error)


def _far_from_zero(a: Array) -> Array:
    """Stirling's error of a >= 1."""
    w = 1.0 / (a * a)
    (top, bottom), *rest = QUOTIENT
    for p, q in rest:
        top, bottom = top * w + p, bottom * w + q
    return top / (a * bottom)


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    total: Array = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def _log_ratio(x: Array, m: Array) -> Array:
    """log(x / m), without cancellation where x is near m."""
    least = np.minimum(x, m)
    excess = abs(x - m) / least
    near = either(excess < 1e300, lambda: np.log1p(excess), lambda: abs(np.log(x) - np.log(m)))
    return either(x < m, lambda: -near, lambda: near)


def _stirling_slope(a: Array) -> Array:
    """ψ(a) - log a + 1 / (2 a), the derivative of Stirling's error."""
    w = 1.0 / a
    v = w * w
    series = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
    return either(a < FAR, lambda: sp.psi(a) - np.log(a) + 0.5 * w, lambda: v * _polynomial(v, series))


def _deviance_of_numbers(x: float, m: float) -> float:
    """The formula, of Python's functions and numbers, which take a third of the time."""
    difference = x - m
    v = difference / (x + m)
    if abs(v) < NEAR:
        near: float = _near(x, difference, v)
        return near
    return math.inf if m == math.inf else x * (math.log(x) - math.log(m)) - difference


def _floating(x: Array) -> Array:
    return x if is_float(x) else x * 1.0


ERRORS = [math.inf, *(_far_from_zero(float(a)) for a in range(1, 64))]  # of counts
row(
    "deviance",
    lambda x, m: deviance_formula(_floating(x), _floating(m)),
    dx=lambda x, m, z: _log_ratio(x, m),
    dy=lambda x, m, z: (m - x) / m,
)
row("stirling_error", lambda a: stirling_error_formula(_floating(a)), dx=lambda a, z: _stirling_slope(a))
