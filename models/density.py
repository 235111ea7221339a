"""Log-densities of a flat vector of real numbers: what samplers and optimisers ask of every model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from probdiff.distributions.parameters import unchecked
from probdiff.errors import ShapeError
from probdiff.models.layout import Layout
from probdiff.models.rows import Rows
from probdiff.tree import Array

# Stan's habit: a start within two units of the origin in every unconstrained coordinate.
START_RADIUS = 2.0


class FlatDensity:
    """A model with a `layout`, a `logdensity(q)` and the values `located(q)`, both of which can be traced.

    From these come the gradient, Hessian-vector products, and the way from coordinates to named values.
    """

    layout: Layout

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: all but programs, which it compiles itself."""
        kind = type(self)
        return {name: x for name, x in vars(self).items() if type(getattr(kind, name, None)) is not cached_property}

    @property
    def dim(self) -> int:
        """The number of unconstrained coordinates."""
        return self.layout.dim

    def check_sampleable(self) -> None:
        """UnsupportedError if Hamiltonian Monte Carlo cannot move every parameter."""
        raise NotImplementedError

    def logdensity(self, q: Array) -> Array:
        """The log-density of the unconstrained vector `q`. It can be traced."""
        raise NotImplementedError

    def located(self, q: Array) -> dict[str, Any]:
        """The named values at `q`. It can be traced."""
        raise NotImplementedError

    def log_jacobian(self, q: Array) -> Array:
        """The log-Jacobians that `logdensity` has for the supports of the variables, summed. It can be traced."""
        raise NotImplementedError

    @cached_property
    def without_jacobian(self) -> FlatDensity:
        """The density of the values themselves, at the same coordinates: its mode is that of the constrained values."""
        return WithoutJacobian(self)

    def check_vector(self, q: Array, owner: str) -> None:
        """Refuse a vector of another length, in the name of `owner`."""
        if q.shape != (self.dim,):
            raise ShapeError(f"{owner} needs a vector of length {self.dim}, got shape {q.shape}.")

    def value_and_grad(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-density of `q` and its gradient, from one compiled program."""
        value, gradient = self.compiled(q)
        return float(value), gradient

    def gradient(self, q: np.ndarray) -> np.ndarray:
        """The gradient of the log-density at `q`."""
        return self.value_and_grad(q)[1]

    def hvp(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The Hessian of the log-density at `q`, times the vector `v`, from one compiled program."""
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        self.check_vector(q, "hvp")
        self.check_vector(v, "hvp")
        result: np.ndarray = self.compiled_hvp(q, v)
        return result

    @cached_property
    def compiled(self) -> Any:
        """The compiled program of value and gradient, made at its first use."""
        from probdiff import compile, value_and_grad

        self.check_sampleable()
        return compile(value_and_grad(self.logdensity))

    @property
    def address(self) -> int:
        """The address of a C function of the log-density and its gradient; see `Compiled.address`."""
        return int(self.compiled.record(np.zeros(self.dim)).address)

    @cached_property
    def compiled_hvp(self) -> Any:
        """The compiled program of Hessian-vector products, made at its first use."""
        from probdiff import compile, hvp

        self.check_sampleable()
        return compile(hvp(self.logdensity))

    @cached_property
    def located_rows(self) -> Rows:
        """`located` over many vectors, compiled at its first use."""
        return Rows(self.located, 2 * self.dim)

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """A starting point: uniform in (-2, 2) for each unconstrained coordinate. Its density is not looked at."""
        self.check_sampleable()
        return rng.uniform(-START_RADIUS, START_RADIUS, self.dim)

    def constrain(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """The named values at the unconstrained vector `q`, derived ones included."""
        q = np.asarray(q, dtype=float)
        self.check_vector(q, "constrain")
        self.check_sampleable()
        with np.errstate(all="ignore"), unchecked():
            return {name: np.asarray(value) for name, value in self.located(q).items()}

    def constrain_many(self, Q: np.ndarray) -> dict[str, np.ndarray]:
        """The same for each vector along the last axis of `Q`, which may have any leading axes."""
        Q = np.asarray(Q, dtype=float)
        if Q.ndim == 0 or Q.shape[-1] != self.dim:
            raise ShapeError(f"constrain_many needs vectors of length {self.dim}, got shape {Q.shape}.")
        self.check_sampleable()
        lead, rows = Q.shape[:-1], Q.reshape(-1, self.dim)
        if len(rows) == 0:
            one = self.constrain(np.zeros(self.dim))
            return {name: np.zeros(lead + np.shape(value)) for name, value in one.items()}
        found: Mapping[str, np.ndarray] = self.located_rows(rows)
        return {name: array.reshape(lead + array.shape[1:]) for name, array in found.items()}


class WithoutJacobian(FlatDensity):
    """log p of the values, as a function of the unconstrained vector: no density of the latter, but its maximum counts.

    A variable that is wrapped as `noncentered` or `transport` counts by its standardised variable. The length of a
    direction's coordinates is pinned to one, where the value is that of the density.
    """

    def __init__(self, model: FlatDensity) -> None:
        self.model = model
        self.layout = model.layout

    def check_sampleable(self) -> None:
        """As the model."""
        self.model.check_sampleable()

    def logdensity(self, q: Array) -> Array:
        """The model's log-density without its log-Jacobians. It can be traced."""
        with np.errstate(all="ignore"), unchecked():
            return self.model.logdensity(q) - self.model.log_jacobian(q)

    def located(self, q: Array) -> dict[str, Any]:
        """As the model."""
        return self.model.located(q)
