"""Faults that users met in other systems, by the identifiers of `tests/reference/cases.jsonl`: one function a case.

Choices where a case leaves one: slope 0 of abs and norm at 0; a tie of max(x, 0) and min is split evenly; clip passes
its gradient on the closed interval; log-density outside the support is -inf with gradient zero; a non-integer count
has log-mass -inf. AS04: a user's own branch on equality is differentiated as written (documented limit), the
library's product is exact. SH03: a distribution broadcasts like NumPy; shapes of data are checked where a model
meets its data, so the case is asserted there. SH04: an empty likelihood has value 0 and gradient zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from probdiff import broadcast, fwddiff, gradient, hessian, jacobian, pullback, pushforward, unthunk
from probdiff import compile as compile_program
from probdiff import special as probdiff_special
from probdiff.distributions import (
    LKJ,
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    ChiSquared,
    Dirichlet,
    Exponential,
    Gamma,
    HalfCauchy,
    HalfNormal,
    LKJCholesky,
    LogNormal,
    MvNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Uniform,
    Weibull,
    logpdf,
)
from probdiff.errors import ParameterError, ProbdiffError, TracedValueError
from tests.golden.cases import Checks, expected, rows
from tests.golden.modes import EAGER, assert_gradient

ROWS = rows(sampling=False)
case = Checks()


def derivative(f: Any, x: Any, mode: str) -> Any:
    """The derivative of a function of one number, by the named mode; traceable from outside."""
    if mode == "reverse":
        return gradient(f, x)[0]
    if mode == "forward":
        return pushforward(f, x)(1.0)
    _, back = pullback(fwddiff(f, mode=mode), x)
    return unthunk(back(1.0)[0])


@case("AD01")
def untaken_branch(expected: dict[str, Any]) -> None:
    x = np.array([0.0, 0.25, 4.0])

    def f(x: Any) -> Any:
        return np.sum(np.where(x < 1, x, np.sqrt(x)))

    assert_gradient(f, x, expected=(np.array(expected["df/dx"]),))
    np.testing.assert_allclose(np.diag(hessian(f)(x)), expected["diag Hessian"], atol=1e-15)

    def g(t: Any) -> Any:
        roots = np.sqrt(np.array([0.0, 1.0]) * t)
        return np.sum(np.where(np.array([0.0, 1.0]) * t > 0, roots, 0.0))

    assert_gradient(g, 1.0, expected=(expected["dg/dt"],))

    def g_by_mask(t: Any) -> Any:
        roots = np.sqrt(np.array([0.0, 1.0]) * t)
        return np.sum(roots[np.array([False, True])])

    assert_gradient(g_by_mask, 1.0, expected=(expected["dg/dt"],))
    two = np.array([2.0])
    with np.errstate(all="ignore"):
        assert_gradient(lambda x: np.sum(np.where(x > 1, x, x * np.inf)), two, expected=(np.ones(1),))
        assert_gradient(lambda x: np.sum(np.where(x > 1, x, x / 0.0)), two, expected=(np.ones(1),))
    with np.errstate(invalid="ignore"):  # the root of the side that is not taken
        assert_gradient(lambda x: np.where(x >= 0, x, np.sqrt(-x)), 1.0, expected=(expected["dh/dx at 1"],))


@case("AD02")
def norm_at_zero(expected: dict[str, Any]) -> None:
    x = np.zeros(3)
    assert_gradient(lambda x: np.linalg.norm(x) ** 2, x, expected=(np.array(expected["grad norm(x)**2"]),))
    assert_gradient(np.linalg.norm, x, expected=(np.array(expected["grad norm(x)"]),))


@case("AD03")
def power_at_zero(expected: dict[str, Any]) -> None:
    with np.errstate(divide="ignore"):
        assert_gradient(np.power, 0.0, 0.5, expected=(np.inf, expected["d/dy 0**0.5"]))
        assert_gradient(np.power, 0.0, 2.0, expected=(expected["d/dx x**2 at 0"], 0.0))
        assert_gradient(np.power, 0.0, 1.0, expected=(expected["d/dx x**1 at 0"], 0.0))
        assert_gradient(np.power, 0.0, 0.9, expected=(np.inf, 0.0))
        assert_gradient(lambda x: x**0.0, 0.0, expected=(expected["d/dx x**0 at 0"],))
        assert_gradient(lambda x: np.power(x, np.array([0.0, 2.0]))[0], 0.0, expected=(0.0,))
    value, _ = pullback(np.power, 0.0, 0.0)
    assert value == expected["0**0"]
    exponents = np.array([2.0, 2.0])
    x = np.array([-2.0, 3.0])
    assert_gradient(lambda x: np.sum(x**exponents), x, expected=(np.array([expected["d/dx x**2 at -2"], 6.0]),))


@case("AD04")
def power_under_nesting(expected: dict[str, Any]) -> None:
    for mode in EAGER:
        for n in range(5):
            f: Any = lambda x, n=n: x**n  # noqa: E731
            for _ in range(n):
                f = lambda x, f=f, mode=mode: derivative(f, x, mode)  # noqa: E731
            assert f(0.0) == expected["n-th derivative, n=0..4"][n], (mode, n)
            assert derivative(f, 0.0, mode) == 0.0, (mode, n)


@case("AD08")
def kinks(expected: dict[str, Any]) -> None:
    kinked = {
        "max": (lambda x: np.maximum(x, 0.0), 0.0, 0.5),
        "abs": (np.abs, 0.0, expected["|x|' at 0"]),
        "clip low": (lambda x: np.clip(x, 0.0, 1.0), 0.0, 1.0),
        "clip high": (lambda x: np.clip(x, 0.0, 1.0), 1.0, 1.0),
    }
    for f, x, slope in kinked.values():
        assert_gradient(f, x, expected=(slope,))
        for outer in EAGER:
            for inner in EAGER:
                second = derivative(lambda x, f=f, inner=inner: derivative(f, x, inner), x, outer)
                assert second == expected["second derivative"]


@case("AD09")
def log_of_one_minus_exp(expected: dict[str, Any]) -> None:
    f = probdiff_special.log1mexp
    assert f(-1e-10) == pytest.approx(expected["value(-1e-10)"], rel=1e-14)
    assert_gradient(f, -1e-10, expected=(expected["slope(-1e-10)"],), rtol=1e-13)
    with np.errstate(divide="ignore"):
        assert f(0.0) == -np.inf
        assert_gradient(f, 0.0, expected=(-np.inf,))
        assert_gradient(lambda x: np.log(1 - np.exp(x)), 0.0, expected=(-np.inf,))


@case("AS01")
def one_callable_at_two_levels(expected: dict[str, Any]) -> None:
    class Twisted:
        def __init__(self, mode: str, x: Any = None) -> None:
            self.mode, self.x = mode, x

        def __call__(self, y: Any) -> Any:
            if self.x is not None:
                return self.x + y
            derivative(Twisted(self.mode, y), 1.0, self.mode)
            return y * derivative(Twisted(self.mode, y), 1.0, self.mode)

    for outer in EAGER:
        for inner in EAGER:
            assert derivative(Twisted(inner), 1.0, outer) == expected["derivative"]


@case("AS02")
def confusion_across_modes(expected: dict[str, Any]) -> None:
    for outer in EAGER:
        for inner in EAGER:
            got = derivative(lambda x, inner=inner: x * derivative(lambda y: x * y, 1.0, inner), 4.0, outer)
            assert got == expected["f'(4)"]

    def lagrangian(q: Any, v: Any) -> Any:
        return 0.5 * q[0] ** 2 * (v[0] ** 2 + v[1] ** 2)

    q, v = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    block = jacobian(lambda q: gradient(lambda v: lagrangian(q, v), v)[0])(q)
    np.testing.assert_array_equal(block, expected["d2L/dv dq"])
    block = jacobian(lambda q: jacobian(lambda v: lagrangian(q, v))(v))(q)
    np.testing.assert_array_equal(block, expected["d2L/dv dq"])


@case("AS04")
def product_with_a_zero(expected: dict[str, Any]) -> None:
    assert_gradient(np.prod, np.array([1.0, 2.0, 0.0, 3.0]), expected=(np.array(expected["grad g"]),))
    assert_gradient(np.prod, np.array([1.0, 0.0, 0.0, 3.0]), expected=(np.zeros(4),))
    assert_gradient(np.square, 1.0, expected=(expected["f'(1)"],))
    # The user's own branch on equality: the branch that was taken is differentiated, a constant here.
    assert_gradient(lambda x: 1.0 if x == 1 else x**2, 1.0, expected=(0.0,), modes=EAGER)


@case("AS05")
def integer_argument_in_broadcast(expected: dict[str, Any]) -> None:
    idx = np.array([1, 2, 3])
    for seam in (lambda f: f, fwddiff):

        def total(idx: Any, a: Any, d: Any, seam: Any = seam) -> Any:
            return np.sum(broadcast(seam(lambda i, a, d: np.where(i == 1, a, d)))(idx, a, d))

        assert_gradient(total, idx, 0.2, 0.5, expected=(None, expected["d/da"], expected["d/dd"]))

    x = np.array([1.0, 5.0, 2.0])
    assert_gradient(lambda x: np.sum((x == np.max(x)) * x**2), x, expected=(np.array([0.0, 10.0, 0.0]),))


@case("AS07")
def branch_on_a_value(expected: dict[str, Any]) -> None:
    def f(x: Any) -> Any:
        if x > 0:
            return x**2
        return -3 * x

    for mode in EAGER:
        assert derivative(f, 2.0, mode) == expected["f'(2)"]
        assert derivative(f, -1.0, mode) == expected["f'(-1)"]
    with pytest.raises(TracedValueError, match=r"test_cases\.py:\d+ `if x > 0:`[\s\S]*np\.where"):
        compile_program(f)(2.0)


@case("AS08")
def unused_parameter(expected: dict[str, Any]) -> None:
    assert_gradient(
        lambda a, b: np.sum(a**2),
        np.array([1.0, 2.0]),
        np.ones((2, 3)),
        expected=(np.array(expected["d/da"]), np.array(expected["d/db"])),
    )
    assert gradient(lambda a, b: a, 1.0, np.ones(2, np.float32))[1].dtype == np.float32


@case("AS11")
def masked_pairs(expected: dict[str, Any]) -> None:
    off_diagonal = ~np.eye(2, dtype=bool)

    def energy(r: Any) -> Any:
        difference = r[:, None, :] - r[None, :, :]
        distance = np.sqrt(np.sum(difference**2, axis=-1))
        return np.sum(np.where(off_diagonal, 1 / distance, 0.0))

    conf = np.array([[0.0, 0.0], [3.0, 4.0]])
    with np.errstate(divide="ignore", invalid="ignore"):  # 1 / 0 on the diagonal, on purpose
        assert energy(conf) == pytest.approx(expected["value"], rel=1e-14)
        assert_gradient(energy, conf, expected=(np.array(expected["gradient"]),), rtol=1e-13)


@case("DS02")
def weibull_at_the_edge(expected: dict[str, Any]) -> None:
    assert logpdf(Weibull(1.0, 1.0), 0.0) == expected["(1,1) at 0"]
    assert_gradient(lambda x: logpdf(Weibull(1.0, 1.0), x), 0.0, expected=(expected["(1,1) slope at 0"],))
    assert logpdf(Weibull(1.0, 1.0), np.inf) == -np.inf
    assert logpdf(Weibull(1.0, 1.0), -3.0) == -np.inf
    assert_gradient(lambda x: logpdf(Weibull(1.0, 1.0), x), -3.0, expected=(0.0,))
    assert logpdf(Weibull(2.0, 1.0), 0.0) == -np.inf
    assert logpdf(Weibull(0.5, 1.0), 0.0) == np.inf


@case("DS03")
def density_at_zero(expected: dict[str, Any]) -> None:
    exponential, gamma = Exponential(rate=2.0), Gamma(1.0, 0.5)
    assert logpdf(exponential, 0.0) == pytest.approx(expected["Exponential(2)"], rel=1e-15)
    assert logpdf(gamma, 0.0) == pytest.approx(expected["Gamma(1,2)"], rel=1e-15)
    assert logpdf(ChiSquared(2.0), 0.0) == pytest.approx(expected["chi2(2)"], rel=1e-15)
    assert logpdf(HalfNormal(1.0), 0.0) == pytest.approx(expected["HalfNormal(1)"], rel=1e-14)
    assert logpdf(LogNormal(0.0, 1.0), 0.0) == -np.inf
    assert logpdf(LogNormal(0.0, 1.0), -1.0) == -np.inf
    for d in (exponential, gamma):
        assert_gradient(lambda x, d=d: logpdf(d, x), 0.0, expected=(expected["slope"],))
    assert_gradient(lambda x: logpdf(HalfNormal(1.0), x), 0.0, expected=(0.0,))


@case("DS04")
def outside_the_support(expected: dict[str, Any]) -> None:
    outside = [
        (Beta(10.0, 1000.0), -1.0, 0.0),
        (Gamma(0.9, 0.5), -1.0, 0.0),
        (Uniform(0.0, 1.0), 2.0, 1.0),
        (HalfCauchy(0.1), -3.0, 0.0),
    ]
    for d, x, cdf in outside:
        assert d.logpdf(x) == -np.inf
        assert d.pdf(x) == 0.0
        assert d.cdf(x) == cdf
        family, parameters = type(d), tuple(d.parameters().values())
        assert_gradient(
            lambda x, *p, family=family: logpdf(family(*p), x),
            x,
            *parameters,
            expected=(expected["gradients outside"],) * (1 + len(parameters)),
        )
    assert HalfCauchy(0.1).logpdf(3.0) == pytest.approx(expected["HalfCauchy(0.1).logpdf(3)"], rel=1e-14)
    assert HalfCauchy(0.1).cdf(3.0) == pytest.approx(expected["HalfCauchy(0.1).cdf(3)"], rel=1e-14)


@case("DS07")
def invalid_parameters(expected: dict[str, Any]) -> None:
    invalid = [
        (Uniform, (0.0, 0.0)),
        (Normal, (0.0, 0.0)),
        (Normal, (0.0, -1.0)),
        (Gamma, (0.0, 1.0)),
        (Uniform, (1.0, 0.0)),
    ]
    for family, parameters in invalid:
        with pytest.raises(ParameterError, match=family.__name__):
            family(*parameters)
        with np.errstate(all="ignore"):
            value, _ = pullback(lambda *p, family=family: family(*p).logpdf(0.5), *parameters)
        assert value == -np.inf


@case("SH01")
def integer_rate(expected: dict[str, Any]) -> None:
    k = np.array([1.0, 2.0, 3.0])
    for rate in (5, 5.0, np.int32(5)):
        got = Poisson(rate).logpdf(k)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, expected["logpmf"], rtol=1e-14)
    assert Poisson(2).logpdf(1.9999) == Poisson(2.0).logpdf(1.9999) == -np.inf


@case("SH02")
def integer_counts(expected: dict[str, Any]) -> None:
    for kind in (np.int32, np.uint8, np.float64):
        assert NegativeBinomial(3.0, 0.5).logpdf(kind(4)) == pytest.approx(expected["NB"], rel=1e-14)
    assert Binomial(np.uint8(200), 0.5).logpdf(np.uint8(201)) == -np.inf
    assert Bernoulli(0.25).logpdf(True) == pytest.approx(np.log(0.25), rel=1e-15)
    counts = np.array([4, 0], np.uint8)
    r_bar, k_bar = gradient(lambda r, k: np.sum(NegativeBinomial(r, 0.5).logpdf(k)), 3.0, counts)
    assert k_bar is None
    assert type(r_bar) in (float, np.float64)


@case("SH03")
def shape_of_the_data(expected: dict[str, Any]) -> None:
    from probdiff.models import Joint, Posterior

    logits, y = np.array([0.0, 1.0, -1.0]), np.array([1, 0, 1])
    right = np.sum(Bernoulli(logits=logits).logpdf(y))
    assert right == pytest.approx(expected["right total"], rel=1e-14)
    with pytest.raises(ProbdiffError, match=r"\(3, 1\)"):
        Posterior(Joint(mu=Normal(0.0, 1.0)), lambda mu: Bernoulli(logits=mu + logits), y[:, None])


@case("SH04")
def empty_data(expected: dict[str, Any]) -> None:
    def loglik(p: Any) -> Any:
        return np.sum(Bernoulli(p).logpdf(np.zeros(0)))

    assert loglik(0.3) == expected["loglik"]
    assert_gradient(loglik, 0.3, expected=(0.0,))
    assert probdiff_special.logsumexp(np.zeros(0)) == -np.inf
    assert_gradient(probdiff_special.logsumexp, np.zeros(0), expected=(np.zeros(0),))
    assert Normal(np.zeros(3), 1.0).logpdf(np.zeros((0, 3))).shape == (0, 3)


@case("MV04")
def correlation_prior(expected: dict[str, Any]) -> None:
    """Over matrices; `LKJCholesky` is over their factors, and the difference is the Jacobian."""
    for eta in (1, 10, 100):
        assert LKJ(2, eta).logpdf(np.eye(2)) == pytest.approx(expected[f"d2 eta{eta}"], rel=1e-14)
    R = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]])
    assert LKJ(3, 1.0).logpdf(R) == pytest.approx(expected["d3 eta1"], rel=1e-14)
    assert LKJ(3, 2.0).logpdf(np.eye(3)) == pytest.approx(expected["d3 eta2 identity"], rel=1e-14)
    assert LKJ(3, 2.0).logpdf(R) == pytest.approx(expected["d3 eta2 R"], rel=1e-14)
    assert_gradient(lambda eta: LKJ(3, eta).logpdf(R), 2.0, expected=(expected["d/deta"],), rtol=1e-12)
    L = np.linalg.cholesky(R)
    of_factor = expected["d3 eta2 R"] + np.sum(np.array([1, 0]) * np.log(np.diagonal(L)[1:]))
    assert LKJCholesky(3, 2.0).logpdf(L) == pytest.approx(of_factor, rel=1e-14)
    assert_gradient(lambda eta: LKJCholesky(3, eta).logpdf(L), 2.0, expected=(expected["d/deta"],), rtol=1e-12)


@case("MV05")
def covariance_without_an_inverse(expected: dict[str, Any]) -> None:
    for off in (1.0, 2.0):
        covariance = np.array([[1.0, off], [off, 1.0]])
        with pytest.raises(ParameterError, match=r"MvNormal\.covariance must be symmetric and positive definite"):
            MvNormal(np.zeros(2), covariance=covariance)

        def logp(covariance: Any) -> Any:
            return MvNormal(np.zeros(2), covariance=covariance).logpdf(np.full(2, 0.1))

        # In a compiled model: no number, which a sampler takes for a rejected step.
        assert not np.isfinite(compile_program(logp)(covariance))
    near = MvNormal(np.zeros(2), covariance=np.array([[1.0, 1 - 1e-12], [1 - 1e-12, 1.0]]))
    for k, x in ((1, [0.1, 0.1]), (2, [0.1, 0.1 + 1e-7])):
        assert near.logpdf(x) == pytest.approx(expected[f"near logpdf {k}"], rel=1e-5)
        # The condition is 2e12, so that of sixteen digits three are left.
        assert_gradient(near.logpdf, np.array(x), expected=(np.array(expected[f"near grad {k}"]),), rtol=1e-3)


@case("MV06")
def slope_in_a_covariance(expected: dict[str, Any]) -> None:
    """All four entries count as independent: one parameter in two of them gets both slopes."""
    x, covariance = np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])

    def logp(x: Any, covariance: Any) -> Any:
        return MvNormal(np.zeros(2), covariance=covariance).logpdf(x)

    assert logp(x, covariance) == pytest.approx(expected["logpdf"], rel=1e-14)
    slopes = np.array(expected["d/dx"]), np.reshape(expected["d/dcov full"], (2, 2))
    assert_gradient(logp, x, covariance, expected=slopes)
    free, tied = np.diag([2.0, 1.0]), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert_gradient(lambda r: logp(x, free + r * tied), 0.5, expected=(expected["d/d(shared offdiag)"],))


@case("MV07")
def edge_of_the_simplex(expected: dict[str, Any]) -> None:
    alpha, x = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.4, 0.6])
    assert Dirichlet(alpha).logpdf(x) == pytest.approx(expected["logpdf"], rel=1e-14)
    slope = np.array([0.0, *expected["d/dx"][1:]])
    assert_gradient(lambda x: Dirichlet(alpha).logpdf(x), x, expected=(slope,))
    assert_gradient(
        lambda rest: Dirichlet(np.concatenate([np.ones(1), rest])).logpdf(x),
        alpha[1:],
        expected=(np.array(expected["d/dalpha[1:]"]),),
    )

    def tiny(t: Any) -> Any:
        return Dirichlet(np.array([1.0, 1.0, 2.0])).logpdf(np.array([0.4, 0.6, 0.0]) + t * np.array([0.0, 0.0, 1.0]))

    assert_gradient(tiny, 1.1665e-39, expected=(expected["tiny slope"],))


@case("MV08")
def forbidden_label(expected: dict[str, Any]) -> None:
    logits = np.array([0.0, 0.0, -np.inf])
    masses = Categorical(logits=logits).logpdf(np.arange(3))
    np.testing.assert_allclose(masses[:2], expected["logpmf(0)"], rtol=1e-15)
    assert masses[2] == -np.inf
    assert_gradient(lambda w: Categorical(logits=w).logpdf(0), logits, expected=(np.array(expected["grad logpmf(0)"]),))
    assert Categorical(logits=logits).entropy() == pytest.approx(expected["entropy"], rel=1e-15)
    assert_gradient(lambda w: Categorical(logits=w).entropy(), logits, expected=(np.zeros(3),))
    forbidden = Categorical(np.array([0.5, 0.5, 0.0]))
    assert forbidden.logpdf(0) == pytest.approx(expected["logpmf(0)"], rel=1e-15)
    assert forbidden.logpdf(2) == -np.inf
    assert forbidden.entropy() == pytest.approx(expected["entropy"], rel=1e-15)
    for nowhere in ([-np.inf, -np.inf], [0.0, np.inf], [0.0, np.nan]):
        with pytest.raises(ParameterError, match="-inf for some"):
            Categorical(logits=np.array(nowhere))


@case("MV09")
def saturated_logit(expected: dict[str, Any]) -> None:
    for y in (0, 1):
        assert Bernoulli(logits=800.0).logpdf(y) == (expected["logpmf(0|800)"] if y == 0 else 0.0)
        assert_gradient(lambda t, y=y: Bernoulli(logits=t).logpdf(y), 800.0, expected=(expected[f"slope y={y}"],))
    assert Bernoulli(logits=800.0).entropy() == pytest.approx(expected["entropy"], abs=1e-300)
    assert_gradient(lambda t: Bernoulli(logits=t).entropy(), 800.0, expected=(0.0,))
    for p in (0.0, 1.0):
        assert Bernoulli(p).entropy() == 0.0


def test_every_row_has_a_check() -> None:
    assert sorted(case) == sorted(row["id"] for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_case(row: dict[str, Any]) -> None:
    case[row["id"]](expected(row))
