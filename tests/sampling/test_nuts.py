"""NUTS draws from the density it is given, says how it fared, and does not depend on how it is run."""

import _thread
import threading
from functools import lru_cache
from math import inf

import numpy as np
import pytest
from scipy import stats

from probdiff import compile
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models import LogDensity
from probdiff.sampling import NUTS, Draws, Target, crew, nuts, nuts_chain, run, sample, trajectory
from tests.sampling.faults import planted

SEED = 20


def gumbel(q):
    return np.sum(-q - np.exp(-q))


def student(q):
    return np.sum(-3.0 * np.log1p(q * q / 5.0))


def banana(q):
    return -0.5 * (q[0] ** 2 + (q[1] - q[0] ** 2) ** 2)


def funnel(q):
    return -0.5 * (q[0] ** 2 / 9.0 + np.sum(q[1:] ** 2) * np.exp(-q[0]) + (len(q) - 1) * q[0])


def model(logdensity, dim):
    return LogDensity(logdensity, np.zeros(dim))


def normal_of(precision):
    return lambda q: -0.5 * q @ (precision @ q)


def x_of(draws):
    """(chain, draw, dim), whatever the model calls its vector."""
    (x,) = draws.posterior.values()
    return x


def moment_errors(draws, mean, sd):
    """Errors of means and of variances in Monte Carlo standard errors, and the effective sample sizes they rest on."""
    x = x_of(draws)
    first = Draws(posterior={"x": x}, sample_stats=draws.sample_stats).summary().columns
    second = Draws(posterior={"x": (x - mean) ** 2}, sample_stats=draws.sample_stats).summary().columns
    errors = [(first["mean"] - mean) / first["mcse"], (second["mean"] - sd**2) / second["mcse"]]
    return np.abs(np.array(errors)), np.array([first["ess_bulk"], second["ess_bulk"]])


def ks_pvalue(x, distribution):
    """Of the values of (chain, draw), thinned to what they are worth."""
    columns = Draws(posterior={"x": x}, sample_stats={"lp": x}).summary().columns
    bulk, tail = float(columns["ess_bulk"][0]), float(columns["ess_tail"][0])
    assert bulk > 2000
    thin = int(np.ceil(x.size / min(bulk, tail))) + 1
    return stats.kstest(x[:, ::thin].ravel(), distribution).pvalue


# ── The distribution of the draws ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "logdensity, distribution",
    [(gumbel, stats.gumbel_r.cdf), (student, stats.t(5).cdf), (normal_of(np.eye(1)), stats.norm.cdf)],
)
def test_stationary_density_in_one_dimension(logdensity, distribution):
    x = x_of(sample(model(logdensity, 1), 4000, 500, 4, seed=SEED))
    assert ks_pvalue(x[:, :, 0], distribution) > 1e-6


def test_stationary_density_in_two_dimensions():
    x = x_of(sample(model(banana, 2), 10_000, 500, 4, seed=SEED, kernel=NUTS(target_accept=0.9)))
    assert ks_pvalue(x[:, :, 0], stats.norm.cdf) > 1e-6
    assert ks_pvalue(x[:, :, 1] - x[:, :, 0] ** 2, stats.norm.cdf) > 1e-6
    # Both at once: angles of the two standard normal numbers are uniform.
    angle = np.arctan2(x[:, :, 1] - x[:, :, 0] ** 2, x[:, :, 0])
    assert ks_pvalue(angle, stats.uniform(-np.pi, 2 * np.pi).cdf) > 1e-6


def test_a_large_step_does_not_bias():
    """Two or three points a trajectory, with weights that matter: the choice among them does all the work."""
    draws = sample(model(normal_of(np.eye(1)), 1), 10_000, 0, 4, seed=SEED, kernel=NUTS(step_size=1.5))
    errors, ess = moment_errors(draws, 0.0, np.ones(1))
    assert np.min(ess) > 2000
    assert np.max(errors) < 5


