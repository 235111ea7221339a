"""Our derivatives as those of functions of JAX: rules that JAX runs forwards, and transposes for reverse mode.

A rule evaluates what does not depend on the tangents first (the partials), and then what is linear in them. The first
part is a function with a rule of its own, so that derivatives of any order are ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.ad.dual import Dual, expanded, partial_of
from probdiff.ad.transforms import pullback
from probdiff.compiler.interpret import interpret
from probdiff.compiler.xla.library import canonical, cast, jax, jnp, no_tangent
from probdiff.compiler.xla.lower import evaluate, run
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.interop.programs import Parts, kinds_of, moving, recorded
from probdiff.ops.dispatch import dtype_of, new_level, shape_of

Function = Callable[..., list[Any]]


class Split(Parts):
    """The two parts of a program as functions of JAX, the first one with derivatives of its own."""

    def __init__(self, program: Program, count: int) -> None:
        super().__init__(program, count)
        self.function = differentiable(Program(self.inputs, self.partials))

    def __call__(self, xs: Sequence[Any]) -> tuple[list[Any], Callable[..., list[Any]]]:
        """Outputs for the first inputs `xs`, None where they depend on the others; and a function of those."""
        known = dict(zip(self.inputs, xs, strict=True))
        known |= zip(self.partials, self.function(*xs), strict=True)

        def of(*dots: Any) -> list[Any]:
            values = known | dict(zip(self.dots, dots, strict=True))
            run(self.linear, values, {}, linear=True)
            return [values[o] if isinstance(o, Node) else o for o in self.outputs]

        return [known.get(o) if isinstance(o, Node) else o for o in self.outputs], of


def plain(program: Program) -> Any:
    """The program as a function of JAX that waits for its rule."""
    return jax.custom_jvp(jax.jit(lambda *xs: fitted(evaluate(program, xs), program.outputs)))


def differentiable(program: Program) -> Function:
    """The program as a function of JAX whose derivatives are those of its operations in the table."""
    function = plain(program)
    forward = functools.cache(lambda: Split(pushed(program), len(moving(program.inputs))))

    def rule(xs: Any, dots: Any) -> tuple[list[Any], list[Any]]:
        n = len(program.outputs)
        values, of = forward()(xs)
        ys = function(*xs) if any(y is None for y in values[:n]) else values[:n]  # None: from a loop with tangents
        y_dots = of(*(dots[k] for k in moving(program.inputs)))[n:]
        return fitted(ys, program.outputs), tangents(y_dots, program.outputs)

    function.defjvp(rule)
    known: Function = function
    return known


def pushed(program: Program) -> Program:
    """Outputs and their tangents, for inputs and tangents of those that have one."""
    places = moving(program.inputs)

    def both(*leaves: Any) -> list[Any]:
        level = new_level()
        xs, dots = list(leaves[: len(program.inputs)]), leaves[len(program.inputs) :]
        for k, dot in zip(places, dots, strict=True):
            xs[k] = Dual(level, xs[k], (dot,))
        found = interpret(program, xs)
        ys = [y.value if type(y) is Dual and y.level == level else y for y in found]
        return ys + [expanded(partial_of(found[k], level), ys[k]) for k in moving(program.outputs)]

    inputs = kinds_of(program.inputs)
    return recorded(both, [*inputs, *(inputs[k] for k in places)])


def fitted(ys: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """Values in the shapes and dtypes of a program's outputs."""
    return [jnp.broadcast_to(cast(y, dtype_of(o)), shape_of(o)) for y, o in zip(ys, like, strict=True)]


