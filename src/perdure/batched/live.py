"""Living a program: chunk after chunk, block after block; each is written down while the device lives the next."""

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
from perdure.batched.devices import compiled
from perdure.batched.program import Program, is_learned
from perdure.batched.trouble import out_of_memory, untraceable
from perdure.errors import LearnerError
from perdure.learners.digest import chained, continues
from perdure.learners.find import learner_digest
from perdure.runner.plan import Job

_SIZES: Mapping[str, int] = {"cpu": 64}
_SIZE = 1024
_SMALLEST = 8
_LIVES = jax.sharding.PartitionSpec("lives")  # type: ignore[no-untyped-call]  # spread over all devices, as many on each
_BESIDE = 4  # threads that compile and write while a device lives
_SHARE = 0.1  # of the time that is lived may go into keeping states

Told = Callable[[Sequence[Job], int], None]
"""Hears which jobs have lived how many blocks."""


def default_size() -> int:
    """Lives at once on each device, by its kind: what a protocol does not say in [limits] lives_at_once."""
    return _SIZES.get(jax.default_backend(), _SIZE)


class Living(Struct, frozen=True):
    """What came of a call."""

    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    """Tracing and compiling, living on the device, and writing, as far as there was nothing else to do meanwhile."""


def live(
    program: Program,
    jobs: Sequence[Job],
    into: Path,
    *,
    size: int | None = None,
    tell: Told = lambda _jobs, _blocks: None,
    note: Callable[[str], None] = lambda _: None,
    accept_changed_learner: bool = False,
) -> Living:
    """Live these jobs; a chunk that was begun is taken up. `tell` hears which jobs have lived how many blocks.

    Where memory does not suffice, chunks are halved, which is noted. `note` is called if the learner's code changed
    since a chunk was begun: it then starts again, or continues if `accept_changed_learner`.
    """
    size = size or program.plan.protocol.limits.lives_at_once or default_size()
    notes: list[str] = []
    while True:
        try:
            return _lived(program, jobs, into, size, tell, notes, partial(_taken_up, note, accept_changed_learner))
        except Exception as problem:
            if not out_of_memory(problem) or size <= _SMALLEST:
                raise
            smaller = max(_SMALLEST, size // 2)
            notes.append(
                f"{size} lifetimes at once do not fit the memory of this {jax.default_backend()}: ran {smaller}; "
                "last bits may differ from those of other sizes"
            )
            size = smaller


def _lived(
    program: Program,
    jobs: Sequence[Job],
    into: Path,
    size: int,
    tell: Told,
    notes: Sequence[str],
    take_up: Callable[[Path, ChunkFacts], Chunk],
) -> Living:
    devices = jax.devices()
    chunks = []
    with ThreadPoolExecutor(_BESIDE) as pool:
        run = _Run(program, size * len(devices), devices, pool)
        for several in program.chunks(jobs, size * len(devices)):
            facts = ChunkFacts(
                protocol=program.plan.protocol.digest,
                jobs=tuple(job.id for job in several),
                blocks=len(several[0].syllabus.scenario.blocks),
                size=size,
                devices=len(devices),
                device=f"{devices[0].platform}: {devices[0].device_kind}",
                versions={"jax": jax.__version__, "numpy": np.__version__},
                learner_digest=learner_digest(program.plan.protocol.learner),
            )
            chunk = take_up(into, facts)
            with untraceable(program):
                run.through(chunk, several, tell)
            chunks.append(chunk)
    return Living(tuple(chunks), tuple(notes), run.seconds)


def _taken_up(note: Callable[[str], None], accept: bool, into: Path, facts: ChunkFacts) -> Chunk:
    """Return the chunk of these facts. One that was begun with other code is begun again, unless `accept`."""
    chunk, digest = Chunk.begun(into, facts), facts.learner_digest or ""
    before = chunk.facts.learner_digest
    if chunk.is_whole or continues(before, digest):
        return chunk
    who = facts.jobs[0] if len(facts.jobs) == 1 else f"{facts.jobs[0]} to {facts.jobs[-1]}"
    changed = f"the learner changed after {chunk.lived} blocks (from {before} to {digest})"
    if accept:
        chunk.state_facts(replace(facts, learner_digest=chained(before, digest)))
        note(f"{who} continued although {changed}")
        return chunk
    note(f"{who} started again from their seeds: {changed}; --accept-changed-learner continues instead")
    chunk.remove()
    return Chunk.begun(into, facts)


class _Sent(NamedTuple):
    """What a device was asked for, and gives when it has it."""

    records: Any
    bad: Any
    marks: tuple[Any, Any] | None
    """Fingerprints before and after an evaluation."""


class _Run:
    """A program with all that is compiled of it.

    A device works on a block while this machine makes ready the next, compiles, or writes the one before.
    """

    def __init__(self, program: Program, size: int, devices: Sequence[Any], pool: Executor) -> None:
        self._program, self._size, self._pool = program, size, pool
        self._mesh = jax.sharding.Mesh(np.array(devices), ("lives",))
        self._spread = partial(jax.device_put, device=jax.sharding.NamedSharding(self._mesh, _LIVES))
        self.seconds = {"compile": 0.0, "live": 0.0, "write": 0.0}

    def through(self, chunk: Chunk, jobs: Sequence[Job], tell: Told) -> None:
        """Live a chunk to its end, from where it stands."""
        blocks = chunk.facts.blocks
        if chunk.is_whole:
            tell(jobs, blocks)
            return
        keys = self._spread(self._program.keys(jobs, self._size))
        learnt = self._compiled("begin", keys)(keys)
        done = 0
        kept = chunk.state()
        if kept is not None:
            done, leaves = kept
            learnt = self._spread(jax.tree.unflatten(jax.tree.structure(learnt), leaves))
        chunk.back_to(done)
        for at in {is_learned(jobs[0], at): at for at in reversed(range(done, blocks))}.values():
            self._compiling(is_learned(jobs[0], at), learnt, self.spec(jobs, at))
        spec, writing = self.spec(jobs, done), None
        since = cost = 0.0
        for at in range(done, blocks):
            lived = self.seconds["live"]
            learnt, sent = self.send(jobs, learnt, spec, at)
            with self._timed("live"):
                if at > done:
                    tell(jobs, at)
                if at + 1 < blocks:
                    spec = self.spec(jobs, at + 1)
                records = self.landed(chunk, jobs, at, sent)
            since += self.seconds["live"] - lived
            with self._timed("write"):
                cost = cost if writing is None else writing.result() or cost
                worth_it = at + 1 < blocks and cost <= _SHARE * since
                # Copied, since the next block takes the place of what it begins with.
                state = [np.array(leaf) for leaf in jax.tree.leaves(learnt)] if worth_it else None
                since = since if state is None else 0.0
                writing = self._pool.submit(_keep, chunk, at, records, state)
        with self._timed("write"):
            if writing is not None:
                writing.result()
            chunk.forget_state()
        tell(jobs, blocks)

    def spec(self, jobs: Sequence[Job], at: int) -> Any:
        """A block of these lives, on the devices."""
        return self._spread(self._program.spec(jobs, at, self._size))

    def send(self, jobs: Sequence[Job], learnt: Any, spec: Any, at: int) -> tuple[Any, _Sent]:
        """Have the devices live a block, without waiting for it."""
        learning = is_learned(jobs[0], at)
        step, look = self._compiled(learning, learnt, spec), self._compiled("look", learnt)
        with self._timed("live"):
            if learning:
                learnt, records = step(learnt, spec)
                return learnt, _Sent(records, look(learnt)[1], None)
            before, bad = look(learnt)
            records = step(learnt, spec)
            return learnt, _Sent(records, bad, (before, look(learnt)[0]))

    def landed(self, chunk: Chunk, jobs: Sequence[Job], at: int, sent: _Sent) -> dict[str, np.ndarray]:
        """The records of a block, once there are any; an evaluation has changed nothing."""
        if sent.marks is not None and (np.asarray(sent.marks[0]) != np.asarray(sent.marks[1])).any():
            raise LearnerError(
                "what was learned changed while it was evaluated",
                "this is a fault of the engine: please report it",
                file=chunk.folder.name,
                where=f"block {at}",
            )
        lives = len(jobs)
        longest = max(job.syllabus.scenario.blocks[at].length or 0 for job in jobs)
        found = {name: np.asarray(one)[:lives, :longest] for name, one in sent.records.items()}
        return {**found, "unsound": np.asarray(sent.bad)[:lives]}

    def _compiled(self, which: bool | str, *arguments: Any) -> Any:
        """The program for a block of learning, for an evaluation, to begin or to look."""
        ready = self._compiling(which, *arguments)
        with self._timed("compile"):
            return ready.result()

    def _compiling(self, which: bool | str, *arguments: Any) -> Future[Any]:
        """The same, traced here when it is first needed and compiled beside whatever else is done."""
        shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(arguments))
        ready: dict[Any, Future[Any]] = self._program.ready
        known = ready.get((which, shapes))
        if known is None or (known.done() and known.exception() is not None):
            with self._timed("compile"):
                # Every device lives its own part by itself: the program of one is the program of each.
                part = jax.shard_map(
                    self._made(which), mesh=self._mesh, in_specs=_LIVES, out_specs=_LIVES, check_vma=False
                )
                donated = (0,) if which is True else ()
                lowered = jax.jit(part, donate_argnums=donated).lower(*arguments)
            ready[which, shapes] = self._pool.submit(compiled, lowered)
        return ready[which, shapes]

    def _made(self, which: bool | str) -> Any:
        program = self._program
        if which == "begin":
            return begin_lives(program.learner)
        if which == "look":
            return lambda learnt: (fingerprints(learnt), unsound(learnt))
        limit = program.plan.protocol.limits.steps_per_episode
        return block_of(program.learner, program.together, program.longest[bool(which)], limit, bool(which))

    @contextmanager
    def _timed(self, leg: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[leg] += time.monotonic() - start


def _keep(chunk: Chunk, at: int, records: Mapping[str, np.ndarray], state: Sequence[np.ndarray] | None) -> float | None:
    """Write a block; how many seconds it took, where a state was among it."""
    start = time.monotonic()
    chunk.keep(at, records, state)
    return None if state is None else time.monotonic() - start
