"""LiveRun: one learner's way through a scenario, block by block, logged as it is lived."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

import msgspec

from perdure.errors import ScenarioError, UnknownNameError, message_of
from perdure.learners.interface import LearnerError
from perdure.log.model import Direction, Role
from perdure.log.places import logs_folder
from perdure.log.write.journal import Journal
from perdure.runner.block import LifeBlock
from perdure.runner.resume import Checkpoint, States
from perdure.runner.seeds import Seeds
from perdure.scenario.model import Scenario
from perdure.scenario.syllabus import Syllabus, read_syllabus, syllabus_text
from perdure.tasks.catalogue import task_kind
from perdure.tasks.datasets import Dataset
from perdure.tasks.episodes import STEP_LIMIT, Episodes


def run_lifetime(
    scenario: Scenario | Syllabus | str | os.PathLike[str],
    into: str | os.PathLike[str] | None = None,
    name: str | None = None,
    seed: int = 0,
    *,
    learner: Any = None,
    title: str | None = None,
    seeds: Seeds | None = None,
    role: Role = "life",
    protocol: Mapping[str, Any] | None = None,
    step_limit: int = STEP_LIMIT,
    states: str | os.PathLike[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> LiveRun:
    """A life to go through: `for block in life: for episode in block.episodes(): …`, or `life.datasets()`.

    Everything is logged under `into/name`; by default where `perdure info` looks, named after the
    scenario and the time. `learner` is the learner, or just its name; one that has a fingerprint is
    checked to come through each evaluation unchanged. `title` is how the log calls it. With `states`, a folder,
    a learner that can save is saved after each block, and a life that broke off is taken up from there.
    """
    if role not in get_args(Role):
        raise UnknownNameError("role", str(role), get_args(Role))
    syllabus = _as_syllabus(scenario)
    return LiveRun(
        syllabus,
        Path(into) if into is not None else logs_folder(),
        name or f"{_safe(syllabus.scenario.name)}-{time.time_ns() // 1_000_000}",
        seed,
        seeds or Seeds.of(seed),
        learner,
        title,
        role,
        protocol or {},
        step_limit,
        States(Path(states)) if states is not None else None,
        progress or (lambda _: None),
    )


class LiveRun:
    """The blocks of a scenario, each to be lived to its end before the next; iterate over it once."""

    def __init__(
        self,
        syllabus: Syllabus,
        into: Path,
        name: str,
        seed: int,
        seeds: Seeds,
        learner: Any,
        title: str | None,
        role: Role,
        protocol: Mapping[str, Any],
        step_limit: int,
        states: States | None,
        progress: Callable[[int], None],
    ) -> None:
        self.syllabus = syllabus
        self.scenario = syllabus.scenario
        self.name = name
        self.seeds = seeds
        self.learner_digest: str | None = protocol.get("learner_digest")
        self.step_limit = step_limit
        self.tasks = {task.label: task for task in self.scenario.tasks}
        self.kinds = {label: task_kind(task) for label, task in self.tasks.items()}
        self.measures = _all_measures(self.kinds)
        self.learner = None if isinstance(learner, str) else learner
        self._states = states
        self._progress = progress
        self._opened: dict[str, Episodes] = {}
        self._columns: tuple[str, ...] | None = None
        self._cut: dict[str, bool] = {}
        self._iterated = False
        self._open: LifeBlock | None = None
        self._frozen: str | None = None
        place = into / name
        checkpoint = states.resume(place, name, seeds, self.learner) if states and place.exists() else None
        self._blocks_done = checkpoint.blocks if checkpoint else 0
        self._experiences = checkpoint.experiences if checkpoint else 0
        self._rows = checkpoint.rows if checkpoint else 0
        self.journal = Journal(
            into,
            name,
            self.measures,
            learner=title or _name_of(learner),
            seed=seed,
            scenario=self.scenario,
            info=msgspec.json.decode(syllabus_text(syllabus)),
            join=checkpoint is not None,
            role=role,
            protocol={**protocol, "seeds": seeds.as_json()},
        )

    @property
    def path(self) -> Path:
        """Where this life is logged."""
        return self.journal.path

    @property
    def rows(self) -> int:
        """How many records it has, those before it was taken up again included."""
        return self._rows

    @property
    def over(self) -> bool:
        """Whether every block was lived."""
        return self._blocks_done == len(self.scenario.blocks)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about this life so far: the tasks none of whose episodes came to an end of its own."""
        return tuple(
            f"the task {label!r} never ended an episode: every one was cut at steps_per_episode = {self.step_limit}; "
            "check when it terminates, or set [limits] steps_per_episode to what is meant"
            for label, always in self._cut.items()
            if always
        )

    def __iter__(self) -> Iterator[LifeBlock]:
        if self._iterated:
            raise LearnerError(
                "a lifetime can be run only once", "make another with perdure.run_lifetime", file=self.name
            )
        self._iterated = True
        try:
            for index in range(self._blocks_done, len(self.scenario.blocks)):
                block = self._open = LifeBlock(self, index)
                self.freeze()
                yield block
                block.finish()
                if not block.learning and self._fingerprint() != self._frozen:
                    learned = any(before.mode == "learn" for before in self.scenario.blocks[:index])
                    raise LearnerError(
                        "the learner changed while it was evaluated (its fingerprint differs)",
                        "a learner must not learn from an evaluation: check what act and block_ended change"
                        + ("" if learned else "; one that builds itself in its first act builds it in block_started"),
                        file=block.where,
                    )
                self._blocks_done = index + 1
                self._keep()
            self.close()
        finally:
            if not self.over:
                at = self._open.where if self._open else "its first block"
                self.close(f"left in {at}")

    def datasets(self) -> Iterator[Dataset]:
        """Each block as a dataset: S003's loop for classification learners."""
        return (block.dataset() for block in self)

    def close(self, interrupted: str | None = None) -> None:
        """End the log; a life that is not over is noted as interrupted. Closing twice is harmless."""
        if interrupted is None and not self.over:
            interrupted = f"closed after {self._blocks_done} of {len(self.scenario.blocks)} blocks"
        for opened in self._opened.values():
            opened.close()
        self._opened = {}
        self.journal.close(interrupted)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(None if problem is None else f"{type(problem).__name__}: {message_of(problem)}")

    # -- for the blocks of this life ----------------------------------------------------------------

    def episodes_of(self, label: str) -> Episodes:
        """The environment of a task variant, made on first use and kept for the whole life."""
        if label not in self._opened:
            seed = self.seeds.under("make", label).environment
            self._opened[label] = Episodes(self.tasks[label], seed % 2**31, step_limit=self.step_limit)
        return self._opened[label]

    def log(
        self, block: LifeBlock, params: Mapping[str, Any], values: Mapping[str, Any], *, complete: bool, last: bool
    ) -> None:
        """Write one experience, or an unfinished part of one, and what the learner says of itself."""
        ask = getattr(self.learner, "log_info", None)
        if callable(ask):
            values = {**values, **ask()}
        if self._columns is None:
            self._columns = (*self.measures, *(name for name in values if name not in self.measures))
        strange = [name for name in values if name not in self._columns]
        if strange:
            raise ScenarioError(
                f"this task logs {', '.join(strange)}, which the first task of this lifetime does not",
                "let all tasks of a scenario log the same columns beside their measures",
                file=block.where,
            )
        columns: dict[str, Any] = {name: values.get(name) for name in self._columns}
        self.journal.log(
            block_num=block.index,
            exp_num=self._experiences,
            block_type="train" if block.mode == "learn" else "test",
            block_subtype=block.subtype,
            task_name=block.task,
            task_params=params,
            exp_status="complete" if complete else "incomplete",
            **columns,
        )
        self._rows += 1
        if last:
            self._experiences += 1
            self._progress(self._experiences)

    def note_end(self, label: str, *, cut: bool) -> None:
        """Remember whether all of a task's episodes were cut at the step limit."""
        self._cut[label] = cut and self._cut.get(label, True)

    def freeze(self) -> None:
        """From here to the end of the block, the learner must stay as it is if it is evaluated.

        Done when a block begins; a learner that owns its loop, and builds itself when it first sees the
        spaces, calls this once more after that, before the block's first experience.
        """
        if self._open is not None and self._open.begun:
            raise LearnerError("freeze after the block's first experience", "call it before", file=self._open.where)
        self._frozen = None if self._open is None or self._open.learning else self._fingerprint()

    def _fingerprint(self) -> str | None:
        ask = getattr(self.learner, "fingerprint", None)
        return str(ask()) if callable(ask) else None

    def _keep(self) -> None:
        if self._states is None or self.learner is None or self.over:  # who is at the end need not come back
            return
        self.journal.end_blocks()  # so that who takes it up can verify it
        self._states.keep(
            self.learner,
            Checkpoint(
                self.name,
                self._blocks_done,
                self._experiences,
                self._rows,
                self._fingerprint(),
                self.seeds,
                self.learner_digest,
            ),
        )


