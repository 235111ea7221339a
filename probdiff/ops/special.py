"""SciPy's special functions as rows of the table; joins it when the first of them meets a lifted array."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.ops import incomplete_rows  # noqa: F401  (the rows of incomplete integrals join the table)
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise, row, rows
from probdiff.tree import Array

TWO_OVER_SQRT_PI = 2.0 / np.sqrt(np.pi)
SQRT_PI_OVER_2 = np.sqrt(np.pi) / 2.0
SQRT_2, SQRT_2_OVER_PI = np.sqrt(2.0), np.sqrt(2.0 / np.pi)
LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


def _density(x: Array) -> Array:
    return np.exp(-0.5 * x * x - LOG_SQRT_2PI)


# Families without a counterpart in SciPy, whose derivatives are of the next order. Machine code evaluates them.
def _by_formula(op: Elementwise, x: Any) -> Any:
    from probdiff.compiler.native.routine import evaluator

    return evaluator(op)(x).astype(x.dtype if getattr(x, "dtype", None) == np.float32 else float)


@functools.cache
def _ierfcx(n: int) -> Elementwise:
    """exp(x²) times the n-th repeated integral of erfc."""
    slope = lambda x, z: -2.0 * (n + 1) * apply(_ierfcx(n + 1), x)  # noqa: E731
    op = Elementwise(f"ierfcx{n}", lambda x: _by_formula(op, x), (slope,))
    return op


@functools.cache
def _exprel(n: int) -> Elementwise:
    """The n-th derivative of exprel, the integral of t^n exp(x t) over [0, 1]."""
    op = Elementwise(f"exprel{n}", lambda x: _by_formula(op, x), (lambda x, z: apply(_exprel(n + 1), x),))
    return op


# Gamma and beta
row("gammaln", sp.gammaln, dx=lambda x, z: sp.psi(x))
row("gamma", sp.gamma, dx=lambda x, z: z * sp.psi(x))
row("rgamma", sp.rgamma, dx=lambda x, z: -z * sp.psi(x))
row("psi", sp.psi, dx=lambda x, z: polygamma(1, x))
row(
    "beta",
    sp.beta,
    dx=lambda a, b, z: z * (sp.psi(a) - sp.psi(a + b)),
    dy=lambda a, b, z: z * (sp.psi(b) - sp.psi(a + b)),
)
row("betaln", sp.betaln, dx=lambda a, b, z: sp.psi(a) - sp.psi(a + b), dy=lambda a, b, z: sp.psi(b) - sp.psi(a + b))

# Error functions and the normal distribution
row("erf", sp.erf, dx=lambda x, z: TWO_OVER_SQRT_PI * np.exp(-x * x))
row("erfc", sp.erfc, dx=lambda x, z: -TWO_OVER_SQRT_PI * np.exp(-x * x))
row("erfcx", sp.erfcx, dx=lambda x, z: -2.0 * apply(_ierfcx(1), x))
row("erfinv", sp.erfinv, dx=lambda x, z: SQRT_PI_OVER_2 * np.exp(z * z))
row("erfcinv", sp.erfcinv, dx=lambda x, z: -SQRT_PI_OVER_2 * np.exp(z * z))
row("ndtr", sp.ndtr, dx=lambda x, z: _density(x))
row("log_ndtr", sp.log_ndtr, dx=lambda x, z: SQRT_2_OVER_PI / sp.erfcx(-x / SQRT_2))
row("ndtri", sp.ndtri, dx=lambda p, z: 1.0 / _density(z))

# Logistic and entropies
row("expit", sp.expit, dx=lambda x, z: z * sp.expit(-x))
row("logit", sp.logit, dx=lambda p, z: 1.0 / (p * (1.0 - p)))
row("log_expit", sp.log_expit, dx=lambda x, z: sp.expit(-x))
row("xlogy", sp.xlogy, dx=lambda x, y, z: np.log(y), dy=lambda x, y, z: _over(x, y))
row("xlog1py", sp.xlog1py, dx=lambda x, y, z: np.log1p(y), dy=lambda x, y, z: _over(x, 1.0 + y))
row("entr", sp.entr, dx=lambda x, z: -1.0 - np.log(x))
row("rel_entr", sp.rel_entr, dx=lambda x, y, z: 1.0 + np.log(x / y), dy=lambda x, y, z: -x / y)
row("kl_div", sp.kl_div, dx=lambda x, y, z: np.log(x / y), dy=lambda x, y, z: 1.0 - x / y)
row("exprel", sp.exprel, dx=lambda x, z: apply(_exprel(1), x))
row("cosm1", sp.cosm1, dx=lambda x, z: -np.sin(x))

# Bessel functions
row("i0", sp.i0, dx=lambda x, z: sp.i1(x))
row("i1", sp.i1, dx=lambda x, z: sp.i0(x) - _over(z, x, 0.5))
row("i0e", sp.i0e, dx=lambda x, z: sp.i1e(x) - np.sign(x) * z)
row("i1e", sp.i1e, dx=lambda x, z: sp.i0e(x) - np.sign(x) * z - _over(z, x, 0.5))
row("j0", sp.j0, dx=lambda x, z: -sp.j1(x))
row("j1", sp.j1, dx=lambda x, z: sp.j0(x) - _over(z, x, 0.5))
row("y0", sp.y0, dx=lambda x, z: -sp.y1(x))
row("y1", sp.y1, dx=lambda x, z: sp.y0(x) - z / x)
row("k0e", sp.k0e, dx=lambda x, z: z - sp.k1e(x))
row("k1e", sp.k1e, dx=lambda x, z: z - sp.k0e(x) - z / x)
row("kve", sp.kve, dy=lambda v, x, z: z - 0.5 * (sp.kve(v - 1, x) + sp.kve(v + 1, x)))
row("ive", sp.ive, dy=lambda v, x, z: 0.5 * (sp.ive(v - 1, x) + sp.ive(v + 1, x)) - np.sign(x) * z)
row("dawsn", sp.dawsn, dx=lambda x, z: 1.0 - 2.0 * x * z)
row("spence", sp.spence, dx=lambda x, z: _over(np.log(x), 1.0 - x))


# Special cases, each with its reason.
def _over(x: Array, y: Array, limit: float = 0.0) -> Array:
    """x / y, and `limit` where both are zero: 0 * log 0 has slope zero, i1(x)/x tends to a half."""
    both = (x == 0) & (y == 0)
    return np.where(both, limit, x / np.where(both, 1.0, y))


def _polygamma(n: Any, x: Any) -> Any:
    return np.where(np.equal(n, 0), sp.psi(x), (-1.0) ** (n + 1) * sp.gamma(n + 1.0) * sp.zeta(n + 1.0, x))


# scipy.special.polygamma is a Python function and does not dispatch; this is the row that psi differentiates to.
row("polygamma", _polygamma, None, lambda n, x, z: polygamma(n + 1, x))


def polygamma(n: Any, x: Array) -> Array:
    """The n-th derivative of psi; n is an integer and has no derivative."""
    return apply(rows["polygamma"], n, x)
