"""`python -m perdure.batched protocol.toml --into DIR`: run with only JAX, NumPy and msgspec installed.

Copy DIR to a machine with all of Perdure; `perdure run protocol.toml --engine batched --into DIR` then finds that
everything has run, makes lifetimes of it, and scores them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from perdure import files
from perdure.batched.devices import prepare_devices
from perdure.errors import PerdureError
from perdure.runner.plan import Job, RunPlan
from perdure.runner.protocol import Protocol, read_protocol


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a protocol; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m perdure.batched", description=__doc__.splitlines()[0])
    parser.add_argument("protocol", type=Path, help="a protocol in TOML")
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="the run folder")
    parser.add_argument("--lives-at-once", type=int, metavar="N", help="on each device; else by the protocol or device")
    parser.add_argument(
        "--accept-changed-learner",
        action="store_true",
        help="continue lifetimes although the learner's code changed",
    )
    options = parser.parse_args(arguments)
    try:
        protocol = read_protocol(options.protocol)
        protocol = protocol if "experts" in protocol.document else protocol.with_experts(protocol.experts)
        run_protocol(
            protocol, options.into, options.lives_at_once, accept_changed_learner=options.accept_changed_learner
        )
    except (PerdureError, OSError) as problem:
        print(f"perdure: {problem}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


def run_protocol(
    protocol: Protocol, into: Path, size: int | None = None, *, accept_changed_learner: bool = False
) -> dict[str, float]:
    """Run a protocol into a run folder; return the seconds of planning, starting, compiling, running and writing."""
    start = time.monotonic()
    prepare_devices()
    plan = RunPlan(protocol)
    jobs = plan.jobs
    planned = time.monotonic()
    from perdure.batched.live import live
    from perdure.batched.program import Program

    stored = into / "protocol.json"
    if stored.exists() and json.loads(files.read_bytes(stored)) != protocol.document:
        raise PerdureError("holds another protocol", "choose another folder", file=into)
    into.mkdir(parents=True, exist_ok=True)
    files.write(stored, json.dumps(protocol.document, indent=2).encode())
    program = Program(plan)
    _ = program.learner  # a learner that cannot be made is reported before anything runs
    seconds = {"plan": planned - start, "start": time.monotonic() - planned}
    result = live(
        program,
        jobs,
        into / ".run" / "batched",
        size=size,
        tell=_Progress(plan),
        note=_note,
        accept_changed_learner=accept_changed_learner,
    )
    for note in result.notes:
        _note(note)
    return {**seconds, **result.seconds}


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)  # noqa: T201


class _Progress:
    """Prints the share that is done and the time left, a line per block."""

    def __init__(self, plan: RunPlan) -> None:
        self._start = time.monotonic()
        self._total = sum(job.experiences for job in plan.jobs)
        self._done: dict[str, int] = {}

    def __call__(self, jobs: Sequence[Job], blocks: int) -> None:
        for job in jobs:
            self._done[job.id] = sum(block.length or 0 for block in job.syllabus.scenario.blocks[:blocks])
        done, elapsed = sum(self._done.values()), time.monotonic() - self._start
        left = elapsed / done * (self._total - done) if done else 0.0
        so_far = f"{done / self._total:.0%} of all, {elapsed:.0f} s, about {left:.0f} s left"
        print(f"{len(jobs)} lifetimes, block {blocks}: {so_far}", file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
