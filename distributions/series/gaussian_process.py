"""Gaussian and Student-t processes: random functions, seen at some places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from probdiff.distributions.multivariate.mv_normal import MvNormal
from probdiff.distributions.multivariate.mv_student_t import MvStudentT
from probdiff.tree import Array

__all__ = ["GaussianProcess", "StudentTProcess"]


@dataclass(frozen=True)
class GaussianProcess:
    """A random function whose values at any places are jointly normal.

    kernel  the covariance: a function of two arrays of places, as those of `probdiff.distributions.series.kernels`
    noise   standard deviation of an observation about the function
    mean    of the function: a number, or a function of the places
    jitter  added to variances, so that covariances of values close to each other stay positive definite

    Places are arrays of shape (n,) or (n, dimensions).
    Rasmussen & Williams, Gaussian Processes for Machine Learning, ch. 2.
    """

    kernel: Any
    noise: Any = 0.0
    mean: Any = 0.0
    jitter: float = 1e-10

    def at(self, places: Array) -> MvNormal:
        """The distribution of observations at `places`: the marginal likelihood of the kernel's parameters."""
        return MvNormal(mean_at(self.mean, places), self.factor(places), check=False)

    def given(self, places: Array, y: Array, new: Array) -> MvNormal:
        """The distribution of the function at `new` places, given observations `y` at `places`."""
        loc, scale_tril, _ = self.conditioned(places, y, new)
        return MvNormal(loc, scale_tril, check=False)

    def factor(self, places: Array) -> Array:
        """The Cholesky factor of the covariance of observations."""
        noise = self.noise * self.noise + self.jitter
        return np.linalg.cholesky(self.kernel(places, places) + noise * np.eye(places.shape[0]))

    def conditioned(self, places: Array, y: Array, new: Array) -> tuple[Array, Array, Array]:
        """Mean and Cholesky factor of the function at `new` places, and the squared length of `y`, standardised."""
        from probdiff.linalg import solve_triangular

        factor = self.factor(places)
        w = solve_triangular(factor, y - mean_at(self.mean, places), lower=True)
        half = solve_triangular(factor, self.kernel(places, new), lower=True)
        rest = self.kernel(new, new) - half.T @ half + self.jitter * np.eye(new.shape[0])
        return mean_at(self.mean, new) + half.T @ w, np.linalg.cholesky(rest), np.sum(w * w)


@dataclass(frozen=True)
class StudentTProcess:
    """A random function whose values at any places are jointly t-distributed.

    df       degrees of freedom
    process  the GaussianProcess whose covariance is the scale matrix; its noise is t-distributed with the function

    Shah, Wilson & Ghahramani (2014), Student-t processes as alternatives to Gaussian processes.
    """

    df: Any
    process: GaussianProcess

    def at(self, places: Array) -> MvStudentT:
        """The distribution of observations at `places`."""
        return MvStudentT(self.df, mean_at(self.process.mean, places), self.process.factor(places), check=False)

    def given(self, places: Array, y: Array, new: Array) -> MvStudentT:
        """The distribution of the function at `new` places, given observations `y` at `places`."""
        loc, scale_tril, square = self.process.conditioned(places, y, new)
        df = self.df + places.shape[0]
        return MvStudentT(df, loc, np.sqrt((self.df + square) / df) * scale_tril, check=False)


def mean_at(mean: Any, places: Array) -> Array:
    """The mean of the function, as a vector."""
    return (mean(places) if callable(mean) else mean) + np.zeros(places.shape[0])
