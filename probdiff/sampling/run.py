"""`sample` and `resume`: they check their arguments, build the chains, let a crew move them, and gather their draws."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from os import PathLike
from time import perf_counter
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probdiff.errors import ParameterError, UnsupportedError
from probdiff.sampling.backend import Backend, Precision, check_backend, lockstep
from probdiff.sampling.chain import Drawn, Mover, Moving, chain_of, generator, lanes_of, rectangle, starting_state
from probdiff.sampling.checkpoint import Checkpoint, check_path
from probdiff.sampling.crew import Crew, Stoppable
from probdiff.sampling.diagnose import quick
from probdiff.sampling.divergences import collect
from probdiff.sampling.draws import Draws, check_names
from probdiff.sampling.fingerprint import check_same, chosen_kernel, fingerprint
from probdiff.sampling.handle import Run, shows
from probdiff.sampling.hmc import is_real
from probdiff.sampling.kernel import Info, Kernel, State, Vector
from probdiff.sampling.nuts import NUTS
from probdiff.sampling.pilot import Reparam, in_coordinates
from probdiff.sampling.remote import Executor, Job, RemoteCrew, check_executor
from probdiff.sampling.store import check_format, state_of
from probdiff.sampling.target import Model

THREADS_PAY = 100e-6
"""Seconds a gradient must take before threads win: below it they mostly hand the interpreter to each other."""
CHECKPOINT_EVERY = 10.0
"""Seconds between two writes of a chain: what an end without warning costs at most."""

Path = str | PathLike[str]


@overload
def sample(posterior: Model, draws: int = ..., tune: int = ..., chains: int = ..., seed: int | None = ...,
           kernel: Kernel | None = ..., init: ArrayLike | Mapping[str, Any] | None = ..., progress: bool | None = ...,
           keep_warmup: bool = ..., *, blocking: Literal[True] = ..., checkpoint: Path | None = ...,
           checkpoint_every: float = ..., reparam: Reparam = ..., backend: Backend = ..., mesh: Any = ...,
           precision: Precision = ..., executor: Executor | None = ...) -> Draws: ...  # fmt: skip
@overload
def sample(posterior: Model, draws: int = ..., tune: int = ..., chains: int = ..., seed: int | None = ...,
           kernel: Kernel | None = ..., init: ArrayLike | Mapping[str, Any] | None = ..., progress: bool | None = ...,
           keep_warmup: bool = ..., *, blocking: Literal[False], checkpoint: Path | None = ...,
           checkpoint_every: float = ..., reparam: Reparam = ..., backend: Backend = ..., mesh: Any = ...,
           precision: Precision = ..., executor: Executor | None = ...) -> Run: ...  # fmt: skip
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
    *,
    blocking: bool = True,
    checkpoint: Path | None = None,
    checkpoint_every: float = CHECKPOINT_EVERY,
    reparam: Reparam = None,
    backend: Backend = "native",
    mesh: Any = None,
    precision: Precision = "float64",
    executor: Executor | None = None,
) -> Draws | Run:
    """Draw from `posterior` with Hamiltonian Monte Carlo.

    Parameters
    ----------
    posterior    a `Posterior`, or a `Target` around a plain function
    draws, tune  transitions per chain that are kept, and that adapt the kernel before
    seed         a non-negative integer; the same seed gives the same draws. None: a fresh one, kept in `Draws.attrs`
    kernel       `NUTS()` without it
    init         starting point: an unconstrained vector (dim,), one per chain (chains, dim), or named values if the
                 model can unconstrain them. None: the model's candidates, up to 100 a chain. "pathfinder": the
                 points of `pathfinder(posterior, seed=seed).initial_points(chains)`
    progress     a table on standard error, or plain lines where that is no terminal; None shows it on a terminal only,
                 to who waits
    keep_warmup  also return the draws of the warm-up, apart from the others
    blocking     False: return a `Run` at once, which goes on in the background
    checkpoint   a new path, where draws and the state of each chain are written as the run goes on; `resume` continues
                 it, bit for bit, however it ended
    checkpoint_every  seconds between two writes of a chain
    reparam      the form of location-scale priors by name, `{"theta": "noncentered", "beta": "centered"}`, as
                 `Posterior.reparameterised` takes it; "auto": a short pilot run chooses for each one that hangs on
                 other variables. What was chosen is `Draws.attrs["reparam"]`
    backend      "jax": the transitions run under XLA, for all chains at once, on a GPU or TPU if JAX has one;
                 draws stay there until the end. The random numbers are those of "native"
    mesh         under "jax", a `jax.sharding.Mesh` of the devices to use: chains are split over its axis "chains" (the
                 first one, if none has that name), rows of the data over its axis "data"
    precision    under "jax", "float32" has the arrays of the log-density in single precision, sums of them and single
                 numbers in double. A RuntimeWarning says if rounding matters where the chains are after warm-up
    executor     runs each chain as a task of its own, and the draws are the same: `concurrent.futures`, Dask's
                 `Client.get_executor()`, or another one with `submit`. A checkpoint must be where all workers see it;
                 a chain that is run again, as its worker was lost, goes on from there

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
    _check_run("sample", posterior, progress, blocking, checkpoint_every)
    check_backend(backend, posterior, kernel, chains, mesh, precision)
    check_executor(executor, backend)
    posterior.check_sampleable()
    seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1)) if seed is None else int(seed)
    fields = tuple(getattr(kernel, "fields", Info._fields))
    if checkpoint is not None:
        rows = chains * (draws + (tune if keep_warmup else 0))
        checkpoint = check_path(checkpoint, rows * (2 * posterior.dim + len(fields)))

    started = perf_counter()
    posterior, init, told = in_coordinates(posterior, init, reparam, seed)
    points = _starting_points(posterior, init, chains, seed)
    rngs = [generator(seed, c) for c in range(chains)]
    states = [starting_state(posterior, kernel, rngs[c], c, points[c]) for c in range(chains)]
    # Names and the way back to parameters are tried before hours are spent, not after.
    named = posterior.constrain_many(np.stack([s.q for s in states]))
    check_names(named, posterior.dims, posterior.coords)
    settings = {"chains": int(chains), "draws": int(draws), "tune": int(tune), "seed": seed,
                "keep_warmup": bool(keep_warmup), "fields": list(fields), "backend": backend,
                "precision": precision}  # fmt: skip
    attrs = _attrs(settings, kernel) | told
    model = Stoppable(posterior)
    running: Sequence[Mover]
    if backend == "jax":
        running = [lockstep(posterior, kernel, rngs, states, settings, mesh)]
    elif executor is None or checkpoint is not None:
        running = _chains(model, kernel, rngs, states, settings)
    else:
        running = []  # the tasks make them
    store = None
    if checkpoint is not None:
        if not all(hasattr(chain, "snapshot") for chain in running):
            raise UnsupportedError(
                "sample.checkpoint needs chains with snapshot() and restore(); those of "
                f"{type(kernel).__name__} have none."
            )
        page = settings | fingerprint(posterior, kernel) | {"attrs": attrs}
        store = Checkpoint.create(os.fspath(checkpoint), posterior, page, states, running)
    seconds = perf_counter() - started
    if executor is not None:
        remote = _remote(executor, posterior, kernel, settings, store, checkpoint_every, points, seconds)
        return _handle(posterior, kernel, remote, attrs, progress, blocking)
    crew = Crew(model, running, min(len(running), os.cpu_count() or 1), seconds, store, checkpoint_every)
    return _launch(posterior, kernel, states[0], crew, attrs, progress, blocking)


