"""The answer first: whether a learner keeps what it learns, in a sentence from the same test as its table's row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from perdure.metrics import METRICS
from perdure.metrics.engine.declare import Headline
from perdure.metrics.engine.questions import QUESTIONS, Question
from perdure.stats.model import Estimate, Group
from perdure.words import interval, listed, number, plural

__all__ = ["answer", "asked", "called", "in_parts", "keeping", "kept_by", "points_of", "title"]

_POINTS = {"percent": " percentage points", "fraction": " of 1"}
_SCALED = " of 100 points"


def called(group: Group) -> str:
    """Who it is about: the learner, or what else its lifetimes have in common."""
    return group.learner or group.group


def title(group: Group) -> str:
    """What was looked at: who, where, how many lifetimes, and what was measured."""
    where = f", {group.scenario_type}" if group.learner and group.scenario_type else ""
    what = f", {group.measure}" if group.measure else ""
    if group.n == 1 and group.lives:
        return (
            f"{group.lives[0]}: {f'{group.learner}{where}, ' if group.learner else ''}1 lifetime{what}{_preset(group)}"
        )
    level = next((one.level for one in group.estimates.values() if one.low is not None), None)
    spread = "" if level is None else f", {level:.0%} intervals".replace("%", " %")
    return f"{called(group)}{where}: {plural(group.n, 'lifetime')}{what}{_preset(group)}{spread}"


def _preset(group: Group) -> str:
    return "" if group.preset == "standard" else f", as {group.preset} scores"


def question(metric: str) -> Question:
    """Which question a metric answers, by its declaration, also where only its scores are known."""
    return METRICS.get(metric).question if metric in METRICS.names() else ""


def asked(group: Group) -> dict[str, list[Estimate]]:
    """The question → what answers it here, in the order of the questions; of those without a value nothing."""
    kind = "matrix" if group.unit else "log"
    found: dict[str, list[Estimate]] = {}
    for key, words in QUESTIONS.items():
        shown = [
            one for name, one in group.estimates.items() if question(name) == key and one.bar.headline in ("", kind)
        ]
        if known := [one for one in shown if one.n]:
            found[words] = known
    return found


def keeping(group: Group) -> Estimate | None:
    """What says whether it keeps what it learns: performance maintenance, of a matrix BWT."""
    return group.estimates.get(kept_by()["matrix" if group.unit else "log"])


@cache
def kept_by() -> Mapping[Headline, str]:
    """Of a log and of a matrix, the headline metric that says what became of what was learned."""
    return {one.headline: one.name for one in METRICS if one.headline and one.words and one.words.of_change}


def answer(group: Group) -> str:
    """Whether it keeps what it learns, in one sentence; nothing where the preset measures nothing of the kind."""
    said = "".join(in_parts(group))
    return f"{said}." if said else ""


def in_parts(group: Group) -> tuple[str, str]:
    """The same in two parts: the words that carry the verdict, and the rest up to its full stop."""
    found, who = keeping(group), called(group)
    if found is None:
        return "", ""
    made = found.decision
    if made.estimate is None:
        why = found.absent or "no lifetime has a value"
        return f"Whether {who} keeps what it learns was not measured", f": {why}"
    if made.verdict is None:
        return "", ""
    points = points_of(group)
    if made.low is None or made.high is None or made.word is None:
        return _of_few(found, who, points)
    lost = f"between {interval(-made.high, -made.low, ' and ')}{points}"
    if points == _SCALED and made.high < 0 and made.low < -100:  # the interval knows no bounds; nobody loses 115 of 100
        lost = f"at least {number(-made.high, made.width)}{points}"
    if made.word == "forgets":
        return f"{who} forgets", f": it loses {lost}"
    if made.word == "loses":
        open_ = f"; whether it is {number(made.margin)} or more is undecided{_more(made.more)}"
        return f"{who} loses", f" {lost}{open_}"
    if made.word == "gains":
        gained = f"between {interval(made.low, made.high, ' and ')}{points}"
        return f"{who} gets better at what it learned", f": it gains {gained}"
    if made.word == "keeps":
        most = f"it loses {lost}" if made.high < 0 else f"it loses at most {number(-made.low, made.width)}{points}"
        return f"{who} keeps what it learns", f": {most}"
    between = f"the change lies between {interval(made.low, made.high, ' and ')}{points}"
    return f"Whether {who} keeps what it learns is undecided", f": {between}{_more(made.more)}"


def points_of(group: Group) -> str:
    """What follows a number of points."""
    return _POINTS.get(group.unit or "", " points" if group.unit else _SCALED)


def _of_few(found: Estimate, who: str, points: str) -> tuple[str, str]:
    """Of one lifetime, and of those that nothing can be decided of: what was measured, and what that does not say."""
    made = found.decision
    assert made.estimate is not None
    change = f"{'lost' if made.estimate < 0 else 'gained'} {number(abs(made.estimate))}{points}"
    if found.n > 1:
        said = listed(made.notes) if made.notes else "nothing is decided"
        return f"{who} {change} on average", f"; {said}"
    if made.verdict != "undecided":
        return f"{who} {change} in this lifetime", ", more than its own evaluations vary"
    return f"{who} {change} in this lifetime", f"; {made.notes[0] if made.notes else 'chance is not ruled out'}"


def _more(count: int | None) -> str:
    return "" if count is None else f"; about {plural(count, 'more lifetime')} would decide it"
