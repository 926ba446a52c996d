"""run: a protocol from end to end: each learner run, all of them scored beside each other, and reported."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perdure.errors import ProtocolError
from perdure.lazy import pl
from perdure.results import Tabular
from perdure.runner.engines.work import Tell
from perdure.runner.plan import Shard
from perdure.runner.protocol import Protocol, parse_protocols, read_protocols
from perdure.runner.runner import PreparedRun, RunResult, prepare_run
from perdure.settings import Settings
from perdure.stats.groups import GroupedSurvey
from perdure.text import listed, plural
from perdure.verbs.protocol import few_experts, settings_of, unanswered

if TYPE_CHECKING:
    from perdure.gather.model import Survey
    from perdure.stats.model import Group


_REPORT = "report.html"


class PreparedProtocol(Tabular, Struct, frozen=True, eq=False, dict=True):
    """A protocol that can be run: each learner's run, and how all of them will be scored. Nothing was run yet."""

    into: str
    runs: tuple[PreparedRun, ...]
    settings: Settings
    """How its lifetimes will be scored."""
    in_part: bool = False
    """Whether the rest is left to others or to later; a part is not scored."""

    def __repr__(self) -> str:
        missing = sum(len(one.missing) for one in self.runs)
        return f"PreparedProtocol({self.name!r}, {listed(self.titles)}, {missing} to run)"

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[PreparedRun]:
        return iter(self.runs)

    @property
    def name(self) -> str:
        """What the protocol is called."""
        return self.runs[0].plan.protocol.name

    @property
    def titles(self) -> tuple[str, ...]:
        """The learners' names, in the order in which they are run."""
        return tuple(one.plan.protocol.title for one in self.runs)

    @cached_property
    def unanswered(self) -> dict[str, list[str]]:
        """For each scenario, which learners share, the metrics with a threshold that it cannot answer."""
        return unanswered(self.runs[0].plan, self.settings)

    def few_experts(self, run: PreparedRun) -> str:
        """What a run's number of experts keeps from being decided, in words; nothing where it suffices."""
        return few_experts(run.plan.protocol, self.settings)

    def table(self) -> pl.DataFrame:
        """One row per life, expert and twin of each learner: how long it is, from which seed, whether it is missing."""
        return _beside(self.titles, self.runs)

    def as_json(self) -> dict[str, Any]:
        """The plan as one JSON object, as `perdure run --dry-run --json` writes it."""
        facts = [
            {**run.as_json(), "unanswered": self.unanswered, "few_experts": self.few_experts(run) or None}
            for run in self.runs
        ]
        if len(facts) == 1:
            return facts[0]
        return {"protocol": self.name, "learners": dict(zip(self.titles, facts, strict=True))}

    def evaluated(self, results: Sequence[RunResult], *, score: bool = True) -> Evaluation:
        """What the runs came to: what is finished is scored, and reported where that is new."""
        finished = [one.folder.path for one in results if one.finished_lives]
        if self.in_part or not score or not finished:
            return Evaluation(self, tuple(results))
        from perdure.gather.survey import survey
        from perdure.reports import thin_lifetime
        from perdure.stats.groups import groups

        found = survey(finished, settings=self.settings, look=thin_lifetime)
        scored = GroupedSurvey(found, groups(found))
        return Evaluation(self, tuple(results), scored, self._reported(found, new=any(one.lived for one in results)))

    def _reported(self, found: Survey, *, new: bool) -> str:
        """Return where the report is; it is written where lifetimes are new, or there is none."""
        from perdure.reports import write_report

        page = Path(self.into) / _REPORT
        if new or not page.exists():
            write_report(found, page, title=f"{self.name}: {listed(self.titles)}")
        return str(page)


class Evaluation(Tabular, Struct, frozen=True, eq=False):
    """What a protocol came to: the run of each learner, and what they scored beside each other."""

    prepared: PreparedProtocol
    runs: tuple[RunResult, ...] = ()
    """One per learner; none where nothing was to be run."""
    scored: GroupedSurvey | None = None
    """None where there is nothing to score, or only a part was run."""
    report: str | None = None
    """Where the report is; None where nothing was scored."""

    def __repr__(self) -> str:
        counts = [plural(len(self.runs), "learner"), f"{len(self.lived)} lived", f"{len(self.failed)} failed"]
        return f"Evaluation({self.prepared.name!r}, {', '.join(counts)}, {len(self.missing)} missing)"

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[RunResult]:
        return iter(self.runs)

    @property
    def survey(self) -> Survey | None:
        """The lifetimes of all learners, scored."""
        return None if self.scored is None else self.scored.survey

    @property
    def groups(self) -> tuple[Group, ...]:
        """What each learner's lifetimes come to, by scenario type."""
        return () if self.scored is None else self.scored.groups

    @property
    def lived(self) -> tuple[str, ...]:
        """What was lived now, by its place below the folder that was named; empty where everything was there."""
        return tuple(self._named(run, name) for run in self.runs for name in run.lived)

    @property
    def failed(self) -> dict[str, str]:
        """What could not be lived, and why."""
        return {self._named(run, name): why for run in self.runs for name, why in run.failed.items()}

    @property
    def missing(self) -> tuple[str, ...]:
        """What is still to be lived."""
        return tuple(self._named(run, name) for run in self.runs for name in run.missing)

    @property
    def whole(self) -> bool:
        """Whether nothing failed, nothing is missing that was asked for, and nothing was left out of the score."""
        left_out = self.survey is not None and self.survey.left_out
        return not self.failed and (self.prepared.in_part or not self.missing) and not left_out

    def table(self) -> pl.DataFrame:
        """One row per life, expert and twin of each learner: whether it is finished, and why it failed; or the plan."""
        return _beside(self.prepared.titles, self.runs) if self.runs else self.prepared.table()

    def as_json(self) -> dict[str, Any]:
        """All of it as one JSON object, as `perdure run --json` writes it; before it was run, the plan."""
        facts = self.prepared.as_json()
        if len(self.prepared) == 1:
            score = {"score": None if self.scored is None else self.scored.as_json()} if self.runs else {}
            return {**facts, **{name: fact for run in self.runs for name, fact in run.as_json().items()}, **score}
        for title, run in zip(self.prepared.titles, self.runs, strict=False):
            facts["learners"][title].update(run.as_json())
        if self.survey is None:
            return facts
        left_out = [{"path": path, "why": why} for path, why in self.survey.left_out]
        return {**facts, "score": [group.as_json() for group in self.groups], "left_out": left_out}

    def _named(self, run: RunResult, name: str) -> str:
        return name if len(self.runs) == 1 else f"{run.plan.protocol.title}/{name}"


