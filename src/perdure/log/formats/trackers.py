"""Read runs that trackers keep on disk: TensorBoard, MLflow, Weights & Biases, Avalanche, and charts as CSV.

A tracker keeps numbers under tags. `RunReader` makes a reader of a function that yields the rows of one run, with the
columns of a table or a column per tag; `scalar_rows` turns single numbers into such rows.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from perdure import files
from perdure.errors import LogError, NotALogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.formats import packed
from perdure.log.formats.column_names import IDENTITY, table_shape
from perdure.log.formats.table import rows_lifetimes
from perdure.log.formats.tensorboard import DamagedError, Scalar, decode_text, event_files, fields, scalars_in
from perdure.log.formats.wide import WHAT_TO_LOG
from perdure.log.model import Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options, SeveralLifetimes
from perdure.log.rows import TextTable, bytes_of, json_in

Row = Mapping[str, Any]
_STEP = "step"
_MOST_TAGS = 10_000


class RunReader(msgspec.Struct, eq=False):  # not frozen, since the protocol of a reader has plain attributes
    """The reader of one tracker's runs."""

    name: str
    summary: str
    holds: Callable[[Path], bool]
    rows: Callable[[Path, list[str]], Iterable[Row]]
    """Yield the rows of a run in the order in which they were written, and add notes to the list."""
    facts: Callable[[Path], Mapping[str, Any]] = lambda _place: {}
    """Return `learner` and `seed` if the settings of the run name them."""

    def recognises(self, path: Path) -> bool:
        """Return whether the names of its files are those of such a run."""
        return self.holds(path)

    def read(self, path: Path, options: Options) -> Lifetime:
        """Return the run at `path` by the rules of tables; columns that make no table are tags."""
        if not self.holds(path):
            raise NotALogError(f"no run of {self.name}", f"expected {self.summary}", file=path)
        notes: list[str] = []
        lifetimes = list(run_lifetimes(list(self.rows(path, notes)), path, options, as_text(path.name)))
        if len(lifetimes) != 1:
            raise LogError(f"{len(lifetimes)} lifetimes in one run", "log every run by itself", file=path)
        (lifetime,) = lifetimes
        facts = self.facts(path)
        return replace(
            lifetime,
            learner=lifetime.learner or facts.get("learner"),
            seed=lifetime.seed if lifetime.seed is not None else facts.get("seed"),
            notes=(*notes, *lifetime.notes),
        )


def run_lifetimes(rows: list[Row], path: Path, options: Options, name: str) -> Iterator[Lifetime]:
    """Yield the lifetimes in the rows of a run by the rules of tables; columns that make no table are tags."""
    frame = _frame(rows, path)
    if table_shape(frame.columns, options) is None:
        options = replace(options, shape="tagged")
    return rows_lifetimes(frame, path, options, name=name)


def scalar_rows(scalars: Iterable[Scalar]) -> Iterator[Row]:
    """Yield one row for consecutive scalars of the same step; a repeated tag begins a new row."""
    row: dict[str, Any] = {}
    for scalar in scalars:
        if row and (scalar.step != row[_STEP] or scalar.tag in row):
            yield row
            row = {}
        row[_STEP] = scalar.step
        if scalar.tag != _STEP:
            row[scalar.tag] = scalar.value
    if row:
        yield row


def learner_and_seed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return `learner` and `seed` if settings of these names hold them."""
    facts: dict[str, Any] = {}
    folded = {name.lower(): value for name, value in settings.items()}
    learner = next((folded[name] for name in IDENTITY["learner"] if isinstance(folded.get(name), str)), None)
    if learner and learner.strip():
        facts["learner"] = learner.strip()
    seed = folded.get("seed")
    text = str(seed) if isinstance(seed, int | str) and not isinstance(seed, bool) else ""
    if text.isdecimal() and text.isascii() and len(text) < 19:
        facts["seed"] = int(text)
    return facts


def _frame(rows: list[Row], path: Path) -> pl.DataFrame:
    names = dict.fromkeys(name for row in rows for name in row)
    if not names.keys() - {_STEP}:
        raise LogError("not a single scalar", WHAT_TO_LOG, file=path)
    if len(names) > _MOST_TAGS:
        raise LogError(f"{len(names)} tags", f"a run may have {_MOST_TAGS}: log fewer, or export some", file=path)
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    return pl.DataFrame({name: column for name, column in columns.items() if column is not None})


def _column(values: list[Any]) -> pl.Series | None:
    """Return numbers if every value is one, else text; None for media, histograms and lists."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, int | float) for value in known):
        try:
            return pl.Series([None if value is None else float(value) for value in values], dtype=pl.Float64)
        except OverflowError:
            return None
    if all(isinstance(value, str | int | float) for value in known):
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    return None


