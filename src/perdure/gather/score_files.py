"""Scores made before: JSONs of `perdure score`, and tables and JSONs of metrics, ours and l2metrics'."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import PerdureError, nearest
from perdure.files import HEADER_LIMIT, SCORES_LIMIT, opened, parse_json, read_bytes
from perdure.gather.model import Survey
from perdure.gather.outputs import AND_THEN, FILES
from perdure.log.accuracy_matrix import Unit
from perdure.log.model import Identity
from perdure.log.rows import cells, records
from perdure.metrics.declare import Metric, Threshold
from perdure.metrics.measure import Flag, Measured
from perdure.metrics.presets import PRESETS, chosen_metrics
from perdure.metrics.score import DEFINITIONS, BlockSummary, Score, deciding
from perdure.results import CHECKSUM, checksum_of, json_keys
from perdure.scenario.model import Block, Subtype, Variants, variant_mode
from perdure.scenario.model import Mode as BlockMode
from perdure.settings import setting_keys
from perdure.settings.presets import L2METRICS_31, STANDARD

_DESCRIBING = frozenset(
    {
        "lifetime", "run_id", "learner", "agent_config", "scenario_type", "protocol", "seed", "measure", "unit",
        "metrics_column", "preset", "definitions", "sg_name", "complexity", "difficulty", "min", "max", "num_lx",
        "num_ex", "runtime", "learning_experiences", "evaluation_experiences", "dropped_rows", "identity",
        "complete", "order", "tasks", "not_learned", "variants", "direction", "bounds", "learner_digest",
    }
)  # fmt: skip
_OURS = frozenset({"preset", "learning_experiences", "evaluation_experiences"})
"""Columns of every table that `perdure score --out` writes, whatever its metrics are called."""

_ADDED = frozenset(
    {
        "thresholds", "capabilities", "groups", "not_grouped", CHECKSUM,
        "title", "leads", "verdicts", "rule", "tally", "comparisons", "checklist", "notes", "methods", "provenance",
    }
)  # fmt: skip
"""Keys that `perdure score --json` and `perdure report --json` add to those of a survey."""
_UNITS, _VARIANTS, _MODES, _SUBTYPES = (get_args(one) for one in (Unit, Variants, BlockMode, Subtype))
_COMPLETE = {"true": True, "false": False}
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_GLANCE = 1 << 16


class ScoreFile(Struct, frozen=True, eq=False):
    """The scored lifetimes of one file, and what their metrics are held against."""

    scores: tuple[Score, ...]
    bars: Mapping[str, Threshold] = {}
    left_out: tuple[tuple[str, str], ...] = ()
    settings: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()

    @property
    def preset(self) -> str:
        """How its lifetimes were scored."""
        return self.scores[0].preset if self.scores else STANDARD


def _their_names() -> Mapping[str, str]:
    """Return what l2metrics calls each metric, with our id of it."""
    return PRESETS.get(L2METRICS_31).names


def is_score_file(path: Path) -> bool:
    """Whether `path` holds scores rather than a log: a JSON of `perdure score`, or a table or JSON of metrics."""
    if path.suffix not in (".json", ".tsv", ".csv") or not path.is_file():
        return False
    with opened(path) as file:
        head = file.read(_GLANCE).decode("utf-8-sig", errors="replace")
    if path.suffix == ".json":
        start = head.lstrip()[:_GLANCE]
        ours = '"lifetimes"' in start or ('"perdure"' in start and '"preset"' in start)
        return (start.startswith("{") and ours) or any(f'"{name}"' in start for name in _their_names())
    names = set(cells(head, _SEPARATORS[path.suffix]))
    if "run_id" in names and names & _their_names().keys():
        return True
    return "lifetime" in names and (names >= _OURS or bool(names & _known_metrics()))


def _known_metrics() -> frozenset[str]:
    return frozenset(name for preset in PRESETS.names() for name in PRESETS.get(preset).metrics)


def read_score_file(path: Path, files: Sequence[str] = (), margins: Mapping[str, float] | None = None) -> ScoreFile:
    """The scored lifetimes of a JSON or a table; `files` declare the metrics that Perdure does not know."""
    try:
        text = read_bytes(path, SCORES_LIMIT).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise PerdureError(f"cannot be read as scores ({problem})", "write it again", file=path) from problem
    made = _from_json(path, text) if path.suffix == ".json" else ScoreFile(_from_table(path, text))
    _refuse_twice(path, made.scores)
    settings = made.settings
    bars = _bars(
        dict.fromkeys(name for one in made.scores for name in one.metrics),
        made.preset,
        files,
        {**settings.get("margins", {}), **(margins or {})},
        made.bars,
    )
    return replace(made, bars=bars)


def _refuse_twice(path: Path, lives: Sequence[Score]) -> None:
    seen: dict[str, Score] = {}
    for life in lives:
        if seen.setdefault(life.id, life) is not life:
            raise PerdureError(
                f"lifetime {life.id!r} is there twice ({seen[life.id].identity.source} and {life.identity.source})",
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
    """A bar for each name: as declared, else as `written` beside the scores; without either it gets no verdict."""
    declared: dict[str, Metric] = {}
    if preset in PRESETS:
        declared = chosen_metrics(PRESETS.get(preset), tuple(one for one in files if one.endswith(".py")), {})
    bars: dict[str, Threshold] = {}
    for name in (*(one for one in declared if one in set(names)), *(one for one in names if one not in declared)):
        bar = declared[name].criterion if name in declared else written.get(name, Threshold())
        bars[name] = replace(bar, margin=margins[name], margin_given=True) if name in margins else bar
    return bars


# --- JSON ----------------------------------------------------------------------------------------


def _from_json(path: Path, text: str) -> ScoreFile:
    try:
        facts = parse_json(text)
        if isinstance(facts, list) or "lifetimes" not in facts:
            theirs = facts if isinstance(facts, list) else [facts]
            if not any(name in one for one in theirs for name in _their_names()):
                raise KeyError("lifetimes")
            return ScoreFile(tuple(_l2metrics_life(path, at, one) for at, one in enumerate(theirs)))
        notes = _verify(path, facts)
        settings = dict(facts.get("settings", {}))
        _refuse_other_edition(path, facts.get("definitions", DEFINITIONS))
        _refuse_unknown(path, "", facts, {*json_keys(Survey), *_ADDED})
        _refuse_unknown(path, "settings", settings, setting_keys())
        how = deciding(settings)
        left_out = tuple((str(one["path"]), str(one["why"])) for one in facts.get("left_out", ()))
        written = {name: _written_bar(path, name, one) for name, one in facts.get("thresholds", {}).items()}
        scores = tuple(_life(path, one, str(facts["preset"]), how) for one in facts["lifetimes"])
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise PerdureError(
            f"not what `perdure score --json` writes ({type(problem).__name__}: {problem})",
            "give a folder of logs, or the JSON of a score",
            file=path,
        ) from problem
    return ScoreFile(scores, written, left_out, settings, notes)


def _verify(path: Path, facts: dict[str, Any]) -> tuple[str, ...]:
    """Compare a file with its checksum, which is taken out; return a note if it has none. ValueError for infinity."""
    stated = facts.pop(CHECKSUM, None)
    found = checksum_of(facts)
    if stated is None:
        return (f"{path}: has no checksum, so it cannot be seen whether it was altered",)
    if stated != found:
        fix = "restore it or write it again; to keep a change that you made, remove its 'checksum'"
        raise PerdureError("altered after it was written", fix, file=path)
    return ()


def _refuse_unknown(path: Path, where: str, facts: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise an error for a key that this part of a score file does not have."""
    for key in facts.keys() - set(known):
        raise PerdureError(f"unknown key {key!r}", nearest(key, sorted(known)), file=path, where=where or None)


