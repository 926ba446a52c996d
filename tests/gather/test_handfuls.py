"""What travels to the machines that score; no cluster is needed for it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from perdure.gather.find import FoundLog
from perdure.gather.on_ray import _batches, _files
from perdure.log.model import Identity
from perdure.metrics.contract import lifetime_of
from perdure.scenario.model import Block


def logs(folder: Path, count: int) -> list[FoundLog]:
    for at in range(count):
        (folder / f"{at}" / "sub").mkdir(parents=True)
        (folder / f"{at}" / "sub" / "data.tsv").write_text(f"log {at}")
    return [FoundLog(folder / f"{at}", Identity(f"{at}")) for at in range(count)]


def test_every_file_of_a_place_travels_and_what_is_hidden_stays_at_home(tmp_path: Path) -> None:
    (one,) = logs(tmp_path, 1)
    (one.path / ".kept").mkdir()
    (one.path / ".kept" / "copy.arrow").write_text("copy")
    (one.path / ".hidden").write_text("hidden")
    (one.path / "info.json").write_text("{}")
    expected = {str(one.path / "info.json"): b"{}", str(one.path / "sub" / "data.tsv"): b"log 0"}
    assert dict(_files(one.path)) == expected
    assert dict(_files(one.path / "info.json")) == {str(one.path / "info.json"): b"{}"}


def test_each_lifetime_travels_once_with_its_files_but_for_those_that_all_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.gather.on_ray._MAX_LIFETIMES", 2)
    found = logs(tmp_path, 4)
    shared = dict(_files(found[3].path))
    in_memory = FoundLog(found[0].path, Identity("here"), lifetime=lifetime_of([Block("learn", "a", 2)]))
    given = [*found, in_memory]
    batches = list(_batches(given, shared))
    assert [which for which, _ in batches] == [[0, 1], [2, 3], [4]]
    files = [pickle.loads(packed)[1] for _, packed in batches]
    names = [sorted(Path(name).parts[-3] for name in one) for one in files]
    assert names == [["0", "1"], ["2"], []]
