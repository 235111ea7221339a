"""One transition: the integrator, and the tree against a recursion written the other way round."""

import numpy as np
import pytest

from probdiff import compile
from probdiff.sampling import Target, trajectory
from probdiff.sampling.nuts import Averaging, Density, piece
from probdiff.sampling.random import normal, uniform
from probdiff.sampling.trajectory import Point, bit_count, leapfrog, transition
from tests.sampling.faults import FAULTS, planted

LEVELS = 6


def gaussian(q):
    return -0.5 * float(q @ q), -q


def correlated(q):
    grad = -np.array([2.6 * q[0] - 2.4 * q[1], 2.6 * q[1] - 2.4 * q[0]])
    return 0.5 * float(q @ grad), grad


def banana(q):
    r = q[1] - q[0] ** 2
    return -0.5 * float(q[0] ** 2 + 9 * r * r), np.array([-q[0] + 18 * r * q[0], -9 * r])


def wall(q):
    """No density beyond 1: half of the trajectories end there."""
    return (-0.5 * float(q @ q), -q) if q[0] < 1 else (np.nan, q * np.nan)


CASES = [(gaussian, 1), (gaussian, 3), (correlated, 2), (banana, 2), (wall, 2)]


# ── The integrator ──────────────────────────────────────────────────────────────────────────────────────────────────


def start_at(function, q, p):
    logp, grad = function(q)
    return Point(q, p, np.float64(logp), grad)


def test_leapfrog_is_reversible_and_keeps_volume():
    density = Density(Target(banana, 2))
    rng = np.random.default_rng(0)
    inv_mass = np.array([0.5, 2.0])
    z = start = start_at(banana, rng.normal(size=2), rng.normal(size=2))
    for _ in range(50):
        z = leapfrog(density.address, z, 0.05, inv_mass)
    z = z._replace(p=-z.p)
    for _ in range(50):
        z = leapfrog(density.address, z, 0.05, inv_mass)
    # Rounding alone, grown by a trajectory that is mildly unstable.
    np.testing.assert_allclose(z.q, start.q, atol=1e-11)
    np.testing.assert_allclose(-z.p, start.p, atol=1e-11)

    def flow(x):
        end = leapfrog(density.address, start_at(banana, x[:2], x[2:]), 0.1, inv_mass)
        return np.concatenate([end.q, end.p])

    x, h = np.concatenate([start.q, start.p]), 1e-5
    jacobian = np.array([(flow(x + h * e) - flow(x - h * e)) / (2 * h) for e in np.eye(4)])
    assert np.linalg.det(jacobian) == pytest.approx(1.0, abs=1e-7)  # central differences leave h^2


def test_the_energy_error_is_of_second_order():
    density = Density(Target(banana, 2))
    inv_mass = np.array([0.5, 2.0])
    start = start_at(banana, np.array([0.7, -0.3]), np.array([0.4, 1.1]))
    errors = []
    for steps in (50, 100, 200, 400):
        z = start
        for _ in range(steps):
            z = leapfrog(density.address, z, 1.0 / steps, inv_mass)
        errors.append(abs(float(trajectory.energy(z, inv_mass) - trajectory.energy(start, inv_mass))))
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.1)


def test_bit_count():
    n = np.concatenate([np.arange(5000), 2 ** np.arange(32) - 1, 2 ** np.arange(31)])
    assert bit_count(n).tolist() == [int(k).bit_count() for k in n]


# ── The tree ────────────────────────────────────────────────────────────────────────────────────────────────────────


def turned(left, right, total, inv_mass):
    drift = inv_mass * total
    return left @ drift <= 0 or right @ drift <= 0


def turns(ps, half, inv_mass):
    """Whether momenta turn as a whole, or either half of them with the nearest one of the other half."""
    return (
        turned(ps[0], ps[-1], sum(ps), inv_mass)
        or turned(ps[0], ps[half], sum(ps[: half + 1]), inv_mass)
        or turned(ps[half - 1], ps[-1], sum(ps[half - 1 :]), inv_mass)
    )


