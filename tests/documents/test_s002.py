"""The accuracy-matrix page: its listings run and agree with `perdure.classic.matrix` and `perdure score`."""

from __future__ import annotations

import contextlib
import json
import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.documents.by_hand import document, listings, mean, output_of, run_json, write_log

import perdure.classic.matrix
from perdure.classic.matrix import ContinualLearningMetrics

# The matrix printed on the page, in the page's orientation: a row is a task, a column a training.
PRINTED: list[list[float | None]] = [
    [98.5, 62.3, 55.1, 51.8, 49.2],
    [None, 97.8, 58.6, 52.4, 50.1],
    [None, None, 98.2, 61.3, 53.7],
    [None, None, None, 97.5, 58.9],
    [None, None, None, None, 98.1],
]
KEYS = (
    *("average_accuracy", "learning_accuracy", "backward_transfer", "forward_transfer"),
    *("forgetting_measure", "memory_stability", "per_task_forgetting"),
)


class Tensor(np.ndarray[Any, Any]):
    """The part of a tensor that the page's listings use."""

    def to(self, device: Any) -> Tensor:
        return self

    def size(self, axis: int) -> int:  # type: ignore[override]
        return int(self.shape[axis])


def tensor(values: Any) -> Tensor:
    return np.asarray(values).view(Tensor)