def _event_rows(place: Path, notes: list[str]) -> Iterator[Row]:
    return scalar_rows(scalar for file in event_files(place) for scalar in scalars_in(file, notes))


TENSORBOARD = RunReader(
    "tensorboard",
    "TensorBoard event files (events.out.tfevents.…), or a folder that holds those of a run",
    lambda place: bool(event_files(place)),
    _event_rows,
)

# --- MLflow --------------------------------------------------------------------------------------
# A run of the file store lies below `mlruns/EXPERIMENT/`, as `mlflow/store/tracking/file_store.py` writes it:
# `meta.yaml` beside `metrics/NAME`, whose lines are "timestamp value step", and `params/NAME`, whose content is the
# value. A slash in a name is a folder.

_PARAMETER = 1 << 13  # bytes of a parameter's file: MLflow takes 6000 characters


def _holds_mlflow(place: Path) -> bool:
    return place.is_dir() and (place / "meta.yaml").is_file() and (place / "metrics").is_dir()


def _mlflow_rows(place: Path, notes: list[str]) -> Iterator[Row]:
    scalars: list[Scalar] = []
    for folder, folders, names in os.walk(place / "metrics"):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            scalars += _mlflow_metric(file, file.relative_to(place / "metrics").as_posix(), notes)
    return scalar_rows(_by_time_or_step(scalars))


def _by_time_or_step(scalars: list[Scalar]) -> list[Scalar]:
    """Return scalars in the order of time if the steps of some tag start again with each task, else of steps.

    Two scalars of one step may be many milliseconds apart, with those of another tag between them.
    """
    scalars = sorted(scalars, key=lambda scalar: scalar.moment)
    last: dict[str, int] = {}
    for scalar in scalars:
        if scalar.step < last.get(scalar.tag, scalar.step):
            return scalars
        last[scalar.tag] = scalar.step
    return sorted(scalars, key=lambda scalar: scalar.step)


def _mlflow_metric(file: Path, tag: str, notes: list[str]) -> Iterator[Scalar]:
    lines = bytes_of(file).split(b"\n")
    if lines.pop():
        notes.append(f"metrics/{tag}: the last line is torn; left out")
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        try:
            # An old store has no steps, and a new one may add the data set that was evaluated.
            moment, value, step = int(parts[0]), float(parts[1]), int(parts[2]) if len(parts) > 2 else 0
        except (ValueError, IndexError):
            excerpt = line[:60].decode("utf-8", "replace")
            raise LogError(f"{excerpt!r}", 'expected "timestamp value step"', file=file, line=number) from None
        yield Scalar(tag, step, value, moment / 1000)


def _mlflow_facts(place: Path) -> Mapping[str, Any]:
    settings: dict[str, Any] = {}
    for name in (*IDENTITY["learner"], "seed"):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            settings[name] = files.read_bytes(place / "params" / name, _PARAMETER).decode("utf-8").strip()
    return learner_and_seed(settings)


MLFLOW = RunReader(
    "mlflow",
    "a run of MLflow's file store (mlruns/EXPERIMENT/RUN, with meta.yaml and metrics/)",
    _holds_mlflow,
    _mlflow_rows,
    _mlflow_facts,
)

# --- Avalanche -----------------------------------------------------------------------------------
# `EvaluationPlugin.get_all_metrics()` as JSON: per name a list of steps and a list of values, as
# `avalanche/training/plugins/evaluation.py` keeps them. Names are those of its TensorBoard logger.

_AVALANCHE = re.compile(r'\s*\{\s*"[^"]*/(?:train|eval)_phase/[^"]*"\s*:\s*\[')


def _holds_avalanche(place: Path) -> bool:
    return place.suffix == ".json" and _AVALANCHE.match(packed.beginning(place, 1 << 12)) is not None


def _avalanche_rows(place: Path, notes: list[str]) -> Iterator[Row]:  # noqa: ARG001 - nothing is left out
    kind = dict[str, tuple[list[int], list[object]]]
    metrics = json_in(bytes_of(place), place, 'expected {"NAME": [[steps], [values]], …}', "no metrics", kind)
    scalars: list[Scalar] = []
    for tag, (steps, values) in metrics.items():
        if len(steps) != len(values):
            what = f"{len(steps)} steps and {len(values)} values"
            raise LogError(what, "expected as many of both", file=place, where=tag)
        numbers = zip(steps, values, strict=True)
        scalars += [Scalar(tag, step, value) for step, value in numbers if isinstance(value, float | int)]
    return scalar_rows(sorted(scalars, key=lambda scalar: scalar.step))


AVALANCHE = RunReader(
    "avalanche",
    "Avalanche's get_all_metrics() as JSON (its eval_results.csv is a table)",
    _holds_avalanche,
    _avalanche_rows,
)

