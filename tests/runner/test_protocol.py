"""Protocols: they are read and stored completely, and refused with the name of an invalid key."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from perdure.errors import ProtocolError, UnknownNameError
from perdure.runner.document import ProtocolTable
from perdure.runner.plan import RunPlan
from perdure.runner.protocol import parse_protocol, read_protocol, read_protocols
from perdure.scenario.compose import compose
from perdure.scenario.syllabus import write_syllabus
from perdure.stats.plan import make_plan
from perdure.stats.power import Design

ROOT = Path(__file__).parents[2]

MINIMAL: dict[str, Any] = {
    "learner": {"use": "q-learning"},
    "scenarios": [{"layout": "condensed", "tasks": ["pong", "breakout"], "learn": 4, "evaluate": 2}],
}


def test_a_protocol_has_defaults_for_all_but_learner_and_scenarios() -> None:
    protocol = parse_protocol(MINIMAL, where="mine.toml")
    assert (protocol.name, protocol.lifetimes, protocol.experts, protocol.seed) == ("mine", 11, 5, 0)
    assert protocol.title == "q-learning"


@pytest.mark.parametrize("kind", ["learner", "scenario", "environment"])
def test_a_given_root_seed_replaces_only_that_one(kind: str) -> None:
    drawn = msgspec.structs.asdict(parse_protocol(MINIMAL).seeds)
    assert len(set(drawn.values())) == 3
    assert msgspec.structs.asdict(parse_protocol({**MINIMAL, "seeds": {kind: 7}}).seeds) == {**drawn, kind: 7}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lifetime": 3}, r"unknown key 'lifetime'; did you mean 'lifetimes'\?"),
        ({"lifetimes": 0}, r"'lifetimes' is 0; expected a whole number, 1 to 100,000, or \"auto\""),
        ({"lifetimes": "many"}, r"'lifetimes' is 'many'"),
        ({"experts": -1}, r"'experts' is -1; expected a whole number, 0 to 100,000"),
        ({"learner": "me"}, r"'learner' is 'me'; expected a table"),
        ({"learner": {}}, r"\[learner\]: no 'use'"),
        ({"learner": {"use": "x", "rate": 1}}, r"\[learner\]: unknown key 'rate'"),
        ({"scenarios": []}, r"no scenario"),
        ({"scenarios": [{}]}, r"neither file nor layout given"),
        ({"scenarios": [{"file": "a.json", "layout": "condensed"}]}, r"file and layout given; name one"),
        ({"scenarios": [{"file": "gone.json"}]}, r"gone\.json"),
        ({"scenarios": [{"layout": "condensd", "tasks": ["a"], "learn": 1}]}, r"did you mean 'condensed'"),
        ({"scenarios": [{"layout": "condensed", "tasks": ["a"]}]}, r"no 'learn'; write, for example, learn = 300"),
        (
            {"scenarios": [{"layout": "continual", "tasks": ["a"], "learn": 3}]},
            r"needs one task in two or more variants",
        ),
        ({"scenarios": [*MINIMAL["scenarios"], *MINIMAL["scenarios"]]}, r"two scenarios are called 'condensed'"),
        (
            {"limits": {"step_per_episode": 3}},
            r"\[limits\]: unknown key 'step_per_episode'; did you mean 'steps_per_episode'",
        ),
        ({"seeds": {"learner": 1.5}}, r"\[seeds\]: 'learner' is 1.5"),
        ({"power": {"alpha": 2}}, r"\[power\]: 'alpha' is 2; expected a number between 0 and 1"),
        ({"tasks": {"pong": {"bound": [0, 1]}}}, r"\[tasks.pong\]: unknown key 'bound'; did you mean 'bounds'"),
        ({"tasks": {"pnog": {}}}, r"\[tasks.pnog\]: no layout of this protocol has this task; did you mean 'pong'"),
        ({"name": "a/b"}, r"expected a name without slashes"),
    ],
)
def test_an_invalid_protocol_is_refused_with_a_fix(change: dict[str, object], message: str) -> None:
    with pytest.raises(ProtocolError, match=message) as refused:
        parse_protocol({**MINIMAL, **change}, where="protocol.toml")
    assert str(refused.value).startswith("protocol.toml")
    assert str(refused.value).count("protocol.toml") == 1


def test_an_undeclared_variant_offers_the_nearest() -> None:
    content = {**MINIMAL, "tasks": {"pong": {"variants": {"wide": {}}}}}
    content["scenarios"] = [{"layout": "condensed", "tasks": ["pong:wyde", "breakout"], "learn": 4}]
    with pytest.raises(ProtocolError, match="has no variant 'wyde'; did you mean 'wide'"):
        parse_protocol(content)


def test_a_missing_file_and_a_file_that_is_not_toml_are_reported(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("name = ")
    with pytest.raises(ProtocolError, match=r"bad\.toml: not TOML"):
        read_protocol(tmp_path / "bad.toml")
    with pytest.raises(ProtocolError, match=r"none\.toml: cannot be read"):
        read_protocol(tmp_path / "none.toml")


def test_the_stored_form_is_the_same_protocol_and_needs_no_file(
    tmp_path: Path, write_protocol: Callable[..., Path]
) -> None:
    write_syllabus(compose("condensed", ["pong", "breakout"], learn=3, evaluate=1), tmp_path / "own.json")
    file = write_protocol(more='[[scenarios]]\nfile = "own.json"\nname = "own"', lifetimes=2, experts=1)
    protocol = read_protocol(file)
    stored = parse_protocol(json.loads(json.dumps(protocol.document)), tmp_path / "elsewhere", "protocol.json")
    assert stored.digest == protocol.digest
    assert stored.name == protocol.name
    for job, other in zip(RunPlan(protocol).jobs, RunPlan(stored).jobs, strict=True):
        assert (job.id, job.seed, job.seeds) == (other.id, other.seed, other.seeds)
        assert job.syllabus == other.syllabus


def test_eleven_lifetimes_show_an_effect_of_one_standard_deviation() -> None:
    assert parse_protocol({**MINIMAL, "lifetimes": "auto"}).lifetimes == 11
    assert parse_protocol({**MINIMAL, "lifetimes": "auto", "power": {"effect": 0.5}}).lifetimes == 43


def test_a_protocol_and_a_plan_take_one_number_by_the_rule() -> None:
    for effect, alpha, power in ((1.0, 0.05, 0.9), (0.836955716130016, 0.05, 0.9), (0.3, 0.01, 0.8)):
        wanted = {"effect": effect, "alpha": alpha, "power": power}
        taken = parse_protocol({**MINIMAL, "lifetimes": "auto", "power": wanted}).lifetimes
        assert taken == make_plan(effect, Design(alpha=alpha, beta=1 - power)).rule


def test_a_power_of_one_is_refused() -> None:
    with pytest.raises(ProtocolError, match="choose smaller ones"):
        parse_protocol({**MINIMAL, "lifetimes": "auto", "power": {"alpha": 0.9, "power": 0.01}})


def test_more_lifetimes_leave_the_existing_lifetimes_unchanged() -> None:
    two = {"layout": "dispersed", "tasks": ["pong", "breakout"], "learn": 4, "evaluate": 2, "superblocks": 2}
    content = {**MINIMAL, "scenarios": [*MINIMAL["scenarios"], two]}
    few, many = (RunPlan(parse_protocol({**content, "lifetimes": count})) for count in (2, 5))
    assert few.protocol.digest == many.protocol.digest
    assert few.lives == many.lives[:4]
    assert [job.scenario for job in few.lives] == ["condensed", "dispersed"] * 2


def test_a_lifetime_is_the_same_for_every_learner_and_experts_match_the_longest_learning() -> None:
    plans = [RunPlan(parse_protocol({**MINIMAL, "learner": {"use": use}, "experts": 2})) for use in ("a", "b")]
    assert plans[0].protocol.digest != plans[1].protocol.digest
    assert [(job.seed, job.seeds) for job in plans[0].jobs] == [(job.seed, job.seeds) for job in plans[1].jobs]
    experts = plans[0].experts
    assert sorted(job.id for job in experts) == ["breakout-00", "breakout-01", "pong-00", "pong-01"]
    assert all(job.experiences == 4 and job.role == "expert" for job in experts)


def test_every_lifetime_of_a_layout_has_its_own_order_unless_a_seed_is_given() -> None:
    def orders(**extra: object) -> set[tuple[str, ...]]:
        tasks = ["pong", "breakout", "freeway", "digits"]
        plan = RunPlan(parse_protocol({**MINIMAL, "scenarios": [{**MINIMAL["scenarios"][0], "tasks": tasks, **extra}]}))
        return {
            tuple(block.task for block in job.syllabus.scenario.blocks if block.mode == "learn") for job in plan.lives
        }

    assert len(orders()) > 3
    assert len(orders(seed=3)) == 1


def test_lifetimes_are_selected_by_id_or_pattern() -> None:
    plan = RunPlan(parse_protocol({**MINIMAL, "lifetimes": 12}))
    assert [job.id for job in plan.chosen(("life-007",))] == ["life-007"]
    assert len(plan.chosen(("life-00*",))) == 10
    with pytest.raises(UnknownNameError, match="life-07"):
        plan.chosen(("life-07",))


@pytest.mark.parametrize("file", sorted((ROOT / "examples" / "protocols").glob("*.toml")), ids=lambda file: file.name)
def test_every_example_is_a_valid_protocol(file: Path) -> None:
    assert all(RunPlan(protocol).jobs for protocol in read_protocols(file))
    msgspec.convert(tomllib.loads(file.read_text()), ProtocolTable)


# --- [score] -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "outside", [{"score": {"scale": "none"}}, {"limits": {"steps_per_episode": 5}}, {"experts": 3}], ids=str
)
def test_scoring_and_limits_are_not_part_of_a_protocols_identity(
    outside: dict[str, Any],
) -> None:
    assert parse_protocol({**MINIMAL, **outside}).digest == parse_protocol(MINIMAL).digest


def test_the_score_table_of_a_protocol_sets_how_its_lifetimes_are_scored() -> None:
    assert parse_protocol({**MINIMAL, "score": {"scale": "none", "level": 0.9}}).score == {
        "scale": "none",
        "level": 0.9,
    }


@pytest.mark.parametrize(
    ("score", "expected_message"),
    [
        ({"scael": "none"}, r"\[score\]: unknown key 'scael'; did you mean 'scale'"),
        ({"level": "high"}, r"\[score\]: 'level' is 'high'; expected a number from 0.5 to 0.999"),
        ({"metrics": ["mine.py"]}, r"\[score\]: 'metrics' names the Python file 'mine.py'"),
    ],
)
def test_a_wrong_setting_in_a_protocol_is_named(score: dict[str, Any], expected_message: str) -> None:
    with pytest.raises(ProtocolError, match=expected_message):
        parse_protocol({**MINIMAL, "score": score})


def test_a_run_folder_accepts_its_protocol_with_other_score_settings(tmp_path: Path) -> None:
    from perdure.runner.folder import RunFolder

    folder = RunFolder(tmp_path)
    folder.claim(parse_protocol(MINIMAL))
    (tmp_path / "lives" / "life-000" / "worker" / "0-train").mkdir(parents=True)
    (tmp_path / "lives" / "life-000" / "worker" / "0-train" / "data-log.tsv").write_text("a life\n")
    changed = parse_protocol({**MINIMAL, "score": {"scale": "none"}})
    folder.claim(changed)
    assert folder.is_lived_in
    assert folder.protocol().score == {"scale": "none"}
