"""Scores from JSONs, tables and manifests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.cli.verbs import outcome
from tests.metrics.written import LIFE, written

from perdure.errors import PerdureError
from perdure.gather.score_files import is_score_file, read_score_file
from perdure.gather.survey import survey
from perdure.metrics.declare import Threshold
from perdure.metrics.score import protocol_name
from perdure.scenario.model import Block, Scenario, Task
from perdure.settings import Settings
from perdure.simulate import IdealLearner, lifetime, write_log
from perdure.stats.groups import groups
from perdure.stats.robust import interquartile_mean, stratified_bootstrap

EVALUATION = [Block("evaluate", task, 8) for task in "ab"]
SCENARIO = Scenario.of(
    "two",
    [*EVALUATION, Block("learn", "a", 8), *EVALUATION, Block("learn", "b", 8), *EVALUATION],
    info={"scenario_type": "condensed"},
)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    learner = IdealLearner(name="toy", pace=5, forgetting=0.3, noise=0.02)
    for seed in range(3):
        write_log(lifetime(learner, SCENARIO, seed), tmp_path / "logs", protocol="small")
    return tmp_path / "logs"


def test_manifests_say_learner_scenario_type_protocol_seed_and_order(logs: Path) -> None:
    assert [
        (one.learner, one.scenario_type, one.protocol_name, one.seed, one.order, one.complete)
        for one in survey([logs]).scores
    ] == [("toy", "condensed", "small", seed, ("a", "b"), True) for seed in range(3)]
    (group,) = groups(survey([logs]))
    assert group.group == "toy · condensed"
    assert group.estimates["performance_maintenance"].verdict == "not met"


def test_a_life_without_its_end_is_left_out(logs: Path) -> None:
    blocks = logs / "toy-1" / "blocks.jsonl"
    ended = blocks.read_text().splitlines()
    blocks.write_text("\n".join(ended[:-1]) + "\n")
    (group,) = groups(survey([logs]))
    assert (group.n, [name for name, _ in group.left_out]) == (2, ["logs/toy-1"])


def test_of_a_copied_folder_the_first_counts(logs: Path) -> None:
    shutil.copytree(logs / "toy-0", logs / "copy")
    found = survey([logs])
    (group,) = groups(found)
    assert group.lives == ("logs/copy", "logs/toy-1", "logs/toy-2")
    assert [path for path, _ in found.left_out] == [str(logs / "toy-0")]


def test_a_users_own_metric_gets_all_of_it(logs: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from perdure.curves.model import Curve\n"
        "from perdure.metrics.declare import metric\n"
        "from perdure.scenario import sites\n"
        "@metric(sites.each_task_learned, threshold=200, headline='log')\n"
        "def doubled(learned: Curve) -> float:\n"
        '    """Twice the mean of learning a task."""\n'
        "    return 2 * learned.mean\n"
    )
    (group,) = groups(survey([logs], settings=Settings(metrics=(str(file),))))
    one = group.estimates["doubled"]
    assert (one.n, one.verdict) == (3, "not met")
    assert one.t is not None
    assert one.t < 0


def test_a_score_json_gives_the_same_estimates_as_the_logs(logs: Path, tmp_path: Path) -> None:
    scores = survey([logs])
    file = tmp_path / "scores.json"
    file.write_text(json.dumps(scores.as_json()))
    assert is_score_file(file)
    from_file = groups(survey(file))[0].estimates
    for name, one in groups(scores)[0].estimates.items():
        assert (from_file[name].mean, from_file[name].verdict) == (one.mean, one.verdict)


def table(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_nan_and_blanks_in_a_table_are_missing_with_a_reason(tmp_path: Path) -> None:
    file = table(tmp_path / "scores.tsv", "lifetime\tforward_transfer\tmine\none\tNaN\t1\ntwo\t\t2\nthree\t1.5\t3\n")
    (group,) = groups(survey(file))
    one = group.estimates["forward_transfer"]
    assert (one.n, one.missing, one.mean) == (1, 2, 1.5)
    assert one.why is not None
    assert "blank in scores.tsv" in one.why
    assert group.estimates["mine"].verdict is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lifetime\tforward_transfer\none\tinf\n", "expected a finite number"),
        ("lifetime\tforward_transfer\none\tmuch\n", ":2: forward_transfer is 'much'; expected a number"),
        ("lifetime\tforward_transfer\none\n", ":2: 1 cells under 2 headings"),
        ("name\tforward_transfer\none\t1\n", "no column 'lifetime'"),
        ("", "no column"),
    ],
)
def test_a_bad_table_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PerdureError, match=said):
        read_score_file(table(tmp_path / "scores.tsv", text))


@pytest.mark.parametrize("text", ["[]", "{", '{"lifetimes": [{}]}', '{"lifetimes": 3, "preset": "standard"}', "\x00"])
def test_a_json_that_is_no_score_is_refused_with_what_to_give(tmp_path: Path, text: str) -> None:
    with pytest.raises(PerdureError, match="perdure score --json"):
        read_score_file(table(tmp_path / "scores.json", text))


@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        (None, None),
        ("plain", "plain"),
        ({"name": "demo", "digest": "0123456789ab"}, "demo@01234567"),
        ({"name": "demo", "seeds": [1]}, "demo"),
        ({"seeds": [1, 2]}, None),
    ],
)
def test_a_protocol_goes_by_its_name_and_digest(protocol: Any, name: str | None) -> None:
    assert protocol_name(protocol) == name


def test_protocols_without_a_name_differ_by_what_they_say_but_not_by_their_seeds() -> None:
    assert protocol_name({"learn": 1, "seeds": 1}) == protocol_name({"learn": 1, "seeds": 2})
    assert protocol_name({"learn": 1}) != protocol_name({"learn": 2})


def test_values_by_task_feed_the_robust_summaries(logs: Path) -> None:
    scores = survey([logs])
    found = scores.by_task("mean_learning_performance")
    assert set(found) == {"a", "b"}
    assert all(len(values) == 3 for values in found.values())
    value, low, high = stratified_bootstrap(list(found.values()), interquartile_mean, np.random.default_rng(0))
    assert low <= value <= high
    assert scores.by_task("no_such_metric") == {}


def test_an_accuracy_matrix_is_scored_and_not_taken_for_scores(tmp_path: Path) -> None:
    file = table(tmp_path / "matrix.json", "[[0.9, 0.6], [null, 0.8]]")
    assert not is_score_file(file)
    assert survey(file).scores[0].values["average_accuracy"] == pytest.approx(0.7)


def test_a_threshold_written_beside_the_scores_holds_for_a_metric_that_nothing_declares(tmp_path: Path) -> None:
    one = {"id": "a", "metrics": {"mine": {"value": 1.0}, "forward_transfer": {"value": 1.0}}}
    bar = {"threshold": 2.0, "margin": 0.5, "better": "lower", "inclusive": True}
    facts = {"preset": "standard", "lifetimes": [one], "thresholds": {"mine": bar, "forward_transfer": bar}}
    file = tmp_path / "scores.json"
    file.write_text(json.dumps(facts))
    bars = read_score_file(file).bars
    assert bars["mine"] == Threshold(2.0, 0.5, "lower", True)
    assert bars["forward_transfer"].threshold == 1.0  # as declared
    file.write_text(json.dumps({**facts, "thresholds": {"mine": {**bar, "better": "up"}}}))
    with pytest.raises(PerdureError, match="mine: better is 'up'; expected higher or lower"):
        read_score_file(file)


@pytest.mark.parametrize("given", [None, {"a_1": (0.0, 4.0), "b_1": (0.0, 12.0)}], ids=["recorded", "given"])
def test_without_a_scale_the_margin_is_a_twentieth_of_the_known_bounds_also_from_a_file(
    tmp_path: Path, given: dict[str, tuple[float, float]] | None
) -> None:
    tasks = tuple(replace(Task.parse(name), bounds=pair) for name, pair in (("a_1", (0.0, 5.0)), ("b_1", (0.0, 7.0))))
    scenario = Scenario("two", tasks, ())
    for seed in range(3):
        written(tmp_path / "logs", f"life-{seed}", LIFE, scenario=scenario, learner="toy", seed=seed)
    found = survey(tmp_path / "logs", settings=Settings(scale="none", bounds=given))
    (tmp_path / "scores.json").write_text(json.dumps(found.as_json()))
    expected = 0.05 * 6 if given is None else 0.05 * 8
    for one in (found, survey(tmp_path / "scores.json")):
        assert groups(one)[0].estimates["performance_maintenance"].margin == pytest.approx(expected)


def test_what_the_data_span_are_no_bounds(logs: Path) -> None:
    found = survey(logs, settings=Settings(scale="none"))
    assert all(not one.bounds for one in found.scores)
    made = groups(found)[0].estimates["performance_maintenance"]
    assert made.margin == 0
    assert any("bounds are not known" in note for note in made.notes)


def test_a_margin_that_was_given_is_known_to_be_and_one_that_is_declared_is_not(tmp_path: Path) -> None:
    names = ("performance_maintenance", "forward_transfer")
    one = {"id": "a", "metrics": {name: {"value": 1.0} for name in names}}
    file = tmp_path / "scores.json"
    file.write_text(json.dumps({"preset": "standard", "lifetimes": [one], "settings": {"margins": {names[0]: 3.0}}}))
    bars = read_score_file(file).bars
    assert (bars[names[0]].margin, bars[names[0]].margin_given) == (3.0, True)
    assert not bars[names[1]].margin_given
    overruled = read_score_file(file, margins={names[0]: 7.0, names[1]: 0.5}).bars
    assert [(overruled[name].margin, overruled[name].margin_given) for name in names] == [(7.0, True), (0.5, True)]


def test_experiences_that_nobody_counted_are_none(tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    one: dict[str, Any] = {"id": "a", "metrics": {"forward_transfer": {"value": 1.0}}}
    for counted in ({}, {"learning_experiences": None, "evaluation_experiences": None}):
        file.write_text(json.dumps({"preset": "standard", "lifetimes": [one | counted]}))
        (score,) = read_score_file(file).scores
        assert (score.learning_experiences, score.evaluation_experiences) == (0, 0)


def test_of_l2metrics_json_the_metrics_that_stand_there_are_read_and_no_others(tmp_path: Path) -> None:
    file = tmp_path / "theirs.json"
    first = {"run_id": "one", "forward_transfer_ratio": 1.5, "sample_efficiency": None, "num_lx": 30, "num_ex": 12}
    file.write_text(json.dumps([first, {"perf_recovery": -2.0}]))
    assert is_score_file(file)
    one, other = read_score_file(file).scores
    assert one.values == {"forward_transfer": 1.5, "sample_efficiency": None}
    assert one.why["sample_efficiency"] == "blank in theirs.json"
    assert (one.id, one.preset) == ("one", "l2metrics-3.1")
    assert (one.learning_experiences, one.evaluation_experiences) == (30, 12)
    assert other.values == {"performance_recovery": -2.0}
    assert (other.learning_experiences, other.evaluation_experiences) == (0, 0)


def test_a_table_leaves_out_the_lifetimes_that_its_logs_leave_out(logs: Path, tmp_path: Path) -> None:
    blocks = logs / "toy-1" / "blocks.jsonl"
    blocks.write_text("".join(blocks.read_text().splitlines(keepends=True)[:-1]))
    outcome("score", logs, "--out", tmp_path / "out")
    from_logs, from_table = survey(logs), survey(tmp_path / "out" / "lifetimes.tsv")
    assert [one.complete for one in from_table.scores] == [one.complete for one in from_logs.scores]
    assert [one.complete for one in from_table.scores] == [True, False, True]
    (group,) = groups(from_table)
    assert (group.n, [name for name, _ in group.left_out]) == (2, ["logs/toy-1"])
    status, said = outcome("score", tmp_path / "out" / "lifetimes.tsv")
    assert status == 1
    assert "left out: logs/toy-1: it is incomplete" in said


ALTERED: dict[str, Any] = {
    "a value": lambda facts: facts["lifetimes"][0]["metrics"]["performance_maintenance"].update(value=-0.5),
    "a value of one task": lambda facts: facts["lifetimes"][0]["metrics"]["forward_transfer"]["by"].popitem(),
    "a learner": lambda facts: facts["lifetimes"][0].update(learner="other"),
    "a lifetime that was cut short": lambda facts: facts["lifetimes"][0].update(complete=None),
    "a lifetime less": lambda facts: facts["lifetimes"].pop(),
    "a threshold": lambda facts: facts["thresholds"]["performance_maintenance"].update(margin=50.0),
    "a setting": lambda facts: facts["settings"].update(level=0.5),
}


@pytest.fixture(scope="module")
def score_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of `perdure score --json` for three lifetimes."""
    place = tmp_path_factory.mktemp("scored")
    for seed in range(3):
        write_log(lifetime(IdealLearner(name="toy", pace=5, noise=0.02), SCENARIO, seed), place / "logs")
    outcome("score", place / "logs", "--json", place / "scores.json")
    return (place / "scores.json").read_text()


