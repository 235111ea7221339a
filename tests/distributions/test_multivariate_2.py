"""Vectors and matrices: densities against SciPy and closed forms, slopes, moments, draws, batches, models."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import sparse, stats

from probdiff import check_gradient, compile, gradient, sample, value_and_grad
from probdiff.distributions import (
    CAR,
    ICAR,
    Dirichlet,
    DirichletMultinomial,
    Gamma,
    Graph,
    HalfNormal,
    InverseGamma,
    InverseWishart,
    InverseWishartCholesky,
    LogisticNormal,
    LogNormal,
    LowRankMvNormal,
    MatrixNormal,
    MatrixT,
    Multinomial,
    MvNormal,
    MvStudentT,
    Normal,
    StudentT,
    Wishart,
    WishartCholesky,
    ZeroSumNormal,
)
from probdiff.errors import ParameterError, ShapeError
from probdiff.models import Joint, Posterior
from probdiff.tree import flatten, unflatten
from tests.distributions.case import REFERENCE

LOC = np.array([0.5, -1.0, 2.0])
FACTOR = np.array([[1.2, 0.0, 0.0], [0.4, 0.8, 0.0], [-0.3, 0.5, 1.5]])
SCALE = FACTOR @ FACTOR.T
PRECISION = np.linalg.inv(SCALE)
WIDE = np.array([[0.7, 0.0], [-0.4, 1.1]])
MEAN = np.array([[0.1, 1.0], [-0.5, 0.3], [2.0, 0.0]])
LOADINGS = np.array([[1.0, 0.2], [-0.5, 0.7], [0.3, 2.0]])
P = np.array([0.1, 0.3, 0.6])
RING = np.array([[0, 1, 0, 1, 1], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 1, 0, 0], [1, 0, 0, 0, 0]], dtype=float)
GRAPH = Graph(RING)
NODES = np.array([0.3, -0.2, 0.1, 0.5, -0.7])
COUNT = 20000


def tril(a: Any) -> Any:
    return np.tril(a)


# Each a distribution as a function of its real parameters, with their values.
FAMILIES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "MvNormal": (lambda m, L: MvNormal(m, tril(L)), (LOC, FACTOR)),
    "MvNormal by precision_tril": (lambda m, L: MvNormal(m, precision_tril=tril(L)), (LOC, FACTOR)),
    "MvNormal by scale_diag": (lambda m, s: MvNormal(m, scale_diag=s), (LOC, np.array([0.5, 1.0, 3.0]))),
    "MvStudentT": (lambda df, m, L: MvStudentT(df, m, tril(L)), (5.5, LOC, FACTOR)),
    "MvStudentT by precision_tril": (lambda df, m, L: MvStudentT(df, m, precision_tril=tril(L)), (9.0, LOC, FACTOR)),
    "MvStudentT by scale_diag": (lambda df, m, s: MvStudentT(df, m, scale_diag=s), (6.0, LOC, np.array([0.5, 1.0, 3]))),
    "LowRankMvNormal": (LowRankMvNormal, (LOC, LOADINGS, np.array([0.5, 0.1, 1.0]))),
    "Multinomial": (lambda p: Multinomial(12, p / np.sum(p, axis=-1, keepdims=True)), (P,)),
    "Multinomial by logits": (lambda z: Multinomial(40, logits=z), (np.log(P),)),
    "DirichletMultinomial": (lambda a: DirichletMultinomial(12, a), (np.array([0.3, 2.0, 5.0]),)),
    "Wishart": (lambda df, L: Wishart(df, tril(L)), (7.5, FACTOR)),
    "WishartCholesky": (lambda df, L: WishartCholesky(df, tril(L)), (4.5, FACTOR)),
    "InverseWishart": (lambda df, L: InverseWishart(df, tril(L)), (12.5, FACTOR)),
    "InverseWishartCholesky": (lambda df, L: InverseWishartCholesky(df, tril(L)), (6.5, FACTOR)),
    "MatrixNormal": (lambda m, L, R: MatrixNormal(m, tril(L), tril(R)), (MEAN, FACTOR, WIDE)),
    "MatrixT": (lambda df, m, L, R: MatrixT(df, m, tril(L), tril(R)), (9.0, MEAN, FACTOR, WIDE)),
    "ZeroSumNormal": (lambda s: ZeroSumNormal(4, s), (1.7,)),
    "CAR": (lambda m, a, s: CAR(m, GRAPH, a, s), (NODES, 0.8, 1.3)),
    "ICAR": (lambda s: ICAR(GRAPH, s), (1.3,)),
    "LogisticNormal": (lambda m, L: LogisticNormal(m, tril(L)), (LOC, FACTOR)),
}
each_family = pytest.mark.parametrize("name", FAMILIES)


def member(name: str) -> Any:
    make, values = FAMILIES[name]
    return make(*values)


# ── Densities ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_densities_of_scipy() -> None:
    rng = np.random.default_rng(1)
    low_rank = LOADINGS @ LOADINGS.T + np.diag([0.5, 0.1, 1.0])
    diagonal = np.array([0.5, 1.0, 3.0])
    precise = np.linalg.inv(SCALE)
    pairs = [
        (MvNormal(LOC, FACTOR), stats.multivariate_normal(LOC, SCALE)),
        (MvNormal(LOC, covariance=SCALE), stats.multivariate_normal(LOC, SCALE)),
        (MvNormal(LOC, precision=SCALE), stats.multivariate_normal(LOC, precise)),
        (MvNormal(LOC, precision_tril=FACTOR), stats.multivariate_normal(LOC, precise)),
        (MvNormal(LOC, scale_diag=diagonal), stats.multivariate_normal(LOC, np.diag(diagonal**2))),
        (MvStudentT(3.5, LOC, FACTOR), stats.multivariate_t(LOC, SCALE, 3.5)),
        (MvStudentT(3.5, LOC, scale_matrix=SCALE), stats.multivariate_t(LOC, SCALE, 3.5)),
        (MvStudentT(3.5, LOC, precision=SCALE), stats.multivariate_t(LOC, precise, 3.5)),
        (MvStudentT(3.5, LOC, scale_diag=diagonal), stats.multivariate_t(LOC, np.diag(diagonal**2), 3.5)),
        (LowRankMvNormal(LOC, LOADINGS, [0.5, 0.1, 1.0]), stats.multivariate_normal(LOC, low_rank)),
    ]
    for d, reference in pairs:
        x = d.rand((2, 3), rng=rng)
        assert d.logpdf(x) == pytest.approx(reference.logpdf(x), rel=1e-12)
        assert d.logpdf(x[0, 0]) == pytest.approx(reference.logpdf(x[0, 0]), rel=1e-12)
        assert d.entropy() == pytest.approx(reference.entropy(), rel=1e-12)
    matrix = stats.matrix_normal(MEAN, SCALE, WIDE @ WIDE.T)
    student = stats.matrix_t(MEAN, SCALE, WIDE @ WIDE.T, 3.3)
    for normal, t in (
        (MatrixNormal(MEAN, FACTOR, WIDE), MatrixT(3.3, MEAN, FACTOR, WIDE)),
        (
            MatrixNormal(MEAN, row_covariance=SCALE, column_covariance=WIDE @ WIDE.T),
            MatrixT(3.3, MEAN, row_scale=SCALE, column_scale=WIDE @ WIDE.T),
        ),
    ):
        x = normal.rand(rng=rng)
        assert normal.logpdf(x) == pytest.approx(matrix.logpdf(x), rel=1e-12)
        assert normal.entropy() == pytest.approx(matrix.entropy(), rel=1e-12)
        assert t.logpdf(x) == pytest.approx(student.logpdf(x), rel=1e-12)
        turned = MatrixT(3.3, MEAN.T, t.scale_tril_column, t.scale_tril_row)
        assert turned.logpdf(x.T) == pytest.approx(student.logpdf(x), rel=1e-12)


def test_densities_of_other_programs() -> None:
    """Stan's Wishart and inverse Wishart, and the multivariate t of R's mvtnorm."""
    rows = json.loads((REFERENCE / "multivariate.json").read_text())["multivariate"]
    makers = {
        "Wishart": lambda df, scale: Wishart(df, scale=scale),
        "InverseWishart": lambda df, scale: InverseWishart(df, scale=scale),
        "MvTDist": lambda df, mu, scale: MvStudentT(df, mu, scale_matrix=scale),
    }
    used = [row for row in rows if row["dist"] in makers]
    assert len(used) == 11
    for row in used:
        d = makers[row["dist"]](**row["params"])
        assert d.logpdf(row["x"]) == pytest.approx(row["logpdf"], rel=1e-13)


def exact_multinomial(x: Any, p: Any) -> float:
    with mp.workdps(60):
        terms = [int(k) * mp.log(mp.mpf(float(q))) - mp.loggamma(int(k) + 1) for k, q in zip(x, p, strict=True) if k]
        return float(mp.loggamma(int(np.sum(x)) + 1) + mp.fsum(terms))


@pytest.mark.parametrize(
    "x", [[1, 1, 3], [0, 0, 5], [0, 0, 0], [120, 260, 620], [5, 12, 13], [10, 0, 10**8], [10**9, 3 * 10**9, 6 * 10**9]]
)
def test_multinomial_is_exact(x: list[int]) -> None:
    n = sum(x)
    # The last digits of p move x log p: one rounding of n.
    slack = 1e-14 + 4e-16 * n
    assert Multinomial(n, P).logpdf(x) == pytest.approx(exact_multinomial(x, P), rel=1e-12, abs=slack)
    by_logits = Multinomial(n, logits=np.log(P) + 3.0)
    assert by_logits.logpdf(x) == pytest.approx(exact_multinomial(x, P), rel=1e-12, abs=4 * slack)
    slope = gradient(lambda p: Multinomial(n, p).logpdf(x), P)[0]
    np.testing.assert_allclose(slope, np.array(x) / P, rtol=1e-13, atol=1e-16 * n)


@pytest.mark.parametrize("a", [[0.3, 2.0, 5.0], [1e-8, 1e-3, 1.0], [1e7, 3e7, 6e7]])
@pytest.mark.parametrize("x", [[1, 1, 3], [0, 0, 5], [0, 0, 0], [120, 260, 620], [0, 10**6, 1]])
def test_dirichlet_multinomial_is_exact(a: list[float], x: list[int]) -> None:
    n = sum(x)
    with mp.workdps(60):
        parts = [(mp.mpf(v), int(k)) for v, k in zip(a, x, strict=True)]
        total = mp.fsum(v for v, _ in parts)
        ratios = [mp.loggamma(k + v) - mp.loggamma(v) - mp.loggamma(k + 1) for v, k in parts]
        exact = mp.loggamma(n + 1) + mp.loggamma(total) - mp.loggamma(n + total) + mp.fsum(ratios)
    # Each factor is a log beta of the size of its count times the log of n.
    slack = 1e-13 + 1e-14 * n
    assert DirichletMultinomial(n, a).logpdf(x) == pytest.approx(float(exact), rel=1e-12, abs=slack)


def test_masses_add_up() -> None:
    x = np.array([[i, j, 6 - i - j] for i in range(7) for j in range(7 - i)])
    for d in (Multinomial(6, P), Multinomial(6, logits=[0.0, -1.0, 2.0]), DirichletMultinomial(6, [0.3, 2.0, 5.0])):
        mass = d.pdf(x)
        assert np.sum(mass) == pytest.approx(1.0, rel=1e-13)
        np.testing.assert_allclose(mass @ x, d.mean(), rtol=1e-12)
        np.testing.assert_allclose(np.einsum("i,ij,ik->jk", mass, x, x), d.cov() + np.outer(d.mean(), d.mean()), 1e-11)
        np.testing.assert_allclose(np.diagonal(d.cov()), d.var(), rtol=1e-13)


def test_small_cases_are_known_families() -> None:
    x = 0.7
    one = [[x]]
    assert Wishart(3.5, [[1.5]]).logpdf(one) == pytest.approx(Gamma(1.75, 4.5).logpdf(x), rel=1e-13)
    assert InverseWishart(3.5, [[1.5]]).logpdf(one) == pytest.approx(InverseGamma(1.75, 1.125).logpdf(x), rel=1e-13)
    assert InverseWishart(3.5, [[1.5]]).entropy() == pytest.approx(InverseGamma(1.75, 1.125).entropy(), rel=1e-12)
    assert Wishart(3.5, [[1.5]]).entropy() == pytest.approx(Gamma(1.75, 4.5).entropy(), rel=1e-12)
    chi = WishartCholesky(3.5, [[1.5]]).logpdf([[math.sqrt(x)]])
    assert chi == pytest.approx(Gamma(1.75, 4.5).logpdf(x) + math.log(2 * math.sqrt(x)), rel=1e-13)
    assert MvStudentT(2.5, [0.5], [[2.0]]).logpdf([x]) == pytest.approx(StudentT(2.5, 0.5, 2.0).logpdf(x), rel=1e-13)
    assert ZeroSumNormal(2, 2.0).logpdf([x, -x]) == pytest.approx(Normal(0.0, math.sqrt(2.0)).logpdf(x), rel=1e-13)
    # A matrix of one column is a multivariate t, whose scale is not divided by the degrees of freedom.
    column = MatrixT(3.0, LOC[:, None], FACTOR, [[1.0]]).logpdf(np.ones((3, 1)))
    assert column == pytest.approx(MvStudentT(3.0, LOC, FACTOR / math.sqrt(3.0)).logpdf(np.ones(3)), rel=1e-13)
    # Of two proportions, the log-ratio is the logit.
    ratio = math.log(x / (1 - x))
    expected = Normal(0.5, 1.2).logpdf(ratio) - math.log(x * (1 - x))
    assert LogisticNormal([0.5], [[1.2]]).logpdf([x, 1 - x]) == pytest.approx(expected, rel=1e-13)


def test_limits_of_the_multivariate_t() -> None:
    x = np.array([[0.0, 1.0, 2.0], [30.0, -1.0, 2.0]])
    normal = MvNormal(LOC, FACTOR).logpdf(x)
    np.testing.assert_array_equal(MvStudentT(math.inf, LOC, FACTOR).logpdf(x), normal)
    # The first correction is a square of the distance over the degrees of freedom.
    np.testing.assert_allclose(MvStudentT(1e13, LOC, FACTOR).logpdf(x), normal, rtol=1e-8)
    below, above = (MvStudentT(df, LOC, FACTOR).entropy() for df in (99999.99, 100000.01))
    # A slope of 3 / df² between them: what is left is the neglected term of the expansion.
    assert below == pytest.approx(above, abs=1e-9)


def test_low_rank_does_not_cancel() -> None:
    """A factor that dwarfs the rest by 1e7: mpmath's density of the whole covariance."""
    loadings, d = 1e7 * LOADINGS, np.array([0.5, 0.1, 1.0])
    x = LOC + loadings @ np.array([0.3, -0.6]) + np.array([0.2, -0.4, 0.1])
    with mp.workdps(60):
        w, r = mp.matrix(loadings.tolist()), mp.matrix((x - LOC).tolist())
        covariance = w * w.T + mp.diag([mp.mpf(v) for v in d])
        exact = -((r.T * mp.lu_solve(covariance, r))[0] + mp.log(mp.det(covariance)) + 3 * mp.log(2 * mp.pi)) / 2
    # x itself has lost seven digits to the common part.
    assert LowRankMvNormal(LOC, loadings, d).logpdf(x) == pytest.approx(float(exact), rel=1e-7)


