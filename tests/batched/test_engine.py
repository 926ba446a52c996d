"""The batched engine writes lifetimes that score like those of other engines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

from tests.batched.engine.little import arrays_of, plan
from tests.command import run_learner

import perdure
from perdure.batched.__main__ import run_protocol
from perdure.batched.arrays import Chunk, ChunkFacts
from perdure.batched.engine import convert
from perdure.errors import PerdureError, ProtocolError
from perdure.log.read import Options, lifetimes
from perdure.runner.folder import RunFolder
from perdure.runner.runner import RunResult


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Run the small protocol in another folder, then here, where its lifetimes are not run again."""
    into = tmp_path_factory.mktemp("runs") / "little"
    protocol = plan().protocol
    run_protocol(protocol, into)
    assert any(arrays_of(into).iterdir())
    return run_learner(protocol, into, engine="batched")


def test_all_lifetimes_run_and_none_remains(run: RunResult) -> None:
    assert not run.failed
    assert not run.missing
    assert len(run.lived) == len(run.plan.jobs) == 12
    assert list(arrays_of(run.folder.path).iterdir()) == []
    assert run_learner(run.plan.protocol, run.folder.path, engine="batched").lived == ()


def test_lifetimes_follow_the_plan(run: RunResult) -> None:
    for kind, role in (("lives", "life"), ("experts", "expert")):
        result = {
            lifetime.id: lifetime for lifetime in lifetimes(run.folder.path / kind / "batch-000.parquet", Options())
        }
        jobs = run.plan.lives if role == "life" else run.plan.experts
        assert result.keys() == {job.id for job in jobs}
        for job in jobs:
            lifetime, scenario = result[job.id], job.syllabus.scenario
            assert (lifetime.learner, lifetime.seed, lifetime.role, lifetime.complete) == ("q", job.seed, role, True)
            assert lifetime.experiences.height == job.experiences
            expected = [block.task for block in scenario.blocks for _ in range(block.length or 0)]
            assert lifetime.experiences["task_name"].to_list() == expected
            assert lifetime.manifest["protocol"]["scenario"] == job.scenario
            assert lifetime.manifest["protocol"]["digest"] == run.plan.protocol.digest
            assert lifetime.manifest["engine"]["lives_at_once"] == 8
            assert [block["task"] for block in lifetime.manifest["scenario"]["blocks"]] == [
                b.task for b in scenario.blocks
            ]
            assert max(lifetime.experiences["steps"].to_list()) <= 25


def test_the_records_score_like_any_others(run: RunResult, tmp_path: Path) -> None:
    survey = perdure.survey(run.folder.path)
    assert len(survey.lifetimes) == 6
    assert not survey.left_out
    table = survey.table()
    # The general writer of lifetimes stores the same values for the same lifetimes and experts.
    lives = [*lifetimes(run.folder.path / "lives" / "batch-000.parquet", Options())]
    experts = [*lifetimes(run.folder.path / "experts" / "batch-000.parquet", Options())]
    perdure.write_lifetimes(tmp_path / "apart.parquet", [*lives, *experts])
    apart = perdure.survey(tmp_path / "apart.parquet").table()
    for name in ("relative_performance", "performance_maintenance", "bwt"):
        values = table[name].to_list()
        assert any(value is not None for value in values)
        assert values == apart[name].to_list()


@pytest.mark.slow
def test_more_lifetimes_are_added_to_the_existing_ones(run: RunResult, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(run.folder.path, tmp_path / "run")
    before = (tmp_path / "run" / "lives" / "batch-000.parquet").read_bytes()
    more = run_learner(run.plan.protocol.with_lifetimes(4), tmp_path / "run", engine="batched")
    assert more.lived == ("life-006", "life-007")
    assert (tmp_path / "run" / "lives" / "batch-000.parquet").read_bytes() == before
    assert not more.missing


@pytest.mark.slow
def test_a_lifetime_that_becomes_nan_fails_alone(tmp_path: Path) -> None:
    protocol = plan(learner={"use": "tests.batched.engine.test_live:fragile"}, lifetimes=4, experts=1).protocol
    result = run_learner(protocol, tmp_path / "run", engine="batched")
    assert 0 < len(result.failed) < len(result.plan.jobs)
    assert all("not finite any more; lower its rate" in why for why in result.failed.values())
    assert set(result.missing) == set(result.failed)
    ids = [lifetime.id for lifetime in lifetimes(tmp_path / "run" / "lives" / "batch-000.parquet", Options())]
    assert not set(ids) & set(result.failed)


def test_an_engine_refuses_an_unsuited_learner(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match=r"'q-learning' runs one lifetime at a time.*batched:q"):
        run_learner(plan(learner={"use": "q-learning"}).protocol, tmp_path / "a", engine="batched")
    with pytest.raises(PerdureError, match=r"batched:q runs thousands .* use --engine batched"):
        run_learner(plan().protocol, tmp_path / "b")


def test_a_protocol_with_other_lifetimes_than_the_folder_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    chunk = Chunk.begun(folder.arrays, ChunkFacts(plan().protocol.digest, ("life-777",), 1, 8, 1, "cpu", {}))
    chunk.write(0, {"reward": np.zeros((1, 2)), "unsound": np.zeros(1, dtype=bool)}, None)
    with pytest.raises(ProtocolError, match="holds life-777, which the protocol does not plan"):
        convert(plan(), folder)
