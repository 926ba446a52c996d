"""Baker et al. 2023, A domain-agnostic approach: Algorithms 1–5, App. D and G and Fig. 3a, recomputed by hand."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from tests.documents.by_hand import (
    Values,
    contrast,
    mean,
    output_of,
    percentile,
    run_json,
    scaled,
    slope,
    smoothed,
    write_log,
)

import perdure

TASKS = ("a", "b", "c")
ORDER = ("a", "b", "c", "a", "c", "b")  # t(n), from learning block 1 on


class LoggedLifetime:
    """A lifetime with one expert per task (the simplified setting of C.2), prepared as in New et al. 2022, App. A."""

    def __init__(self, seed: int, folder: Path, name: str = "life") -> None:
        chance = random.Random(seed)
        self.raw: list[tuple[str, str, Values]] = []

        def evaluation() -> None:
            self.raw.extend(("test", task, [chance.uniform(0, 10) for _ in range(5)]) for task in TASKS)

        evaluation()  # "Lifetimes are assumed to start with an Evaluation Block"
        for number, task in enumerate(ORDER):
            start = 3.0 * (number >= 3)
            values = [start + 6 * index / 30 + chance.uniform(0, 2) for index in range(30)]
            self.raw.append(("train", task, values))
            evaluation()
        self.experts = {task: [9 * index / 60 + chance.uniform(0, 2) for index in range(60)] for task in TASKS}
        # Half a second per experience of the lifetime, a fifth per experience of an expert.
        self.path = write_log(folder, name, self.raw, seconds=0.5)
        for task, values in self.experts.items():
            write_log(folder / f"{name}-experts", task, [("train", task, values)], seconds=0.2)
        self.expert_folder = folder / f"{name}-experts"
        self._prepare()

    def _prepare(self) -> None:
        smooth = [(mode, task, smoothed(v) if mode == "train" else v) for mode, task, v in self.raw]
        alone = {task: smoothed(values) for task, values in self.experts.items()}
        limits = {}
        for task in TASKS:
            pooled = [value for _, of, values in smooth if of == task for value in values] + alone[task]
            limits[task] = percentile(pooled, 0.1), percentile(pooled, 0.9)
        self.P_E: list[dict[str, float]] = [{}]
        self.P_L: list[tuple[str, Values]] = []
        for mode, task, values in smooth:
            if mode == "train":
                self.P_L.append((task, scaled(values, *limits[task])))
                self.P_E.append({})
            else:
                self.P_E[-1][task] = mean(scaled(values, *limits[task]))
        self.P_STE = {task: scaled(values, *limits[task]) for task, values in alone.items()}

    def scored(self, *more: object) -> dict[str, Any]:
        result = run_json("score", self.path, "--experts", self.expert_folder, "--preset", "baker-2023", *more)
        outcome: dict[str, Any] = result["lifetimes"][0]["metrics"]
        return outcome

    def concatenated(self, task: str) -> Values:
        return [value for of, values in self.P_L if of == task for value in values]


@pytest.fixture(params=range(3))
def lifetime(request: pytest.FixtureRequest, tmp_path: Path) -> LoggedLifetime:
    return LoggedLifetime(request.param, tmp_path)


def test_forward_transfer_is_algorithm_1(lifetime: LoggedLifetime) -> None:
    learned: list[str] = []
    pairs: list[tuple[str, str]] = []
    results: list[tuple[float, float]] = []
    for n in range(1, len(ORDER) + 1):
        now = ORDER[n - 1]
        if now in learned:
            continue
        learned.append(now)
        for t in TASKS:
            if t not in learned and (now, t) not in pairs:
                pairs.append((now, t))
                results.append((lifetime.P_E[n][t], lifetime.P_E[n - 1][t]))
    scored = lifetime.scored()
    # "Our transfer metrics use Ratios, but Contrasts may also be used in their place".
    assert scored["forward_transfer"]["value"] == pytest.approx(mean([after / before for after, before in results]))
    assert scored["forward_transfer_contrast"]["value"] == pytest.approx(
        mean([contrast(*result) for result in results])
    )


def test_backward_transfer_is_algorithm_2_with_the_first_block_learned_and_pairs_in_order(
    lifetime: LoggedLifetime,
) -> None:
    # As printed, the loop begins at n = 2, so that t(1) never counts as learned, and a pair is a set, so that a→b or
    # b→a is dropped. Its text and New et al. 2022, §3.4.3 count each task pair's first value: both are misprints.
    learned: list[str] = [ORDER[0]]
    pairs: list[tuple[str, str]] = []
    results: list[tuple[float, float]] = []
    for n in range(2, len(ORDER) + 1):
        now = ORDER[n - 1]
        learned.append(now)
        for t in TASKS:
            if t != now and t in learned and (now, t) not in pairs:
                pairs.append((now, t))
                results.append((lifetime.P_E[n][t], lifetime.P_E[n - 1][t]))
    scored = lifetime.scored()
    assert scored["backward_transfer"]["value"] == pytest.approx(mean([after / before for after, before in results]))
    assert scored["backward_transfer_contrast"]["value"] == pytest.approx(
        mean([contrast(*result) for result in results])
    )


def test_relative_performance_is_algorithm_3(lifetime: LoggedLifetime) -> None:
    ratios = [sum(lifetime.concatenated(task)) / sum(lifetime.P_STE[task]) for task in TASKS]
    assert lifetime.scored()["relative_performance"]["value"] == pytest.approx(mean(ratios))


def test_sample_efficiency_is_algorithm_4(lifetime: LoggedLifetime) -> None:
    results = []
    for task in TASKS:
        own, expert = smoothed(lifetime.concatenated(task)), smoothed(lifetime.P_STE[task])
        assert slope(own) > 0
        where = [
            next(index for index, value in enumerate(c, 1) if value >= max(c) - 1e-9 * max(c)) for c in (own, expert)
        ]
        results.append(max(own) / max(expert) * where[1] / where[0])
    assert lifetime.scored()["sample_efficiency"]["value"] == pytest.approx(mean(results))


def test_performance_maintenance_is_algorithm_5(lifetime: LoggedLifetime) -> None:
    values: dict[str, Values] = {task: [] for task in TASKS}
    recent: dict[str, int] = {}
    for n in range(1, len(ORDER) + 1):
        recent[ORDER[n - 1]] = n
        for t in TASKS:
            if recent.get(t, 0) > 0 and t != ORDER[n - 1]:
                values[t].append(lifetime.P_E[n][t] - lifetime.P_E[recent[t]][t])
    scored = lifetime.scored()["performance_maintenance"]
    assert scored["value"] == pytest.approx(mean([mean(value) for value in values.values()]))
    for task, value in values.items():
        assert scored["by"][task] == pytest.approx(value)


def test_cost_overhead_is_table_g_20(lifetime: LoggedLifetime) -> None:
    # Elapsed time of the whole lifetime, evaluations included, per learning experience, compared with that of the
    # experts.
    experiences = sum(len(values) for _, _, values in lifetime.raw)
    learning = sum(len(values) for mode, _, values in lifetime.raw if mode == "train")
    multitask = 0.5 * (experiences - 1) / learning
    singletask = sum(0.2 * (60 - 1) for _ in TASKS) / (60 * len(TASKS))
    assert lifetime.scored()["cost_overhead"]["value"] == pytest.approx(multitask / singletask)


def test_standard_counts_only_the_time_of_learning(lifetime: LoggedLifetime) -> None:
    result = run_json("score", lifetime.path, "--experts", lifetime.expert_folder)["lifetimes"][0]["metrics"][
        "cost_overhead"
    ]
    assert result["value"] == pytest.approx(0.5 / 0.2), "definitions §3: Σ(last − first)/Σ(n − 1) over learning blocks"


def test_performance_against_cost_is_a_point_per_lifetime(tmp_path: Path) -> None:
    # §6.1, "Optimal Performance vs. Computational Cost".
    lifetime = LoggedLifetime(4, tmp_path)
    scored = lifetime.scored()
    to = tmp_path / "cost.svg"
    shown = run_json(
        "figure",
        "performance-cost",
        lifetime.path,
        "--experts",
        lifetime.expert_folder,
        "--preset",
        "baker-2023",
        "--to",
        to,
    )["data"]
    assert (shown["x"], shown["y"]) == ("cost_overhead", "relative_performance")
    (point,) = shown["clouds"][0]["points"]
    assert (point["x"], point["y"]) == (scored["cost_overhead"]["value"], scored["relative_performance"]["value"])
    assert "<svg" in to.read_text()[:400]


def test_the_annotated_figure_marks_the_evaluations_that_maintenance_and_transfer_compare(tmp_path: Path) -> None:
    # Fig. 3a: the two evaluations behind each value, on one lifetime.
    lifetime = LoggedLifetime(5, tmp_path)
    shown = run_json("figure", "annotated", lifetime.path, "--to", tmp_path / "a.svg", "--values", "measured")["data"]
    marks = [(item["metric"], item["key"], tuple(item["blocks"])) for item in shown["marks"]]
    per = len(TASKS)

    def block(evaluation: int, task: str) -> int:
        """Return the block of the `evaluation`-th evaluation of `task`, counted over all learning blocks."""
        return evaluation * (per + 1) + TASKS.index(task)

    # FT: a is learned between evaluations 0 and 1, and b and c have not been; then b, and c has not been.
    forward = {("a→b", (0, 1)), ("a→c", (0, 1)), ("b→c", (1, 2))}
    expected = {("forward_transfer", pair, tuple(block(e, pair[-1]) for e in index)) for pair, index in forward}
    assert {mark for mark in marks if mark[0] == "forward_transfer"} == expected
    # BT: each pair's first, once the second of it was learned.
    first: dict[str, tuple[int, int]] = {}
    for n, by in enumerate(ORDER, 1):
        for of in TASKS:
            if of != by and of in ORDER[: n - 1]:
                first.setdefault(f"{by}→{of}", (block(n - 1, of), block(n, of)))
    assert {mark[1:] for mark in marks if mark[0] == "backward_transfer"} == set(first.items())
    # PM: every evaluation of a task after its reference.
    names = set()
    for task in TASKS:
        reference = None
        for n, by in enumerate(ORDER, 1):
            if by == task:
                reference = n
            elif reference:
                names.add((task, (block(reference, task), block(n, task))))
    assert {mark[1:] for mark in marks if mark[0] == "performance_maintenance"} == names
    for item in shown["marks"]:
        means = [mean(lifetime.raw[index][2]) for index in item["blocks"]]
        assert [item["before"][1], item["after"][1]] == pytest.approx(means), "drawn at the evaluations' means"


def test_the_t_test_of_appendix_d_is_one_tailed_over_the_mean_of_lifetimes(tmp_path: Path) -> None:
    lifetimes = [LoggedLifetime(seed, tmp_path / "all", f"life{seed}") for seed in range(4)]
    (tmp_path / "only").mkdir()
    for lifetime in lifetimes:
        lifetime.path.rename(tmp_path / "only" / lifetime.path.name)
    result = run_json("score", tmp_path / "only", "--preset", "baker-2023")
    outcome = result["groups"][0]["metrics"]["performance_maintenance"]
    values = [item["metrics"]["performance_maintenance"]["value"] for item in result["lifetimes"]]
    t = mean(values) / (stdev(values) / math.sqrt(len(values)))
    assert outcome["mean"] == pytest.approx(mean(values))
    assert outcome["sd"] == pytest.approx(stdev(values))
    assert outcome["t"] == pytest.approx(t)
    assert outcome["tails"] == "one"
    assert outcome["p"] == pytest.approx(upper_tail(t, len(values) - 1), abs=1e-6)


def upper_tail(t: float, df: int) -> float:
    """Return P(T > t), by Simpson's rule over the density."""
    scale = math.gamma((df + 1) / 2) / (math.sqrt(df * math.pi) * math.gamma(df / 2))
    steps, width = 20000, abs(t) / 20000
    total = sum(
        (1 if index in (0, steps) else 4 if index % 2 else 2) * (1 + (index * width) ** 2 / df) ** (-(df + 1) / 2)
        for index in range(steps + 1)
    )
    area = float(scale * total * width / 3)
    return 0.5 - math.copysign(area, t)


