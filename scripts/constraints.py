"""Write constraints.txt: names and versions of the packages that Perdure and its tools need."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

__all__ = ["main", "needed"]

EXTRAS = {"dev", "minigrid", "sklearn", "web"}
BUILDING = ("hatchling", "editables")


def needed(name: str, extras: set[str], pinned: dict[str, str]) -> None:
    """Add `name` and its requirements to `pinned`, if they are installed."""
    key = name.lower().replace("_", "-")
    if key in pinned:
        return
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return
    pinned[key] = package.version
    for text in package.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            needed(requirement.name, requirement.extras, pinned)


def main() -> None:
    """Write the file, in an environment with all extras installed: `python scripts/constraints.py constraints.txt`."""
    pinned: dict[str, str] = {}
    needed("perdure", EXTRAS, pinned)
    for name in BUILDING:
        needed(name, set(), pinned)
    del pinned["perdure"]
    lines = [f"{name}=={version}" for name, version in sorted(pinned.items())]
    head = "# The versions that are tested, by name; `make` installs these. Made by scripts/constraints.py."
    Path(sys.argv[1]).write_text("\n".join([head, *lines]) + "\n")


if __name__ == "__main__":
    main()
