"""Runs in the background: watched, paused, ended, waited for; and what moves their chains changes no draw."""

import _thread
import gc
import subprocess
import sys
import threading
import time
import traceback

import numpy as np
import pytest

from probdiff.distributions import HalfNormal, Normal
from probdiff.errors import ParameterError, ProbdiffError
from probdiff.models import Joint, Posterior
from probdiff.sampling import HMC, NUTS, Run, Target, crew, sample

LONG = 10**6
STEPS = HMC(n_steps=2, step_size=0.3)


def gaussian(q):
    return -0.5 * float(q @ q), -q


def slow_gaussian(q):
    time.sleep(2e-4)
    return gaussian(q)


SLOW = Target(slow_gaussian, 3)


def posterior():
    y = np.array([2.1, 1.7, 3.0, 2.4, 2.2])
    return Posterior(Joint(mu=Normal(0, 5), sigma=HalfNormal(2)), lambda mu, sigma: Normal(mu, sigma).iid(5), y)


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("probdiff")]


def until(condition, seconds=20):
    end = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < end
        time.sleep(1e-3)


def assert_same(a, b):
    for group in ("posterior", "sample_stats"):
        for name, x in getattr(a, group).items():
            np.testing.assert_array_equal(x, getattr(b, group)[name])


@pytest.mark.parametrize("kernel", [NUTS(), HMC()])
@pytest.mark.parametrize("model", [posterior(), Target(gaussian, 3)], ids=["native", "python"])
def test_a_run_in_the_background_has_the_draws_of_one_that_is_waited_for(model, kernel):
    run = sample(model, 60, 60, 3, seed=1, kernel=kernel, blocking=False)
    assert isinstance(run, Run)
    draws = run.wait()
    assert_same(draws, sample(model, 60, 60, 3, seed=1, kernel=kernel))
    assert run.wait() is draws is run.inspect() is run.abort()
    assert run.finished and not draws.partial and workers() == []


@pytest.mark.parametrize("model", [posterior(), Target(gaussian, 3)], ids=["native", "python"])
def test_neither_the_number_of_threads_nor_their_slices_change_a_draw(model, monkeypatch):
    expected = sample(model, 60, 60, 3, seed=1)
    monkeypatch.setattr(crew, "PIECE_PAYS", 0.0)  # threads always pay
    monkeypatch.setattr("probdiff.sampling.run.THREADS_PAY", 0.0)
    model.releases_gil = True
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    monkeypatch.setattr(crew, "SLICE", 0.0)
    assert_same(sample(model, 60, 60, 3, seed=1), expected)


def test_inspect_shows_the_first_draws_while_the_run_goes_on():
    with sample(SLOW, LONG, 0, 2, seed=0, kernel=STEPS, blocking=False) as run:
        until(lambda: all(chain.iteration > 20 for chain in run.progress.chains))
        first = run.inspect()
        assert first.partial and first.draws >= 20
        assert first.notes[0].startswith(f"So far: {first.draws} of 1000000 draws of ")
        until(lambda: run.progress.chains[0].iteration > first.draws + 50)
        later = run.abort()
    assert later.draws > first.draws
    both = min(first.chains, later.chains)  # a chain that is far behind is left out
    np.testing.assert_array_equal(later["x"][:both, : first.draws], first["x"][:both])
    assert later.notes[0].startswith(f"Interrupted: {later.draws} of 1000000 draws of ")


def test_inspect_and_abort_during_warm_up_give_no_draws():
    run = sample(SLOW, 10, LONG, 2, seed=0, kernel=STEPS, blocking=False)
    shown, ended = run.inspect(), run.abort()
    assert shown["x"].shape == ended["x"].shape == (2, 0, 3)
    assert shown.notes == ("So far: 0 of 10 draws of 2 of 2 chains.",)
    assert ended.notes == ("Interrupted: 0 of 10 draws of 2 of 2 chains.",)
    assert ended.partial and workers() == []


def test_a_paused_run_stands_still_and_goes_on_as_if_nothing_had_been():
    run = sample(SLOW, 150, 50, 2, seed=1, kernel=STEPS, blocking=False)
    until(lambda: run.progress.fraction > 0.1)
    run.pause()
    before = run.progress
    assert before.state == "paused"
    time.sleep(0.1)
    assert run.progress.chains == before.chains and run.progress.seconds == before.seconds
    with pytest.raises(ProbdiffError) as caught:
        run.wait()
    assert str(caught.value) == "Run.wait: the run is paused and would never end. Call resume() first."
    run.resume()
    assert_same(run.wait(), sample(Target(gaussian, 3), 150, 50, 2, seed=1, kernel=STEPS))


def test_pause_resume_and_abort_may_come_twice_and_late():
    run = sample(SLOW, 10, 0, 2, seed=1, kernel=STEPS, blocking=False)
    run.pause()
    run.pause()
    run.resume()
    run.resume()
    draws = run.wait()
    run.pause()
    run.resume()
    assert run.abort() is draws and run.progress.state == "finished"


