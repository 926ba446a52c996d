"""The public functions that span several stages. Each command has a function of the same name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import LogError, PerdureError, ProtocolError, ScenarioError, UnknownNameError
from perdure.gather.model import ScoredLifetime, Survey
from perdure.settings import Settings, settings_from
from perdure.settings.model import SettingsByName
from perdure.settings.presets import FRAMEWORK_2019

if TYPE_CHECKING:
    from perdure.evaluation import Evaluation, PreparedProtocol, ProtocolLint
    from perdure.gather.survey import Source, Sources
    from perdure.log.problem import Check
    from perdure.metrics.declare import Metric
    from perdure.reports.figures import FigureView, Size
    from perdure.reports.svg import Figure
    from perdure.runner.engines import Tell
    from perdure.runner.plan import Shard
    from perdure.runner.protocol import Protocol
    from perdure.scenario.lint import LintReport
    from perdure.scenario.syllabus import Syllabus
    from perdure.stats.correlate import Correlations
    from perdure.stats.groups import GroupedSurvey
    from perdure.stats.plan import Plan
    from perdure.stats.systems import Comparisons

    Logs: TypeAlias = Survey | Sources


def compare(
    logs: Logs,
    experts: Sources = (),
    settings: Settings | None = None,
    *,
    baseline: str | None = None,
    scenario_types: bool = False,
    paired: Literal["auto", "yes", "no"] = "auto",
    order: bool = False,
    seed: int = 0,
    **by_name: Unpack[SettingsByName],
) -> Comparisons:
    """Compare systems: which one ends up better, by how much, and whether the difference is significant.

    A system is one learner, whose lifetimes are a sample. All systems are measured on the same scale, and none relative
    to its own experts. `Comparisons.table` has the numbers, and each of its comparisons an `answer` in words.

    Parameters
    ----------
    logs
        One system per entry. An entry with several learners counts as one system per learner.
    experts
        Logs of single-task experts.
    settings
        Settings made before.
    baseline
        Name of the system that the others are compared with. By default the last, in the order of `logs`.
    scenario_types
        Compare the scenario types of each learner with each other instead.
    paired
        Pair lifetimes with the same seed and task order: if possible, always, or never.
    order
        Also test almost stochastic order.
    seed
        Seed of permutations and resampling.
    **by_name
        Fields of `Settings`.

    Returns
    -------
    Comparisons
        One comparison per system, scenario type and measure.

    Raises
    ------
    PerdureError
        If there is only one system, or the lifetimes cannot be compared.

    Examples
    --------
    >>> result = perdure.compare("logs", baseline="naive")
    >>> result.comparisons[0].differences["performance_maintenance"].word
    'keeps more'
    """
    from perdure.stats.systems import compare_scenario_types, compare_systems, systems_of

    if paired not in ("auto", "yes", "no"):
        raise UnknownNameError("value of paired", str(paired), ("auto", "yes", "no"))
    settings = settings_from(settings, compare, **by_name)
    pool = _surveyed(logs, experts, settings)
    if settings.group is not None:
        pool = _regrouped(pool, settings.group, as_learners=scenario_types)
    options: dict[str, Any] = {
        "metrics": settings.ids,
        "paired": paired,
        "level": settings.level,
        "order": order,
        "seed": seed,
    }
    if scenario_types:
        return compare_scenario_types(pool, baseline, **options)
    return compare_systems(systems_of(pool), baseline, **options)


def correlate(
    logs: Logs,
    experts: Sources = (),
    settings: Settings | None = None,
    *,
    across: bool = False,
    **by_name: Unpack[SettingsByName],
) -> Correlations:
    """Compute Spearman rank correlations between metrics over all lifetimes.

    Parameters
    ----------
    logs
        Logs of at least two lifetimes, or a survey of them.
    experts
        Logs of single-task experts.
    settings
        Settings made before.
    across
        Also pool lifetimes of different protocols and measures.
    **by_name
        Fields of `Settings`. ``metrics`` selects the metrics.

    Returns
    -------
    Correlations
        One correlation per pair of metrics, with p and p adjusted for the number of pairs.

    Raises
    ------
    PerdureError
        If lifetimes must not be pooled, or fewer than two metrics have values.

    Examples
    --------
    >>> result = perdure.correlate("logs", metrics=["performance_maintenance", "forward_transfer"])
    >>> len(result)
    1
    """
    from perdure.stats.correlate import Correlations
    from perdure.stats.correlate import correlate as correlate_metrics
    from perdure.stats.groups import check_pool_across, left_out_of, split, usable

    settings = settings_from(settings, correlate, **by_name)
    pool = _surveyed(logs, experts, settings)
    scores, partial = usable(pool.scores)
    if settings.group:
        scores = tuple(score for group in split(scores, settings.group).values() for score in group)
    check_pool_across(scores, widely=across)
    for name in settings.ids:
        if name not in pool.bars:
            raise UnknownNameError("metric of these scores", name, pool.bars)
    valued = [name for name in pool.bars if any(score.value(name) is not None for score in scores)]
    judged = [name for name in valued if pool.bars[name].threshold is not None]
    metrics = settings.ids or judged or valued
    if len(metrics) < 2:
        raise PerdureError(
            f"a correlation needs two metrics that have values (found: {', '.join(metrics) or 'none'})",
            "name two or more with --metrics, or score more of them",
        )
    preset = scores[0].preset if scores else pool.preset
    left_out = (*pool.left_out, *left_out_of(pool.scores, partial))
    return Correlations(correlate_metrics(scores, metrics), len(scores), preset, left_out)


def plan(
    k: float | None = None,
    *,
    alpha: float | None = None,
    beta: float = 0.1,
    lifetimes: int | None = None,
    compare: Literal["paired", "unpaired"] | None = None,
    pilot: Logs | None = None,
    detect: Mapping[str, float] | None = None,
    scenario: str | None = None,
    experts: Sources = (),
    settings: Settings | None = None,
    experts_per_task: int | None = None,
    expert_sd: float | None = None,
    tasks: int = 3,
    seed: int = 0,
    **by_name: Unpack[SettingsByName],
) -> Plan:
    """Compute how many lifetimes are needed: by the paper's rule, and for the test behind the verdict.

    Parameters
    ----------
    k
        Effect to detect, in standard deviations. By default 1.
    alpha
        Significance level of the test. By default 1 minus the level of the settings.
    beta
        Probability of missing the effect.
    lifetimes
        Number of lifetimes whose power is computed. By default the number by the rule.
    compare
        Plan the comparison of two learners with paired or unpaired lifetimes.
    pilot
        Logs or scores of lifetimes that were run before. Only their spread is used.
    detect
        Effect to detect for each metric: a distance from its threshold, or a factor for a ratio. Without a pilot,
        the spread is that of a study.
    scenario
        Scenario type of the pilot to use.
    experts
        Logs of the pilot's experts.
    settings
        Settings made before.
    experts_per_task
        Number of experts per task. By default 5.
    expert_sd
        Standard deviation of experts, as a multiple of that of lifetimes. Only without a pilot.
    tasks
        Number of tasks with experts, for `expert_sd` and `detect` without a pilot.
    seed
        Seed of resampling the pilot.
    **by_name
        Fields of `Settings`.

    Returns
    -------
    Plan
        The numbers of lifetimes, and the power by number of lifetimes.

    Raises
    ------
    PerdureError
        If arguments contradict each other, or the pilot has no spread.

    Examples
    --------
    >>> plan = perdure.plan(1.0)
    >>> plan.rule, plan.exact
    (11, 13)
    >>> pilot = [f"logs/naive-{seed}" for seed in range(4)]
    >>> plan = perdure.plan(pilot=pilot, pool=True, detect={"performance_maintenance": 5})
    >>> plan.metrics["performance_maintenance"].n
    4
    """
    from perdure.stats.crossing import FEW_EXPERTS
    from perdure.stats.plan import make_plan
    from perdure.stats.planning import plan_from_pilot, plan_from_priors
    from perdure.stats.power import Design, ExpertSample

    settings, per_task = settings_from(settings, plan, **by_name), experts_per_task or FEW_EXPERTS
    if compare not in (None, "paired", "unpaired"):
        raise UnknownNameError("comparison", str(compare), ("paired", "unpaired"))
    design = Design(compare or "threshold", round(1 - settings.level, 12) if alpha is None else alpha, beta)
    if compare and expert_sd is not None:
        raise PerdureError("experts are no part of a comparison of two learners", "leave out `expert_sd` or `compare`")
    has_own_spread = k is not None or expert_sd is not None
    if pilot is not None:
        if has_own_spread:
            raise PerdureError("a pilot has its own spread and experts", "give the effect with `detect`, not k")
        return plan_from_pilot(
            _surveyed(pilot, experts, settings),
            settings,
            design,
            lifetimes=lifetimes,
            detect=detect or {},
            scenario=scenario,
            experts_per_task=per_task,
            seed=seed,
        )
    if detect:
        if has_own_spread:
            raise PerdureError(
                "an effect in a metric's unit has a spread and experts of its own", "give `detect`, or k"
            )
        return plan_from_priors(detect, design, lifetimes=lifetimes, experts_per_task=per_task, tasks=tasks)
    sample = ExpertSample(per_task, tasks, expert_sd) if expert_sd is not None else None
    return make_plan(1.0 if k is None else k, replace(design, experts=sample), lifetimes=lifetimes)


def estimate_cost(
    plan: Plan,
    protocol: str | os.PathLike[str],
    *,
    lifetimes: int | None = None,
    experts: int | None = None,
    pilot: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    machines: int = 1,
) -> Plan:
    """Estimate the cost of running a plan as a protocol.

    Parameters
    ----------
    plan
        Plan made by `plan`.
    protocol
        Path of a protocol.
    lifetimes
        Number of lifetimes. By default the number that the plan needs.
    experts
        Number of experts per task. By default the protocol's.
    pilot
        Logs whose timestamps tell how long an experience takes.
    machines
        Number of machines that run at the same time.

    Returns
    -------
    Plan
        The plan with its `cost`: lifetimes, experts, experiences, and the time if a pilot is given.

    Raises
    ------
    ProtocolError
        If the protocol is invalid.

    Examples
    --------
    >>> plan = perdure.estimate_cost(perdure.plan(1.0), "protocol.toml", machines=2)
    >>> plan.cost.lives
    13
    """
    from perdure.runner.plan import RunPlan
    from perdure.runner.protocol import read_protocols
    from perdure.stats.plan import cost_of, readable_lifetimes, seconds_per_experience

    most = max((metric.lifetimes or 0 for metric in plan.metrics.values()), default=0)
    chosen = read_protocols(os.fspath(protocol))[0].with_lifetimes(lifetimes or most or plan.exact or plan.rule)
    jobs = RunPlan(chosen.with_experts(chosen.experts if experts is None else experts))
    lengths = [job.experiences for job in jobs.lives], [job.experiences for job in jobs.experts]
    logs = (pilot,) if isinstance(pilot, str | os.PathLike) else pilot
    return replace(plan, cost=cost_of(*lengths, seconds_per_experience(readable_lifetimes(logs)), machines))


def lint(
    syllabus: str | os.PathLike[str] | Syllabus,
    settings: Settings | None = None,
    *,
    kind: str | None = None,
    **by_name: Unpack[SettingsByName],
) -> LintReport:
    """Check a syllabus: whether it is valid, and which metrics it can measure.

    Parameters
    ----------
    syllabus
        Path of a syllabus or of a log, the text of a syllabus, or a `Syllabus`.
    settings
        Settings made before. Only the preset, the metrics and the variants are used.
    kind
        Syllabus type of 2019, whose rules are checked too: CL, ANT-A, ANT-B or ANT-C. By default the header's.
    **by_name
        Fields of `Settings`.

    Returns
    -------
    LintReport
        The problems, and the number of values of each metric.

    Raises
    ------
    ScenarioError
        If it is not a syllabus.

    Examples
    --------
    >>> report = perdure.lint(perdure.compose("condensed", ["pong", "breakout"], learn=20, evaluate=3))
    >>> report.ok, report.metrics["performance_maintenance"].sites
    (True, 1)
    """
    from perdure.scenario.document import read_source
    from perdure.scenario.lint import lint as lint_syllabus
    from perdure.scenario.syllabus import Syllabus

    chosen = settings_from(settings, lint, **by_name)
    place, content = "syllabus", syllabus if isinstance(syllabus, Syllabus) else os.fspath(syllabus)
    if isinstance(content, str):
        if content.endswith(".toml"):
            raise ScenarioError("a protocol, not a syllabus", "use perdure.lint_protocol", file=content)
        if not content.lstrip().startswith("{"):
            content, place = read_source(content)
    return lint_syllabus(
        content,
        kind=kind,
        metrics=lambda of_kind: _linted_metrics(chosen, of_kind),
        place=place,
        variants=chosen.variants or "name",
    )


def lint_protocol(
    path: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    kind: str | None = None,
    **by_name: Unpack[SettingsByName],
) -> ProtocolLint:
    """Check each syllabus of a protocol, its learners and tasks, and whether its experts suffice.

    The modules of its learners and tasks are imported.

    Parameters
    ----------
    path
        Path of a protocol, a TOML file.
    settings
        Settings made before. Only the preset, the metrics and the variants are used.
    kind
        Syllabus type of 2019, whose rules are checked too.
    **by_name
        Fields of `Settings`.

    Returns
    -------
    ProtocolLint
        One report per scenario.

    Raises
    ------
    ProtocolError
        If the protocol is invalid, or a learner or task of it cannot be made.

    Examples
    --------
    >>> perdure.lint_protocol("protocol.toml").ok
    True
    """
    from perdure.evaluation import ProtocolLint, few_experts, settings_of
    from perdure.learners.find import BATCHED
    from perdure.runner.plan import RunPlan
    from perdure.runner.protocol import read_protocols
    from perdure.runner.runner import check_jobs

    chosen = settings_from(settings, lint_protocol, **by_name)
    protocols = read_protocols(os.fspath(path))
    for protocol in protocols:
        plan = RunPlan(protocol)
        if not protocol.learner.startswith(BATCHED):  # such learners are made of parts that only their engine knows
            check_jobs(plan, plan.jobs, (Path(path).resolve().parent, Path.cwd()))
    protocol, *_ = protocols  # its learners share everything else
    scenarios = {scenario.name: scenario.syllabus(protocol.seed) for scenario in protocol.scenarios}
    reports = {name: lint(syllabus, chosen, kind=kind) for name, syllabus in scenarios.items()}
    return ProtocolLint(protocol.name, reports, few_experts(protocol, settings_of(protocol)) or None)


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
    """Check everything that a run needs, without running it: the dry run of `run`.

    Parameters
    ----------
    protocol
        Path of a TOML file, or its content.
    into
        Run folder. An existing one is completed. Each of several learners has a folder in it.
    learner
        Learner to run in place of the protocol's.
    workers
        Number of processes. By default one per core; 0 runs everything in this process.
    only
        Ids of lifetimes and experts to run, or patterns of ids.
    paths
        Folders with your own modules, besides the protocol's folder and the current one.
    engine
        ``"local"``, ``"ray"``, or ``"batched"`` to run all lifetimes in one JAX program.
    address
        Address of the Ray cluster. By default `RAY_ADDRESS`, or a cluster started on this machine.
    shard
        Part to run, such as ``"2/16"``. Several parts may run in the same folder at once.
    accept_changed_learner
        Continue unfinished lifetimes although the learner's code changed. By default they start again.

    Returns
    -------
    PreparedProtocol
        One run per learner, and the jobs that are missing.

    Raises
    ------
    ProtocolError
        If the protocol is invalid, or the folder holds another one.

    Examples
    --------
    >>> prepared = perdure.prepare_protocol("protocol.toml", "runs/first")
    >>> len(prepared.runs[0].missing)
    4
    """
    from perdure.evaluation import PreparedProtocol, settings_of
    from perdure.runner.protocol import Protocol, parse_protocols, read_protocols
    from perdure.runner.runner import prepare_run

    shared: tuple[Path, ...] = ()
    if isinstance(protocol, Protocol):
        if learner is not None:
            raise ProtocolError(
                f"learner={learner!r} for a protocol that has its learner",
                "give its file or its content",
                file=protocol.place,
            )
        protocols: tuple[Protocol, ...] = (protocol,)
    elif isinstance(protocol, Mapping):
        protocols = parse_protocols(protocol, learner=learner)
    else:
        protocols, shared = read_protocols(Path(protocol), learner), (Path(protocol).resolve().parent,)
    if workers is not None and workers < 0:
        raise ProtocolError(f"{workers} workers", "give 1 or more processes, or 0 for this one")
    only = (only,) if isinstance(only, str) else only  # a string is one id, not a list of letters
    paths = (paths,) if isinstance(paths, str | os.PathLike) else paths
    settings, folder = settings_of(protocols[0]), os.fspath(into)
    runs = tuple(
        prepare_run(
            protocol,
            folder if len(protocols) == 1 else f"{folder.rstrip('/')}/{protocol.title}",
            workers=workers,
            only=only,
            paths=(*shared, *map(Path, paths)),
            engine=engine,
            address=address,
            shard=shard,
            accept_changed_learner=accept_changed_learner,
        )
        for protocol in protocols
    )
    return PreparedProtocol(folder, runs, settings, in_part=bool(only) or shard is not None)


def run(
    protocol: Protocol | Mapping[str, Any] | str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    tell: Tell | None = None,
    score: bool = True,
    learner: str | None = None,
    workers: int | None = None,
    only: str | Sequence[str] = (),
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    engine: str = "local",
    address: str | None = None,
    shard: Shard | str | None = None,
    accept_changed_learner: bool = False,
) -> Evaluation:
    """Run every missing lifetime and expert of a protocol, score them, and write a report.

    Parameters
    ----------
    protocol
        Path of a TOML file, or its content.
    into
        Run folder. An existing one is completed. Each of several learners has a folder in it.
    tell
        Function that is called with each event: progress, and the end of each lifetime.
    score
        Whether to score the lifetimes. A part (`only`, `shard`) is never scored.
    learner
        Learner to run in place of the protocol's.
    workers
        Number of processes. By default one per core; 0 runs everything in this process.
    only
        Ids of lifetimes and experts to run, or patterns of ids.
    paths
        Folders with your own modules, besides the protocol's folder and the current one.
    engine
        ``"local"``, ``"ray"``, or ``"batched"`` to run all lifetimes in one JAX program.
    address
        Address of the Ray cluster. By default `RAY_ADDRESS`, or a cluster started on this machine.
    shard
        Part to run, such as ``"2/16"``. Several parts may run in the same folder at once.
    accept_changed_learner
        Continue unfinished lifetimes although the learner's code changed. By default they start again.

    Returns
    -------
    Evaluation
        The runs and their scores. A learner that fails does not stop the others: see `Evaluation.failed`.

    Raises
    ------
    ProtocolError
        If the protocol is invalid, or the folder holds another one.

    Examples
    --------
    >>> result = perdure.run("protocol.toml", "runs/first", workers=0)
    >>> result.whole, len(result.survey)
    (True, 2)

    The same as a dict. `perdure list tasks` and `perdure list learners` show the names; experts are 5 per task unless
    given.

    >>> protocol = {
    ...     "lifetimes": 1,
    ...     "experts": 0,
    ...     "learner": {"use": "q-learning"},
    ...     "scenarios": [{"layout": "condensed", "tasks": ["pong", "breakout"], "learn": 2, "evaluate": 2}],
    ... }
    >>> perdure.run(protocol, "runs/second", workers=0).whole
    True
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
    return prepared.run(tell, score=score)


