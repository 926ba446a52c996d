"""Compare Perdure with its peers on the same files in the same run; `make bench` writes bench/RESULTS.md.

Peers need old versions of many packages, so each has a separate environment under `.bench/`, made on the first run.
Both sides are new processes, timed from start-up to result. The fastest of several tries counts. Ratios marked `cpu`
are of processor time. Failures and timeouts appear in the results.

    python bench/peers.py                     everything; half an hour on two cores
    python bench/peers.py --only small scan --peers .bench
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

_HERE = Path(__file__).parents[1]


def _listed(file: str) -> tuple[str, ...]:
    return tuple(line for line in (_HERE / file).read_text().splitlines() if not line.startswith("#"))


PINS: Mapping[str, tuple[str, ...]] = {
    "l2": _listed("old-tools.txt"),
    "rliable": ("rliable==1.2.0", "pandas<3"),
    "avalanche": (
        *_listed("avalanche.txt"),
        *tomllib.loads((_HERE / "pyproject.toml").read_text())["project"]["dependencies"],
    ),
}
"""Environment → its packages. The second has today's pandas too; the third all that we need, for one torch."""
ALONE = {"avalanche": "avalanche-lib==0.6.0"}
"""Packages that are installed without their requirements; see avalanche.txt."""

_TRIES = 3
TASKS = 4
EVALUATION = 20
SCAN = (
    "import polars as pl, sys, glob, time\n"
    "t, u = time.perf_counter(), time.process_time()\n"
    "files = sorted(glob.glob(sys.argv[1] + '/*/*/data-log.tsv') + glob.glob(sys.argv[2] + '/*/*/*/data-log.tsv'))\n"
    "pl.scan_csv(files, separator='\\t').select(pl.all()).collect()\n"
    "print(time.process_time() - u, time.perf_counter() - t)\n"
)
SCORE = (
    "import sys, time\n"
    "import perdure.gather.survey, perdure.metrics.presets, perdure.log\n"
    "t, u = time.perf_counter(), time.process_time()\n"
    "perdure.gather.survey.survey([sys.argv[1]], [sys.argv[2]])\n"
    "print(time.process_time() - u, time.perf_counter() - t)\n"
)
PANDAS = """
import glob, sys
import pandas as pd
files = sorted(glob.glob(sys.argv[1] + "/*/*/data-log.tsv"))
rows = pd.concat([pd.read_csv(file, sep="\\t") for file in files])
rows = rows[rows.exp_status == "complete"].sort_values(["block_num", "exp_num"])
smooth = rows.groupby(["block_num", "task_name"], sort=False).reward.rolling(100, min_periods=1, center=True).mean()
spans = rows.groupby("task_name").reward.agg(["min", "max"])
blocks = rows.groupby(["block_num", "block_type", "task_name"], sort=False).reward.mean().reset_index()
blocks = blocks.merge(spans, left_on="task_name", right_index=True)
blocks["scaled"] = (blocks.reward - blocks["min"]) / (blocks["max"] - blocks["min"]) * 100 + 1
tested = blocks[blocks.block_type == "test"].pivot(index="block_num", columns="task_name", values="scaled")
print(tested.diff().mean().mean(), smooth.max())
"""
RLIABLE = """
import sys, time
import numpy as np
from rliable import library, metrics
scores = np.random.default_rng(0).normal(1, 0.2, (int(sys.argv[1]), 5))
started = time.perf_counter()
library.get_interval_estimates({"a": scores}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=2000)
print(time.perf_counter() - started)
"""
OURS = """
import sys, time
import numpy as np
from perdure.stats.robust import stratified_bootstrap
scores = np.random.default_rng(0).normal(1, 0.2, (int(sys.argv[1]), 5))
started = time.perf_counter()
def statistic(drawn):
    ordered = np.sort(drawn, axis=-1)
    cut = ordered.shape[-1] // 4
    return ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1)
stratified_bootstrap(list(scores.T), statistic, np.random.default_rng(0), resamples=2000)
print(time.perf_counter() - started)
"""


@dataclass(frozen=True)
class Took:
    """Time and memory of one command, from start-up to its end."""

    seconds: float
    processor: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s, {self.processor:.2f} s cpu, {self.megabytes:.0f} MB"


