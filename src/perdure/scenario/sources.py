"""Where a syllabus comes from: a file, a log's `scenario_info.json`, or standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from perdure import files
from perdure.errors import ScenarioError
from perdure.scenario.document import LARGEST_BYTES, as_text, decode, read_text

__all__ = ["name_of", "source"]

_HERE = Path()


def source(place: str | os.PathLike[str], folder: Path = _HERE) -> tuple[str, str]:
    """The text of a syllabus, and where it was found; '-' is standard input.

    A bare name that is no file in `folder` is looked up under `$L2DATA/syllabi`, with or without `.json`.
    """
    if os.fspath(place) == "-":
        if sys.stdin is None:
            raise ScenarioError("standard input is closed", "give the path of a syllabus, or pipe one in")
        return as_text(sys.stdin.buffer.read(LARGEST_BYTES + 1), "standard input"), "standard input"
    path = _located(Path(place), folder)
    if path.is_dir():
        if not (path / "scenario_info.json").is_file():
            raise ScenarioError("a folder without scenario_info.json", "give the path of a syllabus", file=path)
        path /= "scenario_info.json"
    return _followed(path), str(path)


def _located(place: Path, folder: Path) -> Path:
    here = folder / place
    if not here.exists() and len(place.parts) == 1:
        kept = files.data_folder() / "syllabi"
        return next((one for one in (kept / place, kept / f"{place}.json") if one.is_file()), here)
    return here


def name_of(place: str) -> str:
    """What a syllabus found there is called: its file's name, or its log's where the file is always called the same."""
    path = Path(place)
    return path.parent.name or path.stem if path.name == "scenario_info.json" else path.stem


def _followed(path: Path) -> str:
    """The file's text, or, where it only names an `input_file`, that file's text."""
    text = read_text(path)
    if '"input_file"' not in text:
        return text
    value = decode(text, str(path))
    target = value.get("input_file")
    if "instructions" in value or not isinstance(target, str):
        return text
    file = path.parent / target
    if not file.is_file():
        raise ScenarioError(
            f"'input_file' names {target!r}, and there is no such file", "put it beside this one", file=path
        )
    return read_text(file)
