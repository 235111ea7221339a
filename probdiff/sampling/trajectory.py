"""One transition of the no-U-turn sampler, in traced operations: no recursion, no stored trajectory.

A trajectory doubles, forwards or backwards in time, until it turns: until the momentum at one of its ends points
against the sum of all its momenta. The next draw is one of its points, chosen by weight (Hoffman & Gelman 2014;
Betancourt 2017). A subtree of 2^k leaves is walked leaf by leaf; for the turning checks of its own subtrees it is
enough to remember the first leaf of each unfinished one, of which there are at most k (as in Lao & Dillon 2019 and Phan
et al. 2019).

The density is called by the address of a C function, so that one recording serves every model of a dimension.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from probdiff.ad.control import while_loop
from probdiff.ops.control import CALL_DENSITY
from probdiff.ops.functions.selection import take
from probdiff.ops.index import set_at
from probdiff.sampling.metric import Metric
from probdiff.sampling.random import normal, uniform
from probdiff.tree import Array

MAX_ENERGY_ERROR = 1000.0


class Point(NamedTuple):
    """A position, momentum in round coordinates, log-density, and its gradient in round coordinates, L' grad."""

    q: Array
    r: Array
    logp: Array
    force: Array


class Proposal(NamedTuple):
    """The candidate for the next draw."""

    q: Array
    logp: Array
    force: Array
    energy: Array


class Marks(NamedTuple):
    """First leaves of the unfinished subtrees: their momenta, the sums up to them, and the momenta just before them."""

    r: Array
    total: Array
    before: Array


class Outcome(NamedTuple):
    """Where a transition went, what ArviZ wants to know of it, and the last leaf: where it diverged, if it did."""

    proposal: Proposal
    acceptance_rate: Array
    n_steps: Array
    tree_depth: Array
    diverging: Array
    max_energy_error: Array
    start_energy: Array
    turned: Array
    last: Point


def stretched(metric: Metric, x: Array) -> Array:
    """(I + V' diag(stretch) V) x, by one direction after the other."""

    def add(carry: Any) -> Any:
        k, y = carry
        v = take(metric.vectors, k, axis=0)
        return k + 1, y + (take(metric.stretch, k, axis=0) * np.sum(v * x)) * v

    y: Array = while_loop(lambda carry: carry[0] < metric.rank, add, (np.int64(0), x))[1]
    return y


def leapfrog(address: Array, z: Point, eps: Array, metric: Metric) -> Point:
    """r' = r + eps/2 L' grad(q);  q' = q + eps L r';  r'' = r' + eps/2 L' grad(q')"""
    half = z.r + 0.5 * eps * z.force
    q = z.q + eps * metric.scale * stretched(metric, half)
    logp, grad = CALL_DENSITY.run(address, q)
    force = stretched(metric, metric.scale * grad)
    return Point(q, half + 0.5 * eps * force, logp, force)


def energy(z: Point) -> Array:
    """H = r' r / 2 - log p(q)"""
    return 0.5 * np.sum(z.r * z.r) - z.logp


def step_error(address: Array, q: Array, logp: Array, force: Array, metric: Metric, r: Array, eps: Array) -> Array:
    """How much one leapfrog step from (q, r) adds to the energy."""
    z = Point(q, r, logp, force)
    return energy(leapfrog(address, z, eps, metric)) - energy(z)


def path(address: Array, z: Point, eps: Array, n: Array, metric: Metric) -> Point:
    """n leapfrog steps."""

    def further(carry: Any) -> Any:
        k, z = carry
        return k + 1.0, leapfrog(address, z, eps, metric)

    end: Point = while_loop(lambda carry: carry[0] < n, further, (np.float64(0.0), z))[1]
    return end


def turning(left: Array, right: Array, total: Array) -> Array:
    """Whether a trajectory with these momenta at its ends and this sum of momenta turns at one of them."""
    return (np.sum(left * total) <= 0.0) | (np.sum(right * total) <= 0.0)


def bit_count(n: Array) -> Array:
    """The number of ones in the binary digits of n < 2^32."""
    n = n - ((n >> 1) & 0x55555555)
    n = (n & 0x33333333) + ((n >> 2) & 0x33333333)
    n = (n + (n >> 4)) & 0x0F0F0F0F
    return (n * 0x01010101 >> 24) & 0xFF


def turns_inside(marks: Marks, z: Point, total: Array, n: Array) -> Array:
    """Whether a subtree that ends with leaf n turns.

    The trailing ones of n count those subtrees; their first leaves are the last marks. A subtree is also checked across
    its two halves: each half with the first leaf of the other.
    """
    last = bit_count(n >> 1)
    count = bit_count((~n & (n + 1)) - 1)

    def again(carry: Any) -> Array:
        i, turned = carry
        return (i > last - count) & ~turned

    def check(carry: Any) -> Any:
        i, _ = carry
        r, up_to = take(marks.r, i, axis=0), take(marks.total, i, axis=0)
        whole = total - up_to + r
        inner = np.minimum(i + 1, last)  # the right half starts at the next mark; a pair has no halves
        middle, upper, before = (take(m, inner, axis=0) for m in marks)
        left = upper - middle - up_to + r
        right = total - upper + middle
        halves = turning(r, middle, left + middle) | turning(before, z.r, right + before)
        return i - 1, turning(r, z.r, whole) | ((i < last) & halves)

    return while_loop(again, check, (last, np.False_))[1]


class Subtree(NamedTuple):
    """A half of a trajectory as it grows: its leaf, its candidate, log-weight, momenta, and how it fared."""

    n: Array
    z: Point
    proposal: Proposal
    log_weight: Array
    total: Array
    marks: Marks
    stop: Array
    diverging: Array
    accepted: Array
    worst: Array


