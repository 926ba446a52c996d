"""Answers in sentences: about keeping, further verdicts, comparisons and accuracy matrices.

Every word, number and interval is that of one decision or one comparison; nothing is tested again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from perdure.log.accuracy_matrix import LIMITS
from perdure.log.model import Unit
from perdure.metrics import METRICS
from perdure.metrics.declare import QUESTIONS, Headline, Metric, Threshold, VerdictWords
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.matrix_formulas import average_accuracy, bwt, learning_accuracy
from perdure.metrics.score import Score
from perdure.settings.presets import STANDARD
from perdure.stats.decide import estimates
from perdure.stats.model import Estimate, Group, LearnedState
from perdure.stats.sentences import FAVOURABLE, with_collapse_share, word_of, words_of, would_decide
from perdure.text import interval, join_words, number, percent, plural

_POINTS = {"percent": " percentage points", "fraction": " of 1"}
_SCALED = " of 100 points"
_UNITS = {"contrast": "a contrast, −1 to 1"}
_MOST = 6


def called(group: Group) -> str:
    """Return the learner's name, or the group's if its lifetimes name none."""
    return group.learner or group.group


def told_apart(group: Group, groups: Sequence[Group]) -> str:
    """Return the learner's name, or the whole name of the group if others of `groups` have the same learner."""
    name = called(group)
    return name if sum(called(other) == name for other in groups) < 2 else group.group


def title(group: Group, groups: Sequence[Group] = ()) -> str:
    """Return the learner, scenario type, number of lifetimes and measure; unambiguous among `groups`."""
    where = f", {group.scenario_type}" if group.learner and group.scenario_type else ""
    what = "".join(f", {text}" for text in (group.measure, *group.stated) if text)
    level = next((one.level for one in group.estimates.values() if one.low is not None), None)
    spread = "" if level is None else f", {percent(level)} intervals"
    if group.n == 1 and group.lives:
        own = group.learner and group.learner != group.lives[0]
        spread = f"{spread} over items, one seed" if spread else ""
        return f"{group.lives[0]}: {f'{group.learner}{where}, ' if own else ''}1 lifetime{what}{_preset(group)}{spread}"
    alike = [other for other in groups if other.scenario_type == group.scenario_type]
    who = told_apart(group, alike)
    who = f"{who}{where}" if who == called(group) else who.replace(" · ", ", ")
    return f"{who}: {plural(group.n, 'lifetime')}{what}{_preset(group)}{spread}{_margin(group)}"


def _preset(group: Group) -> str:
    return "" if group.preset == STANDARD else f", as {group.preset} scores"


def _margin(group: Group) -> str:
    """Return the margin and tails of a preset other than `standard`, whose rule is not that of the documentation."""
    found = keeping(group)
    if group.preset == STANDARD or found is None or found.low is None or found.verdict is None:
        return ""
    tails = ", one-tailed p" if found.tails == "one" else ""
    return f"{f', margin {number(found.margin)}' if found.margin else ', no margin'}{tails}"


def question(metric: str) -> str:
    """Return the question that a metric answers, by its declaration; nothing if it is not declared."""
    return METRICS.get(metric).question if metric in METRICS else ""


def asked(group: Group) -> dict[str, list[Estimate]]:
    """Return the estimates with a value by the question that they answer, in the order of the questions."""
    kind = "matrix" if group.unit else "log"
    by_question: dict[str, list[Estimate]] = {}
    for name, estimate in group.estimates.items():
        if estimate.n and estimate.bar.headline in ("", kind):
            by_question.setdefault(question(name), []).append(estimate)
        over = group.maintenance_over_learned_tasks
        if name == performance_maintenance.name and over is not None and over.n:
            by_question.setdefault(question(name), []).append(over)
    return {words: by_question[key] for key, words in QUESTIONS.items() if key in by_question}


def keeping(group: Group) -> Estimate | None:
    """Return the estimate of performance maintenance, for a matrix of BWT."""
    return group.estimates.get(kept_by()["matrix" if group.unit else "log"])


@cache
def kept_by() -> Mapping[Headline, str]:
    """Return, for a log and for a matrix, the headline metric of the change of what was learned."""
    return {one.headline: one.name for one in METRICS if one.headline and one.words and one.words.of_change}


def answer(group: Group) -> str:
    """Return one sentence about keeping, or None if the preset does not measure it."""
    sentence = "".join(in_parts(group))
    return f"{sentence}." if sentence else ""


