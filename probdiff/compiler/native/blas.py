"""Matrix products, Cholesky factors and triangular systems by SciPy's own BLAS and LAPACK, called by pointer.

A matrix in C order is the transpose of one in Fortran's order, so each routine is asked for the transposed problem. A
matrix without a Cholesky factor gives NaN.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.ir as ir
import numpy as np
import scipy

from probdiff.compiler.native import jit
from probdiff.compiler.native.kernel import for_range
from probdiff.compiler.native.values import DOUBLE, I8, I32, I64, PTR, cast, constant, load, memory_type, store
from probdiff.graph.program import Node
from probdiff.ops.control import CALL_DENSITY
from probdiff.ops.dispatch import dtype_of, shape_of
from probdiff.ops.index import SET_AT

NAMES = ("matmul", "cholesky", "solve_triangular")


def fits(node: Node, view: Callable[[Any], Any]) -> bool:
    """Whether a routine can take the operands of `node` where they lie."""
    if node.op.name not in NAMES or node.dtype != np.float64 or len(node.shape) != 2 or 0 in node.shape:
        return False
    if any(getattr(a, "dtype", None) != np.float64 or getattr(a, "ndim", 2) != 2 for a in node.args):
        return False
    return all(leading(view(a)) is not None for a in node.args)


def leading(view: Any) -> tuple[str, int] | None:
    """How Fortran sees a matrix: "N" for rows in C order, "T" for columns, and the distance between them."""
    (n, m), (s, t) = view.shape, view.strides
    if (t == 1 or m == 1) and s >= max(m, 1):
        return "N", s
    if (s == 1 or n == 1) and t >= max(n, 1):
        return "T", t
    if n == 1 and t == 1:
        return "N", max(m, 1)
    return None


ROUTINES = ("dgemm", "dpotrf", "dtrsm")


@functools.cache
def openblas() -> ctypes.CDLL | None:
    """The OpenBLAS that SciPy brings along, where it brings one."""
    folder = Path(scipy.__file__).parent.parent / "scipy.libs"
    found = sorted(folder.glob("libscipy_openblas*")) if folder.is_dir() else []
    return ctypes.CDLL(str(found[0])) if found else None


@functools.cache
def routine(name: str) -> str:
    """The symbol of one of `ROUTINES`.

    It comes from SciPy's own OpenBLAS; where there is none, through scipy.linalg, whose import takes 30 ms.
    """
    label, library = f"scipy.{name}", openblas()
    if library is not None and hasattr(library, f"scipy_{name}_"):
        address = ctypes.cast(library[f"scipy_{name}_"], ctypes.c_void_p).value
        assert address is not None
        jit.symbol(label, address)
        return label
    from scipy.linalg import cython_blas, cython_lapack

    capsule = (cython_lapack if name == "dpotrf" else cython_blas).__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    jit.symbol(label, get(capsule, get_name(capsule)))
    return label


ONE_THREAD, ALL_THREADS = "probdiff.blas_one_thread", "probdiff.blas_all_threads"
SMALL = 1e7  # multiplications of a routine up to which more threads cost more than they bring


@functools.cache
def thread_symbols() -> None:
    """Make known the functions that set the threads of SciPy's OpenBLAS to one and back; they do nothing elsewhere.

    Its threads spin while they wait for each other, which on a busy machine turns microseconds into milliseconds.
    """
    text = "define void @one() {\n ret void\n}\ndefine void @all() {\n ret void\n}"
    library = openblas()
    if library is not None:
        with contextlib.suppress(AttributeError):
            setter, count = library.scipy_openblas_set_num_threads, library.scipy_openblas_get_num_threads()
            address = ctypes.cast(setter, ctypes.c_void_p).value
            text = "\n".join(
                f"define void @{name}() {{\n call void inttoptr (i64 {address} to ptr)(i32 {n})\n ret void\n}}"
                for name, n in (("one", 1), ("all", count))
            )
    one, every = jit.load(text, ["one", "all"], speed=1, cached=False)
    jit.symbol(ONE_THREAD, one)
    jit.symbol(ALL_THREADS, every)


def serial(steps: list[Any]) -> bool:
    """Whether there are BLAS routines among the steps, and all are small."""
    work = [w for step in steps for w in _work(step)]
    return bool(work) and max(work) <= SMALL


def _work(step: Any) -> list[float]:
    """Multiplications of the routines in a step, bodies included."""
    from probdiff.compiler.fuse import Nested, Routine

    if isinstance(step, Nested):
        return [w for plan in step.plans.values() for inner in plan.steps for w in _work(inner)]
    if isinstance(step, Routine) and step.node.op.name in NAMES:
        inner = shape_of(step.node.args[0])[-1]
        return [float(step.node.size) * inner]
    return []


def set_threads(segment: Any, name: str) -> None:
    """Call one of the two functions."""
    thread_symbols()
    segment.b.call(segment.scope.declare(name, ir.VoidType(), []), [])


class Caller:
    """Passes numbers by reference, as Fortran wants them."""

    def __init__(self, segment: Any) -> None:
        self.segment = segment
        self.b = segment.b

    def letter(self, c: str) -> Any:
        """A character argument."""
        return self._cell(I8, I8(ord(c)))

    def integer(self, n: int) -> Any:
        """A 32-bit integer argument."""
        return self._cell(I32, I32(n))

    def number(self, x: float) -> Any:
        """A double argument."""
        return self._cell(DOUBLE, ir.Constant(DOUBLE, x))

    def _cell(self, t: Any, value: Any) -> Any:
        cell = ir.IRBuilder(self.segment.frame).alloca(t)
        self.b.store(value, cell)
        return cell

    def matrix(self, a: Any) -> tuple[Any, str, Any]:
        """Address, orientation and leading dimension."""
        view = self.segment.layout.plan.view(a)
        found = leading(view)
        assert found is not None
        base = self.segment.address(view.base)
        if view.offset:
            base = self.b.gep(base, [I64(view.offset)], source_etype=DOUBLE)
        return base, found[0], self.integer(found[1])

    def call(self, name: str, args: list[Any]) -> None:
        """Call a routine by its name."""
        f = self.segment.scope.declare(routine(name), ir.VoidType(), [PTR] * len(args))
        self.b.call(f, args)


def emit_routine(segment: Any, node: Node) -> None:
    """Call the routine of a node; the result is in C order."""
    if node.op is CALL_DENSITY:
        return emit_density(segment, node)
    if node.op is SET_AT:
        return emit_set_at(segment, node)
    {"matmul": _matmul, "cholesky": _cholesky, "solve_triangular": _solve}[node.op.name](Caller(segment), node)


def emit_density(segment: Any, node: Node) -> None:
    """logp, grad = density(q), by address; NaN if the density reports an error."""
    b, (address, q) = segment.b, node.args
    members = {p.params["k"]: p for p in segment.layout.plan.members.get(node, [])}
    code = segment.scalar(address) if isinstance(address, Node) else I64(int(address))
    view = segment.layout.plan.view(q)
    at = segment.address(view.base)
    if view.offset:
        at = b.gep(at, [I64(view.offset)], source_etype=DOUBLE)
    spare = segment.layout.spare[node]
    work = segment.bases[segment.layout.work_slot]
    logp, grad = (
        segment.address(members[k]) if k in members else b.gep(work, [I64(spare[k])], source_etype=I8) for k in (0, 1)
    )
    kind = ir.FunctionType(I32, [I64, PTR, PTR, PTR, PTR])
    function = b.inttoptr(code, ir.PointerType(kind))
    failed = b.call(function, [I64(view.shape[0]), at, grad, logp, PTR(None)])
    with b.if_then(b.icmp_signed("!=", failed, I32(0))):
        b.store(ir.Constant(DOUBLE, float("nan")), logp)


def emit_set_at(segment: Any, node: Node) -> None:
    """A copy with one row replaced; a negative index counts from the end, one out of bounds sets the error."""
    b, (x, value, i) = segment.b, node.args
    target = segment.address(node)
    n, row = node.shape[0], int(np.prod(node.shape[1:], dtype=int))
    copied(segment, x, target, node.dtype)
    at = segment.scalar(i) if isinstance(i, Node) else I64(int(i))
    at = cast(b, at, dtype_of(i), np.dtype(np.int64)) if isinstance(i, Node) else at
    at = b.select(b.icmp_signed("<", at, I64(0)), b.add(at, I64(n)), at)
    inside = b.icmp_unsigned("<", at, I64(n))
    error = b.load(segment.error, typ=I64)
    b.store(b.or_(error, b.zext(b.not_(inside), I64)), segment.error)
    at = b.select(inside, at, I64(0))
    place = b.gep(target, [b.mul(at, I64(row))], source_etype=memory_type(node.dtype))
    copied(segment, value, place, node.dtype)


def copied(segment: Any, a: Any, target: Any, dtype: np.dtype) -> None:
    """Copy an operand, wherever and however it lies, to `target` in C order."""
    b = segment.b
    if shape_of(a) == ():
        value = segment.scalar(a) if isinstance(a, Node) else constant(a, dtype)
        store(b, cast(b, value, a.dtype, dtype) if isinstance(a, Node) else value, target, dtype)
        return
    view = segment.layout.plan.view(a)
    base = segment.address(view.base)

    def level(axis: int, source: Any, place: Any) -> None:
        if axis == len(view.shape):
            value = load(b, b.gep(base, [source], source_etype=memory_type(a.dtype)), a.dtype)
            store(b, cast(b, value, a.dtype, dtype), b.gep(target, [place], source_etype=memory_type(dtype)), dtype)
            return
        with for_range(b, I64(0), I64(view.shape[axis])) as j:
            following = b.add(source, b.mul(j, I64(view.strides[axis])))
            level(axis + 1, following, b.add(b.mul(place, I64(view.shape[axis])), j))

    level(0, I64(view.offset), I64(0))


def _matmul(c: Caller, node: Node) -> None:
    n, m = node.shape
    inner = node.args[0].shape[1]
    x, x_way, x_step = c.matrix(node.args[0])
    y, y_way, y_step = c.matrix(node.args[1])
    out = c.segment.address(node)
    sizes = [c.integer(m), c.integer(n), c.integer(inner)]
    one, zero = c.number(1.0), c.number(0.0)
    ways = [c.letter(y_way), c.letter(x_way)]
    c.call("dgemm", [*ways, *sizes, one, y, y_step, x, x_step, zero, out, c.integer(m)])


def _copied(c: Caller, a: Any, node: Node) -> Any:
    """The operand, copied into the place of the result in C order."""
    target = c.segment.address(node)
    copied(c.segment, a, target, node.dtype)
    return target


def _cholesky(c: Caller, node: Node) -> None:
    b, n = c.b, node.shape[0]
    target = _copied(c, node.args[0], node)
    info = c.integer(0)
    c.call("dpotrf", [c.letter("U"), c.integer(n), target, c.integer(n), info])  # the lower triangle of rows
    failed = b.icmp_signed("!=", b.load(info), I32(0))
    nan, zero = ir.Constant(DOUBLE, float("nan")), ir.Constant(DOUBLE, 0.0)
    with for_range(b, I64(0), I64(n)) as i, for_range(b, I64(0), I64(n)) as j:
        at = b.gep(target, [b.add(b.mul(i, I64(n)), j)], source_etype=DOUBLE)
        lower = b.select(b.icmp_signed(">", j, i), zero, b.load(at, typ=DOUBLE))
        b.store(b.select(failed, nan, lower), at)


def _solve(c: Caller, node: Node) -> None:
    n, k = node.shape
    a, way, step = c.matrix(node.args[0])
    target = _copied(c, node.args[1], node)
    lower, transpose = node.params["lower"], node.params["transpose"]
    # x' op(a)' = b' in Fortran's order, where the memory of a in C order is a'
    triangle = "U" if lower == (way == "N") else "L"
    turned = "N" if transpose == (way == "T") else "T"
    letters = [c.letter(s) for s in ("R", triangle, turned, "N")]
    c.call("dtrsm", [*letters, c.integer(k), c.integer(n), c.number(1.0), a, step, target, c.integer(k)])
    b, view = c.b, c.segment.layout.plan.view(node.args[0])
    singular = c.integer(0)
    with for_range(b, I64(0), I64(n)) as i:
        at = b.gep(a, [b.mul(i, I64(sum(view.strides)))], source_etype=DOUBLE)
        zero = b.fcmp_ordered("==", b.load(at, typ=DOUBLE), ir.Constant(DOUBLE, 0.0))
        b.store(b.or_(b.load(singular), b.zext(zero, I32)), singular)
    with b.if_then(b.icmp_signed("!=", b.load(singular), I32(0))), for_range(b, I64(0), I64(n * k)) as j:
        b.store(ir.Constant(DOUBLE, float("nan")), b.gep(target, [j], source_etype=DOUBLE))
