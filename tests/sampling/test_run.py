"""`sample`: its arguments, starting points, seeds, interrupts, and posteriors that are not proper."""

import _thread
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from probdiff.errors import InitialPointError, ParameterError, ShapeError, UnsupportedError
from probdiff.sampling import HMC, Target, sample
from probdiff.sampling.chain import rectangle


def gaussian(q):
    return -0.5 * float(q @ q), -q


TARGET = Target(gaussian, 3)


class Counter:
    """A Gaussian that counts its evaluations and may interrupt one of them."""

    def __init__(self, interrupt_at=None):
        self.calls, self.interrupt_at = 0, interrupt_at

    def __call__(self, q):
        self.calls += 1
        if self.calls == self.interrupt_at:
            raise KeyboardInterrupt
        return gaussian(q)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"draws": 0}, "sample.draws must be a positive integer, got 0"),
        ({"draws": 10.0}, "sample.draws must be a positive integer, got 10.0"),
        ({"draws": True}, "sample.draws must be a positive integer, got True"),
        ({"tune": -1}, "sample.tune must be a non-negative integer, got -1"),
        ({"chains": 0}, "sample.chains must be a positive integer, got 0"),
        ({"chains": "4"}, "sample.chains must be a positive integer, got '4'"),
        ({"seed": -1}, "sample.seed must be a non-negative integer or None, got -1"),
        ({"seed": 1.5}, "sample.seed must be a non-negative integer or None, got 1.5"),
        ({"progress": "yes"}, "sample.progress must be True, False or None, got 'yes'"),
        ({"init": np.zeros(2)}, "sample.init must have shape (3,) or (4, 3), got shape (2,)"),
    ],
)
def test_bad_arguments(arguments, text):
    with pytest.raises(ParameterError) as caught:
        sample(TARGET, **arguments)
    assert str(caught.value) == text


def test_arguments_of_a_wrong_kind():
    with pytest.raises(UnsupportedError) as caught:
        sample(TARGET, kernel="nuts")
    assert str(caught.value) == "sample.kernel must be a kernel such as NUTS() or HMC(), got 'nuts'"
    with pytest.raises(UnsupportedError) as caught:
        sample(gaussian)
    assert str(caught.value) == (
        "sample.posterior must be a model with value_and_grad and dim, got function. "
        "Build a Posterior, or wrap a function q -> (log-density, gradient) as Target(function, dim=...)."
    )
    with pytest.raises(UnsupportedError) as caught:
        sample(TARGET, init={"x": np.zeros(3)})
    assert str(caught.value) == (
        "sample.init must be an array of shape (3,) or (4, 3) for this model, got named values"
    )


@pytest.mark.parametrize(
    "arguments, text",
    [
        ((3, 3), "Target.function must be callable, got 3"),
        ((gaussian, 0), "Target.dim must be a positive integer, got 0"),
    ],
)
def test_bad_targets(arguments, text):
    with pytest.raises(ParameterError) as caught:
        Target(*arguments)
    assert str(caught.value) == text
    with pytest.raises(ParameterError) as caught:
        Target(gaussian, 2, names=["a", "a"])
    assert str(caught.value) == "Target.names must be 2 different names, got ['a', 'a']"


def test_a_function_that_returns_wrong_shapes():
    with pytest.raises(ShapeError) as caught:
        sample(Target(lambda q: (0.0, q[:2]), 3))
    assert str(caught.value) == (
        "value_and_grad must return a number and an array of shape (3,), got shapes () and (2,)"
    )


def at_fixed_point(logp, grad):
    return Target(lambda q: (logp, np.asarray(grad)), 2, names=["mu", "tau"], initial=lambda rng: np.array([0.31, 1.2]))


def test_no_start_with_finite_density():
    with pytest.raises(InitialPointError) as caught:
        sample(at_fixed_point(-np.inf, [0.0, 0.0]))
    assert str(caught.value) == (
        "No starting point with finite log-density was found in 100 tries for chain 0; the last had log-density -inf "
        "at mu=0.31, tau=1.2. Give init=, or check the support of the data."
    )


def test_no_start_with_finite_gradient_names_the_parameters():
    with pytest.raises(InitialPointError) as caught:
        sample(at_fixed_point(-0.5, [0.0, np.nan]))
    assert str(caught.value) == (
        "No starting point with finite gradient was found in 100 tries for chain 0; the last had log-density -0.5 "
        "and a gradient that is not finite in tau, at mu=0.31, tau=1.2. Give init=, or check the model there."
    )


