"""Read files of scores: JSONs of `perdure score`, and tables and JSONs of metrics from Perdure or l2metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from perdure.curves.arrays import Range
from perdure.errors import PerdureError
from perdure.files import HEADER_LIMIT, SCORES_LIMIT, open_regular, parse_json, read_bytes
from perdure.gather.model import Survey
from perdure.gather.output_files import FILES, SEPARATOR
from perdure.log.rows import cells, records
from perdure.metrics.declare import Metric, Threshold
from perdure.metrics.measure import Measured
from perdure.metrics.presets import PRESETS, chosen_metrics
from perdure.metrics.score import DEFINITIONS, BlockSummary, Score, deciding, reversed_range
from perdure.results import CHECKSUM, checksum_of, from_plain, json_keys, refuse_unknown
from perdure.settings import setting_keys
from perdure.settings.presets import L2METRICS_31, STANDARD

_FACT_COLUMNS = frozenset(
    {
        "lifetime", "run_id", "learner", "agent_config", "scenario_type", "protocol", "seed", "measure", "unit",
        "metrics_column", "preset", "definitions", "sg_name", "complexity", "difficulty", "min", "max", "num_lx",
        "num_ex", "runtime", "learning_experiences", "evaluation_experiences", "dropped_rows", "identity",
        "complete", "order", "tasks", "not_learned", "variants", "direction", "bounds", "ranges", "learner_digest",
    }
)  # fmt: skip
_OWN_COLUMNS = frozenset({"preset", "learning_experiences", "evaluation_experiences"})
"""Columns of every table that `perdure score --out` writes, for any metrics."""

_REPORT_KEYS = frozenset(
    {
        "thresholds", "capabilities", "groups", "not_grouped", CHECKSUM,
        "title", "leads", "verdicts", "rule", "tally", "comparisons", "checklist", "notes", "methods", "provenance",
    }
)  # fmt: skip
"""Keys that `perdure score --json` and `perdure report --json` add to those of a survey."""
_L2METRICS_COLUMNS = {"agent_config": "learner", "metrics_column": "measure", "scenario_type": "scenario_type"}
_TEXT_COLUMNS = _L2METRICS_COLUMNS | {
    name: name for name in ("learner", "measure", "unit", "direction", "variants", "identity")
}
"""Column of a table → the key of the same text in JSON."""
_COMPLETE = {"true": True, "false": False}
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_HEAD_BYTES = 1 << 16


class ScoreFile(Struct, frozen=True, eq=False):
    """The scored lifetimes of one file, and the thresholds of their metrics."""

    scores: tuple[Score, ...]
    bars: Mapping[str, Threshold] = {}
    left_out: tuple[tuple[str, str], ...] = ()
    settings: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()

    @property
    def preset(self) -> str:
        """The preset of its lifetimes."""
        return self.scores[0].preset if self.scores else STANDARD


def _l2metrics_names() -> Mapping[str, str]:
    """Return the id of each metric by its name in l2metrics."""
    return PRESETS.get(L2METRICS_31).names


def is_score_file(path: Path) -> bool:
    """Return whether `path` holds scores instead of a log: a JSON of `perdure score`, or a table or JSON of metrics."""
    if path.suffix not in (".json", ".tsv", ".csv") or not path.is_file():
        return False
    with open_regular(path) as file:
        head = file.read(_HEAD_BYTES).decode("utf-8-sig", errors="replace")
    if path.suffix == ".json":
        start = head.lstrip()
        is_own = '"lifetimes"' in start or ('"perdure"' in start and '"preset"' in start)
        return (start.startswith("{") and is_own) or any(f'"{name}"' in start for name in _l2metrics_names())
    names = set(cells(head, _SEPARATORS[path.suffix]))
    if "run_id" in names and names & _l2metrics_names().keys():
        return True
    known = {name for preset in PRESETS.names() for name in PRESETS.get(preset).metrics}
    return "lifetime" in names and (names >= _OWN_COLUMNS or bool(names & known))


def read_score_file(path: Path, files: Sequence[str] = (), margins: Mapping[str, float] | None = None) -> ScoreFile:
    """Read the scored lifetimes of a JSON or a table; the Python files in `files` declare further metrics."""
    try:
        text = read_bytes(path, SCORES_LIMIT).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise PerdureError(f"cannot be read as scores ({problem})", "write it again", file=path) from problem
    content = _read_json(path, text) if path.suffix == ".json" else ScoreFile(_read_table(path, text))
    _refuse_duplicates(path, content.scores)
    bars = _bars(
        dict.fromkeys(name for score in content.scores for name in score.metrics),
        content.preset,
        files,
        {**content.settings.get("margins", {}), **(margins or {})},
        content.bars,
    )
    return replace(content, bars=bars)


def _refuse_duplicates(path: Path, scores: Sequence[Score]) -> None:
    seen: dict[str, Score] = {}
    for score in scores:
        first = seen.setdefault(score.id, score)
        if first is not score:
            raise PerdureError(
                f"lifetime {score.id!r} is there twice ({first.identity.source} and {score.identity.source})",
                "a lifetime counts once, so give each a name of its own or leave the copy out",
                file=path,
            )


def _bars(
    names: Iterable[str],
    preset: str,
    files: Sequence[str],
    margins: Mapping[str, float],
    written: Mapping[str, Threshold],
) -> dict[str, Threshold]:
    """Return the threshold of each name, as declared or otherwise as `written`; metrics without one get no verdict."""
    declared: dict[str, Metric] = {}
    if preset in PRESETS:
        declared = chosen_metrics(PRESETS.get(preset), tuple(file for file in files if file.endswith(".py")), {})
    bars: dict[str, Threshold] = {}
    for name in (
        *(name for name in declared if name in set(names)),
        *(name for name in names if name not in declared),
    ):
        bar = declared[name].criterion if name in declared else written.get(name, Threshold())
        bars[name] = replace(bar, margin=margins[name], margin_given=True) if name in margins else bar
    return bars


# --- JSON ----------------------------------------------------------------------------------------


def _read_json(path: Path, text: str) -> ScoreFile:
    try:
        facts = parse_json(text)
        if isinstance(facts, list) or "lifetimes" not in facts:
            entries = facts if isinstance(facts, list) else [facts]
            if not any(name in entry for entry in entries for name in _l2metrics_names()):
                raise KeyError("lifetimes")
            return ScoreFile(tuple(_read_l2metrics_entry(path, index, entry) for index, entry in enumerate(entries)))
        notes = _verify(path, facts)
        settings = dict(facts.get("settings", {}))
        _refuse_other_edition(facts.get("definitions", DEFINITIONS))
        refuse_unknown(facts, {*json_keys(Survey), *_REPORT_KEYS})
        refuse_unknown(settings, setting_keys(), "settings")
        how = deciding(settings)
        left_out = tuple((str(entry["path"]), str(entry["why"])) for entry in facts.get("left_out", ()))
        written = {
            name: from_plain(Threshold, entry, f"the threshold of {name}")
            for name, entry in facts.get("thresholds", {}).items()
        }
        scores = tuple(_read_lifetime(path, entry, str(facts["preset"]), how) for entry in facts["lifetimes"])
    except PerdureError as problem:
        raise problem.with_place(file=path) from problem
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise PerdureError(
            f"not what `perdure score --json` writes ({type(problem).__name__}: {problem})",
            "give a folder of logs, or the JSON of a score",
            file=path,
        ) from problem
    return ScoreFile(scores, written, left_out, settings, notes)


def _verify(path: Path, facts: dict[str, Any]) -> tuple[str, ...]:
    """Remove the checksum from `facts` and verify it; return a note if it is missing. Raise ValueError for infinity."""
    stated = facts.pop(CHECKSUM, None)
    actual = checksum_of(facts)
    if stated is None:
        return (f"{path}: has no checksum, so it cannot be seen whether it was altered",)
    if stated != actual:
        fix = "restore it or write it again; to keep a change that you made, remove its 'checksum'"
        raise PerdureError("altered after it was written", fix, file=path)
    return ()


def _refuse_other_edition(definitions: object) -> None:
    if str(definitions) != str(DEFINITIONS):
        raise PerdureError(
            f"these scores follow another edition of the definitions ({definitions}; this version has {DEFINITIONS})",
            "score their logs again",
        )


def _read_lifetime(path: Path, entry: Mapping[str, Any], preset: str, how: str) -> Score:
    where = f"lifetime {entry['id']}"
    return _score(
        path,
        entry,
        where,
        metrics={name: from_plain(Measured, facts, f"{where}: {name}") for name, facts in entry["metrics"].items()},
        blocks=tuple(
            from_plain(BlockSummary, facts, f"{where}: block {facts.get('block')}") for facts in entry.get("blocks", ())
        ),
        bounds=_bounds(entry.get("bounds")),
        preset=preset,
        how=how,
    )


def _score(path: Path, facts: Mapping[str, Any], where: str = "", source: str = "", **parts: Any) -> Score:
    """Return the score with these facts, some of which are read already, and its place."""
    facts, stated = {key: fact for key, fact in facts.items() if key != "ranges"}, facts.get("ranges") or {}
    measure = facts.get("measure")
    if isinstance(measure, Mapping):
        parts["measures"], measure = measure, ", ".join(f"{task}={name}" for task, name in measure.items())
    score = from_plain(Score, facts, where, **parts)
    place = {"source": source or str(path), "argument": str(path), "holder": path.stem}
    # Files hold ranges as measured, scores with higher values better.
    ranges = {task: Range(float(span["min"]), float(span["max"]), bool(span["given"])) for task, span in stated.items()}
    ranges = {task: span if score.sign(task) > 0 else reversed_range(span) for task, span in ranges.items()}
    return replace(score, ranges=ranges, identity=replace(score.identity, measure=measure, **place))


def _bounds(stated: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    return {task: (float(pair["min"]), float(pair["max"])) for task, pair in (stated or {}).items()}


def _read_l2metrics_entry(path: Path, index: int, entry: Mapping[str, Any]) -> Score:
    """Read one object of l2metrics' JSON, in which NaN and null mean that a value is missing."""
    name = str(entry.get("run_id") or f"{path.stem} {index}")
    ranges = entry.get("normalization_data_range")
    facts = {
        **{key: entry[column] for column, key in _L2METRICS_COLUMNS.items() if entry.get(column)},
        "id": name,
        "tasks": sorted(ranges) if isinstance(ranges, Mapping) else (),
        "learning_experiences": entry.get("num_lx"),
        "evaluation_experiences": entry.get("num_ex"),
    }
    metrics = {
        metric: _measured(_number(name, column, entry[column]), path)
        for column, metric in _l2metrics_names().items()
        if column in entry
    }
    return _score(path, facts, name, f"{path}, object {index}", metrics=metrics, preset=L2METRICS_31)


