"""Learners that misbehave in one way each, and processes that run them, for the tests of faults."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

import perdure
from perdure.log.rules import COST_COLUMNS

__all__ = ["LEARNERS", "Run", "children_of", "has_ended", "records", "wait_until", "write_protocol"]

LEARNERS = '''
"""Learners that misbehave in one way each."""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


class Still:
    """Never moves, never learns; misbehaves in the block `at`."""

    def __init__(self, seed=0, at=3, mark="", **more):
        self.seed, self.at, self.mark, self.more = seed, at, mark, more

    def block_started(self, situation):
        if situation.block == self.at:
            self.ill()

    def ill(self):
        pass

    def act(self, observation):
        return 0

    def learn(self, transition):
        pass

    def note(self, text):
        with open(self.mark, "a") as file:
            file.write(f"{text}\\n")


class Hangs(Still):
    def ill(self):
        self.note(os.getpid())
        while True:
            time.sleep(1)


class HangsDeaf(Still):
    """Ignores every signal that can be ignored."""

    def ill(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.note(os.getpid())
        while True:
            time.sleep(1)


class Slow(Still):
    """Pauses in each step, and can be saved."""

    count = 0

    def act(self, observation):
        return self.count % 3

    def learn(self, transition):
        time.sleep(self.more.get("pause", 0.01))
        self.count += 1

    def save(self, folder):
        (folder / "count.txt").write_text(str(self.count))

    def restore(self, folder):
        self.count = int((folder / "count.txt").read_text())

    def fingerprint(self):
        return str(self.count)


class Forks(Still):
    """Leaves a child process that keeps every inherited file open."""

    def ill(self):
        child = os.fork()
        if child == 0:
            if self.more.get("deaf"):
                os.setsid()
            time.sleep(300)
            os._exit(0)
        self.note(child)


class ForksAndReturns(Still):
    """Continues in a forked child as if it were the parent."""

    def ill(self):
        self.note(os.fork())


class Joined(Still):
    """Starts a process that Python waits for at exit."""

    def ill(self):
        import multiprocessing

        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(300,))
        child.start()
        self.note(child.pid)


class Leaks(Still):
    def ill(self):
        self.held = []
        while True:
            self.held.append(bytearray(b"x") * (8 << 20))
            time.sleep(0.005)


class Raises(Still):
    def ill(self):
        raise ZeroDivisionError("toy trouble")


class Removes(Slow):
    """Removes parts of its own log while the run writes to it."""

    def ill(self):
        life = Path(self.mark).with_name("run") / "lives" / "life-000"
        for part in self.more["parts"] if not Path(self.mark).exists() else ():
            for found in life.glob(part):
                shutil.rmtree(found) if found.is_dir() else found.unlink()


class RaisesOddly(Still):
    """Raises an error that is not an Exception, cannot be encoded, and is long."""

    def ill(self):
        class Odd(BaseException):
            pass

        raise Odd("\\udcff" + "y" * 1_000_000)


class Lowers(Still):
    """Leaves its process unable to open further files."""

    def ill(self):
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))


class Closes(Still):
    """Closes its standard output."""

    def ill(self):
        self.note(os.getpid())
        sys.stdout.close()
        sys.stderr.close()


class Huge(Still):
    def act(self, observation):
        return 10**5000


class Exits(Still):
    def ill(self):
        sys.exit("bye")


class ExitsAtOnce(Still):
    def ill(self):
        os._exit(0)


class Crashes(Still):
    def ill(self):
        ctypes.string_at(0)


class PrintsBinary(Still):
    def ill(self):
        os.write(1, bytes(range(256)) * 400 + b"\\x1b]0;pwned\\x07")
        print("and words")
        raise ZeroDivisionError("\\x1b]0;pwned\\x07")


class Wanders(Still):
    def ill(self):
        os.makedirs(self.mark, exist_ok=True)
        os.chdir(self.mark)
        os.rmdir(self.mark)


class Asks(Still):
    """Reads standard input."""

    def ill(self):
        if sys.stdin.readline() or os.read(0, 100):
            raise RuntimeError("there was something to read")


class NotANumber(Still):
    def act(self, observation):
        return float("nan")


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("no words")


ENDS = {
    "exits": SystemExit(3),
    "ends": GeneratorExit(),
    "cannot say why": Speechless(),
    "says half a character": ValueError("\\udcff"),
}


class Fickle(Slow):
    """Stops after a number of blocks unless the file `mended` exists; may fail to restore."""

    def block_started(self, situation):
        if situation.block == self.at and not Path(self.more["mended"]).exists():
            raise KeyError("stopped")

    def restore(self, folder):
        how = self.more.get("how")
        number = int(folder.name.split("-")[1])
        if how == "raises" or (how == "raises once" and number == self.at):
            raise ValueError("cannot be read")
        if number == self.at and how in ENDS:
            raise ENDS[how]
        if how == "crashes" and number == self.at:
            os.kill(os.getpid(), 9)
        super().restore(folder)
        if how == "differs" and number == self.at:
            self.count += 1


class Big(Slow):
    """Saves more than the disk has space for after its third block, unless there is space."""

    def save(self, folder):
        super().save(folder)
        if folder.name == "after-3-blocks" and not Path(self.mark).exists():
            with (folder / "weights.bin").open("wb", buffering=0) as file, open("/dev/full", "wb", buffering=0) as no:
                file.write(b"x" * 1000)
                no.write(b"x")
'''

PROTOCOL = """
name = "small"
seed = 5
lifetimes = {lifetimes}
experts = {experts}

