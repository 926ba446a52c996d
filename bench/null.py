"""Count wrong verdicts on a learner that neither forgets nor transfers, for which every verdict is an error.

Run as `python bench/null.py --cells 'condensed/*' --groups 1000`. `--definitions new` scores the same lifetimes with
the model of the definitions. `--real` scores a learner with a separate table per task in the arcade. `--monotone`
increases forgetting, which must not raise any metric. `--causes` varies one cause at a time. `--compare` counts wrong
words in comparisons of two groups, by numbers of lifetimes, paired and not, with the model of the definitions;
`--shapes` those on a learner that is worse, of skewed values. `--marks` counts wrong marks on one lifetime.

Each row has the mean over groups, the shares of groups in which the metric is met and not met (for PM by the new
definitions: gains and forgets), of intervals that contain the truth, and of pairs of groups that differ. A last row
gives the share of pairs that differ in any of the six metrics of comparisons after Holm.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules of bench/, and the model in tests/
from bench.null_cells import CELLS, drawn
from bench.null_paths import COMPARED, HEADLINE, MARGINS, PATHS, Outcome, joined, read_as_defined
from bench.null_real import lived_groups
from tests.metrics.new_definitions import words_of_comparison

from perdure.log.model import Identity
from perdure.metrics.declare import METRICS
from perdure.metrics.measure import Measured
from perdure.metrics.score import BlockSummary, Score
from perdure.scenario.model import Block
from perdure.simulate.learner import NULL
from perdure.stats.decide import decide
from perdure.text import initials

AT_ONCE = 50
FORGETTING = (0.0, 0.1, 0.2, 0.4, 0.7, 1.0)
CAUSES: dict[str, dict[str, float]] = {
    "none: the null": {},
    "forgets half of each task when another is learned": {"forgetting": 0.5},
    "learning a task lifts those not yet learned": {"forward": 0.15},
    "learning a task lifts those learned before": {"backward": 0.2},
    "learns twice as fast as experts": {"pace": 25.0},
    "ends at 60 where experts end at 80": {"saturation": 0.6},
}
SHORT = {name: initials(name) for name in dict.fromkeys((*HEADLINE, *COMPARED))}


def part_of(cell: str, groups: int, seed: int, part: int, path: str, preset: str, compared: int | None) -> Outcome:
    """Return one part of a cell; runs in a worker process."""
    return PATHS[path][0](drawn(CELLS[cell], groups, seed, part), preset, compared)


def outcomes(options: argparse.Namespace, cells: Sequence[str]) -> Iterator[tuple[str, Outcome, float]]:
    """Yield each cell when all its parts are complete."""
    sizes = [min(AT_ONCE, options.groups - done) for done in range(0, options.groups, AT_ONCE)]
    compared = None if options.compared is None else -(-options.compared // len(sizes))
    for variable in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # worker processes share the cores
    # Forking would copy Polars' threads in whatever state they are.
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for name in cells:
            began = time.perf_counter()
            parts = [
                pool.submit(part_of, name, size, options.seed, index, options.definitions, options.preset, compared)
                for index, size in enumerate(sizes)
            ]
            yield name, joined([part.result() for part in parts]), time.perf_counter() - began


def _mean(metric: str, values: npt.NDArray[np.float64], *, geometric: bool) -> float:
    if geometric and metric != HEADLINE[0]:
        return float(np.exp(np.nanmean(np.log(values))))
    return float(np.nanmean(values))


def facts(outcome: Outcome, *, geometric: bool = False) -> dict[str, dict[str, float]]:
    """Return the statistics of one cell."""
    shares = {
        SHORT[name]: {
            "mean": _mean(name, values, geometric=geometric),
            "met": float(np.mean(outcome.verdicts[name] > 0)),
            "not_met": float(np.mean(outcome.verdicts[name] < 0)),
            **(
                {"covered": float(np.nanmean(outcome.covered[name]))}
                if np.isfinite(outcome.covered[name]).any()
                else {}
            ),
            **({"differs": float(np.mean(outcome.differs[name]))} if len(outcome.differs.get(name, ())) else {}),
            **({"absent": outcome.absent[name]} if outcome.absent.get(name) else {}),
        }
        for name, values in outcome.values.items()
    }
    for name, differs in outcome.differs.items():
        if name not in outcome.values and len(differs):
            shares[SHORT.get(name, name)] = {"differs": float(np.mean(differs))}
    return shares


def printed(name: str, shares: dict[str, dict[str, float]], seconds: float) -> None:
    """Print the statistics of one cell; values beyond the bounds of definitions §7 are starred."""
    most = 0.08 if "failing" in name else 0.05
    for metric, row in shares.items():
        if metric == "any":
            print(f"{name:<42} any  {'differs from itself':>39} {_share(row['differs'], 0.07)}  ({seconds:.0f} s)")
            continue
        if "mean" not in row:
            print(f"{name:<42} {metric:<4} {_share(row['differs'], 1.0):>44}")
            continue
        share = row.get("covered", np.nan)
        covered = f"{share:>7.1%}" + ("*" if abs(share - 0.95) > 0.02 else " ")
        different = _share(row["differs"], 1.0) if "differs" in row else " " * 8
        lost = f"  ({row['absent']} lives without a value)" if "absent" in row else ""
        print(
            f"{name:<42} {metric:<4} {row['mean']:>9.3f} {_share(row['met'], most)} {_share(row['not_met'], most)} "
            f"{covered} {different}{lost}"
        )
    sys.stdout.flush()


def _share(value: float, most: float) -> str:
    return f"{value:>7.1%}" + ("*" if value > most else " ")


def monotone(options: argparse.Namespace) -> dict[str, Any]:
    """Return whether more forgetting, with the same random numbers, raises PM, BT, RP or SE over 200 lifetimes."""
    report: dict[str, Any] = {}
    geometric = options.definitions == "new"
    for layout in ("condensed", "dispersed", "alternating"):
        lives: dict[float, dict[str, Any]] = {}
        for amount in FORGETTING:
            cell = CELLS["condensed/normal/evaluate-30"]
            cell = replace(cell, layout=layout, learner=cell.learner.but(forgetting=amount), lives=2)
            groups = drawn(cell, 100, options.seed)
            # The experts forget nothing: they learn only one task.
            lives[amount] = dict(PATHS[options.definitions][0](groups, options.preset, 0).values)
        for name in HEADLINE:
            if name == "forward_transfer" or name not in lives[0.0]:
                continue
            values = [lives[amount][name] for amount in FORGETTING]
            if name != HEADLINE[0] and geometric:
                values = [np.log(value) for value in values]
            steps = [later - earlier for earlier, later in pairwise(values)]
            rises = [float(np.nanmean(s) / (np.nanstd(s, ddof=1) / np.sqrt(len(s)) or 1.0)) for s in steps]
            report[f"{layout}/{SHORT[name]}"] = {
                "means": [
                    _mean(name, lives[amount][name], geometric=options.definitions == "new") for amount in FORGETTING
                ],
                "rises_by_se": rises,
                "holds": all(rise <= 2 for rise in rises),
            }
    return report


def causes(options: argparse.Namespace) -> Iterator[tuple[str, Outcome, float]]:
    """Yield the outcome of each single cause, compared with experts without it."""
    for layout in ("condensed", "dispersed"):
        cell = CELLS[f"{layout}/normal/evaluate-30"]
        for name, traits in CAUSES.items():
            began = time.perf_counter()
            groups = drawn(replace(cell, learner=NULL.but(**traits), beside=NULL), options.groups, options.seed)
            outcome = PATHS[options.definitions][0](groups, options.preset, 0)
            yield f"{layout}: {name}", outcome, time.perf_counter() - began


SIZES = ((3, 3), (5, 5), (11, 11), (30, 30), (3, 20))


def comparisons(options: argparse.Namespace, cells: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the shares of comparisons with a wrong word, by cell, numbers of lifetimes and pairing.

    The learner is compared with itself, and with itself worse by exactly the margin in all six metrics.
    """
    for name in cells:
        for ours, theirs in SIZES:
            cell = replace(CELLS[name], lives=max(ours, theirs))
            parts = [
                read_as_defined(drawn(cell, 100, options.seed, part)).compared for part in range(options.groups // 100)
            ]
            values = {metric: np.concatenate([part[metric] for part in parts]) for metric in parts[0]}
            baseline = {metric: value[:, 1, :theirs] for metric, value in values.items()}
            for paired in (True, False)[ours != theirs :]:
                row: dict[str, Any] = {"cell": name, "n": f"{ours} v {theirs}", "paired": paired}
                for truth, by in (("equal", 0.0), ("worse by the margin", 1.0)):
                    system = {metric: value[:, 0, :ours] - by * MARGINS[metric] for metric, value in values.items()}
                    words = words_of_comparison(system, baseline, MARGINS, paired=paired)
                    false = ("better", "no worse", "as good") if by else ("better", "worse")
                    wrong = {metric: np.isin(said, false) for metric, said in words.items()}
                    row[truth] = {
                        "any": float(np.mean(np.any(list(wrong.values()), axis=0))),
                        **{SHORT[metric]: float(np.mean(each)) for metric, each in wrong.items()},
                    }
                yield {**row, "pairs": len(next(iter(values.values())))}


WORSE_BY = 6.0
SHAPES: dict[str, Any] = {
    "normal": lambda rng, shape: 8 * rng.standard_normal(shape),
    "skewed": lambda rng, shape: -8 * (rng.standard_exponential(shape) - 1),
    "one in ten collapses": lambda rng, shape: 5 * rng.standard_normal(shape) - 60 * (rng.random(shape) < 0.1),
    "one in ten fails, else equal": lambda rng, shape: (
        0.1 * rng.standard_normal(shape) - 60.0 * (rng.random(shape) < 0.1)
    ),
}
"""Deviations of the lifetimes of a learner that is worse."""


def shapes(options: argparse.Namespace) -> Iterator[tuple[str, float, float]]:
    """Yield the shares of comparisons that call a learner better, or no worse, which is worse by 6 points.

    The other learner has normal values. Only one metric is tested, so Holm does not help.
    """
    for shape, deviations in SHAPES.items():
        for ours, theirs in ((3, 3), (5, 5), (11, 11), (30, 30), (3, 20), (20, 3)):
            rng = np.random.default_rng(options.seed)
            system = deviations(rng, (options.groups, ours))
            collapses = "in ten" in shape
            system = {"final_performance": system if collapses else system - WORSE_BY}
            baseline = {"final_performance": 5 * rng.standard_normal((options.groups, theirs))}
            words = words_of_comparison(system, baseline, MARGINS, paired=False)["final_performance"]
            yield (
                f"{shape}, {ours} v {theirs}",
                float(np.mean(words == "better")),
                float(np.mean(np.isin(words, ("no worse", "as good")))),
            )


def marks(options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """Yield the share of wrong marks on one lifetime whose evaluations resemble their neighbours, and never change."""
    order: list[tuple[Literal["learn", "evaluate"], str]] = [
        ("learn", "a"),
        ("evaluate", "a"),
        ("learn", "b"),
        ("evaluate", "a"),
    ]
    bars = {HEADLINE[0]: METRICS.get(HEADLINE[0]).criterion}
    for rho in (0.0, 0.5, 0.7, 0.8):
        for count in (10, 30, 100):
            rng = np.random.default_rng(options.seed)
            noise = rng.standard_normal((options.groups, 2, count))
            for at in range(1, count):
                noise[..., at] = rho * noise[..., at - 1] + np.sqrt(1 - rho**2) * noise[..., at]
            wrong = 0
            for evaluations in noise:
                away = evaluations - evaluations.mean(axis=-1, keepdims=True)
                blocks = [
                    BlockSummary(at, Block(mode, task, count), 0.0, None) for at, (mode, task) in enumerate(order)
                ]
                for at, values, each in zip((1, 3), evaluations, away, strict=True):
                    blocks[at] = replace(
                        blocks[at],
                        mean=float(values.mean()),
                        squares=float(each @ each),
                        lagged=float(each[1:] @ each[:-1]),
                    )
                change = float(evaluations[1].mean() - evaluations[0].mean())
                score = Score(Identity("life"), {HEADLINE[0]: Measured(change)}, blocks=tuple(blocks))
                verdict = decide((score,), HEADLINE[0], bars[HEADLINE[0]]).verdict
                wrong += verdict in ("met", "not met")
            yield f"correlation {rho}, {count} evaluations", wrong / options.groups


def markdown(report: dict[str, Any]) -> Iterator[str]:
    """Return the table of the docs: the mean, and the percentages of groups met / not met."""
    yield "| | " + " | ".join(SHORT[name] for name in HEADLINE) + " |"
    yield "|---" * (len(HEADLINE) + 1) + "|"
    for name, shares in report.items():
        cells = [
            f"{shares[method]['mean']:.2f} ({shares[method]['met']:.1%} / {shares[method]['not_met']:.1%})".replace(
                "%", " %"
            )
            if method in shares
            else "–"
            for method in (SHORT[name] for name in HEADLINE)
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def real(options: argparse.Namespace) -> Iterator[tuple[str, Outcome, float]]:
    """Yield outcomes of groups of `q-learning-independent` in the arcade, each with separate experts."""
    began = time.perf_counter()
    groups = lived_groups(Path(options.into or tempfile.mkdtemp(prefix="null-")), options.real, options.jobs)
    for kind in dict.fromkeys(group.scenario_type for group in groups):
        of_kind = [group for group in groups if group.scenario_type == kind]
        outcome = PATHS[options.definitions][1](of_kind, options.preset, options.compared)
        yield f"arcade/{kind}/{options.real}-groups", outcome, time.perf_counter() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="*", default=["*"], help="patterns; --list shows the names")
    parser.add_argument("--list", action="store_true", help="name the cells and stop")
    parser.add_argument("--groups", type=int, help="default 1000 for standard, 200 for other presets")
    parser.add_argument("--compared", type=int, help="how many pairs of groups are compared; default all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--preset", default="standard")
    parser.add_argument("--definitions", choices=sorted(PATHS), default="now")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--monotone", action="store_true", help="turn forgetting up instead")
    parser.add_argument("--compare", action="store_true", help="count wrong words in comparisons of two groups instead")
    parser.add_argument("--shapes", action="store_true", help="compare a worse learner of skewed values instead")
    parser.add_argument("--marks", action="store_true", help="count wrong marks on one lifetime instead")
    parser.add_argument("--causes", action="store_true", help="turn one cause at a time instead")
    parser.add_argument("--markdown", action="store_true", help="print the table as the docs show it, at the end")
    parser.add_argument(
        "--real", type=int, metavar="GROUPS", help="this many groups of q-learning-independent in the arcade instead"
    )
    parser.add_argument("--into", help="where the real lives are kept")
    parser.add_argument("--json", metavar="FILE", help="write the figures too")
    options = parser.parse_args()
    options.groups = options.groups or (1000 if options.preset == "standard" else 200)
    cells = [name for name in CELLS if any(fnmatch(name, cell) for cell in options.cells)]
    if options.list:
        print("\n".join(cells))
        return
    report: dict[str, Any] = {}
    if options.shapes:
        for name, better, no_worse in shapes(options):
            report[name] = {"better": better, "no_worse": no_worse}
            print(f"{name:<42} better {better:>6.1%}   no worse {_share(no_worse, 0.07)}")
    elif options.marks:
        for name, wrong in marks(options):
            report[name] = wrong
            print(f"{name:<42} {_share(wrong, 0.07)}", flush=True)
    elif options.compare:
        print(f"{'cell':<36} {'n':>8} {'':<8} {'pairs':>5} {'differs':>8} {'wrong at the margin':>20}")
        for row in comparisons(options, cells):
            report[f"{row['cell']}, {row['n']}, {'paired' if row['paired'] else 'unpaired'}"] = row
            print(
                f"{row['cell']:<36} {row['n']:>8} {'paired' if row['paired'] else 'unpaired':<8} {row['pairs']:>5} "
                f"{_share(row['equal']['any'], 0.07)} {_share(row['worse by the margin']['any'], 0.07):>20}",
                flush=True,
            )
    elif options.monotone:
        report = monotone(options)
        print(f"{'forgetting':<18} {'  '.join(f'{share:>8.0%}' for share in FORGETTING)}")
        for name, row in report.items():
            print(
                f"{name:<18} {'  '.join(f'{mean:>8.3f}' for mean in row['means'])}  {'' if row['holds'] else 'RISES'}"
            )
    else:
        print(f"{'cell':<42} {'':<4} {'mean':>9} {'met':>8} {'not met':>8} {'covered':>8} {'differs':>8}")
        results = (
            causes(options) if options.causes else outcomes(options, cells) if options.real is None else real(options)
        )
        for name, outcome, took in results:
            report[name] = facts(outcome, geometric=options.definitions == "new")
            printed(name, report[name], took)
        if options.markdown:
            print("\n".join(markdown(report)))
    if options.json:
        conditions = {
            "preset": options.preset,
            "definitions": options.definitions,
            "groups": options.groups,
            "seed": options.seed,
        }
        Path(options.json).write_text(json.dumps({**conditions, "cells": report}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
