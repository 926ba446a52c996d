"""What a learner is: something that acts, and learns while it may.

A learner has `act` and, unless it never learns, `learn`; Perdure then leads it through its life. Or it
has `live`, and leads itself. Everything else is optional:

    block_started(situation)    a block begins; `situation` says of which task, in which spaces
    block_ended(situation)      the block is over
    save(folder), restore(folder)   files of its own in an empty folder; makes it resumable and clonable
    reseed(seed)                called on a clone, so that clones do not draw the same random numbers
    fingerprint()               text that changes whenever what was learned changes
    log_info()                  numbers by name, always the same names, logged beside each experience's measures
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from perdure.errors import LearnerError
from perdure.scenario.model import Mode

__all__ = [
    "Answer",
    "Fingerprinted",
    "Learner",
    "LearnerError",
    "Maker",
    "Saved",
    "SelfLed",
    "Situation",
    "Transition",
]


class Situation(Struct, frozen=True):
    """What a learner is told when a block begins.

    `learning` is False where nothing may be learned: rewards and labels are then withheld. Spaces
    are Gymnasium's for episodes; for batches `inputs` is the shape of one example, `outputs` how many
    different labels there are, and `classes` which of them this task is about, where that is told.
    """

    block: int
    mode: Mode
    task: str
    learning: bool
    observation_space: Any = None
    action_space: Any = None
    inputs: tuple[int, ...] | None = None
    outputs: int | None = None
    classes: tuple[int, ...] | None = None


class Transition(Struct, frozen=True):
    """One step of an episode, to learn from."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool


class Answer(Struct, frozen=True):
    """One batch, what the learner said, and what would have been right."""

    inputs: Any
    predictions: Any
    labels: Any


class Learner(Protocol):
    """A learner that Perdure leads: `act` on an observation, or on the inputs of a batch."""

    def act(self, observation: Any) -> Any:
        """The action, or one label per input."""
        ...

    def learn(self, experience: Any) -> None:
        """Learn from a Transition or an Answer; never called where nothing may be learned."""
        ...


@runtime_checkable
class SelfLed(Protocol):
    """A learner that owns its loop: it is handed its life, and goes through every block of it."""

    def live(self, life: Any) -> None:
        """Go through `life`, block by block."""
        ...


@runtime_checkable
class Saved(Protocol):
    """A learner whose state can be kept and taken up again."""

    def save(self, folder: Path) -> None:
        """Write all that is needed to continue into an empty folder."""
        ...

    def restore(self, folder: Path) -> None:
        """Become what was saved there."""
        ...


@runtime_checkable
class Fingerprinted(Protocol):
    """A learner that can show that it did not change."""

    def fingerprint(self) -> str:
        """Text that is equal whenever what was learned is equal; random numbers drawn do not count."""
        ...


Maker = Callable[..., Any]
"""Makes a learner from `seed` and its parameters, all by keyword."""
