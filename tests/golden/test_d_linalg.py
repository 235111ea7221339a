"""Golden cases 26, 31 and 35-37, and the faults MV05 and MV06: matrices, their factors, inverses and eigenvalues.

36: |t|² is written t t; abs itself has slope 0 at 0, so abs(t)² has second derivative 0 there. MV06: the gradient in a
covariance is symmetric, each of its four entries counted as its own. The numbers of MV05 and MV06 are from mpmath.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from probdiff import compile as compile_program
from probdiff import gradient, hessian, jacobian, linalg, value_and_grad
from probdiff.distributions import MvNormal
from probdiff.errors import LinAlgError, ParameterError
from tests.golden.modes import assert_gradient


def free_fall(t: Any, q: Any, v: Any) -> Any:
    return 0.5 * np.sum(v * v) - 9.8 * q[1]


def test_case_26_mixed_jacobian() -> None:
    def momentum(q: Any) -> Any:
        return gradient(lambda v: free_fall(0.0, q, v), np.array([3.0, 4.0]))[0]

    np.testing.assert_array_equal(jacobian(momentum)(np.array([1.0, 2.0])), np.zeros((2, 2)))


def legendre(f: Any, p: Any) -> Any:
    """p v - f(v) at the v where f' is p, for a convex quadratic f."""
    zero = np.zeros(2)
    factor = np.linalg.cholesky(hessian(f)(zero))
    v = linalg.cho_solve(factor, p - gradient(f, zero)[0])
    return np.sum(p * v) - f(v)


def test_case_26_legendre_transform() -> None:
    def hamiltonian(q: Any, p: Any) -> Any:
        return legendre(lambda v: free_fall(0.0, q, v), p)

    q, p = np.array([1.0, 2.0]), np.array([5.0, 6.0])
    assert hamiltonian(q, p) == pytest.approx(0.5 * 61.0 + 9.8 * 2.0, rel=1e-14)
    assert_gradient(hamiltonian, q, p, expected=(np.array([0.0, 9.8]), p))


def test_case_31_jacobian_of_the_inverse() -> None:
    a = np.random.default_rng(31).standard_normal((5, 5))
    b = np.linalg.inv(a)
    columns = jacobian(np.linalg.inv)(a).transpose(1, 0, 3, 2).reshape(25, 25)  # elements column by column
    np.testing.assert_allclose(columns, -np.kron(b.T, b), rtol=1e-10)


def test_case_35_determinant_with_zeros() -> None:
    a = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, np.pi, 3.0]])
    slope = np.array([[6.0, 0.0, 0.0], [0.0, 3.0, -np.pi], [0.0, 0.0, 2.0]])
    assert_gradient(np.linalg.det, a, expected=(slope,))


def test_case_35_log_determinant_of_a_factor() -> None:
    factor = np.linalg.cholesky(np.array([[1.0, 0.8], [0.8, 1.0]]))
    slope = np.array([[1.0, -4.0 / 3.0], [0.0, 5.0 / 3.0]])
    assert_gradient(lambda a: np.linalg.slogdet(a)[1], factor, expected=(slope,))
    assert_gradient(lambda a: np.log(np.linalg.det(a)), factor, expected=(slope,))


def test_case_35_hessian_of_det() -> None:
    def expanded(a: Any) -> Any:
        return (
            a[0, 0] * (a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1])
            - a[0, 1] * (a[1, 0] * a[2, 2] - a[1, 2] * a[2, 0])
            + a[0, 2] * (a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0])
        )

    a = np.random.default_rng(35).standard_normal((3, 3))
    np.testing.assert_allclose(hessian(np.linalg.det)(a), hessian(expanded)(a), atol=1e-13)


def test_case_36_quadratic_form() -> None:
    h = np.arange(1.0, 10.0).reshape(3, 3)
    found = hessian(lambda x: x @ h @ x)(np.zeros(3))
    np.testing.assert_array_equal(found, [[2.0, 6.0, 10.0], [6.0, 10.0, 14.0], [10.0, 14.0, 18.0]])


def test_case_36_square_of_the_absolute_value() -> None:
    assert hessian(lambda t: t * t)(0.0) == 2.0
    assert hessian(np.square)(0.0) == 2.0


def test_case_37_tridiagonal_eigenvalues() -> None:
    def values(x: Any) -> Any:
        return np.linalg.eigvalsh(np.stack([x[[0, 0]], x]))  # [[x1, x1], [x1, x2]]

    root = np.sqrt(5.0)
    slope = [[(1 - 3 / root) / 2, (1 - 1 / root) / 2], [(1 + 3 / root) / 2, (1 + 1 / root) / 2]]
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(jacobian(values)(x), slope, rtol=1e-13)
    for k in range(2):
        assert_gradient(lambda x, k=k: values(x)[k], x, expected=(np.array(slope[k]),))


def test_case_37_eigenvalues_of_an_outer_product() -> None:
    slopes = jacobian(lambda x: np.linalg.eigvalsh(np.outer(x, x)))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(slopes, [[0.0, 0.0], [2.0, 4.0]], atol=1e-14)


@pytest.mark.parametrize("off", [1.0, 2.0], ids=["singular", "indefinite"])
def test_case_mv05_covariances_that_are_none(off: float) -> None:
    covariance = np.array([[1.0, off], [off, 1.0]])
    with pytest.raises(ParameterError, match=r"MvNormal\.covariance must be symmetric and positive definite"):
        MvNormal(np.zeros(2), covariance=covariance)

    def logp(covariance: Any) -> Any:
        return MvNormal(np.zeros(2), covariance=covariance).logpdf(np.full(2, 0.1))

    with pytest.raises(LinAlgError, match="its leading minor of order 2 is not positive"):
        gradient(logp, covariance)
    assert not np.isfinite(compile_program(value_and_grad(logp))(covariance)[0])  # a rejected step


NEAR = (  # x, log-density, slope
    ([0.1, 0.1], 11.626070962257609, [-0.050000000000025004, -0.050000000000025004]),
    ([0.1, 0.1 + 1e-7], 11.62357090195194, [50001.056111887956, -50001.156111937955]),
)


@pytest.mark.parametrize(("x", "value", "slope"), NEAR)
def test_case_mv05_near_singular(x: list[float], value: float, slope: list[float]) -> None:
    correlation = 1 - 1e-12
    d = MvNormal(np.zeros(2), covariance=np.array([[1.0, correlation], [correlation, 1.0]]))
    np.testing.assert_allclose(d.logpdf(np.array(x)), value, rtol=1e-5)
    # The condition is 2e12, so that of sixteen digits three are left.
    assert_gradient(d.logpdf, np.array(x), expected=(np.array(slope),), rtol=1e-3)


def test_case_mv06_gradient_in_the_covariance() -> None:
    x, covariance = np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])

    def logp(x: Any, covariance: Any) -> Any:
        return MvNormal(np.zeros(2), covariance=covariance).logpdf(x)

    assert logp(x, covariance) == pytest.approx(-3.2605421032341995, rel=1e-14)
    x_bar = np.array([-0.8571428571428571, 1.4285714285714286])
    slope = np.array([[0.08163265306122448, -0.46938775510204084], [-0.46938775510204084, 0.4489795918367347]])
    assert_gradient(logp, x, covariance, expected=(x_bar, slope))

    def shared(rho: Any) -> Any:
        return logp(x, np.stack([np.stack([2.0, rho]), np.stack([rho, 1.0])]))

    assert_gradient(shared, 0.5, expected=(-0.9387755102040817,))
