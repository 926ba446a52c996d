"""Starters: a plug-in of each kind as a small package with its test, written for people to change."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from msgspec import Struct

from perdure import files
from perdure.errors import PerdureError

__all__ = ["KINDS", "Kind", "write_starter"]

_TEMPLATES = Path(__file__).parent / "templates"


class Kind(Struct, frozen=True):
    """One kind of plug-in."""

    group: str
    """Group of the entry point."""
    offered: str
    """Object in the module that the entry point names."""
    entry: str = "$module"
    """Name of the entry point."""
    tried: str = ""
    """Command that uses the installed plug-in."""


KINDS: Mapping[str, Kind] = {
    "metric": Kind("perdure.metrics", "$module", tried="perdure score LOGS --metrics $module"),
    "task": Kind("perdure.tasks", "$Class", "$name", "perdure compose condensed --task $name --learn 9 --evaluate 9"),
    "learner": Kind(
        "perdure.learners", "$Class", "$name", 'perdure run PROTOCOL.toml --into runs   # with learner = "$name"'
    ),
    "reader": Kind("perdure.readers", "READER", "$name", "perdure score FILE.$module"),
    "report": Kind("perdure.reports", "written", ".$module", "perdure report LOGS --to report.$module"),
}
"""What can be begun, and how Perdure finds it."""


def write_starter(kind: str, name: str, into: str | Path = ".") -> tuple[Path, ...]:
    """Write a package `name` into a new folder: module, test, pyproject.toml. Return the files."""
    words = _words(kind, name)
    folder = Path(into) / words["name"]
    if folder.exists():
        raise PerdureError("is there already", "choose another name, or another place with --into", file=folder)
    template = KINDS[kind]
    filled = {key: Template(getattr(template, key)).substitute(words) for key in ("group", "offered", "entry", "tried")}
    texts = {
        f"{words['module']}.py": _template(f"{kind}.py"),
        f"test_{words['module']}.py": _template(f"test_{kind}.py"),
        "pyproject.toml": _template("pyproject.toml"),
        "README.md": _template("README.md"),
    }
    with files.writing(folder, "choose another place with --into"):
        folder.mkdir(parents=True)
        for file, text in texts.items():
            files.deliver(folder / file, text.substitute(words, kind=kind, **filled).encode())
    return tuple(folder / file for file in texts)


def _words(kind: str, name: str) -> dict[str, str]:
    """Return the name of the package, the module and the class."""
    if kind not in KINDS:
        raise PerdureError(f"there is no starter for {kind!r}", f"choose one of {', '.join(KINDS)}")
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    module = "_".join(parts).lower()
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or not module.isidentifier() or keyword.iskeyword(module):
        raise PerdureError(
            f"{name!r} cannot name a package", "use letters, digits and hyphens, beginning with a letter"
        )
    return {"name": module.replace("_", "-"), "module": module, "Class": "".join(part.capitalize() for part in parts)}


def _template(name: str) -> Template:
    return Template((_TEMPLATES / f"{name}.txt").read_text(encoding="utf-8"))
