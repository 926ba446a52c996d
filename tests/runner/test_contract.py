"""check_learner: every reference learner passes, and each breach of the contract is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perdure.runner.contract import BATCHES, check_learner


@pytest.mark.parametrize("name", ["q-learning", "q-learning-per-task"])
def test_acting_reference_learners_keep_the_contract(name: str) -> None:
    check_learner(name)


@pytest.mark.parametrize("name", ["naive", "replay", "ewc", "joint"])
def test_classifying_reference_learners_keep_the_contract(name: str) -> None:
    check_learner(name, BATCHES)


class Sound:
    """A learner that keeps the contract: the length of its knowledge decides its action."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.known = 0

    def act(self, observation: Any) -> Any:
        return self.known % 3

    def learn(self, experience: Any) -> None:
        self.known += 1

    def save(self, folder: Path) -> None:
        (folder / "known").write_text(str(self.known))

    def restore(self, folder: Path) -> None:
        self.known = int((folder / "known").read_text())

    def fingerprint(self) -> str:
        return str(self.known)


class Seedless:
    def __init__(self) -> None:
        self.known = 0


class Actless:
    def __init__(self, seed: int = 0) -> None:
        self.seed = seed


class Unseeded(Sound):
    def act(self, observation: Any) -> Any:
        return int(np.random.default_rng().integers(3))


class Wide(Sound):
    def act(self, observation: Any) -> Any:
        return 3


class Writes(Sound):
    def act(self, observation: Any) -> Any:
        observation[0] = 0
        return 0


class LearnsAnyway(Sound):
    def act(self, observation: Any) -> Any:
        self.known += 1
        return 0


class Lazy(Sound):
    """A learner that builds its network when it first acts, which is in an evaluation."""

    net = ""

    def act(self, observation: Any) -> Any:
        self.net = self.net or "built"
        return 0

    def fingerprint(self) -> str:
        return self.net


class Forgetting(Sound):
    def restore(self, folder: Path) -> None:
        self.known = 0


class Half(Sound):
    restore = None  # type: ignore[assignment]


class Restless(Sound):
    def fingerprint(self) -> str:
        self.known += 1
        return str(self.known)


class Blind(Sound):
    """A learner that saves less than it needs, which its fingerprint does not show."""

    def act(self, observation: Any) -> Any:
        return 1 if self.known < 10 else 2

    def restore(self, folder: Path) -> None:
        self.known = -100_000

    def fingerprint(self) -> str:
        return "the same always"


def test_a_sound_learner_passes() -> None:
    check_learner(Sound)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Seedless, "cannot be made with seed="),
        (Actless, r"has neither act\(observation\) nor live\(life\)"),
        (Unseeded, "two lifetimes from seed 3 differ, first at experience"),
        (Wide, "action 3 .* is not in Discrete"),
        (Writes, "the learner wrote into an observation; copy it first"),
        (LearnsAnyway, "the learner changed while it was evaluated"),
        (Lazy, "one that builds itself in its first act builds it in block_started"),
        (Forgetting, "restore gives another fingerprint"),
        (Half, "has save and no restore"),
        (Restless, "fingerprint differs between two calls"),
        (Blind, "a lifetime resumed from the saved state differs"),
    ],
)
def test_each_breach_is_reported(learner: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_learner(learner)


def test_a_learner_that_owns_its_loop_can_be_checked_too() -> None:
    class Own:
        def __init__(self, seed: int = 0) -> None:
            self.rng = np.random.default_rng(seed)

        def live(self, lifetime: Any) -> None:
            for block in lifetime:
                for episode in block.episodes():
                    episode.reset()
                    over = False
                    while not over:
                        *_, terminated, truncated, _ = episode.step(int(self.rng.integers(3)))
                        over = terminated or truncated

    check_learner(Own)
