"""An elementwise program as a NumPy ufunc whose loop is machine code.

NumPy then does what it does for its own ufuncs: it broadcasts, allocates results, walks strides, converts dtypes and
lets go of the interpreter lock. The loop works on blocks of contiguous elements; operands with another stride are
copied into a block first. A long loop over contiguous operands is shared among threads.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.interpret import interpret
from probdiff.compiler.native import jit, parallel
from probdiff.compiler.native.parallel import BLOCKS
from probdiff.compiler.native.scalar import Scope, emit
from probdiff.compiler.native.unswitch import chosen, cost, outcomes, worth_deciding
from probdiff.compiler.native.values import I1, I8, I64, PTR, cast, constant, load, memory_type, store
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Node, Program

BLOCK = 256
SHARED, OPERATIONS = 20_000, 1_500_000  # elements, and operations on them, from which a loop is shared among threads
_cache: dict[Any, Any] = {}
_alive: list[Any] = []


def elementwise_kernel(program: Program, fixed: tuple[bool, ...] = ()) -> Callable[..., list[Any]]:
    """A function of arrays (one per input) that returns the list of outputs.

    fixed  for each input, whether it is always a single number: what depends on these alone is computed once
    """
    key = program.key(), fixed
    run = _cache.get(key)
    if run is None:
        try:
            run = _build(program, fixed or (False,) * len(program.inputs))
        except UnsupportedError:
            run = functools.partial(_interpreter, program)
        _cache[key] = run
    return run


def _interpreter(program: Program, *inputs: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return interpret(program, list(inputs))


def _build(program: Program, fixed: tuple[bool, ...]) -> Callable[..., list[Any]]:
    computed = [o for o in program.outputs if isinstance(o, Node) and o.op is not None]
    if not computed:
        return lambda *inputs: interpret(program, list(inputs))
    unique = list(dict.fromkeys(computed))
    text = kernel_text(program, unique, fixed)
    (address,) = jit.load(text, ["loop"])
    ufunc = _ufunc(address, [n.dtype for n in program.inputs], [n.dtype for n in unique])
    position = {n: k for k, n in enumerate(unique)}
    if len(unique) == len(program.outputs) == 1:
        return lambda *inputs: [ufunc(*inputs)]
    if unique == program.outputs:
        return lambda *inputs: list(ufunc(*inputs))
    inputs_at = {n: k for k, n in enumerate(program.inputs)}

    def run(*inputs: Any) -> list[Any]:
        results = ufunc(*inputs)
        if len(unique) == 1:
            results = (results,)
        return [
            o if not isinstance(o, Node) else results[position[o]] if o in position else inputs[inputs_at[o]]
            for o in program.outputs
        ]

    return run


def kernel_text(program: Program, outputs: list[Node], fixed: tuple[bool, ...]) -> str:
    """LLVM text of a ufunc inner loop `loop(args, dimensions, steps, data)`."""
    module = ir.Module()
    scope = Scope(module)
    dtypes = [n.dtype for n in program.inputs] + [n.dtype for n in outputs]
    body = _body(module, scope, program, outputs, fixed)
    f = ir.Function(module, ir.FunctionType(ir.VoidType(), [PTR] * 4), "loop")
    args, dimensions, steps, _ = f.args
    b = ir.IRBuilder(f.append_basic_block("entry"))
    n = b.load(dimensions, typ=I64)
    m = len(program.inputs)
    base = [b.load(b.gep(args, [I64(k)], source_etype=PTR), typ=PTR) for k in range(len(dtypes))]
    step = [b.load(b.gep(steps, [I64(k)], source_etype=I64), typ=I64) for k in range(len(dtypes))]
    buffers = [b.alloca(memory_type(d), size=I64(BLOCK)) for d in dtypes]
    direct = [b.icmp_signed("==", s, I64(d.itemsize)) for s, d in zip(step, dtypes, strict=True)]
    direct[:m] = [I1(1) if f else d for f, d in zip(fixed, direct, strict=False)]  # read at their only place
    everything = direct[0]
    for d in direct[1:]:
        everything = b.and_(everything, d)
    many = I64(max(SHARED, OPERATIONS // (1 + cost(_repeated(program, fixed)))))
    context = b.alloca(PTR, size=I64(len(dtypes) + 1))
    with b.if_else(everything) as (fast, blocked):
        with fast, b.if_else(b.icmp_signed("<", n, many)) as (short, long):
            with short:
                b.call(body, [*base, n])
            with long:
                for k, p in enumerate([*base, b.inttoptr(n, PTR)]):
                    b.store(p, b.gep(context, [I64(k)], source_etype=PTR))
                run = scope.declare(parallel.symbol(), ir.VoidType(), [PTR, PTR, I64])
                b.call(run, [_share(module, body, dtypes, fixed), context, I64(BLOCKS)])
        with blocked:
            _blocks(b, body, n, base, step, direct, buffers, dtypes, m)
    # NumPy turns floating-point flags into warnings; a kernel evaluates every branch of every selection, so clear them.
    b.call(
        ir.Function(module, ir.FunctionType(ir.IntType(32), [ir.IntType(32)]), "feclearexcept"), [ir.IntType(32)(61)]
    )
    b.ret_void()
    return str(module)


def _share(module: Any, body: Any, dtypes: list[np.dtype], fixed: tuple[bool, ...]) -> Any:
    """`share(context, first, last)`: the elements of some of all blocks, for a context of operands and their length."""
    f = ir.Function(module, ir.FunctionType(ir.VoidType(), [PTR, I64, I64]), "share")
    f.linkage = "internal"
    b = ir.IRBuilder(f.append_basic_block("entry"))
    context, first, last = f.args
    at = [b.gep(context, [I64(k)], source_etype=I64) for k in range(len(dtypes) + 1)]
    n = b.load(at[-1], typ=I64)
    start, stop = (b.sdiv(b.mul(n, k), I64(BLOCKS)) for k in (first, last))
    operands = []
    for k, dtype in enumerate(dtypes):
        base = b.load(at[k], typ=PTR)
        once = k < len(fixed) and fixed[k]
        operands.append(base if once else b.gep(base, [start], source_etype=memory_type(dtype)))
    b.call(body, [*operands, b.sub(stop, start)])
    b.ret_void()
    return f


def _repeated(program: Program, fixed: tuple[bool, ...]) -> dict[Node, None]:
    """The operations on more than inputs that are single numbers."""
    once = {n for n, single in zip(program.inputs, fixed, strict=False) if single}
    each: dict[Node, None] = {}
    for node in program.nodes:
        if once and all(a in once for a in node.args if isinstance(a, Node)):
            once.add(node)
        else:
            each[node] = None
    return each


def _body(module: Any, scope: Scope, program: Program, outputs: list[Node], fixed: tuple[bool, ...]) -> Any:
    pointers = len(program.inputs) + len(outputs)
    f = ir.Function(module, ir.FunctionType(ir.VoidType(), [PTR] * pointers + [I64]), "body")
    f.linkage = "internal"
    for a in f.args[:pointers]:
        a.add_attribute("noalias")
    b = ir.IRBuilder(f.append_basic_block("entry"))
    inputs = list(zip(program.inputs, f.args, fixed, strict=False))
    once: dict[Node, Any] = {n: load(b, p, n.dtype) for n, p, single in inputs if single}
    each = _repeated(program, fixed)
    for node in program.nodes:
        if node not in each:
            once[node] = emit(scope, b, node, once)
    decided = worth_deciding(each, outputs, once.__contains__)
    known: dict[Node, bool] = {}
    for _ in outcomes(b, decided, {c: cast(b, once[c], c.dtype, np.dtype(bool)) for c in decided}, known):
        with for_range(b, I64(0), f.args[-1]) as i:
            values = dict(once)
            for node, p, single in inputs:
                if not single:
                    values[node] = load(b, b.gep(p, [i], source_etype=memory_type(node.dtype)), node.dtype)
            for node in each:
                for a in chosen(node, known):
                    v = cast(b, values[a], a.dtype, node.dtype) if isinstance(a, Node) else constant(a, node.dtype)
                    values[node] = v
                if node not in values:
                    values[node] = emit(scope, b, node, values)
            for node, p in zip(outputs, f.args[len(program.inputs) :], strict=False):
                store(b, values[node], b.gep(p, [i], source_etype=memory_type(node.dtype)), node.dtype)
    b.ret_void()
    return f


def _blocks(b: Any, body: Any, n: Any, base: Any, step: Any, direct: Any, buffers: Any, dtypes: Any, m: int) -> None:
    with for_range(b, I64(0), n, I64(BLOCK)) as start:
        left = b.sub(n, start)
        size = b.select(b.icmp_signed("<", left, I64(BLOCK)), left, I64(BLOCK))
        here = [b.gep(p, [b.mul(start, s)], source_etype=I8) for p, s in zip(base, step, strict=True)]
        for k in range(m):
            with b.if_then(b.not_(direct[k])), for_range(b, I64(0), size) as i:
                _copy(b, here[k], b.mul(i, step[k]), buffers[k], i, dtypes[k], into=True)
        used = [b.select(d, p, q) for d, p, q in zip(direct, here, buffers, strict=True)]
        b.call(body, [*used, size])
        for k in range(m, len(dtypes)):
            with b.if_then(b.not_(direct[k])), for_range(b, I64(0), size) as i:
                _copy(b, here[k], b.mul(i, step[k]), buffers[k], i, dtypes[k], into=False)


def _copy(b: Any, strided: Any, offset: Any, buffer: Any, i: Any, dtype: np.dtype, into: bool) -> None:
    t = memory_type(dtype)
    outside = b.gep(strided, [offset], source_etype=I8)
    inside = b.gep(buffer, [i], source_etype=t)
    if into:
        value = b.load(outside, typ=t)
        value.align = 1
        b.store(value, inside)
    else:
        b.store(b.load(inside, typ=t), outside, align=1)


class for_range:
    """`with for_range(b, start, stop) as i`: a counted loop."""

    def __init__(self, b: Any, start: Any, stop: Any, step: Any = None, vectorise: bool = True) -> None:
        self.b, self.start, self.stop, self.step = b, start, stop, step or I64(1)
        self.vectorise = vectorise

    def __enter__(self) -> Any:
        b = self.b
        before = b.block
        self.head = b.append_basic_block("head")
        inside = b.append_basic_block("loop")
        self.after = b.append_basic_block("after")
        b.branch(self.head)
        b.position_at_end(self.head)
        self.i = b.phi(I64)
        self.i.add_incoming(self.start, before)
        b.cbranch(b.icmp_signed("<", self.i, self.stop), inside, self.after)
        b.position_at_end(inside)
        return self.i

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            return
        b = self.b
        following = b.add(self.i, self.step, flags=("nsw",))
        self.i.add_incoming(following, b.block)
        back = b.branch(self.head)
        if not self.vectorise:
            back.set_metadata("llvm.loop", scalar_loop(b.module))
        b.position_at_end(self.after)


def scalar_loop(module: Any) -> Any:
    """A mark on a loop that the vectoriser leaves alone; `marked` turns it into what LLVM reads."""
    fact = module.add_metadata([ir.MetaDataString(module, "llvm.loop.vectorize.enable"), ir.Constant(I1, 0)])
    number = len(module.metadata)
    return module.add_metadata([ir.MetaDataString(module, f"scalar loop {number}"), fact])


def marked(text: str) -> str:
    """The module's text with loop marks that refer to themselves, which llvmlite cannot write."""
    return re.sub(r'(!\d+) = !\{ !"scalar loop \d+", (!\d+) \}', r"\1 = distinct !{ \1, \2 }", text)


# NumPy's C interface: a ufunc from a loop


def _ufunc_api() -> Any:
    umath: Any = importlib.import_module("numpy._core._multiarray_umath")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))


def _ufunc(address: int, inputs: list[np.dtype], outputs: list[np.dtype]) -> Any:
    """PyUFunc_FromFuncAndData: entry 1 of NumPy's table of functions, which its binary interface keeps."""
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_int,
    )(_ufunc_api()[1])
    functions = (ctypes.c_void_p * 1)(address)
    data = (ctypes.c_void_p * 1)(None)
    types = ctypes.create_string_buffer(bytes(d.num for d in inputs + outputs))
    _alive.append((functions, data, types))
    return make(
        ctypes.addressof(functions), ctypes.addressof(data), ctypes.addressof(types), 1, len(inputs), len(outputs), -1,
        b"kernel", b"", 0,
    )  # fmt: skip
