"""A function of scalars over arrays, as an operation of another framework: values, partials, and partials of those.

The partials along the arguments are outputs of the same native loop. What remains of a derivative, products with them
and sums, is the framework's own arithmetic, so that derivatives of every order come from functions of this one kind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.ad.dual import Dual, expanded, partial_of
from probdiff.ad.kernels import Kernel, kernel_for
from probdiff.compiler.interpret import interpret
from probdiff.graph.program import Node
from probdiff.ops.dispatch import new_level, shape_of
from probdiff.tree import flatten


class PerElement:
    """Outputs for arrays that broadcast: `count` values and, after them, partials along the arguments `along`.

    rows[j][d]  where the partial of output j along argument d is: a place among the outputs, a constant, or nowhere
    free        arguments that may have a derivative
    """

    def __init__(self, kernel: Kernel, dtypes: Sequence[np.dtype], free: tuple[int, ...], along: tuple[int, ...]):
        self.kernel = kernel
        self.dtypes = dtypes
        self.free = free
        self.along = along
        self.count = kernel.count
        nodes = kernel.program.outputs
        self.kept = [k for k, o in enumerate(nodes) if k < kernel.count or isinstance(o, Node)]
        place = {k: n for n, k in enumerate(self.kept)}
        self.rows: list[dict[int, int | float]] = [
            {d: place[p] if p in place else float(nodes[p]) for d, p in zip(along, row, strict=True) if p is not None}
            for row in kernel.partial_of
        ] or [{}] * kernel.count
        self._with_partials: dict[tuple[int, ...], PerElement] = {}
        self.floats = [np.dtype(getattr(nodes[k], "dtype", float)).kind == "f" for k in self.kept]

    def __call__(self, xs: Sequence[Any]) -> list[np.ndarray]:
        """All outputs, arrays of their own in the common shape."""
        found = self.kernel.run(list(xs))
        shape = np.broadcast_shapes(*map(shape_of, xs))
        out = []
        for k in self.kept:
            y, o = found[k], self.kernel.program.outputs[k]
            own = isinstance(o, Node) and o.op is not None and shape_of(y) == shape
            out.append(np.asarray(y) if own else np.array(np.broadcast_to(y, shape)))
        return out

    @functools.cached_property
    def derivative(self) -> PerElement:
        """The same outputs, and the partials of each along all that are free."""
        return self.with_partials(self.free)

    def with_partials(self, along: tuple[int, ...]) -> PerElement:
        """The same outputs, and the partials of each along some arguments."""
        if along not in self._with_partials:
            self._with_partials[along] = PerElement(
                self._kernel(self._outputs, self.dtypes, along), self.dtypes, self.free, along
            )
        return self._with_partials[along]

    @functools.cached_property
    def pushed(self) -> PerElement:
        """Arguments and the tangents of those that are free, to the tangents of the real outputs."""
        n = len(self.dtypes)

        def dots(*scalars: Any) -> tuple[Any, ...]:
            level, xs = new_level(), list(scalars[:n])
            for k, dot in zip(self.free, scalars[n:], strict=True):
                xs[k] = Dual(level, xs[k], (dot,))
            found = self._outputs(*xs)
            return tuple(
                expanded(partial_of(y, level), 0.0) for y, real in zip(found, self.floats, strict=True) if real
            )

        dtypes = [*self.dtypes, *(self.dtypes[k] for k in self.free)]
        free = (*self.free, *range(n, len(dtypes)))
        return PerElement(self._kernel(dots, dtypes, None), dtypes, free, ())

    def _outputs(self, *scalars: Any) -> tuple[Any, ...]:
        found = interpret(self.kernel.program, list(scalars))
        return tuple(found[k] for k in self.kept)

    @staticmethod
    def _kernel(f: Callable[..., Any], dtypes: Sequence[np.dtype], along: tuple[int, ...] | None) -> Kernel:
        like = [np.zeros((), dtype) for dtype in dtypes]
        kernel = kernel_for(f, f, like, flatten(tuple(like))[1], along)
        assert kernel is not None  # a program of scalars stays one
        return kernel
