"""HMC draws from the density it is given, and a wrong integrator is noticed."""

from math import inf, nan

import numpy as np
import pytest
from scipy import stats

from probdiff.errors import ParameterError
from probdiff.sampling import HMC, Draws, Target, sample
from probdiff.sampling.hmc import is_divergent, leapfrog
from probdiff.sampling.kernel import State, settings

SD = np.array([0.2, 1.0, 5.0])


def gaussian(q):
    """Independent Gaussian with mean 1 and standard deviations SD."""
    z = (q - 1) / SD
    return -0.5 * float(z @ z), -z / SD


def gumbel(q):
    """log p = -q - exp(-q)."""
    e = np.exp(-q)
    return float(np.sum(-q - e)), e - 1


def moment_errors(draws, mean, sd):
    """Errors of means and of variances in Monte Carlo standard errors, and the effective sample sizes they rest on."""
    squares = Draws(posterior={"x": (draws["x"] - mean) ** 2}, sample_stats=draws.sample_stats)
    first, second = draws.summary().columns, squares.summary().columns
    errors = [(first["mean"] - mean) / first["mcse"], (second["mean"] - sd**2) / second["mcse"]]
    return np.abs(np.array(errors)), np.array([first["ess_bulk"], second["ess_bulk"]])


@pytest.mark.parametrize("kernel", [HMC(), HMC(n_steps=5), HMC(path_length=1.0, jitter=1.0), HMC(target_accept=0.95)])
def test_moments_of_a_gaussian(kernel):
    errors, ess = moment_errors(sample(Target(gaussian, 3), 1000, 500, 4, seed=5, kernel=kernel), 1.0, SD)
    assert np.min(ess) > 400
    # Six independent checks: five standard errors are passed with a chance of 3e-6 in all.
    assert np.max(errors) < 5


def wrong_sign(logdensity, inv_mass, eps, n, state, p, floor=-inf):
    """The last half kick has the wrong sign."""
    end, p, taken = leapfrog(logdensity, inv_mass, eps, n, state, p, floor)
    return end, p - eps * end.grad, taken


def missing_half_kick(logdensity, inv_mass, eps, n, state, p, floor=-inf):
    """The last half kick is forgotten."""
    end, p, taken = leapfrog(logdensity, inv_mass, eps, n, state, p, floor)
    return end, p - 0.5 * eps * end.grad, taken


def whole_kick_first(logdensity, inv_mass, eps, n, state, p, floor=-inf):
    """Kick and drift, but no half kicks: symplectic, not reversible."""
    end, p, taken = leapfrog(logdensity, inv_mass, eps, n, state, p + 0.5 * eps * state.grad, floor)
    return end, p - 0.5 * eps * end.grad, taken


def stale_gradient(logdensity, inv_mass, eps, n, state, p, floor=-inf):
    """The first kick uses half of the gradient that it should."""
    return leapfrog(logdensity, inv_mass, eps, n, State(state.q, state.logp, 0.5 * state.grad), p, floor)


@pytest.mark.parametrize("integrator", [leapfrog, wrong_sign, missing_half_kick, whole_kick_first, stale_gradient])
def test_moments_notice_a_wrong_integrator(integrator):
    def standard(q):
        return -0.5 * float(q @ q), -q

    # Large single steps: here the decision to accept does most of the work, and a wrong energy shows.
    kernel = HMC(integrator=integrator, n_steps=1, step_size=1.2, jitter=0.0)
    errors, ess = moment_errors(sample(Target(standard, 1), 5000, 0, 4, seed=5, kernel=kernel), 0.0, np.ones(1))
    assert np.min(ess) > 400
    if integrator is leapfrog:
        assert np.max(errors) < 5
    else:
        assert np.max(errors) > 8


def test_stationary_density_is_the_target():
    draws = sample(Target(gumbel, 1), 5000, 500, 4, seed=2, kernel=HMC())
    row = draws.summary()["x[0]"]
    assert row["ess_bulk"] > 2000
    x = draws["x"][:, :, 0]
    thin = int(np.ceil(x.size / min(row["ess_bulk"], row["ess_tail"]))) + 1
    assert stats.kstest(x[:, ::thin].ravel(), lambda q: np.exp(-np.exp(-q))).pvalue > 1e-6


def test_a_strongly_correlated_gaussian_mixes():
    precision = np.linalg.inv(np.full((5, 5), 0.98) + 0.02 * np.eye(5))

    def logdensity(q):
        grad = -(precision @ q)
        return 0.5 * float(q @ grad), grad

    columns = sample(Target(logdensity, 5), 1000, 1000, 4, seed=0, kernel=HMC()).summary().columns
    assert np.max(columns["r_hat"]) < 1.01
    assert min(np.min(columns["ess_bulk"]), np.min(columns["ess_tail"])) > 400


