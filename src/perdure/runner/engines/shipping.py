"""How a life travels between two run folders: whole files, in pieces, in an order that leaves the receiver sound.

What arrives may end at any moment: a block's records come before the ledger that closes it, the ledger before
the learner's state after it, the state before the file that names it. So the receiver always holds a life that
can be verified, and gone on with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from perdure import files
from perdure.errors import LogError, PerdureError
from perdure.log.places import BLOCKS_FILE, DATA_FILE
from perdure.log.verify import ledger_of, refusal, verify
from perdure.runner.folder import RunFolder
from perdure.runner.plan import PRE_DEPLOYMENT, Job

Piece = tuple[str, int, bytes | None, bool]
"""A file's path in the run folder, where in it this begins, the bytes (None: it is to be removed), whether it ends."""

_MOST_BYTES = 4 << 20
_Signature = tuple[int, int, int]


def luggage(folder: RunFolder, job: Job) -> dict[str, bytes]:
    """What a life is sent off with: itself and its learner's states, where it can go on; and the pre-deployed learner.

    What cannot be gone on with is removed here, since it will be lived again.
    """
    parts = [folder.pre_deployed.folder] if job.id != PRE_DEPLOYMENT else []
    if folder.states(job).latest() is not None:
        parts += [folder.place(job), folder.states(job).folder]
    elif folder.place(job).exists():
        folder.start_again(job)
    return {_relative(file, folder): files.read_bytes(file) for part in parts for file in _visible(part)}


def unpack(content: Mapping[str, bytes], folder: Path) -> None:
    """Write files below a folder."""
    for relative, held in content.items():
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(held)


def believed(folder: RunFolder, job: Job) -> None:
    """Refuse a life that is said to be over, where the folder does not show it."""
    place = folder.place(job)
    if problems := verify(place):
        raise refusal(place, problems)
    if not folder.is_finished(job):
        raise LogError(f"is reported as finished, but its {BLOCKS_FILE} does not say so", "run again", file=place)


class Outbox:
    """What of a life the receiver does not have yet. It begins with what the receiver sent, which lies here."""

    def __init__(self, folder: RunFolder, job: Job) -> None:
        self._folder = folder
        self._place = folder.place(job)
        self._states = [folder.states(job).folder] + ([folder.pre_deployed.folder] if job.id == PRE_DEPLOYMENT else [])
        self._output = folder.output(job.id)
        self._there = {file: _signature(file) for part in (self._place, *self._states) for file in _visible(part)}
        self._ledger = _signature(self._place / BLOCKS_FILE)

    def has_news(self) -> bool:
        """Whether a block ended since it was last emptied."""
        return _signature(self._place / BLOCKS_FILE) != self._ledger

    def pieces(self, *, over: bool) -> Iterator[Piece]:
        """Everything that closed blocks brought; once the life is `over`, everything."""
        self._ledger = _signature(self._place / BLOCKS_FILE)
        # What is read first is sent last: what it speaks of is there by then.
        pointers = {file: _content(file) for one in self._states for file in sorted(one.glob("*.json"))}
        ledger = _content(self._place / BLOCKS_FILE)
        closed = ledger_of(self._place)
        wanted = set() if closed is None else {self._place / name for name in closed.closed}
        for file in _visible(self._place):
            if file.name != BLOCKS_FILE and (over or file.name != DATA_FILE or file in wanted):
                yield from self._sent(file)
        if over:
            yield from self._sent(self._output)
        if ledger is not None:
            yield from self._told(self._place / BLOCKS_FILE, *ledger)
        for pointer, said in pointers.items():
            if said is not None:
                for file in _visible(pointer.with_suffix("")):
                    yield from self._sent(file)
                yield from self._told(pointer, *said)
        yield from self._removed()

    def _told(self, file: Path, content: bytes, signature: _Signature | None) -> Iterator[Piece]:
        """A file as it was when it was read."""
        if self._there.get(file) != signature:
            for at in range(0, max(len(content), 1), _MOST_BYTES):
                yield self._path(file), at, content[at : at + _MOST_BYTES], at + _MOST_BYTES >= len(content)
            self._there[file] = signature

    def _sent(self, file: Path) -> Iterator[Piece]:
        """A file that changes no more, read as it is sent."""
        signature = _signature(file)
        if signature is None or self._there.get(file) == signature:
            return
        try:
            with files.opened(file) as opened:
                at, held = 0, opened.read(_MOST_BYTES) or b""
                while following := opened.read(_MOST_BYTES):
                    yield self._path(file), at, held, False
                    at, held = at + len(held), following
                yield self._path(file), at, held, True
        except FileNotFoundError:  # an older state, for which there is a later one by now
            return
        self._there[file] = signature

    def _removed(self) -> Iterator[Piece]:
        """What is no longer here; what names a state goes before the state."""
        gone = [file for file in self._there if not file.exists()]
        for file in sorted(gone, key=lambda one: (one.suffix != ".json", one)):
            del self._there[file]
            yield self._path(file), 0, None, True

    def _path(self, file: Path) -> str:
        return _relative(file, self._folder)


class Inbox:
    """Puts what arrives in its place, each file whole or not at all."""

    def __init__(self, folder: RunFolder, job: Job) -> None:
        self._folder = folder
        states = [folder.states(job).folder] + ([folder.pre_deployed.folder] if job.id == PRE_DEPLOYMENT else [])
        self._mine = [folder.place(job), folder.output(job.id), *states]

    def take(self, pieces: Iterable[Piece]) -> None:
        """Write what came; OSError where the disk refuses."""
        self._folder.refuse_gone()
        for path, at, content, ends in pieces:
            target = self._target(path)
            if content is None:
                target.unlink(missing_ok=True)
                self._leave_no_empty(target.parent)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if at == 0 and ends:
                files.write(target, content)
                continue
            part = target.with_name(f".{target.name}.part")
            with part.open("wb" if at == 0 else "ab") as opened:
                opened.write(content)
                if ends:
                    opened.flush()
                    os.fsync(opened.fileno())
            if ends:
                part.replace(target)

    def _target(self, path: str) -> Path:
        """Where a file belongs; a node is not believed to send nothing but its life."""
        relative = PurePosixPath(path)
        target = self._folder.path / relative
        if ".." in relative.parts or not any(target == one or target.is_relative_to(one) for one in self._mine):
            raise PerdureError(
                f"a node sent {path!r}, which is not part of its lifetime, and was rejected",
                "see what runs there",
                file=self._folder.path,
            )
        return target

    def _leave_no_empty(self, place: Path) -> None:
        while place not in (self._folder.path, *self._mine[:1]) and place.is_dir() and not any(place.iterdir()):
            place.rmdir()
            place = place.parent


def _relative(file: Path, folder: RunFolder) -> str:
    return file.relative_to(folder.path).as_posix()


def _signature(file: Path) -> _Signature | None:
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ino


def _content(file: Path) -> tuple[bytes, _Signature | None] | None:
    signature = _signature(file)
    try:
        return files.read_bytes(file), signature
    except OSError:
        return None


def _visible(part: Path) -> Iterator[Path]:
    """The files below a folder. What a life caches is nobody else's; what is being replaced is there in a moment."""
    for file in sorted(part.rglob("*")):
        if not any(name.startswith(".") for name in file.relative_to(part).parts) and file.is_file():
            yield file
