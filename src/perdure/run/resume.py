"""States: a learner kept after each block, so that a life that broke off can go on.

A life goes on only from its own learner's state at a block boundary. What was logged after that boundary
is removed, and lived again. A fresh learner on an old log would be a chimera, and is refused.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from perdure import files
from perdure.errors import LogError
from perdure.learners.interface import LearnerError, Saved
from perdure.log.l2logger import object_in
from perdure.log.manifest import write_object
from perdure.log.tsv import DATA_FILE, records_in
from perdure.log.verify import BLOCKS_FILE, refusal, verify
from perdure.run.seeds import Seeds

__all__ = ["Checkpoint", "States", "restored"]

_CURRENT = "current.json"


@dataclass(frozen=True)
class Checkpoint:
    """Where a life stood when its learner was kept."""

    life: str
    blocks: int
    experiences: int
    rows: int
    fingerprint: str | None
    seeds: Seeds


class States:
    """The kept states of one life's learner; only the latest is needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, learner: Any, checkpoint: Checkpoint) -> None:
        """Save the learner, then point to what was saved, so that a crash in between leaves the one before."""
        if not isinstance(learner, Saved):
            return
        place = self.folder / f"after-{checkpoint.blocks}-blocks"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        learner.save(place)
        write_object(
            self.folder / _CURRENT,
            {
                "life": checkpoint.life,
                "blocks": checkpoint.blocks,
                "experiences": checkpoint.experiences,
                "rows": checkpoint.rows,
                "fingerprint": checkpoint.fingerprint,
                "seeds": checkpoint.seeds.as_json(),
                "state": place.name,
            },
        )
        for older in self.folder.glob("after-*-blocks"):
            if older != place:
                shutil.rmtree(older, ignore_errors=True)

    def latest(self) -> tuple[Checkpoint, Path] | None:
        """The last kept state, or None."""
        if not (self.folder / _CURRENT).exists():
            return None
        said = object_in(self.folder / _CURRENT)
        try:
            checkpoint = Checkpoint(
                said["life"],
                int(said["blocks"]),
                int(said["experiences"]),
                int(said["rows"]),
                said["fingerprint"],
                Seeds(**said["seeds"]),
            )
            place = self.folder / str(said["state"])
        except (KeyError, TypeError, ValueError) as problem:
            raise LogError(
                f"{self.folder / _CURRENT}: not a kept state ({problem!r}); remove the folder to start again"
            ) from problem
        return (checkpoint, place) if place.is_dir() else None

    def resume(self, life: Path, name: str, seeds: Seeds, learner: Any) -> Checkpoint:
        """Restore the learner, and cut its log back to where it was kept; anything else is refused."""
        found = self.latest()
        if found is None or not isinstance(learner, Saved):
            raise LogError(
                f"{life}: was begun, and no state of its learner was kept in {self.folder}; "
                "a fresh learner cannot go on with it: remove the folder to start this life again"
            )
        checkpoint, place = found
        if (checkpoint.life, checkpoint.seeds) != (name, seeds):
            raise LogError(
                f"{self.folder}: the state of another life ({checkpoint.life}, seeds {checkpoint.seeds.as_json()}) "
                f"cannot go on with {name} ({seeds.as_json()})"
            )
        if problems := verify(life, lambda closed: closed.block_num < checkpoint.blocks):
            raise refusal(life, problems, "remove the folder to start this life again")
        rows = _rows_before(life, checkpoint.blocks)
        if rows != checkpoint.rows:
            raise LogError(
                f"{life}: holds {rows} records of the {checkpoint.blocks} blocks that its learner has lived, not "
                f"{checkpoint.rows}; the log was changed: remove the folder to start this life again"
            )
        restored(learner, place, checkpoint.fingerprint)
        _cut(life, checkpoint.blocks)
        return checkpoint

    def forget(self) -> None:
        """Remove what was kept; a finished life needs it no more."""
        shutil.rmtree(self.folder, ignore_errors=True)


def restored(learner: Any, place: Path, fingerprint: str | None) -> None:
    """Make `learner` what was saved at `place`; one that comes back different is refused."""
    learner.restore(place)
    ask = getattr(learner, "fingerprint", None)
    if fingerprint is not None and callable(ask) and str(ask()) != fingerprint:
        raise LearnerError(
            f"{place}: {type(learner).__name__} came back from restore with another fingerprint than it was saved "
            "with; save and restore must carry everything that the fingerprint covers"
        )


def _rows_before(life: Path, blocks: int) -> int:
    """How many records the log holds of the first blocks."""
    rows = 0
    for file in life.glob(f"*/*-t*/{DATA_FILE}"):
        if _number(file) < blocks:
            rows += records_in(files.read_bytes(file))
    return rows


def _cut(life: Path, blocks: int) -> None:
    """Remove what the ledger says of what was logged after the first blocks, and then that itself."""
    ledger = life / BLOCKS_FILE
    if ledger.exists():
        # First, so that at no moment the ledger closes a block that is gone.
        lines = files.read_bytes(ledger, files.LEDGER_LIMIT, within=life).splitlines()
        files.write(ledger, b"".join(line + b"\n" for line in lines if not _tells_of_later(line, blocks)))
    for file in list(life.glob(f"*/*-t*/{DATA_FILE}")):
        if _number(file) >= blocks:
            shutil.rmtree(file.parent)


def _tells_of_later(line: bytes, blocks: int) -> bool:
    """Whether a line of the ledger is of a later block, or torn."""
    try:
        event = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return True
    return isinstance(event, dict) and event.get("event") == "block" and event.get("block_num", 0) >= blocks


def _number(file: Path) -> int:
    number = file.parent.name.partition("-")[0]
    return int(number) if number.isdigit() else -1
