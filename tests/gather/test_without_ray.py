"""Scoring on a cluster where Ray is not installed: a stand-in with Ray's interface runs its actors in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from tests.metrics.written import LIFE, written

import perdure
from perdure.errors import PerdureError


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class RayActorError(RayError):
    pass


class Answer:
    """The value or the error that a call came to."""

    def __init__(self, value: object = None, error: Exception | None = None) -> None:
        self.value = value
        self.error = error


class StandIn:
    """As much of Ray as Perdure uses; the calls of `score` that are in `lost` find their machine gone."""

    __version__ = "stand-in"
    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError, RayActorError=RayActorError)
    cloudpickle = SimpleNamespace(register_pickle_by_value=lambda _: None)

    def __init__(self, lost: Sequence[int] = ()) -> None:
        self.lost = lost
        self.scored = 0
        self.joined = False

    def is_initialized(self) -> bool:
        return self.joined

    def init(self, *_: object, **__: object) -> None:
        self.joined = True

    def shutdown(self) -> None:
        self.joined = False

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def put(self, value: object) -> Answer:
        return Answer(value)

    def get(self, answer: Answer) -> object:
        if answer.error is not None:
            raise answer.error
        return answer.value

    def wait(self, answers: Sequence[Answer], **_: object) -> tuple[list[Answer], list[Answer]]:
        return [answers[0]], list(answers[1:])

    def kill(self, _: object) -> None:
        pass

    def remote(self, *, max_restarts: int, **_: object) -> Callable[[type], SimpleNamespace]:
        def started(actor: type, given: Sequence[object]) -> _Actor:
            return _Actor(self, lambda: actor(*values_of(given)), max_restarts)

        return lambda actor: SimpleNamespace(remote=lambda *given: started(actor, given))


def values_of(given: Sequence[object]) -> list[Any]:
    return [one.value if isinstance(one, Answer) else one for one in given]


class _Actor:
    """An actor that is made again, and called again, where its machine is lost, as Ray does it."""

    def __init__(self, ray: StandIn, make: Callable[[], object], restarts: int) -> None:
        self._ray = ray
        self._make = make
        self._made = make()
        self._restarts = restarts

    def __getattr__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *given: self._called(name, given))

    def _called(self, name: str, given: Sequence[object]) -> Answer:
        for _ in range(self._restarts + 1 if name == "call" else 0):
            self._ray.scored += 1
            if self._ray.scored - 1 not in self._ray.lost:
                break
            self._made = self._make()
        else:
            if name == "call":
                return Answer(error=RayActorError("the machine is gone"))
        try:
            return Answer(getattr(self._made, name)(*values_of(given)))
        except Exception as problem:
            return Answer(error=RayTaskError(str(problem)))


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., StandIn]]:
    """Return a function that installs the stand-in as `ray`; its actors' changes to this process are undone."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("perdure.gather.on_ray._MAX_LIFETIMES", 2)  # at a time, so that several machines have some

    def start(lost: Sequence[int] = ()) -> StandIn:
        ray = StandIn(lost)
        monkeypatch.setitem(sys.modules, "ray", ray)
        return ray

    with mock.patch.dict(os.environ):
        yield start


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six lifetimes that differ, of which one cannot be read."""
    folder = tmp_path_factory.mktemp("run") / "logs"
    for number in range(6):
        blocks = [(mode, task, [value + number for value in values]) for mode, task, values in LIFE]
        log = written(folder, f"l{number}", blocks, learner="q", seed=number)
        if number == 3:
            (log / "logger_info.json").write_text("{")
    return folder


@pytest.mark.parametrize("lost", [(), (0,), (1, 2)], ids=["none lost", "the first lost", "two lost"])
def test_lifetimes_have_the_scores_on_a_cluster_that_they_have_here(
    logs: Path, started: Callable[..., StandIn], lost: Sequence[int]
) -> None:
    here = perdure.survey(logs)
    ray = started(lost)
    told: list[tuple[int, int]] = []
    there = perdure.survey(logs, engine="ray", progress=lambda *how: told.append(how))
    assert there.to_json() == here.to_json()
    assert [name for name, _ in there.left_out] == [str(logs / "l3")]
    assert (told[-1], ray.scored) == ((6, 6), 3 + len(lost))
    assert not ray.joined


def test_machines_that_are_lost_again_and_again_end_it_with_a_sentence(
    logs: Path, started: Callable[..., StandIn]
) -> None:
    started(range(100))
    with pytest.raises(PerdureError, match=r"lost 4 times; the last time: the machine is gone"):
        perdure.survey(logs, engine="ray")
