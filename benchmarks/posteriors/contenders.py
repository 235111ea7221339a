"""Who samples: ours and our peers, each at its own defaults, with one way to be set up, run and asked.

A contender is made from the name of a posterior, its module and its data; being made is building and compiling. It
imports its packages itself, so that no contender pays for another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from probdiff.benchmarks.posteriors.reference import Arrays


class Settings(NamedTuple):
    """What all contenders share."""

    tune: int = 1000
    draws: int = 1000
    chains: int = 4
    cores: int = 2
    seed: int = 1


class Run(NamedTuple):
    """Draws (chain, draw, *shape) by variable, the gradients they took, and transitions that diverged."""

    draws: Arrays
    gradients: int
    divergences: int


class Contender(Protocol):
    """A model that is set up; the first `sample` may compile what was not compiled before."""

    def sample(self, s: Settings) -> Run:
        """Run all chains."""

    def warmup_gradients(self, s: Settings) -> int:
        """Gradients of all warm-ups of a run with these settings."""

    def logdensity(self, q: np.ndarray) -> float:
        """At unconstrained coordinates, in the order in which the model names its variables; up to a constant."""


class Ours:
    """A model of the zoo, which brings its data."""

    def __init__(self, name: str, module: Any, data: SimpleNamespace) -> None:
        from probdiff.models.zoo import MODELS

        self.posterior = MODELS[name]()
        self.somewhere = 0.3 * self.posterior.initial(np.random.default_rng(0))
        self.posterior.value_and_grad(self.somewhere)
        self.warm = 0

    def sample(self, s: Settings) -> Run:
        """With the default kernel. To keep the warm-up takes no time that can be measured."""
        from probdiff import sample

        draws = sample(self.posterior, s.draws, s.tune, s.chains, s.seed, progress=False, keep_warmup=True)
        self.warm = int(np.sum(draws.warmup_sample_stats.get("n_steps", 0)))
        stats = draws.sample_stats
        return Run(draws.posterior, int(stats["n_steps"].sum()), int(stats["diverging"].sum()))

    def warmup_gradients(self, s: Settings) -> int:
        """Those of the last run."""
        return self.warm

    def logdensity(self, q: np.ndarray) -> float:
        """At coordinates of the posterior."""
        return float(self.posterior.value_and_grad(q)[0])

    def seconds_a_call(self) -> float:
        """For one gradient, called from Python."""
        from probdiff.benchmarks.zoo import best

        return best(self.posterior, self.somewhere)

    def points(self, draws: Arrays, count: int = 4) -> np.ndarray:
        """Coordinates of the last draws of the chain that ends highest: another may be far from where the mass is."""
        chains = range(len(next(iter(draws.values()))))
        ends = [self.located(draws, chain, -1) for chain in chains]
        best = int(np.argmax([self.logdensity(q) for q in ends]))
        return np.stack([self.located(draws, best, -1 - k) for k in range(count)])

    def located(self, draws: Arrays, chain: int, k: int) -> np.ndarray:
        """The coordinates of a draw."""
        return np.asarray(self.posterior.unconstrain({name: x[chain, k] for name, x in draws.items()}))

    def derived(self, draws: Arrays, names: Sequence[str]) -> Arrays:
        """Values that follow from the random variables, draw by draw."""
        from probdiff.models.rows import Rows

        rows = Rows(lambda row: {name: self.posterior.complete(row)[name] for name in names}, 2 * self.posterior.dim)
        lead = next(iter(draws.values())).shape[:2]
        found: Any = rows({name: x.reshape(-1, *x.shape[2:]) for name, x in draws.items()})
        return {name: np.reshape(x, (*lead, *np.shape(x)[1:])) for name, x in found.items()}


class Stanli:
    """Stan's program in stanli, which interprets it: NUTS with Stan's diagonal metric, or another."""

    def __init__(self, name: str, module: Any, data: SimpleNamespace, metric: str = "diag_e") -> None:
        import stanli

        self.metric = metric
        self.columns = stanli.SAMPLER_COLUMNS
        self.model = stanli.Model(stan_code=module.STAN, data=vars(data))

    def fit(self, s: Settings, **options: Any) -> Any:
        """What stanli calls a fit."""
        shared = {"chains": s.chains, "warmup": s.tune, "seed": s.seed, "parallel_chains": s.cores, "refresh": 0}
        return self.model.sample(metric=self.metric, **shared, **options)

    def sample(self, s: Settings) -> Run:
        """All variables, transformed ones too."""
        fit = self.fit(s, samples=s.draws)
        draws = {name: fit.draws(name) for name in fit.variables}
        return Run(draws, int(self.steps(fit).sum()), int(fit.divergences.sum()))

    def steps(self, fit: Any) -> np.ndarray:
        """Gradients of each transition that was kept."""
        found: np.ndarray = fit.sampler_stats[:, :, self.columns.index("n_leapfrog__")]
        return found

    def warmup_gradients(self, s: Settings) -> int:
        """The warm-up again, kept this time, with one draw after it."""
        return int(self.steps(self.fit(s, samples=1, save_warmup=True))[:, : s.tune].sum())

    def logdensity(self, q: np.ndarray) -> float:
        """With the Jacobian."""
        return float(self.model.log_prob_grad(q)[0])


class NumPyro:
    """NumPyro's NUTS, the chains on devices of their own: the fastest of its ways on processors."""

    def __init__(self, name: str, module: Any, data: SimpleNamespace) -> None:
        import numpyro

        numpyro.set_host_device_count(Settings().chains)
        numpyro.enable_x64()
        self.model = module.numpyro(data)
        self.mcmc: Any = None
        self.parallel: Any = None

    def sampler(self, s: Settings, chain_method: Any) -> Any:
        """NumPyro's sampler with its defaults."""
        from numpyro.infer import MCMC, NUTS

        shared = {"num_warmup": s.tune, "num_samples": s.draws, "num_chains": s.chains, "progress_bar": False}
        return MCMC(NUTS(self.model), chain_method=chain_method, **shared)

    def mapped(self, f: Any) -> Any:
        """What `chain_method="parallel"` does, which compiles in each run anew: kept from the first to the second."""
        import jax

        if self.parallel is None:
            self.parallel = jax.pmap(f)
        return self.parallel

    def sample(self, s: Settings) -> Run:
        """All sites, as NumPy's arrays."""
        import jax

        if self.mcmc is None:
            self.mcmc = self.sampler(s, self.mapped)
        self.mcmc.run(jax.random.PRNGKey(s.seed), extra_fields=("num_steps", "diverging"))
        draws = {name: np.asarray(x) for name, x in self.mcmc.get_samples(group_by_chain=True).items()}
        extra = self.mcmc.get_extra_fields()
        return Run(draws, int(extra["num_steps"].sum()), int(extra["diverging"].sum()))

    def warmup_gradients(self, s: Settings) -> int:
        """The warm-up again, kept this time."""
        import jax

        mcmc = self.sampler(s, "parallel")
        mcmc.warmup(jax.random.PRNGKey(s.seed), extra_fields=("num_steps",), collect_warmup=True)
        return int(mcmc.get_extra_fields()["num_steps"].sum())

    def logdensity(self, q: np.ndarray) -> float:
        """Minus the potential; sites in the order of the trace."""
        import jax
        from numpyro.infer.util import initialize_model

        info = initialize_model(jax.random.PRNGKey(0), self.model)
        sites = {name: info.param_info.z[name] for name in info.model_trace if name in info.param_info.z}
        return -float(info.potential_fn(pieces(q, {name: np.shape(x) for name, x in sites.items()})))


