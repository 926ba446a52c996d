"""The Metrics Framework of 5 December 2019, recomputed by hand from logs in its own form."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.documents.by_hand import Values, document, listings, mean, output_of, run_json, write_log, write_tree

import perdure
from perdure.classic.l2metrics2019 import (
    AgentMetric,
    AgentMetricsReport,
    ClassificationMetric,
    ClassificationMetricsReport,
    GlobalMean,
)

SYLLABI = Path(__file__).parents[2] / "examples" / "syllabi"
WIDTH = "bot/paddle/width"
Blocks = list[tuple[str, str, dict[str, Any], Values]]


# --- §2.1, as quoted -----------------------------------------------------------------------------


def moving_average(values: Sequence[float], alpha: int = 11) -> Values:
    """Return the moving average, "edge values are discarded"; for shorter blocks the mean (definitions §5)."""
    if len(values) < alpha:
        return [mean(values)]
    return [sum(values[index : index + alpha]) / alpha for index in range(len(values) - alpha + 1)]


def saturation(values: Sequence[float], alpha: int = 11) -> float:
    return max(moving_average(values, alpha))


def time_to_saturation(values: Sequence[float], alpha: int = 11) -> int:
    """Return when "the saturation value (or above) is seen in the smoothed reward signal" for the first time."""
    smooth = moving_average(values, alpha)
    return next(index for index, value in enumerate(smooth, 1) if value >= max(smooth))


def integral(values: Sequence[float], alpha: int = 11) -> float:
    """Return the sum of the smoothed series, divided by the integer block length."""
    smooth = moving_average(values, alpha)
    return sum(smooth) / len(values) if len(values) >= alpha else smooth[0]


def recovery(before: Sequence[float], later: Sequence[float], alpha: int = 11) -> int:
    """Return the episodes "to regain the same performance (within 2%)"; one more than the length if never."""
    level = saturation(before, alpha)
    least = level - 0.02 * abs(level)
    return next((index for index, mean in enumerate(moving_average(later, alpha)) if mean >= least), len(later) + 1)


# --- lifetimes of each type ----------------------------------------------------------------------


def learning_values(chance: random.Random, top: float, count: int = 40) -> Values:
    soon = chance.uniform(2, 9)
    return [top * (1 - math.exp(-index / soon)) + chance.uniform(-0.2, 0.2) for index in range(count)]


def evaluation_values(chance: random.Random, level: float, count: int = 15) -> Values:
    return [level + chance.uniform(-0.3, 0.3) for _ in range(count)]


def continual(seed: int = 1) -> Blocks:
    """Return the example of §3.1: one task in three widths."""
    chance = random.Random(seed)
    return [
        ("1-1.train", "Pong", {WIDTH: 0.15}, learning_values(chance, 5)),
        ("2-1.test", "Pong", {WIDTH: 0.2}, evaluation_values(chance, 2)),
        ("2-1.test", "Pong", {WIDTH: 0.15}, evaluation_values(chance, 4)),
        ("3-2.train", "Pong", {WIDTH: 0.2}, learning_values(chance, 6)),
        ("3-2.train", "Pong", {WIDTH: 0.25}, learning_values(chance, 5.5)),
        ("4-2.test", "Pong", {WIDTH: 0.15}, evaluation_values(chance, 3)),
        ("4-2.test", "Pong", {WIDTH: 0.2}, evaluation_values(chance, 5, 8)),
        ("4-2.test", "Pong", {WIDTH: 0.25}, evaluation_values(chance, 6)),
    ]


def subtype_b(seed: int = 2) -> Blocks:
    """Return §3.2, subtype B: "the minimum required blocks to compute a transfer matrix with two tasks"."""
    chance = random.Random(seed)
    return [
        ("1-1.train", "Pong", {}, learning_values(chance, 5)),
        ("2-1.test", "Breakout", {}, evaluation_values(chance, 1.5)),
        ("3-2.train", "Breakout", {}, learning_values(chance, 8)),
        ("4-2.test", "Pong", {}, evaluation_values(chance, 4)),
    ]


def subtype_c(seed: int = 3, *, both_tested: bool = False) -> Blocks:
    """Return §3.2, subtype C: three widths of Pong learned, Breakout's tested, then the order is switched."""
    chance = random.Random(seed)
    widths = (0.15, 0.2, 0.25)
    blocks: Blocks = []
    for phase, (task, other) in enumerate((("Pong", "Breakout"), ("Breakout", "Pong"))):
        top = 5 if task == "Pong" else 9
        blocks += [
            (f"{2 * phase + 1}-{phase + 1}.train", task, {WIDTH: w}, learning_values(chance, top)) for w in widths
        ]
        blocks += [
            (f"{2 * phase + 2}-{phase + 1}.test", other, {WIDTH: w}, evaluation_values(chance, 2 + 9 * w))
            for w in widths
        ]
    if both_tested:
        blocks += [("4-2.test", "Breakout", {WIDTH: w}, evaluation_values(chance, 6)) for w in widths]
    return blocks


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a `$L2DATA` folder for one test."""
    monkeypatch.setenv("L2DATA", str(tmp_path))
    return tmp_path


def write_taskinfo(data: Path, experts: dict[str, float]) -> None:
    (data / "taskinfo").mkdir(exist_ok=True)
    (data / "taskinfo" / "info.json").write_text(json.dumps(experts))


def scored(name: str, *more: object) -> dict[str, Any]:
    result: dict[str, Any] = run_json("score", name, "--preset", "framework-2019", *more)["lifetimes"][0]
    return result


def of_train(blocks: Blocks) -> list[Values]:
    return [values for phase, *_, values in blocks if phase.endswith("train")]


# --- §2.1 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [11, 7, 1])
@pytest.mark.parametrize("sub_episodes", [1, 3])
def test_saturation_recovery_and_integral_of_each_block_follow_the_formulas(
    data: Path, alpha: int, sub_episodes: int
) -> None:
    blocks = continual()
    name = write_tree(data, "cl-1575473425723", blocks, sub_episodes=sub_episodes)
    scores = scored(name, "--width", alpha)["metrics"]
    trained = of_train(blocks)
    assert scores["saturation"]["value"] == pytest.approx(mean([saturation(block, alpha) for block in trained]))
    assert scores["time_to_saturation"]["value"] == mean([time_to_saturation(block, alpha) for block in trained])
    assert scores["normalized_integral"]["value"] == pytest.approx(mean([integral(block, alpha) for block in trained]))
    # Other widths are the same task under a change: "after a change is introduced to its environment".
    assert scores["recovery_time"]["value"] == mean([recovery(a, b, alpha) for a, b in pairwise(trained)])
    everything = [value for *_, values in blocks for value in values]
    if sub_episodes == 1:
        assert scores["global_perf"]["value"] == pytest.approx(mean(everything))


def test_maintenance_on_test_is_test_minus_train_at_equal_parameters_for_every_common_metric(
    data: Path,
) -> None:
    blocks = continual()
    scores = scored(write_tree(data, "cl-1", blocks))["metrics"]
    pairs, last = [], {}
    for phase, _, params, values in blocks:
        if phase.endswith("train"):
            last[params[WIDTH]] = values
        elif params[WIDTH] in last:  # 0.2 is tested before it is trained, so that there is nothing to maintain
            pairs.append((values, last[params[WIDTH]]))
    assert len(pairs) == 4
    for name, function in (
        ("maintenance_on_test", saturation),
        ("maintenance_on_test_time", time_to_saturation),
        ("maintenance_on_test_mean", mean),
    ):
        value = mean([function(test) - function(train) for test, train in pairs])
        assert scores[name]["value"] == pytest.approx(value), name


def test_relative_to_the_expert_is_by_exact_name_or_not_computable(data: Path) -> None:
    name = write_tree(data, "b-1", subtype_b())
    trained = of_train(subtype_b())
    assert scored(name)["metrics"]["ste_relative"]["value"] is None, "without the file it cannot be calculated"
    write_taskinfo(data, {"Pong": 4.0, "Breakout": 8.0})
    scores = scored(name)["metrics"]["ste_relative"]
    assert scores["value"] == pytest.approx(mean([saturation(trained[0]) / 4, saturation(trained[1]) / 8]))
    write_taskinfo(data, {"Pon": 4.0, "Pong_extra": 4.0, "Break": 8.0})
    assert scored(name)["metrics"]["ste_relative"]["value"] is None, "never the beginning of a name, and never 1"


# --- §3.2 ----------------------------------------------------------------------------------------


def test_subtype_b_gives_forward_transfer_in_1_test_and_reverse_transfer_in_2_test(data: Path) -> None:
    blocks = subtype_b()
    name = write_tree(data, "b-1", blocks)
    write_taskinfo(data, {"Pong": 4.0, "Breakout": 8.0})
    scores = scored(name)["metrics"]
    assert scores["ste_forward_transfer"]["by"] == {"pong→breakout": [pytest.approx(saturation(blocks[1][3]) / 8)]}
    assert scores["ste_reverse_transfer"]["by"] == {"breakout→pong": [pytest.approx(saturation(blocks[3][3]) / 4)]}
    shown = run_json("figure", "transfer", name, "--preset", "framework-2019", "--to", data / "transfer.svg")["data"]
    cells = [cell for row in shown["values"] for cell in row if cell is not None] if "values" in shown else shown
    for value in (saturation(blocks[1][3]) / 8, saturation(blocks[3][3]) / 4):
        assert f"{value:.6f}"[:6] in json.dumps(cells), "the transfer matrix holds both"


def test_subtype_c_gives_the_matrix_over_parameters_and_the_gain_in_time_to_learn(data: Path) -> None:
    blocks = subtype_c()
    name = write_tree(data, "c-1", blocks)
    # The experts of the first two widths of Breakout are separate logs.
    chance = random.Random(9)
    experts = {width: learning_values(chance, 9, 60) for width in (0.15, 0.2)}
    for width, values in experts.items():
        write_tree(data / "alone", f"e-{width}", [("1-1.train", "Breakout", {WIDTH: width}, values)])
    scores = scored(name, "--experts", data / "alone" / "logs")["metrics"]
    own = {
        params[WIDTH]: values for phase, task, params, values in blocks if (phase, task) == ("3-2.train", "Breakout")
    }
    gains = [time_to_saturation(values) / time_to_saturation(own[width]) for width, values in experts.items()]
    assert scores["time_to_learn_gain"]["value"] == pytest.approx(mean(gains))
    first = {params[WIDTH]: values for phase, _, params, values in blocks if phase == "2-1.test"}
    forward = [saturation(first[width]) / saturation(values) for width, values in experts.items()]
    assert sorted(
        value for values in scores["ste_forward_transfer"]["by"].values() for value in values
    ) == pytest.approx(sorted(forward))


@pytest.mark.parametrize("both_tested", [False, True])
def test_transfer_in_continual_learning_compares_the_sets_of_the_second_task(data: Path, both_tested: bool) -> None:
    blocks = subtype_c(both_tested=both_tested)
    scores = scored(write_tree(data, "c-1", blocks))["metrics"]
    sets = {task: [v for p, t, _, v in blocks if p.endswith("train") and t == task] for task in ("Pong", "Breakout")}
    # Definitions §5: recovery of the sets learned after another task, relative to those before; steps from 1.
    times = {task: mean([1 + recovery(a, b) for a, b in pairwise(values)]) for task, values in sets.items()}
    recovered = times["Pong"] / times["Breakout"]
    assert scores["transfer_of_recovery"]["value"] == pytest.approx(recovered)
    if not both_tested:
        assert scores["transfer_of_maintenance"]["value"] is None
        assert scores["transfer_of_continual_learning"]["value"] == pytest.approx(recovered)
        return
    tests = {task: [v for p, t, _, v in blocks if p == "4-2.test" and t == task] for task in sets}
    stored = {
        task: mean([saturation(test) / saturation(train) for test, train in zip(tests[task], sets[task], strict=True)])
        for task in sets
    }
    maintained = stored["Breakout"] / stored["Pong"]
    assert scores["transfer_of_maintenance"]["value"] == pytest.approx(maintained)
    assert scores["transfer_of_continual_learning"]["value"] == pytest.approx((recovered + maintained) / 2)


# --- §2: scores ----------------------------------------------------------------------------------


def test_a_score_per_syllabus_is_averaged_to_a_score_per_core_capability(data: Path) -> None:
    experts = {"Pong": 4.0, "Breakout": 8.0}
    write_taskinfo(data, experts)
    lifetimes: dict[str, Blocks] = {"CL": continual(), "ANT-B": subtype_b(), "ANT-C": subtype_c()}
    for kind, blocks in lifetimes.items():
        plain = [("train" if p.endswith("train") else "test", t, values) for p, t, _, values in blocks]
        params = [block for _, _, block, _ in blocks]
        write_log(data / "mine", kind, plain, params=params, info={"scenario_type": kind})
    result = run_json("score", data / "mine", "--preset", "framework-2019", "--variants", "params")
    outcome = {item["capability"]: item for item in result["capabilities"]}
    scores = {}
    for kind, blocks in lifetimes.items():
        relative = [saturation(v) / experts[t] for p, t, _, v in blocks if p.endswith("train")]
        known: list[str] = []
        forward, reverse = [], []
        for phase, task, _, values in blocks:
            if phase.endswith("train"):
                known = [*(item for item in known if item != task), task]
            elif known and task not in known:
                forward.append(saturation(values) / experts[task])
            elif known and known[-1] != task:
                reverse.append(saturation(values) / experts[task])
        scores[kind] = mean([mean(item) for item in (relative, forward, reverse) if item])
    assert outcome["continual learning"]["score"] == pytest.approx(scores["CL"])
    assert outcome["adapting to new tasks"]["score"] == pytest.approx(mean([scores["ANT-B"], scores["ANT-C"]]))
    for name in ("selective plasticity", "goal-driven perception", "safety"):
        assert outcome[name]["score"] is None
        assert outcome[name]["why"]
    text = document(3)
    printed = re.findall(
        r"^\d\. ([A-Z][\w -]+)$", text[text.index("Core Capabilities and Terminology") :], re.MULTILINE
    )
    assert {item.lower() for item in printed} == set(outcome), "the five of App. A, and no other"


def test_an_incomplete_lifetime_counts_for_no_capability_and_its_group_keeps_its_preset(data: Path) -> None:
    write_taskinfo(data, {"Pong": 4.0, "Breakout": 8.0})
    plain = [("train" if p.endswith("train") else "test", t, values) for p, t, _, values in subtype_b()]
    for name in ("one", "two"):  # a manifest, and no record that the journal was closed: the lifetime is incomplete
        write_log(data / "mine", name, plain, learner="mine", info={"scenario_type": "ANT-B"})
    result = run_json("score", data / "mine", "--preset", "framework-2019", status=1)
    outcome = {item["capability"]: item for item in result["capabilities"]}
    assert outcome["adapting to new tasks"]["score"] is None
    assert "is complete" in outcome["adapting to new tasks"]["why"]
    assert [(item["n"], item["preset"], item["measure"]) for item in result["groups"]] == [
        (0, "framework-2019", "reward")
    ]
    messages = output_of("score", data / "mine", "--preset", "framework-2019", status=1)
    assert "framework-2019 gives no verdicts" in messages


# --- §2.1, 6: taskinfo ---------------------------------------------------------------------------


def test_taskinfo_is_written_from_experts_and_found_without_being_named(data: Path) -> None:
    chance = random.Random(5)
    curves = {
        "Pong": [learning_values(chance, 4), learning_values(chance, 6)],
        "Breakout": [learning_values(chance, 8)],
    }
    for task, values in curves.items():
        for number, item in enumerate(values):
            write_tree(data / "alone", f"{task}-{number}", [("1-1.train", task, {}, item)])
    output_of("export", data / "alone" / "logs", "--to", "taskinfo", "--into", data)
    written = json.loads((data / "taskinfo" / "info.json").read_text())
    assert {key.lower(): value for key, value in written.items()} == pytest.approx(
        {task.lower(): mean([saturation(value) for value in values]) for task, values in curves.items()}
    )
    name = write_tree(data, "b-1", subtype_b())
    trained = of_train(subtype_b())
    by_hand = [
        saturation(block) / mean([saturation(e) for e in curves[t]]) for block, t in zip(trained, curves, strict=True)
    ]
    assert scored(name)["metrics"]["ste_relative"]["value"] == pytest.approx(mean(by_hand))


# --- errors --------------------------------------------------------------------------------------


def test_an_error_is_compared_as_an_error_and_nothing_is_shown_negated(data: Path) -> None:
    chance = random.Random(6)
    falling = [0.9 * math.exp(-index / 8) + chance.uniform(0.05, 0.1) for index in range(40)]
    blocks: Blocks = [
        ("1-1.train", "CIFAR100", {}, falling),
        ("2-1.test", "CIFAR100", {}, [chance.uniform(0.1, 0.2) for _ in range(12)]),
    ]
    name = write_tree(data, "class-1", blocks, column="error")
    write_taskinfo(data, {"CIFAR100": 0.12})
    scores = scored(name)["metrics"]
    lowest = [min(moving_average(values)) for *_, values in blocks]
    assert scores["saturation"]["value"] == pytest.approx(lowest[0])
    assert scores["ste_relative"]["value"] == pytest.approx(0.12 / lowest[0]), (
        "less error than the expert is more than 1"
    )
    assert scores["maintenance_on_test"]["value"] == pytest.approx(lowest[1] - lowest[0])
    assert scores["normalized_integral"]["value"] == pytest.approx(sum(moving_average(falling)) / 40)
    assert scores["time_to_saturation"]["value"] == moving_average(falling).index(lowest[0]) + 1
    assert scores["global_perf"]["value"] > 0
    messages = output_of("score", name, "--preset", "framework-2019")
    shown = re.findall(r"(?:saturation|global_perf|normalized_integral) +([-−]?\d[\d.]*)", messages)
    assert shown
    assert not any(item.startswith(("-", "−")) for item in shown)
    output_of("export", data / "logs" / name, "--to", "taskinfo", "--into", data / "again")
    written = json.loads((data / "again" / "taskinfo" / "info.json").read_text())
    assert list(written.values()) == [pytest.approx(lowest[0])], "an expert's error is stated as an error"


# --- §3: the printed syllabi ---------------------------------------------------------------------


def printed_syllabi() -> list[list[Any]]:
    """Return every complete listing of instructions, line by line: the print lost some brackets."""
    whole = [listing for listing in listings(3) if '"instructions"' in listing and "BLOCK" not in listing]
    return [[json.loads(line.strip().rstrip(",]")) for line in row.splitlines() if '{"$' in line] for row in whole]


@pytest.mark.parametrize(("index", "kind", "file"), [(-2, "CL", "s003-continual"), (-1, "ANT-C", "s003-ant-c")])
def test_the_printed_syllabi_are_valid_and_equal_the_examples(data: Path, index: int, kind: str, file: str) -> None:
    instructions = printed_syllabi()[index]
    path = data / "printed.json"
    path.write_text(json.dumps({"name": "printed", "scenario_type": kind, "instructions": instructions}))
    result = run_json("lint", path, "--type", kind)
    assert not [item for item in result.get("findings", []) if item.get("level") == "error"]
    ours, theirs = (perdure.read_syllabus(item).scenario.blocks for item in (SYLLABI / f"{file}.json", path))
    assert [(b.mode, b.task, b.length, dict(b.params)) for b in ours] == [
        (b.mode, b.task, b.length, dict(b.params)) for b in theirs
    ]


def test_lint_lists_the_metrics_of_a_2019_syllabus(data: Path) -> None:
    messages = output_of("lint", SYLLABI / "ant-b.json")
    for name, pair in (("ste_forward_transfer", "pong→breakout"), ("ste_reverse_transfer", "breakout→pong")):
        assert re.search(rf"{name} +1 +{pair}", messages)
    assert "ste_forward_transfer" not in output_of("lint", SYLLABI / "ant-b.json", "--preset", "standard")


@pytest.mark.parametrize(
    ("kind", "instructions"),
    [
        ("CL", [{"$phase": "1.train"}, {"$episode": "Pong"}, {"$episode": "Breakout"}]),
        ("ANT-A", [{"$phase": "1.train"}, {"$episode": "Pong"}, {"$episode": "Breakout"}]),
        ("ANT-B", [{"$phase": "1.test"}, {"$episode": "Pong"}, {"$phase": "2.train"}, {"$episode": "Pong"}]),
    ],
)
def test_syllabi_that_section_3_disallows_are_errors(data: Path, kind: str, instructions: list[Any]) -> None:
    path = data / "wrong.json"
    path.write_text(json.dumps({"name": "wrong", "scenario_type": kind, "instructions": instructions}))
    assert "error" in output_of("lint", path, status=1)


# --- §1.1 and §4: the loop, and custom metrics ---------------------------------------------------


def test_the_printed_classification_loop_runs_and_is_logged(data: Path) -> None:
    loop = next(listing for listing in listings(3) if "syllabus.datasets()" in listing).replace(
        "batch[id']", "batch['id']"
    )
    composed = perdure.compose("condensed", ["zero-one", "two-three"], learn=3, evaluate=2)
    updates: list[int] = []
    names = {
        "syllabus": perdure.run_lifetime(composed, into=data / "logs", name="loop", seed=1),
        "do_inference": lambda inputs: np.zeros(len(inputs), dtype=int),
        "calculate_loss_and_update_model": lambda y, y_hat: updates.append(len(y_hat)),
    }
    exec(compile(loop, "S003", "exec"), names)
    read = perdure.read(data / "logs" / "loop")
    assert read.complete
    assert len(updates) == 2 * 3, "labels are given in training only"


def test_the_four_steps_of_section_4_give_a_custom_metric(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = subtype_b()
    name = write_tree(data, "b-1", blocks)

    # 1. "Create a Python class, subclassing from …"; 2. "the name property and calculate() method".
    class LongestBlock(AgentMetric):
        @property
        def name(self) -> str:
            return "Longest Block"

        def calculate(self, dataframe: Any, phase_info: Any, metrics_dict: dict[str, Any]) -> Any:
            rows = [int((dataframe["block"] == block).sum()) for block in phase_info["block"]]
            return {"longest": max(rows), "above_mean": max(dataframe["reward"]) - metrics_dict["global_perf"]}

    # 3. "… instantiates the … AgentMetricsReport … and adds the custom metric"; 4. "Run the top-level script".
    augmented = AgentMetricsReport(log_dir=name, syllabus_subtype="ANT-B")
    augmented.add(LongestBlock())
    replaced = AgentMetricsReport(log_dir=name, metrics=[GlobalMean(), LongestBlock()])
    everything = [value for *_, values in blocks for value in values]
    for report in (augmented, replaced):
        report.calculate()
        report.report()
        assert report.values["Longest Block"] == {
            "longest": 40,
            "above_mean": pytest.approx(max(everything) - mean(everything)),
        }
    assert len(replaced.values) == 2
    assert "Metric: Longest Block" in capsys.readouterr().out


def test_a_classifier_has_its_own_metric_and_report(data: Path) -> None:
    name = write_tree(data, "class-1", [("1-1.train", "CIFAR100", {}, [0.5, 0.25, 0.0])], column="error")

    class Perfect(ClassificationMetric):
        name = "Perfect Batches"

        def calculate(self, dataframe: Any, phase_info: Any, metrics_dict: dict[str, Any]) -> Any:
            return {"perfect": sum(item == 0 for item in dataframe["error"])}

    report = ClassificationMetricsReport(name)
    report.add(Perfect())
    report.calculate()
    assert report.values["Perfect Batches"] == {"perfect": 1}
    assert report.values["Global Mean"] == {"global_perf": pytest.approx(0.25)}
