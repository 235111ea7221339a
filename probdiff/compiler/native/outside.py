"""Functions that compiled code calls by name: found again for machine code that another process has made."""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path

import numpy as np
import scipy

import probdiff
from probdiff.compiler.formulas import formula
from probdiff.compiler.native import blas, instructions, jit, parallel
from probdiff.compiler.native.routine import PREFIX, routine

# What emission depends on besides the program: the source of these folders.
FOLDERS = ("compiler", "graph", "ops")
_unstable = re.compile(r" at 0x[0-9a-f]|\.\.\.")  # objects shown by their address, arrays not shown in full


def available(name: str) -> bool:
    """Whether the function is known to compiled code; those of SciPy and our own are made known on the way."""
    if jit.has_symbol(name):
        return True
    if name == parallel.SYMBOL:
        parallel.symbol()
    elif name in (blas.ONE_THREAD, blas.ALL_THREADS):
        blas.thread_symbols()
    elif name.startswith(PREFIX) and formula(name.removeprefix(PREFIX)) is not None:
        routine(name.removeprefix(PREFIX))
    elif name.startswith("scipy."):
        _of_scipy(name.removeprefix("scipy."))
    return jit.has_symbol(name)


def _of_scipy(name: str) -> None:
    if name in blas.ROUTINES:
        blas.routine(name)
    else:
        for count in range(1, 5):
            instructions.scipy_routine(name, count)


def structure(key: tuple[object, ...]) -> str | None:
    """A text that decides the machine code of a program with that key, this package's source included.

    None if the key says less than everything about the program, or the source cannot be read.
    """
    text = repr(key)
    source = _source()
    if source is None or _unstable.search(text):
        return None
    return f"{source} {np.__version__} {scipy.__version__} {text}"


@functools.cache
def _source() -> str | None:
    digest = hashlib.sha256()
    root = Path(probdiff.__file__).parent
    try:
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*.py")):
                digest.update(str(path.relative_to(root)).encode())
                digest.update(path.read_bytes())
    except OSError:
        return None
    return digest.hexdigest()
