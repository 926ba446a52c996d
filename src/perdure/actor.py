"""The actor that runs Perdure's work on a machine of a Ray cluster, which need not have Perdure installed.

This module is sent by value and imports nothing of Perdure before it has unpacked the code. Ray's `runtime_env` uploads
local code only for a whole session (`ray.init`), and a script may have started the session before.
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
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

_PREFIX = "perdure-actor-"


class Actor:
    """Creates one object, `maker(root, *arguments)`, from the code that it receives, and calls its methods."""

    def __init__(
        self, code: Mapping[str, bytes], maker: str, arguments: bytes, folder: str, variables: Mapping[str, str]
    ) -> None:
        self._received = code, maker, arguments, folder, variables
        self._object: Any = None

    def call(self, method: str, *arguments: Any) -> tuple[str, Any]:
        """Call a method of the object, which the first call creates; return the machine's name and the result."""
        if self._object is None:
            self._object = self._create(*self._received)
        return platform.node(), getattr(self._object, method)(*arguments)

    def leave(self) -> None:
        """Remove the folder."""
        os.chdir("/")
        shutil.rmtree(self._root, ignore_errors=True)

    def _create(
        self, code: Mapping[str, bytes], maker: str, arguments: bytes, folder: str, variables: Mapping[str, str]
    ) -> Any:
        _remove_abandoned()
        self._root = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        for relative, content in code.items():
            target = self._root / "code" / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        sys.path.insert(0, str(self._root / "code"))
        os.environ.update(variables)
        if os.path.isdir(folder):  # a copied checkout, or a shared drive
            os.chdir(folder)
        return resolve_name(maker)(self._root, *pickle.loads(arguments))


def _remove_abandoned() -> None:
    """Remove the folders of actors that were killed."""
    import psutil  # type: ignore[import-untyped]

    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        number = place.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(FileNotFoundError):  # another actor may remove it at the same time
            if number.isdecimal() and place.stat().st_uid == os.getuid() and not psutil.pid_exists(int(number)):
                shutil.rmtree(place, ignore_errors=True)
