"""A program compiled by XLA, called with NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.compiler.xla.library import double, jax
from probdiff.compiler.xla.lower import evaluate
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Program
from probdiff.ops.dispatch import dtype_of, shape_of


class JaxProgram:
    """What runs a recording under XLA, in float64 whatever the user's own setting is."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.constants = program.constants()  # passed at each call: their elements may change between calls
        places = [id(c) for c in self.constants]

        def call(inputs: Any, constants: Any) -> list[Any]:
            return evaluate(program, inputs, dict(zip(places, constants, strict=True)))

        self.function = jax.jit(call)

    def __call__(self, inputs: Any, out: list[np.ndarray] | None) -> list[Any] | None:
        """The results, in `out` if it is given; None for inputs of other shapes or dtypes than those recorded."""
        for x, n in zip(inputs, self.program.inputs, strict=True):
            if isinstance(x, jax.Array) or shape_of(x) != n.shape or dtype_of(x) != n.dtype:
                return None
        with double():
            found = self.function(list(inputs), self.constants)
        if out is None:
            return [np.array(y, dtype_of(o))[()] for y, o in zip(found, self.program.outputs, strict=True)]
        for a, y in zip(out, found, strict=True):
            a[...] = y
        return out


def as_numpy(leaves: list[Any]) -> list[Any]:
    """Arguments with NumPy's arrays in place of JAX's."""
    try:
        return [np.asarray(x) if isinstance(x, jax.Array) else x for x in leaves]
    except jax.errors.TracerArrayConversionError:
        raise UnsupportedError(
            "A function compiled with backend='jax' takes and returns NumPy's arrays, and JAX is tracing it now.\n    "
            "Use probdiff.to_jax(f) inside jax.jit, grad and vmap."
        ) from None
