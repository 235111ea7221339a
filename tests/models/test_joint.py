"""Joint distributions: log-densities by hand, order of dependencies, shapes, draws, errors word for word."""

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import Exponential, Flat, HalfCauchy, Normal, Poisson, Uniform, noncentered
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.models import Joint


def hierarchy() -> Joint:
    return Joint(mu=Normal(0, 5), tau=HalfCauchy(5), theta=lambda mu, tau: Normal(mu, tau).iid("school"))


def test_logpdf_is_the_sum_of_its_terms():
    joint = hierarchy().with_coords({"school": 3})
    theta = np.array([1.0, -2.0, 0.5])
    expected = (
        stats.norm.logpdf(1.5, 0, 5) + stats.halfcauchy.logpdf(2.0, scale=5) + stats.norm.logpdf(theta, 1.5, 2.0).sum()
    )
    assert joint.logpdf({"mu": 1.5, "tau": 2.0, "theta": theta}) == pytest.approx(expected, rel=1e-14)


def test_non_centring_leaves_the_density_alone():
    centred = Joint(tau=HalfCauchy(1), theta=lambda tau: Normal(2.0, tau).iid(2))
    wrapped = Joint(tau=HalfCauchy(1), theta=lambda tau: noncentered(Normal(2.0, tau)).iid(2))
    around = Joint(tau=HalfCauchy(1), theta=lambda tau: noncentered(Normal(2.0, tau).iid(2)))
    point = {"tau": 0.7, "theta": np.array([1.0, 3.0])}
    assert centred.logpdf(point) == wrapped.logpdf(point) == around.logpdf(point)


def test_outside_the_support_is_minus_infinity_before_anything_depends_on_it():
    joint = hierarchy().with_coords({"school": 2})
    assert joint.logpdf({"mu": 0.0, "tau": -1.0, "theta": np.zeros(2)}) == -np.inf


def test_a_bound_may_be_a_variable():
    joint = Joint(tau=Exponential(1.0), x=lambda tau: Uniform(0.0, tau).iid(2))
    assert joint.logpdf({"tau": 2.0, "x": np.array([0.5, 1.5])}) == pytest.approx(-2.0 - 2 * np.log(2.0), rel=1e-14)
    assert joint.logpdf({"tau": 1.0, "x": np.array([0.5, 1.5])}) == -np.inf


def test_variables_come_in_dependency_order_and_otherwise_as_written():
    joint = Joint(c=lambda a, b: Normal(a, b), b=lambda a: Exponential(np.exp(a)), a=Normal(0, 1), d=Normal(0, 1))
    assert joint.names == ("a", "b", "c", "d")
    assert Joint(b=Normal(0, 1), a=lambda b: Normal(b, 1), c=Normal(0, 1)).names == ("b", "a", "c")


def test_constants_and_computed_values_have_no_freedom():
    joint = Joint(scale=2.0, a=Normal(0, 1), b=lambda a, scale: scale * a, c=lambda b, scale: Normal(b, scale))
    assert joint.shapes == {"a": (), "c": ()}
    point = {"a": 0.3, "c": -1.0}
    assert joint.logpdf(point) == pytest.approx(stats.norm.logpdf(0.3) + stats.norm.logpdf(-1.0, 0.6, 2.0), rel=1e-14)
    assert joint.complete(point) == {"scale": 2.0, "a": 0.3, "b": 0.6, "c": -1.0}


def test_nested_joints_by_nested_and_dotted_names():
    group = Joint(scale=Exponential(1.0), x=lambda scale: Normal(0, scale))
    joint = Joint(group=group, y=lambda group: Normal(group["x"], 1.0))
    nested = {"group": {"scale": 2.0, "x": 1.0}, "y": 0.5}
    dotted = {"group.scale": 2.0, "group.x": 1.0, "y": 0.5}
    expected = -2.0 + stats.norm.logpdf(1.0, 0, 2.0) + stats.norm.logpdf(0.5, 1.0, 1.0)
    assert joint.logpdf(nested) == joint.logpdf(dotted) == pytest.approx(expected, rel=1e-14)
    assert joint.shapes == {"group.scale": (), "group.x": (), "y": ()}


def test_a_function_may_return_a_joint():
    joint = Joint(m=Normal(0, 1), pair=lambda m: Joint(a=Normal(m, 1), b=lambda a: Normal(a, 1)))
    expected = stats.norm.logpdf(0.1) + stats.norm.logpdf(0.2, 0.1) + stats.norm.logpdf(0.3, 0.2)
    assert joint.logpdf({"m": 0.1, "pair": {"a": 0.2, "b": 0.3}}) == pytest.approx(expected, rel=1e-14)


