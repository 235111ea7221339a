"""The curvature of a log-density at a point: its exact Hessian, and what a Gaussian of that shape needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import LinAlgError, UnsupportedError
from probdiff.sampling.kernel import Vector

FLAT = 1e-12
"""Eigenvalues of a matrix with unit diagonal that are below it cannot be told from rounding."""
SHOWN = 4
Matrix = NDArray[np.float64]


def hessian(density: Any, q: Vector, owner: str) -> Matrix:
    """The Hessian of the log-density at `q`, a column for each product with a unit vector."""
    if not hasattr(density, "hvp"):
        raise UnsupportedError(
            f"{owner} needs second derivatives, and {type(density).__name__} has no hvp. "
            "Build a Posterior or a LogDensity."
        )
    columns = np.array([density.hvp(q, unit) for unit in np.eye(len(q))])
    symmetric: Matrix = 0.5 * (columns + columns.T)
    return symmetric


class Curvature:
    """The precision P = -H of a Gaussian of this shape, as D^-1 V diag(w) V' D^-1.

    D makes the diagonal of D P D one in magnitude, so that units do not count when an eigenvalue w is called small.
    """

    def __init__(self, hessian: Matrix, names: Sequence[str]) -> None:
        if not np.all(np.isfinite(hessian)):
            bad = [name for name, row in zip(names, hessian, strict=True) if not np.all(np.isfinite(row))]
            raise LinAlgError(f"The Hessian is not finite in {', '.join(bad[:SHOWN])}. Check the model there.")
        self.names = names
        diagonal = np.abs(np.diag(hessian))
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        self.w, self.v = np.linalg.eigh(-hessian * self.scale[:, None] * self.scale)

    @property
    def is_positive(self) -> bool:
        """Whether the density curves down in every direction."""
        return bool(self.w[0] > FLAT)

    def ascent(self, grad: Vector) -> Vector:
        """The Newton step P^-1 grad, with |w| for w: it leads uphill also where the density curves up."""
        along = self.v.T @ (self.scale * grad)
        step: Vector = self.scale * (self.v @ (along / np.maximum(np.abs(self.w), FLAT)))
        return step

    def covariance(self) -> Matrix:
        """P^-1."""
        half = self.half()
        return half @ half.T

    def half(self) -> Matrix:
        """A square root A of the covariance, A A' = P^-1."""
        root: Matrix = self.scale[:, None] * self.v / np.sqrt(self.w)
        return root

    def log_determinant(self) -> float:
        """log det P."""
        return float(np.sum(np.log(self.w)) - 2.0 * np.sum(np.log(self.scale)))

    def flat_direction(self) -> str:
        """The coordinates that the least curved direction is made of, and which way it bends."""
        direction = self.v[:, 0]
        order = np.argsort(-np.abs(direction))
        most = np.abs(direction[order[0]])
        named = [self.names[k] for k in order if np.abs(direction[k]) > 0.3 * most]
        shown = ", ".join(named[:SHOWN]) + (", ..." if len(named) > SHOWN else "")
        bends = "rises to both sides" if self.w[0] < -FLAT else "is flat"
        return f"{bends} along {shown}" + (" (together)" if len(named) > 1 else "")
