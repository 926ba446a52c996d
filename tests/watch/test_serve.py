"""Watching a run: what is followed, what is served, and what is refused."""

from __future__ import annotations

import contextlib
import io
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.conftest import write_life

import perdure
from perdure.errors import PerdureError
from perdure.scenario.model import Block, Scenario
from perdure.stats.decide import decide
from perdure.watch.follow import Follower
from perdure.watch.followed import waits_for
from perdure.watch.tail import Tail
from perdure.watch.terminal import sparkline, table, time_left

starlette = pytest.importorskip("starlette", reason="the extra 'web' is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")

PLAN = [("test", "a"), ("train", "a"), ("test", "a"), ("train", "b"), ("test", "a")]
LENGTH = 30


class Writer:
    """A lifetime that is written block by block, announced in its manifest."""

    def __init__(self, into: Path, name: str) -> None:
        blocks = [Block("learn" if kind == "train" else "evaluate", task, LENGTH) for kind, task in PLAN]
        self.journal = perdure.Journal(
            into, name, ["reward"], learner="toy", seed=1, scenario=Scenario.of("plan", blocks)
        )
        self.at = 0
        self.path = into / name

    def block(self, number: int, count: int = LENGTH) -> None:
        kind, task = PLAN[number]
        self.journal.log_many(
            block_num=number,
            exp_num=np.arange(self.at, self.at + count),
            block_type=kind,
            task_name=task,
            reward=np.linspace(0.1, 0.9, count) + number / 10,
        )
        self.at += count


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    made = Writer(tmp_path / "logs", "life-0")
    yield made
    with contextlib.suppress(PerdureError):  # its folder may have been removed under it
        made.journal.close()


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_progress_is_told_by_block_with_the_time_left(writer: Writer) -> None:
    clock = Clock()
    follower = Follower([writer.path.parent], clock=clock)
    follower.poll()
    assert follower.progress()[0].state == "waiting"
    writer.block(0)
    follower.poll()
    clock.now += 10
    writer.block(1)
    follower.poll()
    (one,) = follower.progress()
    assert (one.id, one.state, one.done, one.total) == ("logs/life-0", "running", 60, 150)
    assert one.block == "block 1: learning a"
    assert one.left_s == pytest.approx(30)  # 30 experiences took 10 s, 90 are left


def test_a_metric_waits_for_the_block_that_gives_its_first_site(writer: Writer) -> None:
    clock = Clock()
    follower = Follower([writer.path.parent], clock=clock)
    for number in range(4):
        writer.block(number)
    follower.settle()
    waits = follower.progress()[0].waits
    assert waits["performance_maintenance"] == "waits for block 4 (the last is 4), evaluation of a"
    assert waits["forward_transfer"].startswith("cannot be answered here: needs ")
    writer.block(4)
    clock.now += 100
    follower.settle()
    (one,) = follower.progress()
    assert "performance_maintenance" not in one.waits
    assert one.values["performance_maintenance"] is not None


def test_what_waits_and_what_is_measured_agree_at_the_end(writer: Writer) -> None:
    for number in range(5):
        writer.block(number)
    writer.journal.close()
    follower = Follower([writer.path.parent])
    follower.settle()
    (life,) = follower.lives.values()
    answered = {name for name, why in waits_for(life.planned, follower.metrics).items() if why.startswith("waits")}
    values = follower.progress()[0].values
    measured = {name for name in values if values[name] is not None and follower.metrics[name].threshold is not None}
    experts = {name for name, metric in follower.metrics.items() if metric.expert}
    assert measured == answered - experts


def test_a_life_that_is_done_is_not_said_to_go_on(writer: Writer) -> None:
    for number in range(5):
        writer.block(number)
    writer.journal.close()
    follower = Follower([writer.path.parent])
    follower.settle()
    (one,) = follower.progress()
    assert (one.state, one.block) == ("done", "ended after block 4")


def test_a_worker_that_falls_silent_and_a_learner_that_raised_are_warned_of(writer: Writer) -> None:
    clock = Clock()
    follower = Follower([writer.path.parent], clock=clock)
    writer.block(0)
    follower.poll()
    clock.now += 90
    (one,) = follower.progress()
    assert one.state == "quiet"
    assert "no record for 90 s; its worker may have died" in one.warnings
    (writer.path / "traceback.txt").write_text("ValueError")
    (one,) = follower.progress()
    assert one.state == "failed"
    assert "the learner raised an exception: see traceback.txt" in one.warnings


def test_a_task_that_is_never_learned_is_warned_of(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "flat", ["reward"]) as journal:
        for block, values in enumerate((np.linspace(1, 0, 50), np.linspace(0, 1, 50), np.ones(5))):
            journal.log_many(
                block_num=block,
                exp_num=np.arange(100 * block, 100 * block + len(values)),
                block_type="train" if block < 2 else "test",
                task_name=f"task{block}",
                reward=values,
            )
    follower = Follower([tmp_path])
    follower.poll()
    assert follower.progress()[0].warnings == ("never learned so far: task0",)


