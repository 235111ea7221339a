"""Per element: a function of scalars applied over arrays, and differentiated as one fused kernel.

The function is recorded once, on scalars, for the kinds of its arguments. If the recording is a program of elementwise
operations, running it on arrays is running the function on every element. Under reverse mode, `broadcast(fwddiff(f))`
runs the recording of f on duals: one native loop that returns values and partials.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from probdiff.ad.arguments import collect, cotangents, lift
from probdiff.ad.elements import by_element
from probdiff.ad.fwddiff import FwdDiff
from probdiff.ad.kernels import Kernel, filled, kernel_for, kind_of
from probdiff.ad.reverse import Partials, Tape, Variable, walk
from probdiff.ad.thunk import Thunk
from probdiff.compiler.interpret import interpret
from probdiff.compiler.scalarise import scalarised
from probdiff.errors import ShapeError, TracedValueError
from probdiff.graph.closure import fingerprint
from probdiff.graph.program import Node
from probdiff.graph.trace import capture
from probdiff.ops.dispatch import Lifted, dtype_of, innermost, is_float, shape_of
from probdiff.ops.foreign import Recordings, call_in, framework_among
from probdiff.tree import Tree, flatten, unflatten

WIDTH = 64  # components of an element up to which it is written out


class Ref:
    """An argument of a broadcast function that every element gets whole."""

    __slots__ = ("value",)

    def __init__(self, value: Tree) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Ref({self.value!r})"


class Broadcast:
    """What `broadcast(f)` returns: f per element of its arguments' leaves."""

    __slots__ = ("__dict__", "__weakref__", "cores", "direct", "entries", "f", "forward", "inner")

    def __init__(self, f: Callable[..., Any], signature: str | None) -> None:
        self.f: Any = f
        self.forward = type(f) is FwdDiff
        self.inner = inner = f.f if isinstance(f, FwdDiff) else f
        self.cores = None if signature is None else _core_dimensions(signature)
        # A constructor of a container: called with arrays, it holds them.
        self.direct = signature is None and getattr(inner, "__broadcasts__", False)
        self.entries = Recordings()

    def __fingerprint__(self) -> tuple[Any, ...]:
        return (self.f, tuple(self.cores or ()))

    def __repr__(self) -> str:
        return f"broadcast({getattr(self.f, '__name__', self.f)!s})"

    def __call__(self, *args: Tree, **kwargs: Any) -> Tree:
        if self.direct:
            return self.inner(*args, **kwargs)
        if self.cores is not None or kwargs or any(type(a) is Ref for a in args):
            plain = [a.value if type(a) is Ref else a for a in args]
            framework = framework_among(flatten((plain, kwargs))[0])
            if framework is not None:
                return call_in(framework, self, args, kwargs)
            return _call(self.f, self.inner, self.cores, args, kwargs)
        leaves, spec = flatten(args)
        if self.forward and self.f.wrt is None:
            result = _again(self.inner, leaves, spec)
            if result is not None:
                return result
        framework = framework_among(leaves)
        if framework is not None:
            return call_in(framework, self, args, kwargs)
        out = _scalar_call(self.f, self.inner, self.inner, leaves, spec)
        return out[0] if out is not None else by_element(self.f, self.inner, leaves, spec, [0] * len(leaves))

    @property
    def __pullback__(self) -> Any:
        if not self.forward:
            raise AttributeError("__pullback__")
        return functools.partial(_pullback, self.f, self.inner, self.cores)


def broadcast(f: Callable[..., Any], signature: str | None = None) -> Broadcast:
    """A function that applies f per element of its arguments' leaves, which broadcast like NumPy's.

    Structures are structures of arrays: `broadcast(Normal)(mu, sigma)` is one Normal that holds arrays. An argument
    wrapped in `Ref` is given whole to every element. With `signature`, as in numpy.vectorize, elements are arrays:
    "(n),()->()" gives f vectors (the last axis of the leaves of its first argument) and scalars.
    """
    return Broadcast(f, signature)


class Route(NamedTuple):
    """How a call of kinds seen before goes: straight to machine code and onto the tape."""

    natively: Callable[[list[Any]], list[Any]]
    mine: list[int]  # leaves that carry a partial
    partials: list[int]  # which output of the kernel belongs to each of them


_routes: dict[Any, Route] = {}


def _again(inner: Any, leaves: list[Any], spec: Any) -> Any:
    """The short way for a kernel with one result over plain arrays, under one reverse differentiation; or None."""
    tape = None
    values, kinds = [], []
    for x in leaves:
        kind = type(x)
        if kind is Variable:
            if tape is None:
                tape = x.tape
            elif x.tape is not tape:
                return None
            x = x.value
            kind = type(x)
            kinds.append(Variable)
        if kind is not np.ndarray and kind is not np.float64:
            return None
        values.append(x)
        kinds.append(x.dtype)
    route = _routes.get((fingerprint(inner), spec, *kinds))
    if route is None or tape is None:
        return None
    out = route.natively(values)
    return tape.record(out[0], Partials([leaves[k] for k in route.mine], [out[p] for p in route.partials]))


