"""A lifetime counts once, in whatever form it is given again; and the rows of a table count once."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.verbs import outcome, scored
from tests.gather.records import BLOCKS, as_journal, as_table, experience_values

import perdure

COUNT = 4
FEW, ENOUGH = 19, 20
"""Different values in a lifetime: too few, and enough, to call an equal lifetime a copy."""
SAME_VALUES = "the same values"
"""The words of the warning on lifetimes that differ in their seeds alone."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Journals of lifetimes that all differ."""
    folder = tmp_path_factory.mktemp("journals") / "logs"
    for seed in range(COUNT):
        as_journal(folder, f"l{seed}", experience_values(seed), learner="q", seed=seed)
    return folder


def table(file: Path, learner: str = "q", change: Callable[[list[float]], Sequence[float]] = list) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    return as_table(
        file,
        (
            ({"lifetime": f"l{seed}", "learner": learner}, change(experience_values(seed)), BLOCKS)
            for seed in range(COUNT)
        ),
    )


def journal_and_bulk(folder: Path, logs: Path) -> None:
    """Write journals and a bulk file of the same lifetimes, which calls them by other names."""
    shutil.copytree(logs, folder / "logs")
    values = np.array([experience_values(seed) for seed in range(COUNT)])
    scenario = perdure.read(logs / "l0").scenario
    perdure.write_lifetimes(folder / "bulk.parquet", values=values, scenario=scenario, learner="q", seeds=range(COUNT))


def two_tables(folder: Path, logs: Path) -> None:
    shutil.copy(table(folder / "one.csv"), folder / "two.csv")


def table_and_packed_table(folder: Path, logs: Path) -> None:
    (folder / "two.csv.gz").write_bytes(gzip.compress(table(folder / "one.csv").read_bytes()))


def journal_and_export(folder: Path, logs: Path) -> None:
    """Write journals without a learner and their exports, in one group; an export does not know the seed either."""
    for seed in range(COUNT):
        log = as_journal(folder, f"l{seed}", experience_values(seed), seed=seed)
        outcome("export", log, "--to", folder / f"{log.name}.csv")


def twice_in_one_table(folder: Path, logs: Path) -> None:
    as_table(
        folder / "one.csv",
        (
            ({"lifetime": f"l{number}", "learner": "q"}, experience_values(number % COUNT), BLOCKS)
            for number in range(2 * COUNT)
        ),
    )


def p_value(facts: dict[str, Any]) -> float:
    (group,) = facts["groups"]
    found: float = group["metrics"]["performance_maintenance"]["p"]
    return found


@pytest.mark.parametrize(
    "write", [journal_and_bulk, two_tables, table_and_packed_table, journal_and_export, twice_in_one_table]
)
def test_lifetimes_that_are_there_in_two_forms_count_once(
    tmp_path: Path, logs: Path, write: Callable[[Path, Path], None]
) -> None:
    _, once = scored(logs)
    write(tmp_path, logs)
    status, facts = scored(tmp_path)
    assert [group["n"] for group in facts["groups"]] == [COUNT]
    assert p_value(facts) == pytest.approx(p_value(once))
    assert status == 1
    assert len(facts["left_out"]) == COUNT
    kept = [life["id"] for life in facts["lifetimes"]]
    assert len(kept) == COUNT
    assert all(any(name in copy["why"] for name in kept) for copy in facts["left_out"])


def test_the_same_lifetimes_in_two_arguments_count_once_in_the_first(tmp_path: Path, logs: Path) -> None:
    two_tables(tmp_path, logs)
    status, facts = scored(tmp_path / "two.csv", tmp_path / "one.csv")
    assert [life["id"] for life in facts["lifetimes"]] == [f"two.csv#l{seed}" for seed in range(COUNT)]
    assert status == 1


def test_a_deterministic_learner_counts_once_per_seed_with_a_warning(tmp_path: Path) -> None:
    for seed in range(COUNT):
        as_journal(tmp_path / "logs", f"l{seed}", experience_values(0), learner="q", seed=seed)
    status, facts = scored(tmp_path / "logs")
    assert (status, [group["n"] for group in facts["groups"]]) == (0, [COUNT])
    assert SAME_VALUES in outcome("score", tmp_path / "logs").said


def test_copies_count_once_where_two_processes_share_the_work(tmp_path: Path, logs: Path) -> None:
    two_tables(tmp_path, logs)
    status, facts = scored(tmp_path, "--jobs", "2")
    assert (status, [group["n"] for group in facts["groups"]], len(facts["left_out"])) == (1, [COUNT], COUNT)


def test_logs_and_their_scores_count_once(tmp_path: Path, logs: Path) -> None:
    outcome("score", logs, "--json", tmp_path / "scores.json")
    status, facts = scored(logs, tmp_path / "scores.json")
    assert [life["id"] for life in facts["lifetimes"]] == [f"logs/l{seed}" for seed in range(COUNT)]
    assert (status, len(facts["left_out"])) == (1, COUNT)


