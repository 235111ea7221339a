"""A recorded program: operations in the order they were met, each with shape and dtype, from inputs to outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from probdiff.ops.dispatch import Op

_own = {np.dtype(c): np.dtype(np.dtype(c).str[1:]) for c in "?bhilqBHILQefdg"}


def own_dtype(dtype: np.dtype) -> np.dtype:
    """The object that NumPy itself uses for the dtype, in the processor's byte order.

    Machine code compares dtypes by address, and there are others that are equal: those of unpickled arrays,
    np.longlong, dtypes with metadata.
    """
    found = _own.get(dtype)
    return found if found is not None else _own.setdefault(dtype, np.dtype(dtype.str[1:]))


class Node:
    """One value of a program: an input (`op` is None) or the result of an operation on nodes and constants."""

    __slots__ = ("args", "dtype", "op", "params", "shape", "sweep")

    def __init__(
        self,
        op: Op | None,
        args: tuple[Any, ...],
        params: dict[str, Any],
        shape: tuple[int, ...],
        dtype: np.dtype,
    ) -> None:
        self.op: Any = op  # whoever reads it knows which of them it is
        self.args = args
        self.params = params
        self.shape = shape
        self.dtype = own_dtype(dtype)
        self.sweep = ""  # "forward" or "reverse" if it belongs to a derivative

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=int))

    def __repr__(self) -> str:
        name = self.op.name if self.op else "input"
        return f"<{name} {self.dtype}{list(self.shape)}>"


class Program:
    """Inputs, outputs (nodes or plain constants), and the nodes between them in an order that can be evaluated."""

    __slots__ = ("inputs", "native", "nodes", "outputs", "scalar")

    def __init__(self, inputs: list[Node], outputs: list[Any]) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.nodes = list(_order(outputs))
        self.scalar: bool | None = None  # what `scalar_program` found
        self.native: bool | None = None  # what `native_body` found

    def constants(self) -> list[np.ndarray]:
        """The arrays (not the numbers) that the program carries along, each once."""
        seen: dict[int, np.ndarray] = {}
        for node in self.nodes:
            for a in node.args:
                if isinstance(a, np.ndarray):
                    seen.setdefault(id(a), a)
        for o in self.outputs:
            if isinstance(o, np.ndarray):
                seen.setdefault(id(o), o)
        return list(seen.values())

    def key(self) -> tuple[Any, ...]:
        """What two programs must share to share machine code: everything but the contents of arrays."""
        number: dict[int, int] = {id(n): k for k, n in enumerate(self.inputs)}
        arrays: dict[int, int] = {}

        def ref(a: Any) -> Any:
            if isinstance(a, Node):
                return number[id(a)]
            if isinstance(a, np.ndarray) and not a.ndim:  # a number: part of the code
                return ("number", a.dtype.str, repr(a[()]))
            if isinstance(a, np.ndarray):
                return (
                    "array",
                    arrays.setdefault(id(a), len(arrays)),
                    a.shape,
                    a.strides,
                    a.flags.aligned,
                    a.dtype.str,
                )
            return (type(a).__name__, repr(a))

        rows: list[Any] = [tuple((n.shape, n.dtype.str) for n in self.inputs)]
        for n in self.nodes:
            number[id(n)] = len(number)
            rows.append(
                (n.op.name if n.op else "", tuple(ref(a) for a in n.args), _static(n.params), n.shape, n.dtype.str)
            )
        rows.append(tuple(ref(o) for o in self.outputs))
        return tuple(rows)

    def __str__(self) -> str:
        names = {id(n): f"in{k}" for k, n in enumerate(self.inputs)}
        lines = []

        def show(a: Any) -> str:
            if isinstance(a, Node):
                return names[id(a)]
            return f"array{list(a.shape)}" if isinstance(a, np.ndarray) and a.size > 4 else repr(a)

        for k, n in enumerate(self.nodes):
            names[id(n)] = f"v{k}"
            params = "".join(f", {p}={v}" for p, v in n.params.items())
            name = n.op.name if n.op else "input"
            lines.append(f"v{k} = {name}({', '.join(map(show, n.args))}{params})  # {n.dtype}{list(n.shape)}")
        return "\n".join([*lines, "return " + ", ".join(map(show, self.outputs))])


def _static(params: dict[str, Any]) -> Any:
    return tuple((k, v.key() if isinstance(v, Program) else repr(v)) for k, v in params.items())


def _order(outputs: list[Any]) -> Iterator[Node]:
    done: set[int] = set()
    stack: list[tuple[Node, bool]] = [(o, False) for o in reversed(outputs) if isinstance(o, Node)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done or node.op is None:
            continue
        if ready:
            done.add(id(node))
            yield node
        else:
            stack.append((node, True))
            stack.extend((a, False) for a in node.args if isinstance(a, Node) and id(a) not in done)
