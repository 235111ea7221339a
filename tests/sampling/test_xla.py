"""Sampling under XLA: the draws of machine code as long as rounding allows, and the right moments."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from probdiff import sample
from probdiff.distributions import HalfNormal, Normal
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models import Joint, LogDensity, Posterior
from probdiff.models.zoo import MODELS, eight_schools
from probdiff.sampling import HMC, NUTS, ChEES, Draws, Target, crew, resume
from probdiff.sampling.backend import lockstep
from probdiff.sampling.chain import generator, starting_state
from tests.models.test_zoo_moments import off

jax = pytest.importorskip("jax")
device = pytest.importorskip("probdiff.sampling.device")

SEED = 20
SD = np.array([0.1, 1.0, 10.0])
QUICK = ("eight_schools", "kidscore_momhsiq")
SLOW = ("ar5", "earn_height", "garch11", "gauss_mix", "kilpisjarvi", "logmesquite", "nes", "radon")


def gaussian(q):
    return -0.5 * np.sum((q / SD) ** 2)


def funnel(q):
    return -0.5 * (q[0] ** 2 / 9.0 + np.sum(q[1:] ** 2) * np.exp(-q[0]) + (len(q) - 1) * q[0])


def model(logdensity, dim):
    return LogDensity(logdensity, np.zeros(dim))


def line(rows=800):
    """A regression whose posterior is close to normal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    y = X @ np.array([1.0, 2.0, 3.0]) + rng.normal(size=rows)
    return Posterior(Joint(b=Normal(0, 5).iid(3), s=HalfNormal(2)), lambda b, s, X=X: Normal(X @ b, s), y)


def x_of(draws):
    """(chain, draw, dim) of all variables."""
    parts = [x.reshape(*x.shape[:2], -1) for x in draws.posterior.values()]
    return np.concatenate(parts, axis=2)


# ── The same chains ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_whole_run_is_that_of_machine_code():
    """Trajectories of a Gaussian do not amplify rounding: warm-up, metrics and draws are the same throughout."""
    native, xla = (
        sample(model(gaussian, 3), 40, 60, 4, SEED, NUTS(jitter=0.2), keep_warmup=True, backend=backend)
        for backend in ("native", "jax")
    )
    np.testing.assert_allclose(xla["x"] / SD, native["x"] / SD, atol=1e-8)
    warm, expected = xla.warmup_posterior["x"], native.warmup_posterior["x"]
    np.testing.assert_allclose(warm / SD, expected / SD, atol=1e-8)
    for name, values in native.sample_stats.items():
        np.testing.assert_allclose(xla.sample_stats[name], values, rtol=1e-7, atol=1e-8, err_msg=name)
    assert list(xla.sample_stats) == list(native.sample_stats)
    assert [xla.sample_stats[k].dtype for k in xla.sample_stats] == [x.dtype for x in native.sample_stats.values()]


def test_the_first_transitions_of_a_model_are_those_of_machine_code():
    """Then trajectories that bend amplify what rounding differs, and a tree is decided the other way."""
    native, xla = (sample(eight_schools(), 8, 0, 4, SEED, NUTS(step_size=0.3), backend=b) for b in ("native", "jax"))
    np.testing.assert_allclose(x_of(xla), x_of(native), rtol=1e-7, atol=1e-9)
    assert np.array_equal(xla.sample_stats["n_steps"], native.sample_stats["n_steps"])


def test_draws_stay_on_the_device_until_asked_for():
    density = model(gaussian, 3)
    rngs = [generator(SEED, c) for c in range(4)]
    states = [starting_state(density, NUTS(), rng, c, None) for c, rng in enumerate(rngs)]
    settings = {"tune": 30, "draws": 30, "keep_warmup": True, "precision": "float64"}
    chains = lockstep(density, NUTS(), rngs, states, settings, None)
    chains.advance()
    blocks = [*chains.warmup_kept, *chains.kept]
    assert sum(block.n for block in blocks) == 60
    assert all(isinstance(x, jax.Array) for block in blocks for x in block._arrays)
    assert [lane.q.shape for lane in chains.lanes] == [(30, 3)] * 4
    assert all(isinstance(x, np.ndarray) for block in chains.kept for x in block._arrays)


