"""One elementwise operation on scalars in LLVM: an instruction, a decomposition, or a call of SciPy's own routine."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.native import jit
from probdiff.compiler.native.vectormath import bits, decompositions
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import capture
from probdiff.ops.control import CALL_DENSITY, COND, PROJECT, SCAN, Control, scalar_program
from probdiff.ops.dispatch import dtype_of
from probdiff.ops.elementwise import Elementwise, rows
from probdiff.tree import flatten

F64 = np.dtype(np.float64)
DOUBLE = ir.DoubleType()
FLOAT = ir.FloatType()
I1, I8, I32, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
PTR = ir.PointerType()

bit_rows = {name: Elementwise(name, f, ()) for name, f in bits.EVALUATE.items()}
rows.update(bit_rows)


def ir_type(dtype: np.dtype) -> Any:
    """Type of a value in a register."""
    if dtype.kind == "f":
        return DOUBLE if dtype.itemsize == 8 else FLOAT
    return I1 if dtype.kind == "b" else ir.IntType(8 * dtype.itemsize)


def memory_type(dtype: np.dtype) -> Any:
    """Type of a value in an array."""
    return I8 if dtype.kind == "b" else ir_type(dtype)


def constant(value: Any, dtype: np.dtype) -> Any:
    """A number as an immediate of that dtype."""
    if dtype.kind == "f":
        return ir.Constant(ir_type(dtype), float(np.asarray(value).astype(dtype)))
    return ir.Constant(ir_type(dtype), int(np.asarray(value).astype(dtype)))


def load(b: Any, pointer: Any, dtype: np.dtype) -> Any:
    """The value at a pointer; booleans are bytes in memory."""
    value = b.load(pointer, typ=memory_type(dtype))
    return b.icmp_unsigned("!=", value, ir.Constant(I8, 0)) if dtype.kind == "b" else value


def store(b: Any, value: Any, pointer: Any, dtype: np.dtype) -> None:
    """Write a value to a pointer; booleans are bytes in memory."""
    b.store(b.zext(value, I8) if dtype.kind == "b" else value, pointer)


def cast(b: Any, v: Any, old: np.dtype, new: np.dtype) -> Any:
    """The value in another dtype, as NumPy converts it."""
    if old == new:
        return v
    t = ir_type(new)
    if new.kind == "b":
        return (
            b.fcmp_unordered("!=", v, ir.Constant(v.type, 0.0))
            if old.kind == "f"
            else b.icmp_unsigned("!=", v, ir.Constant(v.type, 0))
        )
    if old.kind == "f":
        if new.kind == "f":
            return b.fpext(v, t) if new.itemsize > old.itemsize else b.fptrunc(v, t)
        return b.fptosi(v, t) if new.kind == "i" else b.fptoui(v, t)
    if new.kind == "f":
        return b.sitofp(v, t) if old.kind == "i" else b.uitofp(v, t)
    if v.type.width > t.width:
        return b.trunc(v, t)
    if v.type.width < t.width:
        return b.sext(v, t) if old.kind == "i" else b.zext(v, t)
    return v


class Scope:
    """What emission needs of its module: declared functions, each once."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.functions: dict[Any, Any] = {}
        self.inlines = True  # whether decompositions are inlined where they are called
        self.long = False  # a program in which inlining everything would cost seconds

    def intrinsic(self, b: Any, name: str, args: list[Any]) -> Any:
        """Call llvm.<name> for the type of the first argument."""
        t = args[0].type
        suffix = "f64" if t == DOUBLE else "f32" if t == FLOAT else f"i{t.width}"
        return b.call(self.declare(f"llvm.{name}.{suffix}", t, [t] * len(args)), args)

    def declare(self, name: str, result: Any, args: list[Any]) -> Any:
        """An external function."""
        if name not in self.functions:
            f = ir.Function(self.module, ir.FunctionType(result, args), name)
            if not name.startswith("llvm."):
                f.attributes.add("nounwind")
            self.functions[name] = f
        return self.functions[name]

    def decomposition(self, name: str, n: int) -> Any:
        """The function `name` of doubles, in plain arithmetic, to be inlined."""
        key = f"pd.{name}"
        if key not in self.functions:
            f = ir.Function(self.module, ir.FunctionType(DOUBLE, [DOUBLE] * n), key)
            f.linkage = "internal"
            f.attributes.add("alwaysinline")
            self.functions[key] = f
            b = ir.IRBuilder(f.append_basic_block())
            program = decomposed(name, n)
            values: dict[Node, Any] = dict(zip(program.inputs, f.args, strict=True))
            for node in program.nodes:
                values[node] = emit(self, b, node, values)
            (out,) = program.outputs
            b.ret(values[out] if isinstance(out, Node) else constant(out, F64))
        return self.functions[key]


