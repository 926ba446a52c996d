"""The actor that runs Perdure's work on a machine of a cluster, which need not have Perdure installed.

This module is sent by value and imports nothing of Perdure until `begin` has unpacked the code. Ray's `runtime_env`
uploads local code only for a whole session (`ray.init`), and a script may have started the session before.
"""

from __future__ import annotations

import os
import pickle
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

_PREFIX = "perdure-guest-"


class Guest:
    """Creates one object from the code that it is sent, and calls methods of it."""

    def begin(
        self, code: Mapping[str, bytes], maker: str, given: bytes, here: str, variables: Mapping[str, str]
    ) -> str:
        """Unpack the code, create `maker(root, *given)` with a folder to work in, and return the machine's name."""
        _sweep()
        self._root = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        for relative, content in code.items():
            target = self._root / "code" / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        sys.path.insert(0, str(self._root / "code"))
        os.environ.update(variables)
        if os.path.isdir(here):  # a copied checkout, or a shared drive
            os.chdir(here)
        module, _, name = maker.partition(":")
        self._made = getattr(import_module(module), name)(self._root, *pickle.loads(given))
        return platform.node()

    def call(self, method: str, *given: Any) -> Any:
        """Call a method of the object."""
        return getattr(self._made, method)(*given)

    def leave(self) -> None:
        """Remove the folder."""
        os.chdir("/")
        shutil.rmtree(self._root, ignore_errors=True)


def _sweep() -> None:
    """Remove the folders of guests that were killed."""
    import psutil  # type: ignore[import-untyped]

    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        number = place.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(FileNotFoundError):  # another guest sweeps too
            if number.isdecimal() and place.stat().st_uid == os.getuid() and not psutil.pid_exists(int(number)):
                shutil.rmtree(place, ignore_errors=True)
