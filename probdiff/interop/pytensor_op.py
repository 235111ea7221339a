"""Our functions as operations (`Op`) of PyTensor's graphs, with their derivatives of every order.

An operation is a function and the way to a derivative of it. Machine code is made when it first runs, for the shapes
that it meets. Under PyTensor's JAX mode it is XLA's code instead, under its Numba mode a call back into Python.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from probdiff.compiler.compiled import KEPT
from probdiff.errors import ShapeError, UnsupportedError
from probdiff.interop.entries import Entries, Entry, Leaf, entry_for
from probdiff.interop.in_pytensor import PytensorFunction
from probdiff.interop.whole import Whole
from probdiff.tree import Tree, flatten

try:
    import pytensor.tensor as pt
    from pytensor import config
    from pytensor.compile.mode import optdb
    from pytensor.gradient import DisconnectedType, disconnected_type
    from pytensor.graph.basic import Apply, Constant, Variable
    from pytensor.graph.op import Op
    from pytensor.graph.rewriting.basic import GraphRewriter, node_rewriter
    from pytensor.tensor.rewriting.basic import register_specialize
except ModuleNotFoundError:
    raise UnsupportedError("to_pytensor needs PyTensor 2.26 or later. Install it with: pip install pytensor") from None

Step = tuple[str, tuple[int, ...]]  # "pulled", "pushed" or "ahead" (see `Whole`), and along which inputs
Symbol = Any  # a variable of PyTensor
Shapes = tuple[tuple[int, ...], ...]


def apply(function: PytensorFunction, args: tuple[Tree, ...]) -> Tree:
    """The function of variables, arrays, numbers and other things, as variables."""
    leaves, spec = flatten((args, {}))
    described = [_described(x, k, function.like) for k, x in enumerate(leaves)]
    static = all(None not in x.type.shape for x in leaves if isinstance(x, Variable))
    key = (spec, *(x if isinstance(x, Leaf) else (type(x), id(x)) for x in described))
    template = function.templates.get(key)
    if template is None:
        template = function.templates[key] = Template(function, described, spec)
        while len(function.templates) > KEPT:
            function.templates.pop(next(iter(function.templates)))
    entry = template.first
    whole = entry.node
    assert isinstance(whole, Whole) and whole.program is not None
    xs = [_symbol(leaves[k], dtype) for k, dtype in zip(entry.places, entry.dtypes, strict=True)]
    types = tuple(_type(o, static) for o in whole.program.outputs)
    found = Operation(template, (), (len(xs),), whole.free, types)(*xs, return_list=True)
    return entry.rebuild(found)


class Template:
    """A function with the structure of its arguments: `Leaf`s where it has variables, everything else as it is."""

    def __init__(self, function: PytensorFunction, leaves: list[Any], spec: Any) -> None:
        self.function = function
        self.f = functools.partial(function.f)  # one operation, also where it is a function per element
        self.leaves = leaves
        self.spec = spec
        self.entries: Entries = {}
        self.first = self._entry([x.shape for x in leaves if isinstance(x, Leaf)])
        self._found: dict[Any, Whole] = {}

    def __reduce__(self) -> Any:
        return Template, (self.function, self.leaves, self.spec)

    def _entry(self, shapes: Sequence[tuple[int, ...]]) -> Entry:
        given = iter(shapes)
        leaves = [Leaf(next(given), x.dtype) if isinstance(x, Leaf) else x for x in self.leaves]
        return entry_for(self.entries, self.f, leaves, self.spec, strict=True)

    def at(self, path: tuple[Step, ...], counts: tuple[int, ...], shapes: Shapes) -> Whole:
        """The function, or one of its derivatives, for inputs of these shapes.

        counts  of the inputs, for the function and after each step of the path
        """
        found = self._found.get((path, shapes))
        if found is None:
            found = self._found[path, shapes] = self._make(path, counts, shapes)
            while len(self._found) > KEPT:
                self._found.pop(next(iter(self._found)))
        return found

    def _make(self, path: tuple[Step, ...], counts: tuple[int, ...], shapes: Shapes) -> Whole:
        if not path:
            places = self.first.places
            of_variables = [s for s, k in zip(shapes, places, strict=True) if isinstance(self.leaves[k], Leaf)]
            node = self._entry(of_variables).node
            assert isinstance(node, Whole)
            return node
        before = self.at(path[:-1], counts[:-1], shapes[: counts[-2]])
        step, along = path[-1]
        if step == "pushed":
            return before.pushed
        return (before.ahead(along) if step == "ahead" else None) or before.pulled(along)


class Operation(Op):  # type: ignore[misc]
    """A function of a template, or a derivative of it.

    counts  of the inputs, for the function and after each step of the path
    free    the inputs that may have a derivative
    types   of the outputs
    """

    __props__ = ("template", "path", "counts", "free", "types")

    def __init__(
        self,
        template: Template,
        path: tuple[Step, ...],
        counts: tuple[int, ...],
        free: tuple[int, ...],
        types: tuple[Any, ...],
    ) -> None:
        self.template = template
        self.path = path
        self.counts = counts
        self.free = free
        self.types = types

    def __str__(self) -> str:
        steps = "".join(f".{step}" for step, _ in self.path)
        return f"{self.template.function!r}{steps}"

    def make_node(self, *inputs: Symbol) -> Any:
        return Apply(self, [pt.as_tensor(x) for x in inputs], [t() for t in self.types])

    def whole(self, shapes: Shapes) -> Whole:
        """What this is for inputs of these shapes."""
        return self.template.at(self.path, self.counts, shapes)

    def perform(self, node: Any, inputs: Sequence[np.ndarray], output_storage: Any) -> None:
        found = self.whole(tuple([np.shape(x) for x in inputs]))(inputs)
        for storage, y, t in zip(output_storage, found, self.types, strict=True):
            storage[0] = np.asarray(y, t.dtype)

    def derived(self, step: str, along: tuple[int, ...], more: int, types: Sequence[Any]) -> Operation:
        """A derivative, with more inputs than this has."""
        n = self.counts[-1]
        path, free = (*self.path, (step, along)), (*self.free, *range(n, n + more))
        return Operation(self.template, path, (*self.counts, n + more), free, tuple(types))

    def pullback(self, inputs: Sequence[Symbol], outputs: Sequence[Symbol], cotangents: Sequence[Symbol]) -> list[Any]:
        bars = [_given(g, y) for g, y in zip(cotangents, outputs, strict=True) if _real(y)]
        along = tuple(k for k in self.free if not isinstance(inputs[k], Constant))
        found: dict[int, Symbol] = {}
        if along and bars:
            op = self.derived("pulled", along, len(bars), [inputs[k].type for k in along])
            found = dict(zip(along, op(*inputs, *bars, return_list=True), strict=True))
        return [found[k] if k in found else pt.zeros_like(x, dtype=config.floatX) for k, x in enumerate(inputs)]

    def pushforward(self, inputs: Sequence[Symbol], outputs: Sequence[Symbol], tangents: Sequence[Symbol]) -> list[Any]:
        real = [y for y in outputs if _real(y)]
        dots = [_given(tangents[k], inputs[k]) for k in self.free]
        op = self.derived("pushed", self.free, len(dots), [y.type for y in real])
        found = iter(op(*inputs, *dots, return_list=True))
        return [next(found) if _real(y) else disconnected_type() for y in outputs]

    def L_op(self, inputs: Sequence[Symbol], outputs: Sequence[Symbol], output_grads: Sequence[Symbol]) -> list[Any]:
        """PyTensor 2's name of `pullback`."""
        return self.pullback(inputs, outputs, output_grads)

    def R_op(self, inputs: Sequence[Symbol], eval_points: Sequence[Symbol | None]) -> list[Any]:
        """PyTensor 2's `pushforward`."""
        outputs = self(*inputs, return_list=True)
        tangents = [disconnected_type() if x is None else x for x in eval_points]
        dots = self.pushforward(inputs, outputs, tangents)
        return [y_dot if _real(y) else None for y, y_dot in zip(outputs, dots, strict=True)]


