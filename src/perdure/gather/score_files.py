"""Read files of scores: JSONs of `perdure score`, and tables and JSONs of metrics from Perdure or l2metrics."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from perdure.curves.arrays import Range
from perdure.errors import PerdureError, nearest
from perdure.files import HEADER_LIMIT, SCORES_LIMIT, open_regular, parse_json, read_bytes
from perdure.gather.model import Survey
from perdure.gather.output_files import FILES, SEPARATOR
from perdure.log.accuracy_matrix import Unit
from perdure.log.model import Identity
from perdure.log.rows import cells, records
from perdure.metrics.declare import Metric, Threshold
from perdure.metrics.measure import Flag, Measured
from perdure.metrics.presets import PRESETS, chosen_metrics
from perdure.metrics.score import DEFINITIONS, BlockSummary, LearningGain, Score, deciding, reversed_range
from perdure.results import CHECKSUM, checksum_of, json_keys
from perdure.scenario.model import Block, Subtype, Variants, variant_mode
from perdure.scenario.model import Mode as BlockMode
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
_UNITS, _VARIANTS, _MODES, _SUBTYPES = (get_args(hint) for hint in (Unit, Variants, BlockMode, Subtype))
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
    return "lifetime" in names and (names >= _OWN_COLUMNS or bool(names & _known_metrics()))


def _known_metrics() -> frozenset[str]:
    return frozenset(name for preset in PRESETS.names() for name in PRESETS.get(preset).metrics)


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
        _refuse_other_edition(path, facts.get("definitions", DEFINITIONS))
        _refuse_unknown(path, "", facts, {*json_keys(Survey), *_REPORT_KEYS})
        _refuse_unknown(path, "settings", settings, setting_keys())
        how = deciding(settings)
        left_out = tuple((str(entry["path"]), str(entry["why"])) for entry in facts.get("left_out", ()))
        written = {name: _read_threshold(path, name, entry) for name, entry in facts.get("thresholds", {}).items()}
        scores = tuple(_read_lifetime(path, entry, str(facts["preset"]), how) for entry in facts["lifetimes"])
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


def _refuse_unknown(path: Path, where: str, facts: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise an error for a key that this part of a score file does not have."""
    for key in facts.keys() - set(known):
        raise PerdureError(f"unknown key {key!r}", nearest(key, sorted(known)), file=path, where=where or None)


def _word(value: Any, known: Sequence[Any], field: str, path: Path, *, line: int | None = None, where: str = "") -> Any:
    """Return `value` if it is None or one of the `known` words; raise an error with its place otherwise."""
    if value is not None and not any(value is word or (isinstance(word, str) and value == word) for word in known):
        expected = " or ".join(str(word).lower() for word in known)
        raise PerdureError(f"{field} is {value!r}", f"expected {expected}", file=path, line=line, where=where or None)
    return value


def _refuse_other_edition(path: Path, definitions: object, line: int | None = None) -> None:
    if str(definitions) != str(DEFINITIONS):
        raise PerdureError(
            f"these scores follow another edition of the definitions ({definitions}; this version has {DEFINITIONS})",
            "score their logs again",
            file=path,
            line=line,
        )


