"""Gaussians whose covariance is a diagonal and a few directions more, as L-BFGS learns it on its way.

diag(α) + β γ β', with β = [diag(α) Z, S] from steps S and changes Z of the gradient of -log p (Byrd, Nocedal &
Schnabel 1994; Zhang, Carpenter, Gelman & Vehtari 2022, JMLR 23:306, section 3 and its algorithms 3 and 4).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probdiff.approximate.points import Point
from probdiff.sampling.kernel import Vector

Matrix = NDArray[np.float64]
LEAST_CURVATURE = 1e-12
"""A step counts if s'z is more than this times z'z: the density must curve down along it."""


@dataclass(frozen=True, eq=False)
class LowRankNormal:
    """The normal distribution of mean μ and covariance A (I + Q (L L' - I) Q') A, with A = diag(root)."""

    mean: Vector
    root: Vector
    q: Matrix
    lower: Matrix

    def draws(self, z: Matrix) -> Matrix:
        """μ + A (z + Q (L - I) Q' z) for each row z of standard normal numbers."""
        bent = (z @ self.q) @ (self.lower - np.eye(len(self.lower))).T
        found: Matrix = self.mean + self.root * (z + bent @ self.q.T)
        return found

    def logpdf(self, x: Matrix) -> Vector:
        """The log-density of each row of `x`."""
        from scipy.linalg import solve_triangular

        w = (x - self.mean) / self.root
        along = w @ self.q
        straight = solve_triangular(self.lower, along.T, lower=True).T
        w = w + (straight - along) @ self.q.T
        volume = np.sum(np.log(self.root)) + np.sum(np.log(np.diag(self.lower)))
        result: Vector = -0.5 * np.sum(w * w, axis=-1) - volume - 0.5 * len(self.mean) * math.log(2 * math.pi)
        return result


def along_path(points: Sequence[Point], history: int) -> Iterator[LowRankNormal | None]:
    """The Gaussian at each point of a path, from the last `history` steps to it; None where rounding has spoilt one."""
    alpha = np.ones_like(points[0].q)
    pairs: deque[tuple[Vector, Vector]] = deque(maxlen=history)
    for k, point in enumerate(points):
        if k > 0:
            s, z = point.q - points[k - 1].q, points[k - 1].grad - point.grad
            if s @ z > LEAST_CURVATURE * (z @ z):
                alpha = next_diagonal(alpha, s, z)
                pairs.append((s, z))
        yield gaussian(point, alpha, pairs)


def next_diagonal(alpha: Vector, s: Vector, z: Vector) -> Vector:
    """The diagonal after one more step (Gilbert & Lemaréchal 1989).

    1/α' = a/(b α) + z²/b - a s²/(b c α²),  a = z' diag(α) z,  b = z's,  c = s' diag(1/α) s
    """
    a, b, c = z @ (alpha * z), z @ s, s @ (s / alpha)
    following: Vector = 1.0 / (a / (b * alpha) + z * z / b - a * s * s / (b * c * alpha * alpha))
    return following


def gaussian(point: Point, alpha: Vector, pairs: Sequence[tuple[Vector, Vector]]) -> LowRankNormal | None:
    """With the inverse Hessian as covariance, and one Newton step from `point` as mean."""
    root = np.sqrt(alpha)
    if not np.all(np.isfinite(root)):
        return None
    s = np.array([pair[0] for pair in pairs]).reshape(-1, len(root)).T / root[:, None]
    z = np.array([pair[1] for pair in pairs]).reshape(-1, len(root)).T * root[:, None]
    q, r = np.linalg.qr(np.concatenate([z, s], axis=1))
    try:
        inner = np.eye(len(r)) + r @ compact(s, z) @ r.T
        lower = np.linalg.cholesky(0.5 * (inner + inner.T))
    except np.linalg.LinAlgError:
        return None
    slope = root * point.grad
    along = q.T @ slope
    mean = point.q + root * (slope + q @ (inner @ along - along))
    return LowRankNormal(mean, root, q, lower)


def compact(s: Matrix, z: Matrix) -> Matrix:
    """γ = [[0, -1/R], [-1/R', 1/R' (diag R + Z'Z) 1/R]], R the upper triangle of S'Z, all scaled to diag(α) = I."""
    upper = np.triu(s.T @ z)
    inverse = np.linalg.inv(upper)
    corner = inverse.T @ (np.diag(np.diag(upper)) + z.T @ z) @ inverse
    return np.block([[np.zeros_like(upper), -inverse], [-inverse.T, corner]])
