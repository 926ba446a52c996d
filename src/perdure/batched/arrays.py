"""Chunks of lifetimes on disk: a folder for each, with a file of records per block and the learners' state.

chunk.json      its lifetimes, protocol, size and device
block-003.npz   a row per lifetime and a column per experience, for each measure; which lifetimes have failed
state.npz       the learners after the last block, bit for bit; an interrupted run continues from here
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from perdure import files
from perdure.errors import LogError

_FACTS, _STATE = "chunk.json", "state.npz"


class ChunkFacts(Struct, frozen=True):
    """The facts of a chunk that are known before it runs."""

    protocol: str
    """Its digest."""
    jobs: tuple[str, ...]
    blocks: int
    size: int
    """Lifetimes at once on each device, padding included: with another size, last bits may differ."""
    devices: int
    device: str
    versions: Mapping[str, str]
    learner_digest: str | None = None
    """Digest of the learner's code. It is not part of the folder's name: a changed learner finds its chunk again."""


class Chunk(Struct, frozen=True):
    """A chunk's folder."""

    folder: Path

    @classmethod
    def begun(cls, into: Path, facts: ChunkFacts) -> Chunk:
        """Make or find the folder of a chunk."""
        named = {key: value for key, value in msgspec.to_builtins(facts).items() if key != "learner_digest"}
        digest = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]
        chunk = cls(into / f"chunk-{digest}")
        chunk.folder.mkdir(parents=True, exist_ok=True)
        if not (chunk.folder / _FACTS).exists():
            chunk.state_facts(facts)
        return chunk

    def state_facts(self, facts: ChunkFacts) -> None:
        """Write the facts of the chunk."""
        files.write(self.folder / _FACTS, msgspec.json.encode(facts))

    @property
    def facts(self) -> ChunkFacts:
        """The facts in its file."""
        try:
            return msgspec.json.decode(files.read_bytes(self.folder / _FACTS), type=ChunkFacts)
        except (OSError, ValueError) as problem:  # msgspec's errors are ValueErrors
            raise LogError(
                f"not a chunk of lifetimes: {problem}", "move it elsewhere, and run again", file=self.folder
            ) from problem

    @property
    def lived(self) -> int:
        """The number of blocks that have run."""
        count = 0
        while self._block(count).exists():
            count += 1
        return count

    @property
    def is_whole(self) -> bool:
        """True if all blocks have run."""
        return self.lived == self.facts.blocks

    def write(self, index: int, records: Mapping[str, np.ndarray], leaves: Iterable[np.ndarray] | None) -> None:
        """Write a block's records, and then the state after it, if it is given."""
        _write(self._block(index), records)
        if leaves is not None:
            numbered = {f"leaf-{number:04d}": leaf for number, leaf in enumerate(leaves)}
            _write(self.folder / _STATE, {"blocks": np.array(index + 1), **numbered})

    def state(self) -> tuple[int, list[np.ndarray]] | None:
        """Return the last saved state and the number of blocks before it; None if there is none."""
        if not (self.folder / _STATE).exists():
            return None
        try:
            arrays = _read(self.folder / _STATE)
        except LogError:
            return None
        blocks = int(arrays.pop("blocks"))
        if self.lived < blocks:
            return None
        return blocks, [arrays[name] for name in sorted(arrays)]

    def back_to(self, blocks: int) -> None:
        """Remove the records of all but the first `blocks` blocks: the others run again."""
        for index in range(self.lived - 1, blocks - 1, -1):
            self._block(index).unlink()

    def records(self, index: int) -> dict[str, np.ndarray]:
        """Return the records of a block."""
        return _read(self._block(index))

    def forget_state(self) -> None:
        """Remove the state, which a finished chunk does not need."""
        (self.folder / _STATE).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)

    def _block(self, index: int) -> Path:
        return self.folder / f"block-{index:03d}.npz"


def chunks_in(folder: Path) -> list[Chunk]:
    """Return the chunks in a folder."""
    return [Chunk(file.parent) for file in sorted(folder.glob(f"chunk-*/{_FACTS}"))]


def _write(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file atomically: readers see the whole file or none of it."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    files.write(file, content.getbuffer())


def _read(file: Path) -> dict[str, np.ndarray]:
    try:
        with files.open_regular(file) as opened, np.load(opened, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as problem:
        raise LogError(f"cannot be read: {problem}", "move it elsewhere, and run again", file=file) from problem
