"""A custom reader: JSON lines such as {"env": "Pong", "mode": "train", "return": 1.5}, one per episode."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from perdure import Lifetime, LogError
from perdure.log import STANDARD_COLUMNS, Options, in_order


class JsonLines:
    name = "json-lines"
    summary = "a .jsonl file with one object per episode: env, mode (train or test), return"

    def recognises(self, path: Path) -> bool:
        """Return whether the path has the suffix. `read` checks the content."""
        return path.is_file() and path.suffix == ".jsonl"

    def read(self, path: Path, options: Options) -> Lifetime:
        """Return one row per line. An error names the line."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise LogError(f"{path}: cannot be read: {problem}") from problem
        rows = [self._row(f"{path}:{number}", line) for number, line in enumerate(lines, 1)]
        if not rows:
            raise LogError(f"{path}: no episodes; expected one JSON object per line")
        frame = pl.DataFrame(rows, ["task_name", "block_type", "return"], orient="row")
        frame = frame.with_columns(
            pl.struct("block_type", "task_name").rle_id().cast(pl.Int64).alias("block_num"),
            pl.int_range(pl.len(), dtype=pl.Int64).alias("exp_num"),
            pl.lit("worker-default").alias("worker_id"),
            pl.lit("wake").alias("block_subtype"),
            pl.lit("{}").alias("task_params"),
            pl.lit("complete").alias("exp_status"),
            pl.lit(None).alias("timestamp"),
        )
        standard = (pl.col(name).cast(kind) for name, kind in STANDARD_COLUMNS.items())
        measures = options.measures or {"return": "higher"}
        return Lifetime(path.stem, in_order(frame.select(*standard, *measures)), measures, path=path)

    def _row(self, where: str, line: str) -> tuple[str, str, float]:
        try:
            record = json.loads(line)
            task, mode, value = str(record["env"]).lower(), record["mode"], float(record["return"])
        except (ValueError, KeyError, TypeError) as problem:
            raise LogError(f"{where}: expected env, mode and return, found {line[:60]!r}") from problem
        if mode not in ("train", "test"):
            raise LogError(f"{where}: mode is {mode!r}; expected train or test")
        return task, mode, value


READER = JsonLines()
