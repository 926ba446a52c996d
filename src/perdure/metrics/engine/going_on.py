"""Going on with a metric while a life is being written: what it gave at places whose blocks have ended is kept."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.curves.beside import Beside
from perdure.curves.model import Curve, Curves, Expert
from perdure.curves.twin import Twin
from perdure.metrics.engine.measured import Gathered, Result
from perdure.metrics.engine.metric import Context, Metric
from perdure.scenario.sites import Key, Site

__all__ = ["Begun"]

_Results = tuple[Result, ...] | None


@dataclass
class _Read:
    """What one metric gave in blocks that have ended, of a life that is being written."""

    sites: tuple[Site, ...]
    """The first sites, all of whose blocks have ended; `gathered` holds what they gave, and `results` each of it."""
    places: list[tuple[int, ...]]
    results: list[_Results]
    gathered: Gathered
    others: dict[Key, tuple[Site, _Results]]
    """Sites of ended blocks behind one that is not: those of all blocks of a task, told task by task."""
    changes: int
    """How often ranges had changed by then."""


_LOCAL = (Curve, Beside, tuple[Curve, ...], Expert, tuple[Expert, ...], Site, Context, Twin)
"""The roles that are built from the blocks of a site alone, a twin where there is none."""


class Begun:
    """Where to go on with a metric in a life that is being written; in any other life, at its beginning."""

    def __init__(self, metric: Metric, curves: Curves, found: tuple[Site, ...]) -> None:
        local = all(kind in _LOCAL for kind in metric.roles.values()) and curves.twin is None
        self.kept = curves.prepared.found if local else None
        """Where it is kept; None where nothing is."""
        self.gathered = Gathered()
        self.count = 0
        """How many of the first sites are gathered already."""
        self._metric, self._found, self._blocks = metric, found, curves.scenario.blocks
        self.places: list[tuple[Site, tuple[int, ...]]] = []
        """Further sites whose blocks have ended, to be gathered again because a range has changed."""
        self._places: list[tuple[int, ...]] = []
        self._results: list[_Results] = []
        self._others: dict[Key, tuple[Site, _Results]] = {}
        self._gathered = True  # whether all sites so far have ended
        self._before: _Read | None = None
        self._moved: frozenset[str] = frozenset()
        self._touched: frozenset[int] = frozenset()
        if self.kept is None:
            return
        moved = curves.prepared.moved
        self._changes = max(moved.values(), default=0)
        before: _Read | None = self.kept.get(metric)
        if before is not None and found[: len(before.sites)] == before.sites:
            self._before = before
            self._moved = frozenset(task for task, when in moved.items() if when > before.changes)
            if self._moved:
                self.places = list(zip(before.sites, before.places, strict=True))
                asked = (self._moved, len(self._blocks))
                if self.kept.get(Begun, (None,))[0] != asked:  # the same for all metrics
                    self.kept[Begun] = (
                        asked,
                        frozenset(at for at, one in enumerate(self._blocks) if one.task in self._moved),
                    )
                self._touched = self.kept[Begun][1]
            else:
                self.gathered, self.count = before.gathered, len(before.sites)
                self._places, self._results = before.places, before.results

    def _ended(self, site: Site, place: tuple[int, ...]) -> bool:
        """Whether nothing that the site is read from can change but the scale: its blocks, and its task's experts."""
        ended = bool(place) and place[-1] < len(self._blocks) - 1
        return ended and (site.task is not None or not self._metric.expert)

    def before(self, site: Site, place: tuple[int, ...], gathered: Gathered) -> Gathered:
        """What is added to next: what is kept, until a site comes that has not ended."""
        if not self._gathered or len(self._results) < len(self.places) or self._ended(site, place):
            return gathered
        self._gathered = False
        self.gathered = gathered
        return gathered.copied()

    def known(self, site: Site, place: tuple[int, ...]) -> _Results:
        """What the site gave before, if it is the same still and on the same scale."""
        if self._before is None or not self._touched.isdisjoint(place):
            return None
        if self._moved and self._metric.expert and site.task in self._moved:
            return None
        at = len(self._results)
        if self._gathered and at < len(self._before.results):
            return self._before.results[at]
        other, results = self._before.others.get(site.key, (None, None))
        return results if other == site else None

    def note(self, site: Site, place: tuple[int, ...], results: _Results) -> None:
        """What a site gave, or that it lacks an expert."""
        if self._gathered:
            self._results.append(results)
            self._places.append(place)
        elif self._ended(site, place):
            self._others[site.key] = site, results

    def keep(self) -> None:
        """Keep what the sites gave whose blocks have ended."""
        assert self.kept is not None
        sites = self._found[: len(self._results)]
        kept = _Read(sites, self._places, self._results, self.gathered, self._others, self._changes)
        self.kept[self._metric] = kept

    def forget(self) -> None:
        """Keep nothing: a formula failed on the way."""
        if self.kept is not None:
            self.kept.pop(self._metric, None)
