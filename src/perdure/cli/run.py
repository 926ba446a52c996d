"""`perdure run`: take a learner through a protocol, and score what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli.options import Address, Json, Quiet, emit_json

if TYPE_CHECKING:
    from perdure.gather.model import Survey
    from perdure.run.protocol import Protocol

__all__ = ["EXAMPLE", "run"]

EXAMPLE = "perdure run protocol.toml --into runs/mine --workers 2"

File = Annotated[Path, typer.Argument(metavar="PROTOCOL", help="The protocol, a TOML file.", show_default=False)]
Into = Annotated[
    str,
    typer.Option("--into", metavar="DIR", help="Run folder or its URL (s3://…); an existing one is completed."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=0,
        help="Number of processes (default: one per core; 0: this one). On a cluster: lifetimes at once.",
        show_default=False,
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="ID", help="Run only this lifetime (life-007) or pattern. Repeatable."),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Run only part I of N; other parts can run at the same time, on other machines, in this folder.",
        show_default=False,
    ),
]
LearnerOption = Annotated[
    str | None,
    typer.Option(
        "--learner",
        metavar="NAME",
        help="Learner to run in place of the protocol's: a listed name, sb3:DQN, torch:ewc or package.module:Class.",
        show_default=False,
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check and show the plan; run nothing.")]
L2Data = Annotated[
    Path | None,
    typer.Option(
        "--l2data", metavar="DIR", help="Also write lifetimes and experts there in the format of the 2019 tools."
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|ray|batched",
        help="Run in processes on this machine, on a Ray cluster, or all at once in one program (JAX).",
    ),
]
Ray = Annotated[bool, typer.Option("--ray", help="The same as --engine ray.")]


def run(
    protocol: File,
    into: Into,
    learner: LearnerOption = None,
    workers: Workers = None,
    only: Only = None,
    shard: ShardOption = None,
    dry_run: DryRun = False,
    engine: Engine = "local",
    address: Address = None,
    ray: Ray = False,
    l2data: L2Data = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run every missing lifetime and expert of a protocol, then score them; several learners are compared.

    Exit status 0: everything is finished; 1: something failed or is missing; 2: nothing could be run.
    """
    from perdure.run.protocol import read_protocols

    if ray or (address is not None and engine == "local"):
        engine = "ray"
    how = _How(workers, tuple(only or ()), shard, dry_run, engine, address, l2data, json, quiet)
    protocols = read_protocols(protocol, learner)
    if len(protocols) == 1:
        facts, whole = _run(protocols[0], into, protocol, how)
    else:
        facts, whole = _run_each(protocols, into, protocol, how)
    if json:
        emit_json(facts, json)
    raise typer.Exit(0 if whole else 1)


@dataclass(frozen=True)
class _How:
    """The options of a run, but for what and into where."""

    workers: int | None
    only: tuple[str, ...]
    shard: str | None
    dry_run: bool
    engine: str
    address: str | None
    l2data: Path | None
    json: str | None
    quiet: bool

    @property
    def whole(self) -> bool:
        """Whether nothing of it was left to others or to later."""
        return not self.only and self.shard is None and not self.dry_run


def _run_each(protocols: Sequence[Protocol], into: str, file: Path, how: _How) -> tuple[dict[str, Any], bool]:
    """Each learner in a run folder of its own; then all of them beside each other, and in one report."""
    from perdure.cli.console import Console
    from perdure.cli.running import scored_by, show_beside
    from perdure.gather.survey import survey
    from perdure.report import sketched, write_report
    from perdure.run.away import home_of
    from perdure.stats.groups import groups

    places = {one.title: f"{into.rstrip('/')}/{one.title}" for one in protocols}
    ran = {one.title: _run(one, places[one.title], file, how, beside=at) for at, one in enumerate(protocols)}
    facts: dict[str, Any] = {
        "protocol": protocols[0].name,
        "learners": {name: found for name, (found, _) in ran.items()},
    }
    homes = [home for home in map(home_of, places.values()) if (home / "lives").is_dir()]
    if how.whole and homes:
        settings = scored_by(protocols[0])
        surveyed = survey(homes, settings=settings, look=sketched)
        found, page = groups(surveyed), homes[0].parent / "report.html"
        if any(one["lived"] for one, _ in ran.values()) or not page.exists():
            write_report(surveyed, page, title=f"{protocols[0].name}: {', '.join(places)}")
        facts["score"] = [group.as_json() for group in found]
        if how.json != "-":
            console = Console(highlight=False)
            for kind in dict.fromkeys(group.scenario_type for group in found):
                console.print(f"\n{protocols[0].name}, {kind}", style="bold", markup=False)
                show_beside(console, [group for group in found if group.scenario_type == kind], settings.ids)
            if not how.quiet:
                said = f"report: {page}. Who is better, and how sure that is: perdure compare {into}"
                console.print(said, soft_wrap=True)
    return facts, all(whole for _, whole in ran.values())