def test_tries_for_a_start_are_a_hundred():
    calls = []

    def impossible(q):
        calls.append(q)
        return -np.inf, q

    with pytest.raises(InitialPointError):
        sample(Target(impossible, 1))
    # A candidate is evaluated to see its shapes and again as a state.
    assert len({float(q[0]) for q in calls}) == 100


def positive(q):
    """x > 0 without a transform: half of the starting points are outside."""
    return (-float(q[0]), -np.ones(1)) if q[0] > 0 else (-np.inf, np.zeros(1))


def test_a_start_outside_is_tried_again_but_one_of_the_user_is_not_replaced():
    assert np.min(sample(Target(positive, 1), 50, 50, 4, seed=0)["x"]) > 0
    with pytest.raises(InitialPointError) as caught:
        sample(Target(positive, 1), init=np.array([-10.0]))
    assert str(caught.value) == ("init for chain 0 has log-density -inf at x[0]=-10. Give a point inside the support.")


def test_init_is_where_each_chain_starts():
    points = np.arange(12.0).reshape(4, 3)
    kernel = HMC(step_size=1e-9, n_steps=1)
    draws = sample(TARGET, 1, 0, 4, seed=0, kernel=kernel, init=points)
    np.testing.assert_allclose(draws["x"][:, 0], points, atol=1e-6)


def test_same_seed_same_draws_other_seed_other_draws():
    first, again, other = (sample(TARGET, 50, 50, 4, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first["x"], again["x"])
    for name, x in first.sample_stats.items():
        np.testing.assert_array_equal(x, again.sample_stats[name])
    chains = [*first["x"], *other["x"]]
    assert len({chain[0].tobytes() for chain in chains}) == 8
    assert len({chain[-1].tobytes() for chain in chains}) == 8


def test_a_chain_does_not_depend_on_how_many_run_or_in_which_order():
    four, two = sample(TARGET, 50, 50, 4, seed=1), sample(TARGET, 50, 50, 2, seed=1)
    np.testing.assert_array_equal(four["x"][:2], two["x"])


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("probdiff")]


def slow_gaussian(q):
    time.sleep(2e-4)
    return gaussian(q)


def test_threads_give_the_same_draws():
    turns = Target(slow_gaussian, 3)
    threads = Target(slow_gaussian, 3)
    threads.releases_gil = True
    np.testing.assert_array_equal(sample(turns, 20, 20, 3, seed=1)["x"], sample(threads, 20, 20, 3, seed=1)["x"])
    assert workers() == []


class Interrupting:
    """Slow, and asks for an interrupt of the main thread at one evaluation, as Ctrl-C would."""

    def __init__(self, at):
        self.calls, self.at = 0, at

    def __call__(self, q):
        self.calls += 1
        if self.calls == self.at:
            _thread.interrupt_main()
        return slow_gaussian(q)


def test_interrupted_threads_end_and_keep_their_draws():
    model = Target(Interrupting(at=300), 3)
    model.releases_gil = True
    draws = sample(model, 100_000, 0, 2, seed=0, kernel=HMC(n_steps=2, step_size=0.3))
    assert draws.partial
    assert 0 < draws.draws < 100_000
    assert workers() == []
    turns = sample(TARGET, draws.draws, 0, 2, seed=0, kernel=HMC(n_steps=2, step_size=0.3))
    np.testing.assert_array_equal(draws["x"], turns["x"][: draws.chains])


def test_an_error_in_a_thread_ends_the_others():
    def breaks(q):
        time.sleep(2e-4)
        if len(calls) == 200:
            raise ValueError("no luck")
        calls.append(q)
        return gaussian(q)

    calls = []
    model = Target(breaks, 3)
    model.releases_gil = True
    with pytest.raises(ValueError, match="no luck"):
        sample(model, 100_000, 0, 2, seed=0)
    assert workers() == []


def test_no_seed_is_kept_and_can_be_used_again():
    draws = sample(TARGET, 20, 20, 1)
    np.testing.assert_array_equal(draws["x"], sample(TARGET, 20, 20, 1, seed=draws.attrs["seed"])["x"])


@pytest.mark.parametrize("lengths, n", [([7, 6], 6), ([500, 500, 1], 500), ([5, 0], 5), ([4, 4, 4], 4), ([3], 3)])
def test_rectangle_keeps_most_draws(lengths, n):
    assert rectangle(lengths) == n


def test_interrupt_before_the_first_draw_passes_through():
    with pytest.raises(KeyboardInterrupt):
        sample(Target(Counter(interrupt_at=300), 3), 1000, 10_000, 2, seed=0)