def test_named_sizes_take_their_length_from_coords():
    assert hierarchy().with_coords({"school": ["a", "b", "c"]}).shapes == {"mu": (), "tau": (), "theta": (3,)}
    table = Joint(x=Normal(0, 1).iid("row", 2)).with_coords({"row": 3}).table()
    assert table.splitlines() == [
        "variable  distribution  depends on  shape   support  dims",
        "────────  ────────────  ──────────  ──────  ───────  ──────",
        "x         Normal                    (3, 2)  real     row, ·",
    ]


def test_parameters_with_axes_stay_beside_the_axes_of_iid():
    joint = Joint(x=Normal(np.array([0.0, 10.0]), 1.0).iid(3))
    x = joint.rand(rng=np.random.default_rng(0))["x"]
    assert x.shape == (2, 3)
    expected = stats.norm.logpdf(x, np.array([[0.0], [10.0]])).sum()
    assert joint.logpdf({"x": x}) == pytest.approx(expected, rel=1e-13)


def test_draws_have_the_moments_of_the_model():
    joint = Joint(mu=Normal(3.0, 2.0), x=lambda mu: noncentered(Normal(mu, 1.0)).iid(2))
    draws = joint.rand(rng=np.random.default_rng(5), size=4000)
    # E x = 3, var x = 5, cov(x1, x2) = 4. Five standard errors of each estimate: false alarm below 1e-6.
    assert np.all(abs(draws["x"].mean(axis=0) - 3.0) < 5 * np.sqrt(5.0 / 4000))
    covariance = np.cov(draws["x"].T)
    assert np.all(abs(np.diag(covariance) - 5.0) < 5 * 5.0 * np.sqrt(2 / 4000))
    assert abs(covariance[0, 1] - 4.0) < 5 * np.sqrt((25.0 + 16.0) / 4000)


def test_draws_of_nested_joints_are_nested():
    draws = Joint(group=Joint(a=Normal(0, 1).iid(2)), b=Normal(0, 1)).rand(rng=np.random.default_rng(0), size=3)
    assert draws["group"]["a"].shape == (3, 2)
    assert draws["b"].shape == (3,)


def test_repr_reads_like_the_definition():
    assert repr(hierarchy()) == "Joint(mu=Normal(loc=0.0, scale=5.0), tau=HalfCauchy(scale=5.0), theta=(mu, tau) -> …)"


ERRORS = [
    (lambda: Joint(mu=Normal), ParameterError, "Joint.mu is the class Normal. Call it with its parameters."),
    (
        lambda: Joint(mu=Normal(0, 1), theta=lambda mu: None).shapes,
        ParameterError,
        "Joint.theta is None. A function of variables returns a distribution, a Joint or a value.",
    ),
    (
        lambda: Joint(theta=lambda sigma: Normal(0, sigma), mu=Normal(0, 1)),
        ParameterError,
        "Joint.theta takes 'sigma', which is no variable (theta, mu). Rename the argument, or add the variable.",
    ),
    (
        lambda: Joint(a=lambda b: Normal(b, 1), b=lambda c: Normal(c, 1), c=lambda a: Normal(a, 1)),
        ParameterError,
        "Joint.a depends on itself: a needs b needs c needs a. Break the cycle.",
    ),
    (
        lambda: hierarchy().shapes,
        ParameterError,
        "Joint.theta has the named size 'school', which coords does not give (it is empty). "
        "Pass coords={'school': labels}.",
    ),
    (
        lambda: hierarchy().with_coords({"school": ["a", "a"]}),
        ParameterError,
        "coords['school'] has a label twice. Labels name one coordinate each.",
    ),
    (
        lambda: hierarchy().with_coords({"school": [["a", "b"]]}),
        ParameterError,
        "coords['school'] must be a sequence of labels, got shape (1, 2).",
    ),
    (
        lambda: Joint(a=Normal(0, 1), b=Normal(0, 1)).logpdf({"a": 1.0}),
        ParameterError,
        "There is no value for b; the values given are a.",
    ),
    (
        lambda: Joint(a=Normal(0, 1)).logpdf({"a": 1.0, "z": 2.0}),
        ParameterError,
        "z is no variable (a).",
    ),
    (
        lambda: Joint(a=Normal(0, 1).iid(3)).logpdf({"a": np.zeros((3, 1))}),
        ShapeError,
        "The value of a has shape (3, 1), its distribution (3,).",
    ),
    (
        lambda: Joint(a=Flat()).rand(rng=np.random.default_rng(0)),
        UnsupportedError,
        "a is Flat, and an improper prior cannot be drawn from. Give it a proper one.",
    ),
    (
        lambda: noncentered(Poisson(2.0)),
        UnsupportedError,
        "noncentered: Poisson has no loc and scale. Only a location-scale family has a standard form.",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_word_for_word(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