def _word(value: Any, known: Sequence[Any], field: str, path: Path, *, line: int | None = None, where: str = "") -> Any:
    """Return a word that is known, or None where there is none; raise an error with its place for any other."""
    if value is not None and not any(value is one or (isinstance(one, str) and value == one) for one in known):
        expected = " or ".join(str(one).lower() for one in known)
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


def _life(path: Path, one: Mapping[str, Any], preset: str, how: str) -> Score:
    where = f"lifetime {one['id']}"
    _refuse_unknown(path, where, one, json_keys(Score))
    for name, each in one["metrics"].items():
        _refuse_unknown(path, f"{where}: {name}", each, json_keys(Measured))
    blocks = one.get("blocks", ())
    order = one.get("order") or [block["task"] for block in blocks if block["mode"] == "learn"]
    return Score(
        identity=Identity(
            id=str(one["id"]),
            learner=one.get("learner"),
            seed=one.get("seed"),
            scenario_type=one.get("scenario_type"),
            order=tuple(order),
            tasks=tuple(one.get("tasks", ())),
            measure=one.get("measure"),
            unit=_word(one.get("unit"), _UNITS, "unit", path, where=where),
            direction=str(one.get("direction") or "higher"),
            variants=variant_mode(_word(one.get("variants"), _VARIANTS, "variants", path, where=where) or "name"),
            recorded=str(one.get("identity") or ""),
            source=str(path),
            argument=str(path),
            holder=path.stem,
        ),
        metrics={
            name: Measured(
                _number(path, one["id"], name, each["value"]),
                {key: tuple(values) for key, values in (each.get("by") or {}).items()},
                each.get("why"),
                tuple(map(Flag.read, each.get("flags", ()))),
                {task: tuple(marks) for task, marks in (each.get("experts") or {}).items()},
                {key: tuple(map(tuple, places)) for key, places in (each.get("at") or {}).items()},
            )
            for name, each in one["metrics"].items()
        },
        preset=preset,
        how=how,
        blocks=tuple(_block(path, where, block) for block in blocks),
        learning_experiences=int(one.get("learning_experiences") or 0),
        evaluation_experiences=int(one.get("evaluation_experiences") or 0),
        notes=tuple(one.get("notes", ())),
        not_learned=tuple(one.get("not_learned", ())),
        bounds=_bounds(one.get("bounds")),
        protocol=one.get("protocol"),
        complete=_word(one.get("complete"), (True, False), "complete", path, where=where),
        digest=str(one.get("digest") or ""),
    )


