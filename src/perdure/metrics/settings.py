"""Settings from files: `perdure.toml` beside the data, and `[score]` of the protocol of a run."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from perdure import files
from perdure.errors import LogError, PerdureError
from perdure.log.places import PROTOCOL
from perdure.log.read import find, locate
from perdure.metrics.declare import METRICS
from perdure.settings import OPTIONS, Settings, read_settings, settings_from

FILE = "perdure.toml"


def settings_for(
    logs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    given: Mapping[str, Any] | None = None,
    *,
    source: str = "caller",
) -> Settings:
    """Find the settings with which the lifetimes at or below `logs` are scored.

    The first source of a setting counts: `given`, `perdure.toml` in the folder of the data, `[score]` of the protocol
    in a run folder, the log, the preset. Of several files above a lifetime the nearest counts. Files above `logs` are
    ignored.

    Parameters
    ----------
    logs
        A log, or several.
    given
        Settings by name.
    source
        Name under which outputs list the source of `given`.

    Returns
    -------
    Settings
        The settings, with the source of each in `origins`.

    Raises
    ------
    PerdureError
        If a setting is wrong, or lifetimes would be scored differently. Give the setting that differs.

    Examples
    --------
    >>> settings = perdure.settings_for("logs", {"window": "none"})
    >>> settings.window, settings.origins
    ('none', {'window': 'caller'})
    """
    given = dict(given or {})
    settings_from(**given)  # refuses a wrong name or value before any file is read
    lifetimes: dict[tuple[Path | None, Path | None], Path] = {}
    for log in (logs,) if isinstance(logs, str | os.PathLike) else logs:
        for settings_files, lifetime in _files_of(log):
            lifetimes.setdefault(settings_files, lifetime)
    layers = [(_read_files(*settings_files), lifetime) for settings_files, lifetime in lifetimes.items()]
    first, place = layers[0] if layers else ({}, Path())
    for other, other_place in layers[1:]:
        _refuse_difference(first, place, other, other_place, given)
    settings = Settings(
        **{name: setting.value for name, setting in first.items()} | given,
        origins={name: setting.source for name, setting in first.items()} | dict.fromkeys(given, source),
    )
    return settings.replace(  # outputs name metrics by their ids
        metrics=tuple(METRICS.canonical(metric) for metric in settings.metrics),
        margins={METRICS.canonical(metric): margin for metric, margin in settings.margins.items()},
        measure_for={METRICS.canonical(metric): measure for metric, measure in settings.measure_for.items()},
    )


class _FileSetting(msgspec.Struct, frozen=True):
    """A value and the file that gives it."""

    value: Any
    source: str
    file: Path


def _read_files(beside: Path | None, protocol: Path | None) -> dict[str, _FileSetting]:
    """Return the settings in the files of a lifetime. A file beside the data comes before the protocol."""
    settings: dict[str, _FileSetting] = {}
    if protocol is not None:
        settings |= {key: _FileSetting(value, "protocol", protocol) for key, value in _read_protocol(protocol).items()}
    if beside is not None:
        settings |= {key: _FileSetting(value, FILE, beside) for key, value in _read_toml(beside).items()}
    return settings


def _files_of(log: str | os.PathLike[str]) -> Iterator[tuple[tuple[Path | None, Path | None], Path]]:
    """Yield `perdure.toml` and the protocol of each lifetime at or below `log`. Missing logs are reported later."""
    try:
        place = locate(log)
        lifetimes = list(find(place)) or [place]
    except LogError:
        return
    exists, resolved = cache(_is_settings_file), cache(Path.resolve)  # many lifetimes share their folders
    top = place if place.is_dir() else place.parent

    @cache
    def beside(folder: Path) -> Path | None:
        above = (parent for parent in (folder, *folder.parents) if parent == top or top in parent.parents)
        return next((parent / FILE for parent in above if exists(parent / FILE)), None)

    @cache
    def protocol(folder: Path) -> Path | None:
        runs = (parent.parent / PROTOCOL for parent in (folder, *folder.parents) if _is_in_run(parent))
        return next(filter(exists, runs), None)

    for path in lifetimes:
        # No link was followed below a folder, so a lifetime is in the folder of its parent.
        holder = resolved(path.parent) if path != place else resolved(path).parent
        own = path / FILE
        yield (own if exists(own) else beside(path.parent), protocol(holder)), path


def _is_in_run(folder: Path) -> bool:
    """Return whether a run keeps its lifetimes, or its experts, in `folder`."""
    return folder.name == "lives" or (folder.name == "experts" and (folder.parent / "lives").is_dir())


def _is_settings_file(file: Path) -> bool:
    """Return whether `file` exists. Refuse anything that is not a regular file."""
    if not os.path.lexists(file):
        return False
    if not file.is_file():
        raise PerdureError("not a regular file", "remove it, or write it again", file=file)
    return True


def _refuse_difference(
    first: Mapping[str, _FileSetting],
    place: Path,
    other: Mapping[str, _FileSetting],
    other_place: Path,
    given: Mapping[str, Any],
) -> None:
    for name in dict.fromkeys((*first, *other)):
        ours, theirs = first.get(name), other.get(name)
        if name in given or (ours and theirs and ours.value == theirs.value):
            continue
        sides = [
            f"{log} has {name} = {setting.value!r} from {setting.file}" if setting else f"no file sets it for {log}"
            for setting, log in ((ours, place), (theirs, other_place))
        ]
        raise PerdureError(
            " and ".join(sides),
            f"give {OPTIONS[name].flag} for all of them, or score them separately",
            where=name,
        )


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        text = _text(file)
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # also of numbers of thousands of digits
        what, line = files.toml_fault(problem)
        raise PerdureError(f"not TOML: {what}", "repair it, or move it away", file=file, line=line) from problem
    return read_settings(content, file, _lines(text, content))


def _read_protocol(file: Path) -> dict[str, Any]:
    try:
        content = files.parse_json(_text(file))
    except ValueError as problem:
        raise PerdureError(f"not JSON: {problem}", "restore it from a copy", file=file) from problem
    score = content.get("score", {}) if isinstance(content, Mapping) else {}
    return read_settings(score if isinstance(score, Mapping) else {"score": score}, file, where="[score]")


def _text(file: Path) -> str:
    try:
        return files.read_text(file, files.HEADER_LIMIT)
    except OSError as problem:
        raise PerdureError(
            f"cannot be read ({problem.strerror})", "let it be read, or move it away", file=file
        ) from problem
    except UnicodeDecodeError as problem:
        raise PerdureError(f"byte {problem.start} is not UTF-8", "save the file as plain text", file=file) from problem


def _lines(text: str, keys: Iterable[str]) -> dict[str, int]:
    """Return the first line of each key, as a key or as the name of a table."""
    lines: dict[str, int] = {}
    for key in keys:
        quoted = rf"""["']?{re.escape(key)}["']?"""
        match = re.search(rf"^[ \t]*(?:\[[ \t]*)?{quoted}[ \t]*[=.\]]", text, re.MULTILINE)
        if match:
            lines[key] = text.count("\n", 0, match.start()) + 1
    return lines
