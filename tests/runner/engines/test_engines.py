"""Engines by name, and the resources that they request from a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.command import run_learner

from perdure.cluster import code_for
from perdure.errors import PerdureError, ProtocolError, UnknownNameError
from perdure.runner.document import Resources
from perdure.runner.engines import ENGINES, Event, Work, engine
from perdure.runner.engines.ray import _check_room, _room
from perdure.runner.folder import RunFolder
from perdure.runner.protocol import read_protocol
from perdure.runner.runner import importable

WriteProtocol = Callable[..., Path]


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_of_the_table_exists(name: str) -> None:
    assert callable(engine(name))


def test_an_unknown_engine_offers_the_nearest(tmp_path: Path, write_protocol: WriteProtocol) -> None:
    with pytest.raises(UnknownNameError, match="unknown engine 'rya'; did you mean 'ray'"):
        run_learner(write_protocol(), tmp_path / "run", engine="rya")
    assert not (tmp_path / "run").exists()


def test_resources_are_read_and_are_not_part_of_a_protocols_identity(write_protocol: WriteProtocol) -> None:
    plain = read_protocol(write_protocol(name="plain.toml"))
    more = "[resources]\ncpus = 4\ngpus = 0.25\ngigabytes = 2.5\ncustom = { tpu = 1 }"
    asked = read_protocol(write_protocol(more=more, name="asked.toml"))
    assert plain.resources == Resources()
    assert asked.resources == Resources(4, 0.25, 2.5, {"tpu": 1})
    assert {**asked.document, "name": "", "resources": {}} == {**plain.document, "name": "", "resources": {}}


@pytest.mark.parametrize(
    "message",
    [
        "cpus = -1",
        "gpus = 1.5",
        "gigabytes = 0",
        "custom = { CPU = 1 }",
        "custom = { a = -1 }",
        "cores = 2",
        "cpus = '1'",
    ],
)
def test_invalid_resources_are_refused(write_protocol: WriteProtocol, message: str) -> None:
    with pytest.raises(ProtocolError, match=r"\[resources\]"):
        read_protocol(write_protocol(more=f"[resources]\n{message}"))


def test_the_scarcest_resource_limits_the_number_of_lifetimes() -> None:
    needs = Resources(2, 0.5, 4, {"tpu": 1})
    assert _room({"CPU": 16, "GPU": 1, "memory": 64e9, "tpu": 8}, needs) == 2
    assert _room({"CPU": 16, "GPU": 1, "memory": 64e9}, needs) == 0
    assert _room({"CPU": 3}, Resources()) == 3


@pytest.mark.parametrize("address", [None, "ray://somewhere:10001"])
def test_without_a_large_enough_machine_a_local_cluster_is_refused_and_a_remote_one_awaited(
    tmp_path: Path, address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    results: list[Event] = []
    ray: Any = SimpleNamespace(nodes=lambda: [{"Alive": True, "Resources": {"CPU": 2}}])
    work = Work(RunFolder(tmp_path), results.append, address=address)
    if address is None:
        with pytest.raises(ProtocolError, match=r"asks for: GPU 1 \(at most 0\); ask for less, or give --address"):
            _check_room(ray, Resources(gpus=1), work)
    else:
        _check_room(ray, Resources(gpus=1), work)
        assert [result.kind for result in results] == ["waiting"]
    _check_room(ray, Resources(cpus=2), work)


def test_perdure_and_the_modules_imported_from_the_protocols_folder_are_sent(tmp_path: Path) -> None:
    (tmp_path / "sent_module.py").write_text("")
    (tmp_path / "sent_beside.py").write_text("")
    (tmp_path / "data.bin").write_bytes(b"0")
    package = tmp_path / "sent_package" / "deeper"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    with importable((tmp_path,)):
        import sent_module  # type: ignore[import-not-found]  # noqa: F401
        import sent_package  # type: ignore[import-not-found]  # noqa: F401
    code = code_for((tmp_path,))
    mine = {name for name in code if not name.startswith("perdure/")}
    assert mine == {"sent_module.py", "sent_beside.py", "sent_package/__init__.py", "sent_package/deeper/__init__.py"}
    assert {"perdure/__init__.py", "perdure/schemas/protocol.schema.json"} <= code.keys()
    assert {name.partition("/")[0] for name in code_for(())} == {"perdure"}


def test_too_large_a_transfer_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.cluster._MAX_BYTES", 10)
    with pytest.raises(PerdureError, match="too much to send; install them on every machine"):
        code_for(())