@pytest.mark.parametrize("what", ALTERED)
def test_a_score_file_that_was_altered_is_refused(score_text: str, tmp_path: Path, what: str) -> None:
    file = tmp_path / "scores.json"
    ALTERED[what](facts := json.loads(score_text))
    file.write_text(json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    status, said = outcome("score", file)
    assert status == 2, said
    assert f"{file}: altered after it was written" in said


@pytest.mark.parametrize(
    ("place", "unknown", "nearest"),
    [("file", "definition", "definitions"), ("lifetime", "lerner", "learner"), ("metric", "flagz", "flags")],
)
def test_an_unknown_key_in_a_score_file_is_refused_with_the_nearest_one(
    tmp_path: Path, place: str, unknown: str, nearest: str
) -> None:
    parts: dict[str, dict[str, Any]] = {"file": {"preset": "standard"}, "lifetime": {"id": "a"}, "metric": {"value": 1}}
    parts[place][unknown] = None
    parts["lifetime"]["metrics"] = {"forward_transfer": parts["metric"]}
    parts["file"]["lifetimes"] = [parts["lifetime"]]
    file = table(tmp_path / "scores.json", json.dumps(parts["file"]))
    status, said = outcome("score", file)
    assert status == 2, said
    assert str(file) in said
    assert f"'{unknown}'" in said
    assert f"'{nearest}'" in said


def test_a_score_file_without_a_checksum_is_read_with_a_note(score_text: str, tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    for checksum in (True, False):
        facts = json.loads(score_text)
        if not checksum:
            del facts["checksum"]
        file.write_text(json.dumps(dict(reversed(facts.items()))))  # the checksum ignores the layout
        status, said = outcome("score", file)
        assert status == 0
        assert (f"{file}: has no checksum" in said) is not checksum


@pytest.mark.parametrize(
    ("change", "said"),
    [({"level": 0.5}, "altered after it was written"), ({"checksum": None, "levle": 0.5}, "did you mean 'level'?")],
)
def test_settings_beside_a_table_that_were_altered_are_refused(
    logs: Path, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    outcome("score", logs, "--out", tmp_path / "out")
    settings = tmp_path / "out" / "settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | change))
    status, told = outcome("score", tmp_path / "out" / "lifetimes.tsv")
    assert status == 2
    assert str(settings) in told
    assert said in told


@pytest.mark.parametrize("text", ["[]", "3", "{"])
def test_settings_beside_a_table_that_are_no_object_are_refused(logs: Path, tmp_path: Path, text: str) -> None:
    outcome("score", logs, "--out", tmp_path / "out")
    (tmp_path / "out" / "settings.json").write_text(text)
    status, told = outcome("score", tmp_path / "out" / "lifetimes.tsv")
    assert (status, "cannot be read as the settings of lifetimes.tsv" in told) == (2, True), told


@pytest.mark.parametrize("verb", ["score", "report"])
def test_a_folder_of_scores_is_refused_with_the_file_to_give(logs: Path, tmp_path: Path, verb: str) -> None:
    assert outcome("score", logs, "--out", tmp_path / "results").status == 0
    done = outcome(verb, tmp_path / "results")
    assert (done.status, "a folder of scores, not of logs" in done.said) == (2, True)
    file = done.said.rpartition("give the file: ")[2].strip()
    assert outcome("score", file).status == 0
