"""Write the files of one worker of a journal, and its lines of the ledger."""

from __future__ import annotations

import errno
import os
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

from perdure import files
from perdure.errors import LogError, RecordError, WriteError
from perdure.log.places import DATA_FILE
from perdure.log.rows import end_of_records, header_of, records_in
from perdure.log.rules import STANDARD_COLUMNS
from perdure.log.verify import append_event, ledger_of
from perdure.log.write.record import Record, quoted

try:
    import fcntl
except ImportError:  # Windows has no flock; there two writers of one worker go unnoticed
    fcntl = None  # type: ignore[assignment]


class Stream:
    """The files of one worker, of which one is open. Not thread-safe: the journal holds a lock."""

    def __init__(self, lifetime: Path, worker: str, ledger: Path, one_type_per_block: bool) -> None:
        self.columns: tuple[str, ...] | None = None
        self.dirty = False
        self._lifetime = lifetime
        self._worker = worker
        self._ledger = ledger
        self._one_type_per_block = one_type_per_block
        self._descriptor = -1
        self._claim = -1
        self._writes = False
        """Whether it holds its folder, and so has something to close."""
        self._file = lifetime
        self._unnoted: dict[str, object] | None = None
        """The line on the last file that the ledger does not have yet."""
        self._block: tuple[int, str] | None = None
        self.last = Record(-1, -1, "", b"")
        """The last record of this worker."""
        self._rows = 0
        self._size = 0
        self._checksum = 0
        if (lifetime / worker).is_dir():
            self._take_up()

    # -- rules that need memory -----------------------------------------------------------------

    def follow(self, record: Record, previous: Record) -> None:
        """Raise RecordError if a record does not follow the previous one of this worker."""
        block_num, exp_num = record.block_num, record.exp_num
        if block_num < previous.block_num:
            raise RecordError(f"block_num falls from {previous.block_num} to {block_num}", "it must never decrease")
        if exp_num < previous.exp_num:
            what = f"exp_num falls from {previous.exp_num} to {exp_num} (block {block_num})"
            raise RecordError(what, "it must never decrease")
        if self._one_type_per_block and block_num == previous.block_num and record.block_type != previous.block_type:
            raise RecordError(
                f"block {block_num} is a {previous.block_type} block, and this record says {record.block_type}",
                "a new mode needs a new block_num",
            )

    # -- writing --------------------------------------------------------------------------------

    def write(self, records: Sequence[Record]) -> None:
        """Append records of one block, all of them or none."""
        first, last = records[0], records[-1]
        if self._block != (last.block_num, last.block_type):
            self._turn(last.block_num, last.block_type)
        text = first.line if len(records) == 1 else b"".join(record.line for record in records)
        if not self._size:
            # One write for header and record, so that a killed process leaves both or none.
            text = self._header() + text
        try:
            written = os.write(self._descriptor, text)
            while 0 < written < len(text):  # the system writes 2 GB at most at once
                more = os.write(self._descriptor, memoryview(text)[written:])
                written = written + more if more else 0
            if not written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as problem:
            span = f"experience {first.exp_num}" if first is last else f"experiences {first.exp_num} to {last.exp_num}"
            raise self._undone(f"{span} of block {last.block_num}", problem) from problem
        self._size += len(text)
        self._checksum = zlib.crc32(text, self._checksum)
        self._rows += len(records)
        self.last = last
        self.dirty = True

    def sync(self) -> None:
        """Write this worker's file to disk."""
        if self._descriptor >= 0 and self.dirty:
            try:
                os.fsync(self._descriptor)
            except OSError as problem:
                raise WriteError(
                    f"the records cannot be written to disk ({problem.strerror})",
                    "those of the last second may be lost: see to the disk, and go on with join=True",
                    file=self._file,
                ) from problem
            self.dirty = False

    def borrowed(self) -> int:
        """Return a second descriptor of the file, for the caller to sync and close without the lock."""
        self.dirty = False
        return os.dup(self._descriptor)

    def end_block(self) -> None:
        """Write the current block to disk, and close it in the ledger."""
        if self._block is not None and self._rows:
            self._unnoted = {
                "event": "block",
                "worker": self._worker,
                "block_num": self._block[0],
                "block_type": self._block[1],
                "file": self._relative(),
                "rows": self._rows,
                "bytes": self._size,
                "crc32": self._checksum,
                "time": time.time(),
            }
        self._block = None
        if self._descriptor >= 0:
            try:
                self.sync()
                if os.fstat(self._descriptor).st_nlink == 0:
                    raise WriteError("was removed while it was being written", self._safe_part(), file=self._file)
            finally:
                os.close(self._descriptor)
                self._descriptor = -1
        if self._unnoted is not None:
            self._note(self._unnoted)
            self._unnoted = None

    def close(self, interrupted: str | None = None) -> None:
        """End the last block, and note in the ledger how the worker ended."""
        try:
            self.end_block()
            if self._writes:
                event = {"event": "closed"} if interrupted is None else {"event": "interrupted", "why": interrupted}
                self._note({**event, "worker": self._worker})
        finally:
            self._writes = False
            if self._claim >= 0:
                os.close(self._claim)
                self._claim = -1

    def abandon(self) -> None:
        """Close the descriptors that a forked child inherited; those of the parent stay open."""
        for descriptor in (self._descriptor, self._claim):
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptor = self._claim = -1
        self._writes = False

    # -- files ----------------------------------------------------------------------------------

    def _turn(self, block_num: int, block_type: str) -> None:
        self.end_block()
        folder = self._lifetime / self._worker / f"{block_num}-{block_type}"
        self._file = folder / DATA_FILE
        self._size = self._rows = self._checksum = 0
        try:
            for part in (folder.parent, folder):  # only these: a lifetime that was removed is not made again
                part.mkdir(exist_ok=True)
            self._take_claim()
            self._descriptor = files.open_descriptor(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            self._block = (block_num, block_type)
            if os.fstat(self._descriptor).st_size:
                self._continue_file()
        except OSError as problem:
            self._block = None
            if isinstance(problem, WriteError):
                raise
            raise WriteError(f"cannot be opened ({problem.strerror})", self._safe_part(), file=self._file) from problem

    def _take_claim(self) -> None:
        """Lock the worker's folder, so that no second process writes as the same worker."""
        if self._writes:
            return
        if fcntl is not None and self._claim < 0:
            claim = os.open(self._lifetime / self._worker, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(claim)
                raise RecordError(
                    "another journal is writing as this worker",
                    "give each its own worker_id",
                    file=self._lifetime / self._worker,
                ) from None
            except OSError as problem:
                if problem.errno not in files.NO_LOCKS:
                    os.close(claim)
                    raise
            self._claim = claim
        ledger = ledger_of(self._lifetime)
        # Noted before any file is made, so that the files of a killed journal count as unfinished, not as foreign.
        self._note({"event": "opened", "worker": self._worker})
        # Files that an earlier journal of this worker left open are never closed; nor is any if the ledger was lost.
        unfinished = (self._lifetime / (self._worker if ledger else "")).rglob(DATA_FILE)
        for file in sorted(path.relative_to(self._lifetime).as_posix() for path in unfinished):
            if ledger is None or (file not in ledger.closed and file not in ledger.abandoned):
                self._note({"event": "abandoned", "worker": self._worker, "file": file})
        self._writes = True

    def _continue_file(self) -> None:
        """Continue a file; a torn last line is cut off and kept in the ledger."""
        content = files.read_bytes(self._file)
        end = end_of_records(content)
        if end < len(content):
            fragment = content[end:].decode("utf-8", "replace")
            self._note({"event": "torn", "worker": self._worker, "file": self._relative(), "cut": fragment})
            os.truncate(self._file, end)
            content = content[:end]
        if not content:
            return
        # Noted before anything is added, so that a file longer than its closed block is explained.
        self._note({"event": "continued", "worker": self._worker, "file": self._relative()})
        self._size, self._checksum = len(content), zlib.crc32(content)
        self._rows = records_in(content)

    def _take_up(self) -> None:
        """Take the last block and experience from the files of an earlier journal of this worker."""
        numbered = []
        for file in (self._lifetime / self._worker).glob(f"*/{DATA_FILE}"):
            digits, _, kind = file.parent.name.partition("-")
            if digits.isdigit() and file.stat().st_size:
                numbered.append((int(digits), file.stat().st_mtime_ns, kind, file))
        if not numbered:
            return
        block_num, _, kind, file = max(numbered)
        _, start = header_of(file)
        body = files.read_bytes(file)[start:]
        complete = body[: end_of_records(body)]  # without a torn last line
        last = complete[end_of_records(complete[:-1]) :].split(b"\t")
        number = int(last[1]) if len(last) > 1 and last[1].isdigit() else -1
        self.last = Record(block_num, number, kind, b"")

    def _note(self, event: dict[str, object]) -> None:
        """Append one line to the ledger that all workers share."""
        try:
            append_event(self._ledger, event)
        except OSError as problem:
            raise WriteError(
                f"cannot be written ({problem.strerror})",
                self._safe_part(),
                file=self._ledger,
            ) from problem

    def _header(self) -> bytes:
        if self.columns is None:
            raise LogError("no columns are known yet", "log a record first", file=self._file)
        return ("\t".join(map(quoted, (*STANDARD_COLUMNS, *self.columns))) + "\n").encode()

    def _relative(self) -> str:
        return self._file.relative_to(self._lifetime).as_posix()

    def _undone(self, what: str, problem: OSError) -> WriteError:
        """Remove a partly written record; return an error that lists the safe records."""
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:  # then a torn last line remains, which every reader leaves out and reports
            self._unnoted = {"event": "abandoned", "worker": self._worker, "file": self._relative()}
            self._block = None
        return WriteError(f"{what} could not be written ({problem.strerror})", self._safe_part(), file=self._file)

    def _safe_part(self) -> str:
        """Return which records are safe, after checking the size of every closed file and of the open one."""
        if not self._lifetime.is_dir():
            return "the folder of this lifetime is gone, with all its records: make sure that nothing removes it"
        ledger = ledger_of(self._lifetime)
        closed = {} if ledger is None else {file: entry.bytes for file, entry in ledger.closed.items()}
        lost = [file for file, size in closed.items() if _size_of(self._lifetime / file) < size]
        if self._rows and _size_of(self._file) < self._size:
            lost.append(self._relative())
        if lost:
            return (
                f"missing or cut short: {', '.join(lost[:3])}{', …' if len(lost) > 3 else ''}: restore them from a copy"
            )
        return f"the {self._rows} earlier records of this file, and all earlier blocks, are intact"


def _size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1
