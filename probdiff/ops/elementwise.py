"""Elementwise operations: value, derivatives and names, a row each.

`x`, `y` are the inputs and `z` the result. Derivatives use the operations of this table, so they differentiate again;
None is a derivative that is zero everywhere. `times` is the product that keeps a zero a zero: 0 * inf = 0, which is
what a partial that is zero, or a cotangent that nobody sent, means.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from probdiff.errors import ShapeError
from probdiff.ops import dispatch
from probdiff.ops.dispatch import Lifted, Op, apply, shape_of, ufuncs, user_line
from probdiff.tree import Array

Partial = Callable[..., Array] | float | None
LN2 = float(np.log(2.0))
LN10 = float(np.log(10.0))


def _divide(x: Any, y: Any) -> Any:
    try:
        return x / y
    except ZeroDivisionError:  # two Python floats
        return np.divide(x, y)


# Python's operators do on NumPy's numbers what the ufuncs do, in a tenth of the time.
_operators: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _divide,
    "negative": operator.neg,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
# Rows whose derivative is infinite at points where the value is finite, and NumPy has not warned yet.
_kinked = (
    "sqrt",
    "cbrt",
    "power",
    "float_power",
    "arcsin",
    "arccos",
    "arccosh",
    "arctan2",
    "logaddexp",
    "xlogy",
    "xlog1py",
)


class Elementwise(Op):
    """One row: a ufunc (or a function like one) and its partial derivatives, in the order of its arguments."""

    elementwise = True
    evaluate: Callable[..., Any]

    def __init__(self, name: str, function: Callable[..., Any], partials: tuple[Partial, ...]) -> None:
        self.name = name
        self.evaluate = _operators.get(name, function)
        self.kinked = name in _kinked
        self.partials = partials
        self.smooth = tuple(i for i, p in enumerate(partials) if p is not None)
        self.ufunc = function if isinstance(function, np.ufunc) else None

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        return broadcast_shapes(self, args), result_dtype(self, tuple(_kind_of(a) for a in args))

    def partial(self, i: int, args: Any, z: Array) -> Array:
        """The derivative with respect to argument i: an array, or a plain number where it is constant."""
        p = self.partials[i]
        return p(*args, z) if callable(p) else p

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        total = None
        for i in self.smooth:
            if dots[i] is not None:
                term = chain(self.partial(i, args, z), dots[i])
                total = term if total is None else total + term
        return total

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        return unbroadcast(chain(self.partial(i, args, z), z_bar), shape_of(z), shape_of(args[i]))


def chain(derivative: Array, dot: Array) -> Array:
    """derivative * dot, with the constants that need no multiplication taken out."""
    if type(derivative) is float and 0.0 != derivative and abs(derivative) < 1e300:
        if derivative == 1.0:
            return dot
        return -dot if derivative == -1.0 else derivative * dot
    if type(dot) is float and dot == 1.0:
        return derivative
    if isinstance(derivative, Lifted) or isinstance(dot, Lifted):
        return apply(TIMES, derivative, dot)
    return _times(derivative, dot)


def unbroadcast(x_bar: Array, from_shape: tuple[int, ...], to_shape: tuple[int, ...]) -> Array:
    """Sum a cotangent of a broadcast result back to the shape that its argument had."""
    if from_shape == to_shape:
        return x_bar
    if shape_of(x_bar) != from_shape:
        x_bar = np.broadcast_to(x_bar, from_shape)
    lead = len(from_shape) - len(to_shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(to_shape) if n == 1 and from_shape[lead + i] != 1)
    summed = np.sum(x_bar, axis=axes, keepdims=False)
    return summed if shape_of(summed) == to_shape else np.reshape(summed, to_shape)


def broadcast_shapes(op: Op, args: Any) -> tuple[int, ...]:
    """The common shape, or an error that names both shapes and the line."""
    shapes = [shape_of(a) for a in args]
    first = shapes[0]
    if all(s == first or s == () for s in shapes):
        return first
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"{user_line()}: {op.name} got shapes {' and '.join(map(str, shapes))}, which do not broadcast."
        ) from None


def _kind_of(a: Any) -> Any:
    kind = type(a)
    if kind is float or kind is int:
        return kind
    if kind is bool:
        return np.dtype(bool)
    return a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype


@lru_cache(maxsize=4096)
def result_dtype(op: Elementwise, kinds: tuple[Any, ...]) -> np.dtype:
    """Dtype of the result under NumPy's promotion, Python numbers being weak."""
    if op.ufunc is not None:
        return op.ufunc.resolve_dtypes((*kinds, None))[-1]
    ones = [k(1) if k is float or k is int else np.ones((), k) for k in kinds]
    with np.errstate(all="ignore"):
        return np.asarray(op.evaluate(*ones)).dtype


