"""Every NumPy function with a rule: values, gradients, tangents and machine code, for its variants of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import probdiff
import probdiff.errors
from probdiff import gradient, pullback, pushforward
from probdiff.ops.dispatch import functions, is_float
from probdiff.tree import flatten

_rng = np.random.default_rng(20)
V = _rng.uniform(0.5, 2.0, 5)
W = _rng.uniform(-2.0, 2.0, 5)
M = _rng.uniform(-2.0, 2.0, (3, 4))
N = _rng.uniform(-2.0, 2.0, (4, 2))
S = _rng.uniform(-2.0, 2.0, (3, 3))
T = _rng.uniform(-2.0, 2.0, (2, 3, 4))
U = _rng.uniform(-2.0, 2.0, (2, 4, 3))
C = np.array([[0.7], [-1.3], [0.2]])
E0 = np.zeros((0,))
E2 = np.zeros((3, 0))
I5 = np.array([3, 0, -1, 3])
MASK = np.array([True, False, True])


class Case(NamedTuple):
    """A call of a NumPy function: which one, on which arguments, and whether it goes through float32."""

    of: Any  # the registered function that the case is about
    f: Callable[..., Any]
    args: tuple[Any, ...]
    narrow: bool = False


CASES: list[Case] = []


def add(of: Any, *calls: tuple[Any, ...], narrow: bool = False) -> None:
    """Cases of one function: (callable, arguments…) each."""
    CASES.extend(Case(of, f, tuple(args), narrow) for f, *args in calls)


for _f in (np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.amax, np.amin, np.ptp):
    add(
        _f,
        (_f, M),
        (lambda x, f=_f: f(x, axis=0), M),
        (lambda x, f=_f: f(x, axis=-1), M),
        (lambda x, f=_f: f(x, axis=(0, 2)), T),
        (lambda x, f=_f: f(x, axis=(-1, 0)), T),
        (lambda x, f=_f: f(x, axis=1), T),
        (_f, V),
        (lambda x, f=_f: f(x * 2.0), 1.5),
    )
for _f in (np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std):
    add(
        _f,
        (lambda x, f=_f: f(x, axis=0, keepdims=True), M),
        (lambda x, f=_f: f(x, axis=(0, 2), keepdims=True), T),
        (lambda x, f=_f: f(x, keepdims=True), M),
        (lambda x, f=_f: f(x, axis=()), M),
    )
for _f in (np.sum, np.prod):
    add(_f, (_f, E0), (lambda x, f=_f: f(x, axis=1), E2), (lambda x, f=_f: f(x, axis=0), E2))
add(
    np.prod,
    (np.prod, np.array([2.0, 0.0, 3.0])),
    (np.prod, np.array([0.0, 0.0, 3.0])),
    (lambda x: np.prod(x, axis=1), np.array([[0.0, 2.0], [3.0, 0.5]])),
    (lambda x: np.multiply.reduce(x, axis=1), M),
)
add(np.sum, (lambda x: np.add.reduce(x), M), (lambda x: x.sum(-1), M))
add(np.sum, (lambda x: np.sum(x, dtype=np.float32), M), narrow=True)
add(np.var, (lambda x: np.var(x, ddof=1), V), (lambda x: x.var(axis=0, ddof=1), M))
add(np.std, (lambda x: np.std(x, ddof=1, axis=1), M))
add(np.any, (lambda x: np.any(x > 1.0), V), (lambda x: np.any(x > 0.0, axis=0), M))
add(np.all, (lambda x: np.all(x > 0.0), V), (lambda x: np.all(x > 0.0, axis=1, keepdims=True), M))
add(np.count_nonzero, (lambda x: np.count_nonzero(x > 1.0), V), (lambda x: np.count_nonzero(x, axis=0), M))
add(
    np.average,
    (np.average, M),
    (lambda x: np.average(x, axis=1), M),
    (lambda x, w: np.average(x, weights=w), W, V),
    (lambda x, w: np.average(x, axis=0, weights=w), M, np.array([0.2, 0.5, 1.3])),
    (lambda x, w: np.average(x, axis=-1, weights=w), M, np.array([0.2, 0.5, 1.3, 0.4])),
    (lambda x, w: np.average(x, axis=0, weights=w), M, np.abs(M)),
)
for _f in (np.cumsum, np.cumprod):
    add(
        _f,
        (_f, V),
        (_f, M),
        (lambda x, f=_f: f(x, axis=0), M),
        (lambda x, f=_f: f(x, axis=-1), T),
        (_f, E0),
        (lambda x, f=_f: f(x, axis=1), E2),
    )
add(np.cumprod, (np.cumprod, np.array([2.0, 0.0, 3.0, 0.0, 1.5])))
for _f in (np.argmax, np.argmin):
    add(_f, (_f, M), (lambda x, f=_f: f(x, axis=0), M), (lambda x, f=_f: f(x, axis=-1, keepdims=True), M), (_f, V))
add(np.argsort, (np.argsort, V), (lambda x: np.argsort(x, axis=0), M), (lambda x: np.argsort(x, axis=None), M))
add(np.sort, (np.sort, W), (np.sort, M), (lambda x: np.sort(x, axis=0), M), (lambda x: np.sort(x, axis=None), M))

# shapes
add(
    np.reshape,
    (lambda x: np.reshape(x, (4, 3)), M),
    (lambda x: np.reshape(x, -1), M),
    (lambda x: np.reshape(x, (2, -1, 3)), M),
    (lambda x: x.reshape(6, 2), M),
    (lambda x: x.reshape((1, 12, 1)), M),
    (lambda x: np.reshape(x, ()), np.array([1.5])),
    (lambda x: np.reshape(x, (1, 1)), 1.5),
    (lambda x: np.reshape(x, (0, 3)), E2),
    (lambda x: np.reshape(x.T, (2, 6)), M),
    (lambda x: np.reshape(x[:, ::2], 6), M),
)
add(np.ravel, (np.ravel, M), (lambda x: np.ravel(x.T), M), (lambda x: x.ravel(), T), (lambda x: x.flatten(), M))
add(
    np.transpose,
    (np.transpose, M),
    (lambda x: np.transpose(x, (2, 0, 1)), T),
    (lambda x: np.transpose(x, (-1, 0, 1)), T),
    (lambda x: x.T, V),
    (lambda x: x.transpose(1, 0), M),
    (lambda x: x.mT, T),
    (lambda x: np.permute_dims(x, (1, 0, 2)), T),
)
add(np.permute_dims, (lambda x: np.permute_dims(x, (1, 2, 0)), T))
add(np.swapaxes, (lambda x: np.swapaxes(x, 0, 1), M), (lambda x: np.swapaxes(x, -1, 0), T))
add(
    np.moveaxis,
    (lambda x: np.moveaxis(x, 0, -1), T),
    (lambda x: np.moveaxis(x, (0, 1), (-1, -2)), T),
    (lambda x: np.moveaxis(x, [2, 0], [0, 1]), T),
)
add(
    np.expand_dims,
    (lambda x: np.expand_dims(x, 0), M),
    (lambda x: np.expand_dims(x, -1), M),
    (lambda x: np.expand_dims(x, (0, 2)), V),
    (lambda x: x[:, None], V),
)
add(
    np.squeeze,
    (np.squeeze, C),
    (lambda x: np.squeeze(x, axis=1), C),
    (lambda x: np.squeeze(x, axis=-1), C),
    (lambda x: np.squeeze(x[None], axis=(0, 2)), C),
)
add(
    np.broadcast_to,
    (lambda x: np.broadcast_to(x, (3, 5)), V),
    (lambda x: np.broadcast_to(x, (2, 3, 4)), C),
    (lambda x: np.broadcast_to(x, 4), 2.5),
    (lambda x: np.broadcast_to(x, (0, 5)), V),
)
add(np.broadcast_arrays, (lambda x, y: np.broadcast_arrays(x, y), C, M[0]))
add(np.atleast_1d, (np.atleast_1d, 1.5), (np.atleast_1d, V), (lambda x, y: np.atleast_1d(x, y), 1.5, M))
add(np.atleast_2d, (np.atleast_2d, 1.5), (np.atleast_2d, V), (np.atleast_2d, M))
add(np.flip, (np.flip, M), (lambda x: np.flip(x, 0), M), (lambda x: np.flip(x, (0, -1)), T), (lambda x: x[::-1], V))
add(np.flipud, (np.flipud, M))
add(np.fliplr, (np.fliplr, M))
add(
    np.roll,
    (lambda x: np.roll(x, 2), V),
    (lambda x: np.roll(x, -7), M),
    (lambda x: np.roll(x, 1, axis=-1), M),
    (lambda x: np.roll(x, (1, -1), axis=(0, 1)), M),
    (lambda x: np.roll(x, 2, axis=(0, 1)), M),
    (lambda x: np.roll(x, 2), E0),
)
add(
    np.tile,
    (lambda x: np.tile(x, 3), V),
    (lambda x: np.tile(x, (2, 1)), V),
    (lambda x: np.tile(x, (2, 1, 3)), M),
    (lambda x: np.tile(x, 2), T),
    (lambda x: np.tile(x, (2, 0)), M),
)
add(
    np.repeat,
    (lambda x: np.repeat(x, 2), V),
    (lambda x: np.repeat(x, 3, axis=1), M),
    (lambda x: np.repeat(x, [1, 0, 2], axis=0), M),
    (lambda x: np.repeat(x, 2), M),
    (lambda x: x.repeat(2, axis=-1), M),
)
add(
    np.concatenate,
    (lambda x, y: np.concatenate([x, y]), V, W),
    (lambda x, y: np.concatenate((x, y, x), axis=1), M, C),
    (lambda x, y: np.concatenate([x, y], axis=-1), M, C),
    (lambda x, y: np.concatenate([x, y], axis=None), M, C),
    (lambda x: np.concatenate([x, np.zeros(2), [1.0]]), V),
    (lambda x: np.concatenate([x, np.zeros(0)]), V),
    (lambda x: np.concatenate([x]), V),
    (lambda x: np.concatenate([x, np.arange(3)]), V),
)
add(
    np.stack,
    (lambda x, y: np.stack([x, y]), V, W),
    (lambda x, y: np.stack([x, y], axis=-1), V, W),
    (lambda x, y: np.stack((x, y, 2.0)), 1.5, 2.5),
    (lambda x: np.stack([x, x], axis=1), M),
)
add(np.vstack, (lambda x, y: np.vstack([x, y]), V, W), (lambda x: np.vstack([x, x]), M))
add(
    np.hstack,
    (lambda x, y: np.hstack([x, y]), V, W),
    (lambda x, y: np.hstack([x, y]), M, C),
    (lambda x, y: np.hstack([x, y]), 1.5, 2.5),
)
add(np.column_stack, (lambda x, y: np.column_stack([x, y]), V, W), (lambda x, y: np.column_stack([x, y]), C, M))
add(np.append, (lambda x, y: np.append(x, y), V, 2.5), (lambda x, y: np.append(x, y, axis=1), M, C))
add(
    np.split,
    (lambda x: np.split(x, 2, axis=1), M),
    (lambda x: np.split(x, [1, 3]), V),
    (lambda x: np.split(x, [1], axis=-1), T),
)
add(np.array_split, (lambda x: np.array_split(x, 3), V), (lambda x: np.array_split(x, 3, axis=1), M))
add(
    np.pad,
    (lambda x: np.pad(x, 2), V),
    (lambda x: np.pad(x, (1, 2)), V),
    (lambda x: np.pad(x, ((1, 0), (2, 3))), M),
    (lambda x: np.pad(x, ((1,), (2,))), M),
    (lambda x: np.pad(x, (1, 2)), M),
    (lambda x: np.pad(x, 1, constant_values=3.5), M),
)
add(
    np.diff,
    (np.diff, V),
    (lambda x: np.diff(x, axis=0), M),
    (lambda x: np.diff(x, n=2), V),
    (lambda x: np.diff(x, n=0), V),
    (lambda x: np.diff(x, n=2, axis=-2), T),
)

# selection
add(
    np.where,
    (lambda x, y: np.where(x > 1.0, x, y), V, W),
    (lambda x, y: np.where(MASK[:, None], x, y), M, C),
    (lambda x: np.where(x > 0.0, x, 0.0), M),
    (lambda x: np.where(x > 0.0, 1.0, x), 0.7),
    (lambda x: np.where(x > 0.0, np.sqrt(np.abs(x)), x), M),
    (lambda x: np.where(np.arange(4) > 1, x, 3), M),
    (lambda x: np.where(x > 1.0, 1, 0), V),
    (lambda x: np.where([True, False, True, False, True], x, [1.0, 2.0, 3.0, 4.0, 5.0]), V),
)
add(
    np.select,
    (lambda x: np.select([x < 1.0, x < 1.5], [x, x * x]), V),
    (lambda x: np.select([x < 1.0, x < 1.5], [x, 2.0], default=-1.0), V),
)
add(
    np.clip,
    (lambda x: np.clip(x, -1.0, 1.0), M),
    (lambda x: np.clip(x, None, 0.5), M),
    (lambda x: np.clip(x, -0.5, None), M),
    (lambda x, low: np.clip(x, low, 3.0), M, C),
    (lambda x: x.clip(-1.0, 1.0), M),
    (lambda x: np.clip(x, min=0.7, max=1.2), V),
)
add(
    np.take,
    (lambda x: np.take(x, I5), V),
    (lambda x: np.take(x, I5), M),
    (lambda x: np.take(x, [[0, 1], [2, 2]], axis=1), M),
    (lambda x: np.take(x, 1, axis=-1), M),
    (lambda x: np.take(x, np.array([1, 1, 0]), axis=1), T),
    (lambda x: np.take(x, np.array([], int)), V),
    (lambda x: x.take([0, -1], axis=0), M),
    (lambda x: x[2], V),
    (lambda x: x[-1, 1:3], M),
    (lambda x: x[..., 1], T),
    (lambda x: x[1, ..., ::2], T),
    (lambda x: x[::-2], V),
    (lambda x: x[3:1:-1, None], V),
    (lambda x: x[5:2], V),
    (lambda x: x[None, ..., None], M),
    (lambda x: x[I5], V),
    (lambda x: x[I5 % 3], M),
    (lambda x: x[[0, 2], [1, -1]], M),
    (lambda x: x[np.array([[0], [2]]), np.array([1, 3, 3])], M),
    (lambda x: x[:, [1, 1, 2]], M),
    (lambda x: x[MASK], M),
    (lambda x: x[MASK, 1], M),
    (lambda x: x[M > 0.0], M),
    (lambda x: x[:, MASK], T),
    (lambda x: x[0, :, [1, 2]], T),
    (lambda x: x[[0, 1], :, [1, 2]], T),
    (lambda x: x[:, [0, 2], 1:3], T),
    (lambda x: x[..., [0, 2]], T),
    (lambda x: x[1, [0, 2]], T),
    (lambda x: x[[True, False, True], None], M),
    (lambda x: x[np.int64(1)], V),
    (lambda x: x[()], V),
    (lambda x: x[np.zeros((0, 2), int)], V),
)
add(
    np.take_along_axis,
    (lambda x: np.take_along_axis(x, np.array([[2], [0], [1]]), axis=1), M),
    (lambda x: np.take_along_axis(x, np.array([[0, 1, 0, 2]]), axis=0), M),
    (lambda x: np.take_along_axis(x, np.argsort(M, axis=-1), axis=-1), M),
    (lambda x: np.take_along_axis(x, np.array([[[1, 0]]]), axis=2), T),
    (lambda x: np.take_along_axis(x, np.array([1, 0, 1]), axis=None), M),
    (lambda x: np.take_along_axis(x, np.array([1, 0, 1]), axis=0), V),
)
add(
    np.diagonal,
    (np.diagonal, M),
    (lambda x: np.diagonal(x, offset=1), M),
    (lambda x: np.diagonal(x, -1), S),
    (lambda x: np.diagonal(x, 0, 1, 2), T),
    (lambda x: np.diagonal(x, 1, -1, 0), T),
    (lambda x: np.diagonal(x, 7), S),
)
add(np.trace, (np.trace, M), (lambda x: np.trace(x, offset=-1), S), (lambda x: np.trace(x, axis1=1, axis2=2), T))
add(np.diag, (np.diag, V), (lambda x: np.diag(x, 2), V), (lambda x: np.diag(x, -1), V), (np.diag, M))
add(np.diagflat, (np.diagflat, V), (lambda x: np.diagflat(x, 1), S))
for _f in (np.tril, np.triu):
    add(_f, (_f, M), (lambda x, f=_f: f(x, 1), S), (lambda x, f=_f: f(x, -1), T))
add(
    np.searchsorted,
    (lambda x: np.searchsorted(x, np.array([0.1, 0.5, 2.0])), np.sort(V)),
    (lambda v: np.searchsorted(np.array([0.0, 1.0, 1.5]), v, side="right"), V),
)

# products
add(
    np.matmul,
    (lambda x, y: x @ y, M, N),
    (lambda x, y: x @ y, T, U),
    (lambda x, y: x @ y, T, N),
    (lambda x, y: x @ y, M, U),
    (lambda x, y: x @ y, M, M[0]),
    (lambda x, y: x @ y, C[:, 0], M),
    (lambda x, y: x @ y, V, W),
    (lambda x, y: np.matmul(x, y), T, M[0]),
    (lambda x, y: np.matmul(x, y), C[:, 0], T),
    (lambda x: np.ones((2, 3)) @ x, M),
    (lambda x: x.T @ x, M),
    (lambda x: E2 @ x, np.zeros((0, 2))),
    (lambda x: x @ np.ones((0, 2)), E2),
)
add(
    np.dot,
    (np.dot, V, W),
    (np.dot, M, N),
    (np.dot, 1.5, V),
    (np.dot, M, M[1]),
    (np.dot, M, U),
    (np.dot, T, N),
    (lambda x: x.dot(x), V),
)
add(np.vdot, (np.vdot, V, W), (np.vdot, M, M + 1.0))
add(np.inner, (np.inner, V, W), (np.inner, M, N.T), (np.inner, 2.5, V), (np.inner, M, M[0]))
add(np.outer, (np.outer, V, W), (np.outer, M, V), (np.outer, 1.5, V))
add(
    np.tensordot,
    (lambda x, y: np.tensordot(x, y, axes=1), M, N),
    (lambda x, y: np.tensordot(x, y, axes=2), M, M),
    (lambda x, y: np.tensordot(x, y, axes=0), V, W),
    (lambda x, y: np.tensordot(x, y, axes=([1, 2], [2, 1])), T, U),
    (lambda x, y: np.tensordot(x, y, axes=(-1, 0)), T, N),
    (lambda x, y: np.tensordot(x, y, axes=([-1], [-2])), T, U),
)
add(
    np.einsum,
    (lambda x, y: np.einsum("ij,jk->ik", x, y), M, N),
    (lambda x, y: np.einsum("ij,jk", x, y), M, N),
    (lambda x: np.einsum("ii->i", x), S),
    (lambda x: np.einsum("ii", x), S),
    (lambda x: np.einsum("iij->j", x), _rng.standard_normal((3, 3, 2))),
    (lambda x: np.einsum("iii->i", x), _rng.standard_normal((2, 2, 2))),
    (lambda x: np.einsum("ij->ji", x), M),
    (lambda x: np.einsum("ij->", x), M),
    (lambda x: np.einsum("ij->j", x), M),
    (lambda x: np.einsum("...i->...", x), T),
    (lambda x, y: np.einsum("...ij,...jk->...ik", x, y), T, U),
    (lambda x, y: np.einsum("...ij,...jk->...ik", x, y), M, U),
    (lambda x, y: np.einsum("...ij,jk->...ik", x, y), T, N),
    (lambda x, y: np.einsum("...i,...i", x, y), T, T + 1.0),
    (lambda x, y: np.einsum("i...,i...->...", x, y), M, M + 1.0),
    (lambda x, y: np.einsum("i,j->ij", x, y), V, W),
    (lambda x, y, z: np.einsum("i,ij,j->", x, y, z), C[:, 0], M, M[0]),
    (lambda x, y: np.einsum("ij,ij->i", x, y), M, M + 1.0),
    (lambda x: np.einsum("i,i", x, x), V),
    (lambda x: np.einsum("ij , kj -> ik", x, x, optimize=True), M),
    (lambda x, y: np.einsum("i,", x, y), V, 2.0),
    (lambda x, y: np.einsum("...,...->...", x, y), C, M[:1]),
)
add(
    np.linalg.norm,
    (np.linalg.norm, V),
    (np.linalg.norm, M),
    (lambda x: np.linalg.norm(x, axis=1), M),
    (lambda x: np.linalg.norm(x, axis=-1, keepdims=True), T),
    (lambda x: np.linalg.norm(x, 1), W),
    (lambda x: np.linalg.norm(x, 3), W),
    (lambda x: np.linalg.norm(x, np.inf), W),
    (lambda x: np.linalg.norm(x, -np.inf), W),
    (lambda x: np.linalg.norm(x, 1, axis=0), M),
    (lambda x: np.linalg.norm(x, np.inf, axis=1, keepdims=True), M),
    (lambda x: np.linalg.norm(x, 2.5, axis=-1), T),
    (lambda x: np.linalg.norm(x, "fro"), M),
    (lambda x: np.linalg.norm(x, "fro", axis=(0, 2)), T),
    (lambda x: np.linalg.norm(x, axis=(1, 2)), T),
    (lambda x: np.linalg.norm(x, keepdims=True), M),
    (lambda x: np.linalg.norm(x, 1), M),
    (lambda x: np.linalg.norm(x, np.inf), M),
    (lambda x: np.linalg.norm(x, 1, axis=(0, 2)), T),
    (lambda x: np.linalg.norm(x, -np.inf, axis=(-1, 0), keepdims=True), T),
    (lambda x: np.linalg.norm(x, -1), M),
    (lambda x: np.linalg.norm(x, 0), W),
)

# makers and conversions
add(
    np.astype,
    (lambda x: x.astype(np.int64), V),
    (lambda x: x.astype(bool), V),
    (lambda x: x.astype(float) * 2.0, V),
)
add("astype", (lambda x: x.astype(np.float32), M), narrow=True)
add(
    np.astype,
    (lambda x: np.astype(x, np.float32), V),
    (lambda x: x.astype("float32").astype(float), V),
    narrow=True,
)
add(np.zeros_like, (lambda x: np.zeros_like(x) + x, M), (lambda x: np.zeros_like(x, dtype=int), M))
add(np.ones_like, (lambda x: np.ones_like(x) * x, M))
add(np.full_like, (lambda x: np.full_like(x, 2.5) * x, M), (lambda x: np.full_like(x, 3), V))
add(np.copy, (np.copy, M), (lambda x: x.copy(), M))
for _f in (np.round, np.around):
    add(
        _f,
        (_f, np.array([0.4, 1.6, 2.45, -0.55, -1.3])),
        (lambda x, f=_f: f(x, 2), M),
        (lambda x, f=_f: f(x, -1), 10.0 * M),
    )
add(np.shape, (lambda x: x * np.shape(x)[0], M))
add(np.ndim, (lambda x: x * np.ndim(x), M))
add(np.size, (lambda x: x * np.size(x), M), (lambda x: x * np.size(x, 1), M))
add(np.real, (np.real, V))
add(np.imag, (lambda x: x + np.imag(x), V))
add(
    np.isclose,
    (lambda x: np.isclose(x, V * (1.0 + 1e-7)), V),
    (
        lambda x: np.isclose(x, np.array([1.0, np.inf, np.nan, -np.inf, 2.0])),
        np.array([1.0, np.inf, np.nan, np.inf, np.inf]),
    ),
    (lambda x: np.isclose(x, np.array([np.nan, 1.0]), equal_nan=True), np.array([np.nan, 2.0])),
)
add(
    np.allclose,
    (lambda x: np.allclose(x, V), V),
    (lambda x: np.allclose(x, np.array([np.inf, 1.0])), np.array([np.inf, 1.0])),
)
add(
    np.array_equal,
    (lambda x: np.array_equal(x, V), V),
    (lambda x: np.array_equal(x, V[:2]), V),
    (lambda x: np.array_equal(x, x, equal_nan=True), np.array([np.nan, 1.0])),
)
add(
    np.nan_to_num,
    (np.nan_to_num, np.array([1.0, np.nan, np.inf, -np.inf])),
    (lambda x: np.nan_to_num(x, nan=-1.0, posinf=5.0, neginf=-5.0), np.array([1.0, np.nan, np.inf, -np.inf])),
)
add(np.sinc, (np.sinc, np.array([0.0, 0.01, 0.3, 1.0, -2.5, 1e-9])))
add(np.array_repr, (lambda x: x * (len(np.array_repr(x)) > 0), V))
add(np.array_str, (lambda x: x * (len(np.array_str(x)) > 0), V))
add(np.iscomplexobj, (lambda x: x * (1.0 + np.iscomplexobj(x)), V))
add(np.isrealobj, (lambda x: x * (1.0 + np.isrealobj(x)), V))
add(np.result_type, (lambda x: x.astype(np.result_type(x, np.float32)), V))
add(
    np.meshgrid,
    (lambda x, y: np.meshgrid(x, y), V, W[:3]),
    (lambda x, y: np.meshgrid(x, y, indexing="ij"), V, W[:3]),
    (lambda x: np.meshgrid(x), V),
)

REFUSED = {np.empty_like}  # registered to refuse with its own words, tested in test_refused
IDS = [f"{getattr(c.of, '__name__', c.of)}-{k}" for k, c in enumerate(CASES)]
each = pytest.mark.parametrize("case", CASES, ids=IDS)


def plain(case: Case) -> Any:
    """NumPy's own answer. Fresh arguments: `np.copy` and views may alias them."""
    with np.errstate(all="ignore"):
        return case.f(*(x if isinstance(x, float) else x.copy() for x in (as_numpy(a) for a in case.args)))


