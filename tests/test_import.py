"""Imports point down the layers of the design, and nothing heavy is loaded before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("scipy.stats", "scipy.special", "llvmlite", "jax", "arviz", "matplotlib", "rich", "torch")

# Bottom up. A module may import its own layer and those below it; `sampling` stands beside distributions and models.
LAYERS = (
    ("errors",),
    ("tree",),
    ("ops",),
    ("graph",),
    ("compiler",),
    ("ad", "linalg", "special"),
    ("distributions", "sampling"),
    ("models", "approximate"),
    ("interop", "benchmarks", "cli", "demo", "doctor"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
BESIDE = {("models", "sampling"), ("sampling", "distributions"), ("distributions", "sampling")}


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, probdiff; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "docs")
    assert done.stdout.strip() == "[]"


def sources() -> list[tuple[str, Path]]:
    """Every module as its layer and its file."""
    tops = {"": ROOT / "probdiff"} | {name: ROOT / name for name in ("distributions", "models", "benchmarks")}
    found = []
    for prefix, top in tops.items():
        for file in sorted(top.rglob("*.py")):
            parts = file.relative_to(top).with_suffix("").parts
            if prefix or (parts[0] not in tops and parts != ("__init__",)):
                found.append((prefix or parts[0], file))
    return found


def imported_layers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and layer of every import of ours that runs when the module is loaded."""
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: import absolutely"
            module = (node.module or "").split(".")
            if module[0] == "probdiff":
                names = module[1:2] or [alias.name for alias in node.names]
                yield from ((node.lineno, name) for name in names)
        elif isinstance(node, ast.Import):
            dotted = [alias.name.split(".") for alias in node.names]
            yield from ((node.lineno, d[1]) for d in dotted if d[0] == "probdiff" and len(d) > 1)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def upward(layer: str, source: str) -> list[str]:
    """What a module of `layer` imports that it must not."""
    top = max(RANK.values())
    wrong = []
    for line, name in imported_layers(ast.parse(source)):
        rank = RANK.get(name, top)  # a name of the package itself stands for the whole public interface
        if rank > RANK[layer] or (layer, name) in BESIDE:
            wrong.append(f"line {line}: {layer} imports {name}")
    return wrong


@pytest.mark.parametrize(("layer", "file"), [pytest.param(*s, id=str(s[1].relative_to(ROOT))) for s in sources()])
def test_imports_point_down(layer: str, file: Path) -> None:
    assert upward(layer, file.read_text()) == []


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("ops", "from probdiff.ad.dual import Dual"),
        ("graph", "import probdiff.compiler"),
        ("sampling", "if True:\n    from probdiff.distributions import Normal"),
        ("ad", "from probdiff import gradient"),
    ],
)
def test_an_import_that_points_up_is_seen(layer: str, source: str) -> None:
    assert len(upward(layer, source)) == 1


def test_a_late_import_may_point_up() -> None:
    assert upward("ops", "def f():\n    from probdiff.ad.dual import Dual") == []
