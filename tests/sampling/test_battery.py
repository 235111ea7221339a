"""The correctness of transitions, by laws that hold for any density: no reference chain, no tuning.

The choice among the points of a trajectory has its probabilities, these leave the density as it is, one transition of
exact draws leaves them exact, and parameters and data that are drawn in turns have their joint distribution (Geweke
2004, Getting it right, JASA 99).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import sqrt
from typing import Any

import arviz as az
import numpy as np
import pytest
from scipy import stats

from probdiff import compile, sample, value_and_grad
from probdiff.distributions import Gamma, Gumbel, LKJCholesky, MvNormal, Normal, Poisson, StudentT
from probdiff.models import Joint, LogDensity, Posterior
from probdiff.sampling import NUTS, Target, trajectory
from probdiff.sampling.metric import Metric
from probdiff.sampling.nuts_chain import Density
from probdiff.sampling.random import normal
from tests.sampling.faults import planted

LEVELS = 3  # doublings: trajectories of up to eight points
START, KEYS = np.array([2.0, 1.0]), 2500
REACH = 2**LEVELS - 1  # the farthest that a transition goes, in leapfrog steps

Function = Callable[[np.ndarray], tuple[Any, np.ndarray]]


class Transition:
    """One transition after the other, each with random numbers of its own, by a step size and the unit metric."""

    def __init__(self, model: Any, eps: float, module: Any = trajectory) -> None:
        self.density, self.model, self.eps = Density(model), model, np.float64(eps)
        self.metric = Metric.diagonal(np.ones(model.dim))
        self.program = compile(lambda *arguments: module.transition(*arguments, LEVELS))

    def __call__(self, q: np.ndarray, key: int) -> np.ndarray:
        logp, grad = self.model.value_and_grad(q)
        out = self.program(
            self.density.address, q, np.float64(logp), grad, self.eps, self.metric, np.uint64(key),
            np.uint64(0), np.int64(LEVELS),
        )  # fmt: skip
        self.density.check()
        return np.array(out.proposal.q)


def momentum(key: int, dim: int) -> np.ndarray:
    """That of the transition with this key."""
    return np.array(normal(np.uint64(key), np.arange(dim, dtype=np.uint64)))


# ── The choice among the points of a trajectory ─────────────────────────────────────────────────────────────────────


def waves(q: np.ndarray) -> tuple[float, np.ndarray]:
    """Not Gaussian, and no steeper than curvature 2.5: steps of 0.9 make large errors of energy and stay stable."""
    phase = q[0] + 2 * q[1]
    return -0.5 * float(q @ q) + 0.3 * float(np.cos(phase)), -q - 0.3 * np.sin(phase) * np.array([1.0, 2.0])


def orbit(function: Function, q: np.ndarray, p: np.ndarray, eps: float, reach: int) -> tuple[np.ndarray, ...]:
    """Positions, momenta and weights exp(-H) of the points from `reach` steps before (q, p) to as many after."""
    halves = []
    for step in (-eps, eps):
        points = [(q, p)]
        for _ in range(reach):
            x, r = points[-1]
            half = r + 0.5 * step * function(x)[1]
            x = x + step * half
            points.append((x, half + 0.5 * step * function(x)[1]))
        halves.append(points)
    points = halves[0][:0:-1] + halves[1]
    qs, ps = (np.array(column) for column in zip(*points, strict=True))
    energies = np.array([0.5 * r @ r - function(x)[0] for x, r in points])
    return qs, ps, np.exp(energies[reach] - energies)


def turned(ps: np.ndarray) -> bool:
    """Whether momenta turn: as a whole, or either half with the nearest one of the other half."""
    half = len(ps) // 2
    return any(
        part[0] @ part.sum(axis=0) <= 0 or part[-1] @ part.sum(axis=0) <= 0
        for part in (ps, ps[: half + 1], ps[half - 1 :])
    )


def turns_somewhere(ps: np.ndarray) -> bool:
    """Whether a subtree turns, or any that it is made of."""
    half = len(ps) // 2
    return len(ps) > 1 and (turned(ps) or turns_somewhere(ps[:half]) or turns_somewhere(ps[half:]))


def choice(ps: np.ndarray, weights: np.ndarray, start: int) -> np.ndarray:
    """The probability that a transition from one point of an orbit goes to each.

    Each doubling goes either way with probability 1/2. A half that turns inside ends the trajectory and is left out;
    of another, with weights w, the point i is chosen with probability min(1, Σ w / Σ w_old) w_i / Σ w.
    """
    total = np.zeros(len(ps))

    def double(low: int, high: int, chosen: np.ndarray, probability: float) -> None:
        size = high - low
        if size == 2**LEVELS:
            total[:] += probability * chosen
            return
        for new in (slice(high, high + size), slice(low - size, low)):
            if turns_somewhere(ps[new]):
                total[:] += 0.5 * probability * chosen
                continue
            moves = min(1.0, weights[new].sum() / weights[low:high].sum())
            after = (1 - moves) * chosen
            after[new] += moves * weights[new] / weights[new].sum()
            left, right = min(low, new.start), max(high, new.stop)
            if turned(ps[left:right]):
                total[:] += 0.5 * probability * after
            else:
                double(left, right, after, 0.5 * probability)

    double(start, start + 1, np.eye(len(ps))[start], 1.0)
    return total


@pytest.mark.parametrize("eps", [0.15, 0.5, 0.9])
def test_the_choice_leaves_the_weights_of_an_orbit_as_they_are(eps: float) -> None:
    """Σ_i w_i P(i -> j) = w_j: what makes the density stationary, by enumeration of all ways to double."""
    rng = np.random.default_rng(3)
    moved = 0.0
    for _ in range(20):
        _, ps, weights = orbit(waves, rng.normal(size=2), rng.normal(size=2), eps, 2 * REACH)
        inflow = sum(weights[i] * choice(ps, weights, i) for i in range(REACH, 3 * REACH + 1))
        assert inflow[2 * REACH] == pytest.approx(weights[2 * REACH], rel=1e-11)
        moved += 1 - choice(ps, weights, 2 * REACH)[2 * REACH]
    assert moved > 5  # most transitions go somewhere


@lru_cache
def orbits(eps: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """The orbit of each key from one start, and the probabilities of its points."""
    found = []
    for key in range(KEYS):
        qs, ps, weights = orbit(waves, START, momentum(key, 2), eps, REACH)
        found.append((qs, choice(ps, weights, REACH)))
    return found


def choice_errors(eps: float, module: Any = trajectory) -> np.ndarray:
    """How far frequencies of the steps that transitions go are from their probabilities, in standard errors.

    Forwards, backwards and either way, of each length; and the mean length.
    """
    transition = Transition(Target(waves, 2), eps, module)
    steps = np.arange(-REACH, REACH + 1)
    statistics = np.array([steps == k for k in steps] + [abs(steps) == k for k in steps[REACH:]] + [abs(steps)], float)
    errors, variances = np.zeros((2, len(statistics)))
    for key, (qs, probabilities) in enumerate(orbits(eps)):
        distances = np.max(abs(qs - transition(START, key)), axis=1)
        place = int(np.argmin(distances))
        assert distances[place] < 1e-9  # the next draw is a point of the orbit
        means = statistics @ probabilities
        errors += statistics[:, place] - means
        variances += statistics**2 @ probabilities - means**2
    often = variances > 25  # where a frequency is nearly normal
    assert np.sum(often) >= 5
    return np.asarray(abs(errors[often]) / np.sqrt(variances[often]))


@pytest.mark.parametrize("eps", [0.9, 1.2])
def test_the_choice_has_its_probabilities(eps: float) -> None:
    # Twenty-four statistics: five standard errors are passed by chance once in 7e4 runs, and the seeds are fixed.
    assert np.max(choice_errors(eps)) < 5


@pytest.mark.parametrize("fault", ["weights within a subtree", "no weight of the old tree", "always to the new half"])
def test_a_wrong_choice_is_noticed(fault: str) -> None:
    assert np.max(choice_errors(0.9, planted(fault))) > 6


# ── One transition of exact draws ───────────────────────────────────────────────────────────────────────────────────


class Bimodal:
    """Two normal densities, three apart."""

    def logpdf(self, x: Any) -> Any:
        return np.logaddexp(Normal(-1.5, 0.6).logpdf(x), Normal(1.5, 0.6).logpdf(x))

    def cdf(self, x: Any) -> Any:
        return 0.5 * (Normal(-1.5, 0.6).cdf(x) + Normal(1.5, 0.6).cdf(x))

    def rand(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice([-1.5, 1.5], size) + 0.6 * rng.standard_normal(size)


@pytest.mark.parametrize("d", [Gumbel(0.0, 1.0), StudentT(4.0, 0.0, 1.0), Bimodal()], ids=["gumbel", "t", "bimodal"])
@pytest.mark.parametrize("eps", [0.4, 1.5])
def test_exact_draws_stay_exact(d: Any, eps: float) -> None:
    model = LogDensity(lambda x: np.sum(d.logpdf(x)), np.zeros(1))
    transition, count = Transition(model, eps), 4000
    before = d.rand(count, rng=np.random.default_rng(5))
    after = np.array([transition(np.array([x]), key)[0] for key, x in enumerate(before)])
    assert np.mean(after != before) > 0.3
    for values in (after, np.where(np.arange(count) % 2, after, before)):
        shares = d.cdf(np.sort(values))
        steps = np.arange(count + 1) / count
        distance = max(np.max(steps[1:] - shares), np.max(shares - steps[:-1]))
        assert sqrt(count) * distance < 2.69  # Kolmogorov-Smirnov: 2 exp(-2 t²) = 1e-6
    # Moments of the distribution function's values, which are uniform: mean 1/2, variance 1/12 (of squares, 4/45).
    u = d.cdf(after)
    assert abs(np.mean(u) - 1 / 2) < 5 * sqrt(1 / 12 / count)
    assert abs(np.mean(u**2) - 1 / 3) < 5 * sqrt(4 / 45 / count)


# ── Parameters and data in turns ────────────────────────────────────────────────────────────────────────────────────


class Turns:
    """A model whose data are drawn anew given its parameters, and its parameters by transitions given its data.

    prior    parameters of one number each, or of a matrix of correlations
    observe  the distribution of the data given the parameters
    """

    def __init__(self, prior: Joint, observe: Callable[..., Any], eps: float, summaries: Callable[..., Any]) -> None:
        self.prior, self.observe, self.summaries = prior, observe, summaries
        bare = Posterior(prior, loglike=lambda **parameters: 0.0)
        self.constrain, self.unconstrain = bare.constrain, bare.unconstrain

        def logdensity(q: Any, y: Any) -> Any:
            return bare.logdensity(q) + np.sum(observe(**bare.located(q)).logpdf(y))

        compiled = compile(value_and_grad(logdensity))
        self.y = np.zeros(0)
        self.transition = Transition(Target(lambda q: compiled(q, self.y), bare.dim), eps)

    def exact(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Summaries of independent draws from the prior, and of the data given them."""
        rows = []
        for _ in range(count):
            parameters = self.prior.rand(rng=rng)
            rows.append(self.summaries(self.observe(**parameters).rand(rng=rng), **parameters))
        return np.array(rows)

    def in_turns(self, count: int, rng: np.random.Generator, moves: int = 2) -> np.ndarray:
        """Summaries along a chain: new data given parameters, new parameters given data."""
        rows, q = [], self.unconstrain(self.prior.rand(rng=rng))
        for k in range(count):
            parameters = self.constrain(q)
            self.y = np.asarray(self.observe(**parameters).rand(rng=rng), dtype=float)
            for move in range(moves):
                q = self.transition(q, moves * k + move)
            rows.append(self.summaries(self.y, **self.constrain(q)))
        return np.array(rows)

    def errors(self, exact: int, turns: int) -> np.ndarray:
        """Differences of the mean summaries, in standard errors."""
        one, other = self.exact(exact, np.random.default_rng(1)), self.in_turns(turns, np.random.default_rng(2))
        mcse = np.array([np.squeeze(az.mcse(column[None], method="mean")) for column in other.T])
        ess = np.array([np.squeeze(az.ess(column[None], method="mean")) for column in other.T])
        assert np.min(ess) > 100  # of means that are nearly normal
        difference = np.mean(one, axis=0) - np.mean(other, axis=0)
        return np.asarray(abs(difference) / np.hypot(np.std(one, axis=0) / sqrt(exact), mcse))