def torch() -> Any:
    """Return the part of PyTorch that the listings use, so that they run without PyTorch."""
    return SimpleNamespace(
        manual_seed=lambda seed: None,
        no_grad=contextlib.nullcontext,
        max=lambda output, axis: (output.max(axis), output.argmax(axis).view(Tensor)),
    )


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Run every definition printed on the page; its imports are those that a reader would add."""
    names: dict[str, Any] = {"np": np, "torch": torch()}
    for listing in listings(2):
        if re.match(r"\s*(def|class) ", listing):
            exec(compile(listing, "S002", "exec"), names)
    return names


def draw_matrix(seed: int, count: int) -> list[list[float | None]]:
    chance = random.Random(seed)
    return [[None if j < i else chance.uniform(1, 100) for j in range(count)] for i in range(count)]


def zero_filled(matrix: list[list[float | None]]) -> Any:
    return np.array([[cell or 0.0 for cell in row] for row in matrix])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_the_class_gives_the_results_of_the_pages_class(page: dict[str, Any], seed: int, count: int) -> None:
    matrix = zero_filled(draw_matrix(seed, count))
    chance = [random.Random(-seed - 1).uniform(0, 30) for _ in range(count)]
    for baseline in (None, chance):
        theirs = page["ContinualLearningMetrics"](matrix, baseline).summary()
        ours = ContinualLearningMetrics(matrix, baseline).summary()
        assert tuple(ours) == tuple(theirs) == KEYS
        for key in KEYS:
            assert ours[key] == (None if theirs[key] is None else pytest.approx(theirs[key])), key


@pytest.mark.parametrize("seed", range(3))
def test_every_metric_of_score_equals_the_pages_function(page: dict[str, Any], seed: int, tmp_path: Path) -> None:
    matrix, chance = draw_matrix(seed, 4), [10.0, 12.0, 9.0, 11.0]
    file = tmp_path / "matrix.json"
    file.write_text(json.dumps({"matrix": matrix}))
    result = run_json("score", file, "--random-init", "10,12,9,11")["lifetimes"][0]["metrics"]
    full = zero_filled(matrix)
    expected = {
        "average_accuracy": page["average_accuracy"](full),
        "bwt": page["backward_transfer"](full),
        "above_chance": page["forward_transfer"](full, chance),
        "learning_accuracy": page["learning_accuracy"](full),
        "forgetting": page["forgetting_measure"](full),
        "memory_stability": page["memory_stability"](full),
    }
    for name, value in expected.items():
        assert result[name]["value"] == pytest.approx(value), name
    # FM by its formula, compared with its code: the best until T − 1.
    strict = [max(full[i, j] - full[i, 3] for j in range(i, 3)) for i in range(3)]
    assert result["forgetting_strict"]["value"] == pytest.approx(mean(strict))
    assert result["average_accuracy"]["value"] == pytest.approx(
        result["learning_accuracy"]["value"] + result["bwt"]["value"] * 3 / 4
    ), "the approximation of the page is exact with (T − 1)/T"


def test_the_printed_matrix_is_read_unchanged(tmp_path: Path) -> None:
    text = document(2)
    printed = text[text.index("        After Training Task") : text.index("### Evaluation Procedure")]
    rows = re.findall(r"T\d\s+\[(.*?)\]", printed)
    assert len(rows) == 5
    file = tmp_path / "printed.csv"
    head = ",T0,T1,T2,T3,T4\n"
    file.write_text(head + "\n".join(f"T{index}," + ",".join(row.split()) for index, row in enumerate(rows)) + "\n")
    result = run_json("score", file)["lifetimes"][0]["metrics"]
    assert result["average_accuracy"]["value"] == pytest.approx(mean([49.2, 50.1, 53.7, 58.9, 98.1]))
    assert result["bwt"]["value"] == pytest.approx(mean([49.2 - 98.5, 50.1 - 97.8, 53.7 - 98.2, 58.9 - 97.5]))


def test_zeros_below_the_diagonal_are_evaluations_only_with_as_given(tmp_path: Path) -> None:
    # Definitions §4: a completely zero half decides if T ≥ 3, and counts as missing unless --as-given.
    file = tmp_path / "zeros.csv"
    full = zero_filled(PRINTED)
    file.write_text("\n".join(",".join(map(str, row)) for row in full) + "\n")
    read = run_json("score", file, "--random-init", "10")["lifetimes"][0]["metrics"]
    assert read["fwt"]["value"] is None, "nothing was evaluated before it was learned"
    assert read["learning_accuracy"]["value"] == pytest.approx(mean([98.5, 97.8, 98.2, 97.5, 98.1]))
    measured = run_json("score", file, "--random-init", "10", "--rows", "evaluated", "--as-given")
    assert measured["lifetimes"][0]["metrics"]["fwt"]["value"] == pytest.approx(-10.0)
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join(",".join(map(str, row)) for row in full.T) + "\n")
    other = run_json("score", turned)["lifetimes"][0]["metrics"]
    for name in ("average_accuracy", "learning_accuracy", "bwt", "forgetting", "memory_stability"):
        assert other[name]["value"] == pytest.approx(read[name]["value"]), name


def test_one_task_has_the_pages_values_in_the_class_and_none_in_score(tmp_path: Path) -> None:
    table = ContinualLearningMetrics([[80.0]]).summary()
    assert table == {**dict.fromkeys(KEYS, 0.0), **dict.fromkeys(KEYS[:2], 80.0), KEYS[3]: None, KEYS[6]: []}
    (tmp_path / "one.json").write_text(json.dumps({"matrix": [[80.0]]}))
    result = run_json("score", tmp_path / "one.json")["lifetimes"][0]["metrics"]
    assert result["average_accuracy"]["value"] == 80.0
    for name in ("bwt", "above_chance", "forgetting", "memory_stability"):
        assert result[name]["value"] is None, name
        assert "two learned tasks" in result[name]["why"], name


# "Interpreting Metric Combinations": the first task's row and the second's own accuracy make LA, BWT and AA.
@pytest.mark.parametrize(
    ("matrix", "called"),
    [
        ([[95.0, 94.0], [None, 95.0]], "Good continual learner"),
        ([[98.0, 20.0], [None, 96.0]], "Severe forgetting"),
        ([[50.0, 49.0], [None, 55.0]], "Poor learning capability"),
        ([[91.0, 99.0], [None, 97.0]], "Beneficial transfer"),
    ],
)
def test_the_four_combinations_have_the_names_of_the_page(
    matrix: list[list[float | None]], called: str, tmp_path: Path
) -> None:
    assert f"| {called} |" in document(2)
    (tmp_path / "m.json").write_text(json.dumps({"matrix": matrix}))
    plain = " ".join(output_of("score", tmp_path / "m.json", "--why").split())
    assert called.lower() in plain
    assert called.lower() in ContinualLearningMetrics(matrix).report()


@pytest.mark.parametrize("how", ["numbers", "place", "found by itself"])
def test_intransigence_and_omega_come_from_a_joint_run(how: str, tmp_path: Path) -> None:
    matrix: list[list[float | None]] = [[90.0, 80.0, 70.0], [None, 85.0, 75.0], [None, None, 88.0]]
    last = [92.0, 91.0, 93.0]
    perdure.classic.matrix.save_matrix(tmp_path / "runs" / "mine" / "a.json", matrix, learner="mine")
    joint: list[list[float | None]] = [[91.0, 91.5, last[0]], [None, 90.0, last[1]], [None, None, last[2]]]
    place = tmp_path / ("runs" if how == "found by itself" else "aside") / "joint" / "seed0.json"
    perdure.classic.matrix.save_matrix(place, joint, learner="joint")
    message = {"numbers": ("--joint", "92,91,93"), "place": ("--joint", place.parent), "found by itself": ()}[how]
    lifetimes = run_json("score", tmp_path / "runs", *message)["lifetimes"]
    result = next(lifetime for lifetime in lifetimes if lifetime["learner"] == "mine")["metrics"]
    # IM: mean over i ≥ 2 of A_joint − A_ii. Ω: Hayes et al. 2018, over j = 2 … T.
    assert result["intransigence"]["value"] == pytest.approx(((91 - 85) + (93 - 88)) / 2)
    assert result["omega_base"]["value"] == pytest.approx((80 / 92 + 70 / 92) / 2)
    assert result["omega_new"]["value"] == pytest.approx((85 + 88) / 2)
    seen = [(80 + 85) / 2 / ((92 + 91) / 2), (70 + 75 + 88) / 3 / ((92 + 91 + 93) / 3)]
    assert result["omega_all"]["value"] == pytest.approx(mean(seen))


# A model that gives the right answers for the tasks of its last training: train(a) makes it forget all but two.
class Model:
    def __init__(self) -> None:
        self.known: list[int] = []

    def eval(self) -> None: ...

    def __call__(self, data: Tensor) -> Tensor:
        right = np.isin(data[:, 0], self.known)
        answers = np.where(right, data[:, 1], 1 - data[:, 1]).astype(int)
        return tensor(np.eye(2)[answers])


def loaders(count: int) -> list[list[tuple[Tensor, Tensor]]]:
    """Return loaders in which task i has eight examples of itself and i of the task before it."""
    results = []
    for task in range(count):
        rows = [[task, index % 2] for index in range(8)] + [[max(task - 1, 0), index % 2] for index in range(task)]
        results.append([(tensor(rows[:5]), tensor([row[1] for row in rows[:5]]))])
        results[-1].append((tensor(rows[5:]), tensor([row[1] for row in rows[5:]])))
    return results


def train(model: Model, loader: Any, epochs: int, device: Any) -> None:
    model.known = [*model.known, int(loader[0][0][0, 0])][-2:]


def test_the_procedures_give_the_matrix_of_the_pages_procedures(page: dict[str, Any]) -> None:
    tests = loaders(4)
    theirs = page["evaluate_continual_learning"](Model(), tests, tests, train, 1, None)
    ours = perdure.classic.matrix.evaluate_continual_learning(Model(), tests, tests, train, 1, None)
    assert np.nan_to_num(ours) == pytest.approx(theirs), "NaN here is 0 on the page"
    assert np.isnan(ours[np.tril_indices(4, -1)]).all()
    known = Model()
    train(known, tests[2], 1, None)
    for loader in tests:
        expected = page["evaluate_single_task"](known, loader, None)
        assert perdure.classic.matrix.evaluate_single_task(known, loader) == pytest.approx(expected)


def test_runs_have_the_summary_of_the_page_with_only_the_class_imported(page: dict[str, Any]) -> None:
    stack = [zero_filled(draw_matrix(seed, 3)) for seed in range(5)]
    theirs = page["evaluate_with_confidence"](iter(stack).__next__, 5)
    # The same listing, with `from perdure.classic.matrix import ContinualLearningMetrics` in place of its own class.
    listing = next(listing for listing in listings(2) if "def evaluate_with_confidence" in listing)
    names = {"np": np, "torch": torch(), "ContinualLearningMetrics": ContinualLearningMetrics}
    exec(compile(listing, "S002", "exec"), names)
    changed: Any = names["evaluate_with_confidence"]
    assert changed(iter(stack).__next__, 5) == pytest.approx(theirs)
    ours = perdure.classic.matrix.evaluate_with_confidence(iter(stack).__next__, 5)
    assert {key: value for key, value in ours.items() if key.endswith(("_mean", "_std"))} == pytest.approx(theirs)


def test_the_figure_has_the_pages_four_titles_in_one_file(tmp_path: Path) -> None:
    figure = ContinualLearningMetrics(zero_filled(PRINTED)).plot_metrics(tmp_path / "m.png")
    assert (tmp_path / "m.png").read_bytes()[:4] == b"\x89PNG"
    for panel in ("Accuracy matrix", "Just learned, and at the end", "Trajectories", "Forgetting by task"):
        assert panel in figure.body
    lost = re.findall(r"<title>[^<]*, lost: ([0-9.]+)</title>", figure.body)
    assert [float(item) for item in lost] == pytest.approx([49.3, 47.7, 44.5, 38.6]), "A_ii − A_iT, signed"


@pytest.mark.parametrize(
    ("short", "name"),
    [("AA", "average_accuracy"), ("LA", "learning_accuracy"), ("BWT", "bwt"), ("FM", "forgetting")],
)
def test_the_pages_short_names_are_accepted_as_ids(short: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps({"matrix": PRINTED}))
    assert list(run_json("score", tmp_path / "m.json", "--metrics", short)["lifetimes"][0]["metrics"]) == [name]


def test_the_good_values_of_the_summary_are_those_of_the_page(tmp_path: Path) -> None:
    text = document(2)
    listed = {item["name"]: item for item in json.loads(output_of("list", "metrics", "--json", "-"))}
    for row, name in (("AA", "average_accuracy"), ("LA", "learning_accuracy"), ("FM", "forgetting")):
        good = re.search(rf"^\| {row} \|.*\| (.*?) \|$", text, re.MULTILINE)
        assert good is not None
        above = re.search(r"\d+", good[1])
        assert listed[name]["good"] is not None
        if above:
            assert above[0] in str(listed[name]["good"]), name


def test_random_init_is_the_accuracy_of_evaluations_before_any_learning(tmp_path: Path) -> None:
    # A column 0, or the first evaluations of a lifetime, are A_rand.
    before = [[20.0, 90.0, 80.0], [30.0, 35.0, 95.0]]
    (tmp_path / "m.json").write_text(json.dumps({"matrix": before}))
    result = run_json("score", tmp_path / "m.json")["lifetimes"][0]["metrics"]
    assert result["above_chance"]["value"] == pytest.approx(95.0 - 30.0)
    assert result["fwt"]["value"] == pytest.approx(35.0 - 30.0)


def test_a_log_that_begins_with_evaluations_gives_the_pages_numbers_and_forward_transfer(tmp_path: Path) -> None:
    # Definitions §4: raw evaluation means; A[i, j] the last evaluation of i before the next task is learned.
    chance = random.Random(11)
    tests: list[dict[str, list[float]]] = []
    blocks: list[tuple[str, str, list[float]]] = []
    for learned in (None, "a", "b", "c"):
        if learned:
            blocks.append(("train", learned, [chance.random() for _ in range(12)]))
        tests.append({task: [chance.random() for _ in range(4)] for task in ("a", "b", "c")})
        blocks += [("test", task, values) for task, values in tests[-1].items()]
    path = write_log(tmp_path, "life", blocks, measure="accuracy")
    result = run_json("score", path)["lifetimes"][0]["metrics"]
    evaluated = [[mean(column[task]) for column in tests] for task in ("a", "b", "c")]  # a row per task, column 0 first
    assert result["average_accuracy"]["value"] == pytest.approx(mean([row[3] for row in evaluated]))
    assert result["learning_accuracy"]["value"] == pytest.approx(mean([evaluated[i][i + 1] for i in range(3)]))
    assert result["bwt"]["value"] == pytest.approx(mean([evaluated[i][3] - evaluated[i][i + 1] for i in range(2)]))
    assert result["above_chance"]["value"] == pytest.approx(
        mean([evaluated[i][i + 1] - evaluated[i][0] for i in (1, 2)])
    )
    assert result["fwt"]["value"] == pytest.approx(mean([evaluated[i][i] - evaluated[i][0] for i in (1, 2)]))
