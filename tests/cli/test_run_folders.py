"""Run folders: names stay inside, links are not followed, and what is there is compared with the protocol."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.verbs import run_verb
from typer.testing import Result

import perdure
from perdure.classic import matrix
from perdure.errors import PerdureError, ProtocolError, RecordError

PROTOCOL = """
name = "small"
seed = 5
lifetimes = {lifetimes}
experts = {experts}
twin = {twin}

{learners}

[[scenarios]]
layout = "condensed"
tasks = ["{task}", "pong:narrow"]
learn = 8
evaluate = 4

[tasks.pong]
params = {{ points = 1, steps = 30 }}
variants = {{ wide = {{ "bot/paddle/width" = 0.4 }}, narrow = {{ "bot/paddle/width" = 0.2 }} }}
"""


def protocol_text(**changes: Any) -> str:
    """A small protocol, with what is changed in it; several learners by their names."""
    names = changes.pop("learners", None)
    one = '[learner]\nuse = "q-learning"'
    several = "\n".join(f'[[learners]]\nname = {json.dumps(name)}\nuse = "q-learning"' for name in names or ())
    facts = {"lifetimes": 3, "experts": 2, "twin": "false", "task": "pong:wide", **changes}
    return PROTOCOL.format(learners=several or one, **facts)


def write_protocol(folder: Path, **changes: Any) -> Path:
    file = folder / "protocol.toml"
    file.write_text(protocol_text(**changes))
    return file


def run(protocol: Path, into: Path, *more: object) -> Result:
    return run_verb("run", protocol, "--into", into, "--workers", 0, "--quiet", *more)


def called(verb: str, *arguments: object) -> Result:
    """Run a verb; an error of ours is raised."""
    result = run_verb(verb, *arguments)
    if isinstance(result.exception, PerdureError):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder of three lifetimes, two experts per task, and twins."""
    folder = tmp_path_factory.mktemp("lived")
    assert run(write_protocol(folder, twin="true"), folder / "run").exit_code == 0
    return folder / "run"


@pytest.fixture
def folder(lived: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(lived, tmp_path / "run"))


# --- names ---------------------------------------------------------------------------------------

BAD_NAMES = ["..", ".", ".hidden", "a/b", "a\\b", "a\0b", "a\nb", "/etc", "x" * 201, "é" * 101, " ", ""]


@pytest.mark.parametrize("name", [*BAD_NAMES, "lives", "Experts", "twins", "protocol.json", "report.html"])
def test_no_learner_has_a_name_that_leads_out_of_the_folder_or_into_anothers(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    result = run(write_protocol(tmp_path / "in", learners=[name, "other"]), tmp_path / "in" / "runs" / "mine")
    assert isinstance(result.exception, ProtocolError)
    assert "name" in str(result.exception)
    assert [one.name for one in (tmp_path / "in").iterdir()] == ["protocol.toml"]


def test_two_learners_whose_names_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    result = run(write_protocol(tmp_path, learners=["Mine", "mine"]), tmp_path / "run")
    assert isinstance(result.exception, ProtocolError)
    assert "two learners are called 'mine'" in str(result.exception)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_no_lifetime_has_a_name_that_leads_out_of_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError, match="name is"):
        perdure.Journal(tmp_path / "logs", name)
    assert not (tmp_path / "logs").exists()


def test_an_expert_of_a_task_with_a_slash_in_its_name_has_one_folder(tmp_path: Path) -> None:
    text = protocol_text(lifetimes=1, experts=1, task="ale/pong") + '\n[tasks."ale/pong"]\nenv = "pong"\n'
    file = tmp_path / "protocol.toml"
    file.write_text(text)
    assert run(file, tmp_path / "run").exit_code == 0
    assert {one.name for one in (tmp_path / "run" / "experts").iterdir()} == {"ale%2Fpong-00", "pong_narrow-00"}
    assert run_verb("score", tmp_path / "run").exit_code == 0


