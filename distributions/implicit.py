"""Values that are defined by an equation in the distribution function: quantiles and pathwise draws.

A quantile x solves T(x, θ) = p, where T is one of the four forms of the distribution function. So
dx = (dp - ∂T/∂θ dθ) / (∂T/∂x), whatever found x; a draw is the same with noise in place of p, and dp = 0
(Figurnov, Mohamed & Mnih, Implicit reparameterization gradients, 2018).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.transforms import pullback, pushforward, stop_gradient
from probdiff.distributions.quantiles import LOG_HALF, inverse
from probdiff.ops.dispatch import Op, apply, dtype_of, is_lifted, shape_of
from probdiff.ops.elementwise import Elementwise, broadcast_shapes
from probdiff.tree import Array, flatten, unflatten

__all__ = ["inverted", "pathwise"]


class Equation:
    """T(x, θ) = target, for the distribution that `spec` builds from its leaves; a "path" keeps the T that x has."""

    def __init__(self, spec: Any, kind: str) -> None:
        self.spec, self.kind = spec, kind

    def solution(self, first: Any, *leaves: Any) -> Any:
        member = unflatten(self.spec, leaves)
        x = first if self.kind == "path" else inverse(member, self.kind, first)
        full = np.broadcast_to(x, np.broadcast_shapes(np.shape(x), member.batch_shape))
        return np.array(full, dtype=self.dtype((first, *leaves)))[()]

    @staticmethod
    def dtype(args: tuple[Any, ...]) -> np.dtype:
        kinds = [dtype_of(a) for a in args if type(a) not in (int, float)]
        floats = [k for k in kinds if k.kind == "f"]
        return np.result_type(np.float32, *floats) if floats else np.dtype(np.float64)

    def tail(self, member: Any, x: Array) -> Array:
        """T(x, θ)."""
        if self.kind != "path":
            return getattr(member, self.kind)(x)
        low = member.logcdf(x)
        return np.where(low < LOG_HALF, low, -member.logccdf(x))

    def slope(self, leaves: Any, x: Array) -> Array:
        """∂T/∂x."""
        member = unflatten(self.spec, leaves)
        height = member.logpdf(x)
        if self.kind == "path":
            low = member.logcdf(x)
            return np.exp(height - np.where(low < LOG_HALF, low, member.logccdf(x)))
        if self.kind.startswith("log"):
            # At an end of the support both are -inf.
            height = np.where(height == -np.inf, -np.inf, height - getattr(member, self.kind)(x))
        return -np.exp(height) if self.kind.endswith("ccdf") else np.exp(height)

    def moved(self, leaves: Any, k: int, x: Array) -> Callable[[Array], Array]:
        """T as a function of one leaf."""

        def of(leaf: Array) -> Array:
            return self.tail(unflatten(self.spec, [*leaves[:k], leaf, *leaves[k + 1 :]]), x)

        return of


class ImplicitRow(Elementwise):
    """The solution as an operation on elements, for families whose parameters are numbers: it joins fused loops."""

    def __init__(self, name: str, equation: Equation, count: int) -> None:
        def along(k: int) -> Callable[..., Array]:
            def partial(first: Array, *rest: Array) -> Array:
                *leaves, z = rest
                one = np.ones(shape_of(leaves[k]), dtype_of(leaves[k]))[()]
                change = pushforward(equation.moved(leaves, k, z), leaves[k])(one)
                return -change / _unless_zero(equation.slope(leaves, z))

            return partial

        def in_target(first: Array, *rest: Array) -> Array:
            *leaves, z = rest
            return 1.0 / equation.slope(leaves, z)

        first = None if equation.kind == "path" else in_target
        super().__init__(name, equation.solution, (first, *(along(k) for k in range(count))))
        self.equation = equation

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        return broadcast_shapes(self, args), self.equation.dtype(args)


class Implicit(Op):
    """The solution where parameters are vectors, or distributions themselves."""

    def __init__(self, name: str, equation: Equation, count: int) -> None:
        self.name, self.equation = name, equation
        self.smooth = tuple(range(1 if equation.kind == "path" else 0, count + 1))

    def evaluate(self, *args: Any) -> Any:
        return self.equation.solution(*args)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        batch = unflatten(self.equation.spec, args[1:]).batch_shape
        return np.broadcast_shapes(shape_of(args[0]), batch), self.equation.dtype(args)

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        leaves = args[1:]
        slope = self.equation.slope(leaves, z)
        flow: Any = 0.0 if dots[0] is None or self.equation.kind == "path" else dots[0] / slope
        for k, dot in enumerate(dots[1:]):
            if dot is not None:
                flow = flow - pushforward(self.equation.moved(leaves, k, z), leaves[k])(dot) / _unless_zero(slope)
        return flow

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        leaves = args[1:]
        slope = self.equation.slope(leaves, z)
        if i == 0:
            return z_bar / slope
        _, back = pullback(self.equation.moved(leaves, i - 1, z), leaves[i - 1])
        (leaf_bar,) = back(-z_bar / _unless_zero(slope))
        return leaf_bar


def _unless_zero(slope: Array) -> Array:
    """The slope; where it is zero, at an end of the support, x does not move with the parameters of T."""
    return np.where(slope == 0, np.inf, slope)


@functools.lru_cache(maxsize=1024)
def _operation(name: str, numbers: bool, spec: Any, count: int, kind: str) -> Op:
    make = ImplicitRow if numbers else Implicit
    return make(f"{name}.{kind}", Equation(spec, kind), count)


def inverted(distribution: Any, kind: str, target: Array) -> Array:
    """The x where the distribution function called `kind` is `target`; of a discrete law, without a derivative."""
    return _applied(distribution, kind, target)


def pathwise(distribution: Any, x: Array) -> Array:
    """`x`, a value of a continuous distribution, as the function of its parameters that keeps its probability."""
    return _applied(distribution, "path", x)


def _applied(distribution: Any, kind: str, first: Array) -> Array:
    leaves, spec = flatten(distribution)
    domains = distribution.domains
    numbers = bool(domains) and all(d is None or not d.event_ndim for d in domains.values())
    operation = _operation(type(distribution).__name__, numbers, spec, len(leaves), kind)
    if distribution.support.discrete:
        first, leaves = _constant(first), [_constant(leaf) for leaf in leaves]
    return apply(operation, first, *leaves)


def _constant(x: Any) -> Any:
    return stop_gradient(x) if is_lifted(x) else x


def number(x: Any) -> Any:
    """The number under a value that is being differentiated, or the value itself where it has none yet."""
    while is_lifted(x) and hasattr(x, "value"):
        x = x.value
    return x
