"""`perdure compare`: what a user types, and what they see."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from tests.cli.verbs import fits, run_verb
from tests.stats.lives import life as scored

from perdure.cli.compare import show_tally
from perdure.cli.console import Console
from perdure.errors import PerdureError
from perdure.gather.survey import survey
from perdure.metrics.declare import Threshold
from perdure.scenario.model import Block, Scenario
from perdure.simulate import IdealLearner, experts, lifetimes, write_log
from perdure.stats.tally import tally_of_systems

TRAITS = {"keeping": 0.0, "middling": 0.3, "forgetful": 0.6}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three learners that differ in what they forget, with the same seeds, as run folders."""
    into = tmp_path_factory.mktemp("compare")
    evaluation = [Block("evaluate", task, 6) for task in "ab"]
    blocks = [*evaluation, Block("learn", "a", 30), *evaluation, Block("learn", "b", 30), *evaluation]
    scenario = Scenario.of("two", blocks, info={"scenario_type": "condensed"})
    for name, forgetting in TRAITS.items():
        learner = IdealLearner(name=name, pace=15, forgetting=forgetting, noise=0.03, spread=0.1)
        for life in lifetimes(learner, scenario, 6):
            write_log(life, into / name / "lives")
        for one in experts(learner, scenario):
            write_log(one, into / name / "experts")
    return into


