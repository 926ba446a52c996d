"""From a lifetime and its experts to curves that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from zlib import crc32

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array, gathered
from perdure.curves.copies import differ, many_differ
from perdure.curves.experts import ExpertLog, expert_log, matching, scaled_for
from perdure.curves.from_matrix import matrix_curves
from perdure.curves.joined import Joined
from perdure.curves.lives import (
    Asked,
    Directed,
    Life,
    Measured,
    life_of,
    oriented_blocks,
    passage_of,
    way_of,
)
from perdure.curves.model import LOWEST, SCALED, Curves, Expert, Prep, Range, Ranges
from perdure.curves.prepare import clamp, scale, smooth
from perdure.curves.prepared import Prepared
from perdure.curves.ranges import (
    as_one,
    found_ranges,
    own_task,
    percentiles,
    spans_by_task,
)
from perdure.curves.together import Together, short_blocks
from perdure.curves.unsmoothed import Step, Unsmoothed, each_block
from perdure.errors import LogError
from perdure.frozen import replace
from perdure.log.accuracy_matrix import MatrixPassage
from perdure.log.model import Direction, Lifetime, Passage
from perdure.log.variants import Settled, settle
from perdure.scenario.model import Scenario

__all__ = ["alike", "curves", "expert_logs"]

_AT_ONCE = 1 << 20  # values prepared as one array, the experts' beside them


def expert_logs(
    experts: Sequence[Lifetime],
    measure: str | Mapping[str, str],
    direction: Direction | Mapping[str, Direction],
    prep: Prep,
    saturations: Mapping[str, float] | None = None,
    settled: Settled | None = None,
) -> tuple[tuple[ExpertLog, ...], tuple[tuple[str, str], ...]]:
    """The experts smoothed, once for all lifetimes, and those that cannot serve with the reason.

    Where parameters make tasks, `settled` is what sets are called in these experts and in those lifetimes.
    """
    served: list[ExpertLog] = []
    left_out: list[tuple[str, str]] = []
    known: dict[tuple[str, bytes], list[tuple[Lifetime, str]]] = {}
    for expert in experts:
        place = str(expert.path or expert.id)
        try:
            log = expert_log(expert, measure, direction, prep, settled)
        except LogError as problem:
            left_out.append((place, str(problem)))
            continue
        alike = known.setdefault((log.task, blake2b(log.measured.tobytes()).digest()), [])
        telling = many_differ(log.measured)
        original = next((there for one, there in alike if _is_copy(expert, one, there != place, telling)), None)
        if original is None:
            alike.append((expert, place))
            served.append(log)
        else:  # two copies would count as two experts, and make an interval narrower than it is
            left_out.append((place, f"{place}: a copy of {original} (the same values), which counts once"))
    nothing, start = np.empty(0), np.zeros(1, dtype=np.int64)
    for task, value in (saturations or {}).items():
        stated = -value if way_of(task, measure, direction) == "lower" else value
        served.append(ExpertLog("info.json", task, nothing, nothing, start, (), _no_numbers, saturation=float(stated)))
    return tuple(served), tuple(left_out)


def _is_copy(expert: Lifetime, other: Lifetime, elsewhere: bool, telling: bool) -> bool:
    """Return whether an expert with the values of another one is a copy of it: by its id, or by `telling` values."""
    if expert.id == other.id and elsewhere:
        return True
    return telling and not differ(expert.learner, other.learner) and not differ(expert.seed, other.seed)


def _no_numbers() -> npt.NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


def curves(
    lifetime: Lifetime,
    prep: Prep | None = None,
    experts: Sequence[Lifetime | ExpertLog] = (),
    *,
    measure: Measured | None = None,
    direction: Directed | None = None,
    settled: Settled | None = None,
) -> Curves:
    """The lifetime smoothed, clamped and scaled, with the experts of its tasks on the same scale.

    Ranges come from the learner's smoothed learning values, its evaluation values and its experts'
    smoothed learning values together, unless bounds are given, or recorded in the log's manifest for
    its first measure. `direction` overrules the log's own. A mapping gives each task a measure of its
    own, and each measure its direction. `settled` is what parameter sets are called, for those who compare
    several lifetimes; without it this one and its experts are settled together. What only an accuracy
    matrix tells stays as measured.
    """
    prep = prep or Prep()
    prep = replace(prep, variants=prep.variants or lifetime.variants)
    measure = lifetime.measured(measure)
    direction = direction or (lifetime.measures[measure] if isinstance(measure, str) else lifetime.measures)
    if settled is None and prep.variants == "params":
        settled = settle([lifetime.sets, *(one.sets for one in experts if isinstance(one, Lifetime))])
    logs = [
        one if isinstance(one, ExpertLog) else expert_log(one, measure, direction, prep, settled) for one in experts
    ]
    return next(alike([lifetime], Asked(measure, direction, prep, settled), logs))[0]


def alike(lifetimes: Iterable[Lifetime], asked: Asked, experts: Sequence[ExpertLog]) -> Iterator[list[Curves]]:
    """The curves of lifetimes in order, neighbours of the same blocks together: they are prepared as one array.

    A life by itself gets the same curves to the last digit.
    """
    beside = sum(len(one.smoothed) for one in experts)
    group: list[Life] = []
    for lifetime in lifetimes:
        passage = passage_of(lifetime, asked)
        if isinstance(passage, MatrixPassage):
            if group:
                yield _prepared(group, asked, experts)
                group = []
            yield [matrix_curves(passage, lifetime.id, way_of("", passage.measures, asked.direction))]
            continue
        life = life_of(lifetime, passage, asked, group[0] if group else None)
        size = len(life.values) + beside
        if group and (not life.like(group[0]) or (len(group) + 1) * size > _AT_ONCE):
            yield _prepared(group, asked, experts)
            group = []
        group.append(life)
    if group:
        yield _prepared(group, asked, experts)


def _prepared(group: Sequence[Life], asked: Asked, logs: Sequence[ExpertLog]) -> list[Curves]:
    """Lives of the same blocks as curves: arrays with a row for each."""
    first, count, prep = group[0], len(group), asked.prep
    blocks, starts, given = first.passage.scenario.blocks, first.starts, first.given
    tasks = tuple(dict.fromkeys(block.task for block in blocks))
    known_as = {task.label: task for task in first.passage.scenario.tasks}
    matched = {task: found for task in tasks if (found := matching(known_as[task], logs, prep))}

    found_values = np.stack([life.values for life in group]) if count > 1 else first.values[np.newaxis]
    measured = oriented_blocks(found_values, starts, blocks, first.ways)
    apart = [index for index, block in enumerate(blocks) if block.mode == "learn" or prep.smooth_evaluation]
    smoothed = smooth(measured, starts, apart, window=prep.window, width=prep.width, alignment=prep.alignment)

    all_given = len(given) == len(tasks)
    known = {task: [one] * count for task, one in given.items()}
    steps: list[tuple[Step, Mapping[str, Range | Ranges]]] = []
    clamps: dict[str, Range | Ranges] = {}
    if prep.clamp:
        clamped = known if all_given else percentiles(smoothed, starts, blocks, matched) | known
        clamps = {task: Ranges.of(found) for task, found in clamped.items()}
        steps.append((clamp, clamps))
        each_block(blocks, starts, smoothed, clamps, clamp, smoothed)
    spanned = spans_by_task(smoothed, starts, blocks, {})
    ranges = known if all_given else found_ranges(spanned, matched, clamps, prep) | known
    by_life = [dict(zip(ranges, found, strict=True)) for found in zip(*ranges.values(), strict=True)]
    unused = _unused_experts(logs, matched, tasks)
    notes = [(*life.passage.notes, *_notes(found, prep), *unused) for life, found in zip(group, by_life, strict=True)]
    if prep.scale == "run":
        by_life = [as_one(found, prep, first.ways[tasks[0]], all_given) for found in by_life]
    bounds = {task: Ranges.of([found[task] for found in by_life]) for task in tasks}
    if prep.scale != "none":
        steps.append((scale, bounds))
        each_block(blocks, starts, smoothed, bounds, scale, smoothed)
    noise = _noise(group, prep)
    if noise is not None:
        smoothed += noise
    for array in (smoothed, measured):
        array.flags.writeable = False
    unsmoothed = Unsmoothed(measured, smoothed, starts, blocks, frozenset(apart), steps, noise)
    experts = {task: _scaled(found, task, bounds, clamps, prep, count) for task, found in matched.items()}
    joined = Joined(
        partial(_first, measured, starts),
        count,
        prep,
        bounds,
        clamps,
        matched,
        None if noise is None else partial(_first, noise, starts),
    )
    widths = {
        task: [SCALED if prep.scale != "none" else found[task].high - found[task].low for found in by_life]
        for task in tasks
    }
    floor = None if prep.scale == "none" else LOWEST
    extents = [widths[block.task] for block in blocks]
    among = Together(smoothed, unsmoothed.over, measured, starts, extents, floor) if count > 1 else None
    return [
        Curves(
            lifetime=life.lifetime.id,
            passage=_sharing(life.passage, first.passage.scenario),
            prep=prep,
            directions=first.ways,
            prepared=Prepared(
                smoothed[row],
                partial(unsmoothed.of, row),
                measured[row],
                starts,
                {} if among else short_blocks(smoothed[0], partial(unsmoothed.of, 0), starts, blocks, extents, floor),
            ),
            starts=starts,
            ranges=by_life[row],
            experts={task: tuple(one[row] for one in found) for task, found in experts.items()},
            notes=notes[row],
            among=among,
            row=row,
            joined=joined,
        )
        for row, life in enumerate(group)
    ]


def _first(values: Array, starts: npt.NDArray[np.int64], blocks: Sequence[int], most: int) -> Array:
    return gathered(values, starts, blocks)[:, :most]


def _noise(group: Sequence[Life], prep: Prep) -> Array | None:
    """What is added to the prepared values of each life, told by its name alone."""
    if not prep.noise:
        return None
    seeds = [[prep.noise_seed, crc32(life.lifetime.id.encode())] for life in group]
    return np.stack([np.random.default_rng(seed).normal(0.0, prep.noise, len(group[0].values)) for seed in seeds])


def _sharing(passage: Passage, scenario: Scenario) -> Passage:
    """The passage, with the very blocks of a scenario that has equal ones: what is found for them is then found."""
    own = passage.scenario
    if own.blocks is scenario.blocks and own.tasks is scenario.tasks:
        return passage
    return replace(passage, scenario=replace(own, blocks=scenario.blocks, tasks=scenario.tasks))


def _scaled(
    found: Sequence[ExpertLog],
    task: str,
    ranges: Mapping[str, Range | Ranges],
    clamps: Mapping[str, Range | Ranges],
    prep: Prep,
    lives: int,
) -> tuple[Sequence[Expert], ...]:
    """Each expert of `task`, on the scale of each life."""
    scaled: list[Sequence[Expert]] = []
    for log in found:
        # l2metrics may match the expert of another task; it scales it by that task's range, and does not clamp it.
        own = own_task(log, task, prep)
        bounds = ranges[own if own in ranges else task]
        scaled.append(scaled_for(log, bounds, prep, clamped=clamps.get(task) if own == task else None, lives=lives))
    return tuple(scaled)


def _unused_experts(
    logs: Sequence[ExpertLog], matched: Mapping[str, Sequence[ExpertLog]], tasks: Sequence[str]
) -> tuple[str, ...]:
    """Said where experts serve no task and a task has no expert: their names may only be spelt differently."""
    served = {log for found in matched.values() for log in found}
    strange = sorted({log.task for log in logs if log not in served})
    alone = [task for task in tasks if task not in matched]
    if not strange or not alone:
        return ()
    return (f"experts of {', '.join(strange)} match no task here; without an expert: {', '.join(alone)}",)


def _notes(ranges: Mapping[str, Range], prep: Prep) -> tuple[str, ...]:
    if prep.scale == "none":
        return ()
    notes: list[str] = []
    constant = [task for task, one in ranges.items() if one.constant]
    if constant:
        counted = "" if prep.keep_constant else ", and left out of lifetime means"
        notes.append(f"constant, so scaled to 1{counted}: {', '.join(constant)}")
    found = [task for task, one in ranges.items() if not one.given]
    if found:
        which = "each range" if len(found) == len(ranges) else f"the range of {', '.join(found)}"
        notes.append(f"{which} came from the data; ratios depend on it, so give bounds if you know them")
    if prep.bounds is None and len(found) < len(ranges):
        of = "" if not found else f" of {', '.join(task for task in ranges if task not in found)}"
        notes.append(f"the bounds{of} are those recorded in the log")
    return tuple(notes)