def test_a_paused_run_can_be_ended():
    run = sample(SLOW, LONG, 0, 2, seed=1, kernel=STEPS, blocking=False)
    run.pause()
    assert run.abort().partial
    assert workers() == []


def test_wait_has_a_timeout_after_which_the_run_goes_on():
    with sample(SLOW, LONG, 0, 2, seed=0, kernel=STEPS, blocking=False) as run:
        with pytest.raises(TimeoutError, match=r"Run.wait: the run is not finished after 0.05 s. running: \d+ of 2000"):
            run.wait(timeout=0.05)
        at = run.progress.fraction
        until(lambda: run.progress.fraction > at)
    assert run.progress.state == "stopped" and workers() == []


def test_a_long_trajectory_is_cut_when_the_run_is_ended():
    with sample(SLOW, 10, 0, 1, seed=0, kernel=HMC(n_steps=LONG, max_steps=LONG, jitter=0), blocking=False) as run:
        until(lambda: workers())
        began = time.perf_counter()
        assert run.abort()["x"].shape == (1, 0, 3)
    assert time.perf_counter() - began < crew.GRACE + 5


def breaks(after):
    calls = []

    def model(q):
        calls.append(q)
        if len(calls) > after:
            raise ZeroDivisionError("no luck")
        return slow_gaussian(q)

    return Target(model, 3)


def test_an_exception_of_a_chain_is_raised_where_it_is_waited_for():
    run = sample(breaks(300), 1000, 0, 2, seed=0, kernel=HMC(n_steps=2, step_size=0.3, jitter=0.0), blocking=False)
    until(lambda: run.progress.state == "failed")
    with pytest.raises(ZeroDivisionError, match="no luck") as caught:
        run.wait()
    text = "".join(traceback.format_exception(caught.value))
    assert "in model" in text and "calls.append" not in text and 'raise ZeroDivisionError("no luck")' in text
    assert caught.value.__notes__[0].startswith("This was transition ")
    # Two evaluations for each start, then two for each of the draws, which are kept.
    assert repr(run).endswith("; ZeroDivisionError: no luck")
    drawn = sum(chain.iteration for chain in run.progress.chains)
    assert drawn == (300 - 4) // 2
    assert run.inspect().partial and workers() == []


def test_ctrl_c_while_waiting_returns_the_draws_so_far():
    run = sample(SLOW, LONG, 0, 2, seed=0, kernel=STEPS, blocking=False)
    until(lambda: run.progress.fraction > 0)
    threading.Timer(0.1, _thread.interrupt_main).start()
    draws = run.wait()
    assert draws.partial and draws.draws > 0 and draws.notes[0].startswith("Interrupted: ")
    assert workers() == []


def test_ctrl_c_before_the_first_draw_passes_through():
    run = sample(SLOW, 10, LONG, 2, seed=0, kernel=STEPS, blocking=False)
    threading.Timer(0.1, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        run.wait()
    assert workers() == []


@pytest.mark.parametrize("paused", [False, True])
def test_a_handle_that_nobody_holds_stops_its_run(paused):
    run = sample(SLOW, LONG, 0, 2, seed=0, kernel=STEPS, blocking=False)
    if paused:
        run.pause()
    assert workers()
    del run
    gc.collect()
    until(lambda: workers() == [])


def test_an_interpreter_ends_while_a_run_goes_on():
    code = (
        "import numpy as np; from probdiff.models.zoo import eight_schools; from probdiff import sample;"
        "run = sample(eight_schools(), 10**7, 10**6, 2, blocking=False); print(run.progress.state)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "running\n", "")


def test_the_handle_shows_the_run():
    run = sample(posterior(), 30, 20, 2, seed=0, blocking=False)
    draws = run.wait()
    lines = repr(run).splitlines()
    assert lines[0].split() == "Run: chain draws phase divergent step size depth gradients/s left".split()
    assert lines[1].split()[:4] == ["0", "50/50", "done", f"{draws.sample_stats['diverging'][0].sum()}"]
    divergent = draws.sample_stats["diverging"].sum()
    assert lines[3].startswith(f"finished: 100 of 100 transitions (100%), {divergent} divergent, ")
    progress = run.progress
    assert progress.fraction == 1.0 and progress.seconds_left == 0.0
    steps = draws.sample_stats["n_steps"].sum(axis=1)
    for chain, kept in zip(progress.chains, steps, strict=True):
        assert chain.gradients > kept and chain.gradients_per_second > 0 and 0 < chain.tree_depth < 10


@pytest.mark.parametrize("name, value, text", [
    ("blocking", "no", "sample.blocking must be True or False, got 'no'"),
    ("checkpoint_every", -1, "sample.checkpoint_every must be a number of seconds, not negative, got -1"),
])  # fmt: skip
def test_bad_arguments(name, value, text):
    with pytest.raises(ParameterError) as caught:
        sample(SLOW, **{name: value})
    assert str(caught.value) == text
