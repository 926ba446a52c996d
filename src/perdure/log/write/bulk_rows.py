"""What a file of many lifetimes is written from: pieces of whole lifetimes, made of lifetimes or of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.errors import LogError, RecordError
from perdure.frozen import frozen
from perdure.lazy import pl
from perdure.log.formats.bulk import FACTS, IDENTITY, PER_PIECE, Own, Shared
from perdure.log.manifest import written_role
from perdure.log.model import STANDARD_COLUMNS, Direction, Lifetime
from perdure.log.write.manifest import described, provenance
from perdure.log.write.record import DEFAULT_WORKER
from perdure.scenario.model import Scenario

__all__ = [
    "Batches",
    "Piece",
    "Source",
    "as_json",
    "from_lifetimes",
    "from_values",
    "identity_columns",
    "identity_kinds",
    "life_rows",
]

Values = npt.NDArray[np.float64]
Batches = Values | Mapping[str, Values] | Iterable[Values | Mapping[str, Values]]
"""A row per life and a column per experience; an array per measure where there are several; or many of these."""
Piece = tuple["pl.DataFrame", list[tuple[int, int]]]
"""Rows, how many of them each lifetime has, and a number: neighbours of the same have the same rows of blocks."""

_TYPES = {"learn": "train", "evaluate": "test"}


@frozen(eq=False)
class Source:
    """Pieces of whole lifetimes, to be pulled one by one; what they share is known from the first."""

    schema: Mapping[str, pl.DataType]
    shared: Shared
    pieces: Iterator[Piece]


def as_json(content: Any, name: str) -> bytes:
    """As JSON; RecordError where it holds what JSON cannot say."""
    try:
        return msgspec.json.encode(content)
    except (TypeError, ValueError, RecursionError) as problem:
        raise RecordError(
            f"{name} cannot be written as JSON: {problem}", "use text, numbers, lists, objects"
        ) from problem


# --- lifetimes -----------------------------------------------------------------------------------


def from_lifetimes(target: Path, lives: Iterator[Lifetime]) -> Source:
    """Lifetimes that agree in their columns; each is looked at when it comes."""
    first = next(lives, None)
    if first is None:
        raise LogError("there is no lifetime to write", "give one or more: nothing was written", file=target)
    columns = {**STANDARD_COLUMNS, **dict.fromkeys(first.measures, pl.Float64())}
    extras = {name: kind for name, kind in first.experiences.schema.items() if name not in columns}
    if taken := [name for name in extras if name in (*IDENTITY, FACTS)]:
        raise LogError(f"a column is called {taken[0]!r}, as one of the file's own is", "rename it", where=first.id)
    shared = Shared(
        measures=dict(first.measures), manifest=dict(first.manifest), info=dict(first.info), complete=first.complete
    )
    schema = {**identity_kinds(), FACTS: pl.String(), **columns, **extras}
    names = _Names()

    def pieces() -> Iterator[Piece]:
        group: list[Lifetime] = []
        kinds: list[tuple[int, int]] = []
        height, kind, before = 0, 0, None
        for life in chain((first,), lives):
            _check_alike(life, shared, {**columns, **extras})
            names.add(life.id)
            rows = life.experiences.height
            if group and height + rows > PER_PIECE:
                yield _joined(group, shared, schema), kinds
                group, kinds, height = [], [], 0
            standard = life.experiences.select(name for name in STANDARD_COLUMNS if name != "timestamp")
            kind += before is None or not standard.equals(before)
            before = standard
            group.append(life)
            kinds.append((rows, kind))
            height += rows
        yield _joined(group, shared, schema), kinds

    return Source(schema, shared, pieces())


class _Names:
    """The names given so far; a file calls no two lifetimes alike."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def add(self, name: str) -> None:
        if name in self._seen:
            raise LogError(
                f"two lifetimes are called {name!r}", "give them different ids, as in replace(lifetime, id=…)"
            )
        self._seen.add(name)


