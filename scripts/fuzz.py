"""Damage inputs of every kind at random, run commands on them, and keep those that cause an internal error.

`python scripts/fuzz.py --seconds 3600` damages small logs, tables, matrices, bulk lives, scores, syllabi, protocols and
settings, and runs a verb on each. Every verb must end with status 0, 1 or 2 within twenty seconds, without a traceback,
an internal error or a control character in its output. Inputs that break this are stored under `--keep` (tests/corpus)
and are tried first from then on.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SECONDS = 20
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
TOKENS = (
    b"NaN", b"-inf", b"1e309", b"-1.7e308", b"1" * 400, b"9" * 5000, b"", b"-", b"\t", b",", b"\r", b"\n\n", b"\x00",
    b'"', b"'", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b]0;title\x07", "\u202e".encode(), b"[" * 3000, b"{" * 3000, b"null",
    b"true", b"=cmd|'x'!A1", b"../../etc/passwd", b"0x10", b"1_000", "٣".encode(), b"inf", b"{}", b"[]", b"-0.0",
)  # fmt: skip
VERBS = {
    "log": (
        ["score"], ["score", "--json", "-"], ["check"], ["compare"], ["report", "--to", "out.md"], ["correlate"],
        ["score", "--preset", "l2metrics-3.1"], ["score", "--preset", "framework-2019"],
        ["score", "--variants", "params"], ["export", "--to", "out.csv"],
    ),
    "syllabus": (["lint"], ["lint", "--json", "-"]),
    "protocol": (["lint"], ["run", "--dry-run", "--into", "run"]),
    "settings": (["score"],),
}  # fmt: skip


def seeds(into: Path) -> None:
    """Write one small input of each kind."""
    import numpy as np
    import polars as pl

    import perdure
    from perdure.simulate import IdealLearner, lifetimes

    evaluation = [perdure.Block("evaluate", task, 3) for task in ("pong", "chess")]
    learning = [perdure.Block("learn", task, 8) for task in ("pong", "chess")]
    scenario = perdure.Scenario.of("two", [*evaluation, learning[0], *evaluation, learning[1], *evaluation])
    lives = list(lifetimes(IdealLearner(forgetting=0.3, noise=0.1), scenario, 3))
    for kind in VERBS:
        (into / kind).mkdir(parents=True)
    logs = into / "log"
    with perdure.Journal(logs / "l2logger", "life", measures=["reward"], learner="toy", seed=3) as journal:
        for number in range(40):
            block, mode, task = number // 8, "test" if number // 8 % 2 == 0 else "train", "ab"[number // 16 % 2]
            journal.log(block_num=block, exp_num=number, block_type=mode, task_name=task, reward=float(number))
    manifest = logs / "l2logger" / "life" / "manifest.json"  # stored cases contain no facts about this machine
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({key: content[key] for key in content if key not in ("command", "git", "machine")}))
    perdure.write_learnkit(lives[0], logs / "learnkit", "life")
    for suffix in ("csv", "tsv", "parquet", "json"):
        (logs / suffix).mkdir()
    table = lives[0].experiences.with_columns(method=pl.lit("ewc"), seed=pl.lit(1))
    table.write_csv(logs / "csv" / "long.csv")
    table.write_csv(logs / "tsv" / "long.tsv", separator="\t")
    table.write_parquet(logs / "parquet" / "long.parquet")
    perdure.write_lifetimes(logs / "parquet" / "bulk.parquet", lives)
    (logs / "csv" / "wide.csv").write_text(
        "step,eval/pong,eval/chess\n" + "".join(f"{n},{n / 9},{1 - n / 9}\n" for n in range(9))
    )
    (logs / "csv" / "triplets.csv").write_text(
        "after,task,accuracy\n" + "".join(f"{a},{t},{(a + t) / 9}\n" for a in range(3) for t in range(3))
    )
    (logs / "csv" / "matrix.csv").write_text("90,60,50\n,80,70\n,,88\n")
    (logs / "json" / "matrix.json").write_text(json.dumps({"matrix": [[0.9, None], [0.5, 0.8]], "tasks": ["a", "b"]}))
    (logs / "npz").mkdir()
    np.savez(logs / "npz" / "matrix.npz", accuracy=np.array([[0.9, np.nan], [0.5, 0.8]]))
    np.save(logs / "npz" / "matrix.npy", np.array([[0.9, 0.2], [0.5, 0.8]]))
    (logs / "scores").mkdir()
    (logs / "scores" / "scores.json").write_text(json.dumps(perdure.survey(lives).as_json(), allow_nan=False))
    perdure.write_syllabus(
        perdure.compose("condensed", ["pong", "breakout"], learn=5, evaluate=2), into / "syllabus" / "a.json"
    )
    (into / "protocol" / "a.toml").write_text(
        'name = "small"\nseed = 1\nlifetimes = 2\nexperts = 1\n[learner]\nuse = "q-learning"\n[[scenarios]]\n'
        'layout = "condensed"\ntasks = ["pong", "breakout"]\nlearn = 5\nevaluate = 2\n'
    )
    (into / "settings" / "life").mkdir()
    shutil.copytree(logs / "l2logger", into / "settings" / "life" / "logs")
    (into / "settings" / "life" / "perdure.toml").write_text(
        'preset = "standard"\nwindow = "hanning"\nlevel = 0.9\nbounds = { a = [0, 40] }\n'
    )


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return `content` with one to four random faults."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        offset = rng.randrange(len(content) + 1)
        to = min(len(content), offset + rng.choice((1, 1, 2, 8, 64, len(content) // 3 + 1)))
        rows = content.splitlines(keepends=True)
        how = rng.randrange(8)
        if how == 0 and content:
            offset = rng.randrange(len(content))
            content = content[:offset] + bytes([content[offset] ^ 1 << rng.randrange(8)]) + content[offset + 1 :]
        elif how == 1:
            content = content[:offset]
        elif how == 2:
            content = content[:offset] + content[to:]
        elif how == 3:
            content = content[:offset] + rng.choice(TOKENS) + content[offset:]
        elif how == 4:
            content = content[:offset] + rng.choice(TOKENS) + content[to:]
        elif how == 5 and rows:
            row = rng.randrange(len(rows))
            content = b"".join([*rows[:row], rows[row] * rng.choice((0, 2, 50)), *rows[row + 1 :]])
        elif how == 6 and rows:
            rng.shuffle(rows)
            content = b"".join(rows)
        elif numbers := list(re.finditer(rb"-?\d+(\.\d+)?", content)):
            position = rng.choice(numbers)
            content = content[: position.start()] + rng.choice(TOKENS) + content[position.end() :]
    return content


def cases(generated: Path, known: Path, rng: random.Random) -> Iterator[tuple[str, Path, list[str]]]:
    """Yield (kind, damaged input, arguments): known cases first, then endless new ones."""
    for file in sorted(known.glob("*/arguments.json")) if known.is_dir() else ():
        place = Path(tempfile.mkdtemp(dir=generated))
        shutil.copytree(file.parent, place / "case")
        case = json.loads(file.read_text())
        yield case["kind"], place / "case" / case["input"], case["arguments"]
    while True:
        kind = rng.choice((*VERBS, "log", "log", "log", "log"))
        source = rng.choice(sorted((generated / "seeds" / kind).iterdir()))
        place = Path(tempfile.mkdtemp(dir=generated)) / "case"
        place.mkdir()
        target = place / source.name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        files = [target] if target.is_file() else sorted(path for path in target.rglob("*") if path.is_file())
        for file in rng.sample(files, min(len(files), rng.choice((1, 1, 2)))):
            file.write_bytes(damaged(file.read_bytes(), rng))
        given = rng.choice(files) if rng.random() < 0.3 and kind != "settings" else target
        yield kind, given, rng.choice(VERBS[kind])


def answered(arguments: list[str], place: Path) -> str:
    """Run a command in this process. Return the problem, or an empty text."""
    from perdure.cli import main

    out, err = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(place)
    sys.argv = ["perdure", *arguments]
    status: object = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException as problem:
        return f"{type(problem).__name__} escaped: {problem}"
    finally:
        os.chdir(before)
    output = out.getvalue() + err.getvalue()
    if status not in (0, 1, 2):
        return f"status {status}"
    if "Traceback (most recent" in output or "internal error" in output:
        return next(row for row in output.splitlines() if "Traceback" in row or "internal error" in row)[:300]
    if status == 2 and not err.getvalue().strip():
        return "status 2 without a word"
    control = CONTROL.search(output)
    return f"control character {control[0]!r} in the output" if control else ""


def work(generated: Path, known: Path, seed: int, seconds: float) -> None:
    """Try cases until the time is over. Each case is recorded before it is tried."""
    rng, ends = random.Random(seed), time.monotonic() + seconds
    os.environ["HOME"] = str(generated)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a slow case ends this process; the parent stores it
    for kind, input_path, arguments in cases(generated, known, rng):
        if time.monotonic() > ends:
            break
        place = (
            input_path.parent
            if input_path.parent.name == "case"
            else next(parent for parent in input_path.parents if parent.name == "case")
        )
        case = {"kind": kind, "input": str(input_path.relative_to(place)), "arguments": arguments}
        (place / "arguments.json").write_text(json.dumps(case))
        (generated / f"now-{seed}").write_text(str(place))
        signal.alarm(SECONDS)
        wrong = answered([arguments[0], str(input_path), *arguments[1:]], place)
        signal.alarm(0)
        with (generated / f"log-{seed}").open("a") as log:
            log.write(json.dumps([kind, arguments[0], wrong]) + "\n")
        if wrong:
            _keep(place, known, wrong)
        shutil.rmtree(place.parent, ignore_errors=True)


def _keep(place: Path, known: Path, wrong: str) -> None:
    number = sum(1 for _ in known.glob("case-*")) + 1 if known.is_dir() else 1
    target = known / f"case-{number:03d}"
    shutil.copytree(place, target, ignore=shutil.ignore_patterns(".perdure", "out.*", "run"))
    print(f"{target}: {wrong}", flush=True)


def main() -> None:
    """Fuzz in several processes; print the number of inputs and the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None, help="of the damage; by the clock unless given")
    parser.add_argument("--keep", type=Path, default=ROOT / "tests" / "corpus")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    seed = int(time.time()) if options.seed is None else options.seed
    if options.worker:
        work(options.worker, options.keep, seed, options.seconds)
        return
    generated = Path(tempfile.mkdtemp(prefix="fuzz-"))
    seeds(generated / "seeds")
    ends, failures, next_seed = time.monotonic() + options.seconds, 0, seed * 1000

    def started() -> tuple[int, subprocess.Popen[bytes]]:
        nonlocal next_seed
        next_seed += 1
        command = [
            sys.executable,
            __file__,
            "--worker",
            str(generated),
            "--keep",
            str(options.keep),
            "--seed",
            str(next_seed),
        ]
        return next_seed, subprocess.Popen([*command, "--seconds", str(max(1.0, ends - time.monotonic()))])

    running = [started() for _ in range(options.jobs)]
    while running:
        worker_seed, process = running.pop(0)
        try:
            status = process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            running.append((worker_seed, process))
            continue
        if status != 0:  # killed by a signal, or too slow: store its current case
            place = Path((generated / f"now-{worker_seed}").read_text())
            _keep(
                place,
                options.keep,
                f"the process ended with {status} ({'too slow' if status == -signal.SIGALRM else 'a crash'})",
            )
            failures += 1
            if time.monotonic() < ends:
                running.append(started())
    rows = [json.loads(row) for file in generated.glob("log-*") for row in file.read_text().splitlines()]
    failures += sum(1 for _, _, wrong in rows if wrong)
    print(f"{len(rows)} inputs, {failures} unhandled; by kind {dict(Counter(kind for kind, _, _ in rows))}")
    shutil.rmtree(generated, ignore_errors=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