def test_factors_carry_the_jacobian() -> None:
    i, j = np.tril_indices(3)
    x = np.array([[0.8, 0.0, 0.0], [0.3, 1.4, 0.0], [-0.2, 0.6, 0.9]])

    def columns(h: float) -> list[Any]:
        changes = []
        for a, b in zip(i, j, strict=True):
            up, down = x.copy(), x.copy()
            up[a, b] += h
            down[a, b] -= h
            # Exact: the square is a polynomial of degree two.
            changes.append((up @ up.T - down @ down.T)[i, j] / (2 * h))
        return changes

    jacobian = np.linalg.slogdet(np.stack(columns(0.125)))[1]
    for matrix, factor in ((Wishart, WishartCholesky), (InverseWishart, InverseWishartCholesky)):
        expected = matrix(6.5, FACTOR).logpdf(x @ x.T) + jacobian
        assert factor(6.5, FACTOR).logpdf(x) == pytest.approx(expected, rel=1e-13)
        assert factor(6.5, scale=SCALE).logpdf(x) == pytest.approx(expected, rel=1e-13)
    inverse = np.linalg.inv(x @ x.T)
    # The inverse of a symmetric matrix has Jacobian |X|^(K + 1).
    expected = Wishart(6.5, scale=PRECISION).logpdf(inverse) - 4 * np.linalg.slogdet(x @ x.T)[1]
    assert InverseWishart(6.5, FACTOR).logpdf(x @ x.T) == pytest.approx(expected, rel=1e-12)


