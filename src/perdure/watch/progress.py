"""Progress of single lifetimes and of all together, and its description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from perdure.errors import PerdureError
from perdure.metrics.declare import Metric
from perdure.scenario.model import Block, Scenario
from perdure.stats.answer import kept_by
from perdure.stats.model import Verdict
from perdure.stats.sentences import MARKS
from perdure.text import number, percent, plural

_STATES = ("running", "quiet", "failed", "gone", "waiting", "done")


class Progress(msgspec.Struct, frozen=True):
    """Progress of one lifetime."""

    id: str
    state: str
    """running, quiet, done, failed, waiting, or gone."""
    done: int
    """Experiences logged."""
    total: int | None
    """Experiences planned; None if that is unknown."""
    block: str
    left_s: float | None
    per_s: float | None = None
    """Experiences per second, while it runs."""
    warnings: tuple[str, ...] = ()
    learner: str | None = None
    seed: int | None = None
    values: Mapping[str, float | None] = {}
    verdicts: Mapping[str, Verdict] = {}
    """Metric → verdict by the spread of the lifetime's own evaluations."""
    waits: Mapping[str, str] = {}
    """Metric → condition before it has a value."""
    age_s: float | None = None
    """Seconds since the shown values were up to date; None if it is done."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields, without metrics that have no value."""
        values = {name: value for name, value in self.values.items() if value is not None}
        return {**msgspec.structs.asdict(self), "values": values}


class Planned(msgspec.Struct, frozen=True):
    """Number of lifetimes and experts of a run, and the experiences of its experts."""

    lifetimes: int = 0
    experts: int = 0
    expert_experiences: int = 0


class Totals(msgspec.Struct, frozen=True):
    """Progress of all lifetimes together."""

    lifetimes: int
    """Lifetimes found, or planned if these are more."""
    states: Mapping[str, int] = {}
    done: int = 0
    """Experiences logged by lifetimes."""
    total: int | None = None
    """Experiences planned for lifetimes; None if the length of one is unknown."""
    left_s: float | None = None
    experts: Mapping[str, int] = msgspec.field(default_factory=lambda: {"done": 0, "total": 0})
    expert_experiences: int = 0
    """Experiences planned for experts."""

    @property
    def share(self) -> float | None:
        """Share of the experiences that is done, experts included; of the lifetimes if their lengths are unknown."""
        if self.total:
            return min(
                1.0, (self.done + self.expert_experiences - self.experts_left) / (self.total + self.expert_experiences)
            )
        return self.states.get("done", 0) / self.lifetimes if self.lifetimes else None

    @property
    def experts_left(self) -> int:
        """Experiences of the experts that are not done."""
        count = self.experts["total"]
        return round(self.expert_experiences * (count - self.experts["done"]) / count) if count else 0

    @property
    def all_done(self) -> bool:
        """Whether every lifetime and every expert is done."""
        every = self.states.get("done", 0) == self.lifetimes and self.experts["done"] >= self.experts["total"]
        return bool(self.lifetimes) and every


def totals(lifetimes: Sequence[Progress], planned: Planned | None = None, experts: tuple[int, int] = (0, 0)) -> Totals:
    """Return the sums. A lifetime that has not begun counts with the mean length; `experts` are (done, found)."""
    planned = planned or Planned()
    count = max(planned.lifetimes, len(lifetimes))
    lengths = [item.done if item.state == "done" else item.total for item in lifetimes]
    known = [length for length in lengths if length is not None]
    total = round(sum(known) * count / len(known)) if known and len(known) == len(lengths) else None
    speed = sum(item.per_s for item in lifetimes if item.per_s)
    longest = max((item.left_s for item in lifetimes if item.left_s is not None), default=0.0)
    # Lifetimes that stopped will not be finished, so their remaining experiences take no time.
    stopped = sum((item.total or 0) - item.done for item in lifetimes if item.state in ("quiet", "failed", "gone"))
    done = sum(item.done for item in lifetimes)
    counts = Counter(item.state for item in lifetimes)
    result = Totals(
        count,
        {state: counts[state] for state in _STATES if counts[state]},
        done,
        total,
        experts={"done": experts[0], "total": max(planned.experts, experts[1])},
        expert_experiences=planned.expert_experiences,
    )
    if total is None or not speed:
        return result
    left = total - stopped - done + result.experts_left
    return msgspec.structs.replace(result, left_s=max(longest, left / speed))


