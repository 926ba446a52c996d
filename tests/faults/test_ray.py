"""Runs on a real Ray cluster: the lifetimes are the same, whatever happens to its machines."""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.command import run_learner
from tests.faults.ill import Run, records, wait_until, write_protocol
from tests.faults.nodes import Nodes, cluster, run_while_killing

from perdure.errors import PerdureError
from perdure.runner.engines import Event
from perdure.runner.folder import RunFolder

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # warnings of Ray itself

SHIPS = '''
"""A learner that says from where it was imported."""
import sys
import beside_it


class Where:
    def __init__(self, seed=0, mark=""):
        self.mark = mark

    def act(self, observation):
        return 0

    def block_ended(self, situation):
        import perdure
        with open(self.mark, "a") as file:
            print(perdure.__file__, beside_it.__file__, sep="\\n", file=file)
'''


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with cluster(tmp_path_factory.mktemp("home")) as ray_nodes:
        yield ray_nodes


def same(one: Path, other: Path) -> bool:
    found, expected = records(one), records(other)
    return found.keys() == expected.keys() and all(found[key].equals(expected[key]) for key in found)


def test_nodes_that_are_killed_cost_no_record(tmp_path: Path, nodes: Nodes) -> None:
    file = write_protocol(tmp_path, "Slow", "pause = 0.01", lifetimes=3, experts=1, learn=10)
    run_learner(file, tmp_path / "one", workers=0)
    run_learner(file, tmp_path / "two", workers=2)
    killed, _ = run_while_killing(nodes, file, tmp_path / "run", 3, random.Random(4))
    assert killed > 0
    assert same(tmp_path / "one", tmp_path / "two")
    assert same(tmp_path / "one", tmp_path / "run")
    left = {path.name for path in (tmp_path / "run" / ".run").rglob("*") if path.is_file()}
    assert left <= {"lock"}  # no state and no partial file


def test_perdure_and_the_modules_next_to_a_protocol_are_sent(tmp_path: Path, nodes: Nodes) -> None:
    (tmp_path / "ships.py").write_text(SHIPS)
    (tmp_path / "beside_it.py").write_text("")
    file = write_protocol(tmp_path)
    file.write_text(file.read_text().replace("ill_toys:Still", "ships:Where"))
    result = run_learner(file, tmp_path / "run", engine="ray", address=nodes.address)
    assert result.failed == {}
    places = (tmp_path / "mark").read_text().split()
    assert places
    assert all("perdure-actor-" in place for place in places)
    assert not any(Path(place).exists() for place in places)  # removed with the lifetime


@pytest.mark.parametrize(
    ("use", "more", "why"),
    [
        ("Raises", "", r"ZeroDivisionError: toy trouble \(ill_toys.py:\d+\)"),
        ("Crashes", "", "its process died twice .signal SIGSEGV"),
        ("HangsDeaf", "[limits]\nseconds_per_life = 0.5", "took longer than seconds_per_life = 0.5"),
        ("Leaks", "[limits]\ngigabytes_per_life = 0.6", "more than gigabytes_per_life = 0.6"),
    ],
)
def test_a_lifetime_fails_on_a_cluster_as_it_does_locally(
    tmp_path: Path, nodes: Nodes, use: str, more: str, why: str
) -> None:
    file = write_protocol(tmp_path, use, more=more)
    result = run_learner(file, tmp_path / "run", engine="ray", address=nodes.address)
    assert result.failed.keys() == {"life-000"}
    assert re.search(why, result.failed["life-000"])
    traceback = tmp_path / "run" / "lives" / "life-000" / "traceback.txt"
    assert (use == "Raises") == traceback.exists()
    if use == "Raises":
        assert "in ill" in traceback.read_text()


