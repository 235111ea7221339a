"""Rows of the table of operations in JAX: most have its name there, the others are a line or two."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from probdiff.compiler.xla.library import cast, jnp, lax
from probdiff.graph.program import Node
from probdiff.ops.stirling import deviance_formula, stirling_error_formula

_same_name = (
    "add subtract multiply divide negative positive reciprocal square sqrt cbrt fabs absolute hypot fmod copysign "
    "ldexp heaviside nextafter exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 sin cos tan arcsin arccos "
    "arctan arctan2 sinh cosh tanh arcsinh deg2rad rad2deg maximum minimum fmax fmin floor ceil trunc rint sign "
    "spacing equal not_equal less less_equal greater greater_equal isnan isinf isfinite signbit logical_and "
    "logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert left_shift right_shift gcd lcm "
    "power float_power where"
).split()


def times(x: Any, y: Any) -> Any:
    """The product in which a zero stays zero, whatever the other factor."""
    z = x * y
    return jnp.where((x == 0) | (y == 0), jnp.zeros_like(z), z)


def softplus(x: Any) -> Any:
    """log(1 + exp(x))"""
    return jnp.maximum(x, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


def clip(x: Any, low: Any, high: Any) -> Any:
    """min(max(x, low), high)"""
    return jnp.minimum(jnp.maximum(x, low), high)


def arccosh(x: Any) -> Any:
    """log1p(t + sqrt(2 t + t²)),  t = x - 1: exact near 1, too."""
    t = x - 1.0
    large = x > 1e8
    small = jnp.where(large, 0.0, t)
    y = jnp.log1p(small + jnp.sqrt(small * (2.0 + small)))
    return jnp.where(x < 1.0, np.nan, jnp.where(large, jnp.log(x) + np.log(2.0), y))


def arctanh(x: Any) -> Any:
    """log1p(2 |x| / (1 - |x|)) / 2 with the sign of x."""
    a = jnp.abs(x)
    return jnp.copysign(0.5 * jnp.log1p(2.0 * a / (1.0 - a)), x)


def remainder(x: Any, y: Any) -> Any:
    """x mod y with the sign of y; of integers, 0 where y is 0."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x, y, nothing = _whole(x, y)
        return jnp.where(nothing, 0, jnp.remainder(x, y))
    rest = lax.rem(x, y)
    moved = jnp.where((rest < 0) != (y < 0), rest + y, rest)
    return jnp.where(rest == 0, jnp.copysign(jnp.zeros_like(y), y), moved)


def floor_divide(x: Any, y: Any) -> Any:
    """The floor of x / y that goes with `remainder`; of integers, 0 where y is 0."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x, y, nothing = _whole(x, y)
        return jnp.where(nothing, 0, jnp.floor_divide(x, y))
    rest = lax.rem(x, y)
    ratio = x / y
    quotient = (x - rest) / y
    quotient = jnp.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1.0, quotient)
    below = jnp.floor(quotient)
    nearest = jnp.where(quotient - below > 0.5, below + 1.0, below)
    nearest = jnp.where(quotient == 0, jnp.copysign(jnp.zeros_like(ratio), ratio), nearest)
    return jnp.where(y == 0, ratio, nearest)


def _whole(x: Any, y: Any) -> tuple[Any, Any, Any]:
    x, y = jnp.broadcast_arrays(x, y)
    return x, jnp.where(y == 0, 1, y), y == 0


def by_formula(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A function written in NumPy, on JAX's arrays."""

    def function(*xs: Any) -> Any:
        from probdiff.compiler.xla.lower import called

        return called(formula, xs)

    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(jnp, name) for name in _same_name}
FUNCTIONS |= {
    "times": times,
    "softplus": softplus,
    "clip": clip,
    "arccosh": arccosh,
    "arctanh": arctanh,
    "remainder": remainder,
    "floor_divide": floor_divide,
    "stop_gradient": lax.stop_gradient,
    "deviance": by_formula(deviance_formula),
    "stirling_error": by_formula(stirling_error_formula),
}
# Rows whose derivative JAX would take wrongly from the code above: at a kink, or a zero that hides a factor.
KINKED = (
    "times",
    "softplus",
    "clip",
    "arccosh",
    "arctanh",
    "remainder",
    "hypot",
    "copysign",
    "fmax",
    "fmin",
    "deviance",
    "stirling_error",
)


def elementwise(node: Node, args: list[Any], linear: bool = False) -> Any:
    """The value of an elementwise node. With `linear`, in code that JAX transposes: a product is only a product."""
    from probdiff.compiler.xla.own_derivative import with_own_derivative

    name = node.op.name
    if name == "astype":
        return cast(args[0], node.dtype)
    if name == "power":
        small = _small_power(node, args)
        if small is not None:
            return small
    *kinds, result = argument_dtypes(node)
    xs = [cast(a, d) for a, d in zip(args, kinds, strict=True)]
    if linear and name == "times":
        z = xs[0] * xs[1]
    elif name in FUNCTIONS and name not in KINKED:
        z = FUNCTIONS[name](*xs)
    else:
        z = with_own_derivative(node.op)(*xs)
    return cast(z, result)


def _small_power(node: Node, args: list[Any]) -> Any:
    """A float to the power of a small whole number is a few products."""
    exponent = node.args[1]
    if isinstance(exponent, Node | np.ndarray) or node.dtype.kind != "f":
        return None
    if not abs(exponent) <= 16 or exponent != int(exponent):
        return None
    return lax.integer_pow(cast(args[0], node.dtype), int(exponent))


def argument_dtypes(node: Node) -> tuple[np.dtype, ...]:
    """Dtypes in which arguments enter the operation, and that of the result."""
    kinds = tuple(a.dtype if isinstance(a, Node | np.generic | np.ndarray) else type(a) for a in node.args)
    return _argument_dtypes(node.op, kinds, node.dtype)


@lru_cache(maxsize=4096)
def _argument_dtypes(op: Any, kinds: tuple[Any, ...], result: np.dtype) -> tuple[np.dtype, ...]:
    if op.ufunc is not None:
        kinds = tuple(np.dtype(bool) if k is bool else k for k in kinds)
        dtypes: tuple[np.dtype, ...] = op.ufunc.resolve_dtypes((*kinds, None))
        return dtypes[:-1] + (result,)
    if op.name == "where":
        return (np.dtype(bool), result, result, result)
    if op.name == "polygamma":
        return (np.dtype(float), result, result)
    boolean = np.dtype(bool)
    conditions = [kind in (bool, boolean) and i not in op.smooth for i, kind in enumerate(kinds)]
    return (*(boolean if condition else result for condition in conditions), result)
