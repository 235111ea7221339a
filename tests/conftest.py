"""What every test run needs: one copy of every class, and no window system. Warnings are errors by pyproject.toml."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")
_machine_code = tempfile.TemporaryDirectory(prefix="probdiff-tests-")  # tests neither read nor fill the user's cache
os.environ["PROBDIFF_CACHE_DIR"] = _machine_code.name

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job: tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

MAPPED = ("distributions", "models", "benchmarks")  # folders at the top that are installed under probdiff


@pytest.fixture(scope="session", autouse=True)
def one_copy_of_every_class() -> Iterator[None]:
    """With the repository root on sys.path, `import distributions` would load every class a second time."""
    yield
    assert [name for name in sys.modules if name.split(".")[0] in MAPPED] == []