class Nutpie:
    """PyMC's model, compiled by Numba and sampled by nutpie."""

    def __init__(self, name: str, module: Any, data: SimpleNamespace) -> None:
        import nutpie

        self.model = module.pymc(data)
        self.compiled = nutpie.compile_pymc_model(self.model)
        self.warm = 0

    def sample(self, s: Settings) -> Run:
        """All variables; nutpie keeps its warm-up by default."""
        import nutpie

        found = nutpie.sample(
            self.compiled, draws=s.draws, tune=s.tune, chains=s.chains, cores=s.cores, seed=s.seed, progress_bar=False
        )
        self.warm = int(found.warmup_sample_stats["n_steps"].sum())
        draws = {str(name): np.asarray(x) for name, x in found.posterior.data_vars.items()}
        return Run(draws, int(found.sample_stats["n_steps"].sum()), int(found.sample_stats["diverging"].sum()))

    def warmup_gradients(self, s: Settings) -> int:
        """Those of the last run."""
        return self.warm

    def logdensity(self, q: np.ndarray) -> float:
        """With the Jacobian; variables in the order in which they were made."""
        start = self.model.initial_point()
        shapes = {v.name: np.shape(start[v.name]) for v in self.model.value_vars}
        return float(self.model.compile_logp(mode="FAST_COMPILE")(pieces(q, shapes)))


def pieces(q: np.ndarray, shapes: dict[str, tuple[int, ...]]) -> Arrays:
    """A flat vector as arrays of these shapes, one after the other."""
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    if sum(sizes) != len(q):
        raise ValueError(f"{len(q)} coordinates where the model has {sum(sizes)}")
    parts = np.split(q, np.cumsum(sizes)[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


OURS, STANLI, STANLI_DENSE, NUMPYRO, NUTPIE = "probdiff", "stanli", "stanli, dense", "NumPyro", "nutpie"
# The packages that a contender imports, before clocks start, and what makes it.
Make = Callable[[str, Any, SimpleNamespace], Contender]
CONTENDERS: dict[str, tuple[tuple[str, ...], Make]] = {
    OURS: (("probdiff.models.zoo", "probdiff.sampling"), Ours),
    STANLI: (("stanli",), Stanli),
    STANLI_DENSE: (("stanli",), functools.partial(Stanli, metric="dense_e")),
    NUMPYRO: (("jax", "numpyro", "numpyro.infer"), NumPyro),
    NUTPIE: (("pymc", "nutpie"), Nutpie),
}
