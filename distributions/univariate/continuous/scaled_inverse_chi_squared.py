"""Scaled inverse chi-squared: the conjugate prior of a variance, an inverse gamma distribution."""

from __future__ import annotations

from typing import Any

from probdiff.distributions.univariate.continuous.inverse_gamma import InverseGamma

__all__ = ["scaled_inverse_chi_squared"]


def scaled_inverse_chi_squared(df: Any, scale: Any = None) -> InverseGamma:
    """df scale² over a chi-squared variable with df degrees of freedom; without a scale, one over such a variable.

    Gelman et al., Bayesian Data Analysis, appendix A.
    """
    return InverseGamma(0.5 * df, 0.5 if scale is None else 0.5 * df * scale * scale)
