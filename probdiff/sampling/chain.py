"""One chain: its random numbers, its starting point, and the loop that moves it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import InitialPointError, ShapeError
from probdiff.sampling.adaptation import Warmup
from probdiff.sampling.kernel import Info, Kernel, State, Vector, settings
from probdiff.sampling.target import Model

TRIES = 100
SHOWN = 8
"""Most coordinates that an error names."""

Piece = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Draws of a few transitions and their statistics, a row each."""


class Block:
    """A piece of chains that move together: draws (n, chain, dim) and statistics, where they are until looked at.

    They may be arrays of a device, of which the first n rows count.
    """

    def __init__(self, q: Any, stats: Any, n: int) -> None:
        self.n = n
        self._arrays = q, stats

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        q, stats = self._arrays
        if not isinstance(q, np.ndarray):
            q, stats = self._arrays = np.asarray(q)[: self.n], np.asarray(stats)[: self.n]
        yield q
        yield stats


class Mover(Protocol):
    """What a crew moves, whatever the kernel: a chain, or several that move together and are its `lanes`.

    It may also have `gradients`, the leapfrog steps since it was built, `tree_depth`, the mean of the last transitions,
    and `native = True` if no Python runs in its transitions, so that it may move in a thread. One chain keeps pieces,
    several keep blocks.
    """

    index: int
    tune: int
    total: int
    keep_warmup: bool
    done_iterations: int
    divergences: int
    kept: Any
    warmup_kept: Any

    @property
    def finished(self) -> bool: ...
    @property
    def length(self) -> int: ...
    @property
    def step_size(self) -> float: ...

    def advance(self, seconds: float = inf) -> None: ...
    def snapshot(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None: ...


class Drawn(Protocol):
    """One chain, as its draws are gathered from it."""

    index: int

    @property
    def finished(self) -> bool: ...
    @property
    def length(self) -> int: ...
    @property
    def q(self) -> NDArray[np.float64]: ...
    @property
    def info(self) -> NDArray[np.float64]: ...
    @property
    def warmup_q(self) -> NDArray[np.float64]: ...
    @property
    def warmup_info(self) -> NDArray[np.float64]: ...


class Moving(Mover, Drawn, Protocol):
    """A chain that moves alone."""


def lanes_of(chain: Any) -> Sequence[Any]:
    """The chains that a moving thing stands for: itself, or its lanes."""
    lanes: Sequence[Any] = getattr(chain, "lanes", (chain,))
    return lanes


def generator(seed: int, chain: int) -> np.random.Generator:
    """The random numbers of a chain: a counter-based stream of its own for each pair of seed and chain."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(chain,))))


class Chain:
    """A chain that goes on in slices of time, so that many can take turns; its draws do not depend on the slicing."""

    def __init__(self, index: int, model: Model, kernel: Kernel, rng: np.random.Generator, state: State,
                 tune: int, draws: int, keep_warmup: bool) -> None:  # fmt: skip
        self.index, self.model, self.kernel, self.rng, self.state = index, model, kernel, rng, state
        self.tune, self.total, self.keep_warmup = tune, tune + draws, keep_warmup
        self.done_iterations = 0
        self.kept: list[Piece] = []
        self.warmup_kept: list[Piece] = []
        self.divergences = 0
        self.gradients = 0
        with np.errstate(all="ignore"):
            self.warmup = Warmup(rng, model.value_and_grad, kernel, state, tune)

    @property
    def finished(self) -> bool:
        """Whether all its draws are there."""
        return self.done_iterations >= self.total

    @property
    def length(self) -> int:
        """Complete draws after warm-up."""
        return sum(len(qs) for qs, _ in self.kept)

    @property
    def step_size(self) -> float:
        """That of the next transition."""
        return self.warmup.settings.eps

    @property
    def q(self) -> NDArray[np.float64]:
        """Draws after warm-up, a row each."""
        return rows([qs for qs, _ in self.kept], self.model.dim)

    @property
    def info(self) -> NDArray[np.float64]:
        """Statistics of the transitions after warm-up."""
        return rows([stats for _, stats in self.kept], len(Info._fields))

    @property
    def warmup_q(self) -> NDArray[np.float64]:
        """Draws of the warm-up, if kept."""
        return rows([qs for qs, _ in self.warmup_kept], self.model.dim)

    @property
    def warmup_info(self) -> NDArray[np.float64]:
        """Statistics of the transitions of the warm-up, if kept."""
        return rows([stats for _, stats in self.warmup_kept], len(Info._fields))

    def advance(self, seconds: float = inf) -> None:
        """Make iterations until the chain is finished or the time is over."""
        until = perf_counter() + seconds
        step, logdensity, rng = self.kernel.step, self.model.value_and_grad, self.rng
        warmup, tune = self.warmup, self.tune
        # A proposal may overflow or leave the domain on purpose: that is a refusal, not news.
        with np.errstate(all="ignore"):
            for i in range(self.done_iterations, self.total):
                state, info = step(rng, logdensity, self.state, warmup.settings)
                piece = state.q[None], np.array([info], dtype=np.float64)
                if i < tune:
                    warmup.update(i, state, info.acceptance_rate)
                    if self.keep_warmup:
                        self.warmup_kept.append(piece)
                else:
                    self.kept.append(piece)  # in one go: an interrupt finds both or neither
                    self.divergences += info.diverging
                self.gradients += info.n_steps
                self.state = state
                self.done_iterations = i + 1
                if perf_counter() > until:
                    return

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All that the chain needs to go on bit for bit, but for the draws it keeps."""
        warmup = self.warmup
        averaging, of_q, of_grad = warmup.averaging, warmup.q_moments, warmup.grad_moments
        return {
            "counts": np.array([self.done_iterations, self.divergences, warmup.window, of_q.n]),
            "q": self.state.q.copy(),
            "logp": np.array(self.state.logp),
            "grad": np.array(self.state.grad),
            "rng": _generator_state(self.rng),
            "settings": np.array([warmup.settings.eps, warmup.settings.path, warmup.path]),
            "inv_mass": warmup.inv_mass.copy(),
            "averaging": np.array([averaging.mu, averaging.t, averaging.h, averaging.log_mean]),
            "moments": np.stack([of_q.mean, of_q.m2, of_grad.mean, of_grad.m2]),
            "rows": rows([q[None] for q in warmup.rows], self.model.dim),
        }

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `snapshot` of another chain of the same model and kernel returned."""
        warmup = self.warmup
        self.done_iterations, self.divergences, warmup.window, n = map(int, snapshot["counts"])
        self.state = State(snapshot["q"], float(snapshot["logp"]), snapshot["grad"])
        self.rng.bit_generator.state = json.loads(snapshot["rng"].tobytes())
        eps, path, warmup.path = map(float, snapshot["settings"])
        warmup.inv_mass = snapshot["inv_mass"]
        warmup.settings = settings(eps, warmup.inv_mass, path)
        averaging, of_q, of_grad = warmup.averaging, warmup.q_moments, warmup.grad_moments
        averaging.mu, t, averaging.h, averaging.log_mean = map(float, snapshot["averaging"])
        averaging.t = int(t)
        of_q.n = of_grad.n = n
        of_q.mean, of_q.m2, of_grad.mean, of_grad.m2 = (row.copy() for row in snapshot["moments"])
        warmup.rows = list(snapshot["rows"])


def _generator_state(rng: np.random.Generator) -> NDArray[np.uint8]:
    text = json.dumps(rng.bit_generator.state, default=lambda numbers: numbers.tolist())
    return np.frombuffer(text.encode(), dtype=np.uint8)


def rows(pieces: Sequence[NDArray[np.float64]], width: int) -> NDArray[np.float64]:
    """The rows of all pieces."""
    return np.concatenate(pieces) if pieces else np.zeros((0, width))


def chain_of(kernel: Kernel, index: int, model: Model, rng: np.random.Generator, state: State,
             settings: Mapping[str, Any]) -> Moving:  # fmt: skip
    """A chain of the kernel's own kind, or a `Chain`, for a run of these settings."""
    rest = settings["tune"], settings["draws"], settings["keep_warmup"]
    make = getattr(kernel, "chain", None)
    made: Moving = (
        Chain(index, model, kernel, rng, state, *rest) if make is None else make(index, model, rng, state, *rest)
    )
    return made


def rectangle(lengths: Sequence[int]) -> int:
    """The number of draws per chain that keeps most draws in all, when chains shorter than it are dropped.

    Chains of 7 and 6 draws give 2 x 6; chains of 500, 500 and 1 give 2 x 500.
    """
    return max(lengths, key=lambda n: (n * sum(length >= n for length in lengths), -n))


def starting_state(model: Model, kernel: Kernel, rng: np.random.Generator, chain: int, init: Vector | None) -> State:
    """A state with finite log-density and gradient: at `init`, or at the first of 100 candidates that has them."""
    with np.errstate(all="ignore"):
        if init is not None:
            state = _evaluate(model, kernel, init)
            if not _is_good(state):
                where = describe(model, state.q)
                if not isfinite(state.logp):
                    raise InitialPointError(
                        f"init for chain {chain} has log-density {state.logp} at {where}{explained(model, state.q)}. "
                        "Give a point inside the support."
                    )
                raise InitialPointError(
                    f"init for chain {chain} has a gradient that is not finite in {_bad_names(model, state.grad)}, "
                    f"at {where}. Give another point, or check the model there."
                )
            return state
        for _ in range(TRIES):
            state = _evaluate(model, kernel, np.asarray(model.initial(rng), dtype=np.float64))
            if _is_good(state):
                return state
    where = describe(model, state.q)
    if not isfinite(state.logp):
        raise InitialPointError(
            f"No starting point with finite log-density was found in {TRIES} tries for chain {chain}; the last had "
            f"log-density {state.logp} at {where}{explained(model, state.q)}. "
            "Give init=, or check the support of the data."
        )
    raise InitialPointError(
        f"No starting point with finite gradient was found in {TRIES} tries for chain {chain}; the last had "
        f"log-density {state.logp:.6g} and a gradient that is not finite in {_bad_names(model, state.grad)}, "
        f"at {where}. Give init=, or check the model there."
    )


def _evaluate(model: Model, kernel: Kernel, q: Vector) -> State:
    if np.shape(q) != (model.dim,):
        raise ShapeError(f"a starting point must have shape ({model.dim},), got {np.shape(q)}")
    logp, grad = model.value_and_grad(q)
    if np.ndim(logp) or np.shape(grad) != (model.dim,):
        raise ShapeError(
            f"value_and_grad must return a number and an array of shape ({model.dim},), "
            f"got shapes {np.shape(logp)} and {np.shape(grad)}"
        )
    return kernel.init(model.value_and_grad, q)


def _is_good(state: State) -> bool:
    return isfinite(state.logp) and bool(np.all(np.isfinite(state.grad)))


def _bad_names(model: Model, grad: Vector) -> str:
    return _shorten([name for name, g in zip(model.coordinate_names, grad, strict=True) if not isfinite(g)])


def describe(model: Model, q: Vector) -> str:
    """The named parameters at `q`, as an error shows them: `mu=0.31, theta[2]=1.2`."""
    return _shorten([f"{name}={value:.3g}" for name, value in _scalars(model.constrain(q))])


def explained(model: Model, q: Vector) -> str:
    """Which term is not finite at `q`, from a model that can say."""
    explain = getattr(model, "explain_point", None)
    text = explain(q) if explain is not None else ""
    return f": {text}" if text else ""


def _scalars(values: Mapping[str, NDArray[Any]]) -> list[tuple[str, float]]:
    found = []
    for name, value in values.items():
        for index, x in np.ndenumerate(np.asarray(value)):
            found.append((name + (f"[{', '.join(map(str, index))}]" if index else ""), float(x)))
            if len(found) > 10 * SHOWN:
                return found
    return found


def _shorten(parts: list[str]) -> str:
    return ", ".join(parts[:SHOWN]) + (", ..." if len(parts) > SHOWN else "")