def _as_syllabus(scenario: Scenario | Syllabus | str | os.PathLike[str]) -> Syllabus:
    if isinstance(scenario, Syllabus):
        return scenario
    if not isinstance(scenario, Scenario):
        return read_syllabus(os.fspath(scenario))
    if any(block.length is None for block in scenario.blocks):
        raise ScenarioError("a block without length", "give a Syllabus, which also knows steps", file=scenario.name)
    phases: list[str] = []
    number = 0
    for at, block in enumerate(scenario.blocks):
        starts = at == 0 or scenario.blocks[at - 1].mode != "learn"
        number += block.mode == "learn" and starts
        phases.append(f"{number}.{'train' if block.mode == 'learn' else 'test'}")
    count = len(scenario.blocks)
    return Syllabus(scenario, tuple(phases), (None,) * count, ({},) * count)


def _all_measures(kinds: Mapping[str, Any]) -> dict[str, Direction]:
    """The measures of all tasks, those of the first one first."""
    measures: dict[str, Direction] = {}
    for label, kind in kinds.items():
        for measure, direction in kind.measures.items():
            if measures.setdefault(measure, direction) != direction:
                raise ScenarioError(
                    f"{measure!r} is {direction}-better here and not so in another task",
                    "call it by another name in one of them",
                    where=label,
                )
    return measures


def _name_of(learner: Any) -> str | None:
    if learner is None or isinstance(learner, str):
        return learner
    return str(getattr(learner, "name", "") or type(learner).__name__)


def _safe(name: str) -> str:
    """A name as one folder may have it."""
    return "".join(one if one.isalnum() or one in "-_." else "-" for one in name).lstrip(".") or "life"