def test_draws_do_not_depend_on_pieces(monkeypatch):
    from probdiff.sampling import lockstep as module

    whole = sample(model(gaussian, 3), 30, 60, 4, SEED, backend="jax")
    monkeypatch.setattr(module, "PATIENCE", 0.0)  # every piece is too long
    assert np.array_equal(sample(model(gaussian, 3), 30, 60, 4, SEED, backend="jax")["x"], whole["x"])


@pytest.mark.parametrize("tune", [0, 1, 2, 20, 163])
@pytest.mark.parametrize("kernel, chains", [(NUTS(), 4), (ChEES(), 16)])
def test_every_length_of_warm_up(kernel, chains, tune):
    draws = sample(model(gaussian, 3), 30, tune, chains, SEED, kernel, keep_warmup=True, backend="jax")
    assert draws["x"].shape == (chains, 30, 3)
    assert np.all(np.isfinite(draws["x"]))
    step_size = draws.sample_stats["step_size"]
    assert np.all(step_size == step_size[:, :1])
    if tune:
        assert draws.warmup_posterior["x"].shape == (chains, tune, 3)


def test_divergences_keep_their_place():
    kernel, start = NUTS(step_size=0.5), np.array([-8.0, *np.zeros(9)])
    native, xla = (
        sample(model(funnel, 10), 60, 0, 2, SEED, kernel, init=start, backend=backend) for backend in ("native", "jax")
    )
    both = native.sample_stats["diverging"][:, :3]
    assert both.any()
    assert np.array_equal(xla.sample_stats["diverging"][:, :3], both)
    first = xla.divergences[0]
    assert (first.chain, first.draw) == (native.divergences[0].chain, native.divergences[0].draw)
    np.testing.assert_allclose(first.q, native.divergences[0].q, rtol=1e-6)
    assert len(xla.divergences) == xla.sample_stats["diverging"].sum()


# ── Moments ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_moments_of_the_zoo(name):
    assert off(name, sample(MODELS[name](), seed=1, backend="jax")) == []


# ── Programs and precision ──────────────────────────────────────────────────────────────────────────────────────────


def test_models_of_one_structure_share_their_programs():
    sample(line(), 5, 5, 4, SEED, backend="jax")
    kept = dict(device._programs)
    rng = np.random.default_rng(1)
    other = line().with_data(rng.normal(size=800))
    draws = sample(other, 5, 5, 4, SEED, backend="jax")
    assert device._programs.keys() == kept.keys()
    assert all(device._programs[key] is program for key, program in kept.items())
    expected = sample(other, 5, 5, 4, SEED)  # of its own data
    np.testing.assert_allclose(x_of(draws), x_of(expected), rtol=1e-6)


def test_64_bits_are_on_by_a_context_only():
    before = jax.config.jax_enable_x64
    draws = sample(model(gaussian, 3), 5, 5, 4, SEED, backend="jax", blocking=False).wait()
    assert draws["x"].dtype == np.float64
    assert jax.config.jax_enable_x64 == before
    assert jax.numpy.zeros(2).dtype == (np.float64 if before else np.float32)


def test_single_precision_has_the_moments_of_double():
    draws = {
        precision: sample(line(), 500, 300, 4, SEED, backend="jax", precision=precision)
        for precision in ("float64", "float32")
    }
    for name in ("b", "s"):
        double, single = (draws[p].summary([name]).columns for p in ("float64", "float32"))
        assert np.all(np.abs(single["mean"] - double["mean"]) < 5 * np.hypot(single["mcse"], double["mcse"]))
    lp = draws["float32"].sample_stats["lp"]
    last = draws["float32"]
    q = line().unconstrain({name: x[0, -1] for name, x in last.posterior.items()})
    # Eight hundred terms of about one, each of some four roundings to 6e-8 of it (the same one in all, for those of the
    # scale), and their sum in double precision.
    assert 0 < abs(lp[0, -1] - line().value_and_grad(q)[0]) < 800 * 4 * 6e-8


def far(rows=2000):
    """Data whose spread is a millionth of their place: float32 has half of it."""
    y = 1e6 + np.random.default_rng(0).normal(size=rows)
    return Posterior(Joint(mu=Normal(1e6, 1.0), s=HalfNormal(2)), lambda mu, s: Normal(mu, s).iid(rows), y)


