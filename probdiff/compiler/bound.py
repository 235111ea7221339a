"""A compiled function whose last arguments are given: the same machine code, for one set of data after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.compiler.arguments import parameters, takes_any_number
from probdiff.errors import ParameterError, ShapeError
from probdiff.graph.closure import unchanged
from probdiff.ops.dispatch import shape_of
from probdiff.tree import Tree, flatten

if TYPE_CHECKING:
    from probdiff.compiler.compiled import Compiled, Entry

Kind = tuple[Any, list[tuple[int, ...]]]  # structure of an argument, and the shapes of its leaves


class Bound:
    """`compiled`, with its last arguments bound to `data`; call it with the others.

    Data of sizes that were seen before run at once. Other sizes are recorded for them; machine code that the cache on
    disk has is not made again. The arrays are read where they are.
    """

    def __init__(self, compiled: Compiled, data: tuple[Tree, ...], like: list[Kind] | None = None) -> None:
        _check_count(compiled.f, data)
        if like is not None:
            _check_kinds(compiled.f, data, like)
        self.compiled = compiled
        self.data = data
        self._entry: Entry | None = None
        self._address: int | None = None

    def __call__(self, *args: Tree, out: Tree = None) -> Tree:
        return self.compiled(*args, *self.data, out=out)

    def record(self, *args: Tree) -> Bound:
        """Compile for arguments like these and the data, without running; this object."""
        self._entry = self.compiled.record(*args, *self.data)._last
        self._address = None
        return self

    @property
    def address(self) -> int:
        """The address of the C function of the log-density given the data; see `Compiled.address`."""
        entry = self._entry
        if entry is None or not unchanged(entry.meaning):
            like = entry or self.compiled._last
            if like is None or not like.capture.program.inputs:
                raise ParameterError("with_data(...).address needs a recording: call it once, or .record(x) first.")
            self.record(np.zeros(like.capture.program.inputs[0].shape))
            entry = self._entry
        assert entry is not None
        if self._address is None:
            self._address = self.compiled.density(entry, flatten(self.data)[0])
        return self._address

    def with_data(self, *data: Tree) -> Bound:
        """The same function with other data of the same structures and ranks."""
        count = len(self.data)
        if len(data) != count:
            raise ParameterError(f"with_data takes {count} arguments here, as the first time, got {len(data)}.")
        other = Bound(self.compiled, data, [kind_of(x) for x in self.data])
        if self._entry is not None:
            x = self._entry.capture.program.inputs[0]
            other.record(np.zeros(x.shape, x.dtype))
        return other

    def __repr__(self) -> str:
        given = ", ".join(f"{getattr(x, 'dtype', type(x).__name__)}{list(np.shape(x))}" for x in flatten(self.data)[0])
        return f"{getattr(self.compiled, '__name__', 'compiled')}.with_data({given})"


def kind_of(x: Tree) -> Kind:
    """The structure of an argument, and the shapes of its leaves."""
    leaves, spec = flatten(x)
    return spec, [shape_of(leaf) for leaf in leaves]


def recorded_kinds(entry: Entry, count: int) -> list[Kind] | None:
    """The kinds of the last `count` arguments of a recording; None if it has fewer, or some that are no numbers."""
    children = entry.spec.children()
    if not entry.plain or count >= len(children):
        return None
    shapes = iter([n.shape for n in entry.capture.program.inputs])
    kinds = [(child, [next(shapes) for _ in range(child.num_leaves)]) for child in children]
    return kinds[len(kinds) - count :]


def _check_count(f: Callable[..., Any], data: tuple[Tree, ...]) -> None:
    names = parameters(f)
    if not data:
        raise ParameterError("with_data binds the last arguments; it was given none.")
    if not takes_any_number(f) and len(data) >= len(names):
        raise ParameterError(
            f"with_data binds the last arguments and leaves at least one; the function takes {len(names)} "
            f"({', '.join(names)}), got {len(data)} to bind."
        )


def _check_kinds(f: Callable[..., Any], data: tuple[Tree, ...], like: list[Kind]) -> None:
    names = [f"item {k + 1} of the data" for k in range(len(data))]
    if not takes_any_number(f):
        names = parameters(f)[-len(data) :]
    for name, x, (structure, shapes) in zip(names, data, like, strict=True):
        spec, own = kind_of(x)
        if spec != structure:
            raise ShapeError(f"with_data: {name} must have the structure {structure}, as before, got {spec}.")
        for shape, before in zip(own, shapes, strict=True):
            if len(shape) != len(before):
                raise ShapeError(
                    f"with_data: {name} must have {len(before)} axes, as before, got shape {shape}. "
                    "Call the compiled function itself with data of another rank."
                )