def test_a_filling_disk_is_warned_of(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**12, 10**12, 5_000_000))
    assert Follower([writer.path.parent]).warnings() == (f"{writer.path.parent}: the disk is filling, 5 MB are left",)


def test_truncation_and_removal_are_survived(writer: Writer) -> None:
    clock = Clock()
    follower = Follower([writer.path.parent], clock=clock)
    writer.block(0)
    writer.block(1)
    follower.settle()
    file = next(writer.path.glob("*/1-train/data-log.tsv"))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:5]))
    clock.now += 5
    follower.poll()
    assert follower.progress()[0].done == LENGTH + 4
    assert "the log was cut short or replaced, and read again" in follower.progress()[0].warnings
    shutil.rmtree(writer.path)
    clock.now += 5
    follower.poll()
    assert follower.progress()[0].state == "gone"
    shutil.rmtree(writer.path.parent)
    clock.now += 5
    follower.poll()
    assert any("cannot be looked at" in one for one in follower.warnings())


def test_one_bad_log_never_stops_the_rest(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Writer(writer.path.parent, "life-1")
    follower = Follower([writer.path.parent])
    for number in range(2):
        writer.block(number)
        other.block(number)
        follower.settle()
    look = Tail.look

    def broken(tail: Tail) -> bool:
        if tail.path == writer.path:
            raise RuntimeError("what nobody thought of")
        return look(tail)

    monkeypatch.setattr(Tail, "look", broken)
    other.block(2)
    follower.settle()
    states = {one.id.rpartition("/")[2]: one for one in follower.progress()}
    assert any("what nobody thought of" in one for one in states["life-0"].warnings)
    assert states["life-1"].done == 3 * LENGTH


def test_watching_writes_nothing_to_the_logs(writer: Writer) -> None:
    for number in range(5):
        writer.block(number)
    writer.journal.close()
    before = {one: one.stat().st_mtime_ns for one in writer.path.rglob("*")}
    Follower([writer.path.parent]).settle()
    assert {one: one.stat().st_mtime_ns for one in writer.path.rglob("*")} == before


def test_experts_of_a_run_folder_serve_and_are_not_followed(tmp_path: Path, told: Callable[..., Any]) -> None:
    material = told(2, 1, ("keeper",))
    run = Path(material.lives[0].score.identity.source).parents[1]
    follower = Follower([run])
    follower.settle()
    assert [one.id for one in follower.progress()] == [material.lives[0].id]
    assert follower.progress()[0].values["relative_performance"] == material.lives[0].score["relative_performance"]


# --- the terminal --------------------------------------------------------------------------------


def test_the_terminal_table_fits_80_columns_with_ids_whole(tmp_path: Path) -> None:
    from rich.console import Console

    name = "a-learner-with-a-rather-long-name-and-seed-000000012"
    made = Writer(tmp_path / "logs", name)
    made.block(0)
    made.block(1)
    follower = Follower([tmp_path / "logs"])
    follower.settle()
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(follower))
    text = console.export_text()
    assert all(len(line) <= 80 for line in text.splitlines())
    assert name in "".join(line[:23].strip() for line in text.splitlines())
    made.journal.close()


def test_values_are_shown_with_what_was_decided_of_them(tmp_path: Path) -> None:
    from rich.console import Console

    for seed in range(3):
        write_life(tmp_path / "lives", f"life-{seed}", ["a", "b"], keeps=0.4, seed=seed, evaluate=20)
    follower = Follower([tmp_path])
    follower.settle()
    told = follower.progress()
    material = follower.material()
    assert material is not None
    for one, life in zip(told, material.lives, strict=True):
        bars = material.survey.bars
        expected = {name: decide((life.score,), name, bars[name]).verdict for name in one.verdicts}
        assert one.verdicts == expected
        assert one.verdicts["performance_maintenance"] == "not met"
    (said,) = follower.standing()
    estimate = material.groups[0].estimates["performance_maintenance"]
    assert said.startswith("toy · condensed, 3 lifetimes so far: PM ")
    assert f"✗ {estimate.word}" in said
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(follower))
    assert console.export_text().count(" ✗ ") >= 3


def test_a_sparkline_rises_with_its_values() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([]) == ""
    assert sparkline([3, 3]) == "▁▁"
    assert len(sparkline(list(range(1000)))) == 16


def test_time_left_is_said_in_the_unit_that_suits() -> None:
    assert [time_left(seconds) for seconds in (None, 45, 720, 12_240)] == ["", "45 s", "12 min", "3.4 h"]


# --- the server ----------------------------------------------------------------------------------


