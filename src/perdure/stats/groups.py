"""Groups: lifetimes that may be pooled, with the estimates of each group."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import ScoredLifetime, Survey
from perdure.gather.names import is_numbered
from perdure.log.model import Identity
from perdure.metrics.declare import Threshold
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.measure import restricted
from perdure.metrics.score import NamedRange, Score, is_scaled, stated_settings, told_words
from perdure.results import json_keys, to_plain, with_checksum
from perdure.scenario.model import FACTS
from perdure.settings import Settings
from perdure.settings.presets import STANDARD
from perdure.stats.capabilities import Capability, capabilities
from perdure.stats.decide import estimates, least_gain_of
from perdure.stats.learned import MAINTENANCE_OVER_LEARNED, learned_tasks, over_learned_tasks
from perdure.stats.model import LEVEL, Group
from perdure.stats.robust import RESAMPLES
from perdure.stats.spread import spreads_by_order
from perdure.text import join_first

# What must not differ inside a group: how it is called, and how it is read off a lifetime.
_MUST_AGREE: Mapping[str, Callable[[Score], Any]] = {
    "presets": lambda life: life.preset,
    "measures": lambda life: life.measure,
    "units": lambda life: life.identity.unit,
    "directions": lambda life: f"{life.identity.direction} is better",
    "protocols": lambda life: life.protocol_name,
    "facts told": lambda life: None if life.told is None else ", ".join(life.told) or "none",
    "learner code": lambda life: life.learner_digest,
    "scenario types": lambda life: life.scenario_type,
    "task sets": lambda life: ", ".join(sorted(life.tasks)) if life.tasks else None,
    "settings": lambda life: life.how,
}

_COUNTED = r"(?i)(?:.*[^0-9a-z])?[a-z]{0,12}[-_ ]?\d+(?:\.\w{1,8})*"
"""Names that only number lifetimes: life-003, seed0, 7, run_2.csv. Others describe one."""


def groups(
    survey: Survey,
    pattern: str | None = None,
    *,
    pool: bool | None = None,
    level: float | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[Group, ...]:
    """Group lifetimes that may be pooled, and estimate each metric per group.

    Lifetimes of a group have the same learner, scenario type, measure, unit, direction, bounds and tasks. Lifetimes
    without a named learner are grouped by folder. Arguments of `survey` that each hold lifetimes are separate groups.
    Partial lifetimes are left out, and listed.

    Parameters
    ----------
    survey
        The scored lifetimes.
    pattern
        Regular expression that is searched for in lifetime ids. Its first bracket, or all of it without brackets, names
        the group. Lifetimes without a match are left out. By default as in the survey's settings.
    pool
        Whether to pool lifetimes of several arguments or folders. By default as in the survey's settings.
    level
        Confidence level of the intervals. By default as in the survey's settings.
    seed
        Seed of the bootstrap.
    resamples
        Number of resamples of the bootstrap.

    Returns
    -------
    tuple of Group
        The groups, in the order of their first lifetimes.

    Raises
    ------
    PerdureError
        If a lifetime occurs twice, or lifetimes of a group must not be pooled.

    Examples
    --------
    >>> survey = perdure.survey("logs")
    >>> [(group.group, group.n) for group in perdure.groups(survey)]
    [('naive', 4), ('replay', 4)]
    """
    pattern = survey.settings.get("group") if pattern is None else pattern
    pool = bool(survey.settings.get("pool")) if pool is None else pool
    level = survey.settings.get("level", LEVEL) if level is None else Settings(level=level).level
    found: list[Group] = []
    changed = changed_learners(survey.scores)
    for name, alike in split(survey.scores, pattern, pool=pool).items():
        lives, notes = _on_shared_tasks(alike, survey) if pool else (alike, ())
        check_poolable(lives, f"group {name!r}")
        counted, left_out = usable(lives)
        made = _group(name, counted, lives[0], survey.bars, level, seed, resamples)
        code = changed.get(lives[0].learner or "")
        made = replace(made, notes=(*notes, *made.notes, *([code] if code else [])))
        if survey.guarded:
            learned = tuple(life for life in counted if not life.not_learned)
            made = replace(made, learned_only=_group(name, learned, lives[0], survey.bars, level, seed, resamples))
        found.append(replace(made, left_out=left_out))
    return tuple(found)


def alone(survey: Survey, life: Score, found: Sequence[Group] = ()) -> Group:
    """Return one lifetime, complete or not, as a group of one.

    Where it is a group of its own among those `found`, that is it, by the lifetime's name.
    """
    for one in found:
        if one.lives == (life.id,) and not one.notes:
            renamed = {name: replace(made, group=life.id) for name, made in one.estimates.items()}
            return replace(one, group=life.id, estimates=renamed, learned_only=None, left_out=())
    return _group(life.id, (life,), life, survey.bars, survey.settings.get("level", LEVEL), 0, RESAMPLES)


def _group(
    name: str,
    lives: Sequence[Score],
    one: Score,
    bars: Mapping[str, Threshold],
    level: float,
    seed: int,
    resamples: int,
) -> Group:
    """Return the group of the lifetimes that count; if none does, `one` of the others describes it."""
    first = lives[0] if lives else one
    if first.identity.unit:  # a matrix is not asked what only a log can answer
        bars = {metric: bar for metric, bar in bars.items() if any(metric in life.metrics for life in lives)}
    learners = {life.learner for life in lives or (one,)}
    learned = learned_tasks(lives, least_gain_of(bars, lives))
    over_learned = None
    if "not learned" in learned.values() and (bar := bars.get(performance_maintenance.name)):
        exploratory = {MAINTENANCE_OVER_LEARNED: replace(bar, headline="")}
        restricted = over_learned_tasks(lives, learned)
        over_learned = estimates(restricted, exploratory, name, level=level, seed=seed, resamples=resamples)
    return Group(
        group=name,
        n=len(lives),
        estimates=estimates(lives, bars, name, level=level, seed=seed, resamples=resamples),
        lives=tuple(life.id for life in lives),
        learner=first.learner if len(learners) == 1 else None,
        scenario_type=first.scenario_type,
        protocol=first.protocol_name,
        measure=first.measure,
        unit=first.identity.unit,
        direction=first.identity.direction,
        bounds=first.bounds,
        preset=first.preset,
        notes=_differences(lives),
        spread=spreads_by_order(lives, bars, level),
        learned=learned,
        stated=stated_settings(first),
        maintenance_over_learned_tasks=over_learned[MAINTENANCE_OVER_LEARNED] if over_learned else None,
    )


def _on_shared_tasks(lives: Sequence[Score], survey: Survey) -> tuple[tuple[Score, ...], tuple[str, ...]]:
    """Restrict lifetimes of different task sets to the tasks that all of them have, and return them with a note."""
    sets = [frozenset(life.tasks) for life in lives if life.tasks]
    shared = frozenset[str]().union(*sets[:1]).intersection(*sets) if sets else frozenset[str]()
    if len(set(sets)) < 2:
        return tuple(lives), ()
    if not shared:
        raise PerdureError(f"{lives[0].id} and the others have no task in common", "score them apart", where="--pool")
    aggregate = survey.settings.get("aggregate", "mean")
    kept = tuple(
        replace(
            life,
            identity=replace(life.identity, tasks=tuple(task for task in life.tasks if task in shared)),
            metrics={
                name: restricted(survey.metrics[name], one, shared, aggregate, life.weights)
                for name, one in life.metrics.items()
                if name in survey.metrics
            },
        )
        for life in lives
    )
    return kept, (f"pooled on the tasks that all its lifetimes have: {', '.join(sorted(shared))}",)


def _differences(lives: Sequence[Score]) -> tuple[str, ...]:
    """Return notes on differences that are allowed within a group."""
    notes: list[str] = []
    orders = len({life.order for life in lives if life.order})
    if orders > 1:
        notes.append(f"{orders} orders of tasks among its lifetimes")
    lengths = {(life.learning_experiences, life.evaluation_experiences) for life in lives}
    if len(lengths) > 1 and any(any(one) for one in lengths):
        notes.append("its lifetimes differ in length")
    told = lives[0].told if lives else None
    if told is not None and len(told) < len(FACTS):
        notes.append(f"its learner {told_words(told)}")
    return tuple(notes)


# --- who is with whom ----------------------------------------------------------------------------


def split(lives: Sequence[Score], pattern: str | None = None, *, pool: bool = False) -> dict[str, tuple[Score, ...]]:
    """Return the lifetimes by the name of their group, in the order in which groups first appear."""
    parts: dict[Any, list[Score]] = {}
    if pattern is not None:
        for name, life in _by_pattern(lives, pattern):
            parts.setdefault(name, []).append(life)
        return {name: tuple(part) for name, part in parts.items()}
    alone = frozenset() if pool else _methods_under_seeds(lives)
    for life in lives:
        parts.setdefault(_kind(life, alone, pool=pool), []).append(life)
    names = _names([part[0] for part in parts.values()], alone, pool=pool)
    return {name: tuple(part) for name, part in zip(names, parts.values(), strict=True)}


def _kind(life: Score, alone: frozenset[str], *, pool: bool) -> tuple[Any, ...]:
    """Return the facts that lifetimes of one group have in common."""
    who = life.identity
    unlike = () if pool else (who.argument, tuple(sorted(who.tasks)), tuple(sorted(life.bounds.items())))
    return (
        _who(who, alone, pool=pool),
        *unlike,
        *(read(life) for name, read in _MUST_AGREE.items() if name != "task sets"),
    )


def _who(who: Identity, alone: frozenset[str], *, pool: bool) -> tuple[str, str]:
    """Return the learner, or the folder that replaces one that is not recorded."""
    if who.learner:
        return "learner", who.learner
    if pool:
        return "", ""
    return ("lifetime", who.id) if who.holder in alone else ("holder", who.holder)


def _methods_under_seeds(lives: Sequence[Score]) -> frozenset[str]:
    """Return the folders whose lifetimes are not a group: the same descriptive names recur under several folders.

    In `seed0/ewc, seed0/der, seed1/ewc, seed1/der` the folder says which seed, not which learner.
    """
    unnamed = [life.identity for life in lives if not life.learner and life.identity.holder]
    under: dict[str, set[str]] = {}
    held: dict[str, set[str]] = {}
    for who in unnamed:
        last = who.id.rpartition("#")[2].rpartition("/")[2]
        if not re.fullmatch(_COUNTED, last):
            under.setdefault(last, set()).add(who.holder)
            held.setdefault(who.holder, set()).add(last)
    # A name that is the only one in every folder, as in ewc/acc.csv and der/acc.csv, describes none of them.
    recurring = [
        holders for holders in under.values() if len(holders) > 1 and any(len(held[one]) > 1 for one in holders)
    ]
    for holder in {who.holder for who in unnamed}:
        above, _, name = holder.rpartition("/")  # seed0/ewc: only names that recur have folders in front
        if is_numbered(above.rpartition("/")[2]):
            under.setdefault(f"/{name}", set()).add(holder)
    recurring += [holders for name, holders in under.items() if name.startswith("/") and len(holders) > 1]
    return frozenset().union(*recurring) if recurring else frozenset()


def not_pooled(lives: Sequence[Score]) -> tuple[str, ...]:
    """Return a note if folders do not identify the learner of their lifetimes."""
    alone = sorted(_methods_under_seeds(lives))
    if not alone:
        return ()
    shown = join_first(alone, 3)
    pattern = _telling(lives)
    advice = f"say what a group is, as in --group '{pattern}'" if pattern else "say what a group is with --group"
    return (f"the same names recur under {shown}, and no learner is recorded, so nothing is pooled there; {advice}",)


def why_not_pooled(survey: Survey) -> str | None:
    """Return the note on lifetimes that are not pooled, as every verb prints it; None if a setting says what is."""
    chosen = survey.settings.get("group") is not None or survey.settings.get("pool")
    return None if chosen else "; ".join(not_pooled(survey.scores)) or None


def changed_learners(lives: Sequence[Score]) -> dict[str, str]:
    """Return a note for each learner whose lifetimes of one protocol are not pooled because its code changed."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for life in lives:
        if life.learner and life.protocol_name:
            digests = found.setdefault((life.learner, life.protocol_name), {})
            digests.setdefault(life.learner_digest or "not recorded", life.id)
    return {
        learner: f"the code of {learner} changed between lifetimes, so they are not pooled: "
        f"{'; '.join(f'{digest} (as in {example})' for digest, example in digests.items())}; "
        "to pool them, run all of them in a new folder"
        for (learner, _), digests in found.items()
        if len(digests) > 1
    }