def as_numpy(x: Any) -> Any:
    return np.float64(x) if isinstance(x, float) else x


def weights(outputs: list[Any]) -> list[Any]:
    """A cotangent for each output that has one."""
    rng = np.random.default_rng(3)
    return [rng.uniform(0.5, 1.5, np.shape(o)) if is_float(o) else None for o in outputs]


def total(case: Case) -> Any:
    """The case as a scalar function, every element weighted differently; None if nothing in it is a float."""
    w = weights(flatten(plain(case))[0])
    if all(b is None for b in w):
        return None

    def f(*args: Any) -> Any:
        outputs = flatten(case.f(*args))[0]
        terms = [np.sum(np.where(np.isfinite(o), o, 0.0) * b) for o, b in zip(outputs, w, strict=True) if b is not None]
        return sum(terms[1:], terms[0]) * 1.0

    return f


def assert_values(got: Any, expected: Any, rtol: float) -> None:
    got_leaves, expected_leaves = flatten(got)[0], flatten(expected)[0]
    assert len(got_leaves) == len(expected_leaves)
    for g, e in zip(got_leaves, expected_leaves, strict=True):
        assert np.shape(g) == np.shape(e)
        assert np.asarray(g).dtype == np.asarray(e).dtype
        scale = np.max(np.abs(e), initial=0.0, where=np.isfinite(e)) if np.asarray(e).dtype.kind == "f" else 0.0
        np.testing.assert_allclose(g, e, rtol=rtol, atol=rtol * scale)