def _times(x: Any, y: Any) -> Any:
    if type(x) is np.ndarray or type(y) is np.ndarray:
        with np.errstate(all="ignore"):
            z = np.multiply(x, y)
            flat = z.ravel()
            squares = np.dot(flat, flat)  # NaN exactly if an element is: the cheapest test there is
            if squares == squares:
                return z
            return np.where(np.equal(x, 0) | np.equal(y, 0), np.zeros((), z.dtype), z)
    return x * y if x and y else y * 0 if x else x * 0


rows: dict[str, Elementwise] = {}


def row(name: str, function: Callable[..., Any], dx: Partial = None, dy: Partial = None, dw: Partial = None) -> None:
    """Add a row to the table; the function's number of inputs says how many derivatives count."""
    n = function.nin if isinstance(function, np.ufunc) else function.__code__.co_argcount
    entry = Elementwise(name, function, (dx, dy, dw)[:n])
    rows[name] = entry
    if entry.ufunc is not None:
        ufuncs[entry.ufunc] = entry


# Arithmetic
row("add", np.add, dx=1.0, dy=1.0)
row("subtract", np.subtract, dx=1.0, dy=-1.0)
row("multiply", np.multiply, dx=lambda x, y, z: y, dy=lambda x, y, z: x)
row("divide", np.divide, dx=lambda x, y, z: _divide(1.0, y), dy=lambda x, y, z: -z * _divide(1.0, y))
row("negative", np.negative, dx=-1.0)
row("positive", np.positive, dx=1.0)
row("reciprocal", np.reciprocal, dx=lambda x, z: -z * z)
row("square", np.square, dx=lambda x, z: 2.0 * x)
row("sqrt", np.sqrt, dx=lambda x, z: 0.5 / z)
row("cbrt", np.cbrt, dx=lambda x, z: 1.0 / (3.0 * z * z))
row("fabs", np.fabs, dx=lambda x, z: np.sign(x))
row("absolute", np.absolute, dx=lambda x, z: np.sign(x))
row("hypot", np.hypot, dx=lambda x, y, z: _ratio(x, z), dy=lambda x, y, z: _ratio(y, z))
row("remainder", np.remainder, dx=1.0, dy=lambda x, y, z: -np.floor_divide(x, y))
row("fmod", np.fmod, dx=1.0, dy=lambda x, y, z: -np.trunc(x / y))
row("copysign", np.copysign, dx=lambda x, y, z: np.sign(x) * np.copysign(1.0, y))
row("ldexp", np.ldexp, dx=lambda x, y, z: np.ldexp(1.0, y))
row("heaviside", np.heaviside)
row("nextafter", np.nextafter, dx=1.0)

# Exponentials and logarithms
row("exp", np.exp, dx=lambda x, z: z)
row("exp2", np.exp2, dx=lambda x, z: z * LN2)
row("expm1", np.expm1, dx=lambda x, z: z + 1.0)
row("log", np.log, dx=lambda x, z: 1.0 / x)
row("log2", np.log2, dx=lambda x, z: 1.0 / (x * LN2))
row("log10", np.log10, dx=lambda x, z: 1.0 / (x * LN10))
row("log1p", np.log1p, dx=lambda x, z: 1.0 / (1.0 + x))
row("logaddexp", np.logaddexp, dx=lambda x, y, z: _share(x, z), dy=lambda x, y, z: _share(y, z))
row("softplus", lambda x: np.logaddexp(0.0, x), dx=lambda x, z: _logistic(x))
row("logaddexp2", np.logaddexp2, dx=lambda x, y, z: np.exp2(x - z), dy=lambda x, y, z: np.exp2(y - z))

# Trigonometric and hyperbolic
row("sin", np.sin, dx=lambda x, z: np.cos(x))
row("cos", np.cos, dx=lambda x, z: -np.sin(x))
row("tan", np.tan, dx=lambda x, z: 1.0 + z * z)
row("arcsin", np.arcsin, dx=lambda x, z: 1.0 / np.sqrt((1.0 - x) * (1.0 + x)))
row("arccos", np.arccos, dx=lambda x, z: -1.0 / np.sqrt((1.0 - x) * (1.0 + x)))
row("arctan", np.arctan, dx=lambda x, z: 1.0 / (1.0 + x * x))
row("arctan2", np.arctan2, dx=lambda x, y, z: y / (x * x + y * y), dy=lambda x, y, z: -x / (x * x + y * y))
row("sinh", np.sinh, dx=lambda x, z: np.cosh(x))
row("cosh", np.cosh, dx=lambda x, z: np.sinh(x))
row("tanh", np.tanh, dx=lambda x, z: 1.0 - z * z)
row("arcsinh", np.arcsinh, dx=lambda x, z: 1.0 / np.hypot(1.0, x))
row("arccosh", np.arccosh, dx=lambda x, z: 1.0 / np.sqrt((x - 1.0) * (x + 1.0)))
row("arctanh", np.arctanh, dx=lambda x, z: 1.0 / ((1.0 - x) * (1.0 + x)))
row("deg2rad", np.deg2rad, dx=float(np.pi / 180))
row("rad2deg", np.rad2deg, dx=float(180 / np.pi))

