"""The verbs: gradient, value_and_grad, pullback, pushforward, jacobian, hessian, hvp, stop_gradient, checkpoint."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.dual import Dual, partial_of
from probdiff.ad.reverse import Pullback, Tape, Variable, walk
from probdiff.ad.thunk import unthunk_tree
from probdiff.errors import DifferentiationError, ShapeError, UnsupportedError
from probdiff.ops.dispatch import Lifted, apply, dtype_of, is_float, is_lifted, new_level, shape_of
from probdiff.ops.elementwise import rows
from probdiff.tree import Array, Tree, flatten, map_leaves, unflatten

_silent = np.errstate  # derivative formulas are evaluated where the value's own branch may not have gone


def gradient(f: Callable[..., Any], *args: Tree) -> tuple[Tree, ...]:
    """Gradients of a scalar function, one per argument, each in the argument's shape, dtype and structure.

    None stands for an argument without a tangent (integers, booleans, strings); an argument that f does not use gets
    zeros.
    """
    return _value_and_gradients(f, args, range(len(args)), {}, False)[1]


def value_and_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns the value of f and its gradient with respect to the arguments numbered by `argnums`.

    With `has_aux`, f returns (value, aux) and so does the first entry of the result.
    """

    @functools.wraps(f, updated=())
    def wrapped(*args: Tree, **kwargs: Any) -> tuple[Any, Any]:
        numbers = _argnums(argnums, len(args))
        value, grads = _value_and_gradients(f, args, numbers, kwargs, has_aux)
        return value, grads[0] if isinstance(argnums, int) else grads

    return wrapped


def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of f (and aux, with `has_aux`)."""
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f, updated=())
    def wrapped(*args: Tree, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapped


def _argnums(argnums: int | tuple[int, ...], n: int) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for k in numbers:
        if not -n <= k < n:
            raise DifferentiationError(f"argnums {k} is out of range for a call with {n} positional arguments")
    return tuple(k % n for k in numbers)


def _value_and_gradients(
    f: Callable[..., Any], args: tuple[Tree, ...], numbers: Any, kwargs: dict[str, Any], has_aux: bool
) -> tuple[Any, tuple[Tree, ...]]:
    tape = Tape()
    lifted = list(args)
    plans = []
    for k in numbers:
        lifted[k], plan = _lift(tape, args[k])
        plans.append(plan)
    y = f(*lifted, **kwargs)
    aux = None
    if has_aux:
        if not isinstance(y, tuple) or len(y) != 2:
            raise DifferentiationError(f"has_aux needs a function that returns (value, aux), got {type(y).__name__}")
        y, aux = y
    value = _scalar(y, tape)
    with _silent(all="ignore"):
        walk(tape, [(y, 1.0)] if value is not y else [])
    grads = tuple([_collect(plan) for plan in plans])
    tape.entries.clear()
    if has_aux:
        return (value, map_leaves(lambda a: _drop(a, tape), aux)), grads
    return value, grads


def _scalar(y: Any, tape: Tape) -> Any:
    value = y.value if type(y) is Variable and y.tape is tape else y
    shape = getattr(value, "shape", None)
    if shape == () and (type(y) is Variable or is_float(y)):
        return value
    if type(y) in (float, int):
        return y
    if shape:
        raise ShapeError(f"gradient needs a scalar output, got shape {shape}. Sum it, or use jacobian.")
    kind = type(y).__name__ if shape is None else str(y.dtype)
    raise DifferentiationError(f"gradient needs a real scalar output, got {kind}.")


def _lift(tape: Tape, arg: Tree) -> tuple[Tree, Any]:
    """The argument with variables for its floating-point leaves, and what `_collect` needs to read them back."""
    kind = type(arg)
    if kind is np.ndarray and arg.dtype.kind == "f":
        x = tape.variable(arg)
        return x, (x, None, arg)
    leaves, spec = flatten(arg)
    variables = [tape.variable(strong(x)) if is_float(x) else _no_tangent(x) for x in leaves]
    return unflatten(spec, variables), (variables, spec, leaves)


def strong(x: Any) -> Any:
    """A Python float as NumPy's, which divides by zero and overflows like an array."""
    return np.float64(x) if type(x) is float else x


