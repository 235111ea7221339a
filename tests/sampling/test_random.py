"""Random numbers by counting: known values, their distribution, and streams that do not meet."""

import numpy as np
import pytest
from scipy import stats

from probdiff import compile
from probdiff.sampling.random import GOLDEN, bits, mix, normal, open_unit, uniform

KEYS = [0, 1, 12345, 2**63, 2**64 - 1]
N = np.arange(100_000, dtype=np.uint64)


def test_the_output_function_is_that_of_splitmix64():
    # The first four numbers of SplitMix64 from seed 0, as its reference implementation prints them.
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert mix(np.arange(1, 5, dtype=np.uint64) * GOLDEN).tolist() == expected


def test_uniform_numbers_are_strictly_inside_the_unit_interval():
    ends = open_unit(np.array([0, 2**64 - 1], dtype=np.uint64))
    assert ends.tolist() == [2.0**-53, 1 - 2.0**-53]


@pytest.mark.parametrize("key", KEYS)
def test_distributions(key):
    with np.errstate(over="ignore"):
        u, z = uniform(np.uint64(key), N), normal(np.uint64(key), N)
    assert stats.kstest(u, "uniform").pvalue > 1e-6
    assert stats.kstest(z, "norm").pvalue > 1e-6
    # Neighbours in pairs: 32 x 32 cells of equal chance.
    counts = np.histogram2d(u[::2], u[1::2], bins=32, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-6


def test_every_bit_is_fair():
    with np.errstate(over="ignore"):
        b = bits(np.uint64(3), N)
    ones = np.array([np.sum((b >> np.uint64(k)) & np.uint64(1)) for k in range(64)], dtype=float)
    # 64 binomial counts: five and a half standard deviations are passed with a chance of 2e-6 in all.
    assert np.max(np.abs(ones - N.size / 2)) < 5.5 * np.sqrt(N.size) / 2


def test_keys_and_counters_are_independent():
    with np.errstate(over="ignore"):
        # Keys that differ by one, by a single high bit and by the step of the counter: shifted streams would show here.
        keys = [np.uint64(k) for k in (0, 1, 2, 2**63, int(GOLDEN), 2 * int(GOLDEN) % 2**64)]
        rows = np.array([normal(k, N) for k in keys])
        every = np.concatenate([bits(k, N) for k in keys])
    assert len(np.unique(every)) == every.size
    lags = [0, 1, 2, 3]
    correlations = [
        np.mean(rows[i][: N.size - lag] * rows[j][lag:])
        for i in range(len(keys)) for j in range(len(keys)) for lag in lags if (i, 0) != (j, lag)
    ]  # fmt: skip
    # 138 correlations of standard error 1/sqrt(n): 5.5 are passed with a chance below 1e-5 in all.
    assert np.max(np.abs(correlations)) * np.sqrt(N.size) < 5.5


def test_a_number_depends_on_its_counter_alone():
    with np.errstate(over="ignore"):
        whole = uniform(np.uint64(9), N)
        assert [float(uniform(np.uint64(9), n)) for n in N[:20]] == whole[:20].tolist()
        assert uniform(np.uint64(9), N[::-1]).tolist() == whole[::-1].tolist()


def test_machine_code_gives_the_same_numbers():
    native, numpy = (compile(lambda k, n: (bits(k, n), uniform(k, n), normal(k, n)), backend=b)
                     for b in ("native", "numpy"))  # fmt: skip
    key = np.uint64(2**63 + 11)
    for a, b in zip(native(key, N), numpy(key, N), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=0)
    assert native(key, N)[0].tolist() == numpy(key, N)[0].tolist()
