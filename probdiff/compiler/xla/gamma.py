"""log|gamma(x)| and its derivatives, beta functions, in plain arithmetic that XLA fuses.

The formulas and polynomials are those of the native backend's `vectormath.gamma`; logarithms are JAX's. On the CPU,
JAX's own `gammaln` and `digamma` lose digits next to their zeros, and its `betaln` where one argument is large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.compiler.formulas.polynomials import polynomial
from probdiff.compiler.native.vectormath.coefficients import GAMMALN, PSI, PSI_TAIL, SINPI, STIRLING, TRIGAMMA_TAIL
from probdiff.compiler.native.vectormath.gamma import HALF_LOG_2PI_LESS_HALF, PSI_ROOT, PSI_ROOT_LOW
from probdiff.compiler.xla.library import jnp, jsp

HALF_LOG_2PI = HALF_LOG_2PI_LESS_HALF + 0.5


def sin_pi(x: Any) -> Any:
    """sin(pi x) for |x| <= 1/2."""
    return x * polynomial(x * x, SINPI)


def stirling(x: Any) -> Any:
    """log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2 for x >= 2.5."""
    r = 1.0 / x
    return r * polynomial(r * r, STIRLING)


def gammaln_positive(x: Any) -> Any:
    """log gamma(x) for x >= 0: Stirling's formula from 2.5, below it a polynomial around 2 after up to two steps."""
    large = x >= 2.5
    steps = jnp.where(x < 1.5, jnp.where(x < 0.5, 0.0, 1.0), 2.0)
    product = jnp.where(x < 1.5, jnp.where((x < 0.5) & (x > 0.0), x * x + x, x), 1.0)
    logarithm = jnp.log(jnp.where(large, x, product))
    t = jnp.where(large, 0.0, x - steps)
    small_value = t * polynomial(t, GAMMALN) - logarithm
    z = jnp.where(large, x, 2.5)
    large_value = (z - 0.5) * (logarithm - 1.0) + (stirling(z) + HALF_LOG_2PI_LESS_HALF)
    return jnp.where(large, jnp.where(x < np.inf, large_value, x), small_value)


def gammaln(x: Any) -> Any:
    """log|gamma(x)| = log(pi / |sin(pi x)|) - log gamma(1 - x) for x < 0; infinite at 0, -1, -2, …"""
    negative = x < 0.0
    y = gammaln_positive(jnp.where(negative, 1.0 - x, x))
    sine = jnp.abs(sin_pi(x - jnp.rint(x)))
    pole = jnp.where(x == -np.inf, x, np.inf)
    return jnp.where(negative, jnp.where(sine > 0.0, -jnp.log(sine / np.pi) - y, pole), y)


def psi_positive(x: Any) -> Any:
    """Digamma for x >= 0, next to its zero by the distance from it."""
    r = 1.0 / x
    w = r * r
    large_value = jnp.log(x) + (w * polynomial(w, PSI_TAIL) - 0.5 * r)
    below = x < 1.0
    t = jnp.where(below, x - 0.5, x - 1.5)
    distance = jnp.where(below, x + (1.0 - PSI_ROOT), x - PSI_ROOT) - PSI_ROOT_LOW
    small_value = distance * polynomial(t, PSI) + jnp.where(below, -r, 0.0)
    return jnp.where(x < 2.0, small_value, jnp.where(x < np.inf, large_value, x))


def psi(x: Any) -> Any:
    """Digamma: psi(x) = psi(1 - x) - pi / tan(pi x) for x < 0; NaN at -1, -2, …"""
    negative = x < 0.0
    y = psi_positive(jnp.where(negative, 1.0 - x, x))
    f = x - jnp.rint(x)
    cotangent = jnp.copysign(sin_pi(0.5 - jnp.abs(f)), f) / sin_pi(jnp.abs(f))
    y = jnp.where(negative, y - np.pi * jnp.where(f == 0.0, np.nan, cotangent), y)
    return jnp.where(x == 0.0, jnp.copysign(np.inf, -x), y)


