"""What is lived, on disk: a folder for each chunk of lives, with a file of records per block and the learners' state.

chunk.json      who is in it, of which protocol, how large it is, on what it is lived
block-003.npz   a row per life and a column per experience, for each measure; which lives have come to nothing, and why
state.npz       the learners after the last block, bit for bit; a run that was cut off goes on from here
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from perdure import files
from perdure.errors import LogError

__all__ = ["Chunk", "Facts", "chunks_in"]

_FACTS, _STATE = "chunk.json", "state.npz"


class Facts(Struct, frozen=True):
    """What is known of a chunk before it is lived."""

    protocol: str
    """Its digest."""
    jobs: tuple[str, ...]
    blocks: int
    size: int
    """Lives at once on each device, those that fill it up included: with another size, last bits may differ."""
    devices: int
    device: str
    versions: Mapping[str, str]
    learner_digest: str | None = None
    """Digest of the learner's code. Not part of what the chunk is called: a changed learner finds it again."""

    def as_json(self) -> dict[str, Any]:
        """For its file."""
        return {**asdict(self), "jobs": list(self.jobs), "versions": dict(self.versions)}


class Chunk(Struct, frozen=True):
    """A chunk's folder."""

    folder: Path

    @classmethod
    def begun(cls, into: Path, facts: Facts) -> Chunk:
        """The folder of a chunk, made or found again."""
        named = {key: value for key, value in facts.as_json().items() if key != "learner_digest"}
        digest = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]
        chunk = cls(into / f"chunk-{digest}")
        chunk.folder.mkdir(parents=True, exist_ok=True)
        if not (chunk.folder / _FACTS).exists():
            chunk.state_facts(facts)
        return chunk

    def state_facts(self, facts: Facts) -> None:
        """Write what is known of the chunk."""
        files.write(self.folder / _FACTS, json.dumps(facts.as_json(), indent=1).encode())

    @property
    def facts(self) -> Facts:
        """Who is in it."""
        try:
            content = json.loads(files.read_bytes(self.folder / _FACTS))
            return Facts(**{**content, "jobs": tuple(content["jobs"])})
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise LogError(
                f"not a chunk of lifetimes: {problem}", "move it elsewhere, and run again", file=self.folder
            ) from problem

    @property
    def lived(self) -> int:
        """How many blocks were lived, from the first on."""
        at = 0
        while self._block(at).exists():
            at += 1
        return at

    @property
    def is_whole(self) -> bool:
        """Whether all blocks were lived."""
        return self.lived == self.facts.blocks

    def keep(self, at: int, records: Mapping[str, np.ndarray], leaves: Iterable[np.ndarray] | None) -> None:
        """Write a block's records, and then the state after it, if it is given."""
        _write(self._block(at), records)
        if leaves is not None:
            _write(self.folder / _STATE, {"blocks": np.array(at + 1)} | _numbered(leaves))

    def state(self) -> tuple[int, list[np.ndarray]] | None:
        """The last state that was kept, and after how many blocks; None where there is none to go on from."""
        if not (self.folder / _STATE).exists():
            return None
        try:
            found = _read(self.folder / _STATE)
        except LogError:
            return None
        blocks = int(found.pop("blocks"))
        if self.lived < blocks:
            return None
        return blocks, [found[name] for name in sorted(found)]

    def back_to(self, blocks: int) -> None:
        """Forget the records of blocks after so many: they are lived again."""
        for at in range(self.lived - 1, blocks - 1, -1):
            self._block(at).unlink()

    def records(self, at: int) -> dict[str, np.ndarray]:
        """The records of a block."""
        return _read(self._block(at))

    def forget_state(self) -> None:
        """What is lived to its end needs no state."""
        (self.folder / _STATE).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.folder)

    def _block(self, at: int) -> Path:
        return self.folder / f"block-{at:03d}.npz"


def chunks_in(folder: Path) -> list[Chunk]:
    """The chunks below a folder."""
    return [Chunk(one.parent) for one in sorted(folder.glob(f"chunk-*/{_FACTS}"))]


def _numbered(leaves: Iterable[np.ndarray]) -> dict[str, np.ndarray]:
    return {f"leaf-{at:04d}": leaf for at, leaf in enumerate(leaves)}


def _write(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Readers see the whole file or none of it."""
    held = io.BytesIO()
    np.savez(held, allow_pickle=False, **arrays)
    files.write(file, held.getbuffer())


def _read(file: Path) -> dict[str, np.ndarray]:
    try:
        with files.opened(file) as opened, np.load(opened, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as problem:
        raise LogError(f"cannot be read: {problem}", "move it elsewhere, and run again", file=file) from problem
