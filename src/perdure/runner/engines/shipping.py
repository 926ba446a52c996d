"""The files of a lifetime that are sent between two run folders, in an order that leaves the receiver sound.

A transfer may end at any moment. The records of a block come before the ledger that closes it, the ledger before the
learner's state, the state before the pointer to it. So the receiver always holds a lifetime that can be verified and
continued.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from perdure import files
from perdure.errors import LogError, PerdureError
from perdure.log.places import BLOCKS_FILE, DATA_FILE
from perdure.log.verify import ledger_of, refusal, verify
from perdure.runner.folder import RunFolder
from perdure.runner.plan import PRE_DEPLOYMENT, Job

Change = tuple[str, bytes | None]
"""The path of a file in the run folder, and its new content; None if it is to be removed."""

_Signature = tuple[int, int, int]


def files_to_continue(folder: RunFolder, job: Job) -> dict[str, bytes]:
    """Return the files that a job needs: its log and states, if it can continue, and the pre-deployed learner.

    A lifetime that cannot continue is removed here, since it will be run again.
    """
    parts = [folder.pre_deployed.folder] if job.id != PRE_DEPLOYMENT else []
    if folder.states(job).latest() is not None:
        parts += [folder.place(job), folder.states(job).folder]
    elif folder.place(job).exists():
        folder.start_again(job)
    return {_relative(file, folder): files.read_bytes(file) for part in parts for file in _visible(part)}


def write_files(content: Mapping[str, bytes], folder: Path) -> None:
    """Write files below a folder."""
    for relative, data in content.items():
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def check_arrived(folder: RunFolder, job: Job) -> None:
    """Raise LogError if a lifetime that is reported as done is not sound or not finished in this folder."""
    place = folder.place(job)
    if problems := verify(place):
        raise refusal(place, problems)
    if not folder.is_finished(job):
        raise LogError(f"is reported as finished, but its {BLOCKS_FILE} does not say so", "run again", file=place)


class Outbox:
    """The files of a lifetime that the receiver does not have yet; it has those that are here at first."""

    def __init__(self, folder: RunFolder, job: Job) -> None:
        self._folder = folder
        self._place = folder.place(job)
        self._states = _state_folders(folder, job)
        self._output = folder.output(job.id)
        self._sent = {file: _signature(file) for part in (self._place, *self._states) for file in _visible(part)}
        self._ledger = _signature(self._place / BLOCKS_FILE)

    def has_news(self) -> bool:
        """Return whether a block ended since the last call of `changes`."""
        return _signature(self._place / BLOCKS_FILE) != self._ledger

    def changes(self, *, over: bool) -> Iterator[Change]:
        """Yield the changes by closed blocks; once the lifetime is `over`, all changes."""
        self._ledger = _signature(self._place / BLOCKS_FILE)
        # Pointers and ledger are read first and sent last, when the receiver has the files that they name.
        pointers = {file: _read(file) for part in self._states for file in sorted(part.glob("*.json"))}
        ledger = {self._place / BLOCKS_FILE: _read(self._place / BLOCKS_FILE)}
        closed = ledger_of(self._place)
        wanted = set() if closed is None else {self._place / name for name in closed.closed}
        for file in _visible(self._place):
            if file.name != BLOCKS_FILE and (over or file.name != DATA_FILE or file in wanted):
                yield from self._change(file)
        if over:
            yield from self._change(self._output)
        yield from self._changes_as_read(ledger)
        for pointer, read in pointers.items():
            if read is not None:
                for file in _visible(pointer.with_suffix("")):
                    yield from self._change(file)
                yield from self._changes_as_read({pointer: read})
        deleted = [file for file in self._sent if not file.exists()]
        for file in sorted(deleted, key=lambda file: (file.suffix != ".json", file)):  # a pointer before its state
            del self._sent[file]
            yield _relative(file, self._folder), None

    def _change(self, file: Path) -> Iterator[Change]:
        if self._sent.get(file) != _signature(file):  # reading every file to compare would cost too much
            yield from self._changes_as_read({file: _read(file)})

    def _changes_as_read(self, contents: Mapping[Path, tuple[bytes, _Signature | None] | None]) -> Iterator[Change]:
        for file, read in contents.items():
            if read is not None and self._sent.get(file) != read[1]:
                self._sent[file] = read[1]
                yield _relative(file, self._folder), read[0]


class Inbox:
    """Applies the changes that arrive to a run folder, each file whole or not at all."""

    def __init__(self, folder: RunFolder, job: Job) -> None:
        self._folder = folder
        self._own = [folder.place(job), folder.output(job.id), *_state_folders(folder, job)]

    def take(self, changes: Iterable[Change]) -> None:
        """Write the changes. Raise OSError if the disk refuses, PerdureError if a file is not part of the lifetime."""
        self._folder.refuse_gone()
        for path, content in changes:
            relative = PurePosixPath(path)
            target = self._folder.path / relative
            if ".." in relative.parts or not any(target == own or target.is_relative_to(own) for own in self._own):
                raise PerdureError(
                    f"a node sent {path!r}, which is not part of its lifetime, and was rejected",
                    "see what runs there",
                    file=self._folder.path,
                )
            if content is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                files.write(target, content)
                continue
            target.unlink(missing_ok=True)
            folder = target.parent
            while folder not in (self._folder.path, self._own[0]) and folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
                folder = folder.parent


def _state_folders(folder: RunFolder, job: Job) -> list[Path]:
    return [folder.states(job).folder, *([folder.pre_deployed.folder] if job.id == PRE_DEPLOYMENT else [])]


def _relative(file: Path, folder: RunFolder) -> str:
    return file.relative_to(folder.path).as_posix()


def _signature(file: Path) -> _Signature | None:
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ino


def _read(file: Path) -> tuple[bytes, _Signature | None] | None:
    signature = _signature(file)
    try:
        return files.read_bytes(file), signature
    except OSError:  # an older state, which a later one has replaced
        return None


def _visible(part: Path) -> Iterator[Path]:
    """Yield the files below a folder, without hidden ones: caches, and files that are being replaced."""
    for file in sorted(part.rglob("*")):
        if not any(name.startswith(".") for name in file.relative_to(part).parts) and file.is_file():
            yield file
