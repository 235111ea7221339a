"""Per element: a function of scalars applied over arrays, and differentiated as one fused kernel.

The function is recorded once, on scalars, for the kinds of its arguments. If the recording is a program of elementwise
operations, running it on arrays is running the function on every element. Under reverse mode, `broadcast(fwddiff(f))`
runs the recording of f on duals: one native loop that returns values and partials.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from probdiff.ad.arguments import collect, cotangents, lift
from probdiff.ad.dual import Dual, partial_of
from probdiff.ad.fwddiff import FwdDiff, contract, evaluate
from probdiff.ad.reverse import Partials, Tape, Variable, record_many
from probdiff.compiler.inline import inlined
from probdiff.compiler.interpret import interpret
from probdiff.compiler.scalarise import scalarised
from probdiff.errors import ShapeError, TracedValueError
from probdiff.graph.closure import fingerprint
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Capture, Tracer, capture, recording, sweep
from probdiff.ops.control import scalar_program
from probdiff.ops.dispatch import Lifted, dtype_of, innermost, is_float, is_lifted, new_level, shape_of
from probdiff.ops.elementwise import unbroadcast
from probdiff.tree import Tree, flatten, unflatten

WIDTH = 64  # components of an element up to which it is written out
_SMALL_INT = 64  # Python integers up to this are part of the recording: exponents, counts, orders


class Ref:
    """An argument of a broadcast function that every element gets whole."""

    __slots__ = ("value",)

    def __init__(self, value: Tree) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Ref({self.value!r})"


class Kernel:
    """A recording of f on scalars: the values, and with `wrt` the partials of each value along each of those leaves."""

    __slots__ = ("capture", "container", "count", "native", "partial_of", "program", "result_is_leaf")

    def __init__(self, recorded: Capture, program: Program, count: int, partial_of: list[list[int | None]]) -> None:
        self.capture = recorded
        self.program = program
        self.count = count
        self.partial_of = partial_of
        self.native: Any = None
        probe = unflatten(recorded.out_spec, [0.0] * recorded.out_spec.num_leaves)
        value = probe.value
        self.result_is_leaf = isinstance(value, float)
        self.container = dataclasses.is_dataclass(value)

    def run(self, inputs: list[Any]) -> list[Any]:
        """Outputs for arrays of inputs: natively for plain ones, by the interpreter for lifted ones."""
        if any(isinstance(x, Lifted) for x in inputs):
            before, sweep.now = sweep.now, "forward" if len(self.program.outputs) > self.count else sweep.now
            try:
                return interpret(self.program, inputs)
            finally:
                sweep.now = before
        if self.native is None:
            from probdiff.compiler.native.kernel import elementwise_kernel

            self.native = elementwise_kernel(inlined(self.program))
        out: list[Any] = self.native(*inputs)
        return out


_kernels: dict[Any, Kernel | None] = {}


class Broadcast:
    """What `broadcast(f)` returns: f per element of its arguments' leaves."""

    __slots__ = ("__dict__", "__weakref__", "cores", "direct", "f", "forward", "inner", "mark")

    def __init__(self, f: Callable[..., Any], signature: str | None) -> None:
        self.f: Any = f
        self.forward = type(f) is FwdDiff
        self.inner = inner = f.f if isinstance(f, FwdDiff) else f
        self.cores = None if signature is None else _core_dimensions(signature)
        # A constructor of a container: called with arrays, it holds them.
        self.direct = signature is None and getattr(inner, "__broadcasts__", False)

    def __fingerprint__(self) -> tuple[Any, ...]:
        return (self.f, tuple(self.cores or ()))

    def __repr__(self) -> str:
        return f"broadcast({getattr(self.f, '__name__', self.f)!s})"

    def __call__(self, *args: Tree, **kwargs: Any) -> Tree:
        if self.direct:
            return self.inner(*args, **kwargs)
        if self.cores is not None or kwargs or any(type(a) is Ref for a in args):
            return _call(self.f, self.inner, self.cores, args, kwargs)
        leaves, spec = flatten(args)
        if self.forward and self.f.wrt is None:
            result = _again(self.inner, leaves, spec)
            if result is not None:
                return result
        out = _scalar_call(self.f, self.inner, self.inner, leaves, spec)
        return out[0] if out is not None else _by_element(self.f, self.inner, leaves, spec, [0] * len(leaves))

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

    native: Any
    inputs: list[int]  # leaves that are inputs of the kernel
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
    out = route.native(*values)
    return tape.record(out[0], Partials([leaves[k] for k in route.mine], [out[p] for p in route.partials]))


