"""Scoring on a cluster: lifetimes go out in handfuls, files and all, and come back scored."""

from __future__ import annotations

import os
import pickle
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from perdure.cluster import ONE_THREAD, code_for, guests, joined
from perdure.errors import PerdureError
from perdure.gather.find import Found
from perdure.gather.pool import registered
from perdure.gather.worker import ScoreJob, ScoreResult, ScoreWorker

_MOST_LIVES, _MOST_BYTES = 64, 16 << 20  # of one handful
_AHEAD = 2  # handfuls in the hands of a machine: it never waits for the next
_TRIES = 4  # of a handful whose machine is lost

Progress = Callable[[int, int], None]
Handful = tuple[list[int], bytes]
"""Which places, and these with their files, packed."""


def score_on_ray(
    job: ScoreJob, found: Sequence[Found], address: str | None, progress: Progress | None, jobs: int | None
) -> list[ScoreResult]:
    """What a `ScoreWorker` makes of each place, in order, by as many processes as the cluster has cores, or `jobs`."""
    with joined(address, "scoring on a cluster") as ray:
        shared = _needed_by_all(job, found)
        given = ray.put(pickle.dumps((job, shared, registered())))
        code = ray.put(code_for(()))
        scattered = _Scattered(ray, code, given, _handfuls(found, shared), len(found), progress)
        return scattered.gathered(jobs or max(1, int(ray.cluster_resources().get("CPU", 1))))


class _Scattered(Struct):
    ray: Any
    code: Any
    given: Any
    handfuls: Iterator[Handful]
    count: int
    progress: Progress | None
    again: deque[Handful] = field(default_factory=deque)
    """Handfuls whose machine was lost."""
    tries: Counter[int] = field(default_factory=Counter)
    done: dict[int, ScoreResult] = {}
    begun: dict[int, Any] = {}
    """What each machine answers once it has begun."""
    out: dict[Any, tuple[Any, Handful]] = {}
    """By the answer that is awaited: who has what."""

    def gathered(self, count: int) -> list[ScoreResult]:
        actor = guests(self.ray, num_cpus=1)
        idle: list[Any] = []
        started = 0
        try:
            while True:
                while len(self.out) < _AHEAD * count and (handful := self.next()) is not None:
                    if started < count:
                        who, started = self.started(actor), started + 1
                    else:
                        busy = Counter(id(one) for one, _ in self.out.values())
                        everyone = {id(one): one for one, _ in self.out.values()} | {id(one): one for one in idle}
                        who = min(everyone.values(), key=lambda one: busy[id(one)])
                    self.out[who.call.remote("score", handful[1])] = (who, handful)
                if not self.out:
                    return [self.done[at] for at in range(self.count)]
                (ready,), _ = self.ray.wait(list(self.out), num_returns=1)
                who, handful = self.out.pop(ready)
                try:
                    self.ray.get(self.begun[id(who)])
                    made = pickle.loads(self.ray.get(ready))
                except self.ray.exceptions.RayTaskError as problem:
                    said = (str(problem).strip().splitlines() or [""])[-1]
                    raise PerdureError(
                        f"a machine of the cluster could not score: {said[:500]}",
                        "see that Perdure and its packages are the same there",
                    ) from problem
                except self.ray.exceptions.RayError as problem:
                    started -= self.lost(who, handful, problem)
                    idle = [one for one in idle if one is not who]
                    continue
                idle = [*(one for one in idle if one is not who), who]
                self.done.update(zip(handful[0], made, strict=True))
                if self.progress:
                    self.progress(len(self.done), self.count)
        finally:
            for who in {id(one): one for one in (*idle, *(one for one, _ in self.out.values()))}.values():
                with suppress(Exception):
                    self.ray.wait([who.leave.remote()], timeout=1.0)
                    self.ray.kill(who)

    def started(self, actor: Any) -> Any:
        who = actor.remote()
        self.begun[id(who)] = who.begin.remote(
            self.code, "perdure.gather.on_ray:Scoring", self.given, os.getcwd(), ONE_THREAD
        )
        return who

    def next(self) -> Handful | None:
        return self.again.popleft() if self.again else next(self.handfuls, None)

    def lost(self, who: Any, handful: Handful, problem: Exception) -> int:
        """A machine is gone, once: what it had goes to another."""
        first = handful[0][0]
        self.tries[first] += 1
        if self.tries[first] >= _TRIES:
            said = (str(problem).strip().splitlines() or [""])[0]
            raise PerdureError(f"machines that were to score were lost {_TRIES} times", f"the last time: {said[:500]}")
        self.again.append(handful)
        return 0 if any(one is who for one, _ in self.out.values()) else 1


