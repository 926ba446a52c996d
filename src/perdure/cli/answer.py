"""Scores for people: the answer in a sentence, the few numbers behind it by question, and where the rest is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from msgspec import Struct

from perdure.cli.terminal import clean, echo, show, styled, width
from perdure.settings.presets import FRAMEWORK_2019
from perdure.text import interval, listed, number, p_words, plural

if TYPE_CHECKING:
    from perdure.gather.model import Survey
    from perdure.stats.model import Estimate, Group


_VERDICTS = {"met": "green", "not met": "red", "undecided": "yellow"}
_INDENT = "   "


class Depth(Struct, frozen=True):
    """How much is shown: every metric, why some have no value, what is to be known of the rest."""

    every: bool = False
    why: bool = False
    ids: tuple[str, ...] = ()
    """The metrics that were asked for, alone."""
    quiet: bool = False


def show_answers(scores: Survey, groups: Sequence[Group], depth: Depth) -> None:
    """Print each group's answer; then what was left out, what holds of all of them, and the capabilities of 2019."""
    from perdure.stats.answer import title

    for at, group in enumerate(groups):
        if at:
            say("")
        _show(scores, group, depth, title(group, groups))
    if not depth.quiet:
        _of_all(scores, groups, depth)
    for name, why in scores.faults:
        say(f"error in {name}: {why}", "yellow")
    show_left_out(scores)
    if scores.preset == FRAMEWORK_2019 and not depth.quiet:
        from perdure.cli.capability_table import show_capabilities

        show_capabilities(scores)


def show_left_out(scores: Survey, *, err: bool = False) -> None:
    """Print what was left out of the scores, and why; to stderr if stdout is JSON."""
    for path, why in scores.left_out:
        said = f"left out: {why if path in why else f'{path}: {why}'}"
        if err:
            echo(clean(said), err=True)
        else:
            say(said, "yellow", fold=False)


def _show(scores: Survey, group: Group, depth: Depth, heading: str, *, whole: bool = True) -> None:
    from perdure.metrics.declare import METRICS
    from perdure.stats.answer import answer, asked, interpretation

    say(heading, "bold")
    if whole:
        for line in (answer(group), *interpretation(group, scores.metrics)[: None if depth.why else 1]):
            say(line) if line else None
    questions = {} if depth.ids else asked(group)
    known = [one for one in group.estimates.values() if one.n and not _relearned(group, one)]
    wanted = [one for one in known if one.metric in depth.ids or one.metric not in METRICS]  # asked for, or a file's
    if wanted:
        questions["" if depth.ids else "Requested"] = wanted
    shown = [one for rows in questions.values() for one in rows]
    rest = [one for one in known if one not in shown]
    if depth.every and rest:
        questions["More"] = rest
    _table(questions)
    for line in _notes(group, shown) if not depth.quiet else ():
        say(f"note: {line}", "grey", indent=" ")
    if group.learned_only is not None:
        left = group.n - group.learned_only.n
        heading = f"without {left} that did not learn every task"
        _show(scores, group.learned_only, depth, heading, whole=False)
    if not depth.quiet and whole:
        _footer(group, rest, depth)
    for life, why in group.left_out:
        say(f"left out: {life}: {why}", "yellow")


