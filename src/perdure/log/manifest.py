"""Read and write the files that describe a log: manifest.json, logger_info.json and scenario_info.json."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import msgspec

from perdure import files
from perdure.errors import LogError, RecordError, nearest
from perdure.log.model import Direction, Lifetime, Role
from perdure.log.places import BLOCKS_FILE, LOGGER_INFO, MANIFEST
from perdure.log.rules import STANDARD_COLUMNS
from perdure.log.verify import append_event, description_event
from perdure.scenario.model import Scenario

ROLES: Mapping[str, Role] = MappingProxyType(
    {"life": "life", "lifetime": "life", "learner": "life", "expert": "expert", "ste": "expert", "twin": "twin"}
)
"""Every word for a role that any source may use, in lower case."""
_DESCRIPTION = frozenset("id learner role seed scenario protocol measures complete records".split())  # noqa: SIM905
_PROVENANCE = frozenset("started command versions git machine engine seeds learner_digest".split())  # noqa: SIM905


def role_of(value: object, file: str | Path) -> Role:
    """Return the role that `value` names; a missing role is a lifetime. Raise LogError for an unknown word."""
    if value is None:
        return "life"
    role = ROLES.get(value.lower()) if isinstance(value, str) else None
    if role is None:
        raise LogError(f"role is {value!r}", "expected life, expert or twin", file=file)
    return role


def written_role(lifetime: Lifetime) -> Role:
    """Return the role of a lifetime that is to be written; raise LogError if it is not exactly one of three."""
    if lifetime.role not in ROLES.values():
        raise LogError(f"role is {lifetime.role!r}", "expected life, expert or twin", where=lifetime.id)
    return lifetime.role


def direction_of(name: str, value: object, file: str | Path) -> Direction:
    """Return whether higher or lower values of a measure are better."""
    if value not in ("higher", "lower"):
        raise LogError(f"the measure {name!r} is {value!r}-better", "expected higher or lower", file=file)
    return value


def manifest_in(folder: Path) -> dict[str, Any]:
    """Return the manifest of a log, empty if there is none. Raise LogError for a key that no journal writes."""
    file = folder / MANIFEST
    if not file.exists():
        return {}
    manifest = object_in(file)
    known = _DESCRIPTION | _PROVENANCE
    for key in manifest.keys() - known:
        raise LogError(f"unknown key {key!r}", nearest(key, sorted(known)), file=file)
    for key, kind, expected in (("id", str, "text"), ("learner", str, "text"), ("seed", int, "a whole number")):
        if not isinstance(manifest.get(key), kind | None):
            raise LogError(f"{key} is {manifest[key]!r}", f"expected {expected}", file=file)
    return manifest


def measures_of(path: Path, manifest: Mapping[str, Any]) -> dict[str, Direction]:
    """Return the measures of logger_info.json in order, with their directions from the manifest."""
    file = path / LOGGER_INFO
    if not file.exists():
        raise LogError(
            "missing, so nothing says which columns are measures",
            'write {"metrics_columns": ["reward"], "log_format_version": "1.1"} there, or name the measures',
            file=file,
        )
    names = object_in(file).get("metrics_columns")
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        raise LogError(f"'metrics_columns' is {names!r}", "expected a list of one or more column names", file=file)
    if reserved := [name for name in names if name in STANDARD_COLUMNS]:
        raise LogError(
            f"'metrics_columns' names {reserved[0]!r}, which is no measure but a column of every log",
            "name the columns that hold values",
            file=file,
        )
    declared = manifest.get("measures")
    directions = declared if isinstance(declared, dict) else {}
    return {name: direction_of(name, directions.get(name, "higher"), path / MANIFEST) for name in names}


def object_in(file: Path) -> dict[str, Any]:
    """Return the JSON object in `file`; raise LogError, with its line, if there is none."""
    with files.reading(file):
        content = files.read_bytes(file, files.HEADER_LIMIT, within=file.parent)
    try:
        manifest = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise LogError(
            f"not JSON: {problem}", "expected a JSON object", file=file, line=_broken_line(content)
        ) from problem
    except RecursionError as problem:
        raise LogError("nested too deep to be read", "expected a JSON object", file=file) from problem
    if not isinstance(manifest, dict):
        raise LogError(f"holds a {type(manifest).__name__}", "expected a JSON object", file=file)
    return cast("dict[str, Any]", manifest)


def _broken_line(content: bytes) -> int | None:
    """Return the line of a syntax error by Python's own decoder, None if it finds none."""
    try:
        json.loads(content)
    except json.JSONDecodeError as problem:
        return problem.lineno
    except (ValueError, RecursionError):
        pass
    return None


