"""Our log-densities under JAX's transformations, and BlackJAX's samplers on them."""

import sys

import numpy as np
import pytest

from probdiff.distributions import HalfNormal, Normal
from probdiff.errors import ShapeError, UnsupportedError
from probdiff.interop import to_blackjax
from probdiff.models import Joint, Posterior
from probdiff.models.zoo import eight_schools


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)  # for all threads: callbacks have their own
    yield jax
    jax.config.update("jax_enable_x64", before)


def test_value_and_derivatives(jax):
    model = eight_schools()
    density = to_blackjax(model)
    q = density.initial_positions(3, seed=0)
    value, gradient = model.value_and_grad(q[0])
    assert float(density(q[0])) == pytest.approx(value, rel=1e-15)
    by_jit, slope = jax.jit(jax.value_and_grad(density))(q[0])
    assert float(by_jit) == pytest.approx(value, rel=1e-15)
    assert np.array_equal(slope, gradient)
    tangent = np.arange(10.0)
    assert float(jax.jvp(density, (q[0],), (tangent,))[1]) == pytest.approx(gradient @ tangent, rel=1e-12)
    assert np.array_equal(jax.vmap(jax.grad(density))(q), [model.gradient(each) for each in q])
    twice = jax.vmap(jax.vmap(density))(np.stack([q, 2 * q]))
    assert np.asarray(twice) == pytest.approx(
        np.array([[model.value_and_grad(scale * each)[0] for each in q] for scale in (1, 2)]), rel=1e-14
    )
    # Under a further function, the chain rule is JAX's.
    assert float(jax.grad(lambda s: density(s * q[1]))(1.5)) == pytest.approx(
        model.gradient(1.5 * q[1]) @ q[1], rel=1e-12
    )


def test_single_precision_is_rounded(jax):
    model = eight_schools()
    value = to_blackjax(model)(jax.numpy.zeros(10, dtype="float32"))
    assert value.dtype == np.float32
    assert float(value) == pytest.approx(model.value_and_grad(np.zeros(10))[0], rel=1e-7)


def test_a_vector_of_another_length(jax):
    with pytest.raises(ShapeError) as caught:
        to_blackjax(eight_schools())(np.zeros(3))
    assert str(caught.value) == "The log-density needs a vector of length 10, got shape (3,)."


def test_positions_come_back_by_name(jax):
    model = eight_schools()
    density = to_blackjax(model)
    q = np.random.default_rng(0).normal(size=(2, 5, 10))
    draws = density.draws(q, {"diverging": np.zeros((2, 5), dtype=bool)})
    assert draws["theta"].shape == (2, 5, 8)
    assert draws.dims["theta"] == ("school",)
    assert draws["tau"][1, 3] == pytest.approx(float(model.constrain(q[1, 3])["tau"]), rel=1e-14)
    assert draws.sample_stats["diverging"].shape == (2, 5)
    with pytest.raises(ShapeError) as caught:
        density.draws(q[0])
    assert str(caught.value) == "draws needs positions (chain, draw, 10), got shape (5, 10)."


def test_nuts_of_blackjax(jax):
    blackjax = pytest.importorskip("blackjax", reason="BlackJAX is not installed")
    y = np.array([2.1, 1.7, 3.0, 2.4, 2.2])
    model = Posterior(Joint(mu=Normal(0, 5), s=HalfNormal(1)), lambda mu: Normal(mu, 2.0).iid(5), y)
    density = to_blackjax(model)
    kernel = blackjax.nuts(density, step_size=0.8, inverse_mass_matrix=np.array([0.8, 1.0]))

    def step(state, key):
        state, _ = kernel.step(key, state)
        return state, state.position

    keys = jax.random.split(jax.random.key(0), 1000)
    _, positions = jax.lax.scan(step, kernel.init(density.initial_positions(1)[0]), keys)
    draws = density.draws(np.asarray(positions)[None])
    variance = 1 / (1 / 25 + 5 / 4)
    # Five standard errors at 400 independent draws of a Gaussian, and of a half-normal of sd 0.6.
    assert draws["mu"].mean() == pytest.approx(variance * y.sum() / 4, abs=5 * np.sqrt(variance / 400))
    assert draws["s"].mean() == pytest.approx(np.sqrt(2 / np.pi), abs=5 * 0.6 / np.sqrt(400))


def test_without_jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(UnsupportedError) as caught:
        to_blackjax(eight_schools())
    assert str(caught.value) == "to_blackjax needs JAX. Install it with: pip install jax"
