"""Series: densities against multivariate normals, sums over all paths and SciPy; slopes, draws, models, refusals."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from probdiff import check_gradient, compile, gradient, value_and_grad
from probdiff.distributions import Distribution, HalfNormal, MvNormal, Normal, Poisson, StudentT, Uniform
from probdiff.distributions.series import (
    AR,
    GARCH11,
    EulerMaruyama,
    GaussianProcess,
    HiddenMarkov,
    LinearGaussian,
    RandomWalk,
    StudentTProcess,
    gaussian_random_walk,
)
from probdiff.distributions.series.kernels import Matern12, Matern32, Matern52, Periodic, SquaredExponential
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.models import Joint, Posterior
from probdiff.tree import Array, flatten, unflatten

X = np.array([0.3, -0.8, 1.5, 0.9, 1.1])
A = np.array([[0.9, 0.1], [0.3, 0.7]])
F, G = np.array([[0.9, 0.2], [0.0, 0.8]]), np.array([[0.3], [0.1]])
H, D = np.array([[1.0, 0.5]]), np.array([[0.4]])
START, LOC = np.array([0.2, 1.0]), np.array([0.0, 2.0])


def shrinking(x: Array, t: Array, rate: Array, noise: Array) -> tuple[Array, Array]:
    return -rate * x, noise


def pendulum(x: Array, t: Array, rate: Array) -> tuple[Array, Array]:
    return np.stack([x[..., 1], -rate * x[..., 0]], axis=-1), 0.3


def linear(F: Array = F, start: Array = START) -> LinearGaussian:
    return LinearGaussian(F, G, H, D, start, np.eye(2), 5)


def markov(loc: Array = LOC, A: Array = A) -> HiddenMarkov:
    return HiddenMarkov([0.4, 0.6], A, Normal(loc, 1.0), 5)


# Values.


def test_random_walk_is_a_normal_vector() -> None:
    t = np.arange(1, 6)
    d = gaussian_random_walk(5, scale=0.5, drift=0.1)
    expected = stats.multivariate_normal(0.1 * t, 0.25 * np.minimum.outer(t, t))
    assert d.logpdf(X) == pytest.approx(expected.logpdf(X), rel=1e-12)
    np.testing.assert_allclose([d.mean(), d.var()], [0.1 * t, 0.25 * t], rtol=1e-14)
    heavy = RandomWalk(Normal(0.0, 2.0), StudentT(3.0), 5)
    by_hand = stats.norm(0, 2).logpdf(X[0]) + np.sum(stats.t(3).logpdf(np.diff(X)))
    assert heavy.logpdf(X) == pytest.approx(by_hand, rel=1e-14)


def test_stationary_autoregression_is_a_normal_vector() -> None:
    # Autocovariances by the Yule-Walker equations.
    rho = 0.5 / (1 - 0.3)
    gamma = [0.49 / (1 - 0.5 * rho - 0.3 * (0.5 * rho + 0.3))]
    gamma.append(rho * gamma[0])
    for _ in range(3):
        gamma.append(0.5 * gamma[-1] + 0.3 * gamma[-2])
    covariance = np.array(gamma)[abs(np.subtract.outer(np.arange(5), np.arange(5)))]
    d = AR([0.5, 0.3], 0.7, 5, constant=0.2)
    assert d.logpdf(X) == pytest.approx(stats.multivariate_normal(np.ones(5), covariance).logpdf(X), rel=1e-12)
    several = AR(np.array([[0.5, 0.3], [0.1, -0.4]]), 0.7, 5, constant=0.2)
    np.testing.assert_allclose(several.logpdf(X), [d.logpdf(X), AR([0.1, -0.4], 0.7, 5, 0.2).logpdf(X)], rtol=1e-13)


def test_autoregression_from_a_start() -> None:
    d = AR([1.2], 0.7, 5, start=Normal(0.0, 3.0))
    by_hand = stats.norm(0, 3).logpdf(X[0]) + np.sum(stats.norm(1.2 * X[:-1], 0.7).logpdf(X[1:]))
    assert d.logpdf(X) == pytest.approx(by_hand, rel=1e-13)


def test_garch() -> None:
    v = [0.8]
    for x in X[:-1]:
        v.append(0.1 + 0.2 * (x - 0.4) ** 2 + 0.6 * v[-1])
    d = GARCH11(0.1, 0.2, 0.6, 0.8, 5, loc=0.4)
    assert d.logpdf(X) == pytest.approx(np.sum(stats.norm(0.4, np.sqrt(v)).logpdf(X)), rel=1e-13)
    np.testing.assert_allclose(d.variances(X)[:-1], v, rtol=1e-14)


def test_stochastic_differential_equations() -> None:
    t = np.array([0.0, 0.1, 0.3, 0.4, 0.9])
    d = EulerMaruyama(Normal(0.0, 1.0), t, shrinking, (1.5, 0.4))
    h = np.diff(t)
    steps = stats.norm(X[:-1] - 1.5 * X[:-1] * h, 0.4 * np.sqrt(h)).logpdf(X[1:])
    assert d.logpdf(X) == pytest.approx(stats.norm.logpdf(X[0]) + np.sum(steps), rel=1e-13)
    vectors = EulerMaruyama(MvNormal(np.zeros(2), np.eye(2)), t, pendulum, (2.0,))
    x = vectors.rand(3, rng=np.random.default_rng(0))
    assert (vectors.event_shape, x.shape) == ((5, 2), (3, 5, 2))
    moved = x[:, :-1] + h[:, None] * np.stack([x[:, :-1, 1], -2.0 * x[:, :-1, 0]], axis=-1)
    noise = stats.norm(moved, 0.3 * np.sqrt(h)[:, None]).logpdf(x[:, 1:]).sum(axis=(1, 2))
    np.testing.assert_allclose(vectors.logpdf(x), stats.norm.logpdf(x[:, 0]).sum(axis=-1) + noise, rtol=1e-12)


def paths() -> list[tuple[tuple[int, ...], float]]:
    """All sequences of states, each with the log of its probability together with X."""
    found = []
    for s in itertools.product((0, 1), repeat=5):
        moves = math.log((0.4, 0.6)[s[0]]) + sum(math.log(A[a, b]) for a, b in itertools.pairwise(s))
        found.append((s, moves + float(np.sum(stats.norm((0.0, 2.0)[0] + 2.0 * np.array(s), 1.0).logpdf(X)))))
    return found


def test_hidden_markov_sums_over_all_paths() -> None:
    every, d = paths(), markov()
    total = logsumexp([logp for _, logp in every])
    assert d.logpdf(X) == pytest.approx(total, rel=1e-13)
    posterior = [sum(math.exp(logp - total) for s, logp in every if s[t] == 1) for t in range(5)]
    np.testing.assert_allclose(d.smoothed(X)[:, 1], posterior, rtol=1e-11)
    best, _ = max(every, key=lambda pair: pair[1])
    assert tuple(d.most_likely(X)) == best
    stacked = np.stack([X, X[::-1]])
    np.testing.assert_allclose(d.logpdf(stacked), [d.logpdf(X), d.logpdf(X[::-1])], rtol=1e-14)


def test_hidden_markov_of_long_and_impossible_series() -> None:
    d = HiddenMarkov([1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]], Normal([0.0, 5.0], 1.0), 3000)
    x = np.random.default_rng(0).normal(size=3000)
    assert d.logpdf(x) == pytest.approx(np.sum(stats.norm.logpdf(x)), rel=1e-12)
    slopes = gradient(lambda m: HiddenMarkov([1.0, 0.0], A, Normal(m, 1.0), 5).logpdf(X), np.array([0.0, 5.0]))
    assert np.all(np.isfinite(slopes))
    counts = HiddenMarkov([0.5, 0.5], A, Poisson([1.0, 6.0]), 3)
    assert counts.logpdf(np.array([1.0, 0.5, 2.0])) == -math.inf
    drawn = counts.rand(2000, rng=np.random.default_rng(0))
    # Means of the chain at the first and the second time, within five standard errors.
    np.testing.assert_allclose(drawn.mean(axis=0)[:2], [3.5, 0.6 * 1.0 + 0.4 * 6.0], atol=5 * 3.2 / math.sqrt(2000))


def state_space_moments(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of n observations, with the states written out."""
    mean, P, means, covariances = np.array([0.2, 1.0]), np.eye(2), [], []
    for _ in range(n):
        means.append(H @ mean)
        covariances.append(P)
        mean, P = F @ mean, F @ P @ F.T + G @ G.T
    covariance = np.array(
        [
            [(H @ np.linalg.matrix_power(F, abs(i - j)) @ covariances[min(i, j)] @ H.T)[0, 0] for j in range(n)]
            for i in range(n)
        ]
    )
    return np.concatenate(means), covariance + D[0, 0] ** 2 * np.eye(n)


