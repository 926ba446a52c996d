"""Where scored lifetimes come from: scores made here, score JSONs, and tables of metrics."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perdure.errors import PerdureError
from perdure.log.matrix import looks_like_matrix
from perdure.metrics.declare import Metric
from perdure.metrics.load import chosen
from perdure.metrics.many import Scores
from perdure.metrics.outputs import AND_THEN, FILES
from perdure.metrics.presets import PRESETS
from perdure.metrics.score import Score, protocol_name
from perdure.stats.model import Array, Bar, Pool, ScoredLife

__all__ = ["bar_of", "is_score_file", "pool_of", "read_score_file", "task_values"]

# Column names of l2metrics' ll_metrics.tsv, and what the same numbers are called here.
L2METRICS_COLUMNS: Mapping[str, str] = {
    "perf_maintenance_mrlep": "performance_maintenance",
    "perf_maintenance_mrtlp": "performance_maintenance_terminal",
    "forward_transfer_ratio": "forward_transfer",
    "forward_transfer_contrast": "forward_transfer_contrast",
    "backward_transfer_ratio": "backward_transfer",
    "backward_transfer_contrast": "backward_transfer_contrast",
    "ste_rel_perf": "relative_performance",
    "sample_efficiency": "sample_efficiency",
    "perf_recovery": "performance_recovery",
}
_DESCRIBING = frozenset(
    {
        "lifetime", "run_id", "learner", "agent_config", "scenario_type", "protocol", "seed", "measure",
        "metrics_column", "preset", "sg_name", "complexity", "difficulty", "min", "max", "num_lx", "num_ex",
        "runtime", "learning_experiences", "evaluation_experiences", "dropped_rows", "recorded_id", "complete", "order",
        "not_learned",
    }
)  # fmt: skip
_NOT_DECIDING = frozenset({"experts", "metrics", "margins", "learned", "measure", "group"})  # may differ in a pool


def bar_of(metric: Metric) -> Bar:
    """What a declared metric is held against."""
    return Bar(metric.threshold, metric.margin, metric.better, metric.inclusive)


def pool_of(scores: Scores, name: str = "") -> Pool:
    """Scores as statistics takes them."""
    settings = _settings_text(scores.settings)
    return Pool(
        name,
        tuple(_life(one, settings) for one in scores.lifetimes),
        {key: bar_of(metric) for key, metric in scores.metrics.items()},
        scores.left_out,
        guarded=bool(scores.settings.get("learned")),
    )


def task_values(scores: Scores, metric: str) -> dict[str, Array]:
    """Task, or pair of tasks → the values of `metric` there, one per lifetime that has any (its mean).

    What the robust summaries take: `stratified_bootstrap(list(task_values(…).values()), …)`.
    """
    found: dict[str, list[float]] = {}
    for one in scores.lifetimes:
        if metric in one.metrics:
            for key, values in one.metrics[metric].by.items():
                if values:
                    found.setdefault(key, []).append(float(np.mean(values)))
    return {key: np.array(values) for key, values in found.items()}


def _life(score: Score, settings: str) -> ScoredLife:
    return ScoredLife(
        id=score.id,
        values={name: one.value for name, one in score.metrics.items()},
        why={name: one.why for name, one in score.metrics.items() if one.why},
        preset=score.preset,
        measure=score.measure,
        learner=score.learner,
        scenario_type=score.scenario_type,
        protocol=score.protocol_name,
        seed=score.seed,
        order=score.order,
        complete=score.complete,
        not_learned=score.not_learned,
        settings=settings,
        source=score.path or score.id,
        identity=score.recorded_id,
    )


def _settings_text(settings: Mapping[str, Any]) -> str:
    deciding = {name: value for name, value in settings.items() if name not in _NOT_DECIDING}
    return json.dumps(deciding, sort_keys=True, default=str)


# --- files ---------------------------------------------------------------------------------------


def is_score_file(path: Path) -> bool:
    """Whether `path` holds scores rather than a log: a JSON of `perdure score`, or a table of metrics."""
    if not path.is_file():
        return False
    if path.suffix == ".json":
        return not looks_like_matrix(path)
    if path.suffix not in (".tsv", ".csv"):
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        header = _cells(file.readline(), path)
    return bool({"lifetime", "run_id"} & set(header))


def read_score_file(path: Path, files: Sequence[str] = (), margins: Mapping[str, float] | None = None) -> Pool:
    """The scored lifetimes of a JSON or a table; `files` declare the metrics that Perdure does not know."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise PerdureError(f"{path}: cannot be read as scores ({problem})") from problem
    lives, settings = _from_json(path, text) if path.suffix == ".json" else (_from_table(path, text), {})
    _refuse_twice(path, lives)
    names = dict.fromkeys(name for life in lives for name in life.values)
    presets = sorted({life.preset for life in lives})
    bars = _bars(
        names,
        presets[0] if presets else "standard",
        files,
        {**settings.get("margins", {}), **(margins or {})},
        settings.get("thresholds", {}),
    )
    left_out = tuple(
        (str(one.get("path")), str(one.get("why"))) for one in settings.get("left_out", ()) if isinstance(one, Mapping)
    )
    return Pool(path.stem, lives, bars, left_out, guarded=bool(settings.get("learned")))


