"""How an operation finds its meaning: on plain arrays it is NumPy, on lifted ones the innermost transformation decides.

`Lifted` is the base of the three arrays that are more than their numbers: `Tracer` (recorded, no value yet), `Variable`
(taped for reverse mode) and `Dual` (a value and its partials). Each belongs to a level; levels are counted at run time,
a later one is an inner one, and `apply` hands an operation to the innermost level among its arguments.
"""

from __future__ import annotations

import itertools
import linecache
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from probdiff.errors import UnsupportedError
from probdiff.tree import Array

_levels = itertools.count(1)
_package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_site = os.path.dirname(os.path.dirname(os.path.abspath(np.__file__)))
_inside = tuple(
    folder + os.sep
    for folder in (
        _package,
        os.path.realpath(os.path.join(_package, "distributions")),
        os.path.realpath(os.path.join(_package, "models")),
        os.path.join(_site, "numpy"),
        os.path.join(_site, "scipy"),
    )
)


def new_level() -> int:
    """A level of differentiation or recording that no other one has."""
    return next(_levels)


class Op:
    """A primitive operation: how NumPy evaluates it, what it returns, how it differentiates.

    `evaluate(*args, **params)` is plain NumPy; `infer(args, params)` gives shape and dtype of the result;
    `jvp(z, args, dots, params)` is the tangent (each of `dots` has its argument's shape, None is zero);
    `vjp(z_bar, z, args, params, i)` the cotangent of argument i, of any shape that broadcasts to it. `smooth` lists the
    arguments with a derivative.
    """

    name: str
    elementwise = False
    kinked = False  # whether NumPy may warn in a derivative where it has not in the value
    smooth: tuple[int, ...] = (0,)

    def evaluate(self, *args: Any, **params: Any) -> Any:
        """The result for plain arrays."""
        raise NotImplementedError(self.name)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of the result."""
        raise NotImplementedError(self.name)

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        """Tangent of an operation that is linear in its first argument."""
        return apply(self, dots[0], *args[1:], **params)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        """Cotangent of argument i for the cotangent z_bar of the result z."""
        raise NotImplementedError(self.name)

    def __repr__(self) -> str:
        return self.name


ufuncs: dict[Any, Op] = {}  # NumPy and SciPy ufuncs that are rows of the table
composed: dict[Any, Callable[..., Any]] = {}  # ufuncs written in terms of rows
functions: dict[Any, Callable[..., Any]] = {}  # other NumPy functions
reductions: dict[Any, Callable[..., Any]] = {}  # np.add.reduce and its like
accumulations: dict[Any, Callable[..., Any]] = {}


def apply(op: Op, *args: Any, **params: Any) -> Array:
    """Evaluate, record or differentiate `op`, whatever its arguments ask for."""
    top = None
    level = 0
    for a in args:
        if isinstance(a, Lifted) and a.level > level:
            top, level = a, a.level
    if top is None:
        return op.evaluate(*args, **params)
    return top.process(op, args, params)


def is_lifted(x: Any) -> bool:
    """True for a traced, taped or dual array: one whose plain number cannot be had without losing something."""
    return isinstance(x, Lifted)


def shape_of(x: Any) -> tuple[int, ...]:
    """Shape of a number, an array or a lifted array."""
    if type(x) is np.ndarray:  # most are: asking for the attribute takes longer
        shape: tuple[int, ...] = x.shape
        return shape
    if type(x) is float:
        return ()
    return x.shape if hasattr(x, "shape") else np.shape(x)


def dtype_of(x: Any) -> np.dtype:
    """Dtype of a number, an array or a lifted array."""
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def is_float(x: Any) -> bool:
    """True where a tangent exists: floating-point numbers and arrays, lifted or not."""
    kind = type(x)
    if kind is float:
        return True
    dtype = getattr(x, "dtype", None)
    return dtype is not None and getattr(dtype, "kind", "") == "f"


def user_line(frame: Any = None) -> str:
    """`file.py:12 `code`` of the innermost frame (from `frame` on, or here) outside this package, NumPy and SciPy."""
    frame = frame or sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        inside = (
            name.startswith(_inside)
            or os.path.realpath(name).startswith(_inside)
            or name.startswith("<__array_function__")
        )
        if not inside or f"{os.sep}zoo{os.sep}" in name:
            text = linecache.getline(name, frame.f_lineno).strip()
            return f"{os.path.basename(name)}:{frame.f_lineno}" + (f" `{text}`" if text else "")
        frame = frame.f_back
    return "your code"


def _library_in_stack() -> str:
    frame: Any = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("scipy.stats"):
            return "scipy.stats"
        if module.startswith(("scipy.special", "scipy._lib")):
            return "scipy.special"
        if module.startswith("scipy."):
            return "scipy"
        frame = frame.f_back
    return ""


_nearest = {
    "scipy.stats": "probdiff.distributions has densities that differentiate: Normal(loc, scale).logpdf(x).",
    "scipy.special": "probdiff.special has logsumexp, softmax and log_softmax; scipy.special's ufuncs work as they "
    "are.",
    "scipy": "This SciPy function does not dispatch; probdiff.linalg and probdiff.special hold those that "
    "differentiate.",
    "": "Build arrays with np.stack or np.concatenate instead of np.array([...]); use probdiff.take(array, index) for "
    "array[index] with a traced index, np.where instead of assigning into an array, and probdiff.stop_gradient(x) "
    "where only the number is wanted.",
}


class Lifted:
    """An array that is more than its numbers; takes part in NumPy through its protocols and operators."""

    __slots__ = ()
    __array_priority__ = 1000.0
    level: int

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Array:
        """Do `op` at this level: record, tape or differentiate it."""
        raise NotImplementedError

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Array:
        if method == "__call__" and not kwargs:
            op = ufuncs.get(ufunc)
            if op is not None:
                return self.process(op, args, {}) if len(args) == 1 else apply(op, *args)
            function = composed.get(ufunc)
            if function is not None:
                return function(*args)
        from probdiff.ops.protocol import call_ufunc

        return call_ufunc(ufunc, method, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Array:
        rule = functions.get(func)
        if rule is None:
            from probdiff.ops.protocol import unsupported_function

            unsupported_function(func)
        return rule(*args, **kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        fix = _nearest[_library_in_stack()]
        raise UnsupportedError(f"{user_line()} asks for a plain NumPy array of {self._kind()}.\n    {fix}")

    def _kind(self) -> str:
        return "a value that is being differentiated"

    # shape

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for s in self.shape:
            n *= s
        return n

    @property
    def T(self) -> Array:
        return np.transpose(self)

    @property
    def mT(self) -> Array:
        return np.swapaxes(self, -1, -2)

    @property
    def real(self) -> Array:
        return self

    @property
    def flat(self) -> Any:
        return iter(np.ravel(self))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a scalar")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError(f"{user_line()} iterates over a scalar")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, index: Any) -> Array:
        from probdiff.ops.index import getitem

        return getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise UnsupportedError(
            f"{user_line()} assigns into {self._kind()}.\n    "
            "Use np.where(mask, value, x), np.concatenate or np.stack to build a new array."
        )

    def __format__(self, spec: str) -> str:
        return format(repr(self), "") if spec else repr(self)

    __hash__ = object.__hash__

    # conversions lose derivatives, so they refuse

    def __float__(self) -> float:
        raise UnsupportedError(
            f"{user_line()} turns {self._kind()} into a Python number, which would lose its derivative.\n    "
            "Use np.log, np.exp, … instead of math.log, np.stack or np.where instead of assigning into an array, "
            "and probdiff.stop_gradient(x) where only the number is wanted."
        )

    def __int__(self) -> int:
        self.__float__()
        raise AssertionError

    def __index__(self) -> int:
        raise UnsupportedError(
            f"{user_line()} uses {self._kind()} as an index or a size.\n    "
            "Use probdiff.take(array, index) for a traced index, and probdiff.stop_gradient(x) where only the number "
            "is wanted."
        )

    def __complex__(self) -> complex:
        raise UnsupportedError(
            f"{user_line()}: complex numbers are not supported. Keep real and imaginary parts apart."
        )

    def item(self) -> Any:
        return self[(0,) * self.ndim] if self.ndim else self

    def tolist(self) -> Any:
        return [row.tolist() for row in self] if self.ndim else self

    def reshape(self, *shape: Any, order: str = "C") -> Array:
        return functions[np.reshape](self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Array:
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)):
            return functions[np.transpose](self, axes[0] or None)
        return functions[np.transpose](self, axes or None)

    def astype(self, dtype: Any, **_: Any) -> Array:
        return functions["astype"](self, dtype)

    def flatten(self) -> Array:
        return functions[np.ravel](self)

    def copy(self) -> Array:
        return self

    def conj(self) -> Array:
        return self


def innermost(leaves: list[Any]) -> Lifted | None:
    """The leaf of the innermost level, or None if no leaf is lifted."""
    top = None
    for x in leaves:
        if isinstance(x, Lifted) and (top is None or x.level > top.level):
            top = x
    return top


def _method(name: str) -> Callable[..., Any]:
    func = getattr(np, name)

    def method(self: Lifted, *args: Any, **kwargs: Any) -> Array:
        return functions[func](self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    "sum prod mean var std max min any all cumsum cumprod ravel squeeze swapaxes take clip dot trace argmax argmin "
    "argsort sort round repeat diagonal ptp"
).split():
    setattr(Lifted, _name, _method(_name))


_plain = frozenset((float, int, np.float64, np.ndarray))  # nothing to differentiate: no need to look for a level


def _operand(x: Any) -> bool:
    return isinstance(x, Lifted | float | int | np.ndarray | np.generic | complex)


def install_operators(table: Mapping[str, Op]) -> None:
    """Give `Lifted` the operators of Python, each calling its row directly: this is the hot path of eager mode."""

    def binary(op: Op) -> tuple[Callable[..., Any], Callable[..., Any]]:
        def forward(self: Lifted, other: Any) -> Array:
            if type(other) in _plain:
                return self.process(op, (self, other), {})
            if isinstance(other, list):
                other = np.asarray(other)
            return apply(op, self, other) if _operand(other) else NotImplemented

        def backward(self: Lifted, other: Any) -> Array:
            if type(other) in _plain:
                return self.process(op, (other, self), {})
            if isinstance(other, list):
                other = np.asarray(other)
            return apply(op, other, self) if _operand(other) else NotImplemented

        return forward, backward

    for symbol, row in (
        ("add", "add"),
        ("sub", "subtract"),
        ("mul", "multiply"),
        ("truediv", "divide"),
        ("floordiv", "floor_divide"),
        ("mod", "remainder"),
        ("pow", "power"),
        ("and", "bitwise_and"),
        ("or", "bitwise_or"),
        ("xor", "bitwise_xor"),
        ("lshift", "left_shift"),
        ("rshift", "right_shift"),
    ):
        forward, backward = binary(table[row])
        setattr(Lifted, f"__{symbol}__", forward)
        setattr(Lifted, f"__r{symbol}__", backward)
    for symbol, row in (
        ("lt", "less"),
        ("le", "less_equal"),
        ("gt", "greater"),
        ("ge", "greater_equal"),
        ("eq", "equal"),
        ("ne", "not_equal"),
    ):
        setattr(Lifted, f"__{symbol}__", binary(table[row])[0])
    for symbol, row in (("neg", "negative"), ("pos", "positive"), ("abs", "absolute"), ("invert", "invert")):

        def unary(self: Lifted, op: Op = table[row]) -> Array:
            return apply(op, self)

        setattr(Lifted, f"__{symbol}__", unary)

    square = table["square"]
    power = table["power"]

    def pow_(self: Lifted, other: Any) -> Array:
        if type(other) is int and other == 2:
            return apply(square, self)
        return apply(power, self, other) if _operand(other) else NotImplemented

    def matmul(self: Lifted, other: Any) -> Array:
        return functions[np.matmul](self, other)

    def rmatmul(self: Lifted, other: Any) -> Array:
        return functions[np.matmul](other, self)

    def divmod_(self: Lifted, other: Any) -> Any:
        return self // other, self % other

    def round_(self: Lifted, ndigits: int | None = None) -> Array:
        return functions[np.round](self, ndigits or 0)

    for name, method in (
        ("__pow__", pow_),
        ("__matmul__", matmul),
        ("__rmatmul__", rmatmul),
        ("__divmod__", divmod_),
        ("__round__", round_),
    ):
        setattr(Lifted, name, method)
