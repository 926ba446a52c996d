"""Print scores: the answer in a sentence, the numbers behind it by question, and how to see the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from perdure.cli.terminal import clean, echo, left_out_text, say, show, styled, width
from perdure.settings.presets import FRAMEWORK_2019
from perdure.text import interval, join_words, number, p_words, percent, plural

if TYPE_CHECKING:
    from perdure.gather.model import Survey
    from perdure.stats.model import Estimate, Group


_COLOURS = {"met": "green", "not met": "red", "undecided": "magenta"}
_INDENT = "   "


class Depth(Struct, frozen=True):
    """The amount of detail that is printed."""

    every: bool = False
    """Print every metric that has a value."""
    why: bool = False
    """Print why metrics have no value, and remarks."""
    ids: tuple[str, ...] = ()
    """Print only these metrics."""
    quiet: bool = False


def show_answers(survey: Survey, groups: Sequence[Group], depth: Depth) -> None:
    """Print each group's answer, then what was left out, remarks on all lifetimes, and the capabilities of 2019."""
    from perdure.stats.answer import title

    for number_, group in enumerate(groups):
        if number_:
            say("")
        _show_group(survey, group, depth, title(group, groups))
    if not depth.quiet:
        _show_remarks(survey, groups, depth)
    for name, why in survey.faults:
        say(f"error in {name}: {why}", "magenta")
    show_left_out(survey)
    if survey.preset == FRAMEWORK_2019 and not depth.quiet:
        _show_capabilities(survey)


def show_left_out(survey: Survey, *, err: bool = False) -> None:
    """Print the lifetimes that were left out, and why; to stderr if stdout is JSON."""
    for path, why in survey.left_out:
        if err:
            echo(left_out_text(path, why), err=True)
        else:
            say(left_out_text(path, why), "magenta", fold=False)


def show_over_time(survey: Survey, metrics: Sequence[str] = ()) -> None:
    """Print every value behind the metrics, and the block at which it is known, as `--json` and `--out` count them."""
    from perdure.reports.figures.metric_values import over_time_metrics

    for score in survey.scores:
        rows = [("metric", "task", "block", "value")]
        for name in metrics or over_time_metrics():
            if (found := score.metrics.get(name)) is not None:
                for task, places in found.at.items():
                    values = zip(places, found.by[task], strict=True)
                    rows += [(name, task, str(place[-1]), number(value)) for place, value in values]
        say("")
        if len(rows) == 1:
            say(f"{score.id}: no value can be assigned to a block", "bold")
            continue
        say(f"{score.id}: over time", "bold")
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for metric, task, block, value in rows:
            say(f" {metric:{wide[0]}}   {task:{wide[1]}}   {block:>{wide[2]}}   {value:>{wide[3]}}", fold=False)


def _show_capabilities(survey: Survey) -> None:
    """Print each learner's score in each Core Capability of 2019, and the questions behind it."""
    from perdure.cli.console import Console, print_table
    from perdure.stats.capabilities import capabilities
    from perdure.tables import Column, Strong, Table

    found = capabilities(survey)
    for learner in dict.fromkeys(capability.learner for capability in found):
        rows: list[tuple[str, str, str]] = []
        for capability in found:
            if capability.learner != learner:
                continue
            count = len(capability.syllabi)
            over = "" if capability.why else f" ({count} syllab{'us' if count == 1 else 'i'})"
            text = f"{capability.name}: {capability.meaning}{over}"
            rows.append((Strong(text) if count else text, "", number(capability.score)))
            rows += [(f"  {answer.question}", answer.metric, number(answer.value)) for answer in capability.answers]
        columns = (Column(f"Core Capabilities of {learner}"), Column("metric"), Column("score", "number"))
        print_table(Console(), Table("", columns, tuple(rows)), wrap=True)