@overload
def resume(path: Path, posterior: Model, kernel: Kernel | None = ..., progress: bool | None = ..., *,
           blocking: Literal[True] = ..., checkpoint_every: float = ..., mesh: Any = ...,
           executor: Executor | None = ...) -> Draws: ...  # fmt: skip
@overload
def resume(path: Path, posterior: Model, kernel: Kernel | None = ..., progress: bool | None = ..., *,
           blocking: Literal[False], checkpoint_every: float = ..., mesh: Any = ...,
           executor: Executor | None = ...) -> Run: ...  # fmt: skip
def resume(
    path: Path,
    posterior: Model,
    kernel: Kernel | None = None,
    progress: bool | None = None,
    *,
    blocking: bool = True,
    checkpoint_every: float = CHECKPOINT_EVERY,
    mesh: Any = None,
    executor: Executor | None = None,
) -> Draws | Run:
    """Go on with the run of `sample(..., checkpoint=path)`: the draws are those of the unbroken run, bit for bit.

    Parameters
    ----------
    path       where the checkpoint is; it goes on to be written
    posterior  the model of that run, with the same data; DataError if names, data or densities differ
    kernel     that of the run; only a kernel of your own has to be given

    The others are those of `sample`. A finished run is returned at once.
    """
    _check_run("resume", posterior, progress, blocking, checkpoint_every)
    posterior.check_sampleable()
    name = check_format(path, "resume")
    store = Checkpoint(name, posterior)
    try:
        settings, states = store.page, store.starts()
        posterior, _, _ = in_coordinates(posterior, None, settings["attrs"].get("reparam"), settings["seed"])
        store.model = posterior
        kernel = chosen_kernel(name, settings, kernel)
        backend, precision = settings["backend"], settings["precision"]
        check_backend(backend, posterior, kernel, settings["chains"], mesh, precision, owner="resume")
        check_executor(executor, backend)
        check_same(name, settings, store.coordinate_names(), states, posterior)
        if executor is not None:
            seconds = max(state_of(store.root, c)[0]["seconds"] for c in range(settings["chains"]))
            points = [state.q for state in states]
            remote = _remote(executor, posterior, kernel, settings, store, checkpoint_every, points, seconds)
            return _handle(posterior, kernel, remote, settings["attrs"], progress, blocking)
        model = Stoppable(posterior)
        rngs = [generator(settings["seed"], c) for c in range(settings["chains"])]
        if backend == "jax":
            running: Sequence[Mover] = [lockstep(posterior, kernel, rngs, states, settings, mesh)]
        else:
            running = _chains(model, kernel, rngs, states, settings)
        seconds = max([store.recall(chain) for chain in running])
    except BaseException:
        store.close()
        raise
    crew = Crew(model, running, min(len(running), os.cpu_count() or 1), seconds, store, checkpoint_every)
    return _launch(posterior, kernel, states[0], crew, settings["attrs"], progress, blocking)


