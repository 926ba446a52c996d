"""The loop that takes a learner through its lifetime: learners with `act` and `learn`, self-led ones, and twins."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from perdure.learners.interface import Answer, LearnerError, SelfLed, Situation, Transition
from perdure.runner.block import LifeBlock
from perdure.runner.lifetime import LiveRun
from perdure.tasks.datasets import Dataset
from perdure.tasks.interface import TaskError


def lead(life: LiveRun, learner: Any) -> None:
    """Take `learner` through the whole of `life`; a learner with `live` has a loop of its own."""
    with life:
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
        for block in life:
            _lead_block(life, block, learner)


def _lead_block(life: LiveRun, block: LifeBlock, learner: Any) -> None:
    try:
        (_lead_batches if block.is_batches else _lead_episodes)(block, learner, life.freeze)
    except (LearnerError, TaskError) as problem:
        raise problem.at(file=block.where) from problem
    except ValueError as problem:
        if "read-only" not in str(problem):
            raise
        what = "the inputs of a batch" if block.is_batches else "an observation"
        last = traceback.extract_tb(problem.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        raise LearnerError(
            f"the learner wrote into {what}", f"copy it first ({place}: {problem})", file=block.where
        ) from problem


def _lead_episodes(block: LifeBlock, learner: Any, freeze: Callable[[], None]) -> None:
    situation = block.situation
    _notify(learner, "block_started", situation)
    freeze()  # only now: a learner may build its model when it first sees the spaces
    act, learning = learner.act, situation.learning
    learn = _learning_method(learner) if learning else None
    for episode in block.episodes():
        observation, _ = episode.reset()
        observation = _read_only(observation)
        over = False
        while not over:
            action = act(observation)
            following, reward, terminated, truncated, _ = episode.step(action)
            following = _read_only(following)
            if learn is not None:
                learn(Transition(observation, action, float(reward), following, terminated, truncated))
            observation = following
            over = terminated or truncated
    _notify(learner, "block_ended", situation)


def _lead_batches(block: LifeBlock, learner: Any, freeze: Callable[[], None]) -> None:
    dataset = block.dataset()
    dataset.reset()
    situation: Situation | None = None
    learn = _learning_method(learner) if block.learning else None
    done = False
    while not done:
        batch, done, info = dataset.next_batch()
        inputs = _read_only(batch["inputs"])
        if situation is None:  # the first batch shows how large an example is
            shape = tuple(np.shape(inputs)[1:])
            situation = replace(block.situation, inputs=shape, outputs=info.get("outputs"), classes=info.get("classes"))
            _notify(learner, "block_started", situation)
            freeze()
        predictions = learner.act(inputs)
        labels = dataset.get_labels(batch["id"], predictions)
        if labels is not None and learn is not None:
            learn(Answer(inputs, predictions, np.asarray(labels)))
    if situation is not None:
        _notify(learner, "block_ended", situation)


def _learning_method(learner: Any) -> Callable[[Any], None] | None:
    """Return the method `learn`; a learner without it is a fixed policy, which can be evaluated, too."""
    method = getattr(learner, "learn", None)
    return method if callable(method) else None


def _notify(learner: Any, event: str, situation: Situation) -> None:
    method = getattr(learner, event, None)
    if callable(method):
        method(situation)


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
    """The twin of a learner, which starts again in every block and so shows what remembering is worth."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def live(self, life: LiveRun) -> None:
        """Take a new learner through each block of `life`."""
        for block in life:
            learner = self._make()
            if isinstance(learner, SelfLed):
                learner.live(_OneBlock(life, block))
            else:
                _lead_block(life, block, learner)


class _OneBlock:
    """A lifetime that consists of one block, for a self-led learner."""

    def __init__(self, life: LiveRun, block: LifeBlock) -> None:
        self._life, self._block = life, block

    def __iter__(self) -> Iterator[LifeBlock]:
        yield self._block

    def datasets(self) -> Iterator[Dataset]:
        yield self._block.dataset()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._life, name)