def _telling(lives: Sequence[Score]) -> str | None:
    """Return a pattern for the part of the ids that differs and is not a number: the learner, not the seed.

    It was tried: each group that it makes holds several lifetimes that may be pooled.
    """
    depth = min(life.id.count("/") for life in lives)
    for pattern in (*(f"^{'[^/]+/' * at}([^/]+)/" for at in range(depth + 1)), "([^/.]+)[^/]*$", "([^/]+)$"):
        try:
            found = split(lives, pattern)
            for name, part in found.items():
                check_poolable(part, name)
        except PerdureError:
            continue
        several = len(found) > 1 and all(len(part) > 1 for part in found.values())
        if several and sum(map(len, found.values())) == len(lives) and not any(map(is_numbered, found)):
            return pattern
    return None


def _names(firsts: Sequence[Score], alone: frozenset[str], *, pool: bool) -> list[str]:
    """Return a name for each group, by its first lifetime: learner and scenario type, and more facts if needed."""
    described: list[dict[str, str]] = [
        {
            "who": _who(life.identity, alone, pool=pool)[1],
            "type": life.scenario_type or "",
            "measure": " ".join(one for one in (life.measure, life.identity.unit) if one),
            "direction": f"{life.identity.direction} is better",
            "bounds": "; ".join(f"{task} from {_span(one)}" for task, one in list(life.bounds.items())[:3]),
            "argument": life.identity.argument,
            "protocol": life.protocol_name or "",
            "told": "" if life.told is None else told_words(life.told),
            "code": life.learner_digest or "",
            "preset": life.preset,
            "tasks": f"{len(life.tasks)} tasks",
        }
        for life in firsts
    ]
    used = ["who", "type"]
    for more in ("measure", "direction", "bounds", "argument", "told", "protocol", "code", "preset", "tasks"):
        brief = Counter(_joined(one, used) for one in described)
        clashing = {name for name, count in brief.items() if count > 1}
        if not clashing:
            break
        if len({one[more] for one in described if _joined(one, used) in clashing}) > 1:
            used.append(more)
    names = [_joined(one, used) or "all" for one in described]
    again = Counter(names)
    seen: Counter[str] = Counter()
    for at, name in enumerate(names):
        if again[name] > 1:
            seen[name] += 1
            names[at] = f"{name} ({seen[name]})"
    return names


