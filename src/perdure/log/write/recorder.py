"""Recorder: a journal that counts blocks and experiences by itself, for loops and callbacks that do not."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perdure.errors import RecordError

if TYPE_CHECKING:
    from perdure.log.write.journal import Journal


class Recorder:
    """Where a lifetime stands: which task is learned or evaluated, and how many records there are.

    A block lasts while mode and task stay the same; `begin` opens one of the same kind anew.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = weakref.proxy(journal)  # whoever keeps recorders by journal keeps no journal open
        self._block = -1
        self._experience = 0
        self._at: tuple[str, str] | None = None

    def begin(self, mode: str, task: str) -> None:
        """Open a block: mode is "learn" or "evaluate"."""
        if mode not in ("learn", "evaluate"):
            raise RecordError(f"mode is {mode!r}", "expected 'learn' or 'evaluate'")
        self._block += 1
        self._at = (mode, task)

    def log(self, mode: str, task: str, params: Mapping[str, Any] | None = None, /, **values: Any) -> None:
        """Write one experience, with its task's parameters; a new block is opened where mode or task changed."""
        if (mode, task) != self._at:
            self.begin(mode, task)
        self._journal.log(
            block_num=self._block,
            exp_num=self._experience,
            block_type="train" if mode == "learn" else "test",
            task_name=task,
            task_params=params,
            **values,
        )
        self._experience += 1