def _measured(value: float | None, path: Path) -> Measured:
    return Measured(value, why=f"blank in {path.name}" if value is None else None)


# --- tables --------------------------------------------------------------------------------------


def _read_table(path: Path, text: str) -> tuple[Score, ...]:
    rows = [(line, [cell.strip() for cell in row]) for line, row in records(text, _SEPARATORS[path.suffix])]
    (_, names), *lines = [(line, row) for line, row in rows if any(row)] or [(1, [])]
    name_column = next((name for name in ("lifetime", "run_id") if name in names), None)
    if name_column is None:
        raise PerdureError(
            f"no column 'lifetime' or 'run_id' (found: {', '.join(names) or 'nothing'})", "name lifetimes", file=path
        )
    is_l2metrics = name_column == "run_id"
    how = "" if is_l2metrics else _settings_of(path)
    metrics = [name for name in names if name not in _FACT_COLUMNS and (not is_l2metrics or name in _l2metrics_names())]
    scores: list[Score] = []
    for line, row in lines:
        try:
            if len(row) != len(names):
                raise PerdureError(f"{len(row)} cells under {len(names)} headings", "give every row as many")
            scores.append(_read_row(path, line, dict(zip(names, row, strict=True)), metrics, how))
        except PerdureError as problem:
            raise problem.with_place(file=path, line=line) from problem
    return tuple(scores)


