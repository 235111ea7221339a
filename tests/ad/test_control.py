"""Loops and branches against the Python loop that they stand for: values, all derivatives, both backends, bad input."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from probdiff import (
    Ref,
    broadcast,
    check_gradient,
    checkpoint,
    compile,
    cond,
    custom,
    fori_loop,
    fwddiff,
    gradient,
    hessian,
    hvp,
    jacobian,
    pushforward,
    scan,
    stop_gradient,
    value_and_grad,
    while_loop,
)
from probdiff.errors import ParameterError, ShapeError, TracedValueError, UnsupportedError
from probdiff.ops.dispatch import is_float
from probdiff.tree import flatten

RNG = np.random.default_rng(31)
X = RNG.normal(size=3)
ROWS = RNG.normal(size=(5, 3))
A = RNG.normal(size=(3, 3)) * 0.4
Loop = Callable[..., Any]


class Loops(NamedTuple):
    """The three loops, by probdiff or in Python."""

    scan: Loop
    fori: Loop
    repeat: Loop


@dataclass(frozen=True)
class State:
    """A carry with a field of floats and one of integers."""

    x: Any
    n: Any


def python_scan(f: Loop, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> Any:
    leaves, spec = flatten(xs)
    order = range(len(leaves[0]) if leaves else length or 0)
    carry, ys = init, []
    for t in reversed(order) if reverse else order:
        carry, y = f(carry, spec.unflatten([x[t] for x in leaves]))
        ys.append(flatten(y))
    ys = ys[::-1] if reverse else ys
    if not ys:
        return carry, None
    return carry, ys[0][1].unflatten([np.stack(column) for column in zip(*(y for y, _ in ys), strict=True)])


def python_fori(lower: int, upper: int, body: Loop, carry: Any) -> Any:
    for i in range(lower, upper):
        carry = body(i, carry)
    return carry


def python_repeat(test: Loop, body: Loop, carry: Any) -> Any:
    while test(carry):
        carry = body(carry)
    return carry


OURS = Loops(scan, fori_loop, while_loop)
PYTHON = Loops(python_scan, python_fori, python_repeat)


def alternating(c: Any, r: Any, x: Any) -> Any:
    return cond(np.sum(r) > 0, lambda c: c * r, lambda c: np.sin(c) + x, c)


def of_dictionaries(c: Any, r: Any) -> Any:
    return {"a": c["a"] * 0.9 + r, "n": c["n"] + 1}, {"y": (c["a"], c["n"])}


PROGRAMS: dict[str, Callable[[Loops, Any], Any]] = {
    "dictionaries": lambda loops, x: loops.scan(of_dictionaries, {"a": x, "n": 0}, ROWS),
    "dataclass": lambda loops, x: loops.fori(0, 3, lambda i, s: State(s.x * 2.0 + i, s.n + 1), State(x, 0)),
    "list and tuple": lambda loops, x: loops.fori(0, 3, lambda i, s: [s[1][0] * 0.5, (s[0],)], [x, (x * x,)]),
    "reverse": lambda loops, x: loops.scan(lambda c, r: (np.tanh(c + r), c * r), x, ROWS, reverse=True),
    "no rows": lambda loops, x: loops.scan(lambda c, _: (np.sin(c) * x, None), x, length=4)[0],
    "no results": lambda loops, x: loops.scan(lambda c, r: (c * r[0], None), x, ROWS)[0],
    "closure": lambda loops, x: loops.scan(lambda c, r: (np.tanh(A @ c + r * x[0]), np.sum(c * x)), x * 1.0, ROWS),
    "rows differentiated": lambda loops, x: loops.scan(lambda c, r: (c * r + 1.0, c * r), x[0], x),
    "dictionary of rows": lambda loops, x: loops.scan(
        lambda c, r: (c * r["a"] + r["b"], c), 1.0, {"a": x, "b": x[::-1]}
    ),
    "two carries": lambda loops, x: loops.fori(
        1, 6, lambda i, c: (c[0] * i * 0.3 + np.sin(c[1]), c[1] * 0.5), (x, x[0])
    ),
    "index alone": lambda loops, x: loops.fori(0, 4, lambda i, c: c + i, x),
    "loop in a loop": lambda loops, x: loops.fori(
        0, 3, lambda i, c: loops.scan(lambda d, r: (np.sin(d) + r * x[1], None), c, ROWS)[0], x
    ),
    "branch in a loop": lambda loops, x: loops.scan(lambda c, r: (alternating(c, r, x), None), x, ROWS)[0],
    "integer rows": lambda loops, x: loops.scan(
        lambda c, r: (c * 0.9 + np.take(x, r % 3, axis=0), c), x[0], np.arange(7)
    ),
    "no steps": lambda loops, x: loops.scan(lambda c, r: (c * r, None), x, np.zeros((0, 3)))[0],
    "one step": lambda loops, x: loops.scan(lambda c, r: (c * r, c), x, ROWS[:1]),
    "cholesky": lambda loops, x: loops.scan(
        lambda c, _: (np.linalg.cholesky(c @ c.T + np.eye(3)), None), A * x[0], length=3
    )[0],
    "integers that become floats": lambda loops, x: loops.fori(
        0, 3, lambda i, c: (c[0] + x, c[1] + c[0]), (np.zeros(3, int), np.zeros(3, int))
    ),
    "result not used": lambda loops, x: loops.scan(lambda c, r: (c * r, (c, np.exp(r * x))), x, ROWS)[1][1],
    "carry not used": lambda loops, x: loops.scan(lambda c, r: ((c[0] * r, c[1] + 1.0), c[1]), (x, x[0]), ROWS)[1],
    "float32": lambda loops, x: loops.scan(lambda c, _: (c * np.float32(0.5), c), x.astype(np.float32), length=3)[1],
}


def close(found: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    """Equal in structure and, up to rounding, in value."""
    a, a_spec = flatten(found)
    b, b_spec = flatten(wanted)
    assert a_spec == b_spec
    for x, y in zip(a, b, strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def total(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A scalar to which every float of a result contributes with a weight of its own."""
    return lambda x: sum(np.sum(y) * (k + 1.0) for k, y in enumerate(flatten(f(x))[0]) if is_float(y))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_derivative_is_that_of_the_python_loop(name: str) -> None:
    program = PROGRAMS[name]
    ours, python = (lambda x: program(OURS, x)), (lambda x: program(PYTHON, x))
    f, g = total(ours), total(python)
    wanted = gradient(g, X)
    tolerance = 1e-6 if name == "float32" else 1e-11
    close(ours(X), python(X))
    close(gradient(f, X), wanted, tolerance)
    close(gradient(fwddiff(f), X), wanted, tolerance)
    close(pushforward(f, X)(X), np.sum(wanted[0] * X), tolerance)
    close(hessian(f)(X), hessian(g)(X), tolerance)
    close(hvp(f)(X, ROWS[0]), hvp(g)(X, ROWS[0]), tolerance)
    for backend in ("numpy", "native"):
        close(compile(ours, backend=backend)(X), python(X))
        close(compile(lambda x: gradient(f, x), backend=backend)(X), wanted, tolerance)
        close(compile(lambda x: gradient(fwddiff(f), x), backend=backend)(X), wanted, tolerance)
        close(compile(hessian(f), backend=backend)(X), hessian(g)(X), tolerance)


