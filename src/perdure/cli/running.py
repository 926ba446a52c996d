"""What `run` and `demo` show: the plan before, the workers while they work, what failed after."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perdure.cli.terminal import echo

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.table import Table

    from perdure.cli.console import Console
    from perdure.runner.engines.work import Event
    from perdure.runner.plan import Job, RunPlan
    from perdure.runner.runner import PreparedRun, RunResult
    from perdure.stats.model import Estimate, Group
    from perdure.verbs.run import Evaluation, PreparedProtocol


_ENOUGH_S = 2.0  # to judge a speed by
_MOST_BARS = 8  # of a cluster's lifetimes; the others share them
_STEPS = 10  # lines of progress, where no bar can be drawn


def live_shown(
    console: Console, run: PreparedRun, *, quiet: bool, brief: bool = False, prepared: PreparedProtocol | None = None
) -> RunResult:
    """Live what a run misses: the plan before, the workers while they work, what failed and what is odd after."""
    if not quiet:
        show_plan(console, run, brief=brief, prepared=prepared)
    with _resumable(run), progress_of(run.missing, run.workers, quiet=quiet) as tell:
        result = run.live(tell)
    _show_result(console, result)
    if not quiet and prepared is not None and run.is_finished:
        console.print(f"  {run.into}: everything is already finished; nothing was run")
    return result


def show_plan(
    console: Console, run: PreparedRun, *, brief: bool = False, prepared: PreparedProtocol | None = None
) -> None:
    """Print what will be run: learner, scenarios, lifetimes, experts, experiences; scenarios unless `brief`.

    And, where the whole of it is `prepared`, what will have no answer.
    """
    from rich.markup import escape

    from perdure.scenario.draw import lifetime_legend, lifetime_line

    plan, missing, protocol, lives = run.plan, run.missing, run.plan.protocol, run.plan.lives
    console.print(f"[bold]{escape(protocol.name)}[/]: {escape(protocol.title)}, {cost_of((plan,))}", soft_wrap=True)
    for scenario in () if brief else protocol.scenarios:
        life = next(job for job in lives if job.scenario == scenario.name)
        size = f"{_many(len(life.syllabus.scenario.blocks), 'block')}, {_many(life.experiences, 'experience')}"
        console.print(f"  {escape(scenario.name)}: {_many(protocol.lifetimes, 'lifetime')} of {size}")
        console.print("  ", lifetime_line(life.syllabus.scenario, 70), end="\n")
    if not brief:
        console.print("  ", lifetime_legend(lives[0].syllabus.scenario))
    if plan.pre_deployment is not None:
        console.print(f"  pre-deployment: {plan.pre_deployment.experiences:,} experiences, once")
    by = "on a cluster" if run.workers is None else f"with {_many(max(run.workers, 1), 'worker')}"
    size = _many(sum(job.experiences for job in missing), "experience")
    console.print(f"  {len(missing):,} of {len(plan.jobs):,} to run" + (f", {size}, {by}" if missing else ""))
    for name, metrics in prepared.unanswered.items() if prepared else ():
        if metrics:
            console.print(f"  {name} cannot measure {', '.join(metrics)} (see perdure lint)", style="yellow")
    if prepared and (few := prepared.few_experts(run)):
        console.print(f"  {few}", style="yellow", soft_wrap=True)


def _show_result(console: Console, result: RunResult) -> None:
    """Each lifetime that failed, why, and where its traceback is; and what is odd about the others."""
    from rich.markup import escape

    for identity, why in result.failed.items():
        place = result.folder.place(result.plan.job(identity)) / "traceback.txt"
        where = f" (see {place})" if place.exists() else ""
        console.print(f"[red]failed[/] {identity}: {escape(why)}{escape(where)}", soft_wrap=True)
    if result.stopped is not None:
        console.print(f"[red]stopped[/] {escape(result.stopped)}", soft_wrap=True)
    for note in result.notes:
        console.print(f"[yellow]note[/] {escape(note)}", soft_wrap=True)


def show_removed(found: Evaluation) -> None:
    """Say on stderr which lifetimes were removed after their learner's run, as while the next learner ran."""
    from perdure.runner.runner import gone_after_its_end

    for run in found if not found.prepared.in_part else ():
        if run.stopped is None:
            for identity in run.missing:
                if identity not in run.failed:
                    echo(f"perdure: {gone_after_its_end(run.folder.place(run.plan.job(identity)))}", err=True)


@contextmanager
def _resumable(run: PreparedRun) -> Iterator[None]:
    """Where it is stopped by a signal, say what is left and how to go on, and end with the signal's status."""
    from perdure.stopping import Stopped

    try:
        yield
    except (KeyboardInterrupt, Stopped) as stop:
        left = sum(not run.folder.is_finished(job) for job in run.plan.jobs)
        echo(
            f"perdure: stopped; {left} left to run in {run.into}. Finished results are kept; "
            "run the same command again to continue",
            err=True,
        )
        raise SystemExit(stop.code if isinstance(stop, Stopped) else 130) from None


