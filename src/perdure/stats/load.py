"""Scored lifetimes from whatever is given: folders of logs, which are scored, or scores made before."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from perdure.metrics.many import score_many
from perdure.metrics.settings import Settings
from perdure.stats.model import Pool
from perdure.stats.sources import is_score_file, pool_of, read_score_file

__all__ = ["load_pool"]


def load_pool(
    path: str | os.PathLike[str],
    experts: Sequence[str | os.PathLike[str]] = (),
    settings: Settings | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Pool:
    """The scored lifetimes at `path`: a JSON or table of scores as it is, logs scored as `settings` say."""
    place, settings = Path(path), settings or Settings()
    if is_score_file(place):
        return read_score_file(place, settings.metrics, settings.margins)
    return pool_of(score_many([place], experts, settings, progress=progress), place.resolve().name)