def _no_tangent(x: Any) -> Any:
    if getattr(getattr(x, "dtype", None), "kind", "") == "c" or isinstance(x, complex):
        raise UnsupportedError("complex numbers are not supported. Keep real and imaginary parts apart.")
    if getattr(getattr(x, "dtype", None), "kind", "") == "O":
        raise UnsupportedError("arrays of objects are not supported. Use a float array, or a tuple of arrays.")
    return x


def _collect(plan: Any) -> Tree:
    variables, spec, values = plan
    if spec is None:
        return project(variables.x_bar, values)
    return unflatten(
        spec, [project(v.x_bar, x) if type(v) is Variable else None for v, x in zip(variables, values, strict=True)]
    )


def _drop(x: Any, tape: Tape) -> Any:
    return x.value if type(x) is Variable and x.tape is tape else x


def project(x_bar: Array, x: Array) -> Array:
    """A cotangent in the shape, dtype and kind of the value that it belongs to."""
    if type(x_bar) is np.ndarray and type(x) is np.ndarray and x_bar.shape == x.shape and x_bar.dtype == x.dtype:
        return x_bar
    if x_bar is None:
        return 0.0 if type(x) is float else np.zeros(shape_of(x), dtype_of(x))[()]
    shape, dtype = shape_of(x), dtype_of(x)
    if shape_of(x_bar) != shape:
        x_bar = np.broadcast_to(x_bar, shape)
        x_bar = x_bar if is_lifted(x_bar) else x_bar.copy()
    if is_lifted(x_bar):
        return x_bar if x_bar.dtype == dtype else x_bar.astype(dtype)
    if type(x) is float:
        return float(x_bar)
    return np.asarray(x_bar, dtype)[()] if not shape else np.asarray(x_bar, dtype)


def pullback(f: Callable[..., Any], *args: Tree) -> tuple[Any, Callable[[Tree], tuple[Tree, ...]]]:
    """f(*args), and a function from a cotangent of the result to cotangents of the arguments.

    For a function made by `fwddiff`, the cotangents are thunks: each is computed when it is first used.
    """
    own = getattr(f, "__pullback__", None)
    if own is not None:
        lazy: tuple[Any, Callable[[Tree], tuple[Tree, ...]]] = own(*args)
        return lazy
    tape = Tape()
    pairs = [_lift(tape, a) for a in args]
    result = f(*(p[0] for p in pairs))
    leaves, spec = flatten(result)
    y = unflatten(spec, [_drop(leaf, tape) for leaf in leaves])

    def back(y_bar: Tree) -> tuple[Tree, ...]:
        seeds = []
        for leaf, cotangent in zip(leaves, cotangents(y_bar, spec, leaves), strict=True):
            if type(leaf) is Variable and leaf.tape is tape and cotangent is not None:
                seeds.append((leaf, cotangent))
        for _, (variables, *_) in pairs:
            for v in variables if isinstance(variables, list) else [variables]:
                if type(v) is Variable:
                    v.x_bar = None
        with _silent(all="ignore"):
            walk(tape, seeds)
        given = [g for _, g in seeds if isinstance(g, np.ndarray)]
        own = tuple(_collect(plan) for _, plan in pairs)
        if given:  # a function that passes its argument on must not hand out the caller's array
            own = map_leaves(lambda g: g.copy() if any(g is s for s in given) else g, own)
        return own

    return y, back


def cotangents(y_bar: Tree, spec: Any, leaves: list[Any]) -> list[Any]:
    """The leaves of a cotangent for a result of structure `spec`; shapes are checked, None is zero."""
    y_bar = unthunk_tree(y_bar)
    if y_bar is None:
        return [None] * len(leaves)
    given = _match(spec, y_bar, len(leaves))
    out: list[Any] = []
    for g, y in zip(given, leaves, strict=True):
        if g is None or not is_float(y):
            out.append(None)
            continue
        if type(g) is complex or getattr(getattr(g, "dtype", None), "kind", "") == "c":
            g = np.real(g)
        if shape_of(g) != shape_of(y) and shape_of(g) != ():
            if int(np.prod(shape_of(g))) != int(np.prod(shape_of(y))):
                raise ShapeError(f"the cotangent has shape {shape_of(g)}, the result {shape_of(y)}")
            g = np.reshape(g, shape_of(y))
        wanted = dtype_of(y)
        out.append(g if type(g) is float or dtype_of(g) == wanted else np.asarray(g, wanted) if not is_lifted(g) else g)
    return out


