"""One vector-Jacobian product by the reverse mode of JAX, of PyTorch and of autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

FRAMEWORKS = ("jax", "torch", "autograd")
Back = Callable[[Sequence[Any]], list[np.ndarray]]


def vjp(framework: str, f: Callable[..., list[Any]], xs: Sequence[np.ndarray]) -> tuple[list[Any], Back]:
    """The results of f, which takes arrays of the framework, and a function from their cotangents to those of `xs`."""
    pytest.importorskip(framework)
    return {"jax": _jax, "torch": _torch, "autograd": _autograd}[framework](f, xs)


def _jax(f: Callable[..., list[Any]], xs: Sequence[np.ndarray]) -> tuple[list[Any], Back]:
    import jax

    from probdiff.compiler.xla.library import double

    with double():
        ys, back = jax.vjp(lambda *xs: f(*xs), *map(jax.numpy.asarray, xs))

    def of(y_bars: Sequence[Any]) -> list[np.ndarray]:
        with double():
            given = [_zeros(y) if g is None else np.asarray(g, y.dtype) for g, y in zip(y_bars, ys, strict=True)]
            return [np.asarray(x_bar) for x_bar in back(given)]

    return [np.asarray(y) for y in ys], of


def _zeros(y: Any) -> np.ndarray:
    import jax

    return np.zeros(y.shape, y.dtype if y.dtype.kind == "f" else jax.dtypes.float0)


def _torch(f: Callable[..., list[Any]], xs: Sequence[np.ndarray]) -> tuple[list[Any], Back]:
    import torch

    inputs = [torch.tensor(x, requires_grad=True) for x in xs]
    ys = f(*inputs)

    def of(y_bars: Sequence[Any]) -> list[np.ndarray]:
        used = [(y, torch.tensor(g, dtype=y.dtype)) for y, g in zip(ys, y_bars, strict=True) if y.requires_grad]
        if not used:
            return [np.zeros_like(x) for x in xs]
        found = torch.autograd.grad(
            [y for y, _ in used], inputs, [g for _, g in used], retain_graph=True, allow_unused=True
        )
        return [np.zeros_like(x) if g is None else g.numpy() for x, g in zip(xs, found, strict=True)]

    return [y.detach().numpy() for y in ys], of


def _autograd(f: Callable[..., list[Any]], xs: Sequence[np.ndarray]) -> tuple[list[Any], Back]:
    import autograd.builtins
    import autograd.core

    def of_tuple(inputs: Any) -> Any:
        return autograd.builtins.tuple(f(*(inputs[k] for k in range(len(xs)))))

    back, ys = autograd.core.make_vjp(of_tuple, tuple(xs))

    def of(y_bars: Sequence[Any]) -> list[np.ndarray]:
        given = [np.zeros(np.shape(y)) if g is None else g for g, y in zip(y_bars, ys, strict=True)]
        return [
            np.asarray(x_bar) for x_bar in back(tuple(np.asarray(g, y.dtype) for g, y in zip(given, ys, strict=True)))
        ]

    return list(ys), of