def trigamma_positive(x: Any) -> Any:
    """The derivative of psi for x > 0: Stirling's, after two steps if x < 2."""
    small = x < 2.0
    r = 1.0 / jnp.where(small, x + 2.0, x)
    w = r * r
    y = w * 0.5 + (w * r * polynomial(w, TRIGAMMA_TAIL) + r)
    above = x + 1.0
    return jnp.where(small, (x * x + above * above) / ((x * above) ** 2) + y, y)


def trigamma(x: Any) -> Any:
    """The derivative of psi: (pi / sin(pi x))² less its value at 1 - x for x < 0; infinite at 0, -1, -2, …"""
    negative = x < 0.0
    y = trigamma_positive(jnp.where(negative, 1.0 - x, x))
    q = np.pi / sin_pi(x - jnp.rint(x))
    return jnp.where(negative, jnp.where(x == -np.inf, np.inf, q * q - y), y)


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of psi: (-1)^(n + 1) n! zeta(n + 1, x) for n > 0."""
    order = jnp.maximum(n, 1.0)
    sign = jnp.where(jnp.remainder(order, 2.0) == 0.0, -1.0, 1.0)
    high = sign * gamma(order + 1.0) * jsp.special.zeta(order + 1.0, x)
    return jnp.where(n == 0.0, psi(x), jnp.where(n == 1.0, trigamma(x), high))


def sign_of_gamma(x: Any) -> Any:
    """-1 where gamma(x) is negative, else 1."""
    return jnp.where((x < 0.0) & (jnp.remainder(jnp.floor(x), 2.0) != 0.0), -1.0, 1.0)


def gamma(x: Any) -> Any:
    """gamma(x); NaN at -1, -2, …, infinite at 0 with its sign."""
    y = sign_of_gamma(x) * jnp.exp(gammaln(x))
    y = jnp.where(x == 0.0, jnp.copysign(np.inf, x), y)
    return jnp.where((x < 0.0) & (jnp.rint(x) == x), np.nan, y)


def rgamma(x: Any) -> Any:
    """1 / gamma(x), 0 at the poles."""
    return jnp.where(jnp.abs(x) == np.inf, 0.0, sign_of_gamma(x) * jnp.exp(-gammaln(x)))


def betaln(a: Any, b: Any) -> Any:
    """log|beta(a, b)|, with the parts that cancel for large arguments taken together.

    With x <= y and Stirling's remainder s:
    y >= 10:  log gamma(x) - x log(x + y) + x - (y - 1/2) log1p(x / y) + s(y) - s(x + y)
    x >= 10:  log(2 pi) / 2 - log(x) / 2 - x log1p(y / x) - (y - 1/2) log1p(x / y) + s(x) + s(y) - s(x + y)
    """
    x, y = jnp.minimum(a, b), jnp.maximum(a, b)
    plain = gammaln(x) + gammaln(y) - gammaln(x + y)
    big, bigger = (y >= 10.0) & (x > 0.0), x >= 10.0
    v = jnp.where(big, y, 10.0)
    u = jnp.where(big, x, 1.0)
    shared = stirling(v) - stirling(u + v) - (v - 0.5) * jnp.log1p(u / v)
    one = gammaln(u) - u * jnp.log(u + v) + u + shared
    t = jnp.where(bigger, u, 10.0)
    both = HALF_LOG_2PI - 0.5 * jnp.log(t) - t * jnp.log1p(v / t) + stirling(t) + shared
    found = jnp.where(bigger, both, jnp.where(big, one, plain))
    found = jnp.where((x > 0.0) & (y == np.inf), -np.inf, found)
    return jnp.where((x == 0.0) | (y == 0.0), np.inf, found)


def beta(a: Any, b: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b)"""
    sign = sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b)
    return sign * jnp.exp(betaln(a, b))