def _chains(model: Model, kernel: Kernel, rngs: Sequence[np.random.Generator], states: Sequence[State],
            settings: Mapping[str, Any]) -> list[Moving]:  # fmt: skip
    return [chain_of(kernel, c, model, rngs[c], state, settings) for c, state in enumerate(states)]


def _remote(executor: Executor, posterior: Model, kernel: Kernel, settings: Mapping[str, Any], store: Checkpoint | None,
            every: float, points: Sequence[Vector | None], seconds: float) -> RemoteCrew:  # fmt: skip
    """The chains as tasks of an executor, which write to the store from now on."""
    if store is not None:
        store.close()
    job = Job(posterior, kernel, settings, None if store is None else store.path, every)
    return RemoteCrew(executor, job, points, seconds)


def _attrs(settings: Mapping[str, Any], kernel: Kernel) -> dict[str, Any]:
    """What the draws say of the run."""
    most = getattr(kernel, "max_steps", None)
    return {
        "seed": settings["seed"], "tune": settings["tune"], "requested_draws": settings["draws"],
        "requested_chains": settings["chains"], "kernel": repr(kernel),
    } | ({} if most is None else {"max_steps": most})  # fmt: skip


def _launch(posterior: Model, kernel: Kernel, start: State, crew: Crew, attrs: dict[str, Any],
            progress: bool | None, blocking: bool) -> Draws | Run:  # fmt: skip
    """Begin, and wait if `blocking`. Chains that gain nothing from threads are moved by who waits."""
    if all(getattr(chain, "native", False) for chain in crew.chains):
        crew.start(1)  # it finds out whether more pay
    elif crew.most > 1 and _threads_pay(posterior, start):
        crew.start(crew.most)
    elif not blocking:
        crew.start(1)
    return _handle(posterior, kernel, crew, attrs, progress, blocking)


def _handle(posterior: Model, kernel: Kernel, crew: Crew | RemoteCrew, attrs: dict[str, Any],
            progress: bool | None, blocking: bool) -> Draws | Run:  # fmt: skip
    """The handle of a run that has begun, or its draws if `blocking`."""

    def gather(what: str) -> Draws:
        lanes: list[Any] = [lane for chain in crew.chains for lane in lanes_of(chain)]
        return _gather(posterior, lanes, kernel, attrs | {"sampling_time": crew.seconds}, what)

    run = Run(crew, gather, shows(progress, blocking))
    return run.wait() if blocking else run


