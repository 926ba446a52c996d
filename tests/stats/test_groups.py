"""Which lifetimes may be pooled, and the 48 lifetimes of l2metrics' own evaluation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.stats.lives import altered, life, lives, normal, pool

from perdure.errors import PerdureError
from perdure.gather.score_files import read_score_file
from perdure.gather.survey import survey
from perdure.scenario import sites
from perdure.scenario.model import Block, Scenario
from perdure.stats.groups import alone, check_pool_across, groups, split


def test_lifetimes_are_grouped_by_learner_scenario_type_and_protocol() -> None:
    found = groups(
        pool(
            life("1", learner="ppo", scenario_type="condensed"),
            life("2", learner="ppo", scenario_type="dispersed"),
            life("3", learner="dqn", scenario_type="condensed"),
            life("4", learner="ppo", scenario_type="condensed"),
            life("5", learner="ppo", scenario_type="condensed", protocol="second"),
        )
    )
    assert [(one.group, one.n) for one in found] == [
        ("ppo · condensed", 2),
        ("ppo · dispersed", 1),
        ("dqn · condensed", 1),
        ("ppo · condensed · second", 1),
    ]


def test_two_measures_are_two_groups() -> None:
    names = split([life("1", measure="reward"), life("2", measure="steps")])
    assert list(names) == ["reward", "steps"]


def test_nothing_known_is_one_group_called_all() -> None:
    assert [one.group for one in groups(pool(life("1"), life("2")))] == ["all"]


def test_a_pattern_names_groups_by_its_first_bracket_and_leaves_others_out() -> None:
    found = split([life("a-condensed-1"), life("a-dispersed-1"), life("other")], r"-(condensed|dispersed)-")
    assert {name: [one.id for one in part] for name, part in found.items()} == {
        "condensed": ["a-condensed-1"],
        "dispersed": ["a-dispersed-1"],
    }
    assert list(split([life("run7")], r"run\d")) == ["run7"]


@pytest.mark.parametrize(("pattern", "said"), [("(", "not a regular expression"), ("zzz", "no lifetime id matches")])
def test_a_pattern_that_is_wrong_or_matches_nothing_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(PerdureError, match=said):
        split([life("one")], pattern)


@pytest.mark.parametrize(
    ("field", "values", "called"),
    [
        ("preset", ("standard", "new-2022"), "presets"),
        ("measure", ("reward", "accuracy"), "measures"),
        ("protocol", ("first", "second"), "protocols"),
        ("scenario_type", ("condensed", "dispersed"), "scenario types"),
        ("how", ('{"clamp": true}', '{"clamp": false}'), "settings"),
    ],
)
def test_what_differs_is_never_pooled_and_is_named(field: str, values: tuple[str, str], called: str) -> None:
    mixed = [life(f"run-{one}", **{field: one}) for one in values]
    with pytest.raises(PerdureError, match=f"different {called} are never pooled") as problem:
        groups(pool(*mixed), pattern="run")
    assert all(value in str(problem.value) for value in values)


def test_a_lifetime_that_is_there_twice_is_refused_with_both_places() -> None:
    with pytest.raises(PerdureError, match=r"'life-1' is there twice \(here and there\)"):
        groups(pool(life("life-1", source="here"), life("life-1", source="there")))


def test_a_copied_manifest_is_the_same_lifetime_under_another_path() -> None:
    copies = [life(f"folder-{at}/x", recorded="x", seed=3, source=f"folder-{at}") for at in range(2)]
    with pytest.raises(PerdureError, match="is there twice"):
        groups(pool(*copies))
    other_seed = [copies[0], altered(copies[1], seed=4)]
    assert groups(pool(*other_seed))[0].n == 2


def test_partial_lifetimes_are_left_out_and_counted() -> None:
    (group,) = groups(pool(life("whole", complete=True), life("unknown"), life("cut", complete=False)))
    assert (group.n, group.left_out) == (2, (("cut", "it is incomplete"),))


def test_the_guard_shows_the_group_with_and_without_what_was_not_learned() -> None:
    values = [life(f"{at}", values={"performance_maintenance": float(at)}) for at in range(4)]
    values[3] = altered(values[3], not_learned=("pong",))
    (group,) = groups(pool(*values, guarded=True))
    assert group.learned_only is not None
    assert (group.n, group.learned_only.n) == (4, 3)
    assert group.learned_only.estimates["performance_maintenance"].mean == 1.0
    assert groups(pool(*values))[0].learned_only is None


def test_json_is_what_the_contract_says() -> None:
    (group,) = groups(pool(*lives(normal(1, 1, 12), learner="ppo")))
    facts = group.as_json()
    assert {"group", "n", "metrics"} <= facts.keys()
    wanted = {"mean", "sd", "low", "high", "level", "t", "p", "above", "sign_p", "verdict", "why"}
    assert all(wanted <= one.keys() for one in facts["metrics"].values())
    json.dumps(facts, allow_nan=False)


def test_other_tasks_and_other_arguments_make_groups_unless_pooling_is_asked_for() -> None:
    three = (
        life("1", learner="ewc", tasks=("a", "b")),
        life("2", learner="ewc", tasks=("a", "c")),
        life("3", learner="ewc", tasks=("a", "b"), argument="elsewhere"),
    )
    assert [len(part) for part in split(three).values()] == [1, 1, 1]
    assert [len(part) for part in split(three, pool=True).values()] == [3]


def test_systems_may_be_pooled_only_on_request() -> None:
    both = (life("1", protocol="a"), life("1", protocol="b"))
    with pytest.raises(PerdureError, match="--across"):
        check_pool_across(both)
    check_pool_across(both, widely=True)
    with pytest.raises(PerdureError, match="is there twice"):
        check_pool_across((both[0], both[0], altered(both[0])))


# The project's outside numbers, "48 lifetimes": mean, sd, t against the threshold (condensed only).
FORTY_EIGHT: dict[str, dict[str, tuple[float, float, float | None]]] = {
    "condensed": {
        "performance_maintenance": (0.262336, 1.424814, 0.9020),
        "forward_transfer": (14.615773, 3.735665, 17.8558),
        "backward_transfer": (0.995587, 0.015865, -1.3629),
        "relative_performance": (1.213192, 0.041366, 25.2483),
        "sample_efficiency": (1.196377, 0.008743, 110.0424),
    },
    "dispersed": {
        "performance_maintenance": (3.325401, 1.615419, None),
        "forward_transfer": (7.809486, 1.558757, None),
        "backward_transfer": (1.030748, 0.026984, None),
        "relative_performance": (1.143703, 0.039197, None),
        "sample_efficiency": (1.258354, 0.128638, None),
    },
}


def test_48_lifetimes_come_to_what_their_authors_data_say(shared: Path) -> None:
    table = survey(shared / "data" / "l2metrics-examples" / "evaluation" / "ll_metrics.tsv")
    found = {one.scenario_type: one for one in groups(table)}
    assert {kind: one.n for kind, one in found.items()} == {"condensed": 24, "dispersed": 24}
    for kind, metrics in FORTY_EIGHT.items():
        for name, (mean, sd, t) in metrics.items():
            one = found[kind].estimates[name]
            assert (one.mean, one.sd) == pytest.approx((mean, sd), abs=1e-6)
            assert t is None or one.t == pytest.approx(t, abs=1e-4)


def test_t_and_sign_test_disagree_on_condensed_backward_transfer(shared: Path) -> None:
    table = survey(shared / "data" / "l2metrics-examples" / "evaluation" / "ll_metrics.tsv")
    one = groups(table)[0].estimates["backward_transfer"]
    assert (one.above_count, one.above) == (17, 17 / 24)
    assert one.sign_p == pytest.approx(0.0320, abs=5e-5)
    assert one.p == pytest.approx(0.907, abs=5e-4)
    assert one.verdict == "undecided"
    assert one.why is not None
    assert "sign test (p = .032) says otherwise" in one.why


def test_groups_need_nothing_heavier_than_scipy_special() -> None:
    code = (
        "import sys\n"
        "from perdure.log.model import Identity\n"
        "from perdure.metrics.measure import Measured\n"
        "from perdure.metrics.score import Score\n"
        "from perdure.stats.decide import estimates\n"
        "from perdure.metrics.declare import Threshold\n"
        "lives = [Score(Identity(str(at)), {'m': Measured(float(at))}) for at in range(12)]\n"
        "assert estimates(lives, {'m': Threshold(1.0, headline='log')})['m'].verdict\n"
        "assert 'scipy.special' in sys.modules and 'scipy.stats' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_lifetimes_metrics_follow_from_its_blocks(shared: Path) -> None:
    folder = shared / "data" / "l2metrics-examples" / "evaluation"
    published = {one.id: one.values for one in read_score_file(folder / "ll_metrics.tsv").scores}
    blocks = pl.read_csv(folder / "ll_metrics_regime.tsv", separator="\t", infer_schema_length=None)
    for (run,), rows in blocks.sort("regime_num").group_by(["run_id"]):
        lived = Scenario.of(
            str(run),
            [
                Block("learn" if kind == "train" else "evaluate", task, 1)
                for kind, task in zip(rows["block_type"], rows["task_name"], strict=True)
            ],
        )
        level = rows["term_perf"].to_list()
        kept: dict[object, list[float]] = {}
        for site in sites.since_learning(lived):
            kept.setdefault(site.key, []).append(
                level[site.blocks["evaluation"][0]] - level[site.blocks["reference"][0]]
            )
        found = {"performance_maintenance": np.mean([np.mean(values) for values in kept.values()])}
        for name, where in (
            ("forward_transfer", sites.around_learning_another),
            ("backward_transfer", sites.around_later_learning),
        ):
            first: dict[object, float] = {}
            for site in where(lived):
                first.setdefault(site.key, level[site.blocks["after"][0]] / level[site.blocks["before"][0]])
            found[name] = np.mean(list(first.values()))
        for name, value in found.items():
            assert value == pytest.approx(published[str(run)][name], rel=0, abs=4e-16), (run, name)
    assert len(published) == 48


def test_a_lifetime_alone_is_told_as_in_the_group_it_makes_by_itself() -> None:
    several = pool(life("1", learner="ppo"), life("2", learner="dqn"), life("3", learner="dqn"))
    found = groups(several)
    for one in several.scores:
        assert alone(several, one, found).as_json() == alone(several, one).as_json()
