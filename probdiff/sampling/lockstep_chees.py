"""ChEES-HMC under XLA: all chains take the same number of steps, and learn together between transitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.compiler.xla.library import jax, jnp, lax
from probdiff.compiler.xla.lower import called
from probdiff.sampling.adaptation import Averaging, Window, crossing, windows
from probdiff.sampling.chees import ChEES, Learning, Length, Pooled, learnt, steps
from probdiff.sampling.device import Device, Plan
from probdiff.sampling.kernel import Info, State, Vector
from probdiff.sampling.lockstep import Count, Rows
from probdiff.sampling.lockstep_nuts import empty_rows, errors
from probdiff.sampling.metric import SCALE_MAX, SCALE_MIN, Metric, held
from probdiff.sampling.random import normal, uniform
from probdiff.sampling.trajectory import MAX_ENERGY_ERROR, Point, energy, path
from probdiff.tree import Array

DIVERGING, STEPS = (Info._fields.index(name) for name in ("diverging", "n_steps"))


def one(
    address: Array, q: Array, logp: Array, force: Array, key: Array, counter: Array, eps: Array, n: Array,
    metric: Metric,
) -> Any:  # fmt: skip
    """A transition of one chain: its next state, its row of statistics, and the end of its trajectory."""
    d = q.shape[0]
    r = normal(key, counter + np.arange(d, dtype=np.uint64))
    u = uniform(key, counter + np.uint64(d))
    begin = Point(q, r, logp, force)
    start = energy(begin)
    end = path(address, begin, eps, n, metric)
    error = energy(end) - start
    diverging = ~(error <= MAX_ENERGY_ERROR)
    accept = np.where(diverging, 0.0, np.exp(np.minimum(0.0, -error)))
    taken = u < accept
    pairs = zip((q, logp, force), (end.q, end.logp, end.force), strict=True)
    new = tuple(np.where(taken, y, x) for x, y in pairs)
    energy_now = np.where(taken, start + error, start)
    info = new[1], accept, eps, n, n * eps, diverging, energy_now, error
    return new, np.stack([np.float64(1.0) * x for x in info]), (end.q, end.r)


def piece(plan: Plan) -> Any:
    """The program of up to LENGTH transitions of all chains."""

    def transitions(data: Any, chains: Any, settings: Any) -> Any:
        density = plan.value_and_grad(data)
        here, key = chains
        n, first, known, metric, target, most, tuning = settings
        stride = np.uint64(here[0].shape[1] + 1)

        def all_chains(here: Any, i: Any, known: Any) -> Any:
            eps = known.averaging.eps
            taken = called(steps, (known.length.log, eps, i + np.uint64(1), most))

            def chain(here: Any, key: Any) -> Any:
                return called(one, (np.int64(0), *here, key, i * stride, eps, taken, metric), density)

            new, info, end = jax.vmap(chain)(here, key)
            more = called(learnt, (
                known, new[0], new[2] / metric.scale, here[0] / metric.scale, end[0] / metric.scale, end[1],
                info[:, Info._fields.index("acceptance_rate")], taken * eps, target, most,
            ))  # fmt: skip
            known = jax.tree.map(lambda x, y: jnp.where(tuning, y, x), known, more)
            return new, known, (new[0], info, *end)

        def transition(k: Any, carry: Any) -> Any:
            here, known, rows = carry
            here, known, row = all_chains(here, first + k.astype(np.uint64), known)
            return here, known, jax.tree.map(lambda x, y: x.at[k].set(y), rows, row)

        places, table = empty_rows(here[0], Info._fields)
        here, known, rows = lax.fori_loop(0, n, transition, (here, known, (places, table, places, places)))
        stats = rows[1]
        count = Count(stats[:, :, DIVERGING].sum(0), stats[:, :, STEPS].sum(0), jnp.full(len(key), np.nan))
        return here, count, known, Rows(*rows)

    return jax.jit(transitions)  # divided among the devices as its arguments are


class CheesMotion:
    """Chains of ChEES-HMC that move together."""

    fields = Info._fields

    def __init__(self, kernel: ChEES, device: Device, rngs: Sequence[np.random.Generator], states: Sequence[State],
                 tune: int) -> None:  # fmt: skip
        self.kernel, self.device = kernel, device
        first, *others = windows(tune)
        way_in = [Window(first.end // 3, first.depth, False)] if first.end >= 3 else []  # from the starting points
        self.windows = [*way_in, first, *others]
        self.keys = device.spread(np.array([rng.integers(0, 2**64, dtype=np.uint64) for rng in rngs]))
        self.transitions = np.uint64(0)
        self.renewed = 0
        self.metric = Metric.diagonal(np.ones(len(states[0].q)))
        self.piece, self.errors = device.program(piece), device.program(errors)
        self.here: Any = device.spread(tuple(np.array(x) for x in zip(*states, strict=True)))
        self.known: Learning
        self._begin(self._first_step_size(0.1) if kernel.step_size is None else kernel.step_size, 1.0)

    @property
    def step_size(self) -> float:
        """That of all chains."""
        return float(self.known.averaging.eps)

    @property
    def length(self) -> float:
        """The longest trajectory, in units of the metric."""
        return exp(self.known.length.log)

    def move(self, n: int, window: Window, tuning: bool) -> tuple[Rows, Count]:
        """n transitions of all chains; none to compile."""
        most = float(min(2**window.depth, self.kernel.max_steps))
        settings = (n, self.transitions, self.known, self.metric, float(self.kernel.target_accept), most, tuning)
        here, count, known, rows = self.piece(self.device.data, (self.here, self.keys), settings)
        count = Count(*map(np.asarray, count))  # waits
        self.here, self.known = tuple(here), jax.tree.map(np.asarray, known)
        self.transitions += np.uint64(n)
        if not window.learns:
            self.known = self.known._replace(q=self.nothing, grad=self.nothing)
        return rows, count

    def learn(self) -> None:
        """The metric from all chains' draws of a window, and a step size for it."""
        q, grad = self.known.q, self.known.grad
        with np.errstate(all="ignore"):
            variance = held(q.m2 / (q.n - 1), grad.m2 / (grad.n - 1), int(q.n), not self.renewed)
        scale = np.where(np.isfinite(variance) & (variance > 0), np.sqrt(variance), self.metric.scale)
        scale = np.clip(scale, SCALE_MIN, SCALE_MAX)
        at, logp, force = self.here
        self.here = self.device.spread((at, logp, np.asarray(force) / self.metric.scale * scale))
        self.metric = Metric.diagonal(scale)
        # Without a metric, a length meant nothing.
        self._begin(self._first_step_size(min(self.step_size, 1.0)), self.length if self.renewed else 1.0)
        self.renewed += 1

    def check(self) -> None:
        """Warn if the precision is too low where the chains are."""
        self.device.check_precision(self.here[0], self.here[1])

    def settle(self) -> None:
        """The averaged step size and length, for the draws."""
        self._begin(exp(self.known.averaging.log_mean), exp(self.known.length.log_mean))

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All that the chains need to go on bit for bit."""
        q, logp, force = self.here
        found = {
            "keys": self.keys, "q": q, "logp": logp, "force": force, "transitions": self.transitions,
            "renewed": self.renewed, "scale": self.metric.scale, "averaging": np.array(self.known.averaging),
            "length": np.array(self.known.length), "pooled": np.stack([*self.known.q[1:], *self.known.grad[1:]]),
            "pooled_n": self.known.q.n,
        }  # fmt: skip
        return {name: np.asarray(x) for name, x in found.items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a snapshot."""
        x = snapshot
        self.transitions, self.renewed = np.uint64(x["transitions"]), int(x["renewed"])
        self.metric = Metric.diagonal(x["scale"])
        self.keys, *here = self.device.spread((x["keys"], x["q"], x["logp"], x["force"]))
        self.here = tuple(here)
        q, grad = (Pooled(x["pooled_n"], *x["pooled"][k : k + 2]) for k in (0, 2))
        self.known = Learning(Averaging(*x["averaging"]), Length(*x["length"]), q, grad)

    @property
    def nothing(self) -> Pooled:
        """Moments of no draws."""
        return Pooled.start(len(self.metric.scale))

    def _begin(self, eps: float, length: float) -> None:
        self.known = Learning(Averaging.start(eps), Length.start(log(length)), self.nothing, self.nothing)

    def _first_step_size(self, eps: float) -> float:
        """That at which the mean acceptance of one step crosses 0.8."""
        chains, dim = self.here[0].shape
        rng = np.random.default_rng([int(self.keys[0]), self.renewed])
        stacked = Metric(*(np.broadcast_to(x, (chains, *np.shape(x))) for x in self.metric))
        fixed = self.device.spread((stacked, rng.standard_normal((chains, dim))))

        def good(eps: Vector) -> NDArray[np.bool_]:
            chain_eps = self.device.spread(np.broadcast_to(eps, chains))
            error = np.asarray(self.errors(self.device.data, (*self.here, *fixed, chain_eps), ())[0])
            with np.errstate(all="ignore"):
                accept = np.where(np.isfinite(error), np.exp(np.minimum(0.0, -error)), 0.0)
            return np.array([accept.mean() > 0.8])

        return float(crossing(good, np.array([eps]))[0])
