"""What `run` and `demo` show: the plan before, the workers while they work, what failed after."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from perdure.errors import PerdureError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.progress import Progress, TaskID

    from perdure.cli.console import Console
    from perdure.gather.model import Survey
    from perdure.run.engines.work import Event
    from perdure.run.folder import RunFolder
    from perdure.run.plan import Job, Plan
    from perdure.run.protocol import Protocol
    from perdure.run.runner import RunResult
    from perdure.settings import Settings

__all__ = [
    "cost_of",
    "duration",
    "expert_gap",
    "plan_facts",
    "progress_of",
    "reported",
    "resumable",
    "scored_by",
    "show_failures",
    "show_notes",
    "show_plan",
    "unanswered",
]

_ENOUGH_S = 2.0  # to judge a speed by
_MOST_BARS = 8  # of a cluster's lives; the others share them


def plan_facts(plan: Plan, missing: Sequence[Job]) -> dict[str, Any]:
    """The plan for a machine."""
    protocol = plan.protocol
    return {
        "protocol": protocol.name,
        "digest": protocol.digest,
        "learner": protocol.title,
        "scenarios": [one.name for one in protocol.scenarios],
        "lifetimes": protocol.lifetimes,
        "lives": len(plan.lives),
        "experts": len(plan.experts),
        "experts_per_task": protocol.experts,
        "twins": len(plan.twins),
        "experiences": sum(job.experiences for job in plan.jobs),
        "missing": [job.id for job in missing],
        "seeds": {job.id: {"seed": job.seed, **job.seeds.as_json()} for job in plan.jobs},
    }


def show_plan(
    console: Console, plan: Plan, missing: Sequence[Job], workers: int | None, *, brief: bool = False
) -> None:
    """Say what will be lived: learner, scenarios, lives, experts, experiences; scenarios are drawn unless `brief`."""
    from rich.markup import escape

    from perdure.scenario.draw import lifetime_legend, lifetime_line

    protocol, lives = plan.protocol, plan.lives
    console.print(f"[bold]{escape(protocol.name)}[/]: {escape(protocol.title)} in {cost_of((plan,))}", soft_wrap=True)
    for scenario in () if brief else protocol.scenarios:
        life = next(job for job in lives if job.scenario == scenario.name)
        size = f"{len(life.syllabus.scenario.blocks)} blocks, {life.experiences:,} experiences"
        console.print(f"  {escape(scenario.name)}: {_many(protocol.lifetimes, 'life', 'lives')} of {size}")
        console.print("  ", lifetime_line(life.syllabus.scenario, 70), end="\n")
    if not brief:
        console.print("  ", lifetime_legend(lives[0].syllabus.scenario))
    if plan.pre_deployment is not None:
        console.print(f"  pre-deployment: {plan.pre_deployment.experiences:,} experiences, once")
    there = len(plan.jobs) - len(missing)
    if there:
        console.print(f"  {there} of {len(plan.jobs)} are there already")
    if missing:
        by = "on a cluster" if workers is None else f"by {_many(max(workers, 1), 'worker')}"
        console.print(f"  {_many(len(missing), 'is', 'are')} to be lived, {by}")


def cost_of(plans: Sequence[Plan]) -> str:
    """What protocols cost, in words: lives, experts, twins, and the experiences of all."""
    kinds = ("lives", "experts", "twins")
    lives, experts, twins = ([job for plan in plans for job in getattr(plan, kind)] for kind in kinds)
    here, beside, again = (sum(job.experiences for job in jobs) for jobs in (lives, experts, twins))
    each = {plan.protocol.experts for plan in plans}
    per = f" ({each.pop()} per task)" if experts and len(each) == 1 else ""
    share = f", {beside:,} of them the experts'" if experts else ""
    counted = [_many(len(lives), "life", "lives"), _many(len(experts), "expert") + per]
    counted += [_many(len(twins), "twin")] if twins else []
    return f"{', '.join(counted[:-1])} and {counted[-1]}, {here + beside + again:,} experiences{share}"


def expert_gap(protocol: Protocol, settings: Settings) -> str:
    """What a protocol's number of experts keeps from being decided, in words; nothing where it suffices."""
    from perdure.metrics.engine.presets import preset
    from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS
    from perdure.stats.decide import STANDARD

    metrics = preset(settings.preset).metrics.values()
    beside = [one.name for one in metrics if one.expert and one.threshold is not None]
    if not beside or protocol.experts >= FEW_EXPERTS:
        return ""
    here, which = _many(protocol.experts, "expert") + " per task", " and ".join(beside)
    if not protocol.experts:
        return f"no experts: {which} will have no value; {FEW_EXPERTS} per task are run where none are named"
    if settings.preset != STANDARD:
        return ""  # papers take experts as constants
    if protocol.experts < TOO_FEW_EXPERTS:
        least = f"from {TOO_FEW_EXPERTS} there is one, from {FEW_EXPERTS} unflagged"
        return f"{here}: too few for a verdict on {which}; {least}"
    return f"{here}: a verdict on {which} will be flagged 'few experts'; from {FEW_EXPERTS} it is not"


def scored_by(protocol: Protocol) -> Settings:
    """How a protocol's lives are scored; what is wrong with that is said before any is lived."""
    from perdure.metrics.engine.score import Scorer
    from perdure.settings import Settings

    settings = Settings(**protocol.score, origins=dict.fromkeys(protocol.score, "protocol"))
    try:
        Scorer(settings)
    except PerdureError as problem:
        raise PerdureError(f"{protocol.name}: [score]: {problem}") from problem
    return settings