def _table(questions: dict[str, list[Estimate]]) -> None:
    rows = {
        question: [
            (
                one.metric if question in ("", "More") else one.metric.replace("_", " "),
                number(one.mean, one.width),
                "" if one.low is None else interval(one.low, one.high),
                (one.word or one.verdict) if one.verdict else "",
                p_words(one.p) if one.verdict and one.p is not None else "",
                _VERDICTS.get(one.verdict or "", ""),
            )
            for one in estimates
        ]
        for question, estimates in questions.items()
    }
    every = [row for some in rows.values() for row in some]
    wide = [max((len(row[at]) for row in every), default=0) for at in range(5)]
    room = width() - len(_INDENT)
    fits = sum(wide) + 4 <= room  # ids, intervals and verdicts stay whole; where there is no room for p, --json has it
    gap = " " * max(1, min(3, (room - sum(wide if fits else wide[:4])) // 4))
    for question, some in rows.items():
        if question:
            say(f" {question}", "bold", fold=False)
        for name, value, spread, word, p, colour in some:
            before = f"{_INDENT}{clean(name):{wide[0]}}{gap}{value:>{wide[1]}}{gap}{spread:^{wide[2]}}{gap}"
            show(f"{before}{styled(f'{word:{wide[3]}}', colour)}{gap}{p if fits else ''}".rstrip())


def _notes(group: Group, shown: Iterable[Estimate]) -> Iterator[str]:
    """What is to be known of a verdict before it is believed, and what would decide one that is open."""
    said: dict[str, list[str]] = {}
    for one in shown:
        open_ = [one.says] if one.word == "undecided" and one.says else []
        for note in (*open_, *(one.notes if group.n > 1 else ())) if one.verdict else ():
            said.setdefault(note, []).append(one.metric.replace("_", " "))
    for note, names in said.items():
        yield f"{listed(names)}: {note}"


def _footer(group: Group, rest: Sequence[Estimate], depth: Depth) -> None:
    from perdure.metrics.declare import METRICS

    absent: dict[tuple[int, str], list[str]] = {}
    flagged: dict[tuple[str, int], list[str]] = {}
    for name, one in group.estimates.items():
        for carried in one.flags:
            flagged.setdefault((carried.flag, carried.n), []).append(name)
        if one.missing:
            absent.setdefault((one.missing, one.absent or "no reason is given"), []).append(name)
    hidden = [name for name, one in group.estimates.items() if one.n and _relearned(group, one)]
    if depth.why:
        for note in group.notes:
            say(note, "grey")
        _say_absent(group, absent)
        for (flag, count), names in flagged.items():
            among = f" ({count} of {group.n} lifetimes)" if group.n > 1 else ""
            say(f"{', '.join(names)}: {flag}{among}", "grey")
        if hidden:
            say(f"{', '.join(hidden)}: not shown, because tasks were learned again; --json has them", "grey")
        return
    known: Container[str] = () if depth.ids else METRICS
    asked_for = {why: [name for name in names if name not in known] for why, names in absent.items()}
    _say_absent(group, {why: names for why, names in asked_for.items() if names})  # so their reason is of interest
    none = sum(1 for name, one in group.estimates.items() if name in known and not one.n)
    parts = [
        f"{plural(len(rest), 'more metric')}: --all" if rest and not depth.every and not depth.ids else "",
        f"{none} without a value: --why" if none else "",
        f"{plural(len(flagged) + len(group.notes), 'remark')}: --why" if flagged or group.notes else "",
    ]
    if any(parts):
        say(" · ".join(one for one in parts if one), "grey", indent=" ")


def _say_absent(group: Group, absent: dict[tuple[int, str], list[str]]) -> None:
    for (missing, why), names in absent.items():
        of = "no value" if missing >= group.n else f"{missing} of {group.n} lifetimes lack a value"
        say(f"{', '.join(names)}: {of}: {why}", "grey")


def _of_all(scores: Survey, groups: Sequence[Group], depth: Depth) -> None:
    """What is to be said of the lifetimes together, each thing once."""
    from perdure.metrics.score import OtherCode
    from perdure.stats.groups import changed_learners
    from perdure.stats.sentences import decides, rule_of

    lives = scores.scores
    dropped, where = sum(one.dropped_rows for one in lives), sum(bool(one.dropped_rows) for one in lives)
    if dropped:
        say(f"{plural(dropped, 'row')} dropped in {where} of {plural(len(lives), 'lifetime')}", "yellow")
    measures = {one.measure for one in lives}
    if len(measures) > 1:
        say("lifetimes with different measures are separate groups; choose one with --measure", "grey")
    if len({(one.measure, one.identity.direction) for one in lives}) > len(measures):
        fix = "correct the manifest that is wrong, or give --lower-is-better or --higher-is-better"
        say(f"lifetimes with different directions of a measure are separate groups; {fix}", "yellow")
    for note in changed_learners(lives).values():
        say(note, "yellow")
    unlearned = [one.id for one in lives if one.not_learned]
    if unlearned:
        say(f"at least one task was never learned in: {', '.join(unlearned)}", "yellow")
    presets = dict.fromkeys(group.preset for group in groups)
    for preset in presets:
        if depth.why or not decides(preset):  # that nothing is decided is not left to be guessed
            say(rule_of(preset), "grey")
    brief = not depth.why and len(lives) > 1
    notes = Counter(note for one in lives for note in one.notes if not brief or isinstance(note, OtherCode))
    for note, count in notes.items():
        say(f"note: {note}" + ("" if count == len(lives) else f" ({count} of {len(lives)} lifetimes)"), "grey")


def _relearned(group: Group, one: Estimate) -> bool:
    """A log's accuracy-matrix numbers, where a task was learned again: they then say it kept what it relearned."""
    from perdure.metrics.matrix import RELEARNED

    return group.unit is None and any(carried.flag == RELEARNED for carried in one.flags)


# --- lines ---------------------------------------------------------------------------------------


def say(text: str, style: str = "", *, fold: bool = True, indent: str = "") -> None:
    """Print a text, folded to the terminal's width; control characters in it are shown, not sent."""
    lines = wrap(text, width(), initial_indent=indent, subsequent_indent=indent) or [""] if fold else [indent + text]
    for line in lines:
        show(styled(clean(line), style))