def in_parts(group: Group) -> tuple[str, str]:
    """Return the same in two parts: the words that carry the verdict, and the rest up to its full stop."""
    lead, rest = _kept_in_parts(group)
    not_learned = "; ".join(learning_clauses(group)) if lead else ""
    return lead, f"{rest}; {not_learned}" if not_learned else rest


def learning_clauses(group: Group) -> Iterator[str]:
    """Yield clauses that name the tasks that were not learned, or may not have been, and what is left without them."""
    tasks = {state: [task for task, found in group.learned.items() if found == state] for state in _NOT_LEARNED}
    for state, (singular, plural_) in _NOT_LEARNED.items():
        if tasks[state]:
            yield (singular if len(tasks[state]) == 1 else plural_).format(join_words(tasks[state]))
    over = group.maintenance_over_learned_tasks
    if over is not None and over.mean is not None:
        change = f"{'lost' if over.mean < 0 else 'gained'} {number(abs(over.mean), over.width)}{points_of(group)}"
        low, high = (over.low, over.high) if over.mean >= 0 else (over.high and -over.high, over.low and -over.low)
        spread = "" if over.low is None else f" ({percent(over.level)} interval {interval(low, high, ' to ')})"
        without = "that task" if len(tasks["not learned"]) == 1 else "those tasks"
        yield f"without {without} it {change} on average{spread}"


_NOT_LEARNED: Mapping[LearnedState, tuple[str, str]] = {
    "unclear": ("whether {} was learned is unclear", "whether {} were learned is unclear"),
    "no gain seen after the first tenth": (
        "{} showed no gain after the first tenth of learning",
        "{} showed no gain after the first tenth of learning",
    ),
    "not learned": ("{} was not learned", "{} were not learned"),
}


def _kept_in_parts(group: Group) -> tuple[str, str]:
    found, who = keeping(group), called(group)
    if found is None:
        return "", ""
    if found.mean is None:
        why = found.absent or "no lifetime has a value"
        return f"Whether {who} keeps what it learns was not measured", f": {why}"
    if found.verdict is None:
        return "", ""
    points = points_of(group)
    if found.low is None or found.high is None or found.word is None:
        return _of_few(found, who, points)
    lost = f"between {interval(-found.high, -found.low, ' and ')}{points}"
    if (
        points == _SCALED and found.high < 0 and found.low < -100
    ):  # the interval knows no bounds; nobody loses 115 of 100
        lost = f"at least {number(-found.high, found.width)}{points}"
    if found.word == "forgets":
        return f"{who} forgets", f": it loses {lost}"
    if found.word == "loses":
        return f"{who} loses", f" {lost}; whether it is {number(found.margin)} or more is undecided{_new_group(found)}"
    if found.word == "gains":
        gained = f"between {interval(found.low, found.high, ' and ')}{points}"
        return _cautious(f"{who} improves on earlier tasks", f": it gains {gained}", found)
    if found.word == "keeps":
        most = f"it loses {lost}" if found.high < 0 else f"it loses at most {number(-found.low, found.width)}{points}"
        return _cautious(f"{who} keeps what it learns", f": {most}", found)
    between = f"the change lies between {interval(found.low, found.high, ' and ')}{points}"
    return (
        f"Whether {who} keeps what it learns is undecided",
        f": {between}{_new_group(found)}{_standard(group, found)}",
    )


def _standard(group: Group, found: Estimate) -> str:
    """Return what the interval says by the margin of `standard`, for presets without one."""
    if group.preset == STANDARD or found.margin or found.metric not in METRICS or group.unit:
        return ""
    assert found.low is not None
    assert found.high is not None
    slack = METRICS.get(found.metric).margin
    word = word_of(words_of(found.metric), "undecided", (found.low, found.high), slack, 0.0)
    said = "this is undecided as well" if word == "undecided" else f"it {_MANY[word][0]}"
    return f". {group.preset} has no margin; with that of {STANDARD}, {number(slack)} points, {said}"


def _cautious(lead: str, rest: str, found: Estimate) -> tuple[str, str]:
    """Return both parts with the share of lifetimes that may collapse, or the number of those that did."""
    if found.above_count is not None and found.above_count < found.n:
        more = f" {number(found.margin)} points or more" if found.margin else ""
        return lead, f"{rest}; {found.n - found.above_count} of {found.n} lifetimes lost{more}"
    before, _, after = with_collapse_share("|", found.n).partition("|")
    return f"{before}{lead}", f"{rest}{after}"


