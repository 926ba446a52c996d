"""Test wheel and sdist in clean environments with only runtime dependencies, lowest and newest versions.

    python scripts/release.py [--python python3.13 …] [--wheel FILE]

For every Python, and for the lowest and the newest versions that pyproject.toml admits, a new environment gets the
wheel (and once the sdist) and runs commands from a log to a report. Prints a table; the exit status is 1 if any failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
JOURNEY = """
import perdure
from perdure.simulate import IdealLearner, lifetime, write_log

tasks = ("pong", "breakout")
evaluations = [perdure.Block("evaluate", task, 10) for task in tasks]
blocks = [*evaluations]
for task in tasks:
    blocks += [perdure.Block("learn", task, 60), *evaluations]
scenario = perdure.Scenario.of("two tasks", blocks)
for name, forgetting in (("forgetful", 0.5), ("keeping", 0.0)):
    for seed in range(6):
        learner = IdealLearner(name, forgetting=forgetting, noise=0.05)
        write_log(lifetime(learner, scenario, seed, id=f"{name}-{seed}"), f"logs/{name}")
found = perdure.survey("logs")
assert len(found) == 12, found
print(perdure.__version__)
"""
COMMANDS = (
    ("score", "logs"),
    ("compare", "logs"),
    ("report", "logs", "--to", "report.html"),
    ("report", "logs", "--to", "table.tex"),
    ("figure", "trajectories", "logs", "--to", "figure.svg"),
    ("export", "logs", "--to", "tensorboard:board"),
    ("plan", "--pilot", "logs/forgetful", "--detect", "performance_maintenance=5"),
    ("compose", "condensed", "--task", "pong", "breakout", "--learn", "9", "--evaluate", "9"),
    ("new", "metric", "mine"),
    ("demo", "--into", "demo"),
)


def main() -> int:
    """Build, install, test and print the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", help="an interpreter (default: this one)")
    parser.add_argument("--wheel", type=Path, help="a wheel made before; else one is built, and an sdist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        packages = {"wheel": options.wheel} if options.wheel else _built(place)
        ways = [
            (kind, versions)
            for kind in packages
            for versions in ("newest", "lowest")
            if kind == "wheel" or versions == "newest"
        ]
        failed = 0
        for python in options.python or [sys.executable]:
            for kind, versions in ways:
                problem = _tried(place / f"{Path(python).name}-{kind}-{versions}", python, packages[kind], versions)
                failed += bool(problem)
                print(f"{python:20} {kind:6} {versions:7} {problem or 'ok'}", flush=True)
    return 1 if failed else 0


def _built(place: Path) -> dict[str, Path]:
    _run([sys.executable, "-m", "build", "--outdir", str(place), str(ROOT)], place)
    return {"wheel": next(place.glob("*.whl")), "sdist": next(place.glob("*.tar.gz"))}


def _tried(place: Path, python: str, package: Path, versions: str) -> str:
    """Return the failure, or an empty text."""
    place.mkdir()
    try:
        _run([python, "-m", "venv", "env"], place)
        python_path = str(place / "env" / "bin" / "python")
        resolution = ["--resolution", "lowest-direct"] if versions == "lowest" else []
        _run(
            [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", python_path, *resolution, str(package)],
            place,
        )
        _run([python_path, "-W", "error", "-c", JOURNEY], place)
        for arguments in COMMANDS:
            _run([python_path, "-m", "perdure", *arguments], place)
    except subprocess.CalledProcessError as problem:
        output = (problem.stderr or problem.stdout or "").strip().splitlines()
        return f"{' '.join(problem.cmd[1:5])[:60]}: {output[-1] if output else problem.returncode}"
    return ""


def _run(command: list[str], place: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIP_CONSTRAINT")}
    subprocess.run(command, cwd=place, env=clean, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
