"""One lifetime that is followed: how far it is, what it waits for, and what looks wrong."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from perdure.errors import PerdureError
from perdure.frozen import frozen
from perdure.gather.find import Found
from perdure.gather.model import Life
from perdure.log.formats.l2logger import BLOCKS_FILE, ended
from perdure.log.manifest import MANIFEST, measures_of, object_in
from perdure.metrics.engine.metric import Metric
from perdure.scenario.model import Block, Scenario
from perdure.stats.model import Verdict
from perdure.watch.tail import BlockSoFar, Tail

__all__ = ["QUIET_S", "Followed", "Progress", "waits_for"]

_ENOUGH_S = 2.0  # to judge a speed by
QUIET_S = 60.0
"""What does not grow for so long is no longer said to run."""


@frozen
class Progress:
    """How far one lifetime is, in words and numbers that a page or a terminal can show."""

    id: str
    state: str
    """running, quiet, done, failed, waiting, or gone."""
    done: int
    total: int | None
    block: str
    left_s: float | None
    per_s: float | None = None
    """Experiences a second, while it runs."""
    warnings: tuple[str, ...] = ()
    learner: str | None = None
    seed: int | None = None
    values: Mapping[str, float | None] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """Metric → what the lifetime's own spread decides so far."""
    waits: Mapping[str, str] = field(default_factory=dict)
    """Metric → what it waits for."""


