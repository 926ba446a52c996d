"""Procedures of the accuracy-matrix page: with stand-ins for PyTorch, and with PyTorch if it is installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perdure
from perdure.classic.matrix import (
    ContinualLearningMetrics,
    evaluate_continual_learning,
    evaluate_single_task,
    evaluate_with_confidence,
    joint_training_baseline,
    save_matrix,
)
from perdure.errors import LearnerError, LogError, MissingExtraError

Batch = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


class Loader:
    """Two batches of one task, whose label is the task's own number."""

    def __init__(self, task: int) -> None:
        self.task = task

    def __iter__(self) -> Iterator[Batch]:
        for size in (3, 1):
            yield np.full((size, 1), self.task), np.full(size, self.task)


class Model:
    """A model that answers with the task of its last training, and knows whether it is being trained."""

    def __init__(self) -> None:
        self.knows = 0
        self.training = True

    def eval(self) -> None:
        self.training = False

    def train(self) -> None:
        self.training = True

    def __call__(self, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        assert not self.training
        scores = np.zeros((len(data), 4))
        scores[:, self.knows] = 1
        return scores


def fit(model: Model, loader: Loader, epochs: int, device: object) -> None:
    assert (model.training, epochs, device) == (True, 7, "cpu")
    model.knows = loader.task


LOADERS = [Loader(task) for task in (1, 2, 3)]


def test_a_task_s_accuracy_is_the_share_of_right_answers_in_percent() -> None:
    model = Model()
    model.knows = 1
    assert evaluate_single_task(model, [([0], np.array([1, 1, 2])), ([0], np.array([1]))]) == 75.0
    assert model.training, "it is left as it was found"
    with pytest.raises(LearnerError, match="no example"):
        evaluate_single_task(model, [])


def test_every_task_seen_so_far_is_evaluated_after_each_is_trained() -> None:
    matrix = evaluate_continual_learning(Model(), LOADERS, LOADERS, fit, 7, "cpu")
    # The model knows only the last task: 100 on the diagonal, 0 after, and no evaluation before.
    expected = [[100, 0, 0], [np.nan, 100, 0], [np.nan, np.nan, 100]]
    np.testing.assert_array_equal(matrix, expected)
    assert ContinualLearningMetrics(matrix).backward_transfer == -100.0
    with pytest.raises(LearnerError, match="3 train_loaders and 2 test_loaders"):
        evaluate_continual_learning(Model(), LOADERS[:2], LOADERS, fit, 7, "cpu")


def test_evaluations_before_any_learning_give_forward_transfer(tmp_path: Path) -> None:
    place = tmp_path / "life.json"
    model = Model()
    model.knows = 2
    matrix = evaluate_continual_learning(model, LOADERS, LOADERS, fit, 7, "cpu", before=True, to=place, seed=4)
    np.testing.assert_array_equal(matrix, [[0, 100, 0, 0], [100, 0, 100, 0], [0, 0, 0, 100]])
    scores = perdure.score(place)
    # Just before the second task the model has lost its chance result; it never knew the third.
    assert scores["FWT"] == ((0 - 100) + (0 - 0)) / 2
    assert scores["above_chance"] == ((100 - 100) + (100 - 0)) / 2
    assert scores.seed == 4


def test_the_file_has_time_and_memory_for_each_task_and_the_report_shows_them(tmp_path: Path) -> None:
    place = tmp_path / "life.json"
    evaluate_continual_learning(
        Model(), LOADERS, LOADERS, fit, 7, "cpu", to=place, learner="naive", tasks=["a", "b", "c"]
    )
    document = json.loads(place.read_text())
    assert len(document["seconds"]) == 3
    document |= {"seconds": [1.0, 2.0, 4.5], "memory_mb": [10.0, 30.0, 20.0]}
    place.write_text(json.dumps(document))
    report = perdure.report(place, tmp_path / "report.md")
    assert "| naive | b | 2 | 30 |" in (tmp_path / "report.md").read_text()
    items = {item.what: item for item in report.checklist}
    assert (items["Training time"].state, items["Memory used"].state) == ("present", "present")
    assert "7.5" in items["Training time"].found
    assert "30" in items["Memory used"].found


def test_runs_are_seeded_and_summarised_as_on_the_page(tmp_path: Path) -> None:
    drawn: list[list[list[float]]] = []

    def experiment() -> list[list[float]]:
        noise = np.random.randint(0, 10, 3)  # noqa: NPY002 - what the page seeds
        drawn.append([[90.0, 50.0 + noise[0], 40.0 + noise[1]], [0, 90, 60.0 + noise[2]], [0, 0, 90]])
        return drawn[-1]

    metrics = evaluate_with_confidence(experiment, num_runs=4, random_init_accuracies=20.0, to=tmp_path / "runs")
    accuracies = [(value[0][2] + value[1][2] + value[2][2]) / 3 for value in drawn]
    mean = sum(accuracies) / 4
    assert metrics["average_accuracy_mean"] == pytest.approx(mean)
    assert metrics["average_accuracy_std"] == pytest.approx(
        (sum((accuracy - mean) ** 2 for accuracy in accuracies) / 4) ** 0.5
    )
    assert metrics["forward_transfer_mean"] == 70.0
    # Student's t with 3 degrees of freedom: 3.18245 (any table).
    half = 3.18245 * (sum((accuracy - mean) ** 2 for accuracy in accuracies) / 3) ** 0.5 / 2
    assert metrics["average_accuracy_low"] == pytest.approx(mean - half, abs=1e-4)
    assert not any(key.startswith("per_task") for key in metrics)
    np.random.seed(42)  # noqa: NPY002
    again = np.random.randint(0, 10, 3)  # noqa: NPY002
    assert drawn[1][0][1:] == [50.0 + again[0], 40.0 + again[1]]
    survey = perdure.survey(tmp_path / "runs")
    assert [lifetime.score.seed for lifetime in survey.lifetimes] == [0, 42, 84, 126]
    assert np.mean([score["AA"] for score in survey.scores]) == pytest.approx(mean)
    assert "forward_transfer_mean" not in evaluate_with_confidence(experiment, num_runs=1)
    with pytest.raises(LearnerError, match="num_runs is 0"):
        evaluate_with_confidence(experiment, num_runs=0)


def test_a_matrix_of_two_tasks_is_read_back_without_a_given_orientation(tmp_path: Path) -> None:
    evaluate_with_confidence(lambda: [[90.0, 60.0], [0.0, 80.0]], num_runs=1, to=tmp_path)
    assert perdure.score(tmp_path / "run-0.json")["BWT"] == -30.0


def test_a_matrix_is_saved_only_as_json(tmp_path: Path) -> None:
    place = save_matrix(tmp_path / "deep" / "one.json", [[90.0, None], [None, 80.0]], joint=[95.0, 90.0])
    assert perdure.score(place)["IM"] == 10.0
    with pytest.raises(LogError, match=r"one\.csv: the suffix is '\.csv'; end it in \.json"):
        save_matrix(tmp_path / "one.csv", [[90.0]])
    (tmp_path / "file").write_text("")
    with pytest.raises(LogError, match="cannot be written"):
        save_matrix(tmp_path / "file" / "one.json", [[90.0]])


def test_joint_training_reports_how_to_provide_its_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"needs torch; install it with: pip install 'torch'"):
        joint_training_baseline(Model(), LOADERS, LOADERS, 1)


