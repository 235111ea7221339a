"""SciPy's special functions in JAX: JAX's own, or our formulas where it has none or loses digits.

Rows that are neither here nor in `elementwise` have a formula, in `compiler.formulas`, or are evaluated on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.xla import gamma, normal
from probdiff.compiler.xla.library import jnp, jsp


def expit(x: Any) -> Any:
    """1 / (1 + exp(-x))"""
    e = jnp.exp(-jnp.abs(x))
    return jnp.where(x >= 0.0, 1.0, e) / (1.0 + e)


def log_expit(x: Any) -> Any:
    """-log(1 + exp(-x))"""
    return jnp.minimum(x, 0.0) - jnp.log1p(jnp.exp(-jnp.abs(x)))


def logit(p: Any) -> Any:
    """log(p / (1 - p)), by the distance from 1/2 where that is small."""
    s = jnp.where(jnp.abs(p - 0.5) < 0.25, 2.0 * (p - 0.5), 0.0)
    return jnp.where(jnp.abs(p - 0.5) < 0.25, jnp.log1p(s) - jnp.log1p(-s), jnp.log(p) - jnp.log1p(-p))


def xlogy(x: Any, y: Any) -> Any:
    """x log y, 0 where x is 0."""
    return jnp.where((x == 0.0) & ~jnp.isnan(y), 0.0, x * jnp.log(y))


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), 0 where x is 0."""
    return jnp.where((x == 0.0) & ~jnp.isnan(y), 0.0, x * jnp.log1p(y))


def entr(x: Any) -> Any:
    """-x log x; 0 at 0, -inf below."""
    return jnp.where(x == 0.0, 0.0, jnp.where(x < 0.0, -np.inf, -x * jnp.log(x)))


def _divergence(x: Any, y: Any, inside: Any, at_zero: Any) -> Any:
    positive = (x > 0.0) & (y > 0.0)
    unknown = jnp.isnan(x) | jnp.isnan(y)
    outside = jnp.where((x == 0.0) & (y >= 0.0), at_zero, jnp.where(unknown, x + y, np.inf))
    return jnp.where(positive, inside, outside)


def _log_ratio(x: Any, y: Any) -> Any:
    """log(x / y), also where the quotient leaves the range of normal numbers."""
    ratio = x / y
    normal_number = (ratio > 2.3e-308) & (ratio < np.inf)
    return jnp.where(normal_number, jnp.log(ratio), jnp.log(x) - jnp.log(y))


def rel_entr(x: Any, y: Any) -> Any:
    """x log(x / y)"""
    return _divergence(x, y, x * _log_ratio(x, y), 0.0)


def kl_div(x: Any, y: Any) -> Any:
    """x log(x / y) - x + y"""
    return _divergence(x, y, x * _log_ratio(x, y) - x + y, y)


def exprel(x: Any) -> Any:
    """(exp(x) - 1) / x"""
    small = jnp.abs(x) < 1e-16
    value = jnp.expm1(x) / jnp.where(small, 1.0, x)
    return jnp.where(small, 1.0, jnp.where(x == np.inf, np.inf, value))


def cosm1(x: Any) -> Any:
    """cos(x) - 1 = -2 sin²(x / 2)"""
    s = jnp.sin(0.5 * x)
    return -2.0 * s * s


def i0(x: Any) -> Any:
    """exp(|x|) i0e(x)"""
    return jnp.exp(jnp.abs(x)) * jsp.special.i0e(x)


def i1(x: Any) -> Any:
    """exp(|x|) i1e(x)"""
    return jnp.exp(jnp.abs(x)) * jsp.special.i1e(x)


SPECIAL: dict[str, Callable[..., Any]] = {
    "gammaln": gamma.gammaln,
    "gammaln_positive": gamma.gammaln_positive,
    "psi_positive": gamma.psi_positive,
    "trigamma_positive": gamma.trigamma_positive,
    "gamma": gamma.gamma,
    "rgamma": gamma.rgamma,
    "psi": gamma.psi,
    "polygamma": gamma.polygamma,
    "beta": gamma.beta,
    "betaln": gamma.betaln,
    "erf": jsp.special.erf,
    "erfc": normal.erfc,
    "erfcx": normal.erfcx,
    "ierfcx1": normal.ierfcx,
    "erfinv": normal.erfinv,
    "erfcinv": normal.erfcinv,
    "ndtr": normal.ndtr,
    "log_ndtr": normal.log_ndtr,
    "ndtri": normal.ndtri,
    "expit": expit,
    "logit": logit,
    "log_expit": log_expit,
    "xlogy": xlogy,
    "xlog1py": xlog1py,
    "entr": entr,
    "rel_entr": rel_entr,
    "kl_div": kl_div,
    "exprel": exprel,
    "cosm1": cosm1,
    "i0": i0,
    "i1": i1,
    "i0e": jsp.special.i0e,
    "i1e": jsp.special.i1e,
    "spence": jsp.special.spence,
}
