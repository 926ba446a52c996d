"""Callbacks for Lightning and Hugging Face, tested with the real libraries; `make test-ecosystem` installs them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import perdure

TASKS = ("a", "b")
BLOCKS = [("evaluate", "a"), ("evaluate", "b"), ("learn", "a"), ("evaluate", "a"), ("evaluate", "b"), ("learn", "b")]
BLOCKS += BLOCKS[:2]


def data(task: str) -> Any:
    import torch

    generator = torch.Generator().manual_seed(ord(task))
    weights = torch.randn(8, generator=generator)
    inputs = torch.randn(100, 8, generator=generator)
    return inputs, (inputs @ weights > 0).long()


@pytest.fixture(autouse=True)
def _ignore_warnings_of_the_libraries() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def lengths(lifetime: Path) -> tuple[list[tuple[str, str]], dict[str, set[int | None]]]:
    blocks = perdure.read(lifetime).scenario.blocks
    results: dict[str, set[int | None]] = {}
    for block in blocks:
        results.setdefault(block.mode, set()).add(block.length)
    return [(block.mode, block.task) for block in blocks], results


@pytest.mark.parametrize("by_batch", [True, False])
def test_lightning_batches_are_experiences_and_validations_evaluations(tmp_path: Path, by_batch: bool) -> None:
    lightning: Any = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    from perdure.integrations.lightning import LightningCallback

    class Module(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Linear(8, 2)

        def training_step(self, batch: Any, _number: int) -> Any:
            outputs = self.net(batch[0])
            self.log("accuracy", (outputs.argmax(1) == batch[1]).float().mean())
            return torch.nn.functional.cross_entropy(outputs, batch[1])

        def validation_step(self, batch: Any, _number: int, dataloader_idx: int = 0) -> Any:
            accuracy = (self.net(batch[0]).argmax(1) == batch[1]).float().mean()
            self.log("accuracy", accuracy)
            return {"accuracy": accuracy} if by_batch else None

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.5)

    loaders = {task: DataLoader(TensorDataset(*data(task)), 20) for task in TASKS}
    with perdure.Journal(tmp_path, "life", measures=["accuracy"]) as journal:
        callback = LightningCallback(journal, TASKS)

        def trainer() -> Any:
            quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
            return lightning.Trainer(max_epochs=2, callbacks=[callback], accelerator="cpu", **quiet)

        module = Module()
        trainer().validate(module, list(loaders.values()), verbose=False)
        for task in TASKS:
            callback.learning = task
            trainer().fit(module, loaders[task])
            trainer().validate(module, list(loaders.values()), verbose=False)
    assert lengths(tmp_path / "life") == (BLOCKS, {"learn": {10}, "evaluate": {5 if by_batch else 1}})


def test_hugging_face_logs_are_experiences_and_evaluations_by_their_datasets(tmp_path: Path) -> None:
    transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")
    import torch

    from perdure.integrations.huggingface import HuggingFaceCallback

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Linear(8, 2)

        def forward(self, inputs: Any = None, labels: Any = None) -> Any:
            outputs = self.net(inputs)
            return {"loss": torch.nn.functional.cross_entropy(outputs, labels), "logits": outputs}

    sets = {
        task: [{"inputs": item, "labels": label} for item, label in zip(*data(task), strict=True)] for task in TASKS
    }
    how = transformers.TrainingArguments(
        str(tmp_path / "out"), num_train_epochs=1, logging_steps=1, report_to=[], save_strategy="no", use_cpu=True
    )
    with perdure.Journal(tmp_path, "life", measures={"loss": "lower"}) as journal:
        callback, model = HuggingFaceCallback(journal), Model()
        for task in TASKS:
            trainer = transformers.Trainer(
                model, how, train_dataset=sets[task], eval_dataset=sets, callbacks=[callback]
            )
            if task == TASKS[0]:
                trainer.evaluate()
            callback.learning = task
            trainer.train()
            trainer.evaluate()
    assert lengths(tmp_path / "life") == (BLOCKS, {"learn": {13}, "evaluate": {1}})