def test_against_finite_differences() -> None:
    check_gradient(lambda x, r: total(lambda x: PROGRAMS["loop in a loop"](OURS, x))(x) * r, X, 0.7)
    check_gradient(lambda x, rows: scan(lambda c, r: (np.tanh(A @ c + r), c), x, rows), X, ROWS)


# Loops among the other transforms


def leapfrog(q: Any, p: Any, eps: float = 0.1) -> Any:
    """Five steps of a Hamiltonian system whose forces are gradients taken inside the body."""

    def force(q: Any) -> Any:
        return -gradient(lambda q: np.sum(q**4) / 4.0 + np.sum(q) ** 2, q)[0]

    def step(i: Any, s: Any) -> Any:
        p = s[1] + 0.5 * eps * force(s[0])
        q = s[0] + eps * p
        return q, p + 0.5 * eps * force(q)

    return fori_loop(0, 5, step, (q, p))


def test_gradients_inside_a_body() -> None:
    """The flow is reversible, and keeps volume: its Jacobian has determinant 1."""
    q, p = leapfrog(X, -X)
    back = leapfrog(q, -p)
    np.testing.assert_allclose(back[0], X, rtol=1e-12)
    np.testing.assert_allclose(back[1], X, rtol=1e-12)
    flow = lambda s: np.concatenate(leapfrog(s[:3], s[3:]))  # noqa: E731
    start = np.concatenate([X, -X])
    for derivative in (jacobian(flow)(start), compile(jacobian(flow))(start)):
        np.testing.assert_allclose(np.linalg.det(derivative), 1.0, rtol=1e-12)


