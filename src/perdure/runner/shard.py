"""Shard: one part of a run that several machines share, as `2/16`, the second of sixteen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

from msgspec import Struct

from perdure.errors import ProtocolError
from perdure.runner.plan import Job, Plan

__all__ = ["Shard"]

_MOST = 100_000


class Shard(Struct, frozen=True):
    """Part `number`, from 1 on, of `count`."""

    number: int
    count: int

    @classmethod
    def of(cls, text: str) -> Self:
        """The shard that `2/16` names."""
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        number, count = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= count <= _MOST:
            raise ProtocolError(f"--shard is {text!r}", "expected a part and a count, from 1/16 to 16/16")
        return cls(number, count)

    def part_of(self, plan: Plan, jobs: Sequence[Job]) -> tuple[Job, ...]:
        """Those of `jobs` that are this shard's: every `count`-th of the whole plan, so that all shards are alike."""
        mine = {job.id for job in plan.jobs[self.number - 1 :: self.count]}
        return tuple(job for job in jobs if job.id in mine)