def _needed_by_all(job: ScoreJob, found: Sequence[Found]) -> dict[str, bytes]:
    """The files of experts and of metrics, and files that hold several lifetimes."""
    several = Counter(str(one.path.resolve()) for one in found if one.lifetime is None and one.path.is_file())
    places = [
        *(one for one in job.experts if isinstance(one, str)),
        *(one.path for one in job.own_experts),
        *job.settings.files,
        *(path for path, times in several.items() if times > 1),
    ]
    return {name: content for place in places for name, content in _files(Path(place))}


def _handfuls(found: Sequence[Found], shared: Mapping[str, bytes]) -> Iterator[Handful]:
    """Neighbours that travel together; read when they are about to go."""
    which: list[int] = []
    files: dict[str, bytes] = {}
    for at, one in enumerate(found):
        more = {} if one.lifetime is not None else {name: held for name, held in _files(one.path) if name not in shared}
        if which and (len(which) >= _MOST_LIVES or _size(files) + _size(more) > _MOST_BYTES):
            yield which, pickle.dumps(([found[each] for each in which], files))
            which, files = [], {}
        which.append(at)
        files |= more
    if which:
        yield which, pickle.dumps(([found[each] for each in which], files))


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    """Every file at or below a place, by its whole path; copies kept beside logs stay at home."""
    place = place.resolve()
    if place.is_file():
        yield str(place), place.read_bytes()
        return
    for file in sorted(place.rglob("*")):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(place).parts):
            yield str(file), file.read_bytes()


def _size(files: Mapping[str, bytes]) -> int:
    return sum(map(len, files.values()))


class Scoring:
    """What one process of the cluster does: it lays files out below a folder of its own, as they lay at home."""

    def __init__(
        self, root: Path, job: ScoreJob, shared: Mapping[str, bytes], known: frozenset[tuple[str, str]]
    ) -> None:
        self._below = root / "files"
        _laid_out(self._below, shared)
        settings = job.settings
        self._score = ScoreWorker(
            replace(
                job,
                settings=settings.replace(
                    metrics=tuple(self._here(one) if one in settings.files else one for one in settings.metrics),
                ),
                experts=tuple(self._here(one) if isinstance(one, str) else one for one in job.experts),
                own_experts=tuple(replace(one, path=self._here(one.path)) for one in job.own_experts),
            )
        )
        if unknown := known - registered():
            names = ", ".join(sorted(name for _, name in unknown))
            raise PerdureError(f"not known on this machine: {names}", "install the plug-in there, or score here")

    def score(self, packed: bytes) -> bytes:
        """The places of a handful, scored, under the paths that they have at home."""
        found, files = pickle.loads(packed)
        _laid_out(self._below, files)
        here = [one if one.lifetime is not None else replace(one, path=Path(self._here(one.path))) for one in found]
        made = [self._sent(one, self._score(place)) for one, place in zip(found, here, strict=True)]
        for name in files:
            (self._below / name.lstrip("/")).unlink()
        return pickle.dumps(made)

    def _sent(self, found: Found, done: ScoreResult) -> ScoreResult:
        """What was made of a place, as it is told at home."""
        if found.lifetime is not None:
            return done
        return ScoreResult(
            done.lifetimes,
            self._at_home(done.left_out),
            self._at_home(done.experts_left_out),
            tuple(one.replace(str(self._below), "") for one in done.experts_served),
        )

    def _here(self, path: str | Path) -> str:
        return f"{self._below}{Path(path).resolve()}"

    def _at_home(self, said: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        below = str(self._below)
        return tuple((name.replace(below, ""), why.replace(below, "")) for name, why in said)


def _laid_out(below: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        target = below / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
