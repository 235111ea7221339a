"""Machine code on disk: found again, never trusted blindly, and never in the way."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from probdiff.compiler.native import cache, jit, outside

TEXT = """
declare double @fmod(double, double)
define double @f{tag}(double %x) {{
  %y = fmul double %x, {factor}
  %z = call double @fmod(double %y, double 7.0)
  ret double %z
}}
"""
CALLS_ABSENT = """
declare double @probdiff_test_absent(double)
define double @f(double %x) {
  %y = call double @probdiff_test_absent(double %x)
  ret double %y
}
"""
DAY = 86400.0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("PROBDIFF_CACHE_DIR", str(folder))
    monkeypatch.delenv("PROBDIFF_CACHE", raising=False)
    return folder


def run(code: str, place: Path, **environment: str) -> str:
    """What another process prints."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={**os.environ, "PROBDIFF_CACHE_DIR": str(place), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def load(factor: float, tag: str = "") -> tuple[float, bool]:
    """f(2.0) of a module, and whether it was found on disk."""
    import ctypes

    account = jit.Account()
    (address,) = jit.load(TEXT.format(factor=factor, tag=tag), ["f" + tag], account=account)
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(2.0), account.found


def only_file(place: Path) -> Path:
    (path,) = place.glob("*.code")
    return path


PROGRAM = """
import numpy as np, scipy.special
from probdiff import compile, value_and_grad
f = compile(value_and_grad(lambda x: np.sum(scipy.special.gammainc(2.5, x) + np.hypot(x, 2.0))))
print(repr(f(np.array([0.3, 2.0, 5.5]))), "disk" if f.explain().cached else "made")
"""


def test_a_program_is_found_by_the_next_process(place: Path) -> None:
    first = run(PROGRAM, place)
    second = run(PROGRAM, place)
    assert first.endswith("made\n")
    assert second.endswith("disk\n")
    assert first.removesuffix("made\n") == second.removesuffix("disk\n")


OUTSIDE = """
import numpy as np, scipy.special
from probdiff import compile
rng = np.random.default_rng(0)
A, big = rng.normal(size=(90, 90)), rng.normal(size=300_000)
def f(x):
    L = np.linalg.cholesky(A @ A.T + x[0] * np.eye(90))
    return np.sum(np.log(np.diag(L))) + np.sum(scipy.special.gammainc(2.5, np.abs(x))) + np.sum(np.sin(big * x[1]))
g = compile(f)
print(float(g(np.array([0.3, 2.0]))), "disk" if g.explain().cached else "made")
"""


def test_code_found_by_its_text_is_found_by_its_structure_from_then_on(place: Path) -> None:
    text = TEXT.format(factor=1.5, tag="_again")
    jit.load(text, ["f_again"], structure="before a change")
    account = jit.Account()
    assert jit.recall("after it", ["f_again"], jit.has_symbol, account) is None
    jit.load(text, ["f_again"], structure="after it", account=account)
    assert account.found
    assert jit.recall("after it", ["f_again"], jit.has_symbol, jit.Account()) is not None


def test_routines_of_scipy_and_threads_are_found_again(place: Path) -> None:
    first, made = run(OUTSIDE, place).split()
    second, found = run(OUTSIDE, place).split()
    assert (made, found) == ("made", "disk")
    assert second == first


def test_contents_of_arrays_are_not_part_of_the_code(place: Path) -> None:
    code = """
    import numpy as np
    from probdiff import compile
    data = np.arange(3.0) + {shift}
    g = compile(lambda x: np.sum(x * data))
    print(float(g(np.ones(3))), "disk" if g.explain().cached else "made")
    """
    assert run(code.format(shift=0), place) == "3.0 made\n"
    assert run(code.format(shift=1), place) == "6.0 disk\n"


def test_a_structure_that_says_too_little_is_not_a_key() -> None:
    assert outside.structure(("add", (0, 1), (), (3,), "<f8")) is not None
    assert outside.structure(("add", "<function f at 0x7f00>")) is None
    assert outside.structure(("take", repr(np.arange(5000)))) is None


def test_a_change_of_the_source_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = outside.structure(("add",))
    monkeypatch.setattr(outside, "_source", lambda: "another")
    assert outside.structure(("add",)) != before
    monkeypatch.setattr(outside, "_source", lambda: None)
    assert outside.structure(("add",)) is None


def test_the_content_decides(place: Path) -> None:
    assert load(3.0) == (6.0, False)
    assert load(3.0) == (6.0, True)
    assert load(4.0) == (1.0, False)
    assert len(cache.names(place)) == 2


def test_two_writers_at_once(place: Path) -> None:
    code = """
    from probdiff.compiler.native import cache
    for k in range(300):
        name = cache.key(str(k % 5))
        cache.write(name, cache.Stored(("sin",), bytes([k % 5]) * 100_000))
        found = cache.read(name)
        assert found == cache.Stored(("sin",), bytes([k % 5]) * 100_000), (k, found and found.code[:4])
    """
    environment = {**os.environ, "PROBDIFF_CACHE_DIR": str(place)}
    writers = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], env=environment, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for writer in writers:
        _, error = writer.communicate()
        assert writer.returncode == 0, error.decode()
    assert len(list(place.iterdir())) == 5  # nothing temporary is left


