"""Checkpoints: a run that is killed goes on bit for bit, others are refused, and a full disk costs no draw."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import xarray
import zarr

from probdiff.distributions import HalfNormal, Normal
from probdiff.errors import DataError, ParameterError, UnsupportedError
from probdiff.models import Joint, Posterior
from probdiff.models.zoo import eight_schools
from probdiff.sampling import HMC, NUTS, Draws, Target, crew, resume, sample
from probdiff.sampling.chain import Chain, generator, starting_state

STEPS = HMC(n_steps=3)
KERNELS = [NUTS(), STEPS, HMC()]
GROUPS = ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats", "diverged")


def gaussian(q):
    return -0.5 * float(q @ q), -q


TARGET = Target(gaussian, 3)


def posterior(y=(2.1, 1.7, 3.0, 2.4, 2.2)):
    return Posterior(
        Joint(mu=Normal(0, 5), sigma=HalfNormal(2), theta=Normal(0, 1).iid("site")),
        lambda mu, sigma: Normal(mu, sigma).iid(5), np.array(y), coords={"site": ["A", "Ö"]},
    )  # fmt: skip


@pytest.fixture
def eager(monkeypatch):
    """Short turns, and a checkpoint as often as half of the time allows."""
    monkeypatch.setattr(crew, "SLICE", 0.0)
    monkeypatch.setattr(crew, "CHECKPOINT_SHARE", 1.0)


def assert_same(a, b):
    for group in GROUPS:
        x, y = getattr(a, group), getattr(b, group)
        assert list(x) == list(y)
        for name in x:
            assert x[name].dtype == y[name].dtype and x[name].tobytes() == y[name].tobytes(), (group, name)
    assert a.notes == b.notes


KILLED = """
import os, signal, sys, time
from probdiff.sampling import HMC, NUTS, Target, crew, sample

path, kernel, last = sys.argv[1], eval(sys.argv[2]), int(sys.argv[3])
calls = 0

def gaussian(q):
    global calls
    calls += 1
    if calls > last:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1e-4)
    return -0.5 * float(q @ q), -q

crew.SLICE, crew.CHECKPOINT_SHARE = 0.0, 1.0
sample(Target(gaussian, 3), 100, 100, 2, seed=1, kernel=kernel, keep_warmup=True, checkpoint=path, checkpoint_every=0)
"""


def run_code(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )


# The kernels make about 1300 and 1500 evaluations in all; chains take turns.
@pytest.mark.parametrize("kernel", [NUTS(), HMC()], ids=["NUTS", "HMC"])
@pytest.mark.parametrize("last, sampling", [(300, False), (1000, True)], ids=["in warm-up", "in sampling"])
def test_a_killed_run_goes_on_bit_for_bit(tmp_path, kernel, last, sampling):
    path = tmp_path / "run.zarr"
    done = run_code(KILLED, path, kernel, last)
    assert done.returncode == -signal.SIGKILL, done.stderr
    places = [zarr.open_group(path)[f"state/chain_{c}"].attrs for c in range(2)]
    transitions = [place["transitions"] for place in places]
    assert all((100 if sampling else 0) < t < (200 if sampling else 100) for t in transitions)
    left = Draws.load(path)
    assert left.partial and (left.draws > 0) == sampling
    whole = sample(TARGET, 100, 100, 2, seed=1, kernel=kernel, keep_warmup=True)
    kept = [c for c in range(2) if max(transitions[c] - 100, 0) >= left.draws]  # chains too far behind are dropped
    np.testing.assert_array_equal(left["x"], whole["x"][kept, : left.draws])
    assert_same(resume(path, TARGET), whole)
    assert_same(Draws.load(path), whole)


NATIVE = """
import os, signal, sys, time
from probdiff.models.zoo import eight_schools
from probdiff.sampling import crew, sample