class Reference:
    """A transition by recursion: every subtree keeps all its leaves and sums them anew for each check."""

    def __init__(self, function, q, eps, inv_mass, key, counter, max_depth):
        self.function, self.inv_mass, self.key = function, inv_mass, key
        d = len(q)
        with np.errstate(over="ignore"):
            p = normal(key, counter + np.arange(d, dtype=np.uint64)) / np.sqrt(inv_mass)
        z = start_at(function, q, p)
        self.start, self.n_steps, self.accepted, self.worst = self.energy(z), 0, 0.0, 0.0
        self.diverging = False
        self.chosen, weight, self.depth = z, 0.0, 0
        leaves, stop = [z], False
        place = counter + np.uint64(d)
        while self.depth < max_depth and not stop:
            offset = place + np.uint64(2**self.depth + 2 * self.depth)
            forward = uniform(key, offset) < 0.5
            self.place, self.step = offset + np.uint64(2), eps if forward else -eps
            self.log_weight, self.candidate, self.count = -np.inf, None, 0
            edge = leaves[-1] if forward else leaves[0]
            grown, stop = self.grow(edge, self.depth)
            self.depth += 1
            if not stop:
                if np.log(uniform(key, offset + np.uint64(1))) < self.log_weight - weight:
                    self.chosen = self.candidate
                weight = np.logaddexp(weight, self.log_weight)
                old, new = (leaves, grown) if forward else (grown[::-1], leaves)
                leaves = old + new
                stop = turns([z.p for z in leaves], len(old), self.inv_mass)

    def energy(self, z):
        e = 0.5 * float(z.p @ (self.inv_mass * z.p)) - float(z.logp)
        return e if np.isfinite(e) else np.inf

    def grow(self, edge, depth):
        if depth == 0:
            return self.leaf(edge)
        first, stop = self.grow(edge, depth - 1)
        if stop:
            return first, True
        second, stop = self.grow(first[-1], depth - 1)
        leaves = first + second
        return leaves, stop or turns([z.p for z in leaves], len(first), self.inv_mass)

    def leaf(self, edge):
        half = edge.p + 0.5 * self.step * edge.grad
        q = edge.q + self.step * self.inv_mass * half
        logp, grad = self.function(q)
        z = Point(q, half + 0.5 * self.step * grad, logp, grad)
        error = self.energy(z) - self.start
        self.diverging = not error <= 1000
        self.accepted += min(1.0, float(np.exp(-error)))
        self.worst = max(self.worst, abs(error))
        self.n_steps += 1
        self.log_weight = np.logaddexp(self.log_weight, -error)
        if np.log(uniform(self.key, self.place + np.uint64(self.count))) < -error - self.log_weight:
            self.candidate = z
        self.count += 1
        return [z], self.diverging


def differences(program, function, dim, count=60):
    """In how many of `count` transitions a program and the recursion differ; and in how many ways they ended."""
    density, rng, differ, ways = Density(Target(function, dim)), np.random.default_rng(dim), 0, set()
    for k in range(count):
        q = np.minimum(rng.normal(size=dim), 0.9)
        logp, grad = function(q)
        eps, inv_mass = float(np.exp(rng.uniform(-3.5, 0.7))), np.exp(rng.normal(size=dim))
        key, counter = np.uint64(k), np.uint64(rng.integers(2**63))
        max_depth = int(rng.integers(1, LEVELS + 1))
        with np.errstate(all="ignore"):
            out = program(density.address, q, np.float64(logp), grad, np.float64(eps), inv_mass, key, counter,
                          np.int64(max_depth))  # fmt: skip
            ref = Reference(function, q, eps, inv_mass, key, counter, max_depth)
        integers = (int(out.n_steps), int(out.tree_depth), bool(out.diverging))
        numbers = [*out.proposal.q, float(out.acceptance_rate), float(out.max_energy_error), float(out.start_energy)]
        expected = [*ref.chosen.q, ref.accepted / ref.n_steps, ref.worst, ref.start]
        # Sums in another order; an unstable trajectory of 63 steps makes more of it.
        same = integers == (ref.n_steps, ref.depth, ref.diverging) and np.allclose(numbers, expected, 1e-8, 1e-8)
        differ += not same
        ways.add((ref.depth, ref.diverging, ref.n_steps == 2**ref.depth - 1))
    return differ, len(ways)


def native(source):
    return compile(lambda *args: source(*args, LEVELS))


@pytest.fixture(scope="module")
def machine_code():
    return native(transition)


@pytest.mark.parametrize("function, dim", CASES)
def test_the_tree_is_that_of_the_recursion(machine_code, function, dim):
    differ, ways = differences(machine_code, function, dim)
    assert differ == 0
    assert ways >= 5  # the cases end at several depths, some in the middle of a subtree


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault):
    module = planted(fault)
    program = native(module.transition)
    trees = sum(differences(program, function, dim, 40)[0] for function, dim in CASES)
    assert trees + subtree_differences(module)[0] > 0


