"""What a diamond costs: a regression on strongly correlated columns."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from probdiff.distributions import Normal, StudentT, truncated
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def contrasts(grades: np.ndarray, levels: int) -> np.ndarray:
    """Orthonormal polynomials of degree 1 … levels - 1 over equally spaced grades, a row a stone."""
    steps = np.arange(levels) - (levels - 1) / 2
    basis, triangle = np.linalg.qr(np.vander(steps, increasing=True))
    return (basis * np.sign(np.diag(triangle)))[grades, 1:]


def design(data: SimpleNamespace) -> tuple[list[str], np.ndarray]:
    """Names and columns: carat, log sizes, contrasts of the three grades, and carat times log sizes; all centred."""
    sizes = {"x": np.log(data.x), "y": np.log(data.y), "z": np.log(data.z)}
    named = {"carat": data.carat, **{f"log {axis}": size for axis, size in sizes.items()}}
    for grade, digits, levels in (("cut", data.cut, 5), ("color", data.color, 7), ("clarity", data.clarity, 8)):
        polynomials = contrasts(np.array(list(str(digits)), dtype=int), levels)
        named |= {f"{grade}^{degree}": polynomials[:, degree - 1] for degree in range(1, levels)}
    named |= {f"carat log {axis}": data.carat * size for axis, size in sizes.items()}
    X = np.stack(list(named.values()), axis=1)
    return list(named), X - X.mean(axis=0)


def diamonds() -> Posterior:
    """log(price) ~ Normal(intercept + X b, sigma), with X centred."""
    data = load("diamonds")
    names, X = design(data)
    prior = Joint(
        b=Normal(0, 1).iid("predictor"),
        intercept=StudentT(3, 8, 10),
        sigma=truncated(StudentT(3, 0, 10), lower=0.0),
    )

    def observe(b: Array, intercept: Array, sigma: Array) -> Normal:
        return Normal(intercept + X @ b, sigma)

    return Posterior(prior, observe, np.log(data.price), coords={"predictor": names})
