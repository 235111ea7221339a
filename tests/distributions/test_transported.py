"""`transport`: the quantile function as the way through a prior; `Flat` of any support; unchecked densities."""

import numpy as np
import pytest
from scipy import stats

from probdiff import gradient
from probdiff.distributions import (
    Cauchy,
    Exponential,
    Flat,
    Gamma,
    HalfCauchy,
    Laplace,
    LogNormal,
    Normal,
    Poisson,
    StudentT,
    Uniform,
    Weibull,
    noncentered,
    transport,
)
from probdiff.distributions.parameters import unchecked
from probdiff.distributions.support import correlation_matrix, interval, simplex
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models import Joint, Posterior
from probdiff.models.transport import bijector_of
from probdiff.models.transport import transport as through

FAMILIES = [
    Cauchy(1.5, 0.7),
    Exponential(2.0),
    HalfCauchy(5.0),
    Laplace(1.5, 0.7),
    LogNormal(0.5, 0.8),
    Normal(1.5, 0.7),
    Uniform(-1.0, 3.0),
    Weibull(1.5, 2.0),
]
Z = np.array([-3.0, -0.4, 0.1, 2.2])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda d: type(d).__name__)
def test_the_coordinate_is_standard_normal(family):
    x, logp = through(transport(family).iid(4), Z)
    assert family.cdf(x) == pytest.approx(stats.norm.cdf(Z), rel=1e-12)
    assert logp == pytest.approx(stats.norm.logpdf(Z).sum(), rel=1e-13)
    bijector = bijector_of(transport(family))
    assert bijector.inverse(x) == pytest.approx(Z, abs=1e-10)
    h = 1e-6
    slopes = (bijector.forward(Z + h) - bijector.forward(Z - h)) / (2 * h)
    assert bijector.log_jacobian(Z) == pytest.approx(np.log(slopes), abs=1e-7)
    assert gradient(lambda z: np.sum(bijector.forward(z)), Z)[0] == pytest.approx(slopes, rel=1e-7)


def test_both_tails_keep_their_digits():
    bijector = bijector_of(transport(Exponential(1.0)))
    # -log of the normal tail at 20, from mpmath: log Q(20) = -203.917155...
    assert bijector.forward(20.0) == pytest.approx(-stats.norm.logsf(20.0), rel=1e-13)
    assert bijector.forward(-20.0) == pytest.approx(stats.norm.cdf(-20.0), rel=1e-12)
    assert bijector.inverse(bijector.forward(20.0)) == pytest.approx(20.0, rel=1e-13)


def test_a_hierarchy_through_quantiles():
    prior = Joint(tau=transport(HalfCauchy(5.0)), x=lambda tau: transport(Laplace(0.0, tau)).iid(3))
    posterior = Posterior(prior, lambda x: Normal(x, 1.0), Z[:3])
    q = np.array([0.3, -1.0, 0.2, 2.0])
    point = posterior.constrain(q)
    expected = stats.norm.logpdf(q).sum() + stats.norm.logpdf(Z[:3], point["x"], 1.0).sum()
    assert posterior.logdensity(q) == pytest.approx(expected, rel=1e-13)
    assert posterior.unconstrain(point) == pytest.approx(q, abs=1e-12)
    h = 1e-6
    slopes = [(posterior.logdensity(q + h * e) - posterior.logdensity(q - h * e)) / (2 * h) for e in np.eye(4)]
    assert posterior.gradient(q) == pytest.approx(slopes, rel=1e-6, abs=1e-6)


def test_what_else_a_transported_distribution_is():
    wrapped, base = transport(Weibull(1.5, 2.0)), Weibull(1.5, 2.0)
    assert wrapped.mean() == base.mean()
    assert wrapped.logpdf(0.3) == base.logpdf(0.3)
    assert wrapped == transport(base)
    assert wrapped != noncentered(Normal(0, 1))
    assert repr(wrapped) == f"transport({base!r})"
    assert transport(base.iid(3)) == transport(base).iid(3)


def test_flat_priors_of_vectors_and_matrices():
    assert Flat(simplex, 3).event_shape == (3,)
    assert Flat(correlation_matrix, 2).event_shape == (2, 2)
    assert Flat(simplex, 3).logpdf(np.array([0.2, 0.3, 0.5])) == 0.0
    assert Flat(simplex, 3).logpdf(np.array([0.2, 0.3, 0.6])) == -np.inf
    bounded = Flat(interval(0.0, np.array([1.0, 2.0])))
    assert bounded.batch_shape == (2,)
    assert bounded.logpdf(np.array([1.5, 1.5])).tolist() == [-np.inf, 0.0]


def test_unchecked_parameters_are_a_density_of_zero():
    with unchecked():
        for distribution in (Normal(0.0, -1.0), Normal(np.nan, 1.0), Normal(0.0, np.inf), Uniform(2.0, 1.0)):
            assert distribution.logpdf(0.5) == -np.inf
        assert Normal(0.0, np.array([1.0, 0.0])).logpdf(0.0).tolist() == [stats.norm.logpdf(0.0), -np.inf]
    with pytest.raises(ParameterError):
        Normal(0.0, -1.0)


ERRORS = [
    (
        lambda: transport(Poisson(2.0)),
        UnsupportedError,
        "transport: Poisson is discrete. Only a continuous distribution of one number has it.",
    ),
    (
        lambda: transport(Flat(simplex, 3)),
        UnsupportedError,
        "transport: Flat is not of one number. Only a continuous distribution of one number has it.",
    ),
    (
        lambda: Flat(simplex),
        ParameterError,
        "Flat.size must be the number of coordinates for the support simplex, got None.",
    ),
    (
        lambda: Flat(size=3),
        ParameterError,
        "Flat.size is for vectors and matrices for the support real, got 3. Use iid for several numbers.",
    ),
    (lambda: Flat(simplex, 0), ParameterError, "Flat.size must be a positive integer, got 0"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_word_for_word(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


def test_quantiles_found_by_search_carry_a_prior_too():
    """z of a Student t with its degrees of freedom unknown: the density of the coordinates is that of the model."""
    prior = Joint(df=Gamma(20.0, 0.5), x=lambda df: transport(StudentT(df, 1.0, 2.0)))
    posterior = Posterior(prior, lambda x: Normal(x, 1.0), 0.3)
    q = np.array([2.1, -0.4])
    slopes = [(posterior.logdensity(q + h) - posterior.logdensity(q - h)) / 2e-5 for h in 1e-5 * np.eye(2)]
    assert posterior.gradient(q) == pytest.approx(slopes, rel=1e-6)


def test_a_family_without_distribution_function_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        transport(Flat())
    assert str(caught.value) == "transport: Flat has no distribution function, so it has no quantiles."