@pytest.fixture(scope="module")
def bounds(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Give bounds: scores of different files are compared if their ranges are the same."""
    file = tmp_path_factory.mktemp("bounds") / "bounds.json"
    file.write_text(json.dumps({task: {"min": 0, "max": 1} for task in "ab"}))
    return "--bounds", file


def test_the_better_learner_is_named_in_words(runs: Path) -> None:
    done = run_verb("compare", runs / "keeping", runs / "forgetful")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("6 lifetimes of keeping cannot rule out that up to 39 % collapse; on average keeping")
    assert "points better than forgetful (95 % interval" in " ".join(done.output.split())
    assert "keeps more" in done.output
    assert "paired: all 6 lifetimes match by seed and task order" in done.output


def test_json_says_what_the_table_says_and_fits_its_schema(runs: Path) -> None:
    done = run_verb("compare", runs / "keeping", runs / "forgetful", "--order", "--json", "-")
    facts = json.loads(done.stdout)
    fits("compare", facts)
    (one,) = facts["comparisons"]
    found = one["metrics"]["performance_maintenance"]
    assert one["paired"]
    assert found["difference"] > 0
    assert found["improvement"] == 1.0
    assert found["permutation_p"] == pytest.approx(2 / 2**6)
    gains = [one["metrics"][name] for name in ("relative_performance", "sample_efficiency")]
    assert [(gain["verdict"], gain["p"]) for gain in gains] == [(None, None)] * 2
    assert "on average keeping ends" in one["answer"]


def test_of_three_systems_the_order_comes_first_then_a_sentence_and_a_table_per_pair(runs: Path) -> None:
    done = run_verb("compare", *(runs / name for name in TRAITS), "--baseline", "keeping", "--paired", "no")
    assert done.exit_code == 0
    output = " ".join(done.output.split())
    assert output.startswith("final performance: keeping 89.0, middling 76.6, forgetful 64.2; all of them differ")
    for name in ("middling", "forgetful"):
        assert output.index(f"points better than {name}") < output.index(f"{name} against keeping")
    assert "(baseline)" not in output
    every = run_verb("compare", *(runs / name for name in TRAITS), "--baseline", "keeping", "--all").output
    assert "keeping (baseline)" in every
    assert "share no letter" in every


@pytest.mark.parametrize(("names", "most"), [(("keeping", "forgetful"), 24), (tuple(TRAITS), 32)])
def test_the_first_screen_shows_both_means_and_a_word_for_each_metric(
    runs: Path, names: tuple[str, ...], most: int
) -> None:
    lines = at_80_columns(*(runs / name for name in names)).splitlines()
    assert len(lines) <= most
    assert all(len(line) <= 80 for line in lines)
    rows = [line for line in lines if line.startswith("performance maintenance ")]
    assert len(rows) == len(names) - 1
    columns = ("performance", "maintenance", "A", "B", "difference", "low", "…", "high", "keeps", "more")
    assert all(len(row.split()) >= len(columns) for row in rows)
    assert "rank p" not in "".join(lines)


@pytest.fixture(scope="module")
def unequal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two learners that hardly differ, from different seeds, and one on other tasks."""
    into = tmp_path_factory.mktemp("undecided")
    for name, tasks, seed in (("one", "ab", 1), ("other", "ab", 50), ("elsewhere", "ac", 90)):
        evaluation = [Block("evaluate", task, 6) for task in tasks]
        blocks = [*evaluation, *(block for task in tasks for block in (Block("learn", task, 30), *evaluation))]
        learner = IdealLearner(name=name, pace=15, forgetting=0.2, noise=0.1, spread=0.3)
        for life in lifetimes(learner, Scenario.of("two", blocks), 5, seed=seed):
            write_log(life, into / name)
    return into


def test_an_undecided_answer_states_what_would_decide_it(unequal: Path, tmp_path: Path) -> None:
    json_file = tmp_path / "facts.json"
    output = " ".join(run_verb("compare", unequal / "one", unequal / "other", "--json", json_file).output.split())
    (comparison,) = json.loads(json_file.read_text())["comparisons"]
    count = comparison["metrics"]["final_performance"]["lifetimes_for_90_percent"]
    assert output.startswith("Which one ends up better, one or other, is undecided")
    within_reach = f"; {count} lifetimes of each would decide it with a 90 % chance if the true difference equals"
    assert (within_reach if count else "not within reach of 1,000 lifetimes of each") in output


def test_too_few_lifetimes_and_different_tasks_are_named_in_the_answer(unequal: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        for life in sorted((unequal / name).iterdir())[:2]:
            shutil.copytree(life, tmp_path / name / life.name)
    few = " ".join(run_verb("compare", tmp_path / "one", tmp_path / "other").output.split())
    assert "is undecided: " in few
    assert "(two lifetimes: values only); 3 lifetimes of each are needed." in few
    apart = " ".join(run_verb("compare", unequal / "one", unequal / "elsewhere").output.split())
    answer, _, _ = apart.partition(" one against elsewhere")
    assert "only one practises b; only elsewhere practises c; give both the same tasks" in answer


def test_remarks_are_counted_and_shown_with_why(unequal: Path) -> None:
    places = [unequal / name for name in ("one", "other", "elsewhere")]
    brief, whole = run_verb("compare", *places).output, run_verb("compare", *places, "--why").output
    assert "2 remarks: --why" in brief
    added = set(whole.splitlines()) - set(brief.splitlines())
    assert len(whole.splitlines()) > len(brief.splitlines())
    assert not any("--why" in line for line in added)
    assert "--why" not in run_verb("compare", *places, "--quiet").output


def test_score_files_of_the_same_bounds_are_compared_as_folders_are_except_for_learning(
    runs: Path, tmp_path: Path, bounds: tuple[str, Path]
) -> None:
    for name in ("keeping", "forgetful"):
        run_verb("score", runs / name, *bounds, "--json", tmp_path / f"{name}.json")
    asked = ("--paired", "no", "--metrics", "performance_maintenance,final_performance", "--json", "-")
    from_logs = json.loads(run_verb("compare", runs / "keeping", runs / "forgetful", *bounds, *asked).stdout)
    files = [tmp_path / "keeping.json", tmp_path / "forgetful.json"]
    from_files = json.loads(run_verb("compare", *files, *asked).stdout)
    assert from_files["systems"] == ["keeping", "forgetful"]
    (logs,), (scores,) = from_logs["comparisons"], from_files["comparisons"]
    assert set(logs["family"]) - set(scores["family"]) == {"learning_performance", "learning_speed"}
    for name, expected in logs["metrics"].items():
        found = scores["metrics"][name]
        assert [found[key] for key in ("difference", "low", "high", "p")] == [
            expected[key] for key in ("difference", "low", "high", "p")
        ]


def test_score_files_of_different_ranges_are_refused_with_the_way_out(runs: Path, tmp_path: Path) -> None:
    for name in ("keeping", "forgetful"):
        (tmp_path / f"{name}.json").write_text(json.dumps(survey([runs / name]).as_json()))
    done = run_verb("compare", tmp_path / "keeping.json", tmp_path / "forgetful.json")
    assert isinstance(done.exception, PerdureError)
    assert "scaled by different ranges" in str(done.exception)
    assert "compare the logs themselves, or give --bounds for all" in str(done.exception)


def test_a_table_of_lifetimes_keeps_what_guards_a_pool(runs: Path, tmp_path: Path, bounds: tuple[str, Path]) -> None:
    shutil.copytree(runs / "keeping", tmp_path / "keeping")
    blocks = tmp_path / "keeping" / "lives" / "keeping-3" / "blocks.jsonl"
    blocks.write_text("\n".join(blocks.read_text().splitlines()[:-1]) + "\n")
    for name, place in (("keeping", tmp_path), ("forgetful", runs)):
        run_verb("score", place / name, *bounds, "--out", tmp_path / "out" / name)
        run_verb("score", place / name, *bounds, "--json", tmp_path / f"{name}.json")
    tables = [tmp_path / "out" / name / "lifetimes.tsv" for name in ("keeping", "forgetful")]
    from_tables = run_verb("compare", *tables, "--json", "-")
    from_json = run_verb("compare", tmp_path / "keeping.json", tmp_path / "forgetful.json", "--json", "-")
    assert from_tables.exit_code == from_json.exit_code == 1  # a partial life is left out
    facts, same = json.loads(from_tables.stdout), json.loads(from_json.stdout)
    assert facts["systems"] == same["systems"] == ["keeping", "forgetful"]
    for found, expected in zip(facts["comparisons"], same["comparisons"], strict=True):
        assert (found["scenario_type"], found["n"], found["pairing"]) == (
            expected["scenario_type"],
            expected["n"],
            expected["pairing"],
        )
        assert found["metrics"].keys() == expected["metrics"].keys()
    run_verb("score", runs / "forgetful", *bounds, "--window", "none", "--out", tmp_path / "out" / "unsmoothed")
    refused = run_verb("compare", tables[0], tmp_path / "out" / "unsmoothed" / "lifetimes.tsv")
    assert "scored with different settings" in str(refused.exception)


def test_a_copy_of_a_lifetime_stays_left_out_where_its_scores_are_compared(
    runs: Path, tmp_path: Path, bounds: tuple[str, Path]
) -> None:
    shutil.copytree(runs / "keeping", tmp_path / "keeping")
    shutil.copytree(runs / "keeping" / "lives" / "keeping-0", tmp_path / "keeping" / "lives" / "copy")
    run_verb("score", tmp_path / "keeping", *bounds, "--json", tmp_path / "twice.json")
    done = run_verb("compare", tmp_path / "twice.json", runs / "forgetful", *bounds)
    assert done.exit_code == 1
    assert "left out: " in done.output
    assert "counts once" in done.output


def test_a_table_that_names_a_lifetime_twice_is_refused(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "table.tsv").write_text("lifetime\tforward_transfer\na1\t1\na1\t2\n")
    done = run_verb("compare", tmp_path / "table.tsv", runs / "forgetful")
    assert "lifetime 'a1' is there twice" in str(done.exception)


def test_a_folder_and_the_scores_of_another_can_be_compared(
    runs: Path, tmp_path: Path, bounds: tuple[str, Path]
) -> None:
    run_verb("score", runs / "forgetful", *bounds, "--json", tmp_path / "forgetful.json")
    done = run_verb("compare", runs / "keeping", tmp_path / "forgetful.json", *bounds)
    assert "points better than forgetful" in " ".join(done.output.split()), done.exception


def test_a_folder_with_two_learners_needs_no_second(runs: Path) -> None:
    done = run_verb("compare", runs, "--json", "-")
    facts = json.loads(done.stdout)
    assert set(facts["systems"]) == set(TRAITS)


def test_a_partial_life_is_left_out_and_the_exit_status_says_so(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "keeping", tmp_path / "keeping")
    blocks = tmp_path / "keeping" / "lives" / "keeping-3" / "blocks.jsonl"
    blocks.write_text("\n".join(blocks.read_text().splitlines()[:-1]) + "\n")
    done = run_verb("compare", tmp_path / "keeping", runs / "forgetful")
    assert done.exit_code == 1
    assert f"left out: {tmp_path / 'keeping/lives/keeping-3'}: it is incomplete" in done.output
    assert "not paired: 5 of 5 and 6 lifetimes match" in done.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--baseline", "keepin"), "did you mean 'keeping'"),
        (("--metrics", "performance_maintenanc"), "did you mean 'performance_maintenance'"),
        (("--preset", "standart"), "did you mean 'standard'"),
    ],
)
def test_a_misspelt_name_offers_the_nearest(runs: Path, options: tuple[str, ...], said: str) -> None:
    done = run_verb("compare", runs / "keeping", runs / "forgetful", *options)
    assert isinstance(done.exception, PerdureError)
    assert said in str(done.exception)


