"""The figures of a page: which ones it shows, of whom, and on which scales."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from perdure.frozen import frozen, replace
from perdure.gather.model import Life
from perdure.reports.draw import KINDS
from perdure.reports.draw.data import matrices
from perdure.reports.draw.data.lives import LifetimeData, lifetime_of, scenario_of, used
from perdure.reports.draw.data.places import of_recovery
from perdure.reports.draw.data.view import Flagged, Nothing, View, flags_text
from perdure.reports.draw.svg.heat import MOST
from perdure.reports.draw.svg.lives import lifetime, scenario, values_of
from perdure.reports.draw.svg.matrices import accuracy
from perdure.reports.draw.svg.paper import Paper
from perdure.reports.material import Material
from perdure.stats.answer import keeping
from perdure.stats.model import Group
from perdure.words import plural

__all__ = ["Picture", "life_pictures", "opening", "picture_of", "sections"]

_PAPER = Paper(width=600, size=12, title="", legend=False, spread=1.5)
"""All figures of a page are as wide, so that their words are of one size, also on a telephone."""
_MOST_OPENING = 3
_MOST_GROUPS = 8
_MOST_SCENARIOS = 4


@frozen
class Picture:
    """A figure as markup, and what is said under it."""

    svg: str
    caption: str = ""


def opening(material: Material) -> list[Picture]:
    """One figure per learner, all on one scale: the lifetime in the middle of its group, or its accuracy matrix."""
    chosen = _one_per_learner(material.groups)
    chosen = chosen if len(chosen) <= _MOST_OPENING else _extremes(chosen)
    if not chosen:
        return [_of_life(one, {}, material) for one in material.lives[:1] if one.sketch.stretches]
    if all(group.unit for group in chosen):
        return _matrices_of(chosen, material)
    found = [(group, *_middle(material, group)) for group in chosen]
    lives = [(group, life, how) for group, life, how in found if life is not None and life.sketch.stretches]
    # As measured and scaled never stand side by side: one that must be scaled scales all.
    scaled = any(used(life.sketch, View()) == "scaled" for _, life, _ in lives)
    view = View(values="scaled" if scaled else "auto")
    drawn = [(group, lifetime_of(life.sketch, view), how) for group, life, how in lives]
    known = [(group, one, how) for group, one, how in drawn if isinstance(one, LifetimeData)]
    limits = _limits([one for _, one, _ in known])
    return [
        Picture(
            lifetime(one, material.looks, replace(_PAPER, limits=limits.get(one.y))).inline(),
            f"{_called(group)}: {one.id}{how}.",
        )
        for group, one, how in known
    ]


def life_pictures(material: Material) -> Iterator[tuple[Life, Picture]]:
    """Every lifetime's figure, all of one measure on one scale."""
    drawn = (lifetime_of(one.sketch) for one in material.lives)  # one after the other: there may be thousands
    limits = _limits(one for one in drawn if isinstance(one, LifetimeData))
    for life in material.lives:
        yield life, _of_life(life, limits, material)


def picture_of(material: Material, name: str) -> Picture:
    """One lifetime's figure: its accuracy matrix, where it is one."""
    life = material.life(name)
    if life is None:
        return Picture("")
    if life.score.identity.unit:
        found = matrices.accuracy(material, View(lifetime=life.id), MOST)
        if isinstance(found, matrices.AccuracyData):
            return Picture(accuracy(found, material.looks, _PAPER).inline(), found.caption)
    return _of_life(life, {}, material)


