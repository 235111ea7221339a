"""Our functions as primitives of autograd, with its vector-Jacobian and Jacobian-vector products of every order.

A primitive keeps, from its evaluation, what the first derivative needs; a further derivative is a primitive again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import autograd.builtins as structures
import autograd.numpy as anp
import numpy as np
from autograd.extend import Box, defjvp_argnums, defvjp_argnums, primitive

from probdiff.errors import UnsupportedError
from probdiff.interop.entries import Leaf, entries_of, entry_for, without_refs
from probdiff.interop.per_element import PerElement
from probdiff.interop.whole import Ahead, Whole
from probdiff.ops.elementwise import chain
from probdiff.tree import Tree, flatten

Array = Any  # of NumPy, or a box
Maker = Callable[[Any], Sequence[Array]]


def call(f: Any, args: tuple[Tree, ...], kwargs: dict[str, Any]) -> Tree:
    """f(*args, **kwargs), some of the leaves being boxes; so are the results that depend on them."""
    entries = entries_of(f)
    f, args, held = without_refs(f, args)
    leaves, spec = flatten(_opened((args, kwargs)))
    found = entry_for(entries, f, [_described(x) for x in leaves], spec, held)
    xs = [x if _boxed(x) else np.asarray(x, d) for x, d in zip(_at(leaves, found.places), found.dtypes, strict=True)]
    node = found.node
    results = _elements_of(node, xs) if isinstance(node, PerElement) else _arrays_of(node, xs)
    return found.rebuild(results)


class Call:
    """One evaluation of an operation: its outputs are kept for the derivatives of this evaluation."""

    __slots__ = ("node", "outputs")

    def __init__(self, node: Any) -> None:
        self.node = node
        self.outputs: list[np.ndarray] = []

    def __call__(self, xs: Sequence[np.ndarray]) -> Any:
        """The results: one, or a tuple of them."""
        self.outputs = [y[()] if y.dtype.kind == "f" else y for y in self.node(xs)]
        found = self.outputs[: self.node.count]
        return found[0] if len(found) == 1 else tuple(found)

    @property
    def results(self) -> int:
        """How many results there are."""
        return len(self.outputs[: self.node.count])


def _opened(x: Tree) -> Tree:
    """Structures that autograd has boxed as a whole, as structures of boxes."""
    if isinstance(x, structures.DictBox):
        return {k: _opened(x[k]) for k in x}
    if isinstance(x, structures.SequenceBox) or type(x) in (tuple, list):
        found = [_opened(x[k]) for k in range(len(x))]
        return found if isinstance(x, list) else tuple(found)
    return {k: _opened(v) for k, v in x.items()} if type(x) is dict else x


def _boxed(x: Any) -> bool:
    return isinstance(x, Box)


def _at(items: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [items[k] for k in places]


def _described(x: Any) -> Any:
    if not _boxed(x):
        return x
    dtype = np.dtype(x.dtype)
    if dtype.kind == "c":
        raise UnsupportedError("complex numbers are not supported. Keep real and imaginary parts apart.")
    return Leaf(tuple(x.shape), dtype)


def _listed(out: Any, count: int) -> list[Array]:
    return [out] if count == 1 else [out[k] for k in range(count)]


def _joined(ys: Sequence[Array]) -> Any:
    return ys[0] if len(ys) == 1 else structures.tuple(ys)


def _free(node: PerElement | Whole, xs: Sequence[Array]) -> tuple[int, ...]:
    return tuple(k for k in node.free if _boxed(xs[k]))


def _sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """A cotangent of a broadcast result, summed back to the shape that its argument had."""
    lead = anp.ndim(x) - len(shape)
    x = anp.sum(x, axis=tuple(range(lead))) if lead else x
    axes = tuple(k for k, n in enumerate(shape) if n == 1 and anp.shape(x)[k] != 1)
    return anp.sum(x, axis=axes, keepdims=True) if axes else x


# Functions per element


@primitive  # type: ignore[untyped-decorator]
def _elements(call: Call, *xs: Any) -> Any:
    return call(xs)


def _elements_of(node: PerElement, xs: Sequence[Array]) -> list[Array]:
    """The results of an operation with the partials that its derivatives need."""
    made = Call(node.with_partials(_free(node, xs)))
    return _listed(_elements(made, *xs), made.node.count)


def _partials(made: Call, xs: Sequence[Array]) -> Sequence[Array]:
    """All outputs of an evaluation, differentiable where the arguments are."""
    if not any(map(_boxed, xs)):
        return made.outputs
    node = made.node.with_partials(made.node.along)
    return _listed(_elements(Call(node), *xs), node.count)


def _elements_vjp(argnums: Sequence[int], ans: Any, args: Sequence[Any], kwargs: Any) -> Maker:
    made, *xs = args
    rows, outputs = made.node.rows, _partials(made, xs)

    def bars(g: Any) -> list[Array]:
        y_bars = _listed(g, made.results)
        return [_sum_of_products(rows, outputs, y_bars, n - 1, xs[n - 1]) for n in argnums]

    return bars


def _sum_of_products(rows: Any, outputs: Sequence[Array], y_bars: Sequence[Array], k: int, x: Array) -> Array:
    total = None
    for y_bar, row in zip(y_bars, rows, strict=True):
        if k in row:
            p = row[k]
            term = _product(y_bar, outputs[p]) if isinstance(p, int) else y_bar * p
            total = term if total is None else total + term
    shape, dtype = anp.shape(x), np.dtype(getattr(x, "dtype", float))
    return np.zeros(shape, dtype)[()] if total is None else _cast(_sum_to(total, shape), dtype)


def _product(bar: Array, partial: Array) -> Array:
    """bar * partial, where a cotangent of zero makes zero of an infinite partial too: nobody asked for it."""
    if not _boxed(bar) and not _boxed(partial):
        return chain(partial, bar)
    return bar * anp.where((bar == 0) & ~anp.isfinite(partial), 0.0, partial)


def _cast(x: Array, dtype: np.dtype) -> Array:
    return x if x.dtype == dtype else x.astype(dtype)


def _elements_jvp(argnums: Sequence[int], gs: Sequence[Array], ans: Any, args: Sequence[Any], kwargs: Any) -> Any:
    made, *xs = args
    node, given = made.node, dict(zip(argnums, gs, strict=True))
    dots = [given[k + 1] if k + 1 in given else np.zeros(anp.shape(xs[k]), node.dtypes[k]) for k in node.free]
    found = iter(_elements_of(node.pushed, [*xs, *dots]))
    ys = made.outputs[: made.results]
    return _joined([next(found) if real else np.zeros(y.shape) for y, real in zip(ys, node.floats, strict=False)])


defvjp_argnums(_elements, _elements_vjp)
defjvp_argnums(_elements, _elements_jvp)


# Functions of arrays


@primitive  # type: ignore[untyped-decorator]
def _arrays(call: Call, *xs: Any) -> Any:
    return call(xs)


def _arrays_of(node: Whole, xs: Sequence[Array]) -> list[Array]:
    """The results of an operation with the residuals that its derivatives need."""
    along = _free(node, xs)
    made = Call((node.ahead(along) if along else None) or node)
    out = _arrays(made, *xs)
    return _listed(out, made.results)


def _arrays_vjp(argnums: Sequence[int], ans: Any, args: Sequence[Any], kwargs: Any) -> Maker:
    made, *xs = args
    node = made.node
    floats = [k for k in range(made.results) if made.outputs[k].dtype.kind == "f"]

    def among(places: Sequence[int], found: Sequence[Array]) -> list[Array]:
        of = dict(zip(places, found, strict=True))
        return [of[n - 1] if n - 1 in of else np.zeros(anp.shape(args[n]))[()] for n in argnums]

    if not isinstance(node, Ahead):
        wanted = tuple(k for k in node.free if k + 1 in argnums)
        pulled = node.pulled(wanted)
        return lambda g: among(wanted, _arrays_of(pulled, [*xs, *_at(_listed(g, made.results), floats)]))
    outputs = made.outputs if not any(map(_boxed, xs)) else _arrays_of(node.all, xs)
    residuals = outputs[node.count :]

    def bars(g: Any) -> list[Array]:
        y_bars = _at(_listed(g, made.results), floats)
        if node.scalar:
            return among(node.along, [_product(y_bars[0], r) for r in residuals])
        return among(node.along, _arrays_of(node.back, [*_at(xs, node.used), *residuals, *y_bars]))

    return bars


def _arrays_jvp(argnums: Sequence[int], gs: Sequence[Array], ans: Any, args: Sequence[Any], kwargs: Any) -> Any:
    made, *xs = args
    node = made.node
    given = dict(zip(argnums, gs, strict=True))
    dots = [given[k + 1] if k + 1 in given else np.zeros(*node.kinds[k]) for k in node.free]
    found = iter(_arrays_of(node.results.pushed if isinstance(node, Ahead) else node.pushed, [*xs, *dots]))
    ys = made.outputs[: made.results]
    return _joined([next(found) if y.dtype.kind == "f" else np.zeros(y.shape) for y in ys])


defvjp_argnums(_arrays, _arrays_vjp)
defjvp_argnums(_arrays, _arrays_jvp)