def _beside(titles: Sequence[str], runs: Sequence[Tabular]) -> pl.DataFrame:
    """The tables of several learners under each other, each with its learner's name."""
    return pl.concat(
        run.table().select(pl.lit(title).alias("learner"), pl.all()) for title, run in zip(titles, runs, strict=True)
    )


def prepare_protocol(
    protocol: Protocol | Mapping[str, Any] | str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    learner: str | None = None,
    workers: int | None = None,
    only: str | Sequence[str] = (),
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    engine: str = "local",
    address: str | None = None,
    shard: Shard | str | None = None,
    accept_changed_learner: bool = False,
) -> PreparedProtocol:
    """Look at all that `run` needs, which takes the same, and refuse what could not be run."""
    beside: tuple[Path, ...] = ()
    if isinstance(protocol, Protocol):
        if learner is not None:
            raise ProtocolError(
                f"learner={learner!r} for a protocol that has its learner",
                "give its file or its content",
                file=protocol.place,
            )
        found: tuple[Protocol, ...] = (protocol,)
    elif isinstance(protocol, Mapping):
        found = parse_protocols(protocol, learner=learner)
    else:
        found, beside = read_protocols(Path(protocol), learner), (Path(protocol).resolve().parent,)
    if workers is not None and workers < 0:
        raise ProtocolError(f"{workers} workers", "give 1 or more processes, or 0 for this one")
    only = (only,) if isinstance(only, str) else only  # one id is a list of one, not of its letters
    paths = (paths,) if isinstance(paths, str | os.PathLike) else paths
    settings, place = settings_of(found[0]), os.fspath(into)
    runs = tuple(
        prepare_run(
            one,
            place if len(found) == 1 else f"{place.rstrip('/')}/{one.title}",
            workers=workers,
            only=only,
            paths=(*beside, *map(Path, paths)),
            engine=engine,
            address=address,
            shard=shard,
            accept_changed_learner=accept_changed_learner,
        )
        for one in found
    )
    return PreparedProtocol(place, runs, settings, in_part=bool(only) or shard is not None)


def run(
    protocol: Protocol | Mapping[str, Any] | str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    learner: str | None = None,
    workers: int | None = None,
    only: str | Sequence[str] = (),
    tell: Tell | None = None,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    engine: str = "local",
    address: str | None = None,
    shard: Shard | str | None = None,
    accept_changed_learner: bool = False,
    score: bool = True,
) -> Evaluation:
    """Live what is missing of a protocol's lives and experts, score them, and write a report, as `perdure run` does.

    A protocol is a TOML file's path, or its content; each of several learners has a folder of its own, named after
    it, in `into`. `learner` takes the place of those that the protocol names.
    `workers` is the number of processes, one per core by default; 0 lives everything in this process.
    `engine` is where: "local"; "ray" for the cluster at `address`, at RAY_ADDRESS, or one started here, where `workers`
    is how many may be lived at once, by default as many as there is room for; or "batched", all lives in one program,
    for learners that can.
    `only` are ids or patterns of them. Modules of one's own are found beside the protocol, in the
    current folder, and in `paths`. With `shard` ("2/16"), only that part is lived; several may share the folder
    at once, one shard each. A part is not scored, and nothing is with `score=False`.
    An unfinished lifetime whose learner's code changed starts again from its seed; with `accept_changed_learner` it
    continues. `tell` hears of what happens. One learner's failure is not the others': see `Evaluation.failed`.
    """
    prepared = prepare_protocol(
        protocol,
        into,
        learner=learner,
        workers=workers,
        only=only,
        paths=paths,
        engine=engine,
        address=address,
        shard=shard,
        accept_changed_learner=accept_changed_learner,
    )
    return prepared.evaluated([run.live(tell) for run in prepared.runs], score=score)
