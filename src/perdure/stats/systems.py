"""Several systems: each compared with a baseline, separately for every scenario type and measure; letter displays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path, PurePath
from string import ascii_lowercase
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import Survey
from perdure.gather.names import distinct_names
from perdure.lazy import pl
from perdure.metrics.declare import METRICS, Threshold
from perdure.metrics.presets import compared
from perdure.metrics.score import Score, stated_settings, told_words
from perdure.results import LeftOut
from perdure.scenario.model import FACTS
from perdure.settings.presets import STANDARD
from perdure.stats.compare import Comparison, compare_lives, name_sections
from perdure.stats.groups import (
    check_comparable,
    check_poolable,
    differing,
    left_out_of,
    usable,
    why_not_pooled,
)
from perdure.stats.interval import holm
from perdure.stats.learning import Systems, add_learning_metrics
from perdure.stats.model import LEVEL, Document
from perdure.stats.pairing import Want
from perdure.stats.tally import Tally, tally_of_systems

_Stratum = tuple[str | None, str | None]


class System(Struct, frozen=True):
    """One learner's lifetimes, from one place."""

    name: str
    lives: tuple[Score, ...]
    bars: Mapping[str, Threshold]
    place: str = ""
    """Name of the place that it comes from."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Path and reason."""


class Comparisons(Document, frozen=True):
    """Comparisons of every system with the baseline.

    Attributes
    ----------
    systems
        Names of the systems.
    baseline
        Name of the system that the others are compared with.
    preset
        Preset of the scores.
    comparisons
        One comparison per system, scenario type and measure.
    level
        Confidence level.
    left_out
        Path and reason of logs that were not used.
    notes
        Remarks about the comparison.
    letters
        For three systems or more, which of them differ, per scenario type and measure.
    tally
        Each system compared with the thresholds, under presets that test as Baker et al. 2023 do.
    """

    JSON: ClassVar = (
        *("perdure", "schema", "definitions", "preset", "level", "systems", "baseline", "comparisons", "letters"),
        *("tally", "left_out:excluded", "notes", "settings", "settings_from"),
    )

    systems: tuple[str, ...]
    baseline: str
    preset: str
    comparisons: tuple[Comparison, ...]
    level: float = LEVEL
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    letters: tuple[Letters, ...] = ()
    tally: Tally | None = None

    def __len__(self) -> int:
        return len(self.comparisons)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.comparisons)

    def __repr__(self) -> str:
        return f"Comparisons({', '.join(self.systems)}; baseline {self.baseline}, preset {self.preset})"

    def table(self) -> pl.DataFrame:
        """Return one row per comparison and metric."""
        numbers = ("difference", "low", "high", "p", "p_holm", "hedges_g", "improvement")
        rows = [
            {
                "system": found.system,
                "baseline": found.baseline,
                "scenario_type": found.scenario_type,
                "metric": name,
                "scale": one.scale,
                **{key: getattr(one, key) for key in numbers},
                "word": one.word,
            }
            for found in self.comparisons
            for name, one in found.differences.items()
        ]
        texts = ("system", "baseline", "scenario_type", "metric", "scale")
        kinds = {**dict.fromkeys(texts, pl.String()), **dict.fromkeys(numbers, pl.Float64()), "word": pl.String()}
        return pl.DataFrame(rows, schema=kinds)

    @property
    def excluded(self) -> tuple[LeftOut, ...]:
        """Logs that were given and not used."""
        return tuple(LeftOut(path, why) for path, why in self.left_out)


