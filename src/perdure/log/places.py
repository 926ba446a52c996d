"""Where logs live on this machine: `$L2DATA`, or the folder the 2019 tools used."""

from __future__ import annotations

import os
from pathlib import Path

from perdure.files import data_folder

__all__ = ["PARTS", "PROTOCOL", "as_text", "data_folder", "latest_log", "logs_folder", "printable", "taskinfo_file"]

PROTOCOL = "protocol.json"
"""The file in a run folder that holds its protocol."""
PARTS = ("lives", "experts", "twins")
"""The folders in a run folder that hold its logs."""


def as_text(path: str | os.PathLike[str]) -> str:
    """A path as it can be written anywhere; a name that is not UTF-8 keeps what is, with � for the rest."""
    text = os.fspath(path)
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def printable(text: str) -> str:
    """Text from a log as a terminal may show it: what would move the cursor or break a line is �."""
    return text if text.isprintable() else "".join(one if one.isprintable() else "�" for one in text)


def logs_folder() -> Path:
    """Where runs write their logs unless told otherwise."""
    return data_folder() / "logs"


def taskinfo_file(folder: Path | None = None) -> Path:
    """Where the 2019 framework states what experts of each task achieve, in a data folder."""
    return (folder or data_folder()) / "taskinfo" / "info.json"


def latest_log() -> Path | None:
    """The log folder that changed last, or None where there is none."""
    folder = logs_folder()
    try:
        found = [entry for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return None
    newest = max(found, key=lambda entry: entry.stat().st_mtime, default=None)
    return Path(newest.path) if newest else None