def _remember(inner: Any, leaves: list[Any], spec: Any, kernel: Kernel, mine: tuple[int, ...]) -> None:
    """Take the short way next time, where it exists."""
    mark = fingerprint(inner)
    simple = (
        mark is not None
        and kernel.count == 1
        and not kernel.capture.lifted
        and kernel.native
        and kernel.capture.out_spec.num_leaves == len(kernel.program.outputs)
        and kernel.result_is_leaf
        and all(isinstance(o, Node) and o.op is not None for o in kernel.program.outputs)
        and all(p is not None for p in kernel.partial_of[0])
    )
    if not simple:
        return
    kinds: list[Any] = []
    for x in leaves:
        if type(x) is Variable:
            kinds.append(Variable)
            x = x.value
        if type(x) is not np.ndarray and type(x) is not np.float64:
            return
        kinds.append(x.dtype)
    partials = [p for p in kernel.partial_of[0] if p is not None]
    _routes[(mark, spec, *kinds)] = Route(kernel.natively, list(mine), partials)


def _core_dimensions(signature: str) -> list[int]:
    left = signature.replace(" ", "").split("->")[0]
    if not left.startswith("(") or not left.endswith(")"):
        raise ShapeError(f"broadcast.signature must look like '(n),()->()', got {signature!r}")
    return [len([d for d in core.split(",") if d]) for core in left[1:-1].split("),(")]


def _call(f: Any, inner: Any, cores: list[int] | None, args: tuple[Tree, ...], kwargs: dict[str, Any]) -> Tree:
    core: list[int] | None = None
    if cores is not None or any(type(a) is Ref for a in args):
        args, core = _core_of_leaves(args, kwargs, cores)
    leaves, spec = flatten((args, kwargs)) if kwargs else flatten(args)
    call = inner if not kwargs else (lambda args, kwargs: inner(*args, **kwargs))
    if core is None or not any(core):
        out = _scalar_call(f, inner, call, leaves, spec)
        if out is not None:
            return out[0]
    elif all(0 < math.prod(shape_of(x)[len(shape_of(x)) - c :]) <= WIDTH for x, c in zip(leaves, core, strict=True)):
        out = _by_component(f, call, leaves, spec, core)
        if out is not None:
            return out[0]
    return by_element(f, call, leaves, spec, core or [0] * len(leaves))


def _by_component(f: Any, call: Any, leaves: list[Any], spec: Any, core: list[int]) -> tuple[Tree] | None:
    """Elements that are small arrays: the recording of f written out over their components, which are scalars."""
    leads = [shape_of(x)[: len(shape_of(x)) - c] for x, c in zip(leaves, core, strict=True)]
    shape = np.broadcast_shapes(*leads)
    described, traced = list(leaves), []
    for k, (x, c) in enumerate(zip(leaves, core, strict=True)):
        if isinstance(x, np.ndarray | np.generic | Lifted | float):
            described[k] = (shape_of(x)[len(shape_of(x)) - c :], dtype_of(x))
            traced.append(k)
    try:
        recorded = capture(call, spec, described, traced)
    except TracedValueError:
        return None
    program = scalarised(recorded.program)
    if program is None or recorded.statics or any(x.shape for x in recorded.lifted):
        return None
    parts: list[Any] = []
    for k in traced:
        x, lead = leaves[k], leads[k]
        if not core[k]:
            parts.append(x)
        else:
            flat = np.reshape(x, (*lead, -1))
            parts += [flat[..., d] for d in range(shape_of(flat)[-1])]
    parts += recorded.lifted

    def components(*xs: Any) -> tuple[Any, ...]:
        return tuple(interpret(program, list(xs)))

    if isinstance(f, FwdDiff) and f.wrt is None:
        done = _scalar_call(FwdDiff(components), components, components, parts, flatten(tuple(parts))[1])
        results = list(done[0]) if done is not None else None
    else:
        with np.errstate(all="ignore"):
            results = interpret(program, parts)
    if results is None:
        return None
    out, start = [], 0
    for o in recorded.program.outputs:
        n = math.prod(shape_of(o))
        wide = [np.broadcast_to(r, shape) for r in results[start : start + n]]
        start += n
        out.append(np.reshape(np.stack(wide, axis=-1) if n else np.zeros((*shape, 0)), shape + shape_of(o)))
    return (recorded.rebuild(out),)