def cost_of(plans: Sequence[RunPlan]) -> str:
    """What protocols cost, in words: lifetimes, experts, twins, and the experiences of all."""
    kinds = ("lives", "experts", "twins")
    lives, experts, twins = ([job for plan in plans for job in getattr(plan, kind)] for kind in kinds)
    here, beside, again = (sum(job.experiences for job in jobs) for jobs in (lives, experts, twins))
    each = {plan.protocol.experts for plan in plans}
    per = f" ({each.pop()} per task)" if experts and len(each) == 1 else ""
    share = f", {beside:,} of them by experts" if experts else ""
    counted = [_many(len(lives), "lifetime"), _many(len(experts), "expert") + per]
    counted += [_many(len(twins), "twin")] if twins else []
    return f"{', '.join(counted[:-1])} and {counted[-1]}: {here + beside + again:,} experiences{share}"


@contextmanager
def progress_of(jobs: Sequence[Job], workers: int | None, *, quiet: bool) -> Iterator[Callable[[Event], None]]:
    """What is to be told of events: one bar per worker and one for all, on stderr, where a person may be looking."""
    if quiet or not jobs:
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from perdure.cli.console import Console

    columns = (TextColumn("{task.description:<24}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    left = (TimeRemainingColumn(), TextColumn("left"))
    console = Console(stderr=True, highlight=False)
    with Progress(*columns, *left, console=console, transient=True, disable=_unseen()) as bar:
        bars = _Bars(bar, console, jobs, _MOST_BARS if workers is None else workers)
        yield bars.tell
    bars.end()


class _Bars:
    def __init__(self, bar: Progress, console: Console, jobs: Sequence[Job], workers: int) -> None:
        self._bar = bar
        self._console = console
        self._jobs = {job.id: job for job in jobs}
        self._done = dict.fromkeys(self._jobs, 0)
        self._finished: set[str] = set()
        self._failed: set[str] = set()
        self._total = sum(job.experiences for job in jobs)
        self._began = time.monotonic()
        self._started: float | None = None
        self._done_by_then = 0
        self._step = 0
        self._all: TaskID = bar.add_task(self._counted(), total=self._total)
        self._workers = [bar.add_task("", total=None, visible=False) for _ in range(max(1, min(workers, len(jobs))))]

    def tell(self, event: Event) -> None:
        job = self._jobs.get(event.id)
        if event.kind == "waiting":
            self._console.print(event.why, style="yellow", soft_wrap=True)
        if event.kind == "note":
            self._console.print(*event.notes, sep="\n", style="yellow", markup=False, soft_wrap=True)
        if job is None:
            return
        if event.kind == "progress":
            self._done[event.id] = event.done
        elif event.kind in ("done", "failed"):
            self._done[event.id] = job.experiences
            (self._finished if event.kind == "done" else self._failed).add(event.id)
        if event.kind == "failed":
            self._console.print(f"[red]failed[/] {event.id}:", event.why, markup=True, soft_wrap=True)
        mine = self._workers[event.worker % len(self._workers)]
        self._bar.update(
            mine, description=event.id, completed=self._done[event.id], total=job.experiences, visible=True
        )
        self._bar.update(self._all, completed=sum(self._done.values()), description=self._counted())
        if self._bar.disable:
            self._say_progress()

    def end(self) -> None:
        """Say what was finished, and how long it took."""
        failed = f", {len(self._failed):,} failed" if self._failed else ""
        self._console.print(f"{self._counted()}{failed}, {duration(time.monotonic() - self._began)}")

    def _counted(self) -> str:
        return f"{len(self._finished):,} of {len(self._jobs):,} finished"

    def _say_progress(self) -> None:
        """A line for each further tenth, with the time left, where a bar cannot be drawn: in a file, on a cluster."""
        now, so_far = time.monotonic(), sum(self._done.values())
        if self._started is None:  # only now: until here processes were starting
            self._started, self._done_by_then = now, so_far
        passed, step = now - self._started, so_far * _STEPS // max(self._total, 1)
        if step <= self._step or passed < _ENOUGH_S or not self._done_by_then < so_far < self._total:
            return
        self._step = step
        left = duration((self._total - so_far) * passed / (so_far - self._done_by_then))
        self._console.print(f"{self._counted()}, {so_far / self._total:.0%}, about {left} left".replace("%", " %"))


def show_beside(console: Console, groups: Sequence[Group], metrics: Sequence[str] = ()) -> None:
    """The groups beside each other, metric by metric, each with its interval; the headline metrics unless named."""
    from rich.markup import escape

    from perdure.cli.tables import columns, widest
    from perdure.metrics.presets import headline
    from perdure.stats.sentences import MARKS
    from perdure.text import plural

    named = [escape(str(group.learner)) for group in groups]
    rows = [["", *named]]
    rows += [[metric, *(_cell(group.estimates[metric]) for group in groups)] for metric in metrics or headline()]
    marks = ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
    title = f"Means over {plural(groups[0].n, 'lifetime')}, with 95 % intervals ({marks})"

    def table(cells: Sequence[Sequence[str]]) -> Table:
        made = columns(title, cells[0][:1], cells[0][1:])
        for row in cells[1:]:
            made.add_row(*row)
        return made

    # The groups beside each other where they fit, else the metrics.
    console.print(widest(console, (table(cells) for cells in (rows, list(zip(*rows, strict=True))))))


def _cell(one: Estimate) -> str:
    from perdure.stats.sentences import MARKS
    from perdure.text import interval, number

    mark = f" {MARKS[one.verdict]}" if one.verdict else ""
    spread = "" if one.low is None else f" [{interval(one.low, one.high, ', ')}]"
    return number(one.mean, one.width) + spread + mark


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def _unseen() -> bool:
    return not sys.stderr.isatty()