crew.SLICE, crew.CHECKPOINT_SHARE = 0.01, 0.5
run = sample(eight_schools(), 20_000, 1000, 2, seed=1, checkpoint=sys.argv[1], checkpoint_every=0, blocking=False)
while not all(place.get("draws") for place in run._crew.checkpoint.places.values()):
    time.sleep(1e-4)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_machine_code_that_is_killed_goes_on_bit_for_bit(tmp_path):
    path = tmp_path / "run.zarr"
    assert run_code(NATIVE, path).returncode == -signal.SIGKILL
    left = Draws.load(path)
    assert left.partial and left.draws > 0
    whole = sample(eight_schools(), 20_000, 1000, 2, seed=1)
    assert len(whole.diverged["q"])  # so that their places are seen to be kept
    assert_same(resume(path, eight_schools()), whole)
    loaded = Draws.load(path)
    assert_same(replace(loaded, notes=whole.notes), whole)  # a store has no model to take advice from


def test_a_checkpoint_changes_no_draw_and_is_loaded_whole(tmp_path):
    model = posterior()
    draws = sample(model, 60, 50, 2, seed=3, keep_warmup=True, checkpoint=tmp_path / "run.zarr")
    assert_same(draws, sample(model, 60, 50, 2, seed=3, keep_warmup=True))
    again = Draws.load(tmp_path / "run.zarr")
    assert_same(again, draws)
    assert again.dims == draws.dims and again.coords["site"].tolist() == ["A", "Ö"]
    assert again.attrs == draws.attrs | {"sampling_time": again.attrs["sampling_time"]}
    np.testing.assert_array_equal(again.observed["y"], draws.observed["y"])
    again.save(tmp_path / "draws.npz")
    assert_same(Draws.load(tmp_path / "draws.npz"), again)
    began = time.perf_counter()
    assert_same(resume(tmp_path / "run.zarr", model), draws)
    assert time.perf_counter() - began < 5


def test_a_run_in_other_coordinates_goes_on_in_them(tmp_path):
    form = {"theta": "centered"}
    whole = sample(eight_schools(), 60, 60, 2, seed=1, reparam=form)
    sample(eight_schools(), 60, 60, 2, seed=1, reparam=form, checkpoint=tmp_path / "r", blocking=False).abort()
    again = resume(tmp_path / "r", eight_schools())
    assert_same(again, whole)
    assert again.attrs["reparam"] == form


def test_others_can_read_it(tmp_path):
    draws = sample(posterior(), 60, 50, 2, seed=3, keep_warmup=True, checkpoint=tmp_path / "run.zarr")
    tree = xarray.open_datatree(tmp_path / "run.zarr", engine="zarr", consolidated=False)
    theta = tree["posterior/theta"]
    assert theta.dims == ("chain", "draw", "site") and theta.site.values.tolist() == ["A", "Ö"]
    np.testing.assert_array_equal(theta, draws["theta"])
    np.testing.assert_array_equal(tree["warmup_posterior/mu"], draws.warmup_posterior["mu"])
    np.testing.assert_array_equal(tree["sample_stats/diverging"], draws.sample_stats["diverging"])
    np.testing.assert_array_equal(tree["observed_data/y"], posterior().observed["y"])
    assert tree["unconstrained/q"].dims == ("chain", "draw", "coordinate")
    assert tree["unconstrained/coordinate"].values.tolist() == posterior().coordinate_names
    np.testing.assert_array_equal(zarr.open_group(tmp_path / "run.zarr", mode="r")["posterior/mu"][:], draws["mu"])


def test_draws_that_are_not_there_yet_are_nan(tmp_path):
    with sample(Target(slow, 3), 10**6, 0, 2, seed=0, kernel=STEPS, checkpoint=tmp_path / "r", blocking=False) as run:
        time.sleep(0.1)
    n = run.inspect().draws
    x = zarr.open_group(tmp_path / "r", mode="r")["posterior/x"]
    assert x.shape == (2, 10**6, 3)
    assert np.all(np.isfinite(x[0, :n])) and np.all(np.isnan(x[0, n + 1000 : n + 2000]))


