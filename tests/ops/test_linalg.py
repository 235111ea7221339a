"""Linear algebra: both modes, second order, batches, machine code, edges and error texts of every function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from probdiff import check_gradient, compile, grad, gradient, hessian, hvp, jacobian, linalg, pushforward, tree
from probdiff.errors import LinAlgError, ParameterError, ProbdiffError, ShapeError, UnsupportedError
from probdiff.ops.dispatch import apply
from probdiff.ops.factor import COFACTORS_DOT, quiet

rng = np.random.default_rng(20)
SQUARE = rng.standard_normal((4, 4)) + 2.0 * np.eye(4)
TALL = rng.standard_normal((5, 3))
WIDE = rng.standard_normal((3, 5))
SPREAD = TALL.T @ TALL + np.diag([1.0, 3.0, 6.0])
FACTOR = np.tril(rng.standard_normal((4, 4))) + 3.0 * np.eye(4)
COLUMNS = rng.standard_normal((4, 2))
VECTOR = rng.standard_normal(4)


def full(a: Any) -> Any:
    """The symmetric part, so that differences in any direction see what the gradient's convention says."""
    return 0.5 * (a + np.swapaxes(a, -1, -2))


def fixed_signs(parts: Any) -> Any:
    """Vectors are defined up to their signs."""
    return tuple(np.abs(p) for p in parts)


# name: (our function of plain matrices, NumPy's or SciPy's, arguments whose batches lead)
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "cholesky": (lambda a: linalg.cholesky(full(a)), lambda a: np.linalg.cholesky(full(a)), (SPREAD,)),
    "solve": (linalg.solve, np.linalg.solve, (SQUARE, COLUMNS)),
    "solve_triangular": (linalg.solve_triangular, lambda a, b: np.linalg.solve(np.tril(a), b), (FACTOR, COLUMNS)),
    "solve_triangular_upper": (
        lambda a, b: linalg.solve_triangular(a, b, lower=False, transpose=True),
        lambda a, b: np.linalg.solve(np.triu(a).T, b),
        (FACTOR + FACTOR.T, COLUMNS),
    ),
    "cho_solve": (linalg.cho_solve, lambda c, b: np.linalg.solve(np.tril(c) @ np.tril(c).T, b), (FACTOR, COLUMNS)),
    "inv": (linalg.inv, np.linalg.inv, (SQUARE,)),
    "det": (linalg.det, np.linalg.det, (SQUARE,)),
    "slogdet": (lambda a: linalg.slogdet(a)[1], lambda a: np.linalg.slogdet(a)[1], (SQUARE,)),
    "logdet": (lambda a: linalg.logdet(full(a)), lambda a: np.linalg.slogdet(full(a))[1], (SPREAD,)),
    "eigh": (
        lambda a: fixed_signs(linalg.eigh(full(a))),
        lambda a: fixed_signs(np.linalg.eigh(full(a))),
        (SPREAD,),
    ),
    "eigvalsh": (lambda a: linalg.eigvalsh(full(a)), lambda a: np.linalg.eigvalsh(full(a)), (SPREAD,)),
    "qr": (lambda a: tuple(linalg.qr(a)), lambda a: tuple(np.linalg.qr(a)), (TALL,)),
    "qr_wide": (lambda a: tuple(linalg.qr(a)), lambda a: tuple(np.linalg.qr(a)), (WIDE,)),
    "svd": (
        lambda a: fixed_signs(linalg.svd(a)),
        lambda a: fixed_signs(np.linalg.svd(a, full_matrices=False)),
        (TALL,),
    ),
    "svd_wide": (
        lambda a: fixed_signs(linalg.svd(a)),
        lambda a: fixed_signs(np.linalg.svd(a, full_matrices=False)),
        (WIDE,),
    ),
    "svdvals": (linalg.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), (SQUARE,)),
    "lstsq": (linalg.lstsq, lambda a, b: np.linalg.lstsq(a, b)[0], (TALL, rng.standard_normal((5, 2)))),
    "lstsq_wide": (linalg.lstsq, lambda a, b: np.linalg.lstsq(a, b)[0], (WIDE, rng.standard_normal((3, 2)))),
    "pinv": (linalg.pinv, np.linalg.pinv, (TALL,)),
    "pinv_wide": (linalg.pinv, np.linalg.pinv, (WIDE,)),
    "expm": (linalg.expm, scipy.linalg.expm, (SQUARE,)),
    "matrix_power": (
        lambda a: linalg.matrix_power(a, 5),
        lambda a: np.linalg.matrix_power(a, 5),
        (0.5 * SQUARE,),
    ),
    "inverse_power": (
        lambda a: linalg.matrix_power(a, -2),
        lambda a: np.linalg.matrix_power(a, -2),
        (SQUARE,),
    ),
    "kron": (linalg.kron, np.kron, (TALL, COLUMNS)),
}
NAMES = list(FUNCTIONS)