class Followed:
    """One lifetime that is followed."""

    def __init__(self, found: Found, now: float, measure: str | None = None) -> None:
        self.found = found
        self.path = found.path
        self.id = found.identity.id
        self.version = 0
        self.told: Life | None = None
        self.told_blocks = -1
        self.told_rows = -1
        self.problem: str | None = None
        self.manifest: Mapping[str, Any] = {}
        self.tail: Tail | None = None
        self._measure = measure
        self._first = self._last = (now, 0)
        self._planned: Scenario | None = None
        self._waits: dict[str, str] | None = None
        self._ended: tuple[tuple[int, int], bool] = ((-1, -1), False)
        self._never: tuple[tuple[int, int], list[str]] = ((-1, 0), [])
        self.told_at = 0.0

    @property
    def over(self) -> bool:
        """Whether the lifetime reached its end; its ledger is read again only when it has changed."""
        try:
            state = (self.path / BLOCKS_FILE).stat()
        except OSError:
            return False
        mark = (state.st_size, state.st_mtime_ns)
        if self._ended[0] != mark:
            self._ended = (mark, ended(self.path))
        return self._ended[1]

    @property
    def blocks(self) -> int:
        """How many blocks were begun; one more once the lifetime has ended."""
        begun = len(self.tail.blocks) if self.tail else 0
        return begun + (1 if begun and self.over else 0)

    def due(self, now: float) -> bool:
        """Whether there is a block that no score knows of yet, or it rests and records came since the last one.

        What has no ledger, or lost its worker, never says that it ended: its last block would stay as it began.
        """
        if self.tail is None or self.tail.behind or self.blocks < 2:
            return False
        return self.blocks != self.told_blocks or (self.rests(now) and self.tail.rows != self.told_rows)

    def look(self, now: float) -> bool:
        """Read what is new; whether anything is."""
        try:
            if self.tail is None and not self._open():
                return False
            assert self.tail is not None
            resets = self.tail.resets
            grew = self.tail.look()
        except Exception as problem:  # whatever is wrong with this log, the others are looked at
            self.problem = str(problem) or type(problem).__name__
            return False
        if self.tail.resets > resets:
            self.told_blocks = -1
        if grew:
            if self._first[1] == 0 or self.tail.behind:  # what was there before says nothing of its speed
                self._first = (now, self.tail.rows)
                now -= max(0.0, time.time() - self.tail.written)  # its worker may have died long ago
            self._last = (now, self.tail.rows)
            self.version += 1
        return grew

    def _open(self) -> bool:
        """Find out what is measured; a log whose header files are not written yet is looked at again later."""
        try:
            manifest = object_in(self.path / MANIFEST) if (self.path / MANIFEST).exists() else {}
            measures = measures_of(self.path, manifest)
        except PerdureError as problem:
            self.problem = str(problem)
            return False
        self.manifest, self.problem = manifest, None
        self.tail = Tail(self.path, self._measure if self._measure in measures else next(iter(measures)))
        return True

    @property
    def planned(self) -> Scenario | None:
        """The scenario that the manifest announces, where it does."""
        if self._planned is None:
            scenario = self.manifest.get("scenario")
            blocks = scenario.get("blocks") if isinstance(scenario, Mapping) else None
            try:
                made = [
                    Block(one["mode"], one["task"], one["length"], subtype=one.get("subtype", "wake"))
                    for one in blocks or ()
                ]
                self._planned = Scenario.of(self.id, made)
            except (KeyError, TypeError, AttributeError):
                self._planned = Scenario.of(self.id, [])
        return self._planned if self._planned.blocks else None

    def progress(self, now: float, metrics: Mapping[str, Metric]) -> Progress:
        """Where the lifetime stands."""
        blocks = self.tail.ordered() if self.tail else []
        done = sum(one.count for one in blocks)
        total = self._total()
        over = self.over
        state = self._state(now, over, bool(blocks))
        speed = self._speed() if state == "running" else None
        score = self.told.score if self.told else None
        values = {name: one.value for name, one in score.metrics.items()} if score else {}
        if self._waits is None:
            self._waits = waits_for(self.planned, metrics)
        waits = {} if over else {name: why for name, why in self._waits.items() if values.get(name) is None}
        return Progress(
            id=self.id,
            state=state,
            done=done,
            total=total,
            block=_block_words(blocks, over),
            left_s=max(0, total - done) / speed if total is not None and speed else None,
            per_s=speed,
            warnings=tuple(self._warnings(blocks, state, now)),
            learner=self.manifest.get("learner"),
            seed=self.manifest.get("seed"),
            values=values,
            waits=waits,
        )

    def _total(self) -> int | None:
        lengths = [block.length for block in self.planned.blocks] if self.planned else []
        return sum(length or 0 for length in lengths) if lengths and None not in lengths else None

    def _state(self, now: float, over: bool, begun: bool) -> str:
        if not self.path.is_dir():
            return "gone"
        if over:
            return "done"
        if (self.path / "traceback.txt").exists():
            return "failed"
        if not begun:
            return "waiting"
        return "quiet" if self.rests(now) else "running"

    def rests(self, now: float) -> bool:
        """Whether no record came for so long that it is no longer said to run."""
        return now - self._last[0] > QUIET_S

    def _speed(self) -> float | None:
        seconds, rows = self._last[0] - self._first[0], self._last[1] - self._first[1]
        return rows / seconds if seconds >= _ENOUGH_S and rows > 0 else None

    def _warnings(self, blocks: Sequence[BlockSoFar], state: str, now: float) -> list[str]:
        found: list[str] = []
        if self.problem:
            found.append(self.problem)
        if state == "failed":
            found.append("the learner raised an exception: see traceback.txt")
        if state == "quiet":
            found.append(f"no record for {now - self._last[0]:.0f} s; its worker may have died")
        if state == "gone":
            found.append("its folder was removed")
        if self.tail and self.tail.resets:
            found.append("the log was cut short or replaced, and read again")
        begun = (len(blocks), self.tail.resets if self.tail else 0)
        if self._never[0] != begun:  # what ended does not change
            self._never = (begun, self._never_learned(blocks))
        never = self._never[1]
        if never:
            found.append(f"never learned so far: {', '.join(never)}")
        return found

    def _never_learned(self, blocks: Sequence[BlockSoFar]) -> list[str]:
        """Tasks whose learning blocks, ended and long enough to say, all end no better than they began."""
        better = (
            -1.0 if self.manifest.get("measures", {}).get(self.tail.measure if self.tail else "") == "lower" else 1.0
        )
        gained: dict[str, bool] = {}
        for one in blocks[:-1]:
            if one.mode == "learn" and one.count >= 20:
                _, values = one.bins.line()
                tenth = max(1, len(values) // 10)
                ahead = better * float(values[-tenth:].mean() - values[:tenth].mean())
                gained[one.task] = gained.get(one.task, False) or ahead > 0
        return [task for task, learned in gained.items() if not learned]


def waits_for(planned: Scenario | None, metrics: Mapping[str, Metric]) -> dict[str, str]:
    """For each metric that has a threshold, the block of the planned scenario that gives its first site."""
    waits: dict[str, str] = {}
    for name, metric in metrics.items():
        if metric.threshold is None:
            continue
        if planned is None:
            waits[name] = metric.needs
            continue
        sites = [[at for blocks in site.blocks.values() for at in blocks] for site in metric.sites(planned)]
        places = [max(blocks) for blocks in sites if blocks]
        if not places:
            waits[name] = f"cannot be answered here: needs {metric.needs}"
            continue
        block = planned.blocks[min(places)]
        word = "evaluation" if block.mode == "evaluate" else "learning"
        expert = " and an expert" if metric.expert else ""
        waits[name] = (
            f"waits for block {min(places)} (the last is {len(planned.blocks) - 1}), {word} of {block.task}{expert}"
        )
    return waits


def _block_words(blocks: Sequence[BlockSoFar], over: bool) -> str:
    """The last block and what goes on in it, numbered from 0 as in the logs."""
    if not blocks:
        return "nothing logged yet"
    last = blocks[-1]
    if over:
        return f"ended after block {last.number}"
    word = "learning" if last.mode == "learn" else "evaluating"
    return f"block {last.number}: {word} {last.task}" + (" (asleep)" if last.subtype == "sleep" else "")