def _show_group(survey: Survey, group: Group, depth: Depth, heading: str, *, whole: bool = True) -> None:
    from perdure.metrics.declare import METRICS
    from perdure.stats.answer import answer, asked, interpretation

    say(heading, "bold")
    if whole:
        for line in (answer(group), *(interpretation(group, survey.metrics) if depth.why else ())):
            say(line) if line else None
    questions = {} if depth.ids else asked(group)
    valued = [one for one in group.estimates.values() if one.n and not _is_relearned(group, one)]
    requested = [one for one in valued if one.metric in depth.ids or one.metric not in METRICS]
    if requested:
        questions["" if depth.ids else "Requested"] = requested
    shown = [one for estimates in questions.values() for one in estimates]
    rest = [one for one in valued if one not in shown]
    if depth.every and rest:
        questions["More"] = rest
    _show_estimates(questions)
    for line in _notes(group, shown) if not depth.quiet else ():
        say(f"note: {line}", "dim", indent=" ")
    for line in _order_lines(group, depth) if not depth.quiet else ():
        say(line, "dim", indent=" ")
    if group.learned_only is not None:
        left = group.learned_only.n
        if left in (0, group.n):
            say(f"{'every' if left else 'no'} lifetime learned every task to its level of --learned", "bold")
        else:
            heading = f"without {group.n - left} that did not learn every task"
            _show_group(survey, group.learned_only, depth, heading, whole=False)
    if not depth.quiet and whole:
        _show_footer(group, rest, depth)
    for lifetime, why in group.left_out:
        say(f"left out: {lifetime}: {why}", "magenta")