def _read_row(path: Path, line: int, row: Mapping[str, str], metrics: Sequence[str], how: str) -> Score:
    is_l2metrics = "run_id" in row
    _refuse_other_edition(row.get("definitions") or DEFINITIONS)
    names = _l2metrics_names() if is_l2metrics else {}
    values = {names.get(column, column): _cell(column, row[column]) for column in metrics}
    bounds, ranges = (_read_spans(column, row.get(column) or "{}") for column in ("bounds", "ranges"))
    seed, complete = row.get("seed", ""), row.get("complete", "").lower()
    digest = {"name": row.get("protocol"), "learner_digest": row["learner_digest"]} if row.get("learner_digest") else {}
    facts = {
        **{key: row[column] for column, key in _TEXT_COLUMNS.items() if row.get(column)},
        **{key: [*filter(None, row.get(key, "").split(SEPARATOR))] for key in ("order", "tasks", "not_learned")},
        "id": row["run_id" if is_l2metrics else "lifetime"],
        "seed": int(seed) if seed.lstrip("-").isdigit() else None,
        "complete": _COMPLETE.get(complete, complete or None),
        "protocol": digest or row.get("protocol") or None,
        "ranges": {task: {"given": False, **span} for task, span in ranges.items()},
    }
    return _score(
        path,
        facts,
        source=f"{path}, line {line}",
        metrics={name: _measured(value, path) for name, value in values.items()},
        preset=L2METRICS_31 if is_l2metrics else row.get("preset") or STANDARD,
        how=how,
        bounds=_bounds(bounds),
    )


