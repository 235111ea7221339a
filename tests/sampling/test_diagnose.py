"""Diagnosis: each fault is planted, found and named; good draws are passed in silence; quick and full agree."""

import numpy as np
import pytest

from probdiff import sample
from probdiff.distributions import Beta, HalfNormal, Normal, noncentered
from probdiff.errors import DataError
from probdiff.models import Joint, Posterior
from probdiff.models.zoo import eight_schools_centered
from probdiff.sampling import NUTS, Draws, Target
from probdiff.sampling.diagnose import quick

RNG = np.random.default_rng(1)


def made(x, stats=None, **more):
    """Draws of `x` (chain, draw, …) with statistics that are in order unless given."""
    chains, n = x.shape[:2]
    noise = np.random.default_rng(2)
    good = {
        "lp": noise.normal(size=(chains, n)),
        "energy": noise.normal(size=(chains, n)),
        "acceptance_rate": np.full((chains, n), 0.8),
        "step_size": np.full((chains, n), 0.5),
        "n_steps": np.full((chains, n), 7),
        "tree_depth": np.full((chains, n), 3),
        "diverging": np.zeros((chains, n), dtype=bool),
        "reached_max_treedepth": np.zeros((chains, n), dtype=bool),
    }
    return Draws({"x": x}, good | (stats or {}), **more)


def independent(*shape):
    return RNG.normal(size=shape)


def one(draws, kind):
    """The only finding of a diagnosis, which must be of this kind."""
    diagnosis = draws.diagnose()
    assert [finding.kind for finding in diagnosis.findings] == [kind], diagnosis
    assert kind in diagnosis and not diagnosis.ok
    return diagnosis[kind]


def test_good_draws_are_silent():
    draws = made(independent(4, 1000, 3))
    diagnosis = draws.diagnose()
    assert diagnosis.ok and quick(draws) == ()
    lines = repr(diagnosis).splitlines()
    assert lines[0] == "Diagnosis: 4 chains x 1000 draws, scalars: 3"
    assert lines[1].startswith("Nothing found: 0 divergences, R-hat at most 1.00")
    assert diagnosis.divergences == 0 and diagnosis.e_bfmi.shape == diagnosis.step_size.shape == (4,)
    assert list(diagnosis.summary) == ["x[0]", "x[1]", "x[2]"]
    with pytest.raises(KeyError, match=r"'ess' is not among the findings \(none\)"):
        diagnosis["ess"]


def test_draws_without_statistics():
    diagnosis = Draws({"x": independent(4, 1000)}, {}).diagnose()
    assert diagnosis.ok and diagnosis.e_bfmi.shape == (0,)


@pytest.mark.parametrize("n", [1, 3, 20])
def test_few_draws_are_no_reason_for_errors(n):
    draws = made(independent(2, n))
    assert quick(draws) == ()
    repr(draws.diagnose())


def test_no_draw_yet():
    with pytest.raises(DataError, match="Draws.diagnose: there is no draw after the warm-up yet."):
        made(independent(2, 0)).diagnose()


def test_what_is_no_number_is_passed_over():
    x = independent(4, 1000)
    rest = {
        "nan": np.full((4, 1000), np.nan),
        "infinite": np.where(x > 0, np.inf, 1.0),
        "empty": np.zeros((4, 1000, 0)),
        "constant": np.ones((4, 1000)),
        "count": RNG.integers(0, 9, (4, 1000)),
        "flag": x > 1,
    }
    good = made(x)
    stats = good.sample_stats | {"diverging": x < -2}
    draws = Draws({**rest, **good.posterior}, stats)
    assert one(draws, "divergences").labels == ("x",)
    assert quick(draws) == (draws.diagnose()["divergences"].text,)


def test_a_region_of_divergences():
    x = np.abs(independent(4, 1000, 2))
    diverging = (x[..., 1] < 0.1) & (RNG.random((4, 1000)) < 0.5)
    finding = one(made(x, {"diverging": diverging}), "divergences")
    here, everywhere = np.median(x[diverging][:, 1]), np.median(x[..., 1])
    assert finding.labels == ("x[1]",)
    assert finding.text == (
        f"{diverging.sum()} of 4000 transitions diverged: the density bends faster than the step size follows. "
        f"They gather at small x[1] (median {here:.3g} against {everywhere:.3g} over all draws). "
        "Raise target_accept, or reparameterise the model."
    )


def test_divergences_without_a_region():
    diverging = RNG.random((4, 1000)) < 0.01
    draws = made(independent(4, 1000, 20), {"diverging": diverging})
    assert one(draws, "divergences").text == (
        f"{diverging.sum()} of 4000 transitions diverged: the density bends faster than the step size follows. "
        "Raise target_accept, or reparameterise the model."
    )
    assert quick(draws) == (draws.diagnose()["divergences"].text,)


