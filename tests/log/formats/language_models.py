"""Results of language-model evaluations, written as lm-evaluation-harness 0.4 and inspect_ai write them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Items = Sequence[float]
"""The score of each item of a task."""

BASE = "meta-llama/Llama-3.2-1B"
STAGES: Mapping[str, Mapping[str, Items]] = {
    BASE: {
        "gsm8k": [0, 0, 0, 1] * 10,
        "mbpp": [0, 1, 0, 0] * 10,
        "hellaswag": [1, 1, 1, 0] * 10,
    },
    "ckpt/llama-gsm8k": {
        "gsm8k": [1, 1, 0, 1] * 10,
        "mbpp": [0, 1, 0, 0] * 10,
        "hellaswag": [1, 1, 0, 0] * 10,
    },
    "ckpt/llama-mbpp": {
        "gsm8k": [1, 0, 0, 1] * 10,
        "mbpp": [1, 1, 0, 1] * 10,
        "hellaswag": [1, 0, 0, 0] * 10,
    },
}
"""Model of each stage → task → its items."""
NUMBERED = ("0-base", "1-gsm8k", "2-mbpp")
SCORES = {"gsm8k": "exact_match", "mbpp": "pass_at_1", "hellaswag": "acc_norm"}
FILTERS = {"exact_match": ("strict-match", "flexible-extract"), "pass_at_1": ("create_test",), "acc_norm": ("none",)}


def date_of(day: int) -> str:
    return f"2026-01-{day:02}T10-00-00.123456"


def standard_error(items: Items) -> float:
    mean = sum(items) / len(items)
    return float((sum((item - mean) ** 2 for item in items) / (len(items) - 1) / len(items)) ** 0.5)


def write_harness(output_path: Path, model: str, day: int, tasks: Mapping[str, Items], *, samples: bool = True) -> Path:
    """Write what `lm_eval --output_path OUTPUT_PATH --log_samples` writes; return the folder of the model."""
    folder = output_path / model.replace("/", "__")
    folder.mkdir(parents=True, exist_ok=True)
    date = date_of(day)
    results: dict[str, dict[str, Any]] = {}
    for task, items in tasks.items():
        metric = SCORES.get(task, "acc")
        results[task] = {"alias": task}
        for filtered in FILTERS.get(metric, ("none",)):
            results[task][f"{metric},{filtered}"] = sum(items) / len(items)
            results[task][f"{metric}_stderr,{filtered}"] = standard_error(items)
        rows = [
            {
                "doc_id": number,
                "doc": {"question": f"{task} {number}?"},
                "target": "4",
                "arguments": {"gen_args_0": {"arg_0": "2 + 2 =", "arg_1": {"until": []}}},
                "resps": [["4"]],
                "filtered_resps": ["4"],
                "filter": filtered,
                "metrics": [metric],
                "doc_hash": f"{task}{number}",
                "prompt_hash": "p",
                "target_hash": "t",
                metric: float(item),
            }
            for filtered in FILTERS.get(metric, ("none",))
            for number, item in enumerate(items)
        ]
        if samples:
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"samples_{task}_{date}.jsonl").write_text(lines)
    message = {
        "results": results,
        "group_subtasks": {task: [] for task in tasks},
        "configs": {task: {"task": task} for task in tasks},
        "versions": dict.fromkeys(tasks, 1.0),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {task: {SCORES.get(task, "acc"): True} for task in tasks},
        "n-samples": {task: {"original": len(items), "effective": len(items)} for task, items in tasks.items()},
        "config": {"model": "hf", "model_args": f"pretrained={model}"},
        "date": 1767261600.0 + 86400 * day,
        "lm_eval_version": "0.4.8",
        "model_source": "hf",
        "model_name": model,
        "model_name_sanitized": model.replace("/", "__"),
    }
    (folder / f"results_{date}.json").write_text(json.dumps(message))
    return folder


def write_models(place: Path, *, samples: bool = True) -> Path:
    """Write the folder of one `--output_path`, with a folder for each model."""
    for day, (model, tasks) in enumerate(STAGES.items(), start=1):
        write_harness(place, model, day, tasks, samples=samples)
    return place


def write_numbered(place: Path, *, samples: bool = True) -> Path:
    """Write a folder `NUMBER-TASK` for each stage."""
    for day, (name, (model, tasks)) in enumerate(zip(NUMBERED, STAGES.items(), strict=True), start=1):
        write_harness(place / name, model, day, tasks, samples=samples)
    return place


def write_inspect(folder: Path, model: str, day: int, tasks: Mapping[str, Items], *, packed: bool = False) -> None:
    """Write what `inspect eval` writes: one log per task, as JSON or in a zip."""
    folder.mkdir(parents=True, exist_ok=True)
    grade = {0: "I", 1: "C"}
    for task, items in tasks.items():
        samples = [
            {"id": number, "epoch": 1, "scores": {"match": {"value": grade[int(item)]}}}
            for number, item in enumerate(items)
        ]
        error = standard_error(items)
        metrics = {"accuracy": {"value": sum(items) / len(items)}, "stderr": {"value": error}}
        header = {
            "version": 2,
            "status": "success",
            "eval": {
                "created": f"2026-01-{day:02}T10:00:00+00:00",
                "task": f"inspect_evals/{task}",
                "model": model,
                "dataset": {"samples": len(items), "sample_ids": list(range(len(items)))},
            },
            "results": {"total_samples": len(items), "scores": [{"name": "match", "metrics": metrics}]},
        }
        name = f"2026-01-{day:02}T10-00-00+00-00_{task}_x"
        if packed:
            with zipfile.ZipFile(folder / f"{name}.eval", "w") as file:
                file.writestr("header.json", json.dumps(header))
                file.writestr("summaries.json", json.dumps(samples))
        else:
            (folder / f"{name}.json").write_text(json.dumps({**header, "samples": samples}))