def _threads_pay(model: Model, start: State) -> bool:
    """Whether a model in Python spends so long outside the interpreter that threads are faster than turns."""
    if not getattr(model, "releases_gil", False):
        return False
    began = perf_counter()
    model.value_and_grad(start.q)
    return perf_counter() - began > THREADS_PAY


def _check_run(owner: str, posterior: Any, progress: Any, blocking: Any, every: Any) -> None:
    if progress not in (True, False, None):
        raise ParameterError(f"{owner}.progress must be True, False or None, got {progress!r}")
    if blocking not in (True, False):
        raise ParameterError(f"{owner}.blocking must be True or False, got {blocking!r}")
    if not (is_real(every) and 0 <= every < inf):
        raise ParameterError(f"{owner}.checkpoint_every must be a number of seconds, not negative, got {every!r}")
    if not hasattr(posterior, "value_and_grad") or not hasattr(posterior, "dim"):
        raise UnsupportedError(
            f"{owner}.posterior must be a model with value_and_grad and dim, got {type(posterior).__name__}. "
            "Build a Posterior, or wrap a function q -> (log-density, gradient) as Target(function, dim=...)."
        )


def _gather(model: Model, chains: Sequence[Drawn], kernel: Kernel, attrs: dict[str, Any], what: str) -> Draws:
    """The complete draws of the chains; before the end, of those that make the largest rectangle, and `what` it is."""
    partial = not all(chain.finished for chain in chains)
    n = rectangle([chain.length for chain in chains])
    kept = [chain for chain in chains if chain.length >= n]
    notes = []
    if partial:
        note = f"{what}: {n} of {attrs['requested_draws']} draws of {len(kept)} of {len(chains)} chains"
        dropped = [f"chain {chain.index} ({chain.length} draws)" for chain in chains if chain.length < n]
        notes.append(note + (f"; dropped: {', '.join(dropped)}." if dropped else "."))
    fields = getattr(kernel, "fields", Info._fields)
    warm = min(min(len(chain.warmup_q), len(chain.warmup_info)) for chain in kept)
    draws = Draws(
        posterior=_named(model, [chain.q[:n] for chain in kept]),
        sample_stats=_stats([chain.info[:n] for chain in kept], fields),
        warmup_posterior=_named(model, [chain.warmup_q[:warm] for chain in kept]) if warm else {},
        warmup_sample_stats=_stats([chain.warmup_info[:warm] for chain in kept], fields) if warm else {},
        observed=dict(model.observed),
        dims=dict(model.dims),
        coords=dict(model.coords),
        attrs=attrs | {"partial": partial},
        diverged=collect(kept, n),
        model=model,
    )
    return replace(draws, notes=(*notes, *(quick(draws) if n else ())))


def _named(model: Model, q: Sequence[NDArray[np.float64]]) -> dict[str, NDArray[Any]]:
    stacked = np.stack(q)
    chains, n, dim = stacked.shape
    values = model.constrain_many(stacked.reshape(chains * n, dim))
    return {name: np.reshape(x, (chains, n, *np.shape(x)[1:])) for name, x in values.items()}


def _stats(info: Sequence[NDArray[np.float64]], fields: Sequence[str]) -> dict[str, NDArray[Any]]:
    table = np.stack(info)
    kinds = {"n_steps": np.int64, "tree_depth": np.int64, "diverging": np.bool_, "reached_max_treedepth": np.bool_}
    return {name: table[:, :, k].astype(kinds.get(name, np.float64)) for k, name in enumerate(fields)}


def _starting_points(
    model: Model, init: ArrayLike | Mapping[str, Any] | None, chains: int, seed: int
) -> list[Vector | None]:
    if init is None:
        return [None] * chains
    if isinstance(init, str):
        from probdiff.approximate.paths import pathfinder

        if init != "pathfinder":
            raise ParameterError(f"sample.init must be 'pathfinder', an array, named values or None, got {init!r}")
        init = pathfinder(model, seed=seed).initial_points(chains)
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


def _check_count(name: str, value: Any, least: int, rule: str) -> None:
    if not _is_integer(value) or value < least:
        raise ParameterError(f"sample.{name} must be {rule}, got {value!r}")


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
