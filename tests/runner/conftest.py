"""Small protocols and toy learners that many tests of running lifetimes share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import perdure
from perdure.log.rules import COST_COLUMNS

TOYS = '''
"""Learners that do one thing wrong, or one thing right."""
import os
import pickle
import random
import signal
from pathlib import Path


class Still:
    """Never moves, never learns."""

    def __init__(self, seed=0):
        self.seed = seed

    def act(self, observation):
        return 0


class Raises(Still):
    """Falls over in its second learning block, unless the file of this name exists."""

    def __init__(self, seed=0, unless="", only=-1):
        super().__init__(seed)
        self.unless, self.only, self.blocks = unless, only, 0

    def block_started(self, situation):
        self.blocks += situation.learning
        if self.blocks == 2 and not os.path.exists(self.unless):
            print("about to fall over")
            raise ZeroDivisionError("toy trouble")

    def learn(self, transition):
        pass


class Exits(Still):
    """Believes that it is a script."""

    def act(self, observation):
        raise SystemExit("bye")


class Dies(Still):
    """Kills its own process, the first time in each folder, or always."""

    def __init__(self, seed=0, mark="", always=False):
        super().__init__(seed)
        self.mark, self.always = mark, always

    def block_started(self, situation):
        if situation.block == 3:
            mark = Path(f"{self.mark}-{self.seed}")
            if self.always or not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)


class Counts:
    """Knows the number of steps it learned from; its action, and so its log, depends on it."""

    def __init__(self, seed=0, slow=0.0, honest=True):
        self.seed, self.slow, self.honest, self.count = seed, slow, honest, 0

    def act(self, observation):
        return self.count % 3

    def learn(self, transition):
        import time

        time.sleep(self.slow)
        self.count += 1

    def save(self, folder):
        (folder / "count.txt").write_text(str(self.count))

    def restore(self, folder):
        self.count = int((folder / "count.txt").read_text()) + (not self.honest)

    def fingerprint(self):
        return str(self.count)


class Draws(Counts):
    """Keeps its random numbers with its knowledge, and writes down the first that it draws in each life."""

    def __init__(self, seed=0, drawn=""):
        super().__init__(seed)
        self.drawn, self.rng = drawn, random.Random(seed)

    def block_started(self, situation):
        if situation.block == 0:
            with open(self.drawn, "a") as file:
                print(self.rng.random(), file=file)

    def save(self, folder):
        super().save(folder)
        (folder / "random.pickle").write_bytes(pickle.dumps(self.rng))

    def restore(self, folder):
        super().restore(folder)
        self.rng = pickle.loads((folder / "random.pickle").read_bytes())

    def reseed(self, seed):
        self.rng = random.Random(seed)
'''

PROTOCOL = """
name = "small"
seed = 5
lifetimes = {lifetimes}
experts = {experts}

[learner]
use = "{use}"
params = {params}

[[scenarios]]
layout = "condensed"
tasks = ["pong:wide", "pong:narrow"]
learn = {learn}
evaluate = 2

[tasks.pong]
params = {{ points = 1, steps = 30 }}
variants = {{ wide = {{ "bot/paddle/width" = 0.4 }}, narrow = {{ "bot/paddle/width" = 0.2 }} }}
{more}
"""

WriteProtocol = Callable[..., Path]


@pytest.fixture
def write_protocol(tmp_path: Path) -> WriteProtocol:
    """Write a small protocol, with the toy learners next to it."""

    def write(
        use: str = "q-learning",
        *,
        params: str = "{}",
        lifetimes: int = 1,
        experts: int = 0,
        learn: int = 4,
        more: str = "",
        name: str = "protocol.toml",
    ) -> Path:
        (tmp_path / "toys.py").write_text(TOYS)
        file = tmp_path / name
        file.write_text(
            PROTOCOL.format(use=use, params=params, lifetimes=lifetimes, experts=experts, learn=learn, more=more)
        )
        return file

    return write


def records(place: Path) -> pl.DataFrame:
    """Return the logged records without timestamps."""
    return perdure.read(place).experiences.drop("timestamp", *COST_COLUMNS)


@pytest.fixture
def all_records() -> Callable[[Path], dict[str, pl.DataFrame]]:
    """Return a function that reads every lifetime and expert of a run folder by path, without timestamps."""

    def read_all(folder: Path) -> dict[str, pl.DataFrame]:
        places = sorted(path.parent for part in ("lives", "experts") for path in folder.glob(f"{part}/*/manifest.json"))
        return {str(place.relative_to(folder)): records(place) for place in places}

    return read_all
