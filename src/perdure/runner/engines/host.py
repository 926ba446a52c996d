"""Host: lives one job on some machine of a cluster, in a watched process and a folder that is gone afterwards."""

from __future__ import annotations

import os
import queue
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from perdure.log.write.manifest import write_object
from perdure.runner.engines.local import run_in_workers
from perdure.runner.engines.shipping import Outbox, Piece, unpack
from perdure.runner.engines.work import Event, Work
from perdure.runner.folder import RunFolder
from perdure.runner.plan import Job, Plan

__all__ = ["Host", "Told"]

Told = tuple[str, int, str | None, tuple[str, ...]]
"""An event on its way home: its kind, how many experiences were lived, why, and notes."""

_AT_MOST = 4  # pieces in one answer
_NOT_SOONER_S = 0.3  # than the answer before


class Host:
    """Asked again and again by who is at home: what happened, and which files are new."""

    def __init__(
        self,
        root: Path,
        document: Mapping[str, Any],
        identity: str,
        luggage: Mapping[str, bytes],
        paths: Sequence[str],
        accept_changed_learner: bool,
    ) -> None:
        self._events: queue.SimpleQueue[Told] = queue.SimpleQueue()
        self._asked = 0.0
        self._stop = threading.Event()
        folder = RunFolder(root / "run")
        (folder.path / ".run").mkdir(parents=True)
        write_object(folder.path / "protocol.json", document)
        unpack(luggage, folder.path)
        job = Plan(folder.protocol()).job(identity)
        self._outbox = Outbox(folder, job)
        self._pieces: Iterator[Piece] = iter(())
        places = [root / "code", *(Path(one) for one in paths if os.path.isdir(one))]
        work = Work(
            folder, self._tell, 1, places, accept_changed_learner=accept_changed_learner, stopped=self._stop.is_set
        )
        self._thread = threading.Thread(target=self._live, args=(job, work), daemon=True)
        self._thread.start()

    def hear(self, patience_s: float) -> tuple[list[Told], list[Piece], bool]:
        """What happened since, the next pieces of new files, and whether that is all there will be."""
        time.sleep(max(0.0, self._asked + _NOT_SOONER_S - time.monotonic()))
        end = time.monotonic() + patience_s
        while True:
            lives = self._thread.is_alive()
            pieces = list(islice(self._pieces, _AT_MOST))
            if not pieces and (self._outbox.has_news() or not lives):
                self._pieces = self._outbox.pieces(over=not lives)
                pieces = list(islice(self._pieces, _AT_MOST))
            # How a life ended is said once everything has gone out.
            events = [] if pieces and not lives else list(_taken(self._events))
            over = not lives and not pieces
            if events or pieces or over or time.monotonic() > end:
                self._asked = time.monotonic()
                return events, pieces, over
            time.sleep(0.05)

    def stop(self) -> None:
        """End what is lived."""
        self._stop.set()
        self._thread.join(3.5)

    def _tell(self, event: Event) -> None:
        self._events.put((event.kind, event.done, event.why, event.notes))

    def _live(self, job: Job, work: Work) -> None:
        try:
            run_in_workers([job], work)
        except BaseException:
            self._events.put(("failed", 0, f"its host failed: {traceback.format_exc().strip()}", ()))


def _taken(events: queue.SimpleQueue[Told]) -> Iterator[Told]:
    while True:
        try:
            yield events.get_nowait()
        except queue.Empty:
            return
