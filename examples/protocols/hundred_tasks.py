"""Learn a hundred tasks in a row, and measure whether the last ones are learned as well as the first.

The tasks are ten digits with differently permuted pixels (Goodfellow et al. 2013). After each task all tasks learned
so far are evaluated. `python examples/protocols/hundred_tasks.py runs/hundred`
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import perdure

METRICS = ("plasticity", "average_accuracy", "learning_accuracy", "bwt", "libero_nbt", "libero_auc")


def syllabus(tasks: int = 100, learn: int = 30, evaluate: int = 1) -> dict[str, Any]:
    """Return a syllabus that learns each task once, and then evaluates all tasks learned so far."""

    def episodes(task: int, count: int) -> dict[str, Any]:
        name = f"p{task:03d}"
        return {"$repeat": {"$episode": "digits", "$variant": name, "permutation": task}, "count": count}

    instructions: list[Any] = []
    for task in range(1, tasks + 1):
        instructions += [{"$phase": f"{task}.train"}, episodes(task, learn), {"$phase": f"{task}.test"}]
        instructions += [
            {"$info": {"disable_updates": True}},
            *(episodes(learned, evaluate) for learned in range(1, task + 1)),
            {"$info": {}},
        ]
    return {"name": "hundred-tasks", "tasks": {"digits": {"bounds": [0, 1]}}, "instructions": instructions}


def protocol(learner: str = "naive", **lengths: int) -> dict[str, Any]:
    """Return a protocol of one lifetime and one expert per task."""
    scenarios = [{"syllabus": syllabus(**lengths)}]
    counts = {"lifetimes": 1, "experts": 1}
    return {"name": "hundred-tasks", "seed": 1, **counts, "learner": {"use": learner}, "scenarios": scenarios}


def main(into: Path, **lengths: int) -> None:
    """Run the protocol and print the scores."""
    perdure.run(protocol("naive", **lengths), into, score=False)
    (score,) = perdure.survey(into, settings=perdure.Settings(metrics=METRICS)).scores
    for name, metric in score.metrics.items():
        print(f"{name:20}", metric.why if metric.value is None else f"{metric.value:.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/hundred-tasks"))
