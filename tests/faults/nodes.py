"""A Ray cluster of several nodes on this machine, and runs during which its nodes are killed at random moments."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

__all__ = ["NODES", "Nodes", "cluster", "run_while_killing"]

NODES = 3


class Nodes:
    """A cluster of several nodes on this machine, one core each; all but the first may be killed."""

    def __init__(self, ray_cluster: Any, client: str | None) -> None:
        self.ray_cluster = ray_cluster
        self.client = client
        self.address: str = ray_cluster.address
        self.others: list[Any] = []

    def add(self, **more: Any) -> None:
        self.others.append(self.ray_cluster.add_node(num_cpus=1, **more))

    def kill(self, chance: random.Random) -> None:
        """Kill one of the nodes and add another."""
        self.ray_cluster.remove_node(self.others.pop(chance.randrange(len(self.others))), allow_graceful=False)
        self.add()


@contextmanager
def cluster(home: Path, count: int = NODES) -> Iterator[Nodes]:
    """Start a cluster of `count` nodes with its own home folder, because Ray writes there."""
    if "jax" in sys.modules:
        pytest.skip(
            "JAX was loaded in this process: Ray forks, and a fork next to JAX's threads may hang; run this alone"
        )
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of Ray itself
        patch.setenv("HOME", str(home))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        head: dict[str, Any] = {"num_cpus": 1, "include_dashboard": False}
        client = None
        if find_spec("grpc"):  # part of ray[client]
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                head["ray_client_server_port"] = probe.getsockname()[1]
            client = f"ray://127.0.0.1:{head['ray_client_server_port']}"
        ray_cluster: Any = import_module("ray.cluster_utils").Cluster(initialize_head=True, head_node_args=head)
        try:
            nodes = Nodes(ray_cluster, client)
            for _ in range(count - 1):
                nodes.add()
            yield nodes
        finally:
            ray_cluster.shutdown()


DRIVER = """
import sys
from perdure import run
print_waiting = lambda event: event.kind == "waiting" and print(event.why, flush=True)
result = run(sys.argv[1], sys.argv[2], engine="ray", address=sys.argv[3], tell=print_waiting, score=False)
sys.exit(str(result.failed) if result.failed else 0)
"""


def run_while_killing(nodes: Nodes, file: Path, into: Path, kills: int, chance: random.Random) -> tuple[int, int]:
    """Run a protocol while up to `kills` nodes are killed; return the numbers of killed nodes and of lost lifetimes."""
    command = [sys.executable, "-c", DRIVER, str(file), str(into), nodes.address]
    killed = 0
    # Into files: Ray reports so much about each lost node that a pipe would fill up.
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        driver = subprocess.Popen(command, stdout=output, stderr=errors)
        while driver.poll() is None:
            time.sleep(chance.uniform(0.2, 2.0))
            if killed < kills and any(into.glob("lives/*/blocks.jsonl")):
                nodes.kill(chance)
                killed += 1
        output.seek(0)
        errors.seek(0)
        assert driver.returncode == 0, errors.read()
        return killed, sum("was lost" in line for line in output)
