"""Callbacks of trainers: their calls reach the journal, block by block.

These tests follow the documented calls; tests/ecosystem runs the libraries.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import perdure
from perdure import Recorder


def import_callback(monkeypatch: pytest.MonkeyPatch, library: str, base: str, ours: str) -> Any:
    """Import our module with a stand-in library that has only the base class."""
    module = ModuleType(library)
    setattr(module, base, object)
    for name in (library.partition(".")[0], library):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, ours, raising=False)
    result = importlib.import_module(ours)
    monkeypatch.delitem(sys.modules, ours)
    return next(kind for name, kind in vars(result).items() if name.endswith("Callback") and kind.__module__ == ours)


def blocks(lifetime: Path) -> list[tuple[str, str, int | None]]:
    return [(block.mode, block.task, block.length) for block in perdure.read(lifetime).scenario.blocks]


def test_a_recorder_opens_a_block_at_a_change_of_mode_or_task_or_on_request(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        recorder = Recorder(journal)
        for mode, task in (("evaluate", "a"), ("learn", "a"), ("learn", "a"), ("learn", "b")):
            recorder.log(mode, task, reward=1.0)
        recorder.begin("learn", "b")
        recorder.log("learn", "b", {"wind": 0.5}, reward=2.0)
        with pytest.raises(perdure.RecordError, match="expected 'learn', 'evaluate' or 'probe'"):
            recorder.log("train", "a", reward=1.0)
    read = perdure.read(tmp_path / "life")
    assert read.experiences["block_num"].to_list() == [0, 1, 1, 2, 3]
    assert read.experiences["exp_num"].to_list() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("by_batch", [True, False])
def test_lightning_hooks_are_logged_as_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_batch: bool) -> None:
    recorder = import_callback(monkeypatch, "lightning.pytorch", "Callback", "perdure.integrations.lightning")
    trainer = SimpleNamespace(callback_metrics={"accuracy": 0.5}, sanity_checking=False)
    with perdure.Journal(tmp_path, "life", measures=["accuracy"]) as journal:
        item = recorder(journal, ["a", "b"])
        with pytest.raises(perdure.PerdureError, match="set its learning = TASK before fit"):
            item.on_train_batch_end(trainer, None, None, None, 0)
        item.learning = "a"
        for _ in range(2):
            item.on_train_batch_end(trainer, None, None, None, 0)
        trainer.callback_metrics = {f"accuracy/dataloader_idx_{number}": 0.25 for number in (0, 1)}
        with pytest.raises(perdure.PerdureError, match="'accuracy' is not logged in training"):
            item.on_train_batch_end(trainer, None, None, None, 0)
        for sane in (True, False):
            trainer.sanity_checking = sane
            for number in (0, 1):
                for _ in range(3):
                    outputs = {"accuracy": 1.0} if by_batch else None
                    item.on_validation_batch_end(trainer, None, outputs, None, 0, number)
            item.on_validation_end(trainer, None)
        if by_batch:
            with pytest.raises(perdure.PerdureError, match="validation loader 2 has no name"):
                item.on_validation_batch_end(trainer, None, {"accuracy": 1.0}, None, 0, 2)
    length = 3 if by_batch else 1
    assert blocks(tmp_path / "life") == [("learn", "a", 2), ("evaluate", "a", length), ("evaluate", "b", length)]


def test_hugging_face_events_are_logged_as_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = import_callback(monkeypatch, "transformers", "TrainerCallback", "perdure.integrations.huggingface")
    with perdure.Journal(tmp_path, "life", measures={"loss": "lower"}) as journal:
        item = recorder(journal)
        with pytest.raises(perdure.PerdureError, match="set its learning = TASK before train"):
            item.on_log(None, None, None, logs={"loss": 1.0})
        item.learning = "my task"
        item.on_log(None, None, None, logs={"loss": 1.0})
        item.on_log(None, None, None, logs={"train_runtime": 1.0})
        item.on_evaluate(None, None, None, metrics={"eval_my task_loss": 0.5, "eval_my task_runtime": 1.0})
        item.on_evaluate(None, None, None, metrics={"eval_loss": 0.5})
    assert blocks(tmp_path / "life") == [("learn", "my task", 1), ("evaluate", "my task", 1)]


@pytest.mark.parametrize(
    ("library", "ours"),
    [("lightning", "perdure.integrations.lightning"), ("transformers", "perdure.integrations.huggingface")],
)
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str, ours: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, ours, raising=False)
    with pytest.raises(perdure.PerdureError, match=f"pip install .*'{library}>="):
        importlib.import_module(ours)
