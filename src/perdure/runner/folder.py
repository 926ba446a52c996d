"""RunFolder: where a protocol's lives go, whose they are, and which of them are finished.

protocol.json       what is run here, files included
lives/life-000/     one log per life; traceback.txt in it where the learner raised
experts/…-00/       one log per expert
twins/life-000-twin/   one log per twin
lives/batch-000.parquet, experts/batch-000.parquet   in place of these, where the batched engine lived them
.run/               states of unfinished lives, what learners printed, pre-deployment, the lock
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from perdure import files
from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log.formats.bulk import SUFFIX
from perdure.log.manifest import object_in, write_object
from perdure.log.places import DATA_FILE, PARTS, PROTOCOL
from perdure.log.verify import ended
from perdure.runner.lock import held
from perdure.runner.plan import PRE_DEPLOYMENT, Job, Shard
from perdure.runner.protocol import OUTSIDE, Protocol, ProtocolError, parse_protocol
from perdure.runner.resume import States

_TRACEBACK = "traceback.txt"
_UNRECORDED_EXPERTS = 1  # per task variant: version 0.1 planned so many where a protocol named no number


class RunFolder(Struct, frozen=True):
    """The folder of one protocol's run."""

    path: Path

    # -- whose it is ----------------------------------------------------------------------------

    def refuse_others(self, protocol: Protocol) -> None:
        """Refuse a folder that holds another protocol's lives; one in which nothing was lived is anyone's."""
        if (self.path / PROTOCOL).exists():
            theirs = self.protocol()
            if theirs.digest != protocol.digest and self.is_lived_in:
                raise ProtocolError(
                    f"holds the lifetimes of another protocol, {theirs.name!r}, which differs in "
                    f"{_difference(theirs.document, protocol.document)}",
                    "choose another folder",
                    file=self.path,
                )
        elif any((self.path / part).exists() for part in PARTS):
            raise ProtocolError(
                f"holds lifetimes, but no {PROTOCOL} says of which protocol", "choose another folder", file=self.path
            )

    def planned(self, protocol: Protocol) -> Protocol:
        """`protocol` with its number of experts; where it names none, what was begun here keeps its own."""
        if "experts" in protocol.document:
            return protocol
        theirs = self.protocol() if (self.path / PROTOCOL).exists() else protocol
        return protocol.with_experts((theirs if theirs.digest == protocol.digest else protocol).experts)

    def holds(self, protocol: Protocol) -> bool:
        """Whether this is the folder of exactly this protocol."""
        return (self.path / PROTOCOL).exists() and self.protocol().document == protocol.document

    def claim(self, protocol: Protocol, *, alone: bool = True) -> None:
        """Make this the folder of `protocol`, for who holds its lock; another protocol's lives are refused.

        Who is not alone in it finds it claimed, or is refused.
        """
        self.refuse_others(protocol)
        file = self.path / PROTOCOL
        with self._disk():
            if file.exists():
                theirs = self.protocol()
                if theirs.document == protocol.document:
                    return
                if not alone:
                    raise ProtocolError(
                        "other shards are running here with another protocol, which differs in "
                        f"{_difference(theirs.document, protocol.document, ())}",
                        "give all shards the same file",
                        file=self.path,
                    )
                if theirs.digest != protocol.digest:  # failed before its first experience: what is left says nothing
                    for part in (
                        *PARTS,
                        ".run/states",
                        ".run/output",
                        ".run/batched",
                        f".run/{PRE_DEPLOYMENT}",
                    ):
                        shutil.rmtree(self.path / part, ignore_errors=True)
            write_object(file, protocol.document)

    def refuse_gone(self) -> None:
        """Refuse to go on in a folder that was removed under a run: what would be made anew is nobody's."""
        if not (self.path / PROTOCOL).exists():
            raise ProtocolError(
                "was removed during a run",
                "make sure that nothing removes it, and run again from the start",
                file=self.path,
            )

    @property
    def is_lived_in(self) -> bool:
        """Whether any experience was logged here."""
        if any(file for part in PARTS for file in self.path.glob(f"{part}/*{SUFFIX}")):
            return True
        parts = (*(f"{part}/*" for part in PARTS), f".run/{PRE_DEPLOYMENT}")
        return any(file.stat().st_size for part in parts for file in self.path.glob(f"{part}/*/*/{DATA_FILE}"))

    def protocol(self) -> Protocol:
        """The protocol that is run here."""
        file = self.path / PROTOCOL
        try:
            return parse_protocol({"experts": _UNRECORDED_EXPERTS, **object_in(file)}, self.path, str(file))
        except LogError as problem:
            raise ProtocolError(f"not a run folder: {problem.placed}", problem.fix, file=self.path) from problem

    @contextmanager
    def locked(
        self, shard: Shard | None = None, claim: Callable[[bool], None] = lambda _: None
    ) -> Iterator[tuple[int, ...]]:
        """Hold the folder, alone or beside the other shards of one run, once it is claimed; see `lock`."""
        with ExitStack() as stack:
            with self._disk():
                descriptors = stack.enter_context(held(self.path, shard, claim))
            yield descriptors

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """Say it as a matter of this folder where the disk refuses."""
        try:
            yield
        except LogError as problem:
            if not isinstance(problem.__cause__, OSError):
                raise
            raise self._refused(problem.__cause__) from problem
        except OSError as problem:
            raise self._refused(problem) from problem

    def _refused(self, problem: OSError) -> ProtocolError:
        why = problem.strerror or problem
        return ProtocolError(f"this run cannot be written to disk: {why}", files.remedy(problem), file=self.path)

    # -- what is in it --------------------------------------------------------------------------

    def place(self, job: Job) -> Path:
        """Where a life is logged."""
        return self.path / job.folder / job.id

    def states(self, job: Job) -> States:
        """Where the learner of an unfinished life is kept."""
        return States(self.path / ".run" / "states" / job.id)

    @property
    def pre_deployed(self) -> States:
        """The learner as pre-deployment left it."""
        return States(self.path / ".run" / f"{PRE_DEPLOYMENT}-state")

    def output(self, identity: str) -> Path:
        """Where what a learner prints goes."""
        return self.path / ".run" / "output" / f"{identity}.txt"

    @property
    def arrays(self) -> Path:
        """Where the batched engine keeps what it lives, until lifetimes are made of it."""
        return self.path / ".run" / "batched"

    def is_finished(self, job: Job) -> bool:
        """Whether a life was lived to its end."""
        place = self.place(job)
        if any(job.id in names_in(file) for file in place.parent.glob(f"*{SUFFIX}")):
            return True
        if (place / _TRACEBACK).exists() or not ended(place):
            return False
        return job.id != PRE_DEPLOYMENT or self.pre_deployed.is_sound()

    def start_again(self, job: Job) -> None:
        """Remove what there is of a life that cannot be taken up."""
        for folder in (self.place(job), self.states(job).folder):
            if folder.is_dir():
                shutil.rmtree(folder)
            else:
                folder.unlink(missing_ok=True)

    def note_failure(self, job: Job, traceback: str) -> None:
        """Leave the traceback in the life's folder, if the disk takes it; why a life failed is told anyway."""
        place = self.place(job)
        with suppress(OSError, ProtocolError):
            self.refuse_gone()
            place.mkdir(parents=True, exist_ok=True)
            files.write(place / _TRACEBACK, traceback.encode("utf-8", "replace"))

    def clear_failure(self, job: Job) -> None:
        """A life that is tried again has not failed."""
        if not self.place(job).is_file():  # which is no life, and is not gone on with
            (self.place(job) / _TRACEBACK).unlink(missing_ok=True)


def names_in(file: Path) -> frozenset[str]:
    """The ids of the lifetimes in a file that the batched engine wrote."""
    return _names_in(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _names_in(file: Path, _changed: int) -> frozenset[str]:
    return frozenset(pl.scan_parquet(file).select(pl.col("lifetime").unique().cast(pl.String)).collect().to_series())


def _difference(theirs: Mapping[str, object], ours: Mapping[str, object], outside: Collection[str] = OUTSIDE) -> str:
    keys = [key for key in dict.fromkeys((*theirs, *ours)) if theirs.get(key) != ours.get(key)]
    return ", ".join(key for key in keys if key not in outside)