@functools.cache
def decomposed(name: str, n: int) -> Program:
    """The recording of a decomposition."""
    f = decompositions.get(name) or _more[name]
    spec = flatten((0.0,) * n)[1]
    return capture(f, spec, [((), F64)] * n, list(range(n))).program


def emit(scope: Scope, b: Any, node: Node, values: dict[Node, Any]) -> Any:
    """The value of an elementwise node, given those of its arguments."""
    op = node.op
    assert op is not None
    if op is PROJECT:
        return values[node.args[0]][node.params["k"]]
    if isinstance(op, Control):
        operands = [values[a] if isinstance(a, Node) else constant(a, dtype_of(a)) for a in node.args]
        return emit_control(scope, b, op, node.params, operands, [dtype_of(a) for a in node.args])
    if not has_native(node):
        raise UnsupportedError(f"{op.name} of {', '.join(str(dtype_of(a)) for a in node.args)} has no machine code")
    dtypes = compute_dtypes(node)
    args = []
    for a, dtype in zip(node.args, dtypes, strict=False):
        args.append(cast(b, values[a], a.dtype, dtype) if isinstance(a, Node) else constant(a, dtype))
    result = dtypes[-1]
    if op.name == "astype":
        return args[0]
    value = _emit(scope, b, op.name, args, dtypes[0] if dtypes else result, node)
    return cast(b, value, result, node.dtype)


def has_registers(dtype: np.dtype) -> bool:
    """Whether machine code computes with the dtype; half and extended precision are left to NumPy."""
    return dtype.kind in "iub" or dtype.kind == "f" and dtype.itemsize in (4, 8)


def has_native(node: Node) -> bool:
    """Whether `emit` knows the node; NumPy evaluates what it does not."""
    op = node.op
    assert op is not None
    if op.name in bit_rows or op is PROJECT:
        return True
    if op is CALL_DENSITY:
        return False
    if isinstance(op, Control):
        bodies = [p for p in node.params.values() if isinstance(p, Program)]
        return all(scalar_program(p) and all(map(has_native, p.nodes)) for p in bodies)
    dtypes = compute_dtypes(node)
    if not all(has_registers(d) for d in (*dtypes, *map(dtype_of, node.args))):
        return False
    if op.name in _any_kind:
        return True
    dtype = dtypes[0]
    if op.name in _integer or op.name in ("right_shift", "invert"):
        return True
    if op.name in ("power", "float_power"):
        return dtype.kind == "f" or _is_small_power(node.args[1], real=False)
    if op.name == "polygamma":
        order = node.args[0]
        return not isinstance(order, Node | np.ndarray) and order in (0, 1)
    if dtype.kind != "f":
        return False
    if op.name in _real_kind or op.name in decompositions or op.name in _more:
        return True
    return op.name in _libm and jit.has_symbol(_libm[op.name]) or scipy_routine(op.name, len(node.args)) is not None


def emit_program(scope: Scope, b: Any, program: Program, args: list[Any], kinds: list[np.dtype]) -> list[Any]:
    """The outputs of a program of scalars, for values of its inputs that have the dtypes `kinds`."""
    values: dict[Node, Any] = {
        n: cast(b, v, kind, n.dtype) for n, v, kind in zip(program.inputs, args, kinds, strict=True)
    }
    for node in program.nodes:
        values[node] = emit(scope, b, node, values)
    return [values[o] if isinstance(o, Node) else constant(o, dtype_of(o)) for o in program.outputs]


