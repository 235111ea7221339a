"""One elementwise operation in LLVM: an instruction, a decomposition, or a call of C's or SciPy's own routine."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.formulas import native_formula
from probdiff.compiler.native import jit
from probdiff.compiler.native.routine import routine as own_routine
from probdiff.compiler.native.values import DOUBLE, F64, I1, I32, I64, cast
from probdiff.compiler.native.vectormath import decompositions
from probdiff.graph.program import Node
from probdiff.ops.stirling import deviance_formula, stirling_error_formula

if TYPE_CHECKING:
    from probdiff.compiler.native.scalar import Scope

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


def has_instruction(node: Node, dtype: np.dtype) -> bool:
    """Whether `instruction` knows an elementwise operation whose first argument is of that dtype."""
    op = node.op
    if op.name in _any_kind:
        return True
    if op.name in _integer or op.name in ("right_shift", "invert"):
        return True
    if op.name in ("power", "float_power"):
        return dtype.kind == "f" or _is_small_power(node.args[1], real=False)
    if op.name == "polygamma":
        order = node.args[0]
        return not isinstance(order, Node | np.ndarray) and order >= 0
    if dtype.kind != "f":
        return False
    if op.name in _real_kind or op.name in decompositions or op.name in SHORT:
        return True
    return op.name in _libm and jit.has_symbol(_libm[op.name]) or is_routine(op.name, len(node.args))


def is_routine(name: str, n: int) -> bool:
    """Whether a function of n floats is a call of a formula, or of a routine of SciPy, that takes a while."""
    if name in _any_kind or name in _real_kind or name in decompositions or name in SHORT or name in _libm:
        return False
    return native_formula(name) is not None or scipy_routine(name, n) is not None


def instruction(scope: Scope, b: Any, name: str, args: list[Any], dtype: np.dtype, node: Node) -> Any:
    """The value of the operation `name` for arguments of one dtype."""
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
        if real and name == "less" and getattr(args[1], "constant", None) == np.inf:
            # The same, but LLVM makes a test of bits, of six instructions, from the other one beside `x >= 0`.
            return b.fcmp_ordered("<=", x, ir.Constant(x.type, float(np.finfo(dtype).max)))
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
        return extremum(b, name, x, args[1], dtype)
    if name == "clip":
        return extremum(b, "minimum", extremum(b, "maximum", x, args[1], dtype), args[2], dtype)
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
        order = int(node.args[0])
        return _function(scope, b, ("psi", "trigamma", f"polygamma{order}")[min(order, 2)], args[1:], dtype)
    return _function(scope, b, name, args, dtype)


def _function(scope: Scope, b: Any, name: str, args: list[Any], dtype: np.dtype) -> Any:
    """A function of floats: by decomposition, else by a routine of C or SciPy, float32 through double."""
    wide = [cast(b, a, dtype, F64) for a in args]
    if name in decompositions or name in SHORT:
        f = scope.decomposition(name, len(args))
        value = b.call(f, wide, attrs=() if scope.inlines else ("noinline",))
    elif native_formula(name) is not None:
        value = b.call(scope.declare(own_routine(name), DOUBLE, [DOUBLE] * len(args)), wide)
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


def extremum(b: Any, name: str, x: Any, y: Any, dtype: np.dtype) -> Any:
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


SHORT: dict[str, Callable[..., Any]] = {
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
    "xlogy": _xlogy,
    "xlog1py": _xlog1py,
    "entr": _entr,
    "rel_entr": _rel_entr,
    "deviance": deviance_formula,
    "stirling_error": stirling_error_formula,
}
