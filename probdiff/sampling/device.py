"""A model's density under XLA: where its arrays are, how chains are spread, and the programs made of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from probdiff.compiler.xla.library import automatic, jax, jnp
from probdiff.errors import ParameterError
from probdiff.sampling.kernel import State
from probdiff.sampling.target import Model

ROUNDING = 0.1
"""Errors of the log-density above it matter: the acceptance of a proposal is exp(-error)."""
CHECKED = 16
"""Most chains at whose places both precisions are compared."""
KEPT = 32
"""Programs that the process keeps; the one used longest ago goes first."""
_programs: dict[Any, Any] = {}


@dataclass(frozen=True)
class Plan:
    """What programs are made of: a log-density (q, *data), and the mesh and its axis over which chains are split."""

    function: Callable[..., Any]
    mesh: Any
    axis: str | None

    def value_and_grad(self, data: Any) -> Callable[[Any], tuple[Any, Any]]:
        """The density and its gradient as a transition calls them, the arrays of the model being `data`."""

        def call(q: Any) -> tuple[Any, Any]:
            value, grad = jax.value_and_grad(self.function)(q, *data)
            return value, grad

        return call

    def over_chains(self, f: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Any:
        """f(data, chains, settings), compiled; each device runs it for its own chains, without waiting for others.

        The first axis of each of `chains` and of the first result is that of chains, and the second one of each of the
        second result.
        """
        if self.axis is None:
            return jax.jit(f)
        each = jax.sharding.PartitionSpec(self.axis)
        row = jax.sharding.PartitionSpec(None, self.axis)
        none = jax.sharding.PartitionSpec()
        return jax.jit(
            jax.shard_map(
                f, mesh=self.mesh, in_specs=(none, each, none), out_specs=(each, row),
                axis_names={self.axis}, check_vma=False,
            )
        )  # fmt: skip


class Device:
    """The density of a model on the devices of `mesh`, whose axis `axis` has the chains; or on the default device."""

    def __init__(self, model: Model, mesh: Any, axis: str | None, precision: str) -> None:
        from probdiff.interop.placed import placed  # above this layer

        self.model, self.precision = model, precision
        function, self.data, self.key = placed(model, mesh, np.dtype(precision))
        self.plan = Plan(function, None if mesh is None else automatic(mesh), axis)

    def program(self, make: Callable[..., Any], *settings: Any) -> Any:
        """`make(plan, *settings)`, once for all models of the same structure, shapes and devices."""
        key = (make, settings, self.key, self.plan.mesh, self.plan.axis)
        found = _programs.pop(key, None)
        _programs[key] = found if found is not None else make(self.plan, *settings)
        while len(_programs) > KEPT:
            _programs.pop(next(iter(_programs)))
        return _programs[key]

    def starting(self, states: Sequence[State]) -> Sequence[State]:
        """The starting states with the log-densities that the devices find, where these are not those of machine code.

        They are not in single precision, nor where each of several processes has some rows of the data. ParameterError
        if one is not finite.
        """
        if self.precision == "float64" and jax.process_count() == 1:
            return states
        every = jax.jit(lambda q, data: jax.vmap(self.plan.value_and_grad(data))(q))
        logp, grad = map(np.asarray, every(np.stack([state.q for state in states]), self.data))
        for c, state in enumerate(states):
            if not (np.isfinite(logp[c]) and np.all(np.isfinite(grad[c]))):
                raise ParameterError(
                    f"sample: the log-density or its gradient at the start of chain {c} is not finite in "
                    f"{self.precision} under XLA. In machine code the log-density is {state.logp:.6g}. "
                    + ("Take float64." if self.precision == "float32" else "Give init=.")
                )
        return [State(state.q, float(logp[c]), grad[c]) for c, state in enumerate(states)]

    def check_precision(self, q: Any, logp: Any) -> None:
        """Warn if single precision moves the log-density by so much, from place to place, that it matters.

        Machine code says what is exact; not if it has only some rows, because other processes have the others.
        """
        if self.precision == "float64" or jax.process_count() > 1:
            return
        rows, found = np.asarray(q)[:CHECKED], np.asarray(logp)[:CHECKED]
        exact = np.array([self.model.value_and_grad(row)[0] for row in rows])
        errors = found - exact
        worst = float(np.max(np.abs(errors - np.median(errors) if len(errors) > 1 else errors)))
        if not worst <= ROUNDING:
            warnings.warn(
                f"sample.precision='float32' rounds the log-density by up to {worst:.2g} where the chains are after "
                f"warm-up; it is {exact.min():.6g} to {exact.max():.6g} there, and a proposal is refused for an error "
                "of about 1. Draws may be biased, and steps shorter than need be. Take float64, or centre and scale "
                "the data.",
                RuntimeWarning,
                stacklevel=2,
            )

    def spread(self, chains: Any) -> Any:
        """Arrays on the devices, the first axis of each split among them."""
        mesh, axis = self.plan.mesh, self.plan.axis
        if mesh is None:
            return jax.tree.map(jnp.asarray, chains)
        return jax.device_put(chains, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(axis)))
