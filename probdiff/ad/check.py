"""A gradient checker: forward mode against reverse mode, and both against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.arguments import match
from probdiff.ad.transforms import pullback, pushforward
from probdiff.errors import GradientMismatch
from probdiff.ops.dispatch import dtype_of, is_float, shape_of
from probdiff.tree import Tree, flatten, paths, unflatten


def check_gradient(
    f: Callable[..., Any], *args: Tree, rtol: float = 1e-6, atol: float = 1e-8, seed: int = 0, directions: int = 3
) -> None:
    """Raise `GradientMismatch` unless forward mode, reverse mode and central differences of `f` agree at `args`.

    Along random directions v of the arguments and w of the result, the identity <w, J v> = <J^T w, v> must hold between
    the modes to `rtol`, and J v must agree with Richardson-extrapolated differences to the square root of it. The
    message names the argument whose derivative is wrong where that can be told.
    """
    rng = np.random.default_rng(seed)
    leaves, spec = flatten(args)
    floats = [k for k, x in enumerate(leaves) if is_float(x)]
    names = paths(args)
    y, back = pullback(f, *args)
    outputs, out_spec = flatten(y)
    moving = [j for j, o in enumerate(outputs) if is_float(o)]
    eps = max([float(np.finfo(dtype_of(outputs[j])).eps) for j in moving], default=0.0)

    def at(values: list[Any]) -> list[np.ndarray]:
        full = list(leaves)
        for k, v in zip(floats, values, strict=True):
            full[k] = v
        out = flatten(f(*unflatten(spec, full)))[0]
        return [np.asarray(out[j], float) for j in moving]

    for _ in range(directions):
        w: list[Any] = [rng.standard_normal(shape_of(o)) if j in moving else None for j, o in enumerate(outputs)]
        y_bar = w[0] if len(w) == 1 else unflatten(out_spec, w)
        bars = _leaves_of(back(y_bar), spec)
        for group in [floats, *([k] for k in floats)]:
            v = [
                rng.standard_normal(shape_of(leaves[k])) if k in group else np.zeros(shape_of(leaves[k]))
                for k in floats
            ]
            dots: list[Any] = [None] * len(leaves)
            for k, direction in zip(floats, v, strict=True):
                if k in group:
                    dots[k] = direction.astype(dtype_of(leaves[k]))
            forward = flatten(pushforward(lambda *xs: tuple(_select(f, spec, xs, moving)), *leaves)(*dots))[0]
            reverse = sum(float(np.sum(bars[k] * d)) for k, d in zip(floats, v, strict=True) if k in group)
            through = sum(float(np.sum(w[j] * p)) for j, p in zip(moving, forward, strict=True))
            scale = sum(float(np.sum(np.abs(w[j] * p))) for j, p in zip(moving, forward, strict=True))
            numeric, error = _difference(at, [leaves[k] for k in floats], v, eps)
            measured = sum(float(np.sum(w[j] * n)) for j, n in zip(moving, numeric, strict=True))
            slack = sum(float(np.sum(np.abs(w[j]) * e)) for j, e in zip(moving, error, strict=True))
            who = f"argument{names[group[0]]}" if len(group) == 1 else "all arguments together"
            if not _close(reverse, through, rtol * (scale + abs(reverse)) + atol):
                raise GradientMismatch(
                    f"check_gradient: reverse mode gives {reverse:.12g}, forward mode {through:.12g} ({who})"
                )
            limit = np.sqrt(rtol) * (scale + abs(measured)) * 0.1 + 10 * slack + np.sqrt(atol) * 0.01
            if not _close(through, measured, limit):
                raise GradientMismatch(
                    f"check_gradient: both modes give {through:.12g}, differences {measured:.12g} ({who})"
                )


def _select(f: Callable[..., Any], spec: Any, xs: tuple[Any, ...], moving: list[int]) -> list[Any]:
    out = flatten(f(*unflatten(spec, list(xs))))[0]
    return [out[j] for j in moving]


def _leaves_of(bars: tuple[Tree, ...], spec: Any) -> list[Any]:
    out: list[Any] = []
    for bar, child in zip(bars, spec.children(), strict=True):
        values = flatten(bar)[0]
        if len(values) == child.num_leaves:
            out += values
        else:  # entries without a tangent are None and no leaves
            out += _aligned(bar, child)
    return out


def _aligned(bar: Tree, child: Any) -> list[Any]:
    return [None] * child.num_leaves if bar is None else match(child, bar, child.num_leaves)


def _close(a: float, b: float, tolerance: float) -> bool:
    if np.isnan(a) or np.isnan(b):
        return bool(np.isnan(a) and np.isnan(b))
    return a == b or abs(a - b) <= tolerance


def _difference(
    at: Callable[..., Any], xs: list[Any], v: list[np.ndarray], eps: float
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Central differences with one Richardson step, and how far they may be off.

    Halving the step divides the error by four for a smooth function, and doubles that of rounding. What grows beyond
    rounding is a jump: it does not widen the tolerance.
    """
    h = 1e-4 * max([1.0, *(float(np.max(np.abs(x))) if np.size(x) else 0.0 for x in xs)])

    def central(step: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
        up = at([np.asarray(x, float) + step * d for x, d in zip(xs, v, strict=True)])
        down = at([np.asarray(x, float) - step * d for x, d in zip(xs, v, strict=True)])
        rounding = [eps * (np.abs(a) + np.abs(b)) / step for a, b in zip(up, down, strict=True)]
        return [(a - b) / (2 * step) for a, b in zip(up, down, strict=True)], rounding

    with np.errstate(all="ignore"):
        (coarse, _), (middle, _), (fine, noise) = central(h), central(h / 2), central(h / 4)
        slopes, errors = [], []
        for a, b, c, least in zip(coarse, middle, fine, noise, strict=True):
            first, second = np.abs(a - b), np.abs(b - c)
            slopes.append((4 * c - b) / 3)
            errors.append(np.where((second <= 0.5 * first) | (second <= 10 * least), second, 10 * least))
        return slopes, errors