def figure(
    kind: str,
    logs: GroupedSurvey | Source | Sequence[Source],
    view: FigureView | None = None,
    *,
    size: Size = "page",
    title: str | None = None,
    experts: Sources = (),
    settings: Settings | None = None,
    **by_name: Unpack[SettingsByName],
) -> Figure:
    """Draw one figure of lifetimes.

    Parameters
    ----------
    kind
        Name of the figure, a key of `FIGURES`.
    logs
        Logs, or the result of `perdure.reports.gather`, which is read once for many figures.
    view
        The lifetime or group to draw, and the axes.
    size
        ``"column"``, ``"page"``, or the width in inches.
    title
        Title in place of the figure's. An empty text removes it.
    experts
        Logs of single-task experts.
    settings
        Settings made before.
    **by_name
        Fields of `Settings`.

    Returns
    -------
    Figure
        An SVG picture, shown in notebooks, with its numbers in `data`. `save_figure` writes it to a file.

    Raises
    ------
    PerdureError
        If there is nothing to draw.

    Examples
    --------
    >>> figure = perdure.figure("lifetime", "logs/naive-0", size="column")
    >>> figure.svg()[:4]
    '<svg'
    """
    from perdure.reports.data import gather
    from perdure.reports.figures import canvas_of, figure_kind
    from perdure.stats.groups import GroupedSurvey

    chosen, canvas = figure_kind(kind), canvas_of(size, title)
    if isinstance(logs, Survey):
        raise PerdureError("a survey has no curves to draw", "give the logs, or the result of perdure.reports.gather")
    if not isinstance(logs, GroupedSurvey):
        logs = gather(logs, experts, settings_from(settings, figure, **by_name))
    return chosen.draw(logs, view, canvas)


