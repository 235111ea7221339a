"""`sample`: checks its arguments, starts the chains, runs them, and gathers their draws."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probdiff.errors import ParameterError, UnsupportedError
from probdiff.sampling.chain import Chain, generator, starting_state
from probdiff.sampling.draws import Draws, check_names
from probdiff.sampling.kernel import Info, Kernel, State, Vector
from probdiff.sampling.nuts import NUTS
from probdiff.sampling.progress import progress_display
from probdiff.sampling.target import Model

SLICE = 0.05
"""Seconds that a chain runs before the next has its turn."""
MANY_CUT = 0.01
"""Share of trajectories that reach their greatest depth from which a note says so."""
PIECE_PAYS = 2e-3
"""Seconds of one call into machine code from which chains run in threads: shorter ones wait for the interpreter."""
THREADS_PAY = 100e-6
"""Seconds a gradient must take before threads win: below it they mostly hand the interpreter to each other."""


def sample(
    posterior: Model,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    seed: int | None = None,
    kernel: Kernel | None = None,
    init: ArrayLike | Mapping[str, Any] | None = None,
    progress: bool | None = None,
    keep_warmup: bool = False,
) -> Draws:
    """Draw from `posterior` with Hamiltonian Monte Carlo.

    Parameters
    ----------
    posterior    a `Posterior`, or a `Target` around a plain function
    draws, tune  transitions per chain that are kept, and that adapt the kernel before
    seed         a non-negative integer; the same seed gives the same draws. None: a fresh one, kept in `Draws.attrs`
    kernel       `NUTS()` without it
    init         starting point: an unconstrained vector (dim,), one per chain (chains, dim), or named values if the
                 model can unconstrain them. None: the model's candidates, up to 100 a chain
    progress     bars on standard error; None shows them on a terminal
    keep_warmup  also return the draws of the warm-up, apart from the others

    Ctrl-C returns the draws made so far, marked in `Draws.attrs["partial"]`; before the first draw it passes through.
    """
    kernel = NUTS() if kernel is None else kernel
    _check_count("draws", draws, 1, "a positive integer")
    _check_count("tune", tune, 0, "a non-negative integer")
    _check_count("chains", chains, 1, "a positive integer")
    if seed is not None and (not _is_integer(seed) or seed < 0):
        raise ParameterError(f"sample.seed must be a non-negative integer or None, got {seed!r}")
    if not callable(getattr(kernel, "step", None)) or not callable(getattr(kernel, "init", None)):
        raise UnsupportedError(f"sample.kernel must be a kernel such as NUTS() or HMC(), got {kernel!r}")
    if progress not in (True, False, None):
        raise ParameterError(f"sample.progress must be True, False or None, got {progress!r}")
    if not hasattr(posterior, "value_and_grad") or not hasattr(posterior, "dim"):
        raise UnsupportedError(
            f"sample.posterior must be a model with value_and_grad and dim, got {type(posterior).__name__}. "
            "Build a Posterior, or wrap a function q -> (log-density, gradient) as Target(function, dim=...)."
        )
    posterior.check_sampleable()
    seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1)) if seed is None else int(seed)

    started = perf_counter()
    points = _starting_points(posterior, init, chains)
    rngs = [generator(seed, c) for c in range(chains)]
    states = [starting_state(posterior, kernel, rngs[c], c, points[c]) for c in range(chains)]
    # Names and the way back to parameters are tried before hours are spent, not after.
    named = posterior.constrain_many(np.stack([s.q for s in states]))
    check_names(named, posterior.dims, posterior.coords)
    make = getattr(kernel, "chain", functools.partial(_chain, kernel))
    running = [make(c, posterior, rngs[c], states[c], tune, draws, keep_warmup) for c in range(chains)]

    threads = min(chains, os.cpu_count() or 1)
    partial = False
    with progress_display(running, progress) as redraw:
        try:
            if threads > 1 and _threads_pay(posterior, running, states[0]):
                _run_threads(running, threads, redraw)
            else:
                _run_turns(running, redraw)
        except KeyboardInterrupt:
            if not any(chain.length for chain in running):
                raise
            partial = True
    return _gather(posterior, running, kernel, {
        "seed": seed, "tune": int(tune), "requested_draws": int(draws), "requested_chains": int(chains),
        "partial": partial, "sampling_time": perf_counter() - started,
    })  # fmt: skip


def _chain(kernel: Kernel, index: int, model: Model, *rest: Any) -> Chain:
    return Chain(index, model, kernel, *rest)


def _threads_pay(model: Model, chains: Sequence[Chain], state: State) -> bool:
    """Whether chains spend so long outside the interpreter at a time that threads are faster than turns."""
    if all(getattr(chain, "native", False) for chain in chains):
        chains[0].advance(0)  # compiles, before threads start
        began = perf_counter()
        chains[0].advance(0)
        return perf_counter() - began > PIECE_PAYS
    return getattr(model, "releases_gil", False) and _gradient_seconds(model, state) > THREADS_PAY


def _run_turns(chains: Sequence[Chain], redraw: Callable[[], None]) -> None:
    while unfinished := [chain for chain in chains if not chain.finished]:
        for chain in unfinished:
            chain.advance(SLICE)
            redraw()


def _run_threads(chains: Sequence[Chain], threads: int, redraw: Callable[[], None]) -> None:
    stop = threading.Event()

    def work(chain: Chain) -> None:
        while not chain.finished and not stop.is_set():
            chain.advance(SLICE)

    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(work, chain) for chain in chains}
        try:
            while futures:
                finished, futures = wait(futures, SLICE, FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                redraw()
        finally:
            stop.set()


def _gather(model: Model, chains: Sequence[Chain], kernel: Kernel, attrs: dict[str, Any]) -> Draws:
    """The complete draws of the chains; after an interrupt, of those that make the largest rectangle."""
    n = rectangle([chain.length for chain in chains])
    kept = [chain for chain in chains if chain.length >= n]
    notes = []
    if attrs["partial"]:
        note = f"Interrupted: {n} of {attrs['requested_draws']} draws of {len(kept)} of {len(chains)} chains"
        dropped = [f"chain {chain.index} ({chain.length} draws)" for chain in chains if chain.length < n]
        notes.append(note + (f"; dropped: {', '.join(dropped)}." if dropped else "."))
    fields = getattr(kernel, "fields", Info._fields)
    stats = _stats([chain.info[:n] for chain in kept], fields)
    notes += _notes(stats, kernel)
    warm = min(min(len(chain.warmup_q), len(chain.warmup_info)) for chain in kept)
    return Draws(
        posterior=_named(model, [chain.q[:n] for chain in kept]),
        sample_stats=stats,
        warmup_posterior=_named(model, [chain.warmup_q[:warm] for chain in kept]) if warm else {},
        warmup_sample_stats=_stats([chain.warmup_info[:warm] for chain in kept], fields) if warm else {},
        observed=dict(model.observed),
        dims=dict(model.dims),
        coords=dict(model.coords),
        attrs=attrs | {"kernel": repr(kernel)},
        notes=tuple(notes),
    )


def rectangle(lengths: Sequence[int]) -> int:
    """The number of draws per chain that keeps most draws in all, when chains shorter than it are dropped.

    Chains of 7 and 6 draws give 2 x 6; chains of 500, 500 and 1 give 2 x 500.
    """
    return max(lengths, key=lambda n: (n * sum(length >= n for length in lengths), -n))


def _named(model: Model, q: Sequence[Sequence[Vector]]) -> dict[str, NDArray[Any]]:
    stacked = np.array(q)
    chains, n, dim = stacked.shape
    values = model.constrain_many(stacked.reshape(chains * n, dim))
    return {name: np.reshape(x, (chains, n, *np.shape(x)[1:])) for name, x in values.items()}


def _stats(info: Sequence[Sequence[Info]], fields: Sequence[str]) -> dict[str, NDArray[Any]]:
    table = np.array(info, dtype=np.float64)
    kinds = {"n_steps": np.int64, "tree_depth": np.int64, "diverging": np.bool_, "reached_max_treedepth": np.bool_}
    return {name: table[:, :, k].astype(kinds.get(name, np.float64)) for k, name in enumerate(fields)}


def _notes(stats: Mapping[str, NDArray[Any]], kernel: Kernel) -> list[str]:
    notes = []
    total = stats["diverging"].size
    if divergences := int(stats["diverging"].sum()):
        notes.append(
            f"{divergences} of {total} transitions diverged: the density bends faster than the step size "
            "follows. Raise target_accept, or reparameterise the model."
        )
    most = getattr(kernel, "max_steps", None)
    if most is not None and (capped := int((stats["n_steps"] >= most).sum())):
        notes.append(f"{capped} of {total} trajectories were cut at max_steps={most}. Raise it, or rescale the model.")
    deepest = getattr(kernel, "max_depth", None)
    if deepest is not None and (cut := int(stats["reached_max_treedepth"].sum())) > MANY_CUT * total:
        notes.append(
            f"{cut} of {total} transitions reached max_depth={deepest} ({2**deepest - 1} leapfrog steps) before they "
            "turned, so draws are more correlated than they need be. Rescale or reparameterise the model, or raise "
            "max_depth."
        )
    return notes


def _starting_points(model: Model, init: ArrayLike | Mapping[str, Any] | None, chains: int) -> list[Vector | None]:
    if init is None:
        return [None] * chains
    if isinstance(init, Mapping):
        unconstrain = getattr(model, "unconstrain", None)
        if unconstrain is None:
            raise UnsupportedError(
                f"sample.init must be an array of shape ({model.dim},) or ({chains}, {model.dim}) for this model, "
                "got named values"
            )
        init = unconstrain(init)
    points = np.asarray(init, dtype=np.float64)
    if points.shape not in ((model.dim,), (chains, model.dim)):
        raise ParameterError(
            f"sample.init must have shape ({model.dim},) or ({chains}, {model.dim}), got shape {points.shape}"
        )
    return list(np.broadcast_to(points, (chains, model.dim)).copy())


def _gradient_seconds(model: Model, state: State) -> float:
    began = perf_counter()
    model.value_and_grad(state.q)
    return perf_counter() - began


def _check_count(name: str, value: Any, least: int, rule: str) -> None:
    if not _is_integer(value) or value < least:
        raise ParameterError(f"sample.{name} must be {rule}, got {value!r}")


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