def scalar(f: Callable[..., Any]) -> Callable[..., Any]:
    """A scalar that depends on every element of f's result in its own way."""

    def of(*args: Any) -> Any:
        return sum(np.sum(np.sin(0.7 * y + 0.3)) for y in tree.flatten(f(*args))[0])

    return of


def slopes(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    return grad(scalar(f), argnums=tuple(range(len(args))))


def assert_same(got: Any, expected: Any, rtol: float = 1e-10, atol: float = 1e-11) -> None:
    for g, e in zip(tree.flatten(got)[0], tree.flatten(expected)[0], strict=True):
        assert np.shape(g) == np.shape(e)
        np.testing.assert_allclose(g, e, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", NAMES)
def test_value(name: str) -> None:
    ours, theirs, args = FUNCTIONS[name]
    assert_same(ours(*args), theirs(*args))


@pytest.mark.parametrize("name", NAMES)
def test_both_modes_agree_with_differences(name: str) -> None:
    ours, _, args = FUNCTIONS[name]
    check_gradient(ours, *args)


@pytest.mark.parametrize("name", NAMES)
def test_second_order_agrees_with_differences(name: str) -> None:
    ours, _, args = FUNCTIONS[name]
    check_gradient(slopes(ours, args), *args)


@pytest.mark.parametrize("name", NAMES)
def test_hessian_is_symmetric(name: str) -> None:
    ours, _, args = FUNCTIONS[name]
    x = args[0]
    h = hessian(lambda a: scalar(ours)(a, *args[1:]))(x).reshape(x.size, x.size)
    np.testing.assert_allclose(h, h.T, atol=1e-9 * np.max(np.abs(h)))
    v = np.random.default_rng(1).standard_normal(x.shape)
    product = hvp(lambda a: scalar(ours)(a, *args[1:]))(x, v)
    np.testing.assert_allclose(product.ravel(), h @ v.ravel(), rtol=1e-8, atol=1e-9 * np.max(np.abs(h)))


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_a_loop(name: str) -> None:
    ours, _, args = FUNCTIONS[name]
    scales = np.array([0.9, 1.1, 1.3]).reshape(3, 1, 1, 1)
    many = tuple(np.concatenate([scales * a] * 2, axis=1) for a in args)  # (3, 2, m, n)
    singles = [[ours(*(a[i, j] for a in many)) for j in range(2)] for i in range(3)]
    leaves = [[[np.asarray(y) for y in tree.flatten(s)[0]] for s in row] for row in singles]
    for k, y in enumerate(tree.flatten(ours(*many))[0]):
        expected = np.stack([np.stack([one[k] for one in row]) for row in leaves])
        np.testing.assert_allclose(y, expected, rtol=1e-11, atol=1e-12)
    by_loop = [[slopes(ours, args)(*(a[i, j] for a in many)) for j in range(2)] for i in range(3)]
    for k, bar in enumerate(slopes(ours, args)(*many)):
        expected = np.stack([np.stack([one[k] for one in row]) for row in by_loop])
        np.testing.assert_allclose(bar, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("name", NAMES)
def test_compiled(name: str, backend: str) -> None:
    ours, _, args = FUNCTIONS[name]
    assert_same(compile(ours, backend=backend)(*args), ours(*args))
    bars = slopes(ours, args)
    assert_same(compile(bars, backend=backend)(*args), bars(*args))

    def second(*xs: Any) -> Any:
        return pushforward(bars, *xs)(*xs)

    assert_same(compile(second, backend=backend)(*args), second(*args), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_float32(name: str) -> None:
    ours, _, args = FUNCTIONS[name]
    small = tuple(a.astype(np.float32) for a in args)
    got, exact = ours(*small), ours(*args)
    for g, e in zip(tree.flatten(got)[0], tree.flatten(exact)[0], strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, e, rtol=2e-4, atol=2e-4 * np.max(np.abs(e)))  # single rounding, condition ~ 1e2
    for bars in (slopes(ours, args)(*small), compile(slopes(ours, args))(*small)):
        for g, e in zip(bars, slopes(ours, args)(*args), strict=True):
            assert g.dtype == np.float32
            np.testing.assert_allclose(g, e, rtol=2e-3, atol=2e-3 * np.max(np.abs(e)))


@pytest.mark.parametrize("name", NAMES)
def test_one_by_one(name: str) -> None:
    ours, theirs, args = FUNCTIONS[name]
    small = tuple(np.full((1, 1), 0.8) for _ in args)
    assert_same(ours(*small), theirs(*small))
    check_gradient(ours, *small)
    check_gradient(slopes(ours, small), *small)


@pytest.mark.parametrize("name", NAMES)
def test_empty(name: str) -> None:
    ours, _, args = FUNCTIONS[name]
    empty = tuple(np.zeros((0, 0)) for _ in args)
    for bars in (slopes(ours, args)(*empty), compile(slopes(ours, args))(*empty)):
        assert [b.shape for b in bars] == [(0, 0)] * len(args)
    assert linalg.det(np.zeros((0, 0))) == 1.0
    nothing = tuple(np.zeros((0, *a.shape)) for a in args)
    assert [b.shape for b in slopes(ours, args)(*nothing)] == [n.shape for n in nothing]


# NumPy's names


NUMPY: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cholesky": (lambda a: np.linalg.cholesky(full(a)), (SPREAD,)),
    "cholesky_upper": (lambda a: np.linalg.cholesky(full(a), upper=True), (SPREAD,)),
    "solve": (np.linalg.solve, (SQUARE, VECTOR)),
    "inv": (np.linalg.inv, (SQUARE,)),
    "det": (np.linalg.det, (SQUARE,)),
    "slogdet": (lambda a: np.linalg.slogdet(a).logabsdet, (SQUARE,)),
    "eigh": (lambda a: fixed_signs(np.linalg.eigh(full(a), UPLO="U")), (SPREAD,)),
    "eigvalsh": (lambda a: np.linalg.eigvalsh(full(a)), (SPREAD,)),
    "qr": (lambda a: tuple(np.linalg.qr(a)), (TALL,)),
    "qr_r": (lambda a: np.linalg.qr(a, mode="r"), (TALL,)),
    "svd": (lambda a: fixed_signs(np.linalg.svd(a, full_matrices=False)), (TALL,)),
    "svd_values": (lambda a: np.linalg.svd(a, compute_uv=False), (WIDE,)),
    "svdvals": (np.linalg.svdvals, (WIDE,)),
    "lstsq": (lambda a, b: [x for x in np.linalg.lstsq(a, b)[:2]], (TALL, rng.standard_normal(5))),
    "lstsq_columns": (lambda a, b: [*np.linalg.lstsq(a, b)[:2]], (TALL, rng.standard_normal((5, 2)))),
    "pinv": (np.linalg.pinv, (TALL,)),
    "multi_dot": (lambda a, b, c: np.linalg.multi_dot([a, b, c]), (VECTOR, COLUMNS, TALL.T[:2])),
    "multi_dot_vector": (lambda a, b, c: np.linalg.multi_dot([a, b, c]), (TALL, WIDE, rng.standard_normal(5))),
    "matrix_power": (lambda a: np.linalg.matrix_power(a, 3), (SQUARE,)),
    "zeroth_power": (lambda a: np.linalg.matrix_power(a, 0), (SQUARE,)),
    "matrix_transpose": (np.linalg.matrix_transpose, (TALL,)),
    "matmul": (np.linalg.matmul, (SQUARE, COLUMNS)),
    "outer": (np.linalg.outer, (VECTOR, VECTOR + 1.0)),
    "tensordot": (lambda a, b: np.linalg.tensordot(a, b, axes=1), (SQUARE, COLUMNS)),
    "vecdot": (lambda a, b: np.linalg.vecdot(a, b, axis=0), (SQUARE, FACTOR)),
    "trace": (np.linalg.trace, (np.stack([SQUARE, FACTOR]),)),
    "diagonal": (np.linalg.diagonal, (np.stack([SQUARE, FACTOR]),)),
    "kron": (np.kron, (TALL, VECTOR)),
    "kron_3d": (np.kron, (rng.standard_normal((2, 3, 2)), TALL)),
    "norm_nuc": (lambda a: np.linalg.norm(a, "nuc"), (TALL,)),
    "norm_2": (lambda a: np.linalg.norm(a, 2, axis=(2, 0)), (rng.standard_normal((3, 2, 4)),)),
    "norm_-2": (lambda a: np.linalg.norm(a, -2, keepdims=True), (TALL,)),
    "norm_1": (lambda a: np.linalg.norm(a, 1), (TALL,)),
    "norm_inf": (lambda a: np.linalg.norm(a, np.inf, axis=(0, 2), keepdims=True), (rng.standard_normal((3, 2, 4)),)),
    "norm_-1": (lambda a: np.linalg.norm(a, -1, axis=(2, 1)), (rng.standard_normal((3, 2, 4)),)),
    "norm_fro": (lambda a: np.linalg.norm(a, "fro"), (TALL,)),
    "matrix_norm": (np.linalg.matrix_norm, (np.stack([SQUARE, FACTOR]),)),
    "matrix_norm_nuc": (lambda a: np.linalg.matrix_norm(a, ord="nuc", keepdims=True), (np.stack([SQUARE, FACTOR]),)),
    "vector_norm": (lambda a: np.linalg.vector_norm(a, axis=-1), (TALL,)),
    "vector_norm_all": (lambda a: np.linalg.vector_norm(a, ord=1, keepdims=True), (TALL,)),
}


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_names(name: str) -> None:
    f, args = NUMPY[name]
    check_gradient(f, *args)
    assert_same(compile(f, backend="numpy")(*args), f(*args))
    assert_same(compile(slopes(f, args))(*args), slopes(f, args)(*args))


def test_lstsq_rank_and_singular_values() -> None:
    def f(a: Any) -> Any:
        _, residuals, rank, s = np.linalg.lstsq(a, np.ones(5))
        return np.sum(s) + 0.0 * np.sum(residuals), rank

    deficient = np.stack([TALL[:, 0], TALL[:, 0], TALL[:, 1]], axis=1)
    assert compile(f)(TALL)[1] == 3
    assert compile(f)(deficient)[1] == np.linalg.lstsq(deficient, np.ones(5))[2] == 2


def test_named_results() -> None:
    assert linalg.eigh(SPREAD).eigenvalues.shape == (3,)
    assert linalg.slogdet(-np.eye(3)) == (-1.0, 0.0)
    assert linalg.qr(TALL).Q.shape == (5, 3)
    assert linalg.svd(WIDE).Vh.shape == (3, 5)
    assert type(compile(np.linalg.qr)(TALL)).__name__ == "QRResult"


def test_integers_and_lists_are_taken() -> None:
    assert linalg.cholesky([[4, 0], [0, 9]]).tolist() == [[2.0, 0.0], [0.0, 3.0]]
    assert compile(np.linalg.inv)(np.array([[2, 0], [0, 4]])).tolist() == [[0.5, 0.0], [0.0, 0.25]]
    slope = gradient(lambda x: linalg.det([[x, 2.0 * x], [1.0, x]]), 3.0)
    np.testing.assert_allclose(slope, (4.0,), rtol=1e-14)


# The convention for symmetric matrices


@pytest.mark.parametrize(
    "f", [linalg.logdet, lambda a: np.sum(linalg.eigvalsh(a) ** 3), lambda a: linalg.cholesky(a)[2, 1]]
)
def test_gradients_in_symmetric_matrices_are_symmetric(f: Callable[[Any], Any]) -> None:
    lower = np.tril(SPREAD)  # the upper triangle is not read
    (a_bar,) = gradient(f, lower)
    np.testing.assert_array_equal(a_bar, a_bar.T)
    np.testing.assert_allclose(a_bar, gradient(lambda a: f(full(a)), SPREAD)[0], atol=1e-13)
    np.testing.assert_allclose(gradient(f, SPREAD)[0], a_bar, atol=1e-13)


def test_gradient_of_logdet_is_the_inverse() -> None:
    np.testing.assert_allclose(gradient(linalg.logdet, SPREAD)[0], np.linalg.inv(SPREAD), rtol=1e-12)


def test_a_shared_element_gets_both_entries() -> None:
    def f(rho: Any) -> Any:
        return linalg.logdet(np.stack([np.stack([1.0, rho]), np.stack([rho, 1.0])]))

    np.testing.assert_allclose(gradient(f, 0.6)[0], -2 * 0.6 / (1 - 0.36), rtol=1e-14)  # log(1 - rho ** 2)


# Ties and singular matrices


def test_functions_of_eigenvalues_at_ties() -> None:
    slope = gradient(lambda a: np.sum(linalg.eigvalsh(a) ** 2), 2.0 * np.eye(3))[0]
    np.testing.assert_allclose(slope, 4.0 * np.eye(3), atol=1e-14)
    for a in (np.eye(4), np.ones((4, 4)), np.zeros((4, 4)), np.diag([1.0, 1.0 + 1e-16, 2.0, 2.0])):
        for f in (lambda a: np.sum(np.sin(linalg.eigvalsh(a))), lambda a: linalg.eigvalsh(a)[0]):
            assert np.isfinite(gradient(f, a)[0]).all()
            assert np.isfinite(hessian(f)(a)).all()


def test_projectors_at_ties() -> None:
    """What does not depend on the choice of vectors within a tie has the right gradient."""

    def largest(a: Any) -> Any:  # the elements of the projector on the largest eigenvalue's vector
        v = linalg.eigh(full(a)).eigenvectors[:, -1]
        return v[:, None] * v[None, :]

    q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    check_gradient(largest, q @ np.diag([1.0, 1.0, 1.0, 3.0]) @ q.T)


def test_singular_values_at_ties_and_zero() -> None:
    np.testing.assert_allclose(gradient(lambda a: np.sum(linalg.svdvals(a)), np.eye(3))[0], np.eye(3), atol=1e-15)
    for a in (np.zeros((3, 2)), np.ones((2, 3)), np.eye(3)):
        for part in range(3):
            bar = gradient(lambda a, part=part: np.sum(np.sin(linalg.svd(a)[part])), a)[0]
            assert np.isfinite(bar).all()


SINGULAR = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])


@pytest.mark.parametrize("a", [SINGULAR, np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0]), np.zeros((3, 3)), np.eye(3)])
def test_det_of_singular_matrices(a: np.ndarray) -> None:
    def expanded(a: Any) -> Any:
        return np.sum(
            a[0]
            * np.stack(
                [a[1, (k + 1) % 3] * a[2, (k + 2) % 3] - a[1, (k + 2) % 3] * a[2, (k + 1) % 3] for k in range(3)]
            )
        )

    np.testing.assert_allclose(gradient(linalg.det, a)[0], gradient(expanded, a)[0], atol=1e-13)
    np.testing.assert_allclose(hessian(linalg.det)(a), hessian(expanded)(a), atol=1e-13)