def unanswered(plan: Plan, settings: Settings) -> dict[str, list[str]]:
    """For each scenario, the metrics with a threshold that it cannot answer."""
    from perdure.metrics.engine.presets import preset
    from perdure.scenario.lint import lint

    metrics = [metric for metric in preset(settings.preset).metrics.values() if metric.threshold is not None]
    found: dict[str, list[str]] = {}
    for scenario in plan.protocol.scenarios:
        life = next(job for job in plan.lives if job.scenario == scenario.name)
        report = lint(life.syllabus, metrics=metrics, variants=settings.variants or "name")
        found[scenario.name] = [name for name, one in report.metrics.items() if one.sites == 0]
    return found


@contextmanager
def progress_of(jobs: Sequence[Job], workers: int | None, *, quiet: bool) -> Iterator[Callable[[Event], None]]:
    """What is to be told of events: one bar per worker and one for all, on stderr, where a person may be looking."""
    if quiet or not jobs:
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from perdure.cli.console import Console

    columns = (TextColumn("{task.description:<24}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    console = Console(stderr=True, highlight=False)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=_unseen()) as bar:
        yield _Bars(bar, console, jobs, _MOST_BARS if workers is None else workers).tell


class _Bars:
    def __init__(self, bar: Progress, console: Console, jobs: Sequence[Job], workers: int) -> None:
        self._bar = bar
        self._console = console
        self._jobs = {job.id: job for job in jobs}
        self._done = dict.fromkeys(self._jobs, 0)
        self._total = sum(job.experiences for job in jobs)
        self._started: float | None = None
        self._done_by_then = 0
        self._estimated = False
        self._all: TaskID = bar.add_task(f"{len(jobs)} to live", total=self._total)
        self._workers = [bar.add_task("", total=None, visible=False) for _ in range(max(1, min(workers, len(jobs))))]

    def tell(self, event: Event) -> None:
        job = self._jobs.get(event.id)
        if event.kind == "waiting":
            self._console.print(event.why, style="yellow", soft_wrap=True)
        if job is None:
            return
        if event.kind == "progress":
            self._done[event.id] = event.done
            self._estimate(job, event.done)
        elif event.kind in ("done", "failed"):
            self._done[event.id] = job.experiences
        if event.kind == "failed":
            self._console.print(f"[red]failed[/] {event.id}:", event.why, markup=True, soft_wrap=True)
        mine = self._workers[event.worker % len(self._workers)]
        self._bar.update(
            mine, description=event.id, completed=self._done[event.id], total=job.experiences, visible=True
        )
        self._bar.update(self._all, completed=sum(self._done.values()))

    def _estimate(self, job: Job, done: int) -> None:
        """Once the first block of any life is over, say how long all of it will take."""
        now, so_far = time.monotonic(), sum(self._done.values())
        if self._started is None:  # only now: until here processes were starting
            self._started, self._done_by_then = now, so_far
        passed = now - self._started
        first = job.syllabus.scenario.blocks[0].length or 1
        if self._estimated or done < first or passed < _ENOUGH_S:
            return
        self._estimated = True
        rate = (so_far - self._done_by_then) / passed
        if rate > 0:
            self._console.print(f"about {duration(self._total / rate)} in all, by what was lived so far")


@contextmanager
def resumable(into: Path | str, folder: RunFolder, plan: Plan) -> Iterator[None]:
    """Where it is stopped by a signal, say what is left and how to go on, and end with the signal's status."""
    import typer

    from perdure.stopping import Stopped

    try:
        yield
    except (KeyboardInterrupt, Stopped) as stop:
        left = sum(not folder.is_finished(job) for job in plan.jobs)
        typer.echo(
            f"perdure: stopped; {left} still to be lived in {into}. Nothing that was finished is lost: "
            "the same command goes on from here",
            err=True,
        )
        raise typer.Exit(stop.code if isinstance(stop, Stopped) else 130) from None


def reported(result: RunResult, surveyed: Survey) -> Path:
    """Write what the lives show to report.html in the run folder."""
    from perdure.report import write_report

    to = result.folder.path / "report.html"
    protocol = result.plan.protocol
    title = f"{protocol.name}: {protocol.title}"
    try:
        write_report(surveyed, to, title=title)
    except OSError as problem:
        why = problem.strerror or problem
        raise PerdureError(f"{to}: the disk refuses the report: {why}; make room, and run again") from problem
    return to


def show_failures(console: Console, result: RunResult) -> None:
    """Each life that failed, why, and where its traceback is."""
    from rich.markup import escape

    for identity, why in result.failed.items():
        place = result.folder.place(result.plan.job(identity)) / "traceback.txt"
        where = f" (see {place})" if place.exists() else ""
        console.print(f"[red]failed[/] {identity}: {escape(why)}{escape(where)}", soft_wrap=True)
    if result.stopped is not None:
        console.print(f"[red]stopped[/] {escape(result.stopped)}", soft_wrap=True)


def show_notes(console: Console, result: RunResult) -> None:
    """What is odd about the lives that were lived."""
    from rich.markup import escape

    for note in result.notes:
        console.print(f"[yellow]note[/] {escape(note)}", soft_wrap=True)


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def _unseen() -> bool:
    return not sys.stderr.isatty()