def _match(spec: Any, tree: Tree, n: int) -> list[Any]:
    """Leaves of `tree` in the order of `spec`; a key that a dict lacks, or None, stands for zeros."""
    if n == 1 and not isinstance(tree, tuple | list | dict):
        leaves = flatten(tree)[0]
        if len(leaves) == 1:
            return leaves
    children = spec.children()
    if not children:
        return [tree] if spec.num_leaves else []
    if isinstance(tree, dict):
        keys = spec.entries()
        unknown = set(tree) - set(keys)
        if unknown:
            raise ShapeError(f"the cotangent has keys {sorted(unknown)} that the result has not")
        parts = [tree.get(k) for k in keys]
    elif isinstance(tree, tuple | list):
        parts = list(tree)
    else:
        from optree import tree_flatten_one_level

        parts = list(tree_flatten_one_level(tree, namespace="probdiff")[0])
    if len(parts) != len(children):
        raise ShapeError(f"the cotangent has {len(parts)} entries, the result {len(children)}")
    out: list[Any] = []
    for child, part in zip(children, parts, strict=True):
        out.extend([None] * child.num_leaves if part is None else _match(child, part, child.num_leaves))
    return out


def pushforward(f: Callable[..., Any], *args: Tree) -> Callable[..., Tree]:
    """A function from tangents of the arguments to the tangent of f's result.

    A tangent has its argument's shape, or one more axis at the end: then there are as many directions, carried
    together, and the result has that axis too. The number 0 and None are structural zeros; a Python integer that gets
    a tangent is taken as a float.
    """
    flat, spec = flatten(args)
    simple = all(a is b for a, b in zip(args, flat, strict=False)) and len(args) == len(flat)

    def forward(*tangents: Tree) -> Tree:
        if len(tangents) != len(args):
            raise ShapeError(f"pushforward of {len(args)} arguments got {len(tangents)} tangents")
        dots: list[Any] = []
        if simple and not any(isinstance(t, tuple | list | dict) for t in tangents):
            dots.extend(tangents)
        else:
            for t, child in zip(tangents, spec.children(), strict=True):
                dots.extend([None] * child.num_leaves if t is None else _match(child, t, child.num_leaves))
        level, width = new_level(), None
        leaves = []
        for x, dot in zip(flat, dots, strict=True):
            if dot is None or (type(dot) in (int, float) and dot == 0):
                leaves.append(_no_tangent(x))
                continue
            if not is_float(x):
                if not isinstance(x, int | np.integer) or isinstance(x, bool):
                    raise DifferentiationError(f"pushforward got a tangent for {x!r}, which has none")
                x = float(x)
            own, given = shape_of(x), shape_of(dot)
            if given == own or (given == () and type(dot) in (int, float)):
                directions = (float(dot) if type(dot) is int else dot,)
                wide = None
            elif given[:-1] == own:
                directions = tuple(dot[..., k] for k in range(given[-1]))
                wide = given[-1]
            else:
                raise ShapeError(f"pushforward got a tangent of shape {given} for an argument of shape {own}")
            if width is not None and width != (wide,):
                raise ShapeError("pushforward got tangents with different numbers of directions")
            width = (wide,)
            leaves.append(Dual(level, strong(x), directions))
        y = f(*leaves) if simple else f(*unflatten(spec, leaves))
        if type(y) is Dual and width == (None,):
            return _tangent(y, level, None)
        return map_leaves(lambda leaf: _tangent(leaf, level, width[0] if width else None), y)

    return forward


