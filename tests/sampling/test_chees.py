"""ChEES-HMC: the pieces of its mathematics against other ways to compute them, what it learns, and its draws."""

import numpy as np
import pytest
from scipy.optimize import brentq

from probdiff import sample
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models import LogDensity
from probdiff.models.zoo import MODELS
from probdiff.sampling import ChEES
from probdiff.sampling.backend import lockstep
from probdiff.sampling.chain import generator, starting_state
from probdiff.sampling.chees import DECAY, FADE, RATE, Learning, Length, Pooled, halton, learnt, slope, steps
from tests.models.test_zoo_moments import off

pytest.importorskip("jax")

SEED = 20
DIM = 12
SD = np.logspace(-2, 2, DIM)


def scaled(q):
    return -0.5 * np.sum((q / SD) ** 2)


def round_one(q):
    return -0.5 * np.sum(q * q)


def funnel(q):
    return -0.5 * (q[0] ** 2 / 9.0 + np.sum(q[1:] ** 2) * np.exp(-q[0]) + (len(q) - 1) * q[0])


def group(logdensity, kernel, chains, tune, draws):
    model = LogDensity(logdensity, np.zeros(DIM))
    rngs = [generator(SEED, c) for c in range(chains)]
    states = [starting_state(model, kernel, rng, c, None) for c, rng in enumerate(rngs)]
    settings = {"tune": tune, "draws": draws, "keep_warmup": False, "precision": "float64"}
    return lockstep(model, kernel, rngs, states, settings, None)


# ── The mathematics ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_halton_numbers():
    expected = np.array([1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8, 1 / 16, 9 / 16])
    assert np.array_equal(halton(np.arange(1, 10, dtype=np.uint64)), expected)
    many = halton(np.arange(1, 2**16, dtype=np.uint64))
    # The first 2^16 - 1 numbers and zero are a grid.
    assert np.array_equal(np.sort(many), np.arange(1, 2**16) / 2**16)


def flow(x, r, t):
    """Of a standard normal density, exactly."""
    return x * np.cos(t) + r * np.sin(t), r * np.cos(t) - x * np.sin(t)


def criterion(x, r, t):
    y, _ = flow(x, r, t)
    centred = [z - z.mean(axis=0) for z in (x, y)]
    before, after = (np.sum(z * z, axis=1) for z in centred)
    return np.mean((after - before) ** 2) / 4


@pytest.mark.parametrize("t", [0.3, 1.0, 2.0])
def test_the_slope_is_the_derivative_of_the_criterion(t):
    rng = np.random.default_rng(0)
    x, r = (np.concatenate([z, -z]) for z in rng.normal(size=(2, 50, 3)))  # means stay zero
    h = 1e-5
    numerical = (criterion(x, r, t * np.exp(h)) - criterion(x, r, t * np.exp(-h))) / (2 * h)
    y, r_end = flow(x, r, t)
    assert slope(x, y, r_end, np.ones(100), t) == pytest.approx(numerical, rel=1e-8)


def test_proposals_count_by_their_acceptance():
    rng = np.random.default_rng(1)
    x, y, r = rng.normal(size=(3, 20, 4))
    accept = rng.uniform(size=20)
    mean = np.average(y, axis=0, weights=accept)
    growth = [np.sum((b - mean) ** 2) - np.sum((a - x.mean(axis=0)) ** 2) for a, b in zip(x, y, strict=True)]
    each = [0.7 * g * ((b - mean) @ p) for g, b, p in zip(growth, y, r, strict=True)]
    assert slope(x, y, r, accept, 0.7) == pytest.approx(np.average(each, weights=accept), rel=1e-12)
    y[3], accept[3] = np.nan, 0.0  # it left the domain
    assert np.isfinite(slope(x, y, r, accept, 0.7))


def test_lengths_are_adam_s():
    slopes = np.array([3.0, -1.0, 0.5, np.nan, 2.0])
    length = Length.start(0.3)
    log, square, mean = 0.3, 0.0, 0.0
    for t, g in enumerate(np.nan_to_num(slopes), 1):
        length = length.update(slopes[t - 1], 1e-3, 1e3)
        square = DECAY * square + (1 - DECAY) * g * g
        log += RATE * g / np.sqrt(square / (1 - DECAY**t))
        mean += t**-FADE * (log - mean)
    assert length.log == pytest.approx(log, rel=1e-7)
    assert length.log_mean == pytest.approx(mean, rel=1e-7)
    assert length.update(1.0, 1e-3, 1.0).log == 0.0  # no longer than it may be


def test_moments_are_pooled():
    rows = 1e6 + np.random.default_rng(2).normal(size=(7, 16, 3))  # a mean that would swallow a sum of squares
    pooled = Pooled.start(3)
    for each in rows:
        pooled = pooled.add(each)
    assert pooled.n == 7 * 16
    np.testing.assert_allclose(pooled.mean, rows.mean(axis=(0, 1)), rtol=1e-14)
    np.testing.assert_allclose(pooled.m2 / pooled.n, rows.var(axis=(0, 1)), rtol=1e-8)


