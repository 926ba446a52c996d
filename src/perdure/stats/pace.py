"""How long experiences take, by the timestamps of lives that were lived."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from perdure.errors import PerdureError
from perdure.lazy import pl
from perdure.log.model import TIMESTAMP_FORMAT, Lifetime
from perdure.log.read import find, read

_CHRONO_FORMAT = TIMESTAMP_FORMAT.replace(".%f", "%.f")  # the same, as Polars spells it


def pace_of(folders: Iterable[str | os.PathLike[str]]) -> float | None:
    """How long the experiences of the lives in these folders took; what cannot be read does not count."""

    def readable() -> Iterator[Lifetime]:
        for one in (one for folder in map(Path, folders) if folder.is_dir() for one in find(folder)):
            with suppress(PerdureError):
                yield read(one)

    return seconds_per_experience(readable())


def seconds_per_experience(lifetimes: Iterable[Lifetime]) -> float | None:
    """The time from first to last record over the experiences between them, all lives together.

    None where no life has two timestamps that differ. Evaluation counts as learning does: a life has both.
    """
    seconds, intervals = 0.0, 0
    for lived in lifetimes:
        times = lived.experiences["timestamp"].str.to_datetime(_CHRONO_FORMAT, strict=False).drop_nulls()
        span = times.max(), times.min()
        if times.len() < 2 or span[0] is None or span[1] is None or span[0] == span[1]:
            continue
        seconds += (span[0] - span[1]).total_seconds()  # type: ignore[operator, union-attr]
        intervals += lived.experiences.select(pl.struct("block_num", "exp_num").n_unique()).item() - 1
    return seconds / intervals if intervals else None