@dataclass(frozen=True)
class Line:
    """One row of the results."""

    what: str
    asked: str
    measured: str
    ours: str
    theirs: str


@dataclass(frozen=True)
class Place:
    """Folders of the files and the environments, and the limits."""

    root: Path
    peers: Path
    tries: int
    limit_s: float

    def python(self, name: str) -> str:
        return str(self.peers / name / "bin" / "python")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "L2DATA": str(self.root / "l2data")}


def write_lifetime(
    folder: Path, learning: int, blocks: int, seed: int, tasks: Sequence[str], *, expert: bool = False
) -> Path:
    """Write a lifetime in L2Logger's format: `blocks` learning blocks, every task evaluated before and after each."""
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


def inside(script: str, *arguments: str, processor: bool = False) -> float:
    """Return the seconds that a script prints, elapsed or of processors, without its start-up."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-2 if processor else -1])


def compile_ours() -> None:
    """Compile Perdure's modules. pip compiled the peer's, but an editable install has no byte code at first."""
    import perdure

    compileall.compile_dir(Path(perdure.__file__).parent, quiet=1)


class UnfinishedError(Exception):
    """A peer failed, or took too long."""


def installed(peers: Path, name: str) -> None:
    """Make an environment if it is missing."""
    done = peers / name / "installed"
    if done.exists():
        return
    print(f"making {peers / name} …", file=sys.stderr)
    clean = {key: value for key, value in os.environ.items() if key not in ("PIP_CONSTRAINT", "PYTHONPATH")}
    subprocess.run([sys.executable, "-m", "venv", str(peers / name)], check=True)
    pip = [str(peers / name / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    for wanted in (PINS[name], ("--no-deps", ALONE[name]) if name in ALONE else ()):
        if wanted and subprocess.run([*pip, *wanted], env=clean, check=False).returncode:
            raise UnfinishedError(f"{', '.join(wanted)} cannot be installed")
    done.touch()


def _once(place: Place, command: Sequence[str]) -> Took:
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=place.environment)
        late = threading.Timer(place.limit_s, process.kill)
        late.start()
        _, status, used = os.wait4(process.pid, 0)  # wait without polling, which would cost the process time
        seconds = time.perf_counter() - started
        late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if seconds > place.limit_s:
            raise UnfinishedError(f"not finished after {place.limit_s:.0f} s")
        if process.returncode:
            errors.seek(0)
            raise UnfinishedError(f"failed: {errors.read().decode()[-200:]}")
    return Took(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


# --- comparisons ----------------------------------------------------------------------------------


def _life(place: Place, rows: int) -> tuple[Path, Path, list[str]]:
    tasks = [f"task{index}_1" for index in range(1, TASKS + 1)]
    experts, life = place.root / "experts", place.root / f"life{rows}"
    if not experts.exists():
        for index, task in enumerate(tasks):
            _closed(write_lifetime(experts / f"expert{index}", 25_000, 4, 100 + index, [task], expert=True))
    if not life.exists():
        _closed(write_lifetime(life, rows, 120, 1, tasks))
    return life, experts, tasks


def _closed(life: Path) -> Path:
    """Add the ledger that a journal writes, so that `score` verifies every byte of the log."""
    events: list[dict[str, object]] = []
    for file in sorted(life.glob("*/*/data-log.tsv")):
        content, name = file.read_bytes(), str(file.relative_to(life))
        number, rows = int(file.parent.name.partition("-")[0]), content.count(b"\n") - 1
        block = {"event": "block", "worker": "w0", "file": name, "block_num": number, "rows": rows}
        events.append({**block, "bytes": len(content), "crc32": zlib.crc32(content)})
    events.append({"event": "closed", "worker": "w0"})
    (life / "blocks.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return life


def _in_turn(place: Place, life: Path, experts: Path, *peer: str) -> tuple[list[Took], list[Took]]:
    """Run `score` before and after each try of the peer, so that the load of the machine affects both."""
    ours, theirs = _scores(place, life, experts), list[Took]()
    for _ in range(place.tries):
        theirs.append(_once(place, peer))
        ours += _scores(place, life, experts)
    return ours, theirs


def score(life: Path, experts: Path) -> list[str]:
    """Return the command that scores a lifetime with its experts."""
    return [sys.executable, "-m", "perdure", "score", str(life), "--experts", str(experts), "--quiet"]


def _scores(place: Place, life: Path, experts: Path) -> list[Took]:
    return [_once(place, score(life, experts)) for _ in range(_TRIES)]


def _beside(task: str, goal: str, ours: Sequence[Took], theirs: Sequence[Took]) -> Line:
    """Compare the fastest try of each side, and the medians, because load disturbs a short run less often."""
    own_best, peer_best = (min(tried, key=lambda took: took.seconds) for tried in (ours, theirs))
    usual = median(took.seconds for took in theirs) / median(took.seconds for took in ours)
    ratios = f"{peer_best.processor / own_best.processor:.1f} × cpu; medians {usual:.1f} ×"
    return Line(task, goal, f"{peer_best.seconds / own_best.seconds:.1f} × ({ratios})", str(own_best), str(peer_best))


def _l2metrics(place: Place, rows: int, goal: int) -> Iterator[Line]:
    life, experts, _ = _life(place, rows)
    if not (place.root / "l2data").exists():
        (place.root / "l2data").mkdir()
        for expert in sorted(experts.iterdir()):
            _once(place, [place.python("l2"), "-m", "l2metrics", "-l", str(expert), "-p", "reward", "-s", "w"])
    peer = [place.python("l2"), "-m", "l2metrics", "-l", str(life), "-p", "reward", "--no-plot", "--no-save"]
    tried = _in_turn(place, life, experts, *peer, "--no-save-settings")
    yield _beside(f"l2metrics 3.1 / `score`, {rows:,} rows, end to end", f"≥ {goal} ×", *tried)


def small(place: Place) -> Iterator[Line]:
    """Compare with l2metrics on a hundred thousand rows."""
    return _l2metrics(place, 100_000, 6)


def large(place: Place) -> Iterator[Line]:
    """Compare with l2metrics on a million rows."""
    return _l2metrics(place, 1_000_000, 35)


def pandas(place: Place) -> Iterator[Line]:
    """Compare all metrics with a pandas notebook that reads, smooths, scales and computes one number."""
    life, experts, _ = _life(place, 1_000_000)
    tried = _in_turn(place, life, experts, place.python("rliable"), "-c", PANDAS, str(life))
    yield _beside("pandas, one number / `score`, all metrics, 10⁶ rows", "", *tried)


def scan(place: Place) -> Iterator[Line]:
    """Compare with Polars reading the same files into memory, without start-up on both sides."""
    life, experts, _ = _life(place, 1_000_000)
    theirs: list[float] = []
    ours: list[float] = []
    for _ in range(7):  # in turn, so that all meet the same machine
        theirs.append(inside(SCAN, str(life), str(experts), processor=True))
        ours.append(inside(SCORE, str(life), str(experts), processor=True))
    least = min(theirs)
    yield Line(
        "`score` / Polars reading the files, 10⁶ rows, start-up apart, cpu", "≤ 3 ×",
        f"{min(ours) / least:.2f} ×", f"{min(ours):.3f} s", f"{least:.3f} s",
    )  # fmt: skip


def rliable(place: Place) -> Iterator[Line]:
    """Compare the interquartile mean of five tasks and its stratified bootstrap, 2 000 times."""
    for lives in (10, 1000):
        theirs = min(_said(place.python("rliable"), RLIABLE, str(lives)) for _ in range(place.tries))
        ours = min(_said(sys.executable, OURS, str(lives)) for _ in range(3))
        yield Line(
            f"rliable 1.2 / stratified bootstrap, {lives} lives × 5 tasks, start-up apart", "",
            f"{theirs / ours:.1f} ×", f"{ours:.3f} s", f"{theirs:.3f} s",
        )  # fmt: skip


def _said(python: str, script: str, *arguments: str) -> float:
    return _printed(python, "-c", script, *arguments)


def _printed(*command: str) -> float:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnfinishedError(f"failed: {done.stderr[-200:]}")
    return float(done.stdout.split()[-1])


def avalanche(place: Place) -> Iterator[Line]:
    """Compare a lifetime of 1 600 batches in five tasks: an Avalanche strategy and a protocol."""
    script, python = str(Path(__file__).with_name("avalanche_speed.py")), place.python("avalanche")
    tried: list[tuple[Took, Took]] = []
    apart: list[tuple[float, float]] = []
    for turn in range(max(_TRIES, place.tries)):  # in turn, so that both meet the same machine
        folders = [(side, str(place.root / f"{side}{turn}")) for side in ("ours", "theirs")]
        own_seconds, peer_seconds = (_once(place, (python, script, *folder)) for folder in folders)
        tried.append((own_seconds, peer_seconds))
        least, most = (_printed(python, script, side, f"{folder}-again", "again") for side, folder in folders)
        apart.append((least, most))
    least, most = map(min, zip(*apart, strict=True))
    task = "Avalanche 0.6 / `run` and `score`, 1,600 batches of digits"
    yield _beside(f"{task}, end to end", "", *map(list, zip(*tried, strict=True)))
    yield Line(f"{task}, start-up apart, cpu", "", f"{most / least:.2f} ×", f"{least:.2f} s", f"{most:.2f} s")


PARTS: Mapping[str, Callable[[Place], Iterator[Line]]] = {
    "small": small,
    "large": large,
    "pandas": pandas,
    "scan": scan,
    "rliable": rliable,
    "avalanche": avalanche,
}

# --- the page -------------------------------------------------------------------------------------


_TOLD = {
    "l2": ("l2metrics", "l2logger", "pandas"),
    "rliable": ("rliable", "pandas"),
    "avalanche": ("avalanche-lib", "torch"),
}


def versions(python: str, names: Sequence[str]) -> str:
    """Return the versions of the installed packages."""
    script = "import sys, importlib.metadata as m; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
    done = subprocess.run([python, "-c", script, *names], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "not installed"


_APART = "\n# Measured apart"


def page(place: Place, lines: Sequence[Line], unfinished: Sequence[tuple[str, str]], load: float) -> str:
    """Return the results in Markdown."""
    rows = "\n".join(
        f"| {line.what} | {line.asked} | {line.measured} | {line.ours} | {line.theirs} |" for line in lines
    )
    missing = "\n".join(f"- `{name}`: {why}" for name, why in unfinished) or "- nothing"
    machine = f"{os.cpu_count()} cores, {platform.machine().replace('_', '-')}, Python {platform.python_version()}"
    peer_versions = [versions(place.python(name), names) for name, names in _TOLD.items()]
    return f"""# Beside others