def sections(material: Material) -> dict[str, list[tuple[str, list[Picture]]]]:
    """Section → headings with their figures; what has nothing to show is left out."""
    groups = [group for group in material.groups if material.of_group(group)][:_MOST_GROUPS]
    views = [(_called(group) if len(groups) > 1 else "", View(group=group.group)) for group in groups] or [("", View())]
    found: dict[str, list[tuple[str, list[Picture]]]] = {}

    def keep(section: str, name: str, pictures: Sequence[Picture | None]) -> None:
        kept = [one for one in pictures if one is not None]
        if kept:
            found.setdefault(section, []).append((name, kept))

    for name, view in views:
        keep("matrices", name, list(_matrices(material, view)))
    recovery = tuple(name for name in of_recovery() if name in material.survey.metrics)
    for section, kind, asked in (("recovery", "over-time", recovery), ("experts", "experts", ())):
        keep(section, "", [_picture(material, kind, replace(view, metrics=asked), name) for name, view in views])
    keep("experts", "", [_picture(material, kind) for kind in ("efficiency-maintenance", "performance-cost")])
    keep("scenario", "", list(_scenarios(material)))
    if len(material.lives) > 1:
        keep("overall", "", [_picture(material, "metrics")])
        keep("overall", "", [_picture(material, kind) for kind in ("stability-plasticity", "profiles")])
    keep("overall", "", [_picture(material, "capabilities")])
    return found


# --- parts ---------------------------------------------------------------------------------------

_SAID = {
    "over-time": "How the values behind recovery change over a lifetime of the group.",
    "experts": "A lifetime's learning, stitched together, against its experts (dashed); crosses: first at its best.",
    "efficiency-maintenance": "What is kept, and how fast it is learned: a point per lifetime, the mean larger.",
    "performance-cost": "What is achieved, and what it costs, beside experts.",
    "stability-plasticity": "What is carried over and what is kept: a point per lifetime, the mean larger.",
    "profiles": "The share of lifetimes and tasks that end above each level, with 95 % bands.",
    "metrics": "Means with intervals; dashed lines are thresholds.",
    "capabilities": "Core Capabilities: the mean ratio to experts over syllabi; 1 is as good as an expert.",
}


def _picture(material: Material, kind: str, view: View | None = None, name: str = "") -> Picture | None:
    shown = KINDS[kind].data(material, view)
    if isinstance(shown, Nothing):
        return None
    # Groups, unlike tasks, are named nowhere else.
    said = _SAID[kind]
    paper = replace(_PAPER, legend=kind not in ("over-time", "experts"))
    return Picture(
        KINDS[kind].drawn(shown, material.looks, paper).inline(),
        f"{name}: {said[0].lower()}{said[1:]}" if name else said,
    )


def _called(group: Group) -> str:
    return group.group if group.group != "all" else group.learner or "all lifetimes"


def _one_per_learner(groups: Sequence[Group]) -> list[Group]:
    """The groups to open with: each learner once, in the first one's type of scenario where it has been there."""
    by: dict[str | None, list[Group]] = {}
    for group in groups:
        if group.n or group.left_out:
            by.setdefault(group.learner or group.group, []).append(group)
    first = groups[0].scenario_type if groups else None
    return [next((one for one in own if one.scenario_type == first), own[0]) for own in by.values()]


def _extremes(groups: Sequence[Group]) -> list[Group]:
    """Of many groups the two that keep least and most; without values, the first two."""
    valued = [group for group in groups if (kept := keeping(group)) is not None and kept.mean is not None]
    ordered = sorted(valued, key=lambda group: getattr(keeping(group), "mean", 0.0))
    return [ordered[0], ordered[-1]] if len(ordered) > 1 else list(groups[:2])


