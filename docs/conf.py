"""Sphinx settings: MyST pages, and a reference made from docstrings that are plain text."""

from __future__ import annotations

from importlib import metadata
from typing import Any

project = "probdiff"
author = "the probdiff authors"
copyright = "the probdiff authors"
release = metadata.version("probdiff")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"probdiff {release}"
autodoc_typehints = "none"
nitpicky = False


def keep_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Show a docstring as it is written: its formulas and tables are text, not reStructuredText."""
    if any(line.strip() for line in lines):
        lines[:] = ["::", "", *[f"    {line}" for line in lines], ""]


def setup(app: Any) -> None:
    """Register the docstring filter."""
    app.connect("autodoc-process-docstring", keep_text)