def test_linear_gaussian_is_a_normal_vector() -> None:
    mean, covariance = state_space_moments(5)
    d, y = linear(), X[:, None]
    assert d.logpdf(y) == pytest.approx(stats.multivariate_normal(mean, covariance).logpdf(X), rel=1e-12)
    # What is left of the uncertainty about H s_t after y_t: cov - cov (cov + noise)⁻¹ cov, for t = 1.
    means, covariances = d.filtered(y)
    assert (means.shape, covariances.shape) == ((5, 2), (5, 2, 2))
    prior = (H @ H.T)[0, 0]
    assert (H @ covariances[0] @ H.T)[0, 0] == pytest.approx(prior - prior**2 / (prior + 0.16), rel=1e-13)
    drawn = d.rand(20000, rng=np.random.default_rng(0))[..., 0]
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=5 * math.sqrt(covariance.max() / 20000))
    # A sample covariance has a standard error of about sqrt(2 / n) of the variances.
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=5 * math.sqrt(2 / 20000) * covariance.max())


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (SquaredExponential(0.7, 2.0), lambda r: 4 * np.exp(-0.5 * (r / 0.7) ** 2)),
        (Matern12(0.7, 2.0), lambda r: 4 * np.exp(-r / 0.7)),
        (Matern32(0.7, 2.0), lambda r: 4 * (1 + math.sqrt(3) * r / 0.7) * np.exp(-math.sqrt(3) * r / 0.7)),
        (Periodic(1.5, 0.7, 2.0), lambda r: 4 * np.exp(-2 * np.sin(math.pi * r / 1.5) ** 2 / 0.49)),
        (Matern12(0.7) + Matern12(0.7) * Matern12(0.7), lambda r: np.exp(-r / 0.7) + np.exp(-2 * r / 0.7)),
    ],
)
def test_kernels(kernel: Any, expected: Callable[[Any], Any]) -> None:
    x = np.array([0.0, 0.4, 1.9])
    np.testing.assert_allclose(kernel(x, x), expected(abs(np.subtract.outer(x, x))), rtol=1e-13)


