"""`probdiff doctor`: what is installed, and what the machine offers to compiled code."""

from __future__ import annotations

import importlib.util
import os
import platform
from importlib.metadata import PackageNotFoundError, version

REQUIRED = ("numpy", "scipy", "llvmlite", "optree", "rich", "arviz", "matplotlib")
OPTIONAL = {
    "jax": "XLA, GPU and TPU",
    "torch": "a peer in benchmarks",
    "autograd": "a peer in benchmarks",
    "pytensor": "a peer in benchmarks",
    "drjit": "a peer in benchmarks",
    "numba": "a peer in benchmarks",
    "stanli": "a peer in benchmarks",
}
# The features that decide how wide a loop runs; the rest of LLVM's list is long and decides little.
FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512vl", "neon", "sve", "sve2")


def installed_version(name: str) -> str | None:
    """The version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def cpu() -> tuple[str, list[str]]:
    """LLVM's name for the host CPU, and which of `FEATURES` it has."""
    import llvmlite.binding as llvm

    found = llvm.get_host_cpu_features()
    return llvm.get_host_cpu_name(), [name for name in FEATURES if found.get(name)]


def devices() -> list[str]:
    """The devices that arrays can live on: the CPU, and what JAX sees if it is installed."""
    lines = [f"cpu: {os.cpu_count()} cores (native, numpy)"]
    if importlib.util.find_spec("jax") is not None:
        import jax

        lines += [f"{d.platform}: {d.device_kind} (jax)" for d in jax.devices()]
    return lines


def doctor() -> None:
    """Print versions, CPU features, devices, and the optional packages with what they are for."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"probdiff {version('probdiff')}, Python {platform.python_version()} on {platform.platform()}")

    table = Table(title="packages", title_justify="left")
    for column in ("package", "version", "used for"):
        table.add_column(column)
    for name in REQUIRED:
        table.add_row(name, installed_version(name) or "[red]missing[/red]", "required")
    for name, use in OPTIONAL.items():
        table.add_row(name, installed_version(name) or "not installed", use)
    console.print(table)

    name, features = cpu()
    console.print(f"CPU for compiled code: {name}; {', '.join(features) or 'no vector extensions known here'}")
    for line in devices():
        console.print(f"device {line}", highlight=False)