# Order: ties share the derivative evenly, in both modes
row("maximum", np.maximum, dx=lambda x, y, z: _wins(x > y, x, y), dy=lambda x, y, z: _wins(y > x, x, y))
row("minimum", np.minimum, dx=lambda x, y, z: _wins(x < y, x, y), dy=lambda x, y, z: _wins(y < x, x, y))
row("fmax", np.fmax, dx=lambda x, y, z: _wins_f(x > y, x, y), dy=lambda x, y, z: _wins_f(y > x, y, x))
row("fmin", np.fmin, dx=lambda x, y, z: _wins_f(x < y, x, y), dy=lambda x, y, z: _wins_f(y < x, y, x))

# Steps and predicates: no derivative
_flat: tuple[Any, ...] = (
    *(np.floor, np.ceil, np.trunc, np.rint, np.sign, np.floor_divide, np.spacing),
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *(np.isnan, np.isinf, np.isfinite, np.signbit),
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift, np.gcd, np.lcm),
)
for _f in _flat:
    row(_f.__name__, _f)


# Special cases, each with its reason.
def _select(c: Any, x: Any, y: Any) -> Any:
    return np.where(c, x, y)


def _identity(x: Any) -> Any:
    return x


def _clip(x: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _logistic(x: Array) -> Array:  # by the exponential that softplus has computed already
    e = np.exp(-np.abs(x))
    return np.where(x > 0, 1.0, e) / (1.0 + e)


def _ratio(x: Array, z: Array) -> Array:  # hypot(0, 0): the subgradient of least norm is 0
    return np.where(z == 0, 0.0, x / np.where(z == 0, 1.0, z))


def _share(x: Array, z: Array) -> Array:  # logaddexp(-inf, -inf) - (-inf) is NaN, and the share of nothing is 0
    return np.where(np.isinf(z) & (x == z), np.where(z > 0, 1.0, 0.0), np.exp(x - z))


def _wins(wins: Array, x: Array, y: Array) -> Array:
    return np.where(wins, 1.0, np.where(np.equal(x, y), 0.5, 0.0))


def _wins_f(wins: Array, x: Array, y: Array) -> Array:  # fmax and fmin ignore a NaN on the other side
    return np.where(wins | np.isnan(y), 1.0, np.where(np.equal(x, y), 0.5, 0.0))


def _power_dx(x: Array, y: Array, z: Array) -> Array:  # 0 ** (y - 1) is infinite for y < 1, but y = 0 is a constant
    if type(y) is int or type(y) is float:
        return y * x ** (y - 1) if y not in (0, 1, 2) else (0.0 * x, 1.0, 2.0 * x)[int(y)]
    return apply(TIMES, y, np.power(x, y - 1.0))


def _power_dy(x: Array, y: Array, z: Array) -> Array:  # 0 ** y is 0 for every y > 0, whatever log(0) is
    return apply(TIMES, z, np.log(np.where(x == 0, 0.0, x)))


row("power", np.power, dx=_power_dx, dy=_power_dy)
row("float_power", np.float_power, dx=_power_dx, dy=_power_dy)
# A selected value passes its derivative on, the other side's never appears (not even as 0 * NaN).
row("where", _select, None, lambda c, x, y, z: np.where(c, 1.0, 0.0), lambda c, x, y, z: np.where(c, 0.0, 1.0))
row("times", _times, dx=lambda x, y, z: y, dy=lambda x, y, z: x)
row("stop_gradient", _identity)
# The closed interval passes its derivative: a sampler on the bound is not stuck there.
row(
    "clip",
    _clip,
    dx=lambda x, a, b, z: np.where((x >= a) & (x <= b), 1.0, 0.0),
    dy=lambda x, a, b, z: np.where(x < a, 1.0, 0.0),
    dw=lambda x, a, b, z: np.where(x > b, 1.0, 0.0),
)

TIMES = rows["times"]
WHERE = rows["where"]


class Where(Elementwise):
    """Selection: tangents and cotangents are selected like values, so nothing of the other side can leak."""

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        x_dot, y_dot = (0.0 if d is None else d for d in dots[1:])
        return apply(self, args[0], x_dot, y_dot)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        taken = apply(self, args[0], z_bar, 0.0) if i == 1 else apply(self, args[0], 0.0, z_bar)
        return unbroadcast(taken, shape_of(z), shape_of(args[i]))


class Astype(Op):
    """Conversion to another dtype; between floats it is linear, to integers it is a step."""

    name = "astype"
    elementwise = True

    def evaluate(self, x: Any, *, dtype: np.dtype) -> Any:
        return np.asarray(x).astype(dtype)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        return shape_of(args[0]), params["dtype"]

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        return apply(self, z_bar, dtype=dispatch.dtype_of(args[0]))


rows["where"] = WHERE = Where("where", _select, WHERE.partials)
ASTYPE = Astype()
dispatch.install_operators(rows)
