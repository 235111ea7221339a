"""What one contender did with one posterior, and what it is compared by."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace

from probdiff.benchmarks.posteriors.contenders import OURS, STANLI, STANLI_DENSE
from probdiff.benchmarks.posteriors.reference import StanScheme, stan_schemes

# Of means, in standard errors: of a thousand comparisons, chance takes one so far in a run of two thousand.
Z_LIMIT = 5.0
R_HAT_LIMIT = 1.1  # above it, chains are in different places, and effective sample sizes mean nothing


@dataclass(frozen=True)
class Outcome:
    """Seconds, bytes, counts and the quality of the draws; or the reason why there is nothing."""

    posterior: str
    contender: str
    failure: str = ""
    setup: float = 0.0  # building the model and compiling, imports apart
    sampling: float = 0.0  # all chains, warm-up included, compiled
    source_to_draws: float = 0.0  # from the start of the process, nothing compiled or kept before
    memory: float = 0.0  # peak of the resident set, imports included
    per_gradient: float = 0.0  # seconds of processor in sampling
    call: float = 0.0  # seconds for a gradient called from Python; 0 for others than us
    gradients: float = 0.0
    warmup_gradients: float = 0.0
    divergences: float = 0.0
    ess_bulk: float = 0.0
    ess_tail: float = 0.0
    r_hat: float = 0.0
    z_mean: float = 0.0
    z_sd: float = 0.0
    density_error: float = 0.0  # of differences of log-densities, relative to ours

    @property
    def ess_per_second(self) -> float:
        """Least bulk effective sample size over the time of warm-up and draws."""
        return self.ess_bulk / self.sampling

    @property
    def ess_per_1000(self) -> float:
        """Least bulk effective sample size for a thousand gradients, those of the warm-up included."""
        return 1000 * self.ess_bulk / (self.gradients + self.warmup_gradients)

    def checked(self, rtol: float) -> Outcome:
        """With a failure if the answers do not agree, or the chains do not."""
        if not self.density_error <= rtol:
            return replace(self, failure=f"disagrees: log-densities differ by {self.density_error:.2g}")
        if not self.z_mean <= Z_LIMIT:
            return replace(self, failure=f"disagrees: a mean is {self.z_mean:.1f} standard errors from the reference")
        if not (self.r_hat <= R_HAT_LIMIT and self.ess_bulk > 0):
            return replace(self, failure=f"has not converged: R-hat is {self.r_hat:.2f}")
        return self


def middle(outcomes: Sequence[Outcome]) -> Outcome:
    """The median of each figure over seeds; the first failure, if there is one."""
    failed = [o for o in outcomes if o.failure]
    if failed or len(outcomes) == 1:
        return (failed or outcomes)[0]
    numbers = [f.name for f in fields(Outcome) if f.name not in ("posterior", "contender", "failure")]
    rows = [asdict(o) for o in outcomes]
    return replace(outcomes[0], **{name: statistics.median(row[name] for row in rows) for name in numbers})


class Table:
    """All outcomes, found by posterior and contender; those that failed are not found.

    stored  whether Stan's figures that are kept may be compared with these runs: they are of runs of full length
    """

    def __init__(self, outcomes: Iterable[Outcome], stored: bool = True) -> None:
        self.outcomes = list(outcomes)
        self.good = {(o.posterior, o.contender): o for o in self.outcomes if not o.failure}
        self.posteriors = list(dict.fromkeys(o.posterior for o in self.outcomes))
        self.stored = stan_schemes() if stored else {}

    def ours(self) -> list[Outcome]:
        """Ours, in order."""
        return [self.good[name, OURS] for name in self.posteriors if (name, OURS) in self.good]

    def compared(self) -> list[str]:
        """Posteriors that peers were run on, too."""
        return list(dict.fromkeys(o.posterior for o in self.outcomes if o.contender != OURS))

    def stan(self, posterior: str) -> StanScheme | None:
        """Stan's effective draws for a thousand gradients: the figures kept, or those of stanli here."""
        if posterior in self.stored:
            return self.stored[posterior]
        diagonal, dense = (self.good.get((posterior, name)) for name in (STANLI, STANLI_DENSE))
        return StanScheme(diagonal.ess_per_1000, dense.ess_per_1000 if dense else None) if diagonal else None

    def over_stan(self) -> dict[str, tuple[float, float]]:
        """Our effective draws for a gradient over Stan's: with its diagonal metric, with the better one."""
        found = {o.posterior: (o.ess_per_1000, self.stan(o.posterior)) for o in self.ours()}
        return {name: (ess / stan.diagonal, ess / stan.better) for name, (ess, stan) in found.items() if stan}

    def times(self, contender: str, what: str = "sampling") -> dict[str, float]:
        """Ours over theirs, of this figure, for each posterior that both have."""
        pairs = [(o, self.good.get((o.posterior, contender))) for o in self.ours()]
        return {a.posterior: getattr(a, what) / getattr(b, what) for a, b in pairs if b}


def geometric_mean(values: Iterable[float]) -> float:
    """exp(mean(log(values)))"""
    logs = [math.log(v) for v in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan
