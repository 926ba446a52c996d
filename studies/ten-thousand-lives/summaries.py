"""Summaries of lifetimes: the headline metrics by `standard` and by the papers' presets. Needs only NumPy.

All lifetimes of a layout have blocks of the same modes and lengths, and are read as arrays:

order       lives × learning blocks                      which task, by its number
learned     lives × learning blocks × experiences
evaluated   lives × evaluations × tasks × experiences    evaluation p + 1 follows learning block p
experts     tasks × experts × experiences

Lifetimes 30 g … 30 g + 29 are one group, as in a paper, and are compared with the group's experts, 10 g … 10 g + 9 of
each task, or the first k of them. `standard` knows the tasks' bounds; the papers scale by the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["EXPERTS", "GROUP", "LIVES", "summaries"]

GROUP, MOST = 30, 10
"""Numbers of lifetimes in a group, and of its experts per task."""
LIVES, EXPERTS = (3, 5, 11, 30), (1, 2, 5, 10)
"""How many of them a paper might have had."""
_SCALED, _LOWEST = 100.0, 1.0
_AT_ONCE = 1500
Array = Any


def summaries(order: Array, learned: Array, evaluated: Array, experts: Array, bounds: tuple[float, float]) -> Any:
    """Return columns by name with a row per lifetime; `se_spread` and `experts` have a row per group."""
    parts = [
        _some(order[part], learned[part], evaluated[part], experts, bounds, first)
        for first in range(0, len(order), _AT_ONCE)
        for part in [slice(first, first + _AT_ONCE)]
    ]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    spread = arrays.pop("se_table")
    count = len(order) // GROUP
    arrays["se_spread"] = _spreads(spread[: count * GROUP].reshape(count, GROUP, *spread.shape[1:]))
    arrays["experts"] = np.log(_bounded(_smooth(np.float64(experts)), bounds).mean(axis=-1))
    return {name: values.astype(np.int8 if name == "order" else np.float32) for name, values in arrays.items()}


def _some(order: Array, learned: Array, evaluated: Array, experts: Array, bounds: Any, first: int) -> dict[str, Array]:
    learned, evaluated, experts = np.float64(learned), np.float64(evaluated), np.float64(experts)
    groups = (first + np.arange(len(order))) // GROUP
    tasks = evaluated.shape[2]
    expert_curves = np.stack(
        [experts[:, (groups * MOST + expert)] for expert in range(MOST)], axis=2
    )  # tasks × lives × k × experiences
    joined = _joined(order, learned, tasks)
    arrays = {"order": order}
    arrays |= _from_evaluations("", order, _bounded(evaluated, bounds).mean(axis=-1))
    for half in (0, 1):
        arrays |= _from_evaluations(f"half_{half}_", order, _bounded(evaluated[..., half::2], bounds).mean(axis=-1))
    arrays |= _matrix(order, evaluated.mean(axis=-1))
    curves = _bounded(_smooth(joined), bounds)
    others = _bounded(_smooth(expert_curves), bounds)
    arrays["learned"] = np.log(np.maximum(curves.mean(axis=-1), _LOWEST)).T
    for k in EXPERTS:
        table = _efficiency(curves, others[:, :, :k])  # lives × tasks × k
        arrays[f"se_{k}"] = table.mean(axis=(1, 2))
        if k == MOST // 2:
            half_table = table
    arrays["se_table"] = np.concatenate([half_table, table], axis=2)
    by_block = _joined(order, _smooth(learned), tasks)
    for k in EXPERTS:
        arrays |= _papers(k, order, by_block, evaluated, _smooth(expert_curves[:, :, :k]))
    return arrays


# --- standard -------------------------------------------------------------------------------------


def _from_evaluations(name: str, order: Array, means: Array) -> dict[str, Array]:
    """Return maintenance in points and transfer as logarithms, from block means on the scale 1 … 101."""
    sites, changes = _kept(order, means)
    forward, backward = _around(order, means, lambda after, before: np.log(after / before))
    return {
        f"{name}pm": _mean(_mean(changes, sites, 1), sites.any(axis=1), 1),
        f"{name}ft": _mean(*forward, (1, 2)),
        f"{name}bt": _mean(*backward, (1, 2)),
    }


def _kept(order: Array, means: Array) -> tuple[Array, Array]:
    """Return whether each evaluation of a task is a site of maintenance, and the change since the reference."""
    lives, evaluations, tasks = means.shape
    reference = np.zeros((lives, tasks))
    since = np.zeros((lives, tasks), int)
    """Number of evaluations since the reference; 0 if there is no reference yet."""
    sites, changes = np.zeros(means.shape, bool), np.zeros(means.shape)
    for index in range(1, evaluations):
        now = order[:, index - 1, None] == np.arange(tasks)
        changes[:, index] = means[:, index] - reference
        sites[:, index] = ~now & (since > 0)
        reference = np.where(now, means[:, index], reference)
        since = np.where(now, 1, since + (since > 0))
    return sites, changes


def _around(order: Array, means: Array, compared: Any) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return forward and backward transfer: the first value of each pair of tasks, and whether it has one."""
    lives, evaluations, tasks = means.shape
    known = np.zeros((lives, tasks), bool)
    values = [np.zeros((lives, tasks, tasks)) for _ in range(2)]
    known_cells = [np.zeros((lives, tasks, tasks), bool) for _ in range(2)]
    for index in range(1, evaluations):
        now = order[:, index - 1, None] == np.arange(tasks)
        value = compared(means[:, index], means[:, index - 1])
        for direction, open_ in enumerate((~known, known)):
            new = now[:, :, None] & (open_ & ~now)[:, None, :] & ~known_cells[direction]
            values[direction] = np.where(new, value[:, None, :], values[direction])
            known_cells[direction] |= new
        known |= now
    return (values[0], known_cells[0]), (values[1], known_cells[1])