def systems_of(survey: Survey) -> tuple[System, ...]:
    """Return one system per learner of each argument; arguments that are lifetimes themselves count as one.

    A system has the name under which `groups` has its lifetimes: that of its learner, or of the folder or file that
    stands for one. Several of one name are named after their arguments, with as many folders as differ.
    """
    for why in filter(None, [why_not_pooled(survey)]):
        raise PerdureError(why, "or score them apart", where=survey.name)
    pool = bool(survey.settings.get("pool"))
    parts: dict[tuple[str, str], list[Score]] = {}
    for life in survey.scores:
        argument = "" if pool else life.identity.argument
        parts.setdefault((argument, life.learner or life.identity.holder), []).append(life)
    if len(parts) == 1:  # several lifetimes of one learner, each an argument
        (((argument, who), lives),) = parts.items()
        parts = {(life.identity.source or life.id, who): [life] for life in lives} if not argument else parts
    if len(parts) == 1:
        others = f" ({len(survey.left_out)} left out: {survey.left_out[0][1]})" if survey.left_out else ""
        raise PerdureError(
            f"one learner only ({who or 'not named'}), so there is nothing to compare it with{others}",
            "give a second folder or score file",
            where=survey.name,
        )
    names = [who for _, who in parts]
    if not all(names) or len(set(names)) < len(names):
        places = Counter(argument for argument, _ in parts)
        paths = {place: (*Path(place).resolve().parts[:-1], _last_name(place)) for place in places}
        called = distinct_names(paths.values())
        names = _numbered(
            [
                " · ".join(filter(None, (called[paths[argument]], who if places[argument] > 1 else "")))
                for argument, who in parts
            ]
        )
    made = [_system(name, part, survey.bars) for name, part in zip(names, parts.values(), strict=True)]
    return (replace(made[0], left_out=(*survey.left_out, *made[0].left_out)), *made[1:])


def by_learner(survey: Survey) -> dict[str, tuple[Score, ...]]:
    """Return the lifetimes by learner; without a recorded learner by their folder or file."""
    for why in filter(None, [why_not_pooled(survey)]):
        raise PerdureError(why, "or score them apart", where=survey.name)
    parts: dict[str, list[Score]] = {}
    for life in survey.scores:
        parts.setdefault(life.learner or life.identity.holder or "not named", []).append(life)
    return {name: tuple(part) for name, part in parts.items()}


def _last_name(place: str) -> str:
    path = Path(place)
    return path.stem if path.is_file() else path.resolve().name


def _system(name: str, lives: Sequence[Score], bars: Mapping[str, Threshold]) -> System:
    counted, partial = usable(lives)
    place = _last_name(lives[0].identity.argument) if lives[0].identity.argument else name
    return System(name, counted, bars, place, left_out_of(lives, partial))


def _numbered(names: Sequence[str]) -> list[str]:
    """Return the names, with a number if one occurs twice."""
    return [f"{name} {at + 1}" if names.count(name) > 1 else name for at, name in enumerate(names)]


def compare_systems(
    systems: Sequence[System],
    baseline: str | None = None,
    *,
    metrics: Sequence[str] = (),
    paired: Want = "auto",
    level: float = LEVEL,
    order: bool = False,
    seed: int = 0,
) -> Comparisons:
    """Compare each system with the baseline (the last one unless named), in every scenario type and measure they share.

    The metrics that both could answer are tested together, whichever `metrics` are shown. Of three systems or
    more every pair is compared as well, for a letter display. Different presets or settings are refused.
    """
    metrics = tuple(METRICS.canonical(name) for name in metrics)
    chosen = _named(systems, baseline).name
    _check_same_settings(systems)
    systems, assumed = _placed(systems)
    bars = {name: bar for system in systems for name, bar in system.bars.items()}
    comparisons: list[Comparison] = []
    stated = next((stated_settings(life) for system in systems for life in system.lives), ())
    alone: list[str] = []
    letters: list[Letters] = []
    against_thresholds: dict[str, tuple[Score, ...]] = {}
    strata = dict.fromkeys(_stratum(lifetime) for system in systems for lifetime in system.lives)
    for stratum in strata:
        lifetimes = {
            system.name: tuple(lifetime for lifetime in system.lives if _stratum(lifetime) == stratum)
            for system in systems
        }
        lifetimes = {name: own for name, own in lifetimes.items() if own}
        for name, own in lifetimes.items():
            check_poolable(own, f"{name}, {_label(stratum)}")
            against_thresholds[_row(name, stratum, strata)] = own
        check_comparable([lifetime for own in lifetimes.values() for lifetime in own], _label(stratum))
        if chosen not in lifetimes or len(lifetimes) < 2:
            alone.append(f"{_label(stratum)}: only {', '.join(lifetimes)}")
            continue
        results, displayed = compare_with_baseline(
            lifetimes,
            chosen,
            bars,
            metrics=metrics,
            paired=paired,
            level=level,
            order=order,
            seed=seed,
        )
        comparisons += results
        letters += [displayed] if displayed else []
    if not comparisons:
        raise PerdureError(
            f"nothing to compare with {chosen}: no scenario type and measure in common ({'; '.join(alone)})",
            "give --measure, or score the same scenarios",
        )
    if not any(comparison.differences for comparison in comparisons):
        raise PerdureError(
            f"{chosen} shares no metric that has a value with any other system", "name others with --metrics"
        )
    return Comparisons(
        tuple(system.name for system in systems),
        chosen,
        next(lifetime.preset for system in systems for lifetime in system.lives),
        name_sections(comparisons),
        level,
        tuple(left for system in systems for left in system.left_out),
        (*stated, *assumed, *_told_differently(systems), *(f"not compared: {text}" for text in alone)),
        tuple(letters),
        tally_of_systems(against_thresholds, bars, level),
    )


