"""The interface of a learner, and the base of learners whose state is arrays.

A learner has `act` and, unless it never learns, `learn`; Perdure then leads it through its lifetime. Or it has `live`,
and owns its loop. Everything else is optional:

    block_started(situation)    a block begins; `situation` has its task and its spaces, as far as they are told
    block_ended(situation)      the block is over
    save(folder), restore(folder)   files in an empty folder; makes the learner resumable and clonable
    reseed(seed)                called on a clone, so that clones do not draw the same random numbers
    fingerprint()               text that changes whenever what was learned changes
    log_info()                  numbers by name, always the same names, logged with each experience's measures;
                                metrics read `parameters`, `updates`, `stored_bytes` and `dormant_units`
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from perdure import files
from perdure.errors import LearnerError as LearnerError  # noqa: PLC0414 - perdure.learners exports it
from perdure.scenario.model import Fact, Mode

Arrays = Mapping[str, npt.NDArray[np.generic]]
Maker = Callable[..., Any]
"""Makes a learner from `seed` and its parameters, all by keyword."""

_ARRAYS, _RANDOM = "knowledge.npz", "random.json"


class Situation(Struct, frozen=True):
    """The facts about a block that a learner receives when the block begins.

    A fact that the protocol does not tell is None: `block` without boundaries, `mode`, `task` with its `classes`. If
    `learning` is False, nothing may be learned: rewards and labels are withheld. It is True if the mode is not told.
    Spaces are Gymnasium's for episodes. For batches `inputs` is the shape of one example, `outputs` the number of
    different labels, and `classes` the labels of this task, if the task reveals them.
    """

    block: int | None
    mode: Mode | None
    task: str | None
    learning: bool
    observation_space: Any = None
    action_space: Any = None
    inputs: tuple[int, ...] | None = None
    outputs: int | None = None
    classes: tuple[int, ...] | None = None

    @property
    def named_task(self) -> str:
        """The task. Raise LearnerError if the protocol does not tell it."""
        if self.task is None:
            raise LearnerError("this learner needs the task, which is not told", 'add "task" to tells in the protocol')
        return self.task

    def told(self, tells: Collection[Fact]) -> Situation:
        """Return the situation without the facts that are not told."""
        known = "task" in tells
        return replace(
            self,
            block=self.block if "boundary" in tells else None,
            mode=self.mode if "mode" in tells else None,
            learning=self.learning or "mode" not in tells,
            task=self.task if known else None,
            classes=self.classes if known else None,
        )


class Transition(Struct, frozen=True):
    """One step of an episode, to learn from."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool


class Answer(Struct, frozen=True):
    """One batch, the learner's predictions, and the true labels."""

    inputs: Any
    predictions: Any
    labels: Any


class Learner(Protocol):
    """A learner that Perdure leads: `act` on an observation, or on the inputs of a batch."""

    def act(self, observation: Any) -> Any:
        """Return the action, or one label per input."""
        ...

    def learn(self, experience: Any) -> None:
        """Learn from a Transition or an Answer; never called if nothing may be learned."""
        ...


@runtime_checkable
class SelfLed(Protocol):
    """A learner that owns its loop: it receives its lifetime, and goes through every block of it."""

    def live(self, life: Any) -> None:
        """Go through `life`, block by block."""
        ...


@runtime_checkable
class Saved(Protocol):
    """A learner whose state can be saved and restored."""

    def save(self, folder: Path) -> None:
        """Write everything that is needed to continue into an empty folder."""
        ...

    def restore(self, folder: Path) -> None:
        """Restore the state that was saved in a folder."""
        ...


@runtime_checkable
class Fingerprinted(Protocol):
    """A learner that can show that it did not change."""

    def fingerprint(self) -> str:
        """Return text that changes if the learned state changes; random numbers drawn do not count."""
        ...


def fingerprint_of(learner: Any) -> str | None:
    """Return the fingerprint of a learner, None if it has none."""
    return str(learner.fingerprint()) if isinstance(learner, Fingerprinted) else None


class ArrayLearner:
    """A learner whose state is a few named arrays, from which saving, restoring and fingerprints follow.

    A subclass may take `**common`, which it passes on to its base.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.updates = 0
        """Number of updates so far, if the subclass counts them; saved with the random numbers."""

    def __init_subclass__(cls, **further: Any) -> None:
        """Let the signature of a method name the parameters that it passes on, so that a misspelt one is refused."""
        super().__init_subclass__(**further)
        own = inspect.signature(cls.__init__).parameters
        if "common" in own:
            bases = (vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base))
            signatures = (inspect.signature(start).parameters for start in bases)
            named = {**next(common for common in signatures if "common" not in common), **own}
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters = [item.replace(kind=keyword) for name, item in named.items() if name not in ("self", "common")]
            cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]

    def to_arrays(self) -> Arrays:
        """Return everything that was learned."""
        raise NotImplementedError

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore the result of `to_arrays`."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write the arrays and the state of the random numbers, without pickle."""
        np.savez(folder / _ARRAYS, allow_pickle=False, **dict(self.to_arrays()))
        state = {"random": self.rng.bit_generator.state, "updates": self.updates}
        files.write(folder / _RANDOM, json.dumps(state).encode())

    def restore(self, folder: Path) -> None:
        """Restore a saved state, random generators included."""
        try:
            with files.open_regular(folder / _ARRAYS) as file, np.load(file, allow_pickle=False) as saved:
                self.load_arrays({name: saved[name] for name in saved.files})
            state = json.loads(files.read_text(folder / _RANDOM, files.HEADER_LIMIT))
            self.rng.bit_generator.state, self.updates = state["random"], state["updates"]
        except (OSError, ValueError, KeyError) as problem:
            raise LearnerError(
                f"no saved state of {type(self).__name__}: {problem}", "restore it, or begin anew", file=folder
            ) from problem

    def reseed(self, seed: int) -> None:
        """Seed the random generators again, without changing the learned state."""
        self.rng = np.random.default_rng(seed)

    def fingerprint(self) -> str:
        """Return a digest of the learned state; random numbers drawn do not change it."""
        digest = hashlib.sha256()
        for name, array in sorted(self.to_arrays().items()):
            digest.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
