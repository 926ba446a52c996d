"""Write the journal of a lifetime while it runs, so that no acknowledged record is lost."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from perdure import files
from perdure.errors import LogError, PerdureError, RecordError, message_of
from perdure.log.manifest import describe, described, measures_of, object_in, object_text, provenance, write_text
from perdure.log.model import Direction, Role
from perdure.log.places import BLOCKS_FILE, DATA_FILE, LOGGER_INFO, MANIFEST, SCENARIO_INFO
from perdure.log.rows import header_of
from perdure.log.rules import BEYOND, STANDARD_COLUMNS, TYPES
from perdure.log.write.record import (
    DEFAULT_WORKER,
    Record,
    cell,
    changed_columns,
    checked_words,
    declared_measures,
    measure_cell,
    params_json,
    records_of,
    validate,
    value_columns,
    whole_number,
)
from perdure.log.write.stream import Stream
from perdure.scenario.model import Mode, Scenario
from perdure.text import join_words

if TYPE_CHECKING:
    from perdure.log.write.export import Mirror


_SYNC_EVERY_S = 0.5  # at most one second may be lost to a power cut; this leaves the disk half of it
_JOIN_PATIENCE_S = 10.0

_open_journals: weakref.WeakSet[Journal] = weakref.WeakSet()


class Journal:
    """Writer of the log of one lifetime: a folder in L2Logger 1.1's layout, with a manifest.

    When `log` returns, the record survives the death of this process. It is on disk within a second, and at the end of
    each block.

    Parameters
    ----------
    into
        Folder in which the folder `name` is created.
    name
        Id of the lifetime.
    measures
        Names of the measures. A mapping gives directions, if lower is better.
    learner
        Learner in the manifest.
    seed
        Seed in the manifest.
    scenario
        Scenario, or its name, for the manifest.
    info
        Content of `scenario_info.json`.
    join
        Whether the lifetime may exist, so that further workers (threads or processes) write to it, each under its own
        `worker_id`.
    role
        Role in the manifest: ``"life"`` or ``"expert"``.
    protocol
        Facts about the protocol, for the manifest.
    mirror
        A tracker that gets the records too: `tensorboard:FOLDER`, `mlflow:URI`, `wandb:PROJECT` (offline) or
        `aim:REPOSITORY`.

    Raises
    ------
    RecordError
        If the lifetime exists without `join`, or differs from the one to join.

    Examples
    --------
    >>> with perdure.Journal("my-logs", "sgd-0", measures=["accuracy"], learner="sgd", seed=0) as journal:
    ...     journal.log(block_num=0, exp_num=0, block_type="train", task_name="mnist", accuracy=0.9)
    >>> perdure.check("my-logs/sgd-0").ok
    True
    """

    def __init__(
        self,
        into: str | os.PathLike[str],
        name: str,
        measures: Sequence[str] | Mapping[str, Direction] = ("reward",),
        learner: str | None = None,
        seed: int | None = None,
        scenario: Scenario | Mapping[str, Any] | str | None = None,
        info: Mapping[str, Any] | None = None,
        join: bool = False,
        *,
        role: Role = "life",
        protocol: Mapping[str, Any] | str | None = None,
        mirror: str | None = None,
    ) -> None:
        self.measures = declared_measures(measures)
        if mirror is not None and join:
            raise RecordError("a journal that joins a lifetime cannot mirror it", "give mirror to the first alone")
        self.path = Path(into) / _folder_name(name)
        self._mirror: Mirror | None = None
        self._lock = threading.Lock()
        self._streams: dict[str, Stream] = {}
        self._columns: tuple[str, ...] | None = None  # fixed by the first record
        self._column_set: set[str] = set()
        self._refusal: RecordError | None = None  # why nothing more may be logged
        self._closed = False
        self._words: tuple[str, ...] = ()
        self._words_text = ""
        self._params = b""
        self._second = -1
        self._second_text = ""
        manifest = {
            "id": name,
            "learner": learner,
            "role": role,
            "seed": None if seed is None else whole_number("seed", seed),
            "scenario": described(scenario),
            "protocol": protocol,
            "measures": self.measures,
        }
        # Encoded before the folder is made, so that values which JSON cannot express leave nothing behind.
        facts = {
            LOGGER_INFO: {"metrics_columns": list(self.measures), "log_format_version": "1.1"},
            SCENARIO_INFO: dict(info or {}),
            MANIFEST: {**manifest, **provenance()},  # last: a journal that joins waits for it
        }
        texts = {name: object_text(content, name) for name, content in facts.items()}
        if self._make_folder(join):
            for file, text in texts.items():
                write_text(self.path / file, text)
            describe(self.path, texts)
        else:
            self._join(manifest)
        if mirror is not None:
            from perdure.log.write.export import Mirror

            self._mirror = Mirror(mirror, name, list(self.measures), {"method": learner, "seed": seed})
        self._stop = threading.Event()
        _open_journals.add(self)
        self._syncer = threading.Thread(
            target=_sync_regularly, args=(weakref.ref(self), self._stop), name="perdure-sync", daemon=True
        )
        self._syncer.start()

    # -- writing ------------------------------------------------------------------------------

    def log(
        self,
        *,
        block_num: int,
        exp_num: int,
        block_type: str,
        task_name: str,
        task_params: Mapping[str, Any] | None = None,
        block_subtype: str = "wake",
        worker_id: str = DEFAULT_WORKER,
        exp_status: str = "complete",
        **values: Any,
    ) -> None:
        """Write one experience.

        Parameters
        ----------
        block_num
            Number of the block. It never decreases.
        exp_num
            Number of the experience. It counts on over all blocks and never decreases.
        block_type
            ``"train"`` if the learner learns, ``"test"`` if learning is off, ``"probe"`` if it is off inside a block.
        task_name
            Task, with its variant after the last underscore.
        task_params
            Parameters of the task.
        block_subtype
            ``"wake"`` or ``"sleep"``.
        worker_id
            Worker that writes.
        exp_status
            ``"complete"`` or ``"incomplete"``.
        **values
            Measures and any other columns, the same in every call.

        Raises
        ------
        RecordError
            If the record breaks a rule. Nothing is written then.
        """
        with self._lock:
            columns = self._columns_of(values)
            record = self._record(
                columns,
                self._now(),
                block_num,
                exp_num,
                worker_id,
                block_type,
                block_subtype,
                task_name,
                task_params,
                exp_status,
                *map(values.__getitem__, columns),
            )
            stream = self._streams.get(worker_id) or self._stream(worker_id)
            stream.follow(record, stream.last)
            if self._columns is None:
                self._fix(columns)
            stream.write([record])
            if self._mirror is not None:
                self._mirror.add(block_type, task_name, exp_status, values)

    def log_many(
        self,
        *,
        block_num: Any,
        exp_num: Any,
        block_type: Any,
        task_name: Any,
        task_params: Any = None,
        block_subtype: Any = "wake",
        worker_id: Any = DEFAULT_WORKER,
        exp_status: Any = "complete",
        **values: Any,
    ) -> None:
        """Write many experiences from columns: arrays or lists of one length, or single values for all.

        The rules are those of `log`, and all are checked before anything is written.
        """
        fields = (block_num, exp_num, worker_id, block_type, block_subtype, task_name, task_params, exp_status)
        with self._lock:
            columns = self._columns_of(values)
            rows = [*records_of((*fields, *map(values.__getitem__, columns)))]
            records: list[tuple[Stream, Record]] = []
            now = self._now()
            last: dict[str, tuple[Stream, Record]] = {}
            for number, row in enumerate(rows):
                worker = row[2]
                try:
                    record = self._record(columns, now, *row)
                    if worker in last:
                        stream, previous = last[worker]
                    else:
                        stream = self._streams.get(worker) or self._stream(worker)
                        previous = stream.last
                    stream.follow(record, previous)
                except RecordError as problem:
                    raise problem.with_place(where=f"record {number}") from problem
                last[worker] = stream, record
                records.append(last[worker])
            if records and self._columns is None:
                self._fix(columns)
            for (stream, _, _), block in groupby(
                records, lambda pair: (pair[0], pair[1].block_num, pair[1].block_type)
            ):
                stream.write([record for _, record in block])
            if self._mirror is not None:
                for row in rows:
                    cells = row[len(fields) :]
                    self._mirror.add(row[3], row[5], row[7], dict(zip(columns, cells, strict=True)))

    def sync(self) -> None:
        """Write everything to disk now."""
        with self._lock:
            for stream in self._streams.values():
                stream.sync()

    def end_blocks(self) -> None:
        """Close every worker's block in the ledger now, before the next one begins."""
        with self._lock:
            for stream in self._streams.values():
                stream.end_block()

    def close(self, interrupted: str | None = None) -> None:
        """End the part of the lifetime that this journal wrote; closing twice is harmless."""
        problems: list[PerdureError] = []
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._refusal = self._refusal or RecordError(
                "this journal is closed", "open another with join=True", file=self.path
            )
            for stream in self._streams.values():
                try:
                    stream.close(interrupted)
                except PerdureError as problem:  # the other workers are still closed
                    problems.append(problem)
            if self._mirror is not None:
                self._mirror.close()
        self._stop.set()
        if self._syncer is not threading.current_thread():
            self._syncer.join(timeout=5)
        _open_journals.discard(self)
        if problems:
            raise problems[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close(interrupted=None if problem is None else f"{type(problem).__name__}: {message_of(problem)}")

    # -- the folder ---------------------------------------------------------------------------

    def _make_folder(self, join: bool) -> bool:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir()
        except FileExistsError:
            if join and self.path.is_dir():
                return False
            raise LogError(
                "exists already", "choose another name, or join=True to add a worker to this lifetime", file=self.path
            ) from None
        except OSError as problem:
            raise LogError(f"cannot be made: {problem.strerror}", "choose another place", file=self.path) from problem
        return True

    def _join(self, expected: Mapping[str, Any]) -> None:
        patience = time.monotonic() + _JOIN_PATIENCE_S
        while not (self.path / MANIFEST).exists():  # another process is making this folder right now
            if time.monotonic() > patience:
                raise LogError(
                    "no manifest.json, so this is not a lifetime written by Perdure",
                    "choose another name",
                    file=self.path,
                )
            time.sleep(0.01)
        manifest = object_in(self.path / MANIFEST)
        for name in ("learner", "seed", "role"):
            if expected[name] not in (None, "life") and expected[name] != manifest.get(name):
                what = f"this lifetime has the {name} {manifest.get(name)!r}, not {expected[name]!r}"
                raise LogError(what, "give the one that it has, or another name", file=self.path)
        measures = measures_of(self.path, manifest)
        if measures != self.measures:
            raise LogError(
                f"this lifetime has the measures {measures}, not {self.measures}",
                "give those that it has",
                file=self.path,
            )
        written = next((path for path in self.path.glob(f"*/*/{DATA_FILE}") if path.stat().st_size), None)
        if written is not None:
            self._fix(tuple(name for name in header_of(written)[0] if name not in STANDARD_COLUMNS))

    # -- inside -------------------------------------------------------------------------------

    def _columns_of(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the columns of a record after the standard ones; raise RecordError if it cannot be written."""
        if self._refusal is not None:
            raise self._refusal.with_place()
        if self._columns is None:
            return value_columns(values, self.measures)
        if values.keys() != self._column_set:
            raise changed_columns(self._columns, values)
        return self._columns

    def _record(
        self,
        columns: tuple[str, ...],
        now: str,
        block_num: int,
        exp_num: int,
        worker_id: str,
        block_type: str,
        block_subtype: str,
        task_name: str,
        task_params: Mapping[str, Any] | None,
        exp_status: str,
        *cells: Any,
    ) -> Record:
        """Return a record as a line; raise RecordError if it breaks a rule."""
        if type(block_num) is not int or not 0 <= block_num < BEYOND:
            block_num = whole_number("block_num", block_num)
        if type(exp_num) is not int or not 0 <= exp_num < BEYOND:
            exp_num = whole_number("exp_num", exp_num)
        # Most records differ from the one before only in their numbers, so words are checked
        # and encoded only when they change.
        words = (worker_id, block_type, block_subtype, task_name, exp_status)
        bare = task_params is None or (not task_params and type(task_params) is dict)
        params = b"{}" if bare else params_json(task_params)
        if words != self._words or params != self._params:
            self._words_text = checked_words(*words, task_params)
            self._words, self._params = words, params
        text = f"{block_num}\t{exp_num}\t{self._words_text}\t{now}"
        for name, value in zip(columns, cells, strict=True):
            # Most measures are finite floats or plain ints, which need no further check.
            if type(value) is float and value - value == 0.0:
                text += f"\t{value!r}"
            elif type(value) is int and -BEYOND < value < BEYOND:
                text += f"\t{value}"
            else:
                text += "\t" + (measure_cell(name, value) if name in self.measures else cell(name, value))
        return Record(block_num, exp_num, block_type, f"{text}\n".encode())

    def _fix(self, columns: tuple[str, ...]) -> None:
        self._columns = columns
        self._column_set = set(columns)
        for stream in self._streams.values():
            stream.columns = columns

    def _stream(self, worker: str) -> Stream:
        """Return the stream of a worker, which continues its file; nothing is written yet."""
        validate("worker_id", worker)
        stream = Stream(self.path, worker, self.path / BLOCKS_FILE, one_type_per_block=self._one_type_per_block)
        stream.columns = self._columns
        self._streams[worker] = stream
        return stream

    # Scripts written for l2logger may put training and testing into one block; see perdure.classic.
    _one_type_per_block = True

    def _now(self) -> str:
        """Return the local time as L2Logger writes it; whole seconds are formatted once per second."""
        second, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._second = second
            self._second_text = time.strftime("%Y%m%dT%H%M%S", time.localtime(second))
        return f"{self._second_text}.{nanoseconds // 1000:06d}"

    def sync_waiting(self) -> None:
        """Write new records to disk without blocking the threads that log."""
        with self._lock:
            waiting = [stream.borrowed() for stream in self._streams.values() if stream.dirty]
        for descriptor in waiting:
            try:
                os.fsync(descriptor)
                if os.fstat(descriptor).st_nlink == 0:
                    self._refusal = RecordError(
                        "was removed while it was being written, and its records are gone",
                        "make sure that nothing removes it, and run this lifetime again",
                        file=self.path,
                    )
            except OSError as problem:
                self._refusal = RecordError(
                    f"the records cannot be written to disk ({problem.strerror})",
                    "those of the last second may be lost: see to the disk, and go on with join=True",
                    file=self.path,
                )
            finally:
                os.close(descriptor)


def _sync_regularly(journal: weakref.ref[Journal], stop: threading.Event) -> None:
    """Run the syncing thread, which does not keep an unused journal alive."""
    while not stop.wait(_SYNC_EVERY_S):
        current = journal()
        if current is None:
            return
        current.sync_waiting()
        del current


def _folder_name(name: str) -> str:
    if fault := files.name_fault(name):
        raise RecordError(f"name is {name!r:.200}: {fault}", "expected the name of one folder, without slashes")
    return name


def _disown() -> None:
    for journal in tuple(_open_journals):
        journal._refusal = RecordError(
            "this journal was opened in the parent process",
            "open your own with join=True and a worker_id of its own",
            file=journal.path,
        )
        journal._lock = threading.Lock()
        journal._closed = True  # the parent closes it
        with contextlib.suppress(OSError):
            for stream in journal._streams.values():
                stream.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)


class Recorder:
    """A writer that numbers blocks and experiences itself, for training loops and callbacks.

    A block lasts while mode and task stay the same. `begin` opens another block of the same kind.

    Parameters
    ----------
    journal
        Journal that it writes to.

    Examples
    --------
    >>> with perdure.Journal("recorded", "sgd-0", measures=["accuracy"]) as journal:
    ...     recorder = perdure.Recorder(journal)
    ...     for accuracy in (0.5, 0.7, 0.9):
    ...         recorder.log("learn", "mnist", accuracy=accuracy)
    ...     recorder.log("evaluate", "mnist", accuracy=0.8)
    >>> len(perdure.read("recorded/sgd-0").scenario.blocks)
    2
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = weakref.proxy(journal)  # a cache of recorders by journal must not keep a journal open
        self._block = -1
        self._experience = 0
        self._at: tuple[str, str] | None = None

    def begin(self, mode: str, task: str) -> None:
        """Open a block: mode is "learn", "evaluate", or "probe" for an evaluation inside a learning block."""
        if mode not in TYPES:
            raise RecordError(f"mode is {mode!r}", f"expected {join_words([*map(repr, TYPES)], 'or')}")
        self._block += 1
        self._at = (mode, task)

    def log(self, mode: str, task: str, params: Mapping[str, Any] | None = None, /, **values: Any) -> None:
        """Write one experience, with its task's parameters; open a new block if mode or task changed."""
        if (mode, task) != self._at:
            self.begin(mode, task)
        self._journal.log(
            block_num=self._block,
            exp_num=self._experience,
            block_type=TYPES[cast("Mode", mode)],
            task_name=task,
            task_params=params,
            **values,
        )
        self._experience += 1
