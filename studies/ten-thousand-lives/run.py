"""Run the study: 10 000 lifetimes per learner and layout of one family; store their summaries.

python studies/ten-thousand-lives/run.py gaussians --out DIR          everything; on a GPU a few minutes
python studies/ten-thousand-lives/run.py gaussians --out DIR --lives 60 --size 30 --learners naive,separate

Needs JAX, NumPy and Perdure's source (`PYTHONPATH=src`). Each learner runs in a separate process, which writes one file
of arrays, `DIR/<family>-<learner>.npz`, without records. `condense.py` makes the study's tables from them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
LEARNERS = ("naive", "ewc", "replay", "packnet", "separate", "joint")
FAMILIES = ("gaussians", "digits", "arcade")
SIZE = 5010
"""Lives at once: half of them, and as many of the experts, so that every chunk is full or nearly so."""


def document_of(family: str, learner: str, lives: int | None = None) -> dict[str, Any]:
    """Return the family's protocol for one learner, with fewer lifetimes if `lives` is given."""
    from summaries import GROUP, MOST

    content = tomllib.loads((HERE / f"{family}.toml").read_text(encoding="utf-8"))
    content["learner"]["params"] = {**content["learner"].get("params", {}), "method": learner}
    if lives is not None:
        content |= {"lifetimes": lives, "experts": MOST * -(-lives // GROUP)}
    return content


def live_one(family: str, learner: str, out: Path, lives: int | None, size: int) -> None:
    """Run one learner of a family and write its summaries."""
    from living import live_all
    from summaries import summaries

    from perdure.runner.protocol import parse_protocol

    document = document_of(family, learner, lives)
    (task,) = document["tasks"].values()
    start = time.monotonic()
    layouts, experts, seconds = live_all(parse_protocol(document), size)
    summed = time.monotonic()
    arrays = {}
    for layout, one in layouts.items():
        summary = summaries(one.order, one.learned, one.evaluated, experts, tuple(task["bounds"]))
        arrays |= {f"{layout}/{name}": values for name, values in summary.items()}
        arrays[f"{layout}/sound"] = one.sound
    seconds |= {"sum up": time.monotonic() - summed, "in all": time.monotonic() - start}
    import jax

    device = jax.devices()[0]
    conditions = {
        "family": family,
        "learner": learner,
        "lives": document["lifetimes"],
        "experts": document["experts"],
        "size": size,
        "device": f"{device.platform}: {device.device_kind}",
        "versions": {"jax": jax.__version__, "numpy": np.__version__},
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
    }
    arrays["about"] = np.array(json.dumps(conditions))
    out.mkdir(parents=True, exist_ok=True)
    part = out / f".{family}-{learner}.npz"
    np.savez_compressed(part, **arrays)
    part.replace(out / f"{family}-{learner}.npz")
    print(json.dumps(conditions), flush=True)


def live_family(options: argparse.Namespace) -> int:
    """Run all learners without a file, `at_once` processes at a time."""
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    missing = [
        learner
        for learner in options.learners.split(",")
        if not (options.out / f"{options.family}-{learner}.npz").exists()
    ]
    waiting, running, failed = list(missing), {}, 0
    while waiting or running:
        while waiting and len(running) < options.at_once:
            learner = waiting.pop(0)
            command = [sys.executable, __file__, options.family, "--out", str(options.out), "--one", learner]
            command += ["--size", str(options.size), *(["--lives", str(options.lives)] if options.lives else [])]
            running[learner] = subprocess.Popen(command, env=environment)
        time.sleep(0.2)
        for learner in [name for name, process in running.items() if process.poll() is not None]:
            if code := running.pop(learner).returncode:
                failed += 1
                print(f"{options.family} {learner}: ended with {code}", file=sys.stderr, flush=True)
    return 1 if failed else 0


def main() -> int:
    """Run the chosen family; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lives", type=int, help="of each layout; else as many as the protocol says")
    parser.add_argument("--size", type=int, default=SIZE, help="lives at once")
    parser.add_argument("--learners", default=",".join(reversed(LEARNERS)), help="the longest first")
    parser.add_argument("--at-once", type=int, default=len(LEARNERS), help="learners that share the device")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is None:
        return live_family(options)
    live_one(options.family, options.one, options.out, options.lives, options.size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
