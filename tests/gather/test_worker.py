"""A worker frees each lifetime before it reads the next."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.metrics.written import LIFE, written

from perdure.gather.survey import survey
from perdure.log.model import Lifetime
from perdure.log.read import lifetimes


def test_a_long_lifetime_is_let_go_before_the_next_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(24):
        written(tmp_path / "logs", f"life{number:02}", LIFE)
    held: list[weakref.ref[Lifetime]] = []
    at_once: list[int] = []

    def watched(*given: Any) -> Iterator[Lifetime]:
        at_once.append(sum(one() is not None for one in held))
        for life in lifetimes(*given):
            held.append(weakref.ref(life))
            yield life
            del life

    monkeypatch.setattr("perdure.gather.worker.lifetimes", watched)
    assert len(survey([tmp_path / "logs"], jobs=1)) == 24
    assert max(at_once) == 0
