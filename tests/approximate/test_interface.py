"""What every model offers to other tools: log-density, derivatives, the way to named values and back, a C function."""

import ctypes

import numpy as np
import pytest

from probdiff.distributions import Dirichlet, HalfNormal, Normal
from probdiff.distributions.support import positive, simplex
from probdiff.models import Joint, LogDensity, Posterior


def posterior():
    prior = Joint(mu=Normal(0, 5), sigma=HalfNormal(2), w=Dirichlet(np.array([2.0, 1.0, 3.0])))
    return Posterior(prior, lambda mu, sigma, w: Normal(mu + w[0], sigma).iid(4), [2.1, 1.7, 3.0, 2.4])


def bare():
    def f(point):
        return -0.5 * (point["x"] / point["s"]) ** 2 - point["s"] + np.sum(np.log(point["w"])) * 2.0

    return LogDensity(f, {"x": 0.0, "s": 1.0, "w": np.ones(3) / 3}, {"s": positive, "w": simplex})


@pytest.mark.parametrize("make", [posterior, bare])
def test_densities_derivatives_and_coordinates(make):
    model = make()
    q = np.random.default_rng(0).normal(size=model.dim)
    v = np.random.default_rng(1).normal(size=model.dim)
    h = 1e-5
    for density in (model, model.without_jacobian):
        value, gradient = density.value_and_grad(q)
        assert value == pytest.approx(float(density.logdensity(q)), rel=1e-13)
        assert np.array_equal(density.gradient(q), gradient)
        slope = (density.logdensity(q + h * v) - density.logdensity(q - h * v)) / (2 * h)
        assert gradient @ v == pytest.approx(slope, rel=1e-7)
        change = (density.gradient(q + h * v) - density.gradient(q - h * v)) / (2 * h)
        assert density.hvp(q, v) == pytest.approx(change, rel=1e-6, abs=1e-8)
    assert model.unconstrain(model.constrain(q)) == pytest.approx(q, rel=1e-10)


@pytest.mark.parametrize("make", [posterior, bare])
def test_the_c_function(make):
    model = make()
    q = np.random.default_rng(2).normal(size=model.dim)
    pointer = ctypes.POINTER(ctypes.c_double)
    density = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, pointer, pointer, pointer, ctypes.c_void_p)(model.address)
    gradient, value = np.zeros(model.dim), ctypes.c_double()
    code = density(model.dim, q.ctypes.data_as(pointer), gradient.ctypes.data_as(pointer), ctypes.byref(value), None)
    assert code == 0
    assert value.value == pytest.approx(model.value_and_grad(q)[0], rel=1e-14)
    assert gradient == pytest.approx(model.gradient(q), rel=1e-13)