def _read_spans(column: str, cell: str) -> dict[str, dict[str, Any]]:
    """Return the ends of each task's range in a cell."""
    try:
        spans: dict[str, dict[str, Any]] = parse_json(cell)
        _bounds(spans)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        fix = 'expected {"task": {"min": 0, "max": 1}}, or nothing'
        raise PerdureError(f"{column} is {cell!r}", fix) from problem
    return spans


def _settings_of(table: Path) -> str:
    """Return the settings of a table that `perdure score --out` wrote, from the file next to it."""
    file = table.with_name(FILES[2])
    if table.name != FILES[4] or not file.is_file():
        return ""
    try:
        settings = parse_json(read_bytes(file, HEADER_LIMIT))
        if not isinstance(settings, dict):
            raise TypeError(f"it holds a {type(settings).__name__}, not an object")
        _verify(file, settings)
        refuse_unknown(settings, setting_keys())
    except PerdureError as problem:
        raise problem.with_place(file=file) from problem
    except (OSError, ValueError, TypeError) as problem:
        raise PerdureError(
            f"cannot be read as the settings of {table.name} ({problem})", "write both again", file=file
        ) from problem
    return deciding({name: value for name, value in settings.items() if name != "preset"})


def _cell(column: str, text: str) -> float | None:
    """Return the value of a cell, None for blanks and NaN. Refuse other values that are not finite numbers."""
    if text.lower() in ("", "nan", "na", "null", "none"):
        return None
    try:
        return _number("", column, float(text))
    except ValueError:
        raise PerdureError(f"{column} is {text!r}", "expected a number") from None


def _number(where: str, name: str, value: Any) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        raise PerdureError(f"{name} is {value!r}", "expected a finite number, or null", where=where or None)
    return float(value)
