"""The verbs: gradient, value_and_grad, grad, pullback, pushforward, stop_gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.arguments import collect, cotangents, drop, lift, match, numbered, strong, without_tangent
from probdiff.ad.dual import Dual, expanded, partial_of
from probdiff.ad.reverse import Tape, Variable, walk
from probdiff.errors import DifferentiationError, ShapeError
from probdiff.ops.dispatch import apply, is_float, is_lifted, new_level, shape_of
from probdiff.ops.elementwise import rows
from probdiff.tree import Tree, flatten, map_leaves, unflatten

_silent = np.errstate  # derivative formulas are evaluated where the value's own branch may not have gone


def gradient(f: Callable[..., Any], *args: Tree) -> tuple[Tree, ...]:
    """Gradients of a scalar function, one per argument, each in the argument's shape, dtype and structure.

    None stands for an argument without a tangent (integers, booleans, strings); an argument that f does not use gets
    zeros.
    """
    return _value_and_gradients(f, args, range(len(args)), {}, False)[1]


def value_and_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns the value of f and its gradient with respect to the arguments numbered by `argnums`.

    With `has_aux`, f returns (value, aux) and so does the first entry of the result.
    """
    if not isinstance(argnums, int):
        argnums = tuple(argnums)

    @functools.wraps(f, updated=())
    def wrapped(*args: Tree, **kwargs: Any) -> tuple[Any, Any]:
        numbers = numbered(argnums, len(args))
        value, grads = _value_and_gradients(f, args, numbers, kwargs, has_aux)
        return value, grads[0] if isinstance(argnums, int) else grads

    return wrapped


