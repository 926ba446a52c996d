"""Run the same lifetime in Avalanche and in Perdure: scikit-learn's digits in five pairs, with a small network.

    python bench/avalanche_speed.py theirs FOLDER          in an environment that `bench/peers.py` installs
    python bench/avalanche_speed.py ours FOLDER [again]

Both learn 5 × 320 batches of 32 with a layer of 100 units by plain gradient descent in one thread. They evaluate every
task in two batches before the first and after each. Avalanche repeats the same 256 pictures, and writes the accuracies
of batches and experiences, and forgetting, to CSV files. Perdure draws new batches, predicts before it learns, writes
every batch to a journal that is synced block by block, reads the log and scores it. With `again` the job runs
twice, and the processor time of the second is printed, which excludes start-up and imports.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))  # both in one environment, with one torch

PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))
BATCH, LEARN, EVALUATE, HIDDEN, RATE = 32, 320, 2, 100, 0.1
_PASS = 8  # batches in one pass of Avalanche through a task


def ours(folder: str) -> None:
    """Run a protocol of one lifetime in this process and score it."""
    perdure = import_module("perdure")
    names = ["-".join(map(str, pair)) for pair in PAIRS]
    protocol = {
        "name": "digits",
        "seed": 1,
        "lifetimes": 1,
        "experts": 0,
        "learner": {"use": "torch:naive", "params": {"hidden": HIDDEN, "layers": 1, "rate": RATE}},
        "scenarios": [
            {
                "layout": "condensed",
                "tasks": [f"digits:{name}" for name in names],
                "learn": LEARN,
                "evaluate": EVALUATE,
            }
        ],
        "tasks": {
            "digits": {
                "env": "sklearn-digits",
                "bounds": [0, 1],
                "params": {"batch/size": BATCH},
                "variants": {name: {"classes": list(pair)} for name, pair in zip(names, PAIRS, strict=True)},
            }
        },
    }
    perdure.run(protocol, folder, workers=0, score=False)
    score = perdure.score(folder)
    lived = sum(block.block.length or 0 for block in score.blocks if block.block.mode == "learn")
    assert lived == len(PAIRS) * LEARN, lived
    assert len([block for block in score.blocks if block.block.mode == "evaluate"]) == len(PAIRS) * (len(PAIRS) + 1)


def theirs(folder: str) -> None:
    """Run a naive strategy with an evaluator."""
    torch = import_module("torch")
    _import_torchvision(torch)
    make, train = import_module("avalanche.benchmarks"), import_module("avalanche.training")
    metrics, plugins = import_module("avalanche.evaluation.metrics"), import_module("avalanche.training.plugins")
    loggers, digits = import_module("avalanche.logging"), import_module("sklearn.datasets")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = digits.load_digits()
    pictures = torch.tensor(data.images, dtype=torch.float32).flatten(1) / 16
    labels = torch.tensor(data.target)
    learned: list[Any] = []
    evaluated: list[Any] = []
    for pair in PAIRS:
        places = [torch.nonzero(labels == label).flatten() for label in pair]
        test_split = [torch.arange(len(place)) % 5 == 4 for place in places]
        for dataset, count, part in (
            (learned, BATCH * _PASS, [~mask for mask in test_split]),
            (evaluated, BATCH * EVALUATE, test_split),
        ):
            chosen = torch.cat([place[mask][: count // 2] for place, mask in zip(places, part, strict=True)])
            dataset.append((pictures[chosen], labels[chosen]))
    benchmark = make.tensors_benchmark(train_tensors=learned, test_tensors=evaluated, task_labels=[0] * len(PAIRS))
    model = torch.nn.Sequential(torch.nn.Linear(64, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10))
    evaluator = plugins.EvaluationPlugin(
        metrics.accuracy_metrics(minibatch=True, experience=True, stream=True),
        metrics.forgetting_metrics(experience=True, stream=True),
        loggers=[loggers.CSVLogger(log_folder=folder)],
    )
    naive = train.Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
        criterion=torch.nn.CrossEntropyLoss(),
        train_mb_size=BATCH,
        train_epochs=LEARN // _PASS,
        eval_mb_size=BATCH,
        evaluator=evaluator,
    )
    naive.eval(benchmark.test_stream)
    for experience in benchmark.train_stream:
        naive.train(experience)
        naive.eval(benchmark.test_stream)
    steps, _ = evaluator.get_all_metrics()["Top1_Acc_MB/train_phase/train_stream/Task000"]
    assert len(steps) == len(PAIRS) * LEARN, len(steps)


def _import_torchvision(torch: Any) -> None:
    """Import torchvision. Its CUDA build needs two operators, never called, that a torch without CUDA lacks."""
    try:
        import_module("torchvision")
    except RuntimeError:
        for name in [module for module in sys.modules if module.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


if __name__ == "__main__":
    live, into = {"ours": ours, "theirs": theirs}[sys.argv[1]], sys.argv[2]
    live(f"{into}/first")
    if "again" in sys.argv:
        started = time.process_time()
        live(f"{into}/again")
        print(time.process_time() - started)
