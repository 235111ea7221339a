"""`debug`: every term by name, the first that is not finite, and what the sampler says of a point without density."""

import numpy as np
import pytest
from scipy import stats

from probdiff import sample
from probdiff.distributions import Exponential, HalfCauchy, MvNormal, Normal, Uniform, noncentered
from probdiff.errors import InitialPointError, ParameterError, ShapeError
from probdiff.models import Joint, Posterior

Y = np.array([1.0, -0.5, 2.0])
Q = np.array([0.3, 0.2, 0.1, -0.3, 0.5])


def schools(centre=lambda d: d) -> Posterior:
    prior = Joint(mu=Normal(0, 5), tau=HalfCauchy(5), theta=lambda mu, tau: centre(Normal(mu, tau)).iid(3))
    return Posterior(prior, lambda theta: Normal(theta, 1.0), Y, factors={"pull": lambda mu: -mu})


@pytest.mark.parametrize("model", [schools, lambda: schools(noncentered)])
def test_terms_add_up_to_the_log_density(model, capsys):
    posterior = model()
    assert posterior.debug(Q).total == pytest.approx(posterior.logdensity(Q), rel=1e-14)
    point = posterior.constrain(Q)
    assert posterior.debug(point).total == pytest.approx(posterior.log_density(point), rel=1e-14)
    assert capsys.readouterr().out.count("total") == 2


def test_what_is_printed(capsys):
    terms = schools().debug(Q)
    assert capsys.readouterr().out.splitlines() == [
        "term          of     log-density",
        "────────────  ─────  ───────────",
        "prior         mu     -2.53018",
        "prior         tau    -2.11898",
        "log-Jacobian  tau    0.2",
        "prior         theta  -3.50429",
        "likelihood    y      -4.30682",
        "factor        pull   -0.3",
        "total                -12.5603",
        "Every term is finite.",
    ]
    assert repr(terms) == "<log-density -12.5603: every term is finite>"
    assert terms["tau", "log-Jacobian"] == 0.2
    assert terms.first_bad is None
    kinds = [(term.name, term.kind) for term in schools(noncentered).debug(Q).terms]
    assert ("theta", "standardised prior") in kinds


def test_the_first_term_that_is_not_finite_has_its_index(capsys):
    posterior = Posterior(
        Joint(top=Exponential(0.1)),
        lambda top: Uniform(0.0, top + np.array([5.0, 0.0, 0.0])),
        np.array([4.0, 0.5, 3.0]),
    )
    terms = posterior.debug({"top": 1.0})
    assert capsys.readouterr().out.splitlines()[-1] == (
        "First term that is not finite: the likelihood of y is -inf at index 2 (observation 3.0)."
    )
    assert repr(terms) == "<log-density -inf: the likelihood of y is -inf at index 2 (observation 3.0)>"
    assert terms.first_bad.name == "y"
    assert terms.first_bad.bad == (2,)
    assert posterior.explain_point(np.array([0.0])) == "the likelihood of y is -inf at index 2 (observation 3.0)"
    assert posterior.explain_point(np.array([2.0])) == ""


def test_a_matrix_of_observations_and_vectors(capsys):
    data = np.array([[0.0, 1.0], [2.0, np.inf]])
    normal = Posterior(Joint(mu=Normal(0, 1)), loglike=lambda mu: stats.norm.logpdf(data, mu, 1.0))
    assert normal.explain_point(np.array([0.0])) == "the likelihood of loglike is -inf at index (1, 1)"
    vectors = Posterior(Joint(x=MvNormal(np.zeros(2), np.eye(2)).iid(2)), loglike=lambda x: -np.sum(x))
    terms = vectors.debug({"x": np.array([[0.0, 0.0], [0.0, np.inf]])})
    assert terms.explain() == "the prior of x is -inf at index 1"
    capsys.readouterr()


def test_fixed_variables_and_joint_factors_are_terms(capsys):
    terms = schools().condition(mu=0.3).debug(Q[1:])
    assert terms["mu", "prior"] == pytest.approx(stats.norm.logpdf(0.3, 0, 5), rel=1e-14)
    assert terms.total == pytest.approx(schools().logdensity(Q), rel=1e-14)
    capsys.readouterr()


def test_the_sampler_says_which_term_has_no_density():
    posterior = Posterior(
        Joint(p=Uniform(0, 1)), lambda p: Uniform(0.0, p + np.array([9.0, 0.0])), np.array([8.0, 2.5])
    )
    with pytest.raises(InitialPointError) as caught:
        sample(posterior, init=np.zeros(1), progress=False)
    assert str(caught.value) == (
        "init for chain 0 has log-density -inf at p=0.5: the likelihood of y is -inf at index 1 (observation 2.5). "
        "Give a point inside the support."
    )
    with pytest.raises(InitialPointError) as caught:
        sample(posterior, seed=1, progress=False)
    assert ": the likelihood of y is -inf at index 1 (observation 2.5). Give init=" in str(caught.value)


ERRORS = [
    (lambda: schools().debug(np.zeros(4)), ShapeError, "debug needs a vector of length 5, got shape (4,)."),
    (
        lambda: schools().debug({"mu": 0.0}),
        ParameterError,
        "There is no value for tau; the values given are mu.",
    ),
    (
        lambda: schools().debug(Q)["tau", "posterior"],
        KeyError,
        "\"there is no term ('tau', 'posterior'); there are prior of mu, prior of tau, log-Jacobian of tau, "
        'prior of theta, likelihood of y, factor of pull"',
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_word_for_word(call, kind, text, capsys):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
    capsys.readouterr()