def _joined(described: Mapping[str, str], used: Sequence[str]) -> str:
    return " · ".join(described[one] for one in used if described[one])


def _by_pattern(lives: Sequence[Score], pattern: str) -> list[tuple[str, Score]]:
    try:
        searched = re.compile(pattern)
    except re.error as problem:
        raise PerdureError(
            f"not a regular expression ({problem})",
            "quote what it must take as it stands",
            where=f"--group {pattern!r}",
        ) from problem
    named: list[tuple[str, Score]] = []
    for life in lives:
        match = searched.search(life.id)
        if match:
            named.append((match[1] if searched.groups and match[1] is not None else match[0], life))
    if not named:
        ids = ", ".join(life.id for life in lives[:3])
        raise PerdureError("no lifetime id matches it", f"match what ids are like: {ids}", where=f"--group {pattern!r}")
    return named


# --- what is refused -----------------------------------------------------------------------------


def check_poolable(lives: Sequence[Score], where: str) -> None:
    """Refuse lifetimes that must not be pooled, with the difference, and lifetimes that appear twice."""
    advice = "score them apart, or group them apart with --group"
    _check_agree(lives, where, tuple(_MUST_AGREE), advice)
    _check_bounds(lives, where, advice)
    _check_ranges(lives, where)
    _check_once(lives, where)


