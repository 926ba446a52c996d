"""A smaller version of examples/protocols/split-digits.toml ranks the methods as expected."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import perdure
from perdure.runner.protocol import read_protocols

FILE = Path(__file__).parents[3] / "examples" / "protocols" / "split-digits.toml"


def test_the_protocol_has_eleven_lifetimes_and_five_experts_of_each_of_four_methods() -> None:
    protocols = read_protocols(FILE)
    assert [protocol.learner for protocol in protocols] == ["torch:naive", "torch:ewc", "torch:replay", "torch:joint"]
    assert {(protocol.lifetimes, protocol.experts, protocol.seed) for protocol in protocols} == {(11, 5, 1)}


@pytest.mark.slow
def test_joint_is_no_worse_than_replay_which_beats_ewc_which_is_no_worse_than_naive(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is an extra")
    pytest.importorskip("sklearn", reason="scikit-learn is an extra")
    accuracy = {}
    for protocol in read_protocols(FILE):
        small = replace(protocol.with_lifetimes(3).with_experts(0), score={})
        done = perdure.run(small, tmp_path / small.title, workers=0, score=False)
        assert not done.failed
        group, *_ = perdure.groups(perdure.survey(tmp_path / small.title))
        accuracy[small.title] = group.estimates["average_accuracy"].mean or 0.0
    assert accuracy["joint"] >= accuracy["replay"] > accuracy["ewc"] + 0.05
    assert accuracy["ewc"] >= accuracy["naive"]
    assert accuracy["naive"] > 0.6  # each task was learned; chance is 0.5
