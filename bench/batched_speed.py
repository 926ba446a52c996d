"""Time a thousand lifetimes of the demo's arcade in one program, stage by stage, and one by the ordinary engine.

python bench/batched_speed.py live --lives 1000 --out DIR      compile, live, write; with JAX, NumPy and msgspec alone
python bench/batched_speed.py live --packed FILE.tar.gz        the same, and pack the run folder into one file
python bench/batched_speed.py score --out DIR                  read the lifetimes of the run folder and score them
python bench/batched_speed.py score --packed FILE.tar.gz --out DIR
python bench/batched_speed.py same --out DIR --other DIR       whether two runs of one protocol differ beyond chance,
                                                               and by how much at most
python bench/batched_speed.py ordinary                         a few lifetimes in the ordinary engine on two cores
python bench/batched_speed.py ratio --lives 256                both engines on these cores, in turn, by processor time
python bench/batched_speed.py all --lives 200 --out DIR        all of it, and the ratio
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from pathlib import Path
from statistics import NormalDist
from typing import Any

import perdure
from perdure.runner.protocol import Protocol, parse_protocol

EXPERTS = 5


def protocol(lives: int, use: str, params: dict[str, Any]) -> Protocol:
    """Return a protocol of the demo's arcade: `lives` lifetimes over both scenarios, and 5 experts per task."""
    file = Path(perdure.__file__).parent / "runner" / "embedded" / "arcade.toml"
    document = tomllib.loads(file.read_text())
    document["lifetimes"] = math.ceil(lives / len(document["scenarios"]))
    return parse_protocol({**document, "experts": EXPERTS, "learner": {"use": use, "params": params}})


def live(options: argparse.Namespace) -> dict[str, float]:
    """Time the stages of running; write the run folder to `--out`."""
    start = time.monotonic()
    from perdure.batched.__main__ import run_protocol

    requested = protocol(options.lives, options.learner, json.loads(options.params))
    seconds = run_protocol(requested, options.out, options.lives_at_once)
    total = time.monotonic() - start
    import jax

    device = jax.devices()[0]
    print(f"living on {len(jax.devices())} × {device.platform} ({device.device_kind}), JAX {jax.__version__}")
    _legs(seconds, total)
    each = seconds["live"] / options.lives * 1e3
    print(f"  on the device {seconds['live'] / total:.0%} of the time, {each:.2f} ms a life")
    print(f"  in all {total / options.lives * 1e3:.2f} ms a life")
    if options.packed is not None:
        with tarfile.open(options.packed, "w:gz") as packed:
            packed.add(options.out, arcname=".")
        print(f"  {options.packed}: {options.packed.stat().st_size / 2**20:.1f} MiB")
    return {**seconds, "living": total}


def score(options: argparse.Namespace) -> dict[str, float]:
    """Time the stages that need Polars."""
    from perdure.batched.engine import convert
    from perdure.gather.survey import survey
    from perdure.runner.folder import RunFolder
    from perdure.runner.plan import RunPlan
    from perdure.stats.groups import groups

    if options.packed is not None:
        with tarfile.open(options.packed) as packed:
            packed.extractall(options.out, filter="data")
    folder = RunFolder(options.out)
    start = time.monotonic()
    convert(RunPlan(folder.protocol()), folder)
    converted = time.monotonic()
    scores = survey(options.out)
    summary = groups(scores)
    seconds = {"convert": converted - start, "score": time.monotonic() - converted}
    print(f"scoring {len(scores.lifetimes)} lives in {len(summary)} groups")
    _legs(seconds, sum(seconds.values()))
    return {**seconds, "scoring": sum(seconds.values())}


