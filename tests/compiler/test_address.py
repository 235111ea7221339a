"""A compiled log-density as a C function, called the way that other languages call it."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from probdiff import compile, value_and_grad
from probdiff.compiler.native import address as address_module
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models.zoo.eight_schools import eight_schools

SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
Y, SIGMA = np.array([28.0, 8.0, -3.0, 7.0]), np.array([15.0, 10.0, 16.0, 11.0])
X = np.array([0.3, -0.2, 1.1, 0.4, -1.0, 0.7])


def density(x: Any, y: Any, sigma: Any) -> Any:
    mu, tau, z = x[0], np.exp(x[1]), x[2:]
    return x[1] - 0.5 * np.sum(z**2) - 0.5 * np.sum(((y - mu - tau * z) / sigma) ** 2) - np.sum(np.log(sigma))


def simple(x: Any) -> Any:
    return density(x, Y, SIGMA)


def call(address: int, x: np.ndarray, n: int | None = None) -> tuple[int, float, np.ndarray]:
    grad, logp = np.full(x.size, np.nan), np.full(1, np.nan)
    status = SIGNATURE(address)(x.size if n is None else n, x.ctypes.data, grad.ctypes.data, logp.ctypes.data, None)
    return status, float(logp[0]), grad


def agrees(address: int, f: Callable[[np.ndarray], tuple[Any, Any]], x: np.ndarray) -> None:
    status, value, grad = call(address, x)
    assert status == 0
    expected, gradient = f(x)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(grad, gradient, rtol=1e-12, atol=1e-14)


def test_value_and_gradient() -> None:
    compiled = compile(value_and_grad(simple)).record(X)
    agrees(compiled.address, value_and_grad(simple), X)
    assert compiled.address == compiled.address


def test_a_call_is_a_recording() -> None:
    compiled = compile(value_and_grad(simple))
    compiled(X)
    agrees(compiled.address, value_and_grad(simple), X)


def test_a_wrong_length_is_refused() -> None:
    compiled = compile(value_and_grad(simple)).record(X)
    status, value, grad = call(compiled.address, X, n=5)
    assert status == 1
    assert np.isnan(value) and np.isnan(grad).all()


def test_an_index_out_of_range() -> None:
    rows = np.array([0, 1, 2])
    compiled = compile(value_and_grad(lambda x, rows: np.sum(x[rows] ** 2))).record(np.ones(3), rows)
    assert call(compiled.with_data(rows).address, np.ones(3))[:2] == (0, 3.0)
    assert call(compiled.with_data(np.array([0, 1, 3])).address, np.ones(3))[0] == 2


def test_results_that_do_not_depend_on_x() -> None:
    compiled = compile(value_and_grad(lambda x: 3.0 + 0.0 * np.sum(Y))).record(X)
    status, value, grad = call(compiled.address, X)
    assert (status, value) == (0, 3.0)
    assert grad.tolist() == [0.0] * X.size


def test_data_are_read_where_they_are_and_kept_alive() -> None:
    y = Y.copy()
    bound = compile(value_and_grad(density)).with_data(y, SIGMA).record(X)
    address = bound.address
    before = call(address, X)[1]
    y += 1.0
    assert call(address, X)[1] != before
    expected = float(density(X, y, SIGMA))
    del y
    gc.collect()
    filler = [np.ones(4) for _ in range(100)]
    assert call(address, X)[1] == pytest.approx(expected, rel=1e-13)
    assert len(filler) == 100


def test_data_of_another_form_are_converted() -> None:
    wide = np.stack([Y, Y])[:, ::-1].astype(np.float32)[0][::-1]
    bound = compile(value_and_grad(density)).with_data(wide, 2.0).record(X)
    agrees(bound.address, value_and_grad(lambda x: density(x, Y, 2.0)), X)


def test_a_large_workspace() -> None:
    data = np.linspace(0.1, 1.0, 60_000)

    def f(x: Any, data: Any) -> Any:
        running = np.cumsum(data * x[0])  # an array between two passes
        return np.sum(np.sin(running) * x[1]) + np.sum(running[::-1] * data)

    bound = compile(value_and_grad(f)).with_data(data).record(X[:2])
    explained = bound.compiled.explain()
    if all(step.kind != "NumPy" for step in explained.steps):
        assert explained.workspace > address_module.STACK
        agrees(bound.address, value_and_grad(lambda x: f(x, data)), X[:2])
    else:
        with pytest.raises(UnsupportedError, match="NumPy evaluates"):
            assert bound.address


def test_threads() -> None:
    address = compile(value_and_grad(simple)).record(X).address
    points = np.random.default_rng(0).normal(size=(4, 200, X.size))
    found: list[Any] = [None] * 4

    def work(k: int) -> None:
        found[k] = [call(address, x)[1] for x in points[k]]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        np.testing.assert_allclose(found[k], [simple(x) for x in points[k]], rtol=1e-12)


def test_the_address_of_a_posterior() -> None:
    posterior = eight_schools()
    q = np.random.default_rng(1).normal(size=posterior.dim)
    agrees(posterior.address, posterior.value_and_grad, q)


def test_a_loop_in_machine_code() -> None:
    """Gradient ascent that never enters Python."""
    numba = pytest.importorskip("numba")
    f = SIGNATURE(compile(value_and_grad(simple)).record(X).address)

    @numba.njit
    def ascend(x: Any, steps: int) -> Any:
        grad, logp = np.empty_like(x), np.empty(1)
        for _ in range(steps):
            if f(x.size, x.ctypes, grad.ctypes, logp.ctypes, 0):
                return x, np.nan
            x = x + 0.05 * grad
        return x, logp[0]

    x, expected = X.copy(), 0.0
    for _ in range(20):
        expected, gradient = value_and_grad(simple)(x)
        x = x + 0.05 * gradient
    reached, value = ascend(X.copy(), 20)
    np.testing.assert_allclose(reached, x, rtol=1e-10)
    assert value == pytest.approx(float(expected), rel=1e-10)


# Refusals


def test_without_a_recording() -> None:
    with pytest.raises(ParameterError, match="compiled.address needs a recording: call the function once"):
        assert compile(value_and_grad(simple)).address


def test_numpy_steps_are_named() -> None:
    compiled = compile(value_and_grad(lambda x: np.sum(np.sort(x) * Y))).record(Y)
    with pytest.raises(UnsupportedError, match=r"NumPy evaluates argsort\(float64\[4\]\) in this one"):
        assert compiled.address


@pytest.mark.parametrize(
    ("f", "args", "message"),
    [
        (value_and_grad(density), (X, Y, SIGMA), r"this one takes 3 arrays. Bind those after x: compiled.with_data"),
        (value_and_grad(lambda x: np.sin(x)), (1.0,), r"of one float64 vector x, got float64\[\]"),
        (value_and_grad(lambda x: np.sum(x)), (X.astype(np.float32),), r"got float32\[6\]"),
        (lambda x: np.sum(x), (X,), r"results float64\[\], float64\[6\]; this one returns float64\[\]"),
    ],
)
def test_wrong_signatures(f: Any, args: Any, message: str) -> None:
    compiled = compile(f).record(*args)
    with pytest.raises(UnsupportedError, match=message):
        assert compiled.address


def test_the_numpy_backend_has_no_address() -> None:
    compiled = compile(value_and_grad(simple), backend="numpy").record(X)
    with pytest.raises(UnsupportedError, match="compiled.address needs backend='native', got 'numpy'"):
        assert compiled.address


def test_a_name_that_is_bound_anew() -> None:
    scale = np.array([1.0])

    def make() -> tuple[Any, Any]:
        weight = scale

        def f(x: Any) -> Any:
            return np.sum(x) * weight[0]

        def change() -> None:
            nonlocal weight
            weight = scale * 2

        return f, change

    f, change = make()
    compiled = compile(value_and_grad(f)).record(X)
    assert compiled.address
    change()
    with pytest.raises(ParameterError, match=r"bound anew since it was recorded. Call compiled.record\(\*args\) again"):
        assert compiled.address
    assert call(compiled.record(X).address, X)[1] == pytest.approx(2 * X.sum())