def test_third_derivative_of_det() -> None:
    check_gradient(lambda a, h: apply(COFACTORS_DOT, a, h), SQUARE, FACTOR)
    a = np.stack([SQUARE, FACTOR])
    check_gradient(slopes(lambda a, h: apply(COFACTORS_DOT, a, h), (a, a)), a, a)


def test_slogdet_of_a_singular_matrix() -> None:
    zeros = np.zeros((2, 2))
    assert linalg.slogdet(zeros) == (0.0, -np.inf)
    assert np.isnan(gradient(lambda a: linalg.slogdet(a).logabsdet, zeros)[0]).all()


def test_pinv_and_lstsq_of_deficient_rank() -> None:
    left, right = rng.standard_normal((5, 2)), rng.standard_normal((2, 3))
    check_gradient(lambda x, y: linalg.pinv(x @ y), left, right)  # the rank stays 2
    b = rng.standard_normal(5)
    np.testing.assert_allclose(linalg.lstsq(left @ right, b), np.linalg.lstsq(left @ right, b)[0], rtol=1e-10)


def test_expm_of_a_rotation() -> None:
    def turned(angle: Any) -> Any:
        return linalg.expm(angle * np.array([[0.0, -1.0], [1.0, 0.0]]))

    expected = np.array([[-np.sin(0.7), -np.cos(0.7)], [np.cos(0.7), -np.sin(0.7)]])
    np.testing.assert_allclose(jacobian(turned)(0.7), expected, rtol=1e-14)
    np.testing.assert_allclose(jacobian(jacobian(turned))(0.7), -turned(0.7), rtol=1e-13)


