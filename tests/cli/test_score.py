"""`perdure score` as a user meets it: the table, JSON, files, flags, and what it says when something is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.cli.scoring import BLOCKS, as_json, invoke, write
from tests.cli.verbs import run_verb

import perdure
from perdure.cli.score import EXAMPLE
from perdure.errors import PerdureError, UnknownNameError
from perdure.metrics import METRICS
from perdure.text import number

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_every_metric_is_listed_with_a_value_or_a_reason(logs: Path) -> None:
    shown = invoke(logs / "life", "--experts", logs / "experts", "--all", "--why")
    for name in ("performance maintenance", "performance_maintenance_terminal", "average_incremental_accuracy"):
        assert name in shown
    assert "undecided" in shown  # 0.6 after 0.9, but its evaluations are too few to rule chance out
    assert "needs a task learned at least" in " ".join(shown.split())
    declared = [one.name for one in METRICS if one.preset == "standard" and one.question == ""]
    assert [name for name in declared if name not in shown] == []


def test_the_answer_fits_one_screen_whatever_else_there_is_to_say(logs: Path) -> None:
    shown = invoke(logs / "life", "--experts", logs / "experts").splitlines()
    assert len(shown) < 24
    assert " in this lifetime" in " ".join(shown[1:3])
    assert "more metrics: --all" in " ".join(shown)


def test_the_table_fits_80_columns(logs: Path) -> None:
    shown = invoke(logs / "life", "--experts", logs / "experts")
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80


def test_json_holds_the_same_as_the_table(logs: Path) -> None:
    found = as_json(logs / "life", "--experts", logs / "experts")
    [life] = found["lifetimes"]
    assert (found["preset"], found["left_out"], life["id"], life["measure"]) == ("standard", [], "life", "reward")
    assert life["metrics"]["backward_transfer"]["by"].keys() == {"b_1→a_1"}
    assert number(life["metrics"]["performance_maintenance"]["value"]) in invoke(
        logs / "life", "--experts", logs / "experts"
    )


def test_json_to_a_file_leaves_the_table_on_stdout(logs: Path) -> None:
    shown = invoke(logs / "life", "--json", logs / "out.json")
    assert "performance maintenance" in shown
    assert json.loads((logs / "out.json").read_text())["lifetimes"][0]["id"] == "life"


def test_experts_may_be_named_in_a_row_after_the_log(logs: Path) -> None:
    row = as_json(logs / "life", "--experts", logs / "experts" / "a", logs / "experts" / "b", "--quiet")
    repeated = as_json(
        "--experts", logs / "experts" / "a", logs / "life", "--experts", logs / "experts" / "b", "--quiet"
    )
    joined = as_json(logs / "life", f"--experts={logs / 'experts' / 'a'}", logs / "experts" / "b", "--quiet")
    assert row["lifetimes"] == repeated["lifetimes"] == joined["lifetimes"]
    assert set(row["lifetimes"][0]["metrics"]["relative_performance"]["by"]) == {"a_1", "b_1"}


@pytest.mark.parametrize(
    ("flags", "setting", "value"),
    [
        (["--window", "hanning"], "window", "hanning"),
        (["--width", "7"], "width", 7),
        (["--smooth-evaluation"], "smooth_evaluation", True),
        (["--clamp"], "clamp", True),
        (["--scale", "none"], "scale", "none"),
        (["--variants", "agnostic"], "variants", "agnostic"),
        (["--aggregate", "median"], "aggregate", "median"),
        (["--lower-is-better"], "lower_is_better", True),
        (["--noise", "0.5"], "noise", 0.5),
        (["--margin", "forward_transfer=0.1"], "margins", {"forward_transfer": 0.1}),
        (["--expert-average", "time"], "expert_average", "time"),
        (["--measure", "reward"], "measure", "reward"),
        (["--metrics", "saturation,bwt"], "metrics", ["saturation", "bwt"]),
        (["--random-init", "0.1,0.2"], "random_init", [0.1, 0.2]),
        (["--joint", "0.9"], "joint", 0.9),
        (["--unit", "fraction"], "unit", "fraction"),
        (["--transposed"], "rows", "learned"),
        (["--rows", "evaluated"], "rows", "evaluated"),
        (["--as-given"], "as_given", True),
    ],
)
def test_every_flag_shows_in_the_settings(logs: Path, flags: list[str], setting: str, value: object) -> None:
    plain, changed = as_json(logs / "life")["settings"], as_json(logs / "life", *flags)["settings"]
    assert changed[setting] == value
    assert plain[setting] != value
    assert {name for name in plain if plain[name] != changed[name]} == {setting}


def test_files_of_bounds_and_of_learned_performance_show_in_the_settings(logs: Path) -> None:
    (logs / "bounds.json").write_text('{"a_1": {"min": 0, "max": 1}, "B_1": {"min": 0, "max": 2}}')
    (logs / "learned.json").write_text('{"a_1": 5}')
    found = as_json(logs / "life", "--bounds", logs / "bounds.json", "--learned", logs / "learned.json")
    assert found["settings"]["bounds"] == {"a_1": {"min": 0.0, "max": 1.0}, "b_1": {"min": 0.0, "max": 2.0}}
    assert found["settings"]["learned"] == {"a_1": 5.0}
    assert found["lifetimes"][0]["not_learned"] == ["a_1"]


def test_a_flag_cannot_undo_what_a_preset_stands_for(logs: Path) -> None:
    assert as_json(logs / "life", "--preset", "new-2022")["settings"]["clamp"] is True
    with pytest.raises(PerdureError, match="--clamp: preset 'new-2022' does not take it"):
        invoke(logs / "life", "--preset", "new-2022", "--no-clamp")


def test_five_files_are_written(logs: Path) -> None:
    invoke(logs / "life", "--out", logs / "report")
    assert len(list((logs / "report").iterdir())) == 5


def test_a_custom_metric_reaches_table_and_json_and_one_that_raises_is_named(logs: Path) -> None:
    (logs / "mine.py").write_text(
        "from perdure.curves.model import Curve\nfrom perdure.metrics import metric\n"
        "from perdure.scenario import sites\n\n"
        "@metric(sites.each_learning_block, threshold=5)\ndef length(learned: Curve) -> float:\n"
        '    """How many experiences a block holds."""\n    return len(learned)\n\n'
        "@metric(sites.each_learning_block)\ndef broken(learned: Curve) -> float:\n"
        '    """A metric that fails."""\n    return 1 / (len(learned) - 10)\n\n'
        "@metric(sites.each_learning_block)\ndef missing(learned: Curve) -> float:\n"
        '    """A metric that gives no number."""\n    return float("nan")\n'
    )
    metrics = as_json(logs / "life", "--metrics", logs / "mine.py", code=1)["lifetimes"][0]["metrics"]
    assert metrics["length"] == {
        "value": 15.0,
        "by": {"a_1": [10.0], "b_1": [20.0]},
        "why": None,
        "flags": [],
        "experts": {},
        "at": {"a_1": [[2]], "b_1": [[5]]},
        "over_items": None,
    }
    assert metrics["broken"]["value"] is None
    assert "broken raised ZeroDivisionError" in metrics["broken"]["why"]
    assert "missing returned nan" in metrics["missing"]["why"]
    assert metrics["performance_maintenance"]["value"] is not None
    shown = invoke(logs / "life", "--metrics", "saturation", logs / "mine.py", code=1)
    assert "length" in shown
    assert "performance_maintenance" not in shown


def test_many_lifetimes_are_shown_as_their_means(logs: Path) -> None:
    write(logs / "many", "one", BLOCKS)
    write(logs / "many", "two", [(mode, task, [value / 2 for value in values]) for mode, task, values in BLOCKS])
    shown = invoke(logs / "many", "--experts", logs / "experts")
    assert "2 lifetimes, reward" in shown
    assert "two lifetimes: values only" in " ".join(shown.split())
    assert "dropped" not in shown
    said = invoke(logs / "many", "--experts", logs / "experts", "--why")
    assert said.count("note: each range came from the data") == 1


def test_a_lifetime_that_is_left_out_is_said_and_exits_1(logs: Path) -> None:
    write(logs / "many", "one", BLOCKS)
    bad = write(logs / "many", "two", BLOCKS)
    next(bad.rglob("data-log.tsv")).write_bytes(b"nonsense\n")
    found = as_json(logs / "many", code=1)
    assert [entry["path"] for entry in found["left_out"]] == [str(bad)]
    assert "left out" in invoke(logs / "many", code=1)


def test_experts_and_learned_performances_of_other_tasks_are_named(logs: Path) -> None:
    write(logs / "others", "c", [("train", "c_1", [0.1, 0.2, 0.3])])
    (logs / "learned.json").write_text('{"A_1": 0.5, "a1": 0.5}')
    notes = as_json(
        logs / "life", "--experts", logs / "others", logs / "experts" / "a", "--learned", logs / "learned.json"
    )["lifetimes"][0]["notes"]
    assert "experts of c_1 match no task here; without an expert: b_1" in notes
    assert "--learned names a1, which is not a task of this lifetime (its tasks: a_1, b_1)" in notes
    assert not [
        note
        for note in as_json(logs / "life", "--experts", logs / "experts")["lifetimes"][0]["notes"]
        if "match no task" in note
    ]


def test_the_settings_hold_groups_and_columns_too(logs: Path) -> None:
    rows = [f"{mode},{task},{reward}" for mode, task, rewards in BLOCKS for reward in rewards]
    (logs / "mine.csv").write_text("phase,env,score\n" + "\n".join(rows) + "\n")
    named = ("--column", "task_name=env", "--column", "block_type=phase")
    settings = as_json(logs / "mine.csv", *named, "--group", "(m)")["settings"]
    assert settings["columns"] == {"task_name": "env", "block_type": "phase"}
    assert settings["group"] == "(m)"


def test_a_folder_whose_name_is_no_text_is_scored_and_written(logs: Path, run_cli: Run) -> None:
    (logs / "life" / "manifest.json").unlink()  # which would name it
    (logs / "life" / "blocks.jsonl").unlink()
    odd = os.fsencode(logs) + b"/odd-\xff\x1b[31m"
    try:
        os.rename(os.fsencode(logs / "life"), odd)
    except OSError:
        pytest.skip("this file system takes only text for names")
    done = run_cli("score", os.fsdecode(odd), "--json", logs / "out.json", "--out", logs / "out")
    assert done.returncode == 0, done.stderr
    assert json.loads((logs / "out.json").read_text())["lifetimes"][0]["id"] == "odd-�\x1b[31m"
    assert "odd-�\\u001b[31m" in done.stdout


def test_a_json_that_cannot_be_written_leaves_what_was_there(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (logs / "out.json").write_text("earlier")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PerdureError, match="No space left"):
        invoke(logs / "life", "--json", logs / "out.json")
    assert (logs / "out.json").read_text() == "earlier"
    assert [one.name for one in logs.iterdir() if one.name.endswith(".part")] == []


@pytest.mark.parametrize("noise", ["nan", "inf"])
def test_noise_is_finite(logs: Path, noise: str) -> None:
    result = run_verb("score", logs / "life", "--noise", noise)
    assert result.exit_code == 2
    assert f"--noise {noise}: expected a number, 0 or more" in result.output


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--metrics", "forward_transfr"], "did you mean 'forward_transfer'"),
        (["--preset", "standrd"], "did you mean 'standard'"),
        (["--measure", "rewards"], "did you mean 'reward'"),
        (["--margin", "forward=1"], "unknown metric 'forward'"),
    ],
)
def test_an_unknown_name_offers_the_nearest(logs: Path, flags: list[str], said: str) -> None:
    with pytest.raises((UnknownNameError, PerdureError), match=said):
        invoke(logs / "life", *flags)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "holds a list"),
        ('{"a_1": [0, 1]}', "'a_1' is [0, 1]; expected two increasing finite numbers"),
        ('{"a_1": {"min": 0, "max": "x"}}', "expected two increasing finite numbers"),
        ('{"a_1": {"min": 2, "max": 1}}', "expected two increasing finite numbers"),
        ('{"a_1": {"min": 0, "max": 1}}', "no bounds are given for task 'b_1'"),
    ],
)
def test_wrong_bounds_say_what_is_wrong(logs: Path, text: str, said: str) -> None:
    (logs / "bounds.json").write_text(text)
    with pytest.raises(PerdureError) as raised:
        invoke(logs / "life", "--bounds", logs / "bounds.json")
    assert said in str(raised.value)


@pytest.mark.parametrize("margin", ["forward_transfer", "forward_transfer=x", "forward_transfer=-1", "=1", "a=inf"])
def test_a_wrong_margin_is_an_error_of_the_call(logs: Path, margin: str) -> None:
    result = run_verb("score", logs / "life", "--margin", margin)
    assert result.exit_code == 2
    assert "expected ID=X" in " ".join(result.output.split()).replace("│ ", "").replace(" │", "")


def test_the_command_line_exits_2_with_one_line_where_nothing_can_be_scored(run_cli: Run, tmp_path: Path) -> None:
    done = run_cli("score", tmp_path / "absent")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("perdure: ")
    assert "no such file or folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_prints_pure_json(run_cli: Run, logs: Path) -> None:
    done = run_cli("score", logs / "life", "--experts", logs / "experts" / "a", logs / "experts" / "b", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["lifetimes"][0]["id"] == "life"


def test_the_example_of_the_help_runs(logs: Path, run_cli: Run) -> None:
    (logs / "logs").mkdir()
    (logs / "life").rename(logs / "logs" / "my-life")
    (logs / "experts").rename(logs / "logs" / "experts")
    verb, *arguments = EXAMPLE.removeprefix("perdure ").split()
    done = run_cli(verb, *arguments)
    assert done.returncode == 0, done.stderr
    assert EXAMPLE in " ".join(run_cli("score", "--help").stdout.split())


def test_several_lifetimes_come_with_statistics_over_them(tmp_path: Path, run_cli: Run) -> None:
    for seed in range(4):
        simulate(tmp_path / "logs", f"life-{seed}", seed)
    facts = json.loads(run_cli("score", tmp_path / "logs", "--json", "-").stdout)
    (group,) = facts["groups"]
    assert group["n"] == 4
    wanted = {"mean", "sd", "low", "high", "level", "t", "p", "above", "sign_p", "verdict", "why"}
    assert wanted <= group["metrics"]["performance_maintenance"].keys()
    assert facts["not_grouped"] is None
    split = json.loads(run_cli("score", tmp_path / "logs", "--group", r"life-([01])", "--json", "-").stdout)
    assert [(one["group"], one["n"]) for one in split["groups"]] == [("0", 1), ("1", 1)]
    said = run_cli("score", tmp_path / "logs").stdout
    assert "95 % intervals" in said
    assert all(len(line.rstrip()) <= 80 for line in said.splitlines())
    assert "performance_maintenance_terminal" in run_cli("score", tmp_path / "logs", "--all").stdout


def test_the_same_life_twice_counts_once(tmp_path: Path, run_cli: Run) -> None:
    simulate(tmp_path / "logs", "life", 0)
    shutil.copytree(tmp_path / "logs" / "life", tmp_path / "logs" / "copy")
    done = run_cli("score", tmp_path / "logs", "--json", "-")
    facts = json.loads(done.stdout)
    assert done.returncode == 1
    assert [one["id"] for one in facts["lifetimes"]] == ["logs/copy"]
    assert [one["n"] for one in facts["groups"]] == [1]
    assert f"left out: {tmp_path / 'logs' / 'life'}: " in run_cli("score", tmp_path / "logs").stdout


def test_the_json_of_one_lifetime_has_its_group_without_a_spread(logs: Path) -> None:
    (group,) = as_json(logs / "life")["groups"]
    found = group["metrics"]["performance_maintenance"]
    assert (group["n"], found["n"], found["sd"], found["verdict"]) == (1, 1, None, "undecided")
    assert "lifetime ·" not in invoke(logs / "life")


def simulate(into: Path, name: str, seed: int) -> None:
    """A life of two tasks with some forgetting, by numbers drawn from `seed`."""
    rng = np.random.default_rng(seed)
    with perdure.Journal(into, name, learner="toy", seed=seed, info={"scenario_type": "condensed"}) as journal:
        at = 0
        for block, (kind, task, level) in enumerate(
            [("test", "a", 0.1), ("train", "a", 0.5), ("test", "a", 0.9), ("train", "b", 0.5), ("test", "a", 0.7)]
        ):
            values = level + rng.normal(0, 0.05, 20)
            journal.log_many(
                block_num=block, exp_num=np.arange(at, at + 20), block_type=kind, task_name=task, reward=values
            )
            at += 20


def test_tasks_with_measures_of_their_own_are_all_scored(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life", measures={"reward": "higher", "error": "lower"}) as journal:
        for number in range(40):
            block, task = number // 10, ("pong", "battle")[number // 10 % 2]
            of_pong = task == "pong"
            reward, error = (number / 40, None) if of_pong else (None, 1 - number / 40)
            journal.log(
                block_num=block,
                exp_num=number,
                block_type="train",
                task_name=task,
                task_params={},
                reward=reward,
                error=error,
            )
    (alone,) = as_json(tmp_path / "life")["lifetimes"]
    assert alone["tasks"] == ["pong"]
    facts = as_json(tmp_path / "life", "--measure", "pong=reward,battle=error", "--out", tmp_path / "out")
    (both,) = facts["lifetimes"]
    assert both["tasks"] == ["pong", "battle"]
    assert both["measure"] == facts["settings"]["measure"] == {"pong": "reward", "battle": "error"}
    assert both["metrics"]["cumulative_gain"]["value"] == 1.0  # the error falls: it learns
    assert (tmp_path / "out" / "data.arrow").exists()
    turned = as_json(tmp_path / "life", "--measure", "pong=reward,battle=error", "--higher-is-better")["lifetimes"][0]
    assert turned["metrics"]["cumulative_gain"]["value"] == 0.0
    with pytest.raises(PerdureError, match="no common range"):
        invoke(tmp_path / "life", "--measure", "pong=reward,battle=error", "--scale", "run")
    with pytest.raises(PerdureError, match="no measure is named for task 'battle'"):
        invoke(tmp_path / "life", "--measure", "pong=reward,battle")
