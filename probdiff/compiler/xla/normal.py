"""The scaled error function and the normal distribution, in plain arithmetic that XLA fuses.

The polynomials are those of the native backend's `vectormath.error_function`; exponentials and logarithms are JAX's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.compiler.formulas.polynomials import polynomial
from probdiff.compiler.native.vectormath.coefficients import ERFCX, ERFCX_LOSS, NDTRI, NDTRI_TAIL
from probdiff.compiler.native.vectormath.error_function import CENTRE, SQRT_HALF, SQRT_INVERSE_PI
from probdiff.compiler.xla.library import jnp


def erfcx_positive(x: Any) -> Any:
    """exp(x²) erfc(x) for x >= 0."""
    x = jnp.minimum(x, 1e15)
    a, b = x + CENTRE, 2.0 * x + 1.0
    return polynomial((x - CENTRE) / a, ERFCX) / b


def exp_of_minus_square(x: Any, factor: float) -> Any:
    """exp(-factor x²), the square of 20 leading bits apart from the rest, so that no digits are lost."""
    high = jnp.rint(x * 64.0) / 64.0
    low = x - high
    y = jnp.exp(-factor * high * high) * jnp.exp(-factor * low * (x + high))
    return jnp.where(jnp.abs(x) < 1e3, y, jnp.where(jnp.isnan(x), x, 0.0))


def erfcx(x: Any) -> Any:
    """exp(x²) erfc(x)"""
    y = erfcx_positive(jnp.abs(x))
    z = jnp.clip(x, -27.0, 0.0)
    large = SQRT_INVERSE_PI / jnp.where(x > 1e8, x, 1.0)
    return jnp.where(x < 0.0, 2.0 / exp_of_minus_square(z, 1.0) - y, jnp.where(x > 1e8, large, y))


def ierfcx(x: Any) -> Any:
    """1 / sqrt(pi) - x erfcx(x), the integral of erfc from x on, times exp(x²)."""
    a = jnp.minimum(jnp.abs(x), 1e15)
    b = 2.0 * a + 1.0
    y = polynomial((a - CENTRE) / (a + CENTRE), ERFCX_LOSS) / b / b
    y = jnp.where(x > 1e15, 0.5 * SQRT_INVERSE_PI / x / x, y)
    return jnp.where(x < 0.0, SQRT_INVERSE_PI - x * erfcx(x), y)


def erfc(x: Any) -> Any:
    """1 - erf(x)"""
    y = exp_of_minus_square(x, 1.0) * erfcx_positive(jnp.abs(x))
    return jnp.where(x < 0.0, 2.0 - y, y)


def ndtr(x: Any) -> Any:
    """The standard normal distribution function."""
    y = 0.5 * exp_of_minus_square(x, 0.5) * erfcx_positive(SQRT_HALF * jnp.abs(x))
    return jnp.where(x > 0.0, 1.0 - y, y)


def log_ndtr(x: Any) -> Any:
    """log(erfcx(-x / sqrt(2)) / 2) - x² / 2, and log1p(-ndtr(-x)) for x > 0."""
    y = 0.5 * erfcx_positive(SQRT_HALF * jnp.abs(x))
    return jnp.where(x > 0.0, jnp.log1p(-y * exp_of_minus_square(x, 0.5)), jnp.log(y) - 0.5 * x * x)


def quantile(q: Any, tail: Any) -> Any:
    """The standard normal quantile of 1/2 + q, where tail = 1/2 - |q|.

    |q| < 0.4125: q p(q² / (0.4 - q²));  beyond: r + p((r - 8) / (r + 8)),  r = sqrt(-2 log(tail)).
    """
    w = q * q
    central = jnp.abs(q) < 0.4125
    r = jnp.sqrt(-2.0 * jnp.log(jnp.where(central, 0.25, tail)))
    t = jnp.where(central, w, r - 8.0) / jnp.where(central, 0.4 - w, r + 8.0)
    x = jnp.where(tail == 0.0, np.inf, r + polynomial(t, NDTRI_TAIL))
    return jnp.where(central, q * polynomial(t, NDTRI), jnp.copysign(x, q))


def ndtri(p: Any) -> Any:
    """The x with ndtr(x) = p; NaN outside [0, 1]."""
    return quantile(p - 0.5, jnp.where(p < 0.5, p, 1.0 - p))


def erfinv(y: Any) -> Any:
    """The x with erf(x) = y; NaN outside [-1, 1]."""
    return SQRT_HALF * quantile(0.5 * y, 0.5 - 0.5 * jnp.abs(y))


def erfcinv(y: Any) -> Any:
    """The x with erfc(x) = y; NaN outside [0, 2]."""
    return -SQRT_HALF * quantile(0.5 * y - 0.5, jnp.where(y < 1.0, 0.5 * y, 1.0 - 0.5 * y))
