"""Show a run: its plan, the progress of its workers, its failures, and the scores of its learners."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from perdure.cli.console import Console, print_table
from perdure.cli.terminal import echo
from perdure.stopping import Stopped
from perdure.tables import Column, Table
from perdure.text import interval, number, plural

if TYPE_CHECKING:
    from perdure.evaluation import Evaluation, PreparedProtocol
    from perdure.runner.engines import Event
    from perdure.runner.plan import Job, RunPlan
    from perdure.runner.runner import PreparedRun, RunResult
    from perdure.stats.model import Estimate, Group


_ENOUGH_S = 2.0  # before a speed is estimated
_MOST_BARS = 8  # of a cluster's lifetimes, which share them
_STEPS = 10  # lines of progress without a terminal


def run_with_progress(
    console: Console, run: PreparedRun, *, quiet: bool, brief: bool = False, prepared: PreparedProtocol | None = None
) -> RunResult:
    """Run what is missing: show the plan first, then the workers' progress, then failures and notes."""
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
    """Print the learner, the scenarios (unless `brief`) and the cost of a run.

    With `prepared`, also print what will have no answer.
    """
    from perdure.scenario.draw import lifetime_legend, lifetime_line

    plan, missing, protocol, lives = run.plan, run.missing, run.plan.protocol, run.plan.lives
    console.print(f"[bold]{escape(protocol.name)}[/]: {escape(protocol.title)}, {cost_of((plan,))}", soft_wrap=True)
    for scenario in () if brief else protocol.scenarios:
        life = next(job for job in lives if job.scenario == scenario.name)
        size = f"{_count(len(life.syllabus.scenario.blocks), 'block')}, {_count(life.experiences, 'experience')}"
        console.print(f"  {escape(scenario.name)}: {_count(protocol.lifetimes, 'lifetime')} of {size}")
        console.print("  ", lifetime_line(life.syllabus.scenario, 70), end="\n")
    if not brief:
        console.print("  ", lifetime_legend(lives[0].syllabus.scenario))
    if plan.pre_deployment is not None:
        console.print(f"  pre-deployment: {plan.pre_deployment.experiences:,} experiences, once")
    by = "on a cluster" if run.workers is None else f"with {_count(max(run.workers, 1), 'worker')}"
    size = _count(sum(job.experiences for job in missing), "experience")
    console.print(f"  {len(missing):,} of {len(plan.jobs):,} to run" + (f", {size}, {by}" if missing else ""))
    for name, metrics in prepared.unanswered.items() if prepared else ():
        if metrics:
            console.print(f"  {name} cannot measure {', '.join(metrics)} (see perdure lint)", style="magenta")
    if prepared and (few := prepared.few_experts(run)):
        console.print(f"  {few}", style="magenta", soft_wrap=True)


def cost_of(plans: Sequence[RunPlan]) -> str:
    """Return the lifetimes, experts, twins and experiences of protocols as text."""
    lives, experts, twins = (
        [job for plan in plans for job in getattr(plan, kind)] for kind in ("lives", "experts", "twins")
    )
    each = {plan.protocol.experts for plan in plans}
    per_task = f" ({each.pop()} per task)" if experts and len(each) == 1 else ""
    counts = [_count(len(lives), "lifetime"), _count(len(experts), "expert") + per_task]
    counts += [_count(len(twins), "twin")] if twins else []
    by_experts = sum(job.experiences for job in experts)
    total = sum(job.experiences for job in (*lives, *experts, *twins))
    share = f", {by_experts:,} of them by experts" if experts else ""
    return f"{', '.join(counts[:-1])} and {counts[-1]}: {total:,} experiences{share}"


def _show_result(console: Console, result: RunResult) -> None:
    """Print each lifetime that failed, with the reason and the file of its traceback, and the run's notes."""
    for identity, why in result.failed.items():
        traceback = result.folder.place(result.plan.job(identity)) / "traceback.txt"
        see = f" (see {traceback})" if traceback.exists() else ""
        console.print(f"[red]failed[/] {identity}: {escape(why)}{escape(see)}", soft_wrap=True)
    if result.stopped is not None:
        console.print(f"[red]stopped[/] {escape(result.stopped)}", soft_wrap=True)
    for note in result.notes:
        console.print(f"[magenta]note[/] {escape(note)}", soft_wrap=True)


def show_removed(evaluation: Evaluation) -> None:
    """Print on stderr the lifetimes that were removed after their learner's run, while the next learner ran."""
    from perdure.runner.runner import gone_after_its_end

    for run in evaluation if not evaluation.prepared.in_part else ():
        if run.stopped is None:
            for identity in run.missing:
                if identity not in run.failed:
                    echo(f"perdure: {gone_after_its_end(run.folder.place(run.plan.job(identity)))}", err=True)


