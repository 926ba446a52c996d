"""Settings settled: what files beside the data say, and what a preset takes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from perdure import files
from perdure.curves.model import Prep
from perdure.errors import LogError, MetricError, PerdureError, UnknownName
from perdure.frozen import frozen
from perdure.log.places import PROTOCOL
from perdure.log.read import find, locate
from perdure.metrics.engine.declare import METRICS, Preset
from perdure.metrics.matrix.cells import reads_matrix
from perdure.settings import OPTIONS, Settings, checked

__all__ = ["FILE", "Settings", "prepared", "settings_for"]

FILE = "perdure.toml"


def prepared(settings: Settings, preset: Preset) -> Prep:
    """How curves are prepared under `preset`; a setting that it fixes or cannot use is refused with the reason."""
    given = settings.given
    for name, why in preset.fixes.items():
        if name in given:
            raise MetricError(
                f"preset {preset.name!r} does not take it: {why}", "leave it out", where=OPTIONS[name].flag
            )
    baselines = [name for name in ("random_init", "joint") if name in given]
    if baselines and not settings.metrics and not any(reads_matrix(one) for one in preset.metrics.values()):
        raise MetricError(
            f"preset {preset.name!r} has no accuracy-matrix metrics that could use it",
            "take standard, or name them with --metrics",
            where=OPTIONS[baselines[0]].flag,
        )
    prep = settings.prepared(preset.prep)
    refused = preset.refuses(settings, prep)
    if refused:
        raise MetricError(refused, "leave that out, or take another preset", where=f"preset {preset.name!r}")
    return prep


def settings_for(
    logs: Iterable[str | os.PathLike[str]], given: Mapping[str, Any] | None = None, *, source: str = "caller"
) -> Settings:
    """How the lifetimes at or below `logs` are scored.

    First wins: what is `given`, `perdure.toml` beside the data, `[score]` of the protocol in a run folder, the
    log, the preset. Of several files above a lifetime the nearest counts, none from above the argument.
    Lifetimes that would be scored differently are refused, unless what differs is given.
    """
    given = dict(given or {})
    known = [one.name for one in fields(Settings)]
    for name in given:
        if name not in known:
            raise UnknownName("setting", name, known)
    found: dict[_Files, Path] = {}
    for log in logs:
        for speaking, path in _files_of(log):
            found.setdefault(speaking, path)
    layers = [(speaking.settings(), path) for speaking, path in found.items()] or [({}, Path())]
    first, where = layers[0]
    for other, path in layers[1:]:
        _refuse_unlike(first, where, other, path, given)
    values = _by_ids({name: one.value for name, one in first.items()} | given)
    origins = {name: one.source for name, one in first.items()} | dict.fromkeys(given, source)
    return Settings(**values, origins=origins)


def _by_ids(values: dict[str, Any]) -> dict[str, Any]:
    """The values with metrics by the ids that outputs use, however they were asked for."""
    if "metrics" in values:
        values["metrics"] = tuple(METRICS.canonical(one) for one in values["metrics"])
    if "margins" in values:
        values["margins"] = {METRICS.canonical(name): margin for name, margin in values["margins"].items()}
    return values


@frozen
class _Said:
    """A value, and where it was said."""

    value: Any
    source: str
    file: Path


@frozen
class _Files:
    """What speaks of a lifetime beside its log."""

    beside: Path | None
    protocol: Path | None

    def settings(self) -> dict[str, _Said]:
        """By name; what lies beside the data comes before the protocol."""
        read: tuple[tuple[Path | None, str, Callable[[Path], dict[str, Any]]], ...] = (
            (self.protocol, "protocol", _of_protocol),
            (self.beside, FILE, _of_toml),
        )
        return {
            name: _Said(value, source, file)
            for file, source, read_one in read
            if file is not None
            for name, value in read_one(file).items()
        }


def _files_of(log: str | os.PathLike[str]) -> Iterator[tuple[_Files, Path]]:
    """The files that speak of each lifetime at or below `log`; what cannot be found is said when it is read."""
    try:
        place = locate(log)
        lives = list(find(place)) or [place]
    except LogError:
        return
    there, resolved = cache(_there), cache(Path.resolve)  # many lives share their folders
    top = place if place.is_dir() else place.parent

    @cache
    def beside(folder: Path) -> Path | None:
        above = (one for one in (folder, *folder.parents) if one == top or top in one.parents)
        return next((one / FILE for one in above if there(one / FILE)), None)

    @cache
    def protocol(folder: Path) -> Path | None:
        runs = (one.parent / PROTOCOL for one in (folder, *folder.parents) if _of_a_run(one))
        return next(filter(there, runs), None)

    for path in lives:
        # No link was followed below a folder, so a life is where its parent is.
        holder = resolved(path.parent) if path != place else resolved(path).parent
        own = path / FILE
        yield _Files(own if there(own) else beside(path.parent), protocol(holder)), path


def _of_a_run(folder: Path) -> bool:
    """Whether a folder is where a run keeps its lives, or the experts beside them."""
    return folder.name == "lives" or (folder.name == "experts" and (folder.parent / "lives").is_dir())


def _there(file: Path) -> bool:
    """Whether there is a file of settings; what stands there and cannot be read as one is refused."""
    if not os.path.lexists(file):
        return False
    if not file.is_file():
        raise PerdureError("not a regular file", "remove it, or write it again", file=file)
    return True


def _refuse_unlike(
    first: Mapping[str, _Said], where: Path, other: Mapping[str, _Said], path: Path, given: Mapping[str, Any]
) -> None:
    for name in dict.fromkeys((*first, *other)):
        one, two = first.get(name), other.get(name)
        if name in given or (one and two and one.value == two.value):
            continue
        said = [
            f"{place} has {name} = {it.value!r} from {it.file}" if it else f"no file says it of {place}"
            for it, place in ((one, where), (two, path))
        ]
        raise PerdureError(
            " and ".join(said),
            f"lifetimes are scored one way at a time: give {OPTIONS[name].flag}, or score them apart",
            where=name,
        )


def _of_toml(file: Path) -> dict[str, Any]:
    import tomllib  # few have such a file

    try:
        text = _text(file)
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # also of numbers of thousands of digits
        what, line = files.toml_fault(problem)
        raise PerdureError(f"not TOML: {what}", "repair it, or move it away", file=file, line=line) from problem
    return checked(content, file, _lines(text, content))


def _of_protocol(file: Path) -> dict[str, Any]:
    try:
        content = files.parse_json(_text(file))
    except ValueError as problem:
        raise PerdureError(f"not JSON: {problem}", "restore it from a copy", file=file) from problem
    score = content.get("score", {}) if isinstance(content, Mapping) else {}
    return checked(score if isinstance(score, Mapping) else {"score": score}, file, where="[score]")


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
    """Key → the line on which it first stands, as a key or as the name of a table."""
    found: dict[str, int] = {}
    for key in keys:
        quoted = rf"""["']?{re.escape(key)}["']?"""
        match = re.search(rf"^[ \t]*(?:\[[ \t]*)?{quoted}[ \t]*[=.\]]", text, re.MULTILINE)
        if match:
            found[key] = text.count("\n", 0, match.start()) + 1
    return found
