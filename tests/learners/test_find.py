"""Finding a learner by name or by path; unknown ones are refused with a message."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.errors import LearnerError, MissingExtraError
from perdure.learners.find import LEARNERS, REFERENCE, find_learner, find_maker, make_learner


@pytest.mark.parametrize("name", [name for name in REFERENCE if name != "ppo"])
def test_every_reference_learner_is_registered(name: str) -> None:
    assert callable(find_learner(name))
    assert callable(make_learner(name, 1, {}).act)


def test_ppo_without_its_library_is_refused_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.learners.find.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="the learner 'ppo' needs stable_baselines3"):
        find_maker("ppo", {})


def test_a_plug_in_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine:
        def __init__(self, seed: int, size: int = 1) -> None:
            self.size = size

        def act(self, observation: Any) -> int:
            return 0

    monkeypatch.setitem(LEARNERS._things, "mine", Mine)
    assert make_learner("mine", 1, {"size": 3}).size == 3


def test_a_broken_module_keeps_its_own_error(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_absent.py").write_text("import absent_package")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="absent_package"):
        find_learner("needs_absent:Me")


def test_an_unknown_name_in_a_module_offers_only_classes_defined_there() -> None:
    with pytest.raises(LearnerError, match=r"has no 'Kpt'; known: Network, Naive, Replay, Joint, EWC$"):
        find_learner("perdure.learners.classifiers:Kpt")
    with pytest.raises(LearnerError, match="math has no 'Learner'; no class is defined there"):
        find_learner("math:Learner")


def test_an_object_that_is_not_a_learner_is_refused() -> None:
    with pytest.raises(LearnerError, match="is not callable"):
        find_learner("math:pi")
    with pytest.raises(LearnerError, match="takes no 'seed'"):
        make_learner("textwrap:dedent", 1, {})
    with pytest.raises(LearnerError, match=r"one of your own is written package\.module:Class"):
        find_learner("nobody")