def location_and_scale(sd: float = 1.0) -> Turns:
    return Turns(
        Joint(mu=Normal(0.0, sd), sigma=Gamma(3.0, 0.5)),
        lambda mu, sigma: Normal(mu, sigma).iid(2),
        0.5,
        lambda y, mu, sigma: [mu, mu**2, sigma, np.log(sigma) ** 2, y[0], y[0] * mu, np.log(abs(y[1] - mu)) * sigma],
    )


def counts() -> Turns:
    x = np.array([-1.0, 0.0, 1.0])
    return Turns(
        Joint(level=Normal(0.0, 0.5), slope=Normal(0.0, 0.4)),
        lambda level, slope: Poisson(np.exp(level + slope * x)),
        0.35,
        lambda y, level, slope: [level, level**2, slope, slope**2, level * slope, np.log1p(y[0]), slope * y[2] / 5],
    )


def correlation() -> Turns:
    return Turns(
        Joint(L=LKJCholesky(2, 1.5)),
        lambda L: MvNormal(np.zeros(2), L),
        0.8,
        lambda y, L: [L[1, 0], L[1, 0] ** 2, L[1, 1], y[0] * y[1] * L[1, 0], y[1] ** 2, L[1, 0] ** 4],
    )


@pytest.mark.parametrize("model", [location_and_scale, counts])
def test_parameters_and_data_in_turns(model: Callable[[], Turns]) -> None:
    # Seven means: five standard errors are passed by chance once in 2e5 runs, and the seeds are fixed.
    assert np.max(model().errors(4000, 2000)) < 5


