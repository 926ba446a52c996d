"""The words of the 2019 learnkit tree: its columns and its phases.

Columns are those of S004 Fig. 1.3. In these files "task" is an episode's number and "sub_task" a
sub-episode's; what Perdure calls a task is "class_name". See S003 §1.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

BLOCK_REPORT = "block-report.tsv"

_SHARED = ("timestamp", "class_name", "phase", "worker", "block", "task", "seed")
EPISODE_COLUMNS = (*_SHARED, "steps", "sub_task", "termination_status")
BATCH_COLUMNS = (*_SHARED, "batch_id", "batch_size", "source")
SPACES = ("action_space", "observation_space")
OURS = ("block_subtype", "task_params")
"""What the tree has no place for; our writer adds these columns only where a lifetime needs them."""
BOOKKEEPING = frozenset((*EPISODE_COLUMNS, *BATCH_COLUMNS, *SPACES, *OURS))

_PHASE = r"(?ia)(?:(\d{1,9})-)?(\d{1,9})\.?(train|test)"


class LearnkitPhase(Struct, frozen=True):
    """A phase as an annotation or a folder names it: `1.train`, or `2-1.test` with its place in the syllabus."""

    number: int
    mode: str
    order: int | None = None

    @classmethod
    def parse(cls, text: str) -> LearnkitPhase | None:
        """The phase that `text` names, or None."""
        found = re.fullmatch(_PHASE, text.strip())
        if not found:
            return None
        order, number, mode = found.groups()
        return cls(int(number), mode.lower(), None if order is None else int(order))

    @staticmethod
    def ranks(phases: Iterable[LearnkitPhase]) -> dict[LearnkitPhase, int]:
        """Each phase's place: by its order where all have one, else 0.test, 1.train, 1.test, 2.train, …"""
        several = set(phases)
        ordered = all(phase.order is not None for phase in several)

        def key(phase: LearnkitPhase) -> tuple[int, ...]:
            place = (phase.number, int(phase.mode == "test"))
            return (phase.order or 0, *place) if ordered else place

        places = {place: rank for rank, place in enumerate(sorted({key(phase) for phase in several}))}
        return {phase: places[key(phase)] for phase in several}