def points_of(group: Group) -> str:
    """Return the unit that follows a number of points."""
    return _POINTS.get(group.unit or "", " points" if group.unit else _SCALED)


def _of_few(found: Estimate, who: str, points: str) -> tuple[str, str]:
    assert found.mean is not None
    change = f"{'lost' if found.mean < 0 else 'gained'} {number(abs(found.mean), found.width)}{points}"
    if not found.mean:
        change = "neither lost nor gained"
    if found.n > 1:
        said = join_words(found.notes) if found.notes else "nothing is decided"
        return f"{who} {change} on average", f"; {said}"
    if found.over == "items":
        ends = (found.low, found.high) if found.mean >= 0 else (found.high and -found.high, found.low and -found.low)
        spread = f" ({found.interval_name}: {interval(*ends, ' to ')})"
        chance = "chance in its items is ruled out; other seeds may differ"
        return (
            f"{who} {change} in this lifetime",
            f"{spread}; {found.notes[0] if found.verdict == 'undecided' else chance}",
        )
    if found.verdict != "undecided":
        return f"{who} {change} in this lifetime", ", more than its own evaluations vary"
    return f"{who} {change} in this lifetime", f"; {found.notes[0] if found.notes else 'chance is not ruled out'}"


def _new_group(found: Estimate) -> str:
    clause = would_decide(found)
    return f"; {clause}" if clause else ""


# --- columns of a table of learners ---------------------------------------------------------------


class Question(Struct, frozen=True):
    """A column of the table of learners: its title, the metric that answers it, and the unit of its values."""

    asks: str
    metric: str
    about: str