def subtree_differences(module, walks=40, leaves=16, dim=3):
    """In how many checks of all subtrees that end at a leaf a module and the definition differ; how many turn."""
    check = compile(module.turns_inside)
    rng, differ, turning = np.random.default_rng(5), 0, 0
    for _ in range(walks):
        inv_mass = np.exp(rng.normal(size=dim))
        # Momenta that mostly go one way, as far as they can without the whole turning at once.
        ps = rng.normal(size=(leaves + 1, dim)) + rng.uniform(0.5, 1.5)
        marks, total = module.Marks(*np.zeros((3, LEVELS + 1, dim))), np.zeros(dim)
        for n in range(leaves):
            p, total = ps[n + 1], total + ps[n + 1]
            if n % 2 == 0:
                for mark, value in zip(marks, (p, total, ps[n]), strict=True):
                    mark[(n >> 1).bit_count()] = value
                continue
            z = Point(p, p, np.float64(0.0), p)
            found = bool(check(marks, z, total, np.int64(n), inv_mass))
            sizes = [2**k for k in range(1, 6) if (n + 1) % 2**k == 0]
            direct = any(turns(ps[n + 2 - size : n + 2], size // 2, inv_mass) for size in sizes)
            differ += found != direct
            turning += direct
    return differ, turning


def test_the_checks_of_subtrees_are_those_of_the_definition():
    differ, turning = subtree_differences(trajectory)
    assert differ == 0
    assert 32 < turning < 288  # of 320: both answers are there


# ── One program, two ways to run it ─────────────────────────────────────────────────────────────────────────────────


def piece_arguments(function, dim, eps, tuning):
    q = np.full(dim, 0.4)
    logp, grad = function(q)
    density = Density(Target(function, dim))
    return density, (
        density.address, q, np.float64(logp), grad, Averaging.start(eps), np.linspace(0.5, 2, dim), np.uint64(7),
        np.uint64(100), np.int64(5), np.float64(0.8), np.bool_(tuning),
    )  # fmt: skip


@pytest.mark.parametrize("function, dim", CASES)
def test_interpreter_and_machine_code_make_the_same_transitions(function, dim):
    density, arguments = piece_arguments(function, dim, 0.3, True)
    (q, logp, grad, averaging, counter), (qs, grads, stats) = compile(piece(5, LEVELS))(*arguments)
    with np.errstate(all="ignore"):
        state, rows = compile(piece(5, LEVELS), backend="numpy")(*arguments)
    # Sums in another order, through five transitions that each start where the last one ended.
    for a, b in zip((q, logp, grad, *averaging, qs, grads, stats), (*state[:3], *state[3], *rows), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert counter == state[4]
    integers = [3, 5, 8, 9]  # n_steps, diverging, tree_depth, reached_max_treedepth
    assert stats[:, integers].tolist() == rows[2][:, integers].tolist()


def test_transitions_share_no_random_number(monkeypatch):
    """Every counter that three transitions of full depth use is used once."""
    levels, dim, length = 5, 3, 3
    density, arguments = piece_arguments(gaussian, dim, 1e-4, False)
    (*_, end), (_, _, stats) = compile(piece(length, levels))(*arguments)
    first = int(arguments[7])
    stride = (int(end) - first) // length
    assert np.all(stats[:, 3] == 2**levels - 1)
    taken = []

    def counted(draw):
        def drawn(key, n):
            taken.extend(int(k) for k in np.ravel(n))
            return draw(key, n)

        return drawn

    monkeypatch.setattr(trajectory, "uniform", counted(uniform))
    monkeypatch.setattr(trajectory, "normal", counted(normal))
    address, q, logp, grad, _, inv_mass, key = arguments[:7]
    for k in range(length):
        with np.errstate(all="ignore"):
            out = transition(address, q, logp, grad, np.float64(1e-4), inv_mass, key,
                             np.uint64(first + k * stride), np.int64(levels), levels)  # fmt: skip
        assert out.n_steps == 2**levels - 1
    assert len(taken) == length * (dim + 2 * levels + 2**levels - 1)
    assert len(set(taken)) == len(taken)
    assert first <= min(taken) and max(taken) < int(end)
