"""Centred and non-centred forms of one posterior, by name and by what the data say."""

import numpy as np
import pytest

from probdiff.distributions import (
    Cauchy,
    Exponential,
    Flat,
    Frechet,
    HalfNormal,
    Laplace,
    Levy,
    Logistic,
    LogitNormal,
    LogLogistic,
    LogNormal,
    Normal,
    StudentT,
    noncentered,
    transport,
)
from probdiff.distributions.support import real
from probdiff.models import Joint, Posterior
from probdiff.models.reparam import hierarchical, left_share, variance_shares
from probdiff.models.zoo import eight_schools, eight_schools_centered, radon
from probdiff.sampling import Draws, Target, resume, sample
from probdiff.sampling.pilot import chosen, moved_points

GROUPS, EACH = 10, 100


def well_known_groups() -> Posterior:
    """A hundred observations of each group, and groups far apart."""
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(GROUPS), EACH)
    y = rng.normal(2 + 5 * rng.normal(size=GROUPS)[group], 1)
    prior = Joint(
        mu=Normal(0, 10), tau=HalfNormal(10), theta=lambda mu, tau: Normal(mu, tau).iid(GROUPS), sigma=HalfNormal(2)
    )
    return Posterior(prior, lambda theta, sigma: Normal(theta[group], sigma), y)


def nested() -> Posterior:
    """A joint in a joint, a function that returns one, and a batch of locations."""
    prior = Joint(
        n=2,
        scale=HalfNormal(1),
        group=Joint(m=Normal(0, 1), x=lambda m, s=2.0: Normal(m, s).iid(3)),
        pair=lambda scale, n: Joint(z=Laplace(0, scale).iid(n)),
        grid=lambda scale: Normal(np.array([0.0, 1.0]), scale).iid(3),
    )
    return Posterior(prior, lambda pair: Normal(pair["z"], 1), [0.5, -0.5], derived={"top": lambda scale: 2 * scale})


def least_ess(draws: Draws) -> float:
    """The smallest effective sample size for a thousand gradients."""
    columns = draws.summary().columns
    return 1000 * min(columns["ess_bulk"].min(), columns["ess_tail"].min()) / draws.sample_stats["n_steps"].sum()


# By name.


def test_the_other_form_of_eight_schools_is_the_model_that_is_written_so():
    centred = eight_schools_centered()
    free = centred.reparameterised({"theta": "noncentered"})
    q = np.random.default_rng(0).normal(size=10)
    values = centred.constrain(q)
    there = free.unconstrain(values)
    assert free.constrain(there)["theta"] == pytest.approx(values["theta"], rel=1e-14)
    assert free.log_density(values) == centred.log_density(values)
    assert free.logdensity(there) == eight_schools().logdensity(there)
    # dx/dz = tau for each of the eight.
    assert free.logdensity(there) - centred.logdensity(q) == pytest.approx(8 * np.log(values["tau"]), rel=1e-12)
    assert np.array_equal(free.reparameterised({"theta": "centered"}).gradient(q), centred.gradient(q))
    assert free.coords["school"].tolist() == centred.coords["school"].tolist()


def test_what_is_inside_other_joints():
    posterior = nested()
    everything = {"group.x": "noncentered", "pair.z": "noncentered", "grid": "noncentered"}
    other = posterior.reparameterised(everything)
    q = np.random.default_rng(1).normal(size=posterior.dim)
    values = posterior.constrain(q)
    there = other.unconstrain(values)
    assert other.log_density(values) == posterior.log_density(values)
    jacobian = 3 * np.log(2.0) + (2 + 6) * np.log(values["scale"])
    assert other.logdensity(there) - posterior.logdensity(q) == pytest.approx(jacobian, rel=1e-12)
    slots = other.layout.slots
    assert there[slots["group.x"].start : slots["group.x"].stop] == pytest.approx(
        (values["group.x"] - values["group.m"]) / 2
    )
    z = (values["grid"] - np.array([[0.0], [1.0]])) / values["scale"]
    assert there[slots["grid"].start : slots["grid"].stop] == pytest.approx(z.ravel())
    assert other.constrain(there)["top"] == 2 * values["scale"]
    assert other.prior.table() == posterior.prior.table()
    one = posterior.reparameterised({"pair.z": "noncentered"})
    assert one.layout.slots["group.x"] == posterior.layout.slots["group.x"]
    assert np.array_equal(one.unconstrain(values)[slots["grid"].start :], values["grid"].ravel())


