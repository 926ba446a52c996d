"""Parts that the tests of the documents share: lifetimes written line by line, and formulas in plain Python.

No number here comes from Perdure: `write_log` and `write_tree` write files as the 2019 framework and its successors do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.command import run_command

__all__ = [
    "BLOCKS",
    "Values",
    "contrast",
    "document",
    "listings",
    "mean",
    "output_of",
    "percentile",
    "run_json",
    "scaled",
    "slope",
    "smoothed",
    "terminal",
    "theil_sen",
    "write_log",
    "write_tree",
]

Values = list[float]
BLOCKS = Sequence[tuple[str, str, Sequence[float]]]
"""Mode, task, values."""
_SEEDS = Path(__file__).parents[2].parent / "shared" / "seeds"
_COLUMNS = (
    *("block_num", "exp_num", "worker_id", "block_type", "block_subtype"),
    *("task_name", "task_params", "exp_status", "timestamp"),
)


# --- the documents -------------------------------------------------------------------------------


def document(number: int) -> str:
    """Return the text of a document; skip the test if the checkout has none."""
    result = sorted(_SEEDS.glob(f"{number:03}_*.txt")) if _SEEDS.is_dir() else []
    if not result:
        pytest.skip("the documents are not next to this checkout")
    return result[0].read_text(encoding="utf-8")


def listings(number: int) -> list[str]:
    """Return every listing that a document prints between three backticks."""
    return re.findall(r"```(?:\w*)\n(.*?)```", document(number), re.DOTALL)


# --- lifetimes ---------------------------------------------------------------------------------------


def write_log(
    folder: Path,
    name: str,
    blocks: BLOCKS,
    *,
    params: Sequence[Mapping[str, Any]] = (),
    seconds: float = 1.0,
    measure: str = "reward",
    **manifest: Any,
) -> Path:
    """Write a lifetime in L2Logger's form: one block after the other, an experience each `seconds`."""
    path, at, number = folder / name, datetime(2022, 1, 21), 0
    path.mkdir(parents=True)
    (path / "logger_info.json").write_text(json.dumps({"metrics_columns": [measure], "log_format_version": "1.1"}))
    (path / "scenario_info.json").write_text(json.dumps(manifest.pop("info", {})))
    if manifest:
        (path / "manifest.json").write_text(json.dumps({"id": name, "measures": {measure: "higher"}, **manifest}))
    for block, (mode, task, values) in enumerate(blocks):
        lines = ["\t".join([*_COLUMNS, measure])]
        parameters = json.dumps(params[block] if params else {}).replace('"', '""')
        for value in values:
            stamp = at.strftime("%Y%m%dT%H%M%S.%f")
            lines.append(f'{block}\t{number}\tw\t{mode}\twake\t{task}\t"{parameters}"\tcomplete\t{stamp}\t{value}')
            number, at = number + 1, at + timedelta(seconds=seconds)
        file = path / "w" / f"{block}-{mode}" / "data-log.tsv"
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(lines) + "\n")
    return path


def write_tree(
    data: Path,
    name: str,
    blocks: Sequence[tuple[str, str, Mapping[str, Any], Sequence[float]]],
    column: str = "reward",
    sub_episodes: int = 1,
) -> str:
    """Write a learnkit log, `<worker>/<phase>/<task>/` (2019, §1.1), with the columns of the draft's Fig. 1.3."""
    names = list(dict.fromkeys(key for *_, params, _ in blocks for key in params))
    head = ["timestamp", "class_name", "phase", "worker", "block", "task", "sub_task", "termination_status"]
    episode = 0
    rows: dict[tuple[str, str], list[str]] = {}
    for block, (phase, task, params, values) in enumerate(blocks):
        for value in values:
            episode += 1
            for sub in range(sub_episodes):
                # Sub-episodes are symmetric around the episode's value, which is their mean.
                apart = sub - (sub_episodes - 1) / 2
                cells = ["20191028T151844.716742", task, phase, 0, block, episode, sub, "DONE", value + apart]
                line = [*cells, *(params.get(key, "") for key in names)]
                rows.setdefault((phase, task), ["\t".join([*head, column, *names])]).append("\t".join(map(str, line)))
    for (phase, task), lines in rows.items():
        file = data / "logs" / name / "0" / phase / task / "data-log.tsv"
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(lines) + "\n")
    return name


# --- the command line ----------------------------------------------------------------------------


def output_of(*arguments: object, status: int = 0) -> str:
    """Return the output of `perdure …`."""
    done = run_command(*arguments)
    assert done.returncode == status, done.stderr + done.stdout
    return done.stdout


def run_json(*arguments: object, status: int = 0) -> Any:
    """Return the JSON of `perdure … --json -` as an object."""
    return json.loads(output_of(*arguments, "--json", "-", "--quiet", status=status))


# --- formulas of New et al. 2022 -----------------------------------------------------------------


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def contrast(after: float, before: float) -> float:
    """New et al. 2022, §3.3."""
    return (after - before) / (after + before)


def terminal(values: Sequence[float]) -> float:
    """New et al. 2022, §2.4: "averaging performance over the last 10% of the LXs in a Learning Block"."""
    return mean(values[9 * len(values) // 10 :])


def slope(values: Sequence[float]) -> float:
    """Return the slope of the least-squares line."""
    middle, level = (len(values) - 1) / 2, mean(values)
    above = sum((index - middle) * (value - level) for index, value in enumerate(values))
    return above / sum((index - middle) ** 2 for index in range(len(values)))


def theil_sen(values: Sequence[float]) -> float:
    """Return the median of the slopes between all pairs of points, as New et al. 2022, App. B.1 recommends."""
    return median((values[b] - values[a]) / (b - a) for b in range(len(values)) for a in range(b))


def smoothed(values: Sequence[float]) -> Values:
    """S000 App. A.1: a flat window of a fifth of the block, at most 100, as long as before.

    What the paper leaves open is as definitions §2 decide: centred, by halves where the window is even, nothing
    below three, edges reflected.
    """
    count = len(values)
    width = min(count // 5, 100)
    if width < 3:
        return list(values)
    half = width // 2
    weights = [1.0] * width if width % 2 else [0.5] + [1.0] * (width - 1) + [0.5]

    def at(index: int) -> float:
        index = abs(index)
        return values[index if index < count else 2 * (count - 1) - index]

    return [sum(w * at(here - half + k) for k, w in enumerate(weights)) / width for here in range(count)]


def percentile(values: Sequence[float], share: float) -> float:
    """Return the percentile with linear interpolation."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def scaled(values: Sequence[float], low: float, high: float) -> Values:
    """New et al. 2022, App. A.3: clamp, and scale from 1 to 101."""
    return [1 + 100 * (min(max(value, low), high) - low) / (high - low) for value in values]