def test_noncentred_eight_schools():
    y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    sigma = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])

    def logdensity(q):
        mu, tau, z = q[0], np.exp(q[1]), q[2:]
        r = (y - mu - tau * z) / sigma
        logp = -0.5 * float(r @ r + z @ z) - 0.5 * (mu / 5) ** 2 - np.log1p((tau / 5) ** 2) + q[1]
        s = r / sigma
        d_log_tau = tau * float(s @ z) - 2 * (tau / 5) ** 2 / (1 + (tau / 5) ** 2) + 1
        return logp, np.concatenate([[s.sum() - mu / 25, d_log_tau], tau * s - z])

    draws = sample(Target(logdensity, 10), 1000, 1000, 4, seed=0, kernel=HMC())
    columns = draws.summary().columns
    assert np.max(columns["r_hat"]) < 1.01
    assert min(np.min(columns["ess_bulk"]), np.min(columns["ess_tail"])) > 400
    assert draws.sample_stats["diverging"].mean() < 0.005
    row = draws.summary()["x[0]"]
    assert abs(row["mean"] - eight_schools_mu(y, sigma)) < 5 * row["mcse"]


def eight_schools_mu(y, sigma):
    """E[mu | y] by the trapezium rule over log tau; mu given tau is Gaussian."""
    t = np.linspace(-25, 8, 4001)
    v = sigma**2 + np.exp(2 * t)[:, None]
    precision = np.sum(1 / v, axis=1) + 1 / 25
    mean = np.sum(y / v, axis=1) / precision
    log_weight = -0.5 * np.sum(np.log(v) + y**2 / v, axis=1) + 0.5 * precision * mean**2 - 0.5 * np.log(precision)
    weight = np.exp(log_weight - log_weight.max()) * np.exp(t) / (1 + np.exp(2 * t) / 25)
    return float(np.sum(weight * mean) / np.sum(weight))


def test_divergence_is_an_increase_or_nothing_finite():
    assert [is_divergent(x) for x in (-1500.0, 1500.0, nan, inf)] == [False, True, True, True]


def test_a_large_fall_of_energy_is_accepted():
    def wall(q):
        return (-5000.0, np.ones(1)) if q[0] < 0 else (-0.5 * float(q @ q), -q)

    kernel = HMC(n_steps=1, jitter=0.0)
    start = kernel.init(wall, np.array([-0.01]))
    moves = [kernel.step(np.random.default_rng(s), wall, start, settings(0.5, np.ones(1), 1.0)) for s in range(20)]
    across = [(state, info) for state, info in moves if state.q[0] > 0]
    assert len(across) > 5
    for _, info in across:
        assert info.energy_error < -4000
        assert info.acceptance_rate == 1
        assert not info.diverging


def test_nan_region_ends_a_trajectory_and_is_never_entered():
    def logdensity(q):
        return (-0.5 * float(q @ q), -q) if q[0] <= 1 else (nan, -q)

    draws = sample(Target(logdensity, 1, initial=lambda rng: rng.uniform(-2, 0, 1)), 500, 500, 2, seed=0,
                   kernel=HMC())  # fmt: skip
    assert np.max(draws["x"]) <= 1
    diverging = draws.sample_stats["diverging"]
    assert diverging.any()
    assert np.all(draws.sample_stats["acceptance_rate"][diverging] == 0)


def test_step_counts_are_capped():
    kernel = HMC(path_length=100.0, max_steps=7, step_size=0.01)
    draws = sample(Target(gaussian, 3), 20, 0, 1, seed=0, kernel=kernel)
    assert np.all(draws.sample_stats["n_steps"] == 7)
    assert draws.notes == ("20 of 20 trajectories were cut at max_steps=7. Raise it, or rescale the model.",)


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"path_length": -1.0}, "HMC.path_length must be positive and finite, got -1.0"),
        ({"path_length": nan}, "HMC.path_length must be positive and finite, got nan"),
        ({"step_size": 0}, "HMC.step_size must be positive and finite, got 0"),
        ({"max_energy_error": inf}, "HMC.max_energy_error must be positive and finite, got inf"),
        ({"n_steps": 0}, "HMC.n_steps must be a positive integer, got 0"),
        ({"n_steps": 2.5}, "HMC.n_steps must be a positive integer, got 2.5"),
        ({"max_steps": True}, "HMC.max_steps must be a positive integer, got True"),
        ({"target_accept": 1.0}, "HMC.target_accept must be between 0 and 1, got 1.0"),
        ({"target_accept": "high"}, "HMC.target_accept must be between 0 and 1, got 'high'"),
        ({"jitter": 1.5}, "HMC.jitter must be in [0, 1], got 1.5"),
        (
            {"path_length": 1.0, "n_steps": 3},
            "HMC takes path_length or n_steps, not both, got path_length=1.0 and n_steps=3",
        ),
    ],
)
def test_bad_fields(fields, text):
    with pytest.raises(ParameterError) as caught:
        HMC(**fields)
    assert str(caught.value) == text
