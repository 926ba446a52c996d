"""One learner's scenario types against each other: condensed against dispersed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.gather.model import Survey
from perdure.metrics.engine.score import Score
from perdure.stats.groups import left_out_of, usable
from perdure.stats.systems import Comparisons, System, by_learner, compare_systems


def compare_scenario_types(survey: Survey, baseline: str | None = None, **how: Any) -> Comparisons:
    """Each learner's lifetimes of one scenario type against those of another, apart for every learner and measure.

    The types are the systems, by name; `baseline` is one of them, the last unless named. `how` is what
    `compare_systems` takes besides, and tests, words and adjustment are its own.
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
            # What tells systems apart and what they are compared within change places.
            who = replace(life.identity, scenario_type=learner)
            kinds.setdefault(life.scenario_type, []).append(replace(life, identity=who))
    _check_several(survey, learners, kinds)
    systems = [System(kind, tuple(kinds[kind]), survey.bars, kind) for kind in sorted(kinds)]
    made = compare_systems(systems, baseline, **how)
    return replace(
        made,
        comparisons=tuple(replace(one, scenario_type=None, learner=one.scenario_type) for one in made.comparisons),
        letters=tuple(replace(one, scenario_type=None, learner=one.scenario_type) for one in made.letters),
        left_out=tuple(left_out),
    )


def _check_several(
    survey: Survey, learners: Mapping[str, Sequence[Score]], kinds: Mapping[str, Sequence[Score]]
) -> None:
    """Refuse where no learner lived two types, and lifetimes of one type that came as two arguments."""
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