def _refuse_twice(path: Path, lives: Sequence[ScoredLife]) -> None:
    seen: dict[str, ScoredLife] = {}
    for life in lives:
        if seen.setdefault(life.id, life) is not life:
            raise PerdureError(
                f"{path}: lifetime {life.id!r} is there twice ({seen[life.id].source} and {life.source}); "
                "a lifetime counts once, so give each a name of its own or leave the copy out"
            )


def _bars(
    names: Iterable[str],
    preset: str,
    files: Sequence[str],
    margins: Mapping[str, float],
    written: Mapping[str, Bar],
) -> dict[str, Bar]:
    """A bar for each name: as declared, else as `written` beside the scores; without either it gets no verdict."""
    declared: dict[str, Metric] = {}
    if preset in PRESETS.names():
        declared = chosen(PRESETS.get(preset), tuple(one for one in files if one.endswith(".py")), {})
    bars: dict[str, Bar] = {}
    for name in (*(one for one in declared if one in set(names)), *(one for one in names if one not in declared)):
        bar = bar_of(declared[name]) if name in declared else written.get(name, Bar())
        bars[name] = Bar(bar.threshold, margins.get(name, bar.margin), bar.better, bar.inclusive)
    return bars


def _from_json(path: Path, text: str) -> tuple[tuple[ScoredLife, ...], Mapping[str, Any]]:
    try:
        facts = json.loads(text)
        lifetimes = facts["lifetimes"]
        deciding = _settings_text(facts.get("settings", {}))
        settings = {
            **facts.get("settings", {}),
            "left_out": facts.get("left_out", ()),
            "thresholds": {name: _written_bar(path, name, one) for name, one in facts.get("thresholds", {}).items()},
        }
        lives = tuple(
            ScoredLife(
                id=str(one["id"]),
                values={name: _number(path, one["id"], name, each["value"]) for name, each in one["metrics"].items()},
                why={name: each["why"] for name, each in one["metrics"].items() if each.get("why")},
                preset=str(facts["preset"]),
                measure=one.get("measure"),
                learner=one.get("learner"),
                scenario_type=one.get("scenario_type"),
                protocol=protocol_name(one.get("protocol")),
                seed=one.get("seed"),
                order=tuple(block["task"] for block in one.get("blocks", ()) if block["mode"] == "learn"),
                complete=one.get("complete"),
                not_learned=tuple(one.get("not_learned", ())),
                settings=deciding,
                source=str(path),
                identity=str(one.get("recorded_id") or ""),
            )
            for one in lifetimes
        )
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as problem:
        raise PerdureError(
            f"{path}: not what `perdure score --json` writes ({type(problem).__name__}: {problem}); "
            "give a folder of logs, or the JSON of a score"
        ) from problem
    return lives, settings


