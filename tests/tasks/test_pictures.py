"""Custom pictures: datasets, arrays and files become tasks, and invalid ones are reported."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perdure.errors import TaskError
from perdure.scenario.model import Mode
from perdure.tasks.contract import check_task
from perdure.tasks.interface import settled
from perdure.tasks.pictures import _cifar, _idx, _of_files, image_stream
from perdure.tasks.streams import ImageStream


def draw_examples(kind: ImageStream, mode: Mode, number: int = 60, **params: Any) -> tuple[np.ndarray, np.ndarray]:
    return kind.examples(settled(kind.parameters or (), params, "x"), number, mode, np.random.default_rng(0))


class Pairs:
    """A dataset with the interface of PyTorch: a length and (picture, label) pairs, channels first."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __len__(self) -> int:
        return 30

    def __getitem__(self, at: int) -> tuple[np.ndarray, int]:
        return np.full((3, 6, 5), self.value, dtype=np.float32), at % 3


def test_a_dataset_in_colour_is_a_valid_task_with_its_own_evaluation_data() -> None:
    kind = image_stream(Pairs(0.25), Pairs(0.75), name="pairs")
    check_task(kind)
    inputs, labels = draw_examples(kind, "learn")
    assert inputs.shape == (60, 6, 5, 3)
    assert set(labels) == {0, 1, 2}
    assert np.all(inputs == 0.25)
    assert np.all(draw_examples(kind, "evaluate")[0] == 0.75)


def test_a_pytorch_dataset_is_a_valid_task() -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra")
    dataset = torch.utils.data.TensorDataset(torch.rand(20, 1, 4, 4), torch.arange(20) % 2)
    assert draw_examples(image_stream(dataset), "learn")[0].shape == (60, 4, 4)


def test_colour_is_rotated_and_brightened_like_grey() -> None:
    grey = np.random.default_rng(1).random((10, 7, 7))
    colour = np.stack([grey] * 3, axis=3)
    params: dict[str, Any] = {"rotation": 90.0, "contrast": 0.5, "brightness": 0.1}
    item = draw_examples(image_stream((grey, np.arange(10) % 2)), "learn", **params)[0]
    three = draw_examples(image_stream((colour, np.arange(10) % 2)), "learn", **params)[0]
    assert all(np.array_equal(three[..., channel], item) for channel in range(3))


def test_whole_numbers_are_grey_levels_to_255() -> None:
    kind = image_stream((np.full((10, 2, 2), 255, dtype=np.uint8), np.zeros(10)))
    assert np.all(draw_examples(kind, "learn")[0] == 1)


def test_invalid_pictures_or_labels_are_refused_with_a_message() -> None:
    with pytest.raises(TaskError, match=r"pictures have the shape \(4, 2\) and labels \(4,\); expected"):
        image_stream((np.zeros((4, 2)), np.zeros(4)), name="flat")
    kind = image_stream((np.zeros((4, 2, 2)), np.array([0, 0, 2, 2])))
    with pytest.raises(TaskError, match="no picture of class 1 to learn; leave it out of 'classes'"):
        draw_examples(kind, "learn", classes=[1])


def idx(values: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">i4").tobytes()
    return head + values.astype(np.uint8).tobytes()


def test_files_in_the_format_of_mnist_are_read_compressed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_DATA", str(tmp_path))
    kind = _of_files("MNIST", "digits", 2, _idx("MNIST"))
    with pytest.raises(TaskError, match=r": no pictures for the task 'MNIST' below this folder; .*set PERDURE_DATA"):
        draw_examples(kind, "learn")
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for part, level in (("train", 51), ("t10k", 204)):
        (raw / f"{part}-images-idx3-ubyte").write_bytes(idx(np.full((8, 3, 4), level)))
        (raw / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.arange(8) % 2)))
    assert np.allclose(draw_examples(kind, "learn")[0], 0.2)
    assert np.allclose(draw_examples(kind, "evaluate")[0], 0.8)
    check_task(kind)


def test_files_in_the_binary_format_of_cifar_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_DATA", str(tmp_path))
    planes = np.repeat(np.array([0, 51, 255], dtype=np.uint8), 1024)
    for name in ("data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"):
        rows = [np.concatenate([[label], planes]) for label in (0, 1, 0, 1)]
        (tmp_path / name).write_bytes(np.array(rows, dtype=np.uint8).tobytes())
    kind = _of_files("CIFAR10", "things", 2, _cifar(("data_batch_*.bin", "test_batch.bin"), 1))
    inputs, labels = draw_examples(kind, "evaluate")
    assert inputs.shape == (60, 32, 32, 3)
    assert np.allclose(inputs[0, 5, 5], [0, 0.2, 1])
    assert set(labels) == {0, 1}
