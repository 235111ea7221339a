"""Fixed variables, factors, derived values, improper priors with bounds that are variables, and other data."""

import numpy as np
import pytest
from scipy import stats

from probdiff.compiler.native import jit
from probdiff.distributions import Exponential, Flat, HalfCauchy, Normal, Uniform
from probdiff.distributions.support import correlation_matrix, interval, simplex, unit_vector
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.models import Joint, Posterior, factor

Y = np.array([1.0, -0.5, 2.0])


def hierarchy() -> Posterior:
    prior = Joint(mu=Normal(0, 5), tau=HalfCauchy(5), theta=lambda mu, tau: Normal(mu, tau).iid(3))
    return Posterior(prior, lambda theta: Normal(theta, 1.0), Y)


def test_conditioning_is_the_density_at_the_fixed_value():
    posterior = hierarchy()
    given = posterior.condition(mu=0.4)
    assert given.dim == 4
    assert given.coordinate_names == ["tau", "theta[0]", "theta[1]", "theta[2]"]
    q = np.array([0.2, 0.1, -0.3, 0.5])
    assert given.logdensity(q) == pytest.approx(posterior.logdensity(np.concatenate([[0.4], q])), rel=1e-14)
    assert given.value_and_grad(q)[1] == pytest.approx(posterior.gradient(np.concatenate([[0.4], q]))[1:], rel=1e-12)
    assert set(given.constrain(q)) == {"tau", "theta"}
    assert given.unconstrain(given.constrain(q)) == pytest.approx(q, rel=1e-13)


def test_a_fixed_variable_keeps_its_term_that_depends_on_others():
    joint = Joint(a=Normal(0, 1), b=lambda a: Normal(a, 2.0)).condition(b=1.5)
    expected = stats.norm.logpdf(0.3) + stats.norm.logpdf(1.5, 0.3, 2.0)
    assert joint.logpdf({"a": 0.3}) == pytest.approx(expected, rel=1e-14)


def test_draws_where_the_fixed_variable_comes_first():
    joint = Joint(a=Normal(0, 1), b=lambda a: Normal(a, 1e-9)).condition(a=3.0)
    draws = joint.rand(rng=np.random.default_rng(0), size=5)
    assert draws["b"] == pytest.approx(np.full(5, 3.0), abs=1e-7)


def test_nested_and_repeated_conditions():
    joint = Joint(g=Joint(s=Exponential(1.0), x=lambda s: Normal(0, s)), y=lambda g: Normal(g["x"], 1.0))
    given = joint.condition({"g.s": 2.0}).condition(y=0.5)
    assert given.shapes == {"g.x": ()}
    expected = -2.0 + stats.norm.logpdf(1.0, 0, 2.0) + stats.norm.logpdf(0.5, 1.0)
    assert given.logpdf({"g.x": 1.0}) == pytest.approx(expected, rel=1e-14)


def test_repr_and_table_show_what_is_fixed():
    given = hierarchy().condition(mu=1.0)
    assert repr(given.prior) == (
        "Joint(mu=Normal(loc=0.0, scale=5.0), tau=HalfCauchy(scale=5.0), theta=(mu, tau) -> … | mu=1.0)"
    )
    assert given.table().splitlines()[2:] == [
        "tau       HalfCauchy                ()     nonnegative",
        "theta     Normal        mu, tau     (3,)   real",
        "mu        fixed                     ()",
        "y         Normal        theta       (3,)   real",
    ]


def test_factors_of_joints_and_posteriors():
    joint = Joint(a=Normal(0, 1), b=Normal(0, 1), near=factor(lambda a, b: -0.5 * (a - b) ** 2))
    expected = stats.norm.logpdf(0.3) + stats.norm.logpdf(1.0) - 0.5 * 0.49
    assert joint.logpdf({"a": 0.3, "b": 1.0}) == pytest.approx(expected, rel=1e-14)
    assert joint.shapes == {"a": (), "b": ()}
    assert joint.names == ("a", "b")
    posterior = Posterior(joint, lambda a: Normal(a, 1.0), 0.5, factors={"pull": lambda b: np.stack([-b, -(b**2)])})
    q = np.array([0.3, 1.0])
    assert posterior.logdensity(q) == pytest.approx(expected + stats.norm.logpdf(0.5, 0.3) - 2.0, rel=1e-14)
    assert posterior.log_density({"a": 0.3, "b": 1.0}) == pytest.approx(posterior.logdensity(q), rel=1e-14)
    assert posterior.gradient(q)[1] == pytest.approx(-1.0 - (1.0 - 0.3) - 1.0 - 2.0, rel=1e-12)
    assert posterior.table().splitlines()[-2:] == [
        "y         Normal        a           ()     real",
        "pull      factor        b",
    ]
    assert repr(joint).endswith("near=factor(a, b))")