def test_what_else_a_posterior_can_do_stays():
    free = eight_schools_centered().reparameterised({"theta": "noncentered"})
    q = np.linspace(-1, 1, 10)
    moved = free.with_data(free.observed["y"] + 1)
    assert moved.constrain(q)["theta"] == pytest.approx(free.constrain(q)["theta"])
    assert moved.logdensity(q) != free.logdensity(q)
    fixed = free.condition(tau=2.0)
    assert fixed.constrain(q[:9])["theta"] == pytest.approx(q[0] + 2.0 * q[1:9])
    assert free.dependants("tau") == {"theta": False}


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        ({"x": "centered"}, ValueError, "reparam: x is no random variable of the prior (mu, tau, theta)."),
        ({"theta": 0.5}, ValueError, "reparam['theta'] must be 'centered' or 'noncentered', got 0.5"),
        (
            {"tau": "noncentered"},
            TypeError,
            "reparam: tau has no location-scale prior on the real line, nor a function of one, but HalfCauchy. "
            "Those that have: mu, theta.",
        ),
        ("theta", ValueError, "reparam must be a dict such as {'theta': 'noncentered'}, got 'theta'"),
    ],
)
def test_refusals(choices, error, message):
    with pytest.raises(error) as raised:
        eight_schools_centered().reparameterised(choices)
    assert str(raised.value) == message


def test_refusals_of_sample():
    for wrong in ("noncentered", 5):
        with pytest.raises(ValueError) as raised:
            sample(eight_schools(), reparam=wrong)
        assert str(raised.value) == (
            f"sample.reparam must be 'auto', a dict such as {{'theta': 'noncentered'}} or None, got {wrong!r}"
        )
    with pytest.raises(TypeError) as raised:
        sample(Target(lambda q: (-0.5 * q @ q, -q), 2), reparam={"x": "centered"})
    assert str(raised.value) == "sample.reparam needs a Posterior, whose variables have priors; got Target."
    with pytest.raises(TypeError) as raised:
        Posterior(Joint(s=HalfNormal(1), x=lambda s: transport(Normal(0, s))), loglike=lambda x: x).reparameterised(
            {"x": "centered"}
        )
    assert str(raised.value) == (
        "reparam: x has no location-scale prior on the real line, nor a function of one, but transport(Normal). "
        "Those that have: none has."
    )


def test_a_half_line_is_not_shifted_and_stretched():
    with pytest.raises(TypeError) as raised:
        noncentered(Levy(0.0, 1.0))
    assert str(raised.value) == (
        "noncentered: Levy is not on the whole real line, so loc and scale do not shift and stretch it. "
        "Write transport(Levy(…))."
    )


@pytest.mark.parametrize(
    "d", [LogNormal(0.3, 0.7), LogitNormal(0.3, 0.7), LogLogistic(2.0, 3.0), Frechet(3.0, 2.0)], ids=lambda d: repr(d)
)
def test_functions_of_a_location_scale_variable(d):
    """The density of z is that of x = link(loc + scale z) with the Jacobian, and hangs on neither."""
    wrapped, z = noncentered(d), np.array([-1.3, 0.2, 2.0])
    x = wrapped.bijector().forward(z)
    volume = wrapped.bijector().log_jacobian(z)
    np.testing.assert_allclose(wrapped.standard().logpdf(z), d.logpdf(x) + volume, rtol=1e-13)
    np.testing.assert_allclose(wrapped.bijector().inverse(x), z, rtol=1e-13)


# What hangs on other variables.


def test_location_and_scale_count_and_nothing_else():
    prior = Joint(
        v=HalfNormal(1),
        flat=Flat(real),
        sd=lambda v: v**0.5,
        by_scale=lambda sd: Normal(0, sd).iid(2),
        by_location=lambda flat: noncentered(Cauchy(flat, 1)),
        by_shape=lambda v: StudentT(v, 0, 1),
        by_nothing=Normal(0, 1),
        positive=lambda flat: LogNormal(flat, 1),
        other=lambda v: Exponential(v),
        moved=lambda v: transport(Normal(0, v)),
        pair=lambda v: Joint(z=Logistic(0, v)),
    )
    posterior = Posterior(prior, loglike=lambda by_nothing: by_nothing)
    assert hierarchical(posterior) == ["by_scale", "by_location", "positive", "pair.z"]
    assert hierarchical(posterior.condition(v=1.0)) == ["by_location", "positive"]


# What the data leave of the prior variance. A variance of n draws has the relative standard error sqrt(2 / n), here
# 0.014 of 10 000: six of them are 0.085.


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_the_share_of_a_normal_hierarchy(share):
    rng = np.random.default_rng(2)
    loc = 3 + rng.normal(size=(10_000, 1)) * np.ones(4)
    scale = np.full_like(loc, 2.0)
    y = np.array([-1.0, 0.0, 2.0, 9.0])
    x = (1 - share) * y + share * loc + np.sqrt(share) * scale * rng.normal(size=loc.shape)
    assert left_share((x - loc) / scale, loc, scale) == pytest.approx(np.full(4, share), rel=0.085)