def test_orders_of_differentiation_commute() -> None:
    f = total(lambda x: PROGRAMS["closure"](OURS, x))
    v = ROWS[0]
    wanted = hvp(f)(X, v)
    close(gradient(lambda x: pushforward(f, x)(v), X)[0], wanted, 1e-11)
    close(pushforward(lambda x: gradient(f, x)[0], X)(v), wanted, 1e-11)
    close(hessian(f)(X) @ v, wanted, 1e-11)
    third = jacobian(hessian(f))(X)
    np.testing.assert_allclose(third, np.swapaxes(third, 0, 2), rtol=1e-9, atol=1e-10)
    close(compile(jacobian(hessian(f)))(X), third, 1e-9)


def test_checkpoints_and_stopped_gradients() -> None:
    f = total(lambda x: PROGRAMS["loop in a loop"](OURS, x))
    close(gradient(checkpoint(f), X), gradient(f, X))

    frozen = lambda x: np.sum(scan(lambda c, r: (stop_gradient(c) * r + x, None), x, ROWS)[0])  # noqa: E731
    close(gradient(frozen, X)[0], np.ones(3))


@custom
def tripled(x: Any, y: Any) -> Any:
    """sin(x) y, with rules that are wrong by a factor of three: seen only if they are used."""
    return np.sin(x) * y


@tripled.frule
def _(dots: Any, x: Any, y: Any) -> Any:
    x_dot, y_dot = (0.0 if d is None else d for d in dots)
    return np.sin(x) * y, 3.0 * (np.cos(x) * x_dot * y + np.sin(x) * y_dot)


@tripled.rrule
def _(x: Any, y: Any) -> Any:
    return np.sin(x) * y, lambda z_bar: (3.0 * z_bar * np.cos(x) * y, 3.0 * z_bar * np.sin(x))


def test_rules_of_ones_own_hold_inside_loops() -> None:
    y = np.array([2.0, 0.5, -1.0])
    factor = 27.0  # three steps

    def chain(f: Any, loops: Loops, x: Any) -> Any:
        return np.sum(loops.scan(lambda c, _: (f(c, y), None), x, length=3)[0])

    plain = gradient(lambda x: chain(lambda x, y: np.sin(x) * y, PYTHON, x), X)[0]
    f = lambda x: chain(tripled, OURS, x)  # noqa: E731
    wanted = (factor * plain,)
    close(gradient(f, X), wanted)
    close(gradient(fwddiff(f), X), wanted)
    close(pushforward(f, X)(X), np.sum(wanted[0] * X))
    for backend in ("numpy", "native"):
        close(compile(f, backend=backend)(X), chain(tripled, PYTHON, X))
        close(compile(lambda x: gradient(f, x), backend=backend)(X), wanted)
        close(compile(lambda x: gradient(fwddiff(f), x), backend=backend)(X), wanted)
    once = lambda x: cond(np.sum(x) > -99.0, lambda: np.sum(tripled(x, y)), lambda: 0.0)  # noqa: E731
    close(compile(lambda x: gradient(once, x))(X), (3.0 * np.cos(X) * y,))
    wide = np.linspace(-1.0, 1.0, 300)
    long = lambda x: np.sum(fori_loop(0, 2, lambda i, c: tripled(c, x) + np.cumsum(c), x))  # noqa: E731
    close(compile(lambda x: gradient(long, x))(wide), gradient(long, wide), 1e-10)