def described(scenario: Scenario | Mapping[str, Any] | str | None) -> Mapping[str, Any] | None:
    """Return a scenario for the manifest: its name, its tasks, and its blocks in order."""
    if scenario is None or isinstance(scenario, Mapping):
        return scenario
    if isinstance(scenario, str):
        return {"name": scenario}
    return {
        "name": scenario.name,
        "tasks": [
            {
                "label": task.label,
                "name": task.name,
                "variant": task.variant,
                "env": task.env,
                "params": dict(task.params),
                "bounds": task.bounds,
            }
            for task in scenario.tasks
        ],
        "blocks": [
            {"mode": block.mode, "task": block.task, "length": block.length, "subtype": block.subtype}
            for block in scenario.blocks
        ],
        "info": dict(scenario.info),
    }


def provenance() -> dict[str, Any]:
    """Return the facts needed to repeat a run: versions, git state, machine, command, time."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else "",
        "versions": dict(_versions()),
        "git": _git(str(Path.cwd())),
        "machine": {
            "node": platform.node(),
            "system": platform.platform(),
            "processors": os.cpu_count(),
        },
    }


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    versions = [("python", platform.python_version())]
    for package in ("perdure", "numpy", "polars"):
        try:
            versions.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return tuple(versions)


@cache
def _git(folder: str) -> dict[str, Any] | None:
    """Return the commit checked out in `folder` and whether files differ from it; None outside a repository."""
    try:
        result = subprocess.run(
            ["git", "-C", folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no"],
            capture_output=True,
            text=True,
            timeout=2,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    lines = result.splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid")), None)
    return {"commit": commit, "changed": any(not line.startswith("#") for line in lines)}


def rewrite(log: Path, contents: Mapping[str, Mapping[str, Any]]) -> None:
    """Replace files that describe a log, and record their new checksums in its ledger."""
    texts = {name: object_text(content, name) for name, content in contents.items()}
    describe(log, texts)
    for name, text in texts.items():
        write_text(log / name, text)


def describe(log: Path, texts: Mapping[str, bytes]) -> None:
    """Record the checksums of the files that describe a log in its ledger."""
    with files.writing(log / BLOCKS_FILE, "see to the disk, and try again", LogError):
        append_event(log / BLOCKS_FILE, description_event(texts))


def write_object(file: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object so that readers see the old file or the new one, never half of it."""
    write_text(file, object_text(content, file.name))


def object_text(content: Mapping[str, Any], name: str) -> bytes:
    """Return a JSON object as text for the file `name`; raise RecordError if JSON cannot express it."""
    return msgspec.json.format(json_bytes(content, name), indent=2) + b"\n"


def json_bytes(content: Any, name: str) -> bytes:
    """Return a value as JSON; raise RecordError with `name` if JSON cannot express it."""
    try:
        return msgspec.json.encode(content)
    except (TypeError, ValueError, RecursionError) as problem:
        raise RecordError(
            f"{name} cannot be written as JSON: {problem}", "use text, numbers, lists, objects"
        ) from problem


def write_text(file: Path, text: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never half of it."""
    with files.writing(file, "see to the disk, and try again", LogError):
        files.write(file, text)
