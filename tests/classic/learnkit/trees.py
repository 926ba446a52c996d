"""Learnkit trees as printed in the 2019 framework, shared by the tests that read and write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perdure.classic.learnkit import LEARNKIT
from perdure.log.model import Lifetime
from perdure.log.read import Options

EPISODE = [
    "timestamp",
    "class_name",
    "phase",
    "worker",
    "block",
    "task",
    "seed",
    "steps",
    "sub_task",
    "termination_status",
]


FIGURE = [*EPISODE, "reward", "action_space", "observation_space", "agent_pos", "agent_dir"]


REPORT = ["phase", "worker", "class_name", "block", "params"]


CLASS = "minigridkit_minigridkit_MiniGrid5x5"


# Fig. 1.3 of the 2019 draft, sub-tasks 4 to 10 of episode 100.
STEPS = (14, 17, 19, 21, 24, 29, 31)


REWARDS = (0.919, 0.973, 0.982, 0.982, 0.973, 0.955, 0.982)


def line(**cells: Any) -> str:
    given = {
        "timestamp": "20191028T151845.076239",
        "class_name": CLASS,
        "phase": "1.train",
        "worker": 0,
        "block": 0,
        "task": 0,
        "seed": 1015918853,
        "steps": 3,
        "sub_task": 1,
        "termination_status": "DONE",
        "reward": 0.973,
        "action_space": "Discrete(7)",
        "observation_space": "Dict(image:Box(7, 7, 3))",
        "agent_pos": "[3 3]",
        "agent_dir": 0,
    }
    return "\t".join(str(value) for value in (given | cells).values()) + "\n"


def put(root: Path, place: str, lines: Sequence[str], header: Sequence[str] = FIGURE) -> Path:
    file = root / place / "data-log.tsv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\t".join(header) + "\n" + "".join(lines), encoding="utf-8")
    return file


def report(root: Path, place: str, lines: Sequence[Mapping[str, Any]]) -> Path:
    file = root / place / "block-report.tsv"
    rows = ["\t".join(str(cell) for cell in line.values()) for line in lines]
    file.write_text("\n".join(["\t".join(REPORT), *rows]) + "\n", encoding="utf-8")
    return file


def read(root: Path, **options: Any) -> Lifetime:
    return LEARNKIT.read(root, Options(**options))
