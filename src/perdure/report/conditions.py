"""The verdict in a sentence: one per condition of lifelong learning and group."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from perdure.metrics.engine.declare import Headline, Metric
from perdure.stats.model import Estimate, Group
from perdure.stats.reading import leading, reading
from perdure.words import interval, number, p_words, plural

__all__ = ["CONDITION_RULE", "Verdict", "headline", "leads", "verdicts"]

_LEADS = {
    "met": "{group} shows {condition}",
    "not met": "{group} does not show {condition}",
    "undecided": "Whether {group} shows {condition} is undecided",
    "mixed": "{group} shows {condition} in part",
    "not measured": "{condition} was not measured for {group}",
}

CONDITION_RULE = (
    "A condition is met where every one of its headline metrics that has a value is met, not met where one is not met "
    "and none is met, mixed where some are met and some not met, else undecided."
)


@dataclass(frozen=True)
class Verdict:
    """What the lifetimes of one group say about one condition of lifelong learning."""

    group: str
    condition: str
    verdict: str
    """met, not met, undecided, mixed, or not measured."""
    sentence: str


def headline(declared: Mapping[str, Metric], kind: Headline = "log") -> tuple[str, ...]:
    """The metrics that decide about logs, or about matrices: headline ones with a threshold and a condition."""
    return tuple(
        name for name, one in declared.items() if one.headline == kind and one.threshold is not None and one.condition
    )


def verdicts(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[Verdict, ...]:
    """A sentence for each condition and group, in the order of the declarations; of a matrix for what it can answer."""
    found: list[Verdict] = []
    for group in groups:
        conditions: dict[str, list[str]] = {}
        for name in headline(declared, "matrix" if group.unit else "log"):
            conditions.setdefault(declared[name].condition, []).append(name)
        found += [_verdict(group, condition, names) for condition, names in conditions.items()]
    return tuple(found)


def leads(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[str, ...]:
    """What is said of groups of accuracy matrices before any verdict: AA, LA, BWT and FM, and how they read."""
    said: list[str] = []
    for group in groups:
        if group.unit and (numbers := leading(group)):
            called = group.lives[0] if group.n == 1 else f"{group.group}, {plural(group.n, 'lifetime')}"
            said.append(f"{called}: {numbers}.")
            said += reading(group, declared)
    return tuple(said)


def _verdict(group: Group, condition: str, names: Sequence[str]) -> Verdict:
    found = {name: group.estimates[name] for name in names if name in group.estimates}
    valued = {name: one for name, one in found.items() if one.mean is not None}
    verdict = _together([one.verdict or "undecided" for one in valued.values()])
    called = group.group if group.group != "all" else "The learner"
    lead = _LEADS[verdict].format(group=called, condition=condition)
    parts = [_part(name, one) for name, one in valued.items()]
    if not group.n and group.left_out:
        parts = [f"none of {plural(len(group.left_out), 'lifetime')} has reached its end"]
    elif not parts:
        parts = [one.lacking for one in found.values()][:1] or ["no metric of it was scored"]
    return Verdict(group.group, condition, verdict, f"{lead}: {'; '.join(parts)}.")


def _together(verdicts: Collection[str]) -> str:
    """The verdict on a condition from those on its metrics, as `CONDITION_RULE` states."""
    if not verdicts:
        return "not measured"
    if all(one == "met" for one in verdicts):
        return "met"
    if "not met" in verdicts:
        return "mixed" if "met" in verdicts else "not met"
    return "undecided"


def _part(name: str, one: Estimate) -> str:
    """`performance maintenance −55.3 (95 % interval −57 to −53, 11 lifetimes): forgets (p < .001 against −5)`."""
    made = one.decision
    lives = plural(one.n, "lifetime")
    spread = f"{one.level:.0%} interval ".replace("%", " %") + f"{interval(one.low, one.high, ' to ')}, {lives}"
    about = lives if one.low is None else spread
    tails = "one-tailed " if made.tails == "one" else ""
    chance = "" if made.p is None else f" ({tails}{p_words(made.p)} against {number(made.against)})"
    said = made.word or made.verdict or "undecided"
    means = f": {made.says}" if made.says and made.word not in ("undecided", None) else ""
    shown = number(one.mean, one.width)
    return f"{name.replace('_', ' ')} {shown} ({about}) {made.withheld or said + chance + means}"
