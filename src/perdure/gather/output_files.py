"""The five files that `perdure score --out` writes, which follow those of l2metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perdure import files
from perdure.gather.model import Survey
from perdure.lazy import pl
from perdure.log.read import refuse_overwriting
from perdure.log.write.export import without_formulas
from perdure.metrics.score import DEFINITIONS, DORMANT
from perdure.results import to_plain, with_checksum

FILES = ("metrics.json", "blocks.tsv", "settings.json", "data.arrow", "lifetimes.tsv")

SEPARATOR = "→"
"""Separator of the tasks in one cell."""

_BLOCK_COLUMNS: Mapping[str, str] = {
    "lifetime": "String",
    "block": "Int64",
    "group": "Int64",
    "mode": "String",
    "subtype": "String",
    "task": "String",
    "length": "Int64",
    "mean": "Float64",
    "terminal": "Float64",
    "saturation": "Float64",
    "experiences_to_saturation": "Int64",
    DORMANT: "Float64",
}
_DATA_COLUMNS: Mapping[str, str] = {
    "lifetime": "String",
    "block": "Int64",
    "experience": "Int64",
    "mode": "String",
    "subtype": "String",
    "task": "String",
    "measured": "Float64",
    "scaled": "Float64",
    "prepared": "Float64",
}


def _schema(columns: Mapping[str, str]) -> dict[str, pl.DataType]:
    return {name: getattr(pl, kind)() for name, kind in columns.items()}


def block_table(survey: Survey) -> pl.DataFrame:
    """Return one row per block of every lifetime, with dormant units if a learner logs them."""
    rows = [{"lifetime": score.id, **to_plain(block)} for score in survey.scores for block in score.blocks]
    table = pl.DataFrame(rows, schema=_schema(_BLOCK_COLUMNS))
    return table.drop(DORMANT) if table[DORMANT].is_null().all() else table


def lifetime_table(survey: Survey) -> pl.DataFrame:
    """Return one row per lifetime: its identity, and the value of each metric, empty if it has no value."""
    rows: list[dict[str, Any]] = [
        {
            "lifetime": score.id,
            "identity": score.identity.recorded,
            "learner": score.learner,
            "scenario_type": score.scenario_type,
            "protocol": score.protocol_name,
            "learner_digest": score.learner_digest,
            "seed": score.seed,
            "complete": score.complete,
            "order": SEPARATOR.join(score.order),
            "not_learned": SEPARATOR.join(score.not_learned),
            "measure": score.measure,
            "unit": score.identity.unit,
            "direction": score.identity.direction,
            "bounds": json.dumps(to_plain(score.named_bounds)),
            "ranges": json.dumps(to_plain(score.named_ranges)),
            "variants": score.identity.variants,
            "tasks": SEPARATOR.join(score.tasks),
            "preset": score.preset,
            "definitions": DEFINITIONS,
            "learning_experiences": score.learning_experiences,
            "evaluation_experiences": score.evaluation_experiences,
            "dropped_rows": score.dropped_rows,
            **{name: score.metrics[name].value if name in score.metrics else None for name in survey.bars},
        }
        for score in survey.scores
    ]
    text_columns = ("identity", "unit", "learner", "scenario_type", "protocol", "learner_digest")
    kinds: dict[str, pl.DataType] = {
        "seed": pl.Int64(),
        "complete": pl.Boolean(),
        **dict.fromkeys(text_columns, pl.String()),
    }
    return pl.DataFrame(
        rows, schema_overrides=kinds | dict.fromkeys(survey.bars, pl.Float64()), infer_schema_length=None
    )


def write_outputs(survey: Survey, folder: Path, *, for_spreadsheets: bool = False) -> tuple[Path, ...]:
    """Write the five files into `folder`, which is created, and replace files of these names."""
    data = [
        lifetime.seen.with_columns(pl.lit(lifetime.id).alias("lifetime"))
        for lifetime in survey.lifetimes
        if isinstance(lifetime.seen, pl.DataFrame)
    ]
    targets = tuple(folder / name for name in FILES)
    for target in targets:
        refuse_overwriting(target)
    blocks, lifetimes = block_table(survey), lifetime_table(survey)
    if for_spreadsheets:
        blocks, lifetimes = without_formulas(blocks), without_formulas(lifetimes)
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _write_json(survey.as_json(), targets[0])
        blocks.write_csv(targets[1], separator="\t")
        _write_json(with_checksum({"preset": survey.preset, **survey.settings}), targets[2])
        (pl.concat(data) if data else pl.DataFrame(schema=_schema(_DATA_COLUMNS))).write_ipc(targets[3])
        lifetimes.write_csv(targets[4], separator="\t")
    return targets


def _write_json(facts: Any, target: Path) -> None:
    files.deliver(target, f"{json.dumps(facts, ensure_ascii=False, allow_nan=False, indent=2)}\n".encode())
