"""The scorer agrees with the oracle of the definitions in FT, BT, RP, SE and PM, also beside several experts."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.metrics.new_definitions import Life, Part

from perdure.curves.experts import Experts, compare_with_experts
from perdure.curves.model import Preparation
from perdure.log.model import Lifetime
from perdure.log.rules import STANDARD_COLUMNS
from perdure.metrics.score import Score, Scorer
from perdure.settings import Settings

LENGTHS = (1, 2, 9, 10, 15, 40, 61, 130, 520)
AGREES = 1e-9


def lifetime_of(name: str, parts: list[Part], bounds: dict[str, tuple[float, float]] | None = None) -> Lifetime:
    """The blocks as a log; bounds of some tasks are recorded in its manifest."""
    rows: list[dict[str, Any]] = []
    for block, part in enumerate(parts):
        for value in part.values.tolist():
            rows.append(
                {
                    "block_num": block,
                    "exp_num": len(rows),
                    "worker_id": "w",
                    "block_type": "train" if part.mode == "learn" else "test",
                    "block_subtype": part.subtype,
                    "task_name": part.task,
                    "task_params": "{}",
                    "exp_status": "complete",
                    "timestamp": None,
                    "reward": value,
                }
            )
    frame = pl.DataFrame(rows, schema={**STANDARD_COLUMNS, "reward": pl.Float64()})
    recorded = {"tasks": [{"label": task, "bounds": list(pair)} for task, pair in (bounds or {}).items()]}
    return Lifetime(name, frame, {"reward": "higher"}, manifest={"scenario": recorded})


def drawn(rng: np.random.Generator, kind: str, length: int) -> np.ndarray:
    """Rewards that rise somewhat, as numbers, as 0 and 1, or all the same."""
    rise = rng.uniform(-0.2, 0.8) * np.linspace(0, 1, length) + rng.uniform(0, 0.5)
    if kind == "binary":
        return (rng.random(length) < rise).astype(float)
    if kind == "constant":
        return np.full(length, 0.5)  # sums of it are exact
    return rise + rng.normal(0, 0.3, length)


def random_case(rng: np.random.Generator) -> Life:
    tasks = ["a", "b", "c", "d"][: rng.integers(1, 5)]
    kinds = {task: str(rng.choice(["numbers", "numbers", "binary", "constant"])) for task in tasks}

    def part(mode: str, task: str, sleeping: float = 0.0) -> Part:
        length = int(rng.choice(LENGTHS[:6] if mode == "evaluate" else LENGTHS))
        return Part(mode, task, drawn(rng, kinds[task], length), "sleep" if rng.random() < sleeping else "wake")

    parts: list[Part] = []
    asleep = 0.3 if rng.random() < 0.2 else 0.0
    for _ in range(rng.integers(2, 9)):
        learned = str(rng.choice(tasks))
        parts.append(part("learn", learned, 0.1))
        parts += [part("evaluate", task, asleep) for task in tasks if rng.random() < 0.8]
        if parts[-1].mode == "learn":  # two blocks of one task would be one
            parts.append(part("evaluate", str(rng.choice(tasks)), asleep))
    experts: dict[str, list[list[Part]]] = {}
    for task in tasks:
        count = int(rng.integers(0, 4))
        if count:
            experts[task] = [[part("learn", task)] for _ in range(count)]
    bounds = {task: (0.2, 0.9) for task in tasks if rng.random() < 0.4}
    return Life(parts, experts, bounds)


def experts_of(life: Life) -> Experts:
    return Experts(
        tuple(
            lifetime_of(f"{task} {number}", list(parts))
            for task, each in life.experts.items()
            for number, parts in enumerate(each)
        )
    )


def expected(life: Life) -> dict[str, float | None]:
    performance, efficiency = life.beside_experts()
    logs = {
        "forward_transfer": life.transfer(backward=False),
        "backward_transfer": life.transfer(backward=True),
        "relative_performance": life.over_experts(performance),
        "sample_efficiency": life.over_experts(efficiency),
    }
    pm = life.maintenance()
    values = {name: None if one is None else float(np.exp(one)) for name, one in logs.items()}
    return {"performance_maintenance": None if pm is None else float(pm)} | values


def assert_agrees(found: Score, life: Life) -> None:
    for name, value in expected(life).items():
        here = found[name]
        if value is None or np.isnan(value):
            assert here is None, name
        else:
            assert here == pytest.approx(value, rel=AGREES, abs=AGREES), name
    for name, by_task in zip(("relative_performance", "sample_efficiency"), life.beside_experts(), strict=True):
        measured = found.metrics[name]
        assert set(measured.experts) == set(by_task)
        for task, logs in by_task.items():
            assert list(measured.by[task]) == pytest.approx(np.exp(logs).tolist(), rel=AGREES, abs=AGREES)
            assert [mark.partition("@")[0] for mark in measured.experts[task]] == [
                f"{task} {number}" for number in range(len(logs))
            ]


@pytest.mark.parametrize("seed", range(200))
def test_values_are_those_of_the_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    life = random_case(rng)
    assert_agrees(Scorer(None, experts_of(life)).score(lifetime_of("life", list(life.parts), dict(life.bounds))), life)


@pytest.mark.parametrize("seed", range(20))
def test_lives_scored_by_one_scorer_have_the_values_of_the_definitions(seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    first = random_case(rng)
    lives = [first] + [
        Life(
            [Part(part.mode, part.task, rng.permutation(part.values), part.subtype) for part in first.parts],
            first.experts,
            first.bounds,
        )
        for _ in range(4)
    ]
    logs = [lifetime_of(f"life {number}", list(one.parts), dict(one.bounds)) for number, one in enumerate(lives)]
    scorer = Scorer(None, experts_of(first))
    for log, life in zip(logs, lives, strict=True):
        assert_agrees(scorer.score(log), life)


def one_task(own: list[float], expert: list[float], **how: Any) -> Score:
    learned = [Part("learn", "t", np.array(own))]
    beside = Experts((lifetime_of("expert", [Part("learn", "t", np.array(expert))]),))
    return Scorer(Settings(**how), beside).score(lifetime_of("life", learned, {"t": (0.0, 1.0)}))


def test_a_mean_below_the_scale_counts_as_its_beginning_and_says_so() -> None:
    found = one_task([-0.5] * 10, [0.0] * 5 + [0.99] * 5)
    assert found["relative_performance"] == pytest.approx(1 / 50.5)
    assert found.metrics["relative_performance"].flags == ("a mean below the scale's minimum counts as 1",)


def test_without_a_scale_there_is_no_floor_and_a_negative_mean_has_no_ratio() -> None:
    found = one_task([-0.5] * 10, [0.5] * 10, scale="none")
    for name in ("relative_performance", "sample_efficiency"):
        assert found[name] is None
        assert "positive" in found.why[name]


def test_who_never_arrives_and_who_does_not_learn_counts_and_is_flagged() -> None:
    found = one_task([0.0] * 10, [0.1 * at for at in range(10)])
    flags = " ".join(found.metrics["sample_efficiency"].flags)
    assert "never reached" in flags
    assert "did not learn" in flags
    assert "an expert did not learn" not in flags
    # Common target: start (0 + 0)/2, end (0 + 0.9)/2; the expert is there at its fifth (0.4 < 0.405 ≤ 0.5: sixth).
    assert found["sample_efficiency"] == pytest.approx((1 / 91) * (6 / 11))


def test_a_median_over_tasks_is_one_of_logarithms() -> None:
    rng = np.random.default_rng(1)
    parts = [Part("learn", task, drawn(rng, "numbers", 40)) for task in "abcd"]
    life = Life(parts, {task: [[Part("learn", task, drawn(rng, "numbers", 30))] for _ in range(3)] for task in "abcd"})
    found = Scorer(Settings(aggregate="median"), experts_of(life)).score(lifetime_of("life", parts))
    performance, _ = life.beside_experts()
    median = np.median([logs.mean() for logs in performance.values()])
    assert found["relative_performance"] == pytest.approx(float(np.exp(median)), rel=AGREES, abs=AGREES)


def test_experts_of_one_name_that_measured_different_things_are_told_apart() -> None:
    rng = np.random.default_rng(2)
    few = 19  # values, so that the same ones again are no copy
    parts = [Part("learn", "a", drawn(rng, "numbers", few))]
    beside = tuple(lifetime_of("expert", [Part("learn", "a", drawn(rng, "numbers", few))]) for _ in range(2))
    marks = Scorer(None, Experts((*beside, beside[0]))).score(lifetime_of("life", parts)).metrics
    first, second, again = marks["relative_performance"].experts["a"]
    assert first != second
    assert first == again


def test_noise_is_added_to_the_learner_alone_after_scaling() -> None:
    parts = [Part("learn", "t", np.linspace(0, 1, 50))]
    beside = Experts((lifetime_of("expert", parts),))
    prep = Preparation(noise=1.0, noise_seed=4, bounds={"t": (0.0, 1.0)})
    scorer = Scorer(Settings(prep=prep), beside)
    score, curves = scorer.scored(lifetime_of("life", parts))
    (pair,) = compare_with_experts(curves, "t", (0,))
    assert pair.expert_mean == pytest.approx(51.0)
    assert pair.mean == pytest.approx(float(curves.over((0,)).values.mean()))
    assert score["relative_performance"] == pytest.approx(pair.mean / pair.expert_mean)