@pytest.mark.parametrize("wrap, side", [(lambda d: d, "small"), (noncentered, "large")])
def test_advice_on_coordinates(wrap, side):
    prior = Joint(tau=HalfNormal(1), theta=lambda tau: wrap(Normal(0, tau)).iid(3))
    model = Posterior(prior, lambda theta: Normal(theta, 1), np.zeros(3))
    tau = np.abs(independent(4, 1000))
    diverging = tau < 0.05 if side == "small" else tau > 2.5
    good = made(tau).sample_stats
    draws = Draws({"tau": tau, "theta": independent(4, 1000, 3)}, good | {"diverging": diverging}, model=model)
    text = quick(draws)[0]
    assert f"They gather at {side} tau" in text
    assert text.endswith({
        "small": "theta is centred on tau, which makes a funnel: write noncentered(…) around the distribution of "
        'theta, or sample with reparam="auto".',
        "large": "theta is non-centred, which is worse where the data fix it well: take noncentered(…) off the "
        "distribution of theta, or raise target_accept.",
    }[side])  # fmt: skip


def test_divergences_of_one_chain():
    diverging = np.zeros((4, 1000), dtype=bool)
    diverging[2, :40] = diverging[0, 0] = True
    finding = one(made(independent(4, 1000), {"diverging": diverging}), "divergences")
    assert " 40 of them are in chain 2. " in finding.text
    assert finding.chains == (2,)


@pytest.mark.parametrize("seed", range(3))
def test_a_centred_funnel_gets_the_advice_to_turn_it_round(seed):
    draws = sample(eight_schools_centered(), seed=seed)
    diagnosis = draws.diagnose()
    text = diagnosis["divergences"].text
    assert "The gradient of tau threw off " in text and "The observation that fits worst there is y[" in text
    advice = "write noncentered(…) around the distribution of theta"
    end = f'theta is centred on tau, which makes a funnel: {advice}, or sample with reparam="auto".'
    assert text.endswith(end)
    assert diagnosis["divergences"].labels == ("tau",)
    assert draws.notes[0].startswith(f"{diagnosis.divergences} of 4000 transitions diverged")
    assert draws.notes[0].endswith(end)


def test_a_slow_energy_names_the_parameter_behind_it():
    slow = np.cumsum(independent(4, 1000), axis=1)
    slow = (slow - slow.mean()) / slow.std()
    slow[3] = independent(1000)
    x = np.stack([independent(4, 1000), slow + 0.5 * independent(4, 1000)], axis=-1)
    text = next(note for note in quick(made(x, {"energy": slow})) if "E-BFMI" in note)
    least = made(x, {"energy": slow}).diagnose().e_bfmi.min()
    assert text.startswith(f"E-BFMI is below 0.3 for chains 0, 1 and 2, least {least:.2f}: the energy wanders slowly, ")
    assert "The energy goes with x[1] (correlation 0." in text


def test_depth_and_steps():
    reached = np.zeros((4, 1000), dtype=bool)
    reached[:, :20] = True
    stats = {"reached_max_treedepth": reached, "tree_depth": np.where(reached, 5, 3)}
    assert one(made(independent(4, 1000), stats), "max_depth").text == (
        "80 of 4000 transitions reached max_depth=5 (31 leapfrog steps) before they turned, so draws are more "
        "correlated than they need be. Rescale or reparameterise the model, or raise max_depth."
    )
    draws = made(independent(4, 1000), attrs={"max_steps": 7})
    assert one(draws, "max_steps").text.startswith("4000 of 4000 trajectories were cut at max_steps=7.")
    eps = np.array([0.5, 0.4, 0.01, 0.5])[:, None] * np.ones((4, 1000))
    finding = one(made(independent(4, 1000), {"step_size": eps}), "step_size")
    assert finding.chains == (2,)
    assert finding.text.startswith("The step size of chain 2 is 0.01, and 0.45 in the median of all:")


def test_a_stuck_chain():
    x, lp = independent(4, 1000), independent(4, 1000)
    rate = np.full((4, 1000), 0.8)
    x[1], lp[1], rate[1] = (np.repeat(a[1, :100], 10) for a in (x, lp, rate))
    rate[1] = 0.03
    diagnosis = made(x, {"lp": lp, "acceptance_rate": rate}).diagnose()
    assert diagnosis["stuck"].chains == (1,)
    assert diagnosis["stuck"].text.startswith(
        "Chain 1 hardly moves: 90% of the draws of chain 1 repeat the one before, and its acceptance is 0.03."
    )