def test_single_precision_that_matters_is_said():
    with pytest.warns(RuntimeWarning) as caught:
        sample(far(), 5, 100, 4, SEED, backend="jax", precision="float32")
    (text,) = (str(w.message) for w in caught)
    assert text.startswith("sample.precision='float32' rounds the log-density by up to ")
    assert text.endswith(
        "and a proposal is refused for an error of about 1. Draws may be biased, and steps shorter than need be. "
        "Take float64, or centre and scale the data."
    )


def test_a_density_beyond_single_precision_is_refused():
    y = np.full(200, 1e30)
    beyond = Posterior(Joint(mu=Normal(0, 1)), lambda mu: Normal(mu, 1e10).iid(200), y)
    with pytest.raises(ParameterError) as caught:
        sample(beyond, 5, 5, 2, SEED, init=np.zeros(1), backend="jax", precision="float32")
    assert str(caught.value) == (
        "sample: the log-density or its gradient at the start of chain 0 is not finite in float32 under XLA. In "
        "machine code the log-density is -1e+42. Take float64."
    )


# ── Devices ─────────────────────────────────────────────────────────────────────────────────────────────────────────

SHARDED = """
import jax, numpy as np
from probdiff import sample
from probdiff.sampling import NUTS, ChEES
from tests.sampling.test_xla import line, x_of

def draws(kernel, mesh):
    return x_of(sample(line(), 5, 0, 16, 1, kernel, backend="jax", mesh=mesh, init=np.zeros(4)))

chains, both = jax.make_mesh((8,), ("chains",)), jax.make_mesh((2, 4), ("a", "data"))
for kernel, meshes in ((NUTS(step_size=0.02), (chains, both)), (ChEES(step_size=0.02), (both,))):
    expected = draws(kernel, None)
    for mesh in meshes:
        np.testing.assert_allclose(draws(kernel, mesh), expected, rtol=1e-9)
try:
    sample(line(), chains=6, backend="jax", mesh=jax.make_mesh((4,), ("a",), devices=jax.devices()[:4]))
except ValueError as error:
    print(error)
"""


def run_in(code, **environment):
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_chains_and_rows_over_eight_devices():
    """Rounding apart, draws are those of one device, whichever way chains and rows are spread."""
    assert run_in(SHARDED, XLA_FLAGS="--xla_force_host_platform_device_count=8") == (
        "sample.chains must be a multiple of the 4 devices on the mesh's axis 'a', got 6\n"
    )


COUNTED = """
import jax, numpy as np
from probdiff.compiler.xla.library import double
from probdiff.sampling import NUTS
from probdiff.sampling.device import Device
from probdiff.sampling.kernel import State
from probdiff.sampling.lockstep_nuts import NutsMotion
from tests.sampling.test_xla import line

states = [State(np.zeros(4), 0.0, np.zeros(4)) for _ in range(4)]
with double():
    device = Device(line(), jax.make_mesh((2, 2), ("chains", "data")), "chains", "float64")
    chains = NutsMotion(NUTS(step_size=0.1), device, [np.random.default_rng(c) for c in range(4)], states, 0)
    settings = 25, 10, 0.8, 0.0, False
    compiled = chains.piece.lower(device.data, (chains.state, chains.stacked, chains.key), settings).compile()
text = compiled.as_text()
print(*(text.count(f" {name}(") for name in ("all-reduce", "all-gather", "all-to-all", "collective-permute")))
print("[800," in text, "replica_groups=[2,2]" in text)
"""


@pytest.mark.slow
def test_devices_exchange_one_sum_a_gradient():
    """Of the rows, between the devices that have the same chains; no device holds all rows."""
    assert run_in(COUNTED, XLA_FLAGS="--xla_force_host_platform_device_count=4") == "1 0 0 0\nFalse True\n"


# ── How it is run ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_in_the_background_is_watched_and_ended():
    run = sample(model(gaussian, 3), 500_000, 50, 4, SEED, backend="jax", blocking=False)
    while not run.inspect().draws:
        pass
    run.pause()
    progress = run.progress
    (chains,) = progress.chains
    assert chains.name == "0-3"
    assert chains.lanes == 4
    assert chains.gradients > 0
    assert progress.line.startswith(f"paused: {4 * chains.iteration} of {4 * 500_050} transitions")
    run.resume()
    draws = run.abort()
    assert draws.partial
    assert draws["x"].shape[0] == 4
    assert 0 < draws.draws < 500_000
    assert np.all(np.isfinite(draws["x"]))


