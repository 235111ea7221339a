"""Warm-up: step size by dual averaging, diagonal metric in growing windows, trajectory length by the widest direction.

Windows and constants are those of the Stan reference manual; dual averaging is Hoffman & Gelman 2014.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, isfinite, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from probdiff.sampling.kernel import Kernel, LogDensity, Settings, State, Vector, settings
from probdiff.sampling.metric import Metric, held
from probdiff.tree import Array

EPS_MIN, EPS_MAX = 1e-12, 1e12
MASS_MIN, MASS_MAX = 1e-20, 1e20
MAX_DOUBLINGS = 50
EARLY_STEPS = 64
"""Before the first metric a trajectory has at most about this many steps: its length means nothing yet."""
SPECTRUM_NUMBERS = 4_000_000
"""Most numbers (32 MB) kept per chain to measure the widest direction."""


class DualAveraging:
    """Nesterov's dual averaging of log eps, so that mean acceptance goes to `target`.

    H_t = (1 - 1/(t + t0)) H_{t-1} + (target - a_t)/(t + t0);  log eps_t = mu - sqrt(t)/gamma H_t
    """

    def __init__(self, eps: float, target: float, gamma: float = 0.05, t0: float = 10.0, kappa: float = 0.75) -> None:
        self.target, self.gamma, self.t0, self.kappa = target, gamma, t0, kappa
        self.mu = log(eps)  # eps was searched for: the usual log(10 eps) spoils averages of few iterations
        self.t, self.h, self.log_mean = 0, 0.0, log(eps)

    def update(self, accept: float) -> float:
        """The next step size to try, after a transition with this acceptance."""
        self.t += 1
        weight = 1 / (self.t + self.t0)
        self.h = (1 - weight) * self.h + weight * (self.target - accept)
        log_eps = self.mu - sqrt(self.t) / self.gamma * self.h
        log_eps = min(max(log_eps, log(EPS_MIN)), log(EPS_MAX))
        fade = self.t**-self.kappa
        self.log_mean = fade * log_eps + (1 - fade) * self.log_mean
        return exp(log_eps)

    @property
    def mean(self) -> float:
        """The averaged step size, for the draws."""
        return exp(self.log_mean)


T0, KAPPA = 10.0, 0.75
"""Of dual averaging (Hoffman & Gelman 2014)."""
GAMMA = 0.1
"""They have 0.05: steps that vary so much average, in 50 iterations, to one that is a fifth too short."""


class Averaging(NamedTuple):
    """Dual averaging of log eps, as numbers that a traced program can carry.

    H_t = (1 - 1/(t + t0)) H_{t-1} + (target - a_t)/(t + t0);  log eps_t = mu - sqrt(t)/gamma H_t
    """

    eps: Array
    mu: Array
    h: Array
    t: Array
    log_mean: Array

    @classmethod
    def start(cls, eps: float) -> Averaging:
        """Before the first transition, at step size `eps`.

        mu is log eps: `eps` was searched for, and the usual log(10 eps) spoils averages of few iterations.
        """
        return cls(np.float64(eps), np.float64(log(eps)), np.float64(0), np.float64(0), np.float64(log(eps)))

    def update(self, accept: Array, target: Array) -> Averaging:
        """After a transition with this acceptance."""
        t = self.t + 1.0
        weight = 1.0 / (t + T0)
        h = (1.0 - weight) * self.h + weight * (target - accept)
        log_eps = np.clip(self.mu - np.sqrt(t) / GAMMA * h, log(EPS_MIN), log(EPS_MAX))
        fade = t**-KAPPA
        return Averaging(np.exp(log_eps), self.mu, h, t, fade * log_eps + (1.0 - fade) * self.log_mean)


class Welford:
    """Running mean and variance of vectors (Welford 1962)."""

    def __init__(self, dim: int) -> None:
        self.n, self.mean, self.m2 = 0, np.zeros(dim), np.zeros(dim)

    def add(self, x: Vector) -> None:
        """Take in one vector."""
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (x - self.mean)

    def variance(self) -> Vector:
        """The variance of each entry; zeros before the second vector."""
        return self.m2 / max(self.n - 1, 1)


def window_ends(tune: int) -> list[int]:
    """Iterations after which the metric is renewed: 75 first, windows of 25 * 2^k, 50 last for the step size alone.

    Below 150 iterations the three parts are 15 %, 75 % and 10 %; below 20 only the step size is tuned.
    """
    if tune < 20:
        return []
    first, size, last = (75, 25, 50) if tune >= 150 else (int(0.15 * tune), int(0.75 * tune), int(0.1 * tune))
    ends, stop = [first], tune - last
    while ends[-1] < stop:
        end = ends[-1] + size
        size *= 2
        ends.append(stop if end + size > stop else end)
    return ends


class Window(NamedTuple):
    """A part of NUTS's warm-up: the iteration it ends before, its greatest depth, and whether a metric is learnt."""

    end: int
    depth: int
    learns: bool = True


def windows(tune: int) -> list[Window]:
    """The parts of a warm-up of `tune` iterations.

    Four of 25, for the first metrics are the worst, then 50, 100, 200 and so on, and 50 for the step size alone. Until
    there is a metric, a trajectory has at most 2^6 steps: its length means nothing yet. Below 150 iterations the parts
    are those of `window_ends`.
    """
    if tune < 150:
        ends = window_ends(tune)
    else:
        ends, size = [25], 25
        while ends[-1] < tune - 50:
            end = ends[-1] + size
            size = 25 if end < 100 else 2 * size
            ends.append(tune - 50 if end + size > tune - 50 else end)
    found = [Window(end, 6 if k == 0 else 20) for k, end in enumerate(ends)]
    return [*found, Window(tune, 20, False)]


