"""The rows of `tests/reference/cases.jsonl`, and the checks that answer them, by identifier."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "reference" / "cases.jsonl"
SAMPLING = ("sampler", "output_io")  # areas of runs and their results; the others are of functions and densities
Check = Callable[[dict[str, Any]], None]


def rows(sampling: bool) -> list[dict[str, Any]]:
    """The rows of the sampler and its output, or all others."""
    found = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return [row for row in found if (row["area"] in SAMPLING) == sampling]


def expected(row: dict[str, Any]) -> dict[str, Any]:
    """What a row expects, by its words."""
    return {item["what"]: item["value"] for item in row["expected"]}


class Checks(dict[str, Check]):
    """Checks by identifier: `@case("AD01")` adds one."""

    def __call__(self, identifier: str) -> Callable[[Check], Check]:
        def keep(check: Check) -> Check:
            assert identifier not in self
            self[identifier] = check
            return check

        return keep