def check_comparable(lives: Sequence[Score], where: str) -> None:
    """Refuse lifetimes whose measure has different units, directions or bounds."""
    _check_agree(lives, where, ("units",), "give all in one unit")
    advice = "correct the manifest that is wrong, or give --lower-is-better or --higher-is-better for all"
    _check_agree(lives, where, ("directions",), advice)
    _check_bounds(lives, where, "correct the manifest that is wrong, or give --bounds for all")
    _check_ranges(lives, where)


def _check_bounds(lives: Sequence[Score], where: str, advice: str) -> None:
    known: dict[str, tuple[tuple[float, float], str]] = {}
    for life in lives:
        for task in life.tasks:
            if (bounds := life.bounds.get(task)) is None:
                continue
            first, example = known.setdefault(task, (bounds, life.id))
            if bounds != first:
                shown = f"{_span(first)} (as in {example}); {_span(bounds)} (as in {life.id})"
                raise PerdureError(
                    f"results of different bounds are never pooled; {task} has {shown}", advice, where=where
                )


def _check_ranges(lives: Sequence[Score], where: str) -> None:
    """Refuse lifetimes scaled by different ranges, as those of two score files or with and without bounds may be."""
    known: dict[tuple[str | None, str], tuple[NamedRange, str]] = {}
    for life in lives:
        if life.preset != STANDARD or life.complete is False or not is_scaled(life.how):
            continue
        spans = {(life.measure, task): span for task, span in life.named_ranges.items()}
        for measure, ranges in life.other_ranges.items():
            spans |= {(measure, task): NamedRange(span.low, span.high, span.given) for task, span in ranges.items()}
        for key, span in spans.items():
            first, example = known.setdefault(key, (span, life.id))
            if (span.min, span.max) != (first.min, first.max) and not (span.given and first.given):
                both = ((first, example), (span, life.id))
                shown = "; ".join(
                    f"{_span((ends.min, ends.max))} ({'bounds' if ends.given else 'its data'}, as in {name})"
                    for ends, name in both
                )
                files = "" if span.given or first.given else "compare the logs themselves, or "
                raise PerdureError(
                    f"results scaled by different ranges are never pooled; {key[1]} has {shown}",
                    f"{files}give --bounds for all",
                    where=where,
                )


