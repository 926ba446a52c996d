"""L2Logger's own scenario files, read as instructions.

A `scenario_info.json` may hold the scenario under `input_file`: a list of blocks, each a type and its
regimes, of which each is a task, its parameters and a count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perdure.scenario.document import Steps
from perdure.scenario.model import Task

__all__ = ["instructions_of_input"]


def instructions_of_input(value: Mapping[str, Any]) -> list[tuple[Steps, Any]] | None:
    """The instructions that L2Logger's blocks and regimes amount to; None where there are none.

    Train blocks number the phases. A block that is already an instruction list is taken as it is.
    """
    root: Steps = ()
    content: Any = value
    if isinstance(value.get("input_file"), Mapping):
        root, content = ("input_file",), value["input_file"]
    if isinstance(content.get("instructions"), list):
        listed = content["instructions"]
        return [((*root, "instructions", index), instruction) for index, instruction in enumerate(listed)]
    if not isinstance(content.get("scenario"), list):
        return None
    instructions: list[tuple[Steps, Any]] = []
    number, phase = 0, ""
    for index, block in enumerate(content["scenario"]):
        steps: Steps = (*root, "scenario", index)
        if not isinstance(block, Mapping) or not isinstance(block.get("regimes"), list):
            instructions.append((steps, block))
            continue
        number += block.get("type") == "train"
        if phase != f"{number}.{block.get('type')}":
            phase = f"{number}.{block.get('type')}"
            instructions.append((steps, {"$phase": phase}))
        for place, regime in enumerate(block["regimes"]):
            instructions.append(((*steps, "regimes", place), _repeat(regime)))
    return instructions


def _repeat(regime: Any) -> Any:
    if not isinstance(regime, Mapping) or not isinstance(regime.get("params", {}), Mapping):
        return regime
    task = Task.parse(str(regime.get("task", "")))
    episode = {"$episode": task.name, "$variant": task.variant} if task.variant else {"$episode": regime.get("task")}
    return {"$repeat": {**episode, **regime.get("params", {})}, "count": regime.get("count")}
