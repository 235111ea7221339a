"""A compiled function whose last arguments are given: the same machine code, for one set of data after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probdiff.compiler.arguments import parameters, takes_any_number
from probdiff.errors import ParameterError, ShapeError
from probdiff.graph.closure import unchanged
from probdiff.ops.dispatch import shape_of
from probdiff.tree import Tree, flatten

if TYPE_CHECKING:
    from probdiff.compiler.compiled import Compiled, Entry


class Bound:
    """`compiled`, with its last arguments bound to `data`; call it with the others.

    Data of sizes that were seen before run at once. Other sizes are recorded for them; machine code that the cache on
    disk has is not made again. The arrays are read where they are.
    """

    def __init__(self, compiled: Compiled, data: tuple[Tree, ...], like: Entry | None) -> None:
        self.compiled = compiled
        self.data = data
        self._entry: Entry | None = None
        self._address: int | None = None
        _check(compiled, data, like)
        self._like = like

    def __call__(self, *args: Tree, out: Tree = None) -> Tree:
        result = self.compiled(*args, *self.data, out=out)
        self._entry = self.compiled._last
        return result

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
            like = entry or self._like
            if like is None:
                raise ParameterError("with_data(...).address needs a recording: call it once, or .record(x) first.")
            self.record(np.zeros(like.capture.program.inputs[0].shape))
            entry = self._entry
        assert entry is not None
        if self._address is None:
            self._address = self.compiled.density(entry, flatten(self.data)[0])
        return self._address

    def with_data(self, *data: Tree) -> Bound:
        """The same function with other data of the same ranks."""
        other = Bound(self.compiled, data, self._entry or self._like)
        if len(data) != len(self.data):
            count = len(self.data)
            raise ParameterError(f"with_data takes {count} arguments here, as the first time, got {len(data)}.")
        return other

    def __repr__(self) -> str:
        given = ", ".join(f"{getattr(x, 'dtype', type(x).__name__)}{list(np.shape(x))}" for x in flatten(self.data)[0])
        return f"{getattr(self.compiled, '__name__', 'compiled')}.with_data({given})"


def _check(compiled: Compiled, data: tuple[Tree, ...], like: Entry | None) -> None:
    names = parameters(compiled.f)
    if not data:
        raise ParameterError("with_data binds the last arguments; it was given none.")
    if not takes_any_number(compiled.f) and len(data) >= len(names):
        raise ParameterError(
            f"with_data binds the last arguments and leaves at least one; the function takes {len(names)} "
            f"({', '.join(names)}), got {len(data)} to bind."
        )
    if like is None:
        return
    children = like.spec.children()
    if not like.plain or len(data) >= len(children):
        return
    at = len(children) - len(data)
    start = sum(c.num_leaves for c in children[:at])
    for position, (x, child) in enumerate(zip(data, children[at:], strict=True), at):
        name = names[position] if position < len(names) else f"argument {position}"
        leaves, spec = flatten(x)
        if spec != child:
            raise ShapeError(f"with_data: {name} must have the structure {child}, as when it was recorded, got {spec}.")
        for leaf in leaves:
            shape = like.capture.program.inputs[start].shape
            if len(shape_of(leaf)) != len(shape):
                raise ShapeError(
                    f"with_data: {name} must have {len(shape)} axes, as when it was recorded, "
                    f"got shape {shape_of(leaf)}. Call the compiled function itself with data of another rank."
                )
            start += 1
