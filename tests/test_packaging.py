"""The list of packages in pyproject.toml against the folders: an unlisted one would vanish from the wheel alone."""

from __future__ import annotations

import fnmatch
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
HOMES: dict[str, str] = SETTINGS["package-dir"]


def home(package: str) -> Path:
    """The folder of a package, by the longest mapped prefix."""
    prefix = max((p for p in HOMES if package == p or package.startswith(p + ".")), key=len)
    return ROOT.joinpath(HOMES[prefix], *package[len(prefix) :].strip(".").split("."))


def folders_with_code() -> set[str]:
    """The dotted name of every folder that holds Python files, links not followed."""
    found = set()
    for prefix, top in HOMES.items():
        for file in (ROOT / top).rglob("*.py"):
            below = file.parent.relative_to(ROOT / top)
            through_link = any((ROOT / top / part).is_symlink() for part in below.parents) or (
                (ROOT / top / below).is_symlink()
            )
            if not through_link:
                found.add(".".join([prefix, *below.parts]))
    return found


def test_every_folder_with_code_is_listed_and_nothing_else() -> None:
    assert set(SETTINGS["packages"]) == folders_with_code()


def test_every_package_has_an_init() -> None:
    assert [p for p in SETTINGS["packages"] if not (home(p) / "__init__.py").is_file()] == []


def test_links_show_what_package_dir_says() -> None:
    mapped = {name.removeprefix("probdiff."): top for name, top in HOMES.items() if name != "probdiff"}
    assert {p.name: p.readlink().as_posix() for p in (ROOT / "probdiff").iterdir() if p.is_symlink()} == {
        name: f"../{top}" for name, top in mapped.items()
    }


def test_every_data_file_is_shipped() -> None:
    patterns = [str(home(p) / g) for p, globs in SETTINGS["package-data"].items() for g in globs]
    files = [f for top in HOMES.values() for f in (ROOT / top).rglob("*") if f.is_file() and f.suffix != ".pyc"]
    data = [str(f) for f in files if f.suffix not in (".py", ".md")]
    assert [f for f in data if not any(fnmatch.fnmatch(f, pattern) for pattern in patterns)] == []
