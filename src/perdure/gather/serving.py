"""Which experts serve which lifetime: those given serve all, those found in a run folder serve that run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from perdure.curves.experts import Experts, joined, read_experts
from perdure.log.model import Lifetime

__all__ = ["Serving", "idle", "run_of"]


def run_of(path: Path) -> Path | None:
    """The run folder that a lifetime or an expert lies in: the one whose `lives/` or `experts/` holds it."""
    for folder in path.resolve().parents:
        if folder.name == "lives" or (folder.name == "experts" and (folder.parent / "lives").is_dir()):
            return folder.parent
    return None


class Serving:
    """Experts that are read once each, handed to the lifetimes that may be measured against them.

    Another learner's experts say nothing about this one, so experts found in a run folder serve the
    lifetimes of that run alone. Those that were `given`, and those found in no run folder, serve all.
    """

    def __init__(
        self,
        given: Iterable[str | os.PathLike[str] | Lifetime] = (),
        found: Iterable[str | os.PathLike[str]] = (),
        *,
        cache: bool = True,
    ) -> None:
        self._cache = cache
        self._paths: dict[Path | None, list[str | os.PathLike[str]]] = {}
        for path in found:
            self._paths.setdefault(run_of(Path(path)), []).append(path)
        # What is wrong with a path that was given is an error of the call, and raised at once.
        given = tuple(given)
        paths = [one for one in given if not isinstance(one, Lifetime)]
        read = read_experts([*paths, *self._paths.pop(None, ())], cache=cache)
        self._to_all = joined(Experts(tuple(one for one in given if isinstance(one, Lifetime))), read)
        self._to_run: dict[Path | None, Experts] = {}

    def of(self, run: Path | None) -> Experts:
        """The experts of a lifetime in the run folder `run`, or in none."""
        if run not in self._to_run:
            own = self._paths.get(run)
            self._to_run[run] = joined(self._to_all, read_experts(own, cache=self._cache)) if own else self._to_all
        return self._to_run[run]


def idle(found: Iterable[Path], runs: Iterable[Path | None]) -> tuple[tuple[str, str], ...]:
    """The experts found in run folders that are none of `runs`, so that they serve nothing, and why."""
    alive = set(runs)
    return tuple(
        (str(path), f"{path}: an expert of {run}, of which no lifetime is scored; give it by --experts to serve all")
        for path in found
        if (run := run_of(path)) is not None and run not in alive
    )