def _run(
    protocol: Protocol, into: str, file: Path, how: _How, *, beside: int | None = None
) -> tuple[dict[str, Any], bool]:
    """One learner through its protocol: what there is to tell, and whether all of it is finished.

    `beside` is its place among several, which are scored together.
    """
    from perdure.cli.console import Console
    from perdure.cli.running import (
        expert_gap,
        plan_facts,
        progress_of,
        reported,
        resumable,
        scored_by,
        show_failures,
        show_notes,
        show_plan,
        unanswered,
    )
    from perdure.gather.survey import survey
    from perdure.report import sketched
    from perdure.run.away import away_of, home_of
    from perdure.run.before import check_before
    from perdure.run.engines import engine as engine_called
    from perdure.run.folder import RunFolder
    from perdure.run.plan import PRE_DEPLOYMENT, Plan
    from perdure.run.runner import cores, run_protocol
    from perdure.run.shard import Shard

    console = Console(highlight=False)
    json, quiet, engine = how.json, how.quiet, how.engine
    engine_called(engine)
    folder, count, away = RunFolder(home_of(into)), how.workers, away_of(into)
    home = folder.path
    if count is None and engine == "local":
        count = cores()
    plan = Plan(folder.planned(protocol))
    chosen, places = plan.chosen(how.only), (file.resolve().parent,)
    part = None if how.shard is None else Shard.of(how.shard)
    chosen = chosen if part is None else part.part_of(plan, chosen)
    check_before(plan, folder, chosen, (*places, Path.cwd()), engine)
    settings = scored_by(plan.protocol)
    missing = [job for job in chosen if not folder.is_finished(job)]
    gaps, of_experts = unanswered(plan, settings), expert_gap(plan.protocol, settings)
    if not quiet and json != "-":
        show_plan(console, plan, missing, count, brief=bool(beside))
        for scenario, metrics in gaps.items():
            if metrics:
                console.print(f"  {scenario} cannot measure {', '.join(metrics)} (see perdure lint)", style="yellow")
        if of_experts:
            console.print(f"  {of_experts}", style="yellow", soft_wrap=True)
    facts = {**plan_facts(plan, missing), "unanswered": gaps, "few_experts": of_experts or None}
    if how.dry_run:
        return facts, True
    with resumable(into, folder, plan), progress_of(missing, count, quiet=quiet) as tell:
        result = run_protocol(
            plan.protocol,
            into,
            workers=how.workers,
            only=how.only,
            tell=tell,
            paths=places,
            engine=engine,
            address=how.address,
            shard=part,
        )
    if json != "-":
        show_failures(console, result)
        show_notes(console, result)
        if not quiet and not missing and PRE_DEPLOYMENT not in how.only:
            console.print(f"  {into}: everything is already finished; nothing was run")
    if how.l2data is not None and result.finished_lives:
        _as_in_2019(home, how.l2data, quiet=quiet or json == "-")
    alone = how.whole and beside is None
    surveyed = survey(home, settings=settings, look=sketched) if result.finished_lives and alone else None
    scores = _scored(surveyed, json) if surveyed else None
    if surveyed and (result.lived or not (home / "report.html").exists()):
        page = reported(result, surveyed)
        if away is not None:
            away.bring([page])
        if json != "-" and not quiet:
            console.print(f"report: {page if away is None else f'{into}/report.html'}", soft_wrap=True)
    told = {
        **facts,
        "lived": result.lived,
        "failed": result.failed,
        "stopped": result.stopped,
        "notes": result.notes,
    }
    whole = not (result.failed or (result.missing and how.whole))
    return told if beside is not None else {**told, "score": scores}, whole


def _as_in_2019(into: Path, folder: Path, *, quiet: bool) -> None:
    """The lives as trees, and what the experts achieve."""
    from perdure.cli.export import told
    from perdure.gather.l2data import write_experts, write_trees

    told(write_trees(into, folder), quiet=quiet)
    if (into / "experts").is_dir():
        told(write_experts(into, folder)[1], quiet=quiet)


def _scored(scores: Survey, json: str | None) -> dict[str, object]:
    """Show each group's estimates."""
    from perdure.cli.answer import Depth, show_answers
    from perdure.cli.scoring import score_facts
    from perdure.stats.groups import groups

    found = groups(scores)
    if json != "-":
        show_answers(scores, found, Depth())
        if scores.preset == "framework-2019":
            from perdure.cli.capability_table import show_capabilities

            show_capabilities(scores)
    return score_facts(scores, found)
