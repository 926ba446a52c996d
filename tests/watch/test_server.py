"""Serving the live page: accepted and refused requests."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.watch.conftest import Writer

from perdure.errors import PerdureError
from perdure.watch.monitor import Monitor

starlette = pytest.importorskip("starlette", reason="the extra 'web' is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")


class Served:
    """Server in a thread, with its address."""

    def __init__(self, logs: Path, token: str | None = None, **limits: Any) -> None:
        from perdure.watch.server import app, config

        self.listening = socket.socket()
        self.listening.bind(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.server = uvicorn.Server(config(app(Monitor([logs]), token=token, poll_s=0.3), **limits))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]})
        self.thread.start()
        while not self.server.started:
            time.sleep(0.02)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(timeout=10)
        self.listening.close()

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a raw request, because an HTTP client would normalise it."""
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
    running = Served(writer.path.parent)
    yield running
    running.stop()


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
    running = Served(writer.path.parent, token="0123456789abcdef")
    try:
        assert running.get("/state")[0] == 403
        assert running.get("/state?token=0123456789abcde")[0] == 403
        assert running.get("/state?token=0123456789abcdef", host="somewhere.example")[0] == 200
    finally:
        running.stop()


def test_connections_beyond_the_limit_are_refused_until_others_end(writer: Writer) -> None:
    running = Served(writer.path.parent, connections=4)
    try:
        held = [socket.create_connection(("127.0.0.1", running.port), timeout=20) for _ in range(5)]
        for _ in range(100):  # until the server has accepted them
            if running.get("/state")[0] == 503:
                break
            time.sleep(0.05)
        else:
            pytest.fail("every connection is served")
        for item in held:
            item.close()
        for _ in range(100):  # until the server has seen them go
            if running.get("/state")[0] == 200:
                break
            time.sleep(0.05)
        else:
            pytest.fail("no connection is served again")
    finally:
        running.stop()


def test_serving_others_without_a_token_is_refused(writer: Writer) -> None:
    from perdure.watch.server import serve

    monitor = Monitor([writer.path.parent])
    with pytest.raises(PerdureError, match="--token with 16 characters or more"):
        serve(monitor, host="0.0.0.0")
    with pytest.raises(PerdureError, match="--token"):
        serve(monitor, host="0.0.0.0", token="short")


def test_a_port_that_is_taken_says_so(writer: Writer, served: Served) -> None:
    from perdure.watch.server import serve

    with pytest.raises(PerdureError, match="--port 0 finds a free one"):
        serve(Monitor([writer.path.parent]), port=served.port)


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