def test_a_nan_stays_a_nan() -> None:
    a = np.full((2, 2), np.nan)
    for f in (linalg.inv, linalg.det, linalg.expm):
        with np.errstate(invalid="ignore"):  # LAPACK says so, too
            assert np.isnan(f(a)).all()


# Failure

INDEFINITE = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -1.0]])
MINOR = "the matrix is not positive definite: its leading minor of order 3 is not positive."


@pytest.mark.parametrize(
    "f",
    [
        linalg.cholesky,
        linalg.logdet,
        lambda a: gradient(linalg.logdet, a),
        lambda a: gradient(lambda b: np.linalg.cholesky(b)[0, 0], a),
    ],
)
def test_not_positive_definite(f: Callable[[Any], Any]) -> None:
    with pytest.raises(LinAlgError) as error:
        f(INDEFINITE)
    assert str(error.value).split(": ", 1)[1].startswith(MINOR)
    assert str(error.value).split(": ")[0] in ("cholesky", "logdet")
    assert isinstance(error.value, ProbdiffError)
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, np.linalg.LinAlgError)


def test_not_positive_definite_in_a_batch() -> None:
    batch = np.stack([[np.eye(3), np.eye(3)], [np.eye(3), INDEFINITE]])
    text = r"^cholesky: matrix \(1, 1\) of the batch is not positive definite: its leading minor of order 3 is not"
    with pytest.raises(LinAlgError, match=text):
        linalg.cholesky(batch)


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_compiled_programs_have_nan_instead(backend: str) -> None:
    batch = np.stack([np.eye(3), INDEFINITE])
    values = compile(linalg.logdet, backend=backend)(batch)
    assert values[0] == 0.0
    assert np.isnan(values[1])
    bar = compile(grad(lambda a: np.sum(linalg.logdet(a))), backend=backend)(batch)
    np.testing.assert_allclose(bar[0], np.eye(3))
    assert np.isnan(bar[1]).any()
    b = np.ones(3)
    for f in (np.linalg.inv, lambda a: np.linalg.solve(a, b), lambda a: linalg.solve_triangular(a, b)):
        assert np.isnan(compile(f, backend=backend)(np.zeros((3, 3)))).all()
    for f in (np.linalg.eigvalsh, np.linalg.svdvals, np.linalg.pinv):
        assert np.isnan(compile(f, backend=backend)(np.full((3, 3), np.nan))).all()


