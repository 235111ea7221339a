"""Draws in ArviZ, under 0.x and 1.x: groups, names, shapes, labels, and what ArviZ then makes of them."""

import numpy as np
import pytest

from probdiff.distributions import Normal
from probdiff.models import Joint, Posterior
from probdiff.models.zoo import eight_schools
from probdiff.sampling import Draws, Target, sample
from probdiff.sampling.to_arviz import import_arviz, uses_datatree

STATS = {
    "lp", "acceptance_rate", "step_size", "tree_depth", "n_steps", "reached_max_treedepth", "diverging", "energy",
    "energy_error", "max_energy_error", "int_time",
}  # fmt: skip


class Schools(Target):
    """A vector with labels, a matrix whose name has a dot, and a name that xarray uses itself."""

    def __init__(self):
        super().__init__(lambda q: (-0.5 * float(q @ q), -q), 6)
        self.dims = {"theta": ("school",)}
        self.coords = {"school": ["A", "B", "C"]}
        self.observed = {"y": np.arange(3.0)}

    def constrain_many(self, q):
        return {"mu": q[:, 0], "theta": q[:, 1:4], "a.b": np.exp(q[:, 4:]).reshape(-1, 1, 2), "shift": q[:, 5]}


@pytest.fixture(scope="module")
def draws():
    return sample(Schools(), 100, 100, 4, seed=0, keep_warmup=True)


@pytest.fixture(scope="module")
def converted(draws):
    return draws.to_arviz()


@pytest.mark.parametrize("version, answer", [("0.23.4", False), ("0.20.0", False), ("1.0.0", True), ("1.3.0rc1", True)])
def test_the_version_switch(version, answer):
    assert uses_datatree(version) is answer


def test_kind_of_the_result(converted):
    kind = "DataTree" if uses_datatree(import_arviz().__version__) else "InferenceData"
    assert type(converted).__name__ == kind


def test_groups_with_their_arrays(draws, converted):
    for group in ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats"):
        for name, x in getattr(draws, group).items():
            stored = converted[group][name]
            assert stored.dims[:2] == ("chain", "draw")
            np.testing.assert_array_equal(stored.values, x)
    np.testing.assert_array_equal(converted["observed_data"]["y"].values, np.arange(3.0))
    assert set(converted["sample_stats"].data_vars) == STATS


def test_dimensions_and_labels(converted):
    theta = converted["posterior"]["theta"]
    assert theta.dims == ("chain", "draw", "school")
    assert list(theta.coords["school"].values) == ["A", "B", "C"]
    assert converted["posterior"]["a.b"].shape == (4, 100, 1, 2)


def test_attributes(converted):
    assert converted["posterior"].attrs["inference_library"] == "probdiff"
    assert converted["posterior"].attrs["seed"] == 0


def test_arviz_finds_what_it_looks_for(converted):
    az = import_arviz()
    assert np.all(np.isfinite(az.ess(converted)["theta"].values))
    bfmi = az.bfmi(converted)
    bfmi = bfmi["energy"].values if uses_datatree(az.__version__) else bfmi
    assert bfmi.shape == (4,) and np.all(bfmi > 0.3)


def test_a_name_like_a_method_survives_concatenation(converted):
    import xarray

    posterior = converted["posterior"]
    dataset = posterior.to_dataset() if uses_datatree(import_arviz().__version__) else posterior
    assert xarray.concat([dataset, dataset], dim="draw")["shift"].shape == (4, 200)


@pytest.mark.parametrize("chains, draws", [(1, 50), (50, 1), (3, 2)])
def test_axes_are_never_guessed(chains, draws):
    x = np.random.default_rng(0).normal(size=(chains, draws))
    stored = Draws(posterior={"x": x}, sample_stats={}).to_arviz()["posterior"]["x"]
    assert stored.dims == ("chain", "draw")
    assert stored.shape == (chains, draws)


def test_summary_has_the_labels_of_arviz(draws):
    summary = draws.summary()
    assert list(summary) == [
        "mu", "theta[A]", "theta[B]", "theta[C]", "a.b[0, 0]", "a.b[0, 1]", "shift",
    ]  # fmt: skip
    assert all(np.isfinite(value) for label in summary for value in summary[label].values())


def test_attributes_can_be_written(draws):
    large = Draws(posterior=draws.posterior, sample_stats={}, attrs={"seed": 2**70, "partial": True, "x": None})
    attrs = large.to_arviz()["posterior"].attrs
    assert (attrs["seed"], attrs["partial"], attrs["x"]) == (str(2**70), 1, "None")


@pytest.fixture(scope="module")
def with_model():
    return sample(eight_schools(), 100, 100, 2, seed=0)


def test_groups_from_the_model(with_model):
    rng = np.random.default_rng(0)
    every = with_model.to_arviz(log_likelihood=True, log_prior=True, posterior_predictive=True, prior=600, rng=rng)
    posterior = with_model.model
    np.testing.assert_array_equal(every["log_likelihood"]["y"].values, with_model.log_likelihood()["y"])
    assert every["log_likelihood"]["y"].dims[:2] == ("chain", "draw")
    one = {name: x[1, 7] for name, x in with_model.posterior.items()}
    expected = posterior.pointwise_log_likelihood(one)
    assert every["log_likelihood"]["y"].values[1, 7] == pytest.approx(expected, rel=1e-12)
    assert every["log_prior"]["log_prior"].values[1, 7] == pytest.approx(posterior.log_prior(one), rel=1e-12)
    assert every["posterior_predictive"]["y"].shape == (2, 100, 8)
    assert set(every["prior"].data_vars) == {"mu", "tau", "theta"}
    assert every["prior"]["theta"].dims == ("chain", "draw", "school")
    assert every["prior"]["theta"].shape == every["prior_predictive"]["y"].shape == (1, 600, 8)
    # mu ~ Normal(0, 5): five standard errors.
    assert abs(float(every["prior"]["mu"].mean())) < 5 * 5 / np.sqrt(600)
    assert "seed" in every["log_likelihood"].attrs and "seed" not in every["prior"].attrs


def test_nothing_from_the_model_unless_asked(with_model):
    converted = with_model.to_arviz()
    for group in ("log_likelihood", "log_prior", "posterior_predictive", "prior", "prior_predictive"):
        assert not hasattr(converted, group)


def test_a_prior_without_data_of_its_own():
    posterior = Posterior(Joint(a=Normal(0, 1)), loglike=lambda a: -(a**2))
    draws = Draws({"a": np.zeros((1, 5))}, {}, model=posterior)
    converted = draws.to_arviz(prior=20, rng=np.random.default_rng(0))
    assert converted["prior"]["a"].shape == (1, 20) and not hasattr(converted, "prior_predictive")
