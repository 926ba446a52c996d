"""A run folder elsewhere: what a URL names, worked on in a copy here, and brought up to date as blocks end."""

from __future__ import annotations

import atexit
import os
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from perdure.errors import LogError
from perdure.log.remote import is_url, opened_url
from perdure.run.engines.shipping import Outbox
from perdure.run.engines.work import Event, Tell
from perdure.run.folder import RunFolder
from perdure.run.plan import Job

__all__ = ["Away", "away_of", "brought", "home_of"]

_NOT_OFTENER_S = 5.0
_TRIES = 4
_STOP_PATIENCE_S = 2.0
_MINE_ALONE = (".run/lock", ".run/output/")


def home_of(into: str | os.PathLike[str]) -> Path:
    """The folder here in which a run is worked on: `into` itself, or the copy that stands for a URL."""
    away = away_of(into)
    return Path(into) if away is None else away.home


def away_of(into: str | os.PathLike[str]) -> Away | None:
    """The run folder that a URL names, fetched once per process; None for a path."""
    return _fetched(os.fspath(into)) if is_url(into) else None


@cache
def _fetched(url: str) -> Away:
    return Away(url)


class Away:
    """A run folder at a URL, and its copy here, which is gone with this process."""

    def __init__(self, url: str, *, fetched: bool = True) -> None:
        self.url, self._files, self._at = opened_url(url)
        held = tempfile.mkdtemp(prefix="perdure-run-")
        atexit.register(shutil.rmtree, held, ignore_errors=True)
        self.home = Path(held) / (self._at.rstrip("/").rpartition("/")[2] or "run")
        self.home.mkdir()
        if fetched:
            self._try("read", self._fetch)

    def _fetch(self) -> None:
        self._files.invalidate_cache()
        if not self._files.exists(self._at):
            return
        for source in self._files.find(self._at):
            relative = source.removeprefix(self._at).lstrip("/")
            if relative.startswith(_MINE_ALONE) or ".." in Path(relative).parts:
                continue
            target = self.home / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            self._files.get_file(source, str(target))

    def has(self, relative: str) -> bool:
        """Whether a file of this name is there."""
        found: list[bool] = []
        self._try("read", lambda: found.append(bool(self._files.exists(f"{self._at}/{relative}"))))
        return found[-1]

    def bring(self, files: Iterable[Path]) -> None:
        """Bring single files of the copy there."""
        for file in files:
            if file.is_file():
                self.put(file.relative_to(self.home).as_posix(), file.read_bytes())

    def put(self, relative: str, content: bytes | None) -> None:
        """Make this a file's content there; None removes it."""
        place = f"{self._at}/{relative}"

        def act() -> None:
            if content is not None:
                self._files.pipe_file(place, content)
            elif self._files.exists(place):
                self._files.rm_file(place)

        self._try("written to", act)

    def _try(self, what: str, act: Callable[[], None]) -> None:
        for left in reversed(range(_TRIES)):
            try:
                return act()
            except Exception as problem:  # a file system of a stranger may raise anything
                if not left or isinstance(problem, PermissionError | FileNotFoundError):
                    said = (str(problem).splitlines() or [""])[0] or type(problem).__name__
                    raise LogError(
                        f"cannot be {what} ({said})",
                        "check the address and your credentials, and run again",
                        file=self.url,
                    ) from problem
                time.sleep(2.0 ** (_TRIES - 1 - left) / 2)
        return None


@contextmanager
def brought(away: Away | None, jobs: Sequence[Job], tell: Tell) -> Iterator[tuple[Tell, Mapping[str, str]]]:
    """Bring these lives there while they are lived: who is to be told of it, and what could not be brought, and why."""
    if away is None:
        yield tell, {}
        return
    away.bring([away.home / "protocol.json"])
    keeper = _Keeper(away, jobs, tell)
    try:
        yield keeper.tell, keeper.failed
    except BaseException:
        keeper.end(soon=True)
        raise
    keeper.end()
    if keeper.failed:
        _fetched.cache_clear()  # the copy here is not what is there


class _Keeper:
    """Listens to a run, and brings what is new of its lives to where they belong, in a thread of its own."""

    def __init__(self, away: Away, jobs: Sequence[Job], tell: Tell) -> None:
        folder = RunFolder(away.home)
        self._away, self._tell = away, tell
        self._outboxes = {job.id: Outbox(folder, job) for job in jobs}
        self._brought: dict[str, float] = {}
        self._wanted: queue.SimpleQueue[tuple[str, bool] | None] = queue.SimpleQueue()
        self.failed: dict[str, str] = {}
        """What was lived and could not be brought there, and why."""
        self._thread = threading.Thread(target=self._work, name="perdure-away", daemon=True)
        self._thread.start()

    def tell(self, event: Event) -> None:
        """Note what happened, and pass it on."""
        over = event.kind in ("done", "failed")
        now = time.monotonic()
        if event.id in self._outboxes and (over or now - self._brought.get(event.id, now) > _NOT_OFTENER_S):
            self._wanted.put((event.id, over))
        if over or event.id not in self._brought or now - self._brought[event.id] > _NOT_OFTENER_S:
            self._brought[event.id] = now
        self._tell(event)

    def end(self, *, soon: bool = False) -> None:
        """Wait until everything is there, or only a moment."""
        self._wanted.put(None)
        self._thread.join(_STOP_PATIENCE_S if soon else None)

    def _work(self) -> None:
        while (wanted := self._wanted.get()) is not None:
            identity, over = wanted
            try:
                self._bring(identity, over)
            except Exception as problem:
                if over:  # a life under way is brought again with its next block
                    self.failed[identity] = str(problem)

    def _bring(self, identity: str, over: bool) -> None:
        held: list[bytes] = []
        for path, _, content, ends in self._outboxes[identity].pieces(over=over):
            held += [] if content is None else [content]
            if ends:
                self._away.put(path, None if content is None else b"".join(held))
                held = []
