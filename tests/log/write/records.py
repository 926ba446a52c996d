"""A record to log and the text of a written folder, shared by several tests."""

from __future__ import annotations

from typing import Any

import perdure

RECORD: dict[str, Any] = {
    "block_num": 0,
    "exp_num": 0,
    "block_type": "train",
    "task_name": "pong_wide",
    "task_params": {},
    "reward": 1.0,
}


def text_of(journal: perdure.Journal) -> str:
    return "".join(sorted(file.read_text() for file in journal.path.rglob("data-log.tsv")))