class Served:
    """A server in a thread, with its address."""

    def __init__(self, logs: Path, token: str | None = None, **limits: Any) -> None:
        from perdure.watch.serve import app, configured

        self.listening = socket.socket()
        self.listening.bind(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.server = uvicorn.Server(configured(app(Follower([logs]), token=token, poll_s=0.3), **limits))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]})
        self.thread.start()
        while not self.server.started:
            time.sleep(0.02)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(timeout=10)
        self.listening.close()

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """A raw request, so that nothing tidies it up on the way."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(request)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        return int(answer.split(b" ", 2)[1]), answer

    def get(self, path: str, host: str | None = None, more: str = "") -> tuple[int, bytes]:
        name = host or f"127.0.0.1:{self.port}"
        return self.ask(f"GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n{more}\r\n".encode())


@pytest.fixture
def served(writer: Writer) -> Iterator[Served]:
    made = Served(writer.path.parent)
    yield made
    made.stop()


def test_the_page_and_its_state_are_served_with_a_policy(served: Served) -> None:
    status, answer = served.get("/")
    assert status == 200
    assert b"connect-src &#39;self&#39;" in answer
    assert b"x-frame-options: DENY" in answer
    assert served.get("/state")[0] == 200
    assert served.get("/report")[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost.evil"])
def test_another_hosts_name_is_refused(served: Served, host: str) -> None:
    assert served.ask(f"GET /state HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())[0] in (400, 421)


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/etc/passwd",
        "/static/../state",
        "/logs/life-0",
        "//etc/passwd",
    ],
)
def test_traversal_leads_nowhere(served: Served, path: str) -> None:
    status, answer = served.get(path)
    assert status in (400, 404)
    assert b"root:" not in answer


def test_oversized_requests_and_bodies_are_refused(served: Served) -> None:
    assert served.get("/state?of=" + "x" * 5000)[0] == 414
    assert served.get("/state", more="X-Long: " + "y" * 20_000 + "\r\n")[0] in (400, 414, 431)
    assert served.get("/state", more="Content-Length: 5\r\n\r\nhello")[0] == 413


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_but_reading_is_allowed(served: Served, method: str) -> None:
    request = f"{method} /state HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: close\r\n\r\n"
    assert served.ask(request.encode())[0] == 405


def test_a_token_is_asked_for_and_compared_whole(writer: Writer) -> None:
    made = Served(writer.path.parent, token="0123456789abcdef")
    try:
        assert made.get("/state")[0] == 403
        assert made.get("/state?token=0123456789abcde")[0] == 403
        assert made.get("/state?token=0123456789abcdef", host="somewhere.example")[0] == 200
    finally:
        made.stop()


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n"])
def test_a_connection_that_never_ends_its_request_is_closed(writer: Writer, said: bytes) -> None:
    made = Served(writer.path.parent, head_s=0.3)
    try:
        with socket.create_connection(("127.0.0.1", made.port), timeout=20) as connection:
            connection.sendall(said)
            assert _ended(connection)
            assert made.get("/state")[0] == 200
    finally:
        made.stop()


def test_one_visitor_has_so_many_connections_and_no_more(writer: Writer) -> None:
    made = Served(writer.path.parent, at_once=4)
    try:
        held = [socket.create_connection(("127.0.0.1", made.port), timeout=20) for _ in range(6)]
        assert _ended(held[4])
        assert _ended(held[5])
        held[0].sendall(f"GET /state HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\n\r\n".encode())
        assert held[0].recv(12) == b"HTTP/1.1 200"
        for one in held:
            one.close()
        for _ in range(100):  # until the server has seen them go
            with contextlib.suppress(ConnectionError, IndexError):
                assert made.get("/state")[0] == 200
                break
            time.sleep(0.05)
        else:
            pytest.fail("nobody is let in again")
    finally:
        made.stop()


def _ended(connection: socket.socket) -> bool:
    """Whether the other side closes; it is waited for."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_serving_others_without_a_token_is_refused(writer: Writer) -> None:
    from perdure.watch.serve import serve

    follower = Follower([writer.path.parent])
    with pytest.raises(PerdureError, match="--token with 16 characters or more"):
        serve(follower, host="0.0.0.0")
    with pytest.raises(PerdureError, match="--token"):
        serve(follower, host="0.0.0.0", token="short")


def test_a_port_that_is_taken_says_so(writer: Writer, served: Served) -> None:
    from perdure.watch.serve import serve

    with pytest.raises(PerdureError, match="--port 0 finds a free one"):
        serve(Follower([writer.path.parent]), port=served.port)


def test_the_live_page_shows_a_new_block_within_two_seconds(browser: Any, writer: Writer, served: Served) -> None:
    complaints: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda problem: complaints.append(str(problem)))
    writer.block(0)
    page.goto(f"http://127.0.0.1:{served.port}/")
    page.wait_for_selector("text=block 0: evaluating a", timeout=10_000)
    page.wait_for_selector("#now svg.figure", timeout=10_000)
    writer.block(1)
    started = time.monotonic()
    page.wait_for_selector("text=block 1: learning a", timeout=5000)
    assert time.monotonic() - started < 2
    for number in (2, 3, 4):
        writer.block(number)
    writer.journal.close()
    page.wait_for_selector("#report table.grid", timeout=20_000)
    curves = page.locator("#now svg.figure [data-task] path.line title", has_text="smoothed")
    assert curves.count() == 2  # of a and of b
    assert complaints == []
    page.close()