def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of f (and aux, with `has_aux`)."""
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f, updated=())
    def wrapped(*args: Tree, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapped


def _value_and_gradients(
    f: Callable[..., Any], args: tuple[Tree, ...], numbers: Any, kwargs: dict[str, Any], has_aux: bool
) -> tuple[Any, tuple[Tree, ...]]:
    tape = Tape()
    lifted = list(args)
    plans = []
    for k in numbers:
        lifted[k], plan = lift(tape, args[k])
        plans.append(plan)
    y = f(*lifted, **kwargs)
    aux = None
    if has_aux:
        if not isinstance(y, tuple) or len(y) != 2:
            raise DifferentiationError(f"has_aux needs a function that returns (value, aux), got {type(y).__name__}")
        y, aux = y
    value = _scalar(y, tape)
    with _silent(all="ignore"):
        walk(tape, [(y, 1.0)] if value is not y else [])
    grads = tuple([collect(plan) for plan in plans])
    tape.entries.clear()
    if type(value) is np.ndarray:
        value = value[()]
    if has_aux:
        return (value, map_leaves(lambda a: drop(a, tape), aux)), grads
    return value, grads


def _scalar(y: Any, tape: Tape) -> Any:
    value = y.value if type(y) is Variable and y.tape is tape else y
    shape = getattr(value, "shape", None)
    if shape == () and (type(y) is Variable or is_float(y)):
        return value
    if type(y) in (float, int):
        return y
    if shape:
        raise ShapeError(f"gradient needs a scalar output, got shape {shape}. Sum it, or use jacobian.")
    kind = type(y).__name__ if shape is None else str(y.dtype)
    raise DifferentiationError(f"gradient needs a real scalar output, got {kind}.")


def pullback(f: Callable[..., Any], *args: Tree) -> tuple[Any, Callable[[Tree], tuple[Tree, ...]]]:
    """f(*args), and a function from a cotangent of the result to cotangents of the arguments.

    For a function made by `fwddiff`, the cotangents are thunks: each is computed when it is first used.
    """
    own = getattr(f, "__pullback__", None)
    if own is not None:
        lazy: tuple[Any, Callable[[Tree], tuple[Tree, ...]]] = own(*args)
        return lazy
    tape = Tape()
    pairs = [lift(tape, a) for a in args]
    result = f(*(p[0] for p in pairs))
    leaves, spec = flatten(result)
    y = unflatten(spec, [drop(leaf, tape) for leaf in leaves])

    def back(y_bar: Tree) -> tuple[Tree, ...]:
        seeds = []
        for leaf, cotangent in zip(leaves, cotangents(y_bar, spec, leaves), strict=True):
            if type(leaf) is Variable and leaf.tape is tape and cotangent is not None:
                seeds.append((leaf, cotangent))
        for _, (variables, *_) in pairs:
            for v in variables if isinstance(variables, list) else [variables]:
                if type(v) is Variable:
                    v.x_bar = None
        with _silent(all="ignore"):
            walk(tape, seeds)
        given = [g for _, g in seeds if isinstance(g, np.ndarray)]
        own = tuple(collect(plan) for _, plan in pairs)
        if given:  # a function that passes its argument on must not hand out the caller's array
            own = map_leaves(lambda g: g.copy() if any(g is s for s in given) else g, own)
        return own

    return y, back


def pushforward(f: Callable[..., Any], *args: Tree) -> Callable[..., Tree]:
    """A function from tangents of the arguments to the tangent of f's result.

    A tangent has its argument's shape, or one more axis at the end: then there are as many directions, carried
    together, and the result has that axis too. The number 0 and None are structural zeros; a Python integer that gets
    a tangent is taken as a float.
    """
    flat, spec = flatten(args)
    simple = all(a is b for a, b in zip(args, flat, strict=False)) and len(args) == len(flat)

    def forward(*tangents: Tree) -> Tree:
        if len(tangents) != len(args):
            raise ShapeError(f"pushforward of {len(args)} arguments got {len(tangents)} tangents")
        dots: list[Any] = []
        if simple and not any(isinstance(t, tuple | list | dict) for t in tangents):
            dots.extend(tangents)
        else:
            for t, child in zip(tangents, spec.children(), strict=True):
                dots.extend([None] * child.num_leaves if t is None else match(child, t, child.num_leaves))
        level, width = new_level(), None
        leaves = []
        for x, dot in zip(flat, dots, strict=True):
            if dot is None or (type(dot) in (int, float) and dot == 0):
                leaves.append(without_tangent(x))
                continue
            if not is_float(x):
                if not isinstance(x, int | np.integer) or isinstance(x, bool):
                    raise DifferentiationError(f"pushforward got a tangent for {x!r}, which has none")
                x = float(x)
            own, given = shape_of(x), shape_of(dot)
            if given == own or (given == () and type(dot) in (int, float)):
                directions = (float(dot) if type(dot) is int else dot,)
                wide = None
            elif given[:-1] == own:
                directions = tuple(dot[..., k] for k in range(given[-1]))
                wide = given[-1]
            else:
                raise ShapeError(f"pushforward got a tangent of shape {given} for an argument of shape {own}")
            if width is not None and width != (wide,):
                raise ShapeError("pushforward got tangents with different numbers of directions")
            width = (wide,)
            leaves.append(Dual(level, strong(x), directions))
        y = f(*leaves) if simple else f(*unflatten(spec, leaves))
        if type(y) is Dual and width == (None,):
            return _tangent(y, level, None)
        return map_leaves(lambda leaf: _tangent(leaf, level, width[0] if width else None), y)

    return forward


def _tangent(y: Any, level: int, width: int | None) -> Any:
    if not is_float(y):
        return 0.0 if isinstance(y, int | np.integer | bool) else None
    value = y.value if type(y) is Dual and y.level == level else y
    columns = [expanded(partial_of(y, level, k), value) for k in range(1 if width is None else width)]
    if width is None:
        return columns[0]
    return np.stack(columns, axis=-1) if columns else np.zeros((*shape_of(y), 0))


def stop_gradient(x: Tree) -> Tree:
    """The same values, constant to every derivative."""
    if type(x) is np.float64:
        return x
    row = rows["stop_gradient"]
    return map_leaves(lambda leaf: apply(row, leaf) if is_lifted(leaf) else leaf, x)