def _read_lifetime(path: Path, entry: Mapping[str, Any], preset: str, how: str) -> Score:
    where = f"lifetime {entry['id']}"
    _refuse_unknown(path, where, entry, json_keys(Score))
    for name, each in entry["metrics"].items():
        _refuse_unknown(path, f"{where}: {name}", each, json_keys(Measured))
    blocks = entry.get("blocks", ())
    order = entry.get("order") or [block["task"] for block in blocks if block["mode"] == "learn"]
    score = Score(
        identity=Identity(
            id=str(entry["id"]),
            learner=entry.get("learner"),
            seed=entry.get("seed"),
            scenario_type=entry.get("scenario_type"),
            order=tuple(order),
            tasks=tuple(entry.get("tasks", ())),
            measure=entry.get("measure"),
            unit=_word(entry.get("unit"), _UNITS, "unit", path, where=where),
            direction=str(entry.get("direction") or "higher"),
            variants=variant_mode(_word(entry.get("variants"), _VARIANTS, "variants", path, where=where) or "name"),
            recorded=str(entry.get("identity") or ""),
            source=str(path),
            argument=str(path),
            holder=path.stem,
        ),
        metrics={
            name: Measured(
                _number(path, entry["id"], name, each["value"]),
                {key: tuple(values) for key, values in (each.get("by") or {}).items()},
                each.get("why"),
                tuple(map(Flag.read, each.get("flags", ()))),
                {task: tuple(marks) for task, marks in (each.get("experts") or {}).items()},
                {key: tuple(map(tuple, places)) for key, places in (each.get("at") or {}).items()},
            )
            for name, each in entry["metrics"].items()
        },
        preset=preset,
        how=how,
        blocks=tuple(_read_block(path, where, block) for block in blocks),
        learning_experiences=int(entry.get("learning_experiences") or 0),
        evaluation_experiences=int(entry.get("evaluation_experiences") or 0),
        notes=tuple(entry.get("notes", ())),
        not_learned=tuple(entry.get("not_learned", ())),
        bounds=_bounds(entry.get("bounds")),
        protocol=entry.get("protocol"),
        complete=_word(entry.get("complete"), (True, False), "complete", path, where=where),
        learning_gains={task: LearningGain(**gain) for task, gain in entry.get("learning_gains", {}).items()},
        expert_gains={task: tuple(gains) for task, gains in entry.get("expert_gains", {}).items()},
        digest=str(entry.get("digest") or ""),
        measures=entry["measure"] if isinstance(entry.get("measure"), Mapping) else {},
    )
    return _with_ranges(score, entry.get("ranges"))