def _matrix(order: Array, means: Array) -> dict[str, Array]:
    """Return the five numbers of the accuracy matrix, with tasks in the order of their first learning."""
    tasks = means.shape[2]
    first = np.argsort([[list(row).index(task) for task in range(tasks)] for row in order], axis=1)
    columns = [*range(tasks), means.shape[1] - 1]
    cells = np.take_along_axis(means[:, columns], first[:, None, :], axis=2).transpose(0, 2, 1)  # lives × i × 0…T
    diagonal = np.stack([cells[:, task, task + 1] for task in range(tasks)], axis=1)
    last = cells[:, :, -1]
    best = np.stack([cells[:, task, task + 1 :].max(axis=1) for task in range(tasks)], axis=1)
    ahead = np.stack([cells[:, task, task] - cells[:, task, 0] for task in range(1, tasks)], axis=1)
    return {
        "average_accuracy": last.mean(axis=1),
        "learning_accuracy": diagonal.mean(axis=1),
        "bwt": (last - diagonal)[:, :-1].mean(axis=1),
        "forgetting": (best - last)[:, :-1].mean(axis=1),
        "fwt": ahead.mean(axis=1),
    }


def _efficiency(curves: Array, others: Array) -> Array:
    """Return ln SE of each lifetime (tasks × lives × experiences) and each of its experts (one more axis)."""
    length = curves.shape[-1]
    tenth, last = max(1, length // 10), 9 * length // 10
    share = others.shape[2] + 1
    ends, starts = others[..., last:].mean(axis=-1), others[..., :tenth].mean(axis=-1)
    end, start = curves[..., last:].mean(axis=-1), curves[..., :tenth].mean(axis=-1)
    height, base = (end + ends.sum(axis=-1)) / share, (start + starts.sum(axis=-1)) / share
    target = base + 0.9 * (height - base)
    learner_time, expert_time = _reached(curves, target), _reached(others, target[..., None])
    efficiency = np.log(
        np.maximum(end, _LOWEST)[..., None] / np.maximum(ends, _LOWEST) * expert_time / learner_time[..., None]
    )
    return efficiency.transpose(1, 0, 2)


def _spreads(table: Array) -> Array:
    """Return the variance of the experts' means: groups × numbers of lifetimes × (5 and 10 experts) × tasks."""
    half = MOST // 2
    parts = (table[..., :half], table[..., half:])
    cut = [[part[:, :count].mean(axis=1).var(axis=-1, ddof=1) for part in parts] for count in LIVES]
    return np.array(cut).transpose(2, 0, 1, 3)


# --- the papers -----------------------------------------------------------------------------------


def _papers(k: int, order: Array, curves: Array, evaluated: Array, others: Array) -> dict[str, Array]:
    """Return the metrics of Baker et al. 2023 and New et al. 2022 with k experts, whose data also set the scale."""
    tasks, lives = curves.shape[:2]
    low, high = np.zeros((lives, tasks)), np.zeros((lives, tasks))
    for task in range(tasks):
        inputs = (curves[task], evaluated[:, :, task].reshape(lives, -1), others[task].reshape(lives, -1))
        low[:, task], high[:, task] = np.percentile(np.concatenate(inputs, axis=1), (10, 90), axis=1)
    informs = high - low > 1e-12 * np.maximum(np.abs(low), np.abs(high))

    def prepared(values: Array, shape: tuple[int, ...]) -> Array:
        least, most = low.reshape(shape), high.reshape(shape)
        wide = np.where(most > least, most - least, 1.0)
        return (np.clip(values, least, most) - least) / wide * _SCALED + _LOWEST

    means = prepared(evaluated, (lives, 1, tasks, 1)).mean(axis=-1)
    sites, changes = _kept(order, means)
    sites &= informs[:, None, :]
    arrays = {
        f"baker_{k}_pm": _mean(_mean(changes, sites, 1), sites.any(axis=1), 1),
        f"new_{k}_pm": _mean(changes, sites, (1, 2)),
    }
    informing = informs[:, None, :]
    ratios = _around(order, means, lambda after, before: after / before)
    contrasts = _around(order, means, lambda after, before: (after - before) / (after + before))
    for name, (values, known), (others_, _) in zip(("ft", "bt"), ratios, contrasts, strict=True):
        arrays[f"baker_{k}_{name}"] = _mean(values, known & informing, (1, 2))
        arrays[f"new_{k}_{name}"] = _mean(others_, known & informing, (1, 2))
    low, high = low.T, high.T
    learners, experts = prepared(curves, (tasks, lives, 1)), prepared(others, (tasks, lives, 1, 1))
    ratio = learners.sum(axis=-1)[..., None] / experts.sum(axis=-1)
    arrays[f"baker_{k}_rp"] = _mean(ratio.mean(axis=-1).T, informs, 1)
    arrays[f"new_{k}_se"] = _saturated(learners, experts, informs)
    arrays[f"baker_{k}_se"] = _saturated(_smooth(learners), _smooth(experts), informs)
    return arrays


def _saturated(learners: Array, experts: Array, informs: Array) -> Array:
    """Return sample efficiency from peaks; learners that fall, fail or peak at once are left out."""
    length = learners.shape[-1]
    index = np.arange(length) - (length - 1) / 2
    above = learners - learners[..., :1]
    slope = (above * index).sum(axis=-1) * 12 / (length * (length * length - 1))
    peak, peaks = learners.max(axis=-1), experts.max(axis=-1)
    learner_time, expert_time = _reached(learners, peak), _reached(experts, peaks)
    height = peak[..., None] / peaks
    sound = (
        (slope * length >= -1e-9 * _SCALED)[..., None]
        & (learner_time > 1)[..., None]
        & (expert_time > 1)
        & (height >= 0.2)
    )
    efficiency = _mean(height * expert_time / learner_time[..., None], sound, -1)
    return _mean(efficiency.T, sound.any(axis=-1).T & informs, 1)


# --- curves ---------------------------------------------------------------------------------------


def _joined(order: Array, learned: Array, tasks: int) -> Array:
    """Return the joined learning blocks of each task: tasks × lives × experiences."""
    rounds = order.shape[1] // tasks
    places = np.stack([np.argsort(order != task, axis=1, kind="stable")[:, :rounds] for task in range(tasks)])
    return np.stack([np.take_along_axis(learned, place[..., None], axis=1).reshape(len(order), -1) for place in places])


def _bounded(values: Array, bounds: tuple[float, float]) -> Array:
    low, high = bounds
    return (values - low) / (high - low) * _SCALED + _LOWEST


def _smooth(values: Array) -> Array:
    """Smooth with a flat centred window of a fifth, at most 100; even widths average two half-shifted windows."""
    width = min(values.shape[-1] // 5, 100)
    if width < 3:
        return values
    around = width // 2
    rows = values.reshape(-1, values.shape[-1])
    padded = np.pad(rows, ((0, 0), (around, around)), mode="reflect")
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(padded, axis=1)], axis=1)
    means = (sums[:, width:] - sums[:, :-width]) / width
    if width % 2 == 0:
        means = (means[:, :-1] + means[:, 1:]) / 2
    lowest, highest = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    return np.clip(means, lowest, highest).reshape(values.shape)


def _reached(curves: Array, target: Array) -> Array:
    """Return the experience that reaches the target, from 1; one more than the last if none does."""
    reached = curves >= (target - 1e-9 * np.maximum(1.0, np.abs(target)))[..., None]
    return np.where(reached.any(axis=-1), reached.argmax(axis=-1), curves.shape[-1]) + 1


def _mean(values: Array, known: Array, axis: Any) -> Array:
    """Return the mean of known values; NaN without any."""
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
