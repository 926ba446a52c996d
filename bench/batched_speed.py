"""How long a thousand lives of the demo's arcade take in one program, leg by leg, and one life by the ordinary engine.

python bench/batched_speed.py live --lives 1000 --out DIR      compile, live, write; with JAX, NumPy and msgspec alone
python bench/batched_speed.py live --packed FILE.tar.gz        the same, and what was lived in one file, to be carried
python bench/batched_speed.py score --out DIR                  make lifetimes of what was lived there, and score them
python bench/batched_speed.py score --packed FILE.tar.gz --out DIR
python bench/batched_speed.py same --out DIR --other DIR       whether two runs of one protocol differ beyond chance,
                                                               and by how much at most
python bench/batched_speed.py ordinary                         a few lives by the ordinary engine on two cores
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
    """The demo's arcade with this learner, `lives` of it over both of its scenarios, and 5 experts per task."""
    file = Path(perdure.__file__).parent / "run" / "embedded" / "arcade.toml"
    document = tomllib.loads(file.read_text())
    document["lifetimes"] = math.ceil(lives / len(document["scenarios"]))
    return parse_protocol({**document, "experts": EXPERTS, "learner": {"use": use, "params": params}})


def live(given: argparse.Namespace) -> dict[str, float]:
    """The living legs; what is lived lies in `--out`, as a run folder."""
    start = time.monotonic()
    from perdure.batched.__main__ import run_protocol

    asked = protocol(given.lives, given.learner, json.loads(given.params))
    seconds = run_protocol(asked, given.out, given.lives_at_once)
    whole = time.monotonic() - start
    import jax

    device = jax.devices()[0]
    print(f"living on {len(jax.devices())} × {device.platform} ({device.device_kind}), JAX {jax.__version__}")
    _legs(seconds, whole)
    each = seconds["live"] / given.lives * 1e3
    print(f"  on the device {seconds['live'] / whole:.0%} of the time, {each:.2f} ms a life")
    print(f"  in all {whole / given.lives * 1e3:.2f} ms a life")
    if given.packed is not None:
        with tarfile.open(given.packed, "w:gz") as packed:
            packed.add(given.out, arcname=".")
        print(f"  {given.packed}: {given.packed.stat().st_size / 2**20:.1f} MiB")
    return {**seconds, "living": whole}


def score(given: argparse.Namespace) -> dict[str, float]:
    """The legs that need Polars."""
    from perdure.batched.engine import convert
    from perdure.gather.survey import survey
    from perdure.runner.folder import RunFolder
    from perdure.runner.plan import RunPlan
    from perdure.stats.groups import groups

    if given.packed is not None:
        with tarfile.open(given.packed) as packed:
            packed.extractall(given.out, filter="data")
    folder = RunFolder(given.out)
    start = time.monotonic()
    convert(RunPlan(folder.protocol()), folder)
    converted = time.monotonic()
    found = survey(given.out)
    shown = groups(found)
    seconds = {"convert": converted - start, "score": time.monotonic() - converted}
    print(f"scoring {len(found.lifetimes)} lives in {len(shown)} groups")
    _legs(seconds, sum(seconds.values()))
    return {**seconds, "scoring": sum(seconds.values())}


def same(given: argparse.Namespace) -> None:
    """Block by block, how far apart two runs of the same lives are on average: on two devices, or of two sizes.

    Standard errors tell whether that is beyond chance; the interval, which holds for all blocks together, how large a
    difference can have stayed unseen, in standard deviations over lives (two one-sided tests, Schuirmann 1987).
    """
    import polars as pl

    key = ["scenario_type", "block_num"]

    def rows(run: Path) -> pl.DataFrame:
        found = pl.concat([pl.read_parquet(file) for file in sorted((run / "lives").glob("batch-*.parquet"))])
        return found.group_by("lifetime", *key).agg(pl.col("reward"), mean=pl.col("reward").mean())

    both = rows(given.out).join(rows(given.other), on=["lifetime", *key], suffix="_other")
    alike = both.group_by("lifetime").agg((pl.col("reward") == pl.col("reward_other")).all())["reward"]
    difference = pl.col("mean") - pl.col("mean_other")
    found = (
        both.group_by(key)
        .agg(size=difference.mean(), error=difference.std() / pl.len().sqrt(), spread=pl.col("mean").std())
        .select(pl.col("size").abs() / pl.col("spread"), pl.col("error") / pl.col("spread"))
    )
    apart = found.filter(pl.col("error") > 0).select(pl.col("size") / pl.col("error")).to_series()
    share = alike.sum() / len(alike)
    print(f"{len(alike)} lives of {len(found)} blocks; {share:.1%} of them alike in every reward")
    if len(apart):
        largest = float(apart.max())  # type: ignore[arg-type]
        chance = 1 - (2 * NormalDist().cdf(largest) - 1) ** len(apart)
        print(f"  blocks are at most {largest:.1f} standard errors apart (of {len(apart)} by chance: p = {chance:.2f})")
    sure = NormalDist().inv_cdf(1 - 0.05 / len(found))
    bound = float((found["size"] + sure * found["error"]).max())  # type: ignore[arg-type]
    print(f"  equivalent within {bound:.3f} standard deviations of a life in every block (95 %, all blocks together)")