def test_autoregressions_are_normal() -> None:
    precision = np.diag(RING.sum(axis=0)) - 0.8 * RING
    reference = stats.multivariate_normal(NODES, 1.69 * np.linalg.inv(precision))
    x = reference.rvs(4, random_state=2)
    for adjacency in (RING, RING.astype(bool), RING.tolist(), sparse.csr_array(RING), GRAPH):
        d = CAR(NODES, adjacency, 0.8, 1.3)
        assert d.logpdf(x) == pytest.approx(reference.logpdf(x), rel=1e-12)
        assert d.entropy() == pytest.approx(reference.entropy(), rel=1e-12)
    np.testing.assert_allclose(d.cov(), reference.cov, rtol=1e-12)
    assert CAR(NODES, GRAPH, 0.8, precision=1 / 1.69).logpdf(x) == pytest.approx(reference.logpdf(x), rel=1e-12)
    opposed = CAR(NODES, 0.5 * RING, -0.6, 1.3)
    negative = 1.69 * np.linalg.inv(0.5 * np.diag(RING.sum(axis=0)) + 0.3 * RING)
    assert opposed.logpdf(x) == pytest.approx(stats.multivariate_normal(NODES, negative).logpdf(x), rel=1e-12)


def test_values_that_sum_to_zero() -> None:
    """Their densities are those of all values but one."""
    rng = np.random.default_rng(3)
    complete = Graph((np.ones((5, 5)) - np.eye(5)) / 5)
    for d in (ZeroSumNormal(5, 1.3), ICAR(RING, 1.3), ICAR(complete, 1.3)):
        x = d.rand(4, rng=rng)
        np.testing.assert_allclose(np.sum(x, axis=-1), 0.0, atol=1e-14)
        first = stats.multivariate_normal(np.zeros(4), d.cov()[:4, :4])
        assert d.logpdf(x) == pytest.approx(first.logpdf(x[:, :4]), rel=1e-12)
        assert d.entropy() == pytest.approx(first.entropy(), rel=1e-12)
    # Where all are neighbours of all, deviations from the mean are independent.
    assert d.logpdf(x) == pytest.approx(ZeroSumNormal(5, 1.3).logpdf(x), rel=1e-12)
    assert ICAR(RING, precision=1 / 1.69) == ICAR(RING, 1 / math.sqrt(1 / 1.69))
    # The generalised inverse of the precision.
    np.testing.assert_allclose(ICAR(RING).cov(), np.linalg.pinv(GRAPH.laplacian()), atol=1e-13)