def test_an_interrupt_returns_the_draws_so_far(monkeypatch):
    import _thread

    def interrupt(run=crew.Crew._turn):
        def turn(self, chain):
            run(self, chain)
            if chain.length:
                _thread.interrupt_main()

        return turn

    monkeypatch.setattr(crew.Crew, "_turn", interrupt())
    assert threading.current_thread() is threading.main_thread()
    draws = sample(model(gaussian, 3), 500_000, 20, 4, SEED, backend="jax")
    assert draws.partial
    assert 0 < draws.draws < 500_000


@pytest.mark.parametrize("kernel, chains", [(NUTS(), 4), (ChEES(), 16)])
def test_a_checkpoint_is_resumed_bit_for_bit(tmp_path, kernel, chains):
    pytest.importorskip("zarr")
    whole, path = sample(model(funnel, 3), 2000, 200, chains, SEED, kernel, backend="jax"), tmp_path / "run.zarr"
    run = sample(
        model(funnel, 3), 2000, 200, chains, SEED, kernel, backend="jax", blocking=False, checkpoint=path,
        checkpoint_every=0.01,
    )  # fmt: skip
    while not run.inspect().draws:
        pass
    broken = run.abort()
    assert broken.partial
    so_far = Draws.load(path)
    assert np.array_equal(so_far["x"], whole["x"][:, : so_far.draws])
    for draws in (resume(path, model(funnel, 3)), Draws.load(path)):
        assert np.array_equal(draws["x"], whole["x"])
        for name, values in whole.sample_stats.items():
            assert np.array_equal(draws.sample_stats[name], values)
        for name, values in whole.diverged.items():
            assert np.array_equal(draws.diverged[name], values)
    assert whole.diverged


# ── What is refused ─────────────────────────────────────────────────────────────────────────────────────────────────


def target(q):
    return -0.5 * float(q @ q), -q


@pytest.mark.parametrize(
    "settings, kind, text",
    [
        ({"backend": "gpu"}, ParameterError, "sample.backend must be 'native' or 'jax', got 'gpu'"),
        ({"precision": "half"}, ParameterError, "sample.precision must be 'float64' or 'float32', got 'half'"),
        (
            {"backend": "native", "precision": "float32"}, ParameterError,
            "sample.precision='float32' is for backend='jax'. Give that, or leave precision out.",
        ),
        (
            {"backend": "native", "mesh": 3}, ParameterError,
            "sample.mesh is for backend='jax'. Give that, or leave mesh out.",
        ),
        (
            {"mesh": 3}, ParameterError,
            "sample.mesh must be a jax.sharding.Mesh or None, got 3. See jax.make_mesh.",
        ),
        (
            {"kernel": HMC()}, UnsupportedError,
            f"sample.kernel must be NUTS() or ChEES() with backend='jax', got {HMC()!r}",
        ),
        (
            {"backend": "native", "kernel": ChEES(), "chains": 64}, UnsupportedError,
            f"sample.kernel={ChEES()!r} moves many chains together under XLA. Give backend='jax', or take NUTS().",
        ),
        (
            {"kernel": ChEES()}, ParameterError,
            "sample.chains must be at least 16 for ChEES, which learns from all chains together, got 4. Give more, or "
            "take NUTS().",
        ),
        (
            {"posterior": Target(target, 2)}, UnsupportedError,
            "sample.backend='jax' needs a model whose log-density can be traced, got Target. Build a Posterior, or a "
            "LogDensity of a NumPy function.",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(settings, kind, text):
    with pytest.raises(kind) as caught:
        sample(**{"posterior": model(gaussian, 3), "backend": "jax", **settings})
    assert str(caught.value) == text


def test_without_jax():
    code = """
import sys
sys.modules["jax"] = None
from probdiff import sample
from probdiff.models.zoo import eight_schools
try:
    sample(eight_schools(), backend="jax")
except TypeError as error:
    print(error)
"""
    assert run_in(code) == "The JAX backend needs JAX 0.8 or later. Install it with: pip install jax\n"
