"""One chain: its random numbers, its starting point, and the loop that moves it."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import InitialPointError, ShapeError
from probdiff.sampling.adaptation import Warmup
from probdiff.sampling.kernel import Info, Kernel, State, Vector
from probdiff.sampling.target import Model

TRIES = 100
SHOWN = 8
"""Most coordinates that an error names."""


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
        self.q: list[Vector] = []
        self.info: list[Info] = []
        self.warmup_q: list[Vector] = []
        self.warmup_info: list[Info] = []
        self.divergences = 0
        with np.errstate(all="ignore"):
            self.warmup = Warmup(rng, model.value_and_grad, kernel, state, tune)

    @property
    def finished(self) -> bool:
        return self.done_iterations >= self.total

    @property
    def length(self) -> int:
        """Complete draws after warm-up."""
        return min(len(self.q), len(self.info))

    @property
    def step_size(self) -> float:
        """That of the next transition."""
        return self.warmup.settings.eps

    def advance(self, seconds: float = inf) -> None:
        """Make iterations until the chain is finished or the time is over."""
        until = perf_counter() + seconds
        step, logdensity, rng = self.kernel.step, self.model.value_and_grad, self.rng
        warmup, tune = self.warmup, self.tune
        # A proposal may overflow or leave the domain on purpose: that is a refusal, not news.
        with np.errstate(all="ignore"):
            for i in range(self.done_iterations, self.total):
                state, info = step(rng, logdensity, self.state, warmup.settings)
                if i < tune:
                    warmup.update(i, state, info.acceptance_rate)
                    if self.keep_warmup:
                        self.warmup_q.append(state.q)
                        self.warmup_info.append(info)
                else:
                    self.q.append(state.q)
                    self.info.append(info)
                    self.divergences += info.diverging
                self.state = state
                self.done_iterations = i + 1
                if perf_counter() > until:
                    return


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