def slow(q):
    time.sleep(1e-4)
    return gaussian(q)


@pytest.mark.parametrize("how", ["pause", "abort", "ctrl-c", "with"])
def test_however_a_run_ends_its_last_draw_is_kept(tmp_path, how):
    """`checkpoint_every` is long: what is there was written at the end."""
    path = tmp_path / "run.zarr"
    run = sample(
        Target(slow, 3), 400, 50, 2, seed=0, kernel=STEPS, checkpoint=path, checkpoint_every=1000, blocking=False
    )
    while run.progress.fraction < 0.3:
        time.sleep(1e-3)
    if how == "pause":
        run.pause()
    elif how == "abort":
        run.abort()
    elif how == "with":
        with run:
            pass
    else:
        import _thread
        import threading

        threading.Timer(0.05, _thread.interrupt_main).start()
        run.wait()
    made = [chain.iteration for chain in run.progress.chains]
    assert [zarr.open_group(path)[f"state/chain_{c}"].attrs["transitions"] for c in range(2)] == made
    if how == "pause":
        with pytest.raises(DataError, match="is being written by another run. Wait for it, or end it."):
            resume(path, TARGET)
        run.abort()
    assert_same(resume(path, TARGET), sample(TARGET, 400, 50, 2, seed=0, kernel=STEPS))


def test_an_interrupt_within_a_transition_writes_no_broken_state(tmp_path, eager):
    calls = []

    def interrupting(q):
        calls.append(q)
        if len(calls) == 700:
            raise KeyboardInterrupt
        return gaussian(q)

    path = tmp_path / "run.zarr"
    draws = sample(Target(interrupting, 3), 200, 20, 2, seed=0, kernel=STEPS, checkpoint=path, checkpoint_every=0)
    assert draws.partial and 0 < draws.draws < 200
    assert_same(resume(path, TARGET), sample(TARGET, 200, 20, 2, seed=0, kernel=STEPS))


def test_a_write_that_is_cut_off_leaves_the_state_before(tmp_path, monkeypatch, eager):
    """Draws and the new state are there, but not the small file that makes the state valid."""
    path = tmp_path / "run.zarr"
    real, times = zarr.Group.update_attributes, []

    def cut(group, attributes):
        if "slot" in attributes:
            times.append(attributes)
            if len(times) > 6:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(group, attributes)

    monkeypatch.setattr(zarr.Group, "update_attributes", cut)
    with pytest.warns(RuntimeWarning, match="Input/output error. Sampling goes on without it."):
        draws = sample(Target(slow, 3), 200, 20, 2, seed=0, kernel=STEPS, checkpoint=path, checkpoint_every=0)
    monkeypatch.undo()
    assert max(zarr.open_group(path)[f"state/chain_{c}"].attrs["transitions"] for c in range(2)) < 220
    (path / "state" / "chain_0" / "zarr.0123.partial").write_text("cut off")
    text = f"The checkpoint '{path}' could not be written: Input/output error."
    assert_same(resume(path, TARGET), replace(draws, notes=draws.notes[1:]))
    assert draws.notes[0] == text
    assert list(path.rglob("*.partial")) == []


