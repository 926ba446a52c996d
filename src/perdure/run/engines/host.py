"""Host: lives one job on some machine of a cluster, in a watched process and a folder that is gone afterwards.

This module travels as it is, and knows nothing of Perdure until `begin` has unpacked what was sent: a machine
needs the libraries that Perdure and the learner stand on, and need not have either.
"""

from __future__ import annotations

import os
import queue
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

__all__ = ["Host"]

_AT_MOST = 4  # pieces in one answer
_NOT_SOONER_S = 0.3  # than the answer before


class Host:
    """Asked again and again by who is at home: what happened, and which files are new."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._asked = 0.0
        self._stop = threading.Event()

    def begin(
        self,
        code: Mapping[str, bytes],
        document: Mapping[str, Any],
        identity: str,
        luggage: Mapping[str, bytes],
        paths: Sequence[str],
        here: str,
    ) -> str:
        """Unpack, and begin to live; the name of this machine is given back."""
        import platform

        _sweep()
        self._root = Path(tempfile.mkdtemp(prefix=f"perdure-life-{os.getpid()}-"))
        for relative, content in code.items():
            target = self._root / "code" / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        sys.path.insert(0, str(self._root / "code"))
        if os.path.isdir(here):  # a checkout that was copied here, or a drive that all machines see
            os.chdir(here)

        from perdure.log.write.manifest import write_object
        from perdure.run.engines.shipping import Outbox, unpack
        from perdure.run.folder import RunFolder
        from perdure.run.plan import Plan

        folder = RunFolder(self._root / "run")
        (folder.path / ".run").mkdir(parents=True)
        write_object(folder.path / "protocol.json", document)
        unpack(luggage, folder.path)
        job = Plan(folder.protocol()).job(identity)
        self._outbox = Outbox(folder, job)
        self._pieces: Iterator[Any] = iter(())
        places = [self._root / "code", *(Path(one) for one in paths if os.path.isdir(one))]
        self._thread = threading.Thread(target=self._live, args=(folder, job, places), daemon=True)
        self._thread.start()
        return platform.node()

    def hear(self, patience_s: float) -> tuple[list[tuple[Any, ...]], list[Any], bool]:
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
            if over:
                self._remove()
            if events or pieces or over or time.monotonic() > end:
                self._asked = time.monotonic()
                return events, pieces, over
            time.sleep(0.05)

    def stop(self) -> None:
        """End what is lived, and leave nothing behind."""
        self._stop.set()
        self._thread.join(3.5)
        self._remove()

    def _remove(self) -> None:
        os.chdir("/")
        shutil.rmtree(self._root, ignore_errors=True)

    def _live(self, folder: Any, job: Any, paths: Sequence[Path]) -> None:
        from perdure.run.engines.local import live_in_workers
        from perdure.run.engines.work import Event, Work

        def tell(event: Event) -> None:
            self._events.put((event.kind, event.done, event.why, event.notes))

        try:
            live_in_workers([job], Work(folder, tell, workers=1, paths=paths, stopped=self._stop.is_set))
        except BaseException:
            self._events.put(("failed", 0, f"its host failed: {traceback.format_exc().strip()}", ()))


def _taken(events: queue.SimpleQueue[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    while True:
        try:
            yield events.get_nowait()
        except queue.Empty:
            return


def _sweep() -> None:
    """Remove what hosts left that were killed."""
    for place in Path(tempfile.gettempdir()).glob("perdure-life-*-*"):
        number = place.name.split("-")[2]
        if number.isdecimal() and place.stat().st_uid == os.getuid() and not _runs(int(number)):
            shutil.rmtree(place, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