def _remember(inner: Any, leaves: list[Any], spec: Any, kernel: Kernel, mine: tuple[int, ...]) -> None:
    """Take the short way next time, where it exists."""
    mark = fingerprint(inner)
    simple = (
        mark is not None
        and kernel.count == 1
        and not kernel.capture.lifted
        and kernel.native is not None
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
    _routes[(mark, spec, *kinds)] = Route(kernel.native, list(range(len(leaves))), list(mine), partials)


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
    return _by_element(f, call, leaves, spec, core or [0] * len(leaves))


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


# Kernels of scalars


def _kind(x: Any) -> Any:
    if type(x) is np.ndarray:
        return x.dtype
    if isinstance(x, Lifted):
        return x.dtype
    if type(x) is float:
        return float
    if type(x) is int:
        return ("int", x) if -_SMALL_INT <= x <= _SMALL_INT else np.dtype(np.int64)
    if isinstance(x, np.generic):
        return x.dtype
    return (type(x), x)


def kernel_for(inner: Any, call: Any, leaves: list[Any], spec: Any, wrt: tuple[int, ...] | None) -> Kernel | None:
    """The recording for these kinds of leaves; None if f cannot be recorded, or is no program of scalars."""
    kinds = tuple(map(_kind, leaves))
    mark = fingerprint(inner)
    key = (mark, spec, kinds, wrt)
    if mark is not None:
        try:
            return _kernels[key]
        except KeyError:
            pass
        except TypeError:
            mark = None
    kernel = _record(call, leaves, spec, kinds, wrt)
    if mark is not None and (kernel is None or not kernel.capture.lifted):
        _kernels[key] = kernel
    return kernel


def _record(call: Any, leaves: list[Any], spec: Any, kinds: Any, wrt: tuple[int, ...] | None) -> Kernel | None:
    narrow = [k for k in kinds if isinstance(k, np.dtype) and k.kind == "f"]
    weak = narrow[0] if narrow and all(k == narrow[0] for k in narrow) else np.dtype(float)
    described, traced = list(leaves), []
    for k, kind in enumerate(kinds):
        if kind is float or isinstance(kind, np.dtype):
            described[k] = ((), weak if kind is float else kind)
            traced.append(k)
    count = 0
    names: list[list[int | None]] = []

    def with_partials(*args: Tree) -> Any:
        nonlocal count
        inputs = flatten(args)[0]
        if wrt is None:
            out, out_spec = flatten(call(*args))
            count = len(out)
            names.extend([] for _ in out)
            return _Result(unflatten(out_spec, out), [])
        level = new_level()
        duals = list(inputs)
        for d, k in enumerate(wrt):
            duals[k] = Dual(level, inputs[k], tuple(1.0 if e == d else None for e in range(len(wrt))))
        out, out_spec = flatten(call(*unflatten(spec, duals)))
        count = len(out)
        extra: list[Any] = []
        for y in out:
            row: list[int | None] = []
            for d in range(len(wrt)):
                p = partial_of(y, level, d)
                row.append(None if p is None else count + len(extra))
                if p is not None:
                    extra.append(p)
            names.append(row)
        values = [y.value if type(y) is Dual and y.level == level else y for y in out]
        return _Result(unflatten(out_spec, values), extra)

    recording.bodies += 1
    try:
        recorded = capture(with_partials, spec, described, traced)
    except TracedValueError:
        return None
    finally:
        recording.bodies -= 1
    program = recorded.program
    if recorded.statics:
        return None
    if not scalar_program(program):  # small arrays inside an element become scalars
        if any(x.shape for x in (*program.inputs, *program.outputs)):
            return None
        written = scalarised(program)
        if written is None:
            return None
        program = written
    return Kernel(recorded, program, count, names)


class _Result:
    """What a recorded kernel returns: its result and, after it, the partials."""

    def __init__(self, value: Tree, extra: list[Any]) -> None:
        self.value = value
        self.extra = extra


def _register() -> None:
    from probdiff.tree import register

    register(_Result, ("value", "extra"))


_register()


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
        inputs = [x for k, x in enumerate(leaves) if not isinstance(_kind(x), tuple)] + kernel.capture.lifted
        with np.errstate(all="ignore"):
            out = interpret(kernel.program, inputs)
        return (kernel.capture.rebuild(_filled(out, kernel, inputs)).value,)
    tape = top.tape
    wanted = _wrt(f, leaves, spec)
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
        elif not isinstance(_kind(x), tuple):
            values.append(x)
    inputs = [leaves[k] for k in mine]
    lifted = kernel.capture.lifted
    values += [x.value if type(x) is Variable and x.tape is tape else x for x in lifted]
    out = kernel.run(values)
    count = kernel.count
    ys = _filled(out[:count], kernel, values)
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


def _wrt(f: FwdDiff, leaves: list[Any], spec: Any) -> list[int]:
    return f._wanted(leaves, spec) if f.wrt is not None else [k for k, x in enumerate(leaves) if is_float(x)]


def _filled(out: list[Any], kernel: Kernel, inputs: list[Any]) -> list[Any]:
    """Results in the common shape, except inputs that a container holds as they are."""
    shapes = [shape_of(x) for x in inputs]
    first = shapes[0] if shapes else ()
    shape = first if all(s == first or s == () for s in shapes) else np.broadcast_shapes(*shapes)
    for k, (y, o) in enumerate(zip(out, kernel.program.outputs, strict=False)):
        if shape_of(y) != shape and not (kernel.container and type(o) is Node and o.op is None):
            y = np.broadcast_to(y, shape)
            out[k] = y if is_lifted(y) else y.copy()
    return out


# Element by element: for what cannot be recorded, and for elements that are arrays

_warned: set[Any] = set()


def _elements(leaves: list[Any], core: list[int]) -> tuple[tuple[int, ...], list[Callable[[tuple[int, ...]], Any]]]:
    leads = []
    for x, c in zip(leaves, core, strict=True):
        shape = shape_of(x)
        if len(shape) < c:
            raise ShapeError(f"broadcast needs at least {c} axes for an element, got shape {shape}")
        leads.append(shape[: len(shape) - c])
    shape = np.broadcast_shapes(*leads)

    def picker(x: Any, lead: tuple[int, ...]) -> Callable[[tuple[int, ...]], Any]:
        if not lead:
            return lambda index: x
        skip = len(shape) - len(lead)
        return lambda index: _plain(x[tuple(0 if n == 1 else i for i, n in zip(index[skip:], lead, strict=True))])

    return shape, [picker(x, lead) for x, lead in zip(leaves, leads, strict=True)]


def _plain(x: Any) -> Any:
    """A scalar of an integer or boolean array as the Python number that f would get in a loop."""
    return x.item() if isinstance(x, np.integer | np.bool_) else x


def _by_element(f: Any, call: Any, leaves: list[Any], spec: Any, core: list[int]) -> Tree:
    top = innermost(leaves)
    shape, pick = _elements(leaves, core)
    if not any(core) and not isinstance(top, Tracer):  # where nothing has a value yet, the branch itself is refused
        _warn(call)
    if not isinstance(f, FwdDiff) or type(top) is not Variable:
        results = [call(*unflatten(spec, [p(i) for p in pick])) for i in np.ndindex(shape)]
        return _gather(results, shape)
    tape = top.tape
    wanted = _wrt(f, leaves, spec)
    mine = [k for k in wanted if type(leaves[k]) is Variable and leaves[k].tape is tape]
    if not mine:
        return _gather([call(*unflatten(spec, [p(i) for p in pick])) for i in np.ndindex(shape)], shape)
    values = [x.value if type(x) is Variable and x.tape is tape else x for x in leaves]
    _, pick = _elements(values, core)
    lazy = f.mode == "lazy"
    points = [[p(i) for p in pick] for i in np.ndindex(shape)]
    if lazy:
        flat = [flatten(call(*unflatten(spec, xs))) for xs in points]
        blocks = None
    else:
        done = [evaluate(call, xs, spec, mine) for xs in points]
        flat = [(out, out_spec) for out, out_spec, _ in done]
        blocks = [b for _, _, b in done]
    if not flat:
        return _gather([], shape)
    ys = [_stack([out[j] for out, _ in flat], shape) for j in range(len(flat[0][0]))]
    inputs = [leaves[k] for k in mine]
    closed = [y for y in ys if type(y) is Variable and y.tape is tape]
    plain = [y.value if type(y) is Variable and y.tape is tape else y for y in ys]

    def strip(p: Any) -> Any:
        return p.value if type(p) is Variable and p.tape is tape else p

    def back(y_bars: list[Any]) -> list[Any]:
        totals = _element_bars(
            call, spec, points, [[strip(o) for o in out] for out, _ in flat], blocks, y_bars, mine, shape, strip
        )
        bars = [
            None if t is None else unbroadcast(t, shape + shape_of(t)[len(shape) :], shape_of(values[k]))
            for k, t in zip(mine, totals, strict=True)
        ]
        return bars + [y_bars[j] for j, y in enumerate(ys) if type(y) is Variable and y.tape is tape]

    return unflatten(flat[0][1], record_many(tape, plain, inputs + closed, back))


def _element_bars(
    call: Any, spec: Any, points: Any, outs: Any, blocks: Any, y_bars: Any, mine: list[int], shape: Any, strip: Any
) -> list[Any]:
    columns: list[list[Any]] = [[] for _ in mine]
    full = [None if b is None else _spread(b, shape, [o[j] for o in outs]) for j, b in enumerate(y_bars)]
    for n, index in enumerate(np.ndindex(shape)):
        bars = [None if b is None else b[index] for b in full]
        if blocks is not None:
            plain = [[strip(p) for p in row] for row in blocks[n]]
            entries = contract(plain, bars, outs[n], [points[n][k] for k in mine])
        else:
            entries = []
            for k in mine:
                one = evaluate(call, points[n], spec, [k])[2]
                entries += contract([[strip(p) for p in row] for row in one], bars, outs[n], [points[n][k]])
        for column, e, k in zip(columns, entries, mine, strict=True):
            column.append(np.zeros(shape_of(points[n][k])) if e is None else e)
    return [_stack(c, shape) if c else None for c in columns]


def _spread(y_bar: Any, shape: tuple[int, ...], elements: list[Any]) -> Any:
    return np.broadcast_to(y_bar, shape + shape_of(elements[0]))


def _stack(items: list[Any], shape: tuple[int, ...]) -> Any:
    if not any(isinstance(e, float | int | np.ndarray | np.generic | Lifted) for e in items):
        return items[0] if items else None
    if not shape:
        return items[0]
    stacked = np.stack([e if is_lifted(e) else np.asarray(e) for e in items])
    return np.reshape(stacked, shape + shape_of(stacked)[1:])


def _gather(results: list[Any], shape: tuple[int, ...]) -> Tree:
    if not results:
        return np.zeros(shape)
    flat = [flatten(r) for r in results]
    return unflatten(flat[0][1], [_stack([out[j] for out, _ in flat], shape) for j in range(len(flat[0][0]))])


def _warn(call: Any) -> None:
    code = getattr(call, "__code__", None)
    key = code or call
    if key in _warned:
        return
    _warned.add(key)
    where = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(call)
    warnings.warn(
        f"broadcast runs {getattr(call, '__name__', 'the function')} ({where}) element by element, because Python "
        "asks for the value of an argument in it, or because it computes with arrays of many elements. Write the "
        "branch with np.where, or pass the arrays with a signature, to get one compiled loop.",
        stacklevel=4,
    )


def _pullback(
    f: FwdDiff, inner: Any, cores: list[int] | None, *args: Tree
) -> tuple[Any, Callable[[Tree], tuple[Any, ...]]]:
    """Direct pullback of a broadcast: values on the way forward, and a thunk per argument."""
    from probdiff.ad.reverse import walk
    from probdiff.ad.thunk import Thunk

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
