"""Resuming a killed run from its last saved state gives the same lifetimes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

from tests.batched.engine.little import LITTLE, arrays_of, lifetimes, same

from perdure.batched.__main__ import main
from perdure.batched.arrays import Chunk, ChunkFacts, chunks_in
from perdure.batched.live import live
from perdure.batched.program import Program
from perdure.errors import LogError

FACTS = ChunkFacts("digest", ("life-000",), 3, 8, 1, "cpu: cpu", {"jax": "0"})


def write_protocol(folder: Path, document: dict[str, Any]) -> Path:
    """Write a protocol to a file."""
    file = folder / "little.toml"
    file.write_text("\n".join(f"{key} = {_inline(value)}" for key, value in document.items()))
    return file


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)


def test_a_run_killed_in_the_middle_of_a_lifetime_resumes_to_the_same_lifetimes(
    program: Program, lifetimes_together: dict[str, Any], tmp_path: Path
) -> None:
    into, source = tmp_path / "run", str(Path(__file__).parents[3] / "src")
    command = [sys.executable, "-m", "perdure.batched", str(write_protocol(tmp_path, LITTLE)), "--into", str(into)]
    # As in this process, if JAX is loaded: a chunk belongs to one kind of machine.
    one_device = "--xla_force_host_platform_device_count=1"
    environment = {**os.environ, "PYTHONPATH": source, "XLA_FLAGS": one_device}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if b"block 6" in line:
                process.send_signal(signal.SIGKILL)
                break
        process.stderr.read()
    assert process.returncode == -signal.SIGKILL
    (begun,) = chunks_in(arrays_of(into))
    state = begun.state()
    assert state is not None
    assert 0 < state[0] <= begun.lived < begun.facts.blocks
    results: list[int] = []
    outcome = live(program, program.plan.jobs, arrays_of(into), tell=lambda _, blocks: results.append(blocks))
    assert results[0] == state[0] + 1  # not from the beginning
    again = lifetimes(outcome.chunks)
    assert again.keys() == lifetimes_together.keys()
    assert all(same(again[identity], lifetimes_together[identity]) for identity in again)


def test_records_are_written_before_the_state_that_follows_from_them(tmp_path: Path) -> None:
    chunk = Chunk.begun(tmp_path, FACTS)
    chunk.write(0, {"reward": np.zeros((1, 2))}, [np.arange(3), np.ones(2)])
    chunk.write(1, {"reward": np.ones((1, 2))}, None)
    assert (chunk.lived, chunk.is_whole) == (2, False)
    state = chunk.state()
    assert state is not None
    assert state[0] == 1
    assert [leaf.tolist() for leaf in state[1]] == [[0, 1, 2], [1.0, 1.0]]
    chunk.back_to(state[0])
    assert chunk.lived == 1
    chunk.back_to(0)
    assert chunk.state() is None  # a state without its records cannot be resumed


def test_a_torn_state_is_not_resumed(tmp_path: Path) -> None:
    chunk = Chunk.begun(tmp_path, FACTS)
    chunk.write(0, {"reward": np.zeros((1, 2))}, [np.arange(3)])
    state = chunk.folder / "state.npz"
    state.write_bytes(state.read_bytes()[:-20])
    assert chunk.state() is None


def test_a_chunk_of_another_size_is_another_chunk(tmp_path: Path) -> None:
    one, again = Chunk.begun(tmp_path, FACTS), Chunk.begun(tmp_path, FACTS)
    other = Chunk.begun(tmp_path, ChunkFacts("digest", ("life-000",), 3, 16, 1, "cpu: cpu", {"jax": "0"}))
    assert one.folder == again.folder != other.folder
    assert one.facts == FACTS
    (one.folder / "chunk.json").write_text("{")
    with pytest.raises(LogError, match="not a chunk of lifetimes"):
        _ = one.facts


def test_a_problem_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "absent.toml"), "--into", str(tmp_path / "run")]) == 2
    assert "absent.toml: cannot be read" in capsys.readouterr().err
    file = write_protocol(tmp_path, {**LITTLE, "learner": {"use": "q-learning"}})
    assert main([str(file), "--into", str(tmp_path / "run")]) == 2
    assert "batched:q" in capsys.readouterr().err
