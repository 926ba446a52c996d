"""How fast is `perdure score`, end to end, beside l2metrics 3.1 on the same logs?

Each line is a fresh process: start-up, reading and scoring together. The peer runs in an
environment of its own, because it needs old versions of everything:

    python -m venv peer
    peer/bin/pip install l2metrics==3.1.0 l2logger==1.8.2 pandas==1.5.3 numpy==1.23.5 \
        matplotlib==3.6.3 seaborn==0.12.2 scipy==1.10.1 pyarrow==12.0.1
    python bench/score_speed.py --peer peer/bin/python

Without `--peer` only Perdure and Polars are measured. `--only` picks parts.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

TASKS = 4
EVALUATION = 20


def write_lifetime(
    folder: Path, learning: int, blocks: int, seed: int, tasks: Sequence[str], *, expert: bool = False
) -> Path:
    """A lifetime in L2Logger form: `blocks` learning blocks in turn, every task evaluated around each."""
    rng = np.random.default_rng(seed)
    per_block = learning // blocks
    (folder / "w0").mkdir(parents=True)
    (folder / "logger_info.json").write_text(json.dumps({"metrics_columns": ["reward"], "log_format_version": "1.1"}))
    (folder / "scenario_info.json").write_text(
        json.dumps({"complexity": "1-low", "difficulty": "1-easy", "scenario_type": "custom"})
    )
    number, experience = 0, 0
    skill = dict.fromkeys(tasks, 0.1)

    def write(kind: str, parts: list[tuple[str, np.ndarray]]) -> None:
        nonlocal number, experience
        rewards = np.concatenate([values for _, values in parts])
        names = np.repeat([task for task, _ in parts], [len(values) for _, values in parts])
        count = len(rewards)
        target = folder / "w0" / f"{number}-{kind}"
        target.mkdir()
        pl.DataFrame(
            {
                "block_num": np.full(count, number),
                "exp_num": np.arange(experience, experience + count),
                "worker_id": ["w0"] * count,
                "block_type": [kind] * count,
                "block_subtype": ["wake"] * count,
                "task_name": names,
                "task_params": ["{}"] * count,
                "exp_status": ["complete"] * count,
                "timestamp": ["20240101T000000.000000"] * count,
                "reward": rewards.round(6),
            }
        ).write_csv(target / "data-log.tsv", separator="\t")
        number += 1
        experience += count

    def evaluate() -> None:
        write("test", [(task, rng.normal(skill[task], 0.05, EVALUATION)) for task in tasks])

    if not expert:
        evaluate()
    for block in range(blocks):
        task = tasks[block % len(tasks)]
        after = min(1.0, skill[task] + 0.9 / max(1, blocks // len(tasks)))
        curve = np.linspace(skill[task], after, per_block)
        write("train", [(task, curve + rng.normal(0, 0.1, per_block))])
        skill[task] = after
        if not expert:
            evaluate()
    return folder


def timed(command: Sequence[str], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Seconds and peak memory (MB) of a fresh process."""
    script = (
        "import resource, subprocess, sys, time; t = time.perf_counter(); "
        "r = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE); "
        "print(time.perf_counter() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, r.returncode); "
        "sys.stderr.write(r.stderr.decode()[-600:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **(environment or {})},
    )
    seconds, memory, code = done.stdout.split()
    if int(code):
        raise SystemExit(f"{' '.join(command[:4])} … failed ({code}): {done.stderr}")
    return float(seconds), float(memory)


def best(measure: Callable[[], tuple[float, float]], times: int = 3) -> tuple[float, float]:
    """The fastest of several tries, and its memory."""
    return min(measure() for _ in range(times))


def perdure(life: Path, experts: Path, *options: str) -> list[str]:
    code = "from perdure.gather.survey import survey; import sys; survey([sys.argv[1]], [sys.argv[2]])"
    if options:
        return [sys.executable, "-c", code, str(life), str(experts)]
    return [sys.executable, "-m", "perdure", "score", str(life), "--experts", str(experts), "--quiet"]


def peer_command(peer: str, life: Path) -> list[str]:
    return [peer, "-m", "l2metrics", "-l", str(life), "-p", "reward", "--no-plot", "--no-save", "--no-save-settings"]


def store_experts(peer: str, experts: Path, environment: dict[str, str]) -> None:
    for expert in sorted(experts.iterdir()):
        timed([peer, "-m", "l2metrics", "-l", str(expert), "-p", "reward", "-s", "w"], environment)


def forget_cache(life: Path) -> None:
    for kept in life.rglob(".perdure/*"):
        kept.unlink()


SCAN = (
    "import polars as pl, sys, glob, time\n"
    "t, u = time.perf_counter(), time.process_time()\n"
    "files = sorted(glob.glob(sys.argv[1] + '/*/*/data-log.tsv') + glob.glob(sys.argv[2] + '/*/*/*/data-log.tsv'))\n"
    "pl.scan_csv(files, separator='\\t').select(pl.all()).collect()\n"
    "print(time.process_time() - u, time.perf_counter() - t)\n"
)
SCORE = (
    "import sys, time\n"
    "import perdure.gather.survey, perdure.metrics.engine.presets, perdure.log\n"
    "t, u = time.perf_counter(), time.process_time()\n"
    "perdure.gather.survey.survey([sys.argv[1]], [sys.argv[2]])\n"
    "print(time.process_time() - u, time.perf_counter() - t)\n"
)