def _middle(material: Material, group: Group) -> tuple[Life | None, str]:
    """The lifetime in the middle of its group by what it keeps, and how to say so."""
    lives = material.of_group(group) or material.partial(group)
    kept = keeping(group)
    valued = [
        (found.value, life)
        for life in lives
        if kept and (found := life.score.metrics.get(kept.metric)) is not None and found.value is not None
    ]
    if len(valued) < 3:
        return (lives[0] if lives else None), (f", the first of {len(lives)}" if len(lives) > 1 else "")
    ordered = sorted(valued, key=lambda pair: pair[0])
    assert kept is not None
    return ordered[(len(ordered) - 1) // 2][1], f", the middle one of {len(ordered)} by {kept.metric.replace('_', ' ')}"


def _limits(drawn: Iterable[LifetimeData]) -> dict[str, tuple[float, float]]:
    """What is on y → the limits that lifetimes share."""
    found: dict[str, list[float]] = {}
    for one in drawn:
        found.setdefault(one.y, []).extend(values_of(one))
    return {
        y: (low - 0.04 * (high - low), high + 0.04 * (high - low))
        for y, values in found.items()
        if values and (low := min(values)) < (high := max(values))
    }


def _of_life(life: Life, limits: dict[str, tuple[float, float]], material: Material) -> Picture:
    shown = lifetime_of(life.sketch)
    if isinstance(shown, Nothing):
        return Picture("", "Its blocks are not known: these are scores alone.")
    return Picture(lifetime(shown, material.looks, replace(_PAPER, limits=limits.get(shown.y))).inline())


def _matrices_of(groups: Sequence[Group], material: Material) -> list[Picture]:
    """Accuracy matrices with the same colours for the same values."""
    found = [matrices.accuracy(material, View(group=group.group), MOST) for group in groups]
    known = [one for one in found if isinstance(one, matrices.AccuracyData)]
    if not known:
        return []
    limits = min(one.limits[0] for one in known), max(one.limits[1] for one in known)
    said = f"How well each task is done after each task was learned: {known[0].y}; "
    return [
        Picture(
            accuracy(replace(one, limits=limits), material.looks, _PAPER).inline(),
            (said if not at else "") + one.caption + ".",
        )
        for at, one in enumerate(known)
    ]


def _matrices(material: Material, view: View) -> Iterator[Picture]:
    """Forgetting, the accuracy matrix, and both kinds of transfer apart."""
    lost = matrices.forgetting(material, view)
    if not isinstance(lost, Nothing):
        yield Picture(
            KINDS["forgetting"].drawn(lost, material.looks, _PAPER).inline(),
            f"What each task lost, just learned less the end; {lost.caption}{_flagged(lost.flags)}.",
        )
    found = matrices.accuracy(material, view, MOST)
    if not isinstance(found, Nothing):
        said = f"How well each task is done after each task was learned; {found.caption}{_flagged(found.flags)}."
        yield Picture(accuracy(found, material.looks, _PAPER).inline(), said)
    transfers = matrices.transfer(material, view, MOST)
    if isinstance(transfers, Nothing):
        return
    for one in transfers.matrices:
        how = "how learning a task (row) changes another (column)"
        if material.survey.metrics[one.metric].expert:
            how = "how well a task (column) is done after another (row) was learned"
        shown = replace(transfers, matrices=(one,))
        yield Picture(
            KINDS["transfer"].drawn(shown, material.looks, _PAPER).inline(),
            f"{one.metric.replace('_', ' ').capitalize()}: {how}; above {one.threshold:g}: helps{_flagged(one.flags)}.",
        )


def _flagged(flags: Sequence[Flagged]) -> str:
    return f". Flags: {flags_text(flags)}" if flags else ""


def _scenarios(material: Material) -> Iterator[Picture]:
    """Each different order of blocks once, the first of them."""
    found: dict[tuple[Any, ...], list[Life]] = {}
    for one in material.lives:
        shape = tuple((part.block.mode, part.block.task, part.block.subtype) for part in one.sketch.stretches)
        found.setdefault(shape, []).append(one)
    for lives in list(found.values())[:_MOST_SCENARIOS]:
        shown = scenario_of(lives[0].sketch)
        if not isinstance(shown, Nothing):
            drawn = scenario(shown, material.looks, _PAPER)
            whose = f"{lives[0].id} and {plural(len(lives) - 1, 'lifetime')} like it" if len(lives) > 1 else lives[0].id
            yield Picture(
                drawn.inline(), f"{whose}: {drawn.label}, {sum(one.experiences for one in shown.spans)} experiences."
            )
    if len(found) > _MOST_SCENARIOS:
        yield Picture("", f"{len(found) - _MOST_SCENARIOS} more orders of blocks are not drawn.")
