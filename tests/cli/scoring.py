"""`perdure score` in this process, on a small life."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.verbs import run_verb

import perdure

__all__ = ["BLOCKS", "as_json", "invoke", "write"]

BLOCKS = [
    ("test", "a_1", [0.1, 0.2]),
    ("test", "b_1", [0.2, 0.2]),
    ("train", "a_1", [0.1 * n for n in range(10)]),
    ("test", "a_1", [0.9, 0.9]),
    ("test", "b_1", [0.3, 0.3]),
    ("train", "b_1", [0.05 * n for n in range(20)]),
    ("test", "a_1", [0.6, 0.6]),
    ("test", "b_1", [0.9, 0.8]),
]


def write(folder: Path, name: str, blocks: list[tuple[str, str, list[float]]]) -> Path:
    with perdure.Journal(folder, name, measures=["reward"]) as journal:
        experience = 0
        for block, (mode, task, rewards) in enumerate(blocks):
            for reward in rewards:
                journal.log(
                    block_num=block, exp_num=experience, block_type=mode, task_name=task, task_params={}, reward=reward
                )
                experience += 1
    return folder / name


def invoke(*arguments: object, code: int = 0) -> str:
    result = run_verb("score", *arguments, columns=80)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout


def as_json(*arguments: object, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke(*arguments, "--json", "-", code=code))
    return found