@pytest.mark.parametrize("blocking", [True, False])
def test_a_full_disk_costs_no_draw(tmp_path, monkeypatch, blocking, eager):
    path = tmp_path / "run.zarr"
    store, real, full = zarr.storage.LocalStore, zarr.storage.LocalStore.set, []

    async def set_unless_full(self, key, value, *rest):
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        await real(self, key, value, *rest)

    def fills(q):
        if len(calls) == 400:
            full.append(True)
        calls.append(q)
        return gaussian(q)

    calls = []
    monkeypatch.setattr(store, "set", set_unless_full)
    with pytest.warns(RuntimeWarning) as caught:
        draws = sample(Target(fills, 3), 200, 20, 2, seed=0, kernel=STEPS, checkpoint=path, checkpoint_every=0,
                       blocking=blocking)  # fmt: skip
        draws = draws if blocking else draws.wait()
    assert [str(w.message) for w in caught] == [
        f"The checkpoint '{path}' could not be written: No space left on device. Sampling goes on without it."
    ]
    whole = sample(TARGET, 200, 20, 2, seed=0, kernel=STEPS)
    np.testing.assert_array_equal(draws["x"], whole["x"])
    assert draws.notes == (f"The checkpoint '{path}' could not be written: No space left on device.", *whole.notes)
    full.clear()
    assert_same(resume(path, TARGET), whole)


def test_a_store_that_is_removed_costs_no_draw(tmp_path, eager):
    path = tmp_path / "run.zarr"
    run = sample(Target(slow, 3), 200, 20, 1, seed=0, kernel=STEPS, checkpoint=path, checkpoint_every=0, blocking=False)
    run.pause()
    shutil.rmtree(path)
    run.resume()
    text = f"The checkpoint '{path}' could not be written: it has been removed."
    with pytest.warns(RuntimeWarning) as caught:
        draws = run.wait()
    assert str(caught[0].message) == f"{text} Sampling goes on without it."
    assert draws.draws == 200 and draws.notes[0] == text and not path.exists()


LEFT = """
import sys
from probdiff.models.zoo import eight_schools
from probdiff.sampling import sample

run = sample(eight_schools(), 10**7, 10**3, 2, seed=1, checkpoint=sys.argv[1], checkpoint_every=0, blocking=False)
while not run.progress.fraction:
    pass
"""


def test_an_interpreter_that_ends_leaves_a_good_store(tmp_path):
    done = run_code(LEFT, tmp_path / "r")
    assert done.returncode == 0, done.stderr
    resume(tmp_path / "r", eight_schools(), blocking=False).abort()


