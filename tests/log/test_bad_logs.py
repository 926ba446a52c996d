"""Bad logs: the check names file and line, and reading refuses the log or skips the line."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import perdure
from perdure.errors import LogError
from perdure.log.check import check_l2logger

HEADER = (
    "block_num\texp_num\tworker_id\tblock_type\tblock_subtype\ttask_name\ttask_params\texp_status\ttimestamp\treward"
)
STAMP = "20240102T030405.000000"


def row(block: object = 0, number: object = 0, kind: str = "train", reward: object = 0.5, **other: str) -> str:
    worker = other.get("worker", "w")
    subtype = other.get("subtype", "wake")
    task = other.get("task", "a_1")
    params = other.get("params", "{}")
    status = other.get("status", "complete")
    stamp = other.get("stamp", STAMP)
    return "\t".join(map(str, (block, number, worker, kind, subtype, task, params, status, stamp, reward)))


def write_log(folder: Path, files: dict[str, bytes | list[str]]) -> Path:
    """Write a log of these files; a list of lines gets the header and newlines."""
    folder.mkdir()
    (folder / "logger_info.json").write_text('{"metrics_columns": ["reward"], "log_format_version": "1.1"}')
    (folder / "scenario_info.json").write_text("{}")
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.write_text("\n".join([HEADER, *content]) + "\n")
    return folder


def problems_of(folder: Path) -> list[tuple[str, str, int | None]]:
    return [(problem.level, problem.file, problem.line) for problem in check_l2logger(folder).problems]


FILE = "w/0-train/data-log.tsv"
GOOD = [row(0, 0), row(0, 1), row(0, 2)]

# The problem, the lines of the file, the line that the check must name, and a word of its message.
LINES: dict[str, tuple[list[str], int, str]] = {
    "a torn line in the middle": ([GOOD[0], "0\t1\tw\ttra", GOOD[2]], 3, "4 fields where the header has 10"),
    "two lines run together": ([GOOD[0], "0\t1\tw\ttra" + GOOD[1], GOOD[2]], 3, "13 fields"),
    "an empty line": ([GOOD[0], "", GOOD[2]], 3, "1 fields"),
    "a block number in words": ([GOOD[0], row("zero", 1)], 3, "block_num is 'zero'"),
    "a block number with a fraction": ([row("0.0", 0)], 2, "block_num is '0.0'"),
    "a negative block number": (
        [GOOD[0], row(-1, 1)],
        3,
        "block_num is '-1'; expected a whole number that is not",
    ),
    "a negative experience number": ([row(0, -7)], 2, "exp_num is '-7'"),
    "a number beyond 64 bits": ([row(0, 10**30)], 2, "exp_num is"),
    "a blank experience number": ([row(0, "")], 2, "exp_num is blank"),
    "an unknown block type": ([row(kind="learn")], 2, "block_type is 'learn'"),
    "an unknown subtype": ([row(subtype="nap")], 2, "block_subtype is 'nap'"),
    "an unknown status": ([row(status="done")], 2, "exp_status is 'done'"),
    "a reward in words": ([GOOD[0], row(0, 1, reward="high")], 3, "reward is 'high'"),
    "a worker id that climbs": ([row(worker="..")], 2, "worker_id is '..'"),
    "a worker id with a path": ([row(worker="../w")], 2, "worker_id is '../w'"),
    "a blank task name": ([row(task="")], 2, "task_name is blank"),
    "a task name that climbs": ([row(task="../../etc/passwd")], 2, "without '../'"),
    "parameters that are no JSON": ([row(params="{width")], 2, "task_params is '{width'"),
    "parameters that are no object": ([row(params="[1]")], 2, "a JSON object"),
    "a time in another form": ([row(stamp="yesterday")], 2, "timestamp is 'yesterday'"),
    "a falling experience number": ([row(0, 5), row(0, 3)], 3, "exp_num falls from 5 to 3"),
    "a falling block number": ([row(1, 0), row(0, 1)], 3, "block_num falls from 1 to 0"),
}


@pytest.mark.parametrize("what", LINES)
def test_the_check_names_the_line(tmp_path: Path, what: str) -> None:
    lines, number, message_part = LINES[what]
    problems = check_l2logger(write_log(tmp_path / "log", {FILE: lines})).problems
    named = [
        problem for problem in problems if (problem.file, problem.line) == (FILE, number) and problem.level == "error"
    ]
    assert named, problems
    assert any(message_part in f"{item.what}; {item.fix}" for item in named), named


READABLE = {"a task name that climbs", "parameters that are no JSON", "parameters that are no object"}
READABLE |= {"a time in another form", "a falling experience number", "a falling block number"}
READABLE |= {"a worker id that climbs", "a worker id with a path"}


@pytest.mark.parametrize("what", sorted(LINES.keys() - READABLE))
def test_reading_refuses_a_line_that_cannot_be_trusted_and_names_it(tmp_path: Path, what: str) -> None:
    lines, number, message_part = LINES[what]
    with pytest.raises(LogError) as caught:
        perdure.read(write_log(tmp_path / "log", {FILE: lines}))
    assert f"{FILE}:{number}: " in str(caught.value)
    assert message_part in str(caught.value)


@pytest.mark.parametrize("what", sorted(READABLE))
def test_a_problem_that_does_not_affect_the_numbers_is_read(tmp_path: Path, what: str) -> None:
    lines, _, _ = LINES[what]
    assert perdure.read(write_log(tmp_path / "log", {FILE: lines})).experiences.height == len(lines)


def test_columns_in_another_order_are_read_by_name(tmp_path: Path) -> None:
    names = HEADER.split("\t")[::-1]
    body = "\n".join("\t".join(line.split("\t")[::-1]) for line in GOOD)
    folder = write_log(tmp_path / "log", {FILE: ("\t".join(names) + "\n" + body + "\n").encode()})
    assert perdure.read(folder).experiences["exp_num"].to_list() == [0, 1, 2]
    assert problems_of(folder) == [("warning", FILE, 1)]


def test_missing_columns_are_named(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {FILE: b"block_num\texp_num\treward\n0\t0\t1\n"})
    with pytest.raises(LogError, match="no worker_id, block_type, task_name"):
        perdure.read(folder)
    assert ("error", FILE, 1) in problems_of(folder)


def test_a_missing_measure_offers_the_nearest_column(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {FILE: GOOD})
    (folder / "logger_info.json").write_text('{"metrics_columns": ["rewards"]}')
    with pytest.raises(LogError, match="did you mean 'reward'"):
        perdure.read(folder)
    assert ("error", FILE, 1) in problems_of(folder)


def test_a_repeated_column_is_refused(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {FILE: (HEADER + "\treward\n" + row() + "\t1\n").encode()})
    with pytest.raises(LogError, match="'reward' more than once"):
        perdure.read(folder)
    assert ("error", FILE, 1) in problems_of(folder)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("\n".join([HEADER, GOOD[0], GOOD[1].replace("a_1", "a\x00_1")]).encode() + b"\n", 3),
        ("\n".join([HEADER, GOOD[0], GOOD[1]]).encode().replace(b"a_1", b"a\xff_1") + b"\n", 2),
    ],
    ids=["a NUL byte", "a byte that is not UTF-8"],
)
def test_bytes_that_are_not_text_are_named(tmp_path: Path, content: bytes, line: int) -> None:
    folder = write_log(tmp_path / "log", {FILE: content})
    assert ("error", FILE, line) in problems_of(folder)
    with pytest.raises(LogError, match=re.escape(f"{FILE}:{line}: ")):
        perdure.read(folder)


def test_crlf_is_read_with_a_warning(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {FILE: ("\r\n".join([HEADER, *GOOD]) + "\r\n").encode()})
    assert perdure.read(folder).experiences["reward"].to_list() == [0.5] * 3
    assert problems_of(folder) == [("warning", FILE, 1)]


def test_empty_files_and_bare_headers_are_harmless(tmp_path: Path) -> None:
    files: dict[str, bytes | list[str]] = {FILE: GOOD, "w/1-test/data-log.tsv": b"", "w/2-train/data-log.tsv": []}
    folder = write_log(tmp_path / "log", files)
    lifetime = perdure.read(folder)
    assert lifetime.experiences.height == 3
    assert any("an empty file" in note for note in lifetime.notes)
    assert {level for level, _, _ in problems_of(folder)} == {"warning"}


@pytest.mark.parametrize("files", [{}, {FILE: b""}, {FILE: []}], ids=["no file", "an empty file", "a header only"])
def test_a_log_without_records_is_refused(tmp_path: Path, files: dict[str, bytes | list[str]]) -> None:
    with pytest.raises(LogError, match=r"no record|nothing was logged"):
        perdure.read(write_log(tmp_path / "log", files))


def test_values_that_are_not_finite_are_read_with_a_warning(tmp_path: Path) -> None:
    rewards = ["nan", "inf", "-inf", "", 0.5]
    folder = write_log(tmp_path / "log", {FILE: [row(0, index, reward=item) for index, item in enumerate(rewards)]})
    lifetime = perdure.read(folder)
    assert lifetime.experiences.height == 5
    assert lifetime.passage().values.tolist() == [0.5]
    assert dict(lifetime.passage().dropped) == {"incomplete": 0, "missing": 2, "not finite": 2}
    assert problems_of(folder) == [("warning", FILE, 2), ("warning", FILE, 3), ("warning", FILE, 4)]


def test_a_block_that_is_both_train_and_test_is_named(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {FILE: [row(0, 0)], "w/0-test/data-log.tsv": [row(0, 1, "test")]})
    assert [(level, line) for level, _, line in problems_of(folder)] == [("error", 2)]
    assert "block 0 is both train and test" in check_l2logger(folder).problems[0].what


def test_two_lines_that_complete_one_experience_are_averaged_with_a_warning(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {FILE: [row(0, 0, reward=1), row(0, 0, reward=3), row(0, 1, reward=5)]})
    assert perdure.read(folder).passage().values.tolist() == [2.0, 5.0]
    assert problems_of(folder) == [("warning", FILE, 3)]


def test_workers_that_share_a_number_give_a_warning(tmp_path: Path) -> None:
    files: dict[str, bytes | list[str]] = {
        "a/0-train/data-log.tsv": [row(0, 0, worker="a")],
        "b/0-train/data-log.tsv": [row(0, 0, worker="b")],
    }
    assert problems_of(write_log(tmp_path / "log", files)) == [("warning", "b/0-train/data-log.tsv", 2)]


def test_a_field_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    long = '"{""text"":""' + "x" * 10_000_000 + '""}"'
    folder = write_log(tmp_path / "log", {FILE: [row(params=long), row(0, 1)]})
    assert perdure.read(folder).experiences["task_params"].str.len_bytes()[0] > 10_000_000
    assert problems_of(folder) == []


def test_ten_thousand_tiny_files_are_one_log(tmp_path: Path) -> None:
    files: dict[str, bytes | list[str]] = {
        f"w/{block}-train/data-log.tsv": [row(block, block)] for block in range(10_000)
    }
    folder = write_log(tmp_path / "log", files)
    lifetime = perdure.read(folder)
    assert lifetime.experiences["block_num"].to_list() == list(range(10_000))
    assert len(lifetime.scenario.blocks) == 10_000


@pytest.mark.parametrize("target", ["file", "folder"])
def test_a_link_out_of_the_log_is_refused(tmp_path: Path, target: str) -> None:
    elsewhere = write_log(tmp_path / "elsewhere", {FILE: GOOD})
    folder = write_log(tmp_path / "log", {FILE: GOOD})
    if target == "file":
        (folder / "w" / "1-test").mkdir()
        (folder / "w" / "1-test" / "data-log.tsv").symlink_to(elsewhere / FILE)
    else:
        (folder / "v").symlink_to(elsewhere / "w")
    with pytest.raises(LogError, match="a link that leads out of the log"):
        perdure.read(folder)
    assert any(level == "error" for level, _, _ in problems_of(folder))


@pytest.mark.parametrize(
    ("name", "content", "message_part"),
    [
        ("logger_info.json", None, "missing"),
        ("logger_info.json", "{", "not JSON"),
        ("logger_info.json", "[]", "expected a JSON object"),
        ("logger_info.json", "{}", "'metrics_columns' is None; expected a list"),
        ("logger_info.json", '{"metrics_columns": "reward"}', "'metrics_columns' is 'reward'; expected a list"),
        ("logger_info.json", '{"metrics_columns": []}', r"'metrics_columns' is \[\]; expected a list"),
        ("logger_info.json", '{"metrics_columns": ["task_name"]}', "names 'task_name', which is no measure"),
        ("scenario_info.json", '{\n"a": nope}', r":2: not JSON"),
        ("manifest.json", "nope", "not JSON"),
    ],
)
def test_broken_facts_are_named(tmp_path: Path, name: str, content: str | None, message_part: str) -> None:
    folder = write_log(tmp_path / "log", {FILE: GOOD})
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    with pytest.raises(LogError, match=message_part) as caught:
        perdure.read(folder)
    assert name in str(caught.value)
    assert ("error", name) in [(level, file) for level, file, _ in problems_of(folder)]


def test_measures_can_be_named_if_logger_info_is_lost(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {FILE: GOOD})
    (folder / "logger_info.json").unlink()
    assert perdure.read(folder, measures=["reward"]).experiences.height == 3


def test_an_altered_file_is_distinguished_from_the_journals_file(life: Path) -> None:
    assert check_l2logger(life).problems == ()
    file = life / "worker-default" / "1-train" / "data-log.tsv"
    file.write_text(file.read_text().replace("1.5", "9.5"))
    (problem,) = check_l2logger(life).problems
    assert (problem.level, problem.file) == ("error", "worker-default/1-train/data-log.tsv")
    assert "altered after it was written" in problem.what
    file.unlink()
    (problem,) = check_l2logger(life).problems
    assert "is missing" in problem.what


def test_a_hundred_problems_of_a_kind_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {FILE: [row(0, index, reward="bad") for index in range(250)]})
    problems = check_l2logger(folder).problems
    assert len(problems) == 101
    assert problems[-1].what == "150 more lines with the same problem"


READ_AS_NOBODY = """
import os, sys
import perdure
perdure.read(sys.argv[1])  # as root, so that all modules are loaded
os.chmod(sys.argv[1] + "/w", 0)
os.setgid(65534); os.setuid(65534)
try:
    perdure.read(sys.argv[1])
