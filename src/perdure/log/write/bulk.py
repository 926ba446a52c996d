"""Writing thousands of lifetimes into one Parquet file, or a folder of them, as they come."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby
from pathlib import Path
from typing import Any, Literal

import msgspec

from perdure.errors import LogError, PerdureError
from perdure.lazy import pl
from perdure.log.formats.bulk import IDENTITY, KEY, PER_PIECE, SUFFIX, part_name
from perdure.log.model import Direction, Lifetime
from perdure.log.seal import seal
from perdure.log.write.bulk_cohorts import Cohort, from_cohorts
from perdure.log.write.bulk_rows import Batches, Piece, Source, as_json, from_lifetimes, from_values
from perdure.log.write.record import declared_measures
from perdure.scenario.model import Scenario

__all__ = ["write_cohorts", "write_lives"]

_PER_FILE = 4 * PER_PIECE  # rows of a part of a folder
_LONG = 1000  # rows of a lifetime, from which on its name takes no room in the metadata


def write_lives(
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
    """Write lifetimes into the file `path`, or, where it does not end in .parquet, into a folder of parts.

    `lives` may be a generator: about a million rows are held at a time. Thousands of lives through one
    `scenario` are written faster from `values`, an array with a row per life and a column per experience (one array per
    measure, where there are several), or an iterable of such arrays. Each life has a seed of `seeds`, 0, 1, 2, …
    by default, and is called `<learner>-<seed>`. Readers see nothing until all is written.
    """
    target = Path(path)
    if (lives is None) == (values is None):
        raise LogError("write_lives needs lives or values, and not both", "give one of them", file=target)
    if lives is not None:
        source = from_lifetimes(target, iter(lives))
    else:
        if scenario is None:
            raise LogError("values need the scenario that they come from", "give scenario=", file=target)
        named = declared_measures((measures,) if isinstance(measures, str) else measures)
        source = from_values(target, values, scenario, named, learner, seeds, role, protocol)
    return _put(target, source)


def write_cohorts(
    path: str | os.PathLike[str],
    cohorts: Sequence[Cohort],
    *,
    measures: Mapping[str, Direction],
    learner: str | None = None,
    role: Literal["life", "expert"] = "life",
    manifest: Mapping[str, Any] | None = None,
) -> Path:
    """Write lives from arrays, those of one scenario after those of another; see `write_lives` for the rest."""
    return _put(Path(path), from_cohorts(cohorts, measures, learner, role, manifest or {}))


def _put(target: Path, source: Source) -> Path:
    if target.suffix.lower() == SUFFIX:
        _whole(target, lambda place: _written(place, source))
    else:
        _whole(target, lambda place: _in_parts(place, source))
    return target


# --- files ---------------------------------------------------------------------------------------


def _whole(target: Path, write: Callable[[Path], None]) -> None:
    """Write beside `target` and put it there when it is whole."""
    folder = target.suffix.lower() != SUFFIX
    if folder and target.exists():
        raise LogError("is there already", "write to another place", file=target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}{SUFFIX if not folder else '.part'}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(target)
    except (OSError, pl.exceptions.PolarsError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise LogError(f"cannot be written: {reason}", "choose another place", file=target) from problem
    finally:
        with contextlib.suppress(OSError):
            if temporary.is_dir():
                shutil.rmtree(temporary, ignore_errors=True)
            else:
                temporary.unlink(missing_ok=True)


def _in_parts(folder: Path, source: Source) -> None:
    folder.mkdir()
    ahead = _Ahead(source.pieces)
    number, shared = 0, msgspec.structs.replace(source.shared, write=secrets.token_hex(8))
    while ahead.following is not None:
        part = Source(source.schema, shared, ahead.some(_PER_FILE))
        _written(folder / part_name(number), part, number, ahead)
        number += 1


class _Ahead:
    """Pieces that are looked at one ahead: a part must know whether it is the last."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self.pieces = pieces
        self.following = next(pieces, None)

    def some(self, rows: int) -> Iterator[Piece]:
        """The next pieces, until there are as many rows."""
        given = 0
        while self.following is not None and given < rows:
            piece = self.following
            self.following = next(self.pieces, None)
            given += piece[0].height
            yield piece


def _written(place: Path, source: Source, number: int = 0, ahead: _Ahead | None = None) -> None:
    """One file: its pieces are row groups, and its metadata is written when the last of them is known."""
    from polars.io.plugins import register_io_source

    written: list[tuple[int, int]] = []
    who: dict[str, list[Any]] = {name: [] for name in IDENTITY if name in source.schema}
    failed: list[PerdureError] = []  # Polars would hand on no more than its text
    first = next(source.pieces)

    def pieces(*_: Any) -> Iterator[pl.DataFrame]:
        try:
            for rows, lives in chain((first,), source.pieces):
                written.extend(lives)
                starts = [0, *accumulate(length for length, _ in lives[:-1])]
                for name, told in who.items():
                    told.extend(rows.get_column(name)[starts].to_list())
                yield rows
        except PerdureError as problem:
            failed.append(problem)
            raise

    def metadata(_context: Any) -> dict[str, str]:
        runs = [(length, len(list(same))) for (length, _), same in groupby(written)]
        last = ahead is None or ahead.following is None
        long = sum(length for length, _ in written) >= _LONG * len(written)
        shared = msgspec.structs.replace(
            source.shared, lives=runs, alike=True, who=who if long else {}, part=number, last=last
        )
        try:
            return {KEY: as_json(shared, place.name).decode()}
        except PerdureError as problem:
            failed.append(problem)
            raise

    try:
        register_io_source(pieces, schema=source.schema).sink_parquet(
            place,
            compression="lz4",
            statistics=False,
            row_group_size=first[0].height,
            metadata=metadata,
            engine="streaming",
        )
    except pl.exceptions.PolarsError:
        if failed:
            raise failed[0] from None
        raise
    seal(place)