def test_the_share_where_the_scale_varies():
    rng = np.random.default_rng(3)
    loc, scale = rng.normal(size=10_000), np.exp(rng.normal(size=10_000))
    for noise in (0.01, 30.0):
        share = noise**2 / (scale**2 + noise**2)
        x = (1 - share) * 2.0 + share * loc + np.sqrt(share) * scale * rng.normal(size=10_000)
        # Where the share changes, a linear fit leaves some of E(z): little beside the half at which forms change.
        assert left_share((x - loc) / scale, loc, scale) == pytest.approx(np.mean(share), rel=0.085, abs=0.05)


@pytest.mark.parametrize(
    "family", [Normal, Laplace, Logistic, Cauchy, lambda loc, scale: StudentT(1 + scale, loc, scale)]
)
def test_without_data_all_of_the_variance_is_left(family):
    prior = Joint(m=Normal(0, 2), s=HalfNormal(3), x=lambda m, s: family(m, s).iid(3))
    posterior = Posterior(prior, loglike=lambda m: 0.0 * m)
    draws = prior.rand(rng=np.random.default_rng(4), size=2000)
    # sqrt(2 / 2000) is 0.032.
    assert variance_shares(posterior, draws, ["x"])["x"] == pytest.approx(np.ones(3), abs=0.19)


# Sampling.


def test_eight_schools_written_centred_are_sampled_as_if_written_non_centred():
    draws = sample(eight_schools_centered(), seed=1, reparam="auto")
    assert draws.attrs["reparam"] == {"theta": "noncentered"}
    assert "coordinates: theta noncentered" in repr(draws)
    written = sample(eight_schools(), seed=1)
    assert all(np.array_equal(draws[name], written[name]) for name in ("mu", "tau", "theta"))
    centred = sample(eight_schools_centered(), seed=1)
    assert draws.sample_stats["diverging"].mean() < 0.005
    assert least_ess(draws) > 10 * least_ess(centred)


def test_well_known_groups_stay_centred():
    model = well_known_groups()
    draws = sample(model, 500, 500, 2, seed=1, reparam="auto")
    assert draws.attrs["reparam"] == {"theta": "centered"}
    assert np.array_equal(draws["theta"], sample(model, 500, 500, 2, seed=1)["theta"])
    free = sample(model, 500, 500, 2, seed=1, reparam={"theta": "noncentered"})
    assert least_ess(draws) > 10 * least_ess(free)


def test_each_variable_has_its_own_form():
    rng = np.random.default_rng(6)
    group = np.repeat(np.arange(8), 50)
    y = {"often": rng.normal(3 * rng.normal(size=8)[group], 1), "once": rng.normal(0, 3, 8)}
    prior = Joint(
        s=HalfNormal(3), known=lambda s: noncentered(Normal(0, s)).iid(8), t=HalfNormal(1),
        vague=lambda t: StudentT(4, 0, t).iid(8),
    )  # fmt: skip
    posterior = Posterior(prior, lambda known, vague: {"often": Normal(known[group], 1), "once": Normal(vague, 3)}, y)
    assert chosen(posterior, 0) == {"known": "centered", "vague": "noncentered"}


def test_a_model_without_hierarchy_is_left_alone():
    model = Posterior(Joint(mu=Normal(0, 5), s=HalfNormal(2)), lambda mu, s: Normal(mu, s).iid(3), [1.0, 2.0, 2.5])
    target = Target(lambda q: (-0.5 * q @ q, -q), 2)
    for each, name in ((model, "mu"), (target, "x")):
        draws = sample(each, 50, 50, 1, seed=3, reparam="auto")
        assert draws.attrs["reparam"] == {}
        assert np.array_equal(draws[name], sample(each, 50, 50, 1, seed=3)[name])


def test_a_starting_vector_is_in_the_coordinates_of_the_model_that_was_given():
    written = eight_schools_centered()
    moved = written.reparameterised({"theta": "noncentered"})
    q = np.random.default_rng(7).normal(size=(2, 10))
    points = moved_points(written, moved, q)
    for there, here in zip(points, q, strict=True):
        assert moved.constrain(there)["theta"] == pytest.approx(written.constrain(here)["theta"])
    with pytest.raises(ValueError, match="init must have shape"):
        sample(written, init=np.zeros(3), reparam={"theta": "noncentered"})


def test_a_run_goes_on_in_its_coordinates(tmp_path):
    path = tmp_path / "run"
    draws = sample(eight_schools_centered(), 60, 40, 2, seed=2, reparam="auto", checkpoint=path)
    assert Draws.load(path).attrs["reparam"] == {"theta": "noncentered"}
    again = resume(path, eight_schools_centered())
    assert np.array_equal(again["theta"], draws["theta"])


@pytest.mark.slow
def test_radon_has_counties_with_little_data():
    free = sample(radon(), seed=1, reparam="auto")
    assert free.attrs["reparam"] == {"county_effect": "noncentered"}
    centred = sample(radon(), seed=1, reparam={"county_effect": "centered"})
    assert least_ess(free) > 2 * least_ess(centred)
