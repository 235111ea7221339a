"""Every example of the documentation runs, page by page, and prints what the page says."""

from __future__ import annotations

import doctest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.code_blocks import Block, blocks, run_block

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(p for p in DOCS.glob("*.md") if any(b.language in ("python", "pycon") for b in blocks(p)))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own use of it
@pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")  # for its C code, unused here
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_examples(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    absent: set[str] = set()
    for block in blocks(page):
        missing = {package for package in block.needs if find_spec(package) is None}
        absent |= missing
        if not missing:
            run_block(block, page, names)
    if absent:
        pytest.skip(f"examples that need {', '.join(sorted(absent))} were not run; all others were")


def test_a_wrong_output_is_seen() -> None:
    with pytest.raises(doctest.DocTestFailure):
        run_block(Block("pycon", ">>> 1 + 1\n3\n", 1), DOCS / "index.md", {})


def test_a_failing_example_is_seen() -> None:
    with pytest.raises(ZeroDivisionError):
        run_block(Block("python", "1 / 0\n", 1), DOCS / "index.md", {})
