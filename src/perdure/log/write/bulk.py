"""Write thousands of lifetimes into one Parquet file, or into a folder of such files, as they come."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log.formats.bulk import IDENTITY, KEY, ROW_GROUP, SUFFIX, BulkHeader, BulkLifetime, part_name, seal
from perdure.log.manifest import described, json_bytes, provenance, written_role
from perdure.log.model import Direction, Lifetime
from perdure.log.rules import STANDARD_COLUMNS, TYPES
from perdure.log.write.record import DEFAULT_WORKER, declared_measures
from perdure.scenario.model import Scenario

Values = npt.NDArray[np.float64]
Batches = Values | Mapping[str, Values] | Iterable[Values | Mapping[str, Values]]

_PER_PART = 1 << 20  # rows in memory, and in one file of a folder


class Cohort(msgspec.Struct, frozen=True, eq=False):
    """Lifetimes through the blocks of one scenario, as arrays."""

    scenario: Scenario
    ids: Sequence[str]
    seeds: Sequence[int]
    values: Mapping[str, npt.NDArray[Any]]
    """Measure or other column → a row per lifetime and a column per experience."""
    protocol: Any = None


def write_lifetimes(
    path: str | os.PathLike[str],
    lives: Iterable[Lifetime] | None = None,
    *,
    values: Batches | None = None,
    scenario: Scenario | None = None,
    measures: str | Sequence[str] | Mapping[str, Direction] = "reward",
    learner: str | None = None,
    seeds: Iterable[int] | None = None,
    role: Literal["life", "expert"] = "life",
    protocol: Any = None,
) -> Path:
    """Write lifetimes into one Parquet file, or into a folder of parts if `path` does not end in .parquet.

    Give either `lives` or `values`. Readers see nothing until all is written.

    Parameters
    ----------
    path
        The file, which is replaced, or a new folder.
    lives
        Lifetimes of the same measures. A generator is read in batches of about a million rows.
    values
        An array with a row per lifetime and a column per experience, one such array per measure, or an iterable of
        these.
    scenario
        Scenario of `values`. Its blocks have lengths in experiences.
    measures
        Measures of `values`.
    learner
        Learner of `values`. Lifetimes are called `<learner>-<seed>`.
    seeds
        A seed for each lifetime of `values`. By default 0, 1, 2, …
    role
        Role of `values`.
    protocol
        Entry `protocol` of the manifests of `values`.

    Returns
    -------
    Path
        The file or folder.

    Raises
    ------
    LogError
        If neither or both of `lives` and `values` are given, `values` do not fit the scenario, or the file cannot be
        written.

    Examples
    --------
    >>> import numpy as np
    >>> scenario = perdure.compose("condensed", ["pong"], learn=100, evaluate=10).scenario
    >>> values = np.random.default_rng(0).random((3, sum(block.length for block in scenario.blocks)))
    >>> path = perdure.write_lifetimes("bulk.parquet", values=values, scenario=scenario, learner="random")
    >>> len(perdure.survey(path))
    3
    """
    target = Path(path)
    if (lives is None) == (values is None):
        raise LogError("write_lifetimes needs lives or values, and not both", "give one of them", file=target)
    if values is None:
        return _write(target, lives or ())
    if scenario is None:
        raise LogError("values need the scenario that they come from", "give scenario=", file=target)
    if not scenario.blocks or not all(block.length for block in scenario.blocks):
        raise LogError(f"a block of {scenario.name!r} has no length in experiences", "give each one", file=target)
    named = declared_measures((measures,) if isinstance(measures, str) else measures)
    cohorts = _cohorts(target, values, scenario, list(named), learner, seeds, protocol)
    return _write(target, _lifetimes(cohorts, named, learner, role, {}))


def write_cohorts(
    path: str | os.PathLike[str],
    cohorts: Iterable[Cohort],
    *,
    measures: Mapping[str, Direction],
    learner: str | None = None,
    role: Literal["life", "expert"] = "life",
    manifest: Mapping[str, Any] | None = None,
) -> Path:
    """Write lifetimes from arrays of several scenarios; see `write_lifetimes`."""
    return _write(Path(path), _lifetimes(cohorts, measures, learner, role, manifest or {}))


# --- lifetimes from arrays -----------------------------------------------------------------------


def _cohorts(
    target: Path,
    values: Batches,
    scenario: Scenario,
    measures: Sequence[str],
    learner: str | None,
    seeds: Iterable[int] | None,
    protocol: Any,
) -> Iterator[Cohort]:
    length = sum(block.length or 0 for block in scenario.blocks)
    numbers = iter(count() if seeds is None else seeds)
    done = 0
    for batch in [values] if isinstance(values, np.ndarray | Mapping) else values:
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
            given_shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise LogError(
                f"the values are {given_shapes}", f"expected a row per lifetime and {length} columns", file=target
            )
        expected = len(arrays[measures[0]])
        part_seeds = list(islice(numbers, expected))
        done += len(part_seeds)
        if len(part_seeds) < expected:
            raise LogError(f"{done} seeds for more lifetimes than that", "give one seed per lifetime", file=target)
        yield Cohort(scenario, [f"{learner or 'life'}-{seed}" for seed in part_seeds], part_seeds, arrays, protocol)


def _lifetimes(
    cohorts: Iterable[Cohort],
    measures: Mapping[str, Direction],
    learner: str | None,
    role: Literal["life", "expert"],
    manifest: Mapping[str, Any],
) -> Iterator[Lifetime]:
    produced_by = provenance()
    for cohort in cohorts:
        scenario = cohort.scenario
        rows = scenario_rows(scenario)
        complete = {"scenario": described(scenario), "protocol": cohort.protocol, **manifest, **produced_by}
        kinds = {name: pl.Float64() if name in measures else pl.Int64() for name in (*measures, *cohort.values)}
        for number, (name, seed) in enumerate(zip(cohort.ids, cohort.seeds, strict=True)):
            columns = [pl.Series(key, cohort.values[key][number]).cast(kind) for key, kind in kinds.items()]
            yield Lifetime(
                name,
                rows.hstack(columns),
                measures,
                learner=learner,
                seed=seed,
                role=role,
                complete=True,
                info=scenario.info,
                manifest=complete,
            )


def scenario_rows(scenario: Scenario) -> pl.DataFrame:
    """Return the standard columns of a lifetime through `scenario`."""
    blocks = scenario.blocks
    facts = pl.DataFrame(
        {
            "block_num": range(len(blocks)),
            "block_type": [TYPES[block.mode] for block in blocks],
            "block_subtype": [block.subtype for block in blocks],
            "task_name": [block.task for block in blocks],
            "task_params": [json_bytes(dict(block.params), scenario.name).decode() for block in blocks],
            "worker_id": DEFAULT_WORKER,
            "exp_status": "complete",
            "timestamp": None,
        }
    )
    rows = facts[np.repeat(np.arange(len(blocks)), [block.length or 0 for block in blocks])].with_row_index("exp_num")
    return rows.select(pl.col(name).cast(kind) for name, kind in STANDARD_COLUMNS.items())


# --- files ---------------------------------------------------------------------------------------


def _write(target: Path, lifetimes: Iterable[Lifetime]) -> Path:
    """Write a temporary file or folder next to `target`, and move it there when it is complete."""
    is_file = target.suffix.lower() == SUFFIX
    if not is_file and target.exists():
        raise LogError("is there already", "write to another place", file=target)
    scratch = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch.mkdir()
        groups = _group(target, lifetimes)
        if is_file:
            _write_file(scratch, groups).replace(target)
        else:
            _write_parts(scratch, groups)
            scratch.replace(target)
    except (OSError, pl.exceptions.PolarsError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise LogError(f"cannot be written: {reason}", "choose another place", file=target) from problem
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _group(target: Path, lifetimes: Iterable[Lifetime]) -> Iterator[list[Lifetime]]:
    """Yield groups of about `_PER_PART` rows; raise LogError for a lifetime that does not fit the first one."""
    remaining = iter(lifetimes)
    first = next(remaining, None)
    if first is None:
        raise LogError("there is no lifetime to write", "give one or more: nothing was written", file=target)
    typed = {**STANDARD_COLUMNS, **dict.fromkeys(first.measures, pl.Float64())}
    schema = pl.Schema({**first.experiences.schema, **typed})
    if reserved := [name for name in schema if name in IDENTITY]:
        raise LogError(f"a column is called {reserved[0]!r}, as one of the file's own is", "rename it", where=first.id)
    names: set[str] = set()
    group: list[Lifetime] = []
    rows = 0
    for lifetime in chain((first,), remaining):
        if lifetime.id in names:
            raise LogError(
                f"two lifetimes are called {lifetime.id!r}", "give them different ids, as in lifetime.replace(id=…)"
            )
        names.add(lifetime.id)
        _check_agreement(first, lifetime)
        if group and rows + lifetime.height > _PER_PART:
            yield group
            group, rows = [], 0
        if lifetime.experiences.schema != schema:
            typed_rows = lifetime.experiences.select(schema.names()).cast(schema)
            lifetime = lifetime.replace(experiences=typed_rows)  # noqa: PLW2901
        group.append(lifetime)
        rows += lifetime.height
    yield group


def _check_agreement(first: Lifetime, lifetime: Lifetime) -> None:
    if not lifetime.height:
        raise LogError("has no experiences", "leave it out", where=lifetime.id)
    if lifetime.measures != first.measures:
        current, before = (
            ", ".join(f"{name} ({direction})" for name, direction in item.measures.items())
            for item in (lifetime, first)
        )
        raise LogError(
            f"its measures are {current}, those of the lifetimes before it {before}",
            "write them to separate files",
            where=lifetime.id,
        )
    if differing := set(lifetime.experiences.columns) ^ set(first.experiences.columns):
        raise LogError(
            f"its columns differ from those of the lifetimes before it (differing: {', '.join(sorted(differing))})",
            "drop them, or write it to a separate file",
            where=lifetime.id,
        )


def _write_file(scratch: Path, groups: Iterator[list[Lifetime]]) -> Path:
    """Write the groups one by one, then join their files: the header can only be written when all are known."""
    described: list[BulkLifetime] = []
    values: dict[bytes, int] = {}
    pieces: list[Path] = []
    measures: Mapping[str, Direction] = {}
    for number, group in enumerate(groups):
        measures = group[0].measures
        described += _describe(group, values)
        pieces.append(scratch / part_name(number))
        _rows(group).write_parquet(pieces[-1], compression="lz4", statistics=False)
    file = scratch / f"whole{SUFFIX}"
    pl.scan_parquet(pieces, glob=False).sink_parquet(
        file,
        compression="lz4",
        statistics=False,
        row_group_size=ROW_GROUP,
        metadata={KEY: _header(measures, described, values)},
    )
    seal(file)
    return file


def _write_parts(folder: Path, groups: Iterator[list[Lifetime]]) -> None:
    write = secrets.token_hex(8)
    upcoming: list[Lifetime] | None = next(groups)
    for number in count():
        if upcoming is None:
            return
        group, upcoming = upcoming, next(groups, None)
        values: dict[bytes, int] = {}
        described = _describe(group, values)
        header = _header(group[0].measures, described, values, part=number, last=upcoming is None, write=write)
        file = folder / part_name(number)
        _rows(group).write_parquet(
            file, compression="lz4", statistics=False, row_group_size=ROW_GROUP, metadata={KEY: header}
        )
        seal(file)


def _describe(group: Sequence[Lifetime], values: dict[bytes, int]) -> list[BulkLifetime]:
    """Return the metadata of lifetimes; add the parts of their manifests to `values`, each once."""

    def position(value: Any, name: str) -> int:
        return values.setdefault(json_bytes(value, name), len(values))

    return [
        BulkLifetime(
            lifetime.id,
            lifetime.height,
            lifetime.learner,
            lifetime.seed,
            written_role(lifetime),
            lifetime.scenario_type,
            lifetime.complete,
            position(lifetime.info, lifetime.id),
            {key: position(value, lifetime.id) for key, value in lifetime.manifest.items()},
            lifetime.notes,
        )
        for lifetime in group
    ]


def _header(
    measures: Mapping[str, Direction], lifetimes: list[BulkLifetime], values: Mapping[bytes, int], **part: Any
) -> str:
    parts = [msgspec.Raw(text) for text in values]
    header = BulkHeader(measures=dict(measures), lifetimes=lifetimes, values=parts, **part)
    return msgspec.json.encode(header).decode()


def _rows(group: Sequence[Lifetime]) -> pl.DataFrame:
    """Return the experiences of a group behind the columns that name their lifetimes."""
    identity = pl.DataFrame(
        {name: [getattr(lifetime, "id" if name == "lifetime" else name) for lifetime in group] for name in IDENTITY},
        schema={name: pl.Int64() if name == "seed" else pl.Categorical() for name in IDENTITY},
    )
    lifetime_index = np.repeat(np.arange(len(group)), [lifetime.height for lifetime in group])
    return identity[lifetime_index].hstack(pl.concat([lifetime.experiences for lifetime in group]))