# --- Weights & Biases ----------------------------------------------------------------------------
# A `.wandb` file begins with `:W&B`, a magic number and a version, and then is a log as LevelDB writes them (its
# `doc/log_format.md`: blocks of 32 KiB; checksum, length, kind, data), with checksums by zlib. Each record is a
# `Record` of `wandb_internal.proto`; those of history hold keys and values as JSON.

_HEADER = b":W&B\xe1\xbe"
_BLOCK = 1 << 15
_DAMAGED = "the file is damaged: copy it again from the original"
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY = "wandb-history.jsonl"
# The fields of Record, HistoryRecord and its items, RunRecord and ConfigRecord.
_RECORD_HISTORY, _RECORD_CONFIG, _RECORD_RUN = 2, 5, 17
_RUN_CONFIG = 4
_KEY, _NESTED, _JSON = 1, 2, 16


def _wandb_file(place: Path) -> Path | None:
    """Return the `.wandb` file of a run, or the history as text that older versions left in `files/`."""
    if place.is_file():
        return place if place.suffix == ".wandb" or place.name == _HISTORY else None
    if not place.is_dir():
        return None
    try:
        binaries = sorted(file for file in place.iterdir() if file.suffix == ".wandb" and file.is_file())
    except OSError:
        return None
    texts = [file for file in (place / "files" / _HISTORY, place / _HISTORY) if file.is_file()]
    return next(iter([*binaries, *texts]), None)


def _wandb_rows(place: Path, notes: list[str]) -> Iterator[Row]:
    file = _wandb_file(place)
    assert file is not None
    if file.name == _HISTORY:
        yield from _json_rows(file, notes)
        return
    for position, record in _wandb_records(file, notes):
        try:
            for number, value in fields(record):
                if number == _RECORD_HISTORY and not isinstance(value, int):
                    # The library writes the values of one call in a random order.
                    yield dict(sorted(_wandb_items(value).items()))
        except DamagedError as problem:
            raise LogError(f"no record ({problem})", _DAMAGED, file=file, where=f"byte {position}") from None


def _json_rows(file: Path, notes: list[str]) -> Iterator[Row]:
    lines = bytes_of(file).split(b"\n")
    if lines.pop().strip():
        notes.append(f"{file.name}: the last line is torn; left out (if it is whole, add the newline)")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = json_in(line, file, "expected one object per line", "no JSON", line=number)
        if not isinstance(row, dict):
            raise LogError(f"a {type(row).__name__}", "expected one object per line", file=file, line=number)
        yield row


def _wandb_records(path: Path, notes: list[str]) -> Iterator[tuple[int, memoryview]]:
    content = bytes_of(path)
    if not content.startswith(_HEADER) or len(content) < 7:
        raise LogError("no .wandb file", "expected one that begins with :W&B", file=path)
    view, position, record = memoryview(content), 7, bytearray()
    begin = position
    while position < len(content):
        left = _BLOCK - position % _BLOCK
        if left < 7:  # the rest of a block is filled with zeros
            position += left
            continue
        if len(content) - position < 7:
            break
        stored, size, kind = struct.unpack_from("<IHB", content, position)
        if stored == size == kind == 0:  # reserved for a record that was never written
            position += left
            continue
        data = view[position + 7 : position + 7 + size]
        if len(data) < size:
            break
        if size > left - 7 or kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
            raise LogError(f"a piece of {size} bytes, kind {kind}", _DAMAGED, file=path, where=f"byte {position}")
        if zlib.crc32(data, zlib.crc32(view[position + 6 : position + 7])) != stored:
            raise LogError("the checksum does not match the data", _DAMAGED, file=path, where=f"byte {position}")
        if kind in (_FULL, _FIRST):
            begin, record = position, bytearray()
        record += data
        position += 7 + size
        if kind in (_FULL, _LAST):
            yield begin, memoryview(bytes(record))
    if position < len(content):
        notes.append(f"{path.name}: the last record is cut off ({len(content) - position} bytes); left out")


def _wandb_items(message: memoryview) -> dict[str, Any]:
    """Return the keys and values in field 1 of a message; nested keys with a dot between."""
    row: dict[str, Any] = {}
    for number, item in fields(message):
        if number != 1 or isinstance(item, int):
            continue
        keys: list[str] = []
        value: Any = None
        for part, content in fields(item):
            if part in (_KEY, _NESTED):
                keys.append(decode_text(content))
            elif part == _JSON:
                text = decode_text(content)
                with contextlib.suppress(msgspec.DecodeError, RecursionError):  # NaN and Infinity are not JSON
                    value = msgspec.json.decode(text)
        row[".".join(keys)] = value
    return row


