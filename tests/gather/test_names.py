"""Learners and seeds that no log records are read from paths, in the same way by every verb."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from tests.cli.verbs import outcome, run_verb

import perdure

METHODS = {"sgd": 0.7, "er": 0.9, "ewc": 0.8}


def matrix(kept: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    later = np.arange(3) - np.arange(3)[:, None]
    return np.where(later < 0, np.nan, 0.9 - later * (1 - kept) + rng.normal(0, 0.02, (3, 3)))


def write(folder: Path, layout: str, seeds: int = 3) -> Path:
    """Write a matrix per method and seed to `layout`, such as {method}/seed{seed}/acc.csv."""
    for method, kept in METHODS.items():
        for seed in range(seeds):
            file = folder / layout.format(method=method, seed=seed)
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".npy":
                np.save(file, matrix(kept, seed))
            else:
                np.savetxt(file, matrix(kept, seed), delimiter=",")
    return folder


def grouped(*logs: Path) -> dict[str, int]:
    return {group.group: group.n for group in perdure.groups(perdure.survey(logs))}


def seeds_of(folder: Path) -> list[int | None]:
    return sorted({score.seed for score in perdure.survey(folder)}, key=str)


THREE_EACH = dict.fromkeys(("er", "ewc", "sgd"), 3)


@pytest.mark.parametrize(
    "layout",
    [
        "{method}/seed{seed}/acc.csv",
        "{method}/seed{seed}/eval_results.csv",
        "{method}/seed_{seed}/{method}.npy",
        "{method}/seed={seed}/acc.csv",
        "{method}/seed={seed}.csv",
        "{method}/seed{seed}.npy",
        "{method}_s{seed}.csv",
        "{method}-seed{seed}.npy",
        "seed{seed}_{method}.csv",
        "{method}/run_s{seed}.csv",
    ],
)
def test_methods_are_groups_and_seeds_are_read_whatever_the_layout(tmp_path: Path, layout: str) -> None:
    folder = write(tmp_path / "runs", layout)
    assert grouped(folder) == THREE_EACH
    assert seeds_of(folder) == [0, 1, 2]


@pytest.mark.parametrize(
    "layout", ["{method}/{seed}/acc.csv", "{method}/run{seed}/results/acc.csv", "{method}_{seed}.csv"]
)
def test_numbers_that_are_not_called_seeds_pool_methods_and_are_no_seeds(tmp_path: Path, layout: str) -> None:
    folder = write(tmp_path / "runs", layout)
    assert grouped(folder) == THREE_EACH
    assert seeds_of(folder) == [None]


def stacks(folder: Path, name: str) -> Path:
    for method, kept in METHODS.items():
        file = folder / name.format(method=method)
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, np.stack([matrix(kept, seed) for seed in range(3)]))
    return folder


@pytest.mark.parametrize("name", ["{method}/acc.npy", "{method}/stack.npy", "{method}.npy"])
def test_a_stack_is_named_after_its_folder_if_file_names_recur_and_without_its_suffix(
    tmp_path: Path, name: str
) -> None:
    folder = stacks(tmp_path / "runs", name)
    assert grouped(folder) == THREE_EACH
    assert grouped(*sorted(folder.rglob("*.npy"))) == THREE_EACH


def test_a_method_of_several_benchmarks_is_named_with_the_benchmark(tmp_path: Path) -> None:
    for benchmark in ("mnist", "cifar"):
        write(tmp_path / "runs" / benchmark, "{method}/seed{seed}.csv")
    assert set(grouped(tmp_path / "runs")) == {f"{one}/{method}" for one in ("mnist", "cifar") for method in METHODS}


def test_two_files_per_seed_are_not_pooled(tmp_path: Path) -> None:
    for measure in ("acc", "loss"):
        write(tmp_path / "runs", "{method}/seed{seed}/" + measure + ".csv")
    assert set(grouped(tmp_path / "runs").values()) == {1}


def test_other_names_than_seeds_are_not_read_as_seeds(tmp_path: Path) -> None:
    folder = write(tmp_path / "runs", "{method}/v{seed}-resnet18.csv")
    assert seeds_of(folder) == [None]


VERBS: Mapping[str, tuple[str, ...]] = {
    "score": (),
    "report": ("--to", "OUT/report.html"),
    "figure": ("accuracy", "--to", "OUT/figure.svg"),
    "plan": ("--pilot",),
    "correlate": ("--metrics", "bwt,average_accuracy"),
    "compare": (),
}


def run(verb: str, folder: Path, out: Path) -> tuple[int, str]:
    words = [word.replace("OUT", str(out)) for word in VERBS[verb]]
    return outcome(verb, *([*words, folder] if verb in ("figure", "plan") else [folder, *words]))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_warns_and_ends_alike_where_nothing_is_pooled(tmp_path: Path, verb: str) -> None:
    status, said = run(verb, write(tmp_path / "runs", "seed{seed}/{method}.csv"), tmp_path)
    # Without groups there is nothing to compare or to plan from; the others show what they can.
    assert status == (2 if verb in ("compare", "plan") else 1)
    assert "the same names recur under seed0, seed1, seed2" in said
    folder = write(tmp_path / "others", "{method}/seed{seed}.csv")
    status, said = run(verb, folder / "er" if verb == "plan" else folder, tmp_path)
    assert (status, "recur" in said) == (0, False)


@pytest.mark.parametrize(
    "layout", ["seed{seed}/{method}.csv", "seed{seed}/{method}/acc.csv", "top/seed{seed}/{method}/x.csv"]
)
def test_the_group_that_a_note_advises_works(tmp_path: Path, layout: str) -> None:
    folder = write(tmp_path / "runs", layout)
    said = run_verb("score", folder).output
    pattern = said.partition("--group '")[2].partition("'")[0]
    done = run_verb("score", folder, "--group", pattern, "--json", "-")
    groups = json.loads(done.stdout)["groups"]
    assert (done.exit_code, {group["group"]: group["n"] for group in groups}) == (0, THREE_EACH)
    compared = json.loads(run_verb("compare", folder, "--group", pattern, "--baseline", "sgd", "--json", "-").stdout)
    assert (compared["baseline"], set(compared["systems"])) == ("sgd", set(METHODS))
    assert {one["paired"] for one in compared["comparisons"]} == {True}


def test_no_group_is_advised_if_none_works(tmp_path: Path) -> None:
    for seed in range(2):
        for name in (("a", "b"), ("b", "c"))[seed]:
            file = tmp_path / "runs" / f"seed{seed}" / f"{name}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savetxt(file, matrix(0.8, seed), delimiter=",")
    said = run_verb("score", tmp_path / "runs").output
    assert "say what a group is with --group" in said
    assert "--group '" not in said


def test_a_baseline_has_the_name_that_score_prints_in_every_verb(tmp_path: Path) -> None:
    folder = write(tmp_path / "runs", "{method}/seed{seed}/acc.csv")
    assert "sgd: 3 lifetimes" in run_verb("score", folder).output
    compared = json.loads(run_verb("compare", folder, "--baseline", "sgd", "--json", "-").stdout)
    assert (compared["baseline"], set(compared["systems"])) == ("sgd", set(METHODS))
    assert compared["comparisons"][0]["paired"] is True
    arguments = [folder / method for method in METHODS]
    assert json.loads(run_verb("compare", *arguments, "--baseline", "sgd", "--json", "-").stdout)["baseline"] == "sgd"
    report = ("--to", tmp_path / "r.md", "--baseline", "sgd", "--paired", "no", "--json", tmp_path / "r.json")
    assert run_verb("report", folder, *report).exit_code == 0
    found = json.loads((tmp_path / "r.json").read_text())["comparisons"]
    assert {one["baseline"] for one in found} == {"sgd"}
    assert {one["paired"] for one in found} == {False}


def test_a_baseline_that_no_group_can_be_is_answered_with_the_group_to_give(tmp_path: Path) -> None:
    folder = write(tmp_path / "runs", "seed{seed}/{method}/acc.csv")
    status, said = outcome("report", folder, "--baseline", "sgd", "--to", tmp_path / "r.html")
    assert (status, "--group '" in said, "known:" in said) == (2, True, False)


def test_scores_that_are_read_again_keep_methods_apart(tmp_path: Path) -> None:
    folder = stacks(tmp_path / "runs", "{method}/acc.npy")
    assert run_verb("score", folder, "--json", tmp_path / "scores.json").exit_code == 0
    assert grouped(tmp_path / "scores.json") == THREE_EACH


def test_pairing_by_name_is_advised_only_if_it_works(tmp_path: Path) -> None:
    for name, advised in (("{method}/{seed}.csv", True), ("{method}/x{seed}-{method}.csv", False)):
        folder = write(tmp_path / name[9:12], name)
        said = run_verb("compare", folder, "--all").output
        assert ("--paired yes" in said) is advised
        assert (run_verb("compare", folder, "--paired", "yes").exit_code == 0) is advised