def check(log: str | os.PathLike[str], settings: Settings | None = None, **by_name: Unpack[SettingsByName]) -> Check:
    """Check a log or a folder of logs: find every problem, with its file, its line and its fix.

    Parameters
    ----------
    log
        Path of a log, or of a folder of logs.
    settings
        Settings made before. Only those of reading are used, such as `columns` and `measure`.
    **by_name
        Fields of `Settings`.

    Returns
    -------
    Check
        The problems. An empty one is still true; use `Check.ok`.

    Raises
    ------
    LogError
        If it is not a log.

    Examples
    --------
    >>> perdure.check("logs/naive-0").ok
    True
    """
    from perdure.gather.find import find_lifetimes
    from perdure.log.check import check_log, joined

    options = settings_from(settings, check, **by_name).reading()
    try:
        found = find_lifetimes([log], options=options)
    except LogError:
        return check_log(log, options)  # which lists the problem, or refuses what is not a log
    logs = {one.path: one.rows or options.rows for one in (*found.lifetimes, *found.experts)}
    checks = {path: check_log(path, replace(options, rows=rows)) for path, rows in logs.items()}
    return joined(checks, found.left_out)


class Exported(Struct, frozen=True):
    """Files or tracker runs that `export` wrote.

    Attributes
    ----------
    files
        Files. Empty for a tracker.
    records
        File or tracker run → its number of records.
    columns
        Number of columns of a table.
    saturations
        Task → the saturation of its experts, for ``"taskinfo"``.
    left_out
        Path and reason of lifetimes that were not exported.
    notes
        Remarks about the export.
    """

    files: tuple[str, ...] = ()
    records: Mapping[str, int] = {}
    columns: int = 0
    saturations: Mapping[str, float] | None = None
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def export(
    log: str | os.PathLike[str],
    to: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    into: str | os.PathLike[str] | None = None,
    for_spreadsheets: bool = False,
    **by_name: Unpack[SettingsByName],
) -> Exported:
    """Export a log as one table, to a tracker, or to the data folder of the 2019 framework.

    Parameters
    ----------
    log
        Path of a log.
    to
        File (.parquet, .arrow, .csv or .tsv), tracker such as ``"tensorboard:DIR"``, ``"learnkit"`` or ``"taskinfo"``.
    settings
        Settings made before.
    into
        Data folder for ``"learnkit"`` and ``"taskinfo"``. By default `$L2DATA`.
    for_spreadsheets
        Escape text in a table that a spreadsheet would run as a formula.
    **by_name
        Fields of `Settings`.

    Returns
    -------
    Exported
        The files or tracker runs, and the lifetimes that were left out.

    Raises
    ------
    LogError
        If the log cannot be read, or the file cannot be written.

    Examples
    --------
    >>> perdure.export("logs/naive-0", "naive.csv").records
    {'naive.csv': 96}
    """
    from perdure.files import data_folder
    from perdure.log.read import read
    from perdure.log.write.export import export as write_table
    from perdure.log.write.export import is_tracker

    chosen, target = settings_from(settings, export, **by_name), os.fspath(to)
    if target in ("learnkit", "taskinfo"):
        from perdure.classic.l2data import write_experts, write_trees

        folder, saturations = Path(into) if into is not None else data_folder(), None
        if target == "learnkit":
            written = write_trees(Path(log), folder, chosen.reading())
        else:
            saturations, written = write_experts(Path(log), folder, chosen.measure, chosen.reading())
        files = tuple(map(str, written.files))
        return Exported(files, saturations=saturations, left_out=written.left_out, notes=written.notes)
    if into is not None:
        raise LogError("into only applies to learnkit and taskinfo", "leave it out")
    if is_tracker(target):
        from perdure.gather.trackers import send

        sent = send(os.fspath(log), target, chosen)
        return Exported(records=sent.runs, left_out=sent.left_out)
    lifetime = read(log, columns=chosen.columns, max_unpacked=chosen.max_unpacked)
    write_table(lifetime, Path(target), for_spreadsheets=for_spreadsheets)
    rows, columns = lifetime.experiences.shape
    return Exported((target,), {target: rows}, columns, notes=lifetime.notes)