[learner]
use = "{use}"
params = {{ {params} }}

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


def write_protocol(
    folder: Path,
    use: str = "Still",
    params: str = "",
    *,
    lifetimes: int = 1,
    experts: int = 0,
    learn: int = 4,
    more: str = "",
) -> Path:
    """Write a protocol of one of the learners above, whose module it writes next to it; each learner knows
    `folder/mark`.
    """
    (folder / "ill_toys.py").write_text(LEARNERS)
    message = ", ".join(part for part in (f'mark = "{folder / "mark"}"', params) if part)
    file = folder / "protocol.toml"
    file.write_text(
        PROTOCOL.format(
            use=f"ill_toys:{use}", params=message, lifetimes=lifetimes, experts=experts, learn=learn, more=more
        )
    )
    return file


class Run:
    """A run of `perdure run` in a separate process group."""

    def __init__(self, *arguments: object, into: Path, workers: int = 2, quiet: bool = True) -> None:
        self.into = into
        command = [sys.executable, "-m", "perdure", "run", *map(str, arguments), "--into", str(into)]
        self.process = subprocess.Popen(
            [*command, "--workers", str(workers), *(["--quiet"] if quiet else [])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="surrogateescape",
            start_new_session=True,
        )

    def records(self) -> int:
        """Return the number of records written so far."""
        return sum(path.read_bytes().count(b"\n") for path in self.into.glob("lives/*/*/*/data-log.tsv"))

    def end(self, timeout: float = 60) -> tuple[int, str, str]:
        """Wait for the end; return the status, standard output and standard error."""
        output, errors = self.process.communicate(timeout=timeout)
        return self.process.returncode, output, errors


def wait_until(true: Callable[[], object], seconds: float = 60) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def has_ended(number: int) -> bool:
    """Return whether no process of this number runs; a zombie counts as ended."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        return False
    return state in "ZX"


def records(folder: Path) -> dict[str, pl.DataFrame]:
    """Return every lifetime and expert of a run folder by path, without times."""
    places = sorted(path.parent for part in ("lives", "experts") for path in folder.glob(f"{part}/*/manifest.json"))
    read = {place: perdure.read(place).experiences for place in places}
    return {str(place.relative_to(folder)): table.drop("timestamp", *COST_COLUMNS) for place, table in read.items()}


def children_of(process: int) -> list[int]:
    """Return the child processes of a process, as Linux lists them."""
    results = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = place.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == process and state not in "ZX":
            results.append(int(place.parent.name))
    return results