def _bounds(stated: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    return {task: (float(pair["min"]), float(pair["max"])) for task, pair in (stated or {}).items()}


def _with_ranges(score: Score, stated: Mapping[str, Any] | None) -> Score:
    """Return the score with its ranges, which files hold as measured."""
    spans = {
        task: Range(float(span["min"]), float(span["max"]), bool(span["given"]))
        for task, span in (stated or {}).items()
    }
    ranges = {task: span if score.sign(task) > 0 else reversed_range(span) for task, span in spans.items()}
    return replace(score, ranges=ranges)


def _read_block(path: Path, lifetime: str, entry: Mapping[str, Any]) -> BlockSummary:
    number = int(entry["block"])
    where = f"{lifetime}: block {number}"
    _refuse_unknown(path, where, entry, json_keys(BlockSummary))
    kind = _word(entry["mode"] or "", _MODES, "mode", path, where=where)
    subtype = _word(entry["subtype"] or "", _SUBTYPES, "subtype", path, where=where)
    return BlockSummary(
        number,
        Block(kind, str(entry["task"]), entry["length"], {}, subtype, int(entry["group"])),
        entry["mean"],
        entry["terminal"],
        entry["saturation"],
        entry["experiences_to_saturation"],
        entry.get("squares"),
        entry.get("lagged"),
        entry.get("dormant_units"),
    )


def _read_l2metrics_entry(path: Path, index: int, entry: Mapping[str, Any]) -> Score:
    """Read one object of l2metrics' JSON, in which NaN and null mean that a value is missing."""
    name = str(entry.get("run_id") or f"{path.stem} {index}")
    ranges = entry.get("normalization_data_range")
    return Score(
        identity=Identity(
            id=name,
            learner=entry.get("agent_config") or None,
            scenario_type=entry.get("scenario_type") or None,
            tasks=tuple(sorted(ranges)) if isinstance(ranges, Mapping) else (),
            measure=entry.get("metrics_column") or None,
            source=f"{path}, object {index}",
            argument=str(path),
            holder=path.stem,
        ),
        metrics={
            metric: _measured(_number(path, name, column, entry[column]), path)
            for column, metric in _l2metrics_names().items()
            if column in entry
        },
        preset=L2METRICS_31,
        learning_experiences=int(entry.get("num_lx") or 0),
        evaluation_experiences=int(entry.get("num_ex") or 0),
    )


def _read_threshold(path: Path, name: str, facts: Mapping[str, Any]) -> Threshold:
    where = f"the threshold of {name}"
    _refuse_unknown(path, where, facts, json_keys(Threshold))
    better, inclusive = facts.get("better", "higher"), facts.get("inclusive", False)
    if better not in ("higher", "lower") or not isinstance(inclusive, bool):
        raise PerdureError(
            f"{where} is {dict(facts)!r}", "better is higher or lower, inclusive true or false", file=path
        )
    margin = _number(path, where, "margin", facts.get("margin", 0.0)) or 0.0
    headline, scale = facts.get("headline", ""), facts.get("scale", "linear")
    if headline not in ("log", "matrix", "") or scale not in ("log", "linear"):
        raise PerdureError(
            f"{where} is {dict(facts)!r}", "headline is log, matrix or empty, scale log or linear", file=path
        )
    threshold = _number(path, where, "value", facts.get("threshold"))
    return Threshold(threshold, margin, better, inclusive, headline, scale, bool(facts.get("expert")))


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
    for line, row in lines:
        if len(row) != len(names):
            raise PerdureError(
                f"{len(row)} cells under {len(names)} headings", "give every row as many", file=path, line=line
            )
    return tuple(_read_row(path, line, dict(zip(names, row, strict=True)), metrics, how) for line, row in lines)


def _read_row(path: Path, number: int, row: Mapping[str, str], metrics: Sequence[str], how: str) -> Score:
    is_l2metrics = "run_id" in row
    seed = row.get("seed", "")
    complete = _word(row.get("complete", "").lower() or None, [*_COMPLETE], "complete", path, line=number)
    _refuse_other_edition(path, row.get("definitions") or DEFINITIONS, number)
    names = _l2metrics_names() if is_l2metrics else {}
    values = {names.get(column, column): _cell(path, number, column, row[column]) for column in metrics}
    try:
        bounds = _bounds(parse_json(row.get("bounds") or "{}"))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        fix = 'expected {"task": {"min": 0, "max": 1}}, or nothing'
        raise PerdureError(f"bounds is {row['bounds']!r}", fix, file=path, line=number) from problem
    score = Score(
        identity=Identity(
            id=row["run_id" if is_l2metrics else "lifetime"],
            learner=row.get("learner") or row.get("agent_config") or None,
            seed=int(seed) if seed.lstrip("-").isdigit() else None,
            scenario_type=row.get("scenario_type") or None,
            order=_tasks(row.get("order")),
            tasks=_tasks(row.get("tasks")),
            measure=row.get("measure") or row.get("metrics_column") or None,
            unit=_word(row.get("unit") or None, _UNITS, "unit", path, line=number),
            direction=row.get("direction") or "higher",
            variants=variant_mode(
                _word(row.get("variants") or None, _VARIANTS, "variants", path, line=number) or "name"
            ),
            recorded=row.get("identity") or "",
            source=f"{path}, line {number}",
            argument=str(path),
            holder=path.stem,
        ),
        metrics={name: _measured(value, path) for name, value in values.items()},
        preset=L2METRICS_31 if is_l2metrics else row.get("preset") or STANDARD,
        how=how,
        not_learned=_tasks(row.get("not_learned")),
        bounds=bounds,
        protocol={"name": row.get("protocol"), "learner_digest": row["learner_digest"]}
        if row.get("learner_digest")
        else row.get("protocol") or None,
        complete=_COMPLETE.get(complete),
    )
    try:
        return _with_ranges(score, parse_json(row.get("ranges") or "{}"))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        fix = 'expected {"task": {"min": 0, "max": 1, "given": false}}, or nothing'
        raise PerdureError(f"ranges is {row['ranges']!r}", fix, file=path, line=number) from problem


def _tasks(cell: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (cell or "").split(SEPARATOR)))


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
    except (OSError, ValueError, TypeError) as problem:
        raise PerdureError(
            f"cannot be read as the settings of {table.name} ({problem})", "write both again", file=file
        ) from problem
    _refuse_unknown(file, "", settings, setting_keys())
    return deciding({name: value for name, value in settings.items() if name != "preset"})


def _cell(path: Path, number: int, column: str, text: str) -> float | None:
    """Return the value of a cell, None for blanks and NaN. Refuse other values that are not finite numbers."""
    if text.lower() in ("", "nan", "na", "null", "none"):
        return None
    try:
        return _number(path, f"line {number}", column, float(text))
    except ValueError:
        raise PerdureError(f"{column} is {text!r}", "expected a number", file=path, line=number) from None


def _number(path: Path, where: Any, name: str, value: Any) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        raise PerdureError(f"{name} of {where} is {value!r}", "expected a finite number, or null", file=path)
    return float(value)