def test_rules_of_ones_own_hold_inside_kernels() -> None:
    y = np.array([[2.0], [0.5]])
    wanted = 3.0 * np.cos(X) * y.sum()
    for f in (tripled, fwddiff(tripled), lambda x, y: tripled(x, y), fwddiff(lambda x, y: tripled(x, y) * 1.0)):
        score = lambda x, f=f: np.sum(broadcast(f)(x, y))  # noqa: E731
        close(gradient(score, X)[0], wanted)
        close(pushforward(score, X)(np.ones(3)), np.sum(wanted))
        for backend in ("numpy", "native"):
            close(compile(lambda x, g=score: gradient(g, x), backend=backend)(X)[0], wanted)
            close(compile(score, backend=backend)(X), np.sum(np.sin(X) * y))
            close(compile(lambda x, g=score: pushforward(g, x)(x), backend=backend)(X), np.sum(wanted * X))


def test_a_kernel_inside_a_body() -> None:
    kernel = broadcast(fwddiff(lambda a, b: np.sin(a) * b))
    f = lambda x: np.sum(scan(lambda c, r: (kernel(c, x), None), x, ROWS)[0])  # noqa: E731
    g = lambda x: np.sum(python_scan(lambda c, r: (np.sin(c) * x, None), x, ROWS)[0])  # noqa: E731
    close(gradient(f, X), gradient(g, X))
    close(compile(lambda x: gradient(f, x))(X), gradient(g, X))


# while_loop and cond


def halved(x: Any) -> Any:
    return while_loop(lambda c: np.sum(c["x"]) > 1.0, lambda c: {"x": c["x"] * 0.5, "n": c["n"] + 1}, {"x": x, "n": 0})


def test_while_loop() -> None:
    out = halved(np.array([4.0, 4.0]))
    np.testing.assert_array_equal(out["x"], [0.5, 0.5])
    assert out["n"] == 3
    close(pushforward(lambda x: halved(x)["x"], np.array([4.0, 4.0]))(np.ones(2)), np.full(2, 0.125))
    close(gradient(fwddiff(lambda x: np.sum(halved(x)["x"] ** 2)), np.array([4.0, 4.0]))[0], np.full(2, 0.125))
    close(hessian(fwddiff(lambda x: np.sum(halved(x)["x"] ** 2)))(np.array([4.0, 4.0])), np.eye(2) / 32.0)
    for backend in ("numpy", "native"):
        close(compile(halved, backend=backend)(np.array([4.0, 4.0])), out)


def test_a_loop_that_does_not_run() -> None:
    close(while_loop(lambda c: c > 5.0, lambda c: c * 2.0, 1.0), 1.0)
    close(fori_loop(3, 1, lambda i, c: c * 2.0, 1.0), 1.0)
    carry, ys = compile(lambda x: scan(lambda c, r: (c + r, (c, r[0])), np.zeros(3), x))(np.zeros((0, 3)))
    np.testing.assert_array_equal(carry, np.zeros(3))
    assert ys[0].shape == (0, 3) and ys[1].shape == (0,)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_an_integer_as_condition(backend: str) -> None:
    """Any value but zero goes on, the multiples of 256 as well."""
    for start in (1.0, np.ones(2)):
        f = compile(lambda v: while_loop(lambda c: c[1], lambda c: (c[0] + 1.0, c[1] - 1), (v, 300)), backend=backend)
        close(f(start)[0], start + 300.0)


def test_promotion_runs_through_a_chain_of_carries() -> None:
    out = fori_loop(0, 6, lambda i, c: (c[1], c[2], c[3], c[4], c[4] * 0.5), (0, 0, 0, 0, 1))
    assert [float(c) for c in out] == [0.25, 0.125, 0.0625, 0.03125, 0.015625]


def test_boolean_carries() -> None:
    f = compile(lambda x: while_loop(lambda c: np.any(c[1]), lambda c: (c[0] + 1.0, c[0] < 5.0), (x, x < 100.0)))
    values, flags = f(np.array([1.0, 3.0]))
    np.testing.assert_array_equal(values, [6.0, 8.0])
    assert flags.dtype == bool and not flags.any()


