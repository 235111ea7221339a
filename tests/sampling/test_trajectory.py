"""One transition: the integrator, and the tree against a recursion written the other way round."""

import numpy as np
import pytest

from probdiff import compile
from probdiff.sampling import Target, trajectory
from probdiff.sampling.adaptation import Averaging
from probdiff.sampling.metric import Metric
from probdiff.sampling.nuts import piece
from probdiff.sampling.nuts_chain import Density
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


def some_metric(rng, dim):
    """Of any scale and rank, with room for two directions more."""
    rank = int(rng.integers(0, dim + 1))
    vectors = np.linalg.qr(rng.normal(size=(dim, dim)))[0][:rank]
    stretch = np.exp(rng.normal(size=rank)) - 1
    return Metric(
        np.exp(rng.normal(size=dim)), np.pad(vectors, ((0, dim + 2 - rank), (0, 0))),
        np.pad(stretch, (0, dim + 2 - rank)), np.int64(rank),
    )  # fmt: skip


CASES = [(gaussian, 1), (gaussian, 3), (correlated, 2), (banana, 2), (wall, 2)]


# ── The integrator ──────────────────────────────────────────────────────────────────────────────────────────────────


def start_at(function, q, r, metric):
    logp, grad = function(q)
    return Point(q, r, np.float64(logp), metric.pull(grad))


METRIC = Metric(np.array([0.7, 1.4]), np.array([[0.6, 0.8]]), np.array([0.5]), np.int64(1))


def test_leapfrog_is_reversible_and_keeps_volume():
    density = Density(Target(banana, 2))
    rng = np.random.default_rng(0)
    z = start = start_at(banana, rng.normal(size=2), rng.normal(size=2), METRIC)
    for _ in range(50):
        z = leapfrog(density.address, z, 0.05, METRIC)
    z = z._replace(r=-z.r)
    for _ in range(50):
        z = leapfrog(density.address, z, 0.05, METRIC)
    # Rounding alone, grown by a trajectory that is mildly unstable.
    np.testing.assert_allclose(z.q, start.q, atol=1e-11)
    np.testing.assert_allclose(-z.r, start.r, atol=1e-11)

    def flow(x):
        end = leapfrog(density.address, start_at(banana, x[:2], x[2:], METRIC), 0.1, METRIC)
        return np.concatenate([end.q, end.r])

    x, h = np.concatenate([start.q, start.r]), 1e-5
    jacobian = np.array([(flow(x + h * e) - flow(x - h * e)) / (2 * h) for e in np.eye(4)])
    assert np.linalg.det(jacobian) == pytest.approx(1.0, abs=1e-7)  # central differences leave h^2


def test_the_energy_error_is_of_second_order():
    density = Density(Target(banana, 2))
    start = start_at(banana, np.array([0.7, -0.3]), np.array([0.4, 1.1]), METRIC)
    errors = []
    for steps in (50, 100, 200, 400):
        z = start
        for _ in range(steps):
            z = leapfrog(density.address, z, 1.0 / steps, METRIC)
        errors.append(abs(float(trajectory.energy(z) - trajectory.energy(start))))
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.1)


def test_bit_count():
    n = np.concatenate([np.arange(5000), 2 ** np.arange(32) - 1, 2 ** np.arange(31)])
    assert bit_count(n).tolist() == [int(k).bit_count() for k in n]


# ── The tree ────────────────────────────────────────────────────────────────────────────────────────────────────────


def turned(left, right, total):
    return left @ total <= 0 or right @ total <= 0


def turns(rs, half):
    """Whether momenta turn as a whole, or either half of them with the nearest one of the other half."""
    return (
        turned(rs[0], rs[-1], sum(rs))
        or turned(rs[0], rs[half], sum(rs[: half + 1]))
        or turned(rs[half - 1], rs[-1], sum(rs[half - 1 :]))
    )