@pytest.mark.slow
@pytest.mark.parametrize("model", [location_and_scale, counts, correlation])
def test_parameters_and_data_in_many_turns(model: Callable[[], Turns]) -> None:
    assert np.max(model().errors(20_000, 20_000)) < 5


def test_turns_notice_a_prior_that_is_not_that_of_the_draws() -> None:
    """The check is itself checked: draws from one prior, transitions under one that is a fifth wider."""
    turns = location_and_scale()
    turns.prior = location_and_scale(sd=1.2).prior
    assert np.max(turns.errors(4000, 2000)) > 5


# ── An ill-conditioned Gaussian ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["diagonal", "auto"])
@pytest.mark.parametrize("rotated", [False, True], ids=["along the axes", "rotated"])
def test_an_ill_conditioned_gaussian_of_a_hundred_dimensions(metric: str, rotated: bool) -> None:
    """Condition number 10^4: means and variances along the principal axes, where they are independent and known."""
    scale = np.logspace(-1, 1, 100)
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(100, 100)))[0] if rotated else np.eye(100)
    precision = (axes / scale**2) @ axes.T
    model = LogDensity(lambda x: -0.5 * x @ (precision @ x), np.zeros(100))
    draws = sample(model, 1000, 1000, 4, seed=4, kernel=NUTS(metric=metric))["x"]
    z = draws @ axes / scale
    errors = []
    for values, expected in ((z, 0.0), (z**2, 1.0)):
        columns = np.moveaxis(values, -1, 0)
        mcse = np.array([np.squeeze(az.mcse(column, method="mean")) for column in columns])
        errors.append(abs(np.mean(columns, axis=(1, 2)) - expected) / mcse)
    # 200 checks: five and a half standard errors are passed with a chance of 8e-6 in all.
    assert np.max(errors) < 5.5
    assert stats.kstest(z[:, ::10, 0].ravel(), stats.norm.cdf).pvalue > 1e-6
