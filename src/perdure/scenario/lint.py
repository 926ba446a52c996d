"""Check a syllabus before a run: report its problems, and the metrics that it can answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from perdure.errors import UnknownNameError
from perdure.lazy import pl
from perdure.results import Tabular, to_plain
from perdure.scenario.document import LEVELS, Level, SyllabusProblem, place_text
from perdure.scenario.model import Scenario, Variants, apply_variants
from perdure.scenario.parameters import is_drawn, parameter_key
from perdure.scenario.sites import confounded, key_text
from perdure.scenario.syllabus import Syllabus, parse_syllabus, syllabus_text
from perdure.text import join_first, plural


class SiteLike(Protocol):
    """A place where a metric can be read; its key is a task or an ordered pair of tasks."""

    @property
    def key(self) -> str | tuple[str, str]: ...


class Sited(Protocol):
    """The part of a metric that lint needs."""

    @property
    def name(self) -> str: ...
    @property
    def needs(self) -> str: ...
    @property
    def expert(self) -> bool: ...
    @property
    def sites(self) -> Callable[[Scenario], Iterable[SiteLike]]: ...


class Eligibility(Struct, frozen=True):
    """The values of a metric that a scenario gives: their number, their tasks or pairs, or the reason for none."""

    JSON: ClassVar = ("sites", "keys", "why")

    sites: int
    keys: tuple[str, ...]
    why: str | None
    expert: bool = False
    """Whether the metric also needs an expert."""


class LintReport(Tabular, Struct, frozen=True):
    """Problems of a syllabus, and the metrics that it can answer.

    Attributes
    ----------
    syllabus
        The syllabus.
    problems
        The problems, with place, level and fix.
    metrics
        Metric → the number of its values, or why there is none.
    kind
        Scenario type of 2019, if the syllabus has one.
    tasks
        Tasks of a lifetime of this syllabus, as it would be scored.
    """

    syllabus: Syllabus
    problems: tuple[SyllabusProblem, ...]
    metrics: Mapping[str, Eligibility]
    kind: str | None = None
    tasks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        answered = sum(metric.sites > 0 for metric in self.metrics.values())
        counts = f"{plural(len(self), 'problem')}, {answered} of {len(self.metrics)} metrics"
        return f"LintReport({self.syllabus.scenario.name!r}, {'ok' if self.ok else 'not ok'}, {counts})"

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[SyllabusProblem]:
        return iter(self.problems)

    def table(self) -> pl.DataFrame:
        """Return one row per metric: the number of values that the scenario gives, or the reason for none."""
        rows = [
            (name, metric.sites, ", ".join(metric.keys), metric.why, metric.expert)
            for name, metric in self.metrics.items()
        ]
        kinds = {"metric": pl.String(), "sites": pl.Int64(), "keys": pl.String(), "why": pl.String()}
        return pl.DataFrame(rows, schema={**kinds, "expert": pl.Boolean()}, orient="row")

    @property
    def ok(self) -> bool:
        """Whether no problem is an error."""
        return all(problem.level != "error" for problem in self.problems)

    def as_json(self) -> dict[str, Any]:
        """Return the report as one JSON object; a count of experiences is null if a block is measured in steps."""
        scenario = self.syllabus.scenario
        return {
            "ok": self.ok,
            "name": scenario.name,
            "blocks": len(scenario.blocks),
            "experiences": _experiences(scenario, ("learn", "evaluate", "probe")),
            "learning_experiences": _experiences(scenario, ("learn",)),
            "evaluation_experiences": _experiences(scenario, ("evaluate", "probe")),
            "phases": list(dict.fromkeys(self.syllabus.phases)),
            "tasks": list(self.tasks),
            "problems": to_plain(self.problems),
            "metrics": to_plain(self.metrics),
        }


def lint(
    syllabus: str | bytes | Syllabus,
    *,
    kind: str | None = None,
    metrics: Iterable[Sited] | Callable[[str | None], Iterable[Sited]] = (),
    place: str = "syllabus",
    variants: Variants = "name",
) -> LintReport:
    """Report the problems of a syllabus, as text or as data, and the `metrics` that it can answer.

    `kind` is one of the 2019 types, whose structure rules then apply; without it the header's `scenario_type` decides.
    `metrics` may be a function of the type. `place` is the source of the text, and `variants` decides what counts as
    a task when a lifetime is scored. Raise a ScenarioError if it is not a syllabus.
    """
    text = syllabus_text(syllabus) if isinstance(syllabus, Syllabus) else syllabus
    parsed, problems = parse_syllabus(text, place)
    chosen = _kind(kind, parsed)
    whole = parsed.joined()
    findings = [finding for rule in KIND_RULES.get(chosen or "", ()) for finding in rule(whole)]
    if whole.scenario.blocks:
        findings += advice(whole, chosen)
    scored = apply_variants(whole.scenario, variants)
    all_problems = [*problems]
    for finding in findings:
        steps = ("instructions",) if finding.block is None else whole.places[finding.block]
        all_problems.append(SyllabusProblem(finding.level, place_text(steps), finding.what, finding.fix))
    return LintReport(
        parsed,
        tuple(sorted(all_problems, key=lambda problem: LEVELS.index(problem.level))),
        {metric.name: _eligibility(metric, scored) for metric in (metrics(chosen) if callable(metrics) else metrics)},
        chosen,
        tuple(task.label for task in scored.tasks),
    )


def _kind(kind: str | None, syllabus: Syllabus) -> str | None:
    known = {word.lower(): word for word in KINDS}
    if kind is not None and kind.lower() not in known:
        raise UnknownNameError("syllabus type", kind, KINDS)
    return known.get(str(kind or syllabus.scenario.info.get("scenario_type", "")).lower())


def _eligibility(metric: Sited, scenario: Scenario) -> Eligibility:
    try:
        keys = [site.key for site in metric.sites(scenario)]
        # Some sites know which evaluation is missing, which is more precise than the general need.
        missing = getattr(metric.sites, "missing", None)
        why = None if keys else (missing and missing(scenario)) or f"needs {metric.needs}"
    except Exception as problem:  # a plug-in's sites may raise anything, which the report shows
        keys, why = [], f"its sites cannot be found: {type(problem).__name__}: {problem}"
    return Eligibility(len(keys), tuple(map(key_text, dict.fromkeys(keys))), why, metric.expert)


def _experiences(scenario: Scenario, modes: tuple[str, ...]) -> int | None:
    lengths = [block.length for block in scenario.blocks if block.mode in modes]
    return None if None in lengths else sum(length or 0 for length in lengths)


# --- rules ---------------------------------------------------------------------------------------


_SHORTEST_SMOOTHED = 15
"""A block of n is smoothed over n div 5 experiences, and not at all if that is below 3."""
_SHORTEST_TERMINAL = 10


class Finding(Struct, frozen=True):
    """A problem of a block, or of the whole syllabus if `block` is None, without its place in the file."""

    level: Level
    block: int | None
    what: str
    fix: str


Rule = Callable[[Syllabus], Iterator[Finding]]


def _first_block_is_train(syllabus: Syllabus) -> Iterator[Finding]:
    if syllabus.phases and syllabus.phases[0].endswith("test"):
        yield Finding(
            "error",
            0,
            f"the first block is {syllabus.phases[0]}, and this type starts with training",
            "remove the evaluation before the first learning block, or lint without the type",
        )


def _one_task(syllabus: Syllabus) -> Iterator[Finding]:
    names = _names(syllabus)
    other = next((i for i, name in enumerate(names) if name != names[0]), None)
    if other is not None:
        yield Finding("error", other, f"a second task, {names[other]!r}", "CL exercises exactly one task")
    labels = {block.task for block in syllabus.scenario.blocks}
    if other is None and len(labels) == 1 and not any(is_drawn(block.params) for block in syllabus.scenario.blocks):
        yield Finding("warning", 0, "no parameter varies", "CL is about variation: add a second parameter set")


def _tests_recommended(syllabus: Syllabus) -> Iterator[Finding]:
    if not syllabus.scenario.where("evaluate"):
        yield Finding("advice", None, "no test phase", "CL recommends one after each training phase")


def _tests_needed(syllabus: Syllabus) -> Iterator[Finding]:
    if not syllabus.scenario.where("evaluate"):
        yield Finding("error", None, "no test phase", "Adapting to New Tasks requires tests: add 1.test, 2.test, …")


def _several_tasks(syllabus: Syllabus) -> Iterator[Finding]:
    names = dict.fromkeys(_names(syllabus))
    if len(names) == 1:
        yield Finding("error", None, f"a single task, {next(iter(names))!r}", "Adapting to New Tasks needs two or more")


def _no_variation(syllabus: Syllabus) -> Iterator[Finding]:
    """Report parameters that vary within a task or across tasks, because subtypes A and B vary none."""
    labels: dict[str, str] = {}
    values: dict[str, tuple[str, object]] = {}
    seen: set[str] = set()
    for index, (name, block) in enumerate(zip(_names(syllabus), syllabus.scenario.blocks, strict=True)):
        if block.task in seen:
            continue
        seen.add(block.task)
        fix = "subtypes A and B vary no parameter; keep one set throughout"
        if labels.setdefault(name, block.task) != block.task:
            yield Finding("error", index, f"a second parameter set of {name!r} ({block.task})", fix)
            continue
        if is_drawn(block.params):
            yield Finding("error", index, f"{block.task!r} draws a parameter", fix)
            continue
        for parameter, value in block.params.items():
            key = parameter_key({parameter: value})
            owner, first = values.setdefault(parameter, (name, key))
            if first != key:
                yield Finding("error", index, f"{parameter!r} differs between {owner!r} and {name!r}", fix)


def _maintenance_tests(syllabus: Syllabus) -> Iterator[Finding]:
    """Report missing tests of subtype A: after each new task, it tests all tasks learned so far."""
    learned: dict[str, int] = {}
    for name, block, tested in _stretches(syllabus):
        learned.setdefault(name, block)
        missing = [task for task in learned if task not in tested]
        if missing:
            yield Finding(
                "warning",
                block,
                f"after learning {name!r} there is no test of {join_first(map(repr, missing))}",
                "subtype A tests after each task all those learned so far",
            )


def _transfer_tests(syllabus: Syllabus) -> Iterator[Finding]:
    """Report missing tests of the other tasks after each task, the columns of a transfer matrix."""
    names = dict.fromkeys(_names(syllabus))
    for name, block, tested in _stretches(syllabus):
        missing = [task for task in names if task != name and task not in tested]
        if missing:
            yield Finding(
                "error",
                block,
                f"after learning {name!r}, before the next task, there is no test of {join_first(map(repr, missing))}",
                "a transfer matrix needs every other task tested after each learned one",
            )


def _order_switched(syllabus: Syllabus) -> Iterator[Finding]:
    names = _names(syllabus)
    learned = {names[index] for index in syllabus.scenario.where("learn")}
    for name in dict.fromkeys(names):
        if name not in learned:
            yield Finding(
                "error",
                names.index(name),
                f"{name!r} is tested and never learned",
                "subtype C switches the order: what was the test task is learned next",
            )


def _variation_within(syllabus: Syllabus) -> Iterator[Finding]:
    labels: dict[str, set[str]] = {}
    first: dict[str, int] = {}
    random_params: set[str] = set()
    for index, (name, block) in enumerate(zip(_names(syllabus), syllabus.scenario.blocks, strict=True)):
        labels.setdefault(name, set()).add(block.task)
        first.setdefault(name, index)
        if block.task not in random_params and is_drawn(block.params):
            random_params.update((name, block.task))
    for name, variants in labels.items():
        if len(variants) < 2 and name not in random_params:
            yield Finding(
                "error",
                first[name],
                f"{name!r} has one parameter set",
                "subtype C varies parameters within and across tasks: add a second set",
            )


_ADAPTING = (_first_block_is_train, _several_tasks, _tests_needed)
KIND_RULES: Mapping[str, tuple[Rule, ...]] = {
    "CL": (_first_block_is_train, _one_task, _tests_recommended),
    "ANT-A": (*_ADAPTING, _no_variation, _maintenance_tests),
    "ANT-B": (*_ADAPTING, _no_variation, _transfer_tests),
    "ANT-C": (*_ADAPTING, _variation_within, _transfer_tests, _order_switched),
}
KINDS = tuple(KIND_RULES)
"""The syllabus types of 2019, whose structure rules `lint` knows."""


def _names(syllabus: Syllabus) -> list[str]:
    """Return the task of each block, without its variant."""
    by_label = {task.label: task.name for task in syllabus.scenario.tasks}
    return [by_label[block.task] for block in syllabus.scenario.blocks]


def _stretches(syllabus: Syllabus) -> Iterator[tuple[str, int, set[str]]]:
    """Yield each stretch of learning one task: its name, its last learning block, the tasks tested until the next."""
    current: tuple[str, int] | None = None
    tested: set[str] = set()
    for index, (name, block) in enumerate(zip(_names(syllabus), syllabus.scenario.blocks, strict=True)):
        if block.mode != "learn":
            tested |= {name} if block.mode == "evaluate" else set()
            continue
        if current and current[0] != name:
            yield *current, tested
        if not current or current[0] != name:
            tested = set()
        current = (name, index)
    if current:
        yield *current, tested


# --- advice for any scenario ---------------------------------------------------------------------


def advice(syllabus: Syllabus, kind: str | None) -> list[Finding]:
    """Return all advice for better metrics of a lifetime, each kind once."""
    nothing = Finding("warning", None, "nothing is learned", "a lifetime needs a train phase; few metrics work without")
    return [
        *([] if syllabus.scenario.where("learn") else [nothing]),
        *_first_evaluation(syllabus, kind),
        *_short_blocks(syllabus),
        *_without_evaluation_between(syllabus),
        *_unattributable(syllabus),
    ]


def _first_evaluation(syllabus: Syllabus, kind: str | None) -> Iterator[Finding]:
    scenario = syllabus.scenario
    learning = scenario.where("learn")
    if not learning:
        return
    if str(scenario.info.get("scenario_type", "")).lower() == "ste":  # an expert's evaluations are ignored
        return
    if not scenario.where("evaluate"):
        yield Finding(
            "advice",
            None,
            "nothing is evaluated",
            "maintenance and transfer are measured in evaluations: add test phases to measure them",
        )
        return
    if kind in KINDS:  # these types refuse it
        return
    before = {block.task for block in scenario.blocks[: learning[0]]}
    missing = [task.label for task in scenario.tasks if task.label not in before]
    if missing:
        yield Finding(
            "advice",
            learning[0],
            f"{_join(missing)} not evaluated before the first learning block",
            'forward transfer needs it: evaluate all tasks in a phase "0.test"',
        )


def _short_blocks(syllabus: Syllabus) -> Iterator[Finding]:
    scenario = syllabus.scenario
    lengths = [(index, scenario.blocks[index].length) for index in scenario.where("learn")]
    tiny = [index for index, length in lengths if length is not None and length < _SHORTEST_TERMINAL]
    short = [
        index for index, length in lengths if length is not None and _SHORTEST_TERMINAL <= length < _SHORTEST_SMOOTHED
    ]
    if tiny:
        yield Finding(
            "warning",
            tiny[0],
            f"{_blocks(tiny, 'learning block')} under {_SHORTEST_TERMINAL} experiences",
            "its terminal performance is a single value, and it is not smoothed; make it longer",
        )
    if short:
        yield Finding(
            "advice",
            short[0],
            f"{_blocks(short, 'learning block')} under {_SHORTEST_SMOOTHED} experiences",
            "too short to be smoothed; make it longer",
        )


def _without_evaluation_between(syllabus: Syllabus) -> Iterator[Finding]:
    blocks = syllabus.scenario.blocks
    if not syllabus.scenario.where("evaluate"):
        return
    later = [
        index
        for index in range(1, len(blocks))
        if blocks[index].mode == blocks[index - 1].mode == "learn" and blocks[index].subtype == "wake"
    ]
    if later:
        first = later[0]
        yield Finding(
            "advice",
            first,
            f"{_blocks(later, 'learning block')} right after another, with no evaluation between "
            f"(first: {blocks[first - 1].task}, then {blocks[first].task})",
            "evaluate after each learning block; otherwise their effects cannot be told apart",
        )


def _unattributable(syllabus: Syllabus) -> Iterator[Finding]:
    cases = confounded(syllabus.scenario)
    examples = list(islice(cases, 3))
    if not examples:
        return
    count = len(examples) + sum(1 for _ in cases)
    texts = [f"{_tasks(syllabus, case.learned)} before block {case.after} ({case.task})" for case in examples]
    yield Finding(
        "advice",
        examples[0].after,
        f"several tasks are learned between two evaluations of one, {count} times: {'; '.join(texts)}"
        + ("; …" if count > len(examples) else ""),
        "transfer cannot be attributed there; evaluate every task after each learning block",
    )


def _tasks(syllabus: Syllabus, blocks: Sequence[int]) -> str:
    names = [f"{index} ({syllabus.scenario.blocks[index].task})" for index in blocks[:4]]
    return "blocks " + ", ".join(names) + (", …" if len(blocks) > 4 else "")


def _blocks(indices: Sequence[int], noun: str) -> str:
    return f"a {noun}" if len(indices) == 1 else f"{len(indices):,} {noun}s, the first here,"


def _join(names: Sequence[str]) -> str:
    return f"{join_first(names)} {'is' if len(names) == 1 else 'are'}"