def test_quiet_ends() -> None:
    with quiet():
        assert np.isnan(linalg.inv(np.zeros((2, 2)))).all()
    with pytest.raises(LinAlgError):
        linalg.inv(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda: linalg.inv(SINGULAR * 0.0), "inv: the matrix is singular. pinv takes matrices without an inverse."),
        (lambda: linalg.inv(np.zeros((2, 1, 1))), "inv: matrix (0,) of the batch is singular."),
        (lambda: linalg.solve(np.zeros((2, 2)), np.ones(2)), "solve: the matrix is singular."),
        (
            lambda: linalg.solve_triangular(np.diag([1.0, 0.0]), np.ones(2)),
            "solve_triangular: the matrix is singular. Its diagonal has a zero.",
        ),
        (lambda: linalg.eigh(np.full((2, 2), np.nan)), "eigh: the matrix has elements that are not finite."),
    ],
)
def test_singular(f: Callable[[], Any], text: str) -> None:
    with pytest.raises(LinAlgError) as error:
        f()
    assert str(error.value).startswith(text)


@pytest.mark.parametrize(
    ("f", "kind", "text"),
    [
        (
            lambda: linalg.cholesky(TALL),
            ShapeError,
            "cholesky needs a square matrix (or a batch of them), got shape (5, 3).",
        ),
        (lambda: linalg.det(VECTOR), ShapeError, "det needs a matrix (or a batch of them), got shape (4,)."),
        (
            lambda: compile(np.linalg.det)(TALL),
            ShapeError,
            "det needs a square matrix (or a batch of them), got shape (5, 3).",
        ),
        (lambda: compile(np.linalg.solve)(SQUARE, TALL), ShapeError, "solve got shapes (4, 4) and (5, 3)."),
        (lambda: linalg.lstsq(SQUARE, TALL), ShapeError, "lstsq got shapes (4, 4) and (5, 3)."),
        (lambda: linalg.multi_dot([TALL, TALL]), ShapeError, "multi_dot got shapes (5, 3), (5, 3)."),
        (lambda: linalg.multi_dot([TALL]), ParameterError, "multi_dot.arrays must hold two or more arrays, got 1"),
        (lambda: compile(np.linalg.svd)(TALL), UnsupportedError, "Use full_matrices=False."),
        (lambda: compile(lambda a: np.linalg.qr(a, mode="complete"))(TALL), UnsupportedError, "Use 'reduced' or 'r'."),
        (lambda: compile(np.linalg.eig)(SQUARE), UnsupportedError, "numpy.linalg.eig has no derivative rule."),
    ],
)
def test_refused(f: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as error:
        f()
    assert text in str(error.value)