def headline(progress: Totals) -> str:
    """Return `4 running, 6 of 10 lifetimes done · 68 % · about 3 min left`."""
    if not progress.lifetimes:
        return "No lifetime here yet; waiting for the first."
    counts = [f"{count} {state}" for state, count in progress.states.items() if state != "done"]
    started = sum(progress.states.values())
    counts += [f"{progress.lifetimes - started} not begun"] if progress.lifetimes > started else []
    done = f"{progress.states.get('done', 0)} of {plural(progress.lifetimes, 'lifetime')} done"
    parts = [", ".join([*counts, done])]
    if progress.experts["done"] < progress.experts["total"]:
        parts.append(f"{progress.experts['done']} of {plural(progress.experts['total'], 'expert')} done")
    if progress.share is not None and not progress.all_done:
        parts.append(percent(progress.share))
    if progress.left_s is not None:
        parts.append(f"about {time_text(progress.left_s)} left")
    return " · ".join(parts)


def so_far_text(progress: Totals) -> str:
    """Return `So far, from 6 of 10 lifetimes and 3 of 4 experts`; empty if all are done."""
    if progress.all_done:
        return ""
    experts = progress.experts
    missing = experts["done"] < experts["total"]
    beside = f" and {experts['done']} of {plural(experts['total'], 'expert')}" if missing else ""
    return f"So far, from {progress.states.get('done', 0)} of {plural(progress.lifetimes, 'lifetime')}{beside}"


def time_text(seconds: float | None) -> str:
    """Return `45 s`, `12 min` or `3.4 h`; empty if unknown."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def retention_metric(lifetime: Progress) -> str | None:
    """Return the metric that measures retention, None without a value."""
    return next((metric for metric in kept_by().values() if lifetime.values.get(metric) is not None), None)


def retention_text(lifetime: Progress, metrics: Mapping[str, Metric]) -> str:
    """Return the value of the retention metric with the mark of its verdict, as in `−28.0 ✗`."""
    metric = retention_metric(lifetime)
    if metric is None:
        return ""
    points = metric == kept_by()["log"] and metric in metrics  # a matrix has its own unit
    value = number(lifetime.values[metric], (2 * metrics[metric].margin or None) if points else None)
    return f"{value} {MARKS.get(lifetime.verdicts.get(metric, ''), '')}".rstrip()


def short_names(ids: Sequence[str]) -> dict[str, str]:
    """Map each id to the id without the folders that all share."""
    folders = [name.split("/")[:-1] for name in ids]
    common = 0
    while folders and all(len(parts) > common and parts[common] == folders[0][common] for parts in folders):
        common += 1
    return {name: "/".join(name.split("/")[common:]) for name in ids}


def planned_scenario(manifest: Mapping[str, Any]) -> Scenario | None:
    """Return the planned scenario of a manifest, None without one."""
    try:
        blocks = msgspec.convert(manifest["scenario"]["blocks"], list[Block])
        return Scenario.of("planned", blocks).joined() if blocks else None
    except (KeyError, TypeError, msgspec.ValidationError, PerdureError):
        return None


def waits_for(planned: Scenario | None, metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Map each metric that has a threshold to the planned block that completes its first site."""
    waits: dict[str, str] = {}
    for name, metric in metrics.items():
        if metric.threshold is None:
            continue
        if planned is None:
            waits[name] = metric.needs
            continue
        sites = [[block for blocks in site.blocks.values() for block in blocks] for site in metric.sites(planned)]
        last_blocks = [max(blocks) for blocks in sites if blocks]
        if not last_blocks:
            waits[name] = f"cannot be answered here: needs {metric.needs}"
            continue
        index, last = min(last_blocks), len(planned.blocks) - 1
        mode = "evaluation" if planned.blocks[index].mode == "evaluate" else "learning"
        expert = "an expert and " if metric.expert else ""
        waits[name] = f"waits for {expert}block {index} (the last is {last}), {mode} of {planned.blocks[index].task}"
    return waits
