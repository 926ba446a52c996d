"""Leading a learner through its life: the thin loop for learners that have `act` and `learn`."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from perdure.frozen import replace
from perdure.learners.interface import Answer, LearnerError, SelfLed, Situation, Transition
from perdure.runner.block import LifeBlock
from perdure.runner.lifetime import Life
from perdure.tasks.interface import TaskError

__all__ = ["lead", "lead_block"]


def lead(life: Life, learner: Any) -> None:
    """Take `learner` through the whole of `life`; a learner with `live` takes itself."""
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
            lead_block(life, block, learner)


def lead_block(life: Life, block: LifeBlock, learner: Any) -> None:
    """Take `learner` through one block of `life`."""
    try:
        (_lead_batches if block.is_batches else _lead_episodes)(block, learner, life.freeze)
    except (LearnerError, TaskError) as problem:
        raise problem.at(file=block.where) from problem
    except ValueError as problem:
        if "read-only" not in str(problem):
            raise
        what = "the inputs of a batch" if block.is_batches else "an observation"
        raise LearnerError(
            f"the learner wrote into {what}", f"copy it first ({_place(problem)}: {problem})", file=block.where
        ) from problem


def _lead_episodes(block: LifeBlock, learner: Any, freeze: Callable[[], None]) -> None:
    situation = block.situation
    _tell(learner, "block_started", situation)
    freeze()  # only now: a learner may build what the spaces ask for when it first sees them
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
    _tell(learner, "block_ended", situation)


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
            _tell(learner, "block_started", situation)
            freeze()
        predictions = learner.act(inputs)
        labels = dataset.get_labels(batch["id"], predictions)
        if labels is not None and learn is not None:
            learn(Answer(inputs, predictions, np.asarray(labels)))
    if situation is not None:
        _tell(learner, "block_ended", situation)


def _place(problem: Exception) -> str:
    """The line that raised it."""
    last = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def _learning_method(learner: Any) -> Callable[[Any], None] | None:
    """A learner without `learn` is a fixed policy, which is a fair thing to evaluate."""
    found = getattr(learner, "learn", None)
    return found if callable(found) else None


def _tell(learner: Any, what: str, situation: Situation) -> None:
    method = getattr(learner, what, None)
    if callable(method):
        method(situation)


def _read_only(observation: Any) -> Any:
    """A view that cannot be written to: what the environment and the log see is not the learner's to change."""
    if isinstance(observation, np.ndarray):
        view = observation.view()
        view.flags.writeable = False
        return view
    if isinstance(observation, dict):
        return {key: _read_only(value) for key, value in observation.items()}
    return observation
