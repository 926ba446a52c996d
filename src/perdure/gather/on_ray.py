"""Score lifetimes on a Ray cluster: files travel there in batches, and scores come back."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from perdure.cluster import actor_starter, joined, line_of
from perdure.errors import PerdureError
from perdure.gather.find import FoundLog
from perdure.gather.pool import registered_names
from perdure.gather.worker import ScoreJob, ScoreResult, ScoreWorker

_MAX_LIFETIMES, _MAX_BYTES = 64, 16 << 20  # of one batch
_AHEAD = 2  # batches per actor, so that it does not wait for the next
_RESTARTS = 3  # of an actor whose machine is lost

Progress = Callable[[int, int], None]


def score_on_ray(
    job: ScoreJob, found: Sequence[FoundLog], address: str | None, progress: Progress | None, jobs: int | None
) -> list[ScoreResult]:
    """Return the result of a `ScoreWorker` for each place, in order.

    There are as many processes as the cluster has cores, or `jobs`. Ray starts a process again, and repeats its
    batches, if its machine is lost.
    """
    with joined(address, "scoring on a cluster") as ray:
        shared = _shared_files(job, found)
        start = actor_starter(
            ray,
            "perdure.gather.on_ray:RemoteScorer",
            num_cpus=1,
            max_restarts=_RESTARTS,
            max_task_retries=-1,  # a finite number is used up before Ray notices that a machine is lost
        )
        arguments = ray.put(pickle.dumps((job, shared, registered_names())))
        count = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        batches = _batches(found, shared)
        actors: list[Any] = []
        pending: dict[Any, tuple[int, list[int]]] = {}
        results: dict[int, ScoreResult] = {}
        try:
            while True:
                while len(pending) < _AHEAD * count and (batch := next(batches, None)) is not None:
                    if len(actors) < count:
                        actors.append(start(arguments))
                    load = Counter(number for number, _ in pending.values())
                    number = min(range(len(actors)), key=load.__getitem__)
                    indices, packed = batch
                    pending[actors[number].call.remote("score", packed)] = number, indices
                if not pending:
                    return [results[index] for index in range(len(found))]
                (ready,), _ = ray.wait(list(pending), num_returns=1)
                _, indices = pending.pop(ready)
                results.update(zip(indices, pickle.loads(_result_of(ray, ready)), strict=True))
                if progress:
                    progress(len(results), len(found))
        finally:
            with suppress(Exception):
                ray.wait([actor.leave.remote() for actor in actors], num_returns=len(actors), timeout=1.0)
            for actor in actors:
                with suppress(Exception):
                    ray.kill(actor)


def _result_of(ray: Any, answer: Any) -> bytes:
    try:
        _, packed = ray.get(answer)
    except ray.exceptions.RayTaskError as problem:
        raise PerdureError(
            f"a machine of the cluster could not score: {line_of(problem, -1)}",
            "see that Perdure and its packages are the same there",
        ) from problem
    except ray.exceptions.RayActorError as problem:
        raise PerdureError(
            f"machines that were to score were lost {_RESTARTS + 1} times", f"the last time: {line_of(problem, 0)}"
        ) from problem
    result: bytes = packed
    return result


def _shared_files(job: ScoreJob, found: Sequence[FoundLog]) -> dict[str, bytes]:
    """Return the files of experts and of metrics, and files that hold several lifetimes."""
    several = Counter(str(place.path.resolve()) for place in found if place.lifetime is None and place.path.is_file())
    places = [
        *(expert for expert in job.experts if isinstance(expert, str)),
        *(str(expert.path) for expert in job.own_experts),
        *job.settings.files,
        *(path for path, times in several.items() if times > 1),
    ]
    return {name: content for place in places for name, content in _files(Path(place))}


def _batches(found: Sequence[FoundLog], shared: Mapping[str, bytes]) -> Iterator[tuple[list[int], bytes]]:
    """Yield neighbouring places, by index, packed with their files, which are read on demand."""
    indices: list[int] = []
    files: dict[str, bytes] = {}
    for index, place in enumerate(found):
        further = {}
        if place.lifetime is None:
            further = {name: content for name, content in _files(place.path) if name not in shared}
        if indices and (len(indices) >= _MAX_LIFETIMES or _size(files) + _size(further) > _MAX_BYTES):
            yield indices, pickle.dumps(([found[each] for each in indices], files))
            indices, files = [], {}
        indices.append(index)
        files |= further
    if indices:
        yield indices, pickle.dumps(([found[each] for each in indices], files))


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file at or below a place, by its absolute path, without hidden ones, which are caches."""
    place = place.resolve()
    if place.is_file():
        yield str(place), place.read_bytes()
        return
    for file in sorted(place.rglob("*")):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(place).parts):
            yield str(file), file.read_bytes()


def _size(files: Mapping[str, bytes]) -> int:
    return sum(map(len, files.values()))


class RemoteScorer:
    """Scores on a machine of the cluster: it writes the files below a folder of its own, under their own paths."""

    def __init__(
        self, root: Path, job: ScoreJob, shared: Mapping[str, bytes], known: frozenset[tuple[str, str]]
    ) -> None:
        self._below = root / "files"
        self._write(shared)
        settings = job.settings
        self._score = ScoreWorker(
            replace(
                job,
                settings=settings.replace(
                    metrics=tuple(self._local(name) if name in settings.files else name for name in settings.metrics),
                ),
                experts=tuple(self._local(expert) if isinstance(expert, str) else expert for expert in job.experts),
                own_experts=tuple(replace(expert, path=Path(self._local(expert.path))) for expert in job.own_experts),
            )
        )
        if unknown := known - registered_names():
            names = ", ".join(sorted(name for _, name in unknown))
            raise PerdureError(f"not known on this machine: {names}", "install the plug-in there, or score here")

    def score(self, packed: bytes) -> bytes:
        """Return the results of the places of a batch, with the paths that they have at home."""
        found, files = pickle.loads(packed)
        self._write(files)
        results = [self._scored(place) for place in found]
        for name in files:
            (self._below / name.lstrip("/")).unlink()
        return pickle.dumps(results)

    def _scored(self, place: FoundLog) -> ScoreResult:
        if place.lifetime is not None:
            return self._score(place)
        result = self._score(replace(place, path=Path(self._local(place.path))))
        below = str(self._below)

        def at_home(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
            return tuple((name.replace(below, ""), why.replace(below, "")) for name, why in pairs)

        return ScoreResult(
            result.lifetimes,
            at_home(result.left_out),
            at_home(result.experts_left_out),
            tuple(name.replace(below, "") for name in result.experts_served),
        )

    def _local(self, path: str | Path) -> str:
        return f"{self._below}{Path(path).resolve()}"

    def _write(self, files: Mapping[str, bytes]) -> None:
        for name, content in files.items():
            target = self._below / name.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
