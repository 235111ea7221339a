"""Multivariate t: a normal vector over an independent estimate of its scale."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.special import gammaln, psi

from probdiff.distributions.multivariate.fitting import scatter_factor
from probdiff.distributions.multivariate.location_scale import LocationScale, divided, square
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI, stirling_error
from probdiff.distributions.support import (
    CovarianceMatrix,
    PositiveOrInfinite,
    PositiveVector,
    RealVector,
    TriangularFactor,
    real_vector,
)
from probdiff.errors import DataError
from probdiff.tree import Array

STEPS, CLOSE = 20_000, 1e-12


class MvStudentT(LocationScale):
    """p(x) = Γ((df + K) / 2) / (Γ(df / 2) (π df)^(K/2) det L) (1 + |w|² / df)^(-(df + K) / 2),  L w = x - loc.

    df              positive  degrees of freedom; infinity is the normal distribution
    loc             vector    median and mode
    scale_tril      L, lower triangular with positive diagonal; or scale_matrix = L L'
    precision_tril  in place of L: C, lower triangular, w = C' (x - loc); or precision = C C'
    scale_diag      in place of L: its diagonal, vector of positive numbers; the variables are uncorrelated, not
                    independent

    The covariance is df / (df - 2) times the scale matrix.

    Kotz & Nadarajah, Multivariate t Distributions and Their Applications, ch. 1.
    """

    df: PositiveOrInfinite
    loc: RealVector
    scale_tril: TriangularFactor = None
    precision_tril: TriangularFactor = None
    scale_diag: PositiveVector = None

    support = real_vector
    holds = ("df",)
    exclusive = ("scale_tril", "precision_tril", "scale_diag")
    relation = "loc and its scale of one length"

    @alternative
    def by_scale_matrix(scale_matrix: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril": np.linalg.cholesky(scale_matrix)}

    @alternative
    def by_precision(precision: CovarianceMatrix) -> dict[str, Any]:
        return {"precision_tril": np.linalg.cholesky(precision)}

    def logpdf(self, x: Array) -> Array:
        k = self.loc.shape[-1]
        h, c = 0.5 * self.df, 0.5 * k
        squares = self.squares(x - self.loc)
        # The ratio of gammas by their Stirling forms, whose large parts are subtracted by hand.
        ratio = (h + c - 0.5) * np.log1p(c / h) - c + stirling_error(h + c) - stirling_error(h)
        student = ratio - (h + c) * np.log1p(squares / self.df)
        return np.where(self.df == math.inf, -0.5 * squares, student) - self.log_scale() - k * HALF_LOG_2PI

    def mean(self) -> Array:
        return np.where(np.expand_dims(self.df, -1) > 1, self.loc, math.nan)

    def var(self) -> Array:
        return np.expand_dims(self._inflation(), -1) * self.scale_variances()

    def cov(self) -> Array:
        """The covariance matrix; NaN where df <= 2."""
        inflation = np.where(self.df > 2, self._inflation(), math.nan)
        return np.expand_dims(inflation, (-2, -1)) * square(self.factor())

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        k = self.loc.shape[-1]
        h, c = 0.5 * self.df, 0.5 * k
        ratio = gammaln(h + c) - gammaln(h) - c * np.log(math.pi * self.df)
        direct = (h + c) * (psi(h + c) - psi(h)) - ratio
        # From here on the differences of large terms are worse than the first term of the expansion.
        return np.where(self.df < 1e5, direct, k * (HALF_LOG_2PI + 0.5 + 1 / self.df)) + self.log_scale()

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        z = self.coloured(rng.standard_normal((*shape, *self.event_shape)))
        finite = np.where(self.df == math.inf, 1.0, self.df)
        spread = np.where(self.df == math.inf, 1.0, rng.standard_gamma(0.5 * finite, shape) / (0.5 * finite))
        return self.loc + z / np.sqrt(np.expand_dims(spread, -1))

    @classmethod
    def estimate(cls, x: Array, w: Array, df: float | None = None) -> Self:
        """The member of largest likelihood, or that of given `df`, by the steps of Kent, Tyler & Vardi (A curious
        likelihood identity for the multivariate t-distribution, 1994), and Liu & Rubin's for df (Statistica Sinica 5,
        1995). df is infinite where the observations have no heavier tails than normal ones.
        """
        loc = w @ x
        factor = scatter_factor(cls, x - loc, w)
        freedom, dim = 30.0 if df is None else float(df), x.shape[-1]
        for _ in range(STEPS):
            if df is None:
                freedom = _freedom(cls(1.0, loc, factor, check=False).squares(x - loc), w, dim)
            squares = cls(1.0, loc, factor, check=False).squares(x - loc)
            near = w if freedom == math.inf else w * (freedom + dim) / (freedom + squares)
            near = near / np.sum(near)
            new_loc = near @ x
            new_factor = scatter_factor(cls, x - new_loc, near)
            moved = np.max(abs(divided(factor, new_loc - loc))) + np.max(
                abs(divided(factor, new_factor.T).T - np.eye(dim))
            )
            loc, factor = new_loc, new_factor
            if moved < CLOSE:
                return cls(freedom, loc, factor)
        raise DataError(f"MvStudentT.fit found no maximum: the scale still changes after {STEPS} steps.")

    def _inflation(self) -> Array:
        enough = np.where(self.df > 2, self.df, math.inf)
        return np.where(self.df > 2, 1 / (1 - 2 / enough), np.where(self.df > 1, math.inf, math.nan))


def _freedom(squares: Array, w: Array, dim: int) -> float:
    """The degrees of freedom of largest likelihood of squared distances; infinite where it rises all the way."""
    from scipy.optimize import brentq

    def slope(u: float) -> float:
        """Twice the derivative of the log-likelihood in df."""
        df = math.exp(u)
        fall = (squares - dim) / (df + squares) - np.log1p(squares / df)
        return float(psi(0.5 * (df + dim)) - psi(0.5 * df) + np.sum(w * fall))

    grid = np.linspace(-4.0, 11.0, 31)  # beyond, the law is normal to the digits that data have
    slopes = [slope(u) for u in grid]
    for k, (left, right) in enumerate(zip(slopes[:-1], slopes[1:], strict=True)):
        if left > 0 >= right:
            return math.exp(brentq(slope, grid[k], grid[k + 1], xtol=1e-13))
    return math.inf if slopes[-1] > 0 else math.exp(grid[0])
