"""Transports: non-centred families, transported densities, and parameters with axes of their own."""

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import Cauchy, Gamma, Laplace, Logistic, Normal, StudentT, Uniform, noncentered
from probdiff.models import Joint, Posterior
from probdiff.models.dimensions import elements
from probdiff.models.transport import bijector_of, transport

FAMILIES = [
    (Normal(1.5, 0.7), stats.norm()),
    (StudentT(4.0, 1.5, 0.7), stats.t(4.0)),
    (Cauchy(1.5, 0.7), stats.cauchy()),
    (Laplace(1.5, 0.7), stats.laplace()),
    (Logistic(1.5, 0.7), stats.logistic()),
]
Z = np.array([-2.0, 0.1, 1.3])


@pytest.mark.parametrize(("family", "standard"), FAMILIES)
def test_non_centred_families(family, standard):
    x, logp = transport(noncentered(family).iid(3), Z)
    assert x == pytest.approx(1.5 + 0.7 * Z, rel=1e-15)
    assert logp == pytest.approx(standard.logpdf(Z).sum(), rel=1e-13)
    assert noncentered(family).logpdf(x) == pytest.approx(standard.logpdf(Z) - np.log(0.7), rel=1e-13)


def test_what_else_a_non_centred_distribution_is():
    wrapped, base = noncentered(StudentT(5.0, 1.0, 2.0)), StudentT(5.0, 1.0, 2.0)
    assert wrapped.mean() == base.mean()
    assert wrapped.std() == base.std()
    assert wrapped.cdf(0.3) == base.cdf(0.3)
    assert wrapped.quantile(0.3) == base.quantile(0.3)
    assert wrapped.support is base.support
    assert wrapped == noncentered(base)
    assert repr(wrapped) == f"noncentered({base!r})"
    same = (each.rand(4, rng=np.random.default_rng(1)) for each in (wrapped, base))
    assert np.array_equal(*same)


def test_parameters_with_axes_line_up_with_values():
    loc = np.array([0.0, 10.0])
    prior = noncentered(Normal(loc, 2.0)).iid(3)
    z = np.arange(6.0).reshape(2, 3)
    x, logp = transport(prior, z)
    assert x == pytest.approx(loc[:, None] + 2.0 * z, rel=1e-15)
    assert logp == pytest.approx(stats.norm.logpdf(z).sum(), rel=1e-14)
    assert bijector_of(prior).inverse(x) == pytest.approx(z, abs=1e-14)
    assert elements(prior).logpdf(x).sum() == pytest.approx(prior.logpdf(x).sum(), rel=1e-14)


def test_bounds_with_axes_line_up_with_values():
    prior = Uniform(np.array([0.0, 1.0]), np.array([2.0, 5.0])).iid(3)
    u = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    x, logp = transport(prior, u)
    width = np.array([[2.0], [4.0]])
    assert x == pytest.approx(np.array([[0.0], [1.0]]) + width / (1 + np.exp(-u)), rel=1e-14)
    # The uniform's width cancels against the bijector's: what is left is the logistic density.
    assert logp == pytest.approx(stats.logistic.logpdf(u).sum(), rel=1e-13)


def test_transported_densities_integrate_to_one():
    # The trapezoidal rule is exact to rounding for smooth functions that vanish at both ends.
    grid = np.linspace(-60.0, 60.0, 24001)
    for prior in (Gamma(2.0, 3.0), Uniform(-1.0, 2.0), noncentered(Logistic(3.0, 0.5))):
        density = np.exp([transport(prior, u)[1] for u in grid])
        assert np.sum(density) * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-10)


def test_far_out_the_density_is_finite_or_zero_without_a_warning():
    posterior = Posterior(Joint(rate=Gamma(2.0, 1.0), p=Uniform(0.0, 1.0)), loglike=lambda rate, p: -rate * p)
    for q in (np.array([800.0, 0.0]), np.array([-800.0, 40.0]), np.array([3.0, -800.0])):
        value = posterior.logdensity(q)
        assert value < 0
        assert not np.isnan(value)
