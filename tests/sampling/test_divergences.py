"""Divergences: what is collected, what is worst, and what is said without a model."""

from types import SimpleNamespace

import numpy as np
import pytest

from probdiff import sample
from probdiff.distributions import Exponential, HalfNormal, Normal
from probdiff.errors import ParameterError
from probdiff.models import Joint, Posterior
from probdiff.models.zoo import eight_schools_centered
from probdiff.sampling import Draws, Target
from probdiff.sampling.divergences import collect, worst_coordinates

Y = np.array([0.0, 1.0, 5.0])


def posterior() -> Posterior:
    prior = Joint(mu=Normal(0, 1), sigma=HalfNormal(1))
    return Posterior(prior, lambda mu, sigma: Normal(mu, sigma).iid(3), Y)


def divergent(model, q, momentum):
    """Two chains of ten draws with mu near 1 and sigma 2, and one divergence for each row of q."""
    n = len(q)
    diverging = np.zeros((2, 10), dtype=bool)
    diverging[0, :n] = True
    chain = SimpleNamespace(diverged=[(i, np.array(a), np.array(p)) for i, (a, p) in enumerate(zip(q, momentum))])  # noqa: B905
    return Draws(
        {"mu": np.linspace(0.9, 1.1, 20).reshape(2, 10), "sigma": np.full((2, 10), 2.0)},
        {"diverging": diverging},
        diverged=collect([chain, SimpleNamespace()], 10),
        model=model,
    )


def test_collect_takes_what_chains_remember_of_the_draws_kept():
    chains = [
        SimpleNamespace(diverged=[(3, np.zeros(2), np.ones(2)), (9, np.zeros(2), np.ones(2))]),
        SimpleNamespace(),
        SimpleNamespace(diverged=[(0, np.ones(2), np.ones(2))]),
    ]
    found = collect(chains, 5)
    assert found["chain"].tolist() == [0, 2] and found["draw"].tolist() == [3, 0]
    assert found["q"].tolist() == [[0, 0], [1, 1]] and found["momentum"].shape == (2, 2)
    assert collect(chains[1:2], 5) == {}


def test_the_worst_coordinate():
    momentum = np.array([[1.0, -30.0, 2.0], [np.nan, 1e9, np.inf], [5.0, np.inf, np.nan]])
    assert worst_coordinates(momentum).tolist() == [1, 0, 1]


def test_records():
    """At mu = 5 the observation 0 is unlikely; at mu = -5 the observation 5 is, although it always fits badly."""
    q = [[5.0, np.log(2.0)], [-5.0, 0.0]]
    first, second = divergent(posterior(), q, [[-40.0, 3.0], [1.0, 25.0]]).divergences
    assert (first.chain, first.draw, first.worst_parameter, first.pull) == (0, 0, "mu", 40.0)
    assert first.point["mu"] == 5.0 and first.point["sigma"] == pytest.approx(2.0, rel=1e-14)
    assert first.worst_observation == "y[0]"
    assert (second.draw, second.worst_parameter, second.pull, second.worst_observation) == (1, "sigma", 25.0, "y[2]")
    assert second.q.tolist() == [-5.0, 0.0] and second.momentum.tolist() == [1.0, 25.0]


def test_an_observation_that_is_impossible_comes_first():
    model = Posterior(
        Joint(mu=Normal(0, 1), sigma=HalfNormal(1)), loglike=lambda mu, sigma: np.log(sigma * Y * mu) - (Y - mu) ** 2
    )
    draws = divergent(model, [[-1.0, 0.0]], [[9.0, 1.0]])
    assert draws.divergences[0].worst_observation == "loglike[0]"  # log 0; the others are NaN


def test_models_without_observations_one_by_one():
    summed = Posterior(Joint(mu=Normal(0, 1), sigma=Exponential(1)), loglike=lambda mu, sigma: -(mu**2) - sigma)
    plain = Target(lambda q: (0.0, q), 2, names=["mu", "sigma"])
    for model in (summed, plain):
        record = divergent(model, [[1.0, 0.0]], [[9.0, 1.0]]).divergences[0]
        assert record.worst_observation is None and record.worst_parameter == "mu"


def test_text():
    shown = repr(divergent(posterior(), [[5.0, np.log(2.0)]], [[-40.0, 3.0]]).divergences).splitlines()
    assert shown == [
        "1 of 20 transitions diverged",
        "chain  draw  worst parameter  pull  worst observation",
        "0      0     mu               40    y[0]",
    ]
    stats = {"diverging": np.array([[True, False]])}
    assert repr(Draws({"x": np.zeros((1, 2))}, stats).divergences) == "1 of 2 transitions diverged; where is not known."
    assert repr(Draws({"x": np.zeros((1, 2))}, {}).divergences) == "No transition diverged."


def test_a_file_keeps_the_places_but_not_the_model(tmp_path):
    draws = divergent(posterior(), [[5.0, np.log(2.0)]], [[-40.0, 3.0]])
    draws.save(tmp_path / "d.npz")
    again = Draws.load(tmp_path / "d.npz")
    assert len(again.divergences) == 1
    with pytest.raises(ParameterError) as caught:
        again.divergences[0]
    assert str(caught.value) == (
        "Draws.divergences needs the model, and these draws have none: files keep only the draws. "
        "Give it: draws = draws.with_model(posterior)."
    )
    assert again.with_model(posterior()).divergences[0].worst_parameter == "mu"


def test_the_neck_of_the_funnel():
    draws = sample(eight_schools_centered(), seed=1)
    divergences = draws.divergences
    assert 0 < len(divergences) == draws.sample_stats["diverging"].sum()
    tau = np.median([draws["tau"][each.chain, each.draw] for each in divergences])
    assert tau < 0.5 * np.median(draws["tau"])
    assert np.mean([each.worst_parameter == "tau" for each in divergences]) > 0.8
    for each in divergences:
        assert draws.sample_stats["diverging"][each.chain, each.draw]
        assert each.worst_observation.startswith("y[") and each.pull > 10
