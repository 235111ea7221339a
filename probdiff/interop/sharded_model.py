"""A model whose log-density is evaluated where its data are, for whatever asks a model for value and gradient."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from probdiff.ad.jacobian import hvp
from probdiff.ad.transforms import value_and_grad
from probdiff.compiler.compiled import compile
from probdiff.compiler.xla.library import automatic, double, jax, jnp
from probdiff.errors import ParameterError, ShapeError
from probdiff.interop.placed import placed
from probdiff.interop.processes import on_each_device

SHARED = (
    "dim", "coordinate_names", "dims", "coords", "observed", "initial", "constrain", "constrain_many", "unconstrain",
    "located", "check_sampleable", "explain_point",
)  # fmt: skip
"""What it has from the model itself."""


class ShardedModel:
    """`posterior` with its data on the devices of a mesh, and the same names and coordinates.

    `value_and_grad(q)` and `hvp(q, v)` take and return NumPy's arrays; each is one program over all devices. Where
    these belong to several processes, all of them make the same calls in the same order.
    """

    def __init__(self, posterior: Any, mesh: Any = None, dtype: Any = np.float64) -> None:
        self.posterior = posterior
        found = placed(posterior, mesh, dtype)
        self.data = found.data
        self.mesh = None if mesh is None else automatic(mesh)

        def slope(q: Any, *data: Any) -> Any:
            return jax.value_and_grad(found.function)(q, *data)

        def both(points: Any, *data: Any) -> Any:
            return slope(points[0], *data), jnp.any(points != points[0])

        def product(points: Any, *data: Any) -> Any:
            q, v = points[0]
            return jax.jvp(lambda q: slope(q, *data)[1], (q,), (v,))[1], jnp.any(points != points[0])

        self._both, self._product = jax.jit(both), jax.jit(product)

    def __getattr__(self, name: str) -> Any:
        if name in SHARED:
            return getattr(self.posterior, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def value_and_grad(self, q: Any) -> tuple[float, np.ndarray]:
        """The log-density at the unconstrained vector q (dim,), and its gradient."""
        value, slope = self._call(self._both, self._vector(q))
        return float(value), np.array(slope)

    def hvp(self, q: Any, v: Any) -> np.ndarray:
        """The Hessian of the log-density at q times v."""
        return np.array(self._call(self._product, np.stack([self._vector(q), self._vector(v)])))

    @functools.cached_property
    def without_jacobian(self) -> WithoutJacobian:
        """The density of the values themselves, at the same coordinates: its mode is that of the constrained values."""
        return WithoutJacobian(self)

    def _vector(self, q: Any) -> np.ndarray:
        vector: np.ndarray = np.asarray(q, dtype=float)
        if vector.shape != (self.posterior.dim,):
            raise ShapeError(f"The log-density needs a vector of length {self.posterior.dim}, got {vector.shape}.")
        return vector

    def _call(self, program: Any, point: np.ndarray) -> Any:
        with double():
            points = point[None] if self.mesh is None else on_each_device(self.mesh, point)
            found, apart = program(points, *self.data)
            if apart:
                raise ParameterError(
                    "The processes ask for the log-density at different points. Let all make the same calls in the "
                    "same order; chains that take turns do not: give sample(..., chains=1)."
                )
        return found

    def __repr__(self) -> str:
        return f"ShardedModel({self.posterior!r}, on {1 if self.mesh is None else self.mesh.size} devices)"


class WithoutJacobian:
    """The log-density of a sharded model without its log-Jacobians, which read no data and are evaluated here."""

    def __init__(self, model: ShardedModel) -> None:
        self.model, self.dim = model, model.posterior.dim
        self._volume = compile(value_and_grad(model.posterior.log_jacobian))
        self._volume_product = compile(hvp(model.posterior.log_jacobian))

    def value_and_grad(self, q: Any) -> tuple[float, np.ndarray]:
        """The log-density at q (dim,), and its gradient."""
        (value, slope), (volume, its_slope) = self.model.value_and_grad(q), self._volume(q)
        return value - volume, slope - its_slope

    def hvp(self, q: Any, v: Any) -> np.ndarray:
        """The Hessian of the log-density at q times v."""
        found: np.ndarray = self.model.hvp(q, v) - self._volume_product(q, v)
        return found
