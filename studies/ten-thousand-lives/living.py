"""Run thousands of lifetimes of a protocol in memory with the batched engine; needs only JAX and NumPy.

`perdure run --engine batched` stores every record and every state. Here records go straight to the summaries, so that
10 000 lifetimes need no disk. Seeds, programs and chunk size are those of the engine, so the lifetimes equal those of a
run folder.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perdure.batched.devices import compiled, prepare_devices
from perdure.runner.plan import Job, RunPlan
from perdure.runner.protocol import Protocol

__all__ = ["Lived", "live_all"]


@dataclass(frozen=True)
class Lived:
    """Lifetimes of one layout in the order of the plan: their task orders and their records."""

    order: np.ndarray
    """Lives × learning blocks: the number of the task, in the order in which evaluations show them."""
    learned: np.ndarray
    """Lives × learning blocks × experiences."""
    evaluated: np.ndarray
    """Lives × evaluations of all tasks × tasks × experiences."""
    sound: np.ndarray
    """Whether the weights of each lifetime stayed finite."""


def live_all(protocol: Protocol, size: int) -> tuple[dict[str, Lived], np.ndarray, dict[str, float]]:
    """Return lifetimes by layout, the experts' values (tasks × experts × experiences), and the seconds by stage."""
    prepare_devices()
    start = time.monotonic()
    from perdure.batched.program import Program

    plan = RunPlan(protocol)
    program = Program(plan)
    seconds = {"plan": 0.0, "compile": 0.0, "live": 0.0}
    layouts = {
        scenario.name: [job for job in plan.lives if job.scenario == scenario.name] for scenario in protocol.scenarios
    }
    tasks = _shown(plan.lives[0])
    by_task: dict[str, list[Job]] = {task: [] for task in tasks}
    for job in plan.experts:
        by_task[job.syllabus.scenario.blocks[0].task].append(job)
    seconds["plan"] = time.monotonic() - start
    lives = {name: _lived(program, several, size, seconds) for name, several in layouts.items()}
    experts = _lived(program, [job for several in by_task.values() for job in several], size, seconds).learned
    return lives, experts.reshape(len(tasks), -1, experts.shape[-1]), seconds


def _shown(job: Job) -> list[str]:
    """Return the tasks in the order of the evaluations."""
    return list(dict.fromkeys(block.task for block in job.syllabus.scenario.blocks if block.mode == "evaluate"))


def _lived(program: Any, jobs: Sequence[Job], size: int, seconds: dict[str, float]) -> Lived:
    parts = [_chunk(program, jobs[start : start + size], size, seconds) for start in range(0, len(jobs), size)]
    return Lived(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _chunk(program: Any, jobs: Sequence[Job], size: int, seconds: dict[str, float]) -> tuple[np.ndarray, ...]:
    """Run lifetimes of one kind, padded to `size`, block by block."""
    import jax

    from perdure.batched.block import begin_lives, block_of, unsound
    from perdure.batched.program import is_learned

    def ready(kind: bool | str, made: Any, *arguments: Any) -> Any:
        if kind not in program.ready:
            start = time.monotonic()
            donated = (0,) if kind is True else ()
            program.ready[kind] = compiled(jax.jit(made, donate_argnums=donated).lower(*arguments))
            seconds["compile"] += time.monotonic() - start
        return program.ready[kind]

    blocks = jobs[0].syllabus.scenario.blocks
    evaluated_tasks = _shown(jobs[0]) or list(program.tasks)
    lives = len(jobs)
    keys = jax.device_put(program.keys(jobs, size))
    learnt = ready("begin", begin_lives(program.learner), keys)(keys)
    order, learned, evaluated = [], [], []
    limit = program.plan.protocol.limits.steps_per_episode
    for index, block in enumerate(blocks):
        learning = is_learned(jobs[0], index)
        spec = jax.device_put(program.spec(jobs, index, size))
        run_block = block_of(program.learner, program.switch, program.longest[learning], limit, learning)
        step = ready(learning, run_block, learnt, spec)
        start = time.monotonic()
        if learning:
            learnt, records = step(learnt, spec)
            order.append([evaluated_tasks.index(job.syllabus.scenario.blocks[index].task) for job in jobs])
        else:
            records = step(learnt, spec)
            assert all(job.syllabus.scenario.blocks[index].task == block.task for job in jobs), (
                "evaluations differ in order"
            )
        name = "accuracy" if program.switch.first.is_batches else "reward"
        values = np.asarray(records[name])[:lives, : block.length]
        (learned if learning else evaluated).append(values)
        seconds["live"] += time.monotonic() - start
    bad = np.asarray(ready("look", unsound, learnt)(learnt))[:lives]
    stacked = np.stack(evaluated, axis=1) if evaluated else np.zeros((lives, 0, 1), np.float32)
    shape = (lives, -1 if evaluated else 0, len(evaluated_tasks), stacked.shape[2])
    return np.array(order, dtype=np.int8).T, np.stack(learned, axis=1), stacked.reshape(shape), ~bad