def test_a_place_that_is_not_there_is_said(tmp_path: Path, runs: Path) -> None:
    done = run_verb("compare", tmp_path / "nowhere", runs / "keeping")
    assert isinstance(done.exception, PerdureError)
    assert "no such file or folder" in str(done.exception)


ALL = ("performance_maintenance_terminal", "performance_maintenance", "forward_transfer", "backward_transfer_contrast")


def at_80_columns(*arguments: object) -> str:
    return run_verb("compare", *arguments, columns=80).output


@pytest.mark.parametrize("names", [("keeping", "forgetful"), tuple(TRAITS)])
@pytest.mark.parametrize("paired", ["yes", "no"])
def test_at_80_columns_ids_and_results_are_whole(runs: Path, names: tuple[str, ...], paired: str) -> None:
    places = [runs / name for name in names]
    said = at_80_columns(*places, "--paired", paired, "--metrics", ",".join(ALL))
    assert all(len(line.rstrip()) <= 80 for line in said.splitlines())
    assert said.count("…") == said.count(" … ") == len(ALL) * (len(names) - 1)
    labels = [name.replace("_", " ") for name in ALL]
    assert all(any(line.startswith(f"{label} ") for line in said.splitlines()) for label in labels)
    assert all(name in said for name in names)


def test_all_shows_both_ps_and_what_stands_beside_them_in_80_columns(runs: Path) -> None:
    said = at_80_columns(runs / "keeping", runs / "forgetful", "--all")
    (head,) = [line for line in said.splitlines() if "rank p" in line]
    assert head.split() == ["n", "p", "rank", "p", "better", "g"]
    assert "95 % interval" in said
    assert "For information only" in " ".join(said.split())
    assert "100 % of 6 pairs" in " ".join(said.split())