def test_interrupt_returns_what_is_there():
    whole = sample(Target(Counter(), 3), 200, 0, 1, seed=0, kernel=HMC(n_steps=5, jitter=0.0, step_size=0.3))
    kernel = HMC(n_steps=5, jitter=0.0, step_size=0.3)
    # 2 evaluations for the start, then 5 a draw: the 61st draw is cut.
    draws = sample(Target(Counter(interrupt_at=2 + 60 * 5 + 3), 3), 200, 0, 1, seed=0, kernel=kernel)
    assert draws["x"].shape == (1, 60, 3)
    assert draws.partial
    assert draws.notes == ("Interrupted: 60 of 200 draws of 1 of 1 chains.",)
    np.testing.assert_array_equal(draws["x"], whole["x"][:, :60])


def test_a_chain_without_draws_is_dropped_and_the_note_says_so():
    kernel = HMC(n_steps=1, jitter=0.0, step_size=0.3)
    # The first chain takes all its turn before the second begins, and all it needs is one turn.
    model = Target(Counter(interrupt_at=4 + 20 + 1), 3)
    draws = sample(model, 20, 0, 2, seed=0, kernel=kernel)
    assert draws["x"].shape == (1, 20, 3)
    assert draws.notes == ("Interrupted: 20 of 20 draws of 1 of 2 chains; dropped: chain 1 (0 draws).",)


def test_gradient_that_turns_nan_everywhere_ends():
    calls = Counter()

    def only_the_start(q):
        logp, grad = calls(q)
        return logp, grad if calls.calls <= 2 else grad * np.nan

    draws = sample(Target(only_the_start, 3), 30, 30, 1, seed=0)
    assert np.all(draws.sample_stats["diverging"])
    assert np.all(np.isfinite(draws["x"]))
    assert draws.notes == (
        "30 of 30 transitions diverged: the density bends faster than the step size follows. "
        "Raise target_accept, or reparameterise the model.",
    )


def flat_to_infinity(q):
    return -float(np.logaddexp(0.0, -q[0])), 1 / (1 + np.exp(q))


def constant_observations(q):
    """Scale of 150 observations that are all zero, sigma ~ HalfNormal(1), in log sigma."""
    s = np.exp(2 * q)
    return float(-149 * q[0] - 0.5 * s[0]), -149 - s


@pytest.mark.parametrize("logdensity", [flat_to_infinity, constant_observations])
def test_improper_posteriors_end_and_are_flagged(logdensity):
    draws = sample(Target(logdensity, 1), 100, 100, 4, seed=0)
    assert np.all(np.isfinite(draws["x"]))
    step_size = draws.sample_stats["step_size"]
    assert np.all(np.isfinite(step_size) & (step_size > 0))
    assert any("The chains have not converged" in note for note in draws.summary().notes)


def test_warmup_is_kept_apart_and_only_on_request():
    without, kept = sample(TARGET, 20, 30, 2, seed=0), sample(TARGET, 20, 30, 2, seed=0, keep_warmup=True)
    assert without.warmup_posterior == {} == without.warmup_sample_stats
    assert kept.warmup_posterior["x"].shape == (2, 30, 3)
    assert kept.warmup_sample_stats["diverging"].shape == (2, 30)
    np.testing.assert_array_equal(without["x"], kept["x"])


def test_a_single_draw_and_a_single_iteration_of_tuning():
    draws = sample(TARGET, 1, 1, 1, seed=0)
    assert draws["x"].shape == (1, 1, 3)
    assert np.isnan(draws.summary()["x[0]"]["r_hat"])


def test_names_are_checked_before_the_run():
    model = Target(Counter(), 1, names=["draw"])
    with pytest.raises(ParameterError) as caught:
        sample(model)
    assert str(caught.value) == "'draw' is the name of the draw axis. Rename the variable."
    assert model.value_and_grad.calls <= 8


def test_a_model_that_cannot_be_sampled_says_so_first():
    class Discrete(Target):
        def check_sampleable(self):
            raise UnsupportedError("k is discrete")

    counter = Counter()
    with pytest.raises(UnsupportedError, match="k is discrete"):
        sample(Discrete(counter, 1))
    assert counter.calls == 0


@pytest.mark.parametrize("kernel, loaded", [("HMC()", []), ("NUTS()", ["scipy"])])
def test_sampling_imports_nothing_heavy(kernel, loaded):
    code = (
        "import sys, numpy as np; from probdiff.sampling import HMC, NUTS, Target, sample;"
        f"sample(Target(lambda q: (-0.5 * float(q @ q), -q), 2), 5, 5, 1, seed=0, kernel={kernel});"
        "print([m for m in ('arviz', 'matplotlib', 'pandas', 'rich', 'scipy', 'scipy.stats', 'xarray') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(loaded)
