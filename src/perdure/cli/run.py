"""`perdure run`: run the lifetimes of a protocol, and score them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.console import Console
from perdure.cli.options import Address, Json, Quiet, emit_json
from perdure.cli.terminal import echo, left_out_text
from perdure.text import join_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perdure.evaluation import Evaluation
    from perdure.runner.runner import RunResult


EXAMPLE = "perdure run protocol.toml --into runs/mine --workers 2"

_MOST_SHARDS = 5  # with a command each

File = Annotated[Path, typer.Argument(metavar="PROTOCOL", help="The protocol, a TOML file.", show_default=False)]
Into = Annotated[
    str,
    typer.Option("--into", metavar="DIR", help="Run folder; an existing one is completed."),
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
AcceptChangedLearner = Annotated[
    bool,
    typer.Option(
        "--accept-changed-learner",
        help="Continue unfinished lifetimes although the learner's code changed; without it they start again.",
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
    accept_changed_learner: AcceptChangedLearner = False,
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
    from perdure.api import prepare_protocol
    from perdure.cli.progress import run_with_progress, show_plan, show_removed

    console, talks = Console(highlight=False, quiet=json == "-"), not quiet and json != "-"
    engine_name = "ray" if ray or (address is not None and engine == "local") else engine
    prepared = prepare_protocol(
        protocol,
        into,
        learner=learner,
        workers=workers,
        only=only or (),
        shard=shard,
        engine=engine_name,
        address=address,
        accept_changed_learner=accept_changed_learner,
    )
    results, written = [], True
    for index, planned in enumerate(prepared.runs):
        if not dry_run:
            results.append(run_with_progress(console, planned, quiet=quiet, brief=index > 0, prepared=prepared))
            # A data folder holds one number per task, but each learner has its own experts.
            tree = l2data / planned.plan.protocol.title if l2data and len(prepared) > 1 else l2data
            written = _as_in_2019(results[-1], tree, quiet=not talks) and written
        elif talks:
            show_plan(console, planned, brief=index > 0, prepared=prepared)
    evaluation = prepared.evaluated(results)
    _show(console, evaluation, quiet=quiet)
    if json:
        emit_json(evaluation.as_json(), json)
    show_removed(evaluation)
    if shard and results and talks:
        _show_other_shards(evaluation, ("perdure", "run", str(protocol), "--into", into), learner)
    raise SystemExit(0 if evaluation.whole and written else 1)


def _as_in_2019(result: RunResult, folder: Path | None, *, quiet: bool) -> bool:
    """Write lifetimes and experts for the 2019 tools, if a folder is given. Return whether all were written."""
    from perdure.classic.l2data import write_run
    from perdure.errors import LogError

    if folder is None or not result.finished_lives:
        return True
    protocol = result.plan.protocol
    try:
        written = write_run(result.folder.path, folder, {"learner": protocol.title, "digest": protocol.digest})
    except LogError as problem:  # the lifetimes are still scored
        echo(f"not written: {problem}", err=True)
        return False
    for path, why in written.left_out:
        echo(left_out_text(path, why), err=True)
    for note in written.notes:
        echo(f"note: {note}", err=True)
    for file in () if quiet else written.files:
        echo(str(file))
    return not written.left_out


def _show(console: Console, evaluation: Evaluation, *, quiet: bool) -> None:
    """Print the score of one learner as `score` does, or a table of several, and the path of the report."""
    from perdure.cli.answers import Depth, show_answers, show_left_out

    if evaluation.survey is None:
        return
    if console.quiet:
        show_left_out(evaluation.survey, err=True)
        return
    if len(evaluation) == 1:
        show_answers(evaluation.survey, evaluation.groups, Depth())
    else:
        _show_learners(console, evaluation)
        show_left_out(evaluation.survey)
    if not quiet:
        better = f". Who is better, and how sure that is: perdure compare {evaluation.prepared.into}"
        console.print(f"report: {evaluation.report}{better if len(evaluation) > 1 else ''}", soft_wrap=True)


def _show_other_shards(evaluation: Evaluation, command: Sequence[str], learner: str | None) -> None:
    """Print the shards that are not finished and the commands that run them; after the last, the one that scores."""
    import shlex

    whole = shlex.join((*command, *(("--learner", learner) if learner else ())))
    count = next(run.shard.count for run in evaluation.prepared if run.shard)
    left = {
        index % count + 1
        for run in evaluation.prepared
        for index, job in enumerate(run.plan.jobs)
        if not run.folder.is_finished(job)
    }
    shards = sorted(left)
    if shards:
        echo(f"not finished: shard {join_names([f'{number}/{count}' for number in shards])}; unless it is running:")
        for number in shards[:_MOST_SHARDS]:
            echo(f"  {whole} --shard {number}/{count}")
        echo(f"then, to score all and write the report:\n  {whole}")
    else:
        echo(f"all {count} shards are finished; to score them and write the report:\n  {whole}")


def _show_learners(console: Console, evaluation: Evaluation) -> None:
    from perdure.cli.progress import show_groups
    from perdure.metrics.score import OtherCode
    from perdure.stats.groups import changed_learners

    for kind in dict.fromkeys(group.scenario_type for group in evaluation.groups):
        console.print(f"\n{evaluation.prepared.name}, {kind}", style="bold", markup=False)
        groups = [group for group in evaluation.groups if group.scenario_type == kind]
        show_groups(console, groups, evaluation.prepared.settings.ids)
    scores = () if evaluation.survey is None else evaluation.survey.scores
    other_code = (note for score in scores for note in score.notes if isinstance(note, OtherCode))
    for note in dict.fromkeys((*changed_learners(scores).values(), *other_code)):
        console.print(note, style="magenta", markup=False)