Written by `make bench` (`bench/peers.py`). Both sides worked on the same files in the same run, each as a fresh
process, in turn. Of `score` the fastest of {_TRIES * (place.tries + 1)} tries counts, of a peer that of
{place.tries}; where a machine is shared, the ratio of processor time (cpu) says more than that of the clock, and that
of the medians how it was on most tries. `a / b` is the time of a over that of b. The logs have ledgers, and `score`
verifies every byte against them. What Avalanche does and what we do in its place, `bench/avalanche_speed.py` says.

- machine: {machine}; load at the start {load:.1f}
- ours: {versions(sys.executable, ["polars", "numpy"])}
- theirs: {"; ".join(peer_versions)}

| what | goal | measured | ours | theirs |
|---|---|---|---|---|
{rows}

## Did not finish

{missing}
"""


def main() -> None:
    """Install the peers, measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--peers", type=Path, default=Path(".bench"), help="where the environments are, or will be")
    parser.add_argument("--tries", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300, help="seconds for one run of a peer")
    parser.add_argument("--to", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    options = parser.parse_args()
    compile_ours()
    lines: list[Line] = []
    unfinished: list[tuple[str, str]] = []
    load = os.getloadavg()[0]
    for name in PINS:
        try:
            installed(options.peers.absolute(), name)
        except UnfinishedError as why:
            unfinished.append((name, str(why)))
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), options.peers.absolute(), options.tries, options.limit)
        for name in options.only:
            try:
                for line in PARTS[name](place):
                    lines.append(line)
                    print(f"{line.what}: {line.measured} (ours {line.ours}; theirs {line.theirs})", flush=True)
            except (UnfinishedError, SystemExit, OSError) as why:
                unfinished.append((name, str(why)))
                print(f"{name}: {why}", flush=True)
        # Sections below were measured separately; they are kept.
        before = options.to.read_text() if options.to.exists() else ""
        options.to.write_text(page(place, lines, unfinished, load) + before[before.find(_APART) :] * (_APART in before))


if __name__ == "__main__":
    main()
