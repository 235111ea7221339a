"""Chains that an executor runs: the draws of a local run, bit for bit, also where workers die."""

from __future__ import annotations

import _thread
import multiprocessing
import pickle
import subprocess
import sys
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probdiff import sample
from probdiff.distributions import HalfNormal, Normal
from probdiff.errors import DataError, ParameterError, UnsupportedError
from probdiff.models import Joint, Posterior
from probdiff.sampling import HMC, NUTS, Draws, Target, crew, remote, resume
from probdiff.sampling.checkpoint import Checkpoint

GROUPS = ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats", "diverged")
RUN: dict[str, Any] = dict(draws=40, tune=60, chains=3, seed=1, keep_warmup=True)
Y = np.array([2.1, 1.7, 3.0, 2.4, 2.2])


def observe(mu: Any, sigma: Any) -> Any:
    return Normal(mu, sigma).iid(5)


POSTERIOR = Posterior(Joint(mu=Normal(0, 5), sigma=HalfNormal(2)), observe, Y)


def gaussian(q: Any) -> Any:
    return -0.5 * float(q @ q), -q


def assert_same(a: Draws, b: Draws) -> None:
    for group in GROUPS:
        x, y = getattr(a, group), getattr(b, group)
        assert list(x) == list(y)
        for name in x:
            assert x[name].dtype == y[name].dtype and x[name].tobytes() == y[name].tobytes(), (group, name)
    assert a.notes == b.notes
    assert a.attrs | {"sampling_time": 0} == b.attrs | {"sampling_time": 0}


class Inline:
    """An executor that does as it is told: each result of `before` is raised, or waited for without end if None."""

    def __init__(self, *before: BaseException | None) -> None:
        self.before, self.tasks = list(before), 0

    def submit(self, fn: Any, /, *args: Any) -> Any:
        future: Future[Any] = Future()
        self.tasks += 1
        error = self.before.pop(0) if self.before else False
        if isinstance(error, BaseException):
            future.set_exception(error)
        elif error is not None:
            future.set_result(pickle.loads(pickle.dumps(fn(*args))))
        return future


class KilledWorker(Exception):
    """Called like Dask's."""


@pytest.mark.parametrize("kernel", [NUTS(), HMC(), HMC(n_steps=3)], ids=repr)
@pytest.mark.parametrize("posterior", [POSTERIOR, Target(gaussian, 3)], ids=["posterior", "function"])
def test_the_draws_of_a_local_run(posterior: Any, kernel: Any) -> None:
    local = sample(posterior, kernel=kernel, **RUN)
    with ThreadPoolExecutor(2) as threads:
        assert_same(sample(posterior, kernel=kernel, executor=threads, **RUN), local)
    assert_same(sample(posterior, kernel=kernel, executor=Inline(), **RUN), local)


def test_starting_points_are_passed_on() -> None:
    for init in ({"mu": 1.0, "sigma": 2.0}, np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), "pathfinder"):
        assert_same(sample(POSTERIOR, init=init, executor=Inline(), **RUN), sample(POSTERIOR, init=init, **RUN))


def test_processes(tmp_path: Path) -> None:
    local = sample(POSTERIOR, **RUN)
    path = tmp_path / "run.zarr"
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert_same(sample(POSTERIOR, executor=pool, checkpoint=path, checkpoint_every=0, **RUN), local)
    assert_same(resume(path, POSTERIOR), local)
    assert Draws.load(path).draws == 40


def test_a_run_that_was_cut_off_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    local = sample(POSTERIOR, **RUN)
    run = sample(POSTERIOR, executor=Inline(False, None, None), checkpoint=path, blocking=False, **RUN)
    assert [c.iteration for c in run.progress.chains] == [100, 0, 0]
    assert run.abort()["mu"].shape == (1, 40)
    assert_same(resume(path, POSTERIOR, executor=Inline()), local)
    assert_same(resume(path, POSTERIOR), local)


def test_a_chain_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "SLICE", 0.0)
    monkeypatch.setattr(crew, "CHECKPOINT_SHARE", np.inf)
    calls = 0

    def counted(q: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == last:
            raise KilledWorker("its worker is gone")
        return gaussian(q)

    target, run = Target(counted, 3), dict(draws=100, tune=100, chains=1, seed=1)
    last = -1
    local = sample(target, **run)
    whole, calls = calls, 0
    last = int(0.8 * whole)
    path = tmp_path / "run.zarr"
    with ThreadPoolExecutor(1) as threads:
        again = sample(target, executor=threads, checkpoint=path, checkpoint_every=0, **run)
    assert_same(again, local)
    assert calls < 1.5 * whole, "0.8 of the calls are not made twice"


def test_a_checkpoint_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Checkpoint, chain: Any, seconds: float) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "run.zarr"
    run = sample(POSTERIOR, executor=Inline(None, None, None), checkpoint=path, blocking=False, **RUN)
    run.abort()
    monkeypatch.setattr(Checkpoint, "write", full)
    with pytest.warns(RuntimeWarning, match="could not be written: No space left on device. Sampling goes on"):
        draws = resume(path, POSTERIOR, executor=Inline())
    assert "No space left" in draws.notes[0]
    np.testing.assert_array_equal(draws["mu"], sample(POSTERIOR, **RUN)["mu"])


def test_lost_workers() -> None:
    lost = KilledWorker("a worker died")
    executor = Inline(lost, False, lost, lost)
    assert_same(sample(POSTERIOR, executor=executor, **RUN), sample(POSTERIOR, **RUN))
    assert executor.tasks == 6
    with pytest.raises(KilledWorker, match="a worker died") as caught:
        sample(POSTERIOR, executor=Inline(*[lost] * 7), **RUN)
    assert caught.value.__notes__[-1] == "This was chain 0, run by Inline."


