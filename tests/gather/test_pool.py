"""Work shared among processes keeps its order, starts from any script, and survives a process that fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.errors import LogError
from perdure.gather.pool import parallel_map, process_count
from perdure.log.read import READERS


def squares(here: int) -> Callable[[int], tuple[int, bool]]:
    """Return a worker that reports whether it runs in another process than `here`."""
    return lambda item: (item * item, os.getpid() != here)


def dying(here: int) -> Callable[[int], int]:
    """Return a worker that kills every process except `here`."""

    def work(item: int) -> int:
        if os.getpid() != here:
            os._exit(1)
        return item

    return work


def failing(_: int) -> Callable[[int], int]:
    raise LogError("nothing can start")


def test_processes_do_the_work_in_order_and_leave_this_one_as_it_was() -> None:
    main, before = sys.modules["__main__"], dict(os.environ)
    told: list[tuple[int, int]] = []
    made = parallel_map(squares, os.getpid(), range(20), 2, lambda *done: told.append(done))
    assert [square for square, _ in made] == [item * item for item in range(20)]
    assert {elsewhere for _, elsewhere in made} == {True, False}, "this process works too"
    assert told == [(done, 20) for done in range(1, 21)]
    assert sys.modules["__main__"] is main
    assert dict(os.environ) == before


def test_what_a_dead_process_left_is_done_here() -> None:
    assert parallel_map(dying, os.getpid(), range(4), 2) == [0, 1, 2, 3]


def test_an_error_at_the_start_is_raised_as_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LogError, match=r"^nothing can start$"):
        parallel_map(failing, 0, range(4), 2)
    assert capfd.readouterr().err == ""


def test_work_stays_here_where_a_script_registered_what_other_processes_do_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = next(iter(READERS))
    monkeypatch.setitem(READERS._things, "of this script", reader)
    assert [elsewhere for _, elsewhere in parallel_map(squares, os.getpid(), range(3), 2)] == [False] * 3


def test_a_pool_is_for_many_items_or_for_those_who_ask() -> None:
    assert process_count(7, None, 8) == 1
    assert process_count(3, 2, 8) == 2
    assert process_count(1, 4, 8) == 1
    assert 1 <= process_count(100, None, 8) <= (os.cpu_count() or 1)


def sleeper(_: None) -> Callable[[int], int]:
    def work(item: int) -> int:
        time.sleep(0.02)
        return item

    return work


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_ctrl_c_ends_all_processes_at_once_and_only_this_one_says_so() -> None:
    code = (
        "from tests.gather.test_pool import sleeper; from perdure.gather.pool import parallel_map; "
        "parallel_map(sleeper, None, range(5000), 3, lambda done, total: print(done, flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        while int(process.stdout.readline() or 200) < 200:  # the others have started by then
            pass
        os.killpg(process.pid, signal.SIGINT)
        try:
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode != 0
    assert said.count("Traceback") == 1
    assert "KeyboardInterrupt" in said
    assert "SpawnProcess" not in said
