"""nutpie samples our models: names, dimensions, derived values, moments."""

import sys

import numpy as np
import pytest

from probdiff.distributions import HalfNormal, Normal, Uniform
from probdiff.errors import UnsupportedError
from probdiff.interop import to_nutpie
from probdiff.models import Joint, LogDensity, Posterior


def conjugate():
    prior = Joint(mu=Normal(0, 5), theta=lambda mu: Normal(mu, 1.0).iid("group"), free=HalfNormal(1).iid(2))
    return Posterior(
        prior,
        lambda theta: Normal(theta, 1.0),
        [1.0, 2.0, 6.0],
        coords={"group": ["A", "B", "C"]},
        derived={"twice": lambda mu: 2 * mu},
    )


def drawn(model):
    nutpie = pytest.importorskip("nutpie", reason="nutpie is not installed")
    return nutpie.sample(to_nutpie(model), draws=1000, tune=400, chains=4, seed=1, progress_bar=False).posterior


def test_draws_have_names_dimensions_and_the_right_moments():
    posterior = drawn(conjugate())
    assert posterior["theta"].dims == ("chain", "draw", "group")
    assert list(posterior["group"].values) == ["A", "B", "C"]
    assert posterior["free"].shape == (4, 1000, 2)
    assert np.array_equal(posterior["twice"].values, 2 * posterior["mu"].values)
    # mu given y: three observations of variance 2, prior variance 25; theta_i given mu: half-way to y_i.
    variance = 1 / (1 / 25 + 3 / 2)
    mean = variance * 9.0 / 2
    # Five standard errors at 1000 independent draws.
    assert float(posterior["mu"].mean()) == pytest.approx(mean, abs=5 * np.sqrt(variance / 1000))
    assert float(posterior["mu"].std()) == pytest.approx(np.sqrt(variance), rel=5 / np.sqrt(2000))
    assert posterior["theta"].mean(("chain", "draw")).values == pytest.approx(
        (mean + np.array([1.0, 2.0, 6.0])) / 2, abs=5 * np.sqrt((0.5 + variance / 4) / 1000)
    )


def test_axes_without_labels():
    prior = Joint(x=Normal(0, 1).iid("row", 2), y=Normal(0, 1).iid("row"))
    posterior = drawn(Posterior(prior, lambda y: Normal(y, 1), np.zeros(3), coords={"row": 3}))
    assert posterior["x"].dims == ("chain", "draw", "row", "x_dim_1")
    assert posterior["y"].dims == ("chain", "draw", "row")


def test_the_density_may_end():
    # Outside the support of the data the log-density is -inf: no draw may be there.
    model = Posterior(Joint(top=HalfNormal(9)), lambda top: Uniform(0, top).iid(3), [0.5, 4.0, 1.0])
    posterior = drawn(model)
    assert float(posterior["top"].min()) > 4.0


def test_a_bare_density():
    posterior = drawn(LogDensity(lambda p: -0.5 * np.sum(p["x"] ** 2), {"x": np.zeros((2, 3)), "n": 4}))
    assert posterior["x"].shape == (4, 1000, 2, 3)
    assert np.all(abs(posterior["x"].mean(("chain", "draw"))) < 5 / np.sqrt(1000))


def test_without_nutpie(monkeypatch):
    monkeypatch.setitem(sys.modules, "nutpie.compiled_pyfunc", None)
    with pytest.raises(UnsupportedError) as caught:
        to_nutpie(conjugate())
    assert str(caught.value) == "to_nutpie needs nutpie. Install it with: pip install nutpie"