def test_watch_counts_copies_once(tmp_path: Path, logs: Path) -> None:
    journal_and_bulk(tmp_path, logs)
    status, said = outcome("watch", tmp_path, "--once")
    assert status == 1
    assert said.count("counts once") >= COUNT


def test_logs_cannot_be_compared_with_their_copy(tmp_path: Path, logs: Path) -> None:
    shutil.copytree(logs, tmp_path / "copy")
    status, said = outcome("compare", logs, tmp_path / "copy")
    assert status == 2
    assert f"{COUNT} left out: copy/l0 has the values of logs/l0" in said


def test_the_learner_of_a_copy_may_be_unknown(tmp_path: Path, logs: Path) -> None:
    shutil.copytree(logs, tmp_path / "logs")
    for log in sorted(logs.iterdir()):
        outcome("export", log, "--to", tmp_path / f"{log.name}.csv")
    status, facts = scored(tmp_path)
    assert (status, len(facts["lifetimes"]), len(facts["left_out"])) == (1, COUNT, COUNT)


def test_an_expert_that_is_there_in_two_forms_counts_once(tmp_path: Path, logs: Path) -> None:
    blocks = (("train", "a"),) * 4
    for name, seed in (("one", 10), ("two", 10), ("three", 11)):
        who = {"lifetime": name, "role": "expert"}
        as_table(tmp_path / f"{name}.csv", [(who, experience_values(seed, blocks), blocks)])
    experts = [tmp_path / f"{name}.csv" for name in ("one", "two", "three")]
    status, facts = scored(logs, "--experts", *experts)
    assert status == 1
    (left_out,) = facts["left_out"]
    assert left_out["path"] == str(tmp_path / "two.csv")
    assert str(tmp_path / "one.csv") in left_out["why"]
    assert len(facts["lifetimes"][0]["metrics"]["relative_performance"]["experts"]["a"]) == 2


def test_a_joint_learner_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        table(tmp_path / f"{name}.csv", "joint")
    table(tmp_path / "three.csv", change=lambda values: [value / 2 for value in values])
    _, facts = scored(tmp_path)
    notes = [note for life in facts["lifetimes"] for note in life["notes"] if "of the joint learner" in note]
    assert notes
    assert all(f"{COUNT} lifetimes of the joint learner" in note for note in notes)


def with_values(count: int) -> Callable[[list[float]], list[float]]:
    """Return a function that keeps `count` different values of a lifetime."""
    return lambda values: [values[at % count] for at in range(len(values))]


@pytest.mark.parametrize("count", [FEW, ENOUGH])
def test_equal_lifetimes_are_copies_if_they_have_twenty_different_values(tmp_path: Path, count: int) -> None:
    change = with_values(count)
    for name in ("one", "two"):
        table(tmp_path / "logs" / f"{name}.csv", change=change)
    status, facts = scored(tmp_path / "logs")
    expected = COUNT if count >= ENOUGH else 2 * COUNT
    assert [group["n"] for group in facts["groups"]] == [expected]
    assert status == (1 if count >= ENOUGH else 0)


@pytest.mark.parametrize(
    ("learner", "change"),
    [
        ("another", list),
        ("q", lambda values: [*values[:-1], values[-1] + 0.5]),
        ("q", lambda values: [*values[:-2], *values[:-3:-1]]),
    ],
    ids=["another learner", "another last value", "another order"],
)
def test_lifetimes_that_differ_all_count(
    tmp_path: Path, learner: str, change: Callable[[list[float]], list[float]]
) -> None:
    table(tmp_path / "logs" / "one.csv")
    table(tmp_path / "logs" / "two.csv", learner, change)
    status, facts = scored(tmp_path / "logs")
    assert (status, sum(group["n"] for group in facts["groups"])) == (0, 2 * COUNT)


# --- rows ----------------------------------------------------------------------------------------


def appended(lines: list[str]) -> list[str]:
    return [*lines, *lines[1:]]


def doubled(lines: list[str]) -> list[str]:
    return [lines[0], *(line for line in lines[1:] for _ in range(2))]


@pytest.mark.parametrize("repeat", [appended, doubled])
@pytest.mark.parametrize("numbered", [False, True], ids=["without numbers", "with numbers"])
def test_rows_that_are_in_a_table_twice_are_reported_with_the_first_such_line(
    tmp_path: Path, repeat: Callable[[list[str]], list[str]], numbered: bool
) -> None:
    file = tmp_path / "runs.csv"
    if numbered:
        log = as_journal(tmp_path, "log", experience_values(0))
        outcome("export", log, "--to", file)
    else:
        table(file)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(repeat(lines)))
    first = len(lines) + 1 if repeat is appended else 3
    check, score = outcome("check", file), outcome("score", file, "--why")
    assert f"{file.name}:{first}" in check.said
    assert f"{file.name}:{first}" in score.said
    assert check.status == score.status


def test_rows_that_are_equal_by_chance_are_no_repetition(tmp_path: Path) -> None:
    file = table(tmp_path / "runs.csv", change=lambda values: [float(value > 1) for value in values])
    assert outcome("check", file) == (0, f"{COUNT * len(experience_values(0))} records, no errors, no warnings\n")