def test_chains_in_two_modes():
    x = independent(4, 1000, 2)
    x[..., 1] += np.array([0, 30, 0, 30])[:, None]
    finding = one(made(x), "modes")
    assert finding.labels == ("x[1]",)
    assert "x[1] of chains 0 and 2 near " in finding.text and "chains 1 and 3 near 30" in finding.text
    assert finding.text.endswith(
        "The log-densities are alike: the posterior has several modes, and how much weight each has these draws do not "
        "tell. Restrict the model to one, or sum over them in the likelihood."
    )


def test_a_chain_that_is_lost():
    x, lp = independent(4, 1000), independent(4, 1000)
    x[3] += 30
    lp[3] -= 230
    draws = made(x, {"lp": lp})
    assert one(draws, "modes").chains == (3,)
    gap = np.median(lp[:3]) - np.median(lp[3])
    assert one(draws, "modes").text.endswith(
        f"The log-density of chain 3 is lower by {gap:.3g}: most likely it is stuck far from the mass. Start it "
        "elsewhere with init=, or take another seed."
    )
    assert [note for note in quick(draws) if "The log-density of chain 3 is lower" in note]


def mixture() -> Posterior:
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(-2, 0.5, 60), rng.normal(2, 0.5, 40)])

    def loglike(mu, w):
        first, second = Normal(mu[0], 0.5).logpdf(y), Normal(mu[1], 0.5).logpdf(y)
        return np.logaddexp(np.log(w) + first, np.log1p(-w) + second)

    return Posterior(Joint(mu=Normal(0, 5).iid(2), w=Beta(2, 2)), loglike=loglike)


def test_labels_that_are_switched():
    init = np.array([[-2.0, 2.0, 0.0], [2.0, -2.0, 0.0], [-2.0, 2.0, 0.0], [2.0, -2.0, 0.0]])
    finding = sample(mixture(), draws=300, tune=300, seed=0, init=init).diagnose()["modes"]
    assert finding.text.endswith(
        "They differ only in the order of mu: its labels are switched. Give mu the support ordered."
    )


def test_slow_mixing_is_no_mode():
    x = np.empty((4, 1000))
    x[:, 0] = 0
    for t in range(1, 1000):
        x[:, t] = 0.98 * x[:, t - 1] + RNG.normal(size=4)
    diagnosis = made(x).diagnose()
    assert [finding.kind for finding in diagnosis.findings] == ["r_hat", "ess"]
    assert diagnosis["r_hat"].text.startswith("The chains have not converged: R-hat is above 1.01 for 1 of 1, worst x")
    summary = diagnosis.summary["x"]
    least = min(summary["ess_bulk"], summary["ess_tail"])
    assert f"least x ({least:.0f} in the " in diagnosis["ess"].text
    assert f"Draw {400 / least:.2g} times as many" in diagnosis["ess"].text


def test_a_chain_that_drifts():
    x = independent(4, 1000)
    x[0] += np.linspace(0, 5, 1000)
    finding = made(x).diagnose()["r_hat"]
    assert finding.chains == (0,)
    assert "Chain 0 still wanders from the first half of the draws to the second in x." in finding.text


def test_heavy_tails():
    x = np.stack([independent(4, 1000), RNG.standard_cauchy((4, 1000))], axis=-1)
    finding = one(made(x), "heavy_tails")
    assert finding.labels == ("x[1]",)
    assert finding.text.startswith("The tails of x[1] are so heavy (Pareto k ")


def test_the_summary_repeats_nothing():
    x = independent(4, 1000) + np.array([0, 0, 0, 30])[:, None]
    draws = made(x)
    with_notes = Draws(draws.posterior, draws.sample_stats, notes=("a note", *quick(draws)))
    notes = with_notes.summary().notes
    assert len(notes) == 2 and notes[0] == "a note" and notes[1].startswith("The chains have not converged")


@pytest.mark.parametrize("seed", range(3))
def test_a_good_run_says_nothing(seed):
    y = np.random.default_rng(seed).normal(2.0, 1.0, 30)
    posterior = Posterior(Joint(mu=Normal(0, 5), sigma=HalfNormal(2)), lambda mu, sigma: Normal(mu, sigma).iid(30), y)
    draws = sample(posterior, seed=seed)
    assert draws.notes == () and draws.model is posterior


def test_a_run_that_is_stuck_says_so():
    draws = sample(Target(lambda q: (-0.5 * float(q @ q), -q), 3), 200, 0, 4, seed=1, kernel=NUTS(step_size=2.6))
    assert any("hardly move" in note for note in draws.notes)
