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
from probdiff.sampling.random import normal, uniform
from probdiff.tree import Array

MAX_ENERGY_ERROR = 1000.0


class Point(NamedTuple):
    """A position with momentum, log-density and its gradient."""

    q: Array
    p: Array
    logp: Array
    grad: Array


class Proposal(NamedTuple):
    """The candidate for the next draw."""

    q: Array
    logp: Array
    grad: Array
    energy: Array


class Marks(NamedTuple):
    """First leaves of the unfinished subtrees: their momenta, the sums up to them, and the momenta just before them."""

    p: Array
    total: Array
    before: Array


class Outcome(NamedTuple):
    """Where a transition went, and what ArviZ wants to know of it."""

    proposal: Proposal
    acceptance_rate: Array
    n_steps: Array
    tree_depth: Array
    diverging: Array
    max_energy_error: Array
    start_energy: Array
    turned: Array


def leapfrog(address: Array, z: Point, eps: Array, inv_mass: Array) -> Point:
    """p' = p + eps/2 grad(q);  q' = q + eps M^-1 p';  p'' = p' + eps/2 grad(q')"""
    half = z.p + 0.5 * eps * z.grad
    q = z.q + eps * inv_mass * half
    logp, grad = CALL_DENSITY.run(address, q)
    return Point(q, half + 0.5 * eps * grad, logp, grad)


def energy(z: Point, inv_mass: Array) -> Array:
    """H = p' M^-1 p / 2 - log p(q)"""
    return 0.5 * np.sum(z.p * z.p * inv_mass) - z.logp


def turning(left: Array, right: Array, total: Array, inv_mass: Array) -> Array:
    """Whether a trajectory with these momenta at its ends and this sum of momenta turns at one of them."""
    drift = inv_mass * total
    return (np.sum(left * drift) <= 0.0) | (np.sum(right * drift) <= 0.0)


def bit_count(n: Array) -> Array:
    """The number of ones in the binary digits of n < 2^32."""
    n = n - ((n >> 1) & 0x55555555)
    n = (n & 0x33333333) + ((n >> 2) & 0x33333333)
    n = (n + (n >> 4)) & 0x0F0F0F0F
    return (n * 0x01010101 >> 24) & 0xFF


def turns_inside(marks: Marks, z: Point, total: Array, n: Array, inv_mass: Array) -> Array:
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
        p, up_to = take(marks.p, i, axis=0), take(marks.total, i, axis=0)
        whole = total - up_to + p
        inner = np.minimum(i + 1, last)  # the right half starts at the next mark; a pair has no halves
        q, upper, before = (take(m, inner, axis=0) for m in marks)
        left = upper - q - up_to + p
        right = total - upper + q
        halves = turning(p, q, left + q, inv_mass) | turning(before, z.p, right + before, inv_mass)
        return i - 1, turning(p, z.p, whole, inv_mass) | ((i < last) & halves)

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
    address: Array, edge: Point, eps: Array, depth: Array, start: Array, inv_mass: Array, rng: Any, levels: int
) -> Subtree:
    """2^depth leaves from `edge` on; stops where it turns or diverges."""
    d = edge.q.shape[0]
    key, counter = rng
    size = 1 << depth
    nothing = Proposal(edge.q, edge.logp, edge.grad, start)
    marks = Marks(np.zeros((levels + 1, d)), np.zeros((levels + 1, d)), np.zeros((levels + 1, d)))
    first = Subtree(
        np.int64(0), edge, nothing, np.float64(-np.inf), np.zeros(d), marks, np.False_, np.False_, np.float64(0.0),
        np.float64(0.0),
    )  # fmt: skip

    def going(s: Subtree) -> Array:
        return (s.n < size) & ~s.stop

    def leaf(s: Subtree) -> Subtree:
        z = leapfrog(address, s.z, eps, inv_mass)
        e = energy(z, inv_mass)
        e = np.where(np.isfinite(e), e, np.inf)  # also where the density is infinite: nothing leads away from there
        error = e - start
        diverging = ~(error <= MAX_ENERGY_ERROR)
        log_weight = np.logaddexp(s.log_weight, -error)
        u = uniform(key, counter + s.n.astype(np.uint64))
        chosen = np.log(u) < -error - log_weight
        proposal = Proposal(
            np.where(chosen, z.q, s.proposal.q),
            np.where(chosen, z.logp, s.proposal.logp),
            np.where(chosen, z.grad, s.proposal.grad),
            np.where(chosen, e, s.proposal.energy),
        )
        total = s.total + z.p
        even = (s.n & 1) == 0
        place = np.where(even, bit_count(s.n >> 1), levels)  # odd leaves write to a spare row
        marks = Marks(
            set_at(s.marks.p, place, z.p), set_at(s.marks.total, place, total), set_at(s.marks.before, place, s.z.p)
        )
        turned = turns_inside(s.marks, z, total, np.where(even, 0, s.n), inv_mass) & ~even
        return Subtree(
            s.n + 1, z, proposal, log_weight, total, marks, turned | diverging, diverging,
            s.accepted + np.minimum(1.0, np.exp(-error)), np.maximum(s.worst, np.abs(error)),
        )  # fmt: skip

    last: Subtree = while_loop(going, leaf, first)
    return last


