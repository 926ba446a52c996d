"""A small protocol for the batched engine, and functions that read its results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from perdure.runner.plan import RunPlan
from perdure.runner.protocol import parse_protocol

LITTLE: dict[str, Any] = {
    "name": "little",
    "seed": 1,
    "lifetimes": 3,
    "experts": 2,
    "learner": {"use": "batched:q"},
    "limits": {"lives_at_once": 8},
    "scenarios": [
        {"layout": "condensed", "tasks": ["pong:plain", "pong:inverted", "breakout"], "learn": 6, "evaluate": 3},
        {
            "layout": "dispersed",
            "tasks": ["pong:plain", "pong:inverted", "breakout"],
            "learn": 5,
            "evaluate": 3,
            "superblocks": 2,
        },
    ],
    "tasks": {
        "pong": {
            "bounds": [-2, 2],
            "params": {"points": 2, "steps": 25},
            "variants": {"plain": {}, "inverted": {"controls/inverted": True}},
        },
        "breakout": {"params": {"steps": 25, "ball/speed": {"$uniform": [0.04, 0.06]}}},
    },
}

DIGITS: dict[str, Any] = {
    "name": "little-digits",
    "seed": 1,
    "lifetimes": 2,
    "experts": 1,
    "learner": {"use": "batched:softmax", "params": {"hidden": 16}},
    "limits": {"lives_at_once": 4},
    "scenarios": [{"layout": "condensed", "tasks": ["zero-one", "two-three"], "learn": 12, "evaluate": 4}],
}


def plan(document: Mapping[str, Any] = LITTLE, **changes: Any) -> RunPlan:
    """Return the plan of the small protocol with these changes."""
    return RunPlan(parse_protocol({**document, **changes}))


def lifetimes(chunks: Iterable[Any]) -> dict[str, dict[str, np.ndarray]]:
    """Return the values of each lifetime, its blocks joined."""
    results: dict[str, dict[str, np.ndarray]] = {}
    for chunk in chunks:
        facts = chunk.facts
        blocks = [chunk.records(index) for index in range(facts.blocks)]
        for row, identity in enumerate(facts.jobs):
            results[identity] = {
                name: np.concatenate([block[name][row].reshape(-1) for block in blocks]) for name in blocks[0]
            }
    return results


def same(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    """Return whether two lifetimes are equal bit for bit."""
    return all(one[name].tobytes() == other[name].tobytes() for name in one)


def arrays_of(folder: Path) -> Path:
    """Return the folder in which a run folder has its arrays."""
    return folder / ".run" / "batched"