LIMITED = """
import resource, sys, warnings
import numpy as np
from probdiff.sampling import HMC, Target, crew, sample

crew.SLICE = 0.0
target = Target(lambda q: (-0.5 * float(q @ q), -q), 5000)
with sample(target, 200, 0, 1, seed=0, kernel=HMC(n_steps=1, step_size=0.1), blocking=False,
            checkpoint=sys.argv[1], checkpoint_every=1000) as run:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # a chunk is 4 MB
    draws = run.wait()
print(draws.notes[0], draws["x"].shape)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the sizes of files")
def test_a_limit_of_the_system_costs_no_draw(tmp_path):
    done = run_code(LIMITED, tmp_path / "r")
    text = f"The checkpoint '{tmp_path / 'r'}' could not be written: File too large."
    assert done.stdout == f"{text} (1, 200, 5000)\n", done.stderr
    assert f"RuntimeWarning: {text} Sampling goes on without it." in done.stderr


def test_paths_that_cannot_be_written_are_refused_first(tmp_path, monkeypatch):
    def counted(q):
        calls.append(q)
        return gaussian(q)

    calls, model = [], Target(counted, 3)
    with pytest.raises(FileNotFoundError) as missing:
        sample(model, checkpoint=tmp_path / "no" / "run.zarr")
    assert str(missing.value) == f"sample.checkpoint: there is no folder '{tmp_path}/no'. Make it first."
    (tmp_path / "old").mkdir()
    with pytest.raises(FileExistsError) as exists:
        sample(model, checkpoint=tmp_path / "old")
    assert str(exists.value) == (
        f"sample.checkpoint: '{tmp_path}/old' exists. Continue it with resume('{tmp_path}/old', posterior), "
        "delete it, or give another path."
    )
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the tests may run as root
    with pytest.raises(PermissionError) as denied:
        sample(model, checkpoint=tmp_path / "new")
    assert str(denied.value) == (
        f"sample.checkpoint: '{tmp_path}/new' cannot be made: no right to write to its folder."
    )
    monkeypatch.undo()
    with pytest.raises(OSError, match=r"sample.checkpoint needs up to 1.01e\+06 GB and \S+ GB are free: '.*/new'"):
        sample(model, 10**12, 10**12, checkpoint=tmp_path / "new", kernel=STEPS, chains=9)
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(UnsupportedError) as without:
        sample(model, checkpoint=tmp_path / "new")
    assert str(without.value) == "Checkpoints need zarr. Install it with: pip install 'probdiff[checkpoint]'"
    assert calls == [] and os.listdir(tmp_path) == ["old"]


def test_a_store_that_cannot_be_made_leaves_nothing(tmp_path, monkeypatch):
    async def full(self, key, value, *rest):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zarr.storage.LocalStore, "set", full)
    with pytest.raises(OSError) as caught:
        sample(TARGET, checkpoint=tmp_path / "run.zarr")
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(tmp_path / "run.zarr")
    assert os.listdir(tmp_path) == []


def unfinished(path, model, kernel=None):
    sample(model, 10**5, 10, 1, seed=0, kernel=kernel, checkpoint=path, blocking=False).abort()
    return path


def refusal(error, path, *arguments):
    with pytest.raises(error) as caught:
        resume(path, *arguments)
    return str(caught.value).replace(str(path), "PATH")


def test_another_model_is_refused(tmp_path):
    path = unfinished(tmp_path / "r", posterior())
    assert refusal(DataError, path, posterior([2.1, 1.7, 3.0, 2.4, 9.9])) == (
        "resume: the data y are not those of 'PATH'. Give the data of that run."
    )
    assert refusal(DataError, path, TARGET) == (
        "resume: 'PATH' has 4 coordinates (mu, sigma, theta[A], theta[Ö]), the model has 3 (x[0], x[1], x[2]). "
        "Give the model of that run."
    )
    other = Posterior(
        Joint(mu=Normal(0, 6), sigma=HalfNormal(2), theta=Normal(0, 1).iid("site")),
        lambda mu, sigma: Normal(mu, sigma).iid(5), posterior().observed["y"], coords={"site": ["A", "Ö"]},
    )  # fmt: skip
    text = refusal(DataError, path, other)
    assert text.startswith("resume: the log-density where chain 0 began is -")
    assert text.endswith("Give the model and data of that run.")
    resume(path, posterior(), blocking=False).abort()  # and the right one is not


def test_another_kernel_is_refused(tmp_path):
    path = unfinished(tmp_path / "r", TARGET, HMC(n_steps=3))
    text = refusal(ParameterError, path, TARGET, HMC(n_steps=4))
    assert text.startswith("resume.kernel must be that of 'PATH', HMC(n_steps=3), got HMC(")
    assert refusal(ParameterError, path, TARGET, NUTS()).startswith("resume.kernel must be that of 'PATH'")
    resume(path, TARGET, HMC(n_steps=3), blocking=False).abort()


def test_a_kernel_of_ones_own_is_asked_for(tmp_path):
    def leapfrog(*arguments):
        raise NotImplementedError

    kernel = HMC(n_steps=3, integrator=leapfrog, step_size=0.1)
    path = tmp_path / "r"
    with pytest.raises(NotImplementedError):
        sample(TARGET, 10, 0, 1, seed=0, kernel=kernel, checkpoint=path)
    text = refusal(ParameterError, path, TARGET)
    assert text.startswith("resume.kernel must be given for 'PATH': it is HMC(n_steps=3, step_size=0.1, integrator=")
    with pytest.raises(NotImplementedError):
        resume(path, TARGET, kernel)


def test_a_kernel_without_snapshots_is_refused(tmp_path):
    class Own(HMC):
        def chain(self, *arguments):
            return object()

    with pytest.raises(UnsupportedError) as caught:
        sample(TARGET, kernel=Own(), checkpoint=tmp_path / "r")
    assert str(caught.value) == "sample.checkpoint needs chains with snapshot() and restore(); those of Own have none."


def change_page(path, **changes):
    root = zarr.open_group(path)
    root.update_attributes({"probdiff": dict(root.attrs["probdiff"]) | changes})


def test_other_versions(tmp_path):
    path = unfinished(tmp_path / "r", TARGET)
    page = dict(zarr.open_group(path).attrs["probdiff"])
    change_page(path, versions=page["versions"] | {"probdiff": "0.0.1"})
    assert refusal(DataError, path, TARGET).startswith("resume: 'PATH' was made by probdiff 0.0.1, this is ")
    change_page(path, versions=page["versions"] | {"numpy": "1.0"})
    resume(path, TARGET, blocking=False).abort()  # with the same bits, other libraries are welcome

    def rounded(q):
        logp, grad = gaussian(q)
        return logp * (1 + 1e-14), grad

    with pytest.warns(RuntimeWarning) as caught:
        resume(path, Target(rounded, 3), blocking=False).abort()
    assert str(caught[0].message) == (
        f"resume: densities differ from those of '{path}' in their last bits (numpy 1.0 -> {np.__version__}). "
        "The draws are as good, but not those of the unbroken run."
    )
    change_page(path, version=99)
    text = "'PATH' is format 'probdiff.checkpoint' version 99; this probdiff reads 'probdiff.checkpoint' version 1"
    assert refusal(DataError, path, TARGET) == f"resume: {text}"
    with pytest.raises(DataError, match="version 99"):
        Draws.load(path)


def test_paths_that_are_something_else(tmp_path):
    assert refusal(FileNotFoundError, tmp_path / "no", TARGET) == "resume: there is no checkpoint 'PATH'"
    (tmp_path / "folder").mkdir()
    assert refusal(DataError, tmp_path / "folder", TARGET) == (
        "resume: 'PATH' is something else; this probdiff reads 'probdiff.checkpoint' version 1"
    )
    zarr.create_group(tmp_path / "other")
    assert "is something else" in refusal(DataError, tmp_path / "other", TARGET)
    with pytest.raises(DataError, match="Draws.load: '.*other' is something else"):
        Draws.load(tmp_path / "other")


def test_lost_draws_are_seen(tmp_path):
    path = tmp_path / "r"
    sample(TARGET, 20, 0, 1, seed=0, kernel=STEPS, checkpoint=path)
    zarr.open_group(path)["unconstrained/q"][0, 3] = np.nan
    assert refusal(DataError, path, TARGET) == "resume: PATH has lost draws of chain 0. Start the run anew."


def chain_of(kernel, seed, model=TARGET):
    rng = generator(seed, 0)
    make = getattr(kernel, "chain", lambda c, model, *rest: Chain(c, model, kernel, *rest))
    return make(0, model, rng, starting_state(model, kernel, rng, 0, None), 60, 60, False)


@pytest.mark.parametrize("kernel", KERNELS, ids=["NUTS", "HMC of 3 steps", "HMC"])
def test_a_snapshot_goes_on_bit_for_bit_wherever_it_is_taken(kernel):
    whole, broken = chain_of(kernel, 5), chain_of(kernel, 5)
    whole.advance()
    pieces = []
    while not broken.finished:
        broken.advance(0)
        snapshot = {name: x.copy() for name, x in broken.snapshot().items()}
        pieces += broken.kept
        broken = chain_of(kernel, 7)  # of another seed: nothing of it may matter
        broken.restore(snapshot)
    np.testing.assert_array_equal(np.concatenate([q for q, _ in pieces]), whole.q)
    np.testing.assert_array_equal(np.concatenate([info for _, info in pieces]), whole.info)
    assert broken.divergences == whole.divergences and broken.step_size == whole.step_size
