"""Distributions made of distributions: closed forms, SciPy, containers, vectors, models, refusals."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from probdiff import check_gradient, compile, gradient, value_and_grad
from probdiff.distributions import (
    Beta,
    Distribution,
    Exponential,
    Gamma,
    HalfNormal,
    MvNormal,
    Normal,
    Poisson,
    truncated,
)
from probdiff.distributions.bijectors import Positive, Simplex
from probdiff.distributions.wrappers import (
    Censored,
    Circular,
    Discretised,
    Folded,
    GaussianCopula,
    Hurdle,
    IntervalCensored,
    JointOrderStatistics,
    Masked,
    Mixture,
    OrderStatistic,
    Product,
    Transformed,
    ZeroInflated,
    affine,
)
from probdiff.errors import DataError, ParameterError, ShapeError, UnsupportedError
from probdiff.models import Joint, Posterior
from probdiff.tree import Array, flatten, unflatten

L = np.array([[1.0, 0.0], [0.6, 0.8]])


def test_censored_values_have_mass_at_the_bounds() -> None:
    d, n = Censored(Normal(1.0, 2.0), 0.0, 3.0), stats.norm(1, 2)
    x = np.array([-0.1, 0.0, 1.3, 3.0, 3.1])
    expected = [-math.inf, n.logcdf(0), n.logpdf(1.3), n.logsf(3), -math.inf]
    np.testing.assert_allclose(d.logpdf(x), expected, rtol=1e-14)
    np.testing.assert_allclose(d.cdf(x), [0, n.cdf(0), n.cdf(1.3), 1, 1], rtol=1e-14)
    np.testing.assert_allclose(d.ccdf(x), [1, n.sf(0), n.sf(1.3), 0, 0], rtol=1e-14)
    np.testing.assert_array_equal(d.quantile(np.array([0.01, 0.5, 0.99])), [0.0, 1.0, 3.0])
    between = quad(lambda x: x * n.pdf(x), 0, 3)[0]
    assert d.mean() == pytest.approx(between + 3 * n.sf(3), rel=1e-10)
    drawn = d.rand(20000, rng=np.random.default_rng(3))
    assert np.mean(drawn == 3.0) == pytest.approx(n.sf(3), abs=5 * math.sqrt(0.25 / 20000))


def test_censoring_far_out_keeps_its_digits() -> None:
    d = Censored(Normal(), upper=30.0)
    assert d.logpdf(30.0) == pytest.approx(stats.norm.logsf(30), rel=1e-14)
    check_gradient(lambda m, s: Censored(Normal(m, s), upper=30.0).logpdf(30.0), 0.3, 1.2)


def test_censored_counts() -> None:
    d, p = Censored(Poisson(2.5), upper=4), stats.poisson(2.5)
    np.testing.assert_allclose(d.pdf(np.arange(6)), [*p.pmf(np.arange(4)), p.sf(3), 0.0], rtol=1e-13)
    assert d.mean() == pytest.approx(np.sum(np.arange(4) * p.pmf(np.arange(4))) + 4 * p.sf(3), rel=1e-13)


def test_each_value_has_its_own_bound() -> None:
    upper = np.array([1.0, 2.0, math.inf])
    d = Censored(Exponential(2.0), upper=upper)
    e = stats.expon(scale=2)
    np.testing.assert_allclose(d.logpdf(np.array([1.0, 1.0, 1.0])), [e.logsf(1), e.logpdf(1), e.logpdf(1)], rtol=1e-14)


def test_a_draw_of_a_censored_law_moves_with_the_parameters() -> None:
    def clipped(loc: Array, scale: Array) -> Array:
        return Censored(Normal(loc, scale), -0.5, 0.5).pathwise(np.array([-0.5, 0.2, 0.5]))

    # x = loc + scale z moves by 1 and by z; at the bounds it does not.
    z = (0.2 - 0.1) / 1.5
    np.testing.assert_allclose(gradient(lambda m, s: np.sum(clipped(m, s)), 0.1, 1.5), [1.0, z], rtol=1e-12)


def test_pairs_of_bounds() -> None:
    d, n = IntervalCensored(Normal(0.5, 2.0)), stats.norm(0.5, 2)
    x = np.array([[0, 1], [1, 1], [-math.inf, 1], [40, math.inf], [2, 1], [math.inf, math.inf]])
    expected = [math.log(n.cdf(1) - n.cdf(0)), n.logpdf(1), n.logcdf(1), n.logsf(40), -math.inf, -math.inf]
    np.testing.assert_allclose(d.logpdf(x), expected, rtol=1e-13)
    check_gradient(lambda m, s: np.sum(IntervalCensored(Normal(m, s)).logpdf(x[:4])), 0.5, 2.0)
    assert d.rand(3, rng=np.random.default_rng(0)).shape == (3, 2)


def test_mixture_of_one_family_is_that_of_several() -> None:
    w, loc, x = np.array([0.2, 0.5, 0.3]), np.array([-1.0, 0.5, 4.0]), np.linspace(-3, 5, 7)
    batch, several = Mixture(Normal(loc, 0.7), w), Mixture(tuple(Normal(m, 0.7) for m in loc), logits=np.log(w) + 3)
    for method in ("logpdf", "cdf", "logccdf"):
        np.testing.assert_allclose(getattr(batch, method)(x), getattr(several, method)(x), rtol=1e-12)
    np.testing.assert_allclose([batch.mean(), batch.var()], [several.mean(), several.var()], rtol=1e-13)
    assert batch.var() == pytest.approx(0.49 + np.sum(w * loc**2) - np.sum(w * loc) ** 2, rel=1e-13)
    np.testing.assert_allclose(np.sum(batch.responsibilities(x), axis=-1), 1.0, rtol=1e-14)
    drawn = batch.rand(4000, rng=np.random.default_rng(1))
    assert stats.kstest(drawn, batch.cdf).pvalue > 1e-3  # the seed is fixed


def test_mixture_slopes() -> None:
    x = np.linspace(-3, 5, 7)

    def logpdf(w: Array, loc: Array, scale: Array) -> Array:
        return np.sum(Mixture(Normal(loc, scale), logits=w).logpdf(x))

    at = (np.array([0.1, -0.4]), np.array([-1.0, 2.0]), 0.7)
    check_gradient(logpdf, *at)
    _, slopes = compile(value_and_grad(logpdf, argnums=(0, 1, 2)))(*at)
    for got, expected in zip(slopes, gradient(logpdf, *at), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-11)


def test_a_component_without_weight_does_not_count() -> None:
    def logpdf(w: Array, loc: Array) -> Array:
        return Mixture(Normal(loc, 1.0), weights=w).logpdf(0.3)

    loc = np.array([0.0, 2.0])
    assert logpdf(np.array([1.0, 0.0]), loc) == pytest.approx(Normal().logpdf(0.3), rel=1e-15)
    w_bar, loc_bar = gradient(logpdf, np.array([1.0, 0.0]), loc)
    assert np.all(np.isfinite(w_bar))
    np.testing.assert_allclose(loc_bar, [0.3, 0.0], rtol=1e-14)


def test_mixture_of_vectors() -> None:
    loc = np.array([[0.0, 0.0], [3.0, 1.0]])
    d = Mixture(MvNormal(loc, L), [0.3, 0.7])
    x = np.array([[0.2, 0.1], [2.0, 2.0]])
    both = [stats.multivariate_normal(m, L @ L.T).pdf(x) for m in loc]
    np.testing.assert_allclose(d.pdf(x), 0.3 * both[0] + 0.7 * both[1], rtol=1e-13)
    np.testing.assert_allclose(d.mean(), [2.1, 0.7], rtol=1e-14)
    assert d.rand(5, rng=np.random.default_rng(0)).shape == (5, 2)


def test_mixtures_are_truncated_and_censored() -> None:
    d = Mixture(Normal([0.0, 3.0], [1.0, 0.5]), [0.3, 0.7])
    mass = d.cdf(2.0) - d.cdf(1.0)
    assert truncated(d, 1.0, 2.0).logpdf(1.3) == pytest.approx(d.logpdf(1.3) - math.log(mass), rel=1e-13)
    inside = quad(lambda x: x * d.pdf(x), 1.0, 2.0)[0]
    assert truncated(d, 1.0, 2.0).mean() == pytest.approx(inside / mass, rel=1e-10)
    assert Censored(d, 1.0, 2.0).mean() == pytest.approx(inside + d.cdf(1.0) + 2 * d.ccdf(2.0), rel=1e-10)
    with pytest.raises(UnsupportedError, match="truncated: Censored is not a distribution of real or whole numbers"):
        truncated(Censored(Normal(), 1.0))


def test_mixtures_in_a_batch() -> None:
    loc = np.array([[0.0, 1.0], [2.0, 5.0], [7.0, 8.0]])
    d = Mixture(Normal(loc, 0.5), [0.3, 0.7])
    x = np.array([0.2, 3.0, 7.7])
    assert (d.batch_shape, d.event_shape) == ((3,), ())
    expected = [Mixture(Normal(m, 0.5), [0.3, 0.7]).logpdf(v) for m, v in zip(loc, x, strict=True)]
    np.testing.assert_allclose(d.logpdf(x), expected, rtol=1e-14)
    assert d.rand(4, rng=np.random.default_rng(0)).shape == (4, 3)


def test_hurdle_of_real_numbers() -> None:
    d, g = Hurdle(Gamma(2.0, 1.5), 0.3), stats.gamma(2, scale=1.5)
    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(d.logpdf(x), [-math.inf, math.log(0.3), math.log(0.7) + g.logpdf(2)], rtol=1e-14)
    np.testing.assert_allclose(d.cdf(x), [0, 0.3, 0.3 + 0.7 * g.cdf(2)], rtol=1e-14)
    np.testing.assert_allclose(d.quantile(d.cdf(np.array([0.0, 2.0, 9.0]))), [0, 2, 9], rtol=1e-12)
    assert d.mean() == pytest.approx(0.7 * 3.0, rel=1e-14)
    assert d.var() == pytest.approx(0.7 * (4.5 + 9) - 2.1**2, rel=1e-13)
    check_gradient(lambda a, p: np.sum(Hurdle(Gamma(a, 1.5), p).logpdf(np.array([0.0, 2.0]))), 2.0, 0.3)


@pytest.mark.parametrize("family", [ZeroInflated, Hurdle])
def test_probabilities_of_zero_at_their_ends(family: Any) -> None:
    assert family(Poisson(2.0), 1.0).logpdf(0) == 0.0
    assert family(Poisson(2.0), 1.0).logpdf(3) == -math.inf
    assert family(Poisson(2.0), logits=-800.0).logpdf(3) == pytest.approx(
        family(Poisson(2.0), 0.0).logpdf(3), rel=1e-14
    )
    assert ZeroInflated(Poisson(2.0), 0.0).logpdf(0) == pytest.approx(-2.0, rel=1e-15)


def test_transformed_vectors() -> None:
    normal = MvNormal([0.1, -0.2], L)
    x = np.array([0.5, 3.0])
    d = Transformed(normal, Positive())
    assert d.logpdf(x) == pytest.approx(normal.logpdf(np.log(x)) - np.sum(np.log(x)), rel=1e-14)
    assert d.logpdf(-x) == -math.inf
    simplex = Transformed(normal, Simplex())
    assert simplex.event_shape == (3,)
    assert np.sum(simplex.rand(rng=np.random.default_rng(0))) == pytest.approx(1.0, rel=1e-14)


def test_affine_is_the_family_with_location_and_scale() -> None:
    d, n = affine(Normal(), 1.0, 2.5), Normal(1.0, 2.5)
    x = np.linspace(-3, 4, 5)
    for method in ("logpdf", "logcdf", "logccdf"):
        np.testing.assert_allclose(getattr(d, method)(x), getattr(n, method)(x), rtol=1e-13)
    bars = gradient(lambda s: affine(Normal(), 1.0, s).logpdf(0.3), -1.0)
    assert affine(Normal(), 1.0, 2.0).mean() == pytest.approx(1.0, rel=1e-12)
    assert bars == (0.0,)  # a traced scale that is not positive has density zero


def test_order_statistics_together() -> None:
    x = np.array([0.2, 0.7, 1.9])
    e = Exponential(2.0)
    assert JointOrderStatistics(e, 3).logpdf(x) == pytest.approx(math.log(6) + np.sum(e.logpdf(x)), rel=1e-14)
    one = JointOrderStatistics(e, 7, (2,)).logpdf(np.array([0.7]))
    assert one == pytest.approx(OrderStatistic(e, 7, 2).logpdf(0.7), rel=1e-13)
    # The spacing after the smallest of n exponentials is exponential, with n - 1 times the rate (Rényi).
    pair = JointOrderStatistics(e, 7, (1, 2)).logpdf(np.array([0.2, 0.7]))
    assert pair == pytest.approx(Exponential(2 / 7).logpdf(0.2) + Exponential(2 / 6).logpdf(0.5), rel=1e-13)
    assert JointOrderStatistics(e, 3).logpdf(x[::-1]) == -math.inf
    assert np.all(np.diff(JointOrderStatistics(e, 5).rand(10, rng=np.random.default_rng(0)), axis=-1) > 0)


def test_order_statistic_of_a_uniform_is_a_beta_far_out() -> None:
    d = OrderStatistic(Beta(1.0, 1.0), 9, 3)
    x = np.array([1e-150, 1e-3, 0.4, 0.999])
    for method in ("logpdf", "logcdf", "logccdf"):
        np.testing.assert_allclose(getattr(d, method)(x), getattr(Beta(3.0, 7.0), method)(x), rtol=1e-12, atol=1e-300)


def test_product() -> None:
    d = Product((Normal(1.0, 2.0), Gamma(2.0, 1.5)))
    x = np.array([[0.3, 2.0], [0.3, -1.0]])
    expected = Normal(1.0, 2.0).logpdf(0.3) + Gamma(2.0, 1.5).logpdf(2.0)
    np.testing.assert_allclose(d.logpdf(x), [expected, -math.inf], rtol=1e-14)
    np.testing.assert_allclose([d.mean(), d.var()], [[1, 3], [4, 4.5]], rtol=1e-14)
    assert d.entropy() == pytest.approx(Normal(1.0, 2.0).entropy() + Gamma(2.0, 1.5).entropy(), rel=1e-14)
    batch = Product(Normal(np.array([1.0, 2.0]), 3.0))
    assert batch.logpdf(np.zeros(2)) == pytest.approx(np.sum(Normal([1.0, 2.0], 3.0).logpdf(0.0)), rel=1e-15)


def test_copula_of_normal_margins_is_a_normal() -> None:
    scale = np.array([2.0, 0.5])
    normal = MvNormal([1.0, -1.0], scale[:, None] * L)
    x = np.array([[0.3, -0.8], [5.0, -3.0]])
    for margins in (Normal([1.0, -1.0], scale), (Normal(1.0, 2.0), Normal(-1.0, 0.5))):
        np.testing.assert_allclose(GaussianCopula(margins, L).logpdf(x), normal.logpdf(x), rtol=1e-12)
    d = GaussianCopula((Normal(), Gamma(2.0, 1.5)), L)
    drawn = d.rand(4000, rng=np.random.default_rng(2))
    assert stats.kstest(drawn[:, 1], Gamma(2.0, 1.5).cdf).pvalue > 1e-3  # the seed is fixed
    rho = stats.spearmanr(drawn).statistic
    assert rho == pytest.approx(6 / math.pi * math.asin(0.3), abs=5 / math.sqrt(4000))
    check_gradient(lambda a, r: copula(a, r).logpdf(np.array([0.3, 2.0])), 2.0, 0.6)


def copula(a: Array, r: Array) -> GaussianCopula:
    factor = np.stack([np.stack([1.0 + 0 * r, 0.0 * r]), np.stack([r, np.sqrt(1 - r * r)])])
    return GaussianCopula((Normal(), Gamma(a, 1.5)), factor)


def test_masked() -> None:
    d = Masked(Normal(), np.array([True, False]))
    np.testing.assert_array_equal(d.logpdf(np.array([0.5, math.nan])), [Normal().logpdf(0.5), 0.0])
    assert gradient(lambda m: np.sum(Masked(Normal(m), [1, 0]).logpdf(np.array([1.0, math.nan]))), 0.3) == (0.7,)


def test_rounded_to_the_nearest() -> None:
    d, n = Discretised(Normal(1.0, 2.0)), stats.norm(1, 2)
    k = np.arange(-3, 4)
    np.testing.assert_allclose(d.pdf(k), n.cdf(k + 0.5) - n.cdf(k - 0.5), rtol=1e-12)
    assert d.logpdf(60) == pytest.approx(float(Normal(1.0, 2.0).logdiffcdf(59.5, 60.5)), rel=1e-14)
    assert d.mean() == pytest.approx(1.0, rel=1e-12)
    assert np.array_equal(d.quantile(d.cdf(k)), k)


def test_wide_laws_are_uniform_on_the_circle() -> None:
    # The n-th Fourier coefficient of a wrapped normal is exp(-n² scale² / 2).
    d = Circular(Normal(0.3, 5.0), turns=20)
    assert d.pdf(1.0) == pytest.approx((1 + 2 * math.exp(-12.5) * math.cos(0.7)) / (2 * math.pi), rel=1e-13)


MEMBERS: list[Distribution] = [
    Censored(Normal(1.0, 2.0), 0.0, 3.0),
    IntervalCensored(Normal(1.0, 2.0)),
    Mixture((Normal(0.0, 1.0), Normal(2.0, 1.0)), [0.3, 0.7]),
    Mixture(Normal([0.0, 2.0], 1.0), [0.3, 0.7]),
    ZeroInflated(Poisson(2.0), 0.3),
    Hurdle(Poisson(2.0), 0.3),
    Folded(Normal(1.0, 2.0)),
    affine(Gamma(2.0, 1.0), 1.0, 2.0),
    OrderStatistic(Normal(1.0, 2.0), 5, 2),
    JointOrderStatistics(Normal(1.0, 2.0), 3),
    Product((Normal(1.0, 2.0), Gamma(2.0, 1.0))),
    GaussianCopula((Normal(1.0, 2.0), Gamma(2.0, 1.0)), L),
    Masked(Normal(1.0, 2.0), 1),
    Discretised(Normal(1.0, 2.0)),
    Circular(Normal(1.0, 2.0)),
]


@pytest.mark.parametrize("d", MEMBERS, ids=[type(d).__name__ for d in MEMBERS])
def test_containers(d: Distribution) -> None:
    leaves, spec = flatten(d)
    assert unflatten(spec, leaves) == d == pickle.loads(pickle.dumps(d))
    assert hash(unflatten(spec, leaves)) == hash(d)
    assert repr(d).startswith(f"{type(d).__name__}(")
    x = np.asarray(d.rand(3, rng=np.random.default_rng(0)))
    assert x.shape == (3, *d.event_shape)
    assert np.all(np.isfinite(d.logpdf(x)))
    slopes, _ = flatten(gradient(lambda d: np.sum(d.logpdf(x)), d)[0])
    assert all(np.all(np.isfinite(slope)) for slope in slopes)
    assert d.logpdf(np.zeros((0, *d.event_shape))).shape == (0,)


prior = Joint(m=Normal(0, 2), s=HalfNormal(2))
X = np.array([0.3, -0.8, 1.5, 0.9])
OBSERVED: dict[str, tuple[Callable[[Any, Any], Any], np.ndarray]] = {
    "censored": (lambda m, s: Censored(Normal(m, s), upper=1.0).iid(4), np.minimum(X, 1.0)),
    "interval": (lambda m, s: IntervalCensored(Normal(m, s)).iid(2), np.array([[0.0, 1.0], [1.0, math.inf]])),
    "mixture": (lambda m, s: Mixture(Normal(np.stack([m, m + 1]), s), [0.4, 0.6]).iid(4), X),
    "batch of mixtures": (
        lambda m, s: Mixture(Normal(np.reshape(np.stack([m, m + 1, m, m + 2]), (2, 2)), s), [0.4, 0.6]).iid(2),
        np.reshape(X, (2, 2)),
    ),
    "hurdle": (lambda m, s: Hurdle(Poisson(s), logits=m).iid(4), np.array([0, 0, 2, 3])),
    "product": (lambda m, s: Product((Normal(m, s), Gamma(2.0, s))).iid(2), abs(np.reshape(X, (2, 2)))),
    "copula": (lambda m, s: GaussianCopula((Normal(m, s), Gamma(2.0, s)), L).iid(2), abs(np.reshape(X, (2, 2)))),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_observed_in_a_model(name: str) -> None:
    observe, data = OBSERVED[name]
    posterior = Posterior(prior, observe, data)
    at = {"m": 0.3, "s": 1.2}
    expected = float(np.sum(observe(0.3, 1.2).logpdf(data)))
    assert posterior.log_likelihood(at) == pytest.approx(expected, rel=1e-13)
    assert np.sum(posterior.pointwise_log_likelihood(at)) == pytest.approx(expected, rel=1e-13)
    q = posterior.unconstrain(at)
    value, slope = compile(value_and_grad(posterior.logdensity))(q)
    assert value == pytest.approx(float(posterior.logdensity(q)), rel=1e-13)
    np.testing.assert_allclose(slope, gradient(posterior.logdensity, q)[0], rtol=1e-10)
    draws = {"m": np.array([0.3, 0.4, -0.2]), "s": np.array([1.2, 0.8, 2.0])}
    assert posterior.posterior_predictive(draws, np.random.default_rng(0))["y"].shape == (3, *data.shape)


PRIORS = {
    "mixture": Mixture((HalfNormal(1.0), Gamma(2.0, 1.0)), [0.5, 0.5]),
    "folded": Folded(Normal(1.0, 1.0)),
    "affine": affine(Gamma(2.0, 1.0), 3.0, 2.0),
    "product": Product((Normal(), Gamma(2.0, 1.0), Beta(2.0, 2.0))),
    "order statistics": JointOrderStatistics(Gamma(2.0, 1.0), 3),
    "log-normal vector": Transformed(MvNormal(np.zeros(2), L), Positive()),
}


@pytest.mark.parametrize("name", PRIORS)
def test_priors_have_coordinates(name: str) -> None:
    model = Posterior(Joint(v=PRIORS[name]), loglike=lambda v: 0.0 * np.sum(v))
    v = PRIORS[name].rand(rng=np.random.default_rng(4))
    q = model.unconstrain({"v": v})
    np.testing.assert_allclose(model.located(q)["v"], v, rtol=1e-12)
    expected = float(PRIORS[name].logpdf(v)) + float(model.log_jacobian(q))
    assert float(model.logdensity(q)) == pytest.approx(expected, rel=1e-12)


def test_data_outside_are_refused() -> None:
    with pytest.raises(DataError, match="1 of 4 observations are outside the support of Censored"):
        Posterior(prior, lambda m, s: Censored(Normal(m, s), upper=1.0).iid(4), X)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: Censored(Normal(), 2.0, 1.0), ParameterError, "Censored needs lower below upper, got "),
    (lambda: Censored(Normal(), math.nan), ParameterError, "Censored.lower must be a number, got nan"),
    (lambda: Censored("normal"), UnsupportedError, "Censored takes distributions, got str."),
    (lambda: Censored(), UnsupportedError, "Censored needs the parameter base"),
    (lambda: Folded(Poisson(2.0)), UnsupportedError, "Folded needs a continuous distribution, got Poisson."),
    (
        lambda: Censored(MvNormal(np.zeros(2), L)),
        UnsupportedError,
        "Censored: MvNormal is not a distribution of one number.",
    ),
    (
        lambda: Mixture((Normal(), Poisson(2.0)), [0.5, 0.5]),
        UnsupportedError,
        "Mixture: Normal and Poisson are not both continuous or both discrete. For a point mass at zero, use Hurdle.",
    ),
    (lambda: Mixture((Normal(), Normal()), [0.5, 0.2, 0.3]), ShapeError, "Mixture has 2 components and 3 weights."),
    (lambda: Mixture((), [1.0]), UnsupportedError, "Mixture needs at least one distribution, got an empty tuple."),
    (
        lambda: Product(Normal()),
        UnsupportedError,
        "Product of one distribution takes its last batch axis as the components, and Normal has none. Give it arrays",
    ),
    (lambda: Mixture((Normal(), Normal())), UnsupportedError, "Mixture needs the parameter weights or logits"),
    (
        lambda: ZeroInflated(Gamma(2.0), 0.3),
        UnsupportedError,
        "ZeroInflated: Gamma is continuous, and has no zeros. Use Hurdle.",
    ),
    (
        lambda: Hurdle(Normal(), 0.3),
        UnsupportedError,
        "Hurdle needs a distribution of nonnegative numbers, got Normal.",
    ),
    (lambda: affine(Normal(), 0.0, -1.0), ParameterError, "affine.scale must be positive, got -1.0"),
    (lambda: OrderStatistic(Normal(), 3, 4), ParameterError, "OrderStatistic needs k in 1, …, n, got "),
    (
        lambda: JointOrderStatistics(Normal(), 3, (2, 1)),
        ParameterError,
        "JointOrderStatistics.ranks must rise from 1 to at most 3, got (2, 1)",
    ),
    (
        lambda: Discretised(Normal(), "off"),
        ParameterError,
        "Discretised.rounding must be nearest, down, up, got 'off'",
    ),
    (
        lambda: Circular(Normal(0.0, 50.0), 2),
        ParameterError,
        "Circular.turns = 2 leave out a probability of 7.5e-01. Give more turns, or bring the location",
    ),
    (
        lambda: GaussianCopula((Normal(),), L),
        ShapeError,
        "GaussianCopula has 1 margins and a factor of 2 rows.",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED, ids=[text[:40] for _, _, text in REFUSED])
def test_refused(build: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert str(caught.value).startswith(text)
