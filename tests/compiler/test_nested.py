"""Loops whose bodies compute with arrays: machine code against the interpreter, and which form each loop takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from probdiff import compile, cond, fori_loop, gradient, hvp, pushforward, scan, value_and_grad, while_loop
from probdiff.linalg import solve_triangular
from probdiff.special import logsumexp
from probdiff.tree import flatten

RNG = np.random.default_rng(47)
N = 40
A = RNG.normal(size=(N, N)) * 0.1
SPD = A @ A.T + np.eye(N)
ROWS = RNG.normal(size=(30, N))
H = RNG.normal(size=N)
PICK = RNG.integers(-N, N, size=(5, N))
WIDE = RNG.normal(size=400_000) * 1e-3


def steps(f: Any) -> list[str]:
    """The kinds of the steps of the program that ran last."""
    return [type(step).__name__ for step in f._last.run.layout.plan.steps]


def agree(f: Callable[..., Any], args: Any, rtol: float = 1e-11) -> list[str]:
    """Native code and interpreter agree, at the second call as well; the kinds of the steps."""
    native, numpy = compile(f), compile(f, backend="numpy")
    wanted, spec = flatten(numpy(*args))
    for _ in range(2):
        found, found_spec = flatten(native(*args))
        assert found_spec == spec
        for x, y in zip(found, wanted, strict=True):
            assert np.shape(x) == np.shape(y) and np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
    return steps(native)


def rnn(a: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(a @ h + x)
        return h, np.sum(h)

    h, ys = scan(step, np.zeros(N), xs)
    return np.sum(h) + np.sum(ys**2)


def power_iteration(a: Any) -> Any:
    def body(s: Any) -> Any:
        w = a @ s[0]
        return w / np.sqrt(np.sum(w * w)), s[1] + 1

    v, _ = while_loop(lambda s: s[1] < 50, body, (np.ones(N), 0))
    return v @ a @ v


def kalman(q: Any, ys: Any) -> Any:
    f, noise = np.array([[1.0, 1.0], [0.0, 1.0]]) * q[0], np.exp(q[2])

    def step(s: Any, y: Any) -> Any:
        m, p = f @ s[0], f @ s[1] @ f.T + np.eye(2) * np.exp(q[1])
        e, v = y - m[0], p[0, 0] + noise
        gain = p[:, 0] / v
        return (m + gain * e, p - np.outer(gain, p[0])), -0.5 * (np.log(v) + e * e / v)

    return np.sum(scan(step, (np.zeros(2), np.eye(2)), ys)[1])


def forward(p: Any, e: Any) -> Any:
    """The forward algorithm of a hidden Markov model."""
    step = lambda a, x: (logsumexp(a[:, None] + np.log(p), axis=0) + x, None)  # noqa: E731
    return logsumexp(scan(step, e[0], e[1:])[0])


def hidden(k: int) -> tuple[np.ndarray, np.ndarray]:
    p = RNG.random((k, k))
    return p / p.sum(1, keepdims=True), RNG.normal(size=(60, k))


def reductions(xs: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        c = c - np.max(c) + np.mean(c[:, None] * r, axis=0)[0]
        return c, (np.max(r), np.min(c), np.any(c > 0), np.all(c < 9), np.sum(c > 0), np.prod(r[:3]))

    return scan(step, H, xs)


def tanh_steps(xs: Any) -> Any:
    return scan(lambda c, r: (np.tanh(A @ c + r), c), H, xs)


def pair(xs: Any) -> Any:
    return scan(lambda c, r: ((np.tanh(A @ c[0] + r), c[1] @ A), (c[0], np.outer(r, r))), (H, H), xs)


# program, arguments, the step that must be among those of its plan
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "recurrent network": (rnn, (A, ROWS), "Nested"),
    "recurrent network, gradient": (value_and_grad(rnn, (0, 1)), (A, ROWS), "Nested"),
    "power iteration": (power_iteration, (SPD,), "Nested"),
    "power iteration, forward": (lambda t: pushforward(lambda t: power_iteration(SPD * t), t)(1.0), (1.5,), "Nested"),
    "Kalman filter": (value_and_grad(kalman), (np.array([0.9, -1.0, 0.0]), RNG.normal(size=200)), "Sequence"),
    "4 hidden states": (value_and_grad(forward, (0, 1)), hidden(4), "Sequence"),
    "50 hidden states": (value_and_grad(forward, (0, 1)), hidden(50), "Nested"),
    "50 hidden states, curvature": (lambda p, e: hvp(lambda p: forward(p, e))(p, p), hidden(50), "Nested"),
    "cholesky": (
        lambda a: scan(lambda c, _: (np.linalg.cholesky(c @ c.T + np.eye(N)), np.sum(c)), a, length=3),
        (A,),
        "Nested",
    ),
    "triangular systems": (
        lambda m, x: scan(lambda c, _: (solve_triangular(m, c), c[0]), x, length=3),
        (np.linalg.cholesky(SPD), H),
        "Nested",
    ),
    "gathers": (lambda x, i: scan(lambda c, r: (c[r] * 0.9, c[r[0]]), x, i), (H, PICK), "Nested"),
    "scatters": (
        lambda x, i: gradient(lambda x: np.sum(scan(lambda c, r: (c[r] * 0.9 + c, None), x, i)[0] ** 2), x),
        (H, PICK),
        "Nested",
    ),
    "reductions": (reductions, (ROWS,), "Nested"),
    "gradient of matrix products": (
        lambda a: gradient(lambda a: np.sum(fori_loop(0, 4, lambda i, c: np.tanh(A @ c), a)), a),
        (A,),
        "Nested",
    ),
    "loop in a loop": (
        lambda x: scan(lambda c, r: (scan(lambda d, s: (np.tanh(A @ d + s), None), c, x)[0], np.sum(c)), H, x),
        (ROWS,),
        "Nested",
    ),
    "while in a loop": (
        lambda x: scan(lambda c, r: (while_loop(lambda d: d @ A @ d > 1.0, lambda d: d * 0.5, c @ A + r), c), H, x),
        (ROWS,),
        "Nested",
    ),
    "branch in a loop": (
        lambda x: scan(lambda c, r: (cond(r[0] > 0, lambda c: A @ c, lambda c: np.sin(c) + r, c), None), H, x),
        (ROWS,),
        "Nested",
    ),
    "rows that do not lie side by side": (lambda x: tanh_steps(x.T), (np.ascontiguousarray(ROWS.T),), "Nested"),
    "rows from the end": (lambda x: tanh_steps(x[::-2, ::-1]), (ROWS,), "Nested"),
    "rows in Fortran's order": (tanh_steps, (np.asfortranarray(ROWS),), "Nested"),
    "turned carry": (lambda x: fori_loop(0, 3, lambda i, c: np.sin(c) @ A, x.T), (A,), "Nested"),
    "spread carry": (lambda x: fori_loop(0, 3, lambda i, c: np.sin(c) @ A, np.broadcast_to(x, (N, N))), (H,), "Nested"),
    "turned constant": (lambda a: fori_loop(0, 3, lambda i, c: np.sin(a.T[::-1] @ c), H), (A,), "Nested"),
    "carries that change places": (
        lambda x: fori_loop(0, 7, lambda i, c: (c[1], c[0], A @ c[2]), (1.0, 2.0, x)),
        (H,),
        "Nested",
    ),
    "carries of integers": (
        lambda x: while_loop(lambda c: np.sum(c[0]) < 10**6, lambda c: (c[0] + c[1], c[1] * 2), (x, np.ones(300, int))),
        (np.arange(300),),
        "Nested",
    ),
    "carries of booleans": (
        lambda x: while_loop(lambda c: np.any(c[1]), lambda c: (c[0] * 0.5, c[0] > 0.1), (x, x < 100.0)),
        (np.abs(WIDE[:300]) * 1e4,),
        "Nested",
    ),
    "one carry used": (lambda x: pair(x)[0][0], (ROWS,), "Nested"),
    "one result used": (lambda x: pair(x)[1][1], (ROWS,), "Nested"),
    "no steps": (tanh_steps, (ROWS[:0],), "Nested"),
    "one step": (tanh_steps, (ROWS[:1],), "Nested"),
    "loop of blocks": (
        lambda x: fori_loop(0, 2, lambda i, c: np.exp(-c * c) + x * np.sum(c), x),
        (WIDE,),
        "Nested",
    ),
    "branch": (
        lambda x: cond(x[0, 0] > 0, lambda x: np.linalg.cholesky(x @ x.T + np.eye(N)), lambda x: x, x),
        (A,),
        "Nested",
    ),
    "other branch": (
        lambda x: cond(x[0, 0] > 0, lambda x: np.linalg.cholesky(x @ x.T + np.eye(N)), lambda x: x, x),
        (-A,),
        "Nested",
    ),
    "branches of views": (
        lambda x: cond(x[0, 0] > 0, lambda x: (x.T, x[3]), lambda x: (x, x[:, 1]), x),
        (A,),
        "Nested",
    ),
    "body of scalars": (lambda x: scan(lambda c, r: (np.sin(c) + r, c), 0.5, x), (H,), "Sequence"),
    "small body": (lambda x: scan(lambda c, r: (c * r, (c, c, r)), H[:3], x), (ROWS[:, :3],), "Sequence"),
    "few rows inside a small body": (
        lambda x: scan(
            lambda c, r: (scan(lambda d, s: (np.sin(d) * s + r, np.sum(d)), c, np.arange(4.0), reverse=True)[0], c),
            H[:3],
            x,
        ),
        (ROWS[:, :3],),
        "Sequence",
    ),
    "constant results": (
        lambda x: scan(lambda c, r: (np.arange(3.0), (1.0, np.ones(2))), H[:3], x),
        (ROWS,),
        "Sequence",
    ),
    "scalar loop": (lambda x: fori_loop(0, 9, lambda i, c: np.sin(c) + i, x), (0.3,), "Nest"),
    "sorting": (lambda x: scan(lambda c, r: (np.sort(c) + r, None), H, x), (ROWS,), "Opaque"),
    "eigenvalues": (
        lambda x: scan(lambda c, r: (c + np.linalg.eigh(np.outer(r, r) + SPD)[0], c), H, x),
        (ROWS[:4],),
        "Opaque",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_native_code_and_interpreter_agree(name: str) -> None:
    program, args, step = PROGRAMS[name]
    assert step in agree(program, args)


def test_single_precision() -> None:
    """Machine code rounds elementary functions of float32 once more correctly than NumPy: one unit per step."""
    agree(lambda x: fori_loop(0, 4, lambda i, c: np.sin(c) * x, x), (H.astype(np.float32),), rtol=1e-6)


def test_a_scalar_loop_is_not_a_nested_one() -> None:
    assert set(agree(lambda x: fori_loop(0, 9, lambda i, c: np.sin(c) + i, x), (0.3,))) == {"Nest"}
    found = agree(lambda x: while_loop(lambda c: c < 100.0, lambda c: c * x + 1.0, x), (1.5,))
    assert "Nested" not in found and "Opaque" not in found


def test_only_the_loop_is_left_to_numpy() -> None:
    f = compile(lambda x: np.sum(np.exp(scan(lambda c, r: (np.sort(c) + r, None), H, np.sin(x))[0])))
    f(ROWS)
    assert steps(f).count("Opaque") == 1 and len(steps(f)) > 1


def test_operands_stay_as_they_were() -> None:
    a, rows = A.copy(), ROWS.copy()
    compile(value_and_grad(rnn, (0, 1)))(a, rows)
    np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(rows, ROWS)


def test_an_index_out_of_bounds_in_a_body() -> None:
    f = compile(lambda x, i: scan(lambda c, r: (c[r], None), x, i)[0])
    np.testing.assert_array_equal(f(H, PICK), compile(lambda x, i: x[i[0]][i[1]][i[2]][i[3]][i[4]])(H, PICK))
    bad = PICK.copy()
    bad[3, 7] = N
    with pytest.raises(IndexError, match="out of bounds"):
        f(H, bad)


def test_a_scalar_picked_by_a_traced_index() -> None:
    for f in (lambda x, i: np.sin(x[i]) * 2.0, lambda x, i: np.sin(np.sin(x)[i]) + np.sum(x)):
        for i in (3, -1):
            np.testing.assert_allclose(compile(f)(H, i), f(H, i), rtol=1e-15)


def test_loops_that_return_different_constants_do_not_share_code() -> None:
    def with_constant(c: float) -> np.ndarray:
        return compile(lambda q: scan(lambda k, x: (k, (x, c)), 0.0, q)[1][1])(np.arange(3.0))

    np.testing.assert_array_equal(with_constant(1.0), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(with_constant(2.5), [2.5, 2.5, 2.5])


def test_small_factors_in_a_loop_are_written_out() -> None:
    def total(q: Any, ys: Any) -> Any:
        def step(m: Any, y: Any) -> Any:
            corner = np.stack([np.exp(q[0]) + m[0] ** 2, q[1] * 0.1])
            cov = np.stack([corner, np.stack([q[1] * 0.1, np.exp(q[2])])])
            factor = np.linalg.cholesky(cov)
            z = solve_triangular(factor, y - m)
            return 0.9 * m + 0.1 * y, -0.5 * np.sum(z * z) - np.sum(np.log(np.diag(factor)))

        return np.sum(scan(step, np.zeros(2), ys)[1])

    q, ys = np.array([0.1, 0.2, 0.3]), np.random.default_rng(0).normal(size=(50, 2))
    native, plain = compile(value_and_grad(total)), compile(value_and_grad(total), backend="numpy")
    for a, b in zip(native(q, ys), plain(q, ys), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert "Sequence" in {type(step).__name__ for step in native._last.run.layout.plan.steps}
    far = np.array([0.1, 200.0, 0.3])  # no covariance
    assert np.isnan(native(far, ys)[0]) and np.isnan(plain(far, ys)[0])