def test_bounds_that_are_traced() -> None:
    f = compile(lambda n, x: fori_loop(0, n, lambda i, c: c * x + i, 1.0))
    assert f(5, 2.0) == 58.0
    assert f(0, 2.0) == 1.0
    g = compile(lambda n, x: pushforward(lambda x: fori_loop(0, n, lambda i, c: c * x + i, 1.0), x)(1.0))
    assert g(5, 2.0) == gradient(lambda x: fori_loop(0, 5, lambda i, c: c * x + i, 1.0), 2.0)[0]


def test_cond() -> None:
    def f(x: Any) -> Any:
        return cond(x > 1.0, lambda x: {"v": x**2}, lambda x: {"v": 3.0 * x}, x)["v"]

    for x, slope in ((2.0, 4.0), (0.5, 3.0)):
        assert gradient(f, x) == (slope,)
        for backend in ("numpy", "native"):
            assert compile(lambda x: gradient(f, x), backend=backend)(x) == (slope,)
            assert compile(hessian(f), backend=backend)(x) == (2.0 if x > 1.0 else 0.0)
            assert compile(lambda x: pushforward(f, x)(1.0), backend=backend)(x) == slope


def test_only_the_chosen_branch_runs() -> None:
    runs: list[str] = []
    cond(True, lambda: runs.append("true"), lambda: runs.append("false"))
    assert runs == ["true"]


def test_branches_of_other_kinds_meet() -> None:
    f = compile(lambda x: cond(x > 0.0, lambda: 1, lambda: 0.5))
    assert f(2.0) == 1.0 and f(2.0).dtype == float and f(-2.0) == 0.5


def test_bodies_that_branch_in_python() -> None:
    """Where there are values, a body may look at them: the loop is then a Python loop."""
    carry, ys = scan(lambda c, x: (c + x if c >= 0.0 else c, (c, x)), 0.0, np.ones(3))
    assert carry == 3.0
    np.testing.assert_array_equal(ys[0], [0.0, 1.0, 2.0])
    f = lambda x: scan(lambda c, r: (c * r if c >= 0.0 else c, None), 1.0, x)[0]  # noqa: E731
    close(gradient(f, np.full(3, 2.0))[0], np.full(3, 4.0))
    assert gradient(lambda x: while_loop(lambda c: c < 10.0, lambda c: c * x if c >= 0.0 else c, 1.0), 2.0) == (32.0,)
    with pytest.raises(TracedValueError, match="asks for the value of an array that is being traced"):
        compile(f)(np.ones(3))


# Inside kernels: every element goes its own way


def newton(a: Any) -> Any:
    return while_loop(lambda x: np.abs(x * x - a) > 1e-12 * a, lambda x: 0.5 * (x + a / x), a * 0.0 + 1.0)


def exponential(x: Any) -> Any:
    def term(c: Any) -> Any:
        s, t, n = c
        t = t * x / n
        return s + t, t, n + 1

    return while_loop(lambda c: np.abs(c[1]) > 1e-17 * np.abs(c[0]), term, (1.0, 1.0, 1))[0]


def decay(k: Any, steps: int = 10_000) -> Any:
    """u' = -k u from 1 by the classical Runge–Kutta method, at time 1."""
    h = 1.0 / steps

    def step(i: Any, u: Any) -> Any:
        a = -k * u
        b = -k * (u + h / 2 * a)
        c = -k * (u + h / 2 * b)
        d = -k * (u + h * c)
        return u + h / 6 * (a + 2 * b + 2 * c + d)

    return fori_loop(0, steps, step, 1.0)


def forced(a: Any) -> Any:
    return scan(lambda c, w: (np.sin(c * a) + w, None), a, np.array([0.1, 0.2, 0.3]))[0]


def small_vectors(a: Any) -> Any:
    return np.sum(fori_loop(0, 3, lambda i, c: np.sin(c) * a, np.ones(2) + a))


def branching(a: Any) -> Any:
    return cond(a > 2.5, lambda: np.log(a), lambda: a * a)