def _tangent(y: Any, level: int, width: int | None) -> Any:
    if not is_float(y):
        return 0.0 if isinstance(y, int | np.integer | bool) else None
    value = y.value if type(y) is Dual and y.level == level else y
    columns = [_expanded(partial_of(y, level, k), value) for k in range(1 if width is None else width)]
    if width is None:
        return columns[0]
    return np.stack(columns, axis=-1) if columns else np.zeros((*shape_of(y), 0))


def _expanded(dot: Any, value: Any) -> Any:
    shape = shape_of(value)
    if dot is None:
        return np.zeros(shape, dtype_of(value)) if shape else 0.0
    if shape_of(dot) == shape:
        return dot
    dot = np.broadcast_to(dot, shape)
    return dot if is_lifted(dot) else dot.copy()


_CHUNK = 16  # directions that one forward pass carries


def jacobian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Tree]:
    """A function that returns the Jacobian: the result's shape followed by the argument's, for each pair of leaves.

    Forward mode for as many inputs as outputs or fewer, reverse mode otherwise.
    """

    def wrapped(*args: Tree) -> Tree:
        (k,) = _argnums(argnums, len(args))
        leaves, spec = flatten(args[k])
        if not all(is_float(x) for x in leaves):
            raise DifferentiationError(f"jacobian needs floating-point values in argument {k}")

        def of(*xs: Array) -> Tree:
            return f(*args[:k], unflatten(spec, xs), *args[k + 1 :])

        n = sum(int(np.prod(shape_of(x), dtype=int)) for x in leaves)
        if n <= _CHUNK:
            return _forward_jacobian(of, leaves, spec)
        y, back = pullback(of, *leaves)
        outputs, out_spec = flatten(y)
        m = sum(int(np.prod(shape_of(o), dtype=int)) for o in outputs)
        if n <= m:
            return _forward_jacobian(of, leaves, spec)
        blocks = [[_rows(back, outputs, j, i, x) for i, x in enumerate(leaves)] for j in range(len(outputs))]
        return unflatten(out_spec, [unflatten(spec, row) for row in blocks])

    return wrapped


def _rows(back: Any, outputs: list[Any], j: int, i: int, x: Any) -> Array:
    shape = shape_of(outputs[j])
    size = int(np.prod(shape, dtype=int))
    columns = []
    for k in range(size):
        unit = np.zeros(size)
        unit[k] = 1.0
        seed: Any = [None] * len(outputs)
        seed[j] = unit.reshape(shape)
        columns.append(back(seed[0] if len(outputs) == 1 else tuple(seed))[i])
    stacked = np.stack(columns) if columns else np.zeros((0, *shape_of(x)))
    return np.reshape(stacked, shape + shape_of(x))


def _forward_jacobian(f: Callable[..., Any], leaves: list[Any], spec: Any) -> Tree:
    sizes = [int(np.prod(shape_of(x), dtype=int)) for x in leaves]
    n = sum(sizes)
    pieces: list[list[Any]] = []
    out_spec = outputs = None
    for start in range(0, max(n, 1), _CHUNK):
        level = new_level()
        stop = min(start + _CHUNK, n)
        duals, offset = [], 0
        for x, size in zip(leaves, sizes, strict=True):
            units: list[Any] = []
            for k in range(start, stop):
                if offset <= k < offset + size:
                    unit = np.zeros(size, dtype_of(x))
                    unit[k - offset] = 1.0
                    units.append(unit.reshape(shape_of(x)) if shape_of(x) else 1.0)
                else:
                    units.append(None)
            duals.append(Dual(level, strong(x), tuple(units)))
            offset += size
        outputs, out_spec = flatten(f(*duals))
        for k in range(stop - start):
            pieces.append([_expanded(partial_of(y, level, k), _beneath(y, level)) for y in outputs])
        outputs = [_beneath(y, level) for y in outputs]
    assert outputs is not None and out_spec is not None
    results = []
    for j, y in enumerate(outputs):
        columns, offset, row = [p[j] for p in pieces], 0, []
        for x, size in zip(leaves, sizes, strict=True):
            block = columns[offset : offset + size]
            stacked = np.stack(block, axis=-1) if block else np.zeros((*shape_of(y), 0))
            row.append(np.reshape(stacked, shape_of(y) + shape_of(x)))
            offset += size
        results.append(unflatten(spec, row))
    return unflatten(out_spec, results)


