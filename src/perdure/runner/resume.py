"""The saved states of a learner after each block, from which an interrupted lifetime continues.

A lifetime continues only from its own learner's state at a block boundary. Records after that boundary are removed, and
run again. A new learner must not continue an old log, and is refused.

after-7-blocks/        the files that the learner saved, synced before the pointer is written
after-7-blocks.json    the pointer, with the checksum of each of these files
after-6-blocks…        the same one block before
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from perdure import files
from perdure.errors import LearnerError, LogError, WriteError, message_of
from perdure.learners.interface import Saved, fingerprint_of
from perdure.log.manifest import write_object
from perdure.log.places import BLOCKS_FILE, DATA_FILE, MANIFEST
from perdure.log.rows import records_in
from perdure.log.verify import ledger_of, refusal, verify
from perdure.results import to_plain
from perdure.runner.seeds import Seeds
from perdure.stopping import Stopped

_POINTER = "after-{}-blocks.json"
_KEPT = 2  # the last state, and the one before it
_RESTORING = "restoring"
_START_AGAIN = "move the lifetime's folder elsewhere to start it again"


class Checkpoint(Struct, frozen=True):
    """The position of a lifetime when its learner was saved; written after the state is on the disk."""

    life: str
    blocks: int
    experiences: int
    rows: int
    fingerprint: str | None
    seeds: Seeds
    learner_digest: str | None = None
    """Digest of the code that saved the state."""
    files: dict[str, str] = {}
    """Checksum of each file of the state."""
    checksum: str = ""
    """Checksum of all other fields."""


class States:
    """The saved states of one lifetime's learner: the latest, and the one before, in case the latest is damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, learner: Any, checkpoint: Checkpoint) -> None:
        """Save the learner, sync it, then write its pointer, so that a crash at any moment leaves a sound state."""
        if not isinstance(learner, Saved):
            return
        pointer = self.folder / _POINTER.format(checkpoint.blocks)
        place = pointer.with_suffix("")
        try:
            self._remove(pointer)
            place.mkdir(parents=True)
            learner.save(place)
            checkpoint = replace(checkpoint, files=_digests(place, synced=True))
            write_object(pointer, msgspec.to_builtins(replace(checkpoint, checksum=_checksum(checkpoint))))
            files.sync_folder(self.folder)
        except (OSError, LogError) as problem:
            cause = problem if isinstance(problem, OSError) else problem.__cause__
            if not isinstance(cause, OSError):
                raise
            shutil.rmtree(place, ignore_errors=True)  # half a state only takes room
            raise self._unkept(place, checkpoint.blocks, cause) from problem
        for older in self._pointers()[_KEPT:]:
            self._remove(older)

    def _unkept(self, place: Path, blocks: int, problem: OSError) -> WriteError:
        before = self.latest()
        going_on = "starts again from its seed" if before is None else f"goes on after block {before[0].blocks - 1}"
        return WriteError(
            f"the learner's state could not be saved after {blocks} blocks ({problem.strerror or problem})",
            f"{files.remedy(problem)}, and run again: the lifetime then {going_on}",
            file=place,
        )

    def latest(self) -> tuple[Checkpoint, Path] | None:
        """Return the last saved state, sound or not; None if there is none."""
        for pointer in self._pointers():
            if (checkpoint := self._read(pointer)) is not None:
                return checkpoint, pointer.with_suffix("")
        return None

    def is_sound(self) -> bool:
        """Return whether there is a state whose files are unchanged."""
        state = self.latest()
        return state is not None and self._damage(state[1]) is None

    def drop_latest(self) -> bool:
        """Remove the last state; return whether there is one before it."""
        if (state := self.latest()) is not None:
            self._remove(state[1].with_name(f"{state[1].name}.json"))
        return self.latest() is not None

    def drop_unread(self) -> tuple[str, ...]:
        """Remove the states whose pointers cannot be read or were altered; return their names."""
        unread = [pointer for pointer in self._pointers() if self._read(pointer) is None]
        for pointer in unread:
            self._remove(pointer)
        return tuple(pointer.name for pointer in unread)

    def resume(self, life: Path, name: str, seeds: Seeds, learner: Any) -> Checkpoint:
        """Restore the learner from its last state, and cut its log back to it. Raise LogError if impossible."""
        state = self.latest()
        if state is None or not isinstance(learner, Saved):
            raise LogError(
                f"was started, but no state of its learner was saved in {self.folder}",
                f"a new learner cannot continue it: {_START_AGAIN}",
                file=life,
            )
        checkpoint, place = state
        if (checkpoint.life, checkpoint.seeds) != (name, seeds):
            raise LogError(
                f"the state of another lifetime ({checkpoint.life}, seeds {to_plain(checkpoint.seeds)}) cannot go "
                f"on with {name} ({to_plain(seeds)})",
                "remove it to start this lifetime again",
                file=self.folder,
            )
        if (damage := self._damage(place)) is not None:
            raise LogError(damage, "remove it to continue from the previous state", file=place)
        if not (life / MANIFEST).exists():
            raise LogError("its manifest.json is missing", _START_AGAIN, file=life)
        if problems := verify(life, lambda closed: closed.block_num < checkpoint.blocks):
            raise refusal(life, problems, _START_AGAIN)
        rows = _rows_before(life, checkpoint.blocks)
        if rows != checkpoint.rows:
            raise LogError(
                f"holds {rows} records of the {checkpoint.blocks} blocks that its learner has completed, not "
                f"{checkpoint.rows}",
                f"the log was changed: {_START_AGAIN}",
                file=life,
            )
        closed = _rows_closed(life, checkpoint.blocks)
        if closed != rows:
            raise LogError(
                f"closes {closed} of the {rows} records of {checkpoint.blocks} blocks that its learner has completed",
                f"lines of it are missing: {_START_AGAIN}",
                file=life / BLOCKS_FILE,
            )
        self._restore(learner, place, checkpoint.fingerprint)
        _truncate(life, checkpoint.blocks)
        return checkpoint

    def _restore(self, learner: Any, place: Path, fingerprint: str | None) -> None:
        """Restore `learner`; a state whose restoring ended a process before is not tried again."""
        mark = self.folder / _RESTORING
        with suppress(OSError):  # missing, or not a file that Perdure wrote
            if files.read_bytes(mark) == place.name.encode():
                raise LogError(
                    "the process died while its learner was restored from it", "remove it to go on", file=place
                )
        _remove(mark)
        mark.write_text(place.name, encoding="utf-8")
        try:
            restored(learner, place, fingerprint)
        except LearnerError as problem:
            raise LogError.from_error(problem) from problem
        except (Stopped, KeyboardInterrupt):
            raise
        except BaseException as problem:  # one that exits, too, would do so each time
            why = f"{type(problem).__name__}: {message_of(problem)}"
            raise LogError(
                f"{type(learner).__name__}.restore failed: {why}", "mend it, or remove this state to go on", file=place
            ) from problem
        finally:
            mark.unlink(missing_ok=True)

    def _pointers(self) -> list[Path]:
        """Return the pointers to all saved states, the latest first."""
        return sorted(self.folder.glob(_POINTER.format("*")), key=_number_of, reverse=True)

    def _read(self, pointer: Path) -> Checkpoint | None:
        try:
            checkpoint = msgspec.json.decode(files.read_bytes(pointer, files.HEADER_LIMIT), type=Checkpoint)
        except (OSError, LogError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return checkpoint if checkpoint.checksum == _checksum(checkpoint) else None

    def _damage(self, place: Path) -> str | None:
        """Return how the files of a state differ from those saved; None if they are the same."""
        record = self._read(place.with_name(f"{place.name}.json"))
        try:
            digests = _digests(place, synced=False)
        except OSError as problem:
            return f"cannot be read: {problem.strerror or problem}"
        if record is None or digests != record.files:
            names = (
                sorted(name for name in {*digests, *record.files} if digests.get(name) != record.files.get(name))
                if record
                else []
            )
            return f"differs from what was saved: {', '.join(names[:3]) or 'its pointer'} was altered, added or removed"
        return None

    def _remove(self, pointer: Path) -> None:
        _remove(pointer)
        _remove(pointer.with_suffix(""))

    def forget(self) -> None:
        """Remove all states, which a finished lifetime does not need."""
        shutil.rmtree(self.folder, ignore_errors=True)


def restored(learner: Any, place: Path, fingerprint: str | None) -> None:
    """Restore `learner` from `place`. Raise LearnerError if its fingerprint differs from the saved one."""
    learner.restore(place)
    if None not in (fingerprint, current := fingerprint_of(learner)) and current != fingerprint:
        raise LearnerError(
            f"{type(learner).__name__} came back from restore with another fingerprint than it was saved with",
            "save and restore must carry everything that the fingerprint covers",
            file=place,
        )


def refuse_gone_parts(life: Path, rows: int) -> None:
    """Raise LogError if files of a completed lifetime are missing, because something removed them while it ran."""
    ledger = ledger_of(life)
    closed = {} if ledger is None else ledger.closed
    changed = [
        file
        for file, entry in closed.items()
        if not (life / file).is_file() or (life / file).stat().st_size != entry.bytes
    ]
    if not (life / MANIFEST).exists():
        changed.insert(0, MANIFEST)
    if sum(entry.rows for entry in closed.values()) != rows:
        changed.append(f"lines of {BLOCKS_FILE}")
    if changed:
        raise LogError(
            f"while it ran, something removed or altered {', '.join(changed[:3])}",
            "make sure that nothing removes it, and run again",
            file=life,
        )


def _checksum(checkpoint: Checkpoint) -> str:
    return hashlib.sha256(msgspec.json.encode(replace(checkpoint, checksum=""))).hexdigest()


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _number_of(pointer: Path) -> int:
    number = pointer.name.split("-")[1]
    return int(number) if number.isdecimal() else -1


def _digests(place: Path, *, synced: bool) -> dict[str, str]:
    """Return the checksum of each file of a state; with `synced`, after it is on the disk."""
    if not place.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    states = {}
    for file in sorted(place.rglob("*")):
        if file.is_dir():
            if synced:
                files.sync_folder(file)
            continue
        with files.open_regular(file) as opened:
            states[file.relative_to(place).as_posix()] = hashlib.file_digest(opened, "sha256").hexdigest()
            if synced:
                os.fsync(opened.fileno())
    if synced:
        files.sync_folder(place)
    return states


def _rows_before(life: Path, blocks: int) -> int:
    """Return the number of records of the first blocks."""
    rows = 0
    for file in life.glob(f"*/*-t*/{DATA_FILE}"):
        if _number(file) < blocks:
            rows += records_in(files.read_bytes(file))
    return rows


def _rows_closed(life: Path, blocks: int) -> int:
    """Return the number of records of the first blocks that the ledger has closed, which verification needs."""
    ledger = ledger_of(life)
    return sum(entry.rows for entry in ledger.closed.values() if entry.block_num < blocks) if ledger is not None else 0


def _truncate(life: Path, blocks: int) -> None:
    """Remove the later blocks from the ledger, and then their records."""
    ledger = life / BLOCKS_FILE
    if ledger.exists():
        # First, so that at no moment the ledger closes a block that is gone.
        lines = files.read_bytes(ledger, files.LEDGER_LIMIT, within=life).splitlines()
        files.write(ledger, b"".join(line + b"\n" for line in lines if not _tells_of_later(line, blocks)))
    for file in list(life.glob(f"*/*-t*/{DATA_FILE}")):
        if _number(file) >= blocks:
            shutil.rmtree(file.parent)


def _tells_of_later(line: bytes, blocks: int) -> bool:
    """Return whether a line of the ledger is of a later block, or torn."""
    try:
        event = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    return isinstance(event, dict) and event.get("event") == "block" and event.get("block_num", 0) >= blocks


def _number(file: Path) -> int:
    number = file.parent.name.partition("-")[0]
    return int(number) if number.isdigit() else -1
