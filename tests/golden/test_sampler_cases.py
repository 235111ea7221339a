"""Faults of samplers and of their output that users met in other systems, by identifier: one function a case.

Choices where a case leaves one: an impossible observation is refused when model and data meet, before any start is
tried (SA02); names that would lose a variable are refused when a run begins, before its first transition (IO04).
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest

from probdiff import gradient, sample
from probdiff.distributions import Dirichlet, Flat, HalfNormal, LKJCholesky, Normal, Poisson, Uniform
from probdiff.distributions.bijectors import bijector_for
from probdiff.distributions.support import interval, ordered, positive, unit_interval
from probdiff.errors import DataError, InitialPointError, ParameterError, UnsupportedError
from probdiff.models import Joint, LogDensity, Posterior
from probdiff.sampling import HMC, NUTS, Target, predictive
from probdiff.sampling.chain import rectangle
from probdiff.sampling.hmc import is_divergent
from tests.golden.cases import Checks, expected, rows

ROWS = rows(sampling=True)
KERNELS = (NUTS(), HMC())
case = Checks()


def gaussian(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -0.5 * float(q @ q), -q


def of_one(posterior: Any, name: str = "x", **settings: Any) -> np.ndarray:
    drawn: np.ndarray = sample(posterior, **settings)[name]
    return drawn


# ── Where a run starts ──────────────────────────────────────────────────────────────────────────────────────────────


@case("SA01")
def gradient_that_is_nan(expected: dict[str, Any]) -> None:
    calls = itertools.count()

    def bugged(q: np.ndarray) -> tuple[float, np.ndarray]:
        next(calls)
        return -0.5 * float(q @ q), np.array([-q[0], np.nan])

    for kernel in KERNELS:
        model = Target(bugged, 2, names=["mu", "tau"])
        with pytest.raises(InitialPointError, match="in 100 tries .* a gradient that is not finite in tau, at mu="):
            sample(model, kernel=kernel)
        with pytest.raises(InitialPointError, match="a gradient that is not finite in tau, at mu=0, tau=0"):
            sample(model, kernel=kernel, init=np.zeros(2))
    assert next(calls) < 1000


@case("SA02")
def start_outside_the_support(expected: dict[str, Any]) -> None:
    def positive_only(q: np.ndarray) -> tuple[float, np.ndarray]:
        return (-float(q[0]), -np.ones(1)) if q[0] > 0 else (-np.inf, np.zeros(1))

    assert positive_only(np.array([-0.5]))[0] == float(expected["logp at x=-0.5"])
    assert np.min(of_one(Target(positive_only, 1), draws=30, tune=30, seed=0)) > 0
    with pytest.raises(InitialPointError, match=r"^init for chain 0 has log-density -inf at x\[0\]=-10"):
        sample(Target(positive_only, 1), init=np.array([-10.0]))
    prior = Joint(scale=HalfNormal(1.0))
    with pytest.raises(ParameterError, match=r"^scale must be inside the support of HalfNormal .* got -10\.0"):
        sample(Posterior(prior, lambda scale: Normal(0.0, scale), 1.0), init={"scale": -10.0})
    # A matrix or vector outside is not moved to the nearest one inside, either.
    shapes = Joint(shares=Dirichlet([1.0, 1.0]), L=LKJCholesky(2))
    for name, value in (("shares", [0.5, 0.6]), ("L", np.ones((2, 2))), ("L", np.diag([1.0, 2.0]))):
        start = {"shares": [0.4, 0.6], "L": np.eye(2), name: value}
        with pytest.raises(ParameterError, match=f"^{name} must be inside the support of"):
            sample(Posterior(shapes, loglike=lambda shares: shares[0]), init=start)
    with pytest.raises(DataError, match="outside the support of Poisson .* at index 1: -1"):
        Posterior(prior, lambda scale: Poisson(scale).iid(3), [1, -1, 2])
    # A bound that moves cannot refuse data at once: the terms at the last start do.
    moving = Posterior(Joint(top=Uniform(0.0, 1.0)), lambda top: Uniform(0.0, top).iid(2), [0.1, 5.0])
    with pytest.raises(
        InitialPointError, match=r"100 tries .* likelihood of y is -inf at index 1 \(observation 5\.0\)"
    ):
        sample(moving)


@case("SA13")
def ordered_start(expected: dict[str, Any]) -> None:
    bijector = bijector_for(ordered)
    u = bijector.inverse(np.array([-1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(u, expected["unconstrained"])
    assert bijector.log_jacobian(u) == expected["log-Jacobian"]
    knots = Posterior(Joint(knots=Flat(ordered, 3)), loglike=lambda knots: np.sum(Normal(0.0, 1.0).logpdf(knots)))
    start = knots.initial(np.random.default_rng(0))
    assert np.all(np.diff(knots.constrain(start)["knots"]) > 0)
    assert np.isfinite(knots.value_and_grad(start)[0])
    with pytest.raises(ParameterError, match=r"^knots must be inside the support .* rise strictly"):
        sample(knots, init={"knots": [0.0, 0.0, 1.0]})


@case("SA16")
def improper_prior(expected: dict[str, Any]) -> None:
    flat = Posterior(Joint(rate=Flat(positive)), lambda rate: Poisson(rate).iid(3), [1, 2, 3])
    for draw in (flat.prior.rand, lambda rng: flat.prior_predictive(rng)):
        with pytest.raises(UnsupportedError, match="^rate is Flat, and an improper prior cannot be drawn from"):
            draw(rng=np.random.default_rng(0))
    draws = sample(flat, 30, 30, 2, seed=0)
    assert draws.predict(rng=np.random.default_rng(1))["y"].shape == (2, 30, 3)


# ── Transitions ─────────────────────────────────────────────────────────────────────────────────────────────────────


@case("SA03")
def improper_posterior(expected: dict[str, Any]) -> None:
    towards_infinity = LogDensity(lambda x: -np.log1p(np.exp(-x)), 0.0)
    prior = Joint(x=HalfNormal(1.0))
    towards_zero = Posterior(prior, lambda x: Normal(0.0, x).iid(150), np.zeros(150))
    for posterior in (towards_infinity, towards_zero):
        draws = sample(posterior, 50, 50, 4, seed=0)
        assert np.all(np.isfinite(draws["x"]))
        step_size = draws.sample_stats["step_size"]
        assert np.all(np.isfinite(step_size) & (step_size > 0))
        assert any("The chains have not converged" in note for note in draws.summary().notes)


@case("SA05")
def energy_that_falls(expected: dict[str, Any]) -> None:
    assert [is_divergent(error) for error in (-1500.0, 1500.0, np.nan, np.inf)] == expected["divergent?"]
    for kernel in (NUTS(step_size=0.5), HMC(step_size=0.5, n_steps=8)):
        draws = sample(Target(gaussian, 1), 60, 0, 1, seed=0, kernel=kernel, init=np.array([60.0]))
        assert np.min(draws.sample_stats["energy"]) < 1800 - 1500  # it fell from the start's 1800
        assert not np.any(draws.sample_stats["diverging"])
        assert np.min(abs(draws["x"])) < 3


@case("SA06")
def density_that_is_nan(expected: dict[str, Any]) -> None:
    def half_line(q: np.ndarray) -> tuple[float, np.ndarray]:
        return gaussian(q) if q[0] <= 1 else (np.nan, q * np.nan)

    for kernel in (NUTS(step_size=0.4), HMC(step_size=0.4, n_steps=8)):
        draws = sample(Target(half_line, 1), 400, 0, 1, seed=0, kernel=kernel, init=np.zeros(1))
        diverging = draws.sample_stats["diverging"]
        assert 0.05 < np.mean(diverging) < 0.95
        assert np.max(draws["x"]) <= 1
        assert np.max(draws.sample_stats["n_steps"]) < 64
        # The last step of a trajectory that diverges is accepted with probability zero.
        accepted, steps = (draws.sample_stats[name][diverging] for name in ("acceptance_rate", "n_steps"))
        assert np.all(accepted <= 1 - 1 / steps + 1e-12)


@case("SA09")
def missing_values(expected: dict[str, Any]) -> None:
    prior = Joint(loc=Normal(0.0, 1.0))
    fillers = [np.array([np.nan, 0.0])]
    fillers += [np.ma.masked_array([filler, 0.0], mask=[True, False]) for filler in (-100.0, np.nan, np.inf)]
    for y in fillers:
        posterior = Posterior(prior, lambda loc: Normal(loc, 1.0).iid(2), y, missing="skip")
        assert posterior.log_likelihood({"loc": 0.5}) == pytest.approx(expected["loglik"], rel=1e-15)
        assert gradient(lambda loc, p=posterior: p.log_likelihood({"loc": loc}), 0.5)[0] == expected["d/dloc"]
        # The prior adds its slope, -loc.
        assert posterior.gradient(np.array([0.5])) == pytest.approx([expected["d/dloc"] - 0.5], rel=1e-15)


@case("SA12")
def saturated_bounds(expected: dict[str, Any]) -> None:
    bounds = bijector_for(interval(-1.0, 1e-7))
    inside = np.nextafter(1e-7, 0.0)
    for x in (inside, np.nextafter(-1.0, 0.0), 0.0, 5e-8):
        back = bounds.forward(bounds.inverse(x))
        assert -1.0 <= back <= 1e-7
        # A distance from the near bound is kept to the spacing of numbers there.
        assert back == pytest.approx(x, rel=1e-15, abs=1e-16)
    assert Uniform(-1.0, 1e-7).logpdf(inside) == pytest.approx(expected["log-prior"], rel=1e-8)
    sigmoid = bijector_for(unit_interval)
    for y in (20.0, 40.0, 800.0):
        assert sigmoid.log_jacobian(y) == pytest.approx(expected[f"logJ({y:.0f})"], rel=1e-14)
    for y in (40.0, 800.0):
        assert gradient(sigmoid.log_jacobian, y)[0] == pytest.approx(expected["slope logJ(40)"], rel=1e-15)
    for y in (-800.0, 800.0):
        assert -1.0 <= bounds.forward(y) <= 1e-7


# ── Runs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@case("SA11")
def seeds(expected: dict[str, Any]) -> None:
    for kernel in KERNELS:
        settings = {"draws": 20, "tune": 20, "chains": 4, "kernel": kernel}
        one = of_one(Target(gaussian, 2), seed=1, **settings)
        threads = Target(gaussian, 2)
        threads.releases_gil = True
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.cpu_count", lambda: 1)
            np.testing.assert_array_equal(of_one(Target(gaussian, 2), seed=1, **settings), one)
        np.testing.assert_array_equal(of_one(threads, seed=1, **settings), one)
        other = of_one(Target(gaussian, 2), seed=2, **settings)
        assert len({chain.tobytes() for chain in [*one, *other]}) == 8
        # With steps of no length, the draws are where the chains start.
        still = {"draws": 1, "tune": 0, "chains": 4, "kernel": HMC(step_size=1e-9, n_steps=1)}
        starts = np.concatenate([of_one(Target(gaussian, 2), seed=seed, **still)[:, 0] for seed in (1, 2)])
        assert len(np.unique(starts.round(6), axis=0)) == 8


@case("SA18")
def interrupts(expected: dict[str, Any]) -> None:
    kernel = HMC(step_size=0.3, n_steps=1, jitter=0.0)

    def interrupted(at: int) -> Target:
        calls = itertools.count(1)

        def density(q: np.ndarray) -> tuple[float, np.ndarray]:
            if next(calls) == at:
                raise KeyboardInterrupt
            return gaussian(q)

        return Target(density, 1)

    with pytest.raises(KeyboardInterrupt):
        sample(interrupted(1), seed=0)
    with pytest.raises(KeyboardInterrupt):
        sample(interrupted(200), 100, 10_000, 2, seed=0, kernel=kernel)
    draws = sample(interrupted(60), 1000, 20, 1, seed=0, kernel=kernel)
    assert draws.partial
    assert 0 < draws.draws < 60
    assert dict(draws.to_arviz()["posterior"]["x"].sizes) == {"chain": 1, "draw": draws.draws, "x_dim_0": 1}
    assert draws.warmup_posterior == {}
    assert [2, rectangle([7, 6])] == expected["shape"]
    assert [thread for thread in threading.enumerate() if thread.name.startswith("probdiff")] == []


# ── Output ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@case("IO01")
def one_chain(expected: dict[str, Any]) -> None:
    draws = sample(Posterior(Joint(mu=Normal(0.0, 1.0)), lambda mu: Normal(mu, 1.0), 0.3), 50, 50, 1, seed=0)
    mu = draws.to_arviz()["posterior"]["mu"]
    assert mu.dims == ("chain", "draw")
    assert list(mu.shape) == expected["shape"]
    row = draws.summary()["mu"]
    assert all(np.isfinite(row[name]) for name in ("mean", "sd", "r_hat"))


@case("IO04")
def labels_that_collide(expected: dict[str, Any]) -> None:
    for name in ("chain", "draw"):
        with pytest.raises(ParameterError, match=f"^'{name}' is the name of the {name} axis"):
            sample(Target(gaussian, 1, names=[name]))
    prior = Joint(site=Normal(0.0, 1.0).iid("site"))
    site = Posterior(prior, loglike=lambda site: np.sum(site), coords={"site": ["a", "b"]})
    with pytest.raises(ParameterError, match="^'site' is both a variable and a dimension"):
        sample(site)
    with pytest.raises(ParameterError, match="a is a variable already"):
        Posterior(Joint(a=Normal(0.0, 1.0)), loglike=lambda a: a, derived={"a": lambda a: 2 * a})
    with pytest.raises(ParameterError, match="names must be 2 different names"):
        Target(gaussian, 2, names=["x", "x"])


@case("IO05")
def memory_of_log_likelihoods(expected: dict[str, Any]) -> None:
    """None unless asked for; then block by block, and from a gigabyte on in a file: this one would take 84."""
    chains, draws, observations = 4, 1000, 2618018
    assert chains * draws * observations * 8 == expected["bytes"]
    assert expected["bytes"] > predictive.IN_MEMORY
    y = np.random.default_rng(0).normal(size=300)
    posterior = Posterior(Joint(mu=Normal(0.0, 1.0)), lambda mu: Normal(mu, 1.0).iid(300), y)
    run = sample(posterior, 20, 20, 2, seed=0)
    assert "log_likelihood" not in run.to_arviz().groups()
    held = run.log_likelihood()["y"]
    assert held == pytest.approx(Normal(run["mu"][..., None], 1.0).logpdf(y), rel=1e-13)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictive, "IN_MEMORY", 1000)
        on_disk = run.log_likelihood()["y"]
    assert isinstance(on_disk, np.memmap)
    np.testing.assert_array_equal(on_disk, held)


def test_every_row_has_a_check() -> None:
    assert sorted(case) == sorted(row["id"] for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_case(row: dict[str, Any]) -> None:
    case[row["id"]](expected(row))