def _bounds(stated: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    return {task: (float(pair["min"]), float(pair["max"])) for task, pair in (stated or {}).items()}


def _block(path: Path, lifetime: str, one: Mapping[str, Any]) -> BlockSummary:
    number = int(one["block"])
    where = f"{lifetime}: block {number}"
    _refuse_unknown(path, where, one, json_keys(BlockSummary))
    kind = _word(one["mode"] or "", _MODES, "mode", path, where=where)
    subtype = _word(one["subtype"] or "", _SUBTYPES, "subtype", path, where=where)
    return BlockSummary(
        number,
        Block(kind, str(one["task"]), one["length"], {}, subtype, int(one["group"])),
        one["mean"],
        one["terminal"],
        one["saturation"],
        one["experiences_to_saturation"],
        one.get("squares"),
        one.get("lagged"),
        one.get("dormant_units"),
    )


def _l2metrics_life(path: Path, at: int, one: Mapping[str, Any]) -> Score:
    """One object of l2metrics' JSON; NaN and null are missing."""
    name = str(one.get("run_id") or f"{path.stem} {at}")
    ranges = one.get("normalization_data_range")
    return Score(
        identity=Identity(
            id=name,
            learner=one.get("agent_config") or None,
            scenario_type=one.get("scenario_type") or None,
            tasks=tuple(sorted(ranges)) if isinstance(ranges, Mapping) else (),
            measure=one.get("metrics_column") or None,
            source=f"{path}, object {at}",
            argument=str(path),
            holder=path.stem,
        ),
        metrics={
            ours: _measured(_number(path, name, theirs, one[theirs]), path)
            for theirs, ours in _their_names().items()
            if theirs in one
        },
        preset=L2METRICS_31,
        learning_experiences=int(one.get("num_lx") or 0),
        evaluation_experiences=int(one.get("num_ex") or 0),
    )


def _written_bar(path: Path, name: str, facts: Mapping[str, Any]) -> Threshold:
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


def _from_table(path: Path, text: str) -> tuple[Score, ...]:
    found = [(line, [cell.strip() for cell in row]) for line, row in records(text, _SEPARATORS[path.suffix])]
    (_, names), *lines = [(line, row) for line, row in found if any(row)] or [(1, [])]
    name_column = next((one for one in ("lifetime", "run_id") if one in names), None)
    if name_column is None:
        raise PerdureError(
            f"no column 'lifetime' or 'run_id' (found: {', '.join(names) or 'nothing'})", "name lifetimes", file=path
        )
    theirs = name_column == "run_id"
    how = "" if theirs else _settings_beside(path)
    metrics = [one for one in names if one not in _DESCRIBING and (not theirs or one in _their_names())]
    for line, row in lines:
        if len(row) != len(names):
            raise PerdureError(
                f"{len(row)} cells under {len(names)} headings", "give every row as many", file=path, line=line
            )
    return tuple(_row(path, line, dict(zip(names, row, strict=True)), metrics, how) for line, row in lines)


def _row(path: Path, number: int, row: Mapping[str, str], metrics: Sequence[str], how: str) -> Score:
    theirs = "run_id" in row
    seed = row.get("seed", "")
    complete = _word(row.get("complete", "").lower() or None, [*_COMPLETE], "complete", path, line=number)
    _refuse_other_edition(path, row.get("definitions") or DEFINITIONS, number)
    values = {_their_names().get(one, one) if theirs else one: _cell(path, number, one, row[one]) for one in metrics}
    try:
        bounds = _bounds(parse_json(row.get("bounds") or "{}"))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        fix = 'expected {"task": {"min": 0, "max": 1}}, or nothing'
        raise PerdureError(f"bounds is {row['bounds']!r}", fix, file=path, line=number) from problem
    return Score(
        identity=Identity(
            id=row["run_id" if theirs else "lifetime"],
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
        preset=L2METRICS_31 if theirs else row.get("preset") or STANDARD,
        how=how,
        not_learned=_tasks(row.get("not_learned")),
        bounds=bounds,
        protocol={"name": row.get("protocol"), "learner_digest": row["learner_digest"]}
        if row.get("learner_digest")
        else row.get("protocol") or None,
        complete=_COMPLETE.get(complete),
    )


def _tasks(cell: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (cell or "").split(AND_THEN)))


def _settings_beside(table: Path) -> str:
    """How a table that `perdure score --out` wrote was scored: the file beside it says."""
    file = table.with_name(FILES[2])
    if table.name != FILES[4] or not file.is_file():
        return ""
    try:
        found = parse_json(read_bytes(file, HEADER_LIMIT))
        if not isinstance(found, dict):
            raise TypeError(f"it holds a {type(found).__name__}, not an object")
        _verify(file, found)
    except (OSError, ValueError, TypeError) as problem:
        raise PerdureError(
            f"cannot be read as the settings of {table.name} ({problem})", "write both again", file=file
        ) from problem
    _refuse_unknown(file, "", found, setting_keys())
    return deciding({name: value for name, value in found.items() if name != "preset"})


def _cell(path: Path, number: int, column: str, text: str) -> float | None:
    """A table's cell as a value; blanks and NaN are missing, anything else that is not finite is refused."""
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