@pytest.mark.parametrize("keep", [0, 10, 40, 60, -1])
def test_a_truncated_file_is_replaced(place: Path, keep: int) -> None:
    load(3.0)
    path = only_file(place)
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    assert load(3.0) == (6.0, False)
    assert len(path.read_bytes()) == len(whole)
    assert load(3.0) == (6.0, True)


@pytest.mark.parametrize("at", [0, 20, 55, -1])
def test_a_changed_byte_is_seen(place: Path, at: int) -> None:
    load(3.0)
    path = only_file(place)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))
    assert load(3.0) == (6.0, False)


def test_a_file_under_another_name_is_not_used(place: Path) -> None:
    load(3.0)
    path = only_file(place)
    name = cache.key("another")
    path.rename(path.with_name(name + cache.SUFFIX))
    assert cache.read(name) is None


def test_a_killed_process_leaves_the_cache_usable(place: Path) -> None:
    code = """
    import numpy as np
    from probdiff.compiler.native import jit
    print("ready", flush=True)
    for k in range(100_000):
        jit.load(f"define double @f(double %x) {{ %y = fmul double %x, {float(k)}\\n ret double %y }}", ["f"])
    """
    environment = {**os.environ, "PROBDIFF_CACHE_DIR": str(place)}
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)], env=environment, stdout=subprocess.PIPE
        ) as compiling:
            assert compiling.stdout is not None
            assert compiling.stdout.readline() == b"ready\n"
            time.sleep(0.3)
            compiling.send_signal(signal.SIGKILL)
    names = cache.names(place)
    assert names
    assert all(cache.read(name) is not None for name in names)
    assert load(3.0) == (6.0, False)
    assert load(3.0) == (6.0, True)


def test_a_folder_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PROBDIFF_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert load(3.0) == (6.0, False)
    assert load(3.0) == (6.0, False)


def test_a_read_only_folder(place: Path) -> None:
    load(3.0)
    place.chmod(0o500)
    assert load(3.0) == (6.0, True)
    assert load(5.0)[0] == 3.0  # the administrator may write even here
    place.chmod(0o700)


def test_a_folder_open_to_others_is_not_used(place: Path) -> None:
    load(3.0)
    place.chmod(0o777)
    with pytest.warns(UserWarning, match="can be written to by other users"):
        assert load(3.0) == (6.0, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        assert load(3.0) == (6.0, False)


def test_a_file_open_to_others_is_not_used(place: Path) -> None:
    load(3.0)
    only_file(place).chmod(0o666)
    with pytest.warns(UserWarning, match="can be written to by other users"):
        assert load(3.0) == (6.0, False)
    assert stat.S_IMODE(only_file(place).stat().st_mode) == 0o600  # replaced by our own


def test_a_folder_of_another_user_is_not_used(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(3.0)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert load(3.0) == (6.0, False)


def test_a_link_is_not_followed(place: Path, tmp_path: Path) -> None:
    load(3.0)
    path = only_file(place)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert load(3.0) == (6.0, False)


def test_private_from_the_start(place: Path) -> None:
    load(3.0)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(only_file(place).stat().st_mode) == 0o600


def test_off(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBDIFF_CACHE", "0")
    assert load(3.0) == (6.0, False)
    assert load(3.0) == (6.0, False)
    assert not place.exists()


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PROBDIFF_CACHE_DIR", raising=False)
    monkeypatch.delenv("PROBDIFF_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for platform, expected in (("linux", "xdg"), ("darwin", "Library/Caches"), ("win32", "local")):
        monkeypatch.setattr(sys, "platform", platform)
        assert cache.folder() == tmp_path / expected / "probdiff"


def test_code_that_calls_what_is_not_here_is_made_again(place: Path) -> None:
    """An object file whose functions are missing would end the process when it is linked."""
    name = cache.key(CALLS_ABSENT, "3", "3", *jit._surroundings())
    cache.write(name, cache.Stored(("probdiff_test_absent",), b"not even code"))
    assert jit._stored(name, jit.has_symbol) is None


def test_texts_with_addresses_are_not_kept(place: Path) -> None:
    text = "define ptr @f() { ret ptr inttoptr (i64 4096 to ptr) }"
    jit.load(text, ["f"])
    jit.load(TEXT.format(factor=3.0, tag=""), ["f"], cached=False)
    assert not place.exists()


def test_the_oldest_go_when_it_is_full(place: Path) -> None:
    names = [cache.key(str(k)) for k in range(10)]
    now = time.time()
    for k, name in enumerate(names):
        cache.write(name, cache.Stored((), bytes(1000)))
        os.utime(place / (name + cache.SUFFIX), (now - 10 * DAY + k, now - 10 * DAY + k))
    assert cache.read(names[0]) is not None  # used now, so no longer the oldest
    (place / ".new-left").write_bytes(b"by a writer that was killed")
    os.utime(place / ".new-left", (now - 2 * DAY, now - 2 * DAY))
    cache.prune(place, limit=8000)
    left = set(cache.names(place))
    assert names[0] in left
    assert names[1] not in left
    assert names[9] in left
    assert len(left) == 5  # three quarters of 8000 bytes
    assert not (place / ".new-left").exists()


def test_what_is_read_is_what_was_written(place: Path) -> None:
    stored = cache.Stored(("sin", "scipy.gammaln"), np.arange(100, dtype=np.uint8).tobytes())
    cache.write(cache.key("a"), stored)
    assert cache.read(cache.key("a")) == stored
    assert cache.read(cache.key("b")) is None
