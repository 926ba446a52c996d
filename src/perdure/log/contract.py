"""Check that a reader keeps its contract; see `perdure.testing.check_reader`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from perdure.errors import LogError
from perdure.log.blocks import in_order
from perdure.log.cells import folded
from perdure.log.model import Lifetime
from perdure.log.read import Options, Reader
from perdure.log.rules import FILLED_COLUMNS, STANDARD_COLUMNS

_DEFAULTS = Options()

Seen = dict[str, tuple[int, int]]


def require(truth: bool, message: str) -> None:
    """Raise AssertionError with `message` unless `truth` holds; unlike `assert`, also under `python -O`."""
    if not truth:
        raise AssertionError(message)


def check_reader(reader: Reader, path: Path, *, options: Options = _DEFAULTS) -> None:
    """Check a reader with a log at `path` that it should be able to read; raise AssertionError if it fails.

    The log is read twice. An empty folder and a missing file are tried as well.
    """
    path = Path(path)
    name = _check_attributes(reader)
    _check_recognition(reader, path, name)
    before = _contents(path)
    first = reader.read(path, options)
    second = reader.read(path, options)
    require(_contents(path) == before, f"{name}: read changed files at {path}; a reader must not write")
    _check_lifetime(first, name)
    require(
        first.experiences.equals(second.experiences) and dict(first.measures) == dict(second.measures),
        f"{name}: reading {path} twice gave two different lifetimes",
    )
    _check_missing(reader, path, options, name)


def _check_attributes(reader: Reader) -> str:
    for attribute in ("name", "summary"):
        text = getattr(reader, attribute, None)
        require(
            isinstance(text, str) and bool(text.strip()) and "\n" not in text,
            f"{reader!r}: needs a {attribute}, one line of text; found {text!r}",
        )
    for method in ("recognises", "read"):
        require(callable(getattr(reader, method, None)), f"{reader.name}: needs a method {method!r}")
    return reader.name


def _check_recognition(reader: Reader, path: Path, name: str) -> None:
    require(path.exists(), f"{path}: no such log; give check_reader one that the reader should read")
    answer = reader.recognises(path)
    require(answer is True, f"{name}: recognises({path}) is {answer!r}; expected True, or recognise() passes it by")
    with tempfile.TemporaryDirectory() as folder:
        for absent in (Path(folder), Path(folder, f"missing{path.suffix}")):
            what = "an empty folder" if absent.exists() else "a path where nothing is"
            try:
                answer = reader.recognises(absent)
            except Exception as problem:
                raise AssertionError(f"{name}: recognises raised {problem!r} on {what}; expected False") from problem
            require(answer is False, f"{name}: recognises is {answer!r} for {what}; expected False")


def _check_lifetime(lifetime: Lifetime, name: str) -> None:
    require(isinstance(lifetime, Lifetime), f"{name}: read gave {type(lifetime).__name__}; expected a Lifetime")
    require(isinstance(lifetime.id, str) and bool(lifetime.id), f"{name}: Lifetime.id is {lifetime.id!r}")
    rows = lifetime.experiences
    require(rows.height > 0, f"{name}: no rows; a log without experiences is a LogError")
    names = rows.columns[: len(STANDARD_COLUMNS)]
    require(
        names == list(STANDARD_COLUMNS),
        f"{name}: the first columns are {', '.join(names)}; expected {', '.join(STANDARD_COLUMNS)}",
    )
    for column, expected in STANDARD_COLUMNS.items():
        require(rows.schema[column] == expected, f"{name}: {column} is {rows.schema[column]}; expected {expected}")
    for column in FILLED_COLUMNS:
        require(rows[column].null_count() == 0, f"{name}: {column} is null in {rows[column].null_count()} rows")
    for column in ("block_num", "exp_num"):
        require(bool((rows[column] >= 0).all()), f"{name}: {column} is negative somewhere; numbers count from 0")
    require(folded(rows["task_name"]).equals(rows["task_name"]), f"{name}: task names are not folded to lower case")
    require(
        in_order(rows).equals(rows), f"{name}: rows are not in order; pass them through perdure.log.blocks.in_order"
    )
    _check_measures(lifetime, name)
    notes = lifetime.notes
    require(
        isinstance(notes, tuple) and all(isinstance(note, str) for note in notes),
        f"{name}: Lifetime.notes is {notes!r}; expected a tuple of text",
    )


def _check_measures(lifetime: Lifetime, name: str) -> None:
    rows, measures = lifetime.experiences, lifetime.measures
    require(len(measures) > 0, f"{name}: no measure is declared; a log without one cannot be scored")
    after = rows.columns[len(STANDARD_COLUMNS) :][: len(measures)]
    require(
        after == list(measures),
        f"{name}: after the standard columns come {', '.join(after) or 'none'}; "
        f"expected the measures {', '.join(measures)}",
    )
    for measure, direction in measures.items():
        kind = str(rows.schema[measure])
        require(kind == "Float64", f"{name}: the measure {measure} is {kind}; expected Float64")
        require(direction in ("higher", "lower"), f"{name}: {measure} is {direction!r}; expected 'higher' or 'lower'")
        lifetime.passage(measure)


def _check_missing(reader: Reader, path: Path, options: Options, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        missing = Path(folder, f"missing{path.suffix}")
        try:
            reader.read(missing, options)
        except LogError:
            return
        except Exception as problem:
            raise AssertionError(
                f"{name}: reading what does not exist raised {type(problem).__name__}: {problem}; expected a LogError"
            ) from problem
    raise AssertionError(f"{name}: reading what does not exist gave a lifetime; expected a LogError")


def _contents(path: Path) -> Seen:
    """Return size and time of every file at or below `path`."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    states = {str(file): file.lstat() for file in files}
    return {file: (state.st_size, state.st_mtime_ns) for file, state in states.items()}