def _check_alike(life: Lifetime, shared: Shared, columns: Mapping[str, pl.DataType]) -> None:
    if not life.experiences.height:
        raise LogError("has no experiences", "leave it out", where=life.id)
    if dict(life.measures) != shared.measures:
        raise LogError(
            f"its measures are {_said(life.measures)}, those of the lifetimes before it {_said(shared.measures)}",
            "write them to separate files",
            where=life.id,
        )
    if differing := set(life.experiences.columns) ^ columns.keys():
        raise LogError(
            f"its columns differ from those of the lifetimes before it (differing: {', '.join(sorted(differing))})",
            "drop them, or write it to a separate file",
            where=life.id,
        )


def _said(measures: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({direction})" for name, direction in measures.items())


def _joined(group: Sequence[Lifetime], shared: Shared, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    lengths = [life.experiences.height for life in group]
    columns = [name for name in schema if name not in IDENTITY and name != FACTS]
    wanted = {name: schema[name] for name in columns}
    frames = [
        life.experiences
        if dict(life.experiences.schema) == wanted
        else life.experiences.select(pl.col(name).cast(kind) for name, kind in wanted.items())
        for life in group
    ]
    identity = identity_columns(
        lengths,
        lifetime=[life.id for life in group],
        learner=[life.learner for life in group],
        seed=[life.seed for life in group],
        role=[written_role(life) for life in group],
        scenario_type=[life.scenario_type for life in group],
    )
    facts: list[str | None] = [None] * sum(lengths)
    at = 0
    for life, length in zip(group, lengths, strict=True):
        facts[at] = _own(life, shared)
        at += length
    rows = pl.concat(frames, how="vertical")
    return pl.DataFrame([*identity, pl.Series(FACTS, facts, dtype=pl.String), *rows.get_columns()])


def identity_kinds() -> dict[str, pl.DataType]:
    """The types of the columns that say whose a row is."""
    return {name: pl.Int64() if name == "seed" else pl.Categorical() for name in IDENTITY}


def identity_columns(lengths: Sequence[int], **columns: Sequence[Any]) -> list[pl.Series]:
    """Each life's facts, in each of its rows."""
    which = pl.Series(np.repeat(np.arange(len(lengths)), lengths))
    kinds = identity_kinds()
    return [pl.Series(name, found, dtype=kinds[name]).gather(which) for name, found in columns.items()]


def _own(life: Lifetime, shared: Shared) -> str | None:
    """What a life says of itself that the first did not say too."""
    manifest = {
        key: value
        for key, value in life.manifest.items()
        if key not in shared.manifest or shared.manifest[key] != value
    }
    own = Own(
        manifest=manifest,
        without=[key for key in shared.manifest if key not in life.manifest],
        info=None if dict(life.info) == shared.info else dict(life.info),
        complete=None if life.complete == shared.complete else ("unknown" if life.complete is None else life.complete),
        notes=list(life.notes),
    )
    text = as_json(own, life.id).decode()
    return None if text == "{}" else text


# --- arrays --------------------------------------------------------------------------------------


def from_values(
    target: Path,
    values: Batches | None,
    scenario: Scenario,
    measures: Mapping[str, Direction],
    learner: str | None,
    seeds: Iterable[int] | None,
    role: Literal["life", "expert"],
    protocol: Any,
) -> Source:
    """Lives through the blocks of one scenario; columns that hold one value are left out."""
    if not scenario.blocks or not all(block.length for block in scenario.blocks):
        raise LogError(f"a block of {scenario.name!r} has no length in experiences", "give each one", file=target)
    filled: dict[str, str | int | None] = {
        "learner": learner,
        "role": role,
        "scenario_type": scenario.info.get("scenario_type"),
        "worker_id": DEFAULT_WORKER,
        "exp_status": "complete",
        "timestamp": None,
        FACTS: None,
    }
    facts = _block_facts(scenario, target.name)
    filled |= {name: found[0] for name, found in facts.items() if name != "block_num" and len(set(found)) == 1}
    life = life_rows(scenario, [name for name in STANDARD_COLUMNS if name not in filled])
    schema = {
        **{name: kind for name, kind in identity_kinds().items() if name not in filled},
        **life.schema,
        **dict.fromkeys(measures, pl.Float64()),
    }
    manifest = {"scenario": described(scenario), "protocol": protocol, **provenance()}
    shared = Shared(measures=dict(measures), filled=filled, manifest=manifest, info=dict(scenario.info), complete=True)
    return Source(schema, shared, _pieces_of(target, values, life, list(measures), learner, seeds))


def _block_facts(scenario: Scenario, name: str) -> dict[str, list[Any]]:
    """What each block says in every one of its rows."""
    blocks = scenario.blocks
    return {
        "block_num": list(range(len(blocks))),
        "block_type": [_TYPES[block.mode] for block in blocks],
        "block_subtype": [block.subtype for block in blocks],
        "task_name": [block.task for block in blocks],
        "task_params": [as_json(dict(block.params), name).decode() for block in blocks],
    }


def life_rows(scenario: Scenario, columns: Sequence[str]) -> pl.DataFrame:
    """The rows of a life through a scenario, without what was measured."""
    which = np.repeat(np.arange(len(scenario.blocks)), [block.length or 0 for block in scenario.blocks]).tolist()
    facts = _block_facts(scenario, scenario.name)
    return pl.DataFrame(
        [
            pl.Series("exp_num", np.arange(len(which)), dtype=pl.Int64)
            if name == "exp_num"
            else pl.Series(name, facts[name], dtype=STANDARD_COLUMNS[name])[which]
            for name in columns
        ]
    )


def _pieces_of(
    target: Path,
    values: Batches | None,
    life: pl.DataFrame,
    measures: Sequence[str],
    learner: str | None,
    seeds: Iterable[int] | None,
) -> Iterator[Piece]:
    numbers = iter(count() if seeds is None else seeds)
    names = _Names()
    together = max(1, PER_PIECE // life.height)
    repeated = pl.concat([life] * together)
    done = 0
    for batch in _batches(target, values, measures, life.height):
        lives = len(batch[measures[0]])
        for first in range(0, lives, together):
            some = {name: array[first : first + together] for name, array in batch.items()}
            held = len(some[measures[0]])
            own = list(islice(numbers, held))
            if len(own) < held:
                raise LogError(
                    f"{done + len(own)} seeds for more lifetimes than that", "give one seed per lifetime", file=target
                )
            ids = [f"{learner or 'life'}-{number}" for number in own]
            for name in ids:
                names.add(name)
            identity = identity_columns([life.height] * held, lifetime=ids, seed=own)
            rows = repeated.slice(0, held * life.height)
            yield (
                pl.DataFrame(
                    [*identity, *rows.get_columns(), *(pl.Series(name, one.ravel()) for name, one in some.items())]
                ),
                [(life.height, 0)] * held,
            )
            done += held
    if not done:
        raise LogError("there is no lifetime to write", "give one or more: nothing was written", file=target)


def _batches(target: Path, values: Batches | None, measures: Sequence[str], length: int) -> Iterator[dict[str, Values]]:
    """Each batch as one array per measure, looked at before it is written."""
    several = [values] if isinstance(values, np.ndarray | Mapping) else values
    for batch in several or ():
        named = batch if isinstance(batch, Mapping) else {measures[0]: batch}
        if set(named) != set(measures):
            raise LogError(
                f"values of {', '.join(named)}, and the measures are {', '.join(measures)}",
                "give one array per measure",
                file=target,
            )
        arrays = {name: np.ascontiguousarray(named[name], dtype=np.float64) for name in measures}
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) != 1 or any(len(shape) != 2 or shape[1] != length for shape in shapes):
            found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise LogError(f"the values are {found}", f"expected a row per lifetime and {length} columns", file=target)
        yield arrays
