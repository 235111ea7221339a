"""Golden cases 26, 31 and 35-37, and the faults MV05 and MV06: matrices, their factors, inverses and eigenvalues.

Case 31's other numbers are in the cases of elementwise functions. MV06: the gradient in a covariance is symmetric, each
of its four entries counted as its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probdiff import compile as compile_program
from probdiff import gradient, hessian, jacobian, linalg, value_and_grad
from probdiff.distributions import MvNormal
from probdiff.errors import LinAlgError, ParameterError
from tests.golden.modes import EAGER, assert_gradient

CASES = Path(__file__).parent.parent / "reference" / "cases.jsonl"
ROWS = {r["id"]: r for r in map(json.loads, CASES.read_text(encoding="utf-8").splitlines())}


def expected(identifier: str) -> dict[str, Any]:
    return {e["what"]: e["value"] for e in ROWS[identifier]["expected"]}


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
    assert hessian(lambda t: np.abs(t) ** 2)(0.0) == 2.0


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


@pytest.mark.parametrize("kind", ["singular", "indefinite"])
def test_case_mv05_covariances_that_are_none(kind: str) -> None:
    covariance = np.array(ROWS["MV05"]["inputs"][kind], float)
    with pytest.raises(ParameterError, match=r"MvNormal\.covariance must be symmetric and positive definite"):
        MvNormal(np.zeros(2), covariance=covariance)

    def logp(covariance: Any) -> Any:
        return MvNormal(np.zeros(2), covariance=covariance).logpdf(np.full(2, 0.1))

    with pytest.raises(LinAlgError, match="its leading minor of order 2 is not positive"):
        gradient(logp, covariance)
    assert not np.isfinite(compile_program(value_and_grad(logp))(covariance)[0])  # a rejected step


def test_case_mv05_near_singular() -> None:
    correlation = 1 - 1e-12
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    numbers = expected("MV05")
    for k, x in enumerate([np.array([0.1, 0.1]), np.array([0.1, 0.1 + 1e-7])], 1):
        d = MvNormal(np.zeros(2), covariance=covariance)
        np.testing.assert_allclose(d.logpdf(x), numbers[f"near logpdf {k}"], rtol=1e-5)  # the condition is 2e12
        for mode in EAGER:
            assert_gradient(d.logpdf, x, expected=(np.array(numbers[f"near grad {k}"]),), modes=[mode], rtol=1e-3)


def test_case_mv06_gradient_in_the_covariance() -> None:
    inputs, numbers = ROWS["MV06"]["inputs"], expected("MV06")
    x, covariance = np.array(inputs["x_minus_mean"]), np.array(inputs["cov"])

    def logp(x: Any, covariance: Any) -> Any:
        return MvNormal(np.zeros(2), covariance=covariance).logpdf(x)

    assert logp(x, covariance) == pytest.approx(numbers["logpdf"], rel=1e-14)
    slope = np.array(numbers["d/dcov full"]).reshape(2, 2)
    assert_gradient(logp, x, covariance, expected=(np.array(numbers["d/dx"]), slope))

    def shared(rho: Any) -> Any:
        return logp(x, np.stack([np.stack([2.0, rho]), np.stack([rho, 1.0])]))

    assert_gradient(shared, 0.5, expected=(numbers["d/d(shared offdiag)"],))