class Tree(NamedTuple):
    """A trajectory: its two ends, its candidate, log-weight and sum of momenta, and how it fared."""

    depth: Array
    left: Point
    right: Point
    proposal: Proposal
    log_weight: Array
    total: Array
    stop: Array
    turned: Array
    diverging: Array
    accepted: Array
    leaves: Array
    worst: Array


def transition(
    address: Array, q: Array, logp: Array, grad: Array, eps: Array, inv_mass: Array, key: Array, counter: Array,
    max_depth: Array, levels: int,
) -> Outcome:  # fmt: skip
    """The next draw after q; `counter` is the first of the random numbers that are the transition's own."""
    d = q.shape[0]
    p = normal(key, counter + np.arange(d, dtype=np.uint64)) / np.sqrt(inv_mass)
    begin = Point(q, p, logp, grad)
    start = energy(begin, inv_mass)
    base = counter + np.uint64(d)
    tree = Tree(
        np.int64(0), begin, begin, Proposal(q, logp, grad, start), np.float64(0.0), p, np.False_, np.False_,
        np.False_, np.float64(0.0), np.int64(0), np.float64(0.0),
    )  # fmt: skip

    def going(t: Tree) -> Array:
        return (t.depth < max_depth) & ~t.stop

    def double(t: Tree) -> Tree:
        # 2 + 2^depth numbers from 2^depth + 2 depth on: no two doublings share one
        offset = base + (1 << t.depth).astype(np.uint64) + 2 * t.depth.astype(np.uint64)
        forward = uniform(key, offset) < 0.5
        edge = Point(*(np.where(forward, r, s) for r, s in zip(t.right, t.left, strict=True)))
        outer = np.where(forward, t.left.p, t.right.p)
        rng = key, offset + np.uint64(2)
        s = grow(address, edge, np.where(forward, eps, -eps), t.depth, start, inv_mass, rng, levels)
        left = Point(*(np.where(forward, a, b) for a, b in zip(t.left, s.z, strict=True)))
        right = Point(*(np.where(forward, b, a) for a, b in zip(t.right, s.z, strict=True)))
        u = uniform(key, offset + np.uint64(1))
        chosen = ~s.stop & (np.log(u) < s.log_weight - t.log_weight)
        proposal = Proposal(*(np.where(chosen, a, b) for a, b in zip(s.proposal, t.proposal, strict=True)))
        total = t.total + s.total
        near = take(s.marks.p, 0, axis=0)  # the first leaf of the new half
        turned = (
            turning(left.p, right.p, total, inv_mass)
            | turning(outer, near, t.total + near, inv_mass)
            | turning(edge.p, s.z.p, s.total + edge.p, inv_mass)
        )
        return Tree(
            t.depth + 1, left, right, proposal, np.logaddexp(t.log_weight, s.log_weight), total, s.stop | turned,
            (s.stop & ~s.diverging) | turned, s.diverging, t.accepted + s.accepted, t.leaves + s.n,
            np.maximum(t.worst, s.worst),
        )  # fmt: skip

    t = while_loop(going, double, tree)
    return Outcome(t.proposal, t.accepted / t.leaves, t.leaves, t.depth, t.diverging, t.worst, start, t.turned)