def test_a_badly_scaled_gaussian_of_a_hundred_dimensions():
    sd = np.logspace(-3, 3, 100)
    draws = sample(model(lambda q: -0.5 * np.sum((q / sd) ** 2), 100), 1000, 1000, 4, seed=SEED)
    errors, ess = moment_errors(draws, 0.0, sd)
    assert np.min(ess) > 400
    # 200 checks: five and a half standard errors are passed with a chance of 8e-6 in all.
    assert np.max(errors) < 5.5


@pytest.mark.parametrize("metric, depths", [("diagonal", (4, 10)), ("auto", (2, 3.2)), ("dense", (2, 3.2))])
def test_a_rotated_gaussian_of_a_hundred_dimensions(metric, depths):
    """The diagonal metric cannot help here: trajectories are long, and still right."""
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(100, 100)))[0]
    scale = np.logspace(-1, 0.5, 100)
    covariance = (rotation * scale**2) @ rotation.T
    density = model(normal_of((rotation / scale**2) @ rotation.T), 100)
    draws = sample(density, 500, 500, 4, seed=SEED, kernel=NUTS(metric=metric))
    errors, ess = moment_errors(draws, 0.0, np.sqrt(np.diag(covariance)))
    assert np.min(ess) > 400
    assert np.max(errors) < 5.5
    assert depths[0] < draws.sample_stats["tree_depth"].mean() < depths[1]


@pytest.mark.parametrize("metric, least", [("diagonal", 400), ("low_rank", 4000), ("auto", 4000), ("dense", 4000)])
def test_a_strongly_correlated_gaussian(metric, least):
    covariance = np.full((5, 5), 0.98) + 0.02 * np.eye(5)
    density = model(normal_of(np.linalg.inv(covariance)), 5)
    draws = sample(density, 2000, 1000, 4, seed=SEED, kernel=NUTS(metric=metric))
    errors, ess = moment_errors(draws, 0.0, np.ones(5))
    # Four narrow directions turn a trajectory before it has gone along the wide one, unless the metric knows of them:
    # a tenth of independent draws.
    assert np.min(ess) > least
    assert np.max(errors) < 5
    assert np.max(draws.summary().columns["r_hat"]) < 1.02
    along = x_of(draws).sum(axis=2)  # the wide direction
    assert np.var(along) == pytest.approx(covariance.sum(), rel=0.15)


def gumbel_errors(step_size):
    """Of many draws with a step that is not tuned: the choice of points has to make up for it."""
    kernel = NUTS(step_size=step_size, max_depth=5)
    draws = sample(model(gumbel, 2), 40_000, 0, 4, seed=SEED, kernel=kernel)
    return moment_errors(draws, np.euler_gamma, np.full(2, np.pi / np.sqrt(6)))


@pytest.mark.parametrize("step_size", [0.6, 1.4])
def test_moments_without_a_fault(step_size):
    errors, ess = gumbel_errors(step_size)
    assert np.min(ess) > 20_000
    assert np.max(errors) < 5


@pytest.mark.parametrize(
    "fault, step_size",
    [
        ("weights within a subtree", 1.0), ("no weight of the old tree", 1.4), ("always to the new half", 1.4),
        ("a stopped half is used", 0.6), ("no check inside subtrees", 0.6), ("energy without its half", 1.4),
    ],
)  # fmt: skip
def test_moments_notice_a_fault(monkeypatch, fault, step_size):
    monkeypatch.setattr(trajectory, "transition", planted(fault).transition)
    monkeypatch.setattr(nuts_chain, "program", lru_cache(lambda length, levels: compile(nuts.piece(length, levels))))
    errors, ess = gumbel_errors(step_size)
    # Without a fault: below 5, above 20 000. Some faults bias, others nail chains down.
    assert np.max(errors) > 8 or np.min(ess) < 2000


# ── Warm-up ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("target", [0.6, 0.8, 0.95])
@pytest.mark.parametrize("dim", [3, 50])
def test_acceptance_is_near_its_target(target, dim):
    draws = sample(model(normal_of(np.eye(dim)), dim), 500, 1000, 8, seed=SEED, kernel=NUTS(target_accept=target))
    # Fifty iterations set the step size of a chain, on the careful side: acceptance falls faster than it rises.
    highest = {0.6: 0.75, 0.8: 0.88, 0.95: 0.985}[target]
    assert target - 0.04 < draws.sample_stats["acceptance_rate"].mean() < highest
    step_size = draws.sample_stats["step_size"]
    assert np.all(step_size == step_size[:, :1])  # warm-up is over