def _core_of_leaves(args: tuple[Tree, ...], kwargs: Any, cores: list[int] | None) -> tuple[tuple[Tree, ...], list[int]]:
    if cores is not None and len(cores) != len(args):
        raise ShapeError(f"broadcast.signature names {len(cores)} arguments, the call has {len(args)}")
    core: list[int] = []
    plain = []
    for k, a in enumerate(args):
        whole = type(a) is Ref
        value = a.value if whole else a
        plain.append(value)
        core += [len(shape_of(x)) if whole else (cores[k] if cores else 0) for x in flatten(value)[0]]
    return tuple(plain), core + [0] * len(flatten(kwargs)[0])


def _scalar_call(f: Any, inner: Any, call: Any, leaves: list[Any], spec: Any) -> tuple[Tree] | None:
    top = innermost(leaves)
    forward = isinstance(f, FwdDiff)
    if type(top) is not Variable or not forward:
        if top is None:
            if all(shape_of(x) == () for x in leaves):
                return (call(*unflatten(spec, leaves)),)
        kernel = kernel_for(inner, call, leaves, spec, None)
        if kernel is None:
            return None
        inputs = [x for k, x in enumerate(leaves) if not isinstance(kind_of(x), tuple)] + kernel.capture.lifted
        with np.errstate(all="ignore"):
            out = interpret(kernel.program, inputs)
        return (kernel.capture.rebuild(filled(out, kernel, inputs)).value,)
    tape = top.tape
    wanted = f.wanted(leaves, spec)
    mine = tuple(k for k in wanted if type(leaves[k]) is Variable and leaves[k].tape is tape)
    kernel = kernel_for(inner, call, leaves, spec, mine)
    if kernel is None:
        return None
    if any(type(x) is Variable and x.tape is tape for x in kernel.capture.lifted):
        return _scalar_call(inner, inner, call, leaves, spec)  # f closes over this tape: reverse mode sees that too
    values, inputs = [], []
    for x in leaves:
        if type(x) is Variable and x.tape is tape:
            values.append(x.value)
        elif not isinstance(kind_of(x), tuple):
            values.append(x)
    inputs = [leaves[k] for k in mine]
    lifted = kernel.capture.lifted
    values += [x.value if type(x) is Variable and x.tape is tape else x for x in lifted]
    out = kernel.run(values)
    count = kernel.count
    ys = filled(out[:count], kernel, values)
    results = []
    for y, row in zip(ys, kernel.partial_of, strict=True):
        used = [(x, out[p]) for x, p in zip(inputs, row, strict=True) if p is not None]
        if not used or not is_float(y):
            results.append(y)
        else:
            results.append(tape.record(y, Partials([x for x, _ in used], [p for _, p in used])))
    _remember(inner, leaves, spec, kernel, mine)
    rebuilt = kernel.capture.rebuild(results + [0.0] * (len(out) - count))
    return (rebuilt.value,)


def _pullback(
    f: FwdDiff, inner: Any, cores: list[int] | None, *args: Tree
) -> tuple[Any, Callable[[Tree], tuple[Any, ...]]]:
    """Direct pullback of a broadcast: values on the way forward, and a thunk per argument."""
    lazy = f.mode != "single_pass"
    if lazy:
        y = _call(inner, inner, cores, args, {})
        out, out_spec = flatten(y)

    def run(k: int | None) -> Any:
        tape = Tape()
        pairs = []
        for n, a in enumerate(args):
            whole = type(a) is Ref
            if k is None or n == k:
                lifted, plan = lift(tape, a.value if whole else a)
                pairs.append((Ref(lifted) if whole else lifted, plan))
            else:
                pairs.append((a, None))
        with np.errstate(all="ignore"):
            result = flatten(_call(FwdDiff(inner, "single_pass", f.wrt), inner, cores, tuple(p[0] for p in pairs), {}))
        return tape, result, [p[1] for p in pairs]

    if not lazy:
        tape, (out, out_spec), plans = run(None)
        y = unflatten(out_spec, [o.value if type(o) is Variable and o.tape is tape else o for o in out])

    def back(y_bar: Tree) -> tuple[Any, ...]:
        def compute(k: int) -> Any:
            own_tape, (leaves, _), own = run(k) if lazy else (tape, (out, out_spec), plans)
            seeds = [
                (leaf, g)
                for leaf, g in zip(leaves, cotangents(y_bar, out_spec, leaves), strict=True)
                if type(leaf) is Variable and leaf.tape is own_tape and g is not None
            ]
            variables = own[k][0]
            for v in variables if isinstance(variables, list) else [variables]:
                if type(v) is Variable:
                    v.x_bar = None
            with np.errstate(all="ignore"):
                walk(own_tape, seeds)
            return collect(own[k])

        return tuple(Thunk(functools.partial(compute, k)) for k in range(len(args)))

    return y, back