V = np.array([2.0, 3.0, 50.0, 0.5])
# kernel, its derivative where that is known, relative error of the method
KERNELS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any] | None, float]] = {
    "newton": (newton, lambda v: 0.5 / np.sqrt(v), 1e-11),
    "series": (exponential, np.exp, 1e-13),
    "runge-kutta": (decay, lambda k: -np.exp(-k), 1e-9),
    "short runge-kutta": (lambda k: decay(k, 10), None, 1e-12),
    "forced": (forced, None, 1e-13),
    "small vectors": (small_vectors, None, 1e-13),
    "branch": (branching, lambda a: np.where(a > 2.5, 1.0 / a, 2.0 * a), 1e-14),
    "root in a loop": (lambda a: fori_loop(0, 3, lambda i, c: newton(c) + a + i, a), None, 1e-11),
    "loop until a root": (lambda a: while_loop(lambda c: c > 1.1, lambda c: newton(c), a + 1.0), None, 1e-11),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str) -> None:
    f, derivative, tolerance = KERNELS[name]
    each = np.stack([gradient(fwddiff(f), v)[0] for v in V])
    if derivative is not None:
        np.testing.assert_allclose(each, derivative(V), rtol=tolerance)

    def score(v: Any) -> Any:
        return np.sum(broadcast(fwddiff(f))(v))

    np.testing.assert_allclose(broadcast(f)(V), [f(v) for v in V], rtol=1e-14)
    np.testing.assert_allclose(gradient(score, V)[0], each, rtol=1e-13)
    np.testing.assert_allclose(pushforward(broadcast(f), V)(np.ones(4)), each, rtol=1e-13)
    for backend in ("numpy", "native"):
        np.testing.assert_allclose(compile(broadcast(f), backend=backend)(V), broadcast(f)(V), rtol=1e-13)
        value, slope = compile(value_and_grad(score), backend=backend)(V)
        np.testing.assert_allclose(value, score(V), rtol=1e-13)
        np.testing.assert_allclose(slope, each, rtol=1e-13)
        for v, s in zip(V[:1], each[:1], strict=True):
            np.testing.assert_allclose(compile(lambda x: gradient(fwddiff(f), x), backend=backend)(v)[0], s, rtol=1e-13)


@pytest.mark.parametrize("name", ["newton", "short runge-kutta", "forced", "branch", "small vectors"])
def test_second_derivatives_of_kernels(name: str) -> None:
    f = KERNELS[name][0]

    def seam(v: Any) -> Any:
        return np.sum(broadcast(fwddiff(f))(v) ** 2)

    one_by_one = [hessian(fwddiff(lambda v: f(v) ** 2))(v) for v in V]
    wanted = np.diag(np.stack(one_by_one))
    for found in (hessian(seam)(V), compile(hessian(seam))(V), compile(hessian(seam), backend="numpy")(V)):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["short runge-kutta", "forced", "branch"])
def test_kernels_under_reverse_mode(name: str) -> None:
    """Without fwddiff, a loop of known length is walked backwards in every element."""
    f = KERNELS[name][0]

    def score(v: Any, w: Any) -> Any:
        return np.sum(broadcast(lambda a, b: f(a) * f(a + b))(v[:, None], w) ** 2)

    def unrolled(v: Any, w: Any) -> Any:
        return sum((f(v[i]) * f(v[i] + w[j])) ** 2 for i in range(4) for j in range(2))

    w = np.array([0.1, 0.2])
    wanted = gradient(unrolled, V, w)
    close(gradient(score, V, w), wanted, 1e-11)
    for backend in ("numpy", "native"):
        close(compile(lambda v, w: gradient(score, v, w), backend=backend)(V, w), wanted, 1e-11)
    np.testing.assert_allclose(hessian(lambda v: score(v, w))(V), hessian(lambda v: unrolled(v, w))(V), rtol=1e-10)


def test_a_while_loop_in_a_kernel_under_reverse_mode_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="reverse mode met a while_loop, whose number of steps is not known"):
        gradient(lambda v: np.sum(broadcast(newton)(v)), V)


