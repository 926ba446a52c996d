"""Write constraints.txt: names and versions of the packages that Perdure and its tools need."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

__all__ = ["main", "needed"]

EXTRAS = {"dev", "minigrid", "sklearn", "web"}
BUILDING = ("hatchling", "editables")


def needed(name: str, extras: set[str], found: dict[str, str]) -> None:
    """Add `name` and its requirements to `found`, if they are installed."""
    key = name.lower().replace("_", "-")
    if key in found:
        return
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return
    found[key] = package.version
    for text in package.requires or ():
        one = Requirement(text)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            needed(one.name, one.extras, found)


def main() -> None:
    """Write the file, in an environment with all extras installed: `python scripts/constraints.py constraints.txt`."""
    found: dict[str, str] = {}
    needed("perdure", EXTRAS, found)
    for name in BUILDING:
        needed(name, set(), found)
    del found["perdure"]
    lines = [f"{name}=={version}" for name, version in sorted(found.items())]
    head = "# The versions that are tested, by name; `make` installs these. Made by scripts/constraints.py."
    Path(sys.argv[1]).write_text("\n".join([head, *lines]) + "\n")


if __name__ == "__main__":
    main()
