"""Running a program: chunk by chunk, block by block. Each block is written while the device runs the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perdure.batched.arrays import Chunk, ChunkFacts
from perdure.batched.block import begin_lives, block_of, fingerprints, unsound
from perdure.batched.devices import compile_errors, compiled, out_of_memory
from perdure.batched.program import Program, is_learned
from perdure.errors import LearnerError
from perdure.learners.digest import chained, continues
from perdure.learners.find import learner_digest
from perdure.runner.plan import Job

_SIZES: Mapping[str, int] = {"cpu": 64}
_SIZE = 1024
_SMALLEST = 8
# Lifetimes are distributed over all devices in equal parts.
_LIVES = jax.sharding.PartitionSpec("lives")  # type: ignore[no-untyped-call]
_THREADS = 4  # which compile and write while a device runs
_SHARE = 0.1  # of the running time may be spent on saving states

Progress = Callable[[Sequence[Job], int], None]
"""Receives jobs and the number of blocks that they have run."""


def default_size() -> int:
    """Return the lifetimes at once on each device of this kind, if [limits] lives_at_once is not given."""
    return _SIZES.get(jax.default_backend(), _SIZE)


class LiveResult(Struct, frozen=True):
    """The chunks of a call, its notes, and the seconds it took."""

    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    """Seconds that the run waited for compiling, running and writing."""


def live(
    program: Program,
    jobs: Sequence[Job],
    into: Path,
    *,
    size: int | None = None,
    tell: Progress = lambda _jobs, _blocks: None,
    note: Callable[[str], None] = lambda _: None,
    accept_changed_learner: bool = False,
) -> LiveResult:
    """Run these jobs, and continue chunks that were begun; `tell` receives the progress.

    If memory does not suffice, chunks are halved, which is noted. `note` is called if the learner's code changed
    since a chunk was begun: it then starts again, or continues if `accept_changed_learner`.
    """
    size = size or program.plan.protocol.limits.lives_at_once or default_size()
    open_chunk = partial(_open_chunk, note, accept_changed_learner)
    notes: list[str] = []
    while True:
        try:
            chunks, seconds = _run(program, jobs, into, size, tell, open_chunk)
        except Exception as problem:
            if not out_of_memory(problem) or size <= _SMALLEST:
                raise
            smaller = max(_SMALLEST, size // 2)
            notes.append(
                f"{size} lifetimes at once do not fit the memory of this {jax.default_backend()}: ran {smaller}; "
                "last bits may differ from those of other sizes"
            )
            size = smaller
        else:
            return LiveResult(chunks, tuple(notes), seconds)


def _run(
    program: Program,
    jobs: Sequence[Job],
    into: Path,
    size: int,
    tell: Progress,
    open_chunk: Callable[[Path, ChunkFacts], Chunk],
) -> tuple[tuple[Chunk, ...], Mapping[str, float]]:
    devices = jax.devices()
    protocol = program.plan.protocol
    chunks = []
    with ThreadPoolExecutor(_THREADS) as pool:
        runner = ChunkRunner(program, size * len(devices), devices, pool)
        for members in program.chunks(jobs, size * len(devices)):
            facts = ChunkFacts(
                protocol=protocol.digest,
                jobs=tuple(job.id for job in members),
                blocks=len(members[0].syllabus.scenario.blocks),
                size=size,
                devices=len(devices),
                device=f"{devices[0].platform}: {devices[0].device_kind}",
                versions={"jax": jax.__version__, "numpy": np.__version__},
                learner_digest=learner_digest(protocol.learner),
            )
            chunk = open_chunk(into, facts)
            with compile_errors(protocol.place):
                runner.run(chunk, members, tell)
            chunks.append(chunk)
    return tuple(chunks), runner.seconds


def _open_chunk(note: Callable[[str], None], accept: bool, into: Path, facts: ChunkFacts) -> Chunk:
    """Return the chunk of these facts. One that was begun with other code is begun again, unless `accept`."""
    chunk, digest = Chunk.begun(into, facts), facts.learner_digest or ""
    before = chunk.facts.learner_digest
    if chunk.is_whole or continues(before, digest):
        return chunk
    jobs = facts.jobs[0] if len(facts.jobs) == 1 else f"{facts.jobs[0]} to {facts.jobs[-1]}"
    changed = f"the learner changed after {chunk.lived} blocks (from {before} to {digest})"
    if accept:
        chunk.state_facts(replace(facts, learner_digest=chained(before, digest)))
        note(f"{jobs} continued although {changed}")
        return chunk
    note(f"{jobs} started again from their seeds: {changed}; --accept-changed-learner continues instead")
    chunk.remove()
    return Chunk.begun(into, facts)


class _Pending(NamedTuple):
    """The results of a block, which the device may still be computing."""

    records: Any
    bad: Any
    marks: tuple[Any, Any] | None
    """Fingerprints before and after an evaluation."""


class ChunkRunner:
    """Runs the chunks of a program, and compiles its parts.

    The device runs a block while this process prepares the next, compiles, or writes the one before.
    """

    def __init__(self, program: Program, size: int, devices: Sequence[Any], pool: Executor) -> None:
        self._program, self._size, self._pool = program, size, pool
        self._mesh = jax.sharding.Mesh(np.array(devices), ("lives",))
        self._spread = partial(jax.device_put, device=jax.sharding.NamedSharding(self._mesh, _LIVES))
        self.seconds = {"compile": 0.0, "live": 0.0, "write": 0.0}

    def run(self, chunk: Chunk, jobs: Sequence[Job], tell: Progress) -> None:
        """Run a chunk to its end, from its last saved state."""
        blocks = chunk.facts.blocks
        if chunk.is_whole:
            tell(jobs, blocks)
            return
        keys = self._spread(self._program.keys(jobs, self._size))
        learner = self._compiled("begin", keys)(keys)
        first = 0
        saved = chunk.state()
        if saved is not None:
            first, leaves = saved
            learner = self._spread(jax.tree.unflatten(jax.tree.structure(learner), leaves))
        chunk.back_to(first)
        for learning in dict.fromkeys(is_learned(jobs[0], index) for index in range(first, blocks)):
            index = next(index for index in range(first, blocks) if is_learned(jobs[0], index) == learning)
            self._compiling(learning, learner, self.spec(jobs, index))
        spec, writing = self.spec(jobs, first), None
        since_state = state_cost = 0.0
        for index in range(first, blocks):
            started = self.seconds["live"]
            learner, pending = self.send(jobs, learner, spec, index)
            with self._timed("live"):
                if index > first:
                    tell(jobs, index)
                if index + 1 < blocks:
                    spec = self.spec(jobs, index + 1)
                records = self.received(chunk, jobs, index, pending)
            since_state += self.seconds["live"] - started
            with self._timed("write"):
                state_cost = state_cost if writing is None else writing.result() or state_cost
                state = None
                if index + 1 < blocks and state_cost <= _SHARE * since_state:
                    # Copied, because the next block overwrites the arrays that it begins with.
                    state = [np.array(leaf) for leaf in jax.tree.leaves(learner)]
                    since_state = 0.0
                writing = self._pool.submit(_write, chunk, index, records, state)
        with self._timed("write"):
            if writing is not None:
                writing.result()
            chunk.forget_state()
        tell(jobs, blocks)

    def spec(self, jobs: Sequence[Job], index: int) -> Any:
        """Return a block of these lifetimes, on the devices."""
        return self._spread(self._program.spec(jobs, index, self._size))

    def send(self, jobs: Sequence[Job], learner: Any, spec: Any, index: int) -> tuple[Any, _Pending]:
        """Start a block on the devices without waiting for it."""
        learning = is_learned(jobs[0], index)
        step, inspect = self._compiled(learning, learner, spec), self._compiled("inspect", learner)
        with self._timed("live"):
            if learning:
                learner, records = step(learner, spec)
                return learner, _Pending(records, inspect(learner)[1], None)
            before, bad = inspect(learner)
            records = step(learner, spec)
            return learner, _Pending(records, bad, (before, inspect(learner)[0]))

    def received(self, chunk: Chunk, jobs: Sequence[Job], index: int, pending: _Pending) -> dict[str, np.ndarray]:
        """Wait for the records of a block; raise LearnerError if an evaluation changed the learner."""
        if pending.marks is not None and (np.asarray(pending.marks[0]) != np.asarray(pending.marks[1])).any():
            raise LearnerError(
                "what was learned changed while it was evaluated",
                "this is a fault of the engine: please report it",
                file=chunk.folder.name,
                where=f"block {index}",
            )
        longest = max(job.syllabus.scenario.blocks[index].length or 0 for job in jobs)
        records = {name: np.asarray(values)[: len(jobs), :longest] for name, values in pending.records.items()}
        return {**records, "unsound": np.asarray(pending.bad)[: len(jobs)]}

    def _compiled(self, part: bool | str, *arguments: Any) -> Any:
        """Return the program of a block of learning (True), an evaluation (False), "begin" or "inspect"."""
        ready = self._compiling(part, *arguments)
        with self._timed("compile"):
            return ready.result()

    def _compiling(self, part: bool | str, *arguments: Any) -> Future[Any]:
        """Trace the program if it is new, and compile it in a thread."""
        shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(arguments))
        ready: dict[Any, Future[Any]] = self._program.ready
        known = ready.get((part, shapes))
        if known is None or (known.done() and known.exception() is not None):
            with self._timed("compile"):
                # Each device runs its own lifetimes with the program of one device.
                sharded = jax.shard_map(
                    self._function(part), mesh=self._mesh, in_specs=_LIVES, out_specs=_LIVES, check_vma=False
                )
                donated = (0,) if part is True else ()
                lowered = jax.jit(sharded, donate_argnums=donated).lower(*arguments)
            ready[part, shapes] = self._pool.submit(compiled, lowered)
        return ready[part, shapes]

    def _function(self, part: bool | str) -> Any:
        program = self._program
        if part == "begin":
            return begin_lives(program.learner)
        if part == "inspect":
            return lambda learner: (fingerprints(learner), unsound(learner))
        limit = program.plan.protocol.limits.steps_per_episode
        return block_of(program.learner, program.switch, program.longest[bool(part)], limit, bool(part))

    @contextmanager
    def _timed(self, leg: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[leg] += time.monotonic() - start


def _write(
    chunk: Chunk, index: int, records: Mapping[str, np.ndarray], state: Sequence[np.ndarray] | None
) -> float | None:
    """Write a block; return the seconds if a state was written."""
    start = time.monotonic()
    chunk.write(index, records, state)
    return None if state is None else time.monotonic() - start