class Reference:
    """A transition by recursion: every subtree keeps all its leaves and sums them anew for each check."""

    def __init__(self, function, q, eps, metric, key, counter, max_depth):
        self.function, self.metric, self.key = function, metric, key
        d = len(q)
        with np.errstate(over="ignore"):
            r = normal(key, counter + np.arange(d, dtype=np.uint64))
        z = start_at(function, q, r, metric)
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
                stop = turns([z.r for z in leaves], len(old))

    def energy(self, z):
        e = 0.5 * float(z.r @ z.r) - float(z.logp)
        return e if np.isfinite(e) else np.inf

    def grow(self, edge, depth):
        if depth == 0:
            return self.leaf(edge)
        first, stop = self.grow(edge, depth - 1)
        if stop:
            return first, True
        second, stop = self.grow(first[-1], depth - 1)
        leaves = first + second
        return leaves, stop or turns([z.r for z in leaves], len(first))

    def leaf(self, edge):
        half = edge.r + 0.5 * self.step * edge.force
        q = edge.q + self.step * self.metric.spread(half)
        logp, grad = self.function(q)
        force = self.metric.pull(grad)
        z = self.last = Point(q, half + 0.5 * self.step * force, logp, force)
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
        eps, metric = float(np.exp(rng.uniform(-3.5, 0.7))), some_metric(rng, dim)
        key, counter = np.uint64(k), np.uint64(rng.integers(2**63))
        max_depth = int(rng.integers(1, LEVELS + 1))
        with np.errstate(all="ignore"):
            force = metric.pull(grad)
            out = program(density.address, q, np.float64(logp), force, np.float64(eps), metric, key, counter,
                          np.int64(max_depth))  # fmt: skip
            ref = Reference(function, q, eps, metric, key, counter, max_depth)
        integers = (int(out.n_steps), int(out.tree_depth), bool(out.diverging))
        energies = out.acceptance_rate, out.max_energy_error, out.start_energy
        numbers = [*out.proposal.q, *out.last.q, *out.last.r, *energies]
        expected = [*ref.chosen.q, *ref.last.q, *ref.last.r, ref.accepted / ref.n_steps, ref.worst, ref.start]
        # Sums in another order; an unstable trajectory of 63 steps makes more of it.
        same = integers == (ref.n_steps, ref.depth, ref.diverging)
        same = same and np.allclose(numbers, expected, 1e-8, 1e-8, equal_nan=True)
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
    trees = sum(differences(program, function, dim)[0] for function, dim in CASES)
    assert trees + subtree_differences(module)[0] > 0


def subtree_differences(module, walks=40, leaves=16, dim=3):
    """In how many checks of all subtrees that end at a leaf a module and the definition differ; how many turn."""
    check = compile(module.turns_inside)
    rng, differ, turning = np.random.default_rng(5), 0, 0
    for _ in range(walks):
        # Momenta that mostly go one way, as far as they can without the whole turning at once.
        rs = rng.normal(size=(leaves + 1, dim)) + rng.uniform(0.1, 1.1)
        marks, total = module.Marks(*np.zeros((3, LEVELS + 1, dim))), np.zeros(dim)
        for n in range(leaves):
            r, total = rs[n + 1], total + rs[n + 1]
            if n % 2 == 0:
                for mark, value in zip(marks, (r, total, rs[n]), strict=True):
                    mark[(n >> 1).bit_count()] = value
                continue
            z = Point(r, r, np.float64(0.0), r)
            found = bool(check(marks, z, total, np.int64(n)))
            sizes = [2**k for k in range(1, 6) if (n + 1) % 2**k == 0]
            direct = any(turns(rs[n + 2 - size : n + 2], size // 2) for size in sizes)
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
    density, metric = Density(Target(function, dim)), some_metric(np.random.default_rng(dim), dim)
    return density, (
        density.address, q, np.float64(logp), metric.pull(grad), Averaging.start(eps), metric, np.uint64(7),
        np.uint64(100), np.int64(5), np.float64(0.8), np.float64(0.2), np.bool_(tuning),
    )  # fmt: skip


@pytest.mark.parametrize("function, dim", CASES)
def test_interpreter_and_machine_code_make_the_same_transitions(function, dim):
    density, arguments = piece_arguments(function, dim, 0.3, True)
    (q, logp, force, averaging, counter), (qs, forces, stats, ends) = compile(piece(5, LEVELS))(*arguments)
    with np.errstate(all="ignore"):
        state, rows = compile(piece(5, LEVELS), backend="numpy")(*arguments)
    # Sums in another order, through five transitions that each start where the last one ended.
    found = q, logp, force, *averaging, qs, forces, stats, *ends
    for a, b in zip(found, (*state[:3], *state[3], *rows[:3], *rows[3]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert counter == state[4]
    integers = [3, 5, 8, 9]  # n_steps, diverging, tree_depth, reached_max_treedepth
    assert stats[:, integers].tolist() == rows[2][:, integers].tolist()


def test_transitions_share_no_random_number(monkeypatch):
    """Every counter that three transitions of full depth use is used once."""
    levels, dim, length = 5, 3, 3
    density, arguments = piece_arguments(gaussian, dim, 1e-4, False)
    (*_, end), (_, _, stats, _) = compile(piece(length, levels))(*arguments)
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
    address, q, logp, force, _, metric, key = arguments[:7]
    for k in range(length):
        with np.errstate(all="ignore"):
            out = transition(address, q, logp, force, np.float64(1e-4), metric, key,
                             np.uint64(first + k * stride), np.int64(levels), levels)  # fmt: skip
        assert out.n_steps == 2**levels - 1
    assert len(taken) == length * (dim + 2 * levels + 2**levels - 1)
    assert len(set(taken)) == len(taken)
    assert first <= min(taken) and max(taken) < int(end)