def test_the_metric_is_learnt():
    sd = np.array([1e-3, 1.0, 1e3])
    chain = chain_of(model(lambda q: -0.5 * np.sum((q / sd) ** 2), 3), tune=1000)
    chain.advance()
    # 500 draws in the last window: variances to 6 % each, four standard errors.
    np.testing.assert_allclose(chain.metric.scale, sd, rtol=0.15)
    assert chain.metric.rank == 0


@pytest.mark.parametrize("tune", [0, 1, 19, 20, 37, 149, 150, 163])
def test_every_length_of_warm_up(tune):
    sd = np.array([0.1, 10.0])
    draws = sample(model(lambda q: -0.5 * np.sum((q / sd) ** 2), 2), 30, tune, 2, seed=SEED, keep_warmup=True)
    assert x_of(draws).shape == (2, 30, 2)
    assert np.all(np.isfinite(x_of(draws)))
    step_size = draws.sample_stats["step_size"]
    assert np.all((step_size == step_size[:, :1]) & (step_size > 1e-3) & (step_size < 10))
    if tune:
        (warm,) = draws.warmup_posterior.values()
        assert warm.shape == (2, tune, 2)
        assert draws.warmup_sample_stats["tree_depth"].shape == (2, tune)


@pytest.mark.parametrize("tune", [15, 20, 50, 150])
def test_a_short_warm_up_ends_with_a_step_that_is_accepted(tune):
    """The last part of 20 iterations are 2: their average must not be where the search for a step size began."""
    sd = np.logspace(-1, 1, 10)
    draws = sample(model(lambda q: -0.5 * np.sum((q / sd) ** 2), 10), 100, tune, 16, seed=SEED)
    accepted = draws.sample_stats["acceptance_rate"].mean(axis=1)
    assert 0.7 < np.median(accepted) < 0.95
    assert np.sum(accepted > 0.4) >= 13


def test_step_sizes_are_jittered():
    draws = sample(model(gumbel, 2), 2000, 0, 2, seed=SEED, kernel=NUTS(step_size=0.5, jitter=0.4))
    ratio = draws.sample_stats["step_size"] / 0.5
    assert stats.kstest(ratio.ravel(), stats.uniform(0.6, 0.8).cdf).pvalue > 1e-6
    np.testing.assert_allclose(
        draws.sample_stats["int_time"], draws.sample_stats["n_steps"] * draws.sample_stats["step_size"], rtol=1e-12
    )


def test_a_step_size_that_is_given_stays_without_warm_up():
    draws = sample(model(gumbel, 2), 10, 0, 2, seed=SEED, kernel=NUTS(step_size=0.125))
    assert np.all(draws.sample_stats["step_size"] == 0.125)


# ── How it is run ───────────────────────────────────────────────────────────────────────────────────────────────────


def chain_of(density, tune=60, draws=40):
    rng = np.random.default_rng(3)
    state = NUTS().init(density.value_and_grad, np.full(density.dim, 0.3))
    return NUTS().chain(0, density, rng, state, tune, draws, True)


def test_draws_do_not_depend_on_slices():
    density = model(banana, 2)
    whole, sliced = chain_of(density), chain_of(density)
    whole.advance()
    while not sliced.finished:
        sliced.advance(0.0)
    np.testing.assert_array_equal(whole.q, sliced.q)
    np.testing.assert_array_equal(whole.info, sliced.info)
    np.testing.assert_array_equal(whole.warmup_info, sliced.warmup_info)