def _span(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:g} to {bounds[1]:g}"


def _check_agree(lives: Sequence[Score], where: str, fields: Sequence[str], advice: str) -> None:
    for field in fields:
        found: dict[str, str] = {}
        for life in lives:
            found.setdefault(str(_MUST_AGREE[field](life) or "not stated"), life.id)
        if len(found) > 1:
            shown = "; ".join(f"{value} (as in {example})" for value, example in list(found.items())[:4])
            if field == "settings":
                (one, by_one), (other, by_other) = list(found.items())[:2]
                shown = f"{differing(one, other)} (as in {by_one} and {by_other})"
            raise PerdureError(f"results of different {field} are never pooled; found {shown}", advice, where=where)


def _check_once(lives: Sequence[Score], where: str) -> None:
    seen: dict[object, Identity] = {}
    for life in lives:
        who = life.identity
        # A name alone may recur, as seed0 does; with every value the same it is a copy.
        copied = (who.recorded, who.seed, tuple(sorted(life.values.items()))) if who.recorded else None
        for key in (who.id, copied):
            if key is not None and seen.setdefault(key, who) is not who:
                raise PerdureError(
                    f"lifetime {who.recorded or who.id!r} is there twice ({seen[key].source} and {who.source})",
                    "give each a name of its own, or leave the copy out: a lifetime counts once",
                    where=where,
                )


def check_pool_across(lives: Sequence[Score], *, widely: bool = False) -> None:
    """Refuse to pool lifetimes that were scored differently; protocols and measures may differ if `widely`."""
    fields = ("presets", "settings", *(() if widely else ("measures", "units", "directions", "protocols")))
    where = "these lifetimes"
    _check_agree(lives, where, fields, "score them the same way, or give --across to pool protocols and measures")
    for part in split(lives).values():
        # Two score files may both number their lives from 0; they are the same lives if the values are.
        told_apart = [
            replace(life, identity=replace(life.identity, id=f"{life.id} {sorted(life.values.items())}"))
            for life in part
        ]
        _check_once(told_apart, where)


def differing(first: str, second: str) -> str:
    """Return the first difference of two descriptions."""
    at = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
    begin = max(0, at - 30)
    return f"{first[begin : begin + 60]!r} against {second[begin : begin + 60]!r}"


def usable(lives: Sequence[Score]) -> tuple[tuple[Score, ...], tuple[tuple[str, str], ...]]:
    """Return the lifetimes that count, and the incomplete ones: they are not a sample of complete lifetimes."""
    counted = tuple(life for life in lives if life.complete is not False)
    partial = tuple((life.id, "it is incomplete") for life in lives if life.complete is False)
    return counted, partial