def test_an_exception_of_a_chain() -> None:
    def broken(q: Any) -> Any:
        if q[0] > 1.0:
            raise ZeroDivisionError("in the model")
        return gaussian(q)

    with ThreadPoolExecutor(2) as threads, pytest.raises(ZeroDivisionError, match="in the model") as caught:
        sample(Target(broken, 3), executor=threads, init=np.zeros(3), **RUN)
    assert "transition" in caught.value.__notes__[0] and "run by ThreadPoolExecutor" in caught.value.__notes__[1]


def test_the_handle() -> None:
    run = sample(POSTERIOR, executor=Inline(False, None, False), blocking=False, **RUN)
    assert run.progress.state == "running" and not run.finished
    assert run.inspect()["mu"].shape == (2, 40)
    with pytest.raises(TimeoutError, match="not finished after 0.05 s"):
        run.wait(0.05)
    with pytest.raises(UnsupportedError, match="cannot be paused"):
        run.pause()
    threading.Timer(0.3, _thread.interrupt_main).start()
    draws = run.wait()
    assert draws.partial and draws["mu"].shape == (2, 40)
    assert draws.notes[0] == "Interrupted: 40 of 40 draws of 2 of 3 chains; dropped: chain 1 (0 draws)."
    np.testing.assert_array_equal(draws["mu"], sample(POSTERIOR, **RUN)["mu"][[0, 2]])


def test_an_interrupt_before_the_first_chain_passes_through() -> None:
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        sample(POSTERIOR, executor=Inline(None, None, None), **RUN)


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"sample.executor must have submit\(\).*got 3"):
        sample(POSTERIOR, executor=3, **RUN)  # type: ignore[call-overload]
    lock = threading.Lock()
    held = Target(lambda q: (gaussian(q)[0] + 0.0 * bool(lock), -q), 3)
    with pytest.raises(UnsupportedError, match="cannot be sent to another process: cannot pickle '_thread.lock'"):
        sample(held, executor=Inline(), **RUN)

    def without(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(remote, "import_module", without)
    assert_same(sample(POSTERIOR, executor=Inline(), **RUN), sample(POSTERIOR, **RUN))
    with pytest.raises(UnsupportedError, match="<lambda>.*Install cloudpickle, which takes any function, or define"):
        sample(Target(lambda q: gaussian(q), 3), executor=Inline(), **RUN)


def test_one_writer_for_each_chain(tmp_path: Path) -> None:
    path = str(tmp_path / "run.zarr")
    sample(POSTERIOR, checkpoint=path, **RUN)
    first, second = Checkpoint(path, POSTERIOR, 0), Checkpoint(path, POSTERIOR, 1)
    for chain in (0, None):
        with pytest.raises(DataError, match="is being written by another run"):
            Checkpoint(path, POSTERIOR, chain)
    first.close()
    second.close()
    parts = [tmp_path / "run.zarr" / name for name in ("posterior/mu/c/0/0.x.partial", "state/chain_1/b.partial")]
    for part in parts:
        part.touch()
    Checkpoint(path, POSTERIOR, 0).close()
    assert not parts[0].exists() and parts[1].exists(), "what another chain is writing stays"
    Checkpoint(path, POSTERIOR).close()
    assert not parts[1].exists()


DASK = """
import os, signal, sys, tempfile, time
import numpy as np
from dask.distributed import Client, LocalCluster
from probdiff import sample
from probdiff.distributions import HalfNormal, Normal
from probdiff.models import Joint, Posterior
from probdiff.sampling import Target

folder = tempfile.mkdtemp()
run = dict(draws=100, tune=50, chains=2, seed=1)

def mortal(name, last):
    calls = 0

    def logdensity(q):
        nonlocal calls
        calls += 1
        with open(os.path.join(folder, name + ".calls"), "a") as file:
            file.write(".")
        if calls == last and not os.path.exists(os.path.join(folder, name)):
            open(os.path.join(folder, name), "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(2e-3)
        return -0.5 * float(q @ q), -q

    return Target(logdensity, 3)

def same(a, b):
    return all(np.array_equal(a.sample_stats[name], b.sample_stats[name]) for name in a.sample_stats)

if __name__ == "__main__":
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        executor = client.get_executor()
        y = np.sin(np.arange(20.0))
        model = Posterior(Joint(m=Normal(0, 1), s=HalfNormal(1)), lambda m, s: Normal(m, s).iid(20), y)
        print(same(sample(model, executor=executor, **run), sample(model, **run)))
        local = sample(mortal("local", -1), **run)
        whole = os.path.getsize(os.path.join(folder, "local.calls"))
        for name, failures in (("rerun", 3), ("resubmitted", 0)):
            cluster.scheduler.allowed_failures = failures
            path = os.path.join(folder, name + ".zarr")
            model = mortal(name, int(0.35 * whole))
            found = sample(model, executor=executor, checkpoint=path, checkpoint_every=0, **run)
            calls = os.path.getsize(os.path.join(folder, name + ".calls")) / whole
            print(same(found, local) and os.path.exists(os.path.join(folder, name)), round(calls, 2))
"""


@pytest.mark.slow
def test_dask_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    """By default Dask runs the chain again; where it gives up at once, it is handed in again.

    It dies after 0.7 of its calls of the density, those of both chains being 1.
    """
    pytest.importorskip("distributed")
    script = tmp_path / "script.py"
    script.write_text(DASK)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert first == "True"
    for line in others:
        same, calls = line.split()
        assert same == "True" and float(calls) < 1.25, done.stderr
    assert len(others) == 2