def test_kernels_over_rows() -> None:
    rows = np.array([0.1, 0.2, 0.3])

    def f(a: Any, w: Any) -> Any:
        return scan(lambda c, x: (np.sin(c * a) + x, None), a, w)[0]

    wanted = gradient(lambda v, w: sum(f(v[i], w) for i in range(4)), V, rows)
    for g in (
        lambda v, w: np.sum(broadcast(f, signature="(),(n)->()")(v, w)),
        lambda v, w: np.sum(broadcast(fwddiff(f), signature="(),(n)->()")(v, w)),
        lambda v, w: np.sum(broadcast(fwddiff(f))(v, Ref(w))),
    ):
        close(gradient(g, V, rows), wanted)
        close(compile(lambda v, w, g=g: gradient(g, v, w))(V, rows), wanted)


def test_what_does_not_depend_on_the_elements_has_their_shape() -> None:
    def f(x: Any) -> Any:
        return while_loop(lambda c: c[1] < 30, lambda c: (c[0] * 0.5 + x, c[1] + 1), (x, 1))

    for g in (broadcast(f), compile(broadcast(f)), compile(broadcast(f), backend="numpy")):
        values, counts = g(V)
        assert values.shape == counts.shape == (4,)
        np.testing.assert_array_equal(counts, np.full(4, 30))


