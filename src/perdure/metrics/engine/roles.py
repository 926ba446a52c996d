"""What a formula is given at a site: the curves over its blocks, the experts beside them, what adapters make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from perdure.curves.beside import Beside
from perdure.curves.model import Curve, Curves, Expert
from perdure.curves.together import over_each
from perdure.frozen import replace
from perdure.metrics.engine.measured import Broken
from perdure.metrics.engine.metric import ADAPTERS, Context, Metric
from perdure.scenario.sites import Site

__all__ = [
    "CURVES",
    "Over",
    "Plan",
    "averaged",
    "blocks_of",
    "experts_at",
    "in_order",
    "plan_of",
    "read_at",
    "roles_read",
]

CURVES = (Curve, Beside, tuple[Curve, ...])
"""The roles that are prepared curves."""
Build = Callable[[Curves, Site, Context], Any]
"""What makes the argument of one role at a site."""
Plan = tuple[tuple[str, Build | None], ...]
_plans: WeakKeyDictionary[Metric, Plan] = WeakKeyDictionary()


def plan_of(metric: Metric) -> Plan:
    """Each role with what builds it; None for the experts, which are counted out one by one."""
    if metric not in _plans:
        _plans[metric] = tuple((name, _builder(metric, name, kind)) for name, kind in metric.roles.items())
    return _plans[metric]


def in_order(metric: Metric) -> Callable[..., Any]:
    """The formula, to be given its arguments in the order of its roles: naming them takes longer than most formulas."""
    formula, code = metric.formula, getattr(metric.formula, "__code__", None)
    if code is not None and not code.co_kwonlyargcount and not hasattr(formula, "__wrapped__"):
        return formula
    return lambda *given: formula(**dict(zip(metric.roles, given, strict=True)))


def _builder(metric: Metric, name: str, kind: Any) -> Build | None:
    if name in ("expert", "experts"):
        allowed = (Curve, Expert, Beside) if name == "expert" else (tuple[Expert, ...],)
        if kind not in allowed:
            raise Broken(f"{metric.name}: the role {name!r} must be annotated {_names(allowed)}, not {kind}")
        return None
    if kind in (Curve, tuple[Curve, ...]):
        return Over(metric, name, stitched=kind is Curve)
    if kind not in ADAPTERS:
        known = _names((Curve, tuple[Curve, ...], *ADAPTERS))
        raise Broken(f"{metric.name}: the role {name!r} is annotated {kind}; a role is one of {known}")
    return ADAPTERS[kind]


class Over:
    """Builds a role that is prepared curves: its blocks stitched, or one curve for each of them."""

    def __init__(self, metric: Metric, name: str, *, stitched: bool) -> None:
        self.metric, self.name, self.stitched = metric, name, stitched

    def __call__(self, curves: Curves, site: Site, _context: Context) -> Any:
        """Of one life."""
        blocks = blocks_of(self.metric, site, self.name)
        return curves.over(blocks) if self.stitched else tuple(curves.over((index,)) for index in blocks)

    def along(self, curves: Curves, sites: Sequence[Site]) -> list[Any]:
        """Of one life, at each of its sites; KeyError where one has no such role."""
        places = [site.blocks[self.name] for site in sites]
        if self.stitched:
            return list(map(curves.over, places))
        return [tuple(curves.over((index,)) for index in blocks) for blocks in places]

    def each(self, lives: Sequence[Curves], site: Site) -> Sequence[Any]:
        """Of each of several lives that share their blocks."""
        blocks = blocks_of(self.metric, site, self.name)
        if self.stitched:
            return over_each(lives, blocks)
        return list(zip(*(over_each(lives, (index,)) for index in blocks), strict=True)) or [()] * len(lives)


def blocks_of(metric: Metric, site: Site, name: str) -> tuple[int, ...]:
    try:
        return site.blocks[name]
    except KeyError:
        raise Broken(
            f"{metric.name}: its sites have no role {name!r} (they have: {', '.join(site.blocks)}); "
            "name the formula's parameters after them"
        ) from None


def roles_read(metric: Metric) -> tuple[str, ...]:
    """The roles whose blocks a formula reads as curves; none where it takes the whole life."""
    return tuple("learned" if kind is Beside else name for name, kind in metric.roles.items() if kind in CURVES)


def read_at(roles: Sequence[str], found: Sequence[Site]) -> list[tuple[int, ...]]:
    """The blocks that are read at each site, in order."""
    if not roles:
        return [()] * len(found)
    first, *others = ([site.blocks.get(role, ()) for site in found] for role in roles)
    if not others:
        return [tuple(blocks if len(blocks) == 1 else sorted(set(blocks))) for blocks in first]
    return [tuple(sorted(set(blocks).union(*more))) for blocks, *more in zip(first, *others, strict=True)]


def _names(kinds: Sequence[Any]) -> str:
    return ", ".join(kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds)


def experts_at(curves: Curves, site: Site, context: Context) -> tuple[Expert, ...]:
    """The experts of the task measured at `site`; of every learned task, for the whole lifetime."""
    if site.task is not None:
        experts = curves.experts.get(site.task, ())
    else:
        learned = dict.fromkeys(block.task for block in curves.scenario.blocks if block.mode == "learn")
        return tuple(one for task in learned for one in curves.experts.get(task, ()) if len(one.all_learning))
    if context.expert_average == "time" and len(experts) > 1:
        return (averaged(experts),)
    return experts


def averaged(experts: Sequence[Expert]) -> Expert:
    """One expert whose curve is the experts' mean, all cut to the shortest (l2metrics' deprecated option)."""
    logged = [one for one in experts if len(one.all_learning)]
    if len(logged) < 2:
        return logged[0] if logged else experts[0]

    def mean(pick: Callable[[Expert], Curve]) -> Curve:
        curves = [pick(one) for one in logged]
        shortest = min(len(curve) for curve in curves)
        return Curve(
            np.mean([curve.values[:shortest] for curve in curves], axis=0),
            np.mean([curve.raw[:shortest] for curve in curves], axis=0),
            curves[0].range,
            curves[0].floor,
        )

    whole = mean(lambda one: one.all_learning)
    return replace(
        logged[0],
        id="mean of " + ", ".join(one.id for one in logged),
        mark="mean of " + ", ".join(one.mark for one in logged),
        curve=mean(lambda one: one.curve),
        last=mean(lambda one: one.last),
        all_learning=whole,
        numbers=lambda: np.arange(len(whole)),
    )