def _show_estimates(questions: dict[str, list[Estimate]]) -> None:
    rows = {
        question: [
            (
                one.metric if question in ("", "More") else one.metric.replace("_", " "),
                number(one.mean, one.width),
                "" if one.low is None else interval(one.low, one.high),
                (one.word or one.verdict) if one.verdict else "",
                f"{p_words(one.p)} against {number(one.against)}" if one.verdict and one.p is not None else "",
                _COLOURS.get(one.verdict or "", ""),
            )
            for one in estimates
        ]
        for question, estimates in questions.items()
    }
    every = [row for of_question in rows.values() for row in of_question]
    wide = [max((len(row[at]) for row in every), default=0) for at in range(5)]
    room = width() - len(_INDENT)
    fits = sum(wide) + 4 <= room  # without room for p, which --json has, the other columns stay whole
    gap = " " * max(1, min(3, (room - sum(wide if fits else wide[:4])) // 4))
    for question, of_question in rows.items():
        if question:
            say(f" {question}", "bold", fold=False)
        for name, value, spread, word, p, colour in of_question:
            before = f"{_INDENT}{clean(name):{wide[0]}}{gap}{value:>{wide[1]}}{gap}{spread:^{wide[2]}}{gap}"
            show(f"{before}{styled(f'{word:{wide[3]}}', colour)}{gap}{p if fits else ''}".rstrip())


def _notes(group: Group, shown: Iterable[Estimate]) -> Iterator[str]:
    """Yield the cautions about verdicts, and what would decide an open one, each once."""
    notes: dict[str, list[str]] = {}
    for one in shown:
        undecided = [one.says] if one.word == "undecided" and one.says else []
        for note in (*undecided, *(one.notes if group.n > 1 else ())) if one.verdict else ():
            notes.setdefault(note, []).append(one.metric.replace("_", " "))
    for note, names in notes.items():
        yield f"{join_words(names)}: {note}"


def _order_lines(group: Group, depth: Depth) -> Iterator[str]:
    """Yield a line on the order of tasks as a cause of the spread; if its share is not known, the reason with --why."""
    shown = {name: one for name, one in (group.spread or {}).items() if not depth.ids or name in depth.ids}
    known = {name: one for name, one in shown.items() if one.share is not None}
    shares = [
        f"{percent(one.share or 0.0)} of that of {name.replace('_', ' ')} "
        f"({percent(one.low or 0.0)[:-2]} … {percent(one.high or 0.0)})"
        for name, one in known.items()
    ]
    if shares:
        counts = [count for count in max((one.lifetimes for one in known.values()), key=sum) if count > 1]
        each = f"{counts[-1]} to {counts[0]}" if counts[-1] < counts[0] else str(counts[0])
        explained = ", ".join(shares).replace("of that of", "of the spread of", 1)
        yield f"the order of tasks explains {explained}; {len(counts)} orders of {each} lifetimes"
    elif depth.why:
        for why in dict.fromkeys(one.why for one in shown.values()):
            yield f"the order's share of the spread is not known: {why}"


def _show_footer(group: Group, rest: Sequence[Estimate], depth: Depth) -> None:
    from perdure.metrics.declare import METRICS

    absent: dict[tuple[int, str], list[str]] = {}
    flagged: dict[tuple[str, int], list[str]] = {}
    for name, one in group.estimates.items():
        for carried in one.flags:
            flagged.setdefault((carried.flag, carried.n), []).append(name)
        if one.missing:
            absent.setdefault((one.missing, one.absent or "no reason is given"), []).append(name)
    hidden = [name for name, one in group.estimates.items() if one.n and _is_relearned(group, one)]
    if depth.why:
        for note in group.notes:
            say(note, "dim")
        _show_absent(group, absent)
        for (flag, count), names in flagged.items():
            among = f" ({count} of {group.n} lifetimes)" if group.n > 1 else ""
            say(f"{', '.join(names)}: {flag}{among}", "dim")
        if hidden:
            say(f"{', '.join(hidden)}: not shown, because tasks were learned again; --json has them", "dim")
        return
    known: Container[str] = () if depth.ids else METRICS
    # A mean over some of the lifetimes is not that of the group.
    partly = {one.metric for one in group.estimates.values() if one.n and one.missing and one not in rest}
    requested = {why: [name for name in names if name in partly or name not in known] for why, names in absent.items()}
    _show_absent(group, {why: names for why, names in requested.items() if names})
    valueless = sum(1 for name, one in group.estimates.items() if name in known and not one.n)
    parts = [
        f"{plural(len(rest), 'more metric')}: --all" if rest and not depth.every and not depth.ids else "",
        f"{valueless} without a value: --why" if valueless else "",
        f"{plural(len(flagged) + len(group.notes), 'remark')}: --why" if flagged or group.notes else "",
    ]
    if any(parts):
        say(" · ".join(part for part in parts if part), "dim", indent=" ")


def _show_absent(group: Group, absent: dict[tuple[int, str], list[str]]) -> None:
    for (missing, why), names in absent.items():
        extent = "no value" if missing >= group.n else f"{missing} of {group.n} lifetimes lack a value"
        say(f"{', '.join(names)}: {extent}: {why}", "dim")


def _show_remarks(survey: Survey, groups: Sequence[Group], depth: Depth) -> None:
    """Print remarks on all lifetimes, each once."""
    from perdure.log.problem import Caution
    from perdure.stats.groups import changed_learners
    from perdure.stats.sentences import decides, rule_of

    scores = survey.scores
    dropped, count = sum(score.dropped_rows for score in scores), sum(bool(score.dropped_rows) for score in scores)
    if dropped:
        say(f"{plural(dropped, 'row')} dropped in {count} of {plural(len(scores), 'lifetime')}", "magenta")
    measures = {score.measure for score in scores}
    if len(measures) > 1:
        say("lifetimes with different measures are separate groups; choose one with --measure", "dim")
    if len({(score.measure, score.identity.direction) for score in scores}) > len(measures):
        fix = "correct the manifest that is wrong, or give --lower-is-better or --higher-is-better"
        say(f"lifetimes with different directions of a measure are separate groups; {fix}", "magenta")
    for note in changed_learners(scores).values():
        say(note, "magenta")
    unlearned = [score.id for score in scores if score.not_learned]
    if unlearned:
        say(f"at least one task was never learned in: {', '.join(unlearned)}", "magenta")
    for preset in dict.fromkeys(group.preset for group in groups):
        if depth.why or not decides(preset):
            say(rule_of(preset), "dim")
    brief = not depth.why and len(scores) > 1
    notes = Counter(note for score in scores for note in score.notes if not brief or isinstance(note, Caution))
    for note, count in notes.items():
        say(f"note: {note}" + ("" if count == len(scores) else f" ({count} of {len(scores)} lifetimes)"), "dim")


def _is_relearned(group: Group, one: Estimate) -> bool:
    """Return whether this is an accuracy-matrix number of a log in which tasks were learned again."""
    from perdure.metrics.matrix import RELEARNED

    return group.unit is None and any(carried.flag == RELEARNED for carried in one.flags)