def compare_with_baseline(
    systems: Systems,
    baseline: str,
    bars: Mapping[str, Threshold],
    *,
    metrics: Sequence[str] = (),
    order: bool = False,
    seed: int = 0,
    **how: Any,
) -> tuple[list[Comparison], Letters | None]:
    """Compare each system with the baseline, on references that are common to all systems.

    Return the comparisons and, for three systems or more, the letters of all pairs. `how` goes to `compare_lives`.
    """
    systems, bars, notes = on_common_references(systems, bars)
    lifetimes = [lifetime for own in systems.values() for lifetime in own]
    primary = _primary(lifetimes)
    unknown = next((name for name in (*metrics, *([primary] if primary else [])) if name not in bars), None)
    if unknown:
        raise UnknownNameError("metric of these scores", unknown, bars)
    comparisons = [
        compare_lives(
            own,
            systems[baseline],
            bars,
            names=(name, baseline),
            metrics=metrics,
            order=order,
            seed=seed,
            primary=primary,
            **how,
        )
        for name, own in systems.items()
        if name != baseline
    ]
    comparisons = [
        replace(found, notes=(*found.notes, *notes, *_notes(systems[found.system], systems[baseline])))
        for found in comparisons
    ]
    return comparisons, letter_display(systems, bars, **how) if len(systems) > 2 else None


def _told_differently(systems: Sequence[System]) -> Iterator[str]:
    """Yield a note if learners were told different facts, which helps some of them."""
    told = {system.name: system.lives[0].told for system in systems if system.lives}
    if len(set(told.values())) > 1 and any(facts is not None and len(facts) < len(FACTS) for facts in told.values()):
        texts = (
            f"{name} {'does not record it' if facts is None else told_words(facts)}" for name, facts in told.items()
        )
        yield f"learners were told different things: {'; '.join(texts)}"


def on_common_references(
    systems: Systems, bars: Mapping[str, Threshold]
) -> tuple[Systems, dict[str, Threshold], tuple[str, ...]]:
    """Return the systems with the metrics that only comparisons compute, all thresholds, and notes."""
    lifetimes = [lifetime for own in systems.values() for lifetime in own]
    if any(lifetime.preset != STANDARD or lifetime.identity.unit for lifetime in lifetimes):
        return systems, dict(bars), ()
    systems, notes = add_learning_metrics(systems)
    if len(systems) > 2:
        notes = (*notes, f"all {len(systems)} systems share ranges, lengths and target: without one, values change")
    return systems, {name: bars.get(name, METRICS.get(name).criterion) for name in compared()} | dict(bars), notes


def _primary(lifetimes: Sequence[Score]) -> str | None:
    """Return the metric that the protocol of every lifetime names as primary; None if they differ."""
    stated = {
        lifetime.protocol.get("primary") if isinstance(lifetime.protocol, Mapping) else None for lifetime in lifetimes
    }
    primary = stated.pop() if len(stated) == 1 else None
    return METRICS.canonical(primary) if isinstance(primary, str) else None


