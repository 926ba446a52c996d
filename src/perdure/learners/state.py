"""Kept: a learner whose knowledge is a few named arrays, and so can be saved, restored and compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perdure import files
from perdure.learners.interface import LearnerError

Arrays = Mapping[str, npt.NDArray[np.generic]]

_ARRAYS, _RANDOM = "knowledge.npz", "random.json"


class Kept:
    """Says what it knows by `knowledge`, and takes it up again by `know`; the rest follows from these two."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def knowledge(self) -> Arrays:
        """Everything that was learned, as arrays by name."""
        raise NotImplementedError

    def know(self, arrays: Arrays) -> None:
        """Become what `knowledge` said."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write knowledge and the state of the random numbers; no pickle is involved."""
        np.savez(folder / _ARRAYS, allow_pickle=False, **dict(self.knowledge()))
        files.write(folder / _RANDOM, json.dumps(self.rng.bit_generator.state).encode())

    def restore(self, folder: Path) -> None:
        """Take up what was saved, random numbers included."""
        try:
            with files.opened(folder / _ARRAYS) as file, np.load(file, allow_pickle=False) as saved:
                self.know({name: saved[name] for name in saved.files})
            self.rng.bit_generator.state = json.loads(files.read_text(folder / _RANDOM, files.HEADER_LIMIT))
        except (OSError, ValueError, KeyError) as problem:
            raise LearnerError(
                f"no saved state of {type(self).__name__}: {problem}", "restore it, or begin anew", file=folder
            ) from problem

    def reseed(self, seed: int) -> None:
        """Draw other random numbers from here on; what was learned stays."""
        self.rng = np.random.default_rng(seed)

    def fingerprint(self) -> str:
        """A digest of what was learned; random numbers drawn do not change it."""
        digest = hashlib.sha256()
        for name, array in sorted(self.knowledge().items()):
            digest.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