def test_if_all_fail_the_same_way_the_rest_is_not_started(tmp_path: Path, nodes: Nodes) -> None:
    events: list[Event] = []
    file = write_protocol(tmp_path, "Raises", "at = 0", lifetimes=9)
    result = run_learner(file, tmp_path / "run", engine="ray", address=nodes.address, workers=2, tell=events.append)
    assert result.stopped is not None
    assert "all failed in the same way" in result.stopped
    assert 3 <= len(result.failed) <= 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_driver_resumes_its_run(tmp_path: Path, nodes: Nodes, number: signal.Signals) -> None:
    file = write_protocol(tmp_path, "Slow", "pause = 0.02", lifetimes=2, learn=10)
    run_learner(file, tmp_path / "whole", workers=0)
    run = Run(file, "--engine", "ray", "--address", nodes.address, into=tmp_path / "run")
    wait_until(lambda: any((tmp_path / "run").glob(".run/states/*/*.json")))
    run.process.send_signal(number)
    status, _, complained = run.end()
    assert status == (-9 if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in complained
    result = run_learner(file, tmp_path / "run", engine="ray", address=nodes.address)
    assert result.failed == {}
    assert same(tmp_path / "run", tmp_path / "whole")


def test_a_lifetime_runs_on_a_node_with_its_resources(
    tmp_path: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    nodes.add(num_gpus=1, resources={"bench": 2})
    more = "[resources]\ncpus = 0.5\ngpus = 1\ngigabytes = 0.1\ncustom = { bench = 2 }"
    file = write_protocol(tmp_path, lifetimes=2, more=more)
    assert run_learner(file, tmp_path / "run", engine="ray").failed == {}
    assert len(records(tmp_path / "run")) == 2


def test_the_pre_deployed_learner_is_sent_too(tmp_path: Path, nodes: Nodes) -> None:
    more = '[pre_deployment]\nlayout = "single"\ntasks = ["pong:wide"]\nlearn = 3\nevaluate = 0'
    file = write_protocol(tmp_path, "Slow", "pause = 0.0", lifetimes=1, more=more)
    run_learner(file, tmp_path / "whole", workers=0)
    assert run_learner(file, tmp_path / "run", engine="ray", address=nodes.address).failed == {}
    assert same(tmp_path / "run", tmp_path / "whole")
    assert RunFolder(tmp_path / "run").pre_deployed.is_sound()


def test_a_lifetime_with_a_changed_learner_starts_again_unless_asked_to_continue(tmp_path: Path, nodes: Nodes) -> None:
    file = write_protocol(tmp_path, "Fickle", f'at = 5, pause = 0.0, mended = "{tmp_path / "mended"}"')
    for into in ("run", "accepted"):
        assert "stopped" in run_learner(file, tmp_path / into, engine="ray", address=nodes.address).failed["life-000"]
    (tmp_path / "mended").touch()
    toys = tmp_path / "ill_toys.py"
    toys.write_text(toys.read_text().replace("return self.count % 3", "return self.count % 2"))
    run_learner(file, tmp_path / "whole", workers=1)
    events: list[Event] = []
    result = run_learner(file, tmp_path / "run", engine="ray", address=nodes.address, tell=events.append)
    (note,) = result.notes
    assert note.startswith("life-000 started again from its seed: its learner changed after 5 blocks")
    assert [event.notes for event in events if event.kind == "note"] == [(note,)]
    assert same(tmp_path / "run", tmp_path / "whole")
    continued = partial(run_learner, engine="ray", address=nodes.address, accept_changed_learner=True)
    (note,) = continued(file, tmp_path / "accepted").notes
    assert note.startswith("life-000 continued although its learner changed after 5 blocks")
    manifest = (tmp_path / "accepted" / "lives" / "life-000" / "manifest.json").read_text()
    assert " then ill_toys@" in manifest


def test_a_client_of_a_cluster_runs_the_same_lifetimes(tmp_path: Path, nodes: Nodes) -> None:
    if nodes.client is None:
        pytest.skip("needs ray[client]")
    file = write_protocol(tmp_path, lifetimes=1)
    run_learner(file, tmp_path / "whole", workers=0)
    assert run_learner(file, tmp_path / "run", engine="ray", address=nodes.client).failed == {}
    assert same(tmp_path / "run", tmp_path / "whole")


def test_an_unreachable_cluster_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PerdureError, match="no Ray cluster could be joined at nowhere"):
        run_learner(write_protocol(tmp_path), tmp_path / "run", engine="ray", address="nowhere")
