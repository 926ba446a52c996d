"""Roles, modes, subtypes, variants and units: an unknown word is an error that names its place, in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace
from tests.cli.verbs import outcome, scored
from tests.gather.records import BLOCKS, as_journal, as_table, experience_values

import perdure
from perdure.errors import LogError, PerdureError
from perdure.gather.survey import survey


def with_roles(file: Path, *roles: str) -> Path:
    """Write a table of lifetimes with these roles; experts learn one task each, the others go through all blocks."""
    blocks = [(("train", "ab"[at % 2]),) if role == "expert" else BLOCKS for at, role in enumerate(roles)]
    return as_table(
        file,
        (
            ({"lifetime": f"l{at}", "learner": "q", "role": role}, experience_values(at, some), some)
            for at, (role, some) in enumerate(zip(roles, blocks, strict=True))
        ),
    )


def row_of(file: Path, lifetime: str) -> int:
    """Return the first row of a lifetime, from 0."""
    return next(at for at, line in enumerate(file.read_text().splitlines()[1:]) if line.startswith(f"{lifetime},"))


@pytest.mark.parametrize(("odd", "shown"), [("control", "'control'"), ("experts", "'experts'"), ("", "blank")])
def test_an_unknown_role_in_a_table_is_refused_with_its_line(tmp_path: Path, odd: str, shown: str) -> None:
    file = with_roles(tmp_path / "runs.csv", "life", "life", "expert", "expert", odd)
    for verb, status in (("score", 2), ("check", 1)):
        done = outcome(verb, file)
        assert done.status == status, done.said
        assert f"{file}:{row_of(file, 'l4') + 2}" in done.said
        assert f"role is {shown}" in done.said


@pytest.mark.parametrize("form", ["parquet", "frame"])
def test_an_unknown_role_in_a_table_without_lines_is_refused_with_its_row(tmp_path: Path, form: str) -> None:
    file = with_roles(tmp_path / "runs.csv", "life", "life", "expert", "expert", "control")
    frame, row = pl.read_csv(file), row_of(file, "l4") + 1
    frame.write_parquet(tmp_path / "runs.parquet")
    with pytest.raises(LogError, match=rf", row {row}: role is 'control'"):
        survey(frame if form == "frame" else tmp_path / "runs.parquet")


def test_a_twin_in_a_table_is_a_twin_and_leaves_the_experts_what_they_are(tmp_path: Path) -> None:
    roles = ("life", "life", "expert", "expert")
    without = with_roles(tmp_path / "without.csv", *roles)
    with_twin = with_roles(tmp_path / "with.csv", *roles, "twin")
    assert [one.role for one in perdure.lifetimes(with_twin)] == [*roles, "twin"]
    performance = [
        [life["metrics"]["relative_performance"]["value"] for life in scored(file)[1]["lifetimes"]]
        for file in (without, with_twin)
    ]
    assert performance[0] == performance[1]


# --- manifests -----------------------------------------------------------------------------------


def l2logger(folder: Path, name: str) -> Path:
    """Write a log without a ledger of its manifest, so that only the reader of roles can refuse it."""
    log = as_journal(folder, name, experience_values(1), learner="q")
    (log / "blocks.jsonl").unlink()
    return log


def learnkit(folder: Path, name: str) -> Path:
    log = as_journal(folder.parent / "source", name, experience_values(1), learner="q")
    return perdure.write_learnkit(perdure.read(log), folder, name)


FORMS = pytest.mark.parametrize("form", [l2logger, learnkit])
Form = Callable[[Path, str], Path]


def edit_manifest(log: Path, **facts: Any) -> None:
    manifest = json.loads((log / "manifest.json").read_text())
    (log / "manifest.json").write_text(json.dumps(manifest | facts))


@FORMS
@pytest.mark.parametrize("role", ["control", "", 3])
def test_an_unknown_role_in_a_manifest_leaves_the_log_out_with_a_reason(tmp_path: Path, role: Any, form: Form) -> None:
    as_journal(tmp_path / "logs", "l0", experience_values(0), learner="q")
    odd = form(tmp_path / "logs", "odd")
    edit_manifest(odd, role=role)
    status, facts = scored(tmp_path / "logs")
    assert [life["id"] for life in facts["lifetimes"]] == ["logs/l0"]
    assert status == 1
    (left_out,) = facts["left_out"]
    assert str(odd / "manifest.json") in left_out["why"]
    assert "role" in left_out["why"]
    assert outcome("check", odd).status == 1


@FORMS
def test_a_role_with_a_capital_in_a_manifest_is_no_lifetime(tmp_path: Path, form: Form) -> None:
    as_journal(tmp_path / "logs", "l0", experience_values(0), learner="q")
    edit_manifest(form(tmp_path / "logs", "odd"), role="Expert")
    _, facts = scored(tmp_path / "logs")
    assert [life["id"] for life in facts["lifetimes"]] == ["logs/l0"]


@pytest.mark.parametrize("write", [perdure.write_lifetimes, perdure.write_learnkit])
def test_no_writer_takes_an_unknown_role(tmp_path: Path, write: Callable[..., Path]) -> None:
    lifetime = perdure.read(as_journal(tmp_path, "l0", experience_values(0)))
    odd = replace(lifetime, role="Expert")
    given = (tmp_path / "bulk.parquet", [odd]) if write is perdure.write_lifetimes else (odd, tmp_path, "tree")
    with pytest.raises(PerdureError, match="role is 'Expert'"):
        write(*given)


def test_an_unknown_direction_in_the_manifest_of_a_tree_is_refused(tmp_path: Path) -> None:
    tree = learnkit(tmp_path / "trees", "tree")
    edit_manifest(tree, measures={"reward": "Lower"})
    done = outcome("score", tree)
    assert done.status == 2, done.said
    assert f"{tree / 'manifest.json'}: the measure 'reward' is 'Lower'-better; expected higher or lower" in done.said


# --- scores made before --------------------------------------------------------------------------

BLOCK = {
    "block": 0,
    "group": 0,
    "mode": "learn",
    "subtype": "wake",
    "task": "a",
    "length": 2,
    "mean": 1.0,
    "terminal": 1.0,
    "saturation": 1.0,
    "experiences_to_saturation": 1,
}


def score_file(file: Path, life: dict[str, Any] | None = None, block: dict[str, Any] | None = None) -> Path:
    """Write a score JSON by hand, with one lifetime and one block."""
    lifetime: dict[str, Any] = {"id": "a", "learner": "q", "metrics": {"forward_transfer": {"value": 1.5}}}
    lifetime |= {"blocks": [BLOCK | (block or {})]} | (life or {})
    file.write_text(json.dumps({"preset": "standard", "lifetimes": [lifetime]}))
    return file


@pytest.mark.parametrize(
    ("part", "field", "word"),
    [
        ("life", "variants", "sometimes"),
        ("life", "unit", "fractions"),
        ("life", "complete", "no"),
        ("block", "mode", "learnt"),
        ("block", "subtype", "nap"),
    ],
)
def test_an_unknown_word_in_a_score_file_is_refused_by_its_field(
    tmp_path: Path, part: str, field: str, word: str
) -> None:
    assert outcome("score", score_file(tmp_path / "scores.json")).status == 0
    done = outcome("score", score_file(tmp_path / "scores.json", **{part: {field: word}}))
    assert done.status == 2, done.said
    assert str(tmp_path / "scores.json") in done.said
    assert field in done.said


@pytest.mark.parametrize(("field", "word"), [("variants", "sometimes"), ("unit", "fractions"), ("complete", "no")])
def test_an_unknown_word_in_a_table_of_scores_is_refused_with_its_line(tmp_path: Path, field: str, word: str) -> None:
    file = tmp_path / "scores.tsv"
    file.write_text(f"lifetime\tforward_transfer\t{field}\none\t1.5\t\ntwo\t1.6\t{word}\n")
    done = outcome("score", file)
    assert done.status == 2, done.said
    assert f"{file}:3: {field} is {word!r}" in done.said
