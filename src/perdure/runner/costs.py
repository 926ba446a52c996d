"""Measure what a lifetime costs while it runs: seconds of the learner and of its environment, and memory."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from perdure.log.rules import COST_COLUMNS

_ACT, _LEARN, _ENVIRONMENT, _ = COST_COLUMNS
_OTHER = "other"
_EVERY_S = 0.1  # memory is read ten times a second, because that takes longer than writing a record


class Costs:
    """Seconds since the last record, by what spent them, and the memory of this process.

    A learner that Perdure leads is timed in each call. The time of one that owns its loop is what remains: it learns in
    learning blocks, and acts in the others.
    """

    def __init__(self) -> None:
        import psutil  # type: ignore[import-untyped]

        self._spent = dict.fromkeys((_ACT, _LEARN, _ENVIRONMENT, _OTHER), 0.0)
        self._logged = dict(self._spent)
        self._began = perf_counter()
        self._leads = False
        self._process = psutil.Process()
        self._memory_mb, self._read_at = 0.0, float("-inf")

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, the time of which counts as `part`."""
        self._leads |= part != _ENVIRONMENT
        spent = self._spent

        def call(*arguments: Any) -> Any:
            began = perf_counter()
            try:
                return function(*arguments)
            finally:
                spent[part] += perf_counter() - began

        return call

    def settle(self, learning: bool | None = None) -> None:
        """Count the remaining time as the learner's, if it owns its loop in a block that is `learning` or not."""
        part = _OTHER
        if learning is not None and not self._leads:
            part = _LEARN if learning else _ACT
        self._spent[part] += perf_counter() - self._began - sum(self._spent.values())

    def columns(self) -> dict[str, float]:
        """Return the columns of the next record."""
        parts = (_ACT, _LEARN, _ENVIRONMENT)
        seconds = [round(self._spent[part] - self._logged[part], 6) for part in parts]
        self._logged = dict(self._spent)
        if perf_counter() - self._read_at > _EVERY_S:
            self._memory_mb, self._read_at = round(self._process.memory_info().rss / 1e6, 1), perf_counter()
        return dict(zip(COST_COLUMNS, (*seconds, self._memory_mb), strict=True))
