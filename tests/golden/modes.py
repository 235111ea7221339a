"""One gradient by every road: reverse, forward, the two kinds of fwddiff, compiled and interpreted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff import compile as compile_program
from probdiff import fwddiff, grad, gradient, pullback, pushforward, tree, unthunk

EAGER = ("reverse", "forward", "lazy", "single_pass")
COMPILED = ("native", "numpy")
ALL = EAGER + COMPILED


def is_float(leaf: Any) -> bool:
    """A leaf that has a tangent: a Python float or an array of floats."""
    return isinstance(leaf, float) or (hasattr(leaf, "dtype") and np.issubdtype(leaf.dtype, np.floating))


def by_forward(f: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """The gradient one coordinate at a time, by `pushforward`; None for arguments without a float."""
    leaves, spec = tree.flatten(args)
    push = pushforward(f, *args)

    def slope(k: int, position: tuple[int, ...]) -> float:
        dots = [np.zeros(np.shape(leaf)) if is_float(leaf) else 0 for leaf in leaves]
        dots[k][position] = 1.0
        dots = [
            dot[()] if np.ndim(dot) == 0 and is_float(leaf) else dot for dot, leaf in zip(dots, leaves, strict=True)
        ]
        return push(*spec.unflatten(dots))

    slopes = []
    for k, leaf in enumerate(leaves):
        out = np.zeros(np.shape(leaf))
        if is_float(leaf):
            for position in np.ndindex(np.shape(leaf)):
                out[position] = slope(k, position)
        slopes.append(out)
    return tuple(
        g if any(is_float(leaf) for leaf in tree.flatten(a)[0]) else None
        for g, a in zip(spec.unflatten(slopes), args, strict=True)
    )


def by_fwddiff(f: Callable[..., Any], *args: Any, mode: str) -> tuple[Any, ...]:
    """The gradient through the seam: a pullback whose inside is forward mode."""
    _, back = pullback(fwddiff(f, mode=mode), *args)
    return tuple(unthunk(entry) for entry in back(1.0))


def by_compiled(f: Callable[..., Any], *args: Any, backend: str) -> tuple[Any, ...]:
    """The gradient as one compiled program, in the arguments that have a tangent."""
    argnums = tuple(i for i, a in enumerate(args) if any(is_float(leaf) for leaf in tree.flatten(a)[0]))
    found = iter(compile_program(grad(f, argnums=argnums), backend=backend)(*args))
    return tuple(next(found) if i in argnums else None for i in range(len(args)))


def gradient_by(mode: str, f: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """The gradient of f by the named road."""
    if mode == "reverse":
        return gradient(f, *args)
    if mode == "forward":
        return by_forward(f, *args)
    if mode in ("lazy", "single_pass"):
        return by_fwddiff(f, *args, mode=mode)
    return by_compiled(f, *args, backend=mode)


def assert_equal_structure(got: Any, expected: Any, label: str, rtol: float, atol: float) -> None:
    """Same leaves, each equal within tolerance and of the same shape."""
    got_leaves, expected_leaves = tree.flatten(got)[0], tree.flatten(expected)[0]
    assert len(got_leaves) == len(expected_leaves), f"{label}: got {got}, expected {expected}"
    for g, e in zip(got_leaves, expected_leaves, strict=True):
        assert np.shape(g) == np.shape(e), f"{label}: shape {np.shape(g)}, expected {np.shape(e)}"
        np.testing.assert_allclose(np.asarray(g, float), np.asarray(e, float), rtol=rtol, atol=atol, err_msg=label)


def assert_gradient(
    f: Callable[..., Any],
    *args: Any,
    expected: Any,
    modes: Sequence[str] = ALL,
    rtol: float = 1e-9,  # golden numbers are given to nine digits or more; shorter ones pass their own
    atol: float = 1e-12,
) -> None:
    """Every mode gives `expected`, a tuple with one gradient per argument."""
    for mode in modes:
        assert_equal_structure(gradient_by(mode, f, *args), expected, mode, rtol, atol)


def finite_difference(f: Callable[[Any], Any], x: Any, eps: float = 1e-6) -> np.ndarray:
    """The Jacobian of flattened f in flattened x by central differences."""
    leaves, spec = tree.flatten(x)
    flat = np.concatenate([np.ravel(np.asarray(leaf, float)) for leaf in leaves])

    def at(values: np.ndarray) -> np.ndarray:
        parts, start = [], 0
        for leaf in leaves:
            part = values[start : start + np.size(leaf)].reshape(np.shape(leaf))
            parts.append(part if np.ndim(leaf) else float(part))
            start += np.size(leaf)
        return flatten_values(f(spec.unflatten(parts)))

    columns = [(at(flat + step) - at(flat - step)) / (2 * eps) for step in eps * np.eye(flat.size)]
    return np.stack(columns, axis=1)


def flatten_values(x: Any) -> np.ndarray:
    """All leaves of x, ravelled and joined."""
    return np.concatenate([np.ravel(np.asarray(leaf, float)) for leaf in tree.flatten(x)[0]])
