"""The no-U-turn sampler under XLA: the transitions of the machine code, for many chains at once.

Each chain has the random numbers, the windows and the metric that it has in machine code. In a transition all wait for
the longest trajectory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.compiler.xla.library import jax, jnp, lax
from probdiff.compiler.xla.lower import called
from probdiff.sampling.adaptation import Averaging, Window, accepted, crossing, windows
from probdiff.sampling.chain import Block
from probdiff.sampling.device import Device, Plan
from probdiff.sampling.kernel import State, Vector
from probdiff.sampling.lockstep import LENGTH, Count, Rows
from probdiff.sampling.metric import Metric, learn, most_directions
from probdiff.sampling.nuts import FIELDS, NUTS, one
from probdiff.sampling.trajectory import step_error

DIVERGING, STEPS, DEPTH = (FIELDS.index(name) for name in ("diverging", "n_steps", "tree_depth"))


def empty_rows(q: Any, fields: Sequence[str]) -> tuple[Any, Any]:
    """Room for the places and the statistics of a piece, for chains at `q`."""
    return jnp.zeros((LENGTH, *q.shape)), jnp.zeros((LENGTH, len(q), len(fields)))


def piece(plan: Plan, levels: int) -> Any:
    """The program of up to LENGTH transitions of each chain."""
    move = one(levels)

    def transitions(data: Any, chains: Any, settings: Any) -> Any:
        density = plan.value_and_grad(data)
        (*here, counter), metric, key = chains
        n, *rest = settings

        def chain(here: Any, counter: Any, metric: Any, key: Any) -> Any:
            return called(move, (np.int64(0), *here, metric, key, counter, *rest), density)

        def transition(k: Any, carry: Any) -> Any:
            here, counter, rows = carry
            (*here, counter), row = jax.vmap(chain)(here, counter, metric, key)
            return here, counter, jax.tree.map(lambda x, y: x.at[k].set(y), rows, row)

        places, table = empty_rows(here[0], FIELDS)
        rows = places, places, table, (places, places)
        here, counter, (q, force, stats, last) = lax.fori_loop(0, n, transition, (here, counter, rows))
        count = Count(stats[:, :, DIVERGING].sum(0), stats[:, :, STEPS].sum(0), stats[n - 1, :, DEPTH])
        return ((*here, counter), count), (force, Rows(q, stats, *last))

    return plan.over_chains(transitions)


def errors(plan: Plan) -> Any:
    """The program of the energy error of one leapfrog step of each chain."""

    def of_all(data: Any, chains: Any, settings: Any) -> Any:
        density = plan.value_and_grad(data)

        def chain(*args: Any) -> Any:
            return called(step_error, (np.int64(0), *args), density)

        return jax.vmap(chain)(*chains), ()

    return plan.over_chains(of_all)


class NutsMotion:
    """Chains of the no-U-turn sampler that move together."""

    fields = FIELDS

    def __init__(self, kernel: NUTS, device: Device, rngs: Sequence[np.random.Generator], states: Sequence[State],
                 tune: int) -> None:  # fmt: skip
        self.kernel, self.device = kernel, device
        self.windows = windows(tune)
        self.renewed = 0
        self.keys = np.array([rng.integers(0, 2**64, dtype=np.uint64) for rng in rngs])
        dim = len(states[0].q)
        self.metrics = [Metric.diagonal(np.ones(dim), most_directions(kernel.metric, dim)) for _ in states]
        self.piece = device.program(piece, kernel.max_depth)
        self.errors = device.program(errors)
        self.state: Any  # positions, log-densities, forces, dual averaging and counters
        self.stacked: Any
        self.key: Any
        self.seen: list[Block] = []  # draws and forces of the window
        q, logp, force = (np.array(x) for x in zip(*states, strict=True))
        eps = np.full(len(states), kernel.step_size)
        if kernel.step_size is None:
            eps = self._first_step_sizes(q, logp, force, np.full(len(states), 0.1))
        self._begin(q, logp, force, eps, np.zeros(len(states), np.uint64))

    @property
    def step_size(self) -> float:
        """The mean of the chains' next ones."""
        return float(np.mean(self.averaging.eps))

    @property
    def averaging(self) -> Averaging:
        """Where dual averaging is, by chain."""
        return Averaging(*map(np.asarray, self.state[3]))

    def move(self, n: int, window: Window, tuning: bool) -> tuple[Rows, Count]:
        """n transitions of each chain; none to compile."""
        depth = min(window.depth, self.kernel.max_depth)
        settings = n, depth, float(self.kernel.target_accept), float(self.kernel.jitter), tuning
        chains = self.state, self.stacked, self.key
        (state, count), (force, rows) = self.piece(self.device.data, chains, settings)
        count = Count(*map(np.asarray, count))  # waits
        self.state = state
        if tuning and window.learns:
            self.seen.append(Block(rows.q, force, n))
        return rows, count

    def learn(self) -> None:
        """A metric for each chain from its window's draws, and a step size for it."""
        q, force = (np.concatenate(parts) for parts in zip(*self.seen, strict=True))
        self.seen = []
        way_in = 0 if self.renewed else len(q) // 3  # from the starting point
        at, logp = map(np.asarray, self.state[:2])
        grad = np.stack([metric.unpull(force[:, c]) for c, metric in enumerate(self.metrics)], axis=1)
        with np.errstate(all="ignore"):
            self.metrics = [
                learn(q[way_in:, c], grad[way_in:, c], self.kernel.metric, not self.renewed, metric)
                for c, metric in enumerate(self.metrics)
            ]
        now = np.stack([metric.pull(grad[-1, c]) for c, metric in enumerate(self.metrics)])
        eps = self.averaging.eps
        eps = np.minimum(np.where(np.isfinite(eps) & (eps > 0), eps, 0.5), 1.0)
        self._begin(at, logp, now, self._first_step_sizes(at, logp, now, eps), np.asarray(self.state[4]))
        self.renewed += 1

    def check(self) -> None:
        """Warn if the precision is too low where the chains are."""
        self.device.check_precision(self.state[0], self.state[1])

    def settle(self) -> None:
        """The averaged step sizes, for the draws."""
        q, logp, force, _, counter = map(np.asarray, (*self.state[:3], 0, self.state[4]))
        self._begin(q, logp, force, np.exp(self.averaging.log_mean), counter)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All that the chains need to go on bit for bit."""
        q, logp, force, averaging, counter = self.state
        none = np.zeros((0, *q.shape))
        seen_q, seen_force = (np.concatenate([none, *parts]) for parts in zip((none, none), *self.seen, strict=True))
        found = {
            "q": q, "logp": logp, "force": force, "averaging": np.stack(averaging), "counter": counter,
            "keys": self.keys, "renewed": self.renewed, "seen_q": seen_q, "seen_force": seen_force,
            **self.stacked._asdict(),
        }  # fmt: skip
        return {name: np.asarray(x) for name, x in found.items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a snapshot."""
        x = snapshot
        self.keys, self.renewed = x["keys"], int(x["renewed"])
        self.seen = [Block(x["seen_q"], x["seen_force"], len(x["seen_q"]))]
        self.metrics = [Metric(*parts) for parts in zip(*(x[name] for name in Metric._fields), strict=True)]
        self._place(x["q"], x["logp"], x["force"], Averaging(*x["averaging"]), x["counter"])

    def _begin(self, q: Any, logp: Any, force: Any, eps: Vector, counter: Any) -> None:
        averaging = Averaging(*(np.array(x) for x in zip(*map(Averaging.start, eps), strict=True)))
        self._place(q, logp, force, averaging, counter)

    def _place(self, *state: Any) -> None:
        stacked = Metric(*(np.stack(parts) for parts in zip(*self.metrics, strict=True)))
        self.state, self.stacked, self.key = self.device.spread((state, stacked, self.keys))

    def _first_step_sizes(self, q: Any, logp: Any, force: Any, eps: Vector) -> Vector:
        rngs = [np.random.default_rng([int(key), self.renewed]) for key in self.keys]
        r = np.stack([rng.standard_normal(q.shape[1]) for rng in rngs])
        stacked = Metric(*(np.stack(parts) for parts in zip(*self.metrics, strict=True)))
        fixed = self.device.spread((q, logp, force, stacked, r))

        def good(eps: Vector) -> NDArray[np.bool_]:
            chains = *fixed, self.device.spread(eps)
            return accepted(np.asarray(self.errors(self.device.data, chains, ())[0]))

        return crossing(good, eps)
