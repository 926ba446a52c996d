"""Run lifetimes and experts of `q-learning-independent` in the arcade, group by group, for `bench/null.py`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perdure import run
from perdure.log.model import Lifetime
from perdure.log.read import find, read

__all__ = ["LivedGroup", "lived_groups"]

PROTOCOL = Path(__file__).parents[1] / "examples" / "protocols" / "null.toml"


@dataclass(frozen=True)
class LivedGroup:
    """Lifetimes of one scenario type, in order of seed, with their experts."""

    scenario_type: str
    lives: Sequence[Lifetime]
    experts: Sequence[Lifetime]


def lived_groups(into: Path, count: int, workers: int) -> list[LivedGroup]:
    """Run the protocol `count` times with different seeds, and reuse finished lifetimes."""
    text = PROTOCOL.read_text(encoding="utf-8")
    groups: list[LivedGroup] = []
    for number in range(1, count + 1):
        folder = into / f"seed-{number}"
        protocol = into / f"seed-{number}.toml"
        into.mkdir(parents=True, exist_ok=True)
        protocol.write_text(re.sub(r"^seed = .*$", f"seed = {number}", text, flags=re.MULTILINE), encoding="utf-8")
        run(protocol, folder, workers=workers, score=False)
        lives = [read(path) for path in sorted(find(folder / "lives"))]
        experts = [read(path) for path in sorted(find(folder / "experts"))]
        groups += [
            LivedGroup(kind, [life for life in lives if life.scenario_type == kind], experts)
            for kind in dict.fromkeys(str(life.scenario_type) for life in lives)
        ]
    return groups