def grow(
    address: Array, edge: Point, eps: Array, depth: Array, start: Array, metric: Metric, rng: Any, levels: int
) -> Subtree:
    """2^depth leaves from `edge` on; stops where it turns or diverges."""
    d = edge.q.shape[0]
    key, counter = rng
    size = 1 << depth
    nothing = Proposal(edge.q, edge.logp, edge.force, start)
    marks = Marks(np.zeros((levels + 1, d)), np.zeros((levels + 1, d)), np.zeros((levels + 1, d)))
    first = Subtree(
        np.int64(0), edge, nothing, np.float64(-np.inf), np.zeros(d), marks, np.False_, np.False_, np.float64(0.0),
        np.float64(0.0),
    )  # fmt: skip

    def going(s: Subtree) -> Array:
        return (s.n < size) & ~s.stop

    def leaf(s: Subtree) -> Subtree:
        z = leapfrog(address, s.z, eps, metric)
        e = energy(z)
        e = np.where(np.isfinite(e), e, np.inf)  # also where the density is infinite: nothing leads away from there
        error = e - start
        diverging = ~(error <= MAX_ENERGY_ERROR)
        log_weight = np.logaddexp(s.log_weight, -error)
        u = uniform(key, counter + s.n.astype(np.uint64))
        chosen = np.log(u) < -error - log_weight
        proposal = Proposal(
            np.where(chosen, z.q, s.proposal.q),
            np.where(chosen, z.logp, s.proposal.logp),
            np.where(chosen, z.force, s.proposal.force),
            np.where(chosen, e, s.proposal.energy),
        )
        total = s.total + z.r
        even = (s.n & 1) == 0
        place = np.where(even, bit_count(s.n >> 1), levels)  # odd leaves write to a spare row
        marks = Marks(
            set_at(s.marks.r, place, z.r), set_at(s.marks.total, place, total), set_at(s.marks.before, place, s.z.r)
        )
        turned = turns_inside(s.marks, z, total, np.where(even, 0, s.n)) & ~even
        return Subtree(
            s.n + 1, z, proposal, log_weight, total, marks, turned | diverging, diverging,
            s.accepted + np.minimum(1.0, np.exp(-error)), np.maximum(s.worst, np.abs(error)),
        )  # fmt: skip

    last: Subtree = while_loop(going, leaf, first)
    return last


class Tree(NamedTuple):
    """A trajectory: its two ends, its candidate, log-weight and sum of momenta, how it fared and where it grew last."""

    depth: Array
    left: Point
    right: Point
    proposal: Proposal
    log_weight: Array
    total: Array
    stop: Array
    turned: Array
    diverging: Array
    forward: Array
    accepted: Array
    leaves: Array
    worst: Array


def transition(
    address: Array, q: Array, logp: Array, force: Array, eps: Array, metric: Metric, key: Array, counter: Array,
    max_depth: Array, levels: int,
) -> Outcome:  # fmt: skip
    """The next draw after q; `counter` is the first of the random numbers that are the transition's own."""
    d = q.shape[0]
    r = normal(key, counter + np.arange(d, dtype=np.uint64))
    begin = Point(q, r, logp, force)
    start = energy(begin)
    base = counter + np.uint64(d)
    tree = Tree(
        np.int64(0), begin, begin, Proposal(q, logp, force, start), np.float64(0.0), r, np.False_, np.False_,
        np.False_, np.False_, np.float64(0.0), np.int64(0), np.float64(0.0),
    )  # fmt: skip

    def going(t: Tree) -> Array:
        return (t.depth < max_depth) & ~t.stop

    def double(t: Tree) -> Tree:
        # 2 + 2^depth numbers from 2^depth + 2 depth on: no two doublings share one
        offset = base + (1 << t.depth).astype(np.uint64) + 2 * t.depth.astype(np.uint64)
        forward = uniform(key, offset) < 0.5
        edge = Point(*(np.where(forward, r, s) for r, s in zip(t.right, t.left, strict=True)))
        outer = np.where(forward, t.left.r, t.right.r)
        rng = key, offset + np.uint64(2)
        s = grow(address, edge, np.where(forward, eps, -eps), t.depth, start, metric, rng, levels)
        left = Point(*(np.where(forward, a, b) for a, b in zip(t.left, s.z, strict=True)))
        right = Point(*(np.where(forward, b, a) for a, b in zip(t.right, s.z, strict=True)))
        u = uniform(key, offset + np.uint64(1))
        chosen = ~s.stop & (np.log(u) < s.log_weight - t.log_weight)
        proposal = Proposal(*(np.where(chosen, a, b) for a, b in zip(s.proposal, t.proposal, strict=True)))
        total = t.total + s.total
        near = take(s.marks.r, 0, axis=0)  # the first leaf of the new half
        turned = (
            turning(left.r, right.r, total)
            | turning(outer, near, t.total + near)
            | turning(edge.r, s.z.r, s.total + edge.r)
        )
        return Tree(
            t.depth + 1, left, right, proposal, np.logaddexp(t.log_weight, s.log_weight), total, s.stop | turned,
            (s.stop & ~s.diverging) | turned, s.diverging, forward, t.accepted + s.accepted, t.leaves + s.n,
            np.maximum(t.worst, s.worst),
        )  # fmt: skip

    t = while_loop(going, double, tree)
    last = Point(*(np.where(t.forward, a, b) for a, b in zip(t.right, t.left, strict=True)))
    return Outcome(t.proposal, t.accepted / t.leaves, t.leaves, t.depth, t.diverging, t.worst, start, t.turned, last)