@pytest.mark.parametrize(
    ("options", "status", "reason"),
    [
        (("--fail-if", "worse"), 1, "gate failed: --fail-if worse: final performance"),
        (("--unless", "no-worse"), 1, "gate failed: --unless no-worse"),
        (("--fail-if", "worse", "--baseline", "forgetful"), 0, "gate passed"),
        ((), 0, ""),
    ],
)
def test_a_gate_ends_with_status_1_and_the_reason(
    runs: Path, options: tuple[str, ...], status: int, reason: str
) -> None:
    places = [runs / "forgetful", runs / "keeping"]
    places = places[::-1] if "--baseline" in options else places
    done = run_verb("compare", *places, *options)
    assert done.exit_code == status
    assert done.stderr.startswith(reason)


def test_a_custom_metric_keeps_its_threshold_in_the_scores_json(
    runs: Path, tmp_path: Path, bounds: tuple[str, Path]
) -> None:
    (tmp_path / "mine.py").write_text(
        "from perdure.curves.model import Curve\nfrom perdure.metrics import metric\n"
        "from perdure.scenario import sites\n\n"
        "@metric(sites.each_learning_block, threshold=5, headline='log')\ndef reach(learned: Curve) -> float:\n"
        '    """The highest value of a block."""\n    return float(max(learned.values))\n'
    )
    for name in ("keeping", "forgetful"):
        done = run_verb(
            *("score", runs / name, *bounds, "--metrics", tmp_path / "mine.py"),
            *("--json", tmp_path / f"{name}.json", "--quiet"),
        )
        assert done.exit_code == 0, done.exception
        fits("score", json.loads((tmp_path / f"{name}.json").read_text()))
    done = run_verb("compare", tmp_path / "keeping.json", tmp_path / "forgetful.json", "--json", "-")
    assert "reach" in json.loads(done.stdout)["comparisons"][0]["metrics"]