def test_near_one_autocorrelation_does_not_cancel() -> None:
    """Equal values of neighbours: the quadratic form is 1 - alpha times the sum of squares, to the last digit."""
    alpha = 1 - 2.0**-40
    with mp.workdps(60):
        precision = mp.matrix((np.diag(RING.sum(axis=0))).tolist()) - mp.mpf(alpha) * mp.matrix(RING.tolist())
        constant = (mp.log(mp.det(precision)) - 5 * mp.log(2 * mp.pi)) / 2
    assert CAR(np.zeros(5), GRAPH, alpha).logpdf(np.zeros(5)) == pytest.approx(float(constant), rel=1e-14)
    level = CAR(np.zeros(5), GRAPH, alpha)
    difference = level.logpdf(np.zeros(5)) - level.logpdf(np.full(5, 2.0**20))
    assert difference == pytest.approx(0.5 * 2.0**-40 * 2.0**40 * RING.sum(), rel=1e-13)


def test_divergences() -> None:
    p, q = MvNormal(LOC, FACTOR), MvNormal(np.zeros(3), precision=SCALE)
    trace = np.trace(SCALE @ SCALE)
    expected = 0.5 * (trace + LOC @ SCALE @ LOC - 3) - np.linalg.slogdet(SCALE)[1]
    assert p.kl_divergence(q) == pytest.approx(expected, rel=1e-12)
    assert p.kl_divergence(MvNormal(LOC, precision=PRECISION)) == pytest.approx(0.0, abs=1e-13)
    diagonal = MvNormal(LOC, scale_diag=[1.0, 2.0, 3.0])
    each = [Normal(m, s).kl_divergence(Normal(0.0, 1.0)) for m, s in zip(LOC, [1.0, 2.0, 3.0], strict=True)]
    assert diagonal.kl_divergence(MvNormal(np.zeros(3), np.eye(3))) == pytest.approx(sum(each), rel=1e-13)
    batch = MvNormal(np.stack([LOC, np.zeros(3)]), FACTOR)
    np.testing.assert_allclose(batch.kl_divergence(q), [expected, expected - 0.5 * LOC @ SCALE @ LOC], rtol=1e-12)


