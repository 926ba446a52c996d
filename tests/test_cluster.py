"""Connection to a Ray cluster: an unreachable address fails before Ray starts to look for it."""

from __future__ import annotations

import signal
import socket
from types import SimpleNamespace

import pytest

from perdure import cluster, stopping
from perdure.errors import PerdureError

RAY = SimpleNamespace(is_initialized=lambda: False)
"""Ray as far as it is asked here: nothing of it may be called."""


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_an_address_without_a_listener_fails_before_ray_starts(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setattr(cluster, "import_extra", lambda *_: RAY)
    with (
        pytest.raises(PerdureError, match=r"no Ray cluster could be joined at .*Connection refused"),
        cluster.joined(form.format(port), "a test"),
    ):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:99999", "host..name:1", "\x1b]0;x\x07:1"])
def test_an_invalid_address_is_reported(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(cluster, "import_extra", lambda *_: RAY)
    with (
        pytest.raises(PerdureError, match="no Ray cluster could be joined at"),
        cluster.joined(address, "a test"),
    ):
        pass


@pytest.mark.parametrize("asked", [None, signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_ray_turns_into_an_exit_is_raised_as_a_signal(
    monkeypatch: pytest.MonkeyPatch, asked: signal.Signals | None
) -> None:
    errors = SimpleNamespace(RayError=RuntimeError)
    monkeypatch.setattr(
        cluster, "import_extra", lambda *_: SimpleNamespace(is_initialized=lambda: True, exceptions=errors)
    )
    monkeypatch.setattr(stopping, "_by", asked)
    with pytest.raises(SystemExit) as left, cluster.joined(None, "a test"):
        raise SystemExit(1)
    assert left.value.code == (1 if asked is None else 128 + asked)
    assert isinstance(left.value, stopping.Stopped) == (asked is not None)
