"""The metric: a linear map that makes the density round, and how warm-up learns it from draws and gradients.

Inverse mass M^-1 = L L' with L = diag(scale) (I + V' diag(stretch) V), rows of V orthonormal. Momenta are those of the
round coordinates, r = L' p, standard normal whatever the metric: positions move along L r, and gradients g push r by
L' g. Nothing else in a trajectory knows of the metric.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probdiff.sampling.kernel import Vector
from probdiff.tree import Array

Matrix = NDArray[np.float64]


class Metric(NamedTuple):
    """scale (dim,), V (most, dim), stretch (most,), and the number of rows of V that count: the others are zero.

    Most is fixed, so that one program serves every rank; without correlation the rank is 0.
    """

    scale: Array
    vectors: Array
    stretch: Array
    rank: Array

    @classmethod
    def diagonal(cls, scale: Vector, most: int = 1) -> Metric:
        """L = diag(scale)"""
        return cls(scale, np.zeros((most, len(scale))), np.zeros(most), np.array(0))

    def spread(self, r: Matrix) -> Matrix:
        """L r for each row of r."""
        moved: Matrix = self.scale * self._stretched(r, self.stretch)
        return moved

    def pull(self, g: Matrix) -> Matrix:
        """L' g for each row of g."""
        return self._stretched(self.scale * g, self.stretch)

    def unpull(self, f: Matrix) -> Matrix:
        """The gradients, rows g, of rows L' g."""
        grad: Matrix = self._stretched(f, -self.stretch / (1 + self.stretch)) / self.scale
        return grad

    def _stretched(self, x: Matrix, stretch: Vector) -> Matrix:
        rows = self.vectors[: self.rank]
        y: Matrix = x + ((x @ rows.T) * stretch[: self.rank]) @ rows
        return y


KINDS = ("auto", "diagonal", "low_rank", "dense")
SCALE_MIN, SCALE_MAX = 1e-10, 1e10
PSEUDO_DRAWS = 5
"""Draws that the ratio of the variances of draws and gradients is worth beside the variance of draws."""
RIDGE = 1e-5
"""Share of the diagonal metric in the estimate of correlations, so that nothing is divided by zero."""
WIDTH = 2.0
"""A direction counts as correlated if its variance is this many times larger or smaller than without correlation."""
MOST = 128
"""Most directions of a metric that is not dense."""
EXTREME = 1e6
"""The largest variance of a correlated direction: gradients are to come back from round coordinates with six digits."""
THREADED = 32
"""Dimensions from which libraries of linear algebra use threads."""
GRADIENT = 64
"""What a gradient costs, counted in rows of the metric; cheap densities are about there."""


def most_directions(kind: str, dim: int) -> int:
    """The number of correlated directions that a metric of this kind has room for."""
    return {"diagonal": 1, "dense": dim}.get(kind, min(dim, MOST))


def learn(q: Matrix, grad: Matrix, kind: str, first: bool, old: Metric) -> Metric:
    """The metric from a window of draws and gradients, rows (n, dim).

    first  whether the window is the first, so that its draws may still be on their way in
    old    the metric before, whose scale coordinates keep which did not move
    """
    usable = np.isfinite(q).all(axis=1) & np.isfinite(grad).all(axis=1)
    q, grad = q[usable], grad[usable]
    if len(q) < 2:
        return old
    scale = scales(q, grad, first, old.scale)
    metric = Metric.diagonal(scale, len(old.stretch))
    if kind == "diagonal":
        return metric
    try:
        with one_thread(len(scale)):
            variance, vectors = spectrum((q - q.mean(axis=0)) / scale, (grad - grad.mean(axis=0)) * scale)
    except np.linalg.LinAlgError:  # gradients so large that nothing can be told from them
        return metric
    order = np.argsort(-np.abs(np.log(variance)))[: len(old.stretch)]
    rank = len(order) if kind == "dense" else worthwhile(variance[order])
    order = order[:rank]
    metric.vectors[:rank] = vectors[:, order].T
    metric.stretch[:rank] = np.sqrt(variance[order]) - 1
    return metric._replace(rank=np.array(rank))


@contextmanager
def one_thread(dim: int) -> Iterator[None]:
    """Keep NumPy's linear algebra to one thread, where matrices are so large that it would take more.

    Its threads spin while they wait for each other; with chains in threads of their own that takes a hundred times as
    long as the work. One chain at a time, for the number of threads is that of the process.
    """
    if dim < THREADED:
        yield
        return
    with _taking_turns, _thread_pools().limit(limits=1, user_api="blas"):
        yield


_taking_turns = threading.Lock()


@functools.cache
def _thread_pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def worthwhile(variance: Vector) -> int:
    """How many of these variances, sorted by how far they are from one, deserve a row in the metric.

    A trajectory takes steps as short as the narrowest direction and goes as far as the widest, so their number goes
    with the square root of the ratio of the variances that remain, while rows make each step dearer.
    """
    logs = np.append(np.log(variance), 0.0)[::-1]
    spread = (np.maximum.accumulate(logs) - np.minimum.accumulate(logs))[::-1]  # after the first k have gone
    cost = np.log(GRADIENT + np.arange(len(spread))) + spread / 2
    notable = int(np.count_nonzero(np.abs(np.log(variance)) > np.log(WIDTH)))
    return min(int(np.argmin(cost)), notable)


def scales(q: Matrix, grad: Matrix, first: bool, old: Vector) -> Vector:
    """Standard deviations of the draws, held by those of the gradients."""
    var, var_grad = (np.var(x, axis=0, ddof=1) for x in (q, grad))
    found = np.sqrt(held(var, var_grad, len(q), first))
    usable = np.isfinite(found) & (found > 0)
    return np.clip(np.where(usable, found, old), SCALE_MIN, SCALE_MAX)


def held(var: Vector, var_grad: Vector, n: int, first: bool) -> Vector:
    """Variances of n draws, held by 5 pseudo-draws of sqrt(var q / var grad).

    The ratio is the variance of a Gaussian however little of it has been seen; the first window uses it alone.
    """
    ratio = np.where(var_grad > 0, np.sqrt(var / np.where(var_grad > 0, var_grad, 1.0)), var)
    weight = 0.0 if first else n / (n + PSEUDO_DRAWS)
    mixed: Vector = weight * var + (1 - weight) * ratio
    return mixed


def spectrum(x: Matrix, g: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues and orthonormal eigenvectors of a covariance S from standardised draws and gradients, rows (n, dim).

    S is the geometric mean of the covariance of the draws and the inverse of that of the gradients, S G S = C, which
    makes both equal in round coordinates. For a Gaussian it is exact as soon as there are more draws than dimensions.
    Directions that neither draws nor gradients span have variance one and are left out.
    """
    n, dim = x.shape
    basis = np.eye(dim)
    if 2 * n < dim:
        basis = np.linalg.qr(np.concatenate([x, g]).T)[0]
        x, g = x @ basis, g @ basis
    unit = RIDGE * np.eye(x.shape[1])
    value, vector = np.linalg.eigh((1 - RIDGE) * (g.T @ g) / n + unit)
    value = np.maximum(value, RIDGE)  # which rounding may have lost beside large ones
    root = (vector * np.sqrt(value)) @ vector.T
    inner, turn = np.linalg.eigh(root @ ((1 - RIDGE) * (x.T @ x) / n + unit) @ root)
    half = (vector / np.sqrt(value)) @ (vector.T @ (turn * np.maximum(inner, 0.0) ** 0.25))
    variance, left = np.linalg.eigh(half @ half.T)
    return np.clip(variance, 1 / EXTREME, EXTREME), basis @ left