def test_gaussian_process() -> None:
    places, kernel = np.array([0.0, 0.4, 1.0, 1.1, 2.0]), Matern52(0.7, 1.3)
    d = GaussianProcess(kernel, noise=0.3, mean=0.5, jitter=0.0)
    K = kernel(places, places) + 0.09 * np.eye(5)
    assert d.at(places).logpdf(X) == pytest.approx(stats.multivariate_normal(np.full(5, 0.5), K).logpdf(X), rel=1e-12)
    new = np.array([0.5, 3.0])
    weights = np.linalg.solve(K, kernel(places, new))
    found = d.given(places, X, new)
    np.testing.assert_allclose(found.mean(), 0.5 + weights.T @ (X - 0.5), rtol=1e-11)
    np.testing.assert_allclose(found.cov(), kernel(new, new) - kernel(new, places) @ weights, rtol=1e-10)
    plane = np.array([[0.0, 1.0], [2.0, 0.5]])
    long = np.array([1.0, 4.0])
    expected = math.exp(-0.5 * (4 + (0.5 / 4) ** 2))
    assert SquaredExponential(long)(plane, plane)[0, 1] == pytest.approx(expected, rel=1e-14)


def test_student_t_process() -> None:
    places, kernel = np.array([0.0, 0.4, 1.0, 1.1, 2.0]), Matern52(0.7, 1.3)
    process = StudentTProcess(4.0, GaussianProcess(kernel, noise=0.3, jitter=0.0))
    K = kernel(places, places) + 0.09 * np.eye(5)
    assert process.at(places).logpdf(X) == pytest.approx(stats.multivariate_t(np.zeros(5), K, 4).logpdf(X), rel=1e-12)
    # The density of all is that of the first four times that of the last given them.
    last = process.given(places[:4], X[:4], places[4:])
    noisy = math.sqrt((4 + X[:4] @ np.linalg.solve(K[:4, :4], X[:4])) / 8)
    rest = K[4, 4] - K[4, :4] @ np.linalg.solve(K[:4, :4], K[:4, 4])
    t = stats.t(8, K[4, :4] @ np.linalg.solve(K[:4, :4], X[:4]), noisy * math.sqrt(rest))
    first = stats.multivariate_t(np.zeros(4), K[:4, :4], 4).logpdf(X[:4])
    assert first + t.logpdf(X[4]) == pytest.approx(process.at(places).logpdf(X), rel=1e-12)
    np.testing.assert_allclose(last.loc, [t.mean()], rtol=1e-11)
    np.testing.assert_allclose(last.scale_tril[0, 0], noisy * math.sqrt(rest - 0.09), rtol=1e-9)