def _named(systems: Sequence[System], baseline: str | None) -> System:
    if baseline is None:
        return systems[-1]
    given = {baseline, PurePath(baseline).name}  # a name, or a path such as runs/ewc
    for one in systems:
        # Under these names, `score` prints a group or a single lifetime.
        printed = (f"{one.name}, {kind}" for kind in {life.scenario_type for life in one.lives if life.scenario_type})
        single = (life.id for life in one.lives if len(one.lives) == 1)
        if not given.isdisjoint((one.name, one.place, *printed, *single)):
            return one
    raise UnknownNameError("baseline", baseline, [one.name for one in systems])


def _placed(systems: Sequence[System]) -> tuple[tuple[System, ...], tuple[str, ...]]:
    """Give systems without a scenario type the only one that others state, with a note."""
    stated = {life.scenario_type for one in systems for life in one.lives if life.scenario_type}
    placed: list[System] = []
    notes: list[str] = []
    for one in systems:
        if len(stated) == 1 and not any(life.scenario_type for life in one.lives):
            (kind,) = stated
            lives = tuple(replace(life, identity=replace(life.identity, scenario_type=kind)) for life in one.lives)
            placed.append(replace(one, lives=lives))
            notes.append(f"{one.name} does not state its scenario type; taken to be {kind}, as the others'")
        else:
            placed.append(one)
    return tuple(placed), tuple(notes)


def _check_same_settings(systems: Sequence[System]) -> None:
    for one in systems:
        if not one.lives:
            raise PerdureError(
                f"no lifetime that counts ({len(one.left_out)} left out)", "see perdure score for why", where=one.name
            )
    for attribute, called in (("preset", "preset"), ("how", "settings")):
        values: dict[str, str] = {}
        for one in systems:
            for life in one.lives:
                if getattr(life, attribute):
                    values.setdefault(getattr(life, attribute), one.name)
        if len(values) > 1:
            (first, by_first), (second, by_second) = list(values.items())[:2]
            raise PerdureError(
                f"{by_first} and {by_second} were scored with different {called}: {differing(first, second)}",
                "score both the same way",
            )


def _stratum(life: Score) -> _Stratum:
    return life.scenario_type, life.measure


def _row(system: str, stratum: _Stratum, strata: Iterable[_Stratum]) -> str:
    """Return the name of a system in a stratum, with the parts that differ between strata."""
    varying = (len(set(part)) > 1 for part in zip(*strata, strict=True))
    return " · ".join((system, *(one for one, varies in zip(stratum, varying, strict=True) if one and varies)))


def _label(stratum: _Stratum) -> str:
    return " · ".join(one for one in stratum if one) or "all lifetimes"


def _notes(ours: Sequence[Score], theirs: Sequence[Score]) -> tuple[str, ...]:
    stated = [{life.protocol_name or "" for life in side if life.protocol} for side in (ours, theirs)]
    if stated[0] and stated[1] and stated[0] != stated[1]:
        differing = f"{', '.join(sorted(stated[0]))} against {', '.join(sorted(stated[1]))}"
        return (f"the protocols differ: {differing}",)
    return ()


def compare_scenario_types(survey: Survey, baseline: str | None = None, **options: Any) -> Comparisons:
    """Compare each learner's lifetimes of one scenario type with those of another, for every learner and measure.

    The types are the systems, by name; `baseline` is one of them, the last unless named. `options` are those of
    `compare_systems`, which does the tests.
    """
    learners = by_learner(survey)
    kinds: dict[str, list[Score]] = {}
    left_out = list(survey.left_out)
    for learner, lives in learners.items():
        counted, partial = usable(lives)
        left_out += left_out_of(lives, partial)
        for life in counted:
            if life.scenario_type is None:
                left_out.append((life.identity.source or life.id, "it states no scenario type"))
                continue
            # Scenario types are the systems here, and learners the strata.
            who = replace(life.identity, scenario_type=learner)
            kinds.setdefault(life.scenario_type, []).append(replace(life, identity=who))
    _check_several(survey, learners, kinds)
    systems = [System(kind, tuple(kinds[kind]), survey.bars, kind) for kind in sorted(kinds)]
    made = compare_systems(systems, baseline, **options)
    return replace(
        made,
        comparisons=name_sections(
            [replace(one, scenario_type=None, learner=one.scenario_type) for one in made.comparisons]
        ),
        letters=tuple(replace(one, scenario_type=None, learner=one.scenario_type) for one in made.letters),
        left_out=tuple(left_out),
    )


