"""States: a learner kept after each block, so that a life that broke off can go on.

A life goes on only from its own learner's state at a block boundary. What was logged after that boundary
is removed, and lived again. A fresh learner on an old log would be a chimera, and is refused.

after-7-blocks/        what the learner saved, on the disk before there is
after-7-blocks.json    which names it, and holds the checksum of each of its files
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
from perdure.errors import LogError, WriteError, message_of
from perdure.learners.interface import LearnerError, Saved
from perdure.log.manifest import write_object
from perdure.log.places import BLOCKS_FILE, DATA_FILE, MANIFEST
from perdure.log.rows import records_in
from perdure.log.verify import ledger_of, refusal, verify
from perdure.runner.seeds import Seeds
from perdure.stopping import Stopped

_POINTER = "after-{}-blocks.json"
_KEPT = 2  # the last state, and the one before it
_RESTORING = "restoring"
_START_AGAIN = "move the lifetime's folder elsewhere to start it again"


class Checkpoint(Struct, frozen=True):
    """Where a lifetime stood when its learner was saved; written beside the state once that is on the disk."""

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
    """The kept states of one life's learner: the latest, and the one before, should the latest be damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, learner: Any, checkpoint: Checkpoint) -> None:
        """Save the learner, sync it, then point to it, so that a crash at any moment leaves the one before."""
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
        """The last state that was kept, sound or not; None where there is none."""
        for pointer in self._pointers():
            if (checkpoint := self._read(pointer)) is not None:
                return checkpoint, pointer.with_suffix("")
        return None

    def is_sound(self) -> bool:
        """Whether there is a state, and it is what was kept."""
        found = self.latest()
        return found is not None and self._damage(found[1]) is None

    def drop_latest(self) -> bool:
        """Leave the last state out from here on; whether there is one before it."""
        if (found := self.latest()) is not None:
            self._remove(found[1].with_name(f"{found[1].name}.json"))
        return self.latest() is not None

    def drop_unread(self) -> tuple[str, ...]:
        """Leave out the states whose pointers do not read or were altered; the names of these."""
        unread = [pointer for pointer in self._pointers() if self._read(pointer) is None]
        for pointer in unread:
            self._remove(pointer)
        return tuple(pointer.name for pointer in unread)

    def resume(self, life: Path, name: str, seeds: Seeds, learner: Any) -> Checkpoint:
        """Restore the learner from its last state, and cut its log back to there; LogError where it cannot be."""
        found = self.latest()
        if found is None or not isinstance(learner, Saved):
            raise LogError(
                f"was started, but no state of its learner was saved in {self.folder}",
                f"a new learner cannot continue it: {_START_AGAIN}",
                file=life,
            )
        checkpoint, place = found
        if (checkpoint.life, checkpoint.seeds) != (name, seeds):
            raise LogError(
                f"the state of another lifetime ({checkpoint.life}, seeds {checkpoint.seeds.as_json()}) cannot go "
                f"on with {name} ({seeds.as_json()})",
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
        _cut(life, checkpoint.blocks)
        return checkpoint

    def _restore(self, learner: Any, place: Path, fingerprint: str | None) -> None:
        """Restore `learner`; a state whose restoring ended a process before is not tried a second time."""
        mark = self.folder / _RESTORING
        with suppress(OSError):  # none, or one that is no file of ours
            if files.read_bytes(mark) == place.name.encode():
                raise LogError(
                    "the process died while its learner was restored from it", "remove it to go on", file=place
                )
        _remove(mark)
        mark.write_text(place.name, encoding="utf-8")
        try:
            restored(learner, place, fingerprint)
        except LearnerError as problem:
            raise LogError.of(problem) from problem
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
        """The pointers to all kept states, the latest first."""
        return sorted(self.folder.glob(_POINTER.format("*")), key=_number_of, reverse=True)

    def _read(self, pointer: Path) -> Checkpoint | None:
        try:
            checkpoint = msgspec.json.decode(files.read_bytes(pointer, files.HEADER_LIMIT), type=Checkpoint)
        except (OSError, LogError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return checkpoint if checkpoint.checksum == _checksum(checkpoint) else None

    def _damage(self, place: Path) -> str | None:
        """What is wrong with a kept state; None where its files are what was saved."""
        said = self._read(place.with_name(f"{place.name}.json"))
        try:
            held = _digests(place, synced=False)
        except OSError as problem:
            return f"cannot be read: {problem.strerror or problem}"
        if said is None or held != said.files:
            names = (
                sorted(name for name in {*held, *said.files} if held.get(name) != said.files.get(name)) if said else []
            )
            return f"differs from what was saved: {', '.join(names[:3]) or 'its pointer'} was altered, added or removed"
        return None

    def _remove(self, pointer: Path) -> None:
        _remove(pointer)
        _remove(pointer.with_suffix(""))

    def forget(self) -> None:
        """Remove what was kept; a finished life needs it no more."""
        shutil.rmtree(self.folder, ignore_errors=True)


def restored(learner: Any, place: Path, fingerprint: str | None) -> None:
    """Make `learner` what was saved at `place`; one that comes back different is refused."""
    learner.restore(place)
    ask = getattr(learner, "fingerprint", None)
    if fingerprint is not None and callable(ask) and str(ask()) != fingerprint:
        raise LearnerError(
            f"{type(learner).__name__} came back from restore with another fingerprint than it was saved with",
            "save and restore must carry everything that the fingerprint covers",
            file=place,
        )


def refuse_gone_parts(life: Path, rows: int) -> None:
    """Refuse a life that was lived to its end, but of which something is gone: who removes a folder may lose a race."""
    ledger = ledger_of(life)
    closed = {} if ledger is None else ledger.closed
    gone = [
        file for file, one in closed.items() if not (life / file).is_file() or (life / file).stat().st_size != one.bytes
    ]
    if not (life / MANIFEST).exists():
        gone.insert(0, MANIFEST)
    if sum(one.rows for one in closed.values()) != rows:
        gone.append(f"lines of {BLOCKS_FILE}")
    if gone:
        raise LogError(
            f"while it ran, something removed or altered {', '.join(gone[:3])}",
            "make sure that nothing removes it, and run again",
            file=life,
        )


def _checksum(checkpoint: Checkpoint) -> str:
    return hashlib.sha256(msgspec.json.encode(replace(checkpoint, checksum=""))).hexdigest()


def _remove(place: Path) -> None:
    """Remove what lies there, whatever it is."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _number_of(pointer: Path) -> int:
    number = pointer.name.split("-")[1]
    return int(number) if number.isdecimal() else -1


def _digests(place: Path, *, synced: bool) -> dict[str, str]:
    """The checksum of each file of a state; with `synced`, once it is on the disk."""
    if not place.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    found = {}
    for file in sorted(place.rglob("*")):
        if file.is_dir():
            if synced:
                files.sync_folder(file)
            continue
        with files.opened(file) as opened:
            found[file.relative_to(place).as_posix()] = hashlib.file_digest(opened, "sha256").hexdigest()
            if synced:
                os.fsync(opened.fileno())
    if synced:
        files.sync_folder(place)
    return found


def _rows_before(life: Path, blocks: int) -> int:
    """How many records the log holds of the first blocks."""
    rows = 0
    for file in life.glob(f"*/*-t*/{DATA_FILE}"):
        if _number(file) < blocks:
            rows += records_in(files.read_bytes(file))
    return rows


def _rows_closed(life: Path, blocks: int) -> int:
    """How many records of the first blocks its ledger has closed, without which nobody could verify it later."""
    ledger = ledger_of(life)
    return sum(one.rows for one in ledger.closed.values() if one.block_num < blocks) if ledger is not None else 0


def _cut(life: Path, blocks: int) -> None:
    """Remove what the ledger says of what was logged after the first blocks, and then that itself."""
    ledger = life / BLOCKS_FILE
    if ledger.exists():
        # First, so that at no moment the ledger closes a block that is gone.
        lines = files.read_bytes(ledger, files.LEDGER_LIMIT, within=life).splitlines()
        files.write(ledger, b"".join(line + b"\n" for line in lines if not _tells_of_later(line, blocks)))
    for file in list(life.glob(f"*/*-t*/{DATA_FILE}")):
        if _number(file) >= blocks:
            shutil.rmtree(file.parent)


def _tells_of_later(line: bytes, blocks: int) -> bool:
    """Whether a line of the ledger is of a later block, or torn."""
    try:
        event = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    return isinstance(event, dict) and event.get("event") == "block" and event.get("block_num", 0) >= blocks


def _number(file: Path) -> int:
    number = file.parent.name.partition("-")[0]
    return int(number) if number.isdigit() else -1