# Slopes, draws, containers, models.

SLOPES: dict[str, tuple[Callable[..., Array], tuple[Any, ...]]] = {
    "random walk": (lambda s, m: gaussian_random_walk(5, s, m).logpdf(X), (0.7, 0.1)),
    "AR": (lambda c, s, b: AR(c, s, 5, b).logpdf(X), (np.array([0.5, 0.3]), 0.7, 0.2)),
    "GARCH": (lambda o, a, b, v, m: GARCH11(o, a, b, v, 5, m).logpdf(X), (0.1, 0.2, 0.6, 0.8, 0.3)),
    "SDE": (lambda r, s: EulerMaruyama(Normal(), np.arange(5.0), shrinking, (r, s)).logpdf(X), (0.5, 0.4)),
    "hidden Markov": (lambda m, w: markov(m, chain(w)).logpdf(X), (np.array([0.1, 1.8]), 0.2)),
    "linear Gaussian": (lambda F, m: linear(F, m).logpdf(X[:, None]), (F, np.array([0.3, 0.8]))),
    "GP": (
        lambda length, s, n: GaussianProcess(Matern52(length, s), n).at(np.arange(5.0)).logpdf(X),
        (0.7, 1.3, 0.3),
    ),
}


def chain(w: Array) -> Array:
    return np.stack([np.stack([1 - w, w]), np.stack([0.3 + 0 * w, 0.7 + 0 * w])])


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name: str) -> None:
    f, at = SLOPES[name]
    check_gradient(f, *at)
    value, slopes = compile(value_and_grad(f, argnums=tuple(range(len(at)))))(*at)
    assert value == pytest.approx(float(f(*at)), rel=1e-12)
    for got, expected in zip(slopes, gradient(f, *at), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9)


MEMBERS: list[Distribution] = [
    gaussian_random_walk(5, 0.5, 0.1),
    AR([0.5, 0.3], 0.7, 5, 0.2),
    GARCH11(0.1, 0.2, 0.6, 0.8, 5),
    EulerMaruyama(Normal(), np.arange(5.0), shrinking, (0.5, 0.4)),
    markov(),
    linear(),
]


@pytest.mark.parametrize("d", MEMBERS, ids=[type(d).__name__ for d in MEMBERS])
def test_containers_and_draws(d: Distribution) -> None:
    leaves, spec = flatten(d)
    assert unflatten(spec, leaves) == d == pickle.loads(pickle.dumps(d))
    x = d.rand(3, rng=np.random.default_rng(0))
    assert x.shape == (3, *d.event_shape)
    np.testing.assert_allclose(d.logpdf(x), [d.logpdf(each) for each in x], rtol=1e-12)
    assert d.logpdf(np.where(x == x[0], np.nan, x))[0] == -math.inf


def test_batches() -> None:
    for batch in (
        gaussian_random_walk(5, [0.5, 0.7]),
        GARCH11([0.1, 0.2], 0.2, 0.6, 0.8, 5),
        HiddenMarkov([0.4, 0.6], A, Normal(np.array([[0.0, 2.0], [1.0, 4.0]]), 1.0), 5),
        LinearGaussian(F, G, H, D, np.array([[0.2, 1.0], [0.3, 0.0]]), np.eye(2), 5),
    ):
        x = np.reshape(X, batch.event_shape)
        one, other = batch.logpdf(x)
        np.testing.assert_allclose(batch.logpdf(np.stack([x, x])), [one, other], rtol=1e-14)
        assert batch.batch_shape == (2,) and one != other
    assert linear().logpdf(X[:, None]) == pytest.approx(one, rel=1e-13)


