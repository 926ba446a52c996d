"""What produced a lifetime: learner, seed, scenario, versions, git state, machine, command."""

from __future__ import annotations

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
from typing import Any

import msgspec

from perdure import files
from perdure.errors import LogError, RecordError
from perdure.log.verify import BLOCKS_FILE, append_event, description_event
from perdure.scenario.model import Scenario


def described(scenario: Scenario | Mapping[str, Any] | str | None) -> Mapping[str, Any] | None:
    """A scenario as the manifest keeps it: its name, its tasks, and its blocks in order."""
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
    """What anyone would need to repeat this: versions, git state, machine, command, time."""
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
    found = [("python", platform.python_version())]
    for package in ("perdure", "numpy", "polars"):
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return tuple(found)


@cache
def _git(folder: str) -> dict[str, Any] | None:
    """The commit checked out in `folder`, and whether files differ from it; None outside a repository."""
    try:
        said = subprocess.run(
            ["git", "-C", folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no"],
            capture_output=True,
            text=True,
            timeout=2,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    lines = said.splitlines()
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
    try:
        append_event(log / BLOCKS_FILE, description_event(texts))
    except OSError as problem:
        what = f"cannot be written: {problem.strerror}"
        raise LogError(what, "see to the disk, and try again", file=log / BLOCKS_FILE) from problem


def write_object(file: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object so that readers see the old file or the new one, never half of it."""
    write_text(file, object_text(content, file.name))


def object_text(content: Mapping[str, Any], name: str) -> bytes:
    """A JSON object as text for the file `name`; RecordError where it holds what JSON cannot say."""
    try:
        return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
    except (TypeError, ValueError, RecursionError) as problem:
        raise RecordError(
            f"{name} cannot be written as JSON: {problem}", "use text, numbers, lists, objects"
        ) from problem


def write_text(file: Path, text: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never half of it."""
    try:
        files.write(file, text)
    except OSError as problem:
        raise LogError(
            f"cannot be written: {problem.strerror}", "see to the disk, and try again", file=file
        ) from problem
