"""log|gamma(x)| and its first two derivatives, digamma and trigamma.

Large arguments take Stirling's formula, whose divergent series in 1 / x**2 is replaced by a polynomial fitted from the
threshold to infinity; small ones shift to an interval with a polynomial that holds the zeros of the function exactly.
Negative arguments are reflected. The functions named `..._positive` leave that out, and cost half.
"""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import fma, polynomial
from probdiff.compiler.native.vectormath.coefficients import GAMMALN, PSI, PSI_TAIL, SINPI, STIRLING, TRIGAMMA_TAIL
from probdiff.compiler.native.vectormath.logarithm import exponent_and_fraction, log, log_of_fraction
from probdiff.tree import Array

HALF_LOG_2PI_LESS_HALF = 0.41893853320467274  # (log(2 pi) - 1) / 2
PSI_ROOT = 1.4616321449683622
PSI_ROOT_LOW = 9.549995429965697e-17


def gammaln_positive(x: Array) -> Array:
    """log gamma(x) for x >= 0; NaN below.

    x >= 2.5:  (x - 1/2) (log x - 1) + (log(2 pi) - 1) / 2 + p(1 / x**2) / x
    x < 2.5:   (z - 2) p(z - 2) - log(x (x + 1) ... (z - 1)),  z in [1.5, 2.5]
    """
    large = x >= 2.5
    steps = np.where(x < 1.5, np.where(x < 0.5, 0.0, 1.0), 2.0)  # z - 2 = x - steps
    product = np.where(x < 1.5, np.where((x < 0.5) & (x > 0.0), fma(x, x, x), x), 1.0)
    logarithm = log(np.where(large, x, product))
    t = x - steps
    small_value = fma(t, polynomial(t, GAMMALN), -logarithm)
    r = 1.0 / x
    tail = fma(r, polynomial(r * r, STIRLING), HALF_LOG_2PI_LESS_HALF)
    large_value = fma(x - 0.5, logarithm - 1.0, tail)
    return np.where(large, np.where(x < np.inf, large_value, x), small_value)


def gammaln(x: Array) -> Array:
    """log|gamma(x)| = log(pi / |sin(pi x)|) - log gamma(1 - x) for x < 0; infinite at 0, -1, -2, ...

    At -inf it is -inf, as in SciPy.
    """
    negative = x < 0.0
    y = gammaln_positive(np.where(negative, 1.0 - x, x))
    sine = np.abs(sin_pi(x - np.rint(x)))
    pole = np.where(x == -np.inf, x, np.inf)
    reflected = -log(sine * (1 / np.pi)) - y
    return np.where(negative, np.where(sine > 0.0, reflected, pole), y)


def psi_positive(x: Array) -> Array:
    """Digamma for x >= 0; NaN below.

    x >= 2:  log x - 1 / (2 x) + p(1 / x**2) / x**2
    x < 2:   psi(x) = psi(x + 1) - 1 / x,  and (z - root) p(z - 1.5) on [1, 2]
    """
    r = 1.0 / x
    w = r * r
    k, f, _ = exponent_and_fraction(x, 0.0)
    large_value = log_of_fraction(k, f) + fma(w, polynomial(w, PSI_TAIL), -0.5 * r)
    below = x < 1.0
    z = np.where(below, x + 1.0, x)
    t = z - 1.5
    # (z - root) from x itself, since x + 1 rounds
    distance = (np.where(below, x + (1.0 - PSI_ROOT), x - PSI_ROOT)) - PSI_ROOT_LOW
    small_value = fma(distance, polynomial(t, PSI), np.where(below, -r, 0.0))
    y = np.where(x < 2.0, small_value, np.where(x < np.inf, large_value, x))
    return np.where(x < 0.0, np.nan, y)


def psi(x: Array) -> Array:
    """Digamma, the derivative of gammaln: psi(x) = psi(1 - x) - pi / tan(pi x) for x < 0; NaN at -1, -2, ..."""
    negative = x < 0.0
    y = psi_positive(np.where(negative, 1.0 - x, x))
    f = x - np.rint(x)
    cotangent = np.copysign(sin_pi(0.5 - np.abs(f)), f) / sin_pi(np.abs(f))
    y = np.where(negative, y - np.pi * np.where(f == 0.0, np.nan, cotangent), y)
    return np.where(x == 0.0, np.copysign(np.inf, -x), y)


def trigamma_positive(x: Array) -> Array:
    """The second derivative of gammaln for x >= 0: 1 / z + 1 / (2 z**2) + p(1 / z**2) / z**3, after two steps if x < 2.

    NaN below 0.
    """
    small = x < 2.0
    r = 1.0 / np.where(small, x + 2.0, x)
    w = r * r
    y = fma(w, 0.5, fma(w * r, polynomial(w, TRIGAMMA_TAIL), r))
    next_ = x + 1.0
    product = x * next_
    y = np.where(small, fma(x, x, next_ * next_) / (product * product) + y, y)
    return np.where(x < 0.0, np.nan, y)


def trigamma(x: Array) -> Array:
    """polygamma(1, x) = (pi / sin(pi x))**2 - polygamma(1, 1 - x) for x < 0; infinite at 0, -1, -2, ..."""
    negative = x < 0.0
    y = trigamma_positive(np.where(negative, 1.0 - x, x))
    q = np.pi / sin_pi(x - np.rint(x))
    return np.where(negative, np.where(x == -np.inf, np.inf, fma(q, q, -y)), y)


def sin_pi(x: Array) -> Array:
    """sin(pi x) for |x| <= 1/2."""
    return x * polynomial(x * x, SINPI)