@register_specialize  # type: ignore[untyped-decorator]
@node_rewriter([Operation])  # type: ignore[untyped-decorator]
def one_call(fgraph: Any, node: Any) -> dict[Symbol, Symbol] | None:
    """Gradients that nobody reads are not computed, and a scalar function comes with its gradient from one call."""
    op = node.op
    if not op.path or op.path[-1][0] != "pulled":
        return None
    count, along = op.counts[-2], op.path[-1][1]
    xs, bars = node.inputs[:count], node.inputs[count:]
    before = Operation(op.template, op.path[:-1], op.counts[:-1], tuple(k for k in op.free if k < count), ())
    read = [n for n, o in enumerate(node.outputs) if fgraph.clients[o]]
    if len(read) < len(along):
        fewer = before.derived("pulled", tuple(along[n] for n in read), len(bars), [op.types[n] for n in read])
        return dict(zip((node.outputs[n] for n in read), fewer(*node.inputs, return_list=True), strict=True))
    if len(bars) != 1 or bars[0].ndim:
        return None
    for other, _ in fgraph.clients[xs[0]]:
        of = getattr(other, "op", None)
        if not isinstance(of, Operation) or (of.template, of.path) != (op.template, before.path):
            continue
        if list(other.inputs) == list(xs) and len(other.outputs) == 1:
            y, *slopes = of.derived("ahead", along, 0, [*of.types, *op.types])(*xs, return_list=True)
            found = {o: g * bars[0] for o, g in zip(node.outputs, slopes, strict=True)}
            return {other.outputs[0]: y, **found}
    return None


