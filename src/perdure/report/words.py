"""The verdict in a sentence: one per condition of lifelong learning and group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perdure.metrics.declare import Metric
from perdure.report.tables import interval_text, number
from perdure.stats.model import Estimate, Group
from perdure.stats.words import p_text

__all__ = ["Verdict", "headline", "verdicts"]

_LEADS = {
    "met": "{group} shows {condition}",
    "not met": "{group} does not show {condition}",
    "undecided": "Whether {group} shows {condition} is undecided",
    "mixed": "{group} shows {condition} in part",
    "not measured": "{condition} was not measured for {group}",
}


# Definitions §3: these five carry the conditions; other metrics of a condition explain rather than decide.
_DECIDING = (
    "performance_maintenance",
    "forward_transfer",
    "backward_transfer",
    "relative_performance",
    "sample_efficiency",
)


@dataclass(frozen=True)
class Verdict:
    """What the lifetimes of one group say about one condition of lifelong learning."""

    group: str
    condition: str
    verdict: str
    """met, not met, undecided, mixed, or not measured."""
    sentence: str


def headline(declared: Mapping[str, Metric]) -> tuple[str, ...]:
    """The metrics that decide: the five of the papers, and for other conditions all that have a threshold."""
    judged = {name: one.condition for name, one in declared.items() if one.threshold is not None and one.condition}
    carried = {judged[name] for name in _DECIDING if name in judged}
    return tuple(name for name, condition in judged.items() if name in _DECIDING or condition not in carried)


def verdicts(groups: Sequence[Group], declared: Mapping[str, Metric]) -> tuple[Verdict, ...]:
    """A sentence for each condition and group, in the order of the declarations."""
    conditions: dict[str, list[str]] = {}
    for name in headline(declared):
        conditions.setdefault(declared[name].condition, []).append(name)
    return tuple(
        _verdict(group, condition, names, declared) for group in groups for condition, names in conditions.items()
    )


def _verdict(group: Group, condition: str, names: Sequence[str], declared: Mapping[str, Metric]) -> Verdict:
    found = {name: group.estimates[name] for name in names if name in group.estimates}
    valued = {name: one for name, one in found.items() if one.mean is not None}
    verdict = _together({one.verdict or "undecided" for one in valued.values()})
    called = group.group if group.group != "all" else "The learner"
    lead = _LEADS[verdict].format(group=called, condition=condition)
    parts = [_part(name, one, declared[name]) for name, one in valued.items()]
    if not group.n and group.left_out:
        parts = [f"none of {len(group.left_out)} lifetimes has reached its end"]
    elif not parts:
        reasons = list(dict.fromkeys(one.why or "no value" for one in found.values()))
        parts = [_tail(reasons[0])] if reasons else ["no metric of it was scored"]
    return Verdict(group.group, condition, verdict, f"{lead}: {'; '.join(parts)}.")


def _together(said: set[str]) -> str:
    """The verdict on a condition from those on its metrics: met needs all, and one that is met makes it mixed."""
    if not said:
        return "not measured"
    if len(said) == 1:
        return next(iter(said))
    return "mixed" if "met" in said else "not met"


def _tail(why: str) -> str:
    return why.rpartition("lifetimes have no value: ")[2] or why


def _part(name: str, one: Estimate, metric: Metric) -> str:
    """`performance maintenance −55.3 (95 % interval −57 to −53, 11 lifetimes) is below 0, one-tailed p = 1`."""
    assert one.mean is not None
    threshold = metric.threshold if metric.threshold is not None else 0.0
    side = "above" if one.mean > threshold else "below" if one.mean < threshold else "exactly"
    count = f"{one.n} lifetimes" if one.n != 1 else "1 lifetime"
    spread = f"95 % interval {interval_text(one)}, {count}" if one.low is not None else count
    p = "" if one.p is None else p_text(one.p)  # the table's, so that both say one thing
    chance = "" if not p else f", one-tailed p {p}" if p.startswith("<") else f", one-tailed p = {p}"
    words = name.replace("_", " ")
    return f"{words} {number(one.mean)} ({spread}) is {side} {threshold:g}{chance} ({one.verdict or 'undecided'})"