@contextmanager
def _resumable(run: PreparedRun) -> Iterator[None]:
    """If a signal stops the run, print how to continue, and exit with the signal's status."""
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


@contextmanager
def progress_of(jobs: Sequence[Job], workers: int | None, *, quiet: bool) -> Iterator[Callable[[Event], None]]:
    """Yield a callback for events, which draws one bar per worker and one for all on stderr."""
    if quiet or not jobs:
        yield lambda _: None
        return

    columns = (TextColumn("{task.description:<24}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    left = (TimeRemainingColumn(), TextColumn("left"))
    console = Console(stderr=True)
    with Progress(*columns, *left, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        bars = _Bars(bar, console, jobs, _MOST_BARS if workers is None else workers)
        yield bars.tell
    bars.end()


class _Bars:
    """The progress of a run: bars on a terminal, else a line for each tenth."""

    def __init__(self, bar: Progress, console: Console, jobs: Sequence[Job], workers: int) -> None:
        self._bar = bar
        self._console = console
        self._jobs = {job.id: job for job in jobs}
        self._done = dict.fromkeys(self._jobs, 0)
        self._ends: dict[str, str] = {}  # id → "done" or "failed"
        self._total = sum(job.experiences for job in jobs)
        self._began = time.monotonic()
        self._first: tuple[float, int] | None = None  # time and experiences when the workers had started
        self._step = 0
        self._all = bar.add_task(self._finished_text(), total=self._total)
        self._workers = [bar.add_task("", total=None, visible=False) for _ in range(max(1, min(workers, len(jobs))))]

    def tell(self, event: Event) -> None:
        job = self._jobs.get(event.id)
        if event.kind == "waiting":
            self._console.print(event.why, style="magenta", soft_wrap=True)
        if event.kind == "note":
            self._console.print(*event.notes, sep="\n", style="magenta", markup=False, soft_wrap=True)
        if job is None:
            return
        if event.kind == "progress":
            self._done[event.id] = event.done
        elif event.kind in ("done", "failed"):
            self._done[event.id] = job.experiences
            self._ends[event.id] = event.kind
        if event.kind == "failed":
            self._console.print(f"[red]failed[/] {event.id}:", event.why, markup=True, soft_wrap=True)
        self._bar.update(
            self._workers[event.worker % len(self._workers)],
            description=event.id,
            completed=self._done[event.id],
            total=job.experiences,
            visible=True,
        )
        self._bar.update(self._all, completed=sum(self._done.values()), description=self._finished_text())
        if self._bar.disable:
            self._print_step()

    def end(self) -> None:
        failures = sum(end == "failed" for end in self._ends.values())
        failed = f", {failures:,} failed" if failures else ""
        self._console.print(f"{self._finished_text()}{failed}, {duration(time.monotonic() - self._began)}")

    def _finished_text(self) -> str:
        return f"{sum(end == 'done' for end in self._ends.values()):,} of {len(self._jobs):,} finished"

    def _print_step(self) -> None:
        """Print a line for each further tenth, with the time left."""
        now, done = time.monotonic(), sum(self._done.values())
        self._first = self._first or (now, done)
        passed, progress = now - self._first[0], done - self._first[1]
        step = done * _STEPS // max(self._total, 1)
        if step > self._step and passed >= _ENOUGH_S and progress and done < self._total:
            self._step = step
            left = duration((self._total - done) * passed / progress)
            self._console.print(f"{self._finished_text()}, {100 * done / self._total:.0f} %, about {left} left")


def show_groups(console: Console, groups: Sequence[Group], metrics: Sequence[str] = ()) -> None:
    """Print groups by metrics, each mean with its interval; the headline metrics if none is named."""
    from perdure.metrics.presets import headline
    from perdure.stats.sentences import MARKS

    rows = [("", *(str(group.learner) for group in groups))]
    rows += [(metric, *(_cell(group.estimates[metric]) for group in groups)) for metric in metrics or headline()]
    marks = ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
    title = f"Means over {plural(groups[0].n, 'lifetime')}, with 95 % intervals ({marks})"
    tables = []
    for cells in (rows, list(zip(*rows, strict=True))):  # groups are columns if they fit, else metrics
        first, *others = cells[0]
        tables.append(Table(title, (Column(first), *(Column(head, "number") for head in others)), tuple(cells[1:])))
    print_table(console, *tables)


def _cell(estimate: Estimate) -> str:
    from perdure.stats.sentences import MARKS

    mark = f" {MARKS[estimate.verdict]}" if estimate.verdict else ""
    spread = "" if estimate.low is None else f" [{interval(estimate.low, estimate.high, ', ')}]"
    return number(estimate.mean, estimate.width) + spread + mark


def duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours as text."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