def _wandb_facts(place: Path) -> Mapping[str, Any]:
    file = _wandb_file(place)
    if file is None or file.suffix != ".wandb":
        return {}
    settings: dict[str, Any] = {}
    for _, record in _wandb_records(file, []):
        with contextlib.suppress(DamagedError):  # a run without a name is still a run
            for number, value in fields(record):
                if number == _RECORD_RUN and not isinstance(value, int):
                    configs = [config for field, config in fields(value) if field == _RUN_CONFIG]
                else:
                    configs = [value] if number == _RECORD_CONFIG else []
                for config in configs:
                    settings |= {} if isinstance(config, int) else _wandb_items(config)
    return learner_and_seed(settings)


WANDB = RunReader(
    "wandb",
    "an offline run of Weights & Biases (offline-run-…, with its .wandb file), or a wandb-history.jsonl",
    lambda place: _wandb_file(place) is not None,
    _wandb_rows,
    _wandb_facts,
)

# --- the CSV of a chart --------------------------------------------------------------------------
# W&B writes a column for the axis, and for each run and metric `RUN - METRIC`, `RUN - METRIC__MIN` and
# `RUN - METRIC__MAX`. MLflow writes `run_id,key,value,step,timestamp`, a row per value (`convertMetricsToCsv` of its
# `MetricsPlotPanel`).

_MLFLOW_COLUMNS = {"run_id", "key", "value", "step", "timestamp"}
_BETWEEN, _LOW, _HIGH = " - ", "__MIN", "__MAX"
_SAMPLED = "the CSV of a chart holds a sample of a long run; its offline folder or its history holds all of it"
_LARGEST = 2.0**63


class _Charts(SeveralLifetimes[Lifetime]):
    name = "charts"
    summary = (
        "the CSV of a chart of Weights & Biases (Step, RUN - METRIC, RUN - METRIC__MIN, …), or MLflow's metrics.csv "
        "(run_id,key,value,step,timestamp)"
    )

    def recognises(self, path: Path) -> bool:
        """Return whether the header of a CSV file is that of a chart."""
        if packed.inner_kind(path) != ".csv" or not path.is_file():
            return False
        header = packed.first_line(path) or []
        return set(header) == _MLFLOW_COLUMNS or bool(_curves(header))

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[Lifetime]:  # noqa: ARG002
        """Yield a lifetime for each run."""
        notes: list[str] = []
        table = packed.table(path, notes, options.max_unpacked)
        if table is None:
            raise LogError(f"no values here ({'; '.join(notes)})", f"expected {self.summary}", file=path)
        # These exports quote every cell, so that a missing value is an empty text.
        table = TextTable(table.rows.with_columns(pl.col(pl.String).replace("", None)), table.parts)
        sampled = set(table.rows.columns) != _MLFLOW_COLUMNS
        notes += [_SAMPLED] if sampled else []
        for run, rows in (_wandb_chart(table) if sampled else _mlflow_chart(table)).items():
            for lifetime in run_lifetimes(rows, path, options, f"{as_text(packed.stem(path))}#{run}"):
                yield replace(lifetime, inside=run, notes=(*notes, *lifetime.notes))


def _curves(header: Sequence[str]) -> list[str]:
    """Return the columns of a chart that hold the values of a run, without their bounds."""
    return [name for name in header if _BETWEEN in name and {f"{name}{_LOW}", f"{name}{_HIGH}"} <= set(header)]


def _wandb_chart(table: TextTable) -> dict[str, list[Row]]:
    runs: dict[str, dict[str, list[float | None]]] = {}
    for name in _curves(table.rows.columns):
        run, _, tag = name.rpartition(_BETWEEN)
        runs.setdefault(run, {})[tag] = cells.numbers(table, name).to_list()
    rows: dict[str, list[Row]] = {}
    for run, tags in runs.items():
        for values in zip(*tags.values(), strict=True):
            if any(value is not None for value in values):
                rows.setdefault(run, []).append(dict(zip(tags, values, strict=True)))
    return rows


def _mlflow_chart(table: TextTable) -> dict[str, list[Row]]:
    numbers = [cells.numbers(table, name).to_list() for name in ("value", "step", "timestamp")]
    runs: dict[str, list[Scalar]] = {}
    columns = (table.rows["run_id"].to_list(), table.rows["key"].to_list(), *numbers)
    for row, (run, tag, value, step, moment) in enumerate(zip(*columns, strict=True)):
        if value is None or run is None or tag is None:
            continue
        if step is None or not -_LARGEST < step < _LARGEST:
            raise table.refusal(row, f"step {step}", "expected a whole number")
        runs.setdefault(run, []).append(Scalar(tag, int(step), value, moment or 0.0))
    return {run: list(scalar_rows(_by_time_or_step(scalars))) for run, scalars in runs.items()}


CHARTS = _Charts()
