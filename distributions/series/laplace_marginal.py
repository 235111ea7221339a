"""LaplaceMarginal: observations of a latent normal vector, which is integrated out by Laplace's approximation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.control import while_loop
from probdiff.ad.transforms import pushforward, stop_gradient
from probdiff.distributions.base import Distribution
from probdiff.distributions.multivariate.mv_normal import MvNormal
from probdiff.distributions.support import Support
from probdiff.distributions.wrappers.combined import Combined, name_of
from probdiff.distributions.wrappers.product import Sets
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, map_leaves

__all__ = ["LaplaceMarginal"]

MOST = 100  # steps of Newton's method; a dozen is usual
HALVINGS = 12


class LaplaceMarginal(Combined):
    """log p(y) ≈ Σ log p(y_i | f_i) + log N(f; loc, K) + n/2 log 2π - 1/2 log det(K⁻¹ + W) at the f of the maximum,

    W the diagonal of -d² log p(y_i | f_i) / df_i²: exact where the observations are normal.

    latent      MvNormal(loc, …) of f
    likelihood  a function of f and args, which returns the distribution of y; each y_i depends on its own f_i alone
    args        further arguments of likelihood, a tuple of numbers or of vectors like f

    The maximum is found by Newton's steps, which are halved where they do not climb; derivatives are those of the
    approximation itself, by one more step that is differentiated. y is one vector.

    Rasmussen & Williams, Gaussian Processes for Machine Learning, ch. 3.4; Margossian, Vehtari, Simpson & Agrawal,
    Hamiltonian Monte Carlo using an adjoint-differentiated Laplace approximation, NeurIPS 2020.
    """

    latent: Any
    likelihood: Any
    args: Any = ()

    static = ("likelihood",)

    def check_parts(self) -> None:
        if not isinstance(self.latent, MvNormal) or self.latent.batch_shape:
            raise UnsupportedError(f"LaplaceMarginal.latent must be one MvNormal, got {name_of(self.latent)}.")

    @property
    def event_shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.latent.event_shape
        return shape

    @property
    def support(self) -> Support:
        ends = self.given(self.latent.loc).support
        return Sets("sets", ends.rule, ends.lower, ends.upper, (ends,))

    def given(self, f: Array) -> Distribution:
        """The distribution of the observations, given the latent vector."""
        found: Distribution = self.likelihood(f, *self.args)
        return found

    def logpdf(self, x: Array) -> Array:
        problem = Whitened(self.latent.loc, self.latent.factor(), lambda f: self.given(f).logpdf(x))
        z = problem.step(self._start(x))
        log_det = 2 * np.sum(np.log(np.linalg.diagonal(problem.root(z))), axis=-1)
        return problem.height(z) - 0.5 * log_det

    def latent_given(self, y: Array) -> MvNormal:
        """The normal approximation of the latent vector, given the observations."""
        from probdiff.linalg import solve_triangular

        with np.errstate(all="ignore"):
            factor = self.latent.factor()
            problem = Whitened(self.latent.loc, factor, lambda f: self.given(f).logpdf(y))
            z = problem.step(self._start(y))
            half = solve_triangular(problem.root(z), np.swapaxes(factor, -1, -2))
        return MvNormal(self.latent.loc + factor @ z, covariance=half.T @ half)

    def _start(self, y: Array) -> Array:
        """The z of the maximum, as a constant."""

        def constant(leaf: Any) -> Any:
            return stop_gradient(leaf) if is_lifted(leaf) else leaf

        fixed, y = map_leaves(constant, self), constant(y)
        problem = Whitened(fixed.latent.loc, fixed.latent.factor(), lambda f: fixed.given(f).logpdf(y))
        return constant(problem.climbed())

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.given(self.latent.draw(shape, rng)).draw((*shape, *self.event_shape), rng)


class Whitened:
    """The log-density of z, f = loc + L z, and observations whose log-likelihood is given entry by entry."""

    def __init__(self, loc: Array, factor: Array, log_likelihood: Callable[[Array], Array]) -> None:
        self.loc, self.factor, self.log_likelihood = loc, factor, log_likelihood

    def height(self, z: Array) -> Array:
        return np.sum(self.log_likelihood(self.loc + self.factor @ z)) - 0.5 * np.sum(z * z)

    def slopes(self, z: Array) -> tuple[Array, Array]:
        """The first and the negative second derivatives of the log-likelihood in f."""
        f = self.loc + self.factor @ z
        one = np.ones(f.shape)

        def first(f: Array) -> Array:
            return pushforward(self.log_likelihood, f)(one)

        return first(f), -pushforward(first, f)(one)

    def root(self, z: Array) -> Array:
        """The Cholesky factor of the negative second derivatives in z, 1 + L' W L."""
        return self._root(self.slopes(z)[1])

    def step(self, z: Array) -> Array:
        """A step of Newton's method."""
        return z + self._direction(z, *self.slopes(z))

    def _root(self, weight: Array) -> Array:
        weighted = np.expand_dims(weight, -1) * self.factor
        return np.linalg.cholesky(np.eye(weight.shape[0]) + np.swapaxes(self.factor, -1, -2) @ weighted)

    def _direction(self, z: Array, slope: Array, weight: Array) -> Array:
        from probdiff.linalg import solve_triangular

        root = self._root(weight)
        half = solve_triangular(root, np.swapaxes(self.factor, -1, -2) @ slope - z)
        return solve_triangular(root, half, transpose=True)

    def climbed(self) -> Array:
        """The z of the maximum, from 0."""

        def going(carry: Any) -> Any:
            _, _, gain, count = carry
            return (gain > 1e-14) & (count < MOST)

        def climb(carry: Any) -> Any:
            z, height, _, count = carry
            slope, weight = self.slopes(z)
            move = self._direction(z, slope, np.maximum(weight, 0.0))
            best, best_height = z, height
            share = 1.0
            for _ in range(HALVINGS):
                tried = z + share * move
                new = self.height(tried)
                better = (new > best_height) & (best_height == height)
                best, best_height = np.where(better, tried, best), np.where(better, new, best_height)
                share = 0.5 * share
            gain = (best_height - height) / (1 + abs(height))
            return best, best_height, gain, count + 1.0

        z = 0.0 * self.loc
        return while_loop(going, climb, (z, self.height(z), np.float64(1.0), np.float64(0.0)))[0]