@pytest.mark.parametrize("tune", [60, 200])
def test_draws_do_not_depend_on_the_length_of_native_calls(monkeypatch, tune):
    density = model(banana, 2)
    short, long = chain_of(density, tune), chain_of(density, tune)
    long.advance()
    monkeypatch.setattr(nuts_chain, "PATIENCE", 0.0)  # every call is too long
    short.advance()
    assert len(short.kept) > len(long.kept)
    for mine, other in zip(short.metric, long.metric, strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(short.q, long.q)
    np.testing.assert_array_equal(short.info, long.info)
    np.testing.assert_array_equal(short.warmup_info, long.warmup_info)


@pytest.mark.parametrize("at", [10, 60, 101, 280, 330])
def test_a_chain_goes_on_from_a_snapshot(at):
    density = model(funnel, 4)
    whole, broken, resumed = (chain_of(density, 300, 60) for _ in range(3))
    whole.advance()
    while broken.done_iterations < at:
        broken.advance(0.0)
    resumed.restore({name: np.array(x) for name, x in broken.snapshot().items()})
    assert resumed.done_iterations == broken.done_iterations
    resumed.advance()
    n = len(resumed.q)
    assert n == 360 - max(broken.done_iterations, 300)
    np.testing.assert_array_equal(resumed.q, whole.q[-n:])
    np.testing.assert_array_equal(resumed.info, whole.info[-n:])
    assert resumed.divergences == whole.divergences
    assert [k for k, _, _ in resumed.diverged] == [k for k, _, _ in whole.diverged]


def test_divergences_keep_their_place():
    neck = np.array([-8.0, *np.zeros(9)])
    density = model(funnel, 10)
    state = NUTS().init(density.value_and_grad, neck)
    chain = NUTS(step_size=0.5).chain(0, density, np.random.default_rng(1), state, 0, 2000, False)
    chain.advance()
    diverging = np.flatnonzero(chain.info[:, nuts.FIELDS.index("diverging")])
    assert len(chain.diverged) == min(len(diverging), nuts_chain.DIVERGED) > 20
    for (at, q, r), k in zip(chain.diverged, diverging, strict=False):
        assert at == k
        energy = 0.5 * r @ r - density.value_and_grad(q)[0]
        row = dict(zip(nuts.FIELDS, chain.info[k], strict=True))
        error = energy - (row["energy"] - row["energy_error"])
        assert not error < 1000


def test_draws_do_not_depend_on_threads_or_on_the_number_of_chains(monkeypatch):
    density = model(banana, 2)
    turns = sample(density, 110, 130, 4, seed=SEED)
    monkeypatch.setattr(crew, "PIECE_PAYS", 0.0)
    monkeypatch.setattr(run.os, "cpu_count", lambda: 3)
    threads, two = sample(density, 110, 130, 4, seed=SEED), sample(density, 110, 130, 2, seed=SEED)
    np.testing.assert_array_equal(x_of(turns), x_of(threads))
    np.testing.assert_array_equal(x_of(turns)[:2], x_of(two))
    for name, x in turns.sample_stats.items():
        np.testing.assert_array_equal(x, threads.sample_stats[name])
    assert len({chain.tobytes() for chain in x_of(turns)}) == 4


def test_a_python_function_gives_the_draws_of_machine_code():
    density = model(banana, 2)
    native = sample(density, 100, 100, 2, seed=SEED)
    python = sample(Target(density.value_and_grad, 2), 100, 100, 2, seed=SEED)
    np.testing.assert_allclose(x_of(native), x_of(python), rtol=1e-6)  # rounding, grown over 200 transitions
    np.testing.assert_array_equal(native.sample_stats["n_steps"], python.sample_stats["n_steps"])


def test_an_interrupt_keeps_the_draws():
    def function(q):
        calls.append(0)
        if len(calls) == 600:
            raise KeyboardInterrupt
        return -0.5 * float(q @ q), -q

    calls = []
    draws = sample(Target(function, 2), 10_000, 0, 1, seed=SEED, kernel=NUTS(step_size=0.5))
    assert draws.partial
    n = draws.draws
    assert 25 <= n < 600
    assert draws.notes == (f"Interrupted: {n} of 10000 draws of 1 of 1 chains.",)
    calls = [0] * 1000
    whole = sample(Target(function, 2), n, 0, 1, seed=SEED, kernel=NUTS(step_size=0.5))
    np.testing.assert_array_equal(x_of(draws), x_of(whole))


@pytest.mark.parametrize("piece_pays", [0.0, 1e9])
def test_an_interrupt_between_native_calls_keeps_the_draws(monkeypatch, piece_pays):
    monkeypatch.setattr(crew, "PIECE_PAYS", piece_pays)  # in threads, and in turns
    monkeypatch.setattr(run.os, "cpu_count", lambda: 2)
    density, kernel = model(banana, 2), NUTS(step_size=0.5)
    sample(density, 50, 0, 2, seed=SEED, kernel=kernel)  # compiles
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    draws = sample(density, 2_000_000, 0, 2, seed=SEED, kernel=kernel)
    timer.join()
    assert draws.partial
    assert 0 < draws.draws < 2_000_000
    assert draws.draws % 25 == 0
    n = min(draws.draws, 200)
    np.testing.assert_array_equal(x_of(draws)[0, :n], x_of(sample(density, n, 0, 1, seed=SEED, kernel=kernel))[0])


def test_an_error_of_the_model_passes_through():
    def function(q):
        calls.append(0)
        if len(calls) == 100:
            raise ValueError("no luck")
        return -0.5 * float(q @ q), -q

    calls = []
    with pytest.raises(ValueError, match="no luck"):
        sample(Target(function, 2), 100, 100, 1, seed=SEED)
    assert len(calls) == 100  # it is not asked again


# ── What it says ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_statistics_have_the_names_of_arviz():
    draws = sample(model(banana, 2), 1, 0, 1, seed=SEED, kernel=NUTS(step_size=0.5))
    assert set(draws.sample_stats) == {
        "lp", "acceptance_rate", "step_size", "tree_depth", "n_steps", "reached_max_treedepth", "diverging", "energy",
        "energy_error", "max_energy_error", "int_time",
    }  # fmt: skip
    kinds = {name: x.dtype.kind for name, x in draws.sample_stats.items()}
    assert {name for name, kind in kinds.items() if kind == "b"} == {"reached_max_treedepth", "diverging"}
    assert {name for name, kind in kinds.items() if kind == "i"} == {"tree_depth", "n_steps"}
    assert all(x.shape == (1, 1) for x in draws.sample_stats.values())


def test_statistics_are_about_their_draws():
    density = model(banana, 2)
    draws = sample(density, 200, 200, 2, seed=SEED)
    s, x = draws.sample_stats, x_of(draws)
    lp = np.array([[density.logdensity(q) for q in chain] for chain in x])
    np.testing.assert_allclose(s["lp"], lp, rtol=1e-12)
    np.testing.assert_allclose(s["int_time"], s["n_steps"] * s["step_size"], rtol=1e-12)
    assert np.all(s["energy"] >= -s["lp"])
    assert np.all(np.abs(s["energy_error"]) <= s["max_energy_error"])
    assert np.all((s["acceptance_rate"] >= 0) & (s["acceptance_rate"] <= 1))
    assert np.all((s["n_steps"] >= 2 ** (s["tree_depth"] - 1)) & (s["n_steps"] < 2 ** s["tree_depth"]))


def test_the_funnel_diverges_and_says_so():
    neck = np.array([-8.0, *np.zeros(9)])
    draws = sample(model(funnel, 10), 500, 0, 4, seed=SEED, kernel=NUTS(step_size=0.5), init=neck)
    count = int(draws.sample_stats["diverging"].sum())
    assert count > 20
    assert np.all(draws.sample_stats["max_energy_error"][draws.sample_stats["diverging"]] > 1000)
    assert draws.notes[0] == (
        f"{count} of 2000 transitions diverged: the density bends faster than the step size follows. "
        "Raise target_accept, or reparameterise the model."
    )


def test_trajectories_that_are_cut_are_flagged():
    draws = sample(model(gumbel, 2), 40, 0, 2, seed=SEED, kernel=NUTS(step_size=1e-4, max_depth=3))
    s = draws.sample_stats
    assert np.all(s["reached_max_treedepth"] & (s["tree_depth"] == 3) & (s["n_steps"] == 7))
    assert draws.notes == (
        "80 of 80 transitions reached max_depth=3 (7 leapfrog steps) before they turned, so draws are more correlated "
        "than they need be. Rescale or reparameterise the model, or raise max_depth.",
    )
    easy = sample(model(gumbel, 2), 200, 200, 2, seed=SEED)
    assert easy.notes == ()
    assert not easy.sample_stats["reached_max_treedepth"].any()


def test_a_divergence_at_the_greatest_depth_is_not_a_cut():
    def logdensity(q):
        return np.where(np.abs(q[0]) < 0.5, -0.5 * q[0] ** 2, -np.inf)

    density = LogDensity(logdensity, np.zeros(1))
    draws = sample(density, 200, 0, 2, seed=SEED, kernel=NUTS(step_size=0.3, max_depth=1), init=np.zeros(1))
    s = draws.sample_stats
    assert s["diverging"].any() and s["reached_max_treedepth"].any()
    assert not (s["diverging"] & s["reached_max_treedepth"]).any()
    assert np.all(s["acceptance_rate"][s["diverging"]] == 0)
    assert np.max(np.abs(x_of(draws))) < 0.5


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_density_that_is_not_finite_is_never_entered(value):
    def function(q):
        return (-0.5 * float(q @ q), -q) if q[0] <= 1 else (value, -q)

    draws = sample(Target(function, 1, initial=lambda rng: rng.uniform(-2, 0, 1)), 300, 300, 2, seed=SEED)
    assert np.max(draws["x"]) <= 1
    assert draws.sample_stats["diverging"].any()


def test_gradients_that_are_nan_end():
    calls = []

    def function(q):
        calls.append(0)
        return -0.5 * float(q @ q), (-q if len(calls) < 3 else q * np.nan)

    draws = sample(Target(function, 2), 50, 50, 1, seed=SEED)
    assert np.all(draws.sample_stats["diverging"] & (draws.sample_stats["n_steps"] == 1))
    assert np.all(np.isfinite(draws["x"]))


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"target_accept": 1.0}, "NUTS.target_accept must be between 0 and 1, got 1.0"),
        ({"target_accept": 0}, "NUTS.target_accept must be between 0 and 1, got 0"),
        ({"target_accept": "high"}, "NUTS.target_accept must be between 0 and 1, got 'high'"),
        ({"target_accept": np.nan}, "NUTS.target_accept must be between 0 and 1, got nan"),
        ({"max_depth": 0}, "NUTS.max_depth must be an integer from 1 to 20, got 0"),
        ({"max_depth": 21}, "NUTS.max_depth must be an integer from 1 to 20, got 21"),
        ({"max_depth": 5.0}, "NUTS.max_depth must be an integer from 1 to 20, got 5.0"),
        ({"max_depth": True}, "NUTS.max_depth must be an integer from 1 to 20, got True"),
        ({"step_size": 0}, "NUTS.step_size must be positive and finite, got 0"),
        ({"step_size": -1.0}, "NUTS.step_size must be positive and finite, got -1.0"),
        ({"step_size": inf}, "NUTS.step_size must be positive and finite, got inf"),
        ({"metric": "full"}, "NUTS.metric must be one of auto, diagonal, low_rank, dense, got 'full'"),
        ({"jitter": 1.0}, "NUTS.jitter must be in [0, 1), got 1.0"),
        ({"jitter": True}, "NUTS.jitter must be in [0, 1), got True"),
    ],
)
def test_bad_fields(fields, text):
    with pytest.raises(ParameterError) as caught:
        NUTS(**fields)
    assert str(caught.value) == text


def test_numbers_of_numpy_are_numbers():
    kernel = NUTS(max_depth=np.int64(4), step_size=1, target_accept=np.float64(0.7))
    assert x_of(sample(model(gumbel, 1), 5, 0, 1, seed=SEED, kernel=kernel)).shape == (1, 5, 1)


def test_one_step_at_a_time_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        NUTS().step(None, None, None, None)
    assert str(caught.value) == "NUTS.step is not called one at a time; use sample(kernel=NUTS())"


def test_it_is_the_default():
    assert sample(model(gumbel, 1), 1, 0, 1, seed=SEED).attrs["kernel"] == repr(NUTS())