def questions(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[Question, ...]:
    """Return the columns for these groups: of logs or of accuracy matrices; else the metrics with a threshold."""
    kind = "matrix" if any(group.unit for group in groups) else "log"
    told = {name: words_of(name, one.criterion) for name, one in declared.items() if one.headline == kind}
    asked = sorted((name for name, words in told.items() if words.asks), key=lambda name: not told[name].of_change)
    valued = [name for name in asked if any(_mean(group, name) is not None for group in groups)]
    if valued:
        return tuple(Question(told[name].asks, name, _about(told[name], declared[name])) for name in valued)
    others = [name for name, one in declared.items() if one.threshold is not None and not one.variant_of]
    named = [name for name in others if any(_mean(group, name) is not None for group in groups)][:_MOST]
    return tuple(Question(name.replace("_", " "), name, declared[name].unit) for name in named)


def _about(words: VerdictWords, metric: Metric) -> str:
    unit = _UNITS.get(metric.unit)
    return f"{words.about.partition(',')[0]}, {unit}" if unit else words.about


def _mean(group: Group, metric: str) -> float | None:
    found = group.estimates.get(metric)
    return found.mean if found else None


# --- in sentences --------------------------------------------------------------------------------


class AnswerPart(Struct, frozen=True):
    """The answer of one group: the verdict, the words that carry it, and the numbers behind them."""

    verdict: str | None
    word: str | None
    lead: str
    where: str
    """The scenario type if the learner has several; else nothing."""
    rest: str


class LearnerAnswer(Struct, frozen=True):
    """The verdict on keeping by group, and the further verdicts that all groups of a learner share."""

    learner: str
    parts: tuple[AnswerPart, ...]
    further: str

    @property
    def pieces(self) -> tuple[AnswerPart, ...]:
        """The parts in order; two in a row with the same lead have it once."""
        said = []
        for at, one in enumerate(self.parts):
            again = at > 0 and one.lead == self.parts[at - 1].lead
            rest = f"{one.rest.lstrip(':; ') if again else one.rest}{f' ({one.where})' if one.where else ''}"
            said.append(replace(one, lead="" if again else one.lead, rest=rest))
        return tuple(said)

    @property
    def sentence(self) -> str:
        """The answer as one text."""
        told = "; ".join(f"{one.lead}{one.rest}" for one in self.pieces)
        return f"{told}." + (f" {self.further}" if self.further else "")


def answers(groups: Sequence[Group]) -> tuple[LearnerAnswer, ...]:
    """Return one answer for each learner that has one, in the order of the groups."""
    by: dict[str, list[Group]] = {}
    for group in groups:
        by.setdefault(called(group), []).append(group)
    made = []
    for learner, own in by.items():
        kinds = [group.scenario_type or group.group for group in own]
        kinds = kinds if len(set(kinds)) == len(kinds) else [group.group for group in own]
        found = [_part(group, kind if len(own) > 1 else "") for group, kind in zip(own, kinds, strict=True)]
        if parts := tuple(one for one in found if one.lead):
            made.append(LearnerAnswer(learner, parts, _further(own, several=len(by) > 1)))
    return tuple(made)


def _part(group: Group, where: str) -> AnswerPart:
    if not group.n and group.left_out:
        return AnswerPart(
            None, None, f"{called(group)} cannot be judged yet", where, ": no lifetime has reached its end"
        )
    one = keeping(group)
    lead, rest = in_parts(group)
    return AnswerPart(one.verdict if one else None, one.word if one else None, lead, where, rest)


def _further(groups: Sequence[Group], *, several: bool) -> str:
    """Return in a sentence the verdicts on transfer and relative to experts that all groups share.

    Several learners have experts of their own, and worse experts would make a learner look better.
    """
    said: dict[tuple[str, str], list[str]] = {}
    counts: list[int] = []
    for metric, one in groups[0].estimates.items():
        if several and one.bar.expert and groups[0].preset == STANDARD:
            continue
        words, word = words_of(metric, one.bar), _agreed(groups, metric)
        if words.does and word:
            said.setdefault((words.who, words.than), []).append(words.does.format(word))
            counts += [group.estimates[metric].n for group in groups if word in FAVOURABLE]
    text = "; ".join(f"{who} {' and '.join(found)} {than}".rstrip() for (who, than), found in said.items())
    if counts and not all((found := keeping(group)) and found.word in FAVOURABLE for group in groups):
        text = with_collapse_share(text, min(counts))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _agreed(groups: Sequence[Group], metric: str) -> str | None:
    """Return the word that the decisions of all groups share; None if they differ or one is undecided."""
    words = {found.word if (found := group.estimates.get(metric)) else None for group in groups}
    return words.pop() if len(words) == 1 and not words & {None, "undecided"} else None


_MANY = {
    "gains": ("improves on earlier tasks", "improve on earlier tasks"),
    "keeps": ("keeps what it learns", "keep what they learn"),
    "loses": ("loses some of what it learns", "lose some of what they learn"),
    "forgets": ("forgets", "forget"),
}
"""The word of a decision, of one learner and of several."""


class SharedAnswer(Struct, frozen=True):
    """The learners that share an answer."""

    verdict: str | None
    lead: str
    learners: tuple[str, ...]


def shared_answers(found: Sequence[LearnerAnswer]) -> tuple[SharedAnswer, ...]:
    """Return the answers with the learners that share each; a learner with different answers appears in several."""
    said: dict[tuple[str | None, str | None], list[str]] = {}
    for one in found:
        for part in one.parts:
            who = f"{one.learner} ({part.where})" if part.where else one.learner
            said.setdefault((part.verdict, part.word if part.word in _MANY else None), []).append(who)
    every = sum(map(len, said.values()))
    return tuple(
        SharedAnswer(
            verdict,
            f"{len(who)} of {every} {_MANY.get(word or '', ('is undecided', 'are undecided'))[len(who) > 1]}",
            tuple(who),
        )
        for (verdict, word), who in said.items()
    )


# --- accuracy matrices in words --------------------------------------------------------------------

_ROWS: Mapping[tuple[str, str, str], str] = {
    ("high", "about 0", "high"): "a good continual learner",
    ("high", "very negative", "low"): "severe forgetting",
    ("low", "about 0", "low"): "poor learning capability",
    ("high", "positive", "high"): "beneficial transfer",
}
"""LA, BWT and AA → the interpretation in the tables of the accuracy-matrix page (S002)."""
_DECIDED = {"gains": "positive", "keeps": "about 0", "forgets": "very negative"}
_SAYS = {
    "high": "each task is learned well",
    "low": "tasks are not learned well",
    "positive": "later tasks improve what was learned",
    "about 0": "what was learned is kept",
    "very negative": "what was learned is lost while later tasks are learned",
    "open": "whether what was learned is kept is undecided",
}


def leading(group: Group) -> str:
    """Return AA, LA, BWT, FM and GAC of a group of matrices in one line; nothing without values."""
    led = (one for one in METRICS if one.headline == "matrix" and one.question in ("does", "keeps"))
    known = [(one.initials, found) for one in led if (found := group.estimates.get(one.name)) is not None]
    said = [f"{initials} {number(one.mean, one.width)}" for initials, one in known if one.mean is not None]
    unit = {"percent": " (%)", "fraction": ""}.get(group.unit or "", f" ({group.unit})")
    return f"{', '.join(said)}{unit}" if said else ""


def interpretation(group: Group, declared: Mapping[str, Metric]) -> tuple[str, ...]:
    """Return the interpretation of accuracy matrices as a whole, in sentences; nothing if values are not accuracies."""
    return tuple(_sentences(group.estimates, declared, group.unit))


def interpretation_of_one(
    score: Score, declared: Mapping[str, Metric], bars: Mapping[str, Threshold]
) -> tuple[str, ...]:
    """Return the interpretation of a single matrix."""
    bars = {name: bars[name] for name, metric in declared.items() if metric.good and name in score.metrics}
    return tuple(_sentences(estimates((score,), bars), declared, score.identity.unit))


def _sentences(estimates: Mapping[str, Estimate], declared: Mapping[str, Metric], unit: str | None) -> Iterator[str]:
    whole = LIMITS.get(cast("Unit", unit), math.inf)
    if not math.isfinite(whole):
        return
    yield from _together(estimates, declared, whole)
    yield from _good(estimates, declared, whole)


def _together(estimates: Mapping[str, Estimate], declared: Mapping[str, Metric], whole: float) -> Iterator[str]:
    found = [estimates.get(one.name) for one in (learning_accuracy, bwt, average_accuracy)]
    known = [one for one in found if one is not None and one.mean is not None]
    if len(known) < len(found) or not all(one.metric in declared for one in known):
        return
    learned, kept, final = known
    high = [_is_good(one, declared[one.metric], whole) for one in (learned, final)]
    row = ("high" if high[0] else "low", _change(kept, whole), "high" if high[1] else "low")
    low = {one.metric for one, good in zip((learned, final), high, strict=True) if not good}
    goods = {name: f"; good is {one.good.words}" for name, one in declared.items() if one.good and name in low}
    shown = [
        f"{declared[one.metric].initials} {number(one.mean, one.width)}{goods.get(one.metric, '')}" for one in known
    ]
    said = f"{_SAYS[row[0]]} ({shown[0]}), {_SAYS[row[1]]} ({shown[1]}), and the end is {row[2]} ({shown[2]})"
    called = _ROWS.get(row, "no common pattern")
    alone = "" if kept.word else f"; by the values of {plural(kept.n, 'lifetime')} alone"
    yield f"Read together: {called}: {said}{alone}."


def _change(one: Estimate, whole: float) -> str:
    """Return BWT in the table's words: as decided or, with too few lifetimes, compared with its margin."""
    assert one.mean is not None
    if one.word:
        return _DECIDED.get(one.word, "open")
    margin = one.bar.margin if one.bar.margin_given else one.bar.margin * whole / 100
    return "positive" if one.mean > margin else "about 0" if one.mean >= -margin else "very negative"


def _is_good(one: Estimate, metric: Metric, whole: float) -> bool | None:
    """Return whether a mean is above the level that a document calls good; None if it gives no number."""
    if one.mean is None or metric.good is None or metric.good.above is None:
        return None
    return one.mean > metric.good.above * whole / 100


def _good(estimates: Mapping[str, Estimate], declared: Mapping[str, Metric], whole: float) -> Iterator[str]:
    parts: dict[bool, list[str]] = {True: [], False: []}
    for name, one in estimates.items():
        metric = declared.get(name)
        if metric is None or metric.good is None or one.mean is None:
            continue
        change = _change(one, whole) if metric.words and metric.words.of_change else None
        good = _is_good(one, metric, whole) if change is None else change in ("about 0", "positive")
        if good is not None and change != "open":
            parts[good].append(f"{name} {number(one.mean, one.width)} ({metric.good.words})")
    said = [f"{word}: {', '.join(parts[good])}" for good, word in ((True, "Good"), (False, "Not good")) if parts[good]]
    if said:
        yield f"{'. '.join(said)}. So Evaluation Metrics for Continual Learning calls them, which decides nothing."
