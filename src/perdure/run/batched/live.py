"""Living a program: chunk after chunk, block after block, with what is lived on disk before the next block begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from perdure.errors import LearnerError
from perdure.run.batched.arrays import Chunk, Facts
from perdure.run.batched.block import begin_lives, block_of, fingerprints, unsound
from perdure.run.batched.devices import compiled
from perdure.run.batched.program import Program, is_learned
from perdure.run.batched.trouble import out_of_memory, untraceable
from perdure.run.plan import Job

__all__ = ["Living", "default_size", "live"]

_SIZES: Mapping[str, int] = {"cpu": 64}
_SIZE = 1024
_SMALLEST = 8
_LIVES = jax.sharding.PartitionSpec("lives")  # type: ignore[no-untyped-call]  # spread over all devices, as many on each
_SHARE = 0.1  # of the time that is lived may go into keeping states

Told = Callable[[Sequence[Job], int], None]
"""Hears which jobs have lived how many blocks."""


def default_size() -> int:
    """Lives at once on each device, by its kind: what a protocol does not say in [limits] lives_at_once."""
    return _SIZES.get(jax.default_backend(), _SIZE)


@dataclass(frozen=True)
class Living:
    """What came of a call."""

    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    """Compiling, living on the device, and writing."""


def live(
    program: Program,
    jobs: Sequence[Job],
    into: Path,
    *,
    size: int | None = None,
    tell: Told = lambda _jobs, _blocks: None,
) -> Living:
    """Live these jobs; a chunk that was begun is taken up. `tell` hears which jobs have lived how many blocks.

    Where memory does not suffice, chunks are halved, which is noted.
    """
    size = size or program.plan.protocol.limits.lives_at_once or default_size()
    notes: list[str] = []
    while True:
        try:
            return _lived(program, jobs, into, size, tell, notes)
        except Exception as problem:
            if not out_of_memory(problem) or size <= _SMALLEST:
                raise
            smaller = max(_SMALLEST, size // 2)
            notes.append(
                f"{size} lifetimes at once do not fit the memory of this {jax.default_backend()}: ran {smaller}; "
                "last bits may differ from those of other sizes"
            )
            size = smaller


def _lived(program: Program, jobs: Sequence[Job], into: Path, size: int, tell: Told, notes: Sequence[str]) -> Living:
    devices = jax.devices()
    run = _Run(program, size * len(devices), devices)
    chunks = []
    for several in program.chunks(jobs, size * len(devices)):
        facts = Facts(
            protocol=program.plan.protocol.digest,
            jobs=tuple(job.id for job in several),
            blocks=len(several[0].syllabus.scenario.blocks),
            size=size,
            devices=len(devices),
            device=f"{devices[0].platform}: {devices[0].device_kind}",
            versions={"jax": jax.__version__, "numpy": np.__version__},
        )
        chunk = Chunk.begun(into, facts)
        with untraceable(program):
            run.through(chunk, several, tell)
        chunks.append(chunk)
    return Living(tuple(chunks), tuple(notes), run.seconds)


class _Run:
    """A program with all that is compiled of it."""

    def __init__(self, program: Program, size: int, devices: Sequence[Any]) -> None:
        self._program, self._size = program, size
        self._mesh = jax.sharding.Mesh(np.array(devices), ("lives",))
        self._spread = partial(jax.device_put, device=jax.sharding.NamedSharding(self._mesh, _LIVES))
        self.seconds = {"compile": 0.0, "live": 0.0, "write": 0.0}

    def through(self, chunk: Chunk, jobs: Sequence[Job], tell: Told) -> None:
        """Live a chunk to its end, from where it stands."""
        if chunk.is_whole:
            tell(jobs, chunk.facts.blocks)
            return
        keys = self._spread(self._program.keys(jobs, self._size))
        learnt = self._compiled("begin", keys)(keys)
        done = 0
        kept = chunk.state()
        if kept is not None:
            done, leaves = kept
            learnt = self._spread(jax.tree.unflatten(jax.tree.structure(learnt), leaves))
        chunk.back_to(done)
        since = cost = 0.0
        blocks = chunk.facts.blocks
        for at in range(done, blocks):
            start = time.monotonic()
            before = self.seconds["compile"]
            learnt, records = self._block(chunk, jobs, learnt, at)
            since += time.monotonic() - start - (self.seconds["compile"] - before)
            start = time.monotonic()
            worth_it = at + 1 < blocks and cost <= _SHARE * since
            state = [np.asarray(leaf) for leaf in jax.tree.leaves(learnt)] if worth_it else None
            chunk.keep(at, records, state)
            spent = time.monotonic() - start
            self.seconds["write"] += spent
            if state is not None:
                since, cost = 0.0, spent
            tell(jobs, at + 1)
        chunk.forget_state()

    def _block(self, chunk: Chunk, jobs: Sequence[Job], learnt: Any, at: int) -> tuple[Any, dict[str, np.ndarray]]:
        spec = self._spread(self._program.spec(jobs, at, self._size))
        learning = is_learned(jobs[0], at)
        step, look = self._compiled(learning, learnt, spec), self._compiled("look", learnt)
        start = time.monotonic()
        if learning:
            learnt, records = step(learnt, spec)
            _, bad = look(learnt)
        else:
            before, bad = look(learnt)
            records = step(learnt, spec)
            after, _ = look(learnt)
            if (np.asarray(before) != np.asarray(after)).any():
                raise LearnerError(
                    f"{chunk.folder.name}: block {at}: what was learned changed while it was evaluated; "
                    "this is a fault of the engine: please report it"
                )
        lives = len(jobs)
        longest = max(job.syllabus.scenario.blocks[at].length or 0 for job in jobs)
        found = {name: np.asarray(one)[:lives, :longest] for name, one in records.items()}
        found["unsound"] = np.asarray(bad)[:lives]
        self.seconds["live"] += time.monotonic() - start
        return learnt, found

    def _compiled(self, which: bool | str, *arguments: Any) -> Any:
        """The program for a block of learning, for an evaluation, to begin or to look, made when it is first needed."""
        shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(arguments))
        ready = self._program.ready
        if (which, shapes) not in ready:
            start = time.monotonic()
            # Every device lives its own part by itself: the program of one is the program of each.
            part = jax.shard_map(self._made(which), mesh=self._mesh, in_specs=_LIVES, out_specs=_LIVES, check_vma=False)
            donated = (0,) if which is True else ()
            ready[which, shapes] = compiled(jax.jit(part, donate_argnums=donated).lower(*arguments))
            self.seconds["compile"] += time.monotonic() - start
        return ready[which, shapes]

    def _made(self, which: bool | str) -> Any:
        program = self._program
        if which == "begin":
            return begin_lives(program.learner)
        if which == "look":
            return lambda learnt: (fingerprints(learnt), unsound(learnt))
        limit = program.plan.protocol.limits.steps_per_episode
        return block_of(program.learner, program.together, program.longest[bool(which)], limit, bool(which))