def _surveyed(logs: Logs, experts: Sources, settings: Settings) -> Survey:
    """Score `logs`, or return the survey. Metrics given by name restrict what is shown, not what is tested."""
    from perdure.gather.survey import survey

    return logs if isinstance(logs, Survey) else survey(logs, experts, settings.replace(metrics=settings.files))


def _regrouped(pool: Survey, pattern: str, *, as_learners: bool) -> Survey:
    """Return the survey with each group of the pattern in place of an argument and its folders, or of a learner."""
    from perdure.stats.groups import split

    groups = {score.id: name for name, scores in split(pool.scores, pattern).items() for score in scores}
    fields = ("learner",) if as_learners else ("argument", "holder")

    def renamed(lifetime: ScoredLifetime) -> ScoredLifetime:
        identity = replace(lifetime.score.identity, **dict.fromkeys(fields, groups[lifetime.id]))
        return replace(lifetime, score=replace(lifetime.score, identity=identity))

    return replace(pool, lifetimes=tuple(renamed(lifetime) for lifetime in pool.lifetimes if lifetime.id in groups))


def shows_2019(settings: Settings, kind: str | None) -> bool:
    """Return whether lint shows the metrics of 2019: the syllabus is of a 2019 type, and no metrics were requested."""
    return kind is not None and not _requests_metrics(settings)


def _linted_metrics(settings: Settings, kind: str | None) -> Iterable[Metric]:
    """Return the requested metrics, those of 2019 for a 2019 type, or all; always with those of the given files."""
    from perdure.metrics.declare import METRICS
    from perdure.metrics.presets import PRESETS, chosen_metrics

    if _requests_metrics(settings):
        return chosen_metrics(PRESETS.get(settings.preset), settings.metrics).values()
    if kind is not None:
        return chosen_metrics(PRESETS.get(FRAMEWORK_2019), settings.files).values()
    of_preset = chosen_metrics(PRESETS.get(settings.preset), settings.files)
    return [*METRICS, *(metric for name, metric in of_preset.items() if name not in METRICS.names())]


def _requests_metrics(settings: Settings) -> bool:
    return "preset" in settings.origins or settings.preset != Settings().preset or bool(settings.ids)