class Registered(GraphRewriter):  # type: ignore[misc]
    """Makes a backend of PyTensor known to our operations when a graph for it has some, and not before."""

    def __init__(self, backend: str) -> None:
        super().__init__()
        self.backend = backend

    def apply(self, fgraph: Any) -> None:
        if any(isinstance(node.op, Operation) for node in fgraph.apply_nodes):
            from probdiff.interop import pytensor_backends

            getattr(pytensor_backends, f"register_{self.backend}")()


for _backend in ("jax", "numba"):
    optdb.register(f"probdiff_{_backend}", Registered(_backend), _backend, position=90)


def _described(x: Any, k: int, like: tuple[Tree, ...] | None) -> Any:
    if not isinstance(x, Variable):
        return x
    if not hasattr(x.type, "shape") or not hasattr(x.type, "dtype"):
        raise UnsupportedError(f"to_pytensor takes dense tensors, got a variable of type {x.type}.")
    shape = tuple(x.type.shape)
    if None in shape:
        if like is None:
            raise ShapeError(
                f"to_pytensor: leaf {k} of the arguments has type {x.type}, whose shape PyTensor does not know. "
                "Give arguments of a possible shape, to_pytensor(f, like=(…)), or variables with shape=."
            )
        shape = np.shape(flatten((like, {}))[0][k])
    return Leaf(shape, np.dtype(x.type.dtype))


def _symbol(x: Any, dtype: np.dtype) -> Symbol:
    return x if isinstance(x, Variable) else pt.constant(np.asarray(x, dtype))


def _type(output: Any, static: bool) -> Any:
    return pt.TensorType(str(output.dtype), shape=output.shape if static else (None,) * len(output.shape))


def _real(x: Symbol) -> bool:
    return bool(np.dtype(x.type.dtype).kind == "f")


def _given(bar: Symbol, of: Symbol) -> Symbol:
    """A tangent or cotangent of a variable; zeros where there is none."""
    return pt.zeros_like(of) if isinstance(bar.type, DisconnectedType) else pt.cast(bar, of.type.dtype)
