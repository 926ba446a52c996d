"""Digests of learners' code: equal digests mean the same learner."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType

from perdure import __version__, files
from perdure.cluster import is_installed

UNKNOWN = "unknown"
"""Digest of code that has no file, as in a notebook."""
_THEN = " then "


def code_digest(modules: Iterable[str]) -> str:
    """Return a text that identifies the code of imported modules, or "unknown" if one has no file.

    A module outside site-packages is identified by its source and all .py files of its package, an installed
    one by the version of its distribution. Perdure itself is identified by its version wherever it is stored:
    an edit of Perdure's own source does not change the digest. Modules of the user's own that these modules
    import at their top level count as well: a base class, or the class that a function returns, may be there.
    """
    parts = {_identify(name) for name in _with_imports(modules)}
    return ", ".join(sorted(part for part in parts if part)) if None not in parts else UNKNOWN


def _with_imports(modules: Iterable[str]) -> list[str]:
    """Return the modules, and the user's own ones that their top level imports, directly or not."""
    texts: list[str] = []
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in texts:
            continue
        texts.append(name)
        for value in vars(sys.modules[name]).values() if _is_own(name) else ():
            other = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(other, str) and _is_own(other):
                waiting.append(other)
    return texts


def _is_own(module: str) -> bool:
    """Return whether an imported module is the user's own: it has a file, outside site-packages and Perdure."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and module.partition(".")[0] != "perdure" and not is_installed(Path(file).resolve())


def continues(recorded: str | None, digest: str) -> bool:
    """Return whether `digest` is the code that `recorded` ends with. True if nothing is recorded."""
    return recorded is None or recorded.rpartition(_THEN)[2] == digest


def chained(recorded: str | None, digest: str) -> str:
    """Return the digest of a lifetime that began as `recorded` and continues with the code `digest`."""
    if recorded is None:
        return digest
    return recorded if continues(recorded, digest) else f"{recorded}{_THEN}{digest}"


def _identify(module: str) -> str | None:
    package = module.partition(".")[0]
    if package == "perdure":
        return f"perdure=={__version__}"
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return None
    if is_installed(Path(file).resolve()) and (names := packages_distributions().get(package)):
        return ", ".join(f"{name}=={version(name)}" for name in sorted(set(names)))
    digest = hashlib.sha256()
    try:
        for name, source in sorted({Path(file).name: Path(file), **dict(_sources(package))}.items()):
            content = files.read_bytes(source)
            digest.update(b"%b\0%d\0%b" % (os.fsencode(name), len(content), content))
    except OSError:
        return None
    return f"{package}@{digest.hexdigest()[:16]}"


def _sources(package: str) -> Iterator[tuple[str, Path]]:
    """Yield the .py files of a package, by their path in it. A module that is not in a package has none."""
    for root in map(Path, getattr(sys.modules.get(package), "__path__", ())):
        for file in root.rglob("*.py"):
            name = file.relative_to(root)
            if not is_installed(file) and not any(part.startswith(".") for part in name.parts):
                yield name.as_posix(), file