except perdure.PerdureError as problem:
    print(type(problem).__name__, problem)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_without_read_permission_gives_an_error_message(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log", {FILE: GOOD})
    for place in (folder, *folder.parents):
        if place.owner() == "root" and "pytest" in str(place):
            place.chmod(0o755)
    output = subprocess.run(
        [sys.executable, "-c", READ_AS_NOBODY, str(folder)], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    (folder / "w").chmod(0o755)
    assert output.startswith("LogError")
    assert "Permission denied" in output


def test_no_bad_log_shows_a_traceback(tmp_path: Path, run_cli: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    folder = write_log(tmp_path / "log", {FILE: [*GOOD, row(0, 3, reward="high")]})
    checked = run_cli("check", folder)
    assert (checked.returncode, checked.stderr) == (1, "")
    assert f"{FILE}:5  error: reward is 'high'" in checked.stdout
    exported = run_cli("export", folder, "--to", tmp_path / "x.csv")
    assert exported.returncode == 2
    assert exported.stderr.startswith("perdure: ")
    assert "Traceback" not in exported.stderr
    assert run_cli("check", tmp_path / "nothing").returncode == 2
    assert run_cli("check", tmp_path).returncode == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda lifetime: (lifetime / "loop").symlink_to("loop"),
        lambda lifetime: (lifetime / "logger_info.json").write_text("[" * 100_000),
        lambda lifetime: (lifetime / "blocks.jsonl").write_text('{"event": "block", "worker": "w", "bytes": null}\n'),
        lambda lifetime: (lifetime / "blocks.jsonl").write_text('{"event": "block"}\n'),
        lambda lifetime: ((lifetime / "blocks.jsonl").unlink(), (lifetime / "blocks.jsonl").mkdir()),
        lambda lifetime: (lifetime / "/".join(["deep"] * 200)).mkdir(parents=True),
        lambda lifetime: (
            (lifetime / "manifest.json").unlink(),
            (lifetime / "manifest.json").symlink_to("/etc/hostname"),
        ),
    ],
    ids=[
        "a link to itself",
        "deep JSON",
        "a ledger of nulls",
        "a bare ledger",
        "a ledger folder",
        "deep folders",
        "a link out",
    ],
)
def test_damage_to_the_files_around_the_records_is_an_error(life: Path, damage: Callable[[Path], object]) -> None:
    damage(life)
    assert any(level == "error" for level, _, _ in problems_of(life))
    with contextlib.suppress(LogError):
        perdure.read(life)


def test_records_added_after_the_journal_ended_are_found(life: Path) -> None:
    file = life / "worker-default" / "1-train" / "data-log.tsv"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines, lines[-1].replace("\t5\t", "\t50\t")]))
    assert any("bytes longer" in problem.what for problem in check_l2logger(life).problems)