def _check_several(
    survey: Survey, learners: Mapping[str, Sequence[Score]], kinds: Mapping[str, Sequence[Score]]
) -> None:
    """Refuse lifetimes if no learner has two types, or if those of one type came as two arguments."""
    lived = {
        learner: [kind for kind, lives in kinds.items() if any(life.scenario_type == learner for life in lives)]
        for learner in learners
    }
    if not any(len(found) > 1 for found in lived.values()):
        said = "; ".join(f"{learner}: {found[0] if found else 'none stated'}" for learner, found in lived.items())
        raise PerdureError(
            f"no learner has lifetimes of two scenario types that count ({said}), so there is nothing to compare",
            "give those of another type as well, such as condensed and dispersed",
            where=survey.name,
        )
    if survey.settings.get("pool"):
        return
    for kind, lives in kinds.items():
        for learner in learners:
            places = dict.fromkeys(life.identity.argument for life in lives if life.scenario_type == learner)
            if len(places) > 1:
                raise PerdureError(
                    f"its lifetimes came as {len(places)} arguments ({', '.join(places)}), which are not in one group",
                    "give one of them alone, or --pool",
                    where=f"{learner}, {kind}",
                )


class Letters(Struct, frozen=True):
    """A compact letter display of the systems in one scenario type and measure."""

    JSON: ClassVar = ("learner", "scenario_type", "measure", "tests", "metrics:by_metric")

    scenario_type: str | None
    measure: str | None
    tests: int
    """Pairs × metrics, the tests of Holm's adjustment."""
    by_metric: Mapping[str, Mapping[str, str]]
    """Metric → system → its letters; two systems that share none differ."""
    learner: str | None = None
    """The learner whose scenario types are the systems, if they are."""

    @property
    def told(self) -> str:
        """Text below the table."""
        return (
            f"two systems that share no letter differ, after Holm over all {self.tests} tests (pairs × metrics); "
            "the p-values of each pair are adjusted over its own metrics alone"
        )


def letter_display(
    systems: Mapping[str, Sequence[Score]],
    bars: Mapping[str, Threshold],
    *,
    paired: Want = "auto",
    level: float = LEVEL,
) -> Letters:
    """Compare every two systems over their family; Holm's adjustment runs over pairs × metrics."""
    tests: list[tuple[str, tuple[str, str], float]] = []
    for one, other in combinations(systems, 2):
        # Pairs that were asked for may hold for some systems only.
        want: Want = "auto" if paired == "yes" else paired
        found = compare_lives(systems[one], systems[other], bars, names=(one, other), paired=want, level=level)
        tests += [(metric, (one, other), it.p) for metric, it in found.tested.items() if it.p is not None]
    adjusted = holm([p for *_, p in tests])
    apart: dict[str, set[tuple[str, str]]] = {metric: set() for metric, *_ in tests}
    for (metric, two, _), p in zip(tests, adjusted, strict=True):
        if p < 1 - level:
            apart[metric].add(two)
    first = next(life for lives in systems.values() for life in lives)
    return Letters(
        first.scenario_type,
        first.measure,
        len(tests),
        {metric: letters_of(tuple(systems), differing) for metric, differing in apart.items()},
    )


def letters_of(names: Sequence[str], differing: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return the letters of each name: two share a letter unless they differ (Piepho 2004, insert and absorb)."""
    columns: list[frozenset[str]] = [frozenset(names)]
    for one, other in differing:
        split: list[frozenset[str]] = []
        for column in columns:
            split += [column - {one}, column - {other}] if {one, other} <= column else [column]
        columns = [
            column
            for at, column in enumerate(split)
            if not any(column < more or (column == more and at > before) for before, more in enumerate(split))
        ]
    columns.sort(key=lambda column: [names.index(name) for name in sorted(column, key=names.index)])
    called = [ascii_lowercase[at] if at < 26 else f"({at + 1})" for at in range(len(columns))]
    return {
        name: "".join(letter for letter, column in zip(called, columns, strict=True) if name in column)
        for name in names
    }