@pytest.fixture(scope="module")
def both_types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One learner that lived two scenario types."""
    into = tmp_path_factory.mktemp("types")
    evaluation = [Block("evaluate", task, 6) for task in "ab"]
    learner = IdealLearner(name="keeping", pace=15, forgetting=0.3, noise=0.03, spread=0.1)
    for kind, rounds in (("condensed", 1), ("dispersed", 2)):
        learned = [one for _ in range(rounds) for task in "ab" for one in (Block("learn", task, 30), *evaluation)]
        scenario = Scenario.of(kind, [*evaluation, *learned], info={"scenario_type": kind})
        for life in lifetimes(learner, scenario, 5):
            write_log(life, into / "keeping" / kind)
    return into / "keeping"


def test_scenario_types_of_a_learner_are_compared_where_asked(both_types: Path) -> None:
    done = run_verb("compare", both_types, "--scenario-types", "--json", "-")
    facts = json.loads(done.stdout)
    fits("compare", facts)
    (one,) = facts["comparisons"]
    assert (one["learner"], one["system"], one["baseline"]) == ("keeping", "condensed", "dispersed")
    assert "condensed against dispersed · keeping" in run_verb("compare", both_types, "--scenario-types").output


def test_a_learner_of_one_scenario_type_is_refused_in_words(runs: Path) -> None:
    done = run_verb("compare", runs / "keeping", "--scenario-types")
    assert isinstance(done.exception, PerdureError)
    assert "no learner has lifetimes of two scenario types that count (keeping: condensed)" in str(done.exception)


def test_under_a_papers_preset_systems_are_tallied_against_the_thresholds(both_types: Path) -> None:
    done = run_verb("compare", both_types, "--scenario-types", "--preset", "baker-2023", "--json", "-")
    facts = json.loads(done.stdout)
    fits("compare", facts)
    assert [one["system"] for one in facts["tally"]["systems"]] == ["condensed", "dispersed"]
    said = run_verb("compare", both_types, "--scenario-types", "--preset", "baker-2023").output
    assert "one-tailed p" in said
    assert f"{facts['tally']['met']} of {facts['tally']['of']} met" in said


def test_at_80_columns_long_names_cut_no_number_off() -> None:
    values = {"performance_maintenance": -12.345, "forward_transfer": 1.0, "backward_transfer": 0.5}
    name = "a-learner-with-a-rather-long-name-and-settings-000012"
    sides = {
        f"{name} · {kind}": [
            scored(f"{at}", preset="baker-2023", values={key: value + at for key, value in values.items()})
            for at in range(4)
        ]
        for kind in ("condensed", "dispersed")
    }
    tally = tally_of_systems(sides, {key: Threshold(1.0, headline="log") for key in values})
    assert tally is not None
    console = Console(width=80, record=True, file=io.StringIO())
    show_tally(console, tally)
    said = console.export_text()
    assert all(len(line) <= 80 for line in said.splitlines())
    t = tally.rows[0].decisions["performance_maintenance"].t
    assert f"{t:.2f}".replace("-", "−") in said
    assert "…" not in said