# --- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", [".run/lock", ".run/output/life-002.txt"])
def test_a_link_in_a_run_folder_is_not_written_through(folder: Path, tmp_path: Path, link: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    shutil.rmtree(folder / "lives" / "life-002")
    (folder / link).parent.mkdir(exist_ok=True)
    (folder / link).unlink(missing_ok=True)
    (folder / link).symlink_to(precious)
    file = write_protocol(tmp_path, twin="true")
    result = run_verb("run", file, "--into", folder, "--workers", 1, "--quiet")
    assert result.exit_code != 0
    assert "is a link, which is not followed" in f"{result.output}{result.exception}"
    assert precious.read_text() == "mine"


def test_a_link_in_place_of_the_folder_of_states_is_not_followed(folder: Path, tmp_path: Path) -> None:
    shutil.rmtree(folder / "lives" / "life-002")
    shutil.rmtree(folder / ".run")
    (tmp_path / "elsewhere").mkdir()
    (folder / ".run").symlink_to(tmp_path / "elsewhere")
    result = run(write_protocol(tmp_path, twin="true"), folder)
    assert "is a link, which is not followed" in str(result.exception)
    assert not any((tmp_path / "elsewhere").iterdir())


# --- another protocol's --------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["lives", "experts", "twins"])
@pytest.mark.parametrize("named", [True, False], ids=["protocol.json", "no protocol.json"])
def test_a_folder_with_logs_of_any_kind_is_not_handed_to_another_protocol(
    folder: Path, tmp_path: Path, part: str, named: bool
) -> None:
    for other in {"lives", "experts", "twins"} - {part}:
        shutil.rmtree(folder / other)
    if not named:
        (folder / "protocol.json").unlink()
    file = tmp_path / "protocol.toml"
    file.write_text(protocol_text(twin="true").replace("seed = 5", "seed = 6"))
    before = sorted(folder.rglob("*"))
    refused = run(file, folder)
    assert isinstance(refused.exception, ProtocolError)
    assert "holds" in str(refused.exception)
    assert "lifetimes" in str(refused.exception)
    assert sorted(folder.rglob("*")) == before


# --- planned and present -------------------------------------------------------------------------


def lower(folder: Path, **numbers: Any) -> None:
    """Let the protocol of a run folder plan other numbers, as a run with another file would."""
    file = folder / "protocol.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **numbers}))


def scored(folder: Path, code: int) -> dict[str, Any]:
    result = called("score", folder, "--json", "-")
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def whys(found: dict[str, Any]) -> str:
    return "\n".join(f"{one['path']}: {one['why']}" for one in found["left_out"])


def test_a_whole_run_folder_differs_in_nothing_from_its_protocol(folder: Path) -> None:
    assert scored(folder, code=0)["left_out"] == []


def test_lifetimes_beyond_the_plan_are_named_and_not_used(folder: Path, tmp_path: Path) -> None:
    kept = scored(folder, code=0)["lifetimes"][:2]
    again = run(write_protocol(tmp_path, twin="true", lifetimes=2), folder)
    assert again.exit_code == 1
    assert "lives/life-002, twins/life-002-twin" in again.output
    found = scored(folder, code=1)
    assert [one["metrics"] for one in found["lifetimes"]] == [one["metrics"] for one in kept]
    assert "2 logs that its protocol.json does not plan: lives/life-002, twins/life-002-twin (planned:" in whys(found)


def test_planned_lifetimes_and_experts_that_are_missing_are_named(folder: Path) -> None:
    shutil.rmtree(folder / "lives" / "life-001")
    shutil.rmtree(folder / "experts" / "pong_wide-00")
    said = whys(scored(folder, code=1))
    assert "1 of 3 planned lifetimes missing (life-001)" in said
    assert "1 of 4 planned experts missing (pong_wide-00)" in said


def test_experts_beyond_the_plan_serve_nothing(folder: Path) -> None:
    lower(folder, experts=1)
    found = scored(folder, code=1)
    assert "experts/pong_narrow-01, experts/pong_wide-01" in whys(found)
    assert [Path(one).name for one in found["settings"]["experts"]] == [
        "pong_narrow-00",
        "pong_wide-00",
        *(f"life-{at:03d}-twin" for at in range(3)),
    ]


def test_a_log_elsewhere_in_a_run_folder_is_not_counted_with_it(folder: Path) -> None:
    shutil.copytree(folder / "lives" / "life-000", folder / "copies" / "life-000")
    assert called("export", folder / "lives" / "life-001", "--to", folder / "exported.parquet").exit_code == 0
    found = scored(folder, code=1)
    assert len(found["lifetimes"]) == 3
    assert "2 logs that its protocol.json does not plan: copies/life-000, exported.parquet" in whys(found)


@pytest.mark.parametrize("verb", ["report", "compare", "figure", "watch", "plan", "correlate"])
def test_every_verb_names_what_is_missing(folder: Path, tmp_path: Path, verb: str) -> None:
    shutil.rmtree(folder / "lives" / "life-001")
    other = shutil.copytree(folder, tmp_path / "other")
    arguments: dict[str, tuple[object, ...]] = {
        "report": (folder, "--to", tmp_path / "report.html"),
        "compare": (folder, other),
        "figure": ("lifetime", folder, "--to", tmp_path / "figure.svg"),
        "watch": (folder, "--once"),
        "plan": ("--pilot", folder),
        "correlate": (folder,),
    }
    result = called(verb, *arguments[verb])
    assert result.exit_code == 1
    assert "1 of 3 planned lifetimes missing (life-001)" in " ".join(result.output.split())


def test_each_learner_of_a_protocol_is_compared_with_its_own_plan(lived: Path, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        shutil.copytree(lived, tmp_path / "runs" / name)
    shutil.rmtree(tmp_path / "runs" / "a" / "lives" / "life-001")
    for part in ("lives", "experts", "twins"):
        shutil.rmtree(tmp_path / "runs" / "b" / part)
    found = scored(tmp_path / "runs", code=1)
    said = [(Path(one["path"]).name, one["why"].partition(" (")[0]) for one in found["left_out"]]
    assert said == [
        ("a", "1 of 3 planned lifetimes missing"),
        ("b", "3 of 3 planned lifetimes missing"),
        ("b", "4 of 4 planned experts missing"),
        ("b", "3 of 3 planned twins missing"),
    ]


def test_a_part_of_a_run_folder_is_compared_alone_and_one_lifetime_with_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(folder / "lives" / "life-001")
    shutil.rmtree(folder / "experts" / "pong_wide-00")
    (only,) = scored(folder / "lives", code=1)["left_out"]
    assert "life-001" in only["why"]
    assert scored(folder / "lives" / "life-000", code=0)["left_out"] == []
    monkeypatch.chdir(folder / "lives")
    assert scored(Path(), code=1)["left_out"] == [only]


def test_a_run_folder_given_twice_lacks_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    result = called("score", folder, tmp_path / "link", "--json", "-")
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["lifetimes"]) == 3


def test_what_an_active_run_has_not_run_yet_is_a_note(folder: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    shutil.rmtree(folder / "lives" / "life-001")
    with (folder / ".run" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        active = called("score", folder)
    assert active.exit_code == 0
    assert "1 of 3 planned lifetimes not there: a run is active" in active.output
    assert called("score", folder).exit_code == 1


def test_a_finished_shard_gives_the_commands_that_are_left(tmp_path: Path) -> None:
    file, folder = write_protocol(tmp_path), tmp_path / "run"
    command = f"perdure run {file} --into {folder}"
    first, last = (run_verb("run", file, "--into", folder, "--workers", 0, "--shard", f"{n}/2") for n in (1, 2))
    assert first.output.endswith(
        f"not finished: shard 2/2; unless it is running:\n  {command} --shard 2/2\n"
        f"then, to score all and write the report:\n  {command}\n"
    )
    assert last.output.endswith(f"all 2 shards are finished; to score them and write the report:\n  {command}\n")
    scored = run_verb(*shlex.split(command)[1:])
    assert scored.exit_code == 0, scored.exception
    assert (folder / "report.html").exists()


def test_what_other_shards_run_is_a_note_and_what_this_one_lacks_is_missing(tmp_path: Path) -> None:
    file, folder = write_protocol(tmp_path, experts=1), tmp_path / "run"
    for number in (1, 3):
        assert run(file, folder, "--shard", f"{number}/4").exit_code == 0
    part = called("score", folder)
    assert part.exit_code == 0
    assert "1 of 3 planned lifetimes not there: only shard 1 and 3 of 4 ran here" in part.output
    shutil.rmtree(folder / "lives" / "life-002")
    lacking = called("score", folder)
    assert lacking.exit_code == 1
    assert "1 of 3 planned lifetimes missing (life-002)" in lacking.output


def test_lifetimes_in_one_file_are_compared_one_by_one(folder: Path) -> None:
    for part in ("lives", "experts"):
        logs = [perdure.read(one) for one in sorted((folder / part).iterdir())]
        shutil.rmtree(folder / part)
        perdure.write_lifetimes(folder / part / "batch-000.parquet", logs)
    assert scored(folder, code=0)["left_out"] == []
    lower(folder, lifetimes=2, experts=3, twin=False)
    found = scored(folder, code=1)
    assert [one["id"].rpartition("#")[2] for one in found["lifetimes"]] == ["life-000", "life-001"]
    assert "2 of 6 planned experts missing (pong_wide-02, pong_narrow-02)" in whys(found)
    assert "lives/life-002" in whys(found)
    lower(folder, lifetimes=3, experts=1)
    few = scored(folder, code=1)
    assert "experts/pong_narrow-01, experts/pong_wide-01" in whys(few)
    assert (
        few["lifetimes"][0]["metrics"]["relative_performance"]
        != (found["lifetimes"][0]["metrics"]["relative_performance"])
    )


def test_a_protocol_that_cannot_be_read_is_said(folder: Path) -> None:
    (folder / "protocol.json").write_text('{"learner": 3}')
    assert "protocol.json: 'learner' is 3; expected a table" in whys(scored(folder, code=1))


def test_experts_in_one_file_serve_their_run_also_from_the_folder_above(folder: Path, tmp_path: Path) -> None:
    for part in ("lives", "experts"):
        logs = [perdure.read(one) for one in sorted((folder / part).iterdir())]
        shutil.rmtree(folder / part)
        perdure.write_lifetimes(folder / part / "batch-000.parquet", logs)
    shutil.copytree(folder, tmp_path / "runs" / "a")
    above, alone = (scored(place, code=0)["lifetimes"] for place in (tmp_path / "runs", folder))
    values = [[one["metrics"]["relative_performance"]["value"] for one in lives] for lives in (above, alone)]
    assert values[0] == values[1]
    assert None not in values[0]


# --- outputs -------------------------------------------------------------------------------------

OF_A_LOG = [
    "lives/life-000/blocks.jsonl",
    "lives/life-000/manifest.json",
    "lives/life-000/new.json",
    "lives/life-000/worker-default/0-test/data-log.tsv",
    "experts/pong_wide-00/logger_info.json",
    "lives/batch-000.parquet",
    "protocol.json",
    ".run/lock",
]


@pytest.mark.parametrize("name", OF_A_LOG)
def test_no_output_replaces_a_file_of_a_log(folder: Path, name: str) -> None:
    target = folder / name
    if target.suffix == ".parquet":
        perdure.write_lifetimes(target, [perdure.read(folder / "lives" / "life-000")])
    before = target.read_bytes() if target.exists() else None
    for verb, *options in (
        ("score", folder, "--json", target),
        ("report", folder, "--to", target),
        ("report", folder, "--json", target),
        ("figure", "lifetime", folder, "--to", target),
        ("export", folder / "lives" / "life-001", "--to", target),
        ("compose", "condensed", "--task", "pong", "breakout", "--learn", 4, "--json", target),
    ):
        result = run_verb(verb, *options)
        assert isinstance(result.exception, PerdureError), verb
        assert (target.read_bytes() if target.exists() else None) == before
    link = folder / "link.json"
    link.symlink_to(target)
    assert isinstance(run_verb("score", folder, "--json", link).exception, PerdureError)


def test_outputs_beside_logs_are_written_and_written_again(folder: Path) -> None:
    for _ in range(2):
        assert run_verb("score", folder, "--json", folder / "score.json", "--out", folder / "scores").exit_code == 0
        assert run_verb("report", folder, "--to", folder / "report.html").exit_code == 0
        assert run_verb("report", folder, "--to", folder / "table.csv").exit_code == 0
        assert run_verb("export", folder / "lives" / "life-000", "--to", folder.parent / "one.parquet").exit_code == 0


@pytest.mark.parametrize("given", [True, False], ids=["the file", "its folder"])
def test_no_output_replaces_a_table_that_is_read(folder: Path, tmp_path: Path, given: bool) -> None:
    table = tmp_path / "tables" / "mine.csv"
    table.parent.mkdir()
    assert called("export", folder / "lives" / "life-000", "--to", table).exit_code == 0
    before = table.read_bytes()
    log = table if given else table.parent
    for verb, option in (("score", "--json"), ("report", "--to"), ("check", "--json")):
        if verb == "check" and not given:
            continue
        refused = run_verb(verb, log, option, table)
        assert "is read here, and would be overwritten" in str(refused.exception)
    with pytest.raises(PerdureError, match="is read here"):
        perdure.report(log, table)
    assert table.read_bytes() == before


def test_no_output_replaces_a_matrix_that_is_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        matrix.save_matrix(tmp_path / f"{name}.json", [[0.9, 0.1], [0.8, 0.9]])
    before = (tmp_path / "a.json").read_bytes()
    assert "is read here" in str(run_verb("score", tmp_path, "--json", tmp_path / "a.json").exception)
    assert (tmp_path / "a.json").read_bytes() == before


def test_no_output_replaces_scores_or_a_protocol_that_are_read(folder: Path, tmp_path: Path) -> None:
    assert run_verb("score", folder, "--json", tmp_path / "score.json", "--out", tmp_path / "out").exit_code == 0
    scores = tmp_path / "out" / "metrics.json"
    for arguments in (("--json", scores), ("--out", scores.parent)):
        refused = run_verb("score", scores, *arguments)
        assert "is read here, and would be overwritten" in str(refused.exception)
    file = write_protocol(tmp_path)
    for verb, *options in (("lint", file), ("run", file, "--into", tmp_path / "new", "--dry-run")):
        assert "is read here" in str(run_verb(verb, *options, "--json", file).exception)
    assert file.read_text() == protocol_text()


def test_no_run_is_put_into_a_lifetime(folder: Path, tmp_path: Path) -> None:
    refused = run(write_protocol(tmp_path), folder / "lives" / "life-000")
    assert "lies in the log" in str(refused.exception)
    assert not (folder / "lives" / "life-000" / "protocol.json").exists()


# --- the data folder of 2019 ---------------------------------------------------------------------


def trees(data: Path) -> list[str]:
    return sorted(one.name for one in (data / "logs").iterdir())


def stated(data: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads((data / "taskinfo" / "info.json").read_text())
    return found


def test_two_runs_of_one_last_name_never_share_trees_or_experts(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert run(write_protocol(tmp_path), tmp_path / "a" / "run", "--l2data", data).exit_code == 0
    first, values = trees(data), stated(data)
    assert len(first) == 3
    other = tmp_path / "other.toml"
    other.write_text(protocol_text(lifetimes=4).replace("seed = 5", "seed = 77"))
    refused = run(other, tmp_path / "b" / "run", "--l2data", data)
    assert refused.exit_code == 1
    assert f"not written: {data}: {first[0]} is not of this run" in refused.stderr
    assert (trees(data), stated(data)) == (first, values)
    assert run(other, tmp_path / "b" / "run", "--l2data", tmp_path / "own").exit_code == 0
    assert len(trees(tmp_path / "own")) == 4


def test_runs_without_experts_of_one_last_name_have_trees_beside_each_other(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b")):
        file = tmp_path / f"{name}.toml"
        file.write_text(protocol_text(experts=0, lifetimes=2).replace("seed = 5", f"seed = {number}"))
        told = run(file, tmp_path / name / "run", "--l2data", tmp_path / "data")
        assert told.exit_code == 0
    seeds = {perdure.read(tmp_path / "data" / "logs" / one).seed for one in trees(tmp_path / "data")}
    assert len(seeds) == 4


def test_a_run_that_grows_adds_its_own_lifetimes_and_experts(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert run(write_protocol(tmp_path, lifetimes=1, experts=1), tmp_path / "run", "--l2data", data).exit_code == 0
    first, before = trees(data), stated(data)
    grown = run(write_protocol(tmp_path, lifetimes=2), tmp_path / "run", "--l2data", data)
    assert grown.exit_code == 0
    assert stated(data) != before
    assert f"pong_wide was {before['pong_wide']:g}, and is {stated(data)['pong_wide']:g} now" in grown.stderr
    assert len(trees(data)) == 2
    assert set(first) < set(trees(data))


def test_experts_that_others_stated_are_not_replaced(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "taskinfo").mkdir(parents=True)
    (data / "taskinfo" / "info.json").write_text('{"pong_wide": 9.0}')
    refused = run(write_protocol(tmp_path), tmp_path / "run", "--l2data", data)
    assert refused.exit_code == 1
    assert "states 9 for pong_wide, and the experts of this run give" in refused.stderr
    assert stated(data) == {"pong_wide": 9.0}
    assert not (data / "logs").exists()


def test_each_of_several_learners_has_a_data_folder_of_its_own(tmp_path: Path) -> None:
    file = write_protocol(tmp_path, learners=["x", "y"], lifetimes=1, experts=1)
    assert run(file, tmp_path / "run", "--l2data", tmp_path / "data").exit_code == 0
    for name in ("x", "y"):
        assert len(trees(tmp_path / "data" / name)) == 1
        assert set(stated(tmp_path / "data" / name)) == {"pong_wide", "pong_narrow"}


def test_lifetimes_beyond_the_plan_are_not_exported(folder: Path, tmp_path: Path) -> None:
    lower(folder, lifetimes=2)
    result = called("export", folder, "--to", "learnkit", "--into", tmp_path / "data")
    assert result.exit_code == 1
    assert "lives/life-002" in result.stderr
    assert len(trees(tmp_path / "data")) == 2