def inside(script: str, *arguments: str, processor: bool = False) -> float:
    """The seconds that a script says it took, of the clock or of processors, its start-up apart."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-2 if processor else -1])


def compile_ours() -> None:
    """Byte code for our own modules, as pip made it for the peer's: an editable install has none at first."""
    import perdure

    compileall.compile_dir(Path(perdure.__file__).parent, quiet=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="the interpreter of an environment with l2metrics 3.1")
    parser.add_argument("--only", nargs="*", default=["small", "large", "huge", "scan", "blocks", "many"])
    chosen = parser.parse_args()
    compile_ours()
    tasks = [f"task{index}_1" for index in range(1, TASKS + 1)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        environment = {"L2DATA": str(root / "l2data")}
        experts = root / "experts"
        for index, task in enumerate(tasks):
            write_lifetime(experts / f"expert{index}", 25_000, 4, 100 + index, [task], expert=True)
        if chosen.peer:
            (root / "l2data").mkdir()
            store_experts(chosen.peer, experts, environment)
        for part in chosen.only:
            PARTS[part](root, experts, tasks, chosen.peer, environment)


def _against(
    root: Path,
    experts: Path,
    tasks: list[str],
    peer: str | None,
    environment: dict[str, str],
    learning: int,
    tries: int,
) -> None:
    life = write_lifetime(root / f"life{learning}", learning, 120, 1, tasks)

    def first() -> tuple[float, float]:
        forget_cache(life)
        forget_cache(experts)
        return timed(perdure(life, experts))

    ours, memory = best(first)
    again, _ = best(lambda: timed(perdure(life, experts)))
    line = (
        f"{learning:>10,} learning experiences, 120 blocks: perdure {ours:.2f} s, {memory:.0f} MB; again {again:.2f} s"
    )
    if peer:
        theirs, their_memory = best(lambda: timed(peer_command(peer, life), environment), tries)
        line += f"; l2metrics {theirs:.2f} s, {their_memory:.0f} MB"
        line += f": {theirs / ours:.1f} × as long, {their_memory / memory:.1f} × the memory"
    print(line, flush=True)


def _small(root: Path, experts: Path, tasks: list[str], peer: str | None, environment: dict[str, str]) -> None:
    _against(root, experts, tasks, peer, environment, 100_000, 3)


def _large(root: Path, experts: Path, tasks: list[str], peer: str | None, environment: dict[str, str]) -> None:
    _against(root, experts, tasks, peer, environment, 1_000_000, 1)


def _huge(root: Path, experts: Path, tasks: list[str], _peer: str | None, environment: dict[str, str]) -> None:
    _against(root, experts, tasks, None, environment, 10_000_000, 1)


def _scan(root: Path, experts: Path, tasks: list[str], _peer: str | None, _environment: dict[str, str]) -> None:
    life = write_lifetime(root / "scan", 1_000_000, 120, 2, tasks)
    scan = min(inside(SCAN, str(life), str(experts)) for _ in range(3))

    def first() -> float:
        forget_cache(life)
        return inside(SCORE, str(life), str(experts))

    ours = min(first() for _ in range(3))
    again = min(inside(SCORE, str(life), str(experts)) for _ in range(3))
    print(
        f"10⁶ rows, start-up apart: Polars scans in {scan:.3f} s, perdure scores in {ours:.3f} s "
        f"({ours / scan:.2f} ×), again in {again:.3f} s",
        flush=True,
    )


def _blocks(root: Path, experts: Path, tasks: list[str], _peer: str | None, _environment: dict[str, str]) -> None:
    seconds: dict[int, float] = {}
    for blocks in (12, 120, 600):
        life = write_lifetime(root / f"blocks{blocks}", 1_000_000 - (blocks + 1) * EVALUATION * TASKS, blocks, 3, tasks)
        for _ in range(3):
            forget_cache(life)
            seconds[blocks] = min(seconds.get(blocks, 1e9), inside(SCORE, str(life), str(experts)))
    print(
        "10⁶ rows, start-up apart: " + ", ".join(f"{blocks} blocks {s:.3f} s" for blocks, s in seconds.items()),
        flush=True,
    )


def _many(root: Path, experts: Path, tasks: list[str], _peer: str | None, _environment: dict[str, str]) -> None:
    folder = root / "many"
    for index in range(1000):
        write_lifetime(folder / f"life{index:04}", 30_000, 12, index, tasks)
    seconds: dict[int, float] = {}
    for jobs in (1, 2, 1, 2):
        one_thread = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
        # One core means one: else the thread that writes the Parquet copies would use the other.
        os.sched_setaffinity(0, {0} if jobs == 1 else set(range(os.cpu_count() or 1)))
        command = [
            sys.executable,
            "-m",
            "perdure",
            "score",
            str(folder),
            "--experts",
            str(experts),
            "--quiet",
            "--jobs",
            str(jobs),
        ]
        seconds[jobs] = min(timed(command, one_thread)[0], seconds.get(jobs, 1e9))
    print(
        f"1000 lifetimes of 30 000: one core {seconds[1]:.1f} s, two {seconds[2]:.1f} s "
        f"({seconds[1] / seconds[2]:.2f} ×)",
        flush=True,
    )


PARTS = {"small": _small, "large": _large, "huge": _huge, "scan": _scan, "blocks": _blocks, "many": _many}

if __name__ == "__main__":
    start = time.perf_counter()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
    print(f"({time.perf_counter() - start:.0f} s in all)")
