"""Trackers read our exports with their own libraries; `make test-ecosystem` installs them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.gather.trackers import send


@pytest.fixture
def own_scores(life: Path) -> dict[str, float]:
    return {name: value for name, value in perdure.score(life).values.items() if value is not None}


def assert_same_scores(place: Path, own_scores: dict[str, float]) -> None:
    theirs = perdure.score(place).values
    assert {name: theirs[name] for name in own_scores} == pytest.approx(own_scores, rel=1e-9)


def test_tensorboard_lists_our_scalars_with_their_values(tmp_path: Path, life: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    processing = importlib.import_module("tensorboard.backend.event_processing.plugin_event_multiplexer")
    tensor_util = importlib.import_module("tensorboard.util.tensor_util")

    send(life, f"tensorboard:{tmp_path}")
    events: Any = processing.EventMultiplexer()
    events.AddRunsFromDirectory(str(tmp_path))
    events.Reload()
    ((run, about),) = events.Runs().items()
    shown = {
        (tag, tensor.step): float(tensor_util.make_ndarray(tensor.tensor_proto))
        for tag in about["tensors"]
        for tensor in events.Tensors(run, tag)
        if not tag.startswith("perdure/")
    }
    rows = perdure.read(life).experiences
    assert sorted(shown.values()) == sorted(rows["reward"].to_list())


def test_mlflow_keeps_a_run_that_scores_the_same(
    tmp_path: Path, life: Path, own_scores: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    send(life, f"mlflow:file:{tmp_path / 'mlruns'}")
    assert_same_scores(tmp_path / "mlruns", own_scores)


def test_weights_and_biases_keeps_a_run_offline_that_scores_the_same(
    tmp_path: Path, life: Path, own_scores: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.chdir(tmp_path)
    send(life, "wandb:paper")
    wandb.teardown()  # its own process writes the file, and may still be running
    (run,) = (tmp_path / "wandb").glob("offline-run-*")
    assert_same_scores(run, own_scores)


def test_aim_keeps_every_number(tmp_path: Path, life: Path) -> None:
    aim = pytest.importorskip("aim", reason="Aim is not installed")
    send(life, f"aim:{tmp_path}")
    result = [len(metric.values) for run in aim.Repo(str(tmp_path)).query_metrics().iter_runs() for metric in run]
    assert sum(result) >= perdure.read(life).experiences.height