def test_every_registered_function_has_a_case() -> None:
    covered = {functions[c.of] for c in CASES}  # by rule: np.linalg has second names of some functions
    # linear algebra, in test_linalg.py
    elsewhere = ("probdiff.ops.matrix", "probdiff.ops.factor", "probdiff.ops.functions.linear_algebra")
    missing = [
        f for f, r in functions.items() if r not in covered and f not in REFUSED and r.__module__ not in elsewhere
    ]
    assert missing == []


@each
def test_value_under_a_gradient(case: Case) -> None:
    expected = plain(case)
    with np.errstate(all="ignore"):
        value, _ = pullback(case.f, *case.args)
    assert_values(value, expected, 1e-13)


@each
def test_value_in_machine_code(case: Case) -> None:
    # sums are reassociated for vector registers: an error of some units in the last place of the largest term
    assert_values(probdiff.compile(case.f)(*case.args), plain(case), 1e-13)


@each
def test_derivatives(case: Case) -> None:
    f = total(case)
    if f is None:  # integers and booleans have none
        return
    with np.errstate(all="ignore"):
        grads = gradient(f, *case.args)
        args = [np.asarray(a) for a in case.args]
        rng = np.random.default_rng(5)
        directions = [rng.uniform(-1.0, 1.0, a.shape) for a in args]
        tangent = pushforward(f, *case.args)(*(d[()] if not d.shape else d for d in directions))
        compiled = probdiff.compile(lambda *xs: gradient(f, *xs))(*case.args)

        def along(t: float) -> Any:
            return f(*(as_numpy((a + t * d)[()]) for a, d in zip(args, directions, strict=True)))

        h = 1e-4  # small, so that no order of elements and no branch changes; extrapolation leaves rounding, 1e-16 / h
        d = [(along(h / k) - along(-h / k)) / (2.0 * h / k) for k in (1.0, 2.0)]
    numeric = (4.0 * d[1] - d[0]) / 3.0
    for g, c, a in zip(grads, compiled, case.args, strict=True):
        assert np.shape(g) == np.shape(a) == np.shape(c)
        np.testing.assert_allclose(c, g, rtol=1e-12, atol=1e-13)
    reverse = sum(float(np.sum(np.asarray(g) * x)) for g, x in zip(grads, directions, strict=True))
    np.testing.assert_allclose(tangent, reverse, rtol=1e-6 if case.narrow else 1e-11, atol=1e-12)
    if not case.narrow and all(np.isfinite(a).all() for a in args):  # float32 has steps larger than h
        np.testing.assert_allclose(reverse, numeric, rtol=1e-6, atol=1e-8)