def test_derived_values_come_with_the_draws():
    posterior = Posterior(
        Joint(a=Normal(0, 1), b=Normal(0, 1).iid(2)),
        loglike=lambda a: -a,
        derived={"sum": lambda a, b: a + np.sum(b), "pair": lambda sum, a: np.stack([sum, a])},
    )
    q = np.array([0.5, 1.0, 2.0])
    one = posterior.constrain(q)
    assert list(one) == ["a", "b", "sum", "pair"]
    assert one["sum"] == 3.5
    assert one["pair"].tolist() == [3.5, 0.5]
    many = posterior.constrain_many(np.stack([q, 2 * q, 3 * q]))
    assert many["sum"].tolist() == [3.5, 7.0, 10.5]
    assert many["pair"].shape == (3, 2)
    assert posterior.unconstrain(one) == pytest.approx(q, rel=1e-14)
    assert posterior.condition(a=0.5).constrain(q[1:])["sum"] == 3.5


def test_a_derived_value_that_cannot_be_traced_is_computed_row_by_row():
    posterior = Posterior(Joint(a=Normal(0, 1)), loglike=lambda a: -a, derived={"half": lambda a: round(float(a)) / 2})
    assert posterior.constrain_many(np.array([[1.1], [2.9], [-4.2]]))["half"].tolist() == [0.5, 1.5, -2.0]


def test_a_flat_prior_has_no_term_for_a_width_that_is_a_variable():
    """GARCH's region: alpha and beta in the triangle beta < 1 - alpha, with equal density everywhere."""
    prior = Joint(alpha=Uniform(0, 1), beta=lambda alpha: Flat(interval(0, 1 - alpha)))
    posterior = Posterior(prior, loglike=lambda alpha, beta: 0.0 * alpha)
    assert posterior.log_density({"alpha": 0.3, "beta": 0.6}) == 0.0
    assert posterior.log_density({"alpha": 0.3, "beta": 0.8}) == -np.inf
    q = np.array([0.3, -0.8])
    point = posterior.constrain(q)
    alpha, width = point["alpha"], 1 - point["alpha"]
    assert point["beta"] == pytest.approx(width / (1 + np.exp(0.8)), rel=1e-14)
    jacobian = stats.logistic.logpdf(0.3) + np.log(width) + stats.logistic.logpdf(-0.8)
    assert posterior.logdensity(q) == pytest.approx(jacobian, rel=1e-13)
    # d/du of log(1 - alpha) is -alpha; the logistic density adds 1 - 2 alpha.
    assert posterior.gradient(q)[0] == pytest.approx(1 - 2 * alpha - alpha, rel=1e-12)
    normalised = Posterior(
        Joint(alpha=Uniform(0, 1), beta=lambda alpha: Uniform(0, 1 - alpha)), loglike=lambda alpha, beta: 0.0 * alpha
    )
    assert normalised.logdensity(q) == pytest.approx(jacobian - np.log(width), rel=1e-13)
    assert normalised.unconstrain(point) == pytest.approx(q, rel=1e-13)
    for far in (800.0, -800.0):
        assert not np.isnan(posterior.logdensity(np.array([-30.0, far])))


def test_flat_priors_of_any_support():
    prior = Joint(
        w=Flat(simplex, 3),
        R=Flat(correlation_matrix, 3),
        n=Flat(unit_vector, 2).iid(2),
        t=Flat(interval(0.0, Y + 2)).iid(2),
    )
    assert prior.shapes == {"w": (3,), "R": (3, 3), "n": (2, 2), "t": (3, 2)}
    posterior = Posterior(prior, loglike=lambda w, R, n, t: np.sum(w) + R[0, 1] + n[0, 0] - np.sum(t))
    q = posterior.initial(np.random.default_rng(1))
    assert posterior.dim == len(posterior.coordinate_names) == 2 + 3 + 4 + 6
    point = posterior.constrain(q)
    assert np.all(point["t"] < (Y + 2)[:, None])
    assert posterior.value_and_grad(q)[0] == pytest.approx(posterior.logdensity(q), rel=1e-13)
    again = posterior.constrain(posterior.unconstrain(point))
    for name, value in point.items():
        assert again[name] == pytest.approx(value, abs=1e-12)


