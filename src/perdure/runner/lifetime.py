"""One learner's way through a scenario, block by block, logged while it runs, and the loops that lead a learner."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

import msgspec
import numpy as np
from msgspec.structs import replace

from perdure.errors import LearnerError, ScenarioError, TaskError, UnknownNameError, message_of
from perdure.learners.interface import Answer, SelfLed, Situation, Transition
from perdure.log.model import Direction, Role
from perdure.log.places import logs_folder
from perdure.log.rules import TYPES
from perdure.log.write.journal import Journal
from perdure.results import to_plain
from perdure.runner.block import LifeBlock
from perdure.runner.costs import Costs
from perdure.runner.resume import Checkpoint, States
from perdure.runner.seeds import Seeds
from perdure.scenario.model import FACTS, Fact, Scenario
from perdure.scenario.syllabus import Syllabus, read_syllabus, syllabus_text
from perdure.tasks.catalogue import task_kind
from perdure.tasks.datasets import Dataset
from perdure.tasks.episodes import STEP_LIMIT, Episodes
from perdure.tasks.interface import TaskKind


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
    tells: Collection[Fact] = FACTS,
    states: str | os.PathLike[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> LiveRun:
    """Start or resume a lifetime, to run with `for block in run: for episode in block.episodes(): …`.

    For a classification learner, iterate over `run.datasets()`.

    Parameters
    ----------
    scenario
        A scenario, a syllabus, or the path of a syllabus.
    into
        Folder of the log's folder. By default the one that `perdure info` shows.
    name
        Name of the log's folder. By default the name of the scenario and the time.
    seed
        Seed in the log, and the root of `seeds` unless they are given.
    learner
        The learner, or only its name. A learner with a fingerprint must not change in an evaluation.
    title
        Name of the learner in the log.
    seeds
        Seeds of learner, scenario and environments.
    role
        Role of the lifetime in the log.
    protocol
        Facts about the protocol, for the manifest.
    step_limit
        Number of steps after which an episode is truncated.
    tells
        Facts that the learner may know, of ``"task"``, ``"boundary"`` and ``"mode"``.
    states
        Folder in which a learner that can be saved is saved after each block. If the lifetime was interrupted, it
        continues from there.
    progress
        Function that is called with the number of completed experiences.

    Returns
    -------
    LiveRun
        The blocks of the scenario, to be completed in order. Nothing has run yet.

    Raises
    ------
    ScenarioError
        If the syllabus is invalid, or a task has no environment.
    RecordError
        If the log exists and cannot be continued.

    Examples
    --------
    >>> syllabus = perdure.compose("condensed", ["pong", "breakout"], learn=2, evaluate=1)
    >>> for block in perdure.run_lifetime(syllabus, "runs", "random", learner="random"):
    ...     for episode in block.episodes():
    ...         _, over = episode.reset(), False
    ...         while not over:
    ...             _, _, terminated, truncated, _ = episode.step(episode.action_space.sample())
    ...             over = terminated or truncated
    >>> perdure.read("runs/random").height
    10
    """
    if role not in get_args(Role):
        raise UnknownNameError("role", str(role), get_args(Role))
    for fact in tells:
        if fact not in FACTS:
            raise UnknownNameError("fact in tells", str(fact), FACTS)
    syllabus = _as_syllabus(scenario)
    into = Path(into) if into is not None else logs_folder()
    name = name or f"{_safe(syllabus.scenario.name)}-{time.time_ns() // 1_000_000}"
    seeds = seeds or Seeds.of(seed)
    protocol = protocol or {}
    kinds = {task.label: task_kind(task) for task in syllabus.scenario.tasks}
    measures = _all_measures(kinds)
    instance = None if isinstance(learner, str) else learner
    saved = States(Path(states)) if states is not None else None
    resumed = saved.resume(into / name, name, seeds, instance) if saved and (into / name).exists() else None
    journal = Journal(
        into,
        name,
        measures,
        learner=title or _name_of(learner),
        seed=seed,
        scenario=syllabus.scenario,
        info=msgspec.json.decode(syllabus_text(syllabus)),
        join=resumed is not None,
        role=role,
        protocol={**protocol, "tells": [fact for fact in FACTS if fact in tells], "seeds": to_plain(seeds)},
    )
    digest = protocol.get("learner_digest")
    position = replace(resumed or Checkpoint(name, 0, 0, 0, None, seeds), learner_digest=digest)
    report = progress or (lambda _: None)
    return LiveRun(syllabus, kinds, journal, instance, position, saved, step_limit, report, frozenset(tells))


class LiveRun:
    """Blocks of a running lifetime. Iterate over it once, and complete each block before the next.

    `run_lifetime` starts or resumes one.

    Attributes
    ----------
    syllabus
        Syllabus of the lifetime.
    scenario
        Blocks and tasks of the syllabus.
    kinds
        Task → its kind.
    journal
        Writer of the log.
    learner
        The learner, if it was given.
    name
        Id of the lifetime.
    seeds
        Seeds of learner, scenario and environments.
    learner_digest
        Digest of the learner's code, if known.
    step_limit
        Number of steps after which an episode is truncated.
    tasks
        Label → task.
    measures
        Measures that are logged.
    costs
        Seconds and memory that are logged.
    """

    def __init__(
        self,
        syllabus: Syllabus,
        kinds: Mapping[str, TaskKind],
        journal: Journal,
        learner: Any,
        position: Checkpoint,
        states: States | None,
        step_limit: int,
        progress: Callable[[int], None],
        tells: Collection[Fact] = FACTS,
    ) -> None:
        self.syllabus = syllabus
        self.scenario = syllabus.scenario
        self.kinds = kinds
        self.journal = journal
        self.learner = learner
        self.name = position.life
        self.seeds = position.seeds
        self.learner_digest = position.learner_digest
        self.step_limit = step_limit
        self.tasks = {task.label: task for task in self.scenario.tasks}
        self.measures = journal.measures
        self.costs = Costs()
        self.tells = tells
        self._states = states
        self._progress = progress
        self._opened: dict[str, Episodes] = {}
        self._columns: tuple[str, ...] | None = None
        self._cut: dict[str, bool] = {}
        self._iterated = False
        self._open: LifeBlock | None = None
        self._frozen: str | None = None
        self._blocks_done = position.blocks
        self._experiences = position.experiences
        self._rows = position.rows

    @property
    def path(self) -> Path:
        """The folder of the log."""
        return self.journal.path

    @property
    def rows(self) -> int:
        """Number of records, including those before it was resumed."""
        return self._rows

    @property
    def over(self) -> bool:
        """Whether every block is complete."""
        return self._blocks_done == len(self.scenario.blocks)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks so far: the tasks whose episodes were all cut at the step limit."""
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
                self.costs.settle()
                yield block
                self.costs.settle(block.learning)
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
                place = self._open.where if self._open else "its first block"
                self.close(f"left in {place}")

    def datasets(self) -> Iterator[Dataset]:
        """Yield each block as a dataset, for the loop of a classification learner."""
        return (block.dataset() for block in self)

    def close(self, interrupted: str | None = None) -> None:
        """Close the log; a lifetime that is not over is marked as interrupted. Closing twice is harmless."""
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
        """Return the environment of a task variant, made on first use and reused for the whole lifetime."""
        if label not in self._opened:
            seed = self.seeds.under("make", label).environment
            self._opened[label] = Episodes(self.tasks[label], seed % 2**31, step_limit=self.step_limit)
        return self._opened[label]

    def log(
        self, block: LifeBlock, params: Mapping[str, Any], values: Mapping[str, Any], *, complete: bool, last: bool
    ) -> None:
        """Write one experience, or an unfinished part of one, with the learner's own log info."""
        self.costs.settle(block.learning)
        ask = getattr(self.learner, "log_info", None)
        values = {**values, **self.costs.columns(), **(ask() if callable(ask) else {})}
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
            block_type=TYPES[self.scenario.blocks[block.index].mode],
            block_subtype=block.subtype,
            task_name=block.task,
            task_params=params,
            exp_status="complete" if complete else "incomplete",
            **columns,
        )
        self._rows += 1
        self.costs.settle()
        if last:
            self._experiences += 1
            self._progress(self._experiences)

    def note_end(self, label: str, *, cut: bool) -> None:
        """Record whether all of a task's episodes were cut at the step limit."""
        self._cut[label] = cut and self._cut.get(label, True)

    def freeze(self) -> None:
        """Require that the learner stays unchanged until the end of the block, if it is evaluated.

        Called when a block begins. A learner that owns its loop, and builds its model when it first sees the spaces,
        calls it again after that, before the block's first experience.
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
    for index, block in enumerate(scenario.blocks):
        starts = index == 0 or scenario.blocks[index - 1].mode == "evaluate"
        number += block.mode == "learn" and starts
        phases.append(f"{number}.{TYPES[block.mode]}")
    count = len(scenario.blocks)
    return Syllabus(scenario, tuple(phases), (None,) * count, ({},) * count)


def _all_measures(kinds: Mapping[str, Any]) -> dict[str, Direction]:
    """Return the measures of all tasks, those of the first task first."""
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
    return (
        "".join(character if character.isalnum() or character in "-_." else "-" for character in name).lstrip(".")
        or "life"
    )


def lead(life: LiveRun, learner: Any) -> None:
    """Take `learner` through the whole of `life`; a learner with `live` has a loop of its own."""
    with life:
        _refuse_untold(life, learner)
        if isinstance(learner, SelfLed):
            learner.live(life)
            if not life.over:
                raise LearnerError(
                    f"{type(learner).__name__}.live returned before the lifetime was over",
                    "go through every block: for block in life: …",
                    file=life.name,
                )
            return
        if not callable(getattr(learner, "act", None)):
            raise LearnerError(
                f"{type(learner).__name__} has neither act(observation) nor live(life)", "a learner needs one of them"
            )
        last: Situation | None = None
        for block in life:
            last = _lead_block(life, block, learner, last)


def _refuse_untold(life: LiveRun, learner: Any) -> None:
    """Refuse a learner that owns its loop, and so sees every block, if it may not know everything."""
    if isinstance(learner, SelfLed) and not isinstance(learner, Stateless) and set(life.tells) < set(FACTS):
        raise LearnerError(
            f"{type(learner).__name__}.live goes through the blocks itself, so it sees task, boundaries and mode",
            "give it act and learn in place of live, or tell all three",
            file=life.name,
        )


def _lead_block(life: LiveRun, block: LifeBlock, learner: Any, last: Situation | None = None) -> Situation | None:
    """Take the learner through a block; return its situation. `last` is the one before, which it knows."""
    try:
        return (_lead_batches if block.is_batches else _lead_episodes)(block, learner, life, last)
    except (LearnerError, TaskError) as problem:
        raise problem.with_place(file=block.where) from problem
    except ValueError as problem:
        if "read-only" not in str(problem):
            raise
        what = "the inputs of a batch" if block.is_batches else "an observation"
        frame = traceback.extract_tb(problem.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        raise LearnerError(
            f"the learner wrote into {what}", f"copy it first ({place}: {problem})", file=block.where
        ) from problem


def _lead_episodes(block: LifeBlock, learner: Any, life: LiveRun, last: Situation | None) -> Situation | None:
    situation = block.situation
    if situation != last:
        _notify(life, learner, "block_started", situation)
    life.freeze()  # only now: a learner may build its model when it first sees the spaces
    act, learn = _timed_methods(life, block, learner)
    for episode in block.episodes():
        observation, _ = episode.reset()
        observation = _read_only(observation)
        ended = False
        while not ended:
            action = act(observation)
            following, reward, terminated, truncated, _ = episode.step(action)
            following = _read_only(following)
            if learn is not None:
                learn(Transition(observation, action, float(reward), following, terminated, truncated))
            observation = following
            ended = terminated or truncated
    if block.changes_next:
        _notify(life, learner, "block_ended", situation)
    return situation


def _lead_batches(block: LifeBlock, learner: Any, life: LiveRun, last: Situation | None) -> Situation | None:
    dataset = block.dataset()
    dataset.reset()
    situation: Situation | None = None
    act, learn = _timed_methods(life, block, learner)
    done = False
    while not done:
        batch, done, info = dataset.next_batch()
        inputs = _read_only(batch["inputs"])
        if situation is None:  # the first batch shows how large an example is
            shape = tuple(np.shape(inputs)[1:])
            described = {"inputs": shape, "outputs": info.get("outputs"), "classes": info.get("classes")}
            situation = replace(block.situation, **described).told(block.tells)  # classes are the task's
            if situation != last:
                _notify(life, learner, "block_started", situation)
            life.freeze()
        predictions = act(inputs)
        labels = dataset.get_labels(batch["id"], predictions)
        if labels is not None and learn is not None:
            learn(Answer(inputs, predictions, np.asarray(labels)))
    if situation is not None and block.changes_next:
        _notify(life, learner, "block_ended", situation)
    return situation


def _timed_methods(
    life: LiveRun, block: LifeBlock, learner: Any
) -> tuple[Callable[[Any], Any], Callable[[Any], Any] | None]:
    """Return `act` and, if the block is for learning, `learn`; a learner without it is a fixed policy."""
    learn = getattr(learner, "learn", None) if block.learning else None
    act = life.costs.timed("act_seconds", learner.act)
    return act, life.costs.timed("learn_seconds", learn) if callable(learn) else None


def _notify(life: LiveRun, learner: Any, event: str, situation: Situation) -> None:
    method = getattr(learner, event, None)
    if callable(method):
        life.costs.timed("learn_seconds", method)(situation)


def _read_only(observation: Any) -> Any:
    """Return a view that cannot be written to, so that a learner cannot change the environment or the log."""
    if isinstance(observation, np.ndarray):
        view = observation.view()
        view.flags.writeable = False
        return view
    if isinstance(observation, dict):
        return {key: _read_only(value) for key, value in observation.items()}
    return observation


class Stateless:
    """The twin of a learner, which starts again in every block and so shows the value of remembering."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def live(self, life: LiveRun) -> None:
        """Take a new learner through each block of `life`."""
        first: dict[int, int] = {}  # block → the first piece of its learning block, which its probes follow
        head = 0
        for group in life.scenario.joined_pieces():
            head = head if life.scenario.blocks[group[0]].mode == "probe" else group[0]
            first |= dict.fromkeys(group, head)
        for _, blocks in groupby(life, lambda block: first[block.index]):
            learner = self._make()
            _refuse_untold(life, learner)
            if isinstance(learner, SelfLed):
                learner.live(_SomeBlocks(life, blocks))
            else:
                for block in blocks:
                    _lead_block(life, block, learner)


class _SomeBlocks:
    """A lifetime that consists of one block with its probes, for a self-led learner."""

    def __init__(self, life: LiveRun, blocks: Iterator[LifeBlock]) -> None:
        self._life, self._blocks = life, blocks

    def __iter__(self) -> Iterator[LifeBlock]:
        return self._blocks

    def datasets(self) -> Iterator[Dataset]:
        return (block.dataset() for block in self._blocks)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._life, name)