# ── Slopes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def coordinates(d: Any) -> tuple[Any, Any]:
    """A value of `d`, and a way to move it that stays in the support."""
    x = np.asarray(d.rand(rng=np.random.default_rng(7)), dtype=float)
    if d.support.name in ("simplex", "sum_to_zero"):
        total = 1.0 if d.support.name == "simplex" else 0.0
        return x[:-1], lambda u: np.concatenate([u, np.expand_dims(total - np.sum(u), 0)])
    if d.support.name == "covariance_matrix":
        return x, lambda u: 0.5 * (u + u.T)
    return x, tril if d.support.name == "covariance_cholesky" else lambda u: u


@each_family
def test_slopes(name: str) -> None:
    make, values = FAMILIES[name]
    d = make(*values)
    u, place = coordinates(d)

    def logpdf(*at: Any) -> Any:
        return make(*at[1:]).logpdf(place(at[0]))

    at = [u, *(np.asarray(v, dtype=float) for v in values)]
    if d.support.discrete:
        check_gradient(lambda *rest: logpdf(u, *rest), *at[1:])
    else:
        check_gradient(logpdf, *at)
    order = tuple(range(1 if d.support.discrete else 0, len(at)))
    value, eager = value_and_grad(logpdf, argnums=order)(*at)
    native_value, native = compile(value_and_grad(logpdf, argnums=order))(*at)
    assert native_value == pytest.approx(value, rel=1e-12)
    for a, b in zip(native, eager, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_slopes_in_the_covariance_and_the_precision() -> None:
    x = np.array([0.3, 0.1, 1.0])
    r = x - LOC
    by_covariance = gradient(lambda s: MvNormal(LOC, covariance=s).logpdf(x), SCALE)[0]
    w = PRECISION @ r
    np.testing.assert_allclose(by_covariance, 0.5 * (np.outer(w, w) - PRECISION), rtol=1e-11, atol=1e-13)
    by_precision = gradient(lambda q: MvNormal(LOC, precision=q).logpdf(x), PRECISION)[0]
    np.testing.assert_allclose(by_precision, 0.5 * (SCALE - np.outer(r, r)), rtol=1e-11, atol=1e-13)
    by_scale = gradient(lambda v: Wishart(7.0, scale=v).logpdf(SCALE), 2 * SCALE)[0]
    expected = 0.5 * np.linalg.inv(2 * SCALE) @ (SCALE - 14 * SCALE) @ np.linalg.inv(2 * SCALE)
    np.testing.assert_allclose(by_scale, expected, rtol=1e-11, atol=1e-13)


# ── Moments and draws ───────────────────────────────────────────────────────────────────────────────────────────────


@each_family
def test_draws_have_the_moments(name: str) -> None:
    d = member(name)
    drawn = np.asarray(d.rand(COUNT, rng=np.random.default_rng(11)), dtype=float)
    assert np.all(d.support.contains(drawn))
    assert drawn.shape == (COUNT, *d.event_shape)
    # Five standard errors, as the draws themselves have them.
    if "mean" in type(d).__dict__:
        assert np.all(abs(np.mean(drawn, axis=0) - d.mean()) <= 5 * np.std(drawn, axis=0) / math.sqrt(COUNT) + 1e-12)
        squares = (drawn - d.mean()) ** 2
        assert np.all(abs(np.mean(squares, axis=0) - d.var()) <= 5 * np.std(squares, axis=0) / math.sqrt(COUNT) + 1e-12)
    if "cov" in type(d).__dict__:
        products = np.einsum("ni,nj->nij", drawn - d.mean(), drawn - d.mean())
        error = 5 * np.std(products, axis=0) / math.sqrt(COUNT) + 1e-12
        assert np.all(abs(np.mean(products, axis=0) - d.cov()) <= error)
    if "entropy" in type(d).__dict__:
        surprise = -d.logpdf(drawn)
        assert abs(np.mean(surprise) - d.entropy()) <= 5 * np.std(surprise) / math.sqrt(COUNT)


@each_family
def test_draws_have_the_density(name: str) -> None:
    """Weighted by the density ratio to a neighbour in the family, draws count one on average."""
    make, values = FAMILIES[name]
    d = make(*values)
    # Lighter or narrower, so that the ratio is bounded or nearly so.
    moved = tuple(0.97 * np.asarray(v) + (0.01 if np.ndim(v) < 2 else 0.0) for v in values)
    other = make(*moved)
    drawn = d.rand(COUNT, rng=np.random.default_rng(12))
    ratio = np.exp(other.logpdf(drawn) - d.logpdf(drawn))
    assert abs(np.mean(ratio) - 1) <= 5 * np.std(ratio) / math.sqrt(COUNT)


def test_draws_of_extreme_parameters() -> None:
    rng = np.random.default_rng(13)
    # All gammas of such shapes are zero as numbers: one label takes it all, each in its share.
    x = DirichletMultinomial(5, [1e-5, 3e-5]).rand(4000, rng=rng)
    assert np.all(np.max(x, axis=-1) == 5)
    assert abs(np.mean(x[:, 0] == 5) - 0.25) < 5 * math.sqrt(0.1875 / 4000)
    assert np.all(np.isfinite(MvStudentT(math.inf, LOC, FACTOR).rand(10, rng=rng)))
    n = 10**12
    counts = Multinomial(n, P).rand(rng=rng)
    assert np.sum(counts) == n and np.all(abs(counts - n * P) < 6 * np.sqrt(n * P))
    y = LogisticNormal([800.0, 0.0], np.eye(2)).rand(5, rng=rng)
    np.testing.assert_allclose(np.sum(y, axis=-1), 1.0, rtol=1e-14)


def test_invalid_traced_parameters() -> None:
    """No density and no slope, rather than an error, where a sampler wanders out."""
    for make, at in (
        (lambda df: Wishart(df, np.eye(3)).logpdf(np.eye(3)), 1.5),
        (lambda alpha: CAR(NODES, GRAPH, alpha).logpdf(np.ones(5)), 1.5),
        (lambda scale: ICAR(GRAPH, scale).logpdf(np.zeros(5)), -1.0),
    ):
        for derivative in (value_and_grad(make), compile(value_and_grad(make))):
            assert derivative(at) == (-math.inf, 0.0)


def test_modes_are_highest() -> None:
    rng = np.random.default_rng(14)
    for name in FAMILIES:
        d = member(name)
        if "mode" in type(d).__dict__:
            assert np.all(d.logpdf(d.rand(200, rng=rng)) <= d.logpdf(d.mode())), name
    assert np.all(np.isnan(Wishart(3.5, FACTOR).mode()))


def test_moments_that_do_not_exist() -> None:
    assert np.all(np.isnan(MvStudentT(1.0, LOC, FACTOR).mean()))
    assert np.all(np.isinf(MvStudentT(1.5, LOC, FACTOR).var()))
    assert np.all(np.isnan(MvStudentT(2.0, LOC, FACTOR).cov()))
    assert np.all(np.isnan(InverseWishart(4.0, FACTOR).mean()))
    assert np.all(np.isnan(InverseWishart(6.0, FACTOR).var()))
    assert np.all(np.isinf(MatrixT(1.5, MEAN, FACTOR, WIDE).var()))


# ── Containers and edges ────────────────────────────────────────────────────────────────────────────────────────────


@each_family
def test_batches_and_containers(name: str) -> None:
    make, values = FAMILIES[name]
    others = tuple(0.9 * np.asarray(v) for v in values)
    batch = make(*(np.stack([a, b]) for a, b in zip(values, others, strict=True)))
    one, two = make(*values), make(*others)
    assert (batch.batch_shape, batch.event_shape) == ((2,), one.event_shape)
    rng = np.random.default_rng(5)
    x = batch.rand(3, rng=rng)
    assert x.shape == (3, 2, *one.event_shape)
    expected = np.stack([one.logpdf(x[:, 0]), two.logpdf(x[:, 1])], axis=-1)
    np.testing.assert_allclose(batch.logpdf(x), expected, rtol=1e-11, atol=1e-12)
    for moment in ("mean", "var", "cov", "mode", "entropy"):
        if moment in type(one).__dict__:
            pair = np.stack([getattr(d, moment)() for d in (one, two)])
            np.testing.assert_allclose(getattr(batch, moment)(), pair, rtol=1e-12, atol=1e-13)
    leaves, spec = flatten(one)
    assert unflatten(spec, leaves) == one == pickle.loads(pickle.dumps(one))
    assert one != two and one != batch
    assert repr(one).startswith(type(one).__name__)
    assert one.iid(3).logpdf(x[:, 0]) == pytest.approx(np.sum(one.logpdf(x[:, 0])), rel=1e-12)
    assert one.logpdf(np.zeros((0, *one.event_shape))).shape == (0,)


@each_family
def test_outside(name: str) -> None:
    d = member(name)
    x = np.asarray(d.rand(rng=np.random.default_rng(6)), dtype=float)
    edges = [np.full(d.event_shape, math.nan), np.full(d.event_shape, math.inf)]
    if d.support.name not in ("real_vector", "real_matrix"):
        edges += [x + 1.0 if d.support.name != "covariance_matrix" else x - 1e3, np.ones(d.event_shape)]
    if d.support.discrete:
        edges += [x + 0.5 * (np.arange(3) - 1), x + np.array([-1000.0, 1000.0, 0.0])]
    for edge in edges:
        assert d.logpdf(edge) == -math.inf, edge
        np.testing.assert_array_equal(gradient(d.logpdf, edge)[0], 0.0)
    value, slope = compile(value_and_grad(d.logpdf))(edges[-1])
    assert value == -math.inf
    np.testing.assert_array_equal(slope, 0.0)
    with pytest.raises(ShapeError, match=f"^{type(d).__name__}: a value must have shape"):
        d.logpdf(np.zeros(7))


def test_edges_of_the_simplex() -> None:
    d = LogisticNormal(LOC, FACTOR)
    assert d.logpdf([0.0, 0.2, 0.3, 0.5]) == -math.inf
    np.testing.assert_array_equal(gradient(d.logpdf, np.array([0.0, 0.2, 0.3, 0.5]))[0], 0.0)
    # A label of no probability: with no counts it is not there.
    three, two = Multinomial(4, [0.4, 0.0, 0.6]), Multinomial(4, [0.4, 0.6])
    assert three.logpdf([1, 0, 3]) == pytest.approx(two.logpdf([1, 3]), rel=1e-14)
    assert three.logpdf([1, 1, 2]) == -math.inf
    assert Multinomial(40, [0.4, 0.0, 0.6]).logpdf([10, 20, 10]) == -math.inf
    forbidden = Multinomial(4, logits=[math.log(0.4), -math.inf, math.log(0.6)])
    assert forbidden.logpdf([1, 0, 3]) == pytest.approx(two.logpdf([1, 3]), rel=1e-14)


@pytest.mark.parametrize("name", [n for n in FAMILIES if "ultinomial" not in n])
def test_single_precision_stays(name: str) -> None:
    make, values = FAMILIES[name]
    x = make(*values).rand(rng=np.random.default_rng(4))
    single = make(*(np.asarray(v, np.float32)[()] for v in values)).logpdf(x.astype(np.float32))
    assert single.dtype == np.float32
    assert single == pytest.approx(make(*values).logpdf(x), rel=1e-4, abs=1e-4)


REFUSED = [
    (lambda: MvNormal(LOC), "MvNormal needs the parameter scale_tril or precision_tril or scale_diag"),
    (lambda: MvNormal(LOC, precision=-np.eye(3)), "MvNormal.precision must be symmetric and positive definite, got"),
    (lambda: MvStudentT(3.0, LOC[:2], FACTOR), "MvStudentT needs loc and its scale of one length, got"),
    (lambda: MvStudentT(0.0, LOC, FACTOR), "MvStudentT.df must be positive, got 0.0"),
    (lambda: LowRankMvNormal(LOC, LOADINGS[:2], LOC**2), "LowRankMvNormal needs loc, cov_diag and the rows of"),
    (lambda: Wishart(2.0, FACTOR), "Wishart needs df > K - 1 for K variables, got df=2.0"),
    (lambda: Multinomial(-1, P), "Multinomial.n must be a nonnegative integer, got -1"),
    (lambda: Multinomial(3, P, logits=P), "Multinomial takes p or logits, not both"),
    (lambda: MatrixNormal(MEAN, WIDE, FACTOR), "MatrixNormal needs scale_tril_row as high as loc and"),
    (lambda: ZeroSumNormal(0), "ZeroSumNormal.dim must be a positive integer, the number of variables, got 0"),
    (lambda: CAR(NODES, RING, 1.0), "CAR.alpha must be in (-1, 1), got 1.0"),
    (lambda: CAR(NODES[:3], RING, 0.5), "CAR: loc must have a value for each node, got 3 for 5"),
    (lambda: CAR(np.zeros(2), np.zeros((2, 2)), 0.5), "CAR.adjacency must give every node a neighbour, got none for"),
    (lambda: ICAR(np.kron(np.eye(2), [[0, 1], [1, 0]])), "ICAR.adjacency must connect all nodes, got 2 parts."),
    (lambda: Graph(np.eye(2)), "Graph: no node is its own neighbour, but node 0 is."),
    (lambda: Graph([[0, 1], [0, 0]]), "Graph: an adjacency matrix must be symmetric."),
    (lambda: Graph([[0, -1], [-1, 0]]), "Graph: weights must be nonnegative and finite, got -1.0"),
    (lambda: Graph([["a"]]), "Graph: an adjacency matrix must hold real numbers, got <U1"),
    (lambda: Graph(np.ones((2, 3))), "Graph: an adjacency matrix must be square, got shape (2, 3)"),
]


@pytest.mark.parametrize(("make", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(make: Any, text: str) -> None:
    with pytest.raises((ParameterError, ShapeError, TypeError)) as caught:
        make()
    assert str(caught.value).startswith(text)


# ── Models ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def within(draws: np.ndarray, expected: float) -> bool:
    """Whether a mean of draws (chains, draws) is that: five Monte Carlo errors."""
    import arviz as az

    error = float(np.squeeze(az.mcse(draws, method="mean")))
    return abs(float(np.mean(draws)) - expected) < 5 * error


@pytest.mark.parametrize(
    "name",
    ["LowRankMvNormal", "MatrixNormal", "ZeroSumNormal", "ICAR"]
    + ["Wishart", "WishartCholesky", "InverseWishart", "InverseWishartCholesky"],
)
def test_sampling_the_prior(name: str) -> None:
    """The density and the bijector's Jacobian go together: the sampler finds the entropy of the exact law."""
    d = member(name)
    x = sample(Posterior(Joint(x=d), loglike=lambda x: 0.0 * np.sum(x)), 300, 300, 2, seed=5)["x"]
    assert within(-d.logpdf(x), d.entropy())


def test_sampling_proportions() -> None:
    prior = Joint(x=LogisticNormal(LOC, FACTOR))
    x = sample(Posterior(prior, loglike=lambda x: 0.0 * np.sum(x)), 300, 300, 2, seed=5)["x"]
    ratios = np.log(x[..., :-1]) - np.log(x[..., -1:])
    for k in range(3):
        assert within(ratios[..., k], LOC[k])
        assert within((ratios[..., k] - LOC[k]) ** 2, SCALE[k, k])


def test_observations() -> None:
    """Conjugate pairs: the posterior is known."""
    x = np.array([[3, 1, 0], [2, 2, 1]])
    prior = Joint(p=Dirichlet([1.0, 2.0, 3.0]))
    p = sample(Posterior(prior, lambda p: Multinomial(np.array([4, 5]), p), x), 500, 300, 2, seed=6)["p"]
    expected = Dirichlet(np.array([1.0, 2.0, 3.0]) + x.sum(axis=0)).mean()
    assert all(within(p[..., k], expected[k]) for k in range(3))

    rng = np.random.default_rng(8)
    y = MvNormal(np.zeros(3), FACTOR).rand(30, rng=rng)
    prior = Joint(S=InverseWishartCholesky(6.0, np.eye(3)))
    factor = sample(Posterior(prior, lambda S: MvNormal(np.zeros(3), S).iid(30), y), 400, 300, 2, seed=7)["S"]
    covariance = factor @ np.swapaxes(factor, -1, -2)
    mean = InverseWishart(36.0, scale=np.eye(3) + y.T @ y).mean()
    assert all(within(covariance[..., i, j], mean[i, j]) for i, j in ((0, 0), (1, 0), (2, 1)))


def test_a_map_of_counts() -> None:
    """A smooth surface over areas as an unknown: its scale, and a posterior mean that follows its neighbours."""
    prior = Joint(scale=HalfNormal(1.0), phi=lambda scale: ICAR(GRAPH, scale), tail=LogNormal(0.0, 1.0))
    y = np.array([1.0, 0.5, -0.2, 0.4, 2.0])
    fitted = Posterior(prior, lambda phi, tail: Normal(phi, tail), y - y.mean())
    draws = sample(fitted, 300, 300, 2, seed=9)
    np.testing.assert_allclose(np.sum(draws["phi"], axis=-1), 0.0, atol=1e-12)
    assert np.corrcoef(draws["phi"].mean(axis=(0, 1)), y)[0, 1] > 0.8