def left_out_of(lives: Sequence[Score], partial: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the path and reason of lifetimes that do not count."""
    places = {life.id: life.identity.source or life.id for life in lives}
    return tuple((places[name], why) for name, why in partial)


class GroupedSurvey(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Scored lifetimes and their groups. Every number is finite; a missing value is None, with its reason in `why`.

    Attributes
    ----------
    survey
        The scored lifetimes.
    groups
        Lifetimes that may be pooled, with estimates.
    apart
        Reason if the lifetimes could not be grouped.
    """

    JSON: ClassVar = (
        *(f"{key}:survey.{path}" for key, path in json_keys(Survey).items()),
        *("thresholds", "capabilities", "groups", "not_grouped:apart", "checksum"),
    )
    checksum: ClassVar[str | msgspec.UnsetType] = msgspec.UNSET
    """Checksum of everything else in this file. A file that was changed is not read."""

    survey: Survey
    groups: tuple[Group, ...]
    apart: str | None = None

    @property
    def lifetimes(self) -> tuple[ScoredLifetime, ...]:
        """The lifetimes, in the order in which they were given."""
        return self.survey.lifetimes

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Path and reason of unreadable logs and of lifetimes that did not reach their end."""
        return (*self.survey.left_out, *(pair for group in self.groups for pair in group.left_out))

    @property
    def whole(self) -> bool:
        """Whether all the sources given count, in a group."""
        return not (self.left_out or self.survey.faults or self.apart)

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Every task, in the order in which lifetimes first learn it."""
        return tuple(dict.fromkeys(task for score in self.survey.scores for task in score.tasks))

    def life(self, name: str) -> ScoredLifetime:
        """Return the lifetime of this id, or whose id ends with it; an unknown one offers the nearest."""
        named = [life for life in self.lifetimes if life.id == name]
        named = named or [life for life in self.lifetimes if life.id.endswith(f"/{name}")]
        if len(named) == 1:
            return named[0]
        raise UnknownNameError("lifetime", name, [life.id for life in self.lifetimes])

    def group(self, name: str) -> Group:
        """Return the group of this name; an unknown one offers the nearest."""
        for group in self.groups:
            if group.group == name:
                return group
        raise UnknownNameError("group", name, [group.group for group in self.groups])

    def of_group(self, group: Group) -> tuple[ScoredLifetime, ...]:
        """Return the lifetimes of a group."""
        wanted = set(group.lives)
        return tuple(life for life in self.lifetimes if life.id in wanted)

    def partial(self, group: Group) -> tuple[ScoredLifetime, ...]:
        """Return the lifetimes of a group that did not reach their end; they are shown but do not count."""
        unfinished = {name for name, _ in group.left_out}
        return tuple(life for life in self.lifetimes if life.id in unfinished)

    @property
    def thresholds(self) -> dict[str, Threshold]:
        """Metric → its threshold, so that a file of scores has it if the metric is not declared."""
        return {name: metric.criterion for name, metric in self.survey.metrics.items()}

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """The score of each learner in each Core Capability of 2019; empty under other presets than framework-2019."""
        return capabilities(self.survey)

    def as_json(self) -> dict[str, Any]:
        """Return everything that was scored, as `score.schema.json` describes it."""
        return with_checksum(to_plain(self))


def group_survey(survey: Survey, pattern: str | None = None) -> GroupedSurvey:
    """Group lifetimes, or keep the reason why they cannot be grouped. With a pattern, that reason is an error."""
    pattern = survey.settings.get("group") if pattern is None else pattern
    if pattern is not None:
        return GroupedSurvey(survey, groups(survey, pattern))
    try:
        found = groups(survey)
        # The folder of a single lifetime says nothing about its learner.
        if len(survey) == 1 and found[0].n and not survey.scores[0].learner:
            found = (alone(survey, survey.scores[0], found),)
        return GroupedSurvey(survey, found, why_not_pooled(survey))
    except PerdureError as problem:
        # Lifetimes that must not be pooled can still be looked at one by one.
        return GroupedSurvey(survey, (), str(problem))
