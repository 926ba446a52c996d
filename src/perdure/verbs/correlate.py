"""correlate: which metrics go together over lifetimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.survey import Frame, Source
from perdure.settings import Settings
from perdure.verbs.logs import Logs, surveyed

if TYPE_CHECKING:
    from perdure.metrics.declare import Threshold
    from perdure.metrics.score import Score
    from perdure.stats.correlate import Correlations


def correlate(
    logs: Logs,
    experts: Source | Sequence[Source] | Frame = (),
    settings: Settings | None = None,
    *,
    across: bool = False,
) -> Correlations:
    """Rank correlations between metrics over all lifetimes given; `across` pools protocols and measures too."""
    from perdure.stats.correlate import Correlations
    from perdure.stats.correlate import correlate as correlations
    from perdure.stats.groups import check_pool_across, left_out_of, split, usable

    settings = Settings.given_or_default(settings)
    pool = surveyed(logs, experts, settings)
    lives, partial = usable(pool.scores)
    if settings.group:
        lives = tuple(life for part in split(lives, settings.group).values() for life in part)
    check_pool_across(lives, widely=across)
    found = correlations(lives, _answered(settings.ids, pool.bars, lives))
    left_out = (*pool.left_out, *left_out_of(pool.scores, partial))
    return Correlations(found, len(lives), lives[0].preset if lives else pool.preset, left_out)


def _answered(ids: Sequence[str], bars: Mapping[str, Threshold], lives: Sequence[Score]) -> Sequence[str]:
    """The metrics to correlate: those asked for, else those that some lifetime answered."""
    for name in ids:
        if name not in bars:
            raise UnknownNameError("metric of these scores", name, bars)
    chosen = ids or _valued(bars, lives)
    if len(chosen) < 2:
        raise PerdureError(
            f"a correlation needs two metrics that have values (found: {', '.join(chosen) or 'none'})",
            "name two or more with --metrics, or score more of them",
        )
    return chosen


def _valued(bars: Mapping[str, Threshold], lives: Sequence[Score]) -> list[str]:
    """The metrics with a threshold that some lifetime has a value of; all that have values where none has one."""
    valued = [name for name in bars if any(life.value(name) is not None for life in lives)]
    return [name for name in valued if bars[name].threshold is not None] or valued