def _written_bar(path: Path, name: str, facts: Mapping[str, Any]) -> Bar:
    where = f"the threshold of {name}"
    better, inclusive = facts.get("better", "higher"), facts.get("inclusive", False)
    if better not in ("higher", "lower") or not isinstance(inclusive, bool):
        raise PerdureError(f"{path}: {where} is {dict(facts)!r}; better is higher or lower, inclusive true or false")
    margin = _number(path, where, "margin", facts.get("margin", 0.0)) or 0.0
    return Bar(_number(path, where, "value", facts.get("threshold")), margin, better, inclusive)


def _from_table(path: Path, text: str) -> tuple[ScoredLife, ...]:
    lines = [line for line in text.splitlines() if line.strip()]
    header = _cells(lines[0], path) if lines else []
    name_column = next((one for one in ("lifetime", "run_id") if one in header), None)
    if name_column is None:
        raise PerdureError(f"{path}: no column 'lifetime' or 'run_id' (found: {', '.join(header) or 'nothing'})")
    theirs = name_column == "run_id"
    settings = "" if theirs else _settings_beside(path)
    metrics = [one for one in header if one not in _DESCRIBING and (not theirs or one in L2METRICS_COLUMNS)]
    lives: list[ScoredLife] = []
    for number, line in enumerate(lines[1:], start=2):
        cells = _cells(line, path)
        if len(cells) != len(header):
            raise PerdureError(f"{path}, line {number}: {len(cells)} cells under {len(header)} headings")
        row = dict(zip(header, cells, strict=True))
        ours = {one: L2METRICS_COLUMNS.get(one, one) if theirs else one for one in metrics}
        values = {ours[one]: _cell(path, number, one, row[one]) for one in metrics}
        seed = row.get("seed", "")
        lives.append(
            ScoredLife(
                id=row[name_column],
                values=values,
                why={name: f"blank in {path.name}" for name, value in values.items() if value is None},
                preset=row.get("preset") or ("l2metrics-3.1" if theirs else "standard"),
                measure=row.get("measure") or row.get("metrics_column") or None,
                learner=row.get("learner") or row.get("agent_config") or None,
                scenario_type=row.get("scenario_type") or None,
                protocol=row.get("protocol") or None,
                seed=int(seed) if seed.lstrip("-").isdigit() else None,
                order=tuple(filter(None, row.get("order", "").split(AND_THEN))),
                complete={"true": True, "false": False}.get(row.get("complete", "").lower()),
                not_learned=tuple(filter(None, row.get("not_learned", "").split(AND_THEN))),
                settings=settings,
                source=f"{path}, line {number}",
                identity=row.get("recorded_id", ""),
            )
        )
    return tuple(lives)


def _settings_beside(table: Path) -> str:
    """How a table that `perdure score --out` wrote was scored: the file beside it says."""
    file = table.with_name(FILES[2])
    if table.name != FILES[4] or not file.is_file():
        return ""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise PerdureError(f"{file}: cannot be read as the settings of {table.name} ({problem})") from problem
    return _settings_text({name: value for name, value in found.items() if name != "preset"})


def _cells(line: str, path: Path) -> list[str]:
    import csv

    return [cell.strip() for cell in next(csv.reader([line], delimiter="," if path.suffix == ".csv" else "\t"), [])]


def _cell(path: Path, number: int, column: str, text: str) -> float | None:
    """A table's cell as a value; blanks and NaN are missing, anything else that is not finite is refused."""
    if text.lower() in ("", "nan", "na", "null", "none"):
        return None
    try:
        return _number(path, f"line {number}", column, float(text))
    except ValueError:
        raise PerdureError(f"{path}, line {number}: {column} is {text!r}, not a number") from None


def _number(path: Path, where: Any, name: str, value: Any) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        raise PerdureError(f"{path}: {name} of {where} is {value!r}; expected a finite number, or null")
    return float(value)
