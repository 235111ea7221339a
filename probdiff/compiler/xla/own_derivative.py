"""Elementwise functions whose derivative is that of the table of operations, not that of the code they are made of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.formulas import formula, recorded
from probdiff.compiler.xla.elementwise import FUNCTIONS
from probdiff.compiler.xla.host import on_host
from probdiff.compiler.xla.library import jax, jnp
from probdiff.compiler.xla.special import SPECIAL
from probdiff.graph.program import Program
from probdiff.graph.trace import capture
from probdiff.ops.elementwise import Elementwise
from probdiff.tree import flatten


@functools.cache
def with_own_derivative(op: Elementwise) -> Callable[..., Any]:
    """The function with a rule for JAX: the partial derivatives of its row times the tangents."""
    f = SPECIAL.get(op.name) or FUNCTIONS.get(op.name)
    if f is None:
        f = on_host(op) if formula(op.name) is None else _by_formula(op)
    function: Callable[..., Any] = jax.custom_jvp(f)

    def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
        from probdiff.compiler.xla.lower import evaluate

        z = function(*primals)
        z_dot = jnp.zeros_like(z)
        for i in op.smooth:
            if tangents[i].dtype == z.dtype:  # an integer has none
                (p,) = evaluate(partial_program(op, i), [*primals, z])
                z_dot = z_dot + (p * tangents[i]).astype(z.dtype)
        return z, z_dot

    function.defjvp(rule)  # type: ignore[attr-defined]
    return function


def _by_formula(op: Elementwise) -> Callable[..., Any]:
    """The formula of a row, in the shape and dtype of its arguments."""

    def call(*args: Any) -> Any:
        from probdiff.compiler.xla.lower import evaluate

        xs = jnp.broadcast_arrays(*args)
        return evaluate(recorded(op.name), xs)[0].astype(xs[0].dtype)

    return call


@functools.cache
def partial_program(op: Elementwise, i: int) -> Program:
    """The derivative of a row along argument i, as a program of scalars: the arguments, then the result."""
    n = len(op.partials) + 1
    kinds = [((), np.dtype(float))] * n

    def partial(*xs: Any) -> Any:
        return op.partial(i, xs[:-1], xs[-1])

    return capture(partial, flatten((0.0,) * n)[1], kinds, list(range(n))).program
