"""Picture tasks from any PyTorch Dataset, arrays, or the files of MNIST and CIFAR in a local folder.

Nothing is downloaded. The files are searched below the folder `PERDURE_DATA` (`data` unless set), then by torchvision.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from perdure import files
from perdure.errors import TaskError
from perdure.tasks.streams import ImageStream, KeptImages

Labelled = tuple[np.ndarray, np.ndarray]
_LIMIT = 1 << 30  # bytes of one file


def image_stream(
    train: Any, evaluate: Any = None, *, name: str = "pictures", summary: str = "tell pictures apart"
) -> ImageStream:
    """Make a task of a PyTorch Dataset of (picture, label), or of two arrays; without `evaluate`, hold out every fifth.

    Pictures become (row, column) or (row, column, channel) from 0 to 1: whole numbers are divided by 255, and PyTorch's
    channels become the last axis. Labels count from 0.
    """
    learned = _arrays(train, name)
    held_out = None if evaluate is None else _arrays(evaluate, name)
    classes = int(learned[1].max()) + 1
    source = KeptImages(lambda: learned, None if held_out is None else lambda: held_out)
    return ImageStream(name, summary, source, classes)


def _arrays(data: Any, name: str) -> Labelled:
    if isinstance(data, tuple | list) and len(data) == 2 and hasattr(data[0], "shape"):
        pictures, labels = np.asarray(data[0]), np.asarray(data[1])
    else:
        pairs = [data[index] for index in range(len(data))]
        pictures = np.stack([np.asarray(picture) for picture, _ in pairs])
        labels = np.array([int(label) for _, label in pairs])
    if pictures.ndim == 4 and pictures.shape[1] in (1, 3) and pictures.shape[3] not in (1, 3):
        pictures = np.moveaxis(pictures, 1, 3)
    if pictures.ndim == 4 and pictures.shape[3] == 1:
        pictures = pictures[..., 0]
    if pictures.ndim not in (3, 4) or labels.shape != (len(pictures),) or not len(labels):
        raise TaskError(
            f"pictures have the shape {pictures.shape} and labels {labels.shape}",
            "expected (example, row, column), perhaps with channels, and a label for each",
            where=f"the task {name!r}",
        )
    if pictures.dtype.kind in "ui":
        pictures = pictures / 255
    return pictures.astype(np.float32), labels.astype(np.int64)


def _of_files(name: str, summary: str, classes: int, find: Callable[[Path, bool], Labelled | None]) -> ImageStream:
    def load(train: bool) -> Callable[[], Labelled]:
        def loaded() -> Labelled:
            folder = Path(os.environ.get("PERDURE_DATA", "data"))
            data = find(folder, train) or _of_torchvision(name, folder, train)
            if data is None:
                raise TaskError(
                    f"no pictures for the task {name!r} below this folder",
                    "put its files there, or set PERDURE_DATA to the folder in which torchvision keeps them",
                    file=folder,
                )
            return _arrays(data, name)

        return loaded

    return ImageStream(name.lower(), summary, KeptImages(load(True), load(False)), classes)


def _idx(subfolder: str) -> Callable[[Path, bool], Labelled | None]:
    """Return a reader of MNIST's format: a head of big-endian numbers, then bytes; compressed or not."""

    def find(folder: Path, train: bool) -> Labelled | None:
        part = "train" if train else "t10k"
        both = []
        for content, dimensions in (("images", 3), ("labels", 1)):
            places = sorted((folder / subfolder).rglob(f"{part}-{content}*idx{dimensions}-ubyte*"))
            if not places:
                return None
            raw = files.read_bytes(places[0], _LIMIT)
            raw = gzip.decompress(raw) if places[0].suffix == ".gz" else raw
            shape = np.frombuffer(raw, ">i4", dimensions, 4)
            both.append(np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape))
        return both[0], both[1]

    return find


def _cifar(pattern: tuple[str, str], head: int) -> Callable[[Path, bool], Labelled | None]:
    """Return a reader of CIFAR's binary version: `head` bytes of labels, the finest last, then 3 × 32 × 32 bytes."""

    def find(folder: Path, train: bool) -> Labelled | None:
        places = sorted(folder.rglob(pattern[0] if train else pattern[1]))
        if not places:
            return None
        rows = [np.frombuffer(files.read_bytes(place, _LIMIT), np.uint8).reshape(-1, head + 3072) for place in places]
        pixels = np.concatenate(rows)
        return pixels[:, head:].reshape(-1, 3, 32, 32), pixels[:, head - 1].astype(np.int64)

    return find


def _of_torchvision(name: str, folder: Path, train: bool) -> Labelled | None:
    if find_spec("torchvision") is None:
        return None
    try:
        dataset = getattr(import_module("torchvision.datasets"), name)(str(folder), train=train, download=False)
    except RuntimeError:  # so it says that the files are not there
        return None
    return np.asarray(dataset.data), np.asarray(dataset.targets)


MNIST = _of_files("MNIST", "tell ten digits, handwritten (MNIST)", 10, _idx("MNIST"))
FASHION_MNIST = _of_files("FashionMNIST", "tell ten kinds of clothes (Fashion-MNIST)", 10, _idx("FashionMNIST"))
CIFAR10 = _of_files(
    "CIFAR10", "tell ten kinds of things, in colour (CIFAR-10)", 10, _cifar(("data_batch_*.bin", "test_batch.bin"), 1)
)
CIFAR100 = _of_files(
    "CIFAR100", "tell a hundred kinds of things, in colour (CIFAR-100)", 100, _cifar(("train.bin", "test.bin"), 2)
)