def ratio(given: argparse.Namespace) -> None:
    """Both engines on the cores at hand, in turn, by processor time, which other work beside them disturbs less."""
    each: dict[str, list[float]] = {"ordinary": [], "live": []}
    for _ in range(given.turns):
        for what, lives in (("ordinary", given.ordinary_lives), ("live", given.lives)):
            with tempfile.TemporaryDirectory() as place:
                wanted = ["--lives", str(given.lives), "--ordinary-lives", str(given.ordinary_lives), "--out", place]
                before = _processor()
                subprocess.run([sys.executable, __file__, what, *wanted], check=True, stderr=subprocess.DEVNULL)
                each[what].append((_processor() - before) / lives)
    theirs, ours = each["ordinary"], each["live"]
    for what, seconds in each.items():
        print(f"{what:10}" + "  ".join(f"{one:.3f}" for one in seconds) + "  processor seconds a life, start to end")
    print(f"ratio     {min(theirs) / min(ours):.1f} × (least of each), {min(theirs) / max(ours):.1f} × at worst")


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ordinary(given: argparse.Namespace) -> float:
    """Seconds per life of the ordinary engine, two at a time; its learner is the one that batched:q stands for."""
    from perdure.runner.runner import run_learner

    asked = protocol(given.ordinary_lives, "q-learning", {}).with_experts(0)
    with tempfile.TemporaryDirectory() as place:
        start = time.monotonic()
        result = run_learner(asked, Path(place) / "run", workers=2)
        each = (time.monotonic() - start) / len(result.lived)
    print(f"the ordinary engine: {each:.2f} s a life, on two cores ({len(result.lived)} lives)")
    return each


def everything(given: argparse.Namespace) -> None:
    """All legs, and the ratio of the two engines."""
    seconds = {**live(given), **score(given)}
    each = ordinary(given)
    lives = given.lives + 3 * EXPERTS
    print(f"in all {seconds['living'] + seconds['scoring']:.1f} s for {given.lives} lives and {3 * EXPERTS} experts")
    print(f"the ordinary engine's life / a batched one: {each / (seconds['live'] / lives):.0f} × (compiling left out)")
    print(f"{'':44}{each / (seconds['living'] / lives):.0f} × (all that living takes)")


def _legs(seconds: dict[str, float], whole: float) -> None:
    for leg, took in seconds.items():
        print(f"  {leg:10}{took:8.2f} s")
    print(f"  {'in all':10}{whole:8.2f} s")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("live", "score", "same", "ordinary", "ratio", "all"))
    parser.add_argument("--lives", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("batched-run"))
    parser.add_argument("--other", type=Path, help="another run of the same protocol")
    parser.add_argument("--packed", type=Path, default=None, help="what was lived, in one file")
    parser.add_argument("--lives-at-once", type=int, default=None, help="on each device")
    parser.add_argument("--learner", default="batched:q")
    parser.add_argument("--params", default="{}", help="of the learner, as JSON")
    parser.add_argument("--ordinary-lives", type=int, default=8)
    parser.add_argument("--turns", type=int, default=2, help="of the ratio")
    given = parser.parse_args()
    verbs = {"live": live, "score": score, "same": same, "ordinary": ordinary, "ratio": ratio, "all": everything}
    verbs[given.what](given)


if __name__ == "__main__":
    main()