def test_the_rule_of_appendix_d_gives_eleven_lifetimes() -> None:
    # n ≥ ((z_{1−α/2} + z_{1−β}) / k)² with k = 1, α = .05, β = .1; the two quantiles from a table of the normal.
    rule = math.ceil((1.959964 + 1.281552) ** 2)
    assert rule == 11
    assert re.search(rf"\b{rule}\b", output_of("plan"))


@pytest.mark.parametrize("kind", ["condensed", "dispersed"])
def test_condensed_learns_each_task_once_and_dispersed_in_three_superblocks(kind: str, tmp_path: Path) -> None:
    more = ("--superblocks", "3") if kind == "dispersed" else ()
    tasks = [word for task in ("pong", "breakout", "cart") for word in ("--task", task)]
    file = tmp_path / f"{kind}.json"
    file.write_text(output_of("compose", kind, *tasks, *more, "--learn", "30", "--evaluate", "5"))
    blocks = perdure.read_syllabus(file).scenario.blocks
    learned = [block.task for block in blocks if block.mode == "learn"]
    assert len(learned) == (3 if kind == "condensed" else 9)
    assert all(learned.count(task) == len(learned) // 3 for task in set(learned))
    assert blocks[0].mode == "evaluate", "lifetimes start with an evaluation block"
    for index, block in enumerate(blocks):
        if block.mode == "learn":
            tests = {other.task for other in blocks[index + 1 : index + 4] if other.mode == "evaluate"}
            assert tests == set(learned), "after each learning block all tasks are evaluated"
