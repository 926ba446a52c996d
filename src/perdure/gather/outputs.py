"""The five files that `perdure score --out` writes, as l2metrics' users are used to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perdure import files
from perdure.errors import PerdureError
from perdure.gather.model import Survey
from perdure.lazy import pl
from perdure.log.read import refuse_overwriting
from perdure.log.write.export import without_formulas
from perdure.metrics.score import DEFINITIONS, DORMANT
from perdure.results import sealed, to_plain

FILES = ("metrics.json", "blocks.tsv", "settings.json", "data.arrow", "lifetimes.tsv")

AND_THEN = "→"
"""Between the tasks of a list in one cell."""

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
    """One row per block of every lifetime; dormant units where a learner logs them."""
    rows = [{"lifetime": one.id, **to_plain(block)} for one in survey.scores for block in one.blocks]
    table = pl.DataFrame(rows, schema=_schema(_BLOCK_COLUMNS))
    return table.drop(DORMANT) if table[DORMANT].is_null().all() else table


def lifetime_table(survey: Survey) -> pl.DataFrame:
    """One row per lifetime: what it is, and the value of each metric, empty where there is none."""
    rows: list[dict[str, Any]] = [
        {
            "lifetime": one.id,
            "identity": one.identity.recorded or None,
            "learner": one.learner,
            "scenario_type": one.scenario_type,
            "protocol": one.protocol_name,
            "learner_digest": one.learner_digest,
            "seed": one.seed,
            "complete": one.complete,
            "order": AND_THEN.join(one.order),
            "not_learned": AND_THEN.join(one.not_learned),
            "measure": one.measure,
            "unit": one.identity.unit,
            "direction": one.identity.direction,
            "bounds": json.dumps(to_plain(one.named_bounds)),
            "variants": one.identity.variants,
            "tasks": AND_THEN.join(one.tasks),
            "preset": one.preset,
            "definitions": DEFINITIONS,
            "learning_experiences": one.learning_experiences,
            "evaluation_experiences": one.evaluation_experiences,
            "dropped_rows": one.dropped_rows,
            **{name: one.metrics[name].value if name in one.metrics else None for name in survey.bars},
        }
        for one in survey.scores
    ]
    texts = ("identity", "unit", "learner", "scenario_type", "protocol", "learner_digest")
    kinds: dict[str, pl.DataType] = {"seed": pl.Int64(), "complete": pl.Boolean(), **dict.fromkeys(texts, pl.String())}
    return pl.DataFrame(
        rows, schema_overrides=kinds | dict.fromkeys(survey.bars, pl.Float64()), infer_schema_length=None
    )


def write_outputs(survey: Survey, folder: Path, *, for_spreadsheets: bool = False) -> tuple[Path, ...]:
    """Write the five files into `folder`, which is made; what was there of these names is replaced."""
    data = [
        one.seen.with_columns(pl.lit(one.id).alias("lifetime"))
        for one in survey.lifetimes
        if isinstance(one.seen, pl.DataFrame)
    ]
    targets = tuple(folder / name for name in FILES)
    for target in targets:
        refuse_overwriting(target)
    blocks, lives = block_table(survey), lifetime_table(survey)
    if for_spreadsheets:
        blocks, lives = without_formulas(blocks), without_formulas(lives)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_json(survey.as_json(), targets[0])
        blocks.write_csv(targets[1], separator="\t")
        _write_json(sealed({"preset": survey.preset, **survey.settings}), targets[2])
        (pl.concat(data) if data else pl.DataFrame(schema=_schema(_DATA_COLUMNS))).write_ipc(targets[3])
        lives.write_csv(targets[4], separator="\t")
    except OSError as problem:
        raise PerdureError(
            f"cannot write there ({problem.strerror or problem})", "choose another place", file=folder
        ) from problem
    return targets


def _write_json(facts: Any, target: Path) -> None:
    files.deliver(target, f"{json.dumps(facts, ensure_ascii=False, allow_nan=False, indent=2)}\n".encode())
