"""The fenced code of a Markdown page, and how the tests run it."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any, NamedTuple


class Block(NamedTuple):
    """One fenced block: its language, its text, the line of the page where the text begins, and packages it needs."""

    language: str
    text: str
    line: int
    needs: tuple[str, ...] = ()


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order. ```` ```pycon torch ```` is one that needs PyTorch."""
    found: list[Block] = []
    language, text, start = [""], [""], 0
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not inside and line.startswith("```"):
            inside, language, text, start = True, line[3:].split() or [""], [], number + 1
        elif inside and line.startswith("```"):
            inside = False
            found.append(Block(language[0], "\n".join(text) + "\n", start, tuple(language[1:])))
        elif inside:
            text.append(line)
    assert not inside, f"{page}: the block at line {start} is not closed"
    return found


def run_block(block: Block, page: Path, names: dict[str, Any]) -> None:
    """Execute `python`; check `pycon` against its printed output. Other languages are not code."""
    if block.language == "python":
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True), names)
    elif block.language == "pycon":
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line - 1)
        test.globs = names  # the parser copies; later blocks of the page see what this one defines
        doctest.DebugRunner(optionflags=flags).run(test, clear_globs=False)