def same(options: argparse.Namespace) -> None:
    """Compare two runs of the same lifetimes block by block, on two devices or with two chunk sizes.

    The standard errors show whether a difference exceeds chance. The interval, which holds for all blocks together,
    bounds an undetected difference in standard deviations over lifetimes (two one-sided tests, Schuirmann 1987).
    """
    import polars as pl

    key = ["scenario_type", "block_num"]

    def rows(run: Path) -> pl.DataFrame:
        batches = pl.concat([pl.read_parquet(file) for file in sorted((run / "lives").glob("batch-*.parquet"))])
        return batches.group_by("lifetime", *key).agg(pl.col("reward"), mean=pl.col("reward").mean())

    both = rows(options.out).join(rows(options.other), on=["lifetime", *key], suffix="_other")
    equal = both.group_by("lifetime").agg((pl.col("reward") == pl.col("reward_other")).all())["reward"]
    difference = pl.col("mean") - pl.col("mean_other")
    lives = (
        both.group_by(key)
        .agg(size=difference.mean(), error=difference.std() / pl.len().sqrt(), spread=pl.col("mean").std())
        .select(pl.col("size").abs() / pl.col("spread"), pl.col("error") / pl.col("spread"))
    )
    apart = lives.filter(pl.col("error") > 0).select(pl.col("size") / pl.col("error")).to_series()
    share = equal.sum() / len(equal)
    print(f"{len(equal)} lives of {len(lives)} blocks; {share:.1%} of them alike in every reward")
    if len(apart):
        largest = float(apart.max())  # type: ignore[arg-type]
        chance = 1 - (2 * NormalDist().cdf(largest) - 1) ** len(apart)
        print(f"  blocks are at most {largest:.1f} standard errors apart (of {len(apart)} by chance: p = {chance:.2f})")
    sure = NormalDist().inv_cdf(1 - 0.05 / len(lives))
    bound = float((lives["size"] + sure * lives["error"]).max())  # type: ignore[arg-type]
    print(f"  equivalent within {bound:.3f} standard deviations of a life in every block (95 %, all blocks together)")


def ratio(options: argparse.Namespace) -> None:
    """Compare the processor time of both engines, run alternately. Other load disturbs it less than elapsed time."""
    each: dict[str, list[float]] = {"ordinary": [], "live": []}
    for _ in range(options.turns):
        for engine, lives in (("ordinary", options.ordinary_lives), ("live", options.lives)):
            with tempfile.TemporaryDirectory() as place:
                wanted = [
                    "--lives",
                    str(options.lives),
                    "--ordinary-lives",
                    str(options.ordinary_lives),
                    "--out",
                    place,
                ]
                before = _processor()
                subprocess.run([sys.executable, __file__, engine, *wanted], check=True, stderr=subprocess.DEVNULL)
                each[engine].append((_processor() - before) / lives)
    ordinary_seconds, live_seconds = each["ordinary"], each["live"]
    for engine, seconds in each.items():
        print(
            f"{engine:10}"
            + "  ".join(f"{life_seconds:.3f}" for life_seconds in seconds)
            + "  processor seconds a life, start to end"
        )
    least = min(ordinary_seconds)
    ratios = f"{least / min(live_seconds):.1f} × (least of each), {least / max(live_seconds):.1f} × at worst"
    print(f"ratio     {ratios}")


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ordinary(options: argparse.Namespace) -> float:
    """Return the seconds per lifetime of the ordinary engine with two workers and the learner that batched:q copies."""
    from perdure import run

    requested = protocol(options.ordinary_lives, "q-learning", {}).with_experts(0)
    with tempfile.TemporaryDirectory() as place:
        start = time.monotonic()
        result = run(requested, Path(place) / "run", workers=2, score=False)
        each = (time.monotonic() - start) / len(result.lived)
    print(f"the ordinary engine: {each:.2f} s a life, on two cores ({len(result.lived)} lives)")
    return each


def everything(options: argparse.Namespace) -> None:
    """Time all stages and print the ratio of the two engines."""
    seconds = {**live(options), **score(options)}
    each = ordinary(options)
    lives = options.lives + 3 * EXPERTS
    print(f"in all {seconds['living'] + seconds['scoring']:.1f} s for {options.lives} lives and {3 * EXPERTS} experts")
    print(f"the ordinary engine's life / a batched one: {each / (seconds['live'] / lives):.0f} × (compiling left out)")
    print(f"{'':44}{each / (seconds['living'] / lives):.0f} × (all that living takes)")


def _legs(seconds: dict[str, float], total: float) -> None:
    for leg, took in seconds.items():
        print(f"  {leg:10}{took:8.2f} s")
    print(f"  {'in all':10}{total:8.2f} s")


def main() -> None:
    """Run the chosen measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("live", "score", "same", "ordinary", "ratio", "all"))
    parser.add_argument("--lives", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("batched-run"))
    parser.add_argument("--other", type=Path, help="another run of the same protocol")
    parser.add_argument("--packed", type=Path, default=None, help="run folder packed into one file")
    parser.add_argument("--lives-at-once", type=int, default=None, help="on each device")
    parser.add_argument("--learner", default="batched:q")
    parser.add_argument("--params", default="{}", help="of the learner, as JSON")
    parser.add_argument("--ordinary-lives", type=int, default=8)
    parser.add_argument("--turns", type=int, default=2, help="of the ratio")
    options = parser.parse_args()
    verbs = {"live": live, "score": score, "same": same, "ordinary": ordinary, "ratio": ratio, "all": everything}
    verbs[options.what](options)


if __name__ == "__main__":
    main()
