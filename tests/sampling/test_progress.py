"""What is shown of a run: a table on a terminal, lines elsewhere, nothing where nobody looks."""

import io
import re
import sys
import time

import pytest

from probdiff.sampling import HMC, NUTS, Target, sample
from probdiff.sampling import progress as module
from probdiff.sampling.progress import ChainProgress, Display, Progress, clock, in_short


def gaussian(q):
    return -0.5 * float(q @ q), -q


TARGET = Target(gaussian, 3)
RUN = Progress(
    chains=(
        ChainProgress(0, 1200, 2000, 1000, 3, 0.5123, 2.5, 123_456, 41_152.0, 4.0),
        ChainProgress(1, 900, 2000, 1000, 0, 0.25, None, 0, None, None),
        ChainProgress(2, 2000, 2000, 1000, 1, 0.25, 7.0, 5, 2.0, 0.0),
    ),
    state="running",
    seconds=3.0,
    seconds_left=3723.4,
    gradients_per_second=41_154.0,
)


class Terminal(io.StringIO):
    """Standard error on a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


def test_numbers_of_a_run():
    assert RUN.fraction == 4100 / 6000
    assert [chain.phase for chain in RUN.chains] == ["sampling", "warm-up", "done"]


def test_text_of_a_run():
    assert repr(RUN) == (
        "chain      draws     phase  divergent  step size  depth  gradients/s  left\n"
        "    0  1200/2000  sampling          3      0.512    2.5       41.2 k  0:04\n"
        "    1   900/2000   warm-up          0       0.25      -            -     -\n"
        "    2  2000/2000      done          1       0.25    7.0            2      \n"
        "running: 4100 of 6000 transitions (68%), 4 divergent, 41.2 k gradients/s, 0:03 gone, 1:02:03 left"
    )
    broken = Progress(RUN.chains, "finished", 3.0, 0.0, None, trouble="run.zarr could not be written: disk full")
    assert broken.line.endswith("- gradients/s, 0:03 gone; run.zarr could not be written: disk full")


@pytest.mark.parametrize("seconds, text", [(0.4, "0:00"), (59.6, "1:00"), (3599, "59:59"), (90000, "25:00:00")])
def test_clock(seconds, text):
    assert clock(seconds) == text


@pytest.mark.parametrize("number, text", [(0, "0"), (999, "999"), (1000, "1 k"), (1_254_000, "1.25 M"), (3e9, "3 G")])
def test_numbers_in_short(number, text):
    assert in_short(number) == text


@pytest.mark.parametrize("progress", [False, None])
def test_nothing_is_shown_where_nobody_looks(capsys, progress):
    sample(TARGET, 20, 20, 2, seed=0, progress=progress)
    shown = capsys.readouterr()
    assert shown.err == shown.out == ""


def test_lines_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(module, "TICK", 0.001)

    def slow(q):
        time.sleep(2e-4)
        return gaussian(q)

    sample(Target(slow, 3), 200, 100, 2, seed=0, progress=True, kernel=HMC(n_steps=3, step_size=0.3))
    *lines, last = capsys.readouterr().err.splitlines()
    shares = [int(re.fullmatch(r"running: \d+ of 600 transitions \((\d+)%\), .* left", line)[1]) for line in lines]
    # A line for each tenth: turns are 50 ms, about 70 transitions, so that one may pass unseen.
    assert 5 <= len(shares) <= 10 and all(b - a >= 9 for a, b in zip(shares, shares[1:], strict=False))
    assert re.fullmatch(r"finished: 600 of 600 transitions \(100%\), 0 divergent, .* k gradients/s, 0:0\d gone", last)


def test_a_line_each_minute(capsys, monkeypatch):
    monkeypatch.setattr(module, "TICK", 0.001)
    monkeypatch.setattr(module, "LINE_SECONDS", 0.01)
    display = Display(lambda: RUN)
    time.sleep(0.2)
    display.stop()
    lines = capsys.readouterr().err.splitlines()
    assert 3 < len(lines) < 25 and set(lines) == {RUN.line}


@pytest.mark.parametrize("progress", [True, None])
def test_a_table_on_a_terminal(monkeypatch, progress):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    sample(TARGET, 20, 20, 2, seed=0, progress=progress, kernel=NUTS())
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    last = shown.split("chain")[-1].splitlines()
    assert last[0].split() == "draws phase divergent step size depth gradients/s left".split()
    assert [line.split()[1:5] for line in last[1:3]] == [["0", "40/40", "done", "0"], ["1", "40/40", "done", "0"]]
    assert last[3].startswith("finished: 80 of 80 transitions (100%), 0 divergent")


def test_a_run_in_the_background_shows_its_progress_on_request_only(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    sample(TARGET, 20, 20, 2, seed=0, blocking=False).wait()
    assert terminal.getvalue() == ""
    sample(TARGET, 20, 20, 2, seed=0, blocking=False, progress=True).wait()
    assert "finished: 80 of 80" in terminal.getvalue()


def test_a_display_ends_with_its_run(capsys, monkeypatch):
    monkeypatch.setattr(module, "TICK", 0.001)
    run = sample(TARGET, 20, 20, 2, seed=0, blocking=False, progress=True)
    run._display.thread.join(10)
    assert "finished: 80 of 80" in capsys.readouterr().err.splitlines()[-1]
    run.wait()
    assert capsys.readouterr().err == ""


def test_no_standard_error_or_a_closed_one_ends_nothing(monkeypatch, capsys):
    closed = Terminal()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        for progress in (True, None):
            assert not sample(TARGET, 20, 20, 2, seed=0, progress=progress).partial
    assert capsys.readouterr().out == ""


def test_a_standard_error_that_breaks_ends_nothing(monkeypatch):
    class Broken(Terminal):
        def write(self, text):
            raise BrokenPipeError

    for terminal in (True, False):
        broken = Broken()
        broken.isatty = lambda terminal=terminal: terminal
        monkeypatch.setattr(sys, "stderr", broken)
        assert not sample(TARGET, 20, 20, 2, seed=0, progress=True).partial
