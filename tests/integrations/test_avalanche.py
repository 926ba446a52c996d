"""Avalanche: a strategy is logged batch by batch, and Avalanche's own files are read."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import perdure
from perdure.integrations.avalanche import PerdureLogger


def strategy(experience: int, score: float = 0.5) -> Any:
    return SimpleNamespace(experience=SimpleNamespace(current_experience=experience), score=score)


def test_a_block_is_an_experience_and_a_row_a_batch(tmp_path: Path) -> None:
    with PerdureLogger(tmp_path, "life", "naive", 3, score=lambda one: one.score) as logger:
        for experience in range(2):
            for tested in range(2):
                logger.before_eval_exp(strategy(tested), [])
                logger.after_eval_forward(strategy(tested, 0.1 * experience), [])
            logger.before_training_exp(strategy(experience))
            for batch in range(3):
                logger.after_forward(strategy(experience, batch / 10))
    lifetime = perdure.read(tmp_path / "life")
    assert (lifetime.learner, lifetime.seed, lifetime.complete) == ("naive", 3, True)
    assert [(block.mode, block.task, block.length) for block in lifetime.scenario.blocks] == [
        ("evaluate", "exp0", 1),
        ("evaluate", "exp1", 1),
        ("learn", "exp0", 3),
        ("evaluate", "exp0", 1),
        ("evaluate", "exp1", 1),
        ("learn", "exp1", 3),
    ]


def test_an_evaluation_during_learning_splits_the_block(tmp_path: Path) -> None:
    with PerdureLogger(tmp_path, "life", score=lambda one: one.score) as logger:
        logger.before_training_exp(strategy(0))
        logger.after_forward(strategy(0))
        logger.before_eval_exp(strategy(0))
        logger.after_eval_forward(strategy(0))
        logger.after_forward(strategy(0))
    assert [block.mode for block in perdure.read(tmp_path / "life").scenario.blocks] == ["learn", "evaluate", "learn"]


# --- with Avalanche itself, if make test-avalanche runs this -------------------------------------------------


@pytest.fixture(scope="module")
def avalanche_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Train a naive strategy on three tasks of synthetic numbers, logged by Avalanche and by us."""
    torch: Any = pytest.importorskip("torch", reason="make test-avalanche installs it")
    if import_module("importlib.util").find_spec("avalanche") is None:
        pytest.skip("Avalanche is not here; make test-avalanche installs it")
    _import_torchvision(torch)
    folder = tmp_path_factory.mktemp("avalanche")
    return folder, _train(folder, torch)


def _import_torchvision(torch: Any) -> None:
    """Import torchvision, whose CUDA build lacks two unused operators if torch has no CUDA."""
    try:
        import_module("torchvision")
    except RuntimeError:
        for name in [module for module in sys.modules if module.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def _train(folder: Path, torch: Any) -> dict[str, Any]:
    module: Any = import_module
    torch.manual_seed(0)

    def tasks() -> list[Any]:
        drawn = [torch.randn(120, 8) for _ in range(3)]
        return [(inputs, (inputs[:, index] > 0).long()) for index, inputs in enumerate(drawn)]

    benchmark = module("avalanche.benchmarks").tensors_benchmark(
        train_tensors=tasks(), test_tensors=tasks(), task_labels=[0, 0, 0]
    )
    metrics = module("avalanche.evaluation.metrics")
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    with PerdureLogger(folder / "logs", "naive-0", "naive", 0) as logger:
        evaluator = module("avalanche.training.plugins").EvaluationPlugin(
            metrics.accuracy_metrics(epoch=True, experience=True),
            metrics.loss_metrics(experience=True),
            metrics.forgetting_metrics(experience=True),
            loggers=[module("avalanche.logging").CSVLogger(log_folder=str(folder / "csv")), logger],
        )
        naive = module("avalanche.training").Naive(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            criterion=torch.nn.CrossEntropyLoss(),
            train_mb_size=12,
            train_epochs=3,
            eval_mb_size=40,
            evaluator=evaluator,
        )
        naive.eval(benchmark.test_stream)
        for experience in benchmark.train_stream:
            naive.train(experience)
            naive.eval(benchmark.test_stream)
    result: dict[str, Any] = evaluator.get_all_metrics()
    (folder / "all.json").write_text(json.dumps(result))
    return result


def accuracies(measured: dict[str, Any]) -> list[list[float]]:
    """Return Avalanche's accuracies of each task, before learning and after each experience."""
    return [measured[f"Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp{index:03}"][1] for index in range(3)]


@pytest.mark.filterwarnings("ignore")
def test_our_log_has_the_accuracies_of_avalanche(avalanche_run: tuple[Path, dict[str, Any]]) -> None:
    folder, measured = avalanche_run
    lifetime = perdure.read(folder / "logs" / "naive-0")
    passage = lifetime.passage()
    seen: dict[str, list[float]] = {}
    for index, block in enumerate(passage.scenario.blocks):
        values = passage.values[passage.starts[index] : passage.starts[index + 1]]
        if block.mode == "evaluate":
            assert block.length == 120 / 40
            seen.setdefault(block.task, []).append(float(values.mean()))
        else:
            assert block.length == 3 * 120 / 12
    assert [seen[f"exp{index}"] for index in range(3)] == [
        pytest.approx(accuracy, abs=1e-6) for accuracy in accuracies(measured)
    ]
    assert perdure.score(folder / "logs" / "naive-0")["performance_maintenance"] is not None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", ["csv/eval_results.csv", "all.json"])
def test_avalanches_file_is_read_as_the_measured_matrix(avalanche_run: tuple[Path, dict[str, Any]], file: str) -> None:
    folder, measured = avalanche_run
    first = accuracies(measured)
    scores = perdure.score(folder / file)
    assert (scores.measure, scores.identity.unit) == ("accuracy", "fraction")
    # After the last experience, compared with each task after its own.
    assert scores["average_accuracy"] == pytest.approx(sum(item[-1] for item in first) / 3, abs=1e-4)
    lost = sum(item[-1] - item[index + 1] for index, item in enumerate(first[:-1])) / 2
    assert scores["bwt"] == pytest.approx(lost, abs=1e-4)