def _beneath(y: Any, level: int) -> Any:
    return y.value if type(y) is Dual and y.level == level else y


def hessian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Tree]:
    """A function that returns the matrix of second derivatives: forward mode over reverse mode."""
    return jacobian(grad(f, argnums), argnums)


def hvp(f: Callable[..., Any]) -> Callable[[Tree, Tree], Tree]:
    """A function (x, v) -> H(x) v, at the cost of a few gradients and without H."""

    def product(x: Tree, v: Tree) -> Tree:
        return pushforward(grad(f), x)(v)

    return product


def stop_gradient(x: Tree) -> Tree:
    """The same values, constant to every derivative."""
    row = rows["stop_gradient"]
    return map_leaves(lambda leaf: apply(row, leaf) if is_lifted(leaf) else leaf, x)


class Bundle:
    """An entry that gathers the cotangents of several results before it sends them on together."""

    __slots__ = ("back", "count", "inputs")

    def __init__(self, inputs: list[Variable], count: int, back: Callable[[list[Any]], list[Any]]) -> None:
        self.inputs = inputs
        self.count = count
        self.back = back

    def walk(self, z: Variable, z_bar: Any) -> None:
        given = [z_bar.get(k) for k in range(self.count)]
        for x, x_bar in zip(self.inputs, self.back(given), strict=True):
            if x_bar is not None:
                x.x_bar = x_bar if x.x_bar is None else x.x_bar + x_bar


class Member:
    """The k-th result of a bundle."""

    __slots__ = ("bundle", "k")

    def __init__(self, bundle: Variable, k: int) -> None:
        self.bundle = bundle
        self.k = k

    def walk(self, z: Variable, z_bar: Any) -> None:
        if self.bundle.x_bar is None:
            self.bundle.x_bar = {}
        self.bundle.x_bar[self.k] = z_bar


def record_many(
    tape: Tape, values: list[Any], inputs: list[Variable], back: Callable[[list[Any]], list[Any]]
) -> list[Any]:
    """Put several results with one common pullback on the tape; results without a tangent stay as they are."""
    floats = [k for k, v in enumerate(values) if is_float(v)]
    if len(floats) == 1:
        only = floats[0]

        def single(z_bar: Any) -> list[Any]:
            given = [None] * len(values)
            given[only] = z_bar
            return back(given)

        out = list(values)
        out[only] = tape.record(values[only], Pullback(inputs, single))
        return out
    bundle = tape.record(None, Bundle(inputs, len(values), back))
    return [tape.record(v, Member(bundle, k)) if k in floats else v for k, v in enumerate(values)]


def innermost(leaves: list[Any]) -> Lifted | None:
    """The leaf of the innermost level, or None if no leaf is lifted."""
    top = None
    for x in leaves:
        if isinstance(x, Lifted) and (top is None or x.level > top.level):
            top = x
    return top


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, but reverse mode keeps only its arguments and runs it again when the cotangent arrives."""

    @functools.wraps(f, updated=())
    def wrapped(*args: Tree) -> Tree:
        leaves, spec = flatten(args)
        top = innermost(leaves)
        if type(top) is not Variable:
            return f(*args)
        tape = top.tape
        mine = [k for k, x in enumerate(leaves) if type(x) is Variable and x.tape is tape]
        values = [x.value if k in mine else x for k, x in enumerate(leaves)]
        mark = len(tape.entries)
        out, out_spec = flatten(f(*unflatten(spec, values)))
        if any(type(y) is Variable and y.tape is tape for y in out):
            del tape.entries[mark:]  # f closes over variables of this tape: they need to be taped as usual
            return f(*args)

        def back(y_bars: list[Any]) -> list[Any]:
            def again(*xs: Array) -> Tree:
                full = list(values)
                for k, x in zip(mine, xs, strict=True):
                    full[k] = x
                return tuple(flatten(f(*unflatten(spec, full)))[0])

            return list(pullback(again, *(values[k] for k in mine))[1](tuple(y_bars)))

        return unflatten(out_spec, record_many(tape, out, [leaves[k] for k in mine], back))

    return wrapped