def test_other_data_of_the_same_size_need_no_new_machine_code(monkeypatch):
    loaded = []
    load = jit.load

    def counted(*args, **kwargs):
        loaded.append(args)
        return load(*args, **kwargs)

    monkeypatch.setattr(jit, "load", counted)
    posterior = Posterior(Joint(mu=Normal(0, 5.25)), lambda mu: Normal(mu, 1.5).iid(3), Y)
    q = np.array([0.3])
    posterior.value_and_grad(q)
    posterior.constrain_many(q[None])
    count = len(loaded)
    assert count > 0
    other = posterior.with_data(Y + 1)
    expected = stats.norm.logpdf(0.3, 0, 5.25) + stats.norm.logpdf(Y + 1, 0.3, 1.5).sum()
    assert other.value_and_grad(q)[0] == pytest.approx(expected, rel=1e-13)
    other.constrain_many(q[None])
    assert len(loaded) == count


def test_with_data_keeps_factors_and_derived_values():
    posterior = Posterior(
        Joint(mu=Normal(0, 1)), lambda mu: Normal(mu, 1).iid(3), Y,
        factors={"f": lambda mu: -mu}, derived={"twice": lambda mu: 2 * mu},
    )  # fmt: skip
    other = posterior.with_data(Y + 1)
    assert other.constrain(np.array([0.5]))["twice"] == 1.0
    expected = stats.norm.logpdf(0.5) + stats.norm.logpdf(Y + 1, 0.5).sum() - 0.5
    assert other.logdensity(np.array([0.5])) == pytest.approx(expected, rel=1e-14)


ERRORS = [
    (
        lambda: hierarchy().condition(nu=1.0),
        ParameterError,
        "condition: nu is no random variable (mu, tau, theta).",
    ),
    (
        lambda: hierarchy().condition(theta=1.0),
        ShapeError,
        "The value of theta has shape (), its distribution (3,).",
    ),
    (
        lambda: hierarchy().condition(tau=-1.0),
        ParameterError,
        "tau must be inside the support of HalfCauchy (nonnegative), got -1.0.",
    ),
    (
        lambda: Joint(a=Normal(0, 1), b=lambda a: Normal(a, 1)).condition(b=1.0).rand(rng=np.random.default_rng(0)),
        UnsupportedError,
        "b is fixed, and depends on variables that are not: this prior cannot be drawn from one variable after the "
        "other. Sample it.",
    ),
    (
        lambda: Joint(a=Normal(0, 1), f=factor(lambda a: -a)).rand(rng=np.random.default_rng(0)),
        UnsupportedError,
        "f is a factor: this prior cannot be drawn from one variable after the other. Sample it.",
    ),
    (
        lambda: Posterior(
            Joint(a=Normal(0, 1)), lambda a: Normal(a, 1), 0.0, factors={"f": lambda a: -a}
        ).prior_predictive(np.random.default_rng(0)),
        UnsupportedError,
        "f is a factor: the prior predictive cannot be drawn. Sample without data.",
    ),
    (lambda: factor(3.0), ParameterError, "factor takes a function of variables, got 3.0."),
    (
        lambda: Joint(a=Normal(0, 1), f=factor(lambda b: -b)),
        ParameterError,
        "Joint.f takes 'b', which is no variable (a). Rename the argument, or add the variable.",
    ),
    (
        lambda: Joint(a=Normal(0, 1), f=factor(lambda a: -a), b=lambda f: Normal(f, 1)),
        ParameterError,
        "Joint.b takes 'f', which is no variable (a, b). Rename the argument, or add the variable.",
    ),
    (
        lambda: Posterior(Joint(a=Normal(0, 1)), loglike=lambda a: -a, factors={"f": lambda c: -c}),
        ParameterError,
        "Posterior.factors['f'] takes 'c', which is no variable (a). Rename the argument, or add the variable.",
    ),
    (
        lambda: Posterior(Joint(a=Normal(0, 1)), loglike=lambda a: -a, derived={"d": lambda c: -c}),
        ParameterError,
        "Posterior.derived['d'] takes 'c', which is no variable (a). Rename the argument, or add the variable.",
    ),
    (
        lambda: Posterior(Joint(a=Normal(0, 1)), loglike=lambda a: -a, derived={"a": lambda a: -a}),
        ParameterError,
        "Posterior.derived: a is a variable already. Give the derived value another name.",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_word_for_word(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
