"""Guest: work of Perdure's on some machine of a cluster that need not have Perdure.

This module travels as it is, and imports nothing of Perdure until `begin` has unpacked what was sent.
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

__all__ = ["Guest"]

_PREFIX = "perdure-guest-"


class Guest:
    """Makes one thing of the code that it is sent, and calls what it is told to on it."""

    def begin(
        self, code: Mapping[str, bytes], maker: str, given: bytes, here: str, variables: Mapping[str, str]
    ) -> str:
        """Unpack the code, and make `maker(root, *given)`, where `root` is a folder to work in; the machine's name."""
        _sweep()
        self._root = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        for relative, content in code.items():
            target = self._root / "code" / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        sys.path.insert(0, str(self._root / "code"))
        os.environ.update(variables)
        if os.path.isdir(here):  # a checkout that was copied here, or a drive that all machines see
            os.chdir(here)
        module, _, name = maker.partition(":")
        self._made = getattr(import_module(module), name)(self._root, *pickle.loads(given))
        return platform.node()

    def call(self, method: str, *given: Any) -> Any:
        """What a method of what was made returns."""
        return getattr(self._made, method)(*given)

    def leave(self) -> None:
        """Leave nothing behind."""
        os.chdir("/")
        shutil.rmtree(self._root, ignore_errors=True)


def _sweep() -> None:
    """Remove what guests left that were killed."""
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        number = place.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(FileNotFoundError):  # another guest sweeps too
            if number.isdecimal() and place.stat().st_uid == os.getuid() and not _runs(int(number)):
                shutil.rmtree(place, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