def emit_control(
    scope: Scope, b: Any, op: Control, params: dict[str, Any], args: list[Any], kinds: list[np.dtype]
) -> list[Any]:
    """A branch or loop over scalars, as real control flow; the list of its results."""
    if op is COND:
        pred = cast(b, args[0], kinds[0], np.dtype(bool))
        with b.if_else(pred) as (then, otherwise):
            with then:
                taken = emit_program(scope, b, params["true"], args[1:], kinds[1:])
                true_end = b.block
            with otherwise:
                other = emit_program(scope, b, params["false"], args[1:], kinds[1:])
                false_end = b.block
        results = []
        for x, y in zip(taken, other, strict=True):
            phi = b.phi(x.type)
            phi.add_incoming(x, true_end)
            phi.add_incoming(y, false_end)
            results.append(phi)
        return results
    k, body = params["carry"], params["body"]
    carry_kinds = [n.dtype for n in body.inputs[:k]]
    start = [cast(b, v, d, n) for v, d, n in zip(args[:k], kinds[:k], carry_kinds, strict=True)]
    if op is SCAN:
        if params["xs"] or len(body.outputs) > k:
            raise UnsupportedError("a scan over rows inside a kernel")
        consts, const_kinds = args[k:], kinds[k:]
        loop = Loop(b, start, params["length"])
        with loop as (_, carry):
            out = emit_program(scope, b, body, [*carry, *consts], [*carry_kinds, *const_kinds])
            loop.next(_as_carry(b, body, out, carry_kinds))
        return loop.carry
    m = params["cond_consts"]
    check, check_kinds, step, step_kinds = args[k : k + m], kinds[k : k + m], args[k + m :], kinds[k + m :]
    before = b.block
    head, inside, after = (b.append_basic_block(name) for name in ("while", "do", "done"))
    b.branch(head)
    b.position_at_end(head)
    carry = [b.phi(v.type) for v in start]
    for phi, v in zip(carry, start, strict=True):
        phi.add_incoming(v, before)
    (going,) = emit_program(scope, b, params["cond"], [*carry, *check], [*carry_kinds, *check_kinds])
    b.cbranch(going, inside, after)
    b.position_at_end(inside)
    out = emit_program(scope, b, body, [*carry, *step], [*carry_kinds, *step_kinds])
    for phi, v in zip(carry, _as_carry(b, body, out, carry_kinds), strict=True):
        phi.add_incoming(v, b.block)
    b.branch(head)
    b.position_at_end(after)
    return carry


def _as_carry(b: Any, body: Program, out: list[Any], kinds: list[np.dtype]) -> list[Any]:
    return [cast(b, v, dtype_of(o), d) for v, o, d in zip(out, body.outputs, kinds, strict=False)]


class Loop:
    """`with Loop(b, start, n) as (i, carry)`: a counted loop that carries values; call `next` with the new ones."""

    def __init__(self, b: Any, start: list[Any], length: int) -> None:
        self.b, self.start, self.length = b, start, length

    def __enter__(self) -> tuple[Any, list[Any]]:
        b = self.b
        before = b.block
        self.head, inside, self.after = (b.append_basic_block(name) for name in ("head", "loop", "after"))
        b.branch(self.head)
        b.position_at_end(self.head)
        self.i = b.phi(I64)
        self.i.add_incoming(I64(0), before)
        self.carry = [b.phi(v.type) for v in self.start]
        for phi, v in zip(self.carry, self.start, strict=True):
            phi.add_incoming(v, before)
        b.cbranch(b.icmp_signed("<", self.i, I64(self.length)), inside, self.after)
        b.position_at_end(inside)
        return self.i, self.carry

    def next(self, values: list[Any]) -> None:
        """The carry of the next round."""
        following = self.b.add(self.i, I64(1), flags=("nsw",))
        self.i.add_incoming(following, self.b.block)
        for phi, v in zip(self.carry, values, strict=True):
            phi.add_incoming(v, self.b.block)

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            self.b.branch(self.head)
            self.b.position_at_end(self.after)