@each
def test_second_derivatives_agree(case: Case) -> None:
    """Forward over reverse equals reverse over reverse along a direction."""
    f = total(case)
    if f is None:
        return
    rng = np.random.default_rng(6)
    directions = [rng.uniform(-1.0, 1.0, np.shape(a))[()] for a in case.args]
    with np.errstate(all="ignore"):
        forward = pushforward(lambda *xs: gradient(f, *xs), *case.args)(*directions)

        def slope(*xs: Any) -> Any:
            pairs = zip(gradient(f, *xs), directions, strict=True)
            terms = [np.sum(g * d) for g, d in pairs]
            return sum(terms[1:], terms[0]) * 1.0

        reverse = gradient(slope, *case.args)
    for a, b in zip(forward, reverse, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_rounding_is_half_to_even(backend: str) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.0, -0.0, np.inf, np.nan])
    rounded = probdiff.compile(lambda x: (np.round(x), np.rint(x), np.around(x)), backend=backend)(x)
    for r in rounded:
        np.testing.assert_array_equal(r, np.round(x))
        np.testing.assert_array_equal(np.signbit(r)[:-1], np.signbit(np.round(x))[:-1])


def test_refused() -> None:
    with pytest.raises(probdiff.errors.UnsupportedError, match="np.empty_like makes an array to assign into"):
        gradient(lambda x: np.sum(np.empty_like(x)), V)


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(probdiff.errors.ShapeError, match=r"np.average got shapes \(3, 4\) and \(3,\); give the axis"):
        gradient(lambda x: np.average(x, weights=V[:3]), M)
    with pytest.raises(probdiff.errors.ShapeError, match=r"np.average got \(5,\) weights along axis 0 of \(3, 4\)"):
        gradient(lambda x: np.average(np.average(x, axis=0, weights=V)), M)
    with pytest.raises(probdiff.errors.ShapeError, match=r"np.take_along_axis got shapes \(3, 4\) and \(2,\)"):
        gradient(lambda x: np.sum(np.take_along_axis(x, np.array([0, 1]), 0)), M)
