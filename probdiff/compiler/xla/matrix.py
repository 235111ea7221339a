"""Linear algebra in JAX. A matrix without the wanted factor or inverse gives NaN, as in machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.xla.library import cast, jnp, jsp, lax
from probdiff.graph.program import Node

_full = "highest"  # precision of products: a GPU would round float32 to fewer bits


def transposed(x: Any) -> Any:
    """x with its last two axes exchanged."""
    return jnp.swapaxes(x, -1, -2)


def product(*factors: Any) -> Any:
    """The product of matrices, from the left."""
    z = factors[0]
    for x in factors[1:]:
        z = jnp.matmul(z, x, precision=_full)
    return z


def or_nan(z: Any, good: Any) -> Any:
    """z, and NaN in the matrices that are not good."""
    return jnp.where(good[..., None, None], z, np.nan)


def triangular(a: Any, b: Any, lower: bool, transpose: bool) -> Any:
    """z with a z = b, or a' z = b."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = jnp.broadcast_to(a, lead + a.shape[-2:])
    b = jnp.broadcast_to(b, lead + b.shape[-2:])
    if not b.size:
        return b
    z = lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=transpose)
    return or_nan(z, jnp.all(jnp.diagonal(a, 0, -2, -1) != 0.0, axis=-1))


def cholesky(a: Any) -> Any:
    """The lower triangular factor, from the lower triangle of a."""
    return lax.linalg.cholesky(a, symmetrize_input=False)


def logdet(a: Any) -> Any:
    """log det of a positive definite matrix."""
    return 2.0 * jnp.sum(jnp.log(jnp.diagonal(cholesky(a), 0, -2, -1)), axis=-1)


def positive_inv(a: Any) -> Any:
    """The inverse of a positive definite matrix."""
    eye = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    half = triangular(cholesky(a), eye, True, False)
    return product(transposed(half), half)


def solve(a: Any, b: Any) -> Any:
    """z with a z = b."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = jnp.broadcast_to(a, lead + a.shape[-2:]), jnp.broadcast_to(b, lead + b.shape[-2:])
    return or_nan(jnp.linalg.solve(a, b), jnp.linalg.det(a) != 0.0)


def inv(a: Any, strict: bool = True) -> Any:
    """The inverse."""
    return or_nan(jnp.linalg.inv(a), jnp.linalg.det(a) != 0.0)


def det(a: Any) -> Any:
    """The determinant."""
    return jnp.linalg.det(a)


def _oriented(a: Any) -> tuple[Any, Any, Any, Any]:
    u, s, vh = jnp.linalg.svd(a)
    return u, s, vh, (jnp.linalg.det(u) * jnp.linalg.det(vh))[..., None, None]


def cofactors(a: Any) -> Any:
    """det(a) a⁻ᵀ = det(U V') U cof(S) V' for a = U S V'."""
    u, s, vh, sign = _oriented(a)
    others = jnp.prod(jnp.where(np.eye(s.shape[-1], dtype=bool), 1.0, s[..., None, :]), axis=-1)
    return sign * product(u * others[..., None, :], vh)


def cofactors_dot(a: Any, h: Any) -> Any:
    """The derivative of the cofactors in the direction h; see `ops.factor.CofactorsDot`."""
    u, s, vh, sign = _oriented(a)
    k = product(transposed(u), h, transposed(vh))
    ones = np.eye(s.shape[-1], dtype=bool)
    skip = ones[:, None, :] | ones[None, :, :]
    pairs = jnp.prod(jnp.where(skip, 1.0, s[..., None, None, :]), axis=-1)
    pairs = jnp.where(ones, 0.0, pairs)
    diagonal = product(pairs, jnp.diagonal(k, 0, -2, -1)[..., None])
    return sign * product(u, jnp.where(ones, diagonal, -pairs * transposed(k)), vh)


def logabsdet(a: Any) -> Any:
    """log |det a|"""
    return jnp.linalg.slogdet(a)[1]


def signdet(a: Any) -> Any:
    """The sign of the determinant."""
    return jnp.linalg.slogdet(a)[0]


def eigh(a: Any) -> Any:
    """[V | w] of a symmetric matrix, from its lower triangle."""
    w, v = jnp.linalg.eigh(a, UPLO="L", symmetrize_input=False)
    return jnp.concatenate([v, w[..., None]], axis=-1)


def svd(a: Any) -> Any:
    """u, s, vh ravelled one after the other."""
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    lead = s.shape[:-1]
    flat = [jnp.reshape(x, (*lead, x.shape[-2] * x.shape[-1])) for x in (u, vh)]
    return jnp.concatenate([flat[0], s, flat[1]], axis=-1)


def qr(a: Any) -> Any:
    """q above r."""
    return jnp.concatenate(jnp.linalg.qr(a), axis=-2)


def pinv(a: Any, rtol: float | None = None) -> Any:
    """The Moore-Penrose inverse, without the singular values below rtol times the largest."""
    rtol = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps) if rtol is None else rtol
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    kept = s > rtol * jnp.max(s, axis=-1, keepdims=True, initial=0.0)
    inverse = jnp.where(kept, 1.0 / jnp.where(kept, s, 1.0), 0.0)
    return product(transposed(vh) * inverse[..., None, :], transposed(u))


def expm(a: Any) -> Any:
    """The matrix exponential."""
    return jsp.linalg.expm(a, max_squarings=64) if a.size else a


_MATRICES: dict[str, Callable[..., Any]] = {
    "solve_triangular": triangular,
    "cholesky": cholesky,
    "logdet": logdet,
    "positive_inv": positive_inv,
    "solve": solve,
    "inv": inv,
    "det": det,
    "cofactors": cofactors,
    "cofactors_dot": cofactors_dot,
    "logabsdet": logabsdet,
    "signdet": signdet,
    "eigh": eigh,
    "svd": svd,
    "qr": qr,
    "pinv": pinv,
    "expm": expm,
}


def _matrix(node: Node, args: list[Any], linear: bool) -> Any:
    z = _MATRICES[node.op.name](*(cast(a, node.dtype) for a in args), **node.params)
    return cast(z, node.dtype)


def matmul(node: Node, args: list[Any], linear: bool) -> Any:
    """The product of matrices or batches of them."""
    return cast(product(*(cast(a, node.dtype) for a in args)), node.dtype)


def einsum(node: Node, args: list[Any], linear: bool) -> Any:
    """Sums of products over named indices."""
    return jnp.einsum(node.params["subscripts"], *(cast(a, node.dtype) for a in args), precision=_full)


MATRICES = {**dict.fromkeys(_MATRICES, _matrix), "matmul": matmul, "einsum": einsum}
