"""Many lifetimes from arrays where not all went through the same blocks: cohorts that did, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from perdure.errors import LogError
from perdure.frozen import frozen
from perdure.lazy import pl
from perdure.log.formats.bulk import FACTS, PER_PIECE, Own, Shared
from perdure.log.model import STANDARD_COLUMNS, Direction
from perdure.log.write.bulk_rows import Piece, Source, as_json, identity_columns, identity_kinds, life_rows
from perdure.log.write.manifest import described, provenance
from perdure.log.write.record import DEFAULT_WORKER
from perdure.scenario.model import Scenario

__all__ = ["Cohort", "from_cohorts"]


@frozen
class Cohort:
    """Lives through the blocks of one scenario: what each is called, its seed, and a row of values for each."""

    scenario: Scenario
    ids: Sequence[str] = field(hash=False)
    seeds: Sequence[int] = field(hash=False)
    values: Mapping[str, npt.NDArray[Any]] = field(hash=False)
    """By measure or other column: a row per life, and a column per experience."""
    protocol: Mapping[str, Any] = field(hash=False, default_factory=dict)


def from_cohorts(
    cohorts: Sequence[Cohort],
    measures: Mapping[str, Direction],
    learner: str | None,
    role: Literal["life", "expert"],
    manifest: Mapping[str, Any],
) -> Source:
    """Pieces of whole lives; what the first cohort has in common with all is said once."""
    if not any(cohort.ids for cohort in cohorts):
        raise LogError("there is no lifetime to write", "give one or more: nothing was written")
    first = cohorts[0]
    filled: dict[str, str | int | None] = {
        "learner": learner,
        "role": role,
        "worker_id": DEFAULT_WORKER,
        "exp_status": "complete",
        "timestamp": None,
    }
    extras = {name: pl.Int64() for name in first.values if name not in measures}
    schema = {
        **{name: kind for name, kind in identity_kinds().items() if name not in filled},
        FACTS: pl.String(),
        **{name: kind for name, kind in STANDARD_COLUMNS.items() if name not in filled},
        **dict.fromkeys(measures, pl.Float64()),
        **extras,
    }
    shared = Shared(
        measures=dict(measures),
        filled=filled,
        manifest={**_own(first).manifest, **manifest, **provenance()},
        info=dict(first.scenario.info),
        complete=True,
    )
    return Source(schema, shared, _pieces(cohorts, schema))


def _own(cohort: Cohort) -> Own:
    """What a cohort's lives say of themselves."""
    manifest = {"scenario": described(cohort.scenario), "protocol": dict(cohort.protocol)}
    return Own(manifest=manifest, info=dict(cohort.scenario.info))


def _pieces(cohorts: Sequence[Cohort], schema: Mapping[str, pl.DataType]) -> Iterator[Piece]:
    for number, cohort in enumerate(cohorts):
        life = life_rows(cohort.scenario, [name for name in STANDARD_COLUMNS if name in schema])
        facts = None if number == 0 else as_json(_own(cohort), cohort.scenario.name).decode()
        together = max(1, PER_PIECE // life.height)
        for at in range(0, len(cohort.ids), together):
            ids = list(cohort.ids[at : at + together])
            held = len(ids)
            lengths = [life.height] * held
            identity = identity_columns(
                lengths,
                lifetime=ids,
                seed=list(cohort.seeds[at : at + held]),
                scenario_type=[cohort.scenario.info.get("scenario_type")] * held,
            )
            said = np.full(held * life.height, None, dtype=object)
            said[:: life.height] = facts
            columns = [
                *identity,
                pl.Series(FACTS, said.tolist(), dtype=pl.String),
                *pl.concat([life] * held).get_columns(),
                *(
                    pl.Series(name, np.ascontiguousarray(one[at : at + held]).ravel()).cast(schema[name])
                    for name, one in cohort.values.items()
                ),
            ]
            yield pl.DataFrame(columns).select(list(schema)), [(life.height, number)] * held
