"""NumPy's products in terms of matmul and einsum.

A function here is what NumPy's of its name does with lifted arrays, with the same arguments.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from probdiff.errors import ShapeError, UnsupportedError
from probdiff.ops.dispatch import apply, composed, functions, shape_of, user_line
from probdiff.ops.linalg import EINSUM, matmul
from probdiff.ops.protocol import refuse, rule
from probdiff.tree import Array

composed[np.matmul] = matmul
functions[np.matmul] = functions[np.linalg.matmul] = matmul


@rule(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Array:
    refuse("dot", out=out)
    x, y = len(shape_of(a)), len(shape_of(b))
    if x == 0 or y == 0:
        return a * b
    if y <= 2:
        return matmul(a, b)
    return np.tensordot(a, b, axes=([-1], [-2]))


@rule(np.vdot)
def vdot(a: Any, b: Any, /) -> Array:
    return np.sum(np.ravel(a) * np.ravel(b))


@rule(np.inner)
def inner(a: Any, b: Any, /) -> Array:
    return np.tensordot(a, b, axes=([-1], [-1])) if len(shape_of(a)) and len(shape_of(b)) else a * b


@rule(np.outer, np.linalg.outer)
def outer(a: Any, b: Any, out: Any = None) -> Array:
    return np.reshape(a, (-1, 1)) * np.reshape(b, (1, -1))


@rule(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    m, n = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, int | np.integer):
        left, right = list(range(m - axes, m)), list(range(axes))
    else:
        left, right = ([k] if isinstance(k, int) else list(k) for k in axes)
    left, right = [k % m for k in left], [k % n for k in right]
    letters = iter(string.ascii_letters)
    x = [next(letters) for _ in range(m)]
    y = [x[left[right.index(k)]] if k in right else next(letters) for k in range(n)]
    out = [c for k, c in enumerate(x) if k not in left] + [c for k, c in enumerate(y) if k not in right]
    return apply(EINSUM, a, b, subscripts=f"{''.join(x)},{''.join(y)}->{''.join(out)}")


@rule(np.einsum)
def einsum(subscripts: Any, *operands: Any, optimize: Any = None, **kwargs: Any) -> Array:
    refuse("einsum", **kwargs)
    if not isinstance(subscripts, str):
        raise UnsupportedError(f"{user_line()}: np.einsum takes its subscripts as a string here.")
    text = subscripts.replace(" ", "")
    terms = text.split("->")[0].split(",")
    if len(terms) != len(operands):
        raise ShapeError(f"{user_line()}: einsum {subscripts!r} names {len(terms)} operands, got {len(operands)}.")
    if "..." in text:
        spare = [c for c in string.ascii_letters if c not in text]
        counts = [
            len(shape_of(o)) - len(t.replace("...", "")) for o, t in zip(operands, terms, strict=True) if "..." in t
        ]
        fill_in = "".join(spare[: max(counts, default=0)])
        terms = [
            t.replace("...", fill_in[len(fill_in) - (len(shape_of(o)) - len(t.replace("...", ""))) :])
            if len(shape_of(o)) > len(t.replace("...", ""))
            else t.replace("...", "")
            for o, t in zip(operands, terms, strict=True)
        ]
        out = text.split("->")[1].replace("...", fill_in) if "->" in text else None
        if out is None:
            joined = "".join(terms)
            out = fill_in + "".join(sorted(c for c in set(joined) - set(fill_in) if joined.count(c) == 1))
    elif "->" in text:
        out = text.split("->")[1]
    else:
        joined = "".join(terms)
        out = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    plain = []
    for k, (o, t) in enumerate(zip(operands, terms, strict=True)):
        if len(shape_of(o)) != len(t):
            raise ShapeError(f"{user_line()}: einsum {subscripts!r} got an operand of shape {shape_of(o)} for {t!r}.")
        while len(set(t)) < len(t):  # a repeated index is a diagonal
            c = next(c for c in t if t.count(c) > 1)
            i = t.index(c)
            j = t.index(c, i + 1)
            o = np.diagonal(o, 0, i, j)
            t = t.replace(c, "") + c if t.count(c) == 2 else t[:i] + t[i + 1 : j] + t[j + 1 :] + c
        plain.append(o)
        terms[k] = t
    sizes = {c: n for o, t in zip(plain, terms, strict=True) for c, n in zip(t, shape_of(o), strict=True) if n != 1}
    for k, (o, t) in enumerate(zip(plain, terms, strict=True)):  # an axis of one element broadcasts: leave it out
        single = [c for c, n in zip(t, shape_of(o), strict=True) if n == 1 and c in sizes]
        if single:
            plain[k] = np.squeeze(o, tuple(t.index(c) for c in single))
            terms[k] = "".join(c for c in t if c not in single)
    return apply(EINSUM, *plain, subscripts=",".join(terms) + "->" + out)