def compute_dtypes(node: Node) -> tuple[np.dtype, ...]:
    """Dtypes in which arguments enter the operation, and the one in which its result leaves it."""
    op = node.op
    if op.name == "astype":
        return (node.dtype, node.dtype)
    kinds = tuple(a.dtype if isinstance(a, Node | np.generic | np.ndarray) else type(a) for a in node.args)
    return _compute_dtypes(op, kinds, node.dtype)


@functools.lru_cache(maxsize=4096)
def _compute_dtypes(op: Elementwise, kinds: tuple[Any, ...], result: np.dtype) -> tuple[np.dtype, ...]:
    if op.ufunc is not None:
        kinds = tuple(np.dtype(bool) if k is bool else k for k in kinds)
        return op.ufunc.resolve_dtypes((*kinds, None))
    if op.name in bit_rows:
        return tuple(np.dtype(float) if k is float or k is int else np.dtype(k) for k in kinds) + (result,)
    if op.name == "where":
        return (np.dtype(bool), result, result, result)
    return (result,) * (len(kinds) + 1)


_compare = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_integer = {"bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor", "left_shift": "shl"}
_rounding = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "nearbyint", "sqrt": "sqrt", "fabs": "fabs"}
_scale = {"deg2rad": np.pi / 180, "rad2deg": 180 / np.pi}
_any_kind = {
    "add",
    "subtract",
    "multiply",
    "times",
    "absolute",
    "negative",
    "positive",
    "square",
    "sign",
    "where",
    "astype",
}
_any_kind |= {"logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "stop_gradient"}
_any_kind |= {"maximum", "minimum", "fmax", "fmin", "clip", "remainder", "floor_divide", "floor", "ceil", "trunc"}
_any_kind |= set(_compare)
_real_kind = {"divide", "reciprocal", "signbit", "copysign", "fmod", "heaviside", *_rounding, *_scale}


def _emit(scope: Scope, b: Any, name: str, args: list[Any], dtype: np.dtype, node: Node) -> Any:
    real = dtype.kind == "f"
    x = args[0]
    if name in ("add", "subtract", "multiply"):
        if dtype.kind == "b":
            return {"add": b.or_, "multiply": b.and_}[name](*args)
        method = {"add": "add", "subtract": "sub", "multiply": "mul"}[name]
        return getattr(b, "f" + method if real else method)(*args)
    if name == "divide":
        return b.fdiv(*args)
    if name == "negative":
        return b.fneg(x) if real else b.neg(x)
    if name == "absolute":
        if real:
            return scope.intrinsic(b, "fabs", [x])
        return b.select(b.icmp_signed("<", x, ir.Constant(x.type, 0)), b.neg(x), x) if dtype.kind == "i" else x
    if name in _rounding:
        return scope.intrinsic(b, _rounding[name], [x]) if real else x
    if name in _compare:
        if real:
            return (b.fcmp_unordered if name == "not_equal" else b.fcmp_ordered)(_compare[name], *args)
        return (b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned)(_compare[name], *args)
    if name == "where":
        return b.select(*args)
    if name == "times" and not real:
        return b.and_(*args) if dtype.kind == "b" else b.mul(*args)
    if name == "times":
        zero = ir.Constant(x.type, 0.0)
        either = b.or_(b.fcmp_ordered("==", x, zero), b.fcmp_ordered("==", args[1], zero))
        return b.select(either, zero, b.fmul(*args))
    if name in ("stop_gradient", "positive"):
        return x
    if name in ("logical_and", "logical_or", "logical_xor"):
        p, q = (cast(b, a, dtype, np.dtype(bool)) for a in args)
        return {"logical_and": b.and_, "logical_or": b.or_, "logical_xor": b.xor}[name](p, q)
    if name == "logical_not":
        return b.not_(cast(b, x, dtype, np.dtype(bool)))
    if name in _integer:
        return getattr(b, _integer[name])(*args)
    if name == "right_shift":
        return (b.ashr if dtype.kind == "i" else b.lshr)(*args)
    if name == "invert":
        return b.not_(x)
    if name == "square":
        return b.fmul(x, x) if real else b.mul(x, x)
    if name == "reciprocal":
        return b.fdiv(ir.Constant(x.type, 1.0), x)
    if name in _scale:
        return b.fmul(x, ir.Constant(x.type, _scale[name]))
    if name == "isnan":
        return b.fcmp_unordered("uno", x, x) if real else ir.Constant(I1, 0)
    if name == "isinf":
        return (
            b.fcmp_ordered("==", scope.intrinsic(b, "fabs", [x]), ir.Constant(x.type, np.inf))
            if real
            else ir.Constant(I1, 0)
        )
    if name == "isfinite":
        return (
            b.fcmp_ordered("<", scope.intrinsic(b, "fabs", [x]), ir.Constant(x.type, np.inf))
            if real
            else ir.Constant(I1, 1)
        )
    if name == "signbit":
        return b.icmp_signed(
            "<", b.bitcast(x, ir.IntType(8 * dtype.itemsize)), ir.Constant(ir.IntType(8 * dtype.itemsize), 0)
        )
    if name == "sign":
        return _sign(b, x, dtype)
    if name in ("maximum", "minimum", "fmax", "fmin"):
        return _extremum(b, name, x, args[1], dtype)
    if name == "clip":
        return _extremum(b, "minimum", _extremum(b, "maximum", x, args[1], dtype), args[2], dtype)
    if name == "copysign":
        return scope.intrinsic(b, "copysign", args)
    if name == "fma":
        return scope.intrinsic(b, "fma", args)
    if name == "to_bits":
        return b.bitcast(x, I64)
    if name == "from_bits":
        return b.bitcast(x, DOUBLE)
    if name == "to_int":
        return b.fptosi(x, I64)
    if name == "to_float":
        return b.sitofp(x, DOUBLE)
    if name == "heaviside":
        below = b.select(b.fcmp_ordered("<", x, ir.Constant(x.type, 0.0)), ir.Constant(x.type, 0.0), x)  # NaN stays NaN
        above = b.select(b.fcmp_ordered(">", x, ir.Constant(x.type, 0.0)), ir.Constant(x.type, 1.0), below)
        return b.select(b.fcmp_ordered("==", x, ir.Constant(x.type, 0.0)), args[1], above)
    if name == "fmod":
        return b.frem(*args)
    if name in ("remainder", "floor_divide"):
        return _divmod(scope, b, name, args, dtype)
    if name in ("power", "float_power"):
        small = _small_power(b, x, node.args[1])
        if small is not None:
            return small
        name = "power"
    if name == "polygamma":
        return _function(scope, b, ("psi", "trigamma")[int(node.args[0])], args[1:], dtype)
    return _function(scope, b, name, args, dtype)


def _function(scope: Scope, b: Any, name: str, args: list[Any], dtype: np.dtype) -> Any:
    """A function of floats: by decomposition, else by a routine of C or SciPy, float32 through double."""
    wide = [cast(b, a, dtype, F64) for a in args]
    if name in decompositions or name in _more:
        f = scope.decomposition(name, len(args))
        value = b.call(f, wide, attrs=() if scope.inlines else ("noinline",))
    elif name in _libm and jit.has_symbol(_libm[name]):
        value = b.call(scope.declare(_libm[name], DOUBLE, [DOUBLE] * len(args)), wide)
    else:
        routine = scipy_routine(name, len(args))
        assert routine is not None
        label, extra = routine
        types = [DOUBLE] * len(args) + [I32] * extra
        value = b.call(scope.declare(label, DOUBLE, types), wide + [ir.Constant(I32, 0)] * extra)
    return cast(b, value, F64, dtype)


_libm = {"hypot": "hypot", "nextafter": "nextafter", "arctan2": "atan2", "gamma": "tgamma", "gammaln": "lgamma"}
_libm |= {f: f for f in ("exp2", "sinh", "cosh", "cbrt", "erf", "erfc")}


@functools.cache
def scipy_routine(name: str, n: int) -> tuple[str, int] | None:
    """The symbol of SciPy's own routine for doubles, and how many extra integers it takes; None if it has none."""
    from scipy.special import cython_special

    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    for entry, capsule in cython_special.__pyx_capi__.items():
        plain = entry.split("__pyx_fuse_")[-1].lstrip("0123456789_") if entry.startswith("__pyx_fuse_") else entry
        if plain != name:
            continue
        signature = get_name(capsule)
        arguments = signature.decode().split("(", 1)[1].rstrip(")").split(", ")
        doubles = [a for a in arguments if a == "double"]
        extra = [a for a in arguments if a.startswith("int ")]
        if (
            signature.decode().startswith("double ")
            and len(doubles) == n
            and len(doubles) + len(extra) == len(arguments)
        ):
            label = f"scipy.{name}"
            jit.symbol(label, get_pointer(capsule, signature))
            return label, len(extra)
    return None


def _sign(b: Any, x: Any, dtype: np.dtype) -> Any:
    if dtype.kind != "f":
        zero, one = ir.Constant(x.type, 0), ir.Constant(x.type, 1)
        down = b.select(b.icmp_signed("<", x, zero), ir.Constant(x.type, -1), zero) if dtype.kind == "i" else zero
        return b.select((b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned)(">", x, zero), one, down)
    zero = ir.Constant(x.type, 0.0)
    rest = b.select(b.fcmp_ordered("==", x, zero), zero, x)  # NaN stays NaN
    down = b.select(b.fcmp_ordered("<", x, zero), ir.Constant(x.type, -1.0), rest)
    return b.select(b.fcmp_ordered(">", x, zero), ir.Constant(x.type, 1.0), down)


def _extremum(b: Any, name: str, x: Any, y: Any, dtype: np.dtype) -> Any:
    greater = name in ("maximum", "fmax")
    if dtype.kind != "f":
        compare = b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned
        return b.select(compare(">" if greater else "<", x, y), x, y)
    if name in ("maximum", "minimum"):  # a NaN on either side wins
        best = b.select(b.fcmp_ordered(">" if greater else "<", x, y), x, y)
        return b.select(b.fcmp_unordered("uno", x, x), x, best)
    best = b.select(b.fcmp_unordered(">" if greater else "<", x, y), x, y)  # of equal zeros the second, as NumPy
    return b.select(b.fcmp_unordered("uno", x, x), y, best)


def _divmod(scope: Scope, b: Any, name: str, args: list[Any], dtype: np.dtype) -> Any:
    """Python's modulo and floor division: the remainder has the sign of the divisor."""
    x, y = args
    if dtype.kind != "f":
        return _integer_divmod(b, name, x, y, signed=dtype.kind == "i")
    rest = b.frem(x, y)
    zero = ir.Constant(x.type, 0.0)
    exact = b.fcmp_ordered("==", rest, zero)
    off = b.and_(b.not_(exact), b.xor(b.fcmp_ordered("<", rest, zero), b.fcmp_ordered("<", y, zero)))
    if name == "remainder":
        moved = b.select(off, b.fadd(rest, y), rest)
        return b.select(exact, scope.intrinsic(b, "copysign", [zero, y]), moved)
    ratio = b.fdiv(x, y)
    quotient = b.fdiv(b.fsub(x, rest), y)
    quotient = b.select(off, b.fsub(quotient, ir.Constant(x.type, 1.0)), quotient)
    below = scope.intrinsic(b, "floor", [quotient])
    far = b.fcmp_ordered(">", b.fsub(quotient, below), ir.Constant(x.type, 0.5))
    nearest = b.select(far, b.fadd(below, ir.Constant(x.type, 1.0)), below)
    signed_zero = scope.intrinsic(b, "copysign", [zero, ratio])
    whole = b.select(b.fcmp_ordered("==", quotient, zero), signed_zero, nearest)
    return b.select(b.fcmp_ordered("==", y, zero), ratio, whole)


def _integer_divmod(b: Any, name: str, x: Any, y: Any, signed: bool) -> Any:
    """Division by zero gives 0, as in NumPy; dividing the smallest integer by -1 would trap, and is a negation."""
    zero, one = ir.Constant(x.type, 0), ir.Constant(x.type, 1)
    nothing = b.icmp_signed("==", y, zero)
    if not signed:
        safe = b.select(nothing, one, y)
        return b.select(nothing, zero, (b.urem if name == "remainder" else b.udiv)(x, safe))
    minus = b.icmp_signed("==", y, ir.Constant(x.type, -1))
    safe = b.select(b.or_(nothing, minus), one, y)
    rest = b.srem(x, safe)
    off = b.and_(b.icmp_signed("!=", rest, zero), b.icmp_signed("<", b.xor(rest, safe), zero))
    if name == "remainder":
        return b.select(off, b.add(rest, safe), rest)
    quotient = b.sub(b.sdiv(x, safe), b.zext(off, x.type))
    return b.select(nothing, zero, b.select(minus, b.neg(x), quotient))


def _is_small_power(exponent: Any, real: bool) -> bool:
    """Whether a power is a few multiplications. A square root is not: (-inf) ** 0.5 is inf, and sqrt(-inf) is not."""
    if isinstance(exponent, Node | np.ndarray) or not abs(exponent) <= 16:
        return False
    return bool(exponent == int(exponent) and (exponent >= 0 or real))


def _small_power(b: Any, x: Any, exponent: Any) -> Any:
    """Powers that are a few multiplications, or None."""
    real = not isinstance(x.type, ir.IntType)
    if not _is_small_power(exponent, real):
        return None
    n = abs(int(exponent))
    if n == 0:
        return ir.Constant(x.type, 1.0 if real else 1)
    multiply = b.fmul if real else b.mul
    result, square = None, x
    while n:
        if n & 1:
            result = square if result is None else multiply(result, square)
        n >>= 1
        if n:
            square = multiply(square, square)
    return b.fdiv(ir.Constant(x.type, 1.0), result) if exponent < 0 else result


# Functions that are a line in terms of others


def _logaddexp(x: Any, y: Any) -> Any:
    log1p, exp = decompositions["log1p"], decompositions["exp"]
    return np.where(x == y, x + 0.6931471805599453, np.maximum(x, y) + log1p(exp(-np.abs(x - y))))


def _logaddexp2(x: Any, y: Any) -> Any:
    log1p, exp2 = decompositions["log1p"], decompositions["exp2"]
    return np.where(x == y, x + 1.0, np.maximum(x, y) + log1p(exp2(-np.abs(x - y))) * 1.4426950408889634)


def _xlogy(x: Any, y: Any) -> Any:
    return np.where((x == 0.0) & (y == y), 0.0, x * decompositions["log"](y))


def _xlog1py(x: Any, y: Any) -> Any:
    return np.where((x == 0.0) & (y == y), 0.0, x * decompositions["log1p"](y))


def _entr(x: Any) -> Any:
    return np.where(x == 0.0, 0.0, np.where(x < 0.0, -np.inf, -x * decompositions["log"](x)))


def _rel_entr(x: Any, y: Any) -> Any:
    inside = (x > 0.0) & (y > 0.0)
    log, ratio = decompositions["log"], x / y
    normal = (ratio > 2.3e-308) & (ratio < np.inf)  # else the quotient under- or overflows, and its logarithm does not
    value = x * np.where(normal, log(ratio), log(x) - log(y))
    return np.where(inside, value, np.where((x == 0.0) & (y >= 0.0), 0.0, np.where((x == x) & (y == y), np.inf, x + y)))


_more: dict[str, Callable[..., Any]] = {
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
    "xlogy": _xlogy,
    "xlog1py": _xlog1py,
    "entr": _entr,
    "rel_entr": _rel_entr,
}
