"""`laplace`: the Gaussian with the height and curvature of a posterior at its mode."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from probdiff.approximate.curvature import Curvature, Matrix
from probdiff.approximate.importance import resampled, smoothed, warning
from probdiff.approximate.optimum import Optimum, optimize
from probdiff.approximate.points import Init, check_count, generator, log_densities, named_draws
from probdiff.errors import LinAlgError
from probdiff.sampling.draws import Draws

INSTEAD = "Sample the posterior, or start from pathfinder."


@dataclass(frozen=True, eq=False, repr=False)
class Laplace:
    """A Gaussian at the mode of the unconstrained density, and what its draws say of it.

    optimum        the mode, on the unconstrained scale; `covariance` is that of its coordinates
    draws          from the Gaussian, by name, as one chain; `sample_stats` has `lp`, the posterior's log-density, and
                   `log_ratio`, log p - log q
    log_evidence   log of the integral of the unconstrained density: logp + d/2 log 2π - log det P / 2
    log_evidence_importance   the same, from the smoothed importance ratios of the draws
    pareto_k       shape of their tail: above 0.7 the Gaussian is far from the posterior
    q              the draws as unconstrained vectors, and `log_weights`, their log-ratios with a smooth tail
    """

    optimum: Optimum
    covariance: Matrix
    draws: Draws
    log_evidence: float
    log_evidence_importance: float
    pareto_k: float
    log_weights: NDArray[np.float64]
    q: NDArray[np.float64]

    def resampled(self, draws: int, seed: int = 0) -> Draws:
        """Draws chosen by importance, with repetition: nearer to the posterior where `pareto_k` is low."""
        check_count(draws, "resampled.draws")
        chosen = resampled(self.log_weights, draws, generator(seed, 1))
        stats = {name: x[:, chosen] for name, x in self.draws.sample_stats.items()}
        attrs = self.draws.attrs | {"resampled": True, "seed": seed}
        return named_draws(self.optimum.posterior, self.q[None, chosen], stats, attrs, self.draws.notes)

    def __repr__(self) -> str:
        lines = [
            f"Laplace: a Gaussian in {len(self.optimum.q)} unconstrained coordinates",
            f"  log-evidence {self.log_evidence:.6g} (by importance sampling {self.log_evidence_importance:.6g})",
            f"  Pareto k {self.pareto_k:.2f}",
        ]
        return "\n".join([*lines, *(f"  ! {note}" for note in self.draws.notes)])


def laplace(
    posterior: Any, draws: int = 1000, *, init: Init = None, starts: int = 4, seed: int | None = None
) -> Laplace:
    """The Laplace approximation: the mode of the unconstrained density, with the exact Hessian there.

    Parameters
    ----------
    posterior     a `Posterior` or a `LogDensity`
    draws         number of draws from the Gaussian
    init, starts, seed   as in `optimize`; the seed chooses the draws too

    LinAlgError, naming the parameters, where the density does not curve down in every direction: it is no Gaussian.
    """
    check_count(draws, "laplace.draws")
    optimum = optimize(posterior, init, jacobian=True, starts=starts, seed=seed)
    curvature = Curvature(optimum.hessian, posterior.coordinate_names)
    if not curvature.is_positive:
        raise LinAlgError(
            f"laplace needs a density that curves down in every direction; at {_place(optimum)} it "
            f"{curvature.flat_direction()}. Give these parameters a proper prior, reparameterise, or use pathfinder."
        )
    dim = len(optimum.q)
    z = generator(optimum.seed, starts).standard_normal((draws, dim))  # streams before it chose the starts
    q = optimum.q + z @ curvature.half().T
    log_determinant = curvature.log_determinant()
    log_gaussian = 0.5 * log_determinant - 0.5 * np.sum(z * z, axis=1) - 0.5 * dim * math.log(2 * math.pi)
    lp = log_densities(posterior, q)
    ratios = lp - log_gaussian
    log_weights, k = smoothed(ratios)
    notes = optimum.notes + warning(k, "Laplace approximation", INSTEAD)
    stats = {"lp": lp[None], "log_ratio": ratios[None]}
    attrs = {"seed": optimum.seed, "method": "laplace", "pareto_k": k}
    return Laplace(
        optimum=optimum,
        covariance=curvature.covariance(),
        draws=named_draws(posterior, q[None], stats, attrs, notes),
        log_evidence=optimum.log_density + 0.5 * dim * math.log(2 * math.pi) - 0.5 * log_determinant,
        log_evidence_importance=float(logsumexp(log_weights)) - math.log(draws),
        pareto_k=k,
        log_weights=log_weights,
        q=q,
    )


def _place(optimum: Optimum) -> str:
    return "the mode" if optimum.converged else "the best point found, which is no mode,"