def test_kernels_over_no_elements_and_over_tables() -> None:
    assert compile(broadcast(newton))(V[:0]).shape == (0,)
    table = np.outer(V, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(compile(broadcast(newton))(table), np.sqrt(table), rtol=1e-12)


def test_forward_mode_stores_nothing() -> None:
    """Peak memory of the derivative of a loop does not depend on its number of steps."""

    def peak(steps: int) -> int:
        f = fwddiff(lambda x: np.sum(fori_loop(0, steps, lambda i, c: np.sin(c) * x, np.ones(2000) * x)))
        tracemalloc.start()
        gradient(f, 1.3)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(2)
    few, many = peak(10), peak(1000)
    assert many < few + 16_000  # one array of the loop; storing would take 1000


# Bad input

REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shape of a carry": (
        lambda: scan(lambda c, _: (c + np.ones(2), c), 0.0, length=2),
        ShapeError,
        "the carry of scan changes its shape from () to (2,).",
    ),
    "shape of a carry of fori_loop": (
        lambda: fori_loop(0, 3, lambda i, c: c[:1], np.ones(2)),
        ShapeError,
        "the carry of fori_loop changes its shape from (2,) to (1,).",
    ),
    "shape of a carry of while_loop": (
        lambda: while_loop(lambda c: np.sum(c) > 0.0, lambda c: c[:1], np.ones(2)),
        ShapeError,
        "the carry of while_loop changes its shape from (2,) to (1,).",
    ),
    "structure of a carry": (
        lambda: while_loop(lambda c: True, lambda c: (c, c), 0.0),
        ShapeError,
        "the body of while_loop takes a carry * and returns (*, *).",
    ),
    "structure of a carry of scan": (
        lambda: scan(lambda c, _: ((c, c), c), 0.0, length=2),
        ShapeError,
        "the body of scan takes a carry * and returns (*, *).",
    ),
    "structure of a carry of fori_loop": (
        lambda: fori_loop(0, 3, lambda i, c: (c, c), 1.0),
        ShapeError,
        "the body of fori_loop takes a carry * and returns (*, *).",
    ),
    "no pair": (
        lambda: scan(lambda c, x: c + x, 0.0, np.ones(3)),
        ShapeError,
        "the body of scan must return (carry, y), got *.",
    ),
    "three results": (
        lambda: scan(lambda c, x: (c, c, c), 0.0, np.ones(3)),
        ShapeError,
        "the body of scan must return (carry, y), got (*, *, *).",
    ),
    "structures of branches": (
        lambda: compile(lambda x: cond(x > 0.0, lambda: (x, x), lambda: x))(2.0),
        ShapeError,
        "the branches of cond return structures (*, *) and *.",
    ),
    "shapes of branches": (
        lambda: compile(lambda x: cond(x[0] > 0.0, lambda x: x, lambda x: x[:2], x))(np.ones(3)),
        ShapeError,
        "the branches of cond return shapes (3,) and (2,).",
    ),
    "condition that is an array": (
        lambda: cond(np.ones(3) > 0.0, lambda x: x, lambda x: x, 1.0),
        ShapeError,
        "cond needs a scalar condition, got shape (3,). Use np.where.",
    ),
    "condition of while_loop that is an array": (
        lambda: while_loop(lambda x: x > 0.0, lambda x: x - 1.0, np.ones(2)),
        ShapeError,
        "the condition of while_loop must be one scalar, got shapes [(2,)]. Use np.any.",
    ),
    "string": (
        lambda: compile(lambda x: cond(x > 0.0, lambda: "a", lambda: "b"))(2.0),
        UnsupportedError,
        "a loop or branch returns 'a'",
    ),
    "no length": (lambda: scan(lambda c, x: (c, x), 0.0), ShapeError, "scan without xs needs length="),
    "two lengths": (
        lambda: scan(lambda c, x: (c, x[0]), 0.0, (np.ones(2), np.ones(3))),
        ShapeError,
        "scan needs xs with leading axes of one length, got shapes [(2,), (3,)]",
    ),
    "another length": (
        lambda: scan(lambda c, x: (c, x), 0.0, np.ones(2), length=4),
        ShapeError,
        "scan needs xs with leading axes of one length, got shapes [(2,)] and length=4",
    ),
    "rows without an axis": (
        lambda: scan(lambda c, x: (c, x), 0.0, 3.0),
        ShapeError,
        "scan needs xs with leading axes of one length, got shapes [()]",
    ),
    "negative length": (
        lambda: scan(lambda c, x: (c, c), 0.0, length=-1),
        ParameterError,
        "scan.length must be a non-negative integer, got -1",
    ),
    "float length": (
        lambda: scan(lambda c, x: (c, c), 0.0, length=2.5),  # type: ignore[arg-type]
        ParameterError,
        "scan.length must be a non-negative integer, got 2.5",
    ),
    "float bound": (
        lambda: fori_loop(0, 2.5, lambda i, c: c, 1.0),  # type: ignore[arg-type]
        ParameterError,
        "fori_loop.upper must be an integer, got 2.5",
    ),
    "while_loop under reverse mode": (
        lambda: gradient(newton, 2.0),
        UnsupportedError,
        "reverse mode met a while_loop, whose number of steps is not known.\n"
        "    Wrap the function around it: fwddiff(f)(x) differentiates it forwards; or use fori_loop or scan.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_word_for_word(name: str) -> None:
    call, kind, text = REFUSED[name]
    with pytest.raises(kind) as caught:
        call()
    where, _, said = str(caught.value).partition("`: ")
    assert where.startswith("test_control.py:")
    assert said == text


def test_a_while_loop_of_plain_values_may_stand_beside_reverse_mode() -> None:
    assert gradient(lambda x: x * while_loop(lambda c: c < 10.0, lambda c: c * 2.0, 1.0), 2.0) == (16.0,)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("keep_every", [2, 5, 22, 23, 40])
def test_scan_that_keeps_some_carries_equals_one_that_keeps_all(keep_every: int, reverse: bool) -> None:
    def total(p: Any, y: Any, k: int) -> Any:
        def step(s: Any, row: Any) -> Any:
            s = p[0] + p[1] * row**2 + p[2] * s
            return s, (s, row * s)

        carry, (s, t) = scan(step, 1.0, y, reverse=reverse, keep_every=k)
        return np.sum(np.log(s)) + np.sum(np.sin(t)) + carry

    p, y = np.array([0.2, 0.3, 0.4]), np.random.default_rng(0).normal(size=23)
    whole = gradient(lambda p, y: total(p, y, 1), p, y)
    for pieces in (
        gradient(lambda p, y: total(p, y, keep_every), p, y),
        compile(lambda p, y: gradient(lambda p, y: total(p, y, keep_every), p, y))(p, y),
    ):
        for a, b in zip(whole, pieces, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)


def test_keep_every_must_be_a_positive_integer() -> None:
    with pytest.raises(ParameterError, match=r"scan\.keep_every must be a positive integer, got 0"):
        scan(lambda c, x: (c + x, None), 0.0, np.ones(3), keep_every=0)