def first_step_size(
    rng: np.random.Generator, logdensity: LogDensity, state: State, metric: Metric, eps: float
) -> float:
    """The step size near `eps` at which one leapfrog step crosses an acceptance of 0.8; see `crossing`.

    A step that lands where there is no finite energy counts as refused, so the search goes to smaller steps and ends.
    """
    r = rng.standard_normal(len(state.q))
    energy = 0.5 * float(r @ r) - state.logp
    force = metric.pull(state.grad)

    def good(eps: Vector) -> NDArray[np.bool_]:
        half = r + 0.5 * eps * force
        logp, grad = logdensity(state.q + eps * metric.spread(half))
        end = half + 0.5 * eps * metric.pull(grad)
        return accepted(np.array([0.5 * float(end @ end) - float(logp) - energy]))

    return float(crossing(good, np.array([eps]))[0])


def accepted(energy_error: Vector) -> NDArray[np.bool_]:
    """Whether an acceptance is above 0.8."""
    return np.isfinite(energy_error) & (energy_error < -log(0.8))


def crossing(good: Callable[[Vector], NDArray[np.bool_]], eps: Vector) -> Vector:
    """Each of `eps` doubled or halved, at most 50 times, to the last one for which `good` is true."""
    upwards = good(eps)
    moving = np.ones(len(eps), dtype=bool)
    for _ in range(MAX_DOUBLINGS):
        following = eps * np.where(upwards, 2.0, 0.5)
        moving &= (EPS_MIN <= following) & (following <= EPS_MAX)
        if not moving.any():
            break
        crossed = moving & (good(np.where(moving, following, eps)) != upwards)
        eps = np.where(moving & ~(crossed & upwards), following, eps)
        moving &= ~crossed
    return eps


def widest(x: Vector) -> float:
    """The variance of the rows of `x` along their widest direction, columns scaled to variance near one; at least 1.

    The largest eigenvalue of a sample covariance of n rows in d dimensions is (1 + sqrt(d/n))^2 where the truth is 1.
    So the direction is taken from one half of the rows and its variance from the other, both ways, then the mean.
    """
    if len(x) < 10 or not np.all(np.isfinite(x)):
        return 1.0
    halves = [half - half.mean(axis=0) for half in np.array_split(x, 2)]
    variances = [float(np.mean((b @ _top_direction(a)) ** 2)) for a, b in (halves, halves[::-1])]
    value = sum(variances) / 2
    return max(1.0, value) if isfinite(value) else 1.0


def _top_direction(x: Vector) -> Vector:
    """The unit vector along which the rows of `x` vary most, through the smaller of the two products."""
    wide = len(x) < x.shape[1]
    v: Vector = np.linalg.eigh(x @ x.T if wide else x.T @ x)[1][:, -1]
    if wide:
        v = v @ x
    return v / max(float(np.linalg.norm(v)), 1e-300)


class Warmup:
    """The adaptation of one chain; `settings` is what the next transition uses."""

    def __init__(
        self, rng: np.random.Generator, logdensity: LogDensity, kernel: Kernel, state: State, tune: int
    ) -> None:
        self.rng, self.logdensity, self.kernel, self.tune = rng, logdensity, kernel, tune
        dim = len(state.q)
        self.ends = window_ends(tune)
        self.window = 0
        self.stride = max(1, -(-tune * dim // SPECTRUM_NUMBERS))
        self.path = pi / 2 if kernel.path_length is None else kernel.path_length
        self.inv_mass = np.ones(dim)
        eps = kernel.step_size
        if eps is None:
            eps = first_step_size(rng, logdensity, state, Metric.diagonal(np.sqrt(self.inv_mass)), 0.1)
        self.averaging = DualAveraging(eps, kernel.target_accept)
        self.settings = self._settings(eps)
        self._clear(dim)

    def update(self, i: int, state: State, accept: float) -> None:
        """Learn from warm-up iteration `i`, counted from 0."""
        eps = self.averaging.update(accept)
        self.settings = self.settings._replace(eps=eps) if self.window else self._settings(eps)
        if self.window < len(self.ends):
            # The first third of the first window is the way in from the starting point.
            if self.window or 3 * i >= self.ends[0]:
                self.q_moments.add(state.q)
                self.grad_moments.add(state.grad)
                if i % self.stride == 0:
                    self.rows.append(state.q)
            if i + 1 == self.ends[self.window]:
                self._renew(state)
        if i + 1 == self.tune:
            self.settings = self._settings(self.averaging.mean)

    def _renew(self, state: State) -> None:
        """Metric: variances of the window, held by those of the gradients."""
        mixed = held(self.q_moments.variance(), self.grad_moments.variance(), self.q_moments.n, self.window == 0)
        usable = np.isfinite(mixed) & (mixed > 0)
        self.inv_mass = np.clip(np.where(usable, mixed, self.inv_mass), MASS_MIN, MASS_MAX)
        if self.kernel.path_length is None and self.window:
            self.path = pi / 2 * sqrt(widest(np.array(self.rows) / np.sqrt(self.inv_mass)))
        self.window += 1
        eps = first_step_size(self.rng, self.logdensity, state, Metric.diagonal(np.sqrt(self.inv_mass)), 0.5)
        self.averaging = DualAveraging(eps, self.kernel.target_accept)
        self.settings = self._settings(eps)
        self._clear(len(state.q))

    def _settings(self, eps: float) -> Settings:
        early = EARLY_STEPS * eps if self.kernel.path_length is None and self.window < 1 and self.ends else inf
        return settings(eps, self.inv_mass, min(self.path, early))

    def _clear(self, dim: int) -> None:
        self.q_moments, self.grad_moments = Welford(dim), Welford(dim)
        self.rows: list[Vector] = []
