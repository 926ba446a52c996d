"""Check a custom learner against the contract of learners; each breach is an AssertionError."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.learners.find import make_learner
from perdure.learners.interface import Fingerprinted, Maker, Saved, SelfLed
from perdure.log.contract import require
from perdure.log.read import read
from perdure.log.rules import COST_COLUMNS
from perdure.runner.lifetime import lead, run_lifetime
from perdure.scenario.compose import compose
from perdure.scenario.model import Task
from perdure.scenario.syllabus import Syllabus

EPISODES = (
    Task("pong", "wide", params={"bot/paddle/width": 0.4, "points": 1, "steps": 40}),
    Task("pong", "narrow", params={"bot/paddle/width": 0.2, "points": 1, "steps": 40}),
)
"""Two tasks for learners that act: observations of seven numbers, three actions."""

BATCHES = (Task("digits", "upright"), Task("digits", "tilted", params={"rotation": 40}))
"""Two tasks for learners that classify: pictures of 12 × 12, ten classes."""


class _StoppedError(Exception):
    """Breaks a lifetime off, as a power failure would."""


def check_learner(
    learner: str | Maker,
    tasks: Sequence[Task | str] = EPISODES,
    *,
    params: Mapping[str, Any] | None = None,
    seed: int = 3,
) -> None:
    """Check a learner, given by registered name, by import path, or by its class.

    It runs small lifetimes of `tasks` (EPISODES, or BATCHES for one that classifies). It must complete them, repeat
    them from the same seed, stay unchanged while it is evaluated, and, if it can be saved, continue after a break as
    if there had been none.
    """
    name = learner if isinstance(learner, str) else getattr(learner, "__name__", type(learner).__name__)
    make = _maker(name, learner, dict(params or {}))
    probe = make(seed)
    require(
        isinstance(probe, SelfLed) or callable(getattr(probe, "act", None)),
        f"{name}: has neither act(observation) nor live(life); a learner needs one of them",
    )
    _check_optional(name, probe)
    syllabus = compose("condensed", tasks, learn=4, evaluate=2, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        first = _run(name, make(seed), syllabus, Path(folder), "first", seed)
        second = _run(name, make(seed), syllabus, Path(folder), "second", seed)
        require(
            first.equals(second),
            f"{name}: two lifetimes from seed {seed} differ, first at experience {_first_difference(first, second)}; "
            "let every random number come from the seed that the learner is made with",
        )
        if isinstance(probe, Saved):
            _check_saving(name, make, syllabus, Path(folder), seed, first)


def _maker(name: str, learner: str | Maker, params: dict[str, Any]) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        try:
            return make_learner(learner, seed, params) if isinstance(learner, str) else learner(seed=seed, **params)
        except (TypeError, PerdureError) as problem:
            _broken(f"{name}: cannot be made with seed={seed} and {params}: {problem}", problem)

    return make


def _check_optional(name: str, learner: Any) -> None:
    for method, other in (("save", "restore"), ("restore", "save")):
        if callable(getattr(learner, method, None)):
            require(
                callable(getattr(learner, other, None)), f"{name}: has {method} and no {other}; it needs both or none"
            )
    if isinstance(learner, Fingerprinted):
        first, second = learner.fingerprint(), learner.fingerprint()
        require(isinstance(first, str), f"{name}: fingerprint gave {type(first).__name__}; expected text")
        require(first == second, f"{name}: fingerprint differs between two calls with nothing in between")


def _run(
    name: str, learner: Any, syllabus: Syllabus, folder: Path, life: str, seed: int, states: Path | None = None
) -> pl.DataFrame:
    try:
        lead(run_lifetime(syllabus, folder, life, seed, learner=learner, states=states), learner)
    except PerdureError as problem:
        _broken(f"{name}: {problem}", problem)
    return read(folder / life).experiences.drop("timestamp", *COST_COLUMNS)


def _check_saving(
    name: str, make: Callable[[int], Any], syllabus: Syllabus, folder: Path, seed: int, expected: pl.DataFrame
) -> None:
    before = make(seed)
    place = folder / "saved"
    place.mkdir()
    lead(run_lifetime(syllabus, folder, "saved-life", seed, learner=before), before)
    before.save(place)
    after = make(seed + 1)
    after.restore(place)
    if isinstance(before, Fingerprinted) and isinstance(after, Fingerprinted):
        require(
            after.fingerprint() == before.fingerprint(),
            f"{name}: restore gives another fingerprint than the learner was saved with; "
            "save everything that the fingerprint covers",
        )
    broken, states = make(seed), folder / "states"
    stop = sum(block.length or 0 for block in syllabus.scenario.blocks[:-3]) + 1
    with contextlib.suppress(_StoppedError):
        lead(
            run_lifetime(syllabus, folder, "broken", seed, learner=broken, states=states, progress=_stop_at(stop)),
            broken,
        )
    resumed = _run(name, make(seed), syllabus, folder, "broken", seed, states)
    require(
        resumed.equals(expected),
        f"{name}: a lifetime resumed from the saved state differs from an uninterrupted one, "
        f"first at experience {_first_difference(expected, resumed)}; save everything that decides what comes next, "
        "the state of random numbers included",
    )


def _stop_at(count: int) -> Callable[[int], None]:
    def report(done: int) -> None:
        if done >= count:
            raise _StoppedError

    return report


def _first_difference(first: pl.DataFrame, second: pl.DataFrame) -> int:
    pairs = zip(first.iter_rows(), second.iter_rows(), strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(first.height, second.height))


def _broken(message: str, problem: Exception) -> NoReturn:
    raise AssertionError(message) from problem