def test_the_step_size_learns_from_the_harmonic_mean():
    from probdiff.sampling.adaptation import Averaging

    rng = np.random.default_rng(3)
    x = rng.normal(size=(16, 2))
    accept = rng.uniform(0.1, 1.0, 16)
    known = Learning(Averaging.start(0.4), Length.start(0.0), Pooled.start(2), Pooled.start(2))
    after = learnt(known, x, -x, x, x + 1.0, x, accept, 1.0, 0.651, 1000.0)
    assert after.averaging == Averaging.start(0.4).update(16 / np.sum(1 / accept), 0.651)
    np.testing.assert_allclose(after.grad.mean, -after.q.mean)


def test_numbers_of_steps():
    found = [steps(np.log(2.0), 0.3, np.uint64(n), 6.0) for n in range(1, 5)]
    assert found == [np.ceil(2.0 * h / 0.3) if h < 0.9 else 6.0 for h in (1 / 2, 1 / 4, 3 / 4, 1 / 8)]
    assert steps(np.log(100.0), 0.3, np.uint64(1), 6.0) == 6.0
    assert steps(np.log(0.01), 0.3, np.uint64(1), 6.0) == 1.0


# ── What it learns ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_length_of_a_round_density():
    """Of a standard normal density the criterion at t is proportional to sin(t)^2, over uniform lengths up to T.

    Its slope along T is then proportional to the integral of t sin(2 t) up to T, which is zero where tan(2 T) = 2 T.
    """
    best = brentq(lambda T: np.sin(2 * T) - 2 * T * np.cos(2 * T), 2.0, 2.5)
    chains = group(round_one, ChEES(target_accept=0.97), 128, 1000, 0)  # small steps: lengths are hardly rounded up
    chains.advance()
    # Adam moves by 2.5 % at a time, and the average has some hundred of its moves.
    assert chains.motion.length == pytest.approx(best, rel=0.1)


def test_the_metric_is_that_of_all_chains():
    chains = group(scaled, ChEES(), 64, 400, 0)
    chains.advance()
    # More than ten thousand correlated draws in the last window: deviations to a few per cent.
    np.testing.assert_allclose(chains.motion.metric.scale, SD, rtol=0.1)


def test_the_harmonic_mean_of_acceptance_is_near_its_target():
    draws = sample(LogDensity(scaled, np.zeros(DIM)), 200, 600, 64, SEED, ChEES(), backend="jax")
    harmonic = 1 / np.mean(1 / draws.sample_stats["acceptance_rate"], axis=0)
    assert np.mean(harmonic) == pytest.approx(0.651, abs=0.08)
    assert np.all(draws.sample_stats["n_steps"] == draws.sample_stats["n_steps"][0])


# ── Its draws ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_moments_of_a_badly_scaled_density():
    draws = sample(LogDensity(scaled, np.zeros(DIM)), 200, 400, 64, SEED, ChEES(), backend="jax")
    first = draws.summary().columns
    assert np.min(first["ess_bulk"]) > 3000  # a quarter of independent draws
    assert np.max(first["r_hat"]) < 1.02
    # 12 means and 12 deviations: five standard errors are passed with a chance of 1e-5.
    assert np.max(np.abs(first["mean"] / first["mcse"])) < 5
    relative = np.array(first["sd"]) / SD - 1
    assert np.max(np.abs(relative)) < 5 * np.sqrt(0.5 / np.min(first["ess_bulk"]))


SLOW = ("ar5", "garch11", "logmesquite", "nes")


@pytest.mark.parametrize("name", ["eight_schools", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_moments_of_the_zoo(name):
    assert off(name, sample(MODELS[name](), 300, 600, 64, 1, ChEES(), backend="jax")) == []


def test_a_seed_gives_the_same_draws():
    runs = [sample(LogDensity(funnel, np.zeros(3)), 20, 60, 16, seed, ChEES(), backend="jax") for seed in (1, 1, 2)]
    assert np.array_equal(runs[0]["x"], runs[1]["x"])
    assert not np.array_equal(runs[0]["x"], runs[2]["x"])


def test_divergences_are_noticed():
    start = np.array([-8.0, *np.zeros(9)])
    model = LogDensity(funnel, np.zeros(10))
    draws = sample(model, 100, 0, 16, SEED, ChEES(step_size=0.5), init=start, backend="jax")
    diverging = draws.sample_stats["diverging"]
    assert diverging.any()
    assert np.all(draws.sample_stats["acceptance_rate"][diverging] == 0)
    assert len(draws.divergences) == diverging.sum()
    assert "diverged" in draws.notes[0]


# ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"target_accept": 1.0}, "ChEES.target_accept must be between 0 and 1, got 1.0"),
        ({"max_steps": 0}, "ChEES.max_steps must be a positive integer, got 0"),
        ({"max_steps": 2.5}, "ChEES.max_steps must be a positive integer, got 2.5"),
        ({"step_size": -1.0}, "ChEES.step_size must be positive and finite, got -1.0"),
    ],
)
def test_bad_fields(fields, text):
    with pytest.raises(ParameterError) as caught:
        ChEES(**fields)
    assert str(caught.value) == text


def test_one_chain_at_a_time_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        ChEES().step(None, None, None, None)
    assert str(caught.value) == ("ChEES.step is not called for one chain; use sample(kernel=ChEES(), backend='jax')")
