"""What is said of a learner that neither forgets nor transfers? Every verdict on it is an error, and is counted here.

Run as `python bench/null.py --cells 'condensed/*' --groups 1000`; `--definitions new` reads the same lives by the
definitions' own model, `--real` reads lives of a learner with a separate table per task in the arcade,
`--monotone` turns forgetting up, which must raise nothing, and `--causes` turns one cause at a time. Per cell and
metric: the mean over groups, the share of groups in which it is met and not met (by the new definitions PM: gains
and forgets), of intervals that hold the truth, and of pairs of groups that are told apart; below, that of pairs
told apart by any metric after Holm.
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
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))  # its parts lie beside it, the definitions' model with the tests
from bench.null_cells import CELLS, drawn
from bench.null_paths import HEADLINE, PATHS, Outcome, joined
from bench.null_real import lived_groups

from perdure.simulate.learner import NULL
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
SHORT = {name: initials(name) for name in HEADLINE}


def part_of(cell: str, groups: int, seed: int, part: int, path: str, preset: str, compared: int | None) -> Outcome:
    """One part of a cell, in a process of its own."""
    return PATHS[path][0](drawn(CELLS[cell], groups, seed, part), preset, compared)


def outcomes(given: argparse.Namespace, cells: Sequence[str]) -> Iterator[tuple[str, Outcome, float]]:
    """Each cell, as soon as all its parts are there."""
    sizes = [min(AT_ONCE, given.groups - done) for done in range(0, given.groups, AT_ONCE)]
    compared = None if given.compared is None else -(-given.compared // len(sizes))
    for variable in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # the workers, which start anew, share the cores
    # Forking would copy Polars' threads in whatever state they are.
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        for name in cells:
            began = time.perf_counter()
            parts = [
                pool.submit(part_of, name, size, given.seed, at, given.definitions, given.preset, compared)
                for at, size in enumerate(sizes)
            ]
            yield name, joined([one.result() for one in parts]), time.perf_counter() - began


def _mean(metric: str, values: npt.NDArray[np.float64], *, geometric: bool) -> float:
    if geometric and metric != HEADLINE[0]:
        return float(np.exp(np.nanmean(np.log(values))))
    return float(np.nanmean(values))


def facts(outcome: Outcome, *, geometric: bool = False) -> dict[str, dict[str, float]]:
    """The figures of one cell."""
    found = {
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
    if len(outcome.differs.get("any", ())):
        found["any"] = {"differs": float(np.mean(outcome.differs["any"]))}
    return found


def printed(name: str, found: dict[str, dict[str, float]], seconds: float) -> None:
    """The figures of one cell as lines; what lies beyond the bounds of definitions §7 is starred."""
    most = 0.08 if "failing" in name else 0.05
    for metric, one in found.items():
        if metric == "any":
            print(f"{name:<42} any  {'told from itself':>39} {_share(one['differs'], 0.07)}  ({seconds:.0f} s)")
            continue
        share = one.get("covered", np.nan)
        covered = f"{share:>7.1%}" + ("*" if abs(share - 0.95) > 0.02 else " ")
        told = _share(one["differs"], 1.0) if "differs" in one else " " * 8
        lost = f"  ({one['absent']} lives without a value)" if "absent" in one else ""
        print(
            f"{name:<42} {metric:<4} {one['mean']:>9.3f} {_share(one['met'], most)} {_share(one['not_met'], most)} "
            f"{covered} {told}{lost}"
        )
    sys.stdout.flush()


def _share(value: float, most: float) -> str:
    return f"{value:>7.1%}" + ("*" if value > most else " ")


def monotone(given: argparse.Namespace) -> dict[str, Any]:
    """More forgetting, the same random numbers: does the mean of PM, BT, RP or SE over 200 lives rise?"""
    report: dict[str, Any] = {}
    geometric = given.definitions == "new"
    for layout in ("condensed", "dispersed", "alternating"):
        lives: dict[float, dict[str, Any]] = {}
        for amount in FORGETTING:
            cell = CELLS["condensed/normal/evaluate-30"]
            cell = replace(cell, layout=layout, learner=cell.learner.but(forgetting=amount), lives=2)
            groups = drawn(cell, 100, given.seed)
            # The experts forget nothing: they learn one task alone.
            lives[amount] = dict(PATHS[given.definitions][0](groups, given.preset, 0).values)
        for name in HEADLINE:
            if name == "forward_transfer" or name not in lives[0.0]:
                continue
            values = [lives[amount][name] for amount in FORGETTING]
            if name != HEADLINE[0] and geometric:
                values = [np.log(one) for one in values]
            steps = [later - earlier for earlier, later in pairwise(values)]
            rises = [float(np.nanmean(s) / (np.nanstd(s, ddof=1) / np.sqrt(len(s)) or 1.0)) for s in steps]
            report[f"{layout}/{SHORT[name]}"] = {
                "means": [
                    _mean(name, lives[amount][name], geometric=given.definitions == "new") for amount in FORGETTING
                ],
                "rises_by_se": rises,
                "holds": all(rise <= 2 for rise in rises),
            }
    return report


def causes(given: argparse.Namespace) -> Iterator[tuple[str, Outcome, float]]:
    """Each cause alone, beside experts without it."""
    for layout in ("condensed", "dispersed"):
        cell = CELLS[f"{layout}/normal/evaluate-30"]
        for name, traits in CAUSES.items():
            began = time.perf_counter()
            groups = drawn(replace(cell, learner=NULL.but(**traits), beside=NULL), given.groups, given.seed)
            found = PATHS[given.definitions][0](groups, given.preset, 0)
            yield f"{layout}: {name}", found, time.perf_counter() - began


def markdown(report: dict[str, Any]) -> Iterator[str]:
    """The table as the docs show it: mean, and in per cent of groups met / not met."""
    yield "| | " + " | ".join(SHORT.values()) + " |"
    yield "|---" * (len(SHORT) + 1) + "|"
    for name, found in report.items():
        cells = [
            f"{found[one]['mean']:.2f} ({found[one]['met']:.1%} / {found[one]['not_met']:.1%})".replace("%", " %")
            if one in found
            else "–"
            for one in SHORT.values()
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def real(given: argparse.Namespace) -> Iterator[tuple[str, Outcome, float]]:
    """Groups of lives of `q-learning-independent` in the arcade, each with experts of its own."""
    began = time.perf_counter()
    groups = lived_groups(Path(given.into or tempfile.mkdtemp(prefix="null-")), given.real, given.jobs)
    for kind in dict.fromkeys(one.scenario_type for one in groups):
        these = [one for one in groups if one.scenario_type == kind]
        found = PATHS[given.definitions][1](these, given.preset, given.compared)
        yield f"arcade/{kind}/{given.real}-groups", found, time.perf_counter() - began


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
    parser.add_argument("--causes", action="store_true", help="turn one cause at a time instead")
    parser.add_argument("--markdown", action="store_true", help="print the table as the docs show it, at the end")
    parser.add_argument(
        "--real", type=int, metavar="GROUPS", help="this many groups of q-learning-independent in the arcade instead"
    )
    parser.add_argument("--into", help="where the real lives are kept")
    parser.add_argument("--json", metavar="FILE", help="write the figures too")
    given = parser.parse_args()
    given.groups = given.groups or (1000 if given.preset == "standard" else 200)
    cells = [name for name in CELLS if any(fnmatch(name, one) for one in given.cells)]
    if given.list:
        print("\n".join(cells))
        return
    report: dict[str, Any] = {}
    if given.monotone:
        report = monotone(given)
        print(f"{'forgetting':<18} {'  '.join(f'{one:>8.0%}' for one in FORGETTING)}")
        for name, one in report.items():
            print(
                f"{name:<18} {'  '.join(f'{mean:>8.3f}' for mean in one['means'])}  {'' if one['holds'] else 'RISES'}"
            )
    else:
        print(f"{'cell':<42} {'':<4} {'mean':>9} {'met':>8} {'not met':>8} {'covered':>8} {'differs':>8}")
        results = causes(given) if given.causes else outcomes(given, cells) if given.real is None else real(given)
        for name, found, took in results:
            report[name] = facts(found, geometric=given.definitions == "new")
            printed(name, report[name], took)
        if given.markdown:
            print("\n".join(markdown(report)))
    if given.json:
        about = {"preset": given.preset, "definitions": given.definitions, "groups": given.groups, "seed": given.seed}
        Path(given.json).write_text(json.dumps({**about, "cells": report}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
