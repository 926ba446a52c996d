"""Which experts serve which lifetime: those given serve all, those found in a run folder serve that run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from perdure.curves.experts import Experts, joined, read_experts
from perdure.frozen import replace
from perdure.log.model import Lifetime
from perdure.log.read import Options

__all__ = ["OwnExpert", "Serving", "idle", "read_own", "run_of"]


class OwnExpert(NamedTuple):
    """An expert that was found among lifetimes."""

    path: str
    run: Path | None
    """The run folder, or file of several lifetimes, whose lifetimes alone it serves."""
    surplus: frozenset[str] = frozenset()
    """The experts in a file of several that the protocol of its run does not plan."""

    def without(self, names: frozenset[str]) -> OwnExpert:
        """The same file without these of its experts."""
        return self._replace(surplus=names)


_DEFAULTS = Options()


def run_of(path: Path) -> Path | None:
    """The run folder that a lifetime or an expert lies in: the one whose `lives/` or `experts/` holds it."""
    for folder in path.resolve().parents:
        if folder.name == "lives" or (folder.name in ("experts", "twins") and (folder.parent / "lives").is_dir()):
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
        found: Iterable[OwnExpert] = (),
        options: Options = _DEFAULTS,
    ) -> None:
        self._options = options
        self._found: dict[Path | None, list[OwnExpert]] = {}
        for one in found:
            self._found.setdefault(one.run, []).append(one)
        # What is wrong with a path that was given is an error of the call, and raised at once.
        given = tuple(given)
        paths = [one for one in given if not isinstance(one, Lifetime)]
        read = read_experts([*paths, *(one.path for one in self._found.pop(None, ()))], options)
        at_hand = [one for one in given if isinstance(one, Lifetime)]
        twins = tuple(one for one in at_hand if one.role == "twin")
        self._to_all = joined(Experts(tuple(one for one in at_hand if one.role != "twin"), twins=twins), read)
        self._to_run: dict[Path | None, Experts] = {}

    def of(self, run: Path | None) -> Experts:
        """The experts of a lifetime in the run folder `run`, or in none."""
        if run not in self._to_run:
            own = self._found.get(run)
            self._to_run[run] = joined(self._to_all, read_own(own, self._options)) if own else self._to_all
        return self._to_run[run]

    def everywhere(self) -> tuple[Lifetime, ...]:
        """Every expert there is, of every run."""
        found = {id(one): one for run in (None, *self._found) for one in self.of(run).lifetimes}
        return tuple(found.values())


def read_own(found: Iterable[OwnExpert], options: Options) -> Experts:
    """Read experts that were found among lifetimes, without those that the protocol of their run does not plan."""
    surplus = {one.path: one.surplus for one in found}
    read = read_experts(surplus, options)

    def planned(experts: Iterable[Lifetime]) -> tuple[Lifetime, ...]:
        return tuple(one for one in experts if one.inside not in surplus.get(str(one.path), ()))

    return replace(read, lifetimes=planned(read.lifetimes), twins=planned(read.twins))


def idle(found: Iterable[OwnExpert], runs: Iterable[Path | None]) -> tuple[tuple[str, str], ...]:
    """The experts found in run folders that are none of `runs`, so that they serve nothing, and why."""
    alive = set(runs)
    return tuple(
        (path, f"{path}: an expert of {run}, but no lifetime of that run is scored; give it by --experts to use it")
        for path, run, _ in found
        if run is not None and run not in alive
    )