def test_autoregressive_draws_are_stationary() -> None:
    x = AR([0.5, 0.3], 0.7, 8, 0.2).rand(20000, rng=np.random.default_rng(0))
    variance = 0.49 / (1 - 0.5 * 0.5 / 0.7 - 0.3 * (0.25 / 0.7 + 0.3))
    np.testing.assert_allclose(x.mean(axis=0), 1.0, atol=5 * math.sqrt(variance / 20000))
    np.testing.assert_allclose(x.var(axis=0), variance, rtol=5 * math.sqrt(2 / 20000))


OBSERVED: dict[str, tuple[Callable[[Any, Any], Any], np.ndarray]] = {
    "random walk": (lambda a, s: gaussian_random_walk(5, s, a), X),
    "AR": (lambda a, s: AR(np.stack([a, 0.3 * a]), s, 5), X),
    "GARCH": (lambda a, s: GARCH11(s, a, 0.3, 1.0, 5), X),
    "SDE": (lambda a, s: EulerMaruyama(Normal(), np.arange(5.0), shrinking, (a, s)), X),
    "SDE of vectors": (
        lambda a, s: EulerMaruyama(MvNormal(np.zeros(2), np.eye(2)), np.arange(5.0), pendulum, (s,)),
        np.stack([X, X], axis=-1),
    ),
    "hidden Markov": (lambda a, s: markov(np.stack([a, s]), chain(a)), X),
    "linear Gaussian": (lambda a, s: linear(np.reshape(np.stack([a, a, 0 * a, a]), (2, 2))), X[:, None]),
    "GP": (lambda a, s: GaussianProcess(Matern32(s, a), 0.3).at(np.arange(5.0)), X),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_observed_in_a_model(name: str) -> None:
    observe, data = OBSERVED[name]
    posterior = Posterior(Joint(a=Uniform(0, 0.7), s=HalfNormal(2)), observe, data)
    at = {"a": 0.3, "s": 1.2}
    expected = float(observe(np.float64(0.3), np.float64(1.2)).logpdf(data))
    assert posterior.log_likelihood(at) == pytest.approx(expected, rel=1e-12)
    q = posterior.unconstrain(at)
    value, slope = compile(value_and_grad(posterior.logdensity))(q)
    assert value == pytest.approx(float(posterior.logdensity(q)), rel=1e-12)
    np.testing.assert_allclose(slope, gradient(posterior.logdensity, q)[0], rtol=1e-9)
    draws = {"a": np.array([0.3, 0.4, 0.2]), "s": np.array([1.2, 0.8, 2.0])}
    assert posterior.posterior_predictive(draws, np.random.default_rng(0))["y"].shape == (3, *data.shape)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: gaussian_random_walk(0),
        ParameterError,
        "RandomWalk.length must be an integer of at least 1, got 0",
    ),
    (
        lambda: AR([1.2], 0.7, 5),
        ParameterError,
        "AR.coefficients must be those of a stationary series, got [1.2], whose deviations grow by 1.2 a step. "
        "Give the distribution `start`.",
    ),
    (lambda: AR([0.2, 0.1], 0.7, 1), ParameterError, "AR.length must be an integer of at least 2, got 1"),
    (
        lambda: HiddenMarkov([0.5, 0.5], np.eye(2) * 0.9, Normal([0.0, 1.0], 1.0), 5),
        ParameterError,
        "HiddenMarkov.transition must be a matrix whose rows are probabilities, got [[0.9 0. ] [0.  0.9]]",
    ),
    (
        lambda: HiddenMarkov([0.5, 0.5], A, Normal(np.zeros(3), 1.0), 5),
        ShapeError,
        "HiddenMarkov: 2 initial probabilities, a transition of shape (2, 2) and emissions of batch shape (3,) must be "
        "of one number of states.",
    ),
    (
        lambda: LinearGaussian(F, np.eye(3), H, D, np.zeros(2), np.eye(2), 5),
        ShapeError,
        "LinearGaussian.transition_factor must have 2 rows, got 3",
    ),
    (
        lambda: EulerMaruyama(Normal(), [0.0, 1.0, 1.0], shrinking, (1.0, 1.0)),
        ParameterError,
        "EulerMaruyama.times must rise, got [0.0, 1.0, 1.0]",
    ),
    (
        lambda: RandomWalk(Poisson(1.0), Normal(), 3),
        UnsupportedError,
        "RandomWalk needs a continuous distribution, got Poisson.",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED, ids=[text[:40] for _, _, text in REFUSED])
def test_refused(build: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert str(caught.value) == text