def tangents(dots: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """A tangent for each output, from those of the outputs that have one."""
    places = moving(outputs)
    given = dict(zip(places, fitted(dots, [outputs[k] for k in places]), strict=True))
    return [given[k] if k in given else no_tangent(shape_of(o)) for k, o in enumerate(outputs)]


def function_of(f: Callable[..., Any], program: Program) -> Function:
    """f, whose recording is `program`, as a function of JAX with our reverse mode, in which `fwddiff` is a seam.

    With one real result, the rule is its gradient: the tangent is the product with it. With several, it is the
    transpose of the pullback: the vjp, at zero, of what is linear in the cotangents once the partials are known.
    """
    floats = moving(program.outputs)
    if not floats or not moving(program.inputs):
        return differentiable(program)
    one = sum(int(np.prod(shape_of(program.outputs[k]), dtype=int)) for k in floats) == 1
    function = plain(program)

    @functools.cache
    def make() -> Any:
        try:
            return (_by_gradient if one else _by_pullback)(f, program)
        except UnsupportedError:  # a while_loop outside fwddiff, which has forward mode
            return _by_tangents(program)

    def rule(xs: Any, dots: Any) -> tuple[list[Any], list[Any]]:
        ys, y_dots = make()(xs, [dots[k] for k in moving(program.inputs)])
        given = dict(zip(floats, ys, strict=True))
        rest = function(*xs) if len(floats) < len(program.outputs) else None
        out = [given[k] if rest is None or k in given else rest[k] for k in range(len(program.outputs))]
        return fitted(out, program.outputs), tangents(y_dots, program.outputs)

    function.defjvp(rule)
    known: Function = function
    return known


def _pull(f: Callable[..., Any], program: Program, xs: Sequence[Any]) -> tuple[list[Any], Callable[..., list[Any]]]:
    """Real results of f, and a function from their cotangents to those of the arguments that have one."""
    places = moving(program.inputs)

    def of(*some: Any) -> tuple[Any, ...]:
        full = list(xs)
        for k, x in zip(places, some, strict=True):
            full[k] = x
        ys = f(*full)
        return tuple(ys[k] for k in moving(program.outputs))

    ys, back = pullback(of, *(xs[k] for k in places))
    return list(ys), lambda *y_bars: list(back(y_bars))


def _by_tangents(program: Program) -> Any:
    forward = differentiable(program)
    inputs, outputs = moving(program.inputs), moving(program.outputs)

    def rule(xs: Any, dots: Any) -> tuple[list[Any], list[Any]]:
        given = dict(zip(inputs, dots, strict=True))
        all_dots = tuple(given[k] if k in given else no_tangent(x.shape) for k, x in enumerate(xs))
        ys, y_dots = jax.jvp(forward, tuple(xs), all_dots)
        return [ys[k] for k in outputs], [y_dots[k] for k in outputs]

    return rule


def _by_gradient(f: Callable[..., Any], program: Program) -> Any:
    def both(*xs: Any) -> list[Any]:
        (y,), back = _pull(f, program, xs)
        return [y, *back(np.ones(shape_of(y), dtype_of(y))[()])]

    value_and_gradients = differentiable(recorded(both, kinds_of(program.inputs)))

    def rule(xs: Any, dots: Any) -> tuple[list[Any], list[Any]]:
        y, *slopes = value_and_gradients(*xs)
        y_dot = sum(jnp.sum(g * dot) for g, dot in zip(slopes, dots, strict=True))
        return [y], [jnp.reshape(y_dot, jnp.shape(y))]

    return rule


def _by_pullback(f: Callable[..., Any], program: Program) -> Any:
    floats = [program.outputs[k] for k in moving(program.outputs)]
    n, count = len(program.inputs), len(floats)

    def both(*leaves: Any) -> list[Any]:
        ys, back = _pull(f, program, leaves[:n])
        return [*ys, *back(*leaves[n:])]

    split = Split(recorded(both, kinds_of([*program.inputs, *floats])), count)
    moved = [k for k, on in enumerate(split.depends[count:]) if on]
    like = [program.inputs[k] for k in moving(program.inputs)]

    def zeros() -> list[Any]:
        return [jnp.zeros(shape_of(o), canonical(dtype_of(o))) for o in floats]

    def rule(xs: Any, dots: Any) -> tuple[list[Any], list[Any]]:
        values, of = split(xs)

        def back(*y_bars: Any) -> list[Any]:
            found = of(*y_bars)[count:]
            return fitted([found[k] for k in moved], [like[k] for k in moved])

        return values[:count], list(jax.vjp(back, *zeros())[1]([dots[k] for k in moved]))

    return rule
