"""A bare log-density over a structured point: names, supports, derivatives, sampling, errors word for word."""

from typing import NamedTuple

import numpy as np
import pytest

from probdiff import sample
from probdiff.distributions import Normal
from probdiff.distributions.support import correlation_matrix, interval, positive, simplex
from probdiff.errors import InitialPointError, ParameterError, ShapeError, UnsupportedError
from probdiff.models import LogDensity


class Scale(NamedTuple):
    sigma: float
    rho: np.ndarray


def f(point):
    scale = point["scale"]
    return -0.5 * (point["x"] / scale.sigma) ** 2 - scale.sigma - np.sum(scale.rho**2) * point["power"]


def model() -> LogDensity:
    example = {"x": 0.0, "scale": Scale(1.0, np.ones(2)), "power": 2}
    return LogDensity(f, example, supports={"scale.sigma": positive})


def test_names_and_coordinates():
    density = model()
    assert density.coordinate_names == ["scale.sigma", "scale.rho[0]", "scale.rho[1]", "x"]
    assert density.dim == 4
    assert repr(density) == "LogDensity(f, scale.sigma, scale.rho, x: 4 coordinates)"
    assert LogDensity(lambda x: -np.sum(x * x), np.zeros(2)).coordinate_names == ["x[0]", "x[1]"]
    assert LogDensity(lambda n: -n.scale, Normal(0.0, 1.0)).coordinate_names == ["loc", "scale"]
    assert LogDensity(lambda p: -(p[0] ** 2) - p[1], (0.0, 1.0)).coordinate_names == ["0", "1"]


def test_densities_and_points():
    density = model()
    q = np.array([0.4, -0.2, 0.7, 1.1])
    sigma = np.exp(0.4)
    expected = -0.5 * (1.1 / sigma) ** 2 - sigma - 2 * (0.2**2 + 0.7**2) + 0.4
    assert density.logdensity(q) == pytest.approx(expected, rel=1e-14)
    value, gradient = density.value_and_grad(q)
    assert value == pytest.approx(expected, rel=1e-14)
    by_hand = [(1.1 / sigma) ** 2 - sigma + 1, 0.8, -2.8, -1.1 / sigma**2]
    assert gradient == pytest.approx(by_hand, rel=1e-12)
    assert density.gradient(q) == pytest.approx(by_hand, rel=1e-12)
    v = np.array([1.0, 2.0, 0.0, 1.0])
    h = 1e-6
    slope = (density.gradient(q + h * v) - density.gradient(q - h * v)) / (2 * h)
    assert density.hvp(q, v) == pytest.approx(slope, rel=1e-8, abs=1e-8)
    point = density.point(q)
    assert isinstance(point["scale"], Scale)
    assert point["power"] == 2
    assert density.unconstrain(point) == pytest.approx(q, rel=1e-14)
    named = density.constrain(q)
    assert named["scale.sigma"] == pytest.approx(sigma, rel=1e-15)
    assert density.unconstrain(named) == pytest.approx(q, rel=1e-14)
    many = density.constrain_many(np.stack([q, 2 * q]))
    assert many["scale.rho"].tolist() == [[-0.2, 0.7], [-0.4, 1.4]]


def test_supports_of_vectors_and_matrices():
    density = LogDensity(
        lambda p: np.sum(p["w"]) + p["R"][0, 1] - np.sum(p["t"] ** 2),
        {"w": np.ones((2, 3)) / 3, "R": np.eye(3), "t": np.zeros(2)},
        supports={"w": simplex, "R": correlation_matrix, "t": interval(-1.0, 2.0)},
    )
    assert density.dim == 2 * 2 + 3 + 2
    q = density.initial(np.random.default_rng(0))
    point = density.point(q)
    assert np.sum(point["w"], axis=-1) == pytest.approx([1.0, 1.0], abs=1e-15)
    assert density.unconstrain(point) == pytest.approx(q, abs=1e-12)
    h = 1e-6
    slopes = [(density.logdensity(q + h * e) - density.logdensity(q - h * e)) / (2 * h) for e in np.eye(density.dim)]
    assert density.gradient(q) == pytest.approx(slopes, rel=1e-7, abs=1e-7)


def test_it_can_be_sampled():
    density = LogDensity(lambda p: -0.5 * np.sum(p["x"] ** 2) - p["s"], {"x": np.zeros(2), "s": 1.0}, {"s": positive})
    draws = sample(density, draws=1000, tune=500, chains=4, seed=2, progress=False)
    # Standard normal and exponential: five standard errors at an effective sample of 400 are 0.25.
    assert np.all(abs(draws["x"].mean(axis=(0, 1))) < 0.25)
    assert abs(draws["s"].mean() - 1.0) < 0.25


def test_far_out_the_density_is_zero_and_points_are_explained():
    density = LogDensity(lambda p: Normal(0.0, p["s"]).logpdf(1.0), {"s": 1.0}, {"s": positive})
    assert density.logdensity(np.array([-800.0])) == -np.inf
    assert density.explain_point(np.array([-800.0])) == "<lambda> returns -inf"
    assert density.explain_point(np.array([0.0])) == ""
    with pytest.raises(InitialPointError) as caught:
        sample(density, init=np.array([-800.0]), progress=False)
    assert str(caught.value) == (
        "init for chain 0 has log-density -inf at s=0: <lambda> returns -inf. Give a point inside the support."
    )


ERRORS = [
    (lambda: LogDensity(3.0, 1.0), ParameterError, "LogDensity.f must be a function of a point, got 3.0."),
    (
        lambda: LogDensity(f, {"x": 0.0}, {"y": positive}),
        ParameterError,
        "LogDensity.supports: y is no part of the point (x).",
    ),
    (
        lambda: LogDensity(f, {"x": 0.0}, {"x": "positive"}),
        ParameterError,
        "LogDensity.supports['x'] must be a support, got 'positive'.",
    ),
    (
        lambda: LogDensity(f, {"x": 0.0}, {"x": simplex}),
        ShapeError,
        "LogDensity.point: x has shape (), and a value of simplex has 1 axes.",
    ),
    (
        lambda: LogDensity(f, {"n": 3}).check_sampleable(),
        UnsupportedError,
        "LogDensity.point has no real number: there is nothing to sample.",
    ),
    (
        lambda: model().logdensity(np.zeros(3)),
        ShapeError,
        "logdensity needs a vector of length 4, got shape (3,).",
    ),
    (lambda: model().hvp(np.zeros(4), np.zeros(3)), ShapeError, "hvp needs a vector of length 4, got shape (3,)."),
    (
        lambda: LogDensity(f, {"x": 0.0}, {"x": positive}).unconstrain({"x": -1.0}),
        ParameterError,
        "x must be inside the support of Flat (positive), got -1.0.",
    ),
    (
        lambda: LogDensity(f, {"x": np.zeros(2)}).unconstrain({"x": np.zeros(3)}),
        ShapeError,
        "The value of x has shape (3,), the example (2,).",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_word_for_word(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
