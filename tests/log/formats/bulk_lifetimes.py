"""Lifetimes to write into one file and to read from it, shared by several tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.log.model import Lifetime
from perdure.log.read import Options, lifetimes
from perdure.metrics.contract import lifetime_of, random_blocks
from perdure.scenario.model import Block, Scenario, Task

SCENARIO = Scenario.of(
    "two tasks",
    [Block("evaluate", "a", 2), Block("learn", "a", 5, {"wide": 1}), Block("evaluate", "a", 2), Block("learn", "b", 4)],
    [Task("a", bounds=(0.0, 1.0))],
    {"scenario_type": "condensed"},
)
LENGTH = sum(block.length or 0 for block in SCENARIO.blocks)


def array(lifetimes: int = 5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(lifetimes, LENGTH))


def make_lifetimes(count: int = 6, seed: int = 0) -> list[Lifetime]:
    """Return lifetimes of any blocks with every field that a log may have."""
    rng = np.random.default_rng(seed)
    results = []
    for number in range(count):
        lifetime = lifetime_of(random_blocks(rng), rng, name=f"life {number}")
        manifest = {"id": f"recorded {number}", "protocol": {"name": "p"}} | ({"more": number} if number % 2 else {})
        results.append(
            replace(
                lifetime,
                learner=["ewc", "sgd", None][number % 3],
                seed=number if number % 4 else None,
                role="expert" if number == 3 else "life",
                complete=[True, False, None][number % 3],
                info={"scenario_type": "dispersed"} if number % 2 else {},
                manifest=manifest,
                notes=("a line was torn",) if number == 2 else (),
            )
        )
    return results


def read_all(path: Path, options: Options | None = None) -> list[Lifetime]:
    return list(lifetimes(path, options or Options()))


def assert_same(found: Lifetime, expected: Lifetime) -> None:
    assert found.experiences.schema == expected.experiences.schema
    assert found.experiences.equals(expected.experiences)
    for name in ("id", "measures", "learner", "seed", "role", "complete", "info", "manifest", "notes", "scenario_type"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.inside == expected.id


def refusal_message(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        read_all(path)
    return str(caught.value)