def test_torch_models_go_through_all_four_procedures(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra")
    data = torch.utils.data
    torch.manual_seed(0)

    def loaders(count: int) -> list[Any]:
        metrics = []
        for task in range(3):
            examples = torch.randn(count, 4)
            metrics.append(data.DataLoader(data.TensorDataset(examples, (examples[:, task] > 0).long()), batch_size=32))
        return metrics

    def network() -> Any:
        return torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))

    def train(model: Any, loader: Any, epochs: int, device: Any) -> None:
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        for _ in range(epochs):
            for examples, target in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(examples.to(device)), target.to(device)).backward()
                optimizer.step()

    trained, tested = loaders(320), loaders(160)
    metrics = evaluate_with_confidence(
        lambda: evaluate_continual_learning(network(), tested, trained, train, 6, "cpu"), 3, to=tmp_path / "naive"
    )
    assert metrics["learning_accuracy_mean"] > 85
    assert metrics["backward_transfer_mean"] < -20, "three tasks that contradict each other, learned in turn"
    joint = joint_training_baseline(network(), trained, tested, 2, "cpu", learning_rate=0.01)
    assert len(joint) == 3
    assert all(isinstance(item, float) for item in joint)
    scored = perdure.survey(tmp_path / "naive", settings=perdure.Settings(joint=tuple(joint)))
    by_hand = [joint[task] - scored.scores[0].metrics["learning_accuracy"].by[f"task{task + 1}"][0] for task in (1, 2)]
    assert scored.scores[0]["IM"] == pytest.approx(sum(by_hand) / 2)
