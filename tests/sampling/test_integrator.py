"""Laws of the leapfrog integrator: reversible, volume preserving, of second order."""

import numpy as np

from probdiff.sampling.hmc import leapfrog
from probdiff.sampling.kernel import State

INV_MASS = np.array([0.5, 2.0])


def banana(q):
    """log p = -q0^2/2 - (q1 - q0^2)^2/2 - q1^4/20: curved, not Gaussian."""
    r = q[1] - q[0] ** 2
    logp = -0.5 * q[0] ** 2 - 0.5 * r**2 - q[1] ** 4 / 20
    return logp, np.array([-q[0] + 2 * q[0] * r, -r - q[1] ** 3 / 5])


def at(q):
    return State(q, *banana(q))


def energy(state, p):
    return -state.logp + 0.5 * np.sum(INV_MASS * p * p)


def flow(z, eps, n):
    state, p, _ = leapfrog(banana, INV_MASS, eps, n, at(z[:2]), z[2:])
    return np.concatenate([state.q, p])


def test_turning_the_momentum_leads_back():
    z = np.array([0.3, -0.8, 1.1, 0.4])
    forth = flow(z, 0.1, 25)
    back = flow(forth * [1, 1, -1, -1], 0.1, 25) * [1, 1, -1, -1]
    # Rounding of 50 steps, a little amplified by the curvature.
    np.testing.assert_allclose(back, z, rtol=0, atol=1e-12)
    assert np.max(np.abs(forth - z)) > 0.1


def test_volume_is_preserved():
    z, h = np.array([0.3, -0.8, 1.1, 0.4]), 1e-5
    columns = [(flow(z + h * e, 0.1, 25) - flow(z - h * e, 0.1, 25)) / (2 * h) for e in np.eye(4)]
    # Central differences: truncation h^2 and rounding 1e-16 / h, times the size of the Jacobian.
    assert abs(np.linalg.det(np.stack(columns)) - 1) < 1e-7


def test_energy_error_falls_with_the_square_of_the_step():
    q, p = np.array([0.3, -0.8]), np.array([1.1, 0.4])

    def error(n):
        state, p_end, _ = leapfrog(banana, INV_MASS, 2.0 / n, n, at(q), p)
        return energy(state, p_end) - energy(at(q), p)

    orders = [np.log2(abs(error(n) / error(2 * n))) for n in (100, 200, 400)]
    np.testing.assert_allclose(orders, 2, atol=0.02)


def test_merged_kicks_equal_single_steps():
    state, p = at(np.array([0.3, -0.8])), np.array([1.1, 0.4])
    whole, p_whole, taken = leapfrog(banana, INV_MASS, 0.1, 7, state, p)
    for _ in range(7):
        state, p, _ = leapfrog(banana, INV_MASS, 0.1, 1, state, p)
    assert taken == 7
    np.testing.assert_allclose(whole.q, state.q, rtol=1e-13)
    np.testing.assert_allclose(p_whole, p, rtol=1e-12)
    assert banana(whole.q)[0] == whole.logp


def test_a_trajectory_makes_one_evaluation_a_step():
    calls = []

    def counted(q):
        calls.append(q)
        return banana(q)

    leapfrog(counted, INV_MASS, 0.1, 9, at(np.zeros(2)), np.ones(2))
    assert len(calls) == 9


def test_a_trajectory_ends_where_the_density_is_not_finite():
    def half_line(q):
        return (-0.5 * float(q @ q), -q) if q[0] <= 1 else (np.nan, q * np.nan)

    start = State(np.zeros(1), 0.0, np.zeros(1))
    state, _, taken = leapfrog(half_line, np.ones(1), 0.3, 1000, start, np.array([3.0]))
    assert taken == 2
    assert state.q[0] > 1
